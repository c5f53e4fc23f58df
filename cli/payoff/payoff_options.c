#include "cli/payoff/payoff.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/units.h"
#include "src/tool/payoff/curve.h"

static const char *const dtypes[] = {"bf16", "fp32", NULL};

/* Default size of a bucket, in bytes of the gradient as fp32: that of PyTorch's DDP, and the size
 * with --sharded. With several inner steps the whole gradient is one bucket. */
#define BUCKET (25.0 * 0x1p20)
#define BUCKET_SHARDED (400.0 * 0x1p20)

/* clang-format off */
const struct opt_row payoff_network_rows[] = {
    {OPT_ROW("cluster", TEXT, payoff_network, cluster), .metavar = "NAME",
     .help = "a network by its name: h100-8x400, a100-8x200, ethernet-10g, ethernet-1g or "
             "sites-100m; other options change parts of it"},
    {OPT_ROW("bandwidth", LIST, payoff_network, bandwidth), .metavar = "LINK",
     .help = "bandwidth of a node, all its cards together: 10Gb (bits), 1.25GB (bytes), a list "
             "1Gb,10Gb or a range 1Gb..64Gb, which doubles (default 1Gb,10Gb,25Gb,100Gb)"},
    {OPT_ROW("latency", DURATION, payoff_network, latency), .initial = NAN,
     .help = "time of one message without its bytes: half of what ping says (default 20us)"},
    {OPT_ROW("link", TEXT, payoff_network, link), .metavar = "FILE",
     .help = "instead of --bandwidth and --latency: the network as `gcbench-mpi --calibrate "
             "--results FILE` measured it"},
    {OPT_ROW("workers", LIST, payoff_network, workers), .metavar = "N",
     .help = "number of workers, a list, or a range 2..128, which doubles; repeatable (default 8, "
             "or those of --link)"},
    {OPT_ROW("nodes", TEXT, payoff_network, nodes), .metavar = "NxP",
     .help = "N nodes of P workers that share the node's link; instead of --workers"},
    {OPT_ROW("intra", TEXT, payoff_network, intra), .metavar = "LINK",
     .help = "with --nodes: bandwidth of each worker inside its node, such as 400GB/s"},
    {.name = NULL},
};

const struct opt_row payoff_exchange_rows[] = {
    {OPT_ROW("params", TEXT, payoff_exchange, params), .metavar = "N",
     .help = "number of parameters, such as 350M or 1.3B (default: as in the dump or the results)"},
    {OPT_ROW("model-bytes", SIZE, payoff_exchange, model_bytes), .min = 4, .max = 0x1p60,
     .help = "instead of --params: bytes of the gradient as fp32; 100M is 100 MiB"},
    {OPT_ROW("compute", DURATION, payoff_exchange, compute), .initial = NAN,
     .help = "time of a step's computation, of which two thirds may overlap with the exchange"},
    {OPT_ROW("inner-steps", INT, payoff_exchange, inner_steps), .min = 1, .max = 1e6,
     .help = "local SGD: exchange once in N steps, without overlap"},
    {OPT_ROW("sharded", FLAG, payoff_exchange, sharded),
     .help = "FSDP, ZeRO-3: gradients are reduced and scattered, bf16 weights are gathered twice"},
    {OPT_ROW("reduce-dtype", CHOICE, payoff_exchange, reduce_dtype), .metavar = "TYPE",
     .choices = dtypes,
     .help = "with --sharded: how gradients travel without compression, bf16 (default) or fp32"},
    {OPT_ROW("bucket-bytes", SIZE, payoff_exchange, bucket_bytes), .min = 1, .max = 0x1p60,
     .help = "size of the buckets, as fp32, that the gradient travels in (default 25M; 400M with "
             "--sharded; one bucket with --inner-steps, where nothing overlaps)"},
    {OPT_ROW("cores-per-worker", REAL, payoff_exchange, cores), .metavar = "N", .min = 0.001,
     .max = 1,
     .help = "share of a core that each worker has for coding (default 1)"},
    {OPT_ROW("host-copy", TEXT, payoff_exchange, host_copy), .metavar = "RATE",
     .help = "gradients are on a GPU, and coding on the CPU: they are copied, and the result "
             "back, at this rate, such as 25GB/s"},
    {.name = NULL},
};

