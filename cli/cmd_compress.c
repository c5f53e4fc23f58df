#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/labels.h"
#include "src/tool/run/breakdown.h"

#define MAX_TOP 64  /* the most tensors that a method's line "loses most" names */
#define SECONDS 0.5 /* average seconds of timing for a method, unless the fewest runs take longer */

/* Values of --per besides those of enum gcb_per. */
enum compress_per { COMPRESS_PER_DEFAULT = -1, COMPRESS_PER_NONE = GCB_PER_WORKER + 1 };

struct compress_own {
    int per;     /* enum gcb_per or enum compress_per */
    int top;     /* 0: not given */
    int shuffle; /* enum gcb_shuffle */
    uint64_t shuffle_seed;
};

struct compress_options {
    struct opt_methods methods;
    struct session_options common;
    struct opt_timing timing;
    struct compress_own own;
    struct opt_lines lines;
    struct opt_shapes shapes;
};

/* names of enum gcb_per, and of COMPRESS_PER_NONE */
static const char *const pers[] = {"message", "tensor", "step", "worker", "none", NULL};

/* clang-format off */
static const struct opt_row own_rows[] = {
    {OPT_ROW("per", CHOICE, compress_own, per), .metavar = "WHAT", .choices = pers,
     .initial = COMPRESS_PER_DEFAULT,
     .help = "also print a line for each message, tensor, step or worker; none: only totals, in "
             "every format"},
    {OPT_ROW("top", INT, compress_own, top), .min = 1, .max = 1e6,
     .help = "print at most N lines of --per, or the N tensors that lose most (default 5; 2 of several "
             "methods)"},
    {.name = NULL},
};

static const struct opt_row shuffle_rows[] = {
    {OPT_ROW("shuffle", CHOICE, compress_own, shuffle), .metavar = "WHAT", .choices = gcb_shuffles,
     .help = "encode each tensor with its elements, rows, columns, rows and columns, or channels in "
             "random order: what a transform then still gains is not due to order"},
    {OPT_ROW("shuffle-seed", U64, compress_own, shuffle_seed), .max = 0x1p64,
     .help = "seed of --shuffle (default 0)"},
    {.name = NULL},
};
/* clang-format on */

/* The state of the command. Starts zeroed. */
struct compress {
    const struct compress_options *o;
    struct session s;
    struct gcb_policy policy; /* with --method-for: methods[0] stands for it */
    struct gcb_method *methods;
    size_t given;           /* number of methods that the user named; they are the first */
    size_t count;           /* number of all methods, with the baseline if there is one */
    enum gcb_field sort;    /* figure of --sort, or GCB_FIELD_NONE */
    struct gcb_h5out *keep; /* the messages of -o; NULL: they are not kept */
    struct gcb_trial_config trial;
    struct gcb_groups groups;  /* lines of --per */
    struct gcb_groups losses;  /* by tensor, for the lines "loses most" */
    struct gcb_shapes *shapes; /* NULL without --histogram and --spectrum */
    struct gcb_run_result result;
    struct gcb_label *labels;      /* names of the methods in tables */
    struct gcb_label *rule_labels; /* names of the methods of --method-for */
};

/* Refuses a command line without a method, wrong values, and options that contradict each other.
 * Sets *sort to the figure of --sort, or to GCB_FIELD_NONE. */
static int check_options(enum gcb_field *sort, const struct compress_options *o,
                         struct gcb_diag *diag)
{
    int err;

    *sort = GCB_FIELD_NONE;
    if (o->methods.specs.count == 0 && o->methods.rules.count == 0)
        return gcb_invalid(
            diag, "no method given: add --method fft, for example; `gcbench methods` lists them");
    if (o->common.save.output && o->methods.specs.count > 1)
        return gcb_invalid(diag, "-o keeps the messages of one method: name one");
    if (o->common.save.output && o->own.shuffle)
        return gcb_invalid(diag, "messages do not say how tensors were shuffled, so they cannot be "
                                 "decompressed: leave out -o or --shuffle");
    if (o->common.save.output && o->common.save.results &&
        gcb_outfile_same(o->common.save.output, o->common.save.results))
        return gcb_invalid(diag, "-o and --results name the same file: change one");
    err = opt_shapes_check(&o->shapes, &o->common.show, &o->common.save, diag);
    if (!err)
        err = opt_lines_sort(sort, &o->lines, diag);
    return err || !o->common.save.output ? err : opt_output_check(&o->common.save, diag);
}

