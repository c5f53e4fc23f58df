/*
 * Promises: every check finds a broken one, and accuses no method over many seeds. tests/contract
 * asks them of every case.
 *
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/read/synthetic.h"
#include "src/tool/run/promises.h"
#include "tests/support/test.h"
#include "tests/tool/run/saboteur.h"

#define N 5000

struct setup {
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_coder_config config;
    struct gcb_method method;
};

static void set_up(struct setup *s, const char *spec, uint64_t n, uint64_t seed)
{
    struct gcb_diag diag = {.status = 0};

    gcb_kernels_init(&s->kernels, gcb_cpu_detect());
    s->queue = (struct gcb_queue){.threads = 1};
    s->config = (struct gcb_coder_config){
        .env = {.count = n, .seed = seed, .path = "t", .kernels = &s->kernels, .queue = &s->queue}};
    if (gcb_method_parse(&s->method, spec, &diag))
        fail_msg("%s: %s", spec, diag.text);
}

static const struct gcb_promise *promise(const char *name)
{
    const struct gcb_promise *p;

    for (int device = 0; device < 2; device++)
        for (size_t i = 0; (p = gcb_promise_at(i, device)); i++)
            if (strcmp(p->name, name) == 0)
                return p;
    fail_msg("no promise %s", name);
    return NULL;
}

static enum gcb_promise_status check(const struct gcb_promise *p, const char *spec, const float *x,
                                     uint64_t n, enum fault fault, struct gcb_promise_outcome *out)
{
    struct saboteur saboteur = {.fault = fault};
    const struct gcb_promise_backend trip = {.encode = saboteur_encode,
                                             .decode = saboteur_decode,
                                             .add = saboteur_add,
                                             .ctx = &saboteur};
    struct gcb_diag diag = {.status = 0};
    struct gcb_promise_case b;
    struct setup s;

    set_up(&s, spec, n, 1);
    saboteur.own = &s.kernels;
    assert_int_equal(
        gcb_promise_case_init(&b, &s.method, &s.config, &(struct gcb_step){3, 0}, x, &trip, &diag),
        0);
    assert_true(gcb_promise_binds(p, &s.method));
    p->check(&b);
    assert_int_equal(b.failure.status, 0);
    *out = b.outcome;
    gcb_promise_case_fini(&b);
    return out->status;
}

static void fill(float *x, uint64_t n)
{
    struct gcb_synthetic laplace;

    assert_int_equal(gcb_synthetic_parse(&laplace, "laplace", NULL), 0);
    gcb_synthetic_fill(&laplace, x, n, 7, 0);
}

/* Ways of breaking each promise, and a method that it binds. Error rules are broken by
 * test_rules. */
static const struct {
    const char *promise, *method;
    enum fault fault;
} broken[] = {
    {"round-trip", "fp16", LEAVES_OUT},
    {"round-trip", "fp16", WRITES_OUTSIDE},
    {"round-trip", "fp16", MAKES_NAN},
    {"round-trip", "fp16", FLICKERS},
    {"round-trip", "fp16", FAILS},
    {"same-bytes", "fp16", FORGETS},
    {"same-bytes", "fp16", WEARS_OUT},
    {"same-threads", "fp16", BY_THREADS},
    {"same-isa", "fp16", BY_ISA},
    {"same-device", "fp16", OTHER_BYTES},
    {"same-device", "topk", NUDGES},
    {"same-device", "fft", NUDGES},
    {"size", "fp16", TOO_LONG},
    {"size", "topk", ODD_PARTS},
    {"refuses-cut", "topk", TAKES_CUT},
    {"refuses-cut", "topk", TAKES_MORE},
    {"damage", "test/own", ENDS},
    {"sum", "topk", NUDGES},
    {"sum", "topk", IGNORES_WEIGHTS},
    {"sum", "topk", ADDS_DAMAGED},
    {"sum", "topk", CHANGES_REFUSED},
    {"sum", "fft", NUDGES},
    {"sum", "fft", IGNORES_WEIGHTS},
    {"sum", "fft", CHANGES_REFUSED},
    {"sum", "qsgd", IGNORES_WEIGHTS},
    {"sum", "qsgd", CHANGES_REFUSED},
    {"lossless", "identity", NUDGES},
    {"fp16-error", "fp16", NUDGES},
    {"contraction", "topk", NEGATES},
    {"verbatim", "topk", NUDGES},
    {"projection", "topk", SHRINKS},
    {"projection", "sbc", SHRINKS},
    {"projection", "redsync:quant=asq", SHRINKS},
    {"projection", "stc", SHRINKS},
    {"projection", "demo:pad=none,chunk=64", SHRINKS},
    {"kept-energy", "fft", SHRINKS},
    {"kept-energy", "fft:pad=smooth", NEGATES},
    {"largest", "topk", DROPS_LARGEST},
    {"largest", "stc", FEWER_KEPT},
    {"largest-bins", "fft", NEGATES},
    {"draws-apart", "qsgd", ONE_WORKER},
    {"unbiased", "qsgd", SHRINKS},
    {"unbiased", "qsgd", SHIFTS},
    {"unbiased", "terngrad:clip=0", SHRINKS_MUCH},
    {"levels-error", "qsgd:norm=l2", SCATTERS},
    {"ternary-error", "terngrad:clip=0", SCATTERS},
    {"rotation", "drive", SHRINKS},
    {"rotation", "eden:bits=2,scale=least,block=128", NEGATES},
    {"averages-out", "drive", ONE_SEED},
    {"averages-out", "eden:bits=2", SHRINKS_MUCH},
};