const struct opt_row payoff_judging_rows[] = {
    {OPT_ROW("method", LIST, payoff_judging, methods), .metavar = "SPEC",
     .help = "only this method, NAME[:key=value,...]; repeatable (default: forty; all in RESULTS)"},
    {OPT_ROW("coding", TEXT, payoff_judging, coding), .metavar = "WHERE",
     .help = "whose times of encoding and decoding: cpu (one thread; default, unless --cluster "
             "has GPUs), h200 (measured, shipped), h100 or a100 (estimated from h200), a file of "
             "`bench` rows, or the speed of a memory such as 3000GB/s (the best that any coder "
             "can reach)"},
    {OPT_ROW("exact", REAL, payoff_judging, exact), .metavar = "E", .min = 1e-6, .max = 1,
     .help = "largest error that is nearly exact, and part of noise that may last (default 0.05)"},
    {OPT_ROW("noise", REAL, payoff_judging, noise), .metavar = "E", .min = 1e-6, .max = 10,
     .help = "largest error of a way that the answer may name (default 0.35)"},
    {OPT_ROW("all", FLAG, payoff_judging, all),
     .help = "measure errors on all steps and elements of the dump, and not on a sample"},
    {.name = NULL},
};
/* clang-format on */

/* ---- named networks ---- */

static const struct cluster {
    const char *name;
    unsigned nodes, per_node; /* workers per node */
    /* bandwidth of a node, and of a worker inside its node, in bytes per second; latency in
     * seconds */
    double bandwidth, latency, intra;
    double inner_steps;
    const char *coding; /* used unless --coding is given */
} clusters[] = {
    {NULL, 8, 1, 0.0, 20e-6, 0.0, 1.0, "cpu"}, /* without --cluster */
    {"h100-8x400", 16, 8, 8 * 50e9, 5e-6, 400e9, 1.0, "h100"},
    {"a100-8x200", 16, 8, 8 * 25e9, 5e-6, 250e9, 1.0, "a100"},
    {"ethernet-10g", 16, 1, 1.25e9, 20e-6, 0.0, 1.0, "cpu"},
    {"ethernet-1g", 16, 1, 0.125e9, 20e-6, 0.0, 1.0, "cpu"},
    {"sites-100m", 8, 1, 12.5e6, 30e-3, 0.0, 100.0, "cpu"},
};

/* Sets *out to the cluster called `name`; to clusters[0] if `name` is NULL. */
static int find_cluster(const struct cluster **out, const char *name, struct gcb_diag *diag)
{
    char names[200] = "";

    *out = &clusters[0];
    for (size_t i = 1; name && i < sizeof(clusters) / sizeof(clusters[0]); i++) {
        *out = &clusters[i];
        if (strcmp(name, clusters[i].name) == 0)
            return 0;
        gcb_append(names, sizeof(names), "%s%s", i > 1 ? ", " : "", clusters[i].name);
    }
    return !name ? 0
                 : gcb_invalid(diag, "--cluster: '%s' is none of %s", gcb_show(name).text, names);
}

/* ---- numbers in texts ---- */

/* Reads a bandwidth into *out, in bytes per second; leaves *out alone if `text` is NULL. */
static int read_rate(double *out, const char *option, const char *text, struct gcb_diag *diag)
{
    if (!text || gcb_parse_bandwidth(text, out))
        return 0;
    return gcb_invalid(diag, "--%s: '%s' is not a bandwidth such as 25GB/s or 100Gb", option,
                       gcb_show(text).text);
}

/* Reads "16x8", which means 16 nodes of 8 workers each, as the only number of workers. */
static int read_nodes(struct payoff_plan *p, const char *text, struct gcb_diag *diag)
{
    uint64_t n = 0, each = 0;
    char nodes[20], workers[20];
    int end = 0;

    if (sscanf(text, "%19[0-9]x%19[0-9]%n", nodes, workers, &end) != 2 || text[end] ||
        !gcb_parse_u64(nodes, &n) || !gcb_parse_u64(workers, &each) || n < 2 || each < 1 ||
        n > GCB_NETWORK_WORKERS || each > GCB_NETWORK_WORKERS || n * each > GCB_NETWORK_WORKERS)
        return gcb_invalid(diag,
                           "--nodes takes 2 or more nodes and the workers of each, such as 16x8, "
                           "and at most %d workers in all, not '%s'",
                           GCB_NETWORK_WORKERS, gcb_show(text).text);
    p->setting.network.per_node = (unsigned)each;
    p->workers.values[p->workers.count++] = (double)(n * each);
    return 0;
}

/* Reads a number of parameters: "350M" or "1.3B", where K, M, B (or G) and T are powers of 1000.
 * gcb_parse_size reads M as a power of 1024, MB as a power of 1000, and GB as a billion. So
 * `decimal` is the text with G instead of B, and with a B after the unit. */
