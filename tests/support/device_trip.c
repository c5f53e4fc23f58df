#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/device/core.h"
#include "tests/kernels/check.h"
#include "tests/support/cuda_host/host.h"
#include "tests/support/device_coder.h"
#include "tests/support/device_made.h"
#include "tests/support/device_trip.h"
#include "tests/support/test.h"

const struct gcb_device_module *gcb_device_module(const struct gcb_device_core *core);

void device_here(struct gcb_device *out)
{
    assert_int_equal(gcb_device_adopt(out, gcb_device_module(&gcb_device_core), 0, NULL), 0);
}

void device_configure(struct gcb_coder_config *config, const struct device_setting *s, uint64_t n)
{
    static const struct device_setting plain = {.seed = 1, .step = 3, .worker = 2};

    s = s ? s : &plain;
    *config = (struct gcb_coder_config){
        .env = {.count = n, .seed = s->seed, .path = "a/b", .segment = s->segment},
        .nonfinite = s->nonfinite,
        .source = s->source,
        .checksum = true,
    };
}

static struct gcb_step step_of(const struct device_setting *s)
{
    return s ? (struct gcb_step){.step = s->step, .worker = s->worker}
             : (struct gcb_step){.step = 3, .worker = 2};
}

struct made device_encode_with(struct gcb_coder *c, const struct gcb_step *at, const float *x,
                               uint64_t n)
{
    const struct gcb_view in = {.data = x, .count = n};
    struct made made = {0};
    struct gcb_wbuf w = {0};

    w.cap = gcb_coder_bound(c);
    w.data = made.bytes = malloc(w.cap);
    made.err = gcb_coder_encode(c, at, &in, &w, NULL);
    made.length = w.len;
    made.clamped = gcb_coder_clamped(c);
    if (!made.err)
        gcb_message_seal(made.bytes, made.length, 0);
    return made;
}

struct made device_encode_cpu(const struct gcb_method *m, const struct gcb_coder_config *config,
                              const struct gcb_step *at, const float *x)
{
    struct gcb_coder *c = NULL;
    struct made made;

    assert_int_equal(gcb_coder_create(&c, m, config, NULL), 0);
    made = device_encode_with(c, at, x, config->env.count);
    gcb_coder_destroy(c);
    return made;
}

void device_open_place(struct place *p, const struct gcb_device *device, uint64_t n,
                       uint64_t payload, uint64_t scratch)
{
    /* Short messages use a small staging buffer more than once; long ones would wait too often. */
    const struct gcb_device_batch_config config = {.scratch = scratch,
                                                   .staging = n < 65536 ? 10000 : 1 << 20};

    memset(p, 0, sizeof(*p));
    p->device = device;
    assert_int_equal(gcb_device_batch_create(&p->batch, device, &config, NULL), 0);
    assert_int_equal(device->module->memory.alloc(&p->tensor, n * sizeof(float), NULL), 0);
    assert_int_equal(device->module->memory.alloc(&p->payload, payload, NULL), 0);
    p->m = (struct gcb_device_message){
        .batch = p->batch, .in_dev = p->tensor, .payload_dev = p->payload};
}

void device_close_place(struct place *p)
{
    gcb_device_batch_destroy(p->batch);
    p->device->module->memory.free(p->tensor);
    p->device->module->memory.free(p->payload);
}

static struct made encode_device(const struct gcb_device *device, const struct gcb_method *m,
                                 const struct gcb_coder_config *config, const struct gcb_step *at,
                                 const float *x)
{
    struct gcb_coder *c = NULL;
    struct made made = {0};
    struct gcb_wbuf w = {0};
    struct gcb_diag diag = {0};
    struct gcb_frame frame;
    struct place p;

    if (device_coder_create(&c, device, m, config, &diag))
        fail_msg("device coder: %s", diag.text);
    w.cap = gcb_coder_bound(c);
    w.data = made.bytes = malloc(w.cap);
    device_open_place(&p, device, config->env.count, gcb_coder_max_payload(c),
                      gcb_device_coder_scratch(c));
    assert_int_equal(
        gcb_device_batch_upload(p.batch, p.tensor, x, config->env.count * sizeof(float), NULL), 0);
    assert_int_equal(gcb_device_batch_begin(p.batch), 0);
    assert_int_equal(gcb_device_coder_encode_async(c, at, &p.m, &diag), 0);
    if (gcb_device_batch_finish(p.batch, &diag))
        fail_msg("%s: %s", m->name, diag.text);
    made.err = gcb_device_coder_encode_finish(c, &p.m, &frame, &diag);
    if (!made.err) {
        assert_int_equal(gcb_device_coder_fetch(c, &p.m, &frame, &w, &diag), 0);
        made.length = w.len;
        made.clamped = gcb_coder_clamped(c);
        gcb_message_seal(made.bytes, made.length, 0);
    }
    device_close_place(&p);
    gcb_coder_destroy(c);
    return made;
}

