#include "src/tool/regress/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/tidy.h"

/* One process, and what it counted. */
struct count {
    struct gcb_child child;
    int tidy_place; /* from gcb_tidy_enter, for the output file */
    char out_option[PATH_MAX + 32];
    const char *out_path;     /* in `out_option` */
    uint64_t instructions[2]; /* encode, decode */
    struct gcb_diag why;      /* why nothing was counted; status 0: the process succeeded */
};

/* Adds the instructions of encoding and decoding, with those of the functions that they call, to
 * `out`. The callgrind file at `path` does not compress strings and positions. Returns 0 or
 * GCB_E_CORRUPT. */
static int read_costs(uint64_t out[2], const char *path, struct gcb_diag *diag)
{
    static const char *const functions[] = {"fn=gcb_coder_encode", "fn=gcb_coder_decode"};
    FILE *f = fopen(path, "re");
    char *line = NULL;
    bool inside[2] = {false, false}, any = false;
    size_t cap = 0;

    if (!f)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: %s", gcb_show(path).text, strerror(errno));
    while (getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        any |= strncmp(line, "events: Ir", 10) == 0;
        for (int op = 0; op < 2; op++)
            if (strncmp(line, "fn=", 3) == 0)
                inside[op] = strcmp(line, functions[op]) == 0;
            else if (inside[op] && line[0] >= '0' && line[0] <= '9' && strchr(line, ' '))
                /* the function's own cost, or the cost of a call */
                out[op] += strtoull(strchr(line, ' '), NULL, 10);
    }
    free(line);
    fclose(f);
    return any ? 0
               : gcb_diag_set(diag, GCB_E_CORRUPT, "%s: not a callgrind file", gcb_show(path).text);
}

/* Starts a process of a build under valgrind. Sets c->why if the start fails. */
static void start_count(struct count *c, const struct gcb_counts_config *config, int build)
{
    const char *valgrind[] = {"valgrind",
                              "--tool=callgrind",
                              "--toggle-collect=gcb_coder_encode",
                              "--toggle-collect=gcb_coder_decode",
                              "--compress-strings=no",
                              "--compress-pos=no",
                              c->out_option,
                              "--log-file=/dev/null",
                              config->builds->exe[build]};
    const size_t head = sizeof(valgrind) / sizeof(valgrind[0]);
    const struct gcb_child_limits limits = {
        .seconds = config->builds->timeout > 0.0 ? config->builds->timeout : GCB_COUNTS_TIMEOUT,
        .stop = config->builds->watch.stop,
        .ctx = config->builds->watch.ctx,
        .search = true,
    };
    size_t words = 0;
    char **argv;

    memset(c, 0, sizeof(*c));
    snprintf(c->out_option, sizeof(c->out_option), "--callgrind-out-file=%s/callgrind.%d",
             config->folder, build);
    c->out_path = strchr(c->out_option, '=') + 1;
    c->tidy_place = gcb_tidy_enter(c->out_path);
    while (config->builds->command.argv[words])
        words++;
    argv = gcb_must_zero(head + words + 1, sizeof(*argv));
    memcpy(argv, valgrind, sizeof(valgrind));
    memcpy(argv + head, config->builds->command.argv, words * sizeof(*argv));
    gcb_child_start(&c->child, argv, &limits, &c->why);
    gcb_free(argv);
}

/* Waits for the process, reads what it counted and removes its output file. Sets c->why if the
 * process or the reading fails, or if the count of encoding is 0. */
static void finish_count(struct count *c)
{
    if (!c->why.status && !gcb_child_finish(&c->child, NULL, &c->why) &&
        !read_costs(c->instructions, c->out_path, &c->why) && !c->instructions[0])
        gcb_diag_set(&c->why, GCB_E_IO,
                     "nothing was counted: the build's gcbench library has no symbols (it was "
                     "stripped); use a build with symbols");
    unlink(c->out_path);
    gcb_tidy_leave(c->tidy_place);
}

