#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/memory/device_memory.h"
#include "src/lib/memory/memory.h"
#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_made.h"
#include "tests/support/test.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define WORKERS 4

const char *const device_memories[] = {
    "topk:theta=0.9,memory=none",
    "topk:theta=0.9,memory=ef,decay=0.75",
    "sparse:transform=hadamard,memory=demo,momentum=0.9",
    "dgc:theta=0.9",
    "dgc:theta=0.9,masking=no",
    "dgc:theta=0.9,nesterov=yes",
    "dgc:theta=0.9,nesterov=redsync",
    "dgc:theta=0.9,values=fp16,residual=clear",
    "dgc:theta=0.9,values=fp16,residual=clear,masking=no,clip-norm=2",
    "redsync:theta=0.9,dense-below=100,trimmed-below=100,quant=asq",
    "dgc:theta=0.9,clip-norm=2",
    "qsgd:memory=dgc,momentum=0.5",
    "sbc:theta=0.9,delay=3,momentum=0.5",
    "sbc:theta=0.9",
    NULL,
};

/* A worker on the CPU and the same worker on the device. */
struct pair {
    const struct gcb_device *device;
    const char *spec;
    struct gcb_memory *want;
    struct gcb_device_memory *got;
    struct gcb_coder *cpu;
    struct gcb_coder *dev;
    struct place p;
    float *gradient_dev, *sent_dev;
    float *back; /* host copy of what the device holds */
    uint64_t n;
};

static void open_pair(struct pair *w, const struct gcb_device *device, const char *spec, uint64_t n)
{
    const struct device_setting setting = {.seed = 3, .nonfinite = GCB_NONFINITE_RAW};
    const struct gcb_queue queue = {.threads = 1};
    struct gcb_memory_params params;
    struct gcb_kernels kernels;
    struct gcb_coder_config config;
    struct gcb_method m;
    void *p;

    *w = (struct pair){
        .device = device, .spec = spec, .n = n, .back = malloc((n + 1) * sizeof(float))};
    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    gcb_method_memory_for(&params, &m, n);
    device_configure(&config, &setting, n);
    gcb_kernels_init(&kernels, gcb_cpu_detect());
    assert_int_equal(gcb_memory_create(&w->want, &params, n, WORKERS, &queue, &kernels, NULL), 0);
    assert_int_equal(gcb_coder_create(&w->cpu, &m, &config, NULL), 0);
    assert_int_equal(device_coder_create(&w->dev, device, &m, &config, NULL), 0);
    device_open_place(&w->p, device, n, gcb_coder_max_payload(w->dev),
                      gcb_device_coder_scratch(w->dev));
    w->gradient_dev = w->p.tensor;
    assert_int_equal(w->device->module->memory.alloc(&p, n * sizeof(float), NULL), 0);
    w->sent_dev = p;
    assert_int_equal(gcb_device_memory_create(&w->got, w->p.batch, &params, n, WORKERS, NULL), 0);
}

static void close_pair(struct pair *w)
{
    gcb_device_memory_destroy(w->got);
    w->device->module->memory.free(w->sent_dev);
    device_close_place(&w->p);
    gcb_coder_destroy(w->dev);
    gcb_coder_destroy(w->cpu);
    gcb_memory_destroy(w->want);
    free(w->back);
}

/* Decodes the message in device memory into sent_dev. */
static void decode_there(struct pair *w, const struct made *made, const struct gcb_frame *frame)
{
    const struct gcb_coder_config config = {.max_elements = w->n};
    struct gcb_coder *c = NULL;
    struct place p;

    assert_int_equal(
        device_coder_create_decoder(&c, w->device, made->bytes, made->length, &config, NULL), 0);
    device_open_place(&p, w->device, 0, 0, gcb_device_coder_scratch(c));
    assert_int_equal(gcb_device_batch_begin(p.batch), 0);
    assert_int_equal(gcb_device_coder_decode_async(c, frame, w->p.payload, w->sent_dev, &p.m, NULL),
                     0);
    assert_int_equal(gcb_device_batch_finish(p.batch, NULL), 0);
    assert_int_equal(gcb_device_coder_decode_finish(c, &p.m, NULL), 0);
    device_close_place(&p);
    gcb_coder_destroy(c);
}

