#include "src/lib/sparse/randomk.h"
#include "src/lib/codec/packed.h"

/*
 * Random-k: k elements at random places (Stich, Cordonnier, Jaggi, NeurIPS 2018; Konecny et al.,
 * arXiv 1610.05492). All workers draw the same places. So no positions are sent, and messages are
 * summed without decoding.
 *
 * The tensor is treated as a ring that begins at a random element. The ring is cut into k strata
 * whose lengths differ by at most 1, and one element of each stratum is drawn. So k different
 * elements are kept, each with the probability k / n.
 *
 * Payload: the key of the draws (8 bytes), then k values (float32) in the order of the strata.
 */
#define TILE 512                   /* strata that are drawn at a time */
#define SPAN ((uint64_t)64 * TILE) /* strata of a task */

/* ---- parallel tasks, and the places that they draw ---- */

/* What parallel tasks share. The words before the colons name the tasks that use a field. */
struct job {
    const struct gcb_codec_env *env;
    struct gcb_strata where;
    float factor;                   /* gather, keep: multiplies elements */
    float weight;                   /* gather: multiplies factor * element */
    const float *from;              /* gather, keep: the tensor */
    uint8_t *out;                   /* gather: takes k values */
    const uint8_t *in;              /* check, scatter: k values */
    float *to;                      /* scatter, keep: the tensor that takes the values */
    const struct gcb_addition *add; /* scatter: where to add the values instead; or NULL */
    bool infinite;                  /* gather, check: set if a value is not finite */
};

static struct job make_job(const struct gcb_randomk *s, uint64_t key, uint64_t k)
{
    struct job job = {.env = &s->base.env,
                      .where = gcb_strata_of(s->base.env.count, k),
                      .factor = s->factor,
                      .weight = 1.0f};

    gcb_strata_set_key(&job.where, key);
    return job;
}

/* place[i] = the element that is drawn from stratum first + i, for i < m. */
static void draw_places(const struct job *job, uint64_t *place, uint64_t first, size_t m)
{
    uint8_t draw[TILE * sizeof(uint64_t)];

    job->env->kernels->philox.bytes(draw, m * sizeof(uint64_t), job->where.key,
                                    first * sizeof(uint64_t), 0);
    for (size_t i = 0; i < m; i++)
        place[i] =
            gcb_strata_place(&job->where, first + i, gcb_load_u64(draw + i * sizeof(uint64_t)));
}

/* Runs `span` for all spans of strata, in parallel. */
static void run(struct job *job, void (*span)(void *ctx, uint64_t i))
{
    gcb_parallel(job->env->queue, (job->where.k + SPAN - 1) / SPAN, span, job);
}

/* The stratum after the last one of a span. */
static uint64_t span_end(const struct job *job, uint64_t span)
{
    return (span + 1) * SPAN < job->where.k ? (span + 1) * SPAN : job->where.k;
}

/* ---- messages ---- */

static void gather_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const uint64_t end = span_end(job, span);
    uint64_t place[TILE];
    bool infinite = false;

    for (uint64_t j = span * SPAN; j < end; j += TILE) {
        const size_t m = end - j < TILE ? (size_t)(end - j) : TILE;

        draw_places(job, place, j, m);
        for (size_t i = 0; i < m; i++) {
            const float value = job->factor * job->from[place[i]];

            infinite |= gcb_magnitude(value) >= GCB_INF_BITS;
            gcb_store_f32(job->out + (j + i) * sizeof(float), job->weight * value);
        }
    }
    if (infinite)
        __atomic_store_n(&job->infinite, true, __ATOMIC_RELAXED);
}

static int randomk_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                          struct gcb_wbuf *out)
{
    const struct gcb_randomk *s = state;
    struct job job = make_job(s, gcb_randomk_key(&s->base.env, at->step), s->k);

    gcb_put_u64(out, job.where.key);
    job.from = in->data;
    job.out = gcb_wbuf_take(out, s->k * sizeof(float));
    if (!job.out)
        return GCB_E_NOSPACE;
    run(&job, gather_span);
    return job.infinite ? GCB_E_SEND_RAW : 0;
}

static void check_span(void *ctx, uint64_t span)
{
    struct job *job = ctx;
    const uint64_t end = span_end(job, span);
    bool infinite = false;

    for (uint64_t j = span * SPAN; j < end; j++)
        infinite |=
            (gcb_load_u32(job->in + j * sizeof(float)) & GCB_MAGNITUDE_MASK) >= GCB_INF_BITS;
    if (infinite)
        __atomic_store_n(&job->infinite, true, __ATOMIC_RELAXED);
}

static void scatter_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const struct gcb_addition *add = job->add;
    const uint64_t end = span_end(job, span);
    uint64_t place[TILE];

    for (uint64_t j = span * SPAN; j < end; j += TILE) {
        const size_t m = end - j < TILE ? (size_t)(end - j) : TILE;

        draw_places(job, place, j, m);
        for (size_t i = 0; i < m; i++) {
            const float value = gcb_load_f32(job->in + (j + i) * sizeof(float));

            if (!add) {
                job->to[place[i]] = value;
                continue;
            }
            add->acc[place[i]] += add->weight * value;
            if (add->mask)
                gcb_addition_mark(add, place[i], value);
        }
    }
}

/* The payload's length gives the number of values, because the encoder may have another theta than
 * this state. */
