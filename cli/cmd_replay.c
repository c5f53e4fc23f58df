#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/bench_options.h"
#include "cli/base/session.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/replay/replay.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/number.h"

#define MAX_STEPS_SHOWN 40 /* with more steps, only --per step shows them */

enum replay_per { REPLAY_PER_DEFAULT = -1, REPLAY_PER_STEP, REPLAY_PER_NONE };

struct replay_own {
    uint64_t loops; /* 0: not given */
    struct gcb_replay_order order;
    const char *suite, *schedule; /* NULL: not given */
    int per;                      /* enum replay_per */
};

struct replay_options {
    struct opt_methods methods;
    struct session_options common;
    struct replay_own own;
};

static const char *const pers[] = {"step", "none", NULL};

/* clang-format off */
static const struct opt_row own_rows[] = {
    {OPT_ROW("suite", TEXT, replay_own, suite), .metavar = "NAME|FILE",
     .help = "replay the methods of a suite, such as paper-sbc or FILE.json; its other fields "
             "are for `gcbench bench`"},
    {OPT_ROW("loop", U64, replay_own, loops), .min = 1, .max = 1e9,
     .help = "replay the recorded steps N times over (default 1)"},
    {OPT_ROW("allow-gaps", FLAG, replay_own, order.allow_gaps),
     .help = "replay even if steps are missing between the recorded ones"},
    {OPT_ROW("workers", U64, replay_own, order.workers), .min = 1, .max = GCB_REPLAY_WORKERS,
     .help = "replay with N workers: the dump's first N, or all of them repeated"},
    {OPT_ROW("split-steps", FLAG, replay_own, order.split_steps),
     .help = "with --workers: consecutive steps of the dump become workers of one step"},
    {OPT_ROW("theta-schedule", TEXT, replay_own, schedule), .metavar = "SCHEDULE",
     .help = "theta by step: 0.9@0,0.5@8 is 0.9 from step 0 on, 0.5 from step 8 on"},
    {.name = NULL},
};

static const struct opt_row show_rows[] = {
    {OPT_ROW("per", CHOICE, replay_own, per), .metavar = "WHAT", .choices = pers,
     .initial = REPLAY_PER_DEFAULT,
     .help = "step: a line for each step of each method; none: only totals, in every format "
             "(default: steps if there are at most 40, of one method)"},
    {.name = NULL},
};
/* clang-format on */

/* The state of the command. Starts zeroed. */
struct replay {
    const struct replay_options *o;
    struct session s;
    struct gcb_suite suite; /* of --suite; owns the specs that name its methods */
    struct gcb_method *methods;
    size_t count;  /* number of methods, without the plug-ins that failed */
    size_t failed; /* number of plug-ins that failed */
    struct gcb_replay_config config;
    struct gcb_replay replay;
    struct gcb_replay_total *totals;
    size_t done; /* number of methods replayed so far */
    /* of the method that runs now: its table of steps (NULL: steps are not shown), and whether a
     * schedule changes its theta */
    struct gcb_table *steps;
    bool scheduled;
};

/* Makes the list of methods: those of --method or, if there are none, those of --suite. */
static int resolve_methods(struct replay *c, struct gcb_diag *diag)
{
    struct bench_options suite = {.own = {.suite = NULL}};
    struct opt_methods wanted = c->o->methods;
    int err = c->o->own.suite ? gcb_suite_load(&c->suite, c->o->own.suite, diag) : 0;

    if (!err)
        err = bench_fill(&suite, &c->suite, diag);
    if (!wanted.specs.count)
        wanted.specs = suite.methods.specs;
    if (!err)
        err = opt_methods_resolve(&c->methods, &c->count, &wanted, NULL, diag);
    opt_fini(&(struct opt_result){.help = false}, &cmd_bench.spec, &suite);
    if (err || c->count)
        return err;
    return gcb_invalid(diag, "no method given: add --method topk:memory=ef, for example, or a "
                             "--suite that names methods; `gcbench methods` lists them");
}

/* GCB_E_INVALID: a schedule is given and no method has a theta. */
static int check_methods(const struct gcb_replay_config *config, const struct gcb_method *methods,
                         size_t count, struct gcb_diag *diag)
{
    for (size_t i = 0; i < count; i++)
        if (gcb_replay_schedules(config, &methods[i]))
            return 0;
    return config->schedule.count
               ? gcb_invalid(diag, "--theta-schedule: no method given has a theta")
               : 0;
}