/* The promise is kept, and its check finds the fault. */
static void check_both(const char *name, const char *spec, const float *x, enum fault fault)
{
    const struct gcb_promise *p = promise(name);
    struct gcb_promise_outcome out;

    if (check(p, spec, x, N, NONE, &out) != GCB_PROMISE_KEPT)
        fail_msg("%s of %s: %s", name, spec, out.words);
    if (check(p, spec, x, N, fault, &out) != GCB_PROMISE_BROKEN)
        fail_msg("%s of %s: fault %d went unnoticed", name, spec, fault);
    assert_true(strlen(out.words) > 0);
}

static void test_broken(void **state)
{
    float x[N];

    fill(x, N);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        check_both(broken[i].promise, broken[i].method, x, broken[i].fault);
}

/* What an error rule brings: its own promise, and for draws the promises about draws. */
static void check_rule(const char *spec, const float *x)
{
    const struct gcb_error_rule *rule;
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    rule = gcb_error_rule_of(&m);
    check_both(rule->promise.name, spec, x, rule->drawn ? SCATTERS : DOUBLES);
    if (!rule->drawn)
        return;
    check_both("draws-apart", spec, x, ONE_SEED);
    check_both("draws-apart", spec, x, ONE_WORKER);
    if (gcb_method_caps(&m) & GCB_CAP_UNBIASED)
        check_both("unbiased", spec, x, SHRINKS_MUCH);
}

/* Rules that no method has by default. */
static const char *const drawn_specs[] = {"fp8:rounding=stochastic", "bf16:rounding=stochastic",
                                          "cgx:rounding=stochastic", "int8:rounding=stochastic"};
#define DRAWN_SPECS (sizeof(drawn_specs) / sizeof(drawn_specs[0]))

/* Every codec's error rule has a row, every row has a codec, and all checks of a rule find
 * faults. */
static void test_rules(void **state)
{
    const struct gcb_error_rule *rule;
    struct gcb_method m;
    float x[N];

    fill(x, N);
    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        const unsigned caps = gcb_method_caps(&m);
        const char *const named =
            m.codec->error_rule_of ? m.codec->error_rule_of(m.value) : m.codec->error_rule;

        rule = gcb_error_rule_of(&m);
        if (named && !rule)
            fail_msg("%s: its error_rule has no row in src/tool/run/error_rules.c", m.name);
        if (caps & GCB_CAP_UNBIASED && !(caps & GCB_CAP_LOSSLESS) && !(rule && rule->drawn))
            fail_msg("%s claims to be unbiased, which nobody checks: name a drawn error_rule in "
                     "the descriptor of its codec",
                     m.name);
        if (rule)
            check_rule(m.name, x);
    }
    for (size_t i = 0; i < DRAWN_SPECS; i++)
        check_rule(drawn_specs[i], x);
    for (size_t r = 0; (rule = gcb_error_rule_at(r)); r++) {
        bool found = false;

        for (size_t i = 0; gcb_method_at(&m, i); i++)
            found |= gcb_error_rule_of(&m) == rule;
        for (size_t i = 0; i < DRAWN_SPECS; i++)
            found |=
                gcb_method_parse(&m, drawn_specs[i], NULL) == 0 && gcb_error_rule_of(&m) == rule;
        assert_true(found);
    }
}

