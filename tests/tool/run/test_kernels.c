/* The kernel bench covers all kernels, does the work it reports, and notices a variant that is
 * wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "src/tool/base/host.h"
#include "src/tool/run/kernels.h"
#include "tests/support/test.h"

/* A stand-in for range.encode: on request every variant except C writes one wrong code, or leaves
 * it out. */
static enum { RIGHT, WRONG, LAZY } behaviour;
static struct gcb_range_fns right;

static size_t wrong_encode(uint16_t *code, const float *x, size_t n,
                           const struct gcb_range_format *f)
{
    const size_t clamped = right.encode(code, x, behaviour == LAZY ? n - 1 : n, f);

    if (behaviour == WRONG)
        code[n - 1] ^= 1;
    return clamped;
}

/* With --wrap the linker sends calls of gcb_range_init here, and calls of __real_gcb_range_init to
 * the original. */
void __real_gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags);
void __wrap_gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags);

void __wrap_gcb_range_init(struct gcb_range_fns *fns, unsigned cpu_flags)
{
    __real_gcb_range_init(fns, cpu_flags);
    if (behaviour != RIGHT && cpu_flags) {
        __real_gcb_range_init(&right, 0);
        fns->encode = wrong_encode;
    }
}

struct seen {
    size_t results, agreeing, c, stop_after;
    struct gcb_kernel_result last;
    struct gcb_stats stats;
    double c_seconds;
    double progress;
};

static int on_result(void *ctx, const struct gcb_kernel_result *r, struct gcb_diag *diag)
{
    struct seen *s = ctx;
    const bool first = strcmp(r->isa, "c") == 0 || strcmp(r->isa, "fftw") == 0;

    s->results++;
    s->agreeing += r->agrees;
    s->c += first;
    s->last = *r;
    s->stats = r->samples->stats;
    if (first)
        s->c_seconds = s->stats.median;
    assert_true(isnan(r->speedup) == first);
    if (!first)
        assert_true(r->speedup == s->c_seconds / s->stats.median);
    assert_true(r->elements > 0 && r->bytes > 0 && s->stats.median > 0.0);
    assert_true(fabs(r->gbps * s->stats.median * 1e9 / (4.0 * (double)r->elements) - 1.0) < 1e-12);
    return 0;
}

static void on_progress(void *ctx, double done)
{
    struct seen *s = ctx;

    assert_true(done > s->progress && done <= 1.0);
    s->progress = done;
}

static bool on_stop(void *ctx)
{
    const struct seen *s = ctx;

    return s->stop_after && s->results >= s->stop_after;
}

static struct seen run(const struct gcb_kernels_config *config, size_t stop_after)
{
    struct seen seen = {.stop_after = stop_after};
    const struct gcb_kernels_observer observer = {
        on_result, &seen, {on_progress, on_stop, &seen, 0.0, 0.0}};
    bool interrupted;

    assert_int_equal(gcb_kernels_run(&interrupted, config, &observer, NULL), 0);
    assert_int_equal(interrupted, stop_after != 0);
    return seen;
}

/* Every function of struct gcb_kernels has a case, and so does the fft family, which is not in
 * it. */
static void test_all_covered(void **state)
{
    bool covered[sizeof(struct gcb_kernels) / sizeof(void *)] = {false};
    size_t fft = 0, cases = 0, count;
    const struct gcb_kernels_config all = {.glob_count = 0};

    for (const struct gcb_kernel_case *c = gcb_kernel_cases; c->name; c++, cases++) {
        if (c->offset == GCB_KERNEL_LIBRARY)
            fft += strcmp(c->family, "fft") == 0;
        else
            covered[c->offset / sizeof(void *)] = true;
    }
    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++)
        if (i < offsetof(struct gcb_kernels, fft) / sizeof(void *) ||
            i >= (offsetof(struct gcb_kernels, fft) + sizeof(struct gcb_fft_fns)) / sizeof(void *))
            assert_true(covered[i]);
    assert_true(fft >= 2);
    assert_int_equal(gcb_kernels_match(&count, &all, NULL), 0);
    assert_int_equal(count, gcb_fft_version() ? cases : cases - fft);
}

static void test_variants_agree(void **state)
{
    const struct gcb_kernels_config config = {.sizes = 1u << GCB_KERNEL_L1,
                                              .flags = gcb_cpu_detect(),
                                              .timing = {.warmup = 1, .repeat = 1}};
    const struct gcb_kernels_config plain = {
        .sizes = config.sizes, .flags = 0, .timing = config.timing};
    size_t count;
    struct seen seen = run(&config, 0);

    assert_int_equal(gcb_kernels_match(&count, &config, NULL), 0);
    assert_int_equal(seen.agreeing, seen.results);
    assert_int_equal(seen.c, count);
    assert_true(seen.progress == 1.0);
    if (config.flags)
        assert_true(seen.results > count);
    seen = run(&plain, 0);
    assert_int_equal(seen.results, count);
    assert_int_equal(seen.c, count);
}