/* The limit for decoding a message that may be damaged. */
static uint64_t most_elements(uint64_t n)
{
    return n > 1 << 24 ? n : 1 << 24;
}

int device_decode_cpu(const struct made *made, float *out, uint64_t n)
{
    const struct gcb_coder_config config = {.max_elements = most_elements(n)};
    const struct gcb_mview view = {.data = out, .count = n};
    struct gcb_coder *c = NULL;
    int err = gcb_coder_create_decoder(&c, made->bytes, made->length, &config, NULL);

    if (!err)
        err = gcb_coder_decode(c, made->bytes, made->length, &view, NULL);
    gcb_coder_destroy(c);
    return err;
}

static int run_decoder(struct gcb_coder *c, const struct gcb_device *device,
                       const struct made *made, float *out, uint64_t n)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    struct place p;
    uint64_t bytes;
    int err = gcb_frame_parse(&frame, &payload, made->bytes, made->length, NULL);

    assert_int_equal(err, 0);
    if (frame.count != n)
        return GCB_E_MISMATCH;
    bytes = frame.payload_bytes + made->behind;
    device_open_place(&p, device, n, bytes, gcb_device_coder_scratch(c));
    assert_int_equal(gcb_device_batch_upload(p.batch, p.payload, payload.data, bytes, NULL), 0);
    assert_int_equal(gcb_device_batch_begin(p.batch), 0);
    err = gcb_device_coder_decode_async(c, &frame, p.payload, p.tensor, &p.m, NULL);
    assert_int_equal(gcb_device_batch_finish(p.batch, NULL), 0);
    if (!err)
        err = gcb_device_coder_decode_finish(c, &p.m, NULL);
    if (!err)
        assert_int_equal(gcb_device_batch_download(p.batch, out, p.tensor, n * sizeof(float), NULL),
                         0);
    device_close_place(&p);
    return err;
}

int device_decode_device(const struct gcb_device *device, const struct made *made, float *out,
                         uint64_t n)
{
    const struct gcb_coder_config config = {.max_elements = most_elements(n)};
    struct gcb_coder *c = NULL;
    int err = device_coder_create_decoder(&c, device, made->bytes, made->length, &config, NULL);

    if (!err)
        err = run_decoder(c, device, made, out, n);
    gcb_coder_destroy(c);
    return err;
}

static size_t first_difference(const void *a, const void *b, size_t bytes)
{
    size_t i = 0;

    while (i < bytes && ((const uint8_t *)a)[i] == ((const uint8_t *)b)[i])
        i++;
    return i;
}

static bool has_transform(const struct gcb_method *m)
{
    for (size_t i = 0; i < gcb_param_count(m->codec->params); i++)
        if (strcmp(m->codec->params[i].name, "transform") == 0)
            return m->value[i] != 0.0;
    return false;
}

uint64_t device_first_unequal(const char *spec, const float *a, const float *b, uint64_t n)
{
    struct gcb_method m;
    uint64_t i = 0;
    bool sums;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    sums = has_transform(&m);
    while (i < n && (memcmp(&a[i], &b[i], sizeof(*a)) == 0 || (sums && isnan(a[i]) && isnan(b[i]))))
        i++;
    return i;
}

bool device_tolerant(const char *spec)
{
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    return (gcb_method_caps(&m) & GCB_CAP_DEVICE_MATH) != 0;
}

double device_distance(const float *a, const float *b, uint64_t n)
{
    double dd = 0.0, aa = 0.0;

    for (uint64_t i = 0; i < n; i++) {
        dd += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        aa += (double)a[i] * a[i];
    }
    return isfinite(dd) && isfinite(aa) && aa > 0.0 ? sqrt(dd / aa) : 0.0;
}