static int resolve(struct replay *c, struct gcb_diag *diag)
{
    int err = resolve_methods(c, diag);

    if (!err)
        err = session_resolve(&c->s);
    if (!err && c->o->own.schedule)
        err = gcb_schedule_parse(&c->config.schedule, c->o->own.schedule, diag);
    if (!err && c->o->own.order.split_steps && !c->o->own.order.workers)
        err = gcb_invalid(diag, "--split-steps needs a number of --workers");
    return err ? err : check_methods(&c->config, c->methods, c->count, diag);
}

/* Opens the dump and plans the replay; for that, all values are searched for infinities and NaNs,
 * except with --nonfinite zero. */
static int open_input(struct replay *c, struct gcb_diag *diag)
{
    const struct opt_message *m = &c->o->common.message;
    int err = session_open_input(&c->s);

    c->config.source = c->s.source;
    c->config.layout = &c->s.layout;
    c->config.compute = session_compute(&c->s);
    c->config.nonfinite = (enum gcb_nonfinite_policy)m->nonfinite;
    c->config.output_layers =
        (struct gcb_output_layers){m->output_layer.items, m->output_layer.count};
    c->config.loops = c->o->own.loops;
    c->config.order = c->o->own.order;
    c->config.watch = session_watch(&c->s);
    if (err)
        return err;
    session_start_progress(&c->s);
    err = gcb_replay_open(&c->replay, &c->config, diag);
    progress_end(&c->s.progress);
    return err;
}

/* ---- tables, notes and the answer ---- */

#define FIGURES 9 /* columns after the step's number */

static const struct gcb_table_column step_columns[1 + FIGURES] = {
    {.title = "step"},    {.title = "wire"},   {.title = "ratio"},  {.title = "alpha"},
    {.title = "cum err"}, {.title = "resid"},  {.title = "kept %"}, {.title = "any %"},
    {.title = "stale"},   {.title = "cosine"},
};

/* With a schedule, the last column is theta instead of the cosine. */
static const struct gcb_table_column scheduled_columns[1 + FIGURES] = {
    {.title = "step"},    {.title = "wire"},  {.title = "ratio"},  {.title = "alpha"},
    {.title = "cum err"}, {.title = "resid"}, {.title = "kept %"}, {.title = "any %"},
    {.title = "stale"},   {.title = "theta"},
};

/* Names of methods with their parameters are long and leave room for few columns, so rounds,
 * densities, residuals and staleness are printed below the table. */
#define TOTALS 7
static const struct gcb_table_column total_columns[TOTALS] = {
    {.title = "method", .elastic = true},
    {.title = "sent by", .text = true},
    {.title = "per step"},
    {.title = "ratio"},
    {.title = "alpha"},
    {.title = "cum err"},
    {.title = "cosine"},
};

/* Prints "worker 3" or "workers 3..5": those from `from` on and below `to`. */
static void print_range(FILE *out, uint32_t from, uint32_t to)
{
    if (to - from == 1)
        fprintf(out, "worker %" PRIu32, from);
    else
        fprintf(out, "workers %" PRIu32 "..%" PRIu32, from, to - 1);
}

/* Prints a line that says which gradients the workers have, unless each has those of one worker of
 * the dump, and none is left out. */
static void show_workers(FILE *out, const struct gcb_replay_plan *plan)
{
    const size_t used = plan->step_count * plan->merged;

    if (plan->merged > 1) {
        fprintf(out, "%" PRIu32 " workers: each step is made of %" PRIu32 " steps of the dump",
                plan->workers, plan->merged);
        if (used < plan->recorded_count)
            fprintf(out, "; %zu left out at its end", plan->recorded_count - used);
    } else if (plan->workers > plan->sources) {
        print_range(out, plan->sources, plan->workers);
        fputs(plan->workers - plan->sources == 1 ? " repeats " : " repeat ", out);
        print_range(out, 0, plan->sources);
    } else if (plan->workers < plan->recorded_workers) {
        print_range(out, 0, plan->workers);
        fprintf(out, " of %" PRIu32, plan->recorded_workers);
    } else {
        return;
    }
    fputc('\n', out);
}

/* Adds the cells of the columns ratio, alpha and cum err. */
static void add_errors(struct gcb_table *table, const struct gcb_replay_figures *f)
{
    out_cell(table, GCB_FIELD_RATIO, f->ratio, 0);
    out_cell(table, GCB_FIELD_ALPHA, f->alpha, 0);
    out_cell(table, GCB_FIELD_CUMULATIVE_ERROR, f->cumulative_error, 0);
}

