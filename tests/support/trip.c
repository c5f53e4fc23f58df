#include "tests/support/trip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
static const struct trip_options plain;

void trip_configure(struct gcb_coder_config *config, struct gcb_queue *queue,
                    struct gcb_kernels *kernels, const struct trip_options *o, uint64_t n)
{
    queue->threads = o->threads ? o->threads : 1;
    gcb_kernels_init(kernels, o->flags);
    *config = (struct gcb_coder_config){
        .env = {.count = n,
                .seed = o->seed,
                .path = o->path,
                .segment = o->segment,
                .kernels = kernels,
                .queue = queue},
        .source = o->source,
        .nonfinite = o->nonfinite,
        .checksum = o->checksum,
    };
}

void trip_encode(struct trip *t, const char *spec, const float *x, uint64_t n,
                 const struct trip_options *o)
{
    const struct trip_options *opt = o ? o : &plain;
    const struct gcb_step at = {.step = opt->step, .worker = opt->worker};
    const struct gcb_view in = {.data = x, .count = n};
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_method method;
    struct gcb_diag diag = {0};
    struct gcb_wbuf w = {0};

    trip_configure(&config, &queue, &kernels, opt, n);
    if (gcb_method_parse(&method, spec, &diag) ||
        gcb_coder_create(&t->encoder, &method, &config, &diag))
        fail_msg("%s: %s", spec, diag.text);
    w.cap = gcb_coder_bound(t->encoder);
    w.data = t->message = malloc(w.cap);
    assert_non_null(t->message);
    if (gcb_coder_encode(t->encoder, &at, &in, &w, &diag))
        fail_msg("%s: %s", spec, diag.text);
    if (opt->checksum)
        gcb_message_seal(w.data, w.len, 0);
    t->n = n;
    t->length = w.len;
    t->clamped = gcb_coder_clamped(t->encoder);
}

void trip_decode(struct trip *t, const struct trip_options *o)
{
    const struct trip_options *opt = o ? o : &plain;
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_diag diag = {0};
    struct gcb_mview out = {.count = t->n};

    trip_configure(&config, &queue, &kernels, opt, 0);
    out.data = t->back = malloc((t->n + 1) * sizeof(float));
    assert_non_null(t->back);
    memset(t->back, 0xa5, (t->n + 1) * sizeof(float));
    if (gcb_coder_create_decoder(&t->decoder, t->message, t->length, &config, &diag) ||
        gcb_coder_decode(t->decoder, t->message, t->length, &out, &diag) ||
        gcb_coder_describe(t->decoder, t->message, t->length, &t->parts, &diag))
        fail_msg("decode: %s", diag.text);
}

void trip_run(struct trip *t, const char *spec, const float *x, uint64_t n,
              const struct trip_options *o)
{
    trip_encode(t, spec, x, n, o);
    trip_decode(t, o);
}

bool trip_lacks_fftw(uint64_t n, uint64_t chunk)
{
    const uint64_t first = chunk && chunk < n ? chunk : n, rest = n % first;

    return !gcb_fft_can(first) || (rest && !gcb_fft_can(rest));
}

void trip_need_fftw(uint64_t n, uint64_t chunk)
{
    if (!trip_lacks_fftw(n, chunk))
        return;
    print_message("skipped: fft:chunk=%u of %u elements needs FFTW\n", (unsigned)chunk,
                  (unsigned)n);
    skip();
}

void trip_free(struct trip *t)
{
    gcb_coder_destroy(t->encoder);
    gcb_coder_destroy(t->decoder);
    free(t->message);
    free(t->back);
    memset(t, 0, sizeof(*t));
}

double trip_error(const char *spec, const float *x, uint64_t n, const struct trip_options *o)
{
    struct trip t = {0};
    double error;

    trip_run(&t, spec, x, n, o);
    error = trip_distance(x, t.back, n) / trip_norm(x, n);
    trip_free(&t);
    return error;
}

double trip_norm(const float *x, uint64_t n)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

double trip_distance(const float *x, const float *y, uint64_t n)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    return sum;
}

/* splitmix64, as a number in (0, 1) */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static double gauss(uint64_t *state)
{
    const double radius = sqrt(-2.0 * log(uniform(state)));

    return radius * cos(6.283185307179586 * uniform(state));
}

static double laplace(uint64_t *state)
{
    const double u = uniform(state);

    return u < 0.5 ? log(2.0 * u) : -log(2.0 * (1.0 - u));
}

static double student3(uint64_t *state)
{
    const double z = gauss(state), a = gauss(state), b = gauss(state), c = gauss(state);

    return z / sqrt((a * a + b * b + c * c) / 3.0);
}

void trip_fill(float *x, uint64_t n, enum trip_law law, uint64_t seed)
{
    uint64_t state = seed * 7919 + 1;
    double last = gauss(&state);

    for (uint64_t i = 0; i < n; i++) {
        if (law == TRIP_GAUSS)
            x[i] = (float)gauss(&state);
        else if (law == TRIP_LAPLACE)
            x[i] = (float)laplace(&state);
        else if (law == TRIP_STUDENT3)
            x[i] = (float)student3(&state);
        else
            x[i] = (float)(last = 0.9 * last + sqrt(1.0 - 0.81) * gauss(&state));
    }
}

float *trip_tensor(uint64_t n, enum trip_law law, uint64_t seed)
{
    float *x = malloc((n + 1) * sizeof(float));

    assert_non_null(x);
    trip_fill(x, n, law, seed);
    return x;
}
