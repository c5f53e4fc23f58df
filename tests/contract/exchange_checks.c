#include "tests/contract/exchange_checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/sparse/sparse.h"
#include "src/lib/sum/sum.h"
#include "tests/support/sums.h"
#include "tests/support/trip.h"

#define STEP 3
#define STEPS 3 /* of checks that need several */

/* ---- what checks share ---- */

static float *floats(uint64_t n)
{
    return calloc(n ? n : 1, sizeof(float));
}

/* Runs one step of a new team. The caller closes it, also after a failure. */
static bool run(struct team *t, const struct team_case *c)
{
    return team_open(t, c) && team_step(t, STEP, c->x);
}

static bool same_bits(const float *a, const float *b, uint64_t n)
{
    return n == 0 || memcmp(a, b, n * sizeof(float)) == 0;
}

static bool agree(const struct team *t)
{
    for (unsigned w = 1; w < t->c->workers; w++)
        if (!same_bits(t->update[w], t->update[0], t->c->n)) {
            snprintf(team_why, sizeof(team_why), "the update of worker %u is another", w);
            return false;
        }
    return true;
}

static double norm_of(const float *x, uint64_t n)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* Adds weight * x to a sum in float64. */
static void add(double *sum, const float *x, uint64_t n, double weight)
{
    for (uint64_t i = 0; i < n; i++)
        sum[i] += weight * (double)x[i];
}

/*
 * The distance that rounding explains after `steps` steps: relative to the norms of what is added,
 * plus the spacing of the smallest numbers. Values of 16 bits are rounded after each addition.
 */
static double rounding(const struct team *t, unsigned steps)
{
    const struct team_case *c = t->c;
    double relative = 1e-5, spacing = 0x1p-145, norm = 0.0;

    for (unsigned r = 0; r < t->rounds; r++) {
        const enum gcb_reduction how = t->round[r].reduction;

        if (t->round[r].kind == GCB_ROUND_REDUCE && (how == GCB_SUM_F16 || how == GCB_SUM_BF16)) {
            relative = c->workers * (how == GCB_SUM_F16 ? 0x1p-11 : 0x1p-8);
            spacing = how == GCB_SUM_F16 ? 0x1p-24 : spacing;
        }
    }
    for (unsigned w = 0; w < c->workers; w++)
        norm += fabs((double)c->weights[w]) * norm_of(c->x[w], c->n);
    return steps * (relative * norm + spacing * c->workers * sqrt((double)c->n));
}

/* True if x is within `distance` of the exact sum. */
static bool is_near(const float *x, const double *sum, uint64_t n, double distance)
{
    double squares = 0.0;

    for (uint64_t i = 0; i < n; i++)
        squares += ((double)x[i] - sum[i]) * ((double)x[i] - sum[i]);
    if (sqrt(squares) <= distance)
        return true;
    snprintf(team_why, sizeof(team_why), "the distance is %g, but rounding explains %g",
             sqrt(squares), distance);
    return false;
}

/* The method with memory=ef instead of its own memory. Returns false if it cannot have it. */
static bool with_feedback(struct gcb_method *out, const struct gcb_method *m)
{
    *out = *m;
    gcb_method_forget(out);
    return !gcb_method_change(out, "memory", "ef", NULL) &&
           !gcb_method_assign(out, "decay", 1.0, NULL);
}

/* ---- one step ---- */

/* With feedback, if the method can have it, for several steps. */
static bool all_workers_agree(const struct team_case *c)
{
    struct team_case fed = *c;
    struct gcb_method m;
    struct team t;
    bool holds = run(&t, c) && agree(&t);

    team_close(&t);
    fed.method = &m;
    fed.nonfinite = GCB_NONFINITE_RAW; /* the memory may overflow */
    if (!holds || !with_feedback(&m, c->method))
        return holds;
    holds = team_open(&t, &fed);
    for (unsigned s = 0; s < STEPS && holds; s++)
        holds = team_step(&t, s, c->x) && agree(&t);
    team_close(&t);
    return holds;
}

