/*
 * Times on a GPU that `gcbench bench` has no row for: redsync in steps that reuse a threshold, cuFFT's own transform
 * that the method fft is compared with, and how many kernels a small tensor costs. Kernel times by the device's events, the
 * median of several calls, its L2 cache written over before each, as bench takes them.
 *
 *   time_device [--elements N] [--device N]     rows, JSON Lines, on standard output
 *
 * Exit status 0: all was asked for, and a row says of each what came of it; 1: a row could not be written; 3: no device.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/bench/stats.h"
#include "src/cuda/device_coder.h"
#include "src/cuda/module/fft.h"
#include "src/data/synthetic.h"
#include "src/report/row.h"

enum { WARM = 2, SAMPLES = 15, SMALL = 10000 };

static struct gcb_device device;

/* What is measured at a time. Starts zeroed. */
struct work {
    struct gcb_device_batch *batch;
    struct gcb_device_event *from, *to;
    struct gcb_device_coder *coder;
    struct gcb_cuda_fft *fft;
    void *tensor, *payload, *flush;
    struct gcb_device_message m;
    struct gcb_frame frame;
    uint64_t step, n, launches, flush_bytes;
    double samples[SAMPLES], scratch[SAMPLES];
};

static void release(struct work *w)
{
    const struct gcb_device_module *module = device.module;

    gcb_device_coder_destroy(w->coder);
    module->fft_destroy(w->fft);
    gcb_device_batch_destroy(w->batch);
    module->event_destroy(w->from);
    module->event_destroy(w->to);
    module->free(w->tensor);
    module->free(w->payload);
    module->free(w->flush);
}

/* A tensor of n elements there, and room for `bytes` of what comes of it. */
static int take(struct work *w, const float *x, uint64_t n, uint64_t bytes, uint64_t scratch,
                struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.scratch = scratch};
    int err = gcb_device_batch_create(&w->batch, &device, &config, diag);

    w->n = n;
    w->flush_bytes = 2 * device.facts.l2_bytes + (1 << 20);
    if (!err)
        err = device.module->alloc(&w->tensor, n * sizeof(float), diag);
    if (!err)
        err = device.module->alloc(&w->payload, bytes, diag);
    if (!err)
        err = device.module->alloc(&w->flush, w->flush_bytes, diag);
    if (!err)
        err = device.module->event_create(&w->from, diag);
    if (!err)
        err = device.module->event_create(&w->to, diag);
    if (!err)
        err = gcb_device_batch_upload(w->batch, w->tensor, x, n * sizeof(float), diag);
    w->m = (struct gcb_device_message){
        .batch = w->batch, .in_dev = w->tensor, .payload_dev = w->payload};
    return err;
}

static uint64_t bins_bytes(uint64_t n)
{
    return ((n + 2) * sizeof(float) + 255) / 256 * 256;
}

/* Every call is of the next step, so that a threshold found in the first one serves. */
static int encode(struct work *w, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = w->step++};

    return gcb_device_coder_encode_async(w->coder, &at, &w->m, diag);
}

static int transform(struct work *w, struct gcb_diag *diag)
{
    void *scratch = (uint8_t *)w->payload + bins_bytes(w->n);

    (void)diag;
    return device.module->fft_forward(gcb_device_batch_stream(w->batch), w->fft, w->payload,
                                      w->tensor, scratch);
}

/* One call, between two events. */
static int sample(struct work *w, int (*run)(struct work *, struct gcb_diag *), double *seconds,
                  struct gcb_diag *diag)
{
    const struct gcb_device_module *module = device.module;
    struct gcb_device_stream *s = gcb_device_batch_stream(w->batch);
    const uint64_t launched = module->launches(s);
    int err;

    module->zero(s, w->flush, w->flush_bytes);
    module->wait(s, NULL); /* a failure stays in the stream */
    gcb_device_batch_begin(w->batch);
    module->event_record(w->from, s);
    err = run(w, diag);
    module->event_record(w->to, s);
    w->launches = module->launches(s) - launched;
    if (!err || err == GCB_E_DEVICE) { /* the stream knows more, and says it */
        const int waited = gcb_device_batch_finish(w->batch, diag);

        err = waited ? waited : err;
    }
    if (!err && w->coder)
        err = gcb_device_coder_encode_finish(w->coder, &w->m, &w->frame, diag);
    return err ? err : module->event_seconds(seconds, w->from, w->to, diag);
}

