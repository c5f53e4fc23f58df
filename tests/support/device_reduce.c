#include <stdlib.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/support/device_reduce.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

const char *const device_reduces[] = {
    "identity",
    "fp16",
    "bf16",
    "qsgd:collective=allreduce",
    "qsgd:bits=8,bucket=100,norm=l2,collective=allreduce",
    "qsgd:bits=3,bucket=10000,rounding=nearest,collective=allreduce",
    "terngrad:collective=allreduce",
    "terngrad:clip=0,collective=allreduce",
    "randomk",
    "randomk:theta=0.99,scaling=unbiased",
    "randomk:theta=0",
    NULL,
};

/* A worker, on both sides. */
struct twin {
    struct gcb_exchange *cpu;
    struct gcb_device_reduce *dev;
    float *x, *update, *own; /* of the CPU */
    void *x_dev, *update_dev, *own_dev;
    uint8_t *sent; /* what it sends in a round */
};

struct pair {
    const struct gcb_device *device;
    const char *spec;
    const struct reduce_options *o;
    struct twin twin[REDUCE_MOST];
    unsigned workers;
    uint64_t n, bytes;              /* elements; bytes of the arrays for a round's values */
    struct gcb_device_batch *batch; /* for copies */
    uint8_t *combined, *copy;
    void *combined_dev;
};

static void *new_array(uint64_t bytes)
{
    void *p = calloc(bytes + 1, 1);

    assert_non_null(p);
    return p;
}

static void *new_on_device(const struct pair *p, uint64_t bytes)
{
    void *dev = NULL;

    assert_int_equal(p->device->module->memory.alloc(&dev, bytes, NULL), 0);
    return dev;
}

static void open_twin(struct pair *p, unsigned w, const struct gcb_method *method)
{
    struct twin *t = &p->twin[w];
    struct gcb_exchange_config config = {
        .coder = {.env = {.count = p->n, .seed = 7, .path = "a/b"}, .nonfinite = p->o->nonfinite},
        .workers = p->o->of ? p->o->of : p->workers,
        .worker = w,
        .weights = p->o->weights,
    };
    const float weight = p->o->weights ? p->o->weights[w] : (float)(1.0 / (double)config.workers);
    struct gcb_diag diag = {0};

    if (gcb_exchange_create(&t->cpu, method, &config, &diag))
        fail_msg("%s: %s", p->spec, diag.text);
    config.coder.env.workers = config.workers;
    if (gcb_device_reduce_create(&t->dev, p->device, method, &config.coder, weight, &diag))
        fail_msg("%s: %s", p->spec, diag.text);
    t->x = new_array(p->n * sizeof(float));
    t->update = new_array(p->n * sizeof(float));
    t->own = new_array(p->n * sizeof(float));
    t->sent = new_array(p->bytes);
    t->x_dev = new_on_device(p, p->n * sizeof(float));
    t->update_dev = new_on_device(p, p->n * sizeof(float));
    t->own_dev = new_on_device(p, p->n * sizeof(float));
}

static void close_pair(struct pair *p)
{
    for (unsigned w = 0; w < p->workers; w++) {
        struct twin *t = &p->twin[w];

        gcb_exchange_close(t->cpu);
        gcb_device_reduce_destroy(t->dev);
        free(t->x);
        free(t->update);
        free(t->own);
        free(t->sent);
        p->device->module->memory.free(t->x_dev);
        p->device->module->memory.free(t->update_dev);
        p->device->module->memory.free(t->own_dev);
    }
    gcb_device_batch_destroy(p->batch);
    p->device->module->memory.free(p->combined_dev);
    free(p->combined);
    free(p->copy);
}

static void compare(struct pair *p, const void *want, const void *dev, uint64_t bytes,
                    const char *what, unsigned w)
{
    assert_int_equal(gcb_device_batch_download(p->batch, p->copy, dev, bytes, NULL), 0);
    for (uint64_t i = 0; i < bytes; i++)
        if (p->copy[i] != ((const uint8_t *)want)[i])
            fail_msg("%s, %llu elements: byte %llu of %llu of %s of worker %u differs", p->spec,
                     (unsigned long long)p->n, (unsigned long long)i, (unsigned long long)bytes,
                     what, w);
}

/* Both sides of a worker go to the next round. Returns 1, 0, or the error. */
static int ask(struct pair *p, unsigned w, struct gcb_round *round)
{
    struct gcb_round there = {.size = sizeof(there)};
    struct twin *t = &p->twin[w];
    struct gcb_diag diag = {0};
    int cpu, dev;

    *round = (struct gcb_round){.size = sizeof(*round)};
    cpu = gcb_exchange_next(t->cpu, round, &diag);
    dev = gcb_device_reduce_next(t->dev, &there, &diag);
    if (dev != cpu)
        fail_msg("%s: a round gives %d on the device, %d on the CPU (%s)", p->spec, dev, cpu,
                 diag.text);
    if (cpu != 1)
        return cpu;
    assert_int_equal(there.kind, round->kind);
    assert_int_equal(there.reduction, round->reduction);
    assert_int_equal(there.bytes, round->bytes);
    assert_true(round->bytes <= p->bytes);
    compare(p, round->data, there.data, round->bytes, "the values", w);
    if (round->bytes)
        memcpy(t->sent, round->data, round->bytes);
    return 1;
}