/* Makes the policy of --method-for, which counts as the only method that the user named. */
static int make_policy(struct compress *c, struct gcb_diag *diag)
{
    const struct session_options *o = &c->o->common;
    int err;

    if (o->message.scope != GCB_SCOPE_TENSOR)
        return gcb_invalid(diag,
                           "--method-for chooses the method of each tensor, so a message cannot "
                           "have several: leave out --scope %s",
                           opt_scopes[o->message.scope]);
    if (o->shard.text)
        return gcb_invalid(
            diag, "`gcbench merge` cannot join the results of --method-for: leave out --shard");
    err = opt_policy_resolve(&c->policy, &c->o->methods, diag);
    for (size_t i = 0; !err && i < c->policy.count; i++)
        session_drop_memory(&c->s, "compress", &c->policy.rules[i].method, 1);
    if (err)
        return err;
    c->methods = gcb_must_array(1, sizeof(*c->methods));
    c->given = 1;
    gcb_policy_method(&c->methods[0], &c->policy);
    return 0;
}

/* Finds the methods: those that the user named; then fp16, unless the user named it or gave
 * --no-baselines. */
static int find_methods(struct compress *c, struct gcb_diag *diag)
{
    const struct opt_methods *named = &c->o->methods;
    const int err = named->rules.count
                        ? make_policy(c, diag)
                        : opt_methods_resolve(&c->methods, &c->given, named, NULL, diag);

    c->count = c->given;
    for (size_t i = 0; !err && i < c->given; i++)
        if (strcmp(c->methods[i].name, "fp16") == 0)
            return 0;
    return err || c->o->lines.no_baselines
               ? err
               : opt_methods_append(&c->methods, &c->count, "fp16", diag);
}

static int resolve_options(struct compress *c, struct gcb_diag *diag)
{
    int err = check_options(&c->sort, c->o, diag);

    if (!err)
        err = find_methods(c, diag);
    if (err)
        return err;
    session_drop_memory(&c->s, "compress", c->methods, c->count);
    err = session_read_shard(&c->s, c->methods, c->count);
    return err ? err : session_resolve(&c->s);
}

/* Opens the file of -o, if that is given, and notes the version and the method there. */
static int open_output(struct compress *c, struct gcb_diag *diag)
{
    const struct opt_save *save = &c->o->common.save;
    char spec[512];
    int err;

    if (!save->output)
        return 0;
    err = gcb_h5out_create(&c->keep, save->output, save->force, c->s.files->items,
                           c->s.files->count, diag);
    if (!err)
        err = gcb_h5out_note(c->keep, "/", "gcbench_version", gcb_version(), diag);
    if (!err)
        err = gcb_h5out_note(
            c->keep, "/", "method",
            c->policy.text ? c->policy.text
                           : gcb_method_spec(spec, sizeof(spec), &c->methods[0], GCB_SPEC_FULL),
            diag);
    return err;
}

/* True if a table with the lines of --per is shown. */
static bool wants_groups(const struct compress *c)
{
    return c->s.report.table && c->o->own.per != COMPRESS_PER_DEFAULT &&
           c->o->own.per != COMPRESS_PER_NONE;
}

/* True if lines "loses most" follow the table. */
static bool wants_losses(const struct compress *c)
{
    return c->s.report.table && c->o->own.per == COMPRESS_PER_DEFAULT;
}

static int on_trial(void *ctx, const struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    struct compress *c = ctx;
    struct gcb_row row;
    int err = 0;

    if (wants_groups(c))
        gcb_groups_add(&c->groups, trial);
    if (wants_losses(c))
        err = gcb_losses_add(&c->losses, c->s.source, trial, &c->trial, diag);
    if (!err && c->shapes)
        err = gcb_shapes_add(c->shapes, trial, diag);
    if (err || c->o->own.per == COMPRESS_PER_NONE || !out_wants_rows(&c->s.report))
        return err;
    gcb_rows_result(&row, &c->s.setting, &c->methods[trial->method], trial);
    return session_put(&c->s, &row);
}