static int randomk_read(void *state, struct gcb_rbuf *in, float *out,
                        const struct gcb_addition *add)
{
    const struct gcb_randomk *s = state;
    const uint64_t n = s->base.env.count, length = gcb_rbuf_left(in), key = gcb_get_u64(in);
    const size_t bytes = gcb_rbuf_left(in);
    struct job job;

    if (!gcb_randomk_fits(length, n))
        return GCB_E_CORRUPT;
    job = make_job(s, key, bytes / sizeof(float));
    job.in = gcb_rbuf_take(in, bytes);
    job.to = out;
    job.add = add;
    run(&job, check_span);
    if (job.infinite)
        return GCB_E_CORRUPT;
    if (out)
        gcb_set_zero(out, n);
    run(&job, scatter_span);
    return 0;
}

static int randomk_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts)
{
    const struct gcb_randomk *s = state;

    gcb_get_u64(in); /* the key, from which a decoder draws the positions */
    parts->index_bytes = sizeof(uint64_t);
    parts->value_bytes = gcb_rbuf_left(in);
    parts->kept = parts->value_bytes / sizeof(float);
    parts->positions = s->base.env.count;
    parts->entropy0_bits = 8.0 * (double)parts->value_bytes;
    return 0;
}

/* ---- all-reduce: the sum of the values ---- */

/* Writes the kept elements as they are encoded, without the weight, to another tensor. */
static void keep_span(void *ctx, uint64_t span)
{
    const struct job *job = ctx;
    const uint64_t end = span_end(job, span);
    uint64_t place[TILE];

    for (uint64_t j = span * SPAN; j < end; j += TILE) {
        const size_t m = end - j < TILE ? (size_t)(end - j) : TILE;

        draw_places(job, place, j, m);
        for (size_t i = 0; i < m; i++)
            job->to[place[i]] = job->factor * job->from[place[i]];
    }
}

static int randomk_contribute(void *state, const struct gcb_reduce_at *at, unsigned round,
                              const float *x, void *values)
{
    struct gcb_randomk *s = state;
    struct job job;

    s->key = gcb_randomk_key(&s->base.env, at->step.step);
    job = make_job(s, s->key, s->k);
    job.from = x;
    job.out = values;
    job.weight = at->weight;
    run(&job, gather_span);
    return job.infinite ? GCB_E_SEND_RAW : 0;
}

static void randomk_conclude(void *state, const struct gcb_reduce_at *at, const float *x,
                             const void *combined, float *update, float *own)
{
    struct gcb_randomk *s = state;
    struct job job = make_job(s, s->key, s->k);

    job.in = combined;
    job.from = x;
    if (update) {
        gcb_set_zero(update, s->base.env.count);
        job.to = update;
        run(&job, scatter_span);
    }
    if (own) {
        gcb_set_zero(own, s->base.env.count);
        job.to = own;
        run(&job, keep_span);
    }
}

static const struct gcb_reduce_ops randomk_reduce = {
    .rounds = 1,
    .contribute = randomk_contribute,
    .conclude = randomk_conclude,
    .conserves = true,
};

/* ---- about the method ---- */

enum { ROW_THETA, ROW_SCALING, ROWS };

static unsigned randomk_caps(const double *value)
{
    const bool unbiased = (int)value[ROW_SCALING] == GCB_RANDOMK_UNBIASED;

    return unbiased ? GCB_CAP_LINEAR | GCB_CAP_NO_CONTRACTION : GCB_CAP_LINEAR;
}

static const char *const scalings[] = {"none", "unbiased", NULL};

static const struct gcb_param randomk_params[ROWS + 1] = {
    [ROW_THETA] = {.name = "theta",
                   .help = "share of elements dropped",
                   .type = GCB_PARAM_REAL,
                   .offset = offsetof(struct gcb_randomk, theta),
                   .def = 0.85,
                   .max = 1,
                   .flags = GCB_PARAM_LABEL | GCB_PARAM_OPEN_MAX,
                   .complement = {"density", "p"},
                   .rate = GCB_RATE_DOWN},
    [ROW_SCALING] = {GCB_PARAM("scaling", CHOICE, struct gcb_randomk, scaling),
                     .help = "unbiased: kept elements are multiplied by n / k",
                     .choices = scalings},
};

static const struct gcb_codec_ops randomk_ops = {
    .state_size = sizeof(struct gcb_randomk),
    .init = gcb_randomk_init,
    .drops = true,
    .encode = randomk_encode,
    .read = randomk_read,
    .marks = true,
    .describe = randomk_describe,
};

static bool randomk_selects(const double *value, uint64_t count)
{
    return true;
}

const struct gcb_codec gcb_codec_randomk = {
    .name = "randomk",
    .summary = "k elements at random places that all workers share",
    .source = "Stich et al., NeurIPS 2018, definition 2.1; Konecny et al., arXiv 1610.05492",
    .guarantee = "E||x - x'||^2 = (1 - k/n) ||x||^2; scaling=unbiased: unbiased, (n/k - 1) ||x||^2",
    .wire_id = 10,
    .caps_of = randomk_caps,
    .selects = randomk_selects,
    .params = randomk_params,
    .ops = &randomk_ops,
    .reduce = &randomk_reduce,
    .collective = GCB_COLLECTIVE_ALLREDUCE,
};
