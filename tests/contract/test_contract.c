/*
 * The contract that every method keeps. Cases come from the registry, the preset table and the
 * parameter tables, so a new codec, preset or choice is tested as soon as its row exists.
 * docs/adding-a-codec.md says what the contract asks.
 *
 *   test_contract [NAME]    only the methods whose full spec contains NAME
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/coder/coder.h"
#include "src/lib/sparse/stages.h"
#include "src/tool/run/promises.h"
#include "tests/contract/cases.h"
#include "tests/kernels/check.h"
#include "tests/support/test.h"

#define GUARD 0xa5

/* ---- inputs ---- */

static const size_t sizes[] = {0,  1,  2,   3,   5,   8,   15,   16,   17,   31,   63,    64,
                               65, 99, 127, 257, 512, 513, 1000, 4095, 4096, 4097, 12289, 70001};
/* The sizes of a brief case: empty, one element, a tail, several tiles. */
static bool brief_size(size_t n)
{
    return n == 0 || n == 1 || n == 17 || n == 99 || n == 4097;
}

/* The sizes at which promises are checked. */
static bool promise_size(size_t n, bool brief)
{
    return n == 99 || (!brief && (n == 1 || n == 17 || n == 1000 || n == 4097 || n == 12289));
}

#define SIZES (sizeof(sizes) / sizeof(*sizes))
#define LARGEST 70001

enum input {
    IN_NOISE,
    IN_HOSTILE,
    IN_TIES,
    IN_ZERO,
    IN_CONSTANT,
    IN_ONE_HOT,
    IN_TINY,
    IN_STEPS, /* multiples of the smallest float */
    IN_SPIKE, /* a huge value among small ones */
    INPUTS
};

static void fill(float *x, size_t n, enum input in, uint64_t seed)
{
    switch (in) {
    case IN_NOISE:
        check_fill(x, n, FILL_NOISE, seed);
        break;
    case IN_HOSTILE:
        check_fill(x, n, FILL_HOSTILE, seed);
        break;
    case IN_TIES:
        check_fill(x, n, FILL_TIES, seed);
        break;
    case IN_ZERO:
        check_fill(x, n, FILL_ZERO, seed);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            x[i] = in == IN_CONSTANT ? -0.1f : 0.0f;
        for (size_t i = 0; in == IN_TINY && i < n; i++)
            x[i] = (float)((int)(i % 5) - 2) * 1e-42f;
        if (in == IN_ONE_HOT && n)
            x[n / 2] = 3.0f;
        for (size_t i = 0; in == IN_STEPS && i < n; i++)
            x[i] = ((float)(i * i * 7919 % 41) - 20.0f) * 0x1p-149f;
        for (size_t i = 0; in == IN_SPIKE && i < n; i++)
            x[i] = i == 0 ? 1e30f : 1e-30f;
    }
}

/* ---- an encoder, a decoder, and what they made ---- */

struct trip {
    struct gcb_coder *encoder, *decoder;
    uint8_t *message;
    size_t length;
    float *back;
    size_t n;
};

struct setting {
    int threads;
    unsigned flags;
    uint64_t segment;
};

static const struct setting plain = {.threads = 1};

static void configure(struct gcb_coder_config *config, struct gcb_queue *queue,
                      struct gcb_kernels *kernels, const struct setting *s, size_t n)
{
    queue->threads = s->threads;
    gcb_kernels_init(kernels, s->flags);
    *config = (struct gcb_coder_config){
        .env = {.count = n,
                .seed = 7,
                .path = "a/b",
                .segment = s->segment,
                .kernels = kernels,
                .queue = queue},
        .checksum = true,
    };
}

/* Messages of codecs without length_varies all have the same length. Tensors that are sent raw may
 * have another. */
static void check_length(const struct trip *t)
{
    const size_t length = gcb_coder_length(t->encoder);
    struct gcb_message_info info = {.size = sizeof(info)};

    assert_int_equal(gcb_message_info(&info, t->message, t->length, NULL), 0);
    if (length && t->length != length && !info.stored)
        fail_msg("a message of %zu bytes instead of %zu, but no length_varies", t->length, length);
}

