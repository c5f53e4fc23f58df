#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/device_sum.h"
#include "tests/support/test.h"

const char *const device_sums[] = {
    "fp16",
    "qsgd",
    "qsgd:coding=elias",
    "terngrad:packing=base3",
    "range",
    "topk",
    "sbc",
    "randomk:scaling=unbiased",
    "sparse:values=range,index=golomb",
    "sparse:transform=hadamard,chunk=4096",
    "sparse:transform=dct,chunk=64",
    "sparse:transform=fft,chunk=4096",
    "fft:pad=smooth",
    "sparse:transform=dct,chunk=60,pad=smooth",
    NULL,
};

void device_sum_open(struct device_sum *s, const struct gcb_device *device, const char *spec,
                     uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n}};
    const struct gcb_device_batch_config batch = {.messages = 1};
    struct gcb_diag diag = {0};
    struct gcb_method method;

    *s = (struct device_sum){.device = device, .n = n};
    assert_int_equal(gcb_method_parse(&method, spec, NULL), 0);
    assert_int_equal(gcb_sum_create(&s->cpu, &method, NULL, &config, NULL), 0);
    if (gcb_device_sum_create(&s->dev, device, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    assert_int_equal(gcb_device_batch_create(&s->batch, device, &batch, NULL), 0);
    assert_int_equal(device->module->memory.alloc(&s->result, n * sizeof(float), NULL), 0);
}

void device_sum_close(struct device_sum *s)
{
    gcb_sum_close(s->cpu);
    gcb_device_sum_destroy(s->dev);
    gcb_device_batch_destroy(s->batch);
    s->device->module->memory.free(s->result);
    *s = (struct device_sum){0};
}

/* Uploads the payload and adds it. */
static int add_there(struct device_sum *s, const struct trip *t, float weight,
                     struct gcb_diag *diag)
{
    void *payload_dev = NULL;
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    int err = gcb_frame_parse(&frame, &payload, t->message, t->length, NULL);

    if (err)
        return err;
    assert_int_equal(s->device->module->memory.alloc(&payload_dev, frame.payload_bytes, NULL), 0);
    assert_int_equal(
        gcb_device_batch_upload(s->batch, payload_dev, payload.data, frame.payload_bytes, NULL), 0);
    err = gcb_device_sum_add(s->dev, &frame, payload_dev, weight, diag);
    s->device->module->memory.free(payload_dev);
    return err;
}

int device_sum_add(struct device_sum *s, const struct trip *t, float weight)
{
    const int cpu = gcb_sum_add(s->cpu, t->message, t->length, weight, NULL);
    struct gcb_diag diag = {0};
    const int dev = add_there(s, t, weight, &diag);

    if (dev != cpu)
        fail_msg("adding gives %d on the device (%s), %d on the CPU", dev, diag.text, cpu);
    if (!cpu)
        s->allowed += 1e-6 * fabs((double)weight) * sqrt(trip_norm(t->back, t->n));
    return cpu;
}

void device_sum_compare(struct device_sum *s, const char *what, bool near)
{
    float *want = calloc(s->n + 1, sizeof(*want)), *got = calloc(s->n + 1, sizeof(*got));
    struct gcb_diag diag = {0};
    double error;

    assert_int_equal(gcb_sum_finish(s->cpu, want, NULL), 0);
    if (gcb_device_sum_finish(s->dev, s->result, &diag))
        fail_msg("%s: %s", what, diag.text);
    assert_int_equal(gcb_device_batch_download(s->batch, got, s->result, s->n * sizeof(*got), NULL),
                     0);
    error = sqrt(trip_distance(want, got, s->n));
    if (near ? !(error <= s->allowed) : memcmp(got, want, s->n * sizeof(*got)) != 0)
        fail_msg("%s: the sum of %llu elements differs by %g", what, (unsigned long long)s->n,
                 error);
    s->allowed = 0.0;
    free(want);
    free(got);
}

static bool transforms(const char *spec)
{
    struct gcb_method m;
    double id;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return gcb_method_value(&m, "transform", &id) && id != 0.0;
}

void device_same_sum(const struct gcb_device *device, const char *const *specs, size_t count,
                     uint64_t n)
{
    static const float weight[] = {1.0f, -0.3f, 0.25f, 3.0f};
    struct device_sum s;
    bool near = false;

    device_sum_open(&s, device, specs[0], n);
    device_sum_compare(&s, "a sum of nothing", false);
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++) {
            float *x = trip_tensor(n, i % 2 ? TRIP_GAUSS : TRIP_LAPLACE, i + round);
            struct trip t = {0};

            trip_run(&t, specs[i], x, n, NULL);
            assert_int_equal(device_sum_add(&s, &t, weight[i % 4]), 0);
            near |= transforms(specs[i]);
            trip_free(&t);
            free(x);
        }
        device_sum_compare(&s, specs[0], near);
    }
    device_sum_close(&s);
}

void device_same_sums(const struct gcb_device *device, const char *spec, uint64_t n)
{
    const char *const same[] = {spec, spec, spec, spec};

    device_same_sum(device, same, 4, n);
}
