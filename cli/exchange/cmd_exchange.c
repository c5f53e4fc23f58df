#include "cli/exchange/exchange.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/labels.h"

/* gcbench-mpi: every rank runs this program; only rank 0 prints. */

#define LINK_BYTES (UINT64_C(64) << 20) /* largest transfer if no gradients are exchanged */

/* What main gives the command, as the `own` of its context. */
struct exchange_place {
    struct gcb_net *net;
    bool agreed; /* the command has called agree */
};

/* The state of the command on one rank. Starts zeroed. */
struct exchange {
    const struct exchange_options *o;
    struct gcb_net *net;
    struct session s;
    struct gcb_lane *lanes; /* methods and algorithms, with their results on the current load */
    size_t count;
    uint64_t sizes[EXCHANGE_SIZES]; /* elements of the synthetic gradients */
    size_t size_count;              /* 0: the gradients are those of a dump, if any */
    struct gcb_source_synthetic synthetic;
    struct gcb_load load;    /* the gradients that are exchanged now */
    struct gcb_timed coding; /* times of coding that --coding gives */
    struct gcb_link link;    /* transfers of --calibrate */
    bool links;              /* `link` was prepared */
    bool wrong;              /* an update differed between ranks, or from the serial exchange */
};

static bool is_first(const struct exchange *c)
{
    return gcb_net_rank(c->net) == 0;
}

/* ---- the options, and opening the gradients ---- */

/* Refuses memory=delay with a delay over 1, because not every step then sends a message to time. */
static int refuse_delay(const struct exchange *c, struct gcb_diag *diag)
{
    for (size_t i = 0; i < c->count; i++) {
        struct gcb_memory_params memory;

        gcb_method_memory(&memory, &c->lanes[i].method);
        if (memory.kind == GCB_MEMORY_DELAY && memory.delay > 1)
            return gcb_invalid(
                diag,
                "%s: gcbench-mpi times single steps, but with delay=%" PRIu64
                " most steps send nothing; use delay=1, whose messages have the same size",
                c->lanes[i].method.name, memory.delay);
    }
    return 0;
}

/* Refuses options that do not go together. */
static int check_options(const struct exchange *c, struct gcb_diag *diag)
{
    const struct exchange_own *own = &c->o->own;
    const bool files = c->s.files->count, synthetic = c->size_count, methods = c->count;
    const struct {
        bool wrong;
        const char *words;
    } rules[] = {
        {own->calibrate && gcb_net_ranks(c->net) < 2,
         "--calibrate measures transfers between ranks: start two or more, such as mpirun -n 2 "
         "gcbench-mpi --calibrate"},
        {own->coding && !gcb_net_simulated(c->net),
         "--coding is for simulated clusters (./dev simulate): here coding takes its own time"},
        {own->sizes && own->elements, "--sizes and --elements contradict each other"},
        {methods && !synthetic && !files, "no gradients: give a FILE, --elements or --sizes"},
        {!methods && (synthetic || files),
         "--calibrate without a method exchanges no gradients: add --method identity, for example"},
        {own->dist && methods && !synthetic, "--dist needs --elements or --sizes"},
        {c->o->common.message.nonfinite != GCB_POLICY_ERROR,
         "gcbench-mpi stops at infinities and NaNs: leave out --nonfinite"},
    };

    if (synthetic && files)
        return gcb_invalid(diag,
                           "%s makes synthetic gradients and %s holds others: give one of both; a "
                           "method needs --method",
                           own->sizes ? "--sizes" : "--elements",
                           gcb_show(c->s.files->items[0]).text);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return gcb_invalid(diag, "%s", rules[i].words);
    return refuse_delay(c, diag);
}

/* Makes the lanes and the backend from the options, reads the sizes and the distribution of
 * synthetic gradients, and refuses options that do not go together. */
static int resolve(struct exchange *c, struct gcb_diag *diag)
{
    const struct exchange_own *own = &c->o->own;
    int err = exchange_make_lanes(&c->lanes, &c->count, c->o, diag);

    if (!err)
        err = session_resolve(&c->s);
    if (!err)
        err = exchange_sizes(c->sizes, &c->size_count, own, diag);
    if (!err)
        err = check_options(c, diag);
    c->synthetic.dist.dist = GCB_DIST_LAPLACE;
    c->synthetic.name = own->dist ? own->dist : "laplace";
    if (!err && own->dist)
        err = gcb_synthetic_parse(&c->synthetic.dist, own->dist, diag);
    return err;
}