static int read_params(double *out, const char *text, struct gcb_diag *diag)
{
    const size_t n = strlen(text);
    char decimal[40] = ""; /* stays "", which is no size, if `text` is empty or too long */
    uint64_t count = 0;

    if (n > 0 && n < sizeof(decimal) - 1) {
        memcpy(decimal, text, n);
        if (strchr("bB", text[n - 1]))
            decimal[n - 1] = 'G';
        if (strchr("KkMGTbB", text[n - 1]))
            decimal[n] = 'B';
    }
    if (!gcb_parse_size(decimal, &count) || count == 0)
        return gcb_invalid(diag,
                           "--params takes a number of parameters such as 350M or 1.3B, not '%s'",
                           gcb_show(text).text);
    *out = (double)count;
    return 0;
}

/* ---- lists and ranges of bandwidths, in bytes per second, and of numbers of workers ---- */

/* Reads one value. Returns false if `text` is not a value. */
typedef bool parse_fn(const char *text, double *out);

static bool parse_workers(const char *text, double *out)
{
    uint64_t n = 0;
    const bool good = gcb_parse_u64(text, &n) && n >= 2 && n <= GCB_NETWORK_WORKERS;

    *out = (double)n;
    return good;
}

/* Adds the values of one piece of a list: a value or a range, whose values double from the first on
 * and end with the last. Returns false if the piece is neither, or if there is no room. */
static bool add_piece(struct payoff_grid *g, const char *text, parse_fn *parse)
{
    const char *dots = strstr(text, "..");
    char first[96];
    double low, high;

    snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - text) : 95, text);
    if (!parse(first, &low) || !parse(dots ? dots + 2 : text, &high) || low > high)
        return false;
    for (; low < high && g->count < PAYOFF_GRID; low *= 2.0)
        g->values[g->count++] = low;
    if (g->count == PAYOFF_GRID)
        return false;
    g->values[g->count++] = high;
    return true;
}

/* Adds the values of all lists. `takes`: the beginning of the message if a piece is wrong. */
static int add_lists(struct payoff_grid *g, const struct opt_list *lists, parse_fn *parse,
                     const char *takes, struct gcb_diag *diag)
{
    char piece[96];

    for (size_t i = 0; i < lists->count; i++) {
        const char *text = lists->items[i];

        do {
            const size_t n = strcspn(text, ",");

            /* no value has 90 characters; three dots make a longer piece invalid, so that its
             * beginning is not taken for a value */
            snprintf(piece, sizeof(piece), "%.*s%s", (int)(n < 90 ? n : 90), text,
                     n < 90 ? "" : "...");
            if (!add_piece(g, piece, parse))
                return gcb_invalid(diag, "%s, %d values at most: not '%s'", takes, PAYOFF_GRID,
                                   gcb_show(piece).text);
            text += n;
        } while (*text++ == ',');
    }
    return 0;
}

/* Sets the grid to `values` if it is empty. */
static void set_default(struct payoff_grid *g, const double *values, size_t count)
{
    if (g->count)
        return;
    memcpy(g->values, values, count * sizeof(*values));
    g->count = count;
}

/* ---- the plan ---- */

/* Reads the network of --link: the latency, the bandwidth and, unless an option gives it, the
 * number of workers. */
static int read_curve(struct payoff_plan *p, const char *path, struct gcb_diag *diag)
{
    const int err = gcb_curve_read(&p->curve, path, diag);

    if (err)
        return err;
    p->setting.network.curve = &p->curve;
    p->setting.network.latency = gcb_curve_at(&p->curve, GCB_PATTERN_SHIFT, false, 0.0);
    set_default(&p->bandwidths, &p->curve.bandwidth, 1);
    set_default(&p->workers, &(double){p->curve.workers}, 1);
    return 0;
}

/* Reads the bandwidths and the numbers of workers. Those that are not given come from the measured
 * network, else from the cluster, else from a default. Refuses workers that do not fill nodes. */
