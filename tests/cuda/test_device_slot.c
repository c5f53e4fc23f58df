/* Slots (gcb_device_encoder_open): their payloads, sums and residuals equal the CPU's, and calls
 * only queue work. */
#include <inttypes.h>
#include <math.h>

#include "src/gcbench.h"
#include "src/lib/coder/slot.h"
#include "tests/cuda/device_test.h"
#include "tests/support/trip.h"

#define WORKERS 3
#define STEPS 3
#define HEAD 256

/* A worker on the device and on the CPU. */
struct worker {
    struct gcb_device_stream *stream;
    struct gcb_encoder *cpu;
    float *x, *x_dev, *residual_dev, *residual;
    void *scratch_dev;
    uint8_t *message;
    size_t length;
};

/* All workers of a method. */
struct party {
    struct gcb_device_encoder *e;
    struct gcb_sum *sum;
    uint64_t n;
    size_t slot;
    uint8_t *slots_dev;
    float *out_dev, *out, *want;
    struct worker worker[WORKERS];
};

/* A stream of the module begins with its cudaStream_t. */
static void *handle_of(struct gcb_device_stream *s)
{
    void *handle;

    memcpy(&handle, s, sizeof(handle));
    return handle;
}

/* Device memory whose alignment is 16 bytes and no more. Free it with free_there. */
static void *alloc_there(uint64_t bytes)
{
    void *dev = NULL;

    assert_int_equal(device.module->memory.alloc(&dev, bytes + 16, NULL), 0);
    return (uint8_t *)dev + 16;
}

static void free_there(void *dev)
{
    device.module->memory.free(dev ? (uint8_t *)dev - 16 : NULL);
}

static void *alloc_here(size_t bytes)
{
    void *p = malloc(bytes + 1);

    assert_non_null(p);
    return p;
}

static struct gcb_device_encoder *open_slots(const char *spec, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .seed = 1, .path = ""}};
    struct gcb_device_encoder *e = NULL;
    struct gcb_diag diag = {0};
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    if (gcb_slots_create(&e, &device, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    return e;
}

/* Copies to or from host memory, and waits. */
static void copy(struct gcb_device_stream *s, void *to, const void *from, uint64_t bytes,
                 enum gcb_device_copy how)
{
    void *pinned;

    assert_int_equal(device.module->memory.alloc_pinned(&pinned, bytes, NULL), 0);
    if (how == GCB_COPY_IN)
        memcpy(pinned, from, bytes);
    assert_int_equal(device.module->stream.copy(s, how == GCB_COPY_IN ? to : pinned,
                                                how == GCB_COPY_IN ? pinned : from, bytes, how),
                     0);
    assert_int_equal(device.module->stream.wait(s, NULL), 0);
    if (how == GCB_COPY_OUT)
        memcpy(to, pinned, bytes);
    device.module->memory.free_pinned(pinned);
}

static void open_party(struct party *p, const char *spec, uint64_t n)
{
    const uint64_t bytes = n * sizeof(float);
    const bool feedback = strstr(spec, "memory=ef") != NULL;

    *p = (struct party){.n = n, .e = open_slots(spec, n)};
    p->slot = gcb_device_slot_bytes(p->e);
    p->slots_dev = alloc_there(WORKERS * p->slot);
    p->out_dev = alloc_there(bytes);
    p->out = alloc_here(bytes);
    p->want = alloc_here(bytes);
    assert_int_equal(gcb_sum_open(&p->sum, spec, n, NULL, NULL, NULL), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &p->worker[i];

        assert_int_equal(device.module->stream.create(&w->stream, NULL), 0);
        assert_int_equal(gcb_encoder_open(&w->cpu, spec, n, NULL, NULL), 0);
        w->message = alloc_here(gcb_encoder_bound(w->cpu));
        w->residual = alloc_here(bytes);
        w->x_dev = alloc_there(bytes);
        w->residual_dev = feedback ? alloc_there(bytes) : NULL;
        w->scratch_dev = alloc_there(gcb_device_scratch_bytes(p->e, WORKERS));
        if (feedback)
            device.module->stream.zero(w->stream, w->residual_dev, bytes);
        assert_int_equal(device.module->stream.wait(w->stream, NULL), 0);
    }
}

static void close_party(struct party *p)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &p->worker[i];

        device.module->stream.destroy(w->stream);
        gcb_encoder_close(w->cpu);
        free_there(w->x_dev);
        free_there(w->residual_dev);
        free_there(w->scratch_dev);
        free(w->message);
        free(w->residual);
        free(w->x);
    }
    free_there(p->slots_dev);
    free_there(p->out_dev);
    gcb_sum_close(p->sum);
    gcb_device_encoder_close(p->e);
    free(p->out);
    free(p->want);
}

/* Uploads the workers' tensors of a step. */
static void load_step(struct party *p, unsigned step)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &p->worker[i];

        free(w->x);
        w->x = trip_tensor(p->n, TRIP_GAUSS, 1 + step * WORKERS + i);
        copy(w->stream, w->x_dev, w->x, p->n * sizeof(float), GCB_COPY_IN);
    }
}