static int run_methods(struct compress *c, struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {
        .trial = on_trial, .ctx = c, .watch = session_watch(&c->s)};
    struct gcb_run_config config = session_run_config(&c->s, &c->o->timing, c->methods, c->count);
    /* with a policy, the methods by tensor: those of methods[0], which stands for the policy, and
     * none for fp16 */
    const struct gcb_method *const *by_tensor[2] = {c->policy.by_tensor, NULL};
    const struct opt_shapes *wanted = &c->o->shapes;
    const struct gcb_shapes_config shapes = {wanted->histogram, wanted->spectrum, c->count,
                                             &c->s.backend.kernels, &c->s.backend.queue};
    int err;

    gcb_groups_init(&c->losses, GCB_PER_TENSOR, c->count);
    if (wants_groups(c))
        gcb_groups_init(&c->groups, (enum gcb_per)c->o->own.per, c->count);
    if (wanted->histogram || wanted->spectrum)
        c->shapes = gcb_shapes_create(&shapes);

    config.by_tensor = c->policy.count ? by_tensor : NULL;
    session_repeat(&c->s, &config, &c->o->timing, SECONDS);
    config.keep = c->keep;
    config.trial.check_sums = true;
    if (c->shapes) /* shapes need the input and the decoded tensor at once */
        config.in_place = 0;
    c->trial = config.trial;
    session_start_progress(&c->s);
    err = gcb_run(&c->result, &config, &observer, diag);
    progress_end(&c->s.progress);
    return session_status(&c->s, err);
}

/* ---- tables and notes ---- */

/* Adds the speed with its spread: that of the median's 95 % interval, or of the range of the runs
 * if they are too few for an interval. */
static void add_speed(struct gcb_table *table, const struct gcb_tally *t,
                      const struct gcb_times *times, const struct gcb_sample_sums *runs)
{
    struct gcb_times spread = *times;
    struct gcb_stats stats;

    if (isnan(spread.low) && runs->count > 1) {
        stats = gcb_stats_make(runs->seconds, runs->count);
        spread.low = stats.min;
        spread.high = stats.max;
    }
    out_speed(table, gcb_tally_gbps(t, times), &spread);
}

static void show_totals(const struct compress *c)
{
    const size_t count = c->result.method_count;
    size_t *order = gcb_must_array(count, sizeof(*order));
    const struct gcb_run_total *total;
    struct gcb_table *table;
    char name[256];

    table = gcb_table_create(out_columns, OUT_COLUMNS);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (c->sort)
        gcb_totals_order(order, &c->result, c->sort);
    for (size_t i = 0; i < count; i++) {
        total = &c->result.totals[order[i]];
        if (total->failure.status && !total->tally.messages)
            continue;
        snprintf(name, sizeof(name), "%s%s", c->labels[order[i]].text,
                 order[i] >= c->given ? " (baseline)" : "");
        gcb_table_cell(table, name);
        out_figures(table, out_columns, OUT_COLUMNS - 2, &total->tally, 0);
        add_speed(table, &total->tally, &total->tally.encode, &total->samples[GCB_TIMED_ENCODE]);
        add_speed(table, &total->tally, &total->tally.decode, &total->samples[GCB_TIMED_DECODE]);
    }
    gcb_free(order);
    out_table(&c->s.report, table);
}

/* Adds the cells with a group's name and its method. With a policy, a group of one tensor or
 * message gets the method that the policy has for that tensor. */
