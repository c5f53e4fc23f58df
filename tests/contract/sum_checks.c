#include "tests/contract/sum_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sums.h"
#include "tests/support/test.h"

static const float ones[SUM_MESSAGES] = {1.0f, 1.0f, 1.0f, 1.0f};
static const float weights[SUM_MESSAGES] = {0.25f, 1.1f, -0.3f, 2.0f};

#define ALL ((1u << SUM_MESSAGES) - 1)

/* ---- cases ---- */

static void encode(struct sum_case *c, uint32_t worker, const float *x, bool raw)
{
    const struct gcb_coder_config config = {.env = {.count = c->n, .seed = 7, .path = "a/b"}};
    const struct gcb_step at = {.step = 3, .worker = worker};
    const struct gcb_view in = {.data = x, .count = c->n};
    struct gcb_coder *encoder = NULL;
    struct gcb_diag diag = {0};
    struct gcb_wbuf w = {0};
    int err;

    if (gcb_coder_create(&encoder, c->method, &config, &diag))
        fail_msg("init: %s", diag.text);
    w.cap = raw ? gcb_coder_raw_bytes(encoder) : gcb_coder_bound(encoder);
    w.data = c->message[worker].bytes = malloc(w.cap);
    err = raw ? gcb_coder_encode_raw(encoder, &in, &w, &diag)
              : gcb_coder_encode(encoder, &at, &in, &w, &diag);
    if (err)
        fail_msg("encode: %s", diag.text);
    c->message[worker].length = w.len;
    gcb_coder_destroy(encoder);
}

static bool has_transform(const struct gcb_method *m)
{
    double transform = 0.0;

    return gcb_method_value(m, "transform", &transform) && transform > 0.0;
}

void sum_case_open(struct sum_case *c, const struct gcb_method *method, const float *x, uint64_t n,
                   bool mixture)
{
    float *mine = malloc((n + 1) * sizeof(float));
    double chunk = 1.0;

    *c = (struct sum_case){.method = method, .n = n};
    gcb_method_value(method, "chunk", &chunk);
    c->whole_fft = has_transform(method) && (chunk == 0.0 || chunk >= (double)n);
    for (uint32_t w = 0; w < SUM_MESSAGES; w++) {
        for (uint64_t i = 0; i < n; i++)
            mine[i] = x[(i + 7 * w) % n];
        encode(c, w, mine, mixture && w == 2);
        c->message[w].decoded = malloc((n + 1) * sizeof(float));
        assert_int_equal(
            sums_decode(c->message[w].decoded, c->message[w].bytes, c->message[w].length, n, 0), 0);
        c->message[w].fits =
            n && has_transform(method) && !(c->message[w].bytes[5] & GCB_WIRE_STORED);
    }
    free(mine);
}

void sum_case_close(struct sum_case *c)
{
    for (unsigned w = 0; w < SUM_MESSAGES; w++) {
        free(c->message[w].bytes);
        free(c->message[w].decoded);
    }
}

/* ---- sums ---- */

static struct gcb_sum *open_sum(const struct sum_case *c, float *into, int threads)
{
    const struct gcb_queue queue = {.threads = threads};
    const struct gcb_coder_config config = {.env = {.count = c->n, .queue = &queue}};
    struct gcb_sum *s = NULL;

    return gcb_sum_create(&s, c->method, into, &config, NULL) ? NULL : s;
}

static bool add(const struct sum_case *c, struct gcb_sum *s, const float *weight, unsigned mask)
{
    bool added = true;

    for (unsigned w = 0; w < SUM_MESSAGES; w++)
        if (mask >> w & 1)
            added &= !gcb_sum_add(s, c->message[w].bytes, c->message[w].length, weight[w], NULL);
    return added;
}

/* Writes the sum of the messages whose bit of `mask` is set to x. */
static bool sum_up(float *x, const struct sum_case *c, const float *weight, unsigned mask,
                   int threads)
{
    struct gcb_sum *s = open_sum(c, NULL, threads);
    const bool summed = s && add(c, s, weight, mask) && !gcb_sum_finish(s, x, NULL);

    gcb_sum_close(s);
    return summed;
}

static bool same(const struct sum_case *c, const float *a, const float *b)
{
    return sums_first_difference(a, b, c->n) == c->n;
}

/* True if x is within 1e-5 of the exact sum, relative to the norm of all that was added. Sums
 * that may overflow are not compared. The slack covers rounding near the smallest float. */
static bool near_exact(const struct sum_case *c, const float *weight, const float *x)
{
    double error = 0.0, norm = 0.0;

    for (uint64_t i = 0; i < c->n; i++) {
        double sum = 0.0;

        for (unsigned w = 0; w < SUM_MESSAGES; w++) {
            const double one = (double)weight[w] * c->message[w].decoded[i];

            sum += one;
            norm += one * one;
        }
        error += (x[i] - sum) * (x[i] - sum);
    }
    return norm > 1e70 || sqrt(error) <= 1e-5 * sqrt(norm) + 16.0 * (double)c->n * 0x1p-149;
}

/* ---- checks ---- */

/* docs/method.md: the rebuilt canvas plus the elements. The canvas itself is compared with the
 * exact sum. */
