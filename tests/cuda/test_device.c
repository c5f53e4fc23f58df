/* Methods on the stand-in give the CPU's messages, byte for byte. */
#include <math.h>

#include "src/tool/measure/fidelity.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

static const uint64_t sizes[] = {0, 1, 7, 33, 513, 4096, 8193, END};

static void baselines(void **state)
{
    device_same_all(&device, "identity", sizes);
    device_same_all(&device, "fp16", sizes);
    device_same_all(&device, "bf16", sizes);
    device_same_all(&device, "fp16:rounding=stochastic", sizes);
    device_same_all(&device, "bf16:rounding=stochastic", sizes);
}

static void ranges(void **state)
{
    static const char *const specs[] = {
        "range",
        "range:rounding=truncate",
        "range:bits=2",
        "range:bits=5,mantissa=2",
        "range:bits=16,mantissa=11",
        "range:bits=12,max=1.5",
        "range:bits=7,max=0.25,mantissa=3",
        "range:max=1e-60", /* rounds to 0 in float32 */
        "range:bits=9,max=1e30,mantissa=5,rounding=truncate",
    };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        device_same_all(&device, specs[i], sizes);
}

static void block_formats(void **state)
{
    static const char *const specs[] = {
        "fp8",
        "fp8:element=e5m2,rounding=stochastic",
        "float:scale=none",
        "float:scale=none,element=e2m1,rounding=stochastic",
        "float:scale=block,block=4096",
        "float:scale=block,block=1024,element=e5m2",
        "mxfp8",
        "mxfp8:scale-rule=floor,block=16",
        "mxfp4:scale-rule=even",
        "nvfp4:scale-rule=te",
        "mxfp4:rounding=stochastic,block=512",
        "nvfp4",
        "nvfp4:rounding=stochastic",
        "float:element=e2m1,scale=block,block=64,scale-format=e4m3",
        "int8",
        "int8:rounding=stochastic,block=4096",
        "int4:block=16",
        "affine:bits=3,block=128,rounding=stochastic",
        "cgx",
        "cgx:bits=7,block=32,rounding=stochastic",
        "blockwise8",
        "blockwise8:block=16",
        "uniform8",
    };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        device_same_all(&device, specs[i], sizes);
}

static void quantisers(void **state)
{
    static const char *const specs[] = {
        "qsgd",
        "qsgd:norm=l2",
        "qsgd:bits=2,bucket=1",
        "qsgd:bits=8,bucket=4",
        "qsgd:bits=7,bucket=64",
        "qsgd:bits=5,bucket=2048",
        "qsgd:bits=16,bucket=4096,norm=l2",
        "qsgd:levels=1,bucket=100", /* buckets cross tiles */
        "qsgd:levels=5,bucket=100,norm=l2",
        "qsgd:bits=3,bucket=5000",
        "qsgd:levels=32767,bucket=9000,norm=l2",
        "qsgd:bucket=1000000,norm=l2",
        "qsgd:bucket=1000000",
        "qsgd:levels=255,bucket=8,norm=l2", /* some lanes of a warp sum a bucket; the most levels that are decoded by a table */
        "qsgd:levels=256,bucket=7,norm=l2",
        "terngrad",
        "terngrad:clip=0",
        "terngrad:clip=0.5,packing=base3",
        "terngrad:clip=0,packing=base3",
    };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        device_same_all(&device, specs[i], sizes);
}

/* One element of each stratum, or all; shorter and damaged payloads have other places. */
static void random_places(void **state)
{
    static const uint64_t few[] = {0, 1, 2, 7, 511, 512, 513, 4097, END};
    static const char *const specs[] = {
        "randomk",
        "randomk:theta=0",
        "randomk:theta=0.999,scaling=unbiased",
        "randomk:theta=0.4,scaling=unbiased",
    };
    float x[600];

    check_fill(x, 600, FILL_NOISE, 1);
    for (size_t i = 0; i < COUNT(specs); i++) {
        device_same_all(&device, specs[i], few);
        device_same_each_byte(&device, specs[i], x, 600, 0, 20);
        device_same_cut(&device, specs[i], x, 40);
    }
}