/* True if this is one of the promises that test_rules breaks. */
static bool has_rule(const struct gcb_promise *p)
{
    const struct gcb_error_rule *rule;

    for (size_t i = 0; (rule = gcb_error_rule_at(i)); i++)
        if (&rule->promise == p)
            return true;
    return false;
}

/* Every other promise has a row in `broken`. */
static void all_are_broken(bool on_device)
{
    const struct gcb_promise *p;
    size_t count = 0;

    for (; (p = gcb_promise_at(count, on_device)); count++) {
        assert_true(p->claim && p->source && p->check);
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(gcb_promise_at(i, on_device)->name, p->name);
        for (size_t i = 0; !has_rule(p) && i <= sizeof(broken) / sizeof(broken[0]); i++) {
            if (i == sizeof(broken) / sizeof(broken[0]))
                fail_msg("no fault breaks %s: add a row to `broken`", p->name);
            if (strcmp(broken[i].promise, p->name) == 0)
                break;
        }
    }
    assert_true(count > 0);
}

static void test_all_are_broken_once(void **state)
{
    all_are_broken(false);
    all_are_broken(true);
}

/* A device that fails breaks no promise: nothing can be said. */
static void test_device_fails(void **state)
{
    struct saboteur s = {.fault = DEVICE_FAILS};
    const struct gcb_promise_backend trip = {
        .encode = saboteur_encode, .decode = saboteur_decode, .ctx = &s};
    struct gcb_promise_case b;
    struct setup at;
    float x[N];

    fill(x, N);
    set_up(&at, "fp16", N, 1);
    assert_int_equal(
        gcb_promise_case_init(&b, &at.method, &at.config, &(struct gcb_step){0, 0}, x, &trip, NULL),
        0);
    assert_int_equal(b.failure.status, 0);
    promise("round-trip")->check(&b);
    assert_int_equal(b.failure.status, GCB_E_DEVICE);
    assert_non_null(strstr(b.failure.text, "a fault"));
    gcb_promise_case_fini(&b);
}

/* docs/verify.md, or NULL. Its readers find the claims of error rules in rows. */
static void all_kept(const char *spec, const float *x, uint64_t n, uint64_t seed)
{
    const struct gcb_promise *p;
    struct gcb_diag diag = {.status = 0};
    struct gcb_promise_case b;
    struct setup s;

    set_up(&s, spec, n, seed);
    gcb_method_forget(&s.method);
    assert_int_equal(
        gcb_promise_case_init(&b, &s.method, &s.config, &(struct gcb_step){0, 0}, x, NULL, &diag),
        0);
    for (size_t i = 0; (p = gcb_promise_at(i, false)); i++) {
        if (!gcb_promise_binds(p, &s.method))
            continue;
        if (p->check(&b) == GCB_PROMISE_BROKEN)
            fail_msg("%s of %s, %llu elements, seed %llu: %s", p->name, spec, (unsigned long long)n,
                     (unsigned long long)seed, b.outcome.words);
        assert_int_equal(b.failure.status, 0);
    }
    gcb_promise_case_fini(&b);
}

/* Rounding to float32's least step may break some of a promise: the rest still binds. If it may
 * break all, the check says nothing. */
static void test_least_steps(void **state)
{
    static const struct {
        const char *promise, *method;
        enum fault fault;
        double rms, tiny; /* of elements; 0: none is too small */
    } cases[] = {
        {"largest-bins", "fft", NEGATES, 1e-41, 1e-44},
        {"largest-bins", "sparse:transform=dct,chunk=64", NEGATES, 1e-41, 1e-44},
        {"kept-energy", "fft", SHRINKS_MUCH, 1e-41, 1e-44},
        {"projection", "sparse:transform=dct", SHRINKS_MUCH, 1e-41, 1e-44},
        {"contraction", "fft", NEGATES, 1e-41, 1e-44},
        {"levels-error", "qsgd", SCATTERS, 1e-41, 0.0},
        {"ternary-error", "terngrad", SCATTERS, 1e-41, 0.0},
        {"draws-apart", "qsgd", ONE_SEED, 1e-42, 0.0},
    };
    float x[N], y[N], z[N];

    fill(x, N);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct gcb_promise *p = promise(cases[i].promise);
        const double rms = sqrt(gcb_promise_energy(x, N) / N);
        struct gcb_promise_outcome out;

        for (size_t k = 0; k < N; k++) {
            y[k] = (float)(x[k] / rms * cases[i].rms);
            z[k] = (float)(x[k] / rms * cases[i].tiny);
        }
        if (check(p, cases[i].method, y, N, NONE, &out) != GCB_PROMISE_KEPT ||
            check(p, cases[i].method, y, N, cases[i].fault, &out) != GCB_PROMISE_BROKEN)
            fail_msg("%s of %s: %s", p->name, cases[i].method, out.words);
        if (cases[i].tiny > 0.0)
            assert_int_equal(check(p, cases[i].method, z, N, NONE, &out), GCB_PROMISE_IDLE);
    }
}