static void add_names(struct gcb_table *table, const struct compress *c, const struct gcb_group *g,
                      size_t method)
{
    const enum gcb_per per = c->groups.per;
    const bool named = per == GCB_PER_TENSOR || per == GCB_PER_MESSAGE;
    char text[300] = "", name[256];

    if (per == GCB_PER_MESSAGE)
        snprintf(text, sizeof(text), "step %" PRIu64 " worker %" PRIu32 " ", g->step, g->worker);
    if (named)
        gcb_append(text, sizeof(text), "%s", gcb_escape(name, sizeof(name), g->name));
    else
        snprintf(text, sizeof(text), "%" PRIu64, per == GCB_PER_STEP ? g->step : g->worker);
    gcb_table_cell(table, text);
    gcb_table_cell(table,
                   c->policy.count && named
                       ? c->rule_labels[gcb_policy_rule(&c->policy, g->name) - c->policy.rules].text
                       : c->labels[method].text);
}

/* Prints a table with a line for each group and each method that the user named; with --top, only
 * for the first groups. A figure by which lines are sorted has a column. */
static void show_groups(const struct compress *c)
{
    const struct gcb_table_column columns[] = {
        {.title = pers[c->groups.per], .elastic = true},
        {.title = "method", .elastic = true},
        {.title = "ratio", .field = GCB_FIELD_RATIO},
        {.title = "rel L2", .field = GCB_FIELD_REL_L2},
        {.title = "enc GB/s", .field = GCB_FIELD_ENCODE_GBPS},
        {.title = "dec GB/s", .field = GCB_FIELD_DECODE_GBPS},
        /* left out without --sort, or if a column above has the field */
        {.title = gcb_field_name(c->sort), .field = c->sort},
    };
    const size_t all = sizeof(columns) / sizeof(columns[0]), top = (size_t)c->o->own.top;
    const size_t shown = top && top < c->groups.count ? top : c->groups.count;
    size_t sorted = 0, count;
    struct gcb_table *table;

    while (columns[sorted].field != c->sort) /* without --sort, stops at the first column */
        sorted++;
    count = sorted + 1 == all ? all : all - 1;
    table = gcb_table_create(columns, count);
    for (size_t i = 0; i < shown; i++)
        for (size_t m = 0; m < c->given; m++) {
            add_names(table, c, &c->groups.items[i], m);
            out_figures(table, columns, count, &c->groups.items[i].tallies[m], 0);
        }
    out_table(&c->s.report, table);

    if (shown < c->groups.count)
        fprintf(c->s.report.out, "(%zu of %zu are shown)\n", shown, c->groups.count);
    fputc('\n', c->s.report.out);
}

/* Prints "METHOD loses most: a 41 %, b 20 %"; without METHOD if the user named only one. */
static void print_loss(struct compress *c, size_t method, FILE *out)
{
    const bool several = c->given > 1;
    const size_t usual = several ? 2 : 5, asked = (size_t)c->o->own.top;
    const size_t wanted = asked ? asked : usual;
    struct gcb_loss top[MAX_TOP];
    const size_t count =
        gcb_losses_top(&c->losses, method, top, wanted < MAX_TOP ? wanted : MAX_TOP);
    char text[256 + MAX_TOP * 64] = "", name[48];

    if (several)
        snprintf(text, sizeof(text), "%s loses most: ", c->labels[method].text);
    for (size_t i = 0; i < count; i++)
        gcb_append(text, sizeof(text), "%s%s %.0f %%", i ? ", " : "",
                   gcb_escape(name, sizeof(name), top[i].path), 100.0 * top[i].share);
    if (count)
        opt_wrap(out, text, several ? 0 : fprintf(out, "loses most:"), several ? 0 : 2);
}

/* Prints notes on the messages of a method: if headers are more than 5 % of their bytes, or if some
 * were sent raw. */
static void note_messages(const struct compress *c, size_t method, FILE *out)
{
    const struct gcb_tally *t = &c->result.totals[method].tally;
    const double share = gcb_tally_header_share(t);

    if (share > 0.05)
        opt_note(out, "headers are %.0f %% of the bytes%s%s%s", 100.0 * share,
                 c->given > 1 ? " of " : "", c->given > 1 ? c->methods[method].name : "",
                 c->s.o.message.scope == GCB_SCOPE_MODEL ? ""
                                                         : "; --scope bucket sends fewer messages");
    /* a lossless method may send raw tensors by itself */
    if (t->stored > t->dense && !(gcb_method_caps(&c->methods[method]) & GCB_CAP_LOSSLESS))
        opt_note(out,
                 "%s: %" PRIu64 " of %" PRIu64
                 " messages were sent raw: coding made them larger, the method "
                 "overflowed, or they hold infinities or NaNs",
                 c->methods[method].name, t->stored, t->messages);
}

