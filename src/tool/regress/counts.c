#include "src/tool/regress/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/regress/labels.h"

static const char *const functions[] = {"gcb_coder_encode", "gcb_coder_decode"};

/* One process, and what it counted. */
struct count {
    struct gcb_child child;
    bool started;
    char spec[512], out_option[300], out_path[256];
    uint64_t value[2];   /* encode, decode */
    struct gcb_diag why; /* status 0: it worked */
};

/* The inclusive cost of a function in a callgrind file that was written with neither strings nor positions compressed:
 * 0 if it was never called. GCB_E_CORRUPT. */
static int cost_of(uint64_t *out, const char *path, const char *function, struct gcb_diag *diag)
{
    FILE *f = fopen(path, "re");
    char *line = NULL, shown[256];
    size_t cap = 0;
    bool inside = false, any = false;

    *out = 0;
    if (!f)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: %s", gcb_escape(shown, sizeof(shown), path),
                            strerror(errno));
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        any |= strncmp(line, "events: Ir", 10) == 0;
        if (strncmp(line, "fn=", 3) == 0)
            inside = strcmp(line + 3, function) == 0;
        else if (inside && line[0] >= '0' && line[0] <= '9' && strchr(line, ' '))
            *out += strtoull(strchr(line, ' '), NULL, 10); /* its own lines, and its calls' */
    }
    free(line);
    fclose(f);
    return any ? 0
               : gcb_diag_set(diag, GCB_E_CORRUPT, "%s: not what callgrind writes",
                              gcb_escape(shown, sizeof(shown), path));
}

static char **command_line(struct count *c, const struct gcb_counts_config *config, const char *exe)
{
    const char *head[] = {"valgrind",
                          "--tool=callgrind",
                          "--toggle-collect=gcb_coder_encode",
                          "--toggle-collect=gcb_coder_decode",
                          "--compress-strings=no",
                          "--compress-pos=no",
                          c->out_option,
                          "--log-file=/dev/null",
                          exe,
                          "compress",
                          "-q",
                          "--no-baselines",
                          "--per",
                          "none",
                          "--threads",
                          "1",
                          "--warmup",
                          "0",
                          "--repeat",
                          "1",
                          "--isa",
                          config->isa,
                          "--method",
                          c->spec};
    const size_t head_count = sizeof(head) / sizeof(head[0]);
    const char **argv =
        gcb_alloc_zero(head_count + config->option_count + config->file_count + 2, sizeof(*argv));
    size_t n = head_count;

    if (!argv)
        return NULL;
    memcpy(argv, head, sizeof(head));
    for (size_t i = 0; i < config->option_count; i++)
        argv[n++] = config->options[i];
    argv[n++] = "--";
    for (size_t i = 0; i < config->file_count; i++)
        argv[n++] = config->files[i];
    return (char **)(uintptr_t)argv;
}

static void begin(struct count *c, const struct gcb_counts_config *config,
                  const struct gcb_method *method, int build)
{
    const struct gcb_child_limits limits = {
        .seconds = config->timeout > 0.0 ? config->timeout : GCB_COUNTS_TIMEOUT,
        .stop = config->stop,
        .ctx = config->ctx,
        .search = true,
    };
    char **argv;

    memset(c, 0, sizeof(*c));
    /* what another build need not know, its defaults, is left away */
    gcb_method_spec(c->spec, sizeof(c->spec), method, GCB_SPEC_GIVEN);
    snprintf(c->out_path, sizeof(c->out_path), "%s/callgrind.%d", config->folder, build);
    snprintf(c->out_option, sizeof(c->out_option), "--callgrind-out-file=%s", c->out_path);
    argv = command_line(c, config, config->exe[build]);
    if (!argv) {
        gcb_diag_nomem(&c->why, 0, "a command line");
        return;
    }
    c->started = !gcb_child_start(&c->child, argv, &limits, &c->why);
    gcb_free(argv);
}

static void finish(struct count *c)
{
    if (c->started && !gcb_child_finish(&c->child, NULL, &c->why)) {
        for (int op = 0; op < 2 && !c->why.status; op++)
            cost_of(&c->value[op], c->out_path, functions[op], &c->why);
        if (!c->why.status && !c->value[0])
            gcb_diag_set(&c->why, GCB_E_IO,
                         "nothing was counted: its library has no symbols (it was stripped)");
    }
    unlink(c->out_path);
}

static int judge_presence(struct gcb_verdicts *out, const struct gcb_match *m,
                          const struct count *base, const struct count *next)
{
    const bool both = base->why.status && next->why.status;
    const enum gcb_verdict_kind kind = both               ? GCB_NOT_COMPARED
                                       : base->why.status ? GCB_NEW
                                                          : GCB_GONE;
    struct gcb_verdict *v = gcb_verdicts_add(out, m, GCB_OF_CASE, kind);

    if (!v)
        return GCB_E_NOMEM;
    return gcb_verdict_say(v, "it could not be counted in %s: %.300s",
                           both              ? "both"
                           : kind == GCB_NEW ? "the base"
                                             : "the new build",
                           next->why.status ? next->why.text : base->why.text);
}