static bool is_drawn(const struct gcb_method *m)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(m);

    return rule && rule->drawn;
}

/* Statistical checks accuse no method that keeps its promises: 40 seeds, few and many levels, and
 * every method that draws. */
static void test_no_false_alarm(void **state)
{
    static const char *const specs[] = {
        "qsgd:bits=2,bucket=64", "qsgd:norm=l2,bits=3",
        "terngrad:clip=0",       "qsgd:levels=1,norm=l2,bucket=5000",
        "qsgd:bits=8",
    };
    struct gcb_method m;
    float x[N];

    fill(x, N);
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
        for (uint64_t seed = 1; seed <= 40; seed++)
            all_kept(specs[i], x, N, 1000 * seed);
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        for (uint64_t seed = 1; seed <= 40 && is_drawn(&m); seed++)
            all_kept(m.name, x, N, 1000 * seed);
    for (int kind = 0; kind < 3; kind++) { /* of least steps; L2 norms above the largest float */
        for (uint64_t i = 0; i < N; i++)
            x[i] = ldexpf((float)(i * i * 7919 % (kind ? 41 : 3)) - (kind ? 20.0f : 1.0f),
                          kind < 2 ? -149 : 123);
        for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
            all_kept(specs[i], x, N, 1);
    }
}

/* Stages and capabilities decide which promises bind. */
static void test_binding(void **state)
{
    static const struct {
        const char *method, *promise;
        bool binds;
    } cases[] = {
        {"topk", "verbatim", true},
        {"topk:values=fp16", "verbatim", false},
        {"topk:values=range", "projection", false},
        {"topk:values=sign-mean", "projection", true},
        {"redsync:quant=asq", "verbatim", false},
        {"redsync:quant=asq", "projection", true},
        {"redsync:quant=asq,values=fp16", "projection", false},
        {"sparse:transform=fft,values=means", "projection", false},
        {"sparse:transform=dct,values=means", "projection", true},
        {"fft", "verbatim", false},
        {"fft", "kept-energy", true},
        {"fft:values=fp32", "kept-energy", false},
        {"fft:values=fp32", "projection", true},
        {"fft", "largest", false},
        {"sbc", "largest", false},
        {"terngrad", "unbiased", false},
        {"terngrad:clip=0", "unbiased", true},
        {"terngrad", "contraction", false},
        {"eden", "averages-out", true},
        {"eden:scale=least", "averages-out", false},
        {"qsgd", "levels-error", true},
        {"qsgd", "ternary-error", false},
        {"identity", "lossless", true},
        {"fp16", "lossless", false},
    };
    struct setup s;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(&s, cases[i].method, 1, 1);
        if (gcb_promise_binds(promise(cases[i].promise), &s.method) != cases[i].binds)
            fail_msg("%s of %s", cases[i].promise, cases[i].method);
    }
}

/* ---- a method of the test's own: sends float32 ---- */

static int own_bound(void *ctx, uint64_t n, size_t *bytes, struct gcb_diag *diag)
{
    *bytes = n * sizeof(float);
    return 0;
}

static int own_encode(void *ctx, const struct gcb_own_at *at, const float *x, uint64_t n, void *out,
                      size_t room, size_t *length, struct gcb_diag *diag)
{
    memcpy(out, x, n * sizeof(*x));
    *length = n * sizeof(*x);
    return 0;
}

static int own_decode(void *ctx, const void *message, size_t length, float *x, uint64_t n,
                      struct gcb_diag *diag)
{
    if (length == n * sizeof(*x))
        memcpy(x, message, length);
    return length == n * sizeof(*x) ? 0 : GCB_E_CORRUPT;
}

int main(void)
{
    const struct gcb_own_method own = {.size = sizeof(own),
                                       .name = "test/own",
                                       .bound = own_bound,
                                       .encode = own_encode,
                                       .decode = own_decode};

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_all_are_broken_once),
        cmocka_unit_test(test_device_fails),
        cmocka_unit_test(test_least_steps),
        cmocka_unit_test(test_no_false_alarm),
        cmocka_unit_test(test_binding),
    };

    if (gcb_method_add(&own, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
