#include "tests/gpu/time_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/tool/measure/stats.h"
#include "src/tool/rows/row.h"
#include "tests/support/device_coder.h"

static void release(struct work *w)
{
    const struct gcb_device_module *module = w->device->module;

    gcb_device_batch_destroy(w->batch); /* waits, also if a call failed half way */
    for (size_t i = 0; i < w->count; i++)
        gcb_coder_destroy(w->coder[i]);
    module->fft.destroy(w->fft);
    module->event.destroy(w->from);
    module->event.destroy(w->to);
    module->memory.free(w->tensor);
    module->memory.free(w->payload);
    module->memory.free(w->flush);
}

int work_make_coders(struct work *w, const char *spec, struct gcb_diag *diag)
{
    struct gcb_method m;
    int err = gcb_method_parse(&m, spec, diag);

    if (!err)
        gcb_method_forget(&m);
    for (size_t i = 0; !err && i < w->count; i++) {
        const struct gcb_coder_config config = {
            .env = {.count = w->size[i], .seed = 1, .path = "x"},
            .nonfinite = GCB_NONFINITE_TRUSTED};

        err = device_coder_create(&w->coder[i], w->device, &m, &config, diag);
    }
    return err;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Tensors and payloads follow each other in one allocation each. */
static void place_messages(struct work *w)
{
    uint8_t *in = w->tensor, *out = w->payload;

    for (size_t i = 0; i < w->count; i++) {
        w->m[i] = (struct gcb_device_message){
            .batch = w->batch, .i = (unsigned)i, .in_dev = (float *)in, .payload_dev = out};
        in += padded(w->size[i] * sizeof(float));
        out += padded(gcb_coder_max_payload(w->coder[i]));
    }
}

static int upload(struct work *w, const float *x, struct gcb_diag *diag)
{
    uint8_t *to = w->tensor;
    int err = 0;

    if (!w->count)
        return gcb_device_batch_upload(w->batch, to, x, w->n * sizeof(float), diag);
    for (size_t i = 0; !err && i < w->count; i++) {
        err = gcb_device_batch_upload(w->batch, to, x, w->size[i] * sizeof(float), diag);
        x += w->size[i];
        to += padded(w->size[i] * sizeof(float));
    }
    return err;
}

int work_take(struct work *w, const float *x, uint64_t bytes, uint64_t scratch,
              struct gcb_diag *diag)
{
    const struct gcb_device_batch_config config = {.scratch = scratch,
                                                   .messages = w->count ? (unsigned)w->count : 1};
    const struct gcb_device_module *module = w->device->module;
    const uint64_t tensors = w->n * sizeof(float) + w->count * 256;
    int err = gcb_device_batch_create(&w->batch, w->device, &config, diag);

    for (size_t i = 0; i < w->count; i++)
        bytes += padded(gcb_coder_max_payload(w->coder[i]));
    w->flush_bytes = 2 * w->device->facts.l2_bytes + (1 << 20);
    if (!err)
        err = module->memory.alloc(&w->tensor, tensors, diag);
    if (!err)
        err = module->memory.alloc(&w->payload, bytes, diag);
    if (!err)
        err = module->memory.alloc(&w->flush, w->flush_bytes, diag);
    if (!err)
        err = module->event.create(&w->from, diag);
    if (!err)
        err = module->event.create(&w->to, diag);
    if (!err)
        err = upload(w, x, diag);
    if (!err)
        place_messages(w);
    return err;
}

static int finish_messages(struct work *w, struct gcb_diag *diag)
{
    struct gcb_frame frame;
    int err = 0;

    w->wire_bytes = 0;
    for (size_t i = 0; !err && i < w->count; i++) {
        err = gcb_device_coder_encode_finish(w->coder[i], &w->m[i], &frame, diag);
        w->wire_bytes += err ? 0 : frame.payload_bytes;
    }
    return err;
}

/* Times one call by two events. */
static int sample(struct work *w, int (*run)(struct work *, struct gcb_diag *), double *seconds,
                  struct gcb_diag *diag)
{
    const struct gcb_device_module *module = w->device->module;
    struct gcb_device_stream *s = gcb_device_batch_stream(w->batch);
    const uint64_t launched = module->stream.launches(s);
    int err;

    module->stream.zero(s, w->flush, w->flush_bytes);
    module->stream.wait(s, NULL); /* the stream keeps a failure */
    gcb_device_batch_begin(w->batch);
    module->event.record(w->from, s);
    err = run(w, diag);
    module->event.record(w->to, s);
    w->launches = module->stream.launches(s) - launched;
    if (!err || err == GCB_E_DEVICE) { /* the stream's message says more */
        const int waited = gcb_device_batch_finish(w->batch, diag);

        err = waited ? waited : err;
    }
    if (!err)
        err = finish_messages(w, diag);
    return err ? err : module->event.seconds(seconds, w->from, w->to, diag);
}

/* A missing library or method, and too little memory, are not failures. */
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
    struct gcb_row row = {.json = json_pack("{s:s, s:i}", "record", "timing", "schema", 1)};
    const double launches = err ? NAN : (double)w->launches;
    bool bad;

    gcb_row_text(&row, GCB_FIELD_SPEC, spec);
    gcb_row_text(&row, GCB_FIELD_STATUS, status_of(err));
    gcb_row_text(&row, GCB_FIELD_REASON, err ? diag->text : NULL);
    gcb_row_u64(&row, GCB_FIELD_ELEMENTS, w->n);
    gcb_row_real(&row, GCB_FIELD_WIRE_BYTES, w->count && !err ? (double)w->wire_bytes : NAN);
    gcb_row_real(&row, GCB_FIELD_SECONDS, err ? NAN : seconds);
    bad = json_object_set_new(row.json, "launches", gcb_row_make_real(launches)) ||
          json_dumpf(row.json, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout);
    gcb_row_fini(&row);
    return bad;
}

int work_measure(struct work *w, const char *label, int err,
                 int (*run)(struct work *, struct gcb_diag *), struct gcb_diag *diag)
{
    struct gcb_stats stats = {.median = NAN};
    double seconds;
    int bad;

    for (int i = -TIME_WARM; !err && i < TIME_SAMPLES; i++) {
        err = sample(w, run, &seconds, diag);
        if (!err && i >= 0)
            w->samples[i] = seconds;
    }
    if (!err)
        gcb_stats_of(&stats, w->samples, TIME_SAMPLES, w->scratch);
    bad = write_row(label, w, err, diag, stats.median);
    release(w);
    return bad;
}