static void encode(struct trip *t, const struct gcb_method *m, const struct setting *s,
                   const float *x, size_t n)
{
    const struct gcb_step at = {.step = 3, .worker = 1};
    const struct gcb_view in = {.data = x, .count = n};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_diag diag = {0};
    struct gcb_wbuf w = {0};

    configure(&config, &queue, &kernels, s, n);
    if (gcb_coder_create(&t->encoder, m, &config, &diag))
        fail_msg("init: %s", diag.text);
    w.cap = gcb_coder_bound(t->encoder);
    w.data = t->message = malloc(w.cap + 64);
    memset(t->message, GUARD, w.cap + 64);
    if (gcb_coder_encode(t->encoder, &at, &in, &w, &diag))
        fail_msg("encode: %s", diag.text);
    for (size_t i = 0; i < 64; i++)
        if (t->message[w.cap + i] != GUARD)
            fail_msg("encode wrote after the end of its buffer, which max_payload had asked for");
    gcb_message_seal(t->message, w.len, 0);
    t->length = w.len;
    t->n = n;
    check_length(t);
}

static void decode(struct trip *t, const struct setting *s)
{
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_diag diag = {0};
    struct gcb_mview out;

    configure(&config, &queue, &kernels, s, 0);
    t->back = malloc((t->n + 16) * sizeof(float));
    memset(t->back, GUARD, (t->n + 16) * sizeof(float));
    out = (struct gcb_mview){.data = t->back, .count = t->n};
    assert_int_equal(gcb_message_check(t->message, t->length, 0, &diag), 0);
    if (gcb_coder_create_decoder(&t->decoder, t->message, t->length, &config, &diag))
        fail_msg("init of the decoder: %s", diag.text);
    if (gcb_coder_decode(t->decoder, t->message, t->length, &out, &diag))
        fail_msg("decode: %s", diag.text);
    for (size_t i = 0; i < 16 * sizeof(float); i++)
        if (((uint8_t *)(t->back + t->n))[i] != GUARD)
            fail_msg("decode wrote after the end of the tensor of %zu elements", t->n);
}

static void release(struct trip *t)
{
    gcb_coder_destroy(t->encoder);
    gcb_coder_destroy(t->decoder);
    free(t->message);
    free(t->back);
    memset(t, 0, sizeof(*t));
}

/* ---- the contract ---- */

/* True if FFTW transforms n elements as a whole: its plans depend on threads and the CPU. */
static bool by_fftw(const struct gcb_method *m, size_t n)
{
    char spec[256];

    gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL);
    return strstr(spec, "transform=fft") && strstr(spec, "chunk=0") && strstr(spec, "pad=none") &&
           !gcb_fft_is_own(n);
}

struct compared {
    const struct gcb_method *m;
    const float *x, *y;
};

static void element_is_near(void *ctx, uint64_t i, const struct gcb_element_error *e)
{
    const struct compared *c = ctx;
    const double error = fabs((double)c->x[i] - (double)c->y[i]);
    const double slack = gcb_error_rule_of(c->m)->drawn ? gcb_element_slack(c->x[i], e) : 0.0;
    char spec[256];

    if (error > e->most + slack)
        fail_msg("%s: element %llu, %.9g, comes back as %.9g; its error rule, \"%s\" in "
                 "src/tool/run/error_rules.c, allows an error of %.9g",
                 gcb_method_spec(spec, sizeof(spec), c->m, GCB_SPEC_FULL), (unsigned long long)i,
                 (double)c->x[i], (double)c->y[i], gcb_error_rule_of(c->m)->name, e->most);
}

/* No element is farther from the original than its codec's error rule says. */
static void error_rule_holds(const struct gcb_method *m, const struct trip *t, const float *x)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(m);
    const struct gcb_rule_input in = {m, x, t->n, t->message, t->length};
    struct compared compared = {m, x, t->back};

    if (rule && !(t->message[5] & GCB_WIRE_STORED))
        assert_true(rule->visit(&in, element_is_near, &compared));
}

