#include "src/tool/payoff/payoff.h"

#include <math.h>
#include <string.h>

const char *const gcb_topology_names[] = {"best", "ring", "allgather", "ps", NULL};

/* ---- ways to exchange ---- */

/* A collective and an algorithm for it. */
struct way {
    enum gcb_collective collective;
    enum gcb_topology topology; /* the one that asks for it; GCB_TOPOLOGY_BEST: none */
    const char *algorithm;
    double steps;      /* of one transfer */
    double bytes;      /* through a node's link, for each byte of one worker's messages */
    double headers;    /* the same for each byte of headers, beyond `bytes` */
    double size_steps; /* of one transfer's exchange of lengths */
    /* how often one worker encodes, decodes, adds to sums of messages, finishes such sums, and adds values */
    double encodes, decodes, sums, finishes, adds;
    double averages; /* passes over the gradient that only scale it */
    double pairs,
        paired; /* steps in which two nodes send to each other, and the part of `bytes` in them */
};
#define WAYS 11
#define SIZE_BYTES 8.0 /* of a message that says a length */

/* All ways between n nodes. docs/payoff.md has this table. */
static void list_ways(struct way out[WAYS], double n, double servers)
{
    const double lg = ceil(log2(n)), part = (n - 1.0) / n, s = 1.0 / servers, again = 1.0 + 1.0 / n;
    const enum gcb_topology best = GCB_TOPOLOGY_BEST, ring = GCB_TOPOLOGY_RING,
                            tree = GCB_TOPOLOGY_TREE, ps = GCB_TOPOLOGY_PS;
    const enum gcb_collective gather = GCB_COLLECTIVE_ALLGATHER, reduce = GCB_COLLECTIVE_ALLREDUCE,
                              twoshot = GCB_COLLECTIVE_TWOSHOT;
    const double shuffled = lg / 2.0 + part; /* bytes of a two-shot in 2 lg steps */
    const double pieces = 2.0 * (n - 1.0) - 2.0 * part;
    /* steps of Bruck's algorithms go to one node and come from another, except the last step with a power of two nodes; those
     * between all pairs of nodes, except the one to the opposite node */
    const double last = exp2(lg) > n ? 0.0 : 1.0, opposite = fmod(n, 2.0) > 0.0 ? 0.0 : 1.0;
    /* without a power of two, doubling begins and ends with a step in which the nodes beyond it give and get values */
    const double beyond = 1.0 - last;
    /* clang-format off */
    const struct way ways[WAYS] = {
        /* collective, topology, algorithm,  steps, bytes, headers, size_steps,  encodes, decodes, sums, finishes, adds, averages, pairs, paired */
        {gather, ring, "ring",               n - 1, n - 1, 0, lg,                1, 0, n, 1, 0, 0,                0, 0},
        {gather, tree, "doubling",           lg, n - 1, 0, lg,                   1, 0, n, 1, 0, 0,                last, last * n / 2},
        {reduce, ring, "ring",               2 * (n - 1), 2 * part, 0, 0,        1, 1, 0, 0, part, 0,             0, 0},
        {reduce, tree, "halving",            2 * lg, 2 * part, 0, 0,             1, 1, 0, 0, part, 0,             2 * lg, 2 * part},
        {reduce, best, "doubling",           lg + beyond, lg + beyond, 0, 0,     1, 1, 0, 0, lg, 0,               lg - beyond, lg - beyond},
        {twoshot, ring, "pairwise",          2 * (n - 1), 2 * part, pieces, 2 * lg, again, 1, 1, 1 / n, 0, again, opposite, opposite / n},
        {twoshot, tree, "tree",              2 * lg, shuffled, shuffled * (n - 1), 2 * lg, again, 1, 1, 1 / n, 0, again, 2 * last, last},
        {GCB_COLLECTIVE_OKTOPK, ring, "pairwise", 2 * (n + lg), 3 * part, 0, 2 * lg, 1, 0, 2, 1, 0, 0,            opposite, opposite * 1.5 / n},
        {GCB_COLLECTIVE_SPARDL, tree, "tree", 2 * lg, 2 * part, 0, 2 * lg,       1, 0, 2, 1, 0, 0,                2 * last, last},
        {reduce, ps, "server",               2, 2 * n * s, 0, 0,                 1, 1, 0, 0, (n - 1) * s, 0,      0, 0},
        {gather, ps, "server",               2, 2 * n * s, 0, 2,                 1 + s, 1, n * s, s, 0, 0,        0, 0},
    };
    /* clang-format on */

    for (size_t i = 0; i < WAYS; i++)
        out[i] = ways[i];
}

