#include "src/tool/replay/mean.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "src/tool/base/memory.h"
#include "src/tool/measure/fidelity.h"

#define BUCKET ((uint64_t)25 << 18) /* most elements of several tensors in a message: 25 MiB */
#define ROUNDS 64                   /* most rounds that are timed */

/* What was sent, over all messages and workers. */
struct traffic {
    double gathered, scattered, reduced, shifted; /* bytes in rounds of each kind */
    double linked;                                /* bytes on links in all rounds */
    unsigned reductions;                          /* as in struct gcb_mean */
    double again_sum, again_lost; /* squared norms of sums encoded again, and of what that lost */
};

/* The exchanges of one method between the workers, for all messages. */
struct team {
    const struct gcb_gradients *g;
    const struct gcb_mean_config *config;
    unsigned workers; /* workers that take part */
    unsigned stated;  /* workers that exchanges are told; gcb_mean_reduced: more than `workers` */
    struct traffic *sent;

    /* set by open_team: */
    enum gcb_collective collective;
    enum gcb_sends sends;
    size_t messages;
    struct message {
        uint64_t offset, count; /* in elements */
        uint64_t dims[2];       /* the message's shape, if it has only a part of a tensor */
        struct gcb_exchange **exchanges; /* of each worker */
    } * items;
    struct gcb_local local;
    unsigned rounds; /* of the last exchange */
    float *update;   /* worker 0's update, of all messages */
};