/* Every promise of `gcbench verify` that binds the method is kept. Only finite sums can be
 * checked. */
static void promises_hold(const struct gcb_method *m, const float *x, size_t n)
{
    const struct setting one = {.threads = 1, .flags = gcb_cpu_detect()};
    const struct gcb_step at = {.step = 3, .worker = 1};
    const struct gcb_promise *p;
    struct gcb_promise_case c;
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;

    configure(&config, &queue, &kernels, &one, n);
    config.checksum = false; /* nothing seals the messages */
    assert_int_equal(gcb_promise_case_init(&c, m, &config, &at, x, NULL, NULL), 0);
    for (size_t i = 0; (p = gcb_promise_at(i, false)); i++) {
        if (gcb_promise_binds(p, m) && p->check(&c) == GCB_PROMISE_BROKEN)
            fail_msg("%zu elements: the promise %s (src/tool/run) is broken: %s", n, p->name,
                     c.outcome.words);
        assert_int_equal(c.failure.status, 0);
    }
    gcb_promise_case_fini(&c);
}

/* `words`: what was done differently for b. */
static void same_message(const struct trip *a, const struct trip *b, const char *words)
{
    const size_t n = a->length < b->length ? a->length : b->length;
    size_t i = 0;

    while (i < n && a->message[i] == b->message[i])
        i++;
    if (i < a->length || i < b->length)
        fail_msg("%s: messages of %zu elements differ from byte %zu on; docs/method.md has the "
                 "rules of arithmetic that make them the same",
                 words, a->n, i);
}

/* One and two threads, and each set of kernels: C, AVX2 and the best. */
static void settings_agree(const struct gcb_method *m, const float *x, const struct trip *a)
{
    const unsigned flags[] = {0, gcb_cpu_detect() & GCB_CPU_AVX2, gcb_cpu_detect()};
    char words[40];

    for (size_t i = 0; i < 3; i++)
        for (int threads = 1; threads <= 2; threads++) {
            struct trip b = {0};

            if (i > 0 ? flags[i] == flags[i - 1] : threads == plain.threads)
                continue;
            snprintf(words, sizeof(words), "%s, %d threads",
                     (const char *const[]){"C", "AVX2", "the best kernels"}[i], threads);
            encode(&b, m, &(struct setting){.threads = threads, .flags = flags[i]}, x, a->n);
            same_message(a, &b, words);
            release(&b);
        }
}

static void round_trip(const struct gcb_method *m, const float *x, size_t n, enum input in,
                       bool brief)
{
    struct trip a = {0}, b = {0};

    encode(&a, m, &plain, x, n);
    decode(&a, &plain);
    error_rule_holds(m, &a, x);
    encode(&b, m, &(struct setting){.threads = 3, .flags = gcb_cpu_detect()}, x, n);
    decode(&b, &(struct setting){.threads = 3, .flags = gcb_cpu_detect()});
    if (!by_fftw(m, n)) {
        same_message(&a, &b, "three threads and the best kernels");
        assert_memory_equal(a.back, b.back, n * sizeof(float));
        settings_agree(m, x, &a);
    }
    release(&b);
    release(&a);
    if (in != IN_HOSTILE && promise_size(n, brief))
        promises_hold(m, x, n);
}

/* Small segments give the same tensor as one segment: the 64-bit arithmetic without the memory. They
 * take more bytes, so only one of the two messages may be stored. */
static void segments(const struct gcb_method *m, const float *x, size_t n)
{
    const struct setting cut = {.threads = 2, .segment = 100};
    struct trip a = {0}, b = {0};
    double index = 0.0;

    gcb_method_value(m, "index", &index);
    if ((int)index == GCB_INDEX_BLOOM) /* each segment has a filter, so other positions are found */
        return;
    encode(&a, m, &plain, x, n);
    decode(&a, &plain);
    encode(&b, m, &cut, x, n);
    decode(&b, &cut);
    if (!by_fftw(m, n) && (a.message[5] & GCB_WIRE_STORED) == (b.message[5] & GCB_WIRE_STORED))
        assert_memory_equal(a.back, b.back, n * sizeof(float));
    release(&a);
    release(&b);
}