/* The bandwidth of a node's link. That of a curve is uncertain by as much as its largest transfer. */
static double rate_of(const struct gcb_link *link, enum gcb_bound bound)
{
    const double *measured = link->curve ? link->curve->bandwidth : NULL;

    return measured ? link->bandwidth * measured[bound] / measured[GCB_BOUND_MEDIAN]
                    : link->bandwidth;
}

/* The time of measured steps, which share the bytes evenly. The first step of each of `transfers` begins after a pause. */
static double steps_time(const struct gcb_link *link, enum gcb_pattern pattern,
                         enum gcb_bound bound, double steps, double transfers, double bytes)
{
    double next, first;

    if (!(steps > 0.0))
        return 0.0;
    next = gcb_curve_at(link->curve, pattern, false, bound, bytes / steps);
    first = gcb_curve_at(link->curve, pattern, true, bound, bytes / steps);
    return isinf(next) || isinf(first) ? INFINITY : steps * next + transfers * (first - next);
}

/* The time of all steps of a way, which moves `bytes` bytes through a node's link in `transfers` transfers, without the time
 * for these bytes. */
static double way_latency(const struct way *way, const struct gcb_link *link, enum gcb_bound bound,
                          double transfers, double bytes)
{
    const double paired = bytes * way->paired / way->bytes, shifts = way->steps - way->pairs;
    double seconds;

    if (!link->curve)
        return way->steps * transfers * link->latency;
    seconds =
        steps_time(link, GCB_PATTERN_SHIFT, bound, transfers * shifts, transfers, bytes - paired) +
        steps_time(link, GCB_PATTERN_PAIR, bound, transfers * way->pairs,
                   shifts > 0.0 ? 0.0 : transfers, paired);
    /* latency and bytes together never take less than 0 seconds */
    return fmax(seconds - bytes / link->curve->bandwidth[bound], -bytes / rate_of(link, bound));
}

/* Is the time of some step extrapolated? */
static bool is_extrapolated(const struct way *way, const struct gcb_link *link, double transfers,
                            double bytes)
{
    const double paired = bytes * way->paired / way->bytes, shifts = way->steps - way->pairs;

    return link->curve &&
           ((shifts > 0.0 && gcb_curve_extrapolates(link->curve, GCB_PATTERN_SHIFT,
                                                    (bytes - paired) / (transfers * shifts))) ||
            (way->pairs > 0.0 && gcb_curve_extrapolates(link->curve, GCB_PATTERN_PAIR,
                                                        paired / (transfers * way->pairs))));
}

/* Were the steps of an all-reduce measured with its additions? */
static bool adds_inside(const struct way *way, const struct gcb_link *link)
{
    return link->curve && way->topology != GCB_TOPOLOGY_PS &&
           gcb_curve_reduces(link->curve, way->pairs > 0.0 ? GCB_PATTERN_PAIR : GCB_PATTERN_SHIFT);
}

/* The time of steps that only exchange lengths. */
static double size_latency(const struct gcb_link *link, enum gcb_bound bound, double steps)
{
    return steps * (link->curve
                        ? gcb_curve_at(link->curve, GCB_PATTERN_SHIFT, false, bound, SIZE_BYTES)
                        : link->latency);
}

/*
 * The time of a step in which computing, coding and sending overlap. Computation and coding share the processor; they
 * make one transfer after another ready, and the network carries one transfer after another: a flow shop of two
 * machines. For each transfer: it is ready after its share of the work, and then it and all later ones are sent.
 */
static double overlap(const struct gcb_load *load, double work, double latency, double bytes)
{
    const double m = load->transfers;
    double ready = 0.0, longest = 0.0;

    if (!load->shares)
        return fmax(work + (latency + bytes) / m, work / m + latency + bytes);
    for (size_t i = 0; i < (size_t)m; i++) {
        const double left = 1.0 - ready;

        ready += load->shares[i];
        longest = fmax(longest, work * ready + latency * (m - (double)i) / m + bytes * left);
    }
    return longest;
}

/*
 * Inside a node of p workers, values are reduced and scattered first, and gathered last, by halving; between nodes each
 * worker exchanges its share. Methods whose messages cannot be summed do this with fp32 and encode only their share.
 */