static void add_step(const struct replay *c, const struct gcb_replay_step *s)
{
    const struct gcb_replay_figures *f = &s->figures;
    struct gcb_table *table = c->steps;
    char text[48];

    snprintf(text, sizeof(text), "%" PRIu64, s->step);
    gcb_table_cell(table, text);
    out_cell(table, GCB_FIELD_WIRE_BYTES, (double)f->sent.tally.wire_bytes, 0);
    add_errors(table, f);
    out_cell(table, GCB_FIELD_RESIDUAL_NORM, f->residual_norm, 0);
    gcb_table_cell(table, gcb_number(text, 100.0 * f->density, 3));
    gcb_table_cell(table, gcb_number(text, 100.0 * f->union_density, 3));
    snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64, f->staleness_median, f->staleness_p99);
    gcb_table_cell(table, text);
    /* theta is shown with as many digits as the cosine */
    out_cell(table, GCB_FIELD_COSINE, c->scheduled ? s->theta : f->cosine, 0);
}

/* Prints a line for each method. Its name leaves out the collective, which has a column. */
static void show_totals(const struct replay *c, const struct gcb_label *labels)
{
    struct gcb_table *table = gcb_table_create(total_columns, TOTALS);
    char text[GCB_LABEL];

    for (size_t i = 0; i < c->done; i++) {
        const struct gcb_replay_total *t = &c->totals[i];
        const double sends = (double)t->steps * c->replay.plan.workers;

        snprintf(text, sizeof(text), "%s", labels[i].text);
        gcb_table_cell(table, gcb_spec_drop(text, "collective"));
        gcb_table_cell(table, gcb_collective_names[gcb_method_collective(&c->methods[i])]);
        out_cell(table, GCB_FIELD_REPLAY_LINK_BYTES, (double)t->figures.sent.link_bytes / sends, 0);
        add_errors(table, &t->figures);
        out_cell(table, GCB_FIELD_COSINE, t->figures.cosine, 0);
    }
    out_table(&c->s.report, table);
}

#define NOTE 600 /* size of the buffer of a method's notes */

/* Appends, for example, "contraction 0.401 at worst, 0.485 on average; residual^2 at 12.7 % of its
 * bound". docs/replay.md defines both. */
static void add_bound(char *note, const struct gcb_replay_total *t)
{
    char least[32], mean[32];

    gcb_append(note, NOTE, "contraction %s at worst, %s on average",
               gcb_number(least, t->contraction_min, 3), gcb_number(mean, t->contraction_mean, 3));
    if (t->feedback && isnan(t->bound_ratio))
        gcb_append(note, NOTE, "; not above 0, so the residual has no bound");
    else if (t->feedback)
        gcb_append(note, NOTE, "; residual^2 at %s of its bound%s",
                   gcb_percent(least, t->bound_ratio), t->bound_ratio <= 1.0 ? "" : ": BROKEN");
}

/* Appends `before`, the share in percent and `after`; nothing if the share is NAN. */
static void add_share(char *note, const char *before, double share, const char *after)
{
    char text[32];

    if (!isnan(share))
        gcb_append(note, NOTE, "%s%s%s; ", before, gcb_percent(text, share), after);
}

/* Prints the notes on a method that sent something. They begin with `name` unless it is NULL. */
static void show_sent(FILE *out, const struct gcb_replay_total *t, const char *name)
{
    const struct gcb_replay_figures *f = &t->figures;
    const int at = name ? fprintf(out, "%s:", name) : 0;
    char note[NOTE] = "", norm[32];

    if (f->alpha > 10.0) /* mostly due to a scale, such as that of signs, and not to a loss */
        gcb_append(note, NOTE,
                   "the update has another scale than the gradients, so only its "
                   "cosine says something; ");
    if (f->sent.rounds > 1)
        gcb_append(note, NOTE, "up to %u rounds; ", f->sent.rounds);
    add_share(note, "kept ", f->density, " of positions");
    if (f->union_density < 1.0)
        add_share(note, "", f->union_density, " of elements sent by some worker");
    add_share(note, "", f->overlap, " of each worker's largest elements sent");
    add_share(note, "the all-reduce dropped ", f->dropped, " of the energy selected");
    add_share(note, "encoding the sums again adds an error of ", f->second_error, "");
    if (!isnan(f->residual_norm))
        gcb_append(note, NOTE, "residual %s; ", gcb_number(norm, f->residual_norm, 3));
    if (f->staleness_p99)
        gcb_append(note, NOTE,
                   "steps since an element was sent: %" PRIu64 " (median), %" PRIu64 " (99 %%); ",
                   f->staleness_median, f->staleness_p99);
    add_bound(note, t);
    opt_wrap(out, note, at, name ? 2 : 0);
    if (t->unsent_steps)
        opt_note(out, "the last %" PRIu64 " step%s not sent, because no message followed",
                 t->unsent_steps, t->unsent_steps == 1 ? " was" : "s were");
}

