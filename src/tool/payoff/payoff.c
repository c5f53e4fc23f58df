#include "src/tool/payoff/payoff.h"

#include <math.h>

const char *const gcb_topology_names[] = {"ring", "allgather", "ps", NULL};

/* Computes how often an exchange encodes, decodes and adds, the times of this work, and the load of the link. */
static void make_terms(struct gcb_payoff_times *out, const struct gcb_link *link,
                       const struct gcb_load *load)
{
    const double n = (double)link->workers, rounds = ceil(log2(n));
    const bool sums = load->sums, ring = link->topology == GCB_TOPOLOGY_RING;
    double steps; /* steps of one transfer */
    double bytes; /* bytes over the link for each byte of one worker's messages */

    *out = (struct gcb_payoff_times){.step = NAN, .exposed = NAN, .encodes = 1.0};
    if (link->topology == GCB_TOPOLOGY_PS) {
        const double servers = (double)link->servers;

        steps = 2.0;
        bytes = 2.0 * n / servers;
        out->encodes = sums ? 1.0 : 1.0 + 1.0 / servers; /* the servers encode the sum again */
        out->decodes = sums ? 1.0 : 1.0 + n / servers;
        out->adds = (n - 1.0) / servers;
    } else if (sums) {
        steps = ring ? 2.0 * (n - 1.0) : 2.0 * rounds;
        bytes = 2.0 * (n - 1.0) / n;
        out->decodes = 1.0;
        out->adds = (n - 1.0) / n;
    } else {
        steps = ring ? n - 1.0 : rounds;
        bytes = n - 1.0;
        out->decodes = n; /* a worker also decodes its own message, so that all sums are equal */
        out->adds = n - 1.0;
    }
    out->encode = out->encodes * load->encode;
    out->decode = out->decodes * load->decode;
    out->add = out->adds * load->add;
    out->steps = steps * load->transfers;
    out->link_bytes = bytes * load->bytes;
}

/* A cost in seconds as a line over the link's seconds per byte. */
struct line {
    double at0, slope;
};
#define LINES 2

/*
 * The cost is the higher of two lines. Computation and coding share the processor. They make one transfer after
 * another ready, and the link carries one transfer after another: a flow shop of two machines. Line 0: the processor
 * is never idle, and then the last transfer is sent. Line 1: the first transfer is made ready, the link is never idle,
 * and then the last transfer is decoded.
 */
static void make_lines(struct line out[LINES], const struct gcb_payoff_times *e,
                       const struct gcb_link *link, const struct gcb_load *load)
{
    const double m = load->transfers, latency = e->steps * link->latency;
    const double before = e->encode, after = e->decode + e->add;

    if (isnan(load->compute)) {
        out[0] = out[1] = (struct line){before + latency + after, e->link_bytes};
        return;
    }
    out[0] = (struct line){before + after + latency / m, e->link_bytes / m};
    out[1] = (struct line){(load->compute + before + after) / m - load->compute + latency,
                           e->link_bytes};
}

static double evaluate(const struct line lines[LINES], double per_byte)
{
    return fmax(lines[0].at0 + lines[0].slope * per_byte, lines[1].at0 + lines[1].slope * per_byte);
}

void gcb_payoff_exchange(struct gcb_payoff_times *out, const struct gcb_link *link,
                         const struct gcb_load *load)
{
    struct line lines[LINES];

    make_terms(out, link, load);
    make_lines(lines, out, link, load);
    out->wire = out->steps * link->latency + out->link_bytes / link->bandwidth;
    out->seconds = out->encode + out->wire + out->decode + out->add;
    out->cost = evaluate(lines, 1.0 / link->bandwidth);
    if (isnan(load->compute))
        return;
    out->exposed = out->cost;
    out->step = load->compute + out->cost;
}

/* The costs of two loads that are compared, as lines. */
struct rivals {
    struct line mine[LINES], other[LINES];
};

static void rivals_init(struct rivals *r, const struct gcb_link *link, const struct gcb_load *load,
                        const struct gcb_load *other)
{
    struct gcb_payoff_times e;

    make_terms(&e, link, load);
    make_lines(r->mine, &e, link, load);
    make_terms(&e, link, other);
    make_lines(r->other, &e, link, other);
}

/* Returns how much more the other load costs at this link speed. */
static double advantage(const struct rivals *r, double per_byte)
{
    return evaluate(r->other, per_byte) - evaluate(r->mine, per_byte);
}

static void insert_sorted(double *sorted, size_t count, double x)
{
    while (count > 0 && sorted[count - 1] > x) {
        sorted[count] = sorted[count - 1];
        count--;
    }
    sorted[count] = x;
}

/* Finds where lines of one load cross lines of the other load, in seconds per byte, in rising order. Between two
 * neighbouring crossings the same load is always the cheaper load. */
