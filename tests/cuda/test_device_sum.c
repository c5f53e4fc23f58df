/* Sums of messages on the device equal the CPU's: each codec, mixtures, damaged messages. */
#include <math.h>

#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_sum.h"

static void sums_of(const char *const *specs, size_t count)
{
    static const uint64_t sizes[] = {0, 1, 33, 4096, 9001};

    for (enum gcb_host_order order = GCB_HOST_FORWARD; order <= GCB_HOST_SHUFFLED; order++) {
        gcb_host_schedule(order, 3);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < COUNT(sizes); k++)
                device_same_sums(&device, specs[i], sizes[k]);
    }
}

static void send(struct trip *t, const char *spec, uint64_t n)
{
    float *x = trip_tensor(n, TRIP_GAUSS, 5);

    trip_run(t, spec, x, n, NULL);
    free(x);
}

static void each_codec(void **state)
{
    static const char *const specs[] = {
        "identity",
        "fp16",
        "bf16",
        "range",
        "range:bits=5,max=1",
        "qsgd",
        "qsgd:bits=8,bucket=100",
        "qsgd:coding=elias",
        "terngrad",
        "terngrad:packing=base3,clip=0",
        "topk",
        "topk:theta=0",
        "randomk",
        "randomk:theta=0.5,scaling=unbiased",
        "sbc",
        "sparse:values=fp16,index=bitmap",
        "sparse:values=range,index=golomb",
        "sparse:values=uniform,index=varint",
        "sparse:values=means,index=elias-fano",
        "sparse:values=sign-mean,index=adaptive",
        "sparse:index=block",
    };

    sums_of(specs, COUNT(specs));
}

static void each_transform(void **state)
{
    static const char *const specs[] = {
        "sparse:transform=hadamard,chunk=4096",
        "sparse:transform=hadamard,chunk=16",
        "sparse:transform=dct,chunk=64",
        "sparse:transform=dct,chunk=60",
        "sparse:transform=dct",
        "sparse:transform=fft,chunk=4096",
        "sparse:transform=fft,chunk=96",
        "fft",
        "demo",
    };

    sums_of(specs, COUNT(specs));
}

/* Parameters differ between workers, and so do methods. "topk:theta=0" is sent raw. */
static void mixtures(void **state)
{
    static const char *const elements[] = {
        "qsgd", "qsgd:bits=7", "topk", "fp16",  "topk:theta=0",  "terngrad",
        "sbc",  "identity",    "qsgd", "range", "topk:theta=0.5"};
    static const char *const sparse[] = {
        "topk", "topk:theta=0.5,index=golomb", "qsgd", "topk:theta=0", "sbc", "topk"};
    static const char *const canvas[] = {"sparse:transform=dct,chunk=64",
                                         "sparse:transform=dct,chunk=64,theta=0.5,values=fp16",
                                         "qsgd",
                                         "sparse:transform=dct,chunk=32",
                                         "topk",
                                         "sparse:transform=fft,chunk=64",
                                         "topk:theta=0",
                                         "sparse:transform=dct,chunk=64,index=golomb"};

    gcb_host_schedule(GCB_HOST_SHUFFLED, 9);
    device_same_sum(&device, elements, COUNT(elements), 5000);
    device_same_sum(&device, sparse, COUNT(sparse), 5000);
    device_same_sum(&device, canvas, COUNT(canvas), 5000);
    device_same_sum(&device, canvas + 2, COUNT(canvas) - 2, 5000);
}

/* Hadamard messages of two steps have different signs, so they cannot share a canvas. */
static void other_key(void **state)
{
    const char *spec = "sparse:transform=hadamard,chunk=256";
    struct trip_options setting = {.step = 0};
    float *x = trip_tensor(3000, TRIP_GAUSS, 4);
    struct device_sum s;

    device_sum_open(&s, &device, spec, 3000);
    for (unsigned i = 0; i < 4; i++) {
        struct trip t = {0};

        setting.step = i % 2;
        trip_run(&t, spec, x, 3000, &setting);
        assert_int_equal(device_sum_add(&s, &t, 0.5f), 0);
        trip_free(&t);
    }
    device_sum_compare(&s, spec, true);
    device_sum_close(&s);
    free(x);
}

/* A damaged message is refused as on the CPU, and leaves the sum as it was. */
static void damaged(void **state)
{
    static const char *const specs[] = {"topk",
                                        "qsgd:coding=elias",
                                        "sbc",
                                        "range",
                                        "qsgd",
                                        "terngrad",
                                        "randomk",
                                        "sparse:index=golomb",
                                        "sparse:transform=hadamard,chunk=64,index=varint"};
    unsigned refused = 0, taken = 0;

    for (size_t i = 0; i < COUNT(specs); i++) {
        const bool near = strstr(specs[i], "transform") != NULL;
        struct device_sum s;
        struct trip t = {0};

        device_sum_open(&s, &device, specs[i], 600);
        send(&t, specs[i], 600);
        assert_int_equal(device_sum_add(&s, &t, 1.0f), 0);
        for (size_t at = 0; at < t.length; at += 1 + at / 8) {
            int err;

            t.message[at] ^= 0x41;
            err = device_sum_add(&s, &t, 0.5f);
            refused += err != 0;
            taken += err == 0;
            t.message[at] ^= 0x41;
        }
        assert_int_equal(device_sum_add(&s, &t, -0.5f), 0);
        device_sum_compare(&s, specs[i], near);
        trip_free(&t);
        device_sum_close(&s);
    }
    assert_true(refused > 20 && taken > 20);
}