static void print_notes(const struct compress *c, FILE *out)
{
    const struct gcb_run_result *r = &c->result;
    const struct gcb_tally *first = &r->totals[0].tally;

    for (size_t m = 0; m < c->given; m++)
        note_messages(c, m, out);
    out_note_dense(out, c->methods, c->given, r);
    if (first->messages)
        out_note_values(out, first->fidelity.xx);
    if (first->dense)
        opt_note(out, "%" PRIu64 " of %" PRIu64 " messages were sent as fp32, as the options ask",
                 first->dense, first->messages);
    if (r->skipped_steps)
        opt_note(out,
                 "%" PRIu64 " step%s with infinities or NaNs left out, as --nonfinite skip asks",
                 r->skipped_steps, r->skipped_steps == 1 ? "" : "s");
    if (r->zeroed)
        opt_note(out, "%" PRIu64 " infinities and NaNs were set to 0, as --nonfinite zero asks",
                 r->zeroed);
    if (first->encode.single)
        opt_note(out,
                 "%" PRIu64 " of %" PRIu64
                 " messages were timed only once, so no speed is shown: leave --repeat out",
                 first->encode.single, first->messages);
    else
        fputs("±: half of the median's 95 % interval (under 6 runs: the range); ±?: over 99%\n",
              out);
    heading_note_load(out, (unsigned)c->o->timing.repeat);
    if (r->interrupted)
        fprintf(out, "interrupted: these are the results so far\n");
}

static void show_tables(struct compress *c)
{
    const struct out_report *report = &c->s.report;
    const struct gcb_policy *p = &c->policy;

    session_print_heading(&c->s, "");
    if (!report->table)
        return;
    if (c->s.layout.count == 0) {
        fputs("this shard has no messages: there are more shards than messages\n", report->out);
        return;
    }
    c->labels = gcb_label_methods(c->methods, sizeof(*c->methods), c->count);
    if (p->count)
        c->rule_labels = gcb_label_methods(&p->rules[0].method, sizeof(p->rules[0]), p->count);
    if (wants_groups(c) && c->sort)
        gcb_groups_sort(&c->groups, c->sort);
    if (wants_groups(c))
        show_groups(c);
    show_totals(c);
    if (p->count)
        opt_wrap(report->out, p->text, fprintf(report->out, "policy:"), 2);
    for (size_t m = 0; wants_losses(c) && m < c->given; m++)
        print_loss(c, m, report->out);
    out_failures(report->out, NULL, &c->result);
    if (!report->quiet)
        print_notes(c, report->out);
}

/* ---- the command ---- */

/* Sends rows, shows tables and the answer, and completes the files. After an interruption, rows are
 * kept, with status "interrupted". After an interruption or a failure of the method, no file of
 * messages is written. A shard has no answer, because only `merge` knows all messages. */
static int put_results(struct compress *c, struct gcb_diag *diag)
{
    char files[SESSION_FILES];
    const struct session_shard shard = {
        .layout = &c->s.layout,
        .methods = c->methods,
        .method_count = c->count,
        .result = &c->result,
        .files = session_name_files(files, &c->s),
    };
    struct bench_outcome outcome = {.methods = 0};
    struct gcb_row row;
    int err = out_summaries(&c->s.report, &c->s.setting, c->methods, &c->result, files, true, diag);

    if (!err)
        err = session_put_shard(&c->s, &shard);
    if (!err && c->shapes)
        err = gcb_shapes_rows(c->shapes, c->methods, out_put_row, &c->s.report, diag);
    if (!err && c->keep && !c->result.interrupted && !c->result.totals[0].failure.status)
        err = gcb_container_commit(c->keep, diag);
    if (!err)
        show_tables(c);
    if (!err && !c->result.interrupted && !c->s.shard.count) {
        answer_make(&row, "", c->methods, &c->result, true);
        err = out_answer(&c->s.report, &row, diag);
    }
    if (!err)
        err = out_commit(&c->s.report, diag);
    if (!err && !c->result.interrupted) {
        bench_outcome_add(&outcome, &c->result);
        return bench_outcome_judge(&outcome, c->s.ctx->err, diag);
    }
    if (err)
        return err;
    return session_interrupted(&c->s, c->keep ? "no file of messages was written" : "");
}

