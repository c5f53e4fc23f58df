/* One decoder on the device decodes messages of all kinds, one after the other, to the CPU's
 * tensors. */

#include "src/lib/coder/coder.h"
#include "src/lib/device/place.h"
#include "tests/cuda/device_test.h"
#include "tests/support/trip.h"

#define LARGEST 9001

/* A place, and the decoder of its last message. */
struct decoder {
    struct gcb_place place;
    struct gcb_coder *coder;
};

/* Decodes t's message, which may have been changed, to n floats. Returns the status. */
static int run(struct decoder *d, const struct trip *t, float *out, uint64_t n)
{
    const struct gcb_coder_config config = {.place = &d->place, .max_elements = n ? n : 1};
    const struct gcb_mview view = {out, n};
    const int err = gcb_coder_renew_decoder(&d->coder, t->message, t->length, &config, NULL);

    return err ? err : gcb_coder_decode(d->coder, t->message, t->length, &view, NULL);
}

static void release(struct decoder *d)
{
    gcb_place_fini(&d->place);
    gcb_coder_destroy(d->coder);
}

static int run_cpu(const struct trip *t, float *out)
{
    const struct gcb_coder_config config = {.max_elements = t->n};
    const struct gcb_mview view = {out, t->n};
    struct gcb_coder *c = NULL;
    int err = gcb_coder_create_decoder(&c, t->message, t->length, &config, NULL);

    if (!err)
        err = gcb_coder_decode(c, t->message, t->length, &view, NULL);
    gcb_coder_destroy(c);
    return err;
}

/* Larger and smaller messages, other methods, the same method again, raw messages and empty
 * tensors. */
static void any_order(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } sent[] = {{"topk", 4096},        {"topk", 4096},        {"qsgd:bits=2", LARGEST},
                {"topk", 7},           {"identity", 0},       {"sbc", 5000},
                {"sbc", 5000},         {"identity", LARGEST}, {"range", 33},
                {"topk:theta=0", 600}, {"fp16", 600},         {"terngrad", 1},
                {"qsgd:bits=2", 1}};
    float *x = trip_tensor(LARGEST, TRIP_LAPLACE, 5), *y = calloc(LARGEST, sizeof(*y));
    struct decoder d = {.place = {.device = &device, .prefill = false}};

    for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
        struct trip t = {0};

        trip_run(&t, sent[i].spec, x, sent[i].n, NULL);
        assert_int_equal(run(&d, &t, y, t.n), 0);
        if (memcmp(y, t.back, t.n * sizeof(*y)) != 0)
            fail_msg("%s of %llu elements differs", sent[i].spec, (unsigned long long)t.n);
        trip_free(&t);
    }
    release(&d);
    free(x);
    free(y);
}

/* A decoder that refused a message decodes the next one. */
static void damaged(void **state)
{
    static const char *const specs[] = {"topk", "qsgd:coding=elias", "sbc", "range"};
    float *x = trip_tensor(600, TRIP_GAUSS, 6), *y = calloc(600, sizeof(*y));
    float *want = calloc(600, sizeof(*want));
    struct decoder d = {.place = {.device = &device, .prefill = false}};
    unsigned refused = 0, taken = 0;

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct trip t = {0};

        trip_run(&t, specs[i], x, 600, NULL);
        for (size_t at = 0; at < t.length; at += 1 + at / 8) {
            int cpu, dev;

            t.message[at] ^= 0x41;
            cpu = run_cpu(&t, want);
            dev = run(&d, &t, y, t.n);
            if (dev != cpu)
                fail_msg("%s, byte %zu: %d, on the CPU %d", specs[i], at, dev, cpu);
            if (!cpu)
                assert_memory_equal(y, want, t.n * sizeof(*y));
            refused += cpu != 0;
            taken += cpu == 0;
            t.message[at] ^= 0x41;
        }
        assert_int_equal(run(&d, &t, y, t.n), 0);
        assert_memory_equal(y, t.back, t.n * sizeof(*y));
        t.length /= 2;
        assert_int_equal(run(&d, &t, y, t.n), GCB_E_CORRUPT);
        trip_free(&t);
    }
    assert_true(refused > 20 && taken > 20);
    release(&d);
    free(x);
    free(y);
    free(want);
}