static bool threads_change_nothing(const struct team_case *c)
{
    struct team_case threaded = *c;
    double transform = 0.0, chunk = 1.0;
    struct team one, many;
    bool holds;

    threaded.threads = 3;
    gcb_method_value(c->method, "transform", &transform);
    gcb_method_value(c->method, "chunk", &chunk);
    if (transform > 0.0 && (chunk == 0.0 || chunk >= (double)c->n))
        return true; /* a whole FFT may have other bits */
    holds = run(&one, c);
    holds &= run(&many, &threaded);
    holds = holds && same_bits(one.update[0], many.update[0], c->n);
    team_close(&one);
    team_close(&many);
    return holds;
}

/* Encodes worker w's tensor of the case. The caller frees message->data. */
static bool encode(struct gcb_coder *coder, const struct team_case *c, uint32_t w,
                   struct gcb_wbuf *message)
{
    const struct gcb_step at = {.step = STEP, .worker = w};
    const struct gcb_view in = {.data = c->x[w], .count = c->n};
    const size_t bound = gcb_coder_bound(coder), raw = gcb_coder_raw_bytes(coder);

    message->cap = bound > raw ? bound : raw;
    message->data = malloc(message->cap);
    return !gcb_coder_encode(coder, &at, &in, message, NULL);
}

/* Encodes all workers' tensors with new encoders and calls take() with each message. */
static bool each_message(const struct team_case *c, void *ctx,
                         bool (*take)(void *ctx, uint32_t w, const struct gcb_wbuf *message))
{
    const struct gcb_coder_config config = {
        .env = {.count = c->n, .shape = c->shape, .rank = c->rank, .seed = 7, .path = "a/b"},
        .max_elements = UINT64_C(1) << 34};
    bool well = true;

    for (uint32_t w = 0; w < c->workers && well; w++) {
        struct gcb_wbuf message = {.cap = 0};
        struct gcb_coder *coder;

        well = !gcb_coder_create(&coder, c->method, &config, NULL);
        if (well) {
            well = encode(coder, c, w, &message) && take(ctx, w, &message);
            gcb_coder_destroy(coder);
        }
        free(message.data);
    }
    return well;
}

struct decoded {
    const struct team_case *c;
    struct gcb_coder *decoder;
    double *sum;
    float *x;
    bool stored; /* a message would be longer than the tensor, so it is the raw tensor */
};

static bool add_decoded(void *ctx, uint32_t w, const struct gcb_wbuf *message)
{
    struct decoded *d = ctx;
    const struct gcb_mview out = {.data = d->x, .count = d->c->n};
    const int err = gcb_coder_decode(d->decoder, message->data, message->len, &out, NULL);

    add(d->sum, d->x, d->c->n, (double)d->c->weights[w]);
    d->stored |= message->data[5] & GCB_WIRE_STORED;
    return !err;
}

static bool is_sum_of_decoded(const struct team_case *c)
{
    const struct gcb_coder_config config = {.env = {.count = c->n,
                                                    .shape = c->shape,
                                                    .rank = c->rank,
                                                    .seed = 7,
                                                    .path = "a/b",
                                                    .decoding = true},
                                            .max_elements = UINT64_C(1) << 34};
    struct decoded d = {.c = c, .sum = calloc(c->n + 1, sizeof(double)), .x = floats(c->n)};
    struct team t;
    bool holds = !gcb_coder_create(&d.decoder, c->method, &config, NULL);

    holds = holds && each_message(c, &d, add_decoded);
    for (int backwards = 0; backwards < 2 && holds && !d.stored; backwards++) {
        holds = team_open(&t, c);
        t.backwards = backwards;
        holds = holds && team_step(&t, STEP, c->x) &&
                is_near(t.update[0], d.sum, c->n, rounding(&t, 1));
        team_close(&t);
    }
    gcb_coder_destroy(d.decoder);
    free(d.sum);
    free(d.x);
    return holds;
}

