/* The stages of encoding: reported in order, timed separately, without any effect on the message.
 * The clock is this test's: one piece of work of each stage takes time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/fft/fft.h"
#include "src/lib/wire/buf.h"
#include "src/tool/base/clock.h"
#include "src/tool/run/rows.h"
#include "tests/support/one_trial.h"
#include "tests/support/test.h"

/* Seconds of a transform, of a selection's pass over a tile, of coding a tile of values, and of
 * taking room in a message. Their sums are exact. */
#define TRANSFORM 1.0
#define COLLECT 0x1p-12
#define VALUES 0x1p-24
#define TAKE 0x1p-36

static double now;
static struct gcb_kernels real;

double __wrap_gcb_clock(void);
void __real_gcb_fft_forward(const struct gcb_fft *fft, const float *from, float *bins);
void __wrap_gcb_fft_forward(const struct gcb_fft *fft, const float *from, float *bins);
void __real_gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *to);
void __wrap_gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *to);
uint8_t *__real_gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n);
uint8_t *__wrap_gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n);

double __wrap_gcb_clock(void)
{
    return now;
}

void __wrap_gcb_fft_forward(const struct gcb_fft *fft, const float *from, float *bins)
{
    now += TRANSFORM;
    __real_gcb_fft_forward(fft, from, bins);
}

void __wrap_gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *to)
{
    now += TRANSFORM;
    __real_gcb_fft_inverse(fft, bins, to);
}

uint8_t *__wrap_gcb_wbuf_take(struct gcb_wbuf *w, uint64_t n)
{
    now += TAKE;
    return __real_gcb_wbuf_take(w, n);
}

static size_t collect(uint32_t *pos, float *value, const uint32_t *from, const float *x, size_t n,
                      uint32_t first, uint32_t threshold)
{
    now += COLLECT;
    return real.select.collect(pos, value, from, x, n, first, threshold);
}

static size_t encode_values(uint16_t *code, const float *from, size_t n,
                            const struct gcb_range_format *f)
{
    now += VALUES;
    return real.range.encode(code, from, n, f);
}

static void decode_values(float *to, const uint16_t *code, size_t n,
                          const struct gcb_range_format *f)
{
    now += VALUES;
    real.range.decode(to, code, n, f);
}

#define N ((size_t)1 << 20)

static float *x;

static int fill(void **state)
{
    uint32_t seed = 7;

    x = malloc(N * sizeof(*x));
    for (size_t i = 0; x && i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * 0.01f;
    }
    return x ? 0 : -1;
}

static int release(void **state)
{
    free(x);
    return 0;
}

struct heard {
    enum gcb_stage stage[GCB_STAGES]; /* in the order of their first ends */
    size_t count;
};

static void hear(void *ctx, enum gcb_stage stage)
{
    struct heard *h = ctx;

    for (size_t i = 0; i < h->count; i++)
        if (h->stage[i] == stage) { /* chunks are transformed and selected from in turn */
            assert_true(stage <= GCB_STAGE_SELECT);
            return;
        }
    h->stage[h->count++] = stage;
}

/* Encodes x[0..n) with this probe; returns the length of the message. */
static size_t encode(uint8_t **out, const char *spec, size_t n, const struct gcb_probe *probe)
{
    const struct gcb_coder_config config = {.env = {.count = n, .seed = 1, .probe = probe}};
    struct gcb_method method;
    struct gcb_coder *coder;
    struct gcb_wbuf message = {0};

    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_coder_create(&coder, &method, &config, NULL), 0);
    message.cap = gcb_coder_bound(coder);
    message.data = test_malloc(message.cap);
    assert_int_equal(
        gcb_coder_encode(coder, &(struct gcb_step){0}, &(struct gcb_view){x, n}, &message, NULL),
        0);
    gcb_coder_destroy(coder);
    *out = message.data;
    return message.len;
}