static void take_way(struct gcb_payoff_times *out, const struct way *way,
                     const struct gcb_link *link, const struct gcb_load *load)
{
    const double p = (double)link->per_node, others = (p - 1.0) / p;
    const bool values = way->collective == GCB_COLLECTIVE_ALLREDUCE;
    const double coded = values ? 1.0 : 1.0 / p; /* share of the gradient that a worker codes */
    const double rate = rate_of(link, load->bound);
    double coding, latency, sending;

    *out = (struct gcb_payoff_times){
        .collective = gcb_collective_names[way->collective],
        .algorithm = way->algorithm,
        .encode = coded * way->encodes * load->encode,
        .decode = way->decodes > 0.0 ? coded * way->decodes * load->decode : 0.0,
        .average = coded * (load->averages + way->averages) * load->pass,
        .copy = load->copy,
        .adds = way->sums + way->adds,
        .steps = way->steps * load->transfers,
        .link_bytes = way->bytes * load->bytes + way->headers * load->headers,
        .sizes =
            load->sizes ? size_latency(link, load->bound, way->size_steps * load->transfers) : 0.0,
        .step = NAN,
        .exposed = NAN,
    };
    if (way->sums > 0.0)
        out->add = (way->sums * load->sum + way->finishes * load->finish) / p;
    if (way->adds > 0.0 && !adds_inside(way, link))
        out->add = way->adds * load->add / p;
    out->extrapolated = is_extrapolated(way, link, load->transfers, out->link_bytes) ||
                        (load->sizes && link->curve &&
                         gcb_curve_extrapolates(link->curve, GCB_PATTERN_SHIFT, SIZE_BYTES));
    latency = way_latency(way, link, load->bound, load->transfers, out->link_bytes);
    out->wire = latency + out->link_bytes / rate;
    latency += out->sizes;
    if (p > 1.0) {
        out->add += others * (values ? load->add : load->add_gradient);
        out->inside = 2.0 * ceil(log2(p)) * load->transfers * link->latency +
                      2.0 * others * (values ? load->bytes : load->gradient) / link->intra;
    }
    coding = out->encode + out->decode + out->add + out->average + out->copy;
    out->seconds = coding + out->wire + out->sizes + out->inside;
    out->cost = out->seconds / load->inner_steps;
    if (isnan(load->compute))
        return;
    sending = out->link_bytes / rate + out->inside;
    if (load->inner_steps > 1.0)
        out->step = load->compute + out->cost;
    else
        out->step = overlap(load, load->compute + coding, latency, sending);
    out->exposed = out->cost = out->step - load->compute;
}

/* Takes the fastest way of a topology. Returns false if it has none for the load. */
static bool take_best(struct gcb_payoff_times *out, const struct way ways[WAYS],
                      enum gcb_topology topology, const struct gcb_link *link,
                      const struct gcb_load *load)
{
    struct gcb_payoff_times t;
    bool found = false;

    for (size_t i = 0; i < WAYS; i++) {
        const bool fits = topology == GCB_TOPOLOGY_BEST ? ways[i].topology != GCB_TOPOLOGY_PS
                                                        : ways[i].topology == topology;

        if (!fits || !(GCB_COLLECTIVE_BIT(ways[i].collective) & load->collectives))
            continue;
        take_way(&t, &ways[i], link, load);
        if (!found || t.cost < out->cost)
            *out = t;
        found = true;
    }
    return found;
}

bool gcb_payoff_exchange(struct gcb_payoff_times *out, const struct gcb_link *link,
                         const struct gcb_load *load)
{
    struct way ways[WAYS];

    list_ways(ways, (double)(link->workers / link->per_node), (double)link->servers);
    if (take_best(out, ways, link->topology, link, load))
        return true;
    take_best(out, ways, GCB_TOPOLOGY_BEST, link,
              load); /* such as a two-shot, which no server has */
    return false;
}

double gcb_payoff_wire(const struct gcb_link *link, const struct gcb_payoff_rounds *rounds,
                       enum gcb_bound bound, bool *adds)
{
    const double n = (double)link->workers, part = (n - 1.0) / n;
    const bool gather = rounds->collective == GCB_COLLECTIVE_ALLGATHER;
    const double best = gather ? n - 1.0 : 2.0 * part; /* bytes of the best known way */
    const double opposite = fmod(n, 2.0) > 0.0 ? 0.0 : 1.0;
    /* an all-to-all between all pairs of nodes: one step to each */
    const struct way pairwise = {
        .steps = n - 1.0, .bytes = part, .pairs = opposite, .paired = opposite / n};
    struct way ways[WAYS];
    double least = INFINITY;
    bool inside = false; /* the fastest way was measured with its additions */