static void check_decoded(const char *spec, bool near, const float *want, const float *got,
                          uint64_t n)
{
    const uint64_t first = device_first_unequal(spec, want, got, n);

    if (!near && first < n)
        fail_msg("%s, n=%llu: decoded floats differ from element %llu on", spec,
                 (unsigned long long)n, (unsigned long long)first);
    if (near && device_distance(want, got, n) > 1e-6)
        fail_msg("%s, n=%llu: decoded floats differ by %g of their norm", spec,
                 (unsigned long long)n, device_distance(want, got, n));
}

/* True if a message with a changed header is one of a transform. */
static bool names_transform(const struct made *made, uint64_t n)
{
    const struct gcb_coder_config config = {.max_elements = most_elements(n)};
    const struct gcb_method *m;
    struct gcb_coder *c = NULL;
    bool named;

    assert_int_equal(gcb_coder_create_decoder(&c, made->bytes, made->length, &config, NULL), 0);
    m = gcb_coder_method(c);
    named = m->codec && has_transform(m);
    gcb_coder_destroy(c);
    return named;
}

/* damaged: the changed header may name parameters that only the CPU supports, or a transform by
 * cuFFT. */
void device_same_decoded(const struct gcb_device *device, const char *spec, const struct made *made,
                         uint64_t n, bool damaged)
{
    float *want = calloc(n + 1, sizeof(float)), *got = calloc(n + 1, sizeof(float));
    const int cpu = device_decode_cpu(made, want, n),
              dev = device_decode_device(device, made, got, n);

    if (cpu != dev && !(damaged && dev == GCB_E_UNSUPPORTED))
        fail_msg("%s, n=%llu: the CPU's decoder says %d, the device's %d", spec,
                 (unsigned long long)n, cpu, dev);
    if (!cpu && !dev)
        check_decoded(spec, device_tolerant(spec) || (damaged && names_transform(made, n)), want,
                      got, n);
    free(want);
    free(got);
}

static void check_bytes(const char *spec, const struct made *want, const struct made *got,
                        uint64_t n)
{
    if (want->err != got->err || want->length != got->length || want->clamped != got->clamped)
        fail_msg("%s, n=%llu: the CPU says %d, %zu bytes, %llu clamped; the device %d, %zu, %llu",
                 spec, (unsigned long long)n, want->err, want->length,
                 (unsigned long long)want->clamped, got->err, got->length,
                 (unsigned long long)got->clamped);
    if (memcmp(want->bytes, got->bytes, want->length) != 0)
        fail_msg("%s, n=%llu: messages differ from byte %zu of %zu on", spec, (unsigned long long)n,
                 first_difference(want->bytes, got->bytes, want->length), want->length);
}

static double error_of(const struct made *made, const float *x, uint64_t n)
{
    float *back = calloc(n + 1, sizeof(float));
    double error;

    assert_int_equal(device_decode_cpu(made, back, n), 0);
    error = device_distance(x, back, n);
    free(back);
    return error;
}

/* Of fewer elements only some bins are kept. If two bins are nearly equal, one side may keep the
 * other. */
#define FEW 64

/* If a spectrum overflows on one side only, only that side's message is raw. */
static void check_errors(const char *spec, const struct made *want, const struct made *got,
                         const float *x, uint64_t n)
{
    uint32_t top = 0;

    if (want->err != got->err)
        fail_msg("%s, n=%llu: the CPU says %d, the device %d", spec, (unsigned long long)n,
                 want->err, got->err);
    for (uint64_t i = 0; i < n; i++)
        top = gcb_magnitude(x[i]) > top ? gcb_magnitude(x[i]) : top;
    if (want->err || gcb_float_of(top) > 1e30f)
        return;
    if (fabs(error_of(want, x, n) - error_of(got, x, n)) > (n < FEW ? 0.1 : 1e-4))
        fail_msg("%s, n=%llu: the CPU's message has an error of %g, the device's of %g", spec,
                 (unsigned long long)n, error_of(want, x, n), error_of(got, x, n));
}

static void check_coded(const char *spec, const struct made *made, uint64_t n)
{
    struct gcb_rbuf payload;
    struct gcb_frame frame;

    assert_int_equal(made->err, 0);
    assert_int_equal(gcb_frame_parse(&frame, &payload, made->bytes, made->length, NULL), 0);
    if (frame.flags & GCB_WIRE_STORED)
        fail_msg("%s, n=%llu: the message goes raw", spec, (unsigned long long)n);
}

