/* Counts the launches of methods on the stand-in. */
#include <stdio.h>

#include "src/tool/read/layout.h"
#include "src/tool/read/synthetic.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

/* Number of kernels for one message. */
struct counted {
    unsigned encode, decode;
};

/* A coder, and device memory for a tensor and its payload. */
struct bench {
    struct gcb_coder *coder;
    struct gcb_device_batch *batch;
    struct gcb_device_message m;
    void *tensor, *payload;
};

static void take(struct bench *b, uint64_t n)
{
    const struct gcb_device_batch_config config = {.scratch = gcb_device_coder_scratch(b->coder)};
    const struct gcb_device_module *module = device.module;

    assert_int_equal(gcb_device_batch_create(&b->batch, &device, &config, NULL), 0);
    if (!b->tensor)
        assert_int_equal(module->memory.alloc(&b->tensor, n * sizeof(float), NULL), 0);
    if (!b->payload)
        assert_int_equal(module->memory.alloc(&b->payload, gcb_coder_max_payload(b->coder), NULL),
                         0);
    b->m = (struct gcb_device_message){
        .batch = b->batch, .in_dev = b->tensor, .payload_dev = b->payload};
}

static void give(struct bench *b)
{
    gcb_device_batch_destroy(b->batch);
    gcb_coder_destroy(b->coder);
}

/* Launches on the batch's new stream after all work has been queued. */
static unsigned launched(const struct bench *b)
{
    return (unsigned)device.module->stream.launches(gcb_device_batch_stream(b->batch));
}

static unsigned count_encode(struct bench *b, const float *x, uint64_t n, struct gcb_wbuf *message)
{
    const struct gcb_step at = {.step = 1};
    struct gcb_frame frame;
    struct gcb_diag diag = {0};
    unsigned launches;

    take(b, n);
    assert_int_equal(gcb_device_batch_upload(b->batch, b->tensor, x, n * sizeof(float), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(b->batch), 0);
    assert_int_equal(gcb_device_coder_encode_async(b->coder, &at, &b->m, NULL), 0);
    launches = launched(b);
    if (gcb_device_batch_finish(b->batch, &diag))
        fail_msg("%s", diag.text);
    assert_int_equal(gcb_device_coder_encode_finish(b->coder, &b->m, &frame, NULL), 0);
    assert_int_equal(frame.flags & GCB_WIRE_STORED,
                     0); /* otherwise another codec would be counted */
    message->cap = gcb_coder_bound(b->coder);
    message->data = malloc(message->cap);
    assert_int_equal(gcb_device_coder_fetch(b->coder, &b->m, &frame, message, NULL), 0);
    return launches;
}

static unsigned count_decode(struct bench *b, uint64_t n, const struct gcb_wbuf *message)
{
    const struct gcb_coder_config config = {.max_elements = n};
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    unsigned launches;

    assert_int_equal(
        device_coder_create_decoder(&b->coder, &device, message->data, message->len, &config, NULL),
        0);
    take(b, n);
    assert_int_equal(gcb_frame_parse(&frame, &payload, message->data, message->len, NULL), 0);
    assert_int_equal(gcb_device_batch_begin(b->batch), 0);
    assert_int_equal(
        gcb_device_coder_decode_async(b->coder, &frame, b->payload, b->tensor, &b->m, NULL), 0);
    launches = launched(b);
    assert_int_equal(gcb_device_batch_finish(b->batch, NULL), 0);
    assert_int_equal(gcb_device_coder_decode_finish(b->coder, &b->m, NULL), 0);
    return launches;
}

/* For a tensor that is known to be finite, so that there is no check for infinities. */
static struct counted launches_of(const char *spec, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .path = "w"},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    float *x = malloc(n * sizeof(float));
    struct gcb_wbuf message = {0};
    struct gcb_method method;
    struct counted counted;
    struct bench b = {0};
    struct gcb_diag diag = {0};

    check_fill(x, n, FILL_NOISE, 1);
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    if (device_coder_create(&b.coder, &device, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    counted.encode = count_encode(&b, x, n, &message);
    give(&b);
    counted.decode = count_decode(&b, n, &message);
    give(&b);
    device.module->memory.free(b.tensor);
    device.module->memory.free(b.payload);
    free(message.data);
    free(x);
    return counted;
}

/* ---- launches of each method ---- */

enum {
    SMALL = 1000,
    SAMPLED = 70000,
    WHOLE = 1 << 16, /* some selectors sample only from 2^16 positions on */
    REST = 70032,    /* a last chunk that needs no zeros */
};

static const struct {
    const char *spec;
    uint64_t n;
    unsigned encode, decode;
} known[] = {
    {"identity", SMALL, 1, 1},
    {"range:max=1,mantissa=3", SMALL, 1, 1},
    {"range", SMALL, 3, 1},
    {"qsgd", SMALL, 1, 1},
    {"qsgd:bucket=100", 4097, 3, 1},
    {"qsgd:bucket=100", 4096, 1, 1},
    {"qsgd:coding=elias", SMALL, 4, 3},
    {"qsgd:coding=elias-sparse,bucket=100", SAMPLED, 6, 3},
    {"terngrad", SMALL, 3, 1},
    {"terngrad:clip=0,packing=base3", SMALL, 3, 1},
    {"randomk", SMALL, 1, 2},
    {"topk", SAMPLED, 12, 3},
    {"topk", WHOLE - 1, 9, 3},
    {"topk", WHOLE, 12, 3},
    {"dgc", SAMPLED, 15, 3},
    {"sparse:select=sampled", SMALL, 15, 3},
    {"sparse:select=threshold,threshold=10", SMALL, 4, 3},
    {"sparse:select=one-sided", SAMPLED, 18, 3},
    {"sparse:select=one-sided", SMALL, 15, 3},
    {"sparse:select=alternate", SAMPLED, 14, 3},
    {"sparse:select=alternate", SMALL, 11, 3},
    {"sparse:select=search", SAMPLED, 18, 3},
    {"sparse:select=search", SMALL, 14, 3},
    {"redsync", SAMPLED, 12, 3},
    {"sparse:select=chunk,chunk=4096", SAMPLED, 3, 3},
    {"demo", WHOLE, 3, 3},
    {"demo", REST, 6, 5},
    {"sparse:transform=hadamard,chunk=64", SMALL, 13, 4},
    {"sparse:transform=hadamard,chunk=65536", WHOLE, 17, 5},
    {"sparse:transform=dct,chunk=64", WHOLE, 16, 3},
    {"sparse:transform=dct,chunk=64", REST, 17, 5},
    {"sparse:transform=dct,chunk=100", SAMPLED, 16, 4},
    {"sparse:transform=dct,chunk=100", REST, 17, 5},
    {"sparse:transform=dct,chunk=101", 70700, 17, 5},
    {"sparse:transform=dct,chunk=101", WHOLE, 19, 7},
    {"sparse:transform=fft,chunk=4096,select=chunk", WHOLE, 5, 3},
    {"sparse:transform=fft,chunk=4096,select=chunk", REST, 9, 6},
    {"sparse:transform=fft,chunk=64", 960, 15, 3},
    {"sparse:transform=fft,chunk=64", SMALL, 16, 6},
    {"sparse:transform=fft,chunk=500", SMALL, 15, 5},
    {"sparse:transform=fft,chunk=300", SMALL, 16, 6},
    {"sparse:transform=fft,pad=none", 1001, 15, 4},
    {"sparse:transform=fft,chunk=501", SMALL, 15, 4},
    {"sparse:transform=fft", 5001, 16, 4},
    {"topk:index=bitmap", SMALL, 11, 5},
    {"topk:index=block", SMALL, 11, 5},
    {"topk:index=elias-fano", SMALL, 12, 5},
    {"topk:index=golomb", SMALL, 13, 5},
    {"topk:index=varint", SMALL, 13, 5},
    {"topk:index=adaptive", SMALL, 16, 5},
    {"topk:values=fp16", SMALL, 11, 3},
    {"topk:values=sign-mean", SMALL, 13, 3},
    {"topk:values=range", SMALL, 14, 3},
};

static void methods_take_as_many_as_before(void **state)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        const struct counted c = launches_of(known[i].spec, known[i].n);

        if (c.encode != known[i].encode || c.decode != known[i].decode)
            fail_msg("%s of %llu elements: %u launches to encode and %u to decode, not %u and %u",
                     known[i].spec, (unsigned long long)known[i].n, c.encode, c.decode,
                     known[i].encode, known[i].decode);
    }
}