/* Adds the verdict on a method that could not be counted in at least one build. */
static void judge_uncounted(struct gcb_verdicts *out, const struct gcb_case_pair *pair,
                            const struct count *base, const struct count *next)
{
    const char *where = "both builds";
    enum gcb_verdict_kind kind = GCB_NOT_COMPARED;

    if (!next->why.status) {
        kind = GCB_NEW;
        where = "the base";
    } else if (!base->why.status) {
        kind = GCB_GONE;
        where = "the new build";
    }
    gcb_verdict_explain(out, gcb_verdicts_add(out, pair, GCB_QUANTITY_CASE, kind),
                        "it could not be counted in %s: %.300s", where,
                        next->why.status ? next->why.text : base->why.text);
}

/* Adds the verdicts on the counts of a method. */
static void judge_method(struct gcb_verdicts *out, const struct gcb_case_pair *pair,
                         const struct count *base, const struct count *next, double delta)
{
    if (base->why.status || next->why.status) {
        judge_uncounted(out, pair, base, next);
        return;
    }
    for (int op = 0; op < 2; op++) {
        struct gcb_verdict *v = gcb_verdicts_add(
            out, pair, GCB_QUANTITY_ENCODE_COUNT + (enum gcb_quantity)op, GCB_SAME);

        gcb_verdict_set_values(v, (double)base->instructions[op], (double)next->instructions[op]);
        v->delta = delta;
        v->kind = gcb_verdict_judge(v->ratio, v->ratio, delta);
        if (v->kind != GCB_SAME)
            gcb_verdict_explain(out, v, "%+.2f %% instructions: %" PRIu64 ", were %" PRIu64,
                                100.0 * (v->ratio - 1.0), next->instructions[op],
                                base->instructions[op]);
    }
}

/* Makes the cases of all methods, before the first verdict borrows one. */
static void make_cases(struct gcb_cases *cases, const struct gcb_counts_config *config)
{
    char spec[GCB_AB_WORD];

    for (size_t i = 0; i < config->method_count; i++) {
        struct gcb_case *c = gcb_cases_add(cases);
        const struct gcb_method *m = &config->methods[i];

        gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL);
        c->threads = 1;
        gcb_case_set(cases, &c->text[GCB_CASE_FILE], config->file);
        gcb_case_set(cases, &c->text[GCB_CASE_SCOPE], config->scope);
        gcb_case_set(cases, &c->text[GCB_CASE_SPEC], spec);
        gcb_case_set(cases, &c->text[GCB_CASE_DEVICE], "cpu");
        gcb_case_set(cases, &c->text[GCB_CASE_ISA], config->isa);
        gcb_case_set(cases, &c->method, m->name);
        gcb_case_finish(cases, c);
    }
}

/* Counts method i in both builds, and adds the verdicts. Both processes run at the same time, which
 * does not change the counts. If both fail, sets *failure to the cause. If the watch ends the
 * processes, adds no verdict. `the_case` is the case of the method. */
static void count_method(struct gcb_verdicts *out, const struct gcb_case *the_case,
                         const struct gcb_counts_config *config, size_t i, struct gcb_diag *failure)
{
    const struct gcb_case_pair pair = {.base = the_case, .next = the_case};
    struct count counts[2];

    /* The command line has only the parameters that the user gave, because a build may not know all
     * parameters of this program. */
    gcb_method_spec(config->builds->command.word, GCB_AB_WORD, &config->methods[i], GCB_SPEC_GIVEN);
    for (int build = 0; build < 2; build++)
        start_count(&counts[build], config, build);
    for (int build = 0; build < 2; build++)
        finish_count(&counts[build]);
    if (gcb_watch_stopped(&config->builds->watch))
        return;
    if (counts[0].why.status && counts[1].why.status)
        *failure = counts[1].why;
    judge_method(out, &pair, &counts[0], &counts[1],
                 config->builds->delta > 0.0 ? config->builds->delta : GCB_COUNTS_DELTA);
}

