#include <inttypes.h>
#include <string.h>

#include "cli/heading.h"
#include "cli/interrupt.h"
#include "cli/session.h"
#include "src/base/alloc.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/bench/verify.h"

struct verify_own {
    bool all;
    const char *budget;
};
struct verify_options {
    struct opt_methods methods;
    struct opt_input input;
    struct opt_message message;
    struct verify_own own;
    struct opt_exec exec;
    struct opt_save save;
    struct opt_show show;
};

static const struct opt_row own_rows[] = {
    {"all", 0, NULL,
     "every message (default: the smallest, a middle and the largest of one step and worker)",
     OPT_FLAG, offsetof(struct verify_own, all), 0, 0, NULL},
    {"budget", 0, "TIME", "start no check after so long (default 60s; 0: no limit)", OPT_TEXT,
     offsetof(struct verify_own, budget), 0, 0, NULL},
    {.name = NULL},
};

/* Everything that lives as long as the command. Starts zeroed. */
struct verify {
    const struct verify_options *o;
    struct session s;
    struct gcb_method *methods;
    size_t count;
    double budget;
    struct gcb_verify_result result;
    struct tally {
        uint64_t kept, broken, idle;
    } * tallies; /* count of them */
};

/* Those that were named, or all at their defaults. */
static int find_methods(struct verify *v, struct gcb_diag *diag)
{
    struct gcb_method m;
    int err = opt_methods_resolve(&v->methods, &v->count, &v->o->methods, diag);

    if (!err && v->count == 0) {
        while (gcb_method_at(&m, v->count))
            v->count++;
        gcb_free(v->methods);
        v->methods = gcb_alloc_array(v->count, sizeof(*v->methods));
        if (!v->methods)
            return gcb_diag_nomem(diag, 0, "methods");
        for (size_t i = 0; i < v->count; i++)
            gcb_method_at(&v->methods[i], i);
    }
    for (size_t i = 0; !err && i < v->count; i++)
        gcb_method_forget(&v->methods[i]);
    return err;
}

static int resolve(struct verify *v, struct gcb_diag *diag)
{
    char shown[64];
    int err = find_methods(v, diag);

    v->budget = 60.0;
    if (!err && v->o->own.budget && !gcb_parse_duration(v->o->own.budget, &v->budget))
        err = gcb_diag_set(diag, GCB_E_INVALID, "--budget takes a time such as 30s or 0, not '%s'",
                           gcb_escape(shown, sizeof(shown), v->o->own.budget));
    if (err)
        return err;
    v->tallies = gcb_alloc_zero(v->count, sizeof(*v->tallies));
    return v->tallies ? session_resolve(&v->s, "verify") : gcb_diag_nomem(diag, 0, "methods");
}

/* A broken promise in words, at once. */
static void show_broken(const struct verify *v, const struct gcb_verify_check *c)
{
    char name[128], label[256], line[800];

    gcb_method_spec(label, sizeof(label), &v->methods[c->method], GCB_SPEC_LABEL);
    snprintf(line, sizeof(line), "BROKEN  %s: %s on %s: %s", label, c->promise->name,
             gcb_escape(name, sizeof(name), c->name), c->outcome.words);
    opt_wrap(v->s.report.out, line, 0, 0);
    snprintf(line, sizeof(line), "promised: %s (%s)", c->promise->claim, c->promise->source);
    opt_wrap(v->s.report.out, line, 0, 8);
}

/* With -v every check. */
static void show_check(const struct verify *v, const struct gcb_verify_check *c)
{
    char name[128], label[256], value[32], limit[32], line[800];

    gcb_method_spec(label, sizeof(label), &v->methods[c->method], GCB_SPEC_LABEL);
    snprintf(line, sizeof(line), "%s  %s: %s on %s: %s, limit %s %s",
             gcb_promise_status_names[c->outcome.status], label, c->promise->name,
             gcb_escape(name, sizeof(name), c->name), out_number(value, c->outcome.value, 3),
             out_number(limit, c->outcome.limit, 3), c->outcome.words);
    opt_wrap(v->s.report.out, line, 0, 2);
}

static int on_check(void *ctx, const struct gcb_verify_check *check, struct gcb_diag *diag)
{
    struct verify *v = ctx;
    struct tally *t = &v->tallies[check->method];
    struct gcb_row row;

    (void)diag; /* the context's */
    t->kept += check->outcome.status == GCB_PROMISE_KEPT;
    t->broken += check->outcome.status == GCB_PROMISE_BROKEN;
    t->idle += check->outcome.status == GCB_PROMISE_IDLE;
    if (v->s.report.table && check->outcome.status == GCB_PROMISE_BROKEN)
        show_broken(v, check);
    else if (v->s.report.table && v->s.report.verbose)
        show_check(v, check);
    if (!out_wants_rows(&v->s.report))
        return 0;
    gcb_verify_row(&row, &v->s.setting, &v->methods[check->method], check);
    return session_put(&v->s, &row);
}

static void on_progress(void *ctx, double done)
{
    struct verify *v = ctx;

    session_progress(&v->s, done);
}

