/* Real FFTs of chunks in shared memory, and the selection from them, on the stand-in. */
#include <math.h>
#include <stdio.h>

#include "kernels/fft/fft.h"
#include "kernels/fft/fft_cuda.h"
#include "src/lib/codec/codec.h"
#include "src/lib/sparse/sparse.h"
#include "tests/cuda/device_test.h"

static struct gcb_kernels kernels;

static int open_all(void **state)
{
    gcb_kernels_init(&kernels, 0);
    return open_device(state);
}

/* ---- device memory ---- */

static struct gcb_device_stream *stream;

static void *to_device(const void *from, uint64_t bytes)
{
    void *dev = NULL, *pinned = NULL;

    assert_int_equal(device.module->memory.alloc(&dev, bytes, NULL), 0);
    assert_int_equal(device.module->memory.alloc_pinned(&pinned, bytes + 1, NULL), 0);
    memcpy(pinned, from, bytes);
    assert_int_equal(device.module->stream.copy(stream, dev, pinned, bytes, GCB_COPY_IN), 0);
    assert_int_equal(device.module->stream.wait(stream, NULL), 0);
    device.module->memory.free_pinned(pinned);
    return dev;
}

/* Frees device memory. */
static void from_device(void *to, void *dev, uint64_t bytes)
{
    void *pinned = NULL;

    assert_int_equal(device.module->memory.alloc_pinned(&pinned, bytes + 1, NULL), 0);
    assert_int_equal(device.module->stream.copy(stream, pinned, dev, bytes, GCB_COPY_OUT), 0);
    assert_int_equal(device.module->stream.wait(stream, NULL), 0);
    memcpy(to, pinned, bytes);
    device.module->memory.free_pinned(pinned);
    device.module->memory.free(dev);
}

/* ---- the device's spectrum, and the CPU's stages after it ---- */

static float *spectrum; /* of the current call */

/* Whole chunks have the device's spectrum; a shorter one has that of the stand-in for cuFFT, which
 * is the CPU's. */
static void transform(float *bins, const float *x, uint64_t n, uint64_t chunk)
{
    const uint64_t rest = n % chunk, whole = 2 * gcb_fft_bins(n - rest, chunk);
    const struct gcb_fft_config config = {.n = rest, .threads = 1};
    struct gcb_device_result most = {0};
    struct gcb_cuda_block_fft f = {.count = n - rest, .length = chunk};
    void *table = malloc(gcb_cuda_fft_block_bytes(chunk));
    void *x_dev, *bins_dev, *most_dev, *table_dev;
    struct gcb_device_input in;
    struct gcb_fft *fft = NULL;

    gcb_cuda_fft_block_table(table, chunk);
    f.table = table_dev = to_device(table, gcb_cuda_fft_block_bytes(chunk));
    x_dev = to_device(x, n * sizeof(float));
    in = gcb_device_plain(x_dev, f.count);
    bins_dev = to_device(bins, whole * sizeof(float));
    most_dev = to_device(&most, sizeof(most));
    assert_int_equal(gcb_cuda_fft_block_forward(stream, bins_dev, &in, &f, most_dev), 0);
    from_device(bins, bins_dev, whole * sizeof(float));
    from_device(&most, most_dev, sizeof(most));
    assert_int_equal(most.max_bits, kernels.reduce.max_bits(bins, whole));
    if (rest) {
        float *last = aligned_alloc(64, (rest + 2 + 15) / 16 * 64);

        assert_int_equal(gcb_fft_create(&fft, &config), 0);
        gcb_fft_forward(fft, x + (n - rest), last);
        memcpy(bins + whole, last, 2 * gcb_fft_bins(rest, 0) * sizeof(float));
        gcb_fft_destroy(fft);
        free(last);
    }
    device.module->memory.free(x_dev);
    device.module->memory.free(table_dev);
    free(table);
}