static void elias_codes(void **state)
{
    static const uint64_t few[] = {0, 1, 33, END};
    static const char *const specs[] = {
        "qsgd:coding=elias",
        "qsgd:coding=elias,levels=32767,bucket=9000", /* a block is written in two windows */
        "qsgd:coding=elias-sparse,levels=1,norm=l2",
        "qsgd:coding=elias-sparse,bits=8,bucket=100",
    };
    float x[4200];

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        if (i % 2 == 0) {
            device_same_all(&device, specs[i], few);
            check_fill(x, 40, FILL_NOISE, i);
            device_same_each_byte(&device, specs[i], x, 40, 4, 30);
        }
        check_fill(x, 4200, FILL_NOISE, i);
        device_same(&device, specs[i], x, 4200, NULL);
        device_same_damage(&device, specs[i], x, 600, 4, i);
    }
    memset(x + 10, 0, 4080 * sizeof(float)); /* a long gap, and blocks that end with zeros */
    memset(x + 4097, 0, 100 * sizeof(float));
    device_same(&device, specs[2], x, 4150, NULL);
    device_same(&device, specs[3], x, 4197, NULL);
}

/* One size with many blocks, so that their order is tested too. */
static void large_tensors(void **state)
{
    static const char *const specs[] = {
        "identity",
        "fp16",
        "bf16",
        "range",
        "range:bits=11,mantissa=4,max=2",
        "qsgd",
        "qsgd:bucket=30000,norm=l2",
        "qsgd:bucket=139000,norm=l2", /* each norm has a block */
        "qsgd:bucket=777",            /* some warps have elements of two buckets */
        "qsgd:bucket=30000",
        "terngrad",
        "terngrad:packing=base3",
        "randomk"};
    enum { N = 150001 };
    float *x = malloc(N * sizeof(float));

    check_fill(x, N, FILL_HOSTILE, 5);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 5);
    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        device_same(&device, specs[i], x, N, NULL);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Error feedback is fused on the device and around the coder on the CPU: messages and residuals are
 * the same. */
static void error_feedback_is_fused(void **state)
{
    static const char *const specs[] = {
        "identity",
        "fp16",
        "bf16",
        "range",
        "range:bits=5,mantissa=2,max=0.1",
        "range:bits=6,mantissa=3",
        "qsgd",
        "qsgd:norm=l2,bucket=64",
        "qsgd:bucket=100",
        "qsgd:bucket=5000,norm=l2",
        "qsgd:coding=elias",
        "terngrad",
        "terngrad:clip=0,packing=base3",
        "randomk:theta=0.6",
        "randomk:scaling=unbiased",
        "range:bits=16", /* sent raw if the source has 16 bits */
    };
    static const uint64_t counts[] = {1, 33, 4097, END};

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        for (size_t k = 0; counts[k] != END; k++) {
            gcb_host_schedule((enum gcb_host_order)((i + k) % 3), i);
            device_same_feedback(&device, specs[i], counts[k], (enum gcb_dtype)((i / 3 + k) % 3),
                                 k == 0 ? 1.0 : 0.7);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* The error of the decoded tensor is summed in the same order on both sides, so it is the same, bit
 * for bit. */
static void fidelity_is_the_cpus(void **state)
{
    enum { N = 3 * 4096 * 8 + 77 };
    static const uint64_t counts[] = {0, 1, 31, 33, 4095, 4096, 4097, N};
    const struct gcb_device_batch_config config = {.scratch = gcb_fidelity_scratch(&device, N)};
    const struct gcb_queue queue = {.threads = 1};
    float *x = malloc(N * sizeof(float)), *y = malloc(N * sizeof(float));
    struct gcb_device_batch *b = NULL;
    struct gcb_kernels kernels;
    void *xd, *yd;

    gcb_kernels_init(&kernels, 0);
    assert_int_equal(gcb_device_batch_create(&b, &device, &config, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&xd, N * sizeof(float), NULL), 0);
    assert_int_equal(device.module->memory.alloc(&yd, N * sizeof(float), NULL), 0);
    for (int i = 0; i < FILL_COUNT; i++) {
        check_fill(x, N, (enum check_fill)i, (uint64_t)i);
        check_fill(y, N, i % 2 ? FILL_TIES : (enum check_fill)i, (uint64_t)i + 1);
        memcpy(y, x, N / 2 * sizeof(float));
        assert_int_equal(gcb_device_batch_upload(b, xd, x, N * sizeof(float), NULL), 0);
        assert_int_equal(gcb_device_batch_upload(b, yd, y, N * sizeof(float), NULL), 0);
        gcb_host_schedule((enum gcb_host_order)(i % 3), 11);
        for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
            struct gcb_fidelity want, got;

            memset(&want, 0, sizeof(want));
            memset(&got, 0, sizeof(got));
            gcb_fidelity_add(&want, x, y, counts[k], &kernels, &queue);
            assert_int_equal(gcb_fidelity_add_there(&got, b, xd, yd, counts[k], NULL), 0);
            /* the bits of a NaN are not promised */
            if (isnan(want.dd))
                want.dd = want.d = want.yy = want.xy = got.dd = got.d = got.yy = got.xy = 0;
            assert_memory_equal(&want, &got, sizeof(want));
        }
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    gcb_device_batch_destroy(b);
    device.module->memory.free(xd);
    device.module->memory.free(yd);
    free(x);
    free(y);
}

/* The device's state begins like the CPU's: one parameter table stores into both. */
static void parameters_fit_the_states(void **state)
{
    for (const struct gcb_device_codec *row = device.module->codecs; row->ops; row++) {
        const struct gcb_codec *codec = gcb_codec_by_wire_id(row->wire_id);

        assert_non_null(codec);
        for (size_t i = 0; i < gcb_param_count(codec->params); i++)
            assert_true(codec->params[i].offset + sizeof(int) <= row->ops->state_size);
    }
}

static void other_methods_say_so(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 10}};
    struct gcb_coder *c = NULL;
    struct gcb_device none = device;
    struct gcb_device_module empty = *device.module;
    static const struct gcb_device_codec no_codecs[] = {{0, NULL}};
    struct gcb_diag diag = {0};
    struct gcb_method m;

    empty.codecs = no_codecs;
    none.module = &empty;
    assert_int_equal(gcb_method_parse(&m, "qsgd", NULL), 0);
    assert_int_equal(device_coder_create(&c, &none, &m, &config, &diag), GCB_E_UNSUPPORTED);
    assert_string_equal(diag.text,
                        "device cuda: method 'qsgd' runs on the CPU only; use --device cpu");
    assert_null(c);
}