void device_same(const struct gcb_device *device, const char *spec, const float *x, uint64_t n,
                 const struct device_setting *setting)
{
    const struct gcb_step at = step_of(setting);
    struct gcb_coder_config config;
    struct gcb_method m;
    struct made want, got;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    device_configure(&config, setting, n);
    want = device_encode_cpu(&m, &config, &at, x);
    got = encode_device(device, &m, &config, &at, x);
    if (device_tolerant(spec) && !(setting && setting->same_spectra))
        check_errors(spec, &want, &got, x, n);
    else
        check_bytes(spec, &want, &got, n);
    if (setting && setting->coded)
        check_coded(spec, &want, n);
    if (!want.err)
        device_same_decoded(device, spec, &want, n, false);
    if (!got.err && device_tolerant(spec))
        device_same_decoded(device, spec, &got, n, false);
    free(want.bytes);
    free(got.bytes);
}

void device_near_spectrum(const struct gcb_device *device, const char *spec, const float *x,
                          uint64_t n)
{
    float *want = calloc(n + 1, sizeof(float)), *got = calloc(n + 1, sizeof(float));
    const struct gcb_step at = step_of(NULL);
    struct gcb_coder_config config;
    struct gcb_method m;
    struct made cpu, dev;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    device_configure(&config, NULL, n);
    cpu = device_encode_cpu(&m, &config, &at, x);
    dev = encode_device(device, &m, &config, &at, x);
    assert_int_equal(device_decode_cpu(&cpu, want, n), 0);
    assert_int_equal(device_decode_cpu(&dev, got, n), 0);
    assert_true(device_distance(want, x, n) >
                0.0); /* not a raw message, which would prove nothing */
    if (device_distance(want, got, n) > 1e-6 * log2((double)n + 1.0))
        fail_msg("%s, n=%llu: spectra differ by %g of their norm", spec, (unsigned long long)n,
                 device_distance(want, got, n));
    free(cpu.bytes);
    free(dev.bytes);
    free(want);
    free(got);
}

void device_same_damage(const struct gcb_device *device, const char *spec, const float *x,
                        uint64_t n, unsigned rounds, uint64_t seed)
{
    const struct gcb_step at = {.step = 3};
    struct gcb_coder_config config;
    struct gcb_method m;
    struct made made;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    device_configure(&config, NULL, n);
    config.checksum = false;
    made = device_encode_cpu(&m, &config, &at, x);
    assert_int_equal(made.err, 0);
    for (unsigned i = 0; i < rounds; i++) {
        struct made bad = made;
        /* more often near the start, where scales and directories are */
        const uint64_t r = check_random(&seed), reach = i % 2 ? made.length : 64;
        const uint64_t where = 12 + r % (reach < made.length - 12 ? reach : made.length - 12);

        bad.bytes = malloc(made.length);
        memcpy(bad.bytes, made.bytes, made.length);
        bad.bytes[where] = i % 3 ? (uint8_t)(r >> 32) : 0xff; /* 0xff makes scales that are NaNs */
        device_same_decoded(device, spec, &bad, n, true);
        free(bad.bytes);
    }
    free(made.bytes);
}

void device_same_all(const struct gcb_device *device, const char *spec, const uint64_t *sizes)
{
    for (size_t i = 0; sizes[i] != ~UINT64_C(0); i++) {
        float *x = malloc((sizes[i] + 1) * sizeof(float));

        for (int fill = 0; fill < FILL_COUNT; fill++) {
            /* each kind of tensor runs in another order of threads */
            const struct device_setting setting = {
                .nonfinite =
                    fill == FILL_NONFINITE && i % 2 ? GCB_NONFINITE_RAW : GCB_NONFINITE_ERROR,
                .source = (enum gcb_dtype)((i + (size_t)fill) % GCB_DTYPE_COUNT),
                .seed = 7 + i,
                .step = i,
                .worker = (uint32_t)fill,
            };

            gcb_host_schedule((enum gcb_host_order)((i + (size_t)fill) % 3), i);
            check_fill(x, sizes[i], (enum check_fill)fill, 100 + i);
            device_same(device, spec, x, sizes[i], &setting);
        }
        check_fill(x, sizes[i], FILL_NOISE, 200 + i);
        if (sizes[i] > 0)
            device_same_damage(device, spec, x, sizes[i], sizes[i] > 4000 ? 4 : 12, i);
        free(x);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}