static const float *give_spectrum(struct gcb_transform_state *t, const struct gcb_step *at,
                                  const float *x)
{
    return memcpy(t->coef, spectrum, 2 * t->positions * sizeof(float));
}

static int cpu_payload(struct gcb_wbuf *out, const struct gcb_method *m,
                       const struct gcb_codec_env *env, const float *x)
{
    const struct gcb_view in = {.data = x, .count = env->count};
    struct gcb_sparse *s = calloc(1, sizeof(*s));
    struct gcb_transform fed;
    int err;

    gcb_codec_base_init(&s->base, env);
    gcb_param_store(m->codec->params, m->value, s);
    assert_int_equal(m->codec->ops->init(s, env, NULL), 0);
    spectrum = calloc(2 * s->t.positions, sizeof(float));
    transform(spectrum, x, env->count, s->chunk);
    fed = *s->transform_ops;
    fed.forward = give_spectrum;
    s->transform_ops = &fed;
    out->cap = s->base.max_payload;
    out->data = malloc(out->cap);
    err = m->codec->ops->encode(s, &(struct gcb_step){0}, &in, out);
    m->codec->ops->fini(s);
    free(spectrum);
    free(s);
    return err;
}

static int device_payload(struct gcb_wbuf *out, const struct gcb_method *m,
                          const struct gcb_codec_env *env, const float *x)
{
    const struct gcb_device_codec *row = device.module->codecs;
    struct gcb_device_result result = {0};
    void *state, *x_dev = to_device(x, env->count * sizeof(float)), *out_dev = NULL;
    struct gcb_device_call call = {.stream = stream};
    struct gcb_device_input in;

    while (row->wire_id != m->codec->wire_id)
        row++;
    state = calloc(1, row->ops->state_size);
    gcb_codec_base_init(state, env);
    gcb_param_store(m->codec->params, m->value, state);
    assert_int_equal(row->ops->init(state, env, NULL), 0);
    out->cap = ((struct gcb_codec_base *)state)->max_payload;
    out->data = malloc(out->cap);
    assert_int_equal(device.module->memory.alloc(&out_dev, out->cap, NULL), 0);
    assert_int_equal(device.module->memory.alloc(&call.scratch_dev, row->ops->scratch(state), NULL),
                     0);
    call.result_dev = to_device(&result, sizeof(result));
    in = gcb_device_plain(x_dev, env->count);
    assert_int_equal(row->ops->encode_async(state, &in, out_dev, &call), 0);
    from_device(out->data, out_dev, out->cap);
    from_device(&result, call.result_dev, sizeof(result));
    out->len = result.length;
    row->ops->fini(state);
    device.module->memory.free(call.scratch_dev);
    device.module->memory.free(x_dev);
    free(state);
    return result.status;
}

/* From the same spectrum, both sides write the same payload. */
static void same_behind_the_transform(const char *spec, const float *x, uint64_t n)
{
    const struct gcb_queue queue = {.threads = 1};
    const struct gcb_codec_env env = {
        .count = n, .segment = UINT64_C(1) << 31, .kernels = &kernels, .queue = &queue};
    struct gcb_wbuf want = {0}, got = {0};
    struct gcb_method m;
    int cpu, dev;

    assert_int_equal(gcb_method_parse(&m, spec, NULL), 0);
    assert_int_equal(device.module->stream.create(&stream, NULL), 0);
    cpu = cpu_payload(&want, &m, &env, x);
    dev = device_payload(&got, &m, &env, x);
    device.module->stream.destroy(stream);
    if (cpu != dev || (!cpu && (want.len != got.len || memcmp(want.data, got.data, got.len) != 0)))
        fail_msg("%s, n=%llu: the CPU says %d, %zu bytes; the device %d, %zu", spec,
                 (unsigned long long)n, cpu, want.len, dev, got.len);
    free(want.data);
    free(got.data);
}

/* ---- tests ---- */

