#include "cli/payoff/payoff_options.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/units.h"

/* clang-format off */
const struct opt_row payoff_own_rows[] = {
    {.name = "bandwidth", .metavar = "LINK", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, bandwidth),
     .help = "bandwidth of each node's link: 10Gb (bits), 1.25GB (bytes), a list 1Gb,10Gb or a range "
             "1Gb..100Gb/20; repeatable (default 1Gb,10Gb,25Gb,100Gb)"},
    {.name = "inter", .metavar = "LINK", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, bandwidth), .help = "the same as --bandwidth"},
    {.name = "latency", .type = OPT_DURATION, .offset = offsetof(struct payoff_own, latency),
     .initial = NAN,
     .help = "latency of one step of an exchange (default 20us)"},
    {.name = "link", .metavar = "FILE", .type = OPT_TEXT, .offset = offsetof(struct payoff_own, link),
     .help = "instead of --bandwidth and --latency: the network as `gcbench-mpi --calibrate -o FILE` measured it"},
    {.name = "import", .metavar = "FILE", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, imports),
     .help = "the same from a log of osu_latency, osu_bw, osu_allreduce or osu_allgather, or from the text, JSON or "
             "CSV of all_reduce_perf, all_gather_perf or reduce_scatter_perf (nccl-tests, rccl-tests); repeatable"},
    {.name = "workers", .metavar = "N", .type = OPT_LIST,
     .offset = offsetof(struct payoff_own, workers),
     .help = "number of workers, a list, or a range 2..128, which doubles; repeatable (default 8, or those of --link)"},
    {.name = "nodes", .metavar = "NxP", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_own, nodes),
     .help = "N nodes of P workers that share the node's link; instead of --workers"},
    {.name = "intra", .metavar = "LINK", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_own, intra),
     .help = "with --nodes: bandwidth of each worker inside its node, such as 400GB/s"},
    {.name = "collective", .metavar = "HOW", .type = OPT_CHOICE,
     .offset = offsetof(struct payoff_own, collective), .choices = gcb_topology_names,
     .help = "only ring, only trees (allgather: recursive doubling for messages, Rabenseifner's allreduce for "
             "fp32), ps (a parameter server), or the best way (default)"},
    {.name = "servers", .type = OPT_INT, .offset = offsetof(struct payoff_own, servers), .min = 1,
     .max = 65536,
     .help = "with --collective ps: number of servers that share the gradient (default 1)"},
    {.name = "compute", .type = OPT_DURATION, .offset = offsetof(struct payoff_own, compute),
     .initial = NAN,
     .help = "time of a step's computation, which the exchange may overlap"},
    {.name = "inner-steps", .metavar = "H", .type = OPT_INT,
     .offset = offsetof(struct payoff_own, inner_steps), .min = 1, .max = 1e6,
     .help = "local SGD: exchange once in H steps, without overlap"},
    {.name = "cores-per-worker", .metavar = "N", .type = OPT_REAL,
     .offset = offsetof(struct payoff_own, cores), .min = 0.001, .max = 65536,
     .help = "cores that each worker has for coding; with fewer cores than the threads of the results, coding "
             "takes longer"},
    {.name = "coding-gbps", .metavar = "X", .type = OPT_REAL,
     .offset = offsetof(struct payoff_own, coding_gbps), .min = 0.001, .max = 1e9,
     .help = "instead of measured times: a perfect coder, which reads and writes each byte once in a memory of "
             "X GB/s"},
    {.name = "host-copy", .metavar = "RATE", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_own, host_copy),
     .help = "methods that run on the CPU first copy the gradient from a GPU, and the result back, at this rate, "
             "such as 25GB/s"},
    {.name = "params", .metavar = "N", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_own, params),
     .help = "number of parameters, such as 350M or 1.3B, of 4 bytes each; instead of --model-bytes"},
    {.name = "model-bytes", .type = OPT_SIZE, .offset = offsetof(struct payoff_own, model_bytes),
     .min = 4, .max = 0x1p60,
     .help = "size of the gradient as fp32; 100M is 100 MiB, 105 MB; 100MB is decimal "
             "(default: as in one step and worker of the results)"},
    {.name = "messages", .type = OPT_U64, .offset = offsetof(struct payoff_own, messages),
     .min = 1, .max = 1e9,
     .help = "number of messages the gradient is split into (default: as in the results)"},
    {.name = "bucket-bytes", .type = OPT_SIZE, .offset = offsetof(struct payoff_own, bucket_bytes),
     .min = 1, .max = 0x1p60,
     .help = "size of the buckets, as fp32, that the gradient travels in; a bucket holds several "
             "messages or part of one (default 25M)"},
    {.name = "buckets", .metavar = "FILE", .type = OPT_TEXT,
     .offset = offsetof(struct payoff_own, buckets),
     .help = "instead: a file with the size of each bucket, one a line, in the order in which they are sent; only "
             "their shares of the gradient count"},
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

