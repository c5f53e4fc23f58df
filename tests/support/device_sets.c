#include <stdlib.h>
#include <string.h>

#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_sets.h"
#include "tests/support/test.h"

static void *take(const struct gcb_device *device, uint64_t bytes)
{
    void *p;

    assert_int_equal(device->module->memory.alloc(&p, bytes, NULL), 0);
    return p;
}

struct gcb_coder_config device_set_config(const struct device_set *s,
                                          const struct device_plan *plan, size_t i)
{
    return (struct gcb_coder_config){
        .env = {.count = s->n[i], .seed = 5, .path = "w", .feedback = plan->feedback},
        .nonfinite = plan->nonfinite,
        .checksum = true};
}

static void open_coder(struct device_set *s, const struct device_plan *plan, size_t i)
{
    const struct gcb_coder_config config = device_set_config(s, plan, i);
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, plan->specs[i % plan->spec_count], NULL), 0);
    assert_int_equal(device_coder_create(&s->coder[i], s->device, &method, &config, NULL), 0);
}

static void open_batch(struct device_set *s, const struct device_plan *plan)
{
    struct gcb_device_batch_config config = {.messages = (unsigned)s->count, .staging = 1 << 20};

    config.scratch = plan->scratch ? plan->scratch : gcb_device_group_scratch(s->coder, s->count);
    assert_int_equal(gcb_device_batch_create(&s->batch, s->device, &config, NULL), 0);
    for (size_t i = 0; i < s->count; i++) {
        s->m[i].batch = s->batch;
        /* results are not in the order of tensors, so that a wrong index is found */
        s->m[i].i = (unsigned)(s->count - 1 - i);
    }
}

static uint64_t payload_room(const struct device_set *s, size_t i)
{
    return (gcb_coder_max_payload(s->coder[i]) + 255) / 256 * 256;
}

static void place_payloads(struct device_set *s, bool packed)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < s->count; i++)
        bytes += payload_room(s, i);
    s->payloads = packed ? take(s->device, bytes) : NULL;
    bytes = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->m[i].payload_dev =
            packed ? s->payloads + bytes : take(s->device, gcb_coder_max_payload(s->coder[i]));
        bytes += payload_room(s, i);
    }
}

void device_set_open(struct device_set *s, const struct device_plan *plan)
{
    memset(s, 0, sizeof(*s));
    s->device = plan->device;
    s->count = plan->count;
    memcpy(s->n, plan->sizes, plan->count * sizeof(*s->n));
    for (size_t i = 0; i < s->count; i++)
        open_coder(s, plan, i);
    open_batch(s, plan);
    for (size_t i = 0; i < s->count; i++)
        s->all += (s->n[i] + 63) / 64 * 64;
    s->tensors = take(s->device, s->all * sizeof(float));
    s->residuals = plan->feedback ? take(s->device, s->all * sizeof(float)) : NULL;
    for (size_t i = 0, from = 0; i < s->count; i++) {
        s->m[i].in_dev = s->tensors + from;
        s->m[i].residual_dev = plan->feedback ? s->residuals + from : NULL;
        s->m[i].carry = 0.5f;
        from += (s->n[i] + 63) / 64 * 64;
    }
    place_payloads(s, plan->packed);
}

void device_set_close(struct device_set *s)
{
    gcb_device_batch_destroy(s->batch);
    for (size_t i = 0; i < s->count; i++) {
        gcb_coder_destroy(s->coder[i]);
        if (!s->payloads)
            s->device->module->memory.free(s->m[i].payload_dev);
    }
    s->device->module->memory.free(s->payloads);
    s->device->module->memory.free(s->tensors);
    s->device->module->memory.free(s->residuals);
}

void device_set_tensor(float *x, uint64_t n, size_t i)
{
    check_fill(x, n, (enum check_fill)(i % FILL_COUNT), i);
}

/* Fills in hostile tensors of each kind in turn, and residuals; sets of the same sizes get the
 * same. */
static void fill(struct device_set *s, float *to_dev, bool hostile)
{
    float *x = calloc(s->all + 1, sizeof(float));

    for (size_t i = 0, from = 0; i < s->count; i++) {
        if (hostile)
            device_set_tensor(x + from, s->n[i], i);
        else
            check_fill(x + from, s->n[i], FILL_NOISE, i + 50);
        from += (s->n[i] + 63) / 64 * 64;
    }
    assert_int_equal(gcb_device_batch_upload(s->batch, to_dev, x, s->all * sizeof(float), NULL), 0);
    free(x);
}

void device_set_upload(struct device_set *s)
{
    fill(s, s->tensors, true);
    if (s->residuals)
        fill(s, s->residuals, false);
}

const struct gcb_step device_set_step = {.step = 3, .worker = 2};

unsigned device_set_queue(struct device_set *s, const struct device_plan *plan)
{
    const struct gcb_device_stream *stream = gcb_device_batch_stream(s->batch);
    const uint64_t launched = s->device->module->stream.launches(stream);
    struct gcb_host_counts before, after;

    assert_int_equal(gcb_device_batch_begin(s->batch), 0);
    gcb_host_count(&before);
    if (plan->alone)
        for (size_t i = 0; i < s->count; i++)
            assert_int_equal(
                gcb_device_coder_encode_async(s->coder[i], &device_set_step, &s->m[i], NULL), 0);
    else
        assert_int_equal(
            gcb_device_group_encode_async(s->coder, &device_set_step, s->m, s->count, NULL), 0);
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    return (unsigned)(s->device->module->stream.launches(stream) - launched);
}