static void same_message_of_the_same_spectrum(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.0078125", 8192},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.3,index=bitmap", 4097},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=1,values=range", 8192 + 100},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.9,values=fp16", 12288 + 1000},
        {"sparse:transform=fft,chunk=4096,density=0.05", 10000},
        {"sparse:transform=fft,chunk=512,select=chunk,density=0.1", 5000},
        {"sparse:transform=fft,chunk=8,density=0.2,values=sign-mean", 4100},
        {"sparse:transform=fft,chunk=16,select=threshold,threshold=0.1", 333},
    };
    float *x = malloc(20000 * sizeof(float));

    for (size_t i = 0; i < COUNT(cases); i++)
        for (int fill = 0; fill < FILL_NONFINITE; fill++) {
            gcb_host_schedule((enum gcb_host_order)((i + (size_t)fill) % 3), i);
            check_fill(x, cases[i].n, (enum check_fill)fill, i);
            same_behind_the_transform(cases[i].spec, x, cases[i].n);
        }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* If a chunk is so much smaller than another that its squares underflow at that chunk's scale, its
 * positions are selected a second time. The shorter last chunk may be the large one. */
static void chunks_of_other_scales(void **state)
{
    static const int down[] = {1, 20, 30, 36, 38, 45, 52, 54, 57, 60, 63, 65, 75, 100, 120, 140};
    enum { CHUNK = 4096, REST = 17, N = 4 * CHUNK + REST };
    float *x = malloc(N * sizeof(float));

    for (size_t i = 0; i < COUNT(down); i++) {
        const bool rest_is_large = i % 3 == 0;
        const float large = 0x1p+20f, small = ldexpf(large, -down[i]);

        check_fill(x, N, FILL_NOISE, i);
        for (size_t j = 0; j < N; j++)
            x[j] *= j / CHUNK == (rest_is_large ? 4 : 2) ? large : j / CHUNK == 3 ? 0.0f : small;
        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        same_behind_the_transform("sparse:transform=fft,chunk=4096,select=chunk,density=0.2", x, N);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Every length that is transformed in shared memory, and some others. */
static void all_lengths(void **state)
{
    enum { N = 9000 };
    float *x = malloc(N * sizeof(float));
    char spec[96];

    check_fill(x, N, FILL_NOISE, 3);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 4);
    for (unsigned length = 1; length <= 8192; length *= 2) {
        const uint64_t n = length < 16 ? 200 : 2 * length < N ? 2 * length + 5 : N;

        snprintf(spec, sizeof(spec), "sparse:transform=fft,chunk=%u,density=0.4,index=bitmap",
                 length);
        device_near_spectrum(&device, spec, x, n);
        snprintf(spec, sizeof(spec), "sparse:transform=fft,chunk=%u,density=0.3", length);
        device_same(&device, spec, x, n, NULL);
        snprintf(spec, sizeof(spec), "sparse:transform=fft,chunk=%u,select=chunk,density=0.1",
                 length);
        device_same(&device, spec, x, n, NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Whole chunks need no cuFFT, and neither do single elements. */
static void without_cufft(void **state)
{
    float x[8193];

    check_fill(x, COUNT(x), FILL_NOISE, 1);
    gcb_host_fft(GCB_HOST_FFT_MISSING);
    device_same(&device, "fft:chunk=4096", x, 8192, NULL);
    device_same(&device, "sparse:transform=fft,chunk=4096,select=chunk", x, 8193, NULL);
    device_same(&device, "fft:chunk=1", x, 100, NULL);
    device_same(&device, "fft", x, 1, NULL);
    gcb_host_fft(GCB_HOST_FFT_EXACT);
    device_same(&device, "fft:chunk=3", x, 100, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_message_of_the_same_spectrum),
        cmocka_unit_test(chunks_of_other_scales),
        cmocka_unit_test(all_lengths),
        cmocka_unit_test(without_cufft),
        cmocka_unit_test(nothing_is_left),
    };

    return cmocka_run_group_tests(tests, open_all, NULL);
}