static void check_method(const char *spec, size_t n, size_t stages)
{
    struct heard heard = {.count = 0};
    const struct gcb_probe probe = {.mark = hear, .ctx = &heard};
    const struct gcb_probe silent = {.mark = NULL};
    uint8_t *plain, *quiet, *probed;
    const size_t length = encode(&plain, spec, n, NULL);

    assert_int_equal(encode(&probed, spec, n, &probe), length);
    assert_int_equal(encode(&quiet, spec, n, &silent), length);
    assert_memory_equal(plain, probed, length);
    assert_memory_equal(plain, quiet, length);
    assert_int_equal(heard.count, stages);
    for (size_t i = 0; i < heard.count; i++)
        assert_int_equal(heard.stage[i], i);
    test_free(plain);
    test_free(probed);
    test_free(quiet);
}

static void test_probe(void **state)
{
    static const char *const staged[] = {"fft",
                                         "fft:chunk=4096",
                                         "topk",
                                         "sbc",
                                         "redsync",
                                         "topk:transform=dct,chunk=64,values=range",
                                         "topk:transform=hadamard,values=fp16,index=adaptive"};
    static const char *const plain[] = {"identity", "fp16", "qsgd", "terngrad"};

    for (size_t i = 0; i < sizeof(staged) / sizeof(staged[0]); i++) {
        check_method(staged[i], 100000, GCB_STAGES);
        check_method(staged[i], 1, GCB_STAGES);
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        check_method(plain[i], 10000, 0);
}

/* Runs a trial of a method and makes its row, which the caller releases. */
static void try_method(struct gcb_tally *tally, struct gcb_row *row, const char *spec, bool stages)
{
    static const struct gcb_rows_setting setting = {.scope = "tensor",
                                                    .order = "name",
                                                    .device = "cpu",
                                                    .isa = "c",
                                                    .threads = 1,
                                                    .read_gbps = NAN,
                                                    .fill_gbps = NAN};
    const struct gcb_message_plan plan = {.count = N, .input_bytes = 4 * N, .dtype = GCB_F32};
    const struct gcb_trial_input in = {.plan = &plan, .data = x, .env = {.path = "t"}};
    const struct gcb_tensor first = {.path = "t", .file = "f"};
    struct gcb_kernels kernels;
    const struct gcb_queue queue = {.threads = 1};
    const struct gcb_trial_config config = {.compute.kernels = &kernels,
                                            .compute.queue = &queue,
                                            .compute.seed = 1,
                                            .timing = {.warmup = 1, .repeat = 5},
                                            .stages = stages};
    struct gcb_trial_bench bench = {0};
    struct gcb_run_trial trial = {
        .plan = &plan, .first = &first, .name = "t", .samples = bench.samples};
    struct gcb_method method;

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    real = kernels;
    kernels.select.collect = collect;
    kernels.range.encode = encode_values;
    kernels.range.decode = decode_values;
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_trial_bench_init(&bench, &config, N, NULL), 0);
    assert_int_equal(run_one_trial(&bench, tally, &method, &in), 0);
    trial.tally = *tally;
    gcb_rows_result(row, &setting, &method, &trial);
    gcb_trial_bench_fini(&bench);
}

static double field(const struct gcb_row *row, const char *name)
{
    const json_t *value = json_object_get(row->json, name);

    assert_non_null(value);
    return json_is_null(value) ? -1.0 : json_real_value(value);
}

/* The stages of encoding, in order; returns their sum. */
static double stages_of(double out[4], const struct gcb_row *row)
{
    static const char *const names[] = {"transform_seconds", "select_seconds", "quantise_seconds",
                                        "index_seconds"};
    double sum = 0.0;

    for (int i = 0; i < 4; i++) {
        out[i] = field(row, names[i]);
        sum += out[i];
    }
    return sum;
}

static double sum_of_stages(const struct gcb_row *row)
{
    double stages[4];

    return stages_of(stages, row);
}

/* True if this time is made of pieces of `unit` seconds, up to 4095 of them, and shorter ones. */
static bool made_of(double time, double unit)
{
    return time >= unit && time < 4096.0 * unit;
}

/* Each stage takes the time of its own work. The encoding takes as long as all stages, and then
 * ends the message. */