/* Opens the gradients of the i-th size or, without sizes, the dump. */
static int open_load(struct exchange *c, size_t i, struct gcb_diag *diag)
{
    int err;

    if (c->size_count) {
        gcb_layout_fini(&c->s.layout);
        gcb_source_close(c->s.source);
        c->s.source = NULL;
        c->synthetic.elements = c->sizes[i];
        err = gcb_source_open_synthetic(&c->s.source, &c->synthetic, 1, c->s.backend.seed, diag);
        if (!err)
            session_plan(&c->s);
    } else {
        err = session_open_input(&c->s);
    }
    gcb_load_fini(&c->load);
    c->load = (struct gcb_load){
        .source = c->s.source,
        .layout = &c->s.layout,
        .synthetic = c->size_count ? &c->synthetic : NULL,
        .seed = c->s.backend.seed,
    };
    return err ? err : gcb_load_init(&c->load, diag);
}

/* Returns GCB_E_INVALID, with the message `words`, if ranks have different values. Called by all
 * ranks. */
static int require_same(const struct exchange *c, uint64_t value, const char *words,
                        struct gcb_diag *diag)
{
    return gcb_net_same(c->net, value) ? 0 : gcb_invalid(diag, "%s", words);
}

/* Returns GCB_E_INVALID if ranks differ in methods, or in options that decide what they exchange
 * and how often, because some ranks would then wait for others for ever. Called by all ranks. */
static int require_same_options(const struct exchange *c, struct gcb_diag *diag)
{
    const uint64_t numbers[] = {c->s.backend.seed, c->o->own.repeats, c->o->own.calibrate,
                                c->size_count};
    uint64_t hash = XXH3_64bits(numbers, sizeof(numbers));
    char spec[512];

    hash = XXH3_64bits_withSeed(&c->o->own.seconds, sizeof(c->o->own.seconds), hash);
    hash = XXH3_64bits_withSeed(c->sizes, c->size_count * sizeof(*c->sizes), hash);
    hash = XXH3_64bits_withSeed(c->synthetic.name, strlen(c->synthetic.name), hash);
    for (size_t i = 0; i < c->count; i++) {
        gcb_method_spec(spec, sizeof(spec), &c->lanes[i].method, GCB_SPEC_FULL);
        hash = XXH3_64bits_withSeed(spec, strlen(spec), hash + c->lanes[i].algorithm);
    }
    return require_same(c, hash, "ranks have other methods or other options: all need the same",
                        diag);
}

/* ---- tables and the answer ---- */

/* True if lanes have different algorithms. Lanes are in the order of methods, and those of a method
 * in the order of algorithms, so the first and the last differ then. */
static bool have_several_algorithms(const struct exchange *c)
{
    return c->lanes[c->count - 1].algorithm != c->lanes[0].algorithm;
}

static const struct gcb_table_column columns[] = {
    {.title = "method", .elastic = true},
    {.title = "sent by", .text = true},
    {.title = "sent"},
    {.title = "time"},
    {.title = "encode"},
    {.title = "wire"},
    {.title = "sum"},
    {.title = "wrong"},
};

static void show_lanes(const struct exchange *c, const struct gcb_label *labels)
{
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));

    for (size_t i = 0; i < c->count; i++) {
        const struct gcb_lane *lane = &c->lanes[i];
        const double times[] = {
            gcb_lane_stats(lane, GCB_TIME_WHOLE).median,
            gcb_lane_stats(lane, GCB_TIME_ENCODE).median,
            gcb_lane_stats(lane, GCB_TIME_WIRE).median +
                gcb_lane_stats(lane, GCB_TIME_SIZES).median,
            gcb_lane_stats(lane, GCB_TIME_SUM).median,
        };
        char text[256];

        snprintf(text, sizeof(text), "%s", labels[i].text);
        gcb_spec_drop(text, "collective"); /* the next column shows the collective */
        /* the algorithm is in the first column, because long texts there are broken into lines, and
         * those of other columns are cut in the middle */
        if (have_several_algorithms(c))
            gcb_append(text, sizeof(text), " %s", gcb_net_algorithm_names[lane->algorithm]);
        gcb_table_cell(table, text);
        gcb_table_cell(table, gcb_collective_names[gcb_method_collective(&lane->method)]);
        out_cell(table, GCB_FIELD_WIRE_BYTES, (double)lane->first.given / gcb_net_ranks(c->net), 0);
        for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++)
            out_cell(table, GCB_FIELD_SECONDS, times[k], 0);
        snprintf(text, sizeof(text), "%" PRIu64, lane->wrong);
        gcb_table_cell(table, text);
    }
    out_table(&c->s.report, table);
}

