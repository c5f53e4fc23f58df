#include "src/lib/api/options.h"
#include "src/lib/base/alloc.h"
#include "src/lib/codec/packed.h"

struct gcb_encoder {
    struct gcb_coder *coder;
    uint64_t count;
    struct gcb_queue queue;
    struct gcb_kernels kernels;
    enum gcb_dtype input;
    float *wide; /* the tensor as float32; NULL if the input is float32 */
};

/* ---- opening ---- */

static int init(struct gcb_encoder *e, const struct gcb_method *method, struct gcb_settings *s,
                struct gcb_diag *diag)
{
    e->count = s->config.env.count;
    e->queue = s->queue;
    e->input = s->options.input;
    gcb_kernels_init(&e->kernels, gcb_cpu_detect());
    s->config.env.kernels = &e->kernels;
    if (e->input != GCB_F32) {
        e->wide = gcb_alloc_array(e->count, sizeof(float));
        if (!e->wide)
            return gcb_diag_nomem(diag, e->count * sizeof(float), "a tensor in float32");
    }
    return gcb_coder_create(&e->coder, method, &s->config, diag);
}

int gcb_encoder_open(struct gcb_encoder **out, const char *spec, uint64_t n,
                     const struct gcb_options *options, struct gcb_diag *diag)
{
    struct gcb_settings s;
    struct gcb_method method;
    struct gcb_encoder *e;
    int err = gcb_settings_init(&s, options, n, diag);

    if (!err)
        err = gcb_method_parse(&method, spec, diag);
    if (err)
        return err;
    e = gcb_alloc_zero(1, sizeof(*e));
    err = e ? init(e, &method, &s, diag) : gcb_diag_nomem(diag, sizeof(*e), "an encoder");
    if (err)
        gcb_encoder_close(e);
    else
        *out = e;
    return err;
}

void gcb_encoder_close(struct gcb_encoder *e)
{
    if (!e)
        return;
    gcb_coder_destroy(e->coder);
    gcb_free(e->wide);
    gcb_free(e);
}

size_t gcb_encoder_bound(const struct gcb_encoder *e)
{
    return gcb_coder_bound(e->coder);
}

/* ---- encoding ---- */

struct widening {
    gcb_convert_widen_fn *run;
    float *to;
    const uint8_t *from;
    uint64_t count;
};

static void widen_span(void *ctx, uint64_t i)
{
    const struct widening *w = ctx;

    w->run(w->to + i * GCB_SPAN, w->from + i * GCB_SPAN * 2, gcb_span_length(w->count, i));
}

/* Returns the tensor in float32: x itself, or its elements converted into e->wide. */
static const float *widen(struct gcb_encoder *e, const void *x)
{
    const struct gcb_convert_fns *f = &e->kernels.convert;
    struct widening w = {.run = e->input == GCB_F16 ? f->from_fp16 : f->from_bf16,
                         .to = e->wide,
                         .from = x,
                         .count = e->count};

    if (e->input == GCB_F32)
        return x;
    gcb_parallel(&e->queue, gcb_span_count(e->count), widen_span, &w);
    return e->wide;
}

int gcb_encode(struct gcb_encoder *e, uint64_t step, uint32_t worker, const void *x, void *out,
               size_t cap, size_t *length, struct gcb_diag *diag)
{
    const struct gcb_step at = {.step = step, .worker = worker};
    const struct gcb_view in = {.data = widen(e, x), .count = e->count};
    struct gcb_wbuf w = {.data = out, .cap = cap};
    const int err = gcb_coder_encode(e->coder, &at, &in, &w, diag);

    if (err)
        return err;
    gcb_message_seal(w.data, w.len, 0);
    *length = w.len;
    return 0;
}
