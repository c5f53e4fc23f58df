/* Trials on the device, one after the other, reuse the device memory of earlier ones. */
#include "src/tool/run/trial.h"
#include "tests/cuda/device_test.h"
#include "tests/support/one_trial.h"

#define MOST 5000

static float *x;

static int fill(void **state)
{
    x = calloc(MOST, sizeof(*x));
    check_fill(x, MOST, FILL_NOISE, 3);
    return open_device(state);
}

static int release(void **state)
{
    struct gcb_host_counts counts;

    free(x);
    gcb_host_count(&counts);
    return counts.bytes != 0;
}

static void open_bench(struct gcb_trial_bench *b)
{
    static struct gcb_kernels kernels;
    static const struct gcb_queue queue = {.threads = 1};
    const struct gcb_trial_config config = {.compute.kernels = &kernels,
                                            .compute.queue = &queue,
                                            .compute.seed = 1,
                                            .timing = {.repeat = 1},
                                            .compute.device = &device};

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    assert_int_equal(gcb_trial_bench_init(b, &config, MOST, NULL), 0);
}

static int run(struct gcb_trial_bench *b, const struct gcb_method *method, uint64_t n,
               enum gcb_dtype type)
{
    const struct gcb_message_plan plan = {.count = n, .input_bytes = 4 * n, .dtype = type};
    const struct gcb_trial_input in = {.plan = &plan, .data = x, .env = {.path = "w"}};
    struct gcb_tally tally;
    const int err = run_one_trial(b, &tally, method, &in);

    assert_true(err || tally.on_device);
    return err;
}

#define METHODS 8

static struct gcb_method methods[METHODS]; /* trials identify methods by address */

static void parse_methods(void)
{
    static const char *const specs[METHODS] = {
        "identity", "topk",    "qsgd:coding=elias,levels=32767,bucket=1", "range", "sbc", "fp16",
        "dgc",      "terngrad"};

    for (size_t i = 0; i < METHODS; i++)
        assert_int_equal(gcb_method_parse(&methods[i], specs[i], NULL), 0);
}

/* Number of allocations in trials of all methods, each on tensors of several sizes and types. */
static uint64_t allocations(struct gcb_trial_bench *b)
{
    static const uint64_t sizes[] = {MOST, 100, 4097, 0, 1, MOST};
    struct gcb_host_counts before, after;

    gcb_host_count(&before);
    for (size_t i = 0; i < METHODS; i++)
        for (size_t k = 0; k < COUNT(sizes); k++)
            assert_int_equal(run(b, &methods[i], sizes[k], (enum gcb_dtype)(k % GCB_DTYPE_COUNT)),
                             0);
    gcb_host_count(&after);
    return after.allocations - before.allocations;
}

/* After the largest tensor of each method, nothing is allocated. */
static void memory_is_kept(void **state)
{
    struct gcb_trial_bench b;
    uint64_t first;

    parse_methods();
    open_bench(&b);
    first = allocations(&b);
    assert_in_range(first, 1, 20);
    assert_int_equal(allocations(&b), 0);
    gcb_trial_bench_fini(&b);
}

/* A failed trial does not affect others, and kept memory is freed if another trial needs it. */
static void failures_pass(void **state)
{
    static struct gcb_method fft;
    struct gcb_host_counts counts;
    struct gcb_trial_bench b;

    parse_methods();
    assert_int_equal(gcb_method_parse(&fft, "sparse:transform=fft,chunk=63", NULL), 0);
    open_bench(&b);
    gcb_host_fft(GCB_HOST_FFT_FAILS);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), GCB_E_DEVICE);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), 0); /* needs much scratch */
    gcb_host_count(&counts);
    gcb_host_limit(counts.bytes + 100);
    assert_int_equal(run(&b, &methods[2], MOST, GCB_F32), 0); /* a longer payload */
    gcb_host_limit(counts.bytes / 10);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), GCB_E_NOMEM);
    gcb_host_limit(0);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), 0);
    gcb_trial_bench_fini(&b);
}

/* The messages of a group that the callback got; it fails at one of them. */
struct taken {
    size_t count, fail_at;
    struct gcb_tally total;
    double bytes, seconds[8];
};

static int take(void *ctx, struct gcb_run_trial *trial, struct gcb_diag *diag)
{
    const struct gcb_tally *tally = &trial->tally;
    struct taken *t = ctx;

    if (t->count == t->fail_at)
        return GCB_E_IO;
    t->seconds[t->count++] = tally->encode.seconds;
    t->bytes += (double)tally->input_bytes;
    gcb_tally_merge(&t->total, tally);
    return 0;
}

/* Consecutive messages of a method and step form a group. Its times are shared out by bytes; its
 * launches count once. */
static void groups(void **state)
{
    static const uint64_t sizes[] = {100, 0, 4097, 1, MOST};
    static const size_t want[METHODS] = {5, 1, 1, 5,
                                         1, 5, 1, 5}; /* in the order of parse_methods */
    struct gcb_message_plan plan[COUNT(sizes)];
    struct gcb_trial_input in[COUNT(sizes)];
    struct gcb_trial_bench b;

    parse_methods();
    open_bench(&b);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        plan[i] = (struct gcb_message_plan){
            .count = sizes[i], .input_bytes = 4 * sizes[i], .dtype = GCB_F32};
        in[i] = (struct gcb_trial_input){.plan = &plan[i], .data = x, .env = {.path = "w"}};
    }
    for (size_t i = 0; i < METHODS; i++) {
        const size_t n = gcb_trial_group(&b, &methods[i], in, COUNT(sizes));
        struct taken t = {.fail_at = SIZE_MAX};

        b.config.take = take;
        b.config.ctx = &t;
        assert_int_equal(n, want[i]);
        assert_int_equal(gcb_trial_run_group(&b, &methods[i], in, n, NULL), 0);
        assert_int_equal(t.count, n);
        assert_int_equal(t.total.group, n);
        assert_in_range(t.total.encode.launches, 1, 20);
        for (size_t k = 0; k < n; k++)
            assert_float_equal(t.seconds[k] / t.total.encode.seconds,
                               (double)plan[k].input_bytes / t.bytes, 1e-9);
    }
    plan[2].dense = true; /* sent as identity, so not in a group of another method */
    assert_int_equal(gcb_trial_group(&b, &methods[5], in, COUNT(sizes)), 2);
    assert_int_equal(gcb_trial_group(&b, &methods[0], in, COUNT(sizes)), 5);
    for (size_t at = 0; at < 3; at++) {
        struct taken t = {.fail_at = at};

        b.config.take = take;
        b.config.ctx = &t;
        assert_int_equal(gcb_trial_run_group(&b, &methods[0], in, 3, NULL), GCB_E_IO);
        assert_int_equal(t.count, at);
        assert_int_equal(b.at, at);
    }
    gcb_trial_bench_fini(&b);
}

RUN_TESTS_BETWEEN(fill, release, cmocka_unit_test(memory_is_kept), cmocka_unit_test(failures_pass),
                  cmocka_unit_test(groups))
