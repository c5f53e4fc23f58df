/* The sparse codec on the stand-in gives the CPU's messages, byte for byte. */
#include "kernels/base/hd.h"
#include "tests/cuda/device_test.h"
#include "tests/support/device_coder.h"

static const uint64_t sizes[] = {0, 1, 33, 4097, 8192, END};

static void largest_of_a_message(void **state)
{
    static const char *const specs[] = {
        "topk",
        "topk:theta=0",
        "topk:theta=0.5,index=bitmap,values=fp16",
    };

    same_all(specs, COUNT(specs), sizes);
}

static void all_above_a_threshold(void **state)
{
    static const char *const specs[] = {
        "sparse:select=threshold", "sparse:select=threshold,threshold=0.5,index=bitmap,values=fp16",
        "sparse:select=threshold,threshold=1e-60", /* keeps all except zeros */
    };

    same_all(specs, COUNT(specs), sizes);
}

static void every_kind_of_value(void **state)
{
    static const char *const specs[] = {
        "sparse:values=range,bits=5,mantissa=2,index=bitmap",
        "sparse:values=range,bits=16,max=0.5,rounding=truncate",
        "sparse:values=sign-mean",
        "sparse:values=means,theta=0.1,index=bitmap",
        "sparse:values=uniform,bits=7,index=bitmap",
        "sparse:values=uniform,bits=16,max=0.5,theta=0",
    };

    same_all(specs, COUNT(specs), sizes);
}