/* Prints a note on a method that sent nothing, whose errors are only dashes in the table. */
static void show_nothing_sent(FILE *out, const struct gcb_method *method,
                              const struct gcb_replay_total *t)
{
    double delay;

    if (gcb_method_value(method, "delay", &delay) && delay > (double)t->steps)
        opt_note(out,
                 "%s sent nothing: delay=%.0f is a message for every %.0f steps, and %" PRIu64
                 " %s replayed; --loop N goes through them N times",
                 method->name, delay, delay, t->steps, t->steps == 1 ? "was" : "were");
    else
        opt_note(out, "%s sent nothing", method->name);
}

/* Returns the bytes that each worker puts on its link in a step, on average; with one worker, which
 * has no link, the bytes of its messages. */
static double bytes_per_step(const struct gcb_replay_plan *plan, const struct gcb_replay_total *t)
{
    const struct gcb_replay_figures *f = &t->figures;
    const uint64_t bytes = plan->workers > 1 ? f->sent.link_bytes : f->sent.tally.wire_bytes;

    return (double)bytes / ((double)t->steps * plan->workers);
}

/* Returns the bytes that each worker would put on its link in a step with fp16, which has 2 bytes
 * an element, and a ring all-reduce, in which each of n workers sends 2 (n - 1) / n times its
 * gradient; with one worker, the bytes of the gradient. The elements of a gradient are those of the
 * average message times the messages of a step. */
static double fp16_bytes(const struct gcb_replay_plan *plan, const struct gcb_tally *t)
{
    const double n = plan->workers, sent = n > 1.0 ? 2.0 * (n - 1.0) / n : 1.0;
    const double elements = (double)t->elements / (double)t->messages * (double)plan->messages;

    return 2.0 * elements * sent;
}

/* Prints the answer and sends its row. Methods are compared by the error of the mean, and those
 * with a memory by the error of the sum of all updates. */
static int show_answer(struct replay *c, const struct gcb_label *labels, struct gcb_diag *diag)
{
    const struct gcb_replay_plan *plan = &c->replay.plan;
    const size_t count = c->done;
    struct gcb_answer_item *items = gcb_must_zero(count, sizeof(*items));
    struct gcb_answer answer = {.items = items, .count = count, .bar = "fp16"};
    char text[4000], words[2000];
    struct gcb_row row;
    int err;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_replay_total *t = &c->totals[i];

        items[i] = gcb_answer_item_of(&c->methods[i]);
        items[i].name = labels[i].text;
        if (!t->figures.sent.tally.messages)
            continue;
        /* what a memory keeps back in one step comes in later ones, so only the sum says what is
         * lost */
        items[i].error = items[i].memory ? t->figures.cumulative_error : t->figures.alpha;
        items[i].gain = fp16_bytes(plan, &t->figures.sent.tally) / bytes_per_step(plan, t);
    }
    gcb_answer_choose(&answer);
    snprintf(text, sizeof(text),
             "by the error of the mean (with a memory, of the sum) over %" PRIu64
             " step%s of %" PRIu32 " worker%s, %s; training was not tested",
             c->totals[0].steps, c->totals[0].steps == 1 ? "" : "s", plan->workers,
             plan->workers == 1 ? "" : "s", gcb_answer_text(words, sizeof(words), &answer));
    gcb_answer_row(&row, text, &answer);
    err = out_answer(&c->s.report, &row, diag);
    gcb_free(items);
    return err;
}

/* ---- running the methods ---- */

