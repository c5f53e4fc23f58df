/*
 * Times on a GPU what `gcbench bench` has no row for: redsync in steps that reuse a threshold,
 * cuFFT's own transform (to compare with the method fft), the launches of a small tensor, and a
 * network's tensors as a group and one by one. As in bench, a kernel time is by the device's
 * events, the median of several calls, and the L2 cache is overwritten before each.
 *
 *   time_device [--elements N] [--device N] [--only PATTERN]   rows, JSON Lines, on standard output
 *
 * --only: rows whose specs match the pattern of a shell.
 *
 * Exit status 0: each measurement has a row, with the time or the reason why there is none; 1: a
 * row could not be written; 3: no device.
 */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/tool/read/synthetic.h"
#include "tests/gpu/time_work.h"

enum { SMALL = 10000 };

static struct gcb_device device;
static const char *only = "*";

static bool wanted(const char *spec)
{
    return fnmatch(only, spec, FNM_EXTMATCH) == 0;
}

/* Each call is for the next step, so that the threshold found in the first one is reused. */
static int encode_each(struct work *w, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = w->step++};
    int err = 0;

    for (size_t i = 0; !err && i < w->count; i++)
        err = gcb_device_coder_encode_async(w->coder[i], &at, &w->m[i], diag);
    return err;
}

static int encode_group(struct work *w, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = w->step++};

    return gcb_device_group_encode_async(w->coder, &at, w->m, w->count, diag);
}

static uint64_t bins_bytes(uint64_t n)
{
    return ((n + 2) * sizeof(float) + 255) / 256 * 256;
}

static int transform(struct work *w, struct gcb_diag *diag)
{
    void *scratch = (uint8_t *)w->payload + bins_bytes(w->n);

    return device.module->fft.forward(gcb_device_batch_stream(w->batch), w->fft, w->payload,
                                      w->tensor, scratch);
}

static int time_method(const char *label, const char *spec, const float *x, uint64_t n)
{
    struct work w = {.device = &device, .n = n, .count = 1, .size = {n}};
    struct gcb_diag diag = {0};
    int err = work_make_coders(&w, spec, &diag);

    if (!err)
        err = work_take(&w, x, 0, gcb_device_coder_scratch(w.coder[0]), &diag);
    return work_measure(&w, label, err, encode_each, &diag);
}

static int time_transform(const float *x, uint64_t n)
{
    struct work w = {.device = &device, .n = n};
    struct gcb_diag diag = {0};
    int err = device.module->fft.create(&w.fft, n, 0, GCB_CUDA_FFT_FORWARD, "fft", &diag);

    if (!err)
        err = work_take(&w, x, bins_bytes(n) + device.module->fft.work(w.fft), 0, &diag);
    return work_measure(&w, "cuFFT's own r2c", err, transform, &diag);
}

/* The sizes of ResNet-50's tensors, made smaller if they have more than n elements together. */
static void size_tensors(struct work *w, uint64_t n)
{
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS];
    const size_t count = gcb_network_layout(rows, "resnet50");
    const uint64_t whole = UINT64_C(25557032);

    for (size_t i = 0; i < count && i < TIME_MOST; i++) {
        uint64_t size = gcb_shape_elements(&rows[i]);

        if (n < whole && size > n / TIME_MOST)
            size = n / TIME_MOST;
        w->size[w->count++] = size;
        w->n += size;
    }
}

/* Times these tensors, each as a message. */
static int time_network(const char *how, const char *spec, bool group, const float *x, uint64_t n)
{
    struct work w = {.device = &device};
    struct gcb_diag diag = {0};
    char label[64];
    int err;

    size_tensors(&w, n);
    err = work_make_coders(&w, spec, &diag);
    if (!err)
        err = work_take(&w, x, 0, gcb_device_group_scratch(w.coder, w.count), &diag);
    snprintf(label, sizeof(label), "%s: %s", how, spec);
    return work_measure(&w, label, err, group ? encode_group : encode_each, &diag);
}

static int time_all(const float *x, uint64_t n)
{
    static const char *const quantisers[] = {"fp16", "bf16",    "range", "range:max=1,mantissa=4",
                                             "qsgd", "terngrad"};
    static const char *const network[] = {"fp16", "range", "qsgd", "terngrad"};
    int bad = 0;

    if (wanted("redsync"))
        bad |= time_method("redsync, threshold reused",
                           "redsync:interval=1000000,dense-below=0,trimmed-below=0", x, n);
    if (wanted("fft"))
        bad |= time_transform(x, n);
    for (size_t i = 0; i < sizeof(quantisers) / sizeof(*quantisers); i++) {
        char label[64];

        snprintf(label, sizeof(label), "small: %s", quantisers[i]);
        if (wanted(quantisers[i]))
            bad |= time_method(label, quantisers[i], x, n < SMALL ? n : SMALL);
    }
    for (size_t i = 0; i < sizeof(network) / sizeof(*network); i++) {
        if (!wanted(network[i]))
            continue;
        bad |= time_network("group", network[i], true, x, n);
        bad |= time_network("one by one", network[i], false, x, n);
    }
    return bad;
}

int main(int argc, char **argv)
{
    const struct gcb_synthetic dist = {.dist = GCB_DIST_STUDENT_T, .df = 3};
    uint64_t n = UINT64_C(1) << 28;
    struct gcb_diag diag = {0};
    unsigned index = 0;
    float *x;
    int bad;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--elements") == 0 && i + 1 < argc)
            n = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            index = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            n = 0;
    }
    if (n == 0) {
        fprintf(stderr, "usage: time_device [--elements N] [--device N] [--only PATTERN]\n");
        return 2;
    }
    if (gcb_device_open(&device, index, &diag)) {
        fprintf(stderr, "time_device: %s\n", diag.text);
        return 3;
    }
    x = malloc(n * sizeof(float));
    if (!x) {
        fprintf(stderr, "time_device: no memory for %llu elements\n", (unsigned long long)n);
        return 1;
    }
    gcb_synthetic_fill(&dist, x, n, 1, 0);
    bad = time_all(x, n);
    free(x);
    return bad || fflush(stdout);
}
