#include "tests/support/device_slot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/coder/slot.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define STEPS 3

const char *const device_slots[] = {
    "identity",
    "fp16",
    "fp16:memory=ef",
    "bf16",
    "bf16:rounding=stochastic,memory=ef",
    "range",
    "range:memory=ef,decay=0.5",
    "qsgd",
    "qsgd:memory=ef",
    "terngrad",
    "terngrad:memory=ef,clip=0",
    "natural",
    "natural:memory=ef",
    "nvfp4:memory=ef",
    "mxfp8:rounding=stochastic",
    "int8:memory=ef",
    "blockwise8:memory=ef",
    "uniform8:memory=ef",
    "randomk",
    "randomk:memory=ef",
    "topk",
    "topk:memory=ef",
    "topk:theta=0.5,index=bitmap,memory=ef",
    "sparse:select=chunk,chunk=64,index=u32,memory=ef",
    NULL,
};

/* A stream of the module begins with its cudaStream_t. */
static void *handle_of(struct gcb_device_stream *s)
{
    void *handle;

    memcpy(&handle, s, sizeof(handle));
    return handle;
}

/* Device memory whose alignment is 16 bytes and no more. Free it with free_there. */
static void *alloc_there(const struct slot_party *p, uint64_t bytes)
{
    void *dev = NULL;

    assert_int_equal(p->device->module->memory.alloc(&dev, bytes + 16, NULL), 0);
    return (uint8_t *)dev + 16;
}

static void free_there(const struct slot_party *p, void *dev)
{
    p->device->module->memory.free(dev ? (uint8_t *)dev - 16 : NULL);
}

static void *alloc_here(size_t bytes)
{
    void *p = malloc(bytes + 1);

    assert_non_null(p);
    return p;
}

