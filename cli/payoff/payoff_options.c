#include "cli/payoff/payoff_options.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"

/* clang-format off */
const struct opt_row payoff_own_rows[] = {
    {.name = "bandwidth", .metavar = "LINK", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, bandwidth),
     .help = "bandwidth of each node's link: 10Gb (bits), 1.25GB (bytes), a list 1Gb,10Gb or a range "
             "1Gb..100Gb/20; repeatable (default 1Gb,10Gb,25Gb,100Gb)"},
    {.name = "latency", .type = OPT_DURATION, .offset = offsetof(struct payoff_own, latency),
     .initial = NAN,
     .help = "latency of one step of an exchange (default 20us)"},
    {.name = "workers", .metavar = "N", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, workers),
     .help = "number of workers, or a list; repeatable (default 8)"},
    {.name = "collective", .metavar = "HOW", .type = OPT_CHOICE,
     .offset = offsetof(struct payoff_own, collective), .choices = gcb_topology_names,
     .help = "ring (default), allgather (recursive doubling for messages, Rabenseifner's allreduce for fp32) or ps "
             "(a parameter server)"},
    {.name = "servers", .type = OPT_INT, .offset = offsetof(struct payoff_own, servers), .min = 1,
     .max = 65536,
     .help = "with --collective ps: number of servers that share the gradient (default 1)"},
    {.name = "compute", .type = OPT_DURATION, .offset = offsetof(struct payoff_own, compute),
     .initial = NAN,
     .help = "time of a step's computation, which the exchange may overlap"},
    {.name = "model-bytes", .type = OPT_SIZE, .offset = offsetof(struct payoff_own, model_bytes),
     .min = 4, .max = 0x1p60,
     .help = "size of the gradient as fp32; K, M and G are 1024-based: 100M is 100 MiB, 105 MB "
             "(default: as in one step and worker of the results)"},
    {.name = "messages", .type = OPT_U64, .offset = offsetof(struct payoff_own, messages),
     .min = 1, .max = 1e9,
     .help = "number of messages the gradient is split into (default: as in the results)"},
    {.name = "bucket-bytes", .type = OPT_SIZE, .offset = offsetof(struct payoff_own, bucket_bytes),
     .min = 1, .max = 0x1p60,
     .help = "size of the buckets, as fp32, that the gradient travels in; a bucket holds several "
             "messages or part of one (default 25M)"},
    {.name = NULL},
};

const struct opt_row payoff_papers_rows[] = {
    {.name = "stage-gbps", .metavar = "LIST", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_papers, stage_gbps),
     .help = "print the FFT paper's condition for throughputs in GB/s: "
             "transform=71,select=30,quantise=600,index=67"},
    {.name = "density", .metavar = "D", .type = OPT_REAL,
     .offset = offsetof(struct payoff_papers, density), .min = 1e-9, .max = 1,
     .help = "print the RedSync paper's times of a sparse and a dense exchange (T_sparse, T_dense) "
             "at this density"},
    {.name = "words", .type = OPT_INT, .offset = offsetof(struct payoff_papers, words), .min = 1,
     .max = 2,
     .help = "with --density: words of 4 bytes for each kept element, 2 (default) or 1"},
    {.name = "select-time", .type = OPT_DURATION,
     .offset = offsetof(struct payoff_papers, select_time),
     .help = "with --density: T_select, the time to select from the whole gradient"},
    {.name = "unpack-time", .type = OPT_DURATION,
     .offset = offsetof(struct payoff_papers, unpack_time),
     .help = "with --density: gamma1, the time to unpack one worker's message"},
    {.name = "reduce-time", .type = OPT_DURATION,
     .offset = offsetof(struct payoff_papers, reduce_time),
     .help = "with --density: gamma2, the time to add up the whole gradient"},
    {.name = NULL},
};

const struct opt_row payoff_methods_rows[] = {
    {.name = "method", .metavar = "SPEC", .type = OPT_LIST,
     .offset = offsetof(struct opt_methods, specs),
     .help = "only this method, NAME[:key=value,...], from RESULTS or to measure; repeatable "
             "(default: all)"},
    {.name = NULL},
};
/* clang-format on */

static int read_grids(struct payoff_plan *p, const struct payoff_own *own, struct gcb_diag *diag)
{
    static const char *const usual[] = {"1Gb,10Gb,25Gb,100Gb", "10Gb,25Gb,40Gb,56Gb", "10Gb"};
    int err = 0;

    for (size_t i = 0; !err && i < own->bandwidth.count; i++)
        err = gcb_payoff_grid_bandwidths(&p->bandwidths, own->bandwidth.items[i], diag);
    for (size_t i = 0; !err && i < own->workers.count; i++)
        err = gcb_payoff_grid_workers(&p->workers, own->workers.items[i], diag);
    if (!err && p->bandwidths.count == 0)
        err = gcb_payoff_grid_bandwidths(&p->bandwidths, usual[p->mode], diag);
    if (!err && p->workers.count == 0)
        err = gcb_payoff_grid_workers(&p->workers, "8", diag);
    return err;
}