/* ---- what the network and the gradient are ---- */

static int read_rate(double *out, const char *option, const char *text, struct gcb_diag *diag)
{
    char shown[64];

    if (!text || gcb_parse_bandwidth(text, out))
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "--%s: '%s' is not a bandwidth such as 25GB/s or 100Gb", option,
                        gcb_escape(shown, sizeof(shown), text));
}

/* Reads "16x8": nodes and workers in each. The first becomes the number of workers. */
static int read_nodes(struct payoff_plan *p, const char *text, struct gcb_diag *diag)
{
    const char *x = strchr(text, 'x');
    char nodes[24], shown[64];
    uint64_t n = 0, each = 0;
    const bool good =
        x && x - text < (int)sizeof(nodes) &&
        gcb_parse_u64(strncpy(memset(nodes, 0, sizeof(nodes)), text, (size_t)(x - text)), &n) &&
        gcb_parse_u64(x + 1, &each);

    if (!good || n < 2 || each < 1 || n > GCB_PAYOFF_WORKERS || each > GCB_PAYOFF_WORKERS ||
        n * each > GCB_PAYOFF_WORKERS)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--nodes takes 2 or more nodes and the workers of each, such as 16x8, not '%s'",
            gcb_escape(shown, sizeof(shown), text));
    p->link.per_node = (unsigned)each;
    p->workers.values[p->workers.count++] = (double)(n * each);
    return 0;
}

/* Reads a number of parameters: "350M" or "1.3B", powers of 1000. */
static int read_params(double *bytes, const char *text, struct gcb_diag *diag)
{
    const size_t n = strlen(text);
    char decimal[40], shown[64];
    uint64_t count = 0;

    snprintf(decimal, sizeof(decimal), "%s", text);
    if (n > 0 && n < sizeof(decimal) - 2 && text[n - 1] == 'B')
        decimal[n - 1] = 'G';
    if (n > 0 && n < sizeof(decimal) - 2 && strchr("KkMGTB", text[n - 1]))
        strcat(decimal, "B");
    if (!gcb_parse_size(decimal, &count) || count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--params takes a number of parameters such as 350M or 1.3B, not '%s'",
                            gcb_escape(shown, sizeof(shown), text));
    *bytes = 4.0 * (double)count;
    return 0;
}

/* Reads the sizes of buckets, one a line. */
static int read_buckets(struct payoff_plan *p, const char *path, struct gcb_diag *diag)
{
    FILE *file = fopen(path, "r");
    char line[64], shown[64];
    double total = 0.0;
    size_t count = 0;
    int err = file ? 0
                   : gcb_diag_set(diag, GCB_E_IO, "--buckets: cannot open '%s'",
                                  gcb_escape(shown, sizeof(shown), path));

    while (!err && fgets(line, sizeof(line), file)) {
        uint64_t bytes;

        line[strcspn(line, "\r\n")] = '\0';
        if (count == PAYOFF_BUCKETS || !gcb_parse_size(line, &bytes) || bytes == 0)
            err =
                gcb_diag_set(diag, GCB_E_INVALID,
                             "--buckets: line %zu of the file is not one of at most %d sizes: '%s'",
                             count + 1, PAYOFF_BUCKETS, gcb_escape(shown, sizeof(shown), line));
        else
            total += p->shares[count++] = (double)bytes;
    }
    if (!err && count == 0)
        err = gcb_diag_set(diag, GCB_E_INVALID, "--buckets: the file is empty");
    if (file)
        fclose(file);
    for (size_t i = 0; i < count; i++)
        p->shares[i] /= total;
    p->model.shares = p->shares;
    p->model.share_count = count;
    return err;
}

static int read_texts(struct payoff_plan *p, const struct payoff_own *own, struct gcb_diag *diag)
{
    int err = read_rate(&p->link.intra, "intra", own->intra, diag);

    if (!err)
        err = read_rate(&p->model.host_copy, "host-copy", own->host_copy, diag);
    if (!err && own->nodes)
        err = read_nodes(p, own->nodes, diag);
    if (!err && own->params)
        err = read_params(&p->model.bytes, own->params, diag);
    return !err && own->buckets ? read_buckets(p, own->buckets, diag) : err;
}