static void release_all(struct compress *c)
{
    gcb_run_result_fini(&c->result);
    gcb_shapes_destroy(c->shapes);
    gcb_groups_fini(&c->losses);
    gcb_groups_fini(&c->groups);
    gcb_h5out_destroy(c->keep);
    session_close(&c->s);
    gcb_policy_fini(&c->policy);
    gcb_free(c->methods);
    gcb_free(c->labels);
    gcb_free(c->rule_labels);
}

static int compress_run(const void *options, const struct opt_list *operands,
                        struct cmd_context *ctx)
{
    const struct compress_options *o = options;
    struct compress c = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err = resolve_options(&c, ctx->diag);

    if (!err)
        err = session_open_input(&c.s);
    if (!err)
        gcb_source_shuffle(c.s.source, (enum gcb_shuffle)o->own.shuffle, o->own.shuffle_seed);
    if (!err)
        gcb_shard_layout(&c.s.layout, c.s.source, &c.s.shard);
    if (!err && c.policy.count)
        err = gcb_policy_bind(&c.policy, c.s.source, ctx->diag);
    interrupt_catch();
    if (!err)
        err = open_output(&c, ctx->diag);
    if (!err)
        err = session_start_report(&c.s, GCB_RESULT_RECORDS, true);
    c.s.setting.policy = c.policy.count ? &c.policy : NULL;
    c.s.setting.shuffle = o->own.shuffle ? gcb_shuffles[o->own.shuffle] : NULL;
    if (!err)
        err = run_methods(&c, ctx->diag);
    if (!err)
        err = put_results(&c, ctx->diag);
    release_all(&c);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct compress_options, methods),
    OPT_GROUP("Methods", opt_policy_rows, struct compress_options, methods),
    SESSION_GROUPS(struct compress_options),
    OPT_GROUP("Messages", shuffle_rows, struct compress_options, own),
    OPT_GROUP("Running", opt_shard_rows, struct compress_options, common.shard),
    OPT_GROUP("Running", opt_timing_rows, struct compress_options, timing),
    OPT_GROUP("Output", opt_output_rows, struct compress_options, common.save),
    OPT_GROUP("Output", own_rows, struct compress_options, own),
    OPT_GROUP("Output", opt_lines_rows, struct compress_options, lines),
    OPT_GROUP("Output", opt_shapes_rows, struct compress_options, shapes),
    SESSION_OUTPUT_GROUPS(struct compress_options),
    {.rows = NULL},
};

const struct cmd cmd_compress = {
    .name = "compress",
    .summary = "encode tensors with each method, decode them again, report",
    .usage = "compress [options] --method NAME[:key=value,...] FILE...",
    .examples = "  gcbench compress --method fft --method topk gradients.h5\n"
                "  gcbench compress --method fft --theta 0.9 --scope model gradients.h5\n"
                "  gcbench compress --method qsgd:bits=4 -o messages.h5 gradients.h5\n"
                "  gcbench compress --method qsgd --device cuda -o messages.h5 gradients.h5\n"
                "  gcbench compress --method topk --per tensor --sort rel_l2 gradients.h5\n"
                "  gcbench compress --method topk-range --method-for '*bias=fp16' gradients.h5\n",
    .details =
        "Each message is encoded, decoded from its own bytes, and compared with the input.\n"
        "After an untimed run, it is timed at least twice: until its median is known to 10 %, or "
        "half a second was spent on the method. --repeat N sets the number of timed runs.\n"
        "--device cuda encodes and decodes on a GPU and compares each message with the CPU's. If "
        "bytes or values differ, the exit status is 5 and no file is written. If a method does not "
        "run on the GPU, the exit status is 3.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct compress_options, methods.overrides)}},
    .size = sizeof(struct compress_options),
    .run = compress_run,
};