/* Returns the lane with the least median time among the lanes without a wrong update: among the
 * baselines (fp32, fp16 and bf16 by all-reduce) if `baselines` is set, or else among all others.
 * NULL: there is none. */
static const struct gcb_lane *find_fastest(const struct exchange *c, bool baselines)
{
    const struct gcb_lane *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < c->count; i++) {
        const double seconds = gcb_lane_stats(&c->lanes[i], GCB_TIME_WHOLE).median;

        if (c->lanes[i].wrong == 0 && exchange_is_baseline(&c->lanes[i].method) == baselines &&
            seconds < least) {
            least = seconds;
            best = &c->lanes[i];
        }
    }
    return best;
}

/* Writes a lane's name, and its algorithm if lanes have several. */
static void name_lane(char *out, size_t size, const struct exchange *c, const char *name,
                      const struct gcb_lane *lane)
{
    snprintf(out, size, "%s", gcb_shown_name(name));
    if (have_several_algorithms(c))
        gcb_append(out, size, " by %s", gcb_net_algorithm_names[lane->algorithm]);
}

/* Writes the answer: which lane was the fastest, apart from baselines, and whether that lane beats
 * the fastest baseline. Returns false if there is nothing to compare. */
static bool write_answer(char *out, size_t size, const struct exchange *c,
                         const struct gcb_label *labels)
{
    const struct gcb_lane *method = find_fastest(c, false), *bar = find_fastest(c, true);
    struct gcb_answer answer = {.times = true};
    struct gcb_answer_item item;
    struct gcb_stats a, b;
    char name[256], baseline[64], bytes[32];

    if (!method || !bar)
        return false;
    a = gcb_lane_stats(method, GCB_TIME_WHOLE);
    b = gcb_lane_stats(bar, GCB_TIME_WHOLE);
    name_lane(name, sizeof(name), c, labels[method - c->lanes].text, method);
    name_lane(baseline, sizeof(baseline), c, bar->method.name, bar);
    answer.bar = baseline;
    item = gcb_answer_item_of(&method->method);
    item.name = name;
    item.gain = b.median / a.median;
    item.low = b.low / a.high;
    item.high = b.high / a.low;
    snprintf(out, size, "with %u workers and %s each on this network ", gcb_net_ranks(c->net),
             gcb_show_number(bytes, GCB_SHOW_SIZE, (double)c->load.input_bytes));
    /* an interval from below 0.9 to above 1.1 leaves open which is faster */
    if (item.gain < GCB_ANSWER_GAIN && !(item.low < 0.9 && item.high > 1.1))
        gcb_append(out, size, "nothing is faster than %s: ", baseline);
    gcb_append(out, size, "%s ", name);
    gcb_answer_gain(out, size, &answer, &item);
    gcb_append(out, size, "; errors and training were not tested");
    return true;
}

/* Prints a table of the transfers of --calibrate, with median times. */
static void show_link(const struct out_report *report, const struct gcb_link *link)
{
    static const struct gcb_table_column titles[] = {{.title = "pattern", .text = true},
                                                     {.title = "transfer"},
                                                     {.title = "first"},
                                                     {.title = "next"},
                                                     {.title = "Gb/s"}};
    struct gcb_table *table = gcb_table_create(titles, 5);

    for (size_t i = 0; i < link->count; i++) {
        const struct gcb_link_size *size = &link->sizes[i];
        const double seconds = gcb_stats_make(size->seconds, size->samples).median;

        gcb_table_cell(table, gcb_pattern_names[size->pattern]);
        out_cell(table, GCB_FIELD_BYTES, size->bytes, 0);
        out_cell(table, GCB_FIELD_FIRST_SECONDS, gcb_stats_make(size->first, size->samples).median,
                 0);
        out_cell(table, GCB_FIELD_SECONDS, seconds, 0);
        out_cell(table, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * size->bytes / seconds, 0);
    }
    out_table(report, table);
}