static void test_wrong_variant(void **state)
{
    static const char *const glob[] = {"range/encode"};
    const struct gcb_kernels_config config = {.globs = glob,
                                              .glob_count = 1,
                                              .sizes = 1u << GCB_KERNEL_L2,
                                              .flags = gcb_cpu_detect(),
                                              .timing = {.repeat = 1}};
    struct seen seen;

    if (!config.flags) {
        print_message("skipped: this CPU has only the variants in C\n");
        skip();
    }
    seen = run(&config, 0);
    assert_true(seen.results >= 2 && seen.agreeing == seen.results);
    behaviour = WRONG;
    seen = run(&config, 0);
    assert_true(seen.results >= 2 && seen.agreeing == 1);
    behaviour = LAZY;
    seen = run(&config, 0);
    behaviour = RIGHT;
    assert_true(seen.results >= 2 && seen.agreeing == 1);
}

/* With min_time = 0 nothing depends on the clock. */
static void test_fixed_work(void **state)
{
    static const char *const glob[] = {"max_bits"};
    const struct gcb_bandwidth bandwidth = {.read_gbps = 2.0, .fill_gbps = 1.0};
    struct gcb_kernels_config config = {.globs = glob,
                                        .glob_count = 1,
                                        .sizes = 1u << GCB_KERNEL_L1,
                                        .timing = {.repeat = 3},
                                        .bandwidth = &bandwidth};
    struct seen seen = run(&config, 0);
    double bytes;

    assert_int_equal(seen.results, 1);
    assert_int_equal(seen.last.samples->count, 0); /* the samples have been released */
    assert_int_equal(seen.last.calls, 64);
    assert_int_equal(seen.last.elements, 4096);
    assert_int_equal(seen.last.bytes, 16384);
    assert_true(isnan(seen.last.bandwidth_share));
    config.sizes = 1u << GCB_KERNEL_MEMORY;
    seen = run(&config, 0);
    assert_int_equal(seen.last.calls, 1);
    bytes = 4.0 * (double)gcb_kernels_floats(GCB_KERNEL_MEMORY);
    assert_true((double)seen.last.bytes == bytes && bytes >= 0x1p26);
    assert_true(bytes > (double)gcb_host_cache() || 8.0 * bytes > (double)gcb_host_memory() / 4.0);
    assert_true(fabs(seen.last.bandwidth_share * seen.stats.median * 2e9 / bytes - 1.0) < 1e-12);
    config.bandwidth = NULL;
    seen = run(&config, 0);
    assert_true(isnan(seen.last.bandwidth_share));
}

static size_t matches(const char *a, const char *b)
{
    const char *const globs[] = {a, b};
    const struct gcb_kernels_config config = {.globs = globs, .glob_count = b ? 2 : 1};
    struct gcb_diag diag = {0};
    size_t count;

    if (gcb_kernels_match(&count, &config, &diag) == 0)
        return count;
    assert_int_equal(diag.status, GCB_E_INVALID);
    assert_non_null(strstr(diag.text, "no kernel is called '"));
    assert_int_equal(strstr(diag.text, "did you mean 'max_bits'?") != NULL,
                     strcmp(b ? b : a, "max_bit") == 0);
    return 0;
}

static void test_globs(void **state)
{
    assert_int_equal(matches("reduce/sum", NULL), 1);
    assert_int_equal(matches("reduce", NULL), 5);
    assert_int_equal(matches("reduce/*", "sum*"), 5);
    assert_int_equal(matches("reduce/sum", "philox"), 2);
    assert_int_equal(matches("pack:*", NULL), 7);
    assert_int_equal(matches("trits", NULL), 2);
    assert_int_equal(matches("max_bit", NULL), 0);
    assert_int_equal(matches("reduce", "max_bit"), 0);
    assert_int_equal(matches("\033[31m", NULL), 0);
}

static void test_stop(void **state)
{
    const struct gcb_kernels_config config = {.sizes = (1u << GCB_KERNEL_L1) | 1u << GCB_KERNEL_L2,
                                              .timing = {.repeat = 1}};

    assert_int_equal(run(&config, 3).results, 3);
}

RUN_TESTS(cmocka_unit_test(test_all_covered), cmocka_unit_test(test_variants_agree),
          cmocka_unit_test(test_wrong_variant), cmocka_unit_test(test_fixed_work),
          cmocka_unit_test(test_globs), cmocka_unit_test(test_stop))
