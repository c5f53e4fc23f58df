#include "src/tool/payoff/model.h"

#include <math.h>
#include <string.h>

#define SIZE_BYTES 8.0 /* bytes of a message that says a length */

/* An algorithm that moves the bytes of a collective between n nodes. */
struct algorithm {
    enum gcb_collective collective;
    const char *name;
    double steps;      /* number of steps of one transfer */
    double bytes;      /* through a node's link, for each byte of one worker's messages */
    double size_steps; /* number of steps to exchange the lengths of one transfer */
    /* values that a worker adds for each element in an all-reduce, or decodes and adds in a ring or
     * tree that encodes sums again */
    double adds;
    bool halves;   /* the first half reduces and scatters, and takes half of the steps and bytes */
    double pairs;  /* number of `steps` in which two nodes send to each other */
    double paired; /* the part of `bytes` that is sent in those steps */
};
#define MOST 8 /* most algorithms of a collective; further ones are left out */

/* Returns the number of steps of a pairwise exchange in which two nodes send to each other: 1 for
 * an even number of nodes, because each node has an opposite node; otherwise 0. */
static double opposite_steps(double n)
{
    return fmod(n, 2.0) > 0.0 ? 0.0 : 1.0;
}

/* Lists the algorithms of a collective for n nodes; `half`: the first halves of those that have
 * such halves. Returns their number. docs/payoff.md and docs/exchange.md have these figures. */
static size_t list_algorithms(struct algorithm out[MOST], enum gcb_collective collective, bool half,
                              double n)
{
    const double lg = ceil(log2(n)), part = (n - 1.0) / n;
    /* If n is not a power of two, halving and doubling begin and end with an extra step: the nodes
     * beyond the power give their values to others, and get the sum. */
    const double power = exp2(floor(log2(n))), beyond = power < n ? 1.0 : 0.0;
    const double inner = (power - 1.0) / power, doubled = floor(log2(n));
    /* In Bruck's algorithms two nodes send to each other only in the last step, and only if n is a
     * power of two. */
    const double last = 1.0 - beyond, opposite = opposite_steps(n);
    const enum gcb_collective gather = GCB_COLLECTIVE_ALLGATHER, reduce = GCB_COLLECTIVE_ALLREDUCE,
                              twoshot = GCB_COLLECTIVE_TWOSHOT, ring = GCB_COLLECTIVE_RING,
                              tree = GCB_COLLECTIVE_TREE;
    /* clang-format off */
    const struct algorithm all[] = {
        /* collective, name,     steps, bytes,                             size_steps, adds,
         * halves, pairs, paired */
        {gather, "ring",         n - 1, n - 1,                             lg, 0, false,           0, 0},
        {gather, "doubling",     lg, n - 1,                                lg, 0, false,           last, last * n / 2},
        {reduce, "ring",         2 * (n - 1), 2 * part,                    0, part, true,          0, 0},
        {reduce, "halving",      2 * doubled + 2 * beyond, 2 * inner + 2 * beyond, 0, inner + beyond, true, 2 * doubled, 2 * inner},
        {reduce, "doubling",     doubled + 2 * beyond, doubled + 2 * beyond, 0, doubled + beyond, false, doubled, doubled},
        {twoshot, "pairwise",    2 * (n - 1), 2 * part,                    2 * lg, 0, true,        opposite, opposite / n},
        {twoshot, "tree",        2 * lg, lg / 2 + part,                    2 * lg, 0, false,       2 * last, last},
        {ring, "doubling",       n - 1 + lg, 2 * part,                     n - 1 + lg, part, false,  last, last / 2},
        {ring, "ring",           2 * (n - 1), 2 * part,                    n - 1 + lg, part, false,  0, 0},
        {tree, "doubling",       2 * lg, 2 * lg,                           2 * lg, lg, false,        last, last},
        {tree, "ring",           lg + n - 1, lg + n - 1,                   2 * lg, lg, false,        0, 0},
        {GCB_COLLECTIVE_HIERARCHICAL, "pairwise", 2 * (n - 1), 2 * part,   2 * lg, 0, true,        opposite, opposite / n},
        {GCB_COLLECTIVE_OKTOPK, "pairwise", 2 * (n + lg), part,            2 * lg, 0, false,       opposite, opposite * 0.5 / n},
        {GCB_COLLECTIVE_SPARDL, "tree", 2 * lg, part,                      2 * lg, 0, false,       2 * last, last * part / 2},
    };
    /* clang-format on */
    size_t count = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && count < MOST; i++)
        if (all[i].collective == collective && (!half || all[i].halves))
            out[count++] = all[i];
    for (size_t i = 0; half && i < count; i++) {
        out[i].steps /= 2.0;
        out[i].bytes /= 2.0;
        out[i].size_steps /= 2.0;
        out[i].pairs /= 2.0;
        out[i].paired /= 2.0;
    }
    return count;
}