/* Does a step on the device; the message must be the CPU's. */
static void send(struct pair *w, const struct gcb_step *at, const struct made *want, bool finite)
{
    struct gcb_wbuf out = {.cap = gcb_coder_bound(w->dev)};
    struct gcb_frame frame;
    struct made made = {0};

    out.data = made.bytes = malloc(out.cap);
    assert_int_equal(gcb_device_coder_encode_async(w->dev, at, &w->p.m, NULL), 0);
    assert_int_equal(gcb_device_batch_finish(w->p.batch, NULL), 0);
    assert_int_equal(gcb_device_coder_encode_finish(w->dev, &w->p.m, &frame, NULL), 0);
    assert_int_equal(gcb_device_coder_fetch(w->dev, &w->p.m, &frame, &out, NULL), 0);
    made.length = out.len;
    gcb_message_seal(made.bytes, made.length, 0);
    /* raw messages may have NaNs with other bits; then what is left in the memory is compared */
    if (want->length != made.length ||
        (finite && memcmp(want->bytes, made.bytes, want->length) != 0))
        fail_msg("%s, n=%llu, step %d: messages differ", w->spec, (unsigned long long)w->n,
                 (int)at->step);
    decode_there(w, &made, &frame);
    gcb_device_memory_update(w->got, w->sent_dev);
    free(made.bytes);
}

static void same_residual(struct pair *w, uint64_t step)
{
    const float *want = gcb_memory_residual(w->want), *got = gcb_device_memory_residual(w->got);
    uint64_t first;

    assert_int_equal(want == NULL, got == NULL);
    if (!want)
        return;
    assert_int_equal(
        gcb_device_batch_download(w->p.batch, w->back, got, w->n * sizeof(float), NULL), 0);
    first = 0;
    while (first < w->n && (memcmp(&want[first], &w->back[first], sizeof(*want)) == 0 ||
                            (isnan(want[first]) && isnan(w->back[first]))))
        first++;
    if (first < w->n)
        fail_msg("%s, n=%llu, step %d: residuals differ from element %llu on, %a and %a", w->spec,
                 (unsigned long long)w->n, (int)step, (unsigned long long)first,
                 (double)want[first], (double)w->back[first]);
}

static bool is_finite(const float *x, uint64_t n)
{
    uint64_t i = 0;

    while (i < n && isfinite(x[i]))
        i++;
    return i == n;
}

static void step_both(struct pair *w, const float *g, uint64_t step)
{
    const struct gcb_step at = {.step = step};
    bool finite;
    struct gcb_host_counts before, after;
    struct made want;
    const float *p;

    if (step % 3 == 1) { /* as if there were other tensors */
        gcb_memory_set_norm(w->want, 11.0 * (double)step);
        assert_int_equal(gcb_device_memory_set_norm(w->got, 11.0 * (double)step, NULL), 0);
    }
    p = gcb_memory_compensate(w->want, g);

    assert_int_equal(
        gcb_device_batch_upload(w->p.batch, w->gradient_dev, g, w->n * sizeof(*g), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(w->p.batch), 0);
    gcb_host_count(&before);
    w->p.m.in_dev = gcb_device_memory_compensate(w->got, w->gradient_dev);
    gcb_host_count(&after);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.allocations, before.allocations);
    assert_int_equal(p == NULL, w->p.m.in_dev == NULL);
    if (p) {
        finite = is_finite(p, w->n);
        want = device_encode_with(w->cpu, &at, p, w->n);
        assert_int_equal(want.err, 0);
        assert_int_equal(device_decode_cpu(&want, w->back, w->n), 0);
        gcb_memory_update(w->want, w->back);
        send(w, &at, &want, finite);
        free(want.bytes);
    }
    same_residual(w, step);
}

void device_same_memory(const struct gcb_device *device, const char *spec, uint64_t n)
{
    static const enum check_fill fills[] = {FILL_NOISE, FILL_ZERO,  FILL_NOISE,     FILL_TIES,
                                            FILL_NOISE, FILL_NOISE, FILL_HOSTILE,   FILL_NOISE,
                                            FILL_TIES,  FILL_NOISE, FILL_NONFINITE, FILL_NOISE};
    float *g = malloc((n + 1) * sizeof(*g));
    struct pair w;

    open_pair(&w, device, spec, n);
    for (uint64_t step = 0; step < COUNT(fills); step++) {
        check_fill(g, n, fills[step], step * 17 + n);
        step_both(&w, g, step);
    }
    close_pair(&w);
    free(g);
}