static int on_step(void *ctx, const struct gcb_replay_step *step, struct gcb_diag *diag)
{
    struct replay *c = ctx;
    struct gcb_row row;

    (void)diag; /* session_put uses ctx->diag */
    if (c->steps)
        add_step(c, step);
    if (c->o->own.per == REPLAY_PER_NONE || !out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_replay_step(&row, &c->s.setting, &c->methods[c->done], &c->replay.plan, step);
    return session_put(&c->s, &row);
}

/* True if a table of the steps is shown: with --per step; and without --per, if there is only one
 * method (without the plug-ins that failed) and at most MAX_STEPS_SHOWN steps. */
static bool wants_steps(const struct replay *c)
{
    const uint64_t loops = c->o->own.loops ? c->o->own.loops : 1;
    const size_t steps = c->replay.plan.step_count;

    if (!c->s.report.table || c->o->own.per != REPLAY_PER_DEFAULT)
        return c->s.report.table && c->o->own.per == REPLAY_PER_STEP;
    return c->count == 1 && steps <= MAX_STEPS_SHOWN && loops <= MAX_STEPS_SHOWN / steps;
}

/* Sends the row of the method that ran. */
static int put_total(struct replay *c)
{
    char files[SESSION_FILES];
    struct gcb_row row;

    if (!out_wants_rows(&c->s.report))
        return 0;
    gcb_rows_replay(&row, &c->s.setting, &c->methods[c->done], &c->replay.plan, &c->totals[c->done],
                    session_name_files(files, &c->s));
    return session_put(&c->s, &row);
}

/* Prints why a plug-in failed, sends its row, and removes the plug-in from the methods. */
static int put_failure(struct replay *c, const struct gcb_diag *why)
{
    int err;

    c->totals[c->done] = (struct gcb_replay_total){.failure = *why};
    fprintf(c->s.ctx->err, "gcbench: %s: failed: %s\n", c->methods[c->done].name, why->text);
    err = put_total(c);
    c->failed++;
    c->count--;
    memmove(&c->methods[c->done], &c->methods[c->done + 1],
            (c->count - c->done) * sizeof(*c->methods));
    c->done--; /* the next method takes its place; the caller adds 1 */
    return err;
}

static int run_method(struct replay *c, struct gcb_diag *diag)
{
    const struct gcb_watch all = session_watch(&c->s);
    const double count = (double)c->count, done = (double)c->done;
    const struct gcb_replay_observer observer = {
        .step = on_step,
        .ctx = c,
        .watch = gcb_watch_part(&all, done / count, (done + 1.0) / count)};
    const struct gcb_method *method = &c->methods[c->done];
    char spec[256];
    const bool shown = wants_steps(c);
    int err;

    c->scheduled = gcb_replay_schedules(&c->config, method);
    c->steps = shown
                   ? gcb_table_create(c->scheduled ? scheduled_columns : step_columns, 1 + FIGURES)
                   : NULL;
    session_start_progress(&c->s);
    err = gcb_replay_run(&c->replay, method, &observer, &c->totals[c->done], diag);
    progress_end(&c->s.progress);
    if (!err && shown) {
        if (c->count > 1)
            fprintf(c->s.report.out, "%s\n",
                    gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_LABEL));
        out_table(&c->s.report, c->steps);
        fputc('\n', c->s.report.out);
    } else {
        gcb_table_destroy(c->steps);
    }
    c->steps = NULL;
    if (err && gcb_method_caps(method) & GCB_CAP_FOREIGN && diag)
        return put_failure(c, diag);
    return err ? session_status(&c->s, err) : put_total(c);
}

/* Replays the methods one after the other, until a signal comes. */
static int run(struct replay *c, struct gcb_diag *diag)
{
    char times[80] = "";
    int err = 0;

    if (c->o->own.loops > 1)
        snprintf(times, sizeof(times), ", %" PRIu64 " times over", c->o->own.loops);
    session_print_heading(&c->s, times);
    if (c->s.report.table)
        show_workers(c->s.report.out, &c->replay.plan);
    for (; !err && c->done < c->count; c->done++) {
        err = run_method(c, diag);
        if (!err && c->done < c->count && c->totals[c->done].interrupted) {
            c->done++;
            break;
        }
    }
    return err;
}

/* ---- the command ---- */

/* Prints the table and the notes if they are wanted. Gives the answer if all methods have ended. */
static int show(struct replay *c, const struct gcb_label *labels, struct gcb_diag *diag)
{
    const uint64_t skipped = c->replay.scan.step_count;
    const struct out_report *report = &c->s.report;
    int err = 0;

    if (report->table)
        show_totals(c, labels);
    for (size_t i = 0; report->table && !report->quiet && i < c->done; i++)
        if (c->totals[i].figures.sent.tally.messages)
            show_sent(report->out, &c->totals[i], c->count == 1 ? NULL : labels[i].text);
        else if (!c->totals[i].interrupted)
            show_nothing_sent(report->out, &c->methods[i], &c->totals[i]);
    if (report->table && skipped && !report->quiet)
        opt_note(report->out, "%llu step%s with infinities or NaNs left out",
                 (unsigned long long)skipped, skipped == 1 ? "" : "s");
    if (report->table && !report->quiet)
        opt_note(report->out, "alpha: error of each step's update; cum err: error of the sum of "
                              "all updates; `gcbench help replay` explains the other figures");
    if (c->done == c->count && c->done && !c->totals[c->done - 1].interrupted)
        err = show_answer(c, labels, diag);
    return err;
}