/* ---- measuring one size, and showing its results ---- */

/* Shows the progress and, with --calibrate, takes a sample of each transfer size. All ranks call
 * this after each repeat of all lanes. */
static void on_progress(void *ctx, double done)
{
    struct exchange *c = ctx;

    progress_update(&c->s.progress, done);
    if (c->links)
        gcb_link_sample(&c->link, c->net);
}

/* Prints the lines above the table: how many workers exchanged what, and over which network. */
static void print_heading(const struct exchange *c)
{
    char settings[160], bytes[32];

    session_describe(settings, sizeof(settings), &c->s, "");
    opt_wrapf(c->s.report.out, 0, 0, "%u workers, each with %s in %zu message%s, %s, %s",
              gcb_net_ranks(c->net),
              gcb_show_number(bytes, GCB_SHOW_SIZE, (double)c->load.input_bytes),
              c->load.plan.messages, c->load.plan.messages == 1 ? "" : "s", settings,
              gcb_net_library(c->net));
    if (gcb_net_simulated(c->net))
        opt_wrapf(c->s.report.out, 0, 0, "A simulated network; %s%s",
                  c->o->own.coding ? "times of coding are those of " : "coding takes no time",
                  c->o->own.coding ? c->o->own.coding : " (--coding RESULTS)");
}

/* Sends the rows of all lanes, and prints their table and the answer; on rank 0 only. */
static int show(struct exchange *c, struct gcb_diag *diag)
{
    struct gcb_label *labels;
    char files[SESSION_FILES], answer[500];
    struct gcb_row row;
    int err = 0;

    if (!is_first(c) || !c->count)
        return 0;
    labels = gcb_label_methods(&c->lanes->method, sizeof(*c->lanes), c->count);
    for (size_t i = 0; !err && i < c->count && out_wants_rows(&c->s.report); i++) {
        gcb_rows_exchange(&row, &c->s.setting, c->net, &c->load, &c->lanes[i],
                          c->size_count ? GCB_SOURCE_SYNTHETIC : session_name_files(files, &c->s));
        err = session_put(&c->s, &row);
    }
    if (!err && c->s.report.table) {
        print_heading(c);
        show_lanes(c, labels);
    }
    if (!err && write_answer(answer, sizeof(answer), c, labels)) {
        gcb_answer_row(&row, answer, NULL);
        err = out_answer(&c->s.report, &row, diag);
    }
    gcb_free(labels);
    return err;
}

/* Opens the gradients of the i-th size, or of the dump, and checks that all ranks have the same
 * tensors. Gives the lanes the times of --coding. Called by all ranks. */
static int prepare_load(struct exchange *c, size_t i, struct gcb_diag *diag)
{
    const unsigned ranks = gcb_net_ranks(c->net);
    int err = gcb_net_agree(c->net, open_load(c, i, diag), diag);

    if (!err)
        err = require_same(c, gcb_load_hash(&c->load),
                           "ranks have other tensors: all need files with the same tensors, and "
                           "the same options",
                           diag);
    for (size_t k = 0; c->o->own.coding && !err && k < c->count; k++)
        err = gcb_lane_take_times(&c->lanes[k], &c->coding, c->o->own.coding, ranks,
                                  (double)c->load.elements, diag);
    return gcb_net_agree(c->net, err, diag);
}

/* Prepares the transfers that measure the network: up to the size of the load as fp32 (at most 256
 * MiB), or up to LINK_BYTES without methods. Forgets the transfers that were measured with an
 * earlier load. */
static int prepare_link(struct exchange *c, struct gcb_diag *diag)
{
    const uint64_t most = c->count ? sizeof(float) * c->load.elements : LINK_BYTES;
    int err;

    gcb_link_fini(&c->link);
    err = gcb_link_init(&c->link, most, gcb_net_ranks(c->net), c->o->own.repeats, diag);
    err = gcb_net_agree(c->net, err, diag);
    c->links = !err;
    return err;
}