/* ---- promises for small tensors ---- */

static const char *const quantisers[] = {
    "identity",
    "fp16",
    "bf16",
    "range",
    "range:max=1",
    "range:mantissa=3",
    "range:max=1,mantissa=3",
    "qsgd",
    "qsgd:norm=l2",
    "qsgd:bits=8,bucket=64",
    "qsgd:bucket=100",
    "qsgd:bucket=100,norm=l2",
    "qsgd:bucket=100000",
    "qsgd:bucket=100000,norm=l2",
    "terngrad",
    "terngrad:clip=0",
    "terngrad:packing=base3",
};

static void quantisers_take_three_at_most(void **state)
{
    static const uint64_t sizes[] = {16, 1000, 4097, 36864};

    for (size_t i = 0; i < COUNT(quantisers); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            const struct counted c = launches_of(quantisers[i], sizes[k]);

            if (c.encode > 3 || c.decode > 3)
                fail_msg("%s of %llu elements: %u launches to encode, %u to decode", quantisers[i],
                         (unsigned long long)sizes[k], c.encode, c.decode);
        }
}

/* Launches that are queued to encode one message of n elements; they are not run. */
static unsigned queued_of(const char *spec, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .path = "w"},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    const struct gcb_step at = {.step = 1};
    struct gcb_method method;
    struct bench b = {0};
    unsigned launches;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(device_coder_create(&b.coder, &device, &method, &config, NULL), 0);
    take(&b, n);
    gcb_host_idle(true);
    assert_int_equal(gcb_device_coder_encode_async(b.coder, &at, &b.m, NULL), 0);
    launches = launched(&b);
    give(&b);
    gcb_host_idle(false);
    device.module->memory.free(b.tensor);
    device.module->memory.free(b.payload);
    return launches;
}

/* Each bucket of ResNet-50's 161 tensors, as --scope bucket makes them, takes as many launches as
 * one tensor. */
static void a_bucket_takes_one_set(void **state)
{
    static const struct gcb_source_synthetic network = {.name = "normal", .layout = "resnet50"};
    const struct gcb_layout_config config = {.scope = GCB_SCOPE_BUCKET};
    struct gcb_source *source = NULL;
    struct gcb_layout layout;

    assert_int_equal(gcb_source_open_synthetic(&source, &network, 1, 1, NULL), 0);
    assert_int_equal(gcb_source_count(source), 161);
    gcb_layout_init(&layout, source, &config);
    for (size_t i = 0; i < COUNT(quantisers); i++)
        for (size_t k = 0; k < layout.count; k++)
            assert_int_equal(queued_of(quantisers[i], layout.messages[k].count),
                             queued_of(quantisers[i], 36864));
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(methods_take_as_many_as_before),
                  cmocka_unit_test(quantisers_take_three_at_most),
                  cmocka_unit_test(a_bucket_takes_one_set))
