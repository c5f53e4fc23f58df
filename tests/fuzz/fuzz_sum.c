/*
 * A stream of messages, for sums. An input is a byte of options, the number of a method, and
 * records: a weight (1 byte), a length (2 bytes), a message. A sum accepts a message if it decodes.
 * Refused messages leave no trace. Without a transform the sum is, bit for bit, what decoding and
 * adding gives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "src/lib/codec/method.h"
#include "src/lib/wire/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/sums.h"

#define MOST 16 /* messages of a stream */

enum { OPEN_LIKE = 1, INTO = 2 };

struct record {
    const uint8_t *message;
    size_t length;
    float weight;
    bool accepted;
};

struct stream {
    unsigned options;
    struct gcb_method method;
    struct record record[MOST];
    size_t count;
    uint64_t n;
    bool fft; /* some message has a transform, so threads may change the last bits */
};

/* ---- the stream ---- */

static float weight_of(uint8_t code)
{
    static const float weights[] = {1.0f, 0.25f, -0.5f, 0.3f, 3e38f, 1e-40f, 0.0f, NAN};

    return code < 248 ? weights[code % 7] : weights[7];
}

/* Takes a copy of exactly the message's size, so that a read past its end is seen. */
static size_t read_record(struct record *r, const uint8_t *data, size_t size)
{
    size_t length = (size_t)data[1] | (size_t)data[2] << 8;
    uint8_t *copy;

    if (length > size - 3)
        length = size - 3;
    copy = malloc(length ? length : 1);
    if (!copy)
        abort();
    memcpy(copy, data + 3, length);
    *r = (struct record){.message = copy, .length = length, .weight = weight_of(data[0])};
    return 3 + length;
}

static void read_stream(struct stream *s, const uint8_t *data, size_t size)
{
    struct gcb_message_info info = {.size = sizeof(info)};
    size_t methods = 0;

    while (gcb_method_at(&s->method, methods))
        methods++;
    s->options = data[0];
    gcb_method_at(&s->method, data[1] % methods);
    for (size_t at = 2; size - at >= 3 && s->count < MOST;)
        at += read_record(&s->record[s->count++], data + at, size - at);
    s->n = 300;
    for (size_t i = 0; i < s->count; i++) {
        s->fft |= sums_has_canvas(s->record[i].message, s->record[i].length);
        if (i == 0 && !gcb_message_info(&info, s->record[i].message, s->record[i].length, NULL))
            s->n = info.elements;
    }
}

static void free_stream(struct stream *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((void *)(uintptr_t)s->record[i].message);
}

/* ---- sums ---- */

static float *new_tensor(const struct stream *s)
{
    float *x = malloc(((size_t)s->n + 1) * sizeof(*x));

    if (!x)
        abort();
    memset(x, 0x5a, ((size_t)s->n + 1) * sizeof(*x));
    return x;
}

static struct gcb_sum *open_sum(const struct stream *s, float *into, int threads)
{
    static const int allowed[] = {GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_NOMEM, 0};
    const struct gcb_options options = {
        .size = sizeof(options), .threads = threads, .max_elements = FUZZ_MAX_ELEMENTS};
    struct gcb_sum *sum = NULL;
    struct gcb_diag diag = {0};
    char spec[256];
    int err;

    if (s->options & OPEN_LIKE)
        err = gcb_sum_open_like(&sum, s->record[0].message, s->record[0].length, into, &options,
                                &diag);
    else
        err = gcb_sum_open(&sum, gcb_method_spec(spec, sizeof(spec), &s->method, GCB_SPEC_FULL),
                           s->n, into, &options, &diag);
    fuzz_require_status(err, &diag, allowed);
    return err ? NULL : sum;
}

/* Adds a message, and decodes it with a decoder of its own into `back`. */
static void add(struct gcb_sum *sum, const struct stream *s, struct record *r, float *back)
{
    static const int allowed[] = {GCB_E_CORRUPT, GCB_E_UNSUPPORTED, GCB_E_NOMEM, GCB_E_MISMATCH, 0};
    struct gcb_diag diag = {0};
    const int decodes = sums_decode(back, r->message, r->length, s->n, 0);
    const int err = gcb_sum_add(sum, r->message, r->length, r->weight, &diag);

    if (err == GCB_E_INVALID)
        fuzz_require(!isfinite(r->weight), "only weights are invalid", &diag);
    else
        fuzz_require_status(err, &diag, allowed);
    fuzz_require(!err == (!decodes && isfinite(r->weight)), "a sum accepts a message if it decodes",
                 &diag);
    r->accepted = !err;
}

/* True if there is a canvas. That depends on the method of the sum: the spec's, or the first
 * message's that is not raw. */
static bool has_canvas(const struct stream *s)
{
    double transform = 0.0;

    if (!(s->options & OPEN_LIKE))
        return s->n && gcb_method_value(&s->method, "transform", &transform) && transform > 0.0;
    for (size_t i = 0; i < s->count; i++)
        if ((i == 0 || s->record[i].accepted) && !(s->record[i].message[5] & GCB_WIRE_STORED))
            return sums_has_canvas(s->record[i].message, s->record[i].length);
    return false;
}

static void finish(struct gcb_sum *sum, float *x)
{
    struct gcb_diag diag = {0};

    fuzz_require(!gcb_sum_finish(sum, x, &diag), "a sum finishes", &diag);
}

static void must_equal(const struct stream *s, const float *a, const float *b, const char *promise)
{
    fuzz_require(sums_first_difference(a, b, s->n) == s->n, promise, NULL);
}

/* Only the accepted messages, in a new sum: with its own accumulator if the first sum had not, and
 * with more threads. */
static void sum_accepted(float *x, const struct stream *s)
{
    float *into = s->options & INTO ? NULL : new_tensor(s);
    struct gcb_sum *sum = open_sum(s, into, s->fft ? 1 : 3);

    fuzz_require(sum != NULL, "a sum opens twice", NULL);
    for (size_t i = 0; i < s->count; i++)
        if (s->record[i].accepted)
            fuzz_require(!gcb_sum_add(sum, s->record[i].message, s->record[i].length,
                                      s->record[i].weight, NULL),
                         "an accepted message is accepted again", NULL);
    finish(sum, x);
    gcb_sum_close(sum);
    free(into);
}

static void check(struct stream *s)
{
    float *x = new_tensor(s), *again = new_tensor(s), *back = new_tensor(s);
    float *acc = calloc((size_t)s->n + 1, sizeof(*acc));
    struct gcb_sum *sum = open_sum(s, s->options & INTO ? x : NULL, 1);

    s->fft |= sum && has_canvas(s); /* the method's transform may be whole */
    for (size_t i = 0; sum && i < s->count; i++) {
        add(sum, s, &s->record[i], back);
        if (s->record[i].accepted)
            sums_add(acc, back, s->n, s->record[i].weight);
    }
    if (sum) {
        finish(sum, s->options & INTO ? NULL : x);
        sum_accepted(again, s);
        must_equal(s, x, again, "refused messages leave no trace");
        if (!has_canvas(s))
            must_equal(s, x, acc, "a sum is what decoding and adding gives");
        finish(sum, x);
        memset(acc, 0, (size_t)s->n * sizeof(*acc));
        must_equal(s, x, acc, "the next sum begins at zero");
    }
    gcb_sum_close(sum);
    free(acc);
    free(back);
    free(again);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream s = {0};

    if (size < 5)
        return 0;
    read_stream(&s, data, size);
    if (s.n <= FUZZ_MAX_ELEMENTS)
        check(&s);
    free_stream(&s);
    return 0;
}