/* Exchanges the gradients of the i-th size, or of the dump, and shows the results. Without methods,
 * only measures the network. */
static int run_load(struct exchange *c, size_t i, struct gcb_diag *diag)
{
    const struct gcb_lanes_config config = {
        .net = c->net,
        .load = &c->load,
        .compute = session_compute(&c->s),
        .repeats = c->o->own.repeats,
        .seconds = c->o->own.seconds,
        .serial = !c->o->own.no_serial,
        .progress = on_progress,
        .ctx = c,
    };
    int err = c->count ? prepare_load(c, i, diag) : 0;

    if (!err && c->o->own.calibrate)
        err = prepare_link(c, diag);
    if (err)
        return err;
    session_start_progress(&c->s);
    err = gcb_lanes_measure(&config, c->lanes, c->count, diag);
    progress_end(&c->s.progress);
    if (!err)
        err = gcb_net_agree(c->net, show(c, diag), diag);
    for (size_t k = 0; k < c->count; k++) {
        c->wrong |= c->lanes[k].wrong > 0;
        gcb_lane_clear(&c->lanes[k]);
    }
    return err;
}

/* ---- the transfers of --calibrate ---- */

/* Prints the table of transfers and sends their rows; on rank 0 only. */
static int put_links(struct exchange *c, struct gcb_diag *diag)
{
    int err = 0;

    if (!c->links || !is_first(c))
        return 0;
    if (c->s.report.table)
        show_link(&c->s.report, &c->link);
    for (size_t i = 0; !err && i < c->link.count && out_wants_rows(&c->s.report); i++) {
        struct gcb_row row;

        gcb_rows_link(&row, c->net, &c->link.sizes[i]);
        err = out_put(&c->s.report, &row, diag);
    }
    return err;
}

/* ---- the command ---- */

static int run_all(struct exchange *c, struct gcb_diag *diag)
{
    const size_t loads = c->size_count ? c->size_count : 1;
    const unsigned links = c->o->own.calibrate ? GCB_RECORD_BIT(GCB_RECORD_LINK) : 0;
    const unsigned records = GCB_RECORD_BIT(GCB_RECORD_EXCHANGE) | links;
    int err = require_same_options(c, diag);

    if (!err && c->o->own.coding)
        err = gcb_timed_read(&c->coding, &c->o->own.coding, 1, NULL, diag);
    session_fill_setting(&c->s);
    if (!err && is_first(c))
        err = session_start_report(&c->s, records, false);
    err = gcb_net_agree(c->net, err, diag);
    for (size_t i = 0; !err && i < loads; i++)
        err = run_load(c, i, diag);
    if (!err)
        err = gcb_net_agree(c->net, put_links(c, diag), diag);
    if (!err)
        err = gcb_net_agree(c->net, is_first(c) ? out_commit(&c->s.report, diag) : 0, diag);
    if (!err && c->wrong)
        err = gcb_diag_set(diag, GCB_E_UNVERIFIED,
                           "updates differ between ranks, or from a serial exchange");
    return err;
}

/* Fails unless all ranks have understood their options (`status` is 0), and either all or none of
 * them measure. Called by all ranks. */
static int agree(struct gcb_net *net, int status, bool measures, struct gcb_diag *diag)
{
    const int err = gcb_net_agree(net, status, diag);

    if (err || gcb_net_same(net, measures))
        return err;
    return gcb_invalid(diag,
                       "some ranks have --help or --version, others do not: all need the same");
}

static int exchange_run(const void *options, const struct opt_list *operands,
                        struct cmd_context *ctx)
{
    const struct exchange_options *o = options;
    struct exchange_place *place = ctx->own;
    struct exchange c = {
        .o = o,
        .net = place->net,
        .s = {.o = o->common, .files = operands, .ctx = ctx},
    };
    int err;

