#include "src/tool/payoff/payoff.h"

#include <math.h>

const char *const gcb_collective_names[] = {"ring", "allgather", "ps", NULL};

/* How a message of one byte travels: latency steps, and bytes through the busiest link. */
struct route {
    double steps, bytes;
};

static double rounds(unsigned workers)
{
    return ceil(log2((double)workers));
}

static struct route route_of(const struct gcb_link *link, bool sums)
{
    const double n = (double)link->workers;

    if (link->collective == GCB_COLLECTIVE_PS)
        return (struct route){2.0, 2.0 * n / (double)link->servers};
    if (link->collective == GCB_COLLECTIVE_ALLGATHER)
        return sums ? (struct route){2.0 * rounds(link->workers), 2.0 * (n - 1.0) / n}
                    : (struct route){rounds(link->workers), n - 1.0};
    return sums ? (struct route){2.0 * (n - 1.0), 2.0 * (n - 1.0) / n}
                : (struct route){n - 1.0, n - 1.0};
}

/* How often a gradient is encoded, decoded and added on the way from the workers to their sum. */
static void count_work(struct gcb_exchange *out, const struct gcb_link *link, bool sums)
{
    const double n = (double)link->workers;

    if (link->collective == GCB_COLLECTIVE_PS) {
        const double s = (double)link->servers;

        out->encodes = sums ? 1.0 : 1.0 + 1.0 / s; /* the sum goes back encoded too */
        out->decodes = sums ? 1.0 : 1.0 + n / s;
        out->adds = (n - 1.0) / s;
        return;
    }
    out->encodes = 1.0;
    out->decodes = sums ? 1.0 : n; /* its own too: all workers must end with the same sum */
    out->adds = sums ? (n - 1.0) / n : n - 1.0;
}

/* Seconds as a function of seconds per byte. */
struct line {
    double at0, slope;
};
#define LINES 2

/*
 * The cost is the higher of the lines. Transfers become ready one after another as the computation goes on, which
 * shares its processor with coding, and travel one after another: a flow shop of two machines. Either the processor is
 * never idle and the last transfer's journey is left over, or the link never is, and the first one's making and the
 * last one's decoding are.
 */
static void lines_of(struct line out[LINES], const struct gcb_exchange *e,
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

static double highest(const struct line lines[LINES], double per_byte)
{
    return fmax(lines[0].at0 + lines[0].slope * per_byte, lines[1].at0 + lines[1].slope * per_byte);
}

static void start(struct gcb_exchange *out, const struct gcb_link *link,
                  const struct gcb_load *load)
{
    const struct route route = route_of(link, load->sums);

    *out = (struct gcb_exchange){.step = NAN, .exposed = NAN};
    count_work(out, link, load->sums);
    out->encode = out->encodes * load->encode;
    out->decode = out->decodes * load->decode;
    out->add = out->adds * load->add;
    out->steps = route.steps * load->transfers;
    out->link_bytes = route.bytes * load->bytes;
}

void gcb_payoff_exchange(struct gcb_exchange *out, const struct gcb_link *link,
                         const struct gcb_load *load)
{
    struct line lines[LINES];

    start(out, link, load);
    lines_of(lines, out, link, load);
    out->wire = out->steps * link->latency + out->link_bytes / link->bandwidth;
    out->seconds = out->encode + out->wire + out->decode + out->add;
    out->cost = highest(lines, 1.0 / link->bandwidth);
    if (isnan(load->compute))
        return;
    out->exposed = out->cost;
    out->step = load->compute + out->cost;
}

/* Both costs as lines, for crossings. */
struct rivals {
    struct line mine[LINES], other[LINES];
};

static void rivals_init(struct rivals *r, const struct gcb_link *link, const struct gcb_load *load,
                        const struct gcb_load *other)
{
    struct gcb_exchange e;

    start(&e, link, load);
    lines_of(r->mine, &e, link, load);
    start(&e, link, other);
    lines_of(r->other, &e, link, other);
}

/* How much more the other one costs. */
static double advantage(const struct rivals *r, double per_byte)
{
    return highest(r->other, per_byte) - highest(r->mine, per_byte);
}

static void insert(double *sorted, size_t count, double x)
{
    while (count > 0 && sorted[count - 1] > x) {
        sorted[count] = sorted[count - 1];
        count--;
    }
    sorted[count] = x;
}

/* Where some line of one meets some line of the other, in seconds per byte, rising: between two of these places nobody
 * overtakes. */
static size_t crossings(double out[LINES * LINES], const struct rivals *r)
{
    size_t count = 0;

    for (size_t i = 0; i < LINES; i++) {
        for (size_t j = 0; j < LINES; j++) {
            const struct line a = r->mine[i], b = r->other[j];
            const double x = (b.at0 - a.at0) / (a.slope - b.slope);

            if (isfinite(x) && x > 0.0)
                insert(out, count++, x);
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
    size_t places, count = 0;
    bool inside = false;

    rivals_init(&r, link, load, other);
    places = crossings(x, &r);
    /* from slow to fast: the stretch behind each place, the slowest first */
    for (size_t i = places + 1; i-- > 0;) {
        const double low = i > 0 ? x[i - 1] : 0.0;
        const double middle = i == places ? (places ? 2.0 * low : 1.0) : (low + x[i]) / 2.0;
        const bool pays = i < places && low == x[i] ? inside : advantage(&r, middle) > 0.0;

        if (pays && !inside)
            out[count++].from = i == places ? 0.0 : 1.0 / x[i];
        if (pays)
            out[count - 1].to = i > 0 ? 1.0 / low : INFINITY;
        inside = pays;
    }
    return count;
}

static bool pays_with(struct gcb_link *at, unsigned workers, const struct gcb_load *load,
                      const struct gcb_load *other)
{
    struct gcb_exchange mine, theirs;

    at->workers = workers;
    gcb_payoff_exchange(&mine, at, load);
    gcb_payoff_exchange(&theirs, at, other);
    return mine.cost < theirs.cost;
}

/* Counts one by one, then in steps of a hundredth. */
static unsigned following(unsigned workers)
{
    const unsigned next = workers < 1024 ? workers + 1 : workers + workers / 100;

    return next < GCB_PAYOFF_WORKERS || workers >= GCB_PAYOFF_WORKERS ? next : GCB_PAYOFF_WORKERS;
}

/* Where the answer changes: not at `before`, and it is at `after`; the first count of the new answer. */
static unsigned change(struct gcb_link *at, unsigned before, unsigned after,
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

    for (unsigned n = 2; n <= GCB_PAYOFF_WORKERS; before = n, n = following(n)) {
        if (pays_with(&at, n, load, other) == found)
            continue;
        if (found) {
            *most = change(&at, before, n, load, other) - 1;
            return true;
        }
        *least = n > 2 ? change(&at, before, n, load, other) : n;
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