static int read_grids(struct payoff_plan *p, const struct payoff_own *own, struct gcb_diag *diag)
{
    static const char *const usual[] = {"1Gb,10Gb,25Gb,100Gb", "10Gb,25Gb,40Gb,56Gb", "10Gb"};
    int err = 0;

    if (p->link.curve)
        p->bandwidths.values[p->bandwidths.count++] = p->curve.bandwidth[GCB_BOUND_MEDIAN];
    if (p->link.curve && p->curve.workers && own->workers.count == 0)
        p->workers.values[p->workers.count++] = p->curve.workers;
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

/* Reads the measured network. */
static int read_curve(struct payoff_plan *p, const struct payoff_own *own, struct gcb_diag *diag)
{
    struct gcb_payoff_grid workers = {.count = 0};
    int err = 0;

    if (own->link)
        err = gcb_curve_read(&p->curve, own->link, diag);
    for (size_t i = 0; !err && i < own->workers.count && own->imports.count; i++)
        err = gcb_payoff_grid_workers(&workers, own->workers.items[i], diag);
    if (!err && own->imports.count)
        err = gcb_curve_import(&p->curve, own->imports.items, own->imports.count,
                               workers.count == 1 ? (unsigned)workers.values[0] : 0, diag);
    if (!err && (own->link || own->imports.count)) {
        p->link.curve = &p->curve;
        p->link.bandwidth = p->curve.bandwidth[GCB_BOUND_MEDIAN];
        p->link.latency = gcb_curve_at(&p->curve, GCB_PATTERN_SHIFT, false, GCB_BOUND_MEDIAN, 0.0);
    }
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
    const bool network = own->link || own->imports.count;
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
        {!exchange && (!isnan(own->compute) || own->messages || own->bucket_bytes || own->buckets ||
                       own->nodes || own->inner_steps || own->coding_gbps > 0.0 ||
                       own->cores > 0.0 || own->host_copy),
         "--compute, --messages, --bucket-bytes, --buckets, --nodes, --inner-steps, --coding-gbps, "
         "--cores-per-worker and --host-copy have no meaning with --stage-gbps or --density"},
        {own->link && own->imports.count, "--link and --import both give the network: give one"},
        {network && (own->bandwidth.count || !isnan(own->latency)),
         "--link and --import replace --bandwidth and --latency: leave these out"},
        {network && (!exchange || own->nodes),
         "--link and --import have no meaning with --nodes, --stage-gbps or --density"},
        {!own->nodes != !own->intra, "--nodes and --intra belong together"},
        {own->nodes && own->workers.count,
         "--nodes says how many workers there are: leave out --workers"},
        {own->nodes && own->collective == GCB_TOPOLOGY_PS,
         "--collective ps has no nodes of several workers: leave out --nodes"},
        {own->params && own->model_bytes, "--params and --model-bytes are the same: give one"},
        {own->buckets && own->bucket_bytes, "--buckets and --bucket-bytes: give one"},
        {own->coding_gbps > 0.0 && own->cores > 0.0,
         "--coding-gbps replaces the measured times: leave out --cores-per-worker"},
        {fft && (own->workers.count || !isnan(own->latency) || own->model_bytes || own->params),
         "--stage-gbps: the paper's condition uses only --bandwidth: leave out --workers, "
         "--latency and --model-bytes"},
        {p->mode == PAYOFF_REDSYNC && own->collective == GCB_TOPOLOGY_PS,
         "--density: RedSync's model has no parameter server"},
        {!exchange && o->methods.specs.count,
         "--method has no meaning with --stage-gbps or --density"},
        {(!exchange || operands->count > 0) && exec,
         "options such as --threads and --isa have a meaning only if payoff measures: leave them "
         "out, or leave out result files, --stage-gbps and --density"},
        {exchange && operands->count == 0 && !own->model_bytes && !own->params,
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
    out->model.inner_steps = o->own.inner_steps ? o->own.inner_steps : 1.0;
    out->model.cores = o->own.cores;
    out->model.coding = 1e9 * o->own.coding_gbps;
    out->link.per_node = 1;
    err = check(out, o, operands, diag);
    if (!err)
        err = read_texts(out, &o->own, diag);
    if (!err)
        err = read_curve(out, &o->own, diag);
    out->redsync = (struct gcb_redsync){
        .bytes = out->model.bytes > 0.0 ? out->model.bytes : NAN,
        .density = o->papers.density,
        .words = o->papers.words ? o->papers.words : 2.0,
        .latency = out->link.latency,
        .select = o->papers.select_time,
        .unpack = o->papers.unpack_time,
        .reduce = o->papers.reduce_time,
    };
    if (!err)
        err = read_grids(out, &o->own, diag);
    if (!err && out->mode == PAYOFF_FFT)
        err = read_stages(&out->stages, o->papers.stage_gbps, diag);
    return err;
}