/* The caller's tensor has another size than the message. */
static void other_size(void **state)
{
    float *x = trip_tensor(100, TRIP_GAUSS, 7), y[101] = {0};
    struct decoder d = {.place = {.device = &device, .prefill = true}};
    struct trip t = {0};

    trip_run(&t, "fp16", x, 100, NULL);
    assert_int_equal(run(&d, &t, y, 99), GCB_E_CORRUPT);
    assert_int_equal(run(&d, &t, y, 101), GCB_E_MISMATCH);
    assert_int_equal(run(&d, &t, y, 100), 0);
    assert_memory_equal(y, t.back, 100 * sizeof(*y));
    assert_true(y[100] == 0.0f);
    trip_free(&t);
    release(&d);
    free(x);
}

/* A decoder that was made for a raw message adopts the method of the next message. */
static void adopts_a_method(void **state)
{
    float *x = trip_tensor(600, TRIP_GAUSS, 8), y[600];
    const struct gcb_mview view = {y, 600};
    struct gcb_message_parts parts;
    struct decoder d = {.place = {.device = &device, .prefill = true}};
    struct trip raw = {0}, t = {0};

    trip_run(&raw, "topk:theta=0", x, 600, NULL);
    assert_true(raw.parts.stored);
    trip_run(&t, "fp16", x, 600, NULL);
    assert_int_equal(run(&d, &raw, y, 600), 0);
    assert_int_equal(gcb_coder_decode(d.coder, t.message, t.length, &view, NULL), 0);
    assert_memory_equal(y, t.back, sizeof(y));
    assert_int_equal(gcb_coder_describe(d.coder, t.message, t.length, &parts, NULL), 0);
    trip_free(&raw);
    trip_free(&t);
    release(&d);
    free(x);
}

/* Encodes x with a new coder, at a place or on the host, and describes the message. */
static size_t encode(struct gcb_place *place, const char *spec, const float *x, uint64_t n,
                     struct gcb_wbuf *out, struct gcb_message_parts *parts, uint64_t *clamped)
{
    const struct gcb_coder_config config = {
        .place = place, .env = {.count = n, .seed = 5, .path = "w"}, .checksum = true};
    struct gcb_coder *c = NULL, *decoder = NULL;
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&c, &method, &config, NULL), 0);
    out->len = 0;
    assert_int_equal(
        gcb_coder_encode(c, &(struct gcb_step){3, 1}, &(struct gcb_view){x, n}, out, NULL), 0);
    gcb_message_seal(out->data, out->len, 0);
    *clamped = gcb_coder_clamped(c);
    assert_int_equal(gcb_coder_create_decoder(&decoder, out->data, out->len, &config, NULL), 0);
    memset(parts, 0, sizeof(*parts));
    assert_int_equal(gcb_coder_describe(decoder, out->data, out->len, parts, NULL), 0);
    gcb_coder_destroy(c);
    gcb_coder_destroy(decoder);
    return out->len;
}

/* A coder with a place makes the host's message, from a view in host memory. */
static void encodes_there(void **state)
{
    static const char *const specs[] = {"topk", "qsgd:bits=2", "range:bits=8,max=0.01", "identity"};
    static const uint64_t sizes[] = {600, LARGEST, 1, 0};
    float *x = trip_tensor(LARGEST, TRIP_LAPLACE, 8);
    struct gcb_wbuf here = {.data = malloc(LARGEST * 8), .cap = LARGEST * 8};
    struct gcb_wbuf there = {.data = malloc(LARGEST * 8), .cap = LARGEST * 8};
    struct gcb_place place = {.device = &device};
    struct gcb_message_parts parts[2];
    uint64_t clamped[2], any = 0;

    for (size_t i = 0; i < COUNT(specs); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            encode(NULL, specs[i], x, sizes[k], &here, &parts[0], &clamped[0]);
            assert_int_equal(encode(&place, specs[i], x, sizes[k], &there, &parts[1], &clamped[1]),
                             here.len);
            assert_memory_equal(here.data, there.data, here.len);
            assert_memory_equal(&parts[0], &parts[1], sizeof(parts[0]));
            assert_int_equal(clamped[0], clamped[1]);
            any += clamped[0];
        }
    assert_true(any > 0);
    gcb_place_fini(&place);
    free(x);
    free(here.data);
    free(there.data);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(any_order), cmocka_unit_test(damaged),
                  cmocka_unit_test(other_size), cmocka_unit_test(encodes_there),
                  cmocka_unit_test(adopts_a_method))