static bool linear_methods_are_linear(const struct team_case *c)
{
    return !(gcb_method_caps(c->method) & GCB_CAP_LINEAR) ||
           gcb_method_collective(c->method) != GCB_COLLECTIVE_ALLREDUCE || is_sum_of_decoded(c);
}

struct summed {
    const struct team_case *c;
    struct gcb_sum *sum;
};

static bool add_message(void *ctx, uint32_t w, const struct gcb_wbuf *message)
{
    const struct summed *s = ctx;

    return !gcb_sum_add(s->sum, message->data, message->len, s->c->weights[w], NULL);
}

static bool allgather_is_the_sum_of_messages(const struct team_case *c)
{
    const struct gcb_coder_config config = {.env = {.count = c->n}};
    struct summed s = {.c = c};
    float *want;
    struct team t;
    bool holds;

    if (gcb_method_collective(c->method) != GCB_COLLECTIVE_ALLGATHER)
        return true;
    want = floats(c->n);
    holds = run(&t, c) && !gcb_sum_create(&s.sum, c->method, NULL, &config, NULL) &&
            each_message(c, &s, add_message) && !gcb_sum_finish(s.sum, want, NULL) &&
            sums_first_difference(t.update[0], want, c->n) == c->n;
    team_close(&t);
    gcb_sum_close(s.sum);
    free(want);
    return holds;
}

static bool what_arrived_adds_up(const struct team_case *c)
{
    double *sum = calloc(c->n + 1, sizeof(*sum));
    struct team t;
    bool holds = run(&t, c);

    for (unsigned w = 0; w < c->workers && holds; w++)
        add(sum, t.own[w], c->n, (double)c->weights[w]);
    holds = holds &&
            (!gcb_exchange_conserves(t.e[0]) || is_near(t.update[0], sum, c->n, rounding(&t, 1)));
    team_close(&t);
    free(sum);
    return holds;
}

/* The update of the case. */
static bool update_of(float *update, double *distance, const struct team_case *c)
{
    struct team t;
    const bool well = run(&t, c);

    if (well && c->n)
        memcpy(update, t.update[0], c->n * sizeof(*update));
    if (well && distance)
        *distance = rounding(&t, 1);
    team_close(&t);
    return well;
}

static bool doubles(const struct team_case *c, const float *update)
{
    struct team_case doubled = *c;
    double *sum = calloc(c->n + 1, sizeof(*sum)), distance = 0.0;
    float *twice = floats(c->n);
    bool holds;

    for (unsigned w = 0; w < c->workers; w++)
        doubled.weights[w] *= 2.0f;
    add(sum, update, c->n, 2.0);
    holds = update_of(twice, &distance, &doubled) && is_near(twice, sum, c->n, distance);
    free(sum);
    free(twice);
    return holds;
}

/* The worker whose tensor chooses the positions for all, whatever its weight (agree=leader); if
 * there is none, the number of workers. */
static unsigned leader_of(const struct team_case *c)
{
    double agree = 0.0, every = 1.0;

    if (gcb_method_collective(c->method) != GCB_COLLECTIVE_ALLREDUCE ||
        !gcb_method_value(c->method, "agree", &agree) || (int)agree != GCB_AGREE_LEADER ||
        !gcb_method_value(c->method, "every", &every))
        return c->workers;
    return STEP / (unsigned)every % c->workers;
}