/* An infinity among the values of a message, in the last of its elements: nothing is added. */
static void infinite(void **state)
{
    static const uint8_t infinity[] = {0, 0, 0x80, 0x7f};
    struct device_sum s;
    struct trip t = {0};

    device_sum_open(&s, &device, "randomk", 600);
    send(&t, "randomk", 600);
    assert_int_equal(device_sum_add(&s, &t, 1.0f), 0);
    memcpy(t.message + t.length - sizeof(infinity), infinity, sizeof(infinity));
    assert_int_equal(device_sum_add(&s, &t, 0.5f), GCB_E_CORRUPT);
    device_sum_compare(&s, "randomk", false);
    trip_free(&t);
    device_sum_close(&s);
}

static void refusals(void **state)
{
    struct trip t = {0};
    struct device_sum s;

    device_sum_open(&s, &device, "topk", 100);
    send(&t, "topk", 99);
    assert_int_equal(device_sum_add(&s, &t, 1.0f), GCB_E_MISMATCH);
    trip_free(&t);
    send(&t, "topk", 100);
    assert_int_equal(device_sum_add(&s, &t, NAN), GCB_E_INVALID);
    assert_int_equal(device_sum_add(&s, &t, INFINITY), GCB_E_INVALID);
    trip_free(&t);
    device_sum_compare(&s, "topk", false);
    device_sum_close(&s);
    gcb_device_sum_destroy(NULL);
}

/* Queues the decoding of a message or, with `adds`, its addition. Returns the launches; the work is
 * dropped. */
static unsigned launches_of(const struct trip *t, bool adds)
{
    const struct gcb_coder_config config = {.max_elements = t->n};
    struct gcb_device_batch_config room = {.messages = 1};
    struct gcb_device_addition to = {.weight = 1.0f, .joins = true};
    struct gcb_device_message m = {.i = 0};
    struct gcb_coder *c = NULL;
    void *payload_dev = NULL, *out_dev = NULL;
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    unsigned launches;

    assert_int_equal(gcb_frame_parse(&frame, &payload, t->message, t->length, NULL), 0);
    assert_int_equal(device_coder_create_decoder(&c, &device, t->message, t->length, &config, NULL),
                     0);
    room.scratch = gcb_device_coder_scratch(c);
    assert_int_equal(gcb_device_batch_create(&m.batch, &device, &room, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&payload_dev, frame.payload_bytes, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&out_dev, 16 * t->n, NULL), 0);
    to.acc_dev = out_dev;
    gcb_host_idle(true);
    assert_int_equal(adds
                         ? gcb_device_coder_add_async(c, &frame, payload_dev, &to, &m, NULL)
                         : gcb_device_coder_decode_async(c, &frame, payload_dev, out_dev, &m, NULL),
                     0);
    launches = (unsigned)device.module->stream.launches(gcb_device_batch_stream(m.batch));
    gcb_device_batch_destroy(m.batch);
    gcb_host_idle(false);
    gcb_coder_destroy(c);
    device.module->memory.free(payload_dev);
    device.module->memory.free(out_dev);
    return launches;
}

/* Adding takes as many launches as decoding without a transform, as docs/gpu.md says. */
static void launches(void **state)
{
    static const struct {
        const char *spec, *plain; /* `plain`: the same without a transform */
        unsigned more;
    } rows[] = {{"topk", "topk", 0},
                {"sparse:index=golomb", "sparse:index=golomb", 0},
                {"sparse:transform=dct,chunk=64", "topk", 0},
                {"sparse:transform=fft,chunk=100", "topk", 0},
                {"sparse:transform=hadamard", "topk", 1}};

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trip t = {0}, plain = {0};

        send(&t, rows[i].spec, 1000);
        send(&plain, rows[i].plain, 1000);
        if (launches_of(&t, true) != launches_of(&plain, false) + rows[i].more)
            fail_msg("%s: %u launches to add", rows[i].spec, launches_of(&t, true));
        trip_free(&t);
        trip_free(&plain);
    }
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(each_codec), cmocka_unit_test(each_transform),
                  cmocka_unit_test(mixtures), cmocka_unit_test(other_key),
                  cmocka_unit_test(damaged), cmocka_unit_test(refusals), cmocka_unit_test(launches),
                  cmocka_unit_test(infinite))