static bool is_defined(const struct sum_case *c, const float *weight)
{
    float *got = calloc(c->n + 1, sizeof(float)), *want = calloc(c->n + 1, sizeof(float));
    float *elements = calloc(c->n + 1, sizeof(float));
    unsigned fits = 0;
    bool holds;

    for (unsigned w = 0; w < SUM_MESSAGES; w++)
        if (c->message[w].fits)
            fits |= 1u << w;
        else
            sums_add(elements, c->message[w].decoded, c->n, weight[w]);
    holds = sum_up(got, c, weight, ALL, 1);
    if (fits) {
        holds &= near_exact(c, weight, got) && sum_up(want, c, weight, fits, 1);
        if (fits != ALL)
            sums_add(want, elements, c->n, 1.0f);
    }
    holds = holds && same(c, got, fits ? want : elements);
    free(got);
    free(want);
    free(elements);
    return holds;
}

static bool adds_each(const struct sum_case *c)
{
    return is_defined(c, ones);
}

static bool weighs_each(const struct sum_case *c)
{
    return is_defined(c, weights);
}

static bool threads_change_nothing(const struct sum_case *c)
{
    float *one = calloc(c->n + 1, sizeof(float)), *many = calloc(c->n + 1, sizeof(float));
    bool holds = sum_up(one, c, weights, ALL, 1);

    for (int threads = 2; threads <= 5; threads += 3) {
        holds = holds && sum_up(many, c, weights, ALL, threads);
        holds = holds && (c->whole_fft ? near_exact(c, weights, many) : same(c, one, many));
    }
    free(one);
    free(many);
    return holds;
}

static bool begins_at_zero(const struct sum_case *c)
{
    float *want = calloc(c->n + 1, sizeof(float)), *got = calloc(c->n + 1, sizeof(float));
    float *zero = calloc(c->n + 1, sizeof(float));
    struct gcb_sum *s = open_sum(c, NULL, 1);
    bool holds = s && sum_up(want, c, weights, ALL, 1);

    for (int round = 0; round < 2 && holds; round++)
        holds = add(c, s, weights, ALL) && !gcb_sum_finish(s, got, NULL) && same(c, got, want) &&
                !gcb_sum_finish(s, got, NULL) && same(c, got, zero);
    gcb_sum_close(s);
    free(zero);
    free(want);
    free(got);
    return holds;
}

static bool uses_the_callers_tensor(const struct sum_case *c)
{
    float *want = calloc(c->n + 1, sizeof(float)), *into = calloc(c->n + 1, sizeof(float));
    struct gcb_sum *s = open_sum(c, into, 1);
    bool holds = s && sum_up(want, c, weights, ALL, 1);

    for (uint64_t i = 0; i <= c->n; i++)
        into[i] = 7.0f; /* what is there before does not count */
    for (int round = 0; round < 2 && holds; round++)
        holds = add(c, s, weights, ALL) && !gcb_sum_finish(s, NULL, NULL) && same(c, into, want);
    holds = holds && into[c->n] >= 7.0f && into[c->n] <= 7.0f;
    gcb_sum_close(s);
    free(want);
    free(into);
    return holds;
}

/* The sum of message 0, a damaged message, and message 3, all with weight 1. It must be the sum
 * without the damaged message, or with what that decodes to. `x`, `without`, `decoded` have room
 * for n floats. */
static bool survives(const struct sum_case *c, struct gcb_sum *s, const uint8_t *bytes,
                     size_t length, float *x, const float *without)
{
    uint8_t *copy = malloc(length ? length : 1); /* exact size: sanitizers see every overrun */
    float *want = calloc(c->n + 1, sizeof(float));
    bool holds = add(c, s, ones, 1);
    int added;

    memcpy(copy, bytes, length);
    added = gcb_sum_add(s, copy, length, 1.0f, NULL);
    holds = holds && add(c, s, ones, 8) && !gcb_sum_finish(s, x, NULL);
    if (!has_transform(c->method)) /* else a decoder for each message takes too long */
        holds = holds && !sums_decode(want, copy, length, c->n, 0) == !added;
    if (holds && added) {
        holds = same(c, x, without);
    } else if (holds && !has_transform(c->method)) {
        float *decoded = malloc((c->n + 1) * sizeof(float));

        memcpy(decoded, want, c->n * sizeof(float));
        memset(want, 0, c->n * sizeof(float));
        sums_add(want, c->message[0].decoded, c->n, 1.0f);
        sums_add(want, decoded, c->n, 1.0f);
        sums_add(want, c->message[3].decoded, c->n, 1.0f);
        holds = same(c, x, want);
        free(decoded);
    }
    free(want);
    free(copy);
    return holds;
}

static bool damage_adds_nothing(const struct sum_case *c)
{
    float *x = calloc(c->n + 1, sizeof(float)), *without = calloc(c->n + 1, sizeof(float));
    struct gcb_sum *s = open_sum(c, NULL, 1);
    const size_t length = c->message[1].length, stride = length / 100 + 1;
    uint8_t *bytes = c->message[1].bytes;
    bool holds = s && sum_up(without, c, ones, 9, 1);

    for (size_t i = 0; i < length && holds; i += i < 40 || length - i < 40 ? 1 : stride) {
        const uint8_t old = bytes[i];

        holds = survives(c, s, bytes, i, x, without);
        bytes[i] = i % 2 ? old ^ 1 : (uint8_t)~old;
        holds = holds && survives(c, s, bytes, length, x, without);
        bytes[i] = old;
    }
    gcb_sum_close(s);
    free(x);
    free(without);
    return holds;
}

const struct sum_check sum_checks[] = {
    {"each message is added", adds_each, false},
    {"each message counts with its weight", weighs_each, false},
    {"threads do not change the sum", threads_change_nothing, false},
    {"a finished sum begins at zero", begins_at_zero, false},
    {"the caller's tensor holds the sum", uses_the_callers_tensor, false},
    {"a damaged message adds nothing", damage_adds_nothing, true},
    {NULL, NULL, false},
};