/* A worker of weight 0 may give any tensor, unless it is the leader. */
static bool ignores_weight_0(const struct team_case *c)
{
    struct team_case one = *c, other = *c;
    float *a = floats(c->n), *b = floats(c->n), *x = floats(c->n);
    double *sum = calloc(c->n + 1, sizeof(*sum)), distance = 0.0;
    const unsigned idle = leader_of(c) == c->workers - 1 ? 0 : c->workers - 1;
    bool holds;

    for (uint64_t i = 0; i < c->n; i++)
        x[i] = (float)((i * 7) % 11) - 5.0f;
    one.weights[idle] = other.weights[idle] = 0.0f;
    other.x[idle] = x;
    holds = update_of(a, &distance, &one) && update_of(b, NULL, &other);
    add(sum, a, c->n, 1.0);
    holds = holds && is_near(b, sum, c->n, distance);
    free(a);
    free(b);
    free(x);
    free(sum);
    return holds;
}

static bool weights_count(const struct team_case *c)
{
    float *update = floats(c->n);
    double max = 0.0;
    /* a code with a fixed largest value does not double with a sum that is sent on */
    const bool fixed = gcb_method_value(c->method, "max", &max) && max > 0.0;
    const bool holds = update_of(update, NULL, c) && (fixed || doubles(c, update)) &&
                       (c->workers == 1 || ignores_weight_0(c));

    free(update);
    return holds;
}

/*
 * The workers change their numbers. Methods whose draws depend on the worker may give another
 * update. So may collectives that send sums, if the sums are rounded; with equal weights the
 * tensors have sums that are not rounded. And so may leaders (agree=leader), in turn, and the draws
 * of quant=ternary.
 */
static bool numbers_do_not_matter(const struct team_case *c)
{
    const struct gcb_collective_facts *facts = &gcb_collectives[gcb_method_collective(c->method)];
    const bool adds_all = facts->sends == GCB_SENDS_MESSAGES || facts->sends == GCB_SENDS_VALUES;
    float *update = floats(c->n), *other = floats(c->n);
    double *sum = calloc(c->n + 1, sizeof(*sum)), distance = 0.0, agree = 0.0, quant = 0.0;
    const bool masks = gcb_method_value(c->method, "agree", &agree) &&
                       gcb_method_value(c->method, "quant", &quant);
    const bool leads = masks && ((int)agree == GCB_AGREE_LEADER || quant > 0.0);
    struct team_case turned = *c;
    bool holds = true, exact = true;

    for (unsigned w = 0; w < c->workers; w++) {
        turned.x[w] = c->x[c->workers - 1 - w];
        turned.weights[w] = c->weights[c->workers - 1 - w];
        exact &= c->weights[w] == c->weights[0];
    }
    if (!(gcb_method_caps(c->method) & GCB_CAP_RANDOMISED) && !leads &&
        (adds_all || (exact && !facts->ordered))) {
        holds = update_of(update, &distance, c) && update_of(other, NULL, &turned);
        add(sum, update, c->n, 1.0);
        holds = holds && is_near(other, sum, c->n, distance);
    }
    free(update);
    free(other);
    free(sum);
    return holds;
}

/* A mask has as many elements as workers voted for. */
static bool rounds_depend_on_parameters(const struct team_case *c)
{
    struct team_case other = *c;
    const bool votes = gcb_method_value(c->method, "agree", NULL) &&
                       gcb_method_collective(c->method) == GCB_COLLECTIVE_ALLREDUCE;
    float *zero = floats(c->n);
    struct team a, b;
    bool holds;

    for (unsigned w = 0; w < c->workers; w++)
        other.x[w] = zero;
    holds = run(&a, c);
    holds &= run(&b, &other);
    for (unsigned r = 0; votes && r < a.rounds; r++)
        b.round[r].bytes = a.round[r].bytes;
    holds = holds &&
            (a.rounds == b.rounds || gcb_method_collective(c->method) != GCB_COLLECTIVE_ALLREDUCE);
    for (unsigned r = 0; holds && r < a.rounds && r < b.rounds; r++)
        holds = a.round[r].kind == b.round[r].kind &&
                (a.round[r].kind != GCB_ROUND_REDUCE || a.round[r].bytes == b.round[r].bytes);
    team_close(&a);
    team_close(&b);
    free(zero);
    return holds;
}

/* ---- several steps ---- */