/* With nothing dropped, a transform and its inverse give the tensor back, up to the half precision
 * of the values. (With wider values the tensor would be stored raw.) */
static void keeping_all_loses_nothing(const struct gcb_method *m, const float *x, size_t n)
{
    struct gcb_method all = *m;
    struct trip t = {0};
    double error = 0.0, norm = 0.0;
    char spec[256];

    if (!strstr(gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL), "values=fp16") ||
        !strstr(spec, "index=bitmap") || !strstr(spec, "select=topk"))
        return;
    all.value[0] = 0.0;
    encode(&t, &all, &plain, x, n);
    decode(&t, &plain);
    for (size_t i = 0; i < n; i++) {
        error += ((double)x[i] - t.back[i]) * ((double)x[i] - t.back[i]);
        norm += (double)x[i] * x[i];
    }
    assert_int_equal(t.message[5] & GCB_WIRE_STORED, 0);
    assert_true(sqrt(error) <= 5e-4 * sqrt(norm));
    release(&t);
}

static void try_decode(const uint8_t *message, size_t length, size_t n)
{
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_coder *c = NULL;
    float *back = malloc((n + 1) * sizeof(float));
    uint8_t *copy = malloc(length ? length : 1); /* exact size: sanitizers see every overrun */
    const struct gcb_mview out = {.data = back, .count = n};
    struct gcb_message_parts parts;

    memcpy(copy, message, length);
    configure(&config, &queue, &kernels, &plain, 0);
    config.max_elements = 1 << 20;
    if (gcb_coder_create_decoder(&c, copy, length, &config, NULL) == 0) {
        gcb_coder_decode(c, copy, length, &out, NULL);
        gcb_coder_describe(c, copy, length, &parts, NULL);
    }
    gcb_coder_destroy(c);
    free(back);
    free(copy);
}

/* A message that is cut or has a changed byte, in `ways` ways, is refused or decodes to something;
 * nothing outside is read or written. */
static void survives_damage(const struct gcb_method *m, const float *x, size_t n, int ways)
{
    struct trip t = {0};
    uint64_t random = 99;

    encode(&t, m, &plain, x, n);
    for (size_t cut = 0; cut < t.length; cut++)
        try_decode(t.message, cut, n);
    for (size_t i = 0; i < t.length; i++) {
        const uint8_t old = t.message[i];

        for (int k = 0; k < ways; k++) {
            t.message[i] = k == 0 ? (uint8_t)~old : k == 3 ? 0xff : (uint8_t)check_random(&random);
            try_decode(t.message, t.length, n);
        }
        t.message[i] = old ^ 1;
        assert_int_not_equal(gcb_message_check(t.message, t.length, 0, NULL), 0);
        t.message[i] = old;
    }
    release(&t);
}

/* Encodes x as this worker with the coder of t, which has encoded before. The message replaces that
 * of t. */
static void encode_again(struct trip *t, const float *x, uint32_t worker)
{
    const struct gcb_step at = {.step = 3, .worker = worker};
    const struct gcb_view in = {.data = x, .count = t->n};
    struct gcb_wbuf w = {.data = t->message, .cap = gcb_coder_bound(t->encoder)};

    assert_int_equal(gcb_coder_encode(t->encoder, &at, &in, &w, NULL), 0);
    gcb_message_seal(t->message, w.len, 0);
    t->length = w.len;
}

/* A later message and its counts depend on nothing of an earlier tensor. Only draws depend on the
 * worker. */