static size_t find_crossings(double out[LINES * LINES], const struct rivals *r)
{
    size_t count = 0;

    for (size_t i = 0; i < LINES; i++) {
        for (size_t j = 0; j < LINES; j++) {
            const struct line a = r->mine[i], b = r->other[j];
            const double x = (b.at0 - a.at0) / (a.slope - b.slope);

            if (isfinite(x) && x > 0.0)
                insert_sorted(out, count++, x);
        }
    }
    return count;
}

size_t gcb_payoff_bandwidths(struct gcb_payoff_range out[GCB_PAYOFF_RANGES],
                             const struct gcb_link *link, const struct gcb_load *load,
                             const struct gcb_load *other)
{
    double x[LINES * LINES + 1];
    struct rivals r;
    size_t crossings, count = 0;
    bool inside = false;

    rivals_init(&r, link, load, other);
    crossings = find_crossings(x, &r);
    /* go from slow to fast links, and look at the middle of each stretch between crossings */
    for (size_t i = crossings + 1; i-- > 0;) {
        const double low = i > 0 ? x[i - 1] : 0.0;
        const double middle = i == crossings ? (crossings ? 2.0 * low : 1.0) : (low + x[i]) / 2.0;
        const bool pays = i < crossings && low == x[i] ? inside : advantage(&r, middle) > 0.0;

        if (pays && !inside)
            out[count++].from = i == crossings ? 0.0 : 1.0 / x[i];
        if (pays)
            out[count - 1].to = i > 0 ? 1.0 / low : INFINITY;
        inside = pays;
    }
    return count;
}

static bool pays_with(struct gcb_link *at, unsigned workers, const struct gcb_load *load,
                      const struct gcb_load *other)
{
    struct gcb_payoff_times mine, theirs;

    at->workers = workers;
    gcb_payoff_exchange(&mine, at, load);
    gcb_payoff_exchange(&theirs, at, other);
    return mine.cost < theirs.cost;
}

/* Returns the next number of workers to try. */
static unsigned next_workers(unsigned workers)
{
    const unsigned next = workers < 1024 ? workers + 1 : workers + workers / 100;

    return next < GCB_PAYOFF_WORKERS || workers >= GCB_PAYOFF_WORKERS ? next : GCB_PAYOFF_WORKERS;
}

/* Finds by bisection the first number of workers with the same answer as `after`. `before` has the other answer. */
static unsigned find_change(struct gcb_link *at, unsigned before, unsigned after,
                            const struct gcb_load *load, const struct gcb_load *other)
{
    const bool now = pays_with(at, after, load, other);

    while (after - before > 1) {
        const unsigned middle = before + (after - before) / 2;

        if (pays_with(at, middle, load, other) == now)
            after = middle;
        else
            before = middle;
    }
    return after;
}

bool gcb_payoff_workers(unsigned *least, unsigned *most, const struct gcb_link *link,
                        const struct gcb_load *load, const struct gcb_load *other)
{
    struct gcb_link at = *link;
    unsigned before = 1;
    bool found = false;

    for (unsigned n = 2; n <= GCB_PAYOFF_WORKERS; before = n, n = next_workers(n)) {
        if (pays_with(&at, n, load, other) == found)
            continue;
        if (found) {
            *most = find_change(&at, before, n, load, other) - 1;
            return true;
        }
        *least = n > 2 ? find_change(&at, before, n, load, other) : n;
        *most = GCB_PAYOFF_WORKERS;
        found = true;
    }
    return found;
}

double gcb_payoff_least_ratio(double coding, double bandwidth)
{
    const double share = coding * bandwidth;

    return share < 1.0 ? 1.0 / (1.0 - share) : INFINITY;
}

/* ---- the papers' models ---- */

static double stages_cost(const struct gcb_fft_stages *s)
{
    return 4.0 / s->quantise + 1.0 / s->transform + 1.0 / s->index + 1.0 / s->select;
}

double gcb_fft_stages_least_ratio(const struct gcb_fft_stages *s, double bandwidth)
{
    return gcb_payoff_least_ratio(2.0 * stages_cost(s), bandwidth);
}

double gcb_fft_stages_break_even(const struct gcb_fft_stages *s)
{
    return 1.0 / (2.0 * stages_cost(s));
}

void gcb_redsync_times(struct gcb_redsync_times *out, const struct gcb_redsync *in)
{
    const double p = in->workers, rounds = ceil(log2(p)), others = (p - 1.0) / p;
    const double message = in->bytes * in->density * in->words;

    out->sparse_latency = rounds * in->latency;
    out->sparse_wire = (p - 1.0) * message / in->bandwidth;
    out->sparse_unpack = p * in->unpack;
    out->sparse = in->select + out->sparse_latency + out->sparse_wire + out->sparse_unpack;
    out->dense_latency = 2.0 * rounds * in->latency;
    out->dense_wire = 2.0 * others * in->bytes / in->bandwidth;
    out->dense_reduce = others * in->reduce;
    out->dense = out->dense_latency + out->dense_wire + out->dense_reduce;
    out->bandwidth_ratio = (p - 1.0) * in->density * in->words / (2.0 * others);
    out->even_workers = 2.0 / (in->density * in->words);
}
