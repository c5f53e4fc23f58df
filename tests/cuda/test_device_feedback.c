/* Error feedback fused into encoders with a transform gives what a memory around a coder gives, on
 * the stand-in. */
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

/* Plain and hostile steps, with source types in turn, compared with both unfused paths or only the
 * device's. */
static void same_steps(const char *spec, uint64_t n, unsigned turn, bool cpu)
{
    for (unsigned way = cpu ? 0 : 2; way < 4; way++) {
        const struct device_steps how = {
            .source = (enum gcb_dtype)((turn + way) % GCB_DTYPE_COUNT),
            .carry = (turn + way) % 3 ? 0.7 : 1.0,
            .wild = way % 2,
            .itself = way >= 2,
            .near = true,
        };

        gcb_host_schedule((enum gcb_host_order)((turn + way) % 3), turn);
        device_same_steps(&device, spec, n, &how);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* For each value coder, the residual is the tensor minus what the decoder reads. */
static void hadamard(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"sparse:transform=hadamard,density=0.3", 0},
        {"sparse:transform=hadamard,density=0.3", 1},
        {"sparse:transform=hadamard,density=0.1", 4500},
        {"sparse:transform=hadamard,values=fp16,index=bitmap,density=0.2", 777},
        {"sparse:transform=hadamard,chunk=64,values=range,bits=6,density=0.2", 500},
        {"sparse:transform=hadamard,chunk=256,values=uniform,bits=3,density=0.2", 700},
        {"sparse:transform=hadamard,select=one-sided,values=mean,index=golomb,density=0.1", 1000},
        {"sparse:transform=hadamard,values=sign-mean,density=0.1", 1000},
        {"sparse:transform=hadamard,values=means,density=0.1,index=varint", 1000},
        {"sparse:transform=hadamard,select=threshold,threshold=0.5,values=fp16", 600},
        {"sparse:transform=hadamard,chunk=64,select=chunk,density=0.1,values=fp16", 333},
        {"sparse:transform=hadamard,select=sampled,density=0.05", 5000},
        {"sparse:transform=hadamard,select=redsync,density=0.05", 5000},
        {"sparse:transform=hadamard,theta=0.1", 100},          /* sent raw */
        {"sparse:transform=hadamard,density=0.01", 16384 + 5}, /* two passes */
    };

    for (unsigned i = 0; i < COUNT(cases); i++)
        same_steps(cases[i].spec, cases[i].n, i, true);
}

static void dct(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"demo:density=0.02", 0},
        {"demo:density=0.02", 8192}, /* selected while in shared memory */
        {"demo:density=0.02", 4500}, /* with a shorter last chunk */
        {"sparse:transform=dct,chunk=64,density=0.2,values=range,bits=6", 1000},
        {"sparse:transform=dct,chunk=4096,density=0.05", 8192},
        {"sparse:transform=dct,chunk=48,select=chunk,density=0.1", 300},
        {"sparse:transform=dct,chunk=5,density=0.3", 59}, /* the last chunk starts at byte 220 */
        {"sparse:transform=dct,density=0.2,values=fp16", 60},
        {"sparse:transform=dct,chunk=101,density=0.1,values=sign-mean", 950}, /* by cuFFT */
        {"sparse:transform=dct,density=0.1,values=means", 4099},
        {"sparse:transform=dct,pad=smooth,density=0.1", 4097},
        {"demo:pad=smooth,density=0.02", 4503},
    };

    for (unsigned i = 0; i < COUNT(cases); i++)
        same_steps(cases[i].spec, cases[i].n, i, false);
}

static void fft(void **state)
{
    static const struct {
        const char *spec;
        uint64_t n;
    } cases[] = {
        {"fft", 0},
        {"fft", 1},
        {"fft", 2050},
        {"fft:density=0.1", 4099},
        {"sparse:transform=fft,chunk=100,density=0.1,values=fp32", 250},
        {"sparse:transform=fft,chunk=63,values=sign-mean,index=bitmap", 1000},
        {"sparse:transform=fft,chunk=7,select=threshold,threshold=0.2,values=uniform", 333},
        {"sparse:transform=fft,chunk=64,values=range,bits=7,density=0.1", 500},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.02,values=fp16", 8192},
        {"sparse:transform=fft,chunk=4096,select=chunk,density=0.02,values=fp16", 5000},
        {"sparse:transform=fft,chunk=4096,density=0.05", 8192},
        {"sparse:transform=fft,chunk=256,density=0.05", 4100},
        {"fft:pad=smooth", 1094},
        {"fft:pad=smooth,chunk=100,values=fp32", 291},
        {"fft:pad=smooth", 4090},
        {"fft:pad=smooth,chunk=4096,select=chunk", 5001},
    };

    for (unsigned i = 0; i < COUNT(cases); i++) {
        same_steps(cases[i].spec, cases[i].n, i, true);
        if (i % 2)
            continue;
        gcb_host_fft(GCB_HOST_FFT_NEAR);
        same_steps(cases[i].spec, cases[i].n, i, false);
        gcb_host_fft(GCB_HOST_FFT_EXACT);
    }
}

/* A coder that was made without feedback has no plans of the inverse, and refuses a residual. */
static void residuals_have_to_be_announced(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 100}};
    const struct gcb_step at = {0};
    const struct gcb_device_batch_config room = {.messages = 1};
    float something = 0.0f;
    struct gcb_device_message m = {.residual_dev = &something};
    struct gcb_coder *c = NULL;
    struct gcb_diag diag = {0};
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, "fp16", NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &method, &config, NULL), 0);
    assert_int_equal(gcb_device_batch_create(&m.batch, &device, &room, NULL), 0);
    assert_int_equal(gcb_device_batch_begin(m.batch), 0);
    assert_int_equal(gcb_device_coder_encode_async(c, &at, &m, &diag), GCB_E_MISMATCH);
    assert_string_equal(diag.text,
                        "the message has a residual, but the coder was made without feedback");
    gcb_device_batch_destroy(m.batch);
    gcb_coder_destroy(c);
}

/* If a codec has no fused feedback, making a coder with feedback fails. */
static void not_every_codec_needs_it(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 100, .feedback = true}};
    const struct gcb_device_codec *row = device.module->codecs;
    struct gcb_device_module module = *device.module;
    const struct gcb_device other = {.module = &module};
    struct gcb_device_codec rows[2] = {{0}};
    struct gcb_coder *c = NULL;
    struct gcb_diag diag = {0};
    struct gcb_device_ops ops;
    struct gcb_method method;

    assert_int_equal(gcb_method_parse(&method, "fp16", NULL), 0);
    while (row->wire_id != method.codec->wire_id)
        row++;
    ops = *row->ops;
    ops.feedback = false;
    rows[0] = (struct gcb_device_codec){row->wire_id, &ops};
    module.codecs = rows;
    assert_int_equal(device_coder_create(&c, &other, &method, &config, &diag), GCB_E_UNSUPPORTED);
    assert_string_equal(diag.text, "device cuda: method 'fp16' has no error feedback on a device");
    assert_null(c);
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(hadamard), cmocka_unit_test(dct),
                  cmocka_unit_test(fft), cmocka_unit_test(residuals_have_to_be_announced),
                  cmocka_unit_test(not_every_codec_needs_it), cmocka_unit_test(nothing_is_left))