static const float *residual(const struct team *t, unsigned w)
{
    return gcb_memory_residual(gcb_exchange_memory(t->e[w]));
}

/* Sum of updates + weighted residuals = weighted sum of inputs. Step s takes the tensors of worker
 * w + s as worker w's. */
static bool memory_keeps_the_rest(const struct team_case *c)
{
    struct team_case fed = *c;
    struct gcb_method m;
    double *sum;
    float *got;
    struct team t;
    bool holds, conserves;

    fed.method = &m;
    if (!with_feedback(&m, c->method))
        return true;
    sum = calloc(c->n + 1, sizeof(*sum));
    got = floats(c->n);
    holds = team_open(&t, &fed);
    conserves = holds && gcb_exchange_conserves(t.e[0]);
    for (unsigned s = 0; s < STEPS && holds; s++) {
        const float *x[TEAM_MOST];

        for (unsigned w = 0; w < c->workers; w++) {
            x[w] = c->x[(w + s) % c->workers];
            add(sum, x[w], c->n, (double)c->weights[w]);
        }
        holds = team_step(&t, s, x);
        for (uint64_t i = 0; i < c->n; i++)
            sum[i] -= (double)t.update[0][i];
    }
    for (unsigned w = 0; w < c->workers && holds; w++)
        add(sum, residual(&t, w), c->n, -(double)c->weights[w]);
    holds = holds && (!conserves || is_near(got, sum, c->n, rounding(&t, STEPS * STEPS)));
    team_close(&t);
    free(got);
    free(sum);
    return holds;
}

/* In step 1 of three the last worker's tensor has a NaN. */
static bool a_nan_reaches_all_but_no_memory(const struct team_case *c)
{
    struct team_case fed = *c;
    struct gcb_method m;
    float *spoilt = floats(c->n);
    struct team t;
    bool holds;

    fed.method = with_feedback(&m, c->method) ? &m : c->method;
    fed.nonfinite = GCB_NONFINITE_RAW;
    if (c->n) {
        memcpy(spoilt, c->x[c->workers - 1], c->n * sizeof(*spoilt));
        spoilt[c->n / 2] = NAN;
    }
    holds = team_open(&t, &fed);
    for (unsigned s = 0; s < STEPS && holds; s++) {
        const float *x[TEAM_MOST];

        memcpy(x, c->x, sizeof(x));
        if (s == 1)
            x[c->workers - 1] = spoilt;
        holds = team_step(&t, s, x);
        snprintf(team_why, sizeof(team_why), "in step %u", s);
        for (unsigned w = 0; w < c->workers && holds; w++)
            holds = (c->n == 0 || !isfinite(trip_norm(t.update[w], c->n)) == (s == 1)) &&
                    (!residual(&t, w) || isfinite(trip_norm(residual(&t, w), c->n)));
    }
    team_close(&t);
    free(spoilt);
    return holds;
}

/* True if the team's next step gives these updates. Methods that keep something from the steps
 * before may give others. */
static bool goes_on(struct team *t, const struct team_case *c, const float *update)
{
    const bool stateful = gcb_method_caps(c->method) & GCB_CAP_STATEFUL ||
                          gcb_memory_residual(gcb_exchange_memory(t->e[0]));

    t->leave = 0;
    t->damage = NULL;
    return team_step(t, STEP, c->x) && (stateful || same_bits(t->update[0], update, c->n));
}

static bool a_step_can_be_left(const struct team_case *c)
{
    float *update = floats(c->n);
    struct team t;
    bool holds = run(&t, c);
    const unsigned rounds = holds ? t.rounds : 0;

    if (holds && c->n)
        memcpy(update, t.update[0], c->n * sizeof(*update));
    team_close(&t);
    for (unsigned leave = 1; leave <= rounds && holds; leave++) {
        holds = team_open(&t, c);
        t.leave = leave;
        holds = holds && team_step(&t, STEP, c->x) && goes_on(&t, c, update);
        team_close(&t);
    }
    free(update);
    return holds;
}

