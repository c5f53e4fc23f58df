/* A coder keeps the same state from step to step on the stand-in and on the CPU. */
#include <math.h>
#include <stdint.h>

#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

enum { N = 5000 };

/* A coder on the CPU, one on the device, and memory for their messages. */
struct both {
    struct gcb_coder *cpu;
    struct gcb_coder *dev;
    struct gcb_device_batch *batch;
    struct gcb_device_message m;
    uint8_t *place; /* device memory: the tensor, then the payload */
    uint8_t *want, *got;
    size_t cap;
};

static void open_both(struct both *b, const char *spec, enum gcb_nonfinite nonfinite)
{
    const struct gcb_coder_config config = {.env = {.count = N, .seed = 5, .path = "a/b"},
                                            .nonfinite = nonfinite};
    struct gcb_device_batch_config room = {0};
    struct gcb_method m;
    void *place;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    gcb_method_forget(&m);
    assert_int_equal(gcb_coder_create(&b->cpu, &m, &config, NULL), 0);
    assert_int_equal(device_coder_create(&b->dev, &device, &m, &config, NULL), 0);
    room.scratch = gcb_device_coder_scratch(b->dev);
    assert_int_equal(gcb_device_batch_create(&b->batch, &device, &room, NULL), 0);
    assert_int_equal(
        device.module->memory.alloc(&place, 65536 + gcb_coder_max_payload(b->dev), NULL), 0);
    b->place = place;
    b->m = (struct gcb_device_message){
        .batch = b->batch, .in_dev = place, .payload_dev = b->place + 65536};
    b->cap = gcb_coder_bound(b->dev);
    b->want = malloc(b->cap);
    b->got = malloc(b->cap);
}

static void close_both(struct both *b)
{
    device.module->memory.free(b->place);
    gcb_device_batch_destroy(b->batch);
    gcb_coder_destroy(b->dev);
    gcb_coder_destroy(b->cpu);
    free(b->want);
    free(b->got);
}

static int encode_on_device(struct both *b, const struct gcb_step *at, const float *x,
                            struct gcb_wbuf *w)
{
    struct gcb_frame frame;
    int err;

    assert_int_equal(gcb_device_batch_upload(b->batch, b->m.in_dev, x, N * sizeof(float), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(b->batch), 0);
    assert_int_equal(gcb_device_coder_encode_async(b->dev, at, &b->m, NULL), 0);
    assert_int_equal(gcb_device_batch_finish(b->batch, NULL), 0);
    err = gcb_device_coder_encode_finish(b->dev, &b->m, &frame, NULL);
    return err ? err : gcb_device_coder_fetch(b->dev, &b->m, &frame, w, NULL);
}

/* Returns the length of the message; 0: both sides refuse the tensor. */
static size_t step_both(struct both *b, const struct gcb_step *at, const float *x)
{
    const struct gcb_view in = {.data = x, .count = N};
    struct gcb_wbuf want = {.data = b->want, .cap = b->cap}, got = {.data = b->got, .cap = b->cap};
    const int cpu = gcb_coder_encode(b->cpu, at, &in, &want, NULL);
    const int dev = encode_on_device(b, at, x, &got);

    if (cpu != dev || want.len != got.len || (!cpu && memcmp(b->want, b->got, want.len) != 0))
        fail_msg("step %d of worker %d: the CPU says %d, %zu bytes; the device %d, %zu",
                 (int)at->step, (int)at->worker, cpu, want.len, dev, got.len);
    return cpu ? 0 : want.len;
}

/* A step: its number, its worker, the factor on the noise, and whether a value is not finite. */
struct scene {
    uint64_t step;
    uint32_t worker;
    float times;
    bool bad;
};

static void play(const char *spec, enum gcb_nonfinite nonfinite, const struct scene *scene,
                 size_t count, size_t *length)
{
    float *x = malloc(N * sizeof(float));
    struct both b = {0};

    open_both(&b, spec, nonfinite);
    for (size_t i = 0; i < count; i++) {
        const struct gcb_step at = {.step = scene[i].step, .worker = scene[i].worker};

        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        check_fill(x, N, FILL_NOISE, 3 + i);
        for (size_t j = 0; j < N; j++)
            x[j] *= scene[i].times;
        if (scene[i].bad)
            x[N / 2 + i] = i % 2 ? (float)NAN : -(float)INFINITY;
        length[i] = step_both(&b, &at, x);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    close_both(&b);
    free(x);
}

/* A threshold is used in three steps. A tensor that is not finite neither changes nor leaves
 * one. */
static void thresholds_outlive_what_is_not_finite(void **state)
{
    static const char *const specs[] = {
        "redsync:density=0.05,dense-below=0,trimmed-below=0,interval=3",
        "redsync:density=0.05,dense-below=0,trimmed-below=0,interval=3,quant=asq",
    };
    static const struct scene scene[] = {
        {0, 0, 1.0f, true},  /* leaves no threshold */
        {1, 0, 1.0f, false}, /* searches */
        {2, 0, 4.0f, false}, /* more values reach that threshold */
        {3, 0, 4.0f, true},  /* while the threshold is valid */
        {3, 0, 4.0f, false}, /* it is still valid */
        {4, 0, 4.0f, true},  /* it is no longer valid */
        {4, 0, 4.0f, false}, /* searches */
        {5, 0, 1.0f, false}, /* fewer values reach the threshold */
        {5, 1, 1.0f, false}, /* another worker searches */
        {6, 0, 1.0f, false}, /* the first worker searches again */
        {2, 0, 1.0f, false}, /* an earlier step searches, too */
        {3, 0, 4.0f, false}, {1000000000000, 0, 1.0f, false},
    };

    for (size_t i = 0; i < COUNT(specs); i++) {
        size_t length[COUNT(scene)];

        play(specs[i], GCB_NONFINITE_ERROR, scene, COUNT(scene), length);
        assert_int_equal(length[0], 0);
        assert_int_equal(length[3], 0);
        if (i == 0) {
            assert_true(length[2] > 2 * length[1]); /* the threshold was reused */
            assert_true(length[4] > 2 * length[1]);
            assert_true(length[6] < length[4]);
            assert_true(length[7] < length[6]);
        }
        play(specs[i], GCB_NONFINITE_RAW, scene, COUNT(scene), length);
        assert_true(length[0] > N * sizeof(float));
    }
}

/* Presets at their papers' settings, in steps with alternating signs and new draws. */
static void presets_step_by_step(void **state)
{
    static const struct scene scene[] = {
        {0, 0, 1.0f, false}, {1, 0, 1.0f, false}, {1, 0, 1.0f, true},
        {2, 3, 2.0f, false}, {7, 3, 0.0f, false}, {8, 3, 1e30f, false},
    };
    struct gcb_method m;

    for (size_t i = 0; gcb_method_at(&m, i); i++) {
        size_t length[COUNT(scene)];

        if (gcb_method_caps(&m) & GCB_CAP_DEVICE_MATH || gcb_method_cpu_only(&m))
            continue;
        play(m.name, GCB_NONFINITE_RAW, scene, COUNT(scene), length);
        assert_true(length[2] > N * sizeof(float));
    }
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(thresholds_outlive_what_is_not_finite),
                  cmocka_unit_test(presets_step_by_step))