/* Reads the throughput of one stage, such as "transform=71", into its place in `values`. */
static int read_stage(double *values, const char *piece, struct gcb_diag *diag)
{
    static const char *const names[] = {"transform=", "select=", "quantise=", "index="};
    char shown[64];

    for (size_t i = 0; i < 4; i++) {
        const size_t n = strlen(names[i]);
        double gbps;

        if (strncmp(piece, names[i], n) != 0 || !gcb_parse_real(piece + n, &gbps) ||
            !(gbps > 0.0) || values[i] > 0.0)
            continue;
        values[i] = 1e9 * gbps;
        return 0;
    }
    return gcb_diag_set(
        diag, GCB_E_INVALID,
        "--stage-gbps: '%s' is not transform=, select=, quantise= or index=, each given "
        "once and with GB/s above 0",
        gcb_escape(shown, sizeof(shown), piece));
}

static int read_stages(struct gcb_fft_stages *out, const char *text, struct gcb_diag *diag)
{
    double values[4] = {0.0};
    char piece[64];
    int err = 0;

    do {
        const size_t n = strcspn(text, ",");

        snprintf(piece, sizeof(piece), "%.*s", (int)(n < sizeof(piece) ? n : 0), text);
        err = read_stage(values, piece, diag);
        text += n;
    } while (!err && *text++ == ',');
    for (size_t i = 0; !err && i < 4; i++)
        if (values[i] == 0.0)
            err = gcb_diag_set(diag, GCB_E_INVALID,
                               "--stage-gbps needs all four: transform, select, quantise, index");
    *out = (struct gcb_fft_stages){values[0], values[1], values[2], values[3]};
    return err;
}

/* Refuses options that do not go together. */
static int check(const struct payoff_plan *p, const struct payoff_options *o,
                 const struct opt_list *operands, struct gcb_diag *diag)
{
    const struct payoff_papers *papers = &o->papers;
    const struct payoff_own *own = &o->own;
    const bool exchange = p->mode == PAYOFF_EXCHANGE, fft = p->mode == PAYOFF_FFT;
    const bool exec =
        o->exec.device || o->exec.threads || o->exec.isa || o->exec.fft_plan || o->exec.seed;
    const struct {
        bool wrong;
        const char *words;
    } rules[] = {
        {fft && papers->density > 0.0,
         "--stage-gbps and --density are the models of two papers: give one"},
        {p->mode != PAYOFF_REDSYNC && (papers->words || papers->select_time > 0.0 ||
                                       papers->unpack_time > 0.0 || papers->reduce_time > 0.0),
         "--words, --select-time, --unpack-time and --reduce-time have a meaning only with "
         "--density"},
        {!exchange && operands->count > 0,
         "--stage-gbps and --density use only the numbers given: leave out the result files"},
        {!exchange && (!isnan(own->compute) || own->messages || own->bucket_bytes),
         "--compute, --messages and --bucket-bytes have no meaning with --stage-gbps or --density"},
        {fft && (own->workers.count || !isnan(own->latency) || own->model_bytes),
         "--stage-gbps: the paper's condition uses only --bandwidth: leave out --workers, "
         "--latency and --model-bytes"},
        {p->mode == PAYOFF_REDSYNC && own->collective == GCB_TOPOLOGY_PS,
         "--density: RedSync's model has no parameter server"},
        {!exchange && o->methods.specs.count,
         "--method has no meaning with --stage-gbps or --density"},
        {(!exchange || operands->count > 0) && exec,
         "options such as --threads and --isa have a meaning only if payoff measures: leave them "
         "out, or leave out result files, --stage-gbps and --density"},
        {exchange && operands->count == 0 && !own->model_bytes,
         "no result file given (bench, sweep and compress --results write them); to measure on "
         "synthetic tensors, give the size of the gradient: --model-bytes"},
        {own->servers && own->collective != GCB_TOPOLOGY_PS,
         "--servers has a meaning only with --collective ps"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return gcb_diag_set(diag, GCB_E_INVALID, "%s", rules[i].words);
    return 0;
}

int payoff_plan(struct payoff_plan *out, const struct payoff_options *o,
                const struct opt_list *operands, struct gcb_diag *diag)
{
    int err;

    memset(out, 0, sizeof(*out));
    out->mode = o->papers.stage_gbps      ? PAYOFF_FFT
                : o->papers.density > 0.0 ? PAYOFF_REDSYNC
                                          : PAYOFF_EXCHANGE;
    out->link.topology = (enum gcb_topology)o->own.collective;
    out->link.latency = isnan(o->own.latency) ? 20e-6 : o->own.latency;
    out->link.servers = o->own.servers ? (unsigned)o->own.servers : 1;
    out->model.bytes = (double)o->own.model_bytes;
    out->model.messages = (double)o->own.messages;
    out->model.bucket = o->own.bucket_bytes ? (double)o->own.bucket_bytes : 25.0 * 0x1p20;
    out->model.compute = o->own.compute;
    out->redsync = (struct gcb_redsync){
        .bytes = out->model.bytes > 0.0 ? out->model.bytes : NAN,
        .density = o->papers.density,
        .words = o->papers.words ? o->papers.words : 2.0,
        .latency = out->link.latency,
        .select = o->papers.select_time,
        .unpack = o->papers.unpack_time,
        .reduce = o->papers.reduce_time,
    };
    err = check(out, o, operands, diag);
    if (!err)
        err = read_grids(out, &o->own, diag);
    if (!err && out->mode == PAYOFF_FFT)
        err = read_stages(&out->stages, o->papers.stage_gbps, diag);
    return err;
}