/* What is not there is not a failure: a library, a method, memory. */
static const char *status_of(int err)
{
    if (!err)
        return "ok";
    return err == GCB_E_UNSUPPORTED || err == GCB_E_BACKEND || err == GCB_E_NOMEM ? "unsupported"
                                                                                  : "failed";
}

static int write_row(const char *spec, const struct work *w, int err, const struct gcb_diag *diag,
                     double seconds)
{
    struct gcb_row row;
    bool bad;

    gcb_row_init(&row, "timing");
    gcb_row_text(&row, "spec", spec);
    gcb_row_text(&row, "status", status_of(err));
    gcb_row_text(&row, "reason", err ? diag->text : NULL);
    gcb_row_u64(&row, "elements", w->n);
    gcb_row_real(&row, "wire_bytes", w->coder && !err ? (double)w->frame.payload_bytes : NAN);
    gcb_row_real(&row, "seconds", err ? NAN : seconds);
    gcb_row_real(&row, "launches", err ? NAN : (double)w->launches);
    bad = row.failed || json_dumpf(row.json, stdout, JSON_COMPACT) || putchar('\n') == EOF;
    gcb_row_fini(&row);
    return bad;
}

static int measure(struct work *w, const char *label, int err,
                   int (*run)(struct work *, struct gcb_diag *), struct gcb_diag *diag)
{
    struct gcb_stats stats = {.median = NAN};
    double seconds;
    int bad;

    for (int i = -WARM; !err && i < SAMPLES; i++) {
        err = sample(w, run, &seconds, diag);
        if (!err && i >= 0)
            w->samples[i] = seconds;
    }
    if (!err)
        gcb_stats_of(&stats, w->samples, SAMPLES, w->scratch);
    bad = write_row(label, w, err, diag, stats.median);
    release(w);
    return bad;
}

static int time_method(const char *label, const char *spec, const float *x, uint64_t n)
{
    const struct gcb_coder_config config = {.env = {.count = n, .seed = 1, .path = "x"},
                                            .nonfinite = GCB_NONFINITE_TRUSTED};
    struct gcb_diag diag = {0};
    struct work w = {.n = n};
    struct gcb_method m;
    int err = gcb_method_parse(&m, spec, &diag);

    if (!err) {
        gcb_method_forget(&m);
        err = gcb_device_coder_create(&w.coder, &device, &m, &config, &diag);
    }
    if (!err)
        err = take(&w, x, n, gcb_device_coder_payload_bound(w.coder),
                   gcb_device_coder_scratch(w.coder), &diag);
    return measure(&w, label, err, encode, &diag);
}

static int time_transform(const float *x, uint64_t n)
{
    struct gcb_diag diag = {0};
    struct work w = {.n = n};
    int err = device.module->fft_create(&w.fft, n, 0, GCB_CUDA_FFT_FORWARD, "fft", &diag);

    if (!err)
        err = take(&w, x, n, bins_bytes(n) + device.module->fft_work(w.fft), 0, &diag);
    return measure(&w, "cuFFT's own r2c", err, transform, &diag);
}

static int time_all(const float *x, uint64_t n)
{
    static const char *const quantisers[] = {"fp16", "bf16",    "range", "range:max=1,mantissa=4",
                                             "qsgd", "terngrad"};
    int bad = time_method("redsync, threshold reused",
                          "redsync:interval=1000000,dense-below=0,trimmed-below=0", x, n);

    bad |= time_transform(x, n);
    for (size_t i = 0; i < sizeof(quantisers) / sizeof(*quantisers); i++) {
        char label[64];

        snprintf(label, sizeof(label), "small: %s", quantisers[i]);
        bad |= time_method(label, quantisers[i], x, n < SMALL ? n : SMALL);
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
        else
            n = 0;
    }
    if (n == 0) {
        fprintf(stderr, "time_device: [--elements N] [--device N]\n");
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