/* Encodes on the device, each worker on its stream, without waiting. */
static void queue_encoding(struct party *p, unsigned step)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &p->worker[i];

        assert_int_equal(gcb_device_encode(p->e, step, i, w->x_dev, w->residual_dev,
                                           p->slots_dev + i * p->slot, w->scratch_dev,
                                           handle_of(w->stream), NULL),
                         0);
    }
}

static void wait_all(struct party *p)
{
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(device.module->stream.wait(p->worker[i].stream, NULL), 0);
}

static void queue_sum(struct party *p)
{
    assert_int_equal(gcb_device_sum_slots(p->e, p->slots_dev, WORKERS, NULL, p->out_dev,
                                          p->worker[0].scratch_dev, handle_of(p->worker[0].stream),
                                          NULL),
                     0);
}

static void compare_slot(struct party *p, unsigned i, const char *spec)
{
    const struct worker *w = &p->worker[i];
    struct gcb_message_info info = {.size = sizeof(info)};
    uint8_t *slot = alloc_here(p->slot);
    struct gcb_slot_head head;

    copy(w->stream, slot, p->slots_dev + i * p->slot, p->slot, GCB_COPY_OUT);
    memcpy(&head, slot, sizeof(head));
    assert_int_equal(gcb_message_info(&info, w->message, w->length, NULL), 0);
    if (head.status || head.payload_bytes != info.payload_bytes ||
        memcmp(slot + HEAD, w->message + info.header_bytes, info.payload_bytes) != 0)
        fail_msg("%s: another slot for %" PRIu64 " elements, worker %u", spec, p->n, i);
    free(slot);
}

static void compare_residual(struct party *p, unsigned i, const char *spec)
{
    const struct worker *w = &p->worker[i];
    struct gcb_memory_state kept = {.size = sizeof(kept), .residual = w->residual};

    if (!w->residual_dev)
        return;
    assert_int_equal(gcb_encoder_save(w->cpu, &kept, NULL), 0);
    copy(w->stream, p->out, w->residual_dev, p->n * sizeof(float), GCB_COPY_OUT);
    if (memcmp(p->out, w->residual, p->n * sizeof(float)) != 0)
        fail_msg("%s: another residual for %" PRIu64 " elements, worker %u", spec, p->n, i);
}

/* A step on the CPU, and the comparison. */
static void compare_step(struct party *p, unsigned step, const char *spec)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        struct worker *w = &p->worker[i];

        assert_int_equal(gcb_encode(w->cpu, step, i, w->x, w->message, gcb_encoder_bound(w->cpu),
                                    &w->length, NULL),
                         0);
        assert_int_equal(gcb_sum_add(p->sum, w->message, w->length, 1.0f / WORKERS, NULL), 0);
        compare_slot(p, i, spec);
        compare_residual(p, i, spec);
    }
    assert_int_equal(gcb_sum_finish(p->sum, p->want, NULL), 0);
    copy(p->worker[0].stream, p->out, p->out_dev, p->n * sizeof(float), GCB_COPY_OUT);
    if (memcmp(p->out, p->want, p->n * sizeof(float)) != 0)
        fail_msg("%s: another sum of %" PRIu64 " elements", spec, p->n);
}

static void same_slots(const char *spec, uint64_t n)
{
    struct party p;

    open_party(&p, spec, n);
    for (unsigned step = 0; step < STEPS; step++) {
        load_step(&p, step);
        queue_encoding(&p, step);
        wait_all(&p);
        queue_sum(&p);
        wait_all(&p);
        compare_step(&p, step, spec);
    }
    close_party(&p);
}

static const char *const specs[] = {
    "identity",
    "fp16",
    "fp16:memory=ef",
    "bf16",
    "range",
    "range:memory=ef,decay=0.5",
    "qsgd",
    "qsgd:memory=ef",
    "terngrad",
    "natural",
    "natural:memory=ef",
    "randomk",
    "topk",
    "topk:memory=ef",
    "topk:theta=0.5,index=bitmap,memory=ef",
    "sparse:select=chunk,chunk=64,index=u32,memory=ef",
};

static void as_on_the_cpu(void **state)
{
    static const uint64_t sizes[] = {1, 33, 4096, 9001};

    gcb_host_schedule(GCB_HOST_SHUFFLED, 3);
    for (size_t i = 0; i < COUNT(specs); i++)
        for (size_t k = 0; k < COUNT(sizes); k++)
            same_slots(specs[i], sizes[k]);
}