static void coder_keeps_no_trace(const struct gcb_method *m, const float *x, size_t n)
{
    float *other = malloc(n * sizeof(float));
    struct trip a = {0}, b = {0};

    for (size_t i = 0; i < n; i++)
        other[i] = -1e3f * x[n - 1 - i];
    encode(&a, m, &plain, x, n);
    encode(&b, m, &plain, other, n);
    if (!(gcb_method_caps(m) & GCB_CAP_STATEFUL)) {
        encode_again(&b, x, 1);
        same_message(&a, &b, "after another tensor");
        assert_int_equal(gcb_coder_clamped(a.encoder), gcb_coder_clamped(b.encoder));
        encode_again(&b, x, 2);
        if (!(gcb_method_caps(m) & GCB_CAP_RANDOMISED) || b.message[5] & GCB_WIRE_STORED)
            same_message(&a, &b, "as another worker, without GCB_CAP_RANDOMISED");
        else if (a.length == b.length && memcmp(a.message, b.message, a.length) == 0)
            fail_msg("GCB_CAP_RANDOMISED, but two workers make the same message: draw by "
                     "gcb_draw_stream");
    }
    release(&a);
    release(&b);
    free(other);
}

/* ---- infinities and NaNs ---- */

/* Encodes with another policy than the contract's default, at byte 5 of a message with room for a
 * raw tensor. */
static int encode_by(enum gcb_nonfinite policy, const struct gcb_method *m, const float *x,
                     size_t n, struct gcb_wbuf *w)
{
    const struct setting many = {.threads = 2, .flags = gcb_cpu_detect()};
    const struct gcb_step at = {.step = 3, .worker = 1};
    struct gcb_coder *c = NULL;
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    int err;

    configure(&config, &queue, &kernels, &many, n);
    config.nonfinite = policy;
    assert_int_equal(gcb_coder_create(&c, m, &config, NULL), 0);
    w->cap = 5 + gcb_coder_bound(c);
    w->data = realloc(w->data, w->cap);
    w->len = 5;
    w->failed = false;
    err = gcb_coder_encode(c, &at, &(struct gcb_view){.data = x, .count = n}, w, NULL);
    gcb_coder_destroy(c);
    return err;
}

/* Every policy for this tensor, which has an infinity or NaN. */
static void policies_hold(const struct gcb_method *m, const float *x, size_t n)
{
    struct gcb_wbuf w = {0};
    struct gcb_message_info info = {.size = sizeof(info)};

    assert_int_equal(encode_by(GCB_NONFINITE_ERROR, m, x, n, &w), GCB_E_NONFINITE);
    assert_int_equal(w.len, 5);
    assert_int_equal(encode_by(GCB_NONFINITE_RAW, m, x, n, &w), 0);
    gcb_message_seal(w.data + 5, w.len - 5, 0);
    assert_int_equal(gcb_message_info(&info, w.data + 5, w.len - 5, NULL), 0);
    assert_true(info.stored);
    assert_memory_equal(w.data + w.len - 8 - n * sizeof(*x), x, n * sizeof(*x));
    encode_by(GCB_NONFINITE_TRUSTED, m, x, n, &w); /* unspecified, but stays in its arrays */
    free(w.data);
}

/* An infinity or NaN is found wherever it is, and leaves no trace in the coder. `stride` 5 leaves
 * out most pairs of a place and a value, but no place. */
static void nonfinite_are_found(const struct gcb_method *m, float *x, size_t n, size_t stride)
{
    static const uint32_t bad[] = {0x7f800000u, 0xff800000u, 0x7f800001u, 0xffffffffu};
    const size_t places[] = {0, n / 2, n - 1};
    struct trip fresh = {0}, used = {0};

    encode(&fresh, m, &plain, x, n);
    encode(&used, m, &plain, x, n);
    for (size_t i = 0; i < 12; i += stride) {
        struct gcb_wbuf w = {.data = used.message, .cap = gcb_coder_bound(used.encoder)};
        const float old = x[places[i % 3]];

        x[places[i % 3]] = gcb_float_of(bad[i / 3]);
        policies_hold(m, x, n);
        assert_int_equal(gcb_coder_encode(used.encoder, &(struct gcb_step){.step = 3},
                                          &(struct gcb_view){.data = x, .count = n}, &w, NULL),
                         GCB_E_NONFINITE);
        x[places[i % 3]] = old;
    }
    encode_again(&used, x, 1);
    same_message(&fresh, &used, "after a NaN");
    release(&fresh);
    release(&used);
}