static int run_rounds(struct pair *p, uint64_t seed)
{
    for (;;) {
        struct gcb_round round;
        int more = 0;

        for (unsigned w = 0; w < p->workers; w++) {
            const int one = ask(p, w, &round);

            assert_true(w == 0 || one == more);
            more = one;
            if (more != 1)
                continue;
            if (w == 0)
                memcpy(p->combined, p->twin[0].sent, round.bytes);
            else
                gcb_reduction_combine(round.reduction, p->combined, p->twin[w].sent, round.bytes);
        }
        if (more != 1)
            return more;
        for (uint64_t i = 0; p->o->combined != HONEST && i < round.bytes; i++)
            p->combined[i] = p->o->combined == RANDOM
                                 ? (uint8_t)(check_random(&seed) & (i % 4 == 3 ? 0xbf : 0xff))
                                 : 0;
        assert_int_equal(
            gcb_device_batch_upload(p->batch, p->combined_dev, p->combined, round.bytes, NULL), 0);
        for (unsigned w = 0; w < p->workers; w++) {
            assert_int_equal(
                gcb_exchange_receive(p->twin[w].cpu, 0, p->combined, round.bytes, NULL), 0);
            assert_int_equal(gcb_device_reduce_receive(p->twin[w].dev, p->combined_dev, NULL), 0);
        }
    }
}

/* Fills the tensor of a worker, and begins the step on both sides. Returns the error of the CPU's
 * side. */
static int begin_twin(struct pair *p, unsigned w, uint64_t step)
{
    const struct gcb_step at = {.step = step, .worker = w};
    struct twin *t = &p->twin[w];

    trip_fill(t->x, p->n, TRIP_LAPLACE, step * 100 + w);
    if (p->o->bad != 0.0f && w + 1 == p->workers && p->n)
        t->x[p->n / 2] = p->o->bad;
    assert_int_equal(gcb_device_batch_upload(p->batch, t->x_dev, t->x, p->n * sizeof(float), NULL),
                     0);
    gcb_device_reduce_begin(t->dev, &at, t->x_dev);
    return gcb_exchange_begin(t->cpu, step, t->x, NULL);
}

static void conclude_twin(struct pair *p, unsigned w)
{
    struct twin *t = &p->twin[w];
    const uint64_t bytes = p->n * sizeof(float);
    /* what the CPU clamps without an all-reduce is not asked */
    struct gcb_coder *encoder = gcb_exchange_encoder(t->cpu);

    assert_int_equal(gcb_exchange_conclude(t->cpu, t->update, t->own, NULL), 0);
    assert_int_equal(gcb_device_reduce_conclude(t->dev, t->update_dev, t->own_dev, NULL), 0);
    compare(p, t->update, t->update_dev, bytes, "the update", w);
    compare(p, t->own, t->own_dev, bytes, "what arrived", w);
    assert_int_equal(gcb_device_reduce_clamped(t->dev), gcb_coder_clamped(encoder));
    assert_int_equal(gcb_device_reduce_conclude(t->dev, t->update_dev, NULL, NULL), 0);
    compare(p, t->update, t->update_dev, bytes, "the update alone", w);
}

static int run_step(struct pair *p, uint64_t step)
{
    int err = 0;

    for (unsigned w = 0; w < p->workers; w++) {
        const int one = begin_twin(p, w, step);

        err = one ? one : err;
    }
    if (err) { /* the device says so in the first round */
        struct gcb_round round = {.size = sizeof(round)};

        assert_int_equal(gcb_device_reduce_next(p->twin[p->workers - 1].dev, &round, NULL), err);
        return err;
    }
    assert_int_equal(run_rounds(p, step), 0);
    for (unsigned w = 0; w < p->workers; w++)
        conclude_twin(p, w);
    return 0;
}

int device_same_reduce(const struct gcb_device *device, const char *spec, uint64_t n,
                       const struct reduce_options *o)
{
    const struct gcb_device_batch_config room = {.messages = 1};
    struct pair p = {.device = device,
                     .spec = spec,
                     .o = o,
                     .workers = o->workers ? o->workers : 2,
                     .n = n,
                     .bytes = n * sizeof(float)};
    struct gcb_method method;
    int err = 0;

    assert_true(p.workers <= REDUCE_MOST);
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_device_batch_create(&p.batch, device, &room, NULL), 0);
    p.combined = new_array(p.bytes);
    p.copy = new_array(p.bytes);
    p.combined_dev = new_on_device(&p, p.bytes);
    for (unsigned w = 0; w < p.workers; w++)
        open_twin(&p, w, &method);
    for (uint64_t step = 5; step < 7 && !err; step++)
        err = run_step(&p, step);
    close_pair(&p);
    return err;
}