static struct gcb_device_encoder *open_slots(const struct gcb_device *device, const char *spec,
                                             uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .seed = 1, .path = ""}};
    struct gcb_device_encoder *e = NULL;
    struct gcb_diag diag = {0};
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    if (gcb_slots_create(&e, device, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    return e;
}

void slot_party_copy(const struct slot_party *p, unsigned worker, void *to, const void *from,
                     uint64_t bytes, enum gcb_device_copy how)
{
    struct gcb_device_stream *const s = p->worker[worker].stream;
    void *pinned;

    assert_int_equal(p->device->module->memory.alloc_pinned(&pinned, bytes, NULL), 0);
    if (how == GCB_COPY_IN)
        memcpy(pinned, from, bytes);
    assert_int_equal(p->device->module->stream.copy(s, how == GCB_COPY_IN ? to : pinned,
                                                    how == GCB_COPY_IN ? pinned : from, bytes, how),
                     0);
    assert_int_equal(p->device->module->stream.wait(s, NULL), 0);
    if (how == GCB_COPY_OUT)
        memcpy(to, pinned, bytes);
    p->device->module->memory.free_pinned(pinned);
}

void slot_party_open(struct slot_party *p, const struct gcb_device *device, const char *spec,
                     uint64_t n)
{
    const uint64_t bytes = n * sizeof(float);
    const bool feedback = strstr(spec, "memory=ef") != NULL;

    *p = (struct slot_party){.n = n, .device = device, .e = open_slots(device, spec, n)};
    p->slot = gcb_device_slot_bytes(p->e);
    p->slots_dev = alloc_there(p, SLOT_WORKERS * p->slot);
    p->out_dev = alloc_there(p, bytes);
    p->out = alloc_here(bytes);
    p->want = alloc_here(bytes);
    assert_int_equal(gcb_sum_open(&p->sum, spec, n, NULL, NULL, NULL), 0);
    for (unsigned i = 0; i < SLOT_WORKERS; i++) {
        struct slot_worker *w = &p->worker[i];

        assert_int_equal(p->device->module->stream.create(&w->stream, NULL), 0);
        assert_int_equal(gcb_encoder_open(&w->cpu, spec, n, NULL, NULL), 0);
        w->message = alloc_here(gcb_encoder_bound(w->cpu));
        w->residual = alloc_here(bytes);
        w->x_dev = alloc_there(p, bytes);
        w->residual_dev = feedback ? alloc_there(p, bytes) : NULL;
        w->scratch_dev = alloc_there(p, gcb_device_scratch_bytes(p->e, SLOT_WORKERS));
        if (feedback)
            p->device->module->stream.zero(w->stream, w->residual_dev, bytes);
        assert_int_equal(p->device->module->stream.wait(w->stream, NULL), 0);
    }
}

void slot_party_close(struct slot_party *p)
{
    for (unsigned i = 0; i < SLOT_WORKERS; i++) {
        struct slot_worker *w = &p->worker[i];

        p->device->module->stream.destroy(w->stream);
        gcb_encoder_close(w->cpu);
        free_there(p, w->x_dev);
        free_there(p, w->residual_dev);
        free_there(p, w->scratch_dev);
        free(w->message);
        free(w->residual);
        free(w->x);
    }
    free_there(p, p->slots_dev);
    free_there(p, p->out_dev);
    gcb_sum_close(p->sum);
    gcb_device_encoder_close(p->e);
    free(p->out);
    free(p->want);
}

void slot_party_load(struct slot_party *p, unsigned step)
{
    for (unsigned i = 0; i < SLOT_WORKERS; i++) {
        struct slot_worker *w = &p->worker[i];

        free(w->x);
        w->x = trip_tensor(p->n, TRIP_GAUSS, 1 + step * SLOT_WORKERS + i);
        slot_party_copy(p, i, w->x_dev, w->x, p->n * sizeof(float), GCB_COPY_IN);
    }
}

void slot_party_encode(struct slot_party *p, unsigned step)
{
    for (unsigned i = 0; i < SLOT_WORKERS; i++) {
        struct slot_worker *w = &p->worker[i];

        assert_int_equal(gcb_device_encode(p->e, step, i, w->x_dev, w->residual_dev,
                                           p->slots_dev + i * p->slot, w->scratch_dev,
                                           handle_of(w->stream), NULL),
                         0);
    }
}

void slot_party_wait(struct slot_party *p)
{
    for (unsigned i = 0; i < SLOT_WORKERS; i++)
        assert_int_equal(p->device->module->stream.wait(p->worker[i].stream, NULL), 0);
}

void slot_party_sum(struct slot_party *p)
{
    assert_int_equal(gcb_device_sum_slots(p->e, p->slots_dev, SLOT_WORKERS, NULL, p->out_dev,
                                          p->worker[0].scratch_dev, handle_of(p->worker[0].stream),
                                          NULL),
                     0);
}

static void compare_slot(struct slot_party *p, unsigned i, const char *spec)
{
    const struct slot_worker *w = &p->worker[i];
    struct gcb_message_info info = {.size = sizeof(info)};
    uint8_t *slot = alloc_here(p->slot);
    struct gcb_slot_head head;

    slot_party_copy(p, i, slot, p->slots_dev + i * p->slot, p->slot, GCB_COPY_OUT);
    memcpy(&head, slot, sizeof(head));
    assert_int_equal(gcb_message_info(&info, w->message, w->length, NULL), 0);
    if (head.status || head.payload_bytes != info.payload_bytes ||
        memcmp(slot + SLOT_HEAD, w->message + info.header_bytes, info.payload_bytes) != 0)
        fail_msg("%s: another slot for %" PRIu64 " elements, worker %u", spec, p->n, i);
    for (size_t at = SLOT_HEAD + info.payload_bytes; at < p->slot; at++)
        assert_int_equal(slot[at], 0);
    free(slot);
}

static void compare_residual(struct slot_party *p, unsigned i, const char *spec)
{
    const struct slot_worker *w = &p->worker[i];
    struct gcb_memory_state kept = {.size = sizeof(kept), .residual = w->residual};

    if (!w->residual_dev)
        return;
    assert_int_equal(gcb_encoder_save(w->cpu, &kept, NULL), 0);
    slot_party_copy(p, i, p->out, w->residual_dev, p->n * sizeof(float), GCB_COPY_OUT);
    if (memcmp(p->out, w->residual, p->n * sizeof(float)) != 0)
        fail_msg("%s: another residual for %" PRIu64 " elements, worker %u", spec, p->n, i);
}

/* A step on the CPU, and the comparison. */
static void compare_step(struct slot_party *p, unsigned step, const char *spec)
{
    for (unsigned i = 0; i < SLOT_WORKERS; i++) {
        struct slot_worker *w = &p->worker[i];

        assert_int_equal(gcb_encode(w->cpu, step, i, w->x, w->message, gcb_encoder_bound(w->cpu),
                                    &w->length, NULL),
                         0);
        assert_int_equal(gcb_sum_add(p->sum, w->message, w->length, 1.0f / SLOT_WORKERS, NULL), 0);
        compare_slot(p, i, spec);
        compare_residual(p, i, spec);
    }
    assert_int_equal(gcb_sum_finish(p->sum, p->want, NULL), 0);
    slot_party_copy(p, 0, p->out, p->out_dev, p->n * sizeof(float), GCB_COPY_OUT);
    if (memcmp(p->out, p->want, p->n * sizeof(float)) != 0)
        fail_msg("%s: another sum of %" PRIu64 " elements", spec, p->n);
}

void device_same_slots(const struct gcb_device *device, const char *spec, uint64_t n)
{
    struct slot_party p;

    slot_party_open(&p, device, spec, n);
    for (unsigned step = 0; step < STEPS; step++) {
        slot_party_load(&p, step);
        slot_party_encode(&p, step);
        slot_party_wait(&p);
        slot_party_sum(&p);
        slot_party_wait(&p);
        compare_step(&p, step, spec);
    }
    slot_party_close(&p);
}