static int judge(struct gcb_verdicts *out, const struct gcb_match *m, const struct count *base,
                 const struct count *next, double delta)
{
    int err = 0;

    if (base->why.status || next->why.status)
        return judge_presence(out, m, base, next);
    for (int op = 0; !err && op < 2; op++) {
        struct gcb_verdict *v =
            gcb_verdicts_add(out, m, GCB_OF_ENCODE_COUNT + (enum gcb_quantity)op, GCB_SAME);

        if (!v)
            return GCB_E_NOMEM;
        v->base = (double)base->value[op];
        v->next = (double)next->value[op];
        v->ratio = v->next / v->base;
        v->delta = delta;
        v->kind = gcb_verdict_judge(v->ratio, v->ratio, delta);
        if (v->kind == GCB_SAME)
            continue;
        err = gcb_verdict_say(v, "%+.2f %% instructions: %" PRIu64 ", were %" PRIu64,
                              100.0 * (v->ratio - 1.0), next->value[op], base->value[op]);
    }
    return err;
}

/* The cases, before anything is counted: verdicts borrow them. */
static int make_cases(struct gcb_cases *cases, const struct gcb_counts_config *config)
{
    char spec[512];

    for (size_t i = 0; i < config->method_count; i++) {
        struct gcb_case *c = gcb_cases_add(cases);
        const struct gcb_method *m = &config->methods[i];

        if (!c)
            return GCB_E_NOMEM;
        gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL);
        c->threads = 1;
        if (gcb_case_set(&c->text[GCB_CASE_FILE], config->file_count ? config->files[0] : "") ||
            gcb_case_set(&c->text[GCB_CASE_SCOPE], config->scope) ||
            gcb_case_set(&c->text[GCB_CASE_SPEC], spec) ||
            gcb_case_set(&c->text[GCB_CASE_DEVICE], "cpu") ||
            gcb_case_set(&c->text[GCB_CASE_ISA], config->isa) ||
            gcb_case_set(&c->method, m->name) || gcb_case_make_name(c))
            return GCB_E_NOMEM;
    }
    return 0;
}

/* Both builds at once: counts do not mind. *failed: neither could be counted. */
static int count_one(struct gcb_verdicts *out, const struct gcb_case *of,
                     const struct gcb_counts_config *config, size_t i, struct gcb_diag *failure,
                     struct gcb_diag *diag)
{
    const struct gcb_match match = {.base = of, .next = of};
    const double delta = config->delta > 0.0 ? config->delta : GCB_COUNTS_DELTA;
    struct count counts[2];
    bool both;

    for (int b = 0; b < 2; b++)
        begin(&counts[b], config, &config->methods[i], b);
    for (int b = 0; b < 2; b++)
        finish(&counts[b]);
    if (config->stop && config->stop(config->ctx))
        return 0;
    both = counts[0].why.status && counts[1].why.status;
    failure->status = both ? counts[1].why.status : failure->status;
    if (both)
        memcpy(failure->text, counts[1].why.text, sizeof(failure->text));
    return judge(out, &match, &counts[0], &counts[1], delta) ? gcb_diag_nomem(diag, 0, "verdicts")
                                                             : 0;
}

/* Was nothing counted at all? Then the call is at fault, not the builds. */
static bool nothing(const struct gcb_verdicts *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->items[i].kind != GCB_NOT_COMPARED)
            return false;
    return true;
}

/* Is there a valgrind? */
static int check_valgrind(const struct gcb_counts_config *config, struct gcb_diag *diag)
{
    char *argv[] = {(char[]){"valgrind"}, (char[]){"--version"}, NULL};
    const struct gcb_child_limits limits = {
        .seconds = 60.0, .stop = config->stop, .ctx = config->ctx, .search = true};
    struct gcb_child child;
    int err = gcb_child_start(&child, argv, &limits, NULL);

    if (!err)
        err = gcb_child_finish(&child, NULL, NULL);
    return err ? gcb_diag_set(diag, GCB_E_BACKEND,
                              "--counts needs valgrind, which cannot be run: install it (Debian: "
                              "apt-get install valgrind)")
               : 0;
}

int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag)
{
    struct gcb_cases none = {.items = NULL};
    struct gcb_diag failure = {.status = 0};
    const double began = gcb_clock();
    int err;

    memset(counts, 0, sizeof(*counts));
    err = check_valgrind(config, diag);
    if (!err && make_cases(&counts->cases, config))
        err = gcb_diag_nomem(diag, 0, "cases");
    if (!err)
        err = gcb_cases_label(&counts->cases, &none, diag);
    for (size_t i = 0; !err && !counts->interrupted && i < config->method_count; i++) {
        if (config->progress)
            config->progress(config->ctx, (double)i / (double)config->method_count);
        err = count_one(out, &counts->cases.items[i], config, i, &failure, diag);
        counts->interrupted = config->stop && config->stop(config->ctx);
    }
    counts->seconds = gcb_clock() - began;
    if (!err && !counts->interrupted && nothing(out))
        err = gcb_diag_set(diag, GCB_E_IO, "%s", failure.text);
    if (!err && counts->interrupted && out->count == 0)
        err = gcb_diag_set(diag, GCB_E_IO, "interrupted");
    return err;
}

void gcb_counts_fini(struct gcb_counts *counts)
{
    gcb_cases_fini(&counts->cases);
}