    list_ways(ways, n, 1.0);
    if (!(rounds->count > 0.0))
        return 0.0;
    if (rounds->collective == GCB_COLLECTIVE_TWOSHOT)
        return way_latency(&pairwise, link, bound, rounds->count, rounds->bytes) +
               rounds->bytes / rate_of(link, bound);
    for (size_t i = 0; i < WAYS; i++) {
        const double bytes = rounds->bytes * ways[i].bytes / best;
        double seconds;

        if (ways[i].collective != rounds->collective || ways[i].topology == GCB_TOPOLOGY_PS ||
            (rounds->algorithm && strcmp(ways[i].algorithm, rounds->algorithm) != 0))
            continue;
        seconds =
            way_latency(&ways[i], link, bound, rounds->count, bytes) + bytes / rate_of(link, bound);
        if (!(seconds < least))
            continue;
        least = seconds;
        inside = ways[i].adds > 0.0 && adds_inside(&ways[i], link);
    }
    if (adds && inside)
        *adds = true;
    return least;
}

double gcb_payoff_sizes(const struct gcb_link *link, double rounds, enum gcb_bound bound)
{
    return size_latency(link, bound, rounds * ceil(log2((double)link->workers)));
}

/* ---- comparisons ---- */

double gcb_payoff_least(size_t *which, const struct gcb_link *link, const struct gcb_rivals *rivals)
{
    double least = INFINITY;

    for (size_t i = 0; i < rivals->count; i++) {
        struct gcb_payoff_times t;

        gcb_payoff_exchange(&t, link, &rivals->loads[i]);
        if (which && (i == 0 || t.cost < least))
            *which = i;
        least = i == 0 ? t.cost : fmin(t.cost, least);
    }
    return least;
}

static bool is_cheaper(const struct gcb_link *link, const struct gcb_load *load,
                       const struct gcb_rivals *rivals)
{
    struct gcb_payoff_times mine;

    gcb_payoff_exchange(&mine, link, load);
    return mine.cost < gcb_payoff_least(NULL, link, rivals);
}

/* Finds the bandwidth between two others at which the answer changes. */
static double find_end(struct gcb_link *at, double low, double high, bool cheaper_at_low,
                       const struct gcb_load *load, const struct gcb_rivals *rivals)
{
    for (int i = 0; i < 50; i++) {
        at->bandwidth = sqrt(low * high);
        if (is_cheaper(at, load, rivals) == cheaper_at_low)
            low = at->bandwidth;
        else
            high = at->bandwidth;
    }
    return sqrt(low * high);
}

size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_rivals *rivals)
{
    const double least = 1.0, most = GCB_PAYOFF_FASTEST, step = 1.1;
    struct gcb_link at = *link;
    size_t count = 0;
    bool inside = false;

    for (double b = least; b < most; b *= step) {
        bool cheaper;
        double end;

        at.bandwidth = b;
        cheaper = is_cheaper(&at, load, rivals);
        if (cheaper == inside)
            continue;
        if (cheaper && count == GCB_PAYOFF_RANGES)
            break;
        end = b == least ? 0.0 : find_end(&at, b / step, b, inside, load, rivals);
        if (cheaper)
            out[count++] = (struct gcb_payoff_range){end, INFINITY};
        else
            out[count - 1].to = end;
        inside = cheaper;
    }
    return count;
}

static bool pays_with(struct gcb_link *at, unsigned nodes, const struct gcb_load *load,
                      const struct gcb_rivals *rivals)
{
    at->workers = nodes * at->per_node;
    return is_cheaper(at, load, rivals);
}

/* Returns the next number of nodes to try. */
static unsigned next_nodes(unsigned nodes, unsigned most)
{
    const unsigned next = nodes < 256 ? nodes + 1 : nodes + nodes / 50;

    return next < most || nodes >= most ? next : most;
}

/* Finds by bisection the first number of nodes with the same answer as `after`. `before` has the other answer. */
static unsigned find_change(struct gcb_link *at, unsigned before, unsigned after,
                            const struct gcb_load *load, const struct gcb_rivals *rivals)
{
    const bool now = pays_with(at, after, load, rivals);

    while (after - before > 1) {
        const unsigned middle = before + (after - before) / 2;

        if (pays_with(at, middle, load, rivals) == now)
            after = middle;
        else
            before = middle;
    }
    return after;
}

bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_rivals *rivals)
{
    const unsigned limit = GCB_PAYOFF_WORKERS / link->per_node;
    struct gcb_link at = *link;
    unsigned before = 1;
    bool found = false;

    for (unsigned n = 2; n <= limit; before = n, n = next_nodes(n, limit)) {
        if (pays_with(&at, n, load, rivals) == found)
            continue;
        if (found) {
            *most = (find_change(&at, before, n, load, rivals) - 1) * link->per_node;
            return true;
        }
        *least = (n > 2 ? find_change(&at, before, n, load, rivals) : n) * link->per_node;
        *most = GCB_PAYOFF_WORKERS;
        found = true;
    }
    return found;
}