static void finds_nonfinite(const struct gcb_method *m, bool brief)
{
    static const size_t some[] = {1, 17, 4097, LARGEST};
    float *x = malloc(LARGEST * sizeof(float));

    for (size_t i = brief; i < (brief ? 2 : 4); i++) {
        fill(x, some[i], IN_NOISE, 9);
        nonfinite_are_found(m, x, some[i], brief ? 5 : 1);
        for (size_t j = 0; j < some[i]; j++)
            x[j] = gcb_float_of(0xffffffffu);
        policies_hold(m, x, some[i]);
    }
    free(x);
}

static void keeps_contract(void **state)
{
    const struct contract_case *c = *state;
    const struct gcb_method *m = &c->method;
    float *x;

    contract_need_fftw(c);
    x = malloc((LARGEST + 1) * sizeof(float));
    for (size_t i = 0; i < SIZES; i++) {
        for (int in = 0; in < INPUTS; in++) {
            if ((sizes[i] > 5000 && in > IN_TIES) ||
                (c->brief && (!brief_size(sizes[i]) || in > IN_ZERO)))
                continue;
            fill(x + 1, sizes[i], (enum input)in, i * 31 + (size_t)in); /* + 1: not aligned */
            round_trip(m, x + 1, sizes[i], (enum input)in, c->brief);
        }
    }
    fill(x, 1000, IN_NOISE, 5);
    keeping_all_loses_nothing(m, x, 1000);
    keeping_all_loses_nothing(m, x, 997);
    segments(m, x, 1000);
    coder_keeps_no_trace(m, x, 1000);
    survives_damage(m, x, 37, c->brief ? 2 : 4);
    if (!c->brief)
        survives_damage(m, x, 300, 4);
    finds_nonfinite(m, c->brief);
    free(x);
}

/* Long tensors of several spans, which threads share (about GCB_SPAN elements each). */
static void threads_share_long_tensors(void **state)
{
    enum { LONG = 700001 };
    const struct setting many = {.threads = 3, .flags = gcb_cpu_detect()};
    float *x = malloc(LONG * sizeof(float));
    struct gcb_method m;

    fill(x, LONG, IN_NOISE, 8);
    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        struct trip a = {0}, b = {0};

        if (by_fftw(&m, LONG))
            continue;
        encode(&a, &m, &plain, x, LONG);
        decode(&a, &plain);
        encode(&b, &m, &many, x, LONG);
        decode(&b, &many);
        same_message(&a, &b, "three threads");
        assert_memory_equal(a.back, b.back, LONG * sizeof(float));
        release(&a);
        release(&b);
    }
    free(x);
}

static void *copy_spec(const struct gcb_method *m)
{
    char *spec = malloc(256);

    return gcb_method_spec(spec, 256, m, GCB_SPEC_FULL);
}

int main(int argc, char **argv)
{
    struct CMUnitTest *tests;
    int failed;

    contract_generate(argc > 1 ? argv[1] : NULL, false);
    tests = calloc(contract_count + 1, sizeof(*tests));
    for (size_t i = 0; i < contract_count; i++)
        tests[i] = (struct CMUnitTest){
            .name = copy_spec(&contract_cases[i].method),
            .test_func = keeps_contract,
            .initial_state = &contract_cases[i],
        };
    tests[contract_count] = (struct CMUnitTest)cmocka_unit_test(threads_share_long_tensors);
    failed = _cmocka_run_group_tests("contract", tests, contract_count + 1, NULL, NULL);
    for (size_t i = 0; i < contract_count; i++)
        free((void *)(uintptr_t)tests[i].name);
    free(tests);
    return failed;
}