static int read_grids(struct payoff_plan *p, const struct payoff_network *own,
                      const struct cluster *cluster, struct gcb_diag *diag)
{
    static const double bandwidths[] = {0.125e9, 1.25e9, 3.125e9, 12.5e9};
    const unsigned each = p->setting.network.per_node;
    int err = add_lists(&p->bandwidths, &own->bandwidth, gcb_parse_bandwidth,
                        "--bandwidth takes 10Gb, 400Mb (bits), 1.25GB, 90MB (bytes), a list, or a "
                        "range 1Gb..64Gb, which doubles",
                        diag);

    if (!err)
        err = add_lists(&p->workers, &own->workers, parse_workers,
                        "--workers takes whole numbers from 2 to 65536, a list, or a range 2..128, "
                        "which doubles",
                        diag);
    if (!err && own->link)
        err = read_curve(p, own->link, diag);
    if (err)
        return err;
    if (cluster->name)
        set_default(&p->bandwidths, &cluster->bandwidth, 1);
    set_default(&p->workers, &(double){cluster->nodes * each}, 1);
    set_default(&p->bandwidths, bandwidths, sizeof(bandwidths) / sizeof(bandwidths[0]));
    for (size_t i = 0; i < p->workers.count; i++) {
        const unsigned n = (unsigned)p->workers.values[i];

        if (n % each || n / each < 2)
            return gcb_invalid(
                diag,
                "%u workers do not fill 2 or more nodes of %u: give --workers a multiple of %u", n,
                each, each);
    }
    return 0;
}

/* Refuses options that do not go together. */
static int check_options(const struct payoff_options *o, const struct cluster *cluster,
                         struct gcb_diag *diag)
{
    const struct payoff_network *own = &o->network;
    const struct payoff_exchange *x = &o->exchange;
    const struct {
        bool wrong;
        const char *words;
    } rules[] = {
        {own->link && (own->bandwidth.count || !isnan(own->latency) || cluster->name),
         "--link replaces --bandwidth, --latency and --cluster: leave these out"},
        {own->link && own->nodes, "--link describes one link for each worker: leave out --nodes"},
        {own->nodes && !own->intra && cluster->per_node == 1,
         "--nodes NxP is for nodes of P workers, and needs --intra, the bandwidth inside a node"},
        {own->intra && !own->nodes && cluster->per_node == 1,
         "--intra has a meaning only with --nodes"},
        {own->nodes && own->workers.count,
         "--nodes says how many workers there are: leave out --workers"},
        {o->judging.coding && strcmp(o->judging.coding, "cpu") == 0 &&
             strcmp(cluster->coding, "cpu") != 0,
         "this cluster has its gradients on GPUs: leave out --coding cpu"},
        {x->params && x->model_bytes, "--params and --model-bytes are the same: give one"},
        {x->reduce_dtype && !x->sharded, "--reduce-dtype has a meaning only with --sharded"},
        {x->sharded && x->inner_steps > 1, "--sharded exchanges in every step: leave out "
                                           "--inner-steps"},
        {x->sharded && !x->inner_steps && cluster->inner_steps > 1.0,
         "--sharded exchanges in every step, and this cluster does not: add --inner-steps 1"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].wrong)
            return gcb_invalid(diag, "%s", rules[i].words);
    return 0;
}

int payoff_plan(struct payoff_plan *out, const struct payoff_options *o, struct gcb_diag *diag)
{
    const struct payoff_network *own = &o->network;
    const struct payoff_exchange *x = &o->exchange;
    const struct cluster *cluster;
    struct gcb_setting *s = &out->setting;
    int err;

    memset(out, 0, sizeof(*out));
    err = find_cluster(&cluster, own->cluster, diag);
    if (!err)
        err = check_options(o, cluster, diag);
    if (err)
        return err;
    out->cluster = cluster->name;
    out->coding = o->judging.coding ? o->judging.coding : cluster->coding;
    s->network = (struct gcb_network){
        .latency = isnan(own->latency) ? cluster->latency : own->latency,
        .per_node = cluster->per_node,
        .intra = cluster->intra,
    };
    s->elements = (double)x->model_bytes / 4.0;
    s->compute = x->compute;
    s->inner_steps = x->inner_steps ? x->inner_steps : cluster->inner_steps;
    if (x->bucket_bytes)
        s->bucket = (double)x->bucket_bytes;
    else if (x->sharded)
        s->bucket = BUCKET_SHARDED;
    else
        s->bucket = s->inner_steps > 1.0 ? INFINITY : BUCKET;
    s->cores = x->cores;
    s->sharded = x->sharded;
    s->reduced = x->reduce_dtype ? "identity" : "bf16";
    s->exact = o->judging.exact;
    s->noise = o->judging.noise;
    err = read_rate(&s->network.intra, "intra", own->intra, diag);
    if (!err)
        err = read_rate(&s->host_copy, "host-copy", x->host_copy, diag);
    if (!err && own->nodes)
        err = read_nodes(out, own->nodes, diag);
    if (!err && x->params)
        err = read_params(&s->elements, x->params, diag);
    return err ? err : read_grids(out, own, cluster, diag);
}
