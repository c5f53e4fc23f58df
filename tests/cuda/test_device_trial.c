/* Trials on the device, one after the other: what they take there serves the next ones. */
#include "src/tool/trial/trial.h"
#include "tests/cuda/device_test.h"

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

    (void)state;
    free(x);
    gcb_host_count(&counts);
    return counts.bytes != 0;
}

static void open_bench(struct gcb_trial_bench *b)
{
    static struct gcb_kernels kernels;
    static const struct gcb_queue queue = {.threads = 1};
    const struct gcb_trial_config config = {.kernels = &kernels,
                                            .queue = &queue,
                                            .seed = 1,
                                            .timing = {.repeat = 1},
                                            .device = &device};

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    assert_int_equal(gcb_trial_bench_init(b, &config, MOST, NULL), 0);
}

static int run(struct gcb_trial_bench *b, const struct gcb_method *method, uint64_t n,
               enum gcb_dtype type)
{
    const struct gcb_message_plan plan = {.count = n, .input_bytes = 4 * n, .dtype = type};
    const struct gcb_trial_input in = {.plan = &plan, .data = x, .env = {.path = "w"}};
    struct gcb_tally tally;
    const int err = gcb_trial_run(b, &tally, method, &in, NULL);

    assert_true(err || tally.on_device);
    return err;
}

#define METHODS 8

static struct gcb_method methods[METHODS]; /* their addresses are what they are known by */

static void parse_methods(void)
{
    static const char *const specs[METHODS] = {
        "identity", "topk",    "qsgd:coding=elias,levels=32767,bucket=1", "range", "sbc", "fp16",
        "dgc",      "terngrad"};

    for (size_t i = 0; i < METHODS; i++)
        assert_int_equal(gcb_method_parse(&methods[i], specs[i], NULL), 0);
}

/* Allocations that trials of all methods take, each of tensors of several sizes and types. */
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

/* Once there was the largest of each, nothing is taken. */
static void memory_is_kept(void **state)
{
    struct gcb_trial_bench b;
    uint64_t first;

    (void)state;
    parse_methods();
    open_bench(&b);
    first = allocations(&b);
    assert_in_range(first, 1, 20);
    assert_int_equal(allocations(&b), 0);
    gcb_trial_bench_fini(&b);
}

/* What one trial failed of is no other's fault, and what is kept leaves room for what needs it. */
static void failures_pass(void **state)
{
    static struct gcb_method fft;
    struct gcb_host_counts counts;
    struct gcb_trial_bench b;

    (void)state;
    parse_methods();
    assert_int_equal(gcb_method_parse(&fft, "sparse:transform=fft,chunk=63", NULL), 0);
    open_bench(&b);
    gcb_host_fft(GCB_HOST_FFT_FAILS);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), GCB_E_DEVICE);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), 0); /* much scratch */
    gcb_host_count(&counts);
    gcb_host_limit(counts.bytes + 100);
    assert_int_equal(run(&b, &methods[2], MOST, GCB_F32), 0); /* a longer payload */
    gcb_host_limit(counts.bytes / 10);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), GCB_E_NOMEM);
    gcb_host_limit(0);
    assert_int_equal(run(&b, &fft, MOST, GCB_F32), 0);
    gcb_trial_bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_kept),
        cmocka_unit_test(failures_pass),
    };

    return cmocka_run_group_tests(tests, fill, release);
}