static void test_sum(void **state)
{
    struct gcb_tally tally;
    struct gcb_row row;
    double stages[4];

    try_method(&tally, &row, "fft:theta=0.8", true);
    assert_true(made_of(field(&row, "encode_seconds") - stages_of(stages, &row), TAKE));
    assert_true(made_of(stages[0], TRANSFORM) && made_of(stages[1], COLLECT));
    assert_true(made_of(stages[2], VALUES) && made_of(stages[3], TAKE));
    assert_true(field(&row, "decode_transform_seconds") == TRANSFORM);
    assert_true(made_of(field(&row, "decode_quantise_seconds"), VALUES));
    assert_true(field(&row, "decode_transform_seconds") + field(&row, "decode_quantise_seconds") ==
                field(&row, "decode_seconds"));
    gcb_row_fini(&row);
    try_method(&tally, &row, "topk:values=range", true);
    assert_true(made_of(field(&row, "encode_seconds") - stages_of(stages, &row), TAKE));
    assert_true(made_of(stages[0], TAKE) && made_of(stages[1], COLLECT)); /* the header */
    assert_true(made_of(stages[2], VALUES) && made_of(stages[3], TAKE));
    gcb_row_fini(&row);
}

/* Null unless asked for, and for a method without stages; otherwise a sum over messages. */
static void test_rows(void **state)
{
    struct gcb_tally tally, all = {0};
    struct gcb_row row;

    try_method(&tally, &row, "topk", false);
    assert_true(sum_of_stages(&row) == -4.0 && tally.encode.staged == 0);
    gcb_row_fini(&row);
    try_method(&tally, &row, "fp16", true);
    assert_true(sum_of_stages(&row) == -4.0 && tally.encode.staged == 0);
    gcb_row_fini(&row);
    gcb_tally_merge(&all, &tally);
    try_method(&tally, &row, "topk", true);
    assert_true(field(&row, "select_seconds") == tally.encode.stage[GCB_STAGE_SELECT]);
    gcb_row_fini(&row);
    gcb_tally_merge(&all, &tally);
    gcb_tally_merge(&all, &tally);
    assert_int_equal(all.encode.staged, 2);
    for (int i = 0; i < GCB_STAGES; i++)
        assert_true(all.encode.stage[i] == 2.0 * tally.encode.stage[i]);
}

static bool at_once(void *ctx)
{
    ++*(int *)ctx;
    return true;
}

/* Stopped after one encoding; a tensor that is sent raw has no stages. */
static void test_measure(void **state)
{
    struct gcb_stages stages = {.probe = {.ctx = &stages}};
    const struct gcb_coder_config config = {.env = {.count = 1000, .probe = &stages.probe}};
    struct gcb_encode_job job = {.in = {x, 1000}};
    int asked = 0;
    const struct gcb_timing timing = {.stop = at_once, .stop_ctx = &asked};
    struct gcb_method method;
    uint8_t bytes[16000];
    struct gcb_wbuf message = {.data = bytes, .cap = sizeof(bytes)};
    struct gcb_encode_call call = {.job = &job, .message = &message};
    const struct gcb_operation op = gcb_encode_operation(&call);

    assert_int_equal(gcb_method_parse(&method, "topk", NULL), 0);
    assert_int_equal(gcb_coder_create(&job.coder, &method, &config, NULL), 0);
    assert_int_equal(gcb_stages_measure(&stages, &timing, 5, &op, NULL), 0);
    assert_true(stages.staged && asked == 1 && stages.seconds[GCB_STAGE_QUANTISE] == TAKE);
    assert_null(stages.probe.mark);
    job.raw = true;
    assert_int_equal(gcb_stages_measure(&stages, &timing, 5, &op, NULL), 0);
    assert_false(stages.staged);
    assert_true(message.len > 4000);
    message.cap = 100;
    job.raw = false;
    assert_int_equal(gcb_stages_measure(&stages, &timing, 5, &op, NULL), GCB_E_NOSPACE);
    gcb_coder_destroy(job.coder);
}

RUN_TESTS_BETWEEN(fill, release, cmocka_unit_test(test_probe), cmocka_unit_test(test_sum),
                  cmocka_unit_test(test_rows), cmocka_unit_test(test_measure))