/* Sizes at which the tensor is sampled, and tensors whose sample misleads. */
static void large_tensors(void **state)
{
    static const char *const specs[] = {
        "topk:theta=0.999",
        "topk:theta=0.85,index=bitmap",
        "sparse:theta=0.9,values=range,index=bitmap",
        "sparse:select=threshold,threshold=0.1,values=means",
    };
    enum { N = 100003 };
    float *x = malloc(N * sizeof(float));

    gcb_host_schedule(GCB_HOST_SHUFFLED, 5);
    for (size_t i = 0; i < COUNT(specs); i++) {
        check_fill(x, N, FILL_HOSTILE, 5);
        device_same(&device, specs[i], x, N, NULL);
        for (size_t j = 0; j < N;
             j += N / 6250) /* sampled positions are all large; the others are zeros and ties */
            x[j] = 1e9f;
        for (size_t j = 0; j < N; j++)
            x[j] = x[j] == 1e9f ? x[j] : (float)(j % 3);
        device_same(&device, specs[i], x, N, NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Each kind of position that no encoder writes. */
static void damage(void **state)
{
    static const char *const specs[] = {
        "topk:theta=0.5",
        "topk:theta=0.5,index=bitmap",
        "sparse:values=range,index=bitmap",
        "sparse:values=means",
    };
    float x[4500];

    check_fill(x, COUNT(x), FILL_NOISE, 9);
    for (size_t i = 0; i < COUNT(specs); i++) {
        device_same_damage(&device, specs[i], x, COUNT(x), 6, 11 + i);
        device_same_damage(&device, specs[i], x, 50, 30, 17 + i);
    }
}

/* select=sampled takes every 97th of N elements here, from the third on. */
enum { SAMPLED_N = 100003, SAMPLED_STRIDE = 97, SAMPLED_OFFSET = 3 };

/* Fills x with noise, and multiplies the sampled elements by `times`. */
static void mislead(float *x, float times, uint64_t seed)
{
    check_fill(x, SAMPLED_N, FILL_NOISE, seed);
    for (size_t i = SAMPLED_OFFSET; i < SAMPLED_N; i += SAMPLED_STRIDE)
        x[i] *= times;
}

static void thresholds_from_a_sample(void **state)
{
    static const char *const small[] = {
        "sparse:select=sampled,theta=0.999",
        "sparse:select=sampled,theta=0.7,sample=1,index=bitmap,values=means",
        "sparse:select=trimmed,theta=0.9,values=fp16",
    };
    /* the sampled threshold is right; lowered a few times; never low enough; too many pass; all
     * pass */
    static const float times[] = {1.0f, 1.5f, 3.0f, 1e9f, 0.5f, 0.0f};
    float *x = malloc(SAMPLED_N * sizeof(float));

    for (size_t i = 0; i < COUNT(small); i++)
        device_same_all(&device, small[i], sizes);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 7);
    for (size_t i = 0; i < COUNT(times); i++) {
        mislead(x, times[i], 3 + i);
        device_same(&device, "sparse:select=sampled,theta=0.99", x, SAMPLED_N, NULL);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

/* Selection of one sign: positives are scaled so that either sign wins, and some tensors lack a
 * sign. */
static void one_sign(void **state)
{
    static const char *const specs[] = {
        "sparse:select=one-sided,values=mean,theta=0.9",
        "sparse:select=alternate,values=mean,theta=0.5,index=bitmap",
        "sparse:select=one-sided,values=uniform,bits=3,theta=0.3",
    };
    static const char *const specs_large[] = {"sparse:select=one-sided,values=mean,theta=0.9",
                                              "sparse:select=alternate,values=mean,theta=0.9"};
    static const float times[] = {1.2f, 0.8f, 0.8f, 0.0f, 0.0f, -1.0f};
    float *x = malloc(SAMPLED_N * sizeof(float));

    same_all(specs, COUNT(specs), sizes);
    for (size_t i = 0; i < COUNT(times); i++) {
        const struct device_setting setting = {.step = i};

        gcb_host_schedule((enum gcb_host_order)(i % 3), i);
        check_fill(x, SAMPLED_N, FILL_NOISE, i);
        for (size_t j = 0; j < SAMPLED_N; j++)
            x[j] *= x[j] > 0.0f ? times[i] : 1.0f;
        device_same(&device, specs_large[i % 2], x, SAMPLED_N, &setting);
    }
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

static void feedback_is_fused(void **state)
{
    static const char *const specs[] = {
        "topk",
        "sparse:select=threshold,threshold=0.3,values=fp16,index=bitmap",
        "sparse:select=sampled,theta=0.9,values=uniform,bits=5",
        "sparse:select=one-sided,theta=0.8,values=mean",
        "sparse:select=alternate,theta=0.8,values=sign-mean",
        "sparse:values=range,bits=7,theta=0.5",
        "sparse:values=means,theta=0.5,index=bitmap",
        "sparse:select=chunk,chunk=100,theta=0.9,values=fp16",
        "topk:theta=0.1", /* sent raw */
    };
    static const uint64_t counts[] = {1, 4097, END};

    for (size_t i = 0; i < COUNT(specs); i++)
        for (size_t k = 0; counts[k] != END; k++) {
            gcb_host_schedule((enum gcb_host_order)((i + k) % 3), i);
            device_same_feedback(&device, specs[i], counts[k], (enum gcb_dtype)((i + k) % 3),
                                 k == 0 ? 1.0 : 0.7);
        }
    device_same_feedback(&device, "topk:theta=0.999", SAMPLED_N, (enum gcb_dtype)0, 0.9);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
}

/* Thresholds between mean and maximum. Later steps reuse a threshold, because device_same_feedback
 * keeps its coder. */
static void searched_thresholds(void **state)
{
    static const char *const specs[] = {
        "sparse:select=search,theta=0.9,values=fp16",
        "redsync:density=0.05,dense-below=40,trimmed-below=400",
        "redsync:density=0.2,quant=asq,dense-below=40",
    };
    static const float times[] = {1.0f, 1e6f};
    float *x = malloc(SAMPLED_N * sizeof(float));

    same_all(specs, COUNT(specs), sizes);
    gcb_host_schedule(GCB_HOST_SHUFFLED, 3);
    for (size_t i = 0; i < COUNT(times); i++) {
        check_fill(x, SAMPLED_N, FILL_NOISE, i);
        for (size_t j = 0; j < SAMPLED_N; j += SAMPLED_N / 6250) /* sampled positions */
            x[j] *= times[i];
        device_same(&device, "sparse:select=search,theta=0.99", x, SAMPLED_N, NULL);
    }
    device_same_feedback(&device, "redsync:density=0.01,dense-below=0,trimmed-below=0", 4097,
                         (enum gcb_dtype)0, 0.9);
    device_same_feedback(&device, "redsync:density=0.01,dense-below=0,trimmed-below=0,interval=2",
                         4097, (enum gcb_dtype)0, 0.9);
    gcb_host_schedule(GCB_HOST_FORWARD, 1);
    free(x);
}

static void payloads_that_are_too_short(void **state)
{
    static const char *const specs[] = {
        "topk:theta=0.8",
        "sparse:theta=0.8,values=range,index=bitmap",
        "sparse:theta=0.8,values=means,index=golomb",
        "sparse:theta=0.8,values=uniform,index=varint",
        "sparse:select=one-sided,values=mean,index=bitmap",
    };
    float x[60];

    check_fill(x, COUNT(x), FILL_NOISE, 9);
    for (size_t i = 0; i < COUNT(specs); i++)
        device_same_cut(&device, specs[i], x, COUNT(x));
}

static void segments_are_left_to_the_cpu(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 10, .segment = 9}};
    struct gcb_coder *c = NULL;
    struct gcb_diag diag = {0};
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, "topk", NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &m, &config, &diag), GCB_E_UNSUPPORTED);
    assert_string_equal(diag.text, "device cuda: more than 9 positions run on the CPU only");
}

static void rounded_input_is_left_to_the_cpu(void **state)
{
    const struct gcb_coder_config config = {.env = {.count = 10}};
    struct gcb_coder *c = NULL;
    struct gcb_diag diag = {0};
    struct gcb_method m;

    assert_int_equal(gcb_method_parse(&m, "fft:input=fp16", NULL), 0);
    assert_int_equal(device_coder_create(&c, &device, &m, &config, &diag), GCB_E_UNSUPPORTED);
    assert_string_equal(diag.text,
                        "device cuda: input=fp16 runs on the CPU only; use --device cpu or "
                        "input=fp32");
}

/* The device module has no row for these stages. */
static void stages_are_left_to_the_cpu(void **state)
{
    static const char *const specs[] = {"sparse:select=sidco", "sparse:select=mask",
                                        "sparse:values=bins",  "sparse:values=fit",
                                        "sparse:index=bloom",  "sparse:transform=dct,tile=4x4"};
    const struct gcb_coder_config config = {.env = {.count = 10}};
    struct gcb_coder *c = NULL;
    struct gcb_method m;

    for (size_t i = 0; i < COUNT(specs); i++) {
        assert_int_equal(gcb_method_parse(&m, specs[i], NULL), 0);
        assert_int_equal(device_coder_create(&c, &device, &m, &config, NULL), GCB_E_UNSUPPORTED);
    }
}

RUN_TESTS_BETWEEN(open_device, NULL, cmocka_unit_test(largest_of_a_message),
                  cmocka_unit_test(all_above_a_threshold), cmocka_unit_test(every_kind_of_value),
                  cmocka_unit_test(large_tensors), cmocka_unit_test(thresholds_from_a_sample),
                  cmocka_unit_test(one_sign), cmocka_unit_test(feedback_is_fused),
                  cmocka_unit_test(damage), cmocka_unit_test(searched_thresholds),
                  cmocka_unit_test(payloads_that_are_too_short),
                  cmocka_unit_test(segments_are_left_to_the_cpu),
                  cmocka_unit_test(rounded_input_is_left_to_the_cpu),
                  cmocka_unit_test(stages_are_left_to_the_cpu))