/* ---- hostile bytes ---- */

struct damage {
    unsigned round, way;
    uint32_t from;
};

#define WAYS 24

/* Way 0 to 7: other lengths. From 8 on: changed bytes. */
static void spoil(void *ctx, unsigned round, uint32_t from, struct parcel *p)
{
    const struct damage *d = ctx;
    const size_t longer[] = {p->length + 1, p->length + 4, 2 * p->length + 8};

    if (round != d->round || from != d->from)
        return;
    if (d->way < 8) {
        const size_t length = d->way < 3   ? longer[d->way]
                              : d->way < 7 ? p->length * (d->way - 3) / 4
                              : p->length  ? p->length - 1
                                           : 0;
        uint8_t *bytes = calloc(1, length ? length : 1);

        memcpy(bytes, p->bytes, length < p->length ? length : p->length);
        free(p->bytes);
        *p = (struct parcel){bytes, length};
        return;
    }
    for (size_t i = d->way - 8; i < p->length; i += 1 + p->length / (d->way < 16 ? 1 : 5))
        p->bytes[i] ^= d->way % 2 ? 0xff : (uint8_t)(1u << d->way % 8);
}

/* Whatever arrives, a step ends or fails, and the next step is as ever. */
static bool hostile_bytes_do_no_harm(const struct team_case *c)
{
    float *update = floats(c->n);
    struct team t;
    bool holds = run(&t, c);
    const struct team first = t;
    const unsigned rounds = holds ? t.rounds : 0;

    if (holds && c->n)
        memcpy(update, t.update[0], c->n * sizeof(*update));
    team_close(&t);
    for (unsigned i = 0; i < rounds * WAYS && holds; i++) {
        struct damage d = {.round = i / WAYS, .way = i % WAYS};

        holds = team_open(&t, c);
        d.from = first.round[d.round].kind != GCB_ROUND_REDUCE && c->workers > 1 && i % 2;
        if (first.round[d.round].kind == GCB_ROUND_SHIFT)
            d.from = first.round[d.round].from;
        t.damage = spoil;
        t.ctx = &d;
        if (holds)
            team_step(&t, STEP, c->x);
        if (!(gcb_method_caps(c->method) & GCB_CAP_STATEFUL) &&
            !gcb_exchange_kept_bytes(t.e[0])) /* else it may have learnt this */
            holds = holds && goes_on(&t, c, update);
        team_close(&t);
    }
    free(update);
    return holds;
}

const struct exchange_check exchange_checks[] = {
    {"all workers get the same update", all_workers_agree, EXCHANGE_ALWAYS},
    {"threads do not change the update", threads_change_nothing, EXCHANGE_ALWAYS},
    {"an all-gather gives the sum of the messages", allgather_is_the_sum_of_messages,
     EXCHANGE_ALWAYS},
    {"a linear method gives the sum of its decoded messages", linear_methods_are_linear,
     EXCHANGE_USUAL},
    {"what arrived adds up to the update", what_arrived_adds_up, EXCHANGE_USUAL},
    {"each tensor counts with its weight", weights_count, EXCHANGE_USUAL},
    {"the numbers of the workers do not matter", numbers_do_not_matter, EXCHANGE_USUAL},
    {"only parameters decide the rounds", rounds_depend_on_parameters, EXCHANGE_USUAL},
    {"a memory keeps what did not arrive", memory_keeps_the_rest, EXCHANGE_USUAL},
    {"a NaN reaches all workers but no memory", a_nan_reaches_all_but_no_memory, EXCHANGE_SLOW},
    {"a step that is left leaves no trace", a_step_can_be_left, EXCHANGE_SLOW},
    {"hostile bytes do no harm", hostile_bytes_do_no_harm, EXCHANGE_SLOW},
    {NULL, NULL, EXCHANGE_ALWAYS},
};