/* ---- the network ---- */

/* Returns the time of `steps` steps by the curve. The steps share the bytes evenly. `transfers`:
 * number of these steps that are the first step of a transfer. */
static double steps_time(const struct gcb_curve *curve, enum gcb_pattern pattern, double steps,
                         double transfers, double bytes)
{
    double next, first;

    if (!(steps > 0.0))
        return 0.0;
    next = gcb_curve_at(curve, pattern, false, bytes / steps);
    first = gcb_curve_at(curve, pattern, true, bytes / steps);
    return steps * next + transfers * (first - next);
}

/* Returns the time of all steps of an algorithm without the time for its bytes. The algorithm moves
 * `bytes` bytes through a node's link in `transfers` transfers. */
static double latency_of(const struct algorithm *a, const struct gcb_network *network,
                         double transfers, double bytes)
{
    const double paired = bytes * a->paired / a->bytes, shifts = a->steps - a->pairs;
    const struct gcb_curve *curve = network->curve;
    double seconds;

    if (!curve)
        return a->steps * transfers * network->latency;
    /* the first step of a transfer is a shift, unless all steps are pairs */
    seconds = steps_time(curve, GCB_PATTERN_SHIFT, transfers * shifts, transfers, bytes - paired) +
              steps_time(curve, GCB_PATTERN_PAIR, transfers * a->pairs,
                         shifts > 0.0 ? 0.0 : transfers, paired);
    /* the result may be negative, but not its sum with the time for the bytes */
    return fmax(seconds - bytes / curve->bandwidth, -bytes / network->bandwidth);
}

/* Returns the time of steps that carry only few bytes, such as lengths or scales. */
static double size_latency(const struct gcb_network *network, double steps)
{
    return steps * (network->curve
                        ? gcb_curve_at(network->curve, GCB_PATTERN_SHIFT, false, SIZE_BYTES)
                        : network->latency);
}

/* ---- an exchange ---- */

/* The share of a step's computation before the first gradient is ready: the forward pass, which
 * takes half as long as the backward pass. */
#define FORWARD (1.0 / 3.0)

/*
 * Returns the time of a backward pass, coding and sending together. The processor prepares one
 * transfer after another, and needs `work` seconds for all of them. At the same time the network
 * sends one transfer after another, and needs `latency` + `sending` seconds. This is a flow shop of
 * two machines.
 */
static double overlap(const struct gcb_exchange_load *load, double work, double latency,
                      double sending)
{
    const double m = load->transfers;

    return fmax(work + (latency + sending) / m, work / m + latency + sending);
}

/* Returns the seconds in which a worker encodes, and decodes the result. With all-reduces
 * (`values`) each worker encodes all of its values; otherwise the p workers of each of the n nodes
 * share the gradient. `levels`: the exchange is hierarchical, so each worker encodes all of its
 * values and then, if p > 1, its share of the node's sum. `encodes`: how often a message is
 * encoded, one time after the other. Includes load->copy. */
static double coding_time(const struct gcb_exchange_load *load, bool values, bool levels, double n,
                          double p, double encodes)
{
    const struct gcb_cost *c = &load->cost;
    double seconds = c->code * encodes;

    if (levels)
        return c->code * (p > 1.0 ? 1.0 + 1.0 / p : 1.0) +
               (load->half ? 0.0 : c->code_share / (n * p) + c->decode) + load->copy;
    if (!load->half)
        seconds += c->code_share / n + c->decode;
    else if (values) /* decodes only its share of the sum */
        seconds += c->decode / (n * p);
    return (values ? seconds : seconds / p) + load->copy;
}

/*
 * Computes the times with an algorithm. Inside a node of p workers, values are reduced and
 * scattered first, and gathered last; between the nodes each worker exchanges its share. Methods
 * whose messages cannot be summed do this with fp32, and encode only their share. A hierarchical
 * exchange does this with messages, in the nodes of the network, whatever its parameter `inner`.
 * With load->half, the traffic inside nodes takes no time of its own, because it overlaps with the
 * traffic between nodes.
 */