static double thread_seconds(void)
{
    struct timespec t = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Counts the bytes of a round. */
static void on_round(void *ctx, unsigned round, const struct gcb_round *sent, uint64_t link_bytes)
{
    struct team *t = ctx;
    double *bytes = &t->sent->reduced;

    if (sent->kind == GCB_ROUND_GATHER)
        bytes = &t->sent->gathered;
    else if (sent->kind == GCB_ROUND_SCATTER)
        bytes = &t->sent->scattered;
    else if (sent->kind == GCB_ROUND_SHIFT)
        bytes = &t->sent->shifted;
    t->rounds = round + 1;
    for (unsigned w = 0; w < t->workers; w++)
        *bytes += (double)sent[w].bytes;
    if (sent->kind == GCB_ROUND_REDUCE && round >= t->sent->reductions)
        t->sent->reductions = round + 1;
    t->sent->linked += (double)link_bytes;
}

/* ---- opening the exchanges ---- */

/* Divides the gradient into messages: one for each tensor if `apart`, else buckets of tensors, none
 * of which is split between buckets. */
static void divide(struct team *t, bool apart)
{
    for (size_t k = 0; k < t->g->tensor_count; k++) {
        const struct gcb_gradients_tensor *tensor = &t->g->tensors[k];
        struct message *last = t->messages ? &t->items[t->messages - 1] : NULL;

        if (last && !apart && last->count + tensor->count <= BUCKET)
            last->count += tensor->count;
        else
            t->items[t->messages++] =
                (struct message){.offset = tensor->offset, .count = tensor->count};
    }
}

/* Sets the shape of a message that has all or the first elements of a tensor. A part of a tensor
 * has two dimensions if it has whole rows, else one. */
static void set_shape(struct gcb_codec_env *env, struct message *m, const struct gcb_tensor *tensor)
{
    const uint64_t row = gcb_gradients_row(tensor);

    env->shape = tensor->dims;
    env->rank = tensor->rank;
    if (m->count == tensor->count)
        return;
    env->shape = m->dims;
    env->rank = row > 1 && m->count % row == 0 ? 2 : 1;
    m->dims[0] = env->rank == 2 ? m->count / row : m->count;
    m->dims[1] = row;
}

/* Opens the exchanges of message j for all workers. */
static int open_message(struct team *t, const struct gcb_method *method, size_t j, bool apart,
                        struct gcb_diag *diag)
{
    /* the tensor of message j if `apart`; not used otherwise */
    const struct gcb_tensor *tensor = t->g->tensors[j].tensor;
    struct message *m = &t->items[j];
    struct gcb_exchange_config config = {
        .coder = {.env = {.count = m->count, .path = apart ? tensor->path : "bucket"},
                  .nonfinite = GCB_NONFINITE_ERROR,
                  .source = GCB_F32,
                  .checksum = true},
        .workers = t->stated,
    };
    int err = 0;

    gcb_compute_env(&config.coder.env, &t->config->compute);
    if (apart)
        set_shape(&config.coder.env, m, tensor);
    m->exchanges = gcb_must_zero(t->workers, sizeof(*m->exchanges));
    for (unsigned w = 0; !err && w < t->workers; w++) {
        config.worker = w;
        config.no_update = w > 0;
        err = gcb_exchange_create(&m->exchanges[w], method, &config, diag);
    }
    return err;
}

static void close_team(struct team *t)
{
    for (size_t j = 0; j < t->messages; j++) {
        for (unsigned w = 0; t->items[j].exchanges && w < t->workers; w++)
            gcb_exchange_close(t->items[j].exchanges[w]);
        gcb_free(t->items[j].exchanges);
    }
    gcb_free(t->items);
    gcb_free(t->update);
    gcb_local_fini(&t->local);
}

/* Opens the exchanges of a team. The members that this function sets start zeroed. On failure
 * nothing stays open. */
static int open_team(struct team *t, const struct gcb_method *method, struct gcb_diag *diag)
{
    const struct gcb_gradients *g = t->g;
    double tile = GCB_TILE_NONE;
    /* a method with a rank or tiles needs the shape of a tensor; others get many tensors in a
     * message */
    const bool apart = gcb_method_find(method, "rank") ||
                       (gcb_method_value(method, "tile", &tile) && tile > GCB_TILE_NONE);
    int err = 0;

    t->collective = gcb_method_collective(method);
    t->sends = gcb_collectives[t->collective].sends;
    t->local = (struct gcb_local){.workers = t->workers, .observe = on_round, .ctx = t};
    t->items = gcb_must_zero(g->tensor_count, sizeof(*t->items));
    t->update = gcb_alloc_array(g->count, sizeof(*t->update));
    if (!t->update)
        err = gcb_diag_nomem(diag, g->count * sizeof(float), "an update");
    divide(t, apart);

    for (size_t j = 0; !err && j < t->messages; j++)
        err = open_message(t, method, j, apart, diag);
    if (err)
        close_team(t);
    return err;
}

/* ---- one draw ---- */

/* Returns how many gradients of full length worker 0 decodes and adds in a ring or tree. In a ring
 * it adds n - 1 shares of 1 / n. */
static double hop_adds(const struct team *t)
{
    const double n = t->workers;

    return t->collective == GCB_COLLECTIVE_RING ? (n - 1.0) / n : ceil(log2(n));
}

/* Adds worker 0's seconds: `begin` before the rounds, `times` in the rounds, `end` after them. */
static void add_cost(const struct team *t, struct gcb_cost *cost, double begin,
                     const struct gcb_local_times times[ROUNDS], double end)
{
    const unsigned workers = t->workers;
    const bool values = t->sends == GCB_SENDS_VALUES;
    const bool shares = t->sends == GCB_SENDS_SHARES;
    const bool hops = t->sends == GCB_SENDS_HOPS;

    cost->code += begin;
    if (values || shares || hops) /* the sum arrives, so that it is only decoded */
        cost->decode += end;
    else
        cost->add += end;
    for (unsigned k = 0; k < ROUNDS; k++) {
        if (shares && k == t->rounds / 2) /* sends the worker's share of the sum */
            cost->code_share += times[k].send * workers;
        else
            cost->code += times[k].send;
        if (t->sends == GCB_SENDS_MESSAGES)
            cost->add_each += times[k].receive / workers;
        else if (values || (shares && k >= t->rounds / 2) || (hops && k + 1 == t->rounds))
            cost->decode += times[k].receive;
        else if (hops)
            cost->add += times[k].receive / hop_adds(t);
        else
            cost->add += times[k].receive;
        cost->combine += times[k].combine;
    }
}

/* Exchanges a message of a step. If `cost` is not NULL, adds worker 0's seconds to it. Otherwise
 * adds the error of encoding sums again to t->sent. */
static int exchange(struct team *t, size_t step, uint64_t draw, struct message *m,
                    struct gcb_cost *cost, struct gcb_diag *diag)
{
    struct gcb_local_times times[ROUNDS];
    double begin = 0.0, end = 0.0, at;
    int err = 0;

    memset(times, 0, sizeof(times));
    t->local.clock = cost ? thread_seconds : NULL;
    t->local.times = times;
    t->local.time_count = ROUNDS;
    for (unsigned w = 0; !err && w < t->workers; w++) {
        at = thread_seconds();
        err = gcb_exchange_begin(m->exchanges[w], draw, gcb_gradients_at(t->g, step, w) + m->offset,
                                 diag);
        begin += w ? 0.0 : thread_seconds() - at;
    }
    if (!err)
        err = gcb_local_run(&t->local, m->exchanges, diag);
    for (unsigned w = 0; !err && w < t->workers; w++) {
        at = thread_seconds();
        err = gcb_exchange_conclude(m->exchanges[w], w ? NULL : t->update + m->offset, NULL, diag);
        if (!err && w)
            gcb_exchange_learn_update(m->exchanges[w], t->update + m->offset);
        if (!err && !cost)
            gcb_exchange_second_error(m->exchanges[w], &t->sent->again_lost, &t->sent->again_sum);
        if (!err)
            err = gcb_exchange_learn(m->exchanges[w], NULL, diag);
        end += w ? 0.0 : thread_seconds() - at;
    }
    if (!err && cost)
        add_cost(t, cost, begin, times, end);
    return err;
}

static int exchange_all(struct team *t, size_t step, uint64_t draw, struct gcb_cost *cost,
                        struct gcb_diag *diag)
{
    int err = 0;

    for (size_t j = 0; !err && j < t->messages; j++)
        err = exchange(t, step, draw, &t->items[j], cost, diag);
    return err;
}

/* ---- errors and bytes of a method ---- */

/* Sums over the steps whose mean is not 0. */
struct errors {
    double one;     /* squared error of a draw */
    double lasting; /* squared lasting error */
    size_t steps;
};

/* Step s numbers its draws from s * DRAWS_OF_STEP, so that steps have different draws. */
#define DRAWS_OF_STEP 1000

/* Exchanges a step once for each draw, and adds the step's errors, unless its mean is 0. `drift` is
 * scratch of g->count elements. Returns 0, 1 after a stop, or an error. */
static int draw_step(struct team *t, size_t step, float *drift, struct errors *errors,
                     struct gcb_diag *diag)
{
    const struct gcb_gradients *g = t->g;
    const float *mean = g->means + step * g->count;
    const double draws = t->config->draws;
    const double norm =
        gcb_reduce_blocks(t->config->compute.kernels->reduce.sum_sq, mean, g->count);
    double one = 0.0, all;
    int err;

    memset(drift, 0, g->count * sizeof(*drift));
    for (unsigned r = 0; r < t->config->draws; r++) {
        if (gcb_watch_stopped(&t->config->watch))
            return 1;
        err = exchange_all(t, step, step * DRAWS_OF_STEP + r, NULL, diag);
        if (err)
            return err;
        for (uint64_t i = 0; i < g->count; i++) {
            t->update[i] -= mean[i];
            drift[i] += t->update[i];
        }
        one += gcb_reduce_blocks(t->config->compute.kernels->reduce.sum_sq, t->update, g->count) /
               draws;
    }
    all = gcb_reduce_blocks(t->config->compute.kernels->reduce.sum_sq, drift, g->count) /
          (draws * draws);
    if (!(norm > 0.0)) /* the error is relative to this norm */
        return 0;
    errors->one += one / norm;
    errors->lasting += fmax(0.0, (draws * all - one) / (draws - 1.0)) / norm;
    errors->steps++;
    return 0;
}

/* Returns `bytes` of struct gcb_mean. `elements` are those of all workers, steps and draws. */
static double bytes_of(const struct traffic *sent, const struct gcb_method *method, double workers,
                       double elements)
{
    const double node = gcb_method_node(method, (unsigned)workers);

    switch (gcb_collectives[gcb_method_collective(method)].sends) {
    case GCB_SENDS_MESSAGES:
        return sent->gathered / elements;
    case GCB_SENDS_VALUES:
        return sent->reduced / elements;
    case GCB_SENDS_SHARES:
        /* the four rounds send 1, 1 / node, 1 / node and 1 times the bytes of a message */
        if (node > 1.0 && node < workers)
            return sent->scattered / (2.0 + 2.0 / node) / elements;
        /* in the second round a worker sends its share of the sum */
        return (sent->scattered + workers * sent->gathered) / 2.0 / elements;
    case GCB_SENDS_HOPS:
        return (sent->shifted + sent->gathered) / elements;
    default:
        return sent->linked / elements * workers / fmax(workers - 1.0, 1.0);
    }
}

/* Sets out->shared of an all-reduce. In the all-gather to which it is compared, each worker has its
 * own scale. */
static int compare_scales(struct gcb_mean *out, const struct gcb_gradients *g,
                          const struct gcb_mean_config *config, const struct gcb_method *method,
                          struct gcb_diag *diag)
{
    struct gcb_mean_config once = *config;
    struct gcb_method gathered = *method;
    struct gcb_mean own;
    int err = gcb_method_change(&gathered, "collective", "allgather", diag);

    once.draws = 1;
    if (!err)
        err = gcb_mean_measure(&own, g, &once, &gathered, diag);
    if (!err && own.error > 0.0)
        out->shared = fmax(1.0, out->error / own.error);
    return err;
}

int gcb_mean_measure(struct gcb_mean *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     struct gcb_diag *diag)
{
    const double elements = (double)g->count * g->workers * (double)g->steps * config->draws;
    float *drift = gcb_alloc_array(g->count, sizeof(*drift));
    struct errors errors = {.steps = 0};
    struct traffic sent = {.linked = 0.0};
    int err = drift ? 0 : gcb_diag_nomem(diag, g->count * sizeof(*drift), "a sum of errors");

    for (size_t s = 0; !err && s < g->steps; s++) {
        const struct gcb_coder *encoder;
        /* a new team for each step, so that no memory carries a residual to the next step */
        struct team t = {
            .g = g, .config = config, .workers = g->workers, .stated = g->workers, .sent = &sent};

        err = open_team(&t, method, diag);
        if (err)
            break;
        err = draw_step(&t, s, drift, &errors, diag);
        encoder = gcb_exchange_encoder(t.items[0].exchanges[0]);
        out->varies = encoder && gcb_coder_length(encoder) == 0;
        close_team(&t);
    }
    if (!err && errors.steps == 0)
        err = gcb_invalid(diag, "the mean of the workers is zero");
    if (!err) {
        out->error = sqrt(errors.one / (double)errors.steps);
        out->lasting =
            config->draws > 1 ? sqrt(errors.lasting / (double)errors.steps) : (double)NAN;
        out->second_error =
            sent.again_sum > 0.0 ? sqrt(sent.again_lost / sent.again_sum) : (double)NAN;
        out->bytes = bytes_of(&sent, method, g->workers, elements);
        out->reductions = sent.reductions;
        out->shared = 1.0;
    }
    gcb_free(drift);
    if (!err && gcb_collectives[gcb_method_collective(method)].sends == GCB_SENDS_VALUES &&
        g->workers > 1 && gcb_mean_averages(method) && !method->codec->baseline)
        err = compare_scales(out, g, config, method, diag);
    return err;
}

bool gcb_mean_averages(const struct gcb_method *method)
{
    return method->codec->error_rule || method->codec->error_rule_of;
}

/* Returns the squared error of a ring or tree of n workers, in units of one encoding of the mean. A
 * sum of k workers has the squared norm k^2 signal + k noise. The workers of a ring encode shares,
 * which together are one sum of k workers for each k from 1 to n. In a tree half of the workers
 * encode a sum of 1, a quarter a sum of 2, and so on, and one worker encodes the mean. */
static double hop_errors(enum gcb_collective collective, double signal, double noise, double n)
{
    const double mean = n * signal + noise; /* squared norm of the sum of n workers, over n */

    if (collective == GCB_COLLECTIVE_RING)
        return (n + 1.0) * ((2.0 * n + 1.0) / 6.0 * signal + 0.5 * noise) / mean;
    return 1.0 + 0.5 * ((n - 1.0) * signal + log2(n) * noise) / mean;
}

double gcb_mean_among(const struct gcb_method *method, const struct gcb_mean *mean, double signal,
                      double noise, double measured, double n, double each)
{
    const double second = mean->second_error > 0.0 ? mean->second_error : 0.0;
    const double again = second * second; /* a squared error, like `first` */
    const enum gcb_collective collective = gcb_method_collective(method);
    double first = fmax(mean->error * mean->error - again, 0.0);

    if (gcb_collectives[collective].sends == GCB_SENDS_HOPS && signal + noise > 0.0)
        return mean->error * sqrt(hop_errors(collective, signal, noise / each, n) /
                                  hop_errors(collective, signal, noise, measured));
    /* The mean of k workers has the squared norm signal + noise / k. Rounding a message adds a
     * squared error in proportion to the message's squared norm. The mean of n messages has 1 / n
     * of that error. */
    if (gcb_mean_averages(method) && measured > 1.0 && signal + noise > 0.0)
        first *= (measured * signal + noise) / (signal + noise) * (signal + noise / each) /
                 (n * signal + noise / each) *
                 pow(mean->shared, 2.0 * (log2(n) / log2(measured) - 1.0));
    return sqrt(first + again);
}

/* ---- times, and bytes of an all-reduce ---- */

struct gcb_cost gcb_cost_scale(struct gcb_cost c, double by)
{
    return (struct gcb_cost){c.code * by, c.code_share * by, c.decode * by,
                             c.add * by,  c.add_each * by,   c.combine * by};
}

int gcb_mean_time(struct gcb_cost *out, const struct gcb_gradients *g,
                  const struct gcb_mean_config *config, const struct gcb_method *method,
                  struct gcb_diag *diag)
{
    const unsigned workers = g->workers > 1 ? g->workers : 2;
    struct traffic sent = {.linked = 0.0};
    struct team t = {
        .g = g, .config = config, .workers = workers, .stated = workers, .sent = &sent};
    int err = open_team(&t, method, diag);

    if (err)
        return err;
    memset(out, 0, sizeof(*out));
    err = exchange_all(&t, 0, 0, NULL, diag);
    if (!err && config->evict)
        err = gcb_evict_run(config->evict, diag);
    if (!err)
        err = exchange_all(&t, 0, 1, out, diag);
    *out = gcb_cost_scale(*out, 1.0 / (double)g->count);
    close_team(&t);
    return err;
}

int gcb_mean_reduced(double *out, const struct gcb_gradients *g,
                     const struct gcb_mean_config *config, const struct gcb_method *method,
                     unsigned workers, struct gcb_diag *diag)
{
    struct traffic sent = {.linked = 0.0};
    /* one worker's values have the same length as the sums of all workers */
    struct team t = {.g = g, .config = config, .workers = 1, .stated = workers, .sent = &sent};
    int err = open_team(&t, method, diag);

    if (err)
        return err;
    err = exchange_all(&t, 0, 0, NULL, diag);
    *out = sent.reduced / (double)g->count;
    close_team(&t);
    return err;
}