    place->agreed = true;
    err = agree(c.net, resolve(&c, ctx->diag), true, ctx->diag);
    if (!err)
        err = run_all(&c, ctx->diag);
    gcb_link_fini(&c.link);
    session_close(&c.s);
    gcb_load_fini(&c.load);
    gcb_timed_fini(&c.coding);
    gcb_free(c.lanes);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Methods", opt_methods_rows, struct exchange_options, methods),
    OPT_GROUP("Methods", exchange_work_rows, struct exchange_options, own),
    OPT_GROUP("Input", exchange_input_rows, struct exchange_options, own),
    OPT_GROUP("Input", opt_input_rows, struct exchange_options, common.input),
    OPT_GROUP("Messages", opt_scope_rows, struct exchange_options, common.message),
    OPT_GROUP("Messages", opt_message_rows, struct exchange_options, common.message),
    OPT_GROUP("Running", opt_threads_rows, struct exchange_options, common.exec),
    OPT_GROUP("Running", opt_exec_rows, struct exchange_options, common.exec),
    OPT_GROUP("Network", exchange_link_rows, struct exchange_options, own),
    SESSION_OUTPUT_GROUPS(struct exchange_options),
    {.rows = NULL},
};

static const struct cmd cmd_exchange = {
    .name = "mpi",
    .alone = true,
    .summary = "exchange gradients between MPI ranks, check every result, and time it",
    .usage = "mpi [options] [FILE...]",
    .examples = "  mpirun -n 4 gcbench-mpi --method topk:theta=0.99 --method qsgd gradients.h5\n"
                "  mpirun -n 4 gcbench-mpi --method powersgd --elements 1M\n"
                "  mpirun -n 4 gcbench-mpi --algorithm ring --method qsgd --sizes 64K-16M/x4\n"
                "  mpirun --host a,b,c,d gcbench-mpi --calibrate --results link.json\n",
    .details =
        "Each rank is a worker. It encodes its own gradients, exchanges them with the others as "
        "the method does (docs/exchange.md), and adds up what arrives. Rank r has the gradients of "
        "worker r of the first step; with more ranks than workers, they repeat.\n"
        "The first exchange of each method is compared with a serial one, and every later one "
        "between ranks: `wrong` counts elements that differ. All methods run in turn, so a busy "
        "machine slows all of them alike. Times are those of the slowest rank; encode, wire and "
        "sum are measured in runs of their own, with a barrier before each round.\n"
        "Exit status: 5 if a result was wrong.\n",
    .spec = {.groups = groups,
             .extra = {opt_methods_key_at, offsetof(struct exchange_options, methods.overrides)}},
    .size = sizeof(struct exchange_options),
    .run = exchange_run,
};

static int dispatch(struct cmd_context *ctx)
{
    struct exchange_place *place = ctx->own;
    int status;

    if (ctx->argc == 2 && strcmp(ctx->argv[1], "--version") == 0)
        status = fprintf(ctx->out, "gcbench-mpi %s\n", gcb_version()) < 0 ? CMD_FAILED : 0;
    else
        status = cmd_run(&cmd_exchange, ctx, ctx->argc - 1, ctx->argv + 1);
    /* the others wait in `agree` for a rank that could not read its options or only printed */
    return place->agreed ? status : agree(place->net, status, false, ctx->diag);
}

static void end_without_memory(void)
{
    gcb_net_abort(&(const struct gcb_diag){.text = "out of memory"});
}

int main(int argc, char **argv)
{
    struct gcb_diag diag = {.status = 0};
    struct exchange_place place = {.net = NULL};
    struct cmd_context ctx;
    FILE *nowhere = NULL;
    int status;

    program_choose_blas(); /* before MPI starts threads: the environment changes */
    gcb_no_memory = end_without_memory;
    place.net = gcb_net_open(&argc, &argv);
    ctx = program_begin("gcbench-mpi", argc, argv, &diag);
    gcb_no_memory = end_without_memory; /* again: program_begin has set its own */
    ctx.own = &place;
    ctx.plain = true; /* rank 0 may have a terminal although mpirun writes to a file */
    if (gcb_net_rank(place.net)) {
        nowhere = fopen("/dev/null", "w");
        ctx.out = ctx.err = nowhere ? nowhere : stderr;
    }
    status = program_run(&ctx, dispatch);
    if (nowhere)
        fclose(nowhere);
    gcb_net_close(place.net);
    return status;
}