static int run(struct verify *v, struct gcb_diag *diag)
{
    const struct gcb_verify_observer observer = {on_check, on_progress, session_stop, v};
    const struct opt_message *m = &v->o->message;
    const struct gcb_verify_config config = {
        .source = v->s.source,
        .layout = &v->s.layout,
        .methods = v->methods,
        .method_count = v->count,
        .kernels = &v->s.backend.kernels,
        .seed = v->s.backend.seed,
        .fft_rigor = (enum gcb_fft_rigor)v->o->exec.fft_plan,
        .nonfinite = (enum gcb_nonfinite_policy)m->nonfinite,
        .output_layers = {m->output_layer.items, m->output_layer.count},
        .all = v->o->own.all,
        .budget = v->budget,
    };
    int err;

    session_progress_start(&v->s);
    err = gcb_verify(&v->result, &config, &observer, diag);
    session_progress_end(&v->s);
    return err;
}

static int print_head(struct verify *v, struct gcb_diag *diag)
{
    struct gcb_extent extent;
    char words[160];
    const int err = v->s.report.table ? gcb_extent_of(&extent, v->s.source, diag) : 0;

    if (err || !v->s.report.table)
        return err;
    session_words(words, sizeof(words), &v->s, "");
    heading_print(v->s.report.out, v->s.files, &extent, words);
    return 0;
}

static int show_table(const struct verify *v, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{"method", false, true},
                                                      {"kept", true, false},
                                                      {"broken", true, false},
                                                      {"nothing to say", true, false}};
    struct gcb_table *table = NULL;
    int err = gcb_table_create(&table, columns, 4, diag);

    for (size_t i = 0; !err && i < v->count; i++) {
        const struct tally *t = &v->tallies[i];
        char label[256], text[3][32];

        gcb_method_spec(label, sizeof(label), &v->methods[i], GCB_SPEC_LABEL);
        out_count(text[0], t->kept);
        out_count(text[1], t->broken);
        out_count(text[2], t->idle);
        err = gcb_table_add(table, (const char *[]){label, text[0], text[1], text[2]}, diag);
    }
    if (!err)
        out_table(&v->s.report, table);
    gcb_table_destroy(table);
    return err;
}

static void show_notes(const struct verify *v)
{
    const struct gcb_verify_result *r = &v->result;
    FILE *out = v->s.report.out;

    fprintf(out, "%" PRIu64 " promises kept, %" PRIu64 " broken, on %" PRIu64 " message%s\n",
            r->kept, r->broken, r->messages, r->messages == 1 ? "" : "s");
    if (v->s.report.quiet)
        return;
    if (r->left_out)
        fprintf(out, "note: %" PRIu64 " message%s with infinities or NaNs left out\n", r->left_out,
                r->left_out == 1 ? "" : "s");
    if (r->unreached && !r->interrupted)
        fprintf(out,
                "note: the budget ended before %" PRIu64 " pairs of method and message were done; "
                "see\n  --budget\n",
                r->unreached);
}

static int finish(struct verify *v, struct gcb_diag *diag)
{
    int err = v->s.report.table ? show_table(v, diag) : 0;

    if (!err && v->s.report.table)
        show_notes(v);
    if (!err)
        err = out_commit(&v->s.report, diag);
    if (err)
        return err;
    if (v->result.interrupted)
        return session_interrupted(&v->s, "");
    return v->result.broken ? CMD_NOT_VERIFIED : 0;
}

static int verify_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct verify_options *o = options;
    struct verify v = {
        .o = o,
        .s = {.o = {&o->input, &o->message, &o->exec, &o->save, &o->show},
              .files = operands,
              .ctx = ctx},
    };
    int err = resolve(&v, ctx->diag);

    if (!err)
        err = session_input(&v.s);
    interrupt_catch();
    if (!err)
        err = session_report(&v.s, &gcb_verify_columns, o->save.force);
    if (!err)
        err = session_environment(&v.s);
    if (!err)
        err = print_head(&v, ctx->diag);
    if (!err)
        err = run(&v, ctx->diag);
    if (!err)
        err = finish(&v, ctx->diag);
    session_close(&v.s);
    gcb_free(v.methods);
    gcb_free(v.tallies);
    return err;
}

static const struct opt_group groups[] = {
    {"Methods", opt_methods_rows, offsetof(struct verify_options, methods)},
    {"Verification", own_rows, offsetof(struct verify_options, own)},
    {"Input", opt_input_rows, offsetof(struct verify_options, input)},
    {"Messages", opt_message_rows, offsetof(struct verify_options, message)},
    {"Running", opt_exec_rows, offsetof(struct verify_options, exec)},
    {"Output", opt_force_rows, offsetof(struct verify_options, save)},
    {"Output", opt_save_rows, offsetof(struct verify_options, save)},
    {"Output", opt_hash_rows, offsetof(struct verify_options, save)},
    {"Output", opt_show_rows, offsetof(struct verify_options, show)},
    {.rows = NULL},
};

static const struct opt_extra extra = {
    .name_at = opt_methods_key_at,
    .offset = offsetof(struct verify_options, methods.overrides),
};

const struct cmd cmd_verify = {
    .name = "verify",
    .summary = "check on these gradients what every method promises",
    .usage = "verify [options] FILE...",
    .examples = "  gcbench verify gradients.h5\n"
                "  gcbench verify --method fft --method sbc:p=0.001 --all gradients.h5\n"
                "  gcbench verify --budget 300s --format csv gradients.h5\n",
    .details =
        "Round trip, the same bytes whoever encodes, size, and the bounds and identities of each "
        "method's paper, by its capabilities and stages. A broken promise exits 5. -v shows every "
        "check; docs/verify.md lists them.\n",
    .spec = {.groups = groups, .extra = &extra},
    .size = sizeof(struct verify_options),
    .run = verify_run,
};