static void other_modules_are_refused(void **state)
{
    struct gcb_device_module other = *device.module;
    struct gcb_device out;
    struct gcb_diag diag = {0};

    other.version++;
    assert_int_equal(gcb_device_adopt(&out, &other, 0, &diag), GCB_E_BACKEND);
    assert_non_null(strstr(diag.text, "another version"));
    other = *device.module;
    other.size--;
    assert_int_equal(gcb_device_adopt(&out, &other, 0, &diag), GCB_E_BACKEND);
    assert_int_equal(gcb_device_adopt(&out, NULL, 0, &diag), GCB_E_BACKEND);
    assert_int_equal(gcb_device_adopt(&out, device.module, 1, &diag), GCB_E_BACKEND);
    assert_string_equal(diag.text,
                        "device cuda:1 does not exist; this machine has 1, numbered from cuda:0");
}

/* A refused copy is a fault of its stream, not of the next launch on another stream. */
static void a_copy_that_fails(void **state)
{
    struct gcb_device_stream *s = NULL;
    const float x[] = {1.0f, -2.0f, 3.0f};

    assert_int_equal(device.module->stream.create(&s, NULL), 0);
    assert_int_not_equal(device.module->stream.copy(s, NULL, NULL, 4, GCB_COPY_DEVICE), 0);
    device_same(&device, "fp16", x, COUNT(x), NULL);
    assert_int_not_equal(device.module->stream.wait(s, NULL), 0);
    device.module->stream.destroy(s);
}

/* Each allocation of a batch fails once: an error with a message, and no leak. */
static void memory_that_does_not_suffice(void **state)
{
    const struct gcb_device_batch_config config = {.scratch = 100000};
    struct gcb_device_batch *b = NULL;
    struct gcb_host_counts before, after;
    struct gcb_diag diag = {0};
    const float x[] = {1.0f, -2.0f, 3.0f};

    gcb_host_count(&before);
    gcb_host_limit(before.bytes + 50000);
    assert_int_equal(gcb_device_batch_create(&b, &device, &config, &diag), GCB_E_NOMEM);
    assert_non_null(strstr(diag.text, "100000 bytes asked for, 50000 of"));
    gcb_host_limit(before.bytes + 100010);
    assert_int_equal(gcb_device_batch_create(&b, &device, &config, &diag), GCB_E_NOMEM);
    gcb_host_limit(0);
    gcb_host_count(&after);
    assert_int_equal(before.bytes, after.bytes);
    assert_null(b);
    device_same(&device, "fp16", x, COUNT(x), NULL); /* later work is not affected */
}

