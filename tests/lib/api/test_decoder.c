#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/codec/method.h"
#include "tests/support/test.h"
#include "tests/support/trip.h"

#define N 600
#define ROOM 8192

static float x[N], y[N];
static uint8_t message[ROOM];

static size_t encode(const char *spec, const struct gcb_options *o)
{
    struct gcb_encoder *e = NULL;
    struct gcb_diag diag;
    size_t length;

    if (gcb_encoder_open(&e, spec, N, o, &diag) ||
        gcb_encode(e, 3, 0, x, message, sizeof(message), &length, &diag))
        fail_msg("%s: %s", spec, diag.text);
    gcb_encoder_close(e);
    return length;
}

static void decodes_from_spec(const char *spec)
{
    const size_t length = encode(spec, NULL);
    struct gcb_decoder *d = NULL, *like = NULL;
    struct gcb_diag diag;
    float again[N];

    if (gcb_decoder_open(&d, spec, N, NULL, &diag) || gcb_decode(d, message, length, y, &diag) ||
        gcb_decoder_open_like(&like, message, length, NULL, &diag) ||
        gcb_decode(like, message, length, again, &diag))
        fail_msg("%s: %s", spec, diag.text);
    assert_int_equal(gcb_decoder_elements(d), N);
    assert_memory_equal(y, again, sizeof(y));
    gcb_decoder_close(d);
    gcb_decoder_close(like);
}

/* A decoder that is opened from the encoder's spec decodes its messages, for each method. */
static void opens_from_a_spec(void **state)
{
    static const char *const more[] = {
        "redsync:dense-below=0,trimmed-below=0,quant=asq", /* the encoder chooses `values` */
        "redsync:dense-below=0,quant=asq",
        "qsgd:bucket=100000", /* the encoder shortens the bucket */
        "fft:chunk=100",
        "topk:select=chunk,chunk=64",
        "topk:transform=dct,chunk=64",
    };
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++)
        decodes_from_spec(m.name);
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        decodes_from_spec(more[i]);
}

/* ---- raw messages ---- */

static void takes_raw_messages_and_others(void **state)
{
    const struct gcb_options raw = {.size = sizeof(raw), .nonfinite = GCB_NONFINITE_RAW};
    struct gcb_decoder *d = NULL;
    uint8_t stored[ROOM];
    struct gcb_message_info info = {.size = sizeof(info)};
    const float finite = x[5];
    size_t stored_length, length;
    float want[N];

    x[5] = NAN;
    stored_length = encode("qsgd", &raw);
    memcpy(stored, message, stored_length);
    assert_int_equal(gcb_message_info(&info, stored, stored_length, NULL), 0);
    assert_true(info.stored);
    memcpy(want, x, sizeof(x));
    x[5] = finite;
    length = encode("qsgd", &raw);
    assert_int_equal(gcb_decoder_open_like(&d, stored, stored_length, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcb_decode(d, stored, stored_length, y, NULL), 0);
        assert_memory_equal(y, want, sizeof(y));
        assert_int_equal(gcb_decode(d, message, length, y, NULL), 0);
        assert_true(trip_distance(x, y, N) < trip_norm(x, N));
    }
    gcb_decoder_close(d);
}

/* What a decoder of a raw message learns from a hostile message leaves it as it was. */
static void learns_nothing_from_a_bad_message(void **state)
{
    struct gcb_decoder *d = NULL;
    uint8_t bad[ROOM], stored[ROOM];
    struct gcb_diag diag;
    size_t length, stored_length;

    stored_length = encode("topk:theta=0", NULL);
    memcpy(stored, message, stored_length);
    length = encode("qsgd", NULL);
    assert_int_equal(gcb_decoder_open_like(&d, stored, stored_length, NULL, NULL), 0);
    memcpy(bad, message, length);
    bad[4] = 250;
    assert_int_equal(gcb_decode(d, bad, length, y, &diag), GCB_E_UNSUPPORTED);
    bad[4] = message[4];
    bad[16] = 99; /* bits */
    assert_int_equal(gcb_decode(d, bad, length, y, &diag), GCB_E_CORRUPT);
    bad[16] = message[16];
    bad[8]++; /* elements */
    assert_int_equal(gcb_decode(d, bad, length, y, &diag), GCB_E_MISMATCH);
    assert_int_equal(gcb_decode(d, stored, stored_length, y, &diag), 0);
    assert_memory_equal(x, y, sizeof(x));
    assert_int_equal(gcb_decode(d, message, length, y, &diag), 0);
    length = encode("topk", NULL); /* now it has learned */
    assert_int_equal(gcb_decode(d, message, length, y, &diag), GCB_E_MISMATCH);
    gcb_decoder_close(d);
}

/* ---- messages that do not fit ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_from_a_spec),
        cmocka_unit_test(takes_raw_messages_and_others),
        cmocka_unit_test(learns_nothing_from_a_bad_message),
    };

    trip_fill(x, N, TRIP_GAUSS, 7);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