unsigned device_set_encode(struct device_set *s, const struct device_plan *plan)
{
    const unsigned launches = device_set_queue(s, plan);
    struct gcb_diag diag = {0};

    if (gcb_device_batch_finish(s->batch, &diag))
        fail_msg("%s", diag.text);
    for (size_t i = 0; i < s->count; i++)
        assert_int_equal(gcb_device_coder_encode_finish(s->coder[i], &s->m[i], &s->frame[i], NULL),
                         0);
    assert_int_equal(s->device->module->stream.wait(gcb_device_batch_stream(s->batch), NULL), 0);
    return launches;
}

void device_set_same_bytes(struct device_set *a, struct device_set *b, const void *p, const void *q,
                           uint64_t bytes)
{
    uint8_t *mine = malloc(bytes + 1), *other = malloc(bytes + 1);

    assert_int_equal(gcb_device_batch_download(a->batch, mine, p, bytes, NULL), 0);
    assert_int_equal(gcb_device_batch_download(b->batch, other, q, bytes, NULL), 0);
    assert_memory_equal(mine, other, bytes);
    free(mine);
    free(other);
}

/* Checks that both sets have the same frames, payloads, tensors and residuals. */
static void check_sets(struct device_set *a, struct device_set *b)
{
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->frame[i].flags, b->frame[i].flags);
        assert_int_equal(a->frame[i].payload_bytes, b->frame[i].payload_bytes);
        assert_int_equal(gcb_coder_clamped(a->coder[i]), gcb_coder_clamped(b->coder[i]));
        device_set_same_bytes(a, b, a->m[i].payload_dev, b->m[i].payload_dev,
                              a->frame[i].payload_bytes);
    }
    device_set_same_bytes(a, b, a->tensors, b->tensors, a->all * sizeof(float));
    if (a->residuals)
        device_set_same_bytes(a, b, a->residuals, b->residuals, a->all * sizeof(float));
}

unsigned device_set_as_alone(const struct device_plan *plan)
{
    struct device_plan single = *plan;
    struct device_set together, alone;
    unsigned launches;

    single.alone = true;
    device_set_open(&together, plan);
    device_set_open(&alone, &single);
    device_set_upload(&together);
    device_set_upload(&alone);
    launches = device_set_encode(&together, plan);
    device_set_encode(&alone, &single);
    check_sets(&together, &alone);
    device_set_close(&together);
    device_set_close(&alone);
    return launches;
}

void device_set_open_decoders(struct device_set *s)
{
    const struct gcb_coder_config config = {.max_elements = 1 << 24};

    for (size_t i = 0; i < s->count; i++) {
        struct gcb_wbuf w = {.cap = gcb_coder_bound(s->coder[i])};

        w.data = malloc(w.cap);
        assert_int_equal(gcb_device_coder_fetch(s->coder[i], &s->m[i], &s->frame[i], &w, NULL), 0);
        gcb_coder_destroy(s->coder[i]);
        s->coder[i] = NULL;
        assert_int_equal(
            device_coder_create_decoder(&s->coder[i], s->device, w.data, w.len, &config, NULL), 0);
        free(w.data);
    }
    gcb_device_batch_destroy(s->batch);
    open_batch(s, &(struct device_plan){0});
}

unsigned device_set_decode(struct device_set *s, bool alone, int *status)
{
    struct gcb_device_stream *stream = gcb_device_batch_stream(s->batch);
    const uint64_t launched = s->device->module->stream.launches(stream),
                   bytes = s->all * sizeof(float);
    struct gcb_device_received r[DEVICE_SET_MOST];
    uint8_t *nan = malloc(bytes + 1);
    unsigned launches;

    memset(nan, 0xff, bytes);
    assert_int_equal(gcb_device_batch_upload(s->batch, s->tensors, nan, bytes, NULL), 0);
    free(nan);
    for (size_t i = 0; i < s->count; i++)
        r[i] = (struct gcb_device_received){
            .frame = &s->frame[i], .payload_dev = s->m[i].payload_dev, .out_dev = s->m[i].in_dev};
    assert_int_equal(gcb_device_batch_begin(s->batch), 0);
    for (size_t i = 0; alone && i < s->count; i++)
        assert_int_equal(gcb_device_coder_decode_async(s->coder[i], r[i].frame, r[i].payload_dev,
                                                       r[i].out_dev, &s->m[i], NULL),
                         0);
    if (!alone)
        assert_int_equal(gcb_device_group_decode_async(s->coder, r, s->m, s->count, NULL), 0);
    launches = (unsigned)(s->device->module->stream.launches(stream) - launched);
    assert_int_equal(gcb_device_batch_finish(s->batch, NULL), 0);
    for (size_t i = 0; i < s->count; i++)
        status[i] = gcb_device_coder_decode_finish(s->coder[i], &s->m[i], NULL);
    return launches;
}