static int finish(struct replay *c, struct gcb_diag *diag)
{
    struct gcb_label *labels = gcb_label_methods(c->methods, sizeof(*c->methods), c->count);
    int err = 0;

    if (c->count)
        err = show(c, labels, diag);
    gcb_free(labels);
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (err || c->count == 0 || !c->totals[c->done - 1].interrupted)
        return !err && c->failed ? CMD_FAILED : err;
    return session_interrupted(&c->s, "");
}

static void release(struct replay *c)
{
    gcb_replay_close(&c->replay);
    gcb_free(c->totals);
    session_close(&c->s);
    gcb_free(c->methods);
    gcb_suite_fini(&c->suite);
}

static int replay_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct replay_options *o = options;
    struct replay c = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err = resolve(&c, ctx->diag);

    interrupt_catch();
    if (!err)
        err = open_input(&c, ctx->diag);
    c.totals = gcb_must_zero(c.count, sizeof(*c.totals));
    if (!err)
        err = session_start_report(&c.s, GCB_REPLAY_RECORDS, false);
    if (!err)
        err = run(&c, ctx->diag);
    if (!err)
        err = finish(&c, ctx->diag);
    release(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct replay_options, methods),
    OPT_GROUP("Replay", own_rows, struct replay_options, own),
    OPT_GROUP("Input", opt_input_rows, struct replay_options, common.input),
    OPT_GROUP("Messages", opt_scope_rows, struct replay_options, common.message),
    OPT_GROUP("Messages", opt_message_rows, struct replay_options, common.message),
    OPT_GROUP("Running", opt_threads_rows, struct replay_options, common.exec),
    OPT_GROUP("Running", opt_exec_rows, struct replay_options, common.exec),
    OPT_GROUP("Output", show_rows, struct replay_options, own),
    SESSION_OUTPUT_GROUPS(struct replay_options),
    {.rows = NULL},
};

const struct cmd cmd_replay = {
    .name = "replay",
    .summary = "replay the steps of a dump, with error feedback and schedules",
    .usage = "replay [options] --method NAME[:key=value,...] FILE...",
    .examples = "  gcbench replay --method topk:theta=0.99,memory=ef gradients.h5\n"
                "  gcbench replay --method sbc:p=0.01,delay=4 gradients.h5\n"
                "  gcbench replay --method dgc --method redsync --loop 20 gradients.h5\n"
                "  gcbench replay --method fft:memory=ef --theta-schedule 0.9@0,0@8 gradients.h5\n"
                "  gcbench replay --workers 8 --split-steps --method qsgd gradients.h5\n",
    .details =
        "Each worker keeps its own memory between steps: none, ef, dgc, delay, demo, gmc, loco or "
        "ef21 "
        "(`--method qsgd:memory=ef`; `gcbench methods NAME` shows the default of each method).\n"
        "Columns of all methods. sent by: the collective. per step: bytes that each worker puts on "
        "its link in a step, on average; compare collectives by it, because ratio counts each "
        "message once. ratio: input bytes over message bytes; the input includes the steps that "
        "were added up before a message. alpha: error of the update, relative to the exact update: "
        "the mean over workers of all gradients since the last message. cum err: the same for the "
        "sum of all updates so far. cosine: between the update and the exact update.\n"
        "Other columns of steps. wire: bytes of all workers' messages. resid: norm of what is not "
        "sent yet. kept %: share of positions sent. any %: share of elements that at least one "
        "worker sent. stale: steps since an element was last sent, median and 99th percentile.\n"
        "Notes. positions: elements, or bins of a transform. residual: norm of what is not sent "
        "yet. contraction: 1 minus the share of the squared norm that encoding loses, in the worst "
        "step and worker, and on average. docs/replay.md defines all figures.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct replay_options, methods.overrides)}},
    .size = sizeof(struct replay_options),
    .run = replay_run,
};