/* A step with several messages: no wait and no allocation until all are queued, then one wait. */
static void one_wait_for_many_messages(void **state)
{
    enum { MESSAGES = 5, N = 1000 };
    const struct gcb_device_batch_config config = {.messages = MESSAGES};
    const struct gcb_coder_config coder = {.env = {.count = N}};
    const struct gcb_step at = {0};
    struct gcb_device_message m[MESSAGES];
    struct gcb_coder *c = NULL;
    struct gcb_device_batch *b = NULL;
    struct gcb_host_counts before, after;
    struct gcb_frame frame;
    struct gcb_method method;
    float x[N];

    assert_int_equal(gcb_method_parse(&method, "fp16", NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &method, &coder, NULL), 0);
    assert_int_equal(gcb_device_batch_create(&b, &device, &config, NULL), 0);
    for (unsigned i = 0; i < MESSAGES; i++) {
        void *in, *out;

        assert_int_equal(device.module->memory.alloc(&in, sizeof(x), NULL), 0);
        assert_int_equal(device.module->memory.alloc(&out, gcb_coder_max_payload(c), NULL), 0);
        m[i] = (struct gcb_device_message){.batch = b, .i = i, .in_dev = in, .payload_dev = out};
        check_fill(x, N, FILL_NOISE, i);
        x[0] = (float)i * 1e6f; /* all messages except the first clamp values */
        assert_int_equal(gcb_device_batch_upload(b, in, x, sizeof(x), NULL), 0);
    }
    gcb_host_count(&before);
    assert_int_equal(gcb_device_batch_begin(b), 0);
    for (unsigned i = 0; i < MESSAGES; i++)
        assert_int_equal(gcb_device_coder_encode_async(c, &at, &m[i], NULL), 0);
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(gcb_device_batch_finish(b, NULL), 0);
    for (unsigned i = 0; i < MESSAGES; i++) {
        assert_int_equal(gcb_device_coder_encode_finish(c, &m[i], &frame, NULL), 0);
        assert_int_equal(frame.payload_bytes, 2 * N);
        assert_int_equal(gcb_coder_clamped(c), i > 0);
    }
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits + 1);
    assert_int_equal(after.allocations, before.allocations);
    /* a message more than the batch has room for is refused */
    m[0].i = MESSAGES;
    assert_int_equal(gcb_device_coder_encode_async(c, &at, &m[0], NULL), GCB_E_INTERNAL);
    for (unsigned i = 0; i < MESSAGES; i++) {
        device.module->memory.free(m[i].in_dev);
        device.module->memory.free(m[i].payload_dev);
    }
    gcb_device_batch_destroy(b);
    gcb_coder_destroy(c);
}

static void events_measure(void **state)
{
    const struct gcb_device_module *d = device.module;
    struct gcb_device_event *from = NULL, *to = NULL;
    struct gcb_device_stream *s = NULL;
    double seconds = -1.0;
    void *p = NULL;

    assert_int_equal(d->stream.create(&s, NULL), 0);
    assert_int_equal(d->event.create(&from, NULL), 0);
    assert_int_equal(d->event.create(&to, NULL), 0);
    assert_int_equal(d->memory.alloc(&p, 1 << 20, NULL), 0);
    assert_int_equal(d->event.record(from, s), 0);
    assert_int_equal(d->stream.zero(s, p, 1 << 20), 0);
    assert_int_equal(d->event.record(to, s), 0);
    assert_int_equal(d->event.seconds(&seconds, from, to, NULL), 0);
    assert_float_equal(seconds, 1e-5, 1e-9); /* of the stand-in's clock: one piece of work */
    assert_int_equal(d->stream.wait(s, NULL), 0);
    d->memory.free(p);
    d->event.destroy(from);
    d->event.destroy(to);
    d->stream.destroy(s);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(baselines), cmocka_unit_test(ranges),
                  cmocka_unit_test(quantisers), cmocka_unit_test(random_places),
                  cmocka_unit_test(block_formats), cmocka_unit_test(elias_codes),
                  cmocka_unit_test(large_tensors), cmocka_unit_test(error_feedback_is_fused),
                  cmocka_unit_test(fidelity_is_the_cpus),
                  cmocka_unit_test(parameters_fit_the_states),
                  cmocka_unit_test(other_methods_say_so),
                  cmocka_unit_test(other_modules_are_refused), cmocka_unit_test(a_copy_that_fails),
                  cmocka_unit_test(memory_that_does_not_suffice),
                  cmocka_unit_test(one_wait_for_many_messages), cmocka_unit_test(events_measure))