/* True if gcb_counts_settle can change this verdict: it is SLOW or FAST, on encoding or decoding,
 * on the CPU, with this instruction set. */
static bool is_doubtful(const struct gcb_verdict *time, const char *isa)
{
    const struct gcb_case *c = gcb_verdict_case(time);

    return (time->kind == GCB_SLOW || time->kind == GCB_FAST) &&
           (time->quantity == GCB_QUANTITY_ENCODE || time->quantity == GCB_QUANTITY_DECODE) &&
           strcmp(c->text[GCB_CASE_ISA], isa) == 0 && strcmp(c->text[GCB_CASE_DEVICE], "cpu") == 0;
}

/* True if the case's method is to be counted. */
static bool is_wanted(const struct gcb_case *c, const struct gcb_counts_config *config)
{
    bool wanted = !config->times;

    for (size_t i = 0; !wanted && i < config->times->count; i++)
        wanted = is_doubtful(&config->times->items[i], config->isa) &&
                 strcmp(gcb_verdict_case(&config->times->items[i])->text[GCB_CASE_SPEC],
                        c->text[GCB_CASE_SPEC]) == 0;
    return wanted;
}

int gcb_counts_run(struct gcb_counts *counts, struct gcb_verdicts *out,
                   const struct gcb_counts_config *config, struct gcb_diag *diag)
{
    struct gcb_cases none = {.items = NULL};
    struct gcb_diag failure = {.status = 0};
    const double began = gcb_clock();
    bool compared = false;

    memset(counts, 0, sizeof(*counts));
    /* Without LD_BIND_NOW, the first call of each function would also count the dynamic linker. */
    setenv("LD_BIND_NOW", "1", 1);
    make_cases(&counts->cases, config);
    gcb_cases_label(&counts->cases, &none);
    for (size_t i = 0; !counts->interrupted && i < config->method_count; i++) {
        gcb_watch_show(&config->builds->watch, (double)i / (double)config->method_count);
        if (is_wanted(&counts->cases.items[i], config))
            count_method(out, &counts->cases.items[i], config, i, &failure);
        counts->interrupted = gcb_watch_stopped(&config->builds->watch);
    }
    counts->seconds = gcb_clock() - began;
    if (counts->interrupted)
        return out->count ? 0 : gcb_diag_set(diag, GCB_E_IO, "interrupted");
    if (failure.status == GCB_E_UNSUPPORTED)
        return gcb_diag_set(diag, GCB_E_BACKEND,
                            "--counts needs valgrind, which cannot be run: install it (Debian: "
                            "apt-get install valgrind)");
    for (size_t i = 0; i < out->count; i++)
        compared |= out->items[i].kind != GCB_NOT_COMPARED;
    /* no verdict compares: no method could be counted in any build, or `times` needs none */
    return compared ? 0 : gcb_diag_set(diag, GCB_E_IO, "%s", failure.text);
}

void gcb_counts_settle(struct gcb_verdicts *times, const struct gcb_verdicts *counts,
                       const char *isa)
{
    for (size_t i = 0; i < times->count; i++) {
        struct gcb_verdict *v = &times->items[i];
        const int op = (int)v->quantity - GCB_QUANTITY_ENCODE;

        for (size_t k = 0; k < counts->count && is_doubtful(v, isa); k++) {
            const struct gcb_verdict *c = &counts->items[k];

            if ((int)c->quantity != GCB_QUANTITY_ENCODE_COUNT + op || c->kind != GCB_SAME ||
                strcmp(gcb_verdict_case(c)->text[GCB_CASE_SPEC],
                       gcb_verdict_case(v)->text[GCB_CASE_SPEC]) != 0)
                continue;
            gcb_verdict_explain(
                times, v,
                "%+.1f %%, but it runs as many instructions as before, and the "
                "layout of the code, which may explain it, was the same in all processes",
                100.0 * (v->ratio - 1.0));
            v->kind = GCB_AMBIGUOUS;
        }
    }
}