static void time_algorithm(struct gcb_exchange_times *out, const struct algorithm *a,
                           const struct gcb_network *network, const struct gcb_exchange_load *load)
{
    const double p = (double)network->per_node, others = (p - 1.0) / p;
    const double n = (double)network->workers / p;
    const bool values = gcb_collectives[a->collective].sends == GCB_SENDS_VALUES;
    const bool hops = gcb_collectives[a->collective].sends == GCB_SENDS_HOPS;
    const bool levels = a->collective == GCB_COLLECTIVE_HIERARCHICAL;
    const struct gcb_cost *c = &load->cost;
    /* in a tree, encodings follow one another: one before each addition, and one of the result; in
     * a ring all workers encode at the same time, a share each */
    const double encodes = a->collective == GCB_COLLECTIVE_TREE ? a->adds + 1.0 : 1.0;
    /* rounds of an all-reduce before the last one have few bytes */
    const double rounds = values && load->reductions > 1 ? load->reductions : 1.0;
    double latency, sending, work;

    *out = (struct gcb_exchange_times){
        .algorithm = a->name,
        .coding = coding_time(load, values, levels, n, p, encodes),
        .adding = (c->add * (hops ? a->adds : 1.0) + c->add_each * n) / p,
        .link_bytes = a->bytes * load->bytes,
        .inside_bytes =
            (load->half ? 1.0 : 2.0) * others * (values || levels ? load->bytes : load->gradient),
        .step = NAN,
    };
    if (!hops)
        out->adding += a->adds * c->combine / p;
    if (levels)
        out->adding += p > 1.0 ? c->add : 0.0;
    else
        out->adding += others * (values ? c->combine : load->add_gradient);
    latency = latency_of(a, network, load->transfers, out->link_bytes) +
              (rounds - 1.0) * a->steps * load->transfers * size_latency(network, 1.0);
    if (load->sizes)
        latency += size_latency(network, a->size_steps * load->transfers);
    if (load->gathered > 0.0)
        out->gathered = ceil(log2(n)) * load->transfers * size_latency(network, 1.0) +
                        (n - 1.0) / n * load->gathered / network->bandwidth;
    sending = out->link_bytes / network->bandwidth + out->gathered;
    if (p > 1.0 && !load->half)
        sending += out->inside_bytes / network->intra;
    out->network = latency + sending;
    work = out->coding + out->adding;
    out->seconds = work + out->network;
    out->cost = out->seconds / load->inner_steps;
    if (isnan(load->compute))
        return;
    if (load->inner_steps > 1.0)
        out->step = load->compute + out->cost;
    else
        out->step = FORWARD * load->compute +
                    overlap(load, (1.0 - FORWARD) * load->compute + work, latency, sending);
    out->cost = out->step - load->compute;
}

void gcb_exchange_model(struct gcb_exchange_times *out, const struct gcb_network *network,
                        const struct gcb_exchange_load *load)
{
    struct algorithm all[MOST];
    const size_t count = list_algorithms(all, load->collective, load->half,
                                         (double)(network->workers / network->per_node));
    struct gcb_exchange_times t;

    *out = (struct gcb_exchange_times){.seconds = INFINITY, .cost = INFINITY};
    for (size_t i = 0; i < count; i++) {
        time_algorithm(&t, &all[i], network, load);
        if (t.cost < out->cost)
            *out = t;
    }
}

/* ---- rounds ---- */

double gcb_wire_model(const struct gcb_network *network, const struct gcb_wire_rounds *rounds)
{
    const double n = (double)network->workers, part = (n - 1.0) / n;
    const bool gather = rounds->collective == GCB_COLLECTIVE_ALLGATHER;
    const double best = gather ? n - 1.0 : 2.0 * part; /* `bytes` of the best algorithm */
    /* an all-to-all between all pairs of nodes: one step for each other node */
    const struct algorithm pairwise = {.steps = n - 1.0,
                                       .bytes = part,
                                       .pairs = opposite_steps(n),
                                       .paired = opposite_steps(n) / n};
    const struct algorithm shift = {.steps = 1.0, .bytes = 1.0};
    struct algorithm all[MOST];
    const size_t count = list_algorithms(all, rounds->collective, false, n);
    double least = INFINITY;

    if (!(rounds->count > 0.0))
        return 0.0;
    if (rounds->collective == GCB_COLLECTIVE_TWOSHOT)
        return latency_of(&pairwise, network, rounds->count, rounds->bytes) +
               rounds->bytes / network->bandwidth;
    if (rounds->collective == GCB_COLLECTIVE_RING) /* ranks send the length first */
        return latency_of(&shift, network, rounds->count, rounds->bytes) +
               rounds->bytes / network->bandwidth + size_latency(network, rounds->count);
    for (size_t i = 0; i < count; i++) {
        const double bytes = rounds->bytes * all[i].bytes / best;
        double seconds;

        if (rounds->algorithm && strcmp(all[i].name, rounds->algorithm) != 0)
            continue;
        seconds = latency_of(&all[i], network, rounds->count, bytes) + bytes / network->bandwidth;
        least = fmin(least, seconds);
    }
    return least;
}

double gcb_sizes_model(const struct gcb_network *network, double rounds)
{
    return size_latency(network, rounds * ceil(log2((double)network->workers)));
}