/* Calls neither wait nor allocate, and nothing runs before somebody waits. */
static void calls_only_queue(void **state)
{
    struct gcb_host_counts before, after;
    struct party p;

    for (size_t i = 0; i < COUNT(specs); i++) {
        open_party(&p, specs[i], 5000);
        load_step(&p, 0);
        gcb_host_count(&before);
        queue_encoding(&p, 0);
        queue_sum(&p);
        gcb_host_count(&after);
        assert_int_equal(after.waits, before.waits);
        assert_int_equal(after.allocations, before.allocations);
        wait_all(&p);
        close_party(&p);
    }
}

/* Worker 1 has a NaN or an infinity: the sum is NaN, its residual stays, and the next step is as if
 * the worker had not taken part. */
static void a_tensor_that_is_not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const char *spec = "topk:theta=0.9,memory=ef";
    const uint64_t n = 5000, bytes = n * sizeof(float);

    for (size_t k = 0; k < COUNT(bad); k++) {
        struct gcb_slot_head head;
        struct party p;
        float *before;

        open_party(&p, spec, n);
        load_step(&p, 0);
        queue_encoding(&p, 0);
        wait_all(&p);
        before = alloc_here(bytes);
        copy(p.worker[1].stream, before, p.worker[1].residual_dev, bytes, GCB_COPY_OUT);
        load_step(&p, 1);
        p.worker[1].x[4321] = bad[k];
        copy(p.worker[1].stream, p.worker[1].x_dev, p.worker[1].x, bytes, GCB_COPY_IN);
        queue_encoding(&p, 1);
        wait_all(&p);
        queue_sum(&p);
        wait_all(&p);
        copy(p.worker[0].stream, p.out, p.out_dev, bytes, GCB_COPY_OUT);
        for (uint64_t i = 0; i < n; i++)
            assert_true(isnan(p.out[i]));
        copy(p.worker[1].stream, &head, p.slots_dev + p.slot, sizeof(head), GCB_COPY_OUT);
        assert_int_equal(head.status, GCB_E_NONFINITE);
        copy(p.worker[1].stream, p.out, p.worker[1].residual_dev, bytes, GCB_COPY_OUT);
        assert_memory_equal(p.out, before, bytes);
        free(before);
        close_party(&p);
    }
}

/* Slots are bytes from the network. */
static void damaged_slots(void **state)
{
    static const char *const fragile[] = {"topk", "range", "terngrad", "qsgd",
                                          "topk:theta=0.5,index=bitmap"};
    unsigned refused = 0;

    for (size_t i = 0; i < COUNT(fragile); i++) {
        struct party p;
        uint8_t *slot;

        open_party(&p, fragile[i], 3000);
        slot = alloc_here(p.slot);
        memset(slot, 0, HEAD);
        memset(slot + HEAD, 0xff, p.slot - HEAD);
        for (unsigned w = 0; w < WORKERS; w++)
            copy(p.worker[0].stream, p.slots_dev + w * p.slot, slot, p.slot, GCB_COPY_IN);
        queue_sum(&p);
        wait_all(&p);
        copy(p.worker[0].stream, p.out, p.out_dev, 3000 * sizeof(float), GCB_COPY_OUT);
        refused += isnan(p.out[0]) && isnan(p.out[2999]);
        assert_string_equal(gcb_host_fault(), "");
        free(slot);
        close_party(&p);
    }
    assert_true(refused >= 2);
}

static void refuses(void **state)
{
    static const char *const without[] = {"fft",
                                          "demo",
                                          "sbc",
                                          "topk:index=golomb",
                                          "qsgd:coding=elias",
                                          "sparse:transform=dct",
                                          "dgc",
                                          "redsync",
                                          "topk:memory=dgc",
                                          "signsgd"};
    struct gcb_device_encoder *e;
    struct party p;

    for (size_t i = 0; i < COUNT(without); i++) {
        const struct gcb_coder_config config = {.env = {.count = 5000, .seed = 1, .path = ""}};
        struct gcb_method method;

        e = NULL;
        assert_int_equal(gcb_method_parse(&method, without[i], NULL), 0);
        if (gcb_slots_create(&e, &device, &method, &config, NULL) != GCB_E_UNSUPPORTED)
            fail_msg("%s has slots", without[i]);
        assert_null(e);
    }
    open_party(&p, "topk:memory=ef", 100);
    assert_int_equal(gcb_device_encode(p.e, 0, 0, p.worker[0].x_dev, NULL, p.slots_dev,
                                       p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_encode(p.e, 0, 0, p.worker[0].x_dev + 1, p.worker[0].residual_dev,
                                       p.slots_dev, p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_sum_slots(p.e, p.slots_dev, 0, NULL, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    assert_int_equal(gcb_device_sum_slots(NULL, p.slots_dev, 1, NULL, p.out_dev,
                                          p.worker[0].scratch_dev, NULL, NULL),
                     GCB_E_INVALID);
    close_party(&p);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(as_on_the_cpu),
                  cmocka_unit_test(calls_only_queue), cmocka_unit_test(a_tensor_that_is_not_finite),
                  cmocka_unit_test(damaged_slots), cmocka_unit_test(refuses),
                  cmocka_unit_test(nothing_is_left))
