/* RedSync: trimmed top-k, the searched threshold, and using it again. */
#include <math.h>
#include <stdio.h>

#include "tests/lib/sparse/choices.h"

static void trimmed_is_topk(void **state)
{
    static const uint64_t sizes[] = {3, 100, 5000, 65536, 100003};
    static const double densities[] = {0.0001, 0.001, 0.02, 0.3};

    for (int in = 0; in < CHOICE_INPUTS; in++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            const double density = densities[(s + (size_t)in) % 4];
            float *x = choice_tensor(sizes[s], (enum choice_input)in, s);
            struct trip a = {0}, b = {0};
            char spec[96];

            snprintf(spec, sizeof(spec), "sparse:select=trimmed,density=%g", density);
            trip_encode(&a, spec, x, sizes[s], &choice_plans[s % 4]);
            snprintf(spec, sizeof(spec), "sparse:select=topk,density=%g", density);
            trip_encode(&b, spec, x, sizes[s], &choice_plans[s % 4]);
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.message, b.message, a.length);
            trip_free(&a);
            trip_free(&b);
            free(x);
        }
    }
}

/* The corrected search (src/lib/sparse/select_redsync.c), by plain counting. 0: no ratio lets k
 * elements pass. */
static uint32_t search(const float *x, uint64_t n, uint64_t k)
{
    double sum = 0.0, max = 0.0, low = 0.0, high = 1.0;
    uint32_t best = 0;

    for (uint64_t i = 0; i < n; i++) {
        sum += fabs((double)x[i]);
        max = fmax(max, fabs((double)x[i]));
    }
    while (high - low > 1e-3) {
        const double ratio = (low + high) / 2.0, mean = sum / (double)n;
        const uint32_t threshold = gcb_bits_of((float)(mean + ratio * (max - mean)));
        const uint64_t count = choice_count_from(x, n, threshold);

        if (count >= k)
            best = threshold;
        if (count >= k && count <= 2 * k)
            break;
        *(count < k ? &high : &low) = ratio;
    }
    return best;
}

static void search_choice(char *want, const float *x, uint64_t n, uint64_t k)
{
    const uint32_t threshold = search(x, n, k);

    if (threshold)
        choice_flag_from(want, x, n, threshold);
    else
        choice_largest(want, x, n, 2, k);
}

static void search_is_that_of_counting(void **state)
{
    static const uint64_t sizes[] = {1, 2, 50, 3000, 65537, 140007};
    static const double densities[] = {0.0001, 0.001, 0.01, 0.1};
    char *want = malloc(140007), spec[96];

    for (int in = 0; in < CHOICE_INPUTS; in++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            const double density = densities[(s + (size_t)in) % 4];
            const uint64_t n = sizes[s], k = gcb_kept_of(density, n);
            float *x = choice_tensor(n, (enum choice_input)in, s);

            search_choice(want, x, n, k);
            assert_true(choice_count(want, n) >= k);
            if (choice_count(want, n) > n / 2 - choice_least(n / 2, 4 * (n / 1000 + 2)))
                memset(want, 1, n); /* stored */
            snprintf(spec, sizeof(spec), "sparse:select=search,density=%g", density);
            choice_assert(spec, x, n, want, &choice_plans[s % 2]);
            free(x);
        }
    }
    free(want);
}

/* Tensors of more than 4 MiB are searched: k to 2k elements, with light and heavy tails. */
static void search_lands(void **state)
{
    static const double densities[] = {0.001, 0.01};
    enum { N = (1 << 20) + 1 };
    char spec[96];

    for (int in = 0; in < SMOOTH_LAWS; in++) {
        for (size_t d = 0; d < 2; d++) {
            const uint64_t k = gcb_kept_of(densities[d], N);
            float *x = choice_tensor(N, (enum choice_input)in, 31 + d);
            struct trip t = {0};

            snprintf(spec, sizeof(spec), "sparse:select=search,density=%g", densities[d]);
            trip_run(&t, spec, x, N, NULL);
            assert_true(t.parts.payload.kept >= k && t.parts.payload.kept <= 2 * k);
            trip_free(&t);
            free(x);
        }
    }
}

static void assert_same_messages(const char *a, const char *b, const float *x, uint64_t n)
{
    struct trip s = {0}, t = {0};

    trip_encode(&s, a, x, n, NULL);
    trip_encode(&t, b, x, n, NULL);
    assert_int_equal(s.length, t.length);
    assert_memory_equal(s.message, t.message, s.length);
    trip_free(&s);
    trip_free(&t);
}

/* The tensor's bytes choose between all, trimmed and search. A limit itself belongs to the larger
 * sizes. */
static void redsync_goes_by_size(void **state)
{
    enum { DENSE = 131072 / 4, TRIMMED = 4194304 / 4 };
    float *x = choice_tensor(TRIMMED + 1, STUDENT3, 8);
    struct trip t = {0};

    trip_run(&t, "redsync:density=0.001", x, DENSE - 1, NULL);
    assert_true(t.parts.stored);
    assert_memory_equal(t.back, x, (DENSE - 1) * sizeof(float));
    trip_free(&t);
    assert_same_messages("redsync:density=0.001", "sparse:select=trimmed,density=0.001", x, DENSE);
    assert_same_messages("redsync:density=0.001", "sparse:select=trimmed,density=0.001", x,
                         TRIMMED - 1);
    assert_same_messages("redsync:density=0.001", "sparse:select=search,density=0.001", x, TRIMMED);
    assert_same_messages("redsync:density=0.01,dense-below=400,trimmed-below=800",
                         "sparse:select=trimmed,density=0.01", x, 100);
    assert_same_messages("redsync:density=0.01,dense-below=400,trimmed-below=800",
                         "sparse:select=search,density=0.01", x, 200);
    /* bytes of the tensor, not of its bins */
    assert_same_messages("sparse:transform=fft,select=redsync,density=0.01,dense-below=4000",
                         "sparse:transform=fft,select=trimmed,density=0.01", x, 1000);
    free(x);
}

/* ---- reuse ---- */

struct again {
    struct trip t; /* the encoder of all steps */
    uint64_t n;
};

/* Encodes a step of a worker with the same coder and returns the kept flags. The caller frees
 * them. */
static char *kept_at(struct again *a, const float *x, uint64_t step, uint32_t worker)
{
    const struct gcb_step at = {.step = step, .worker = worker};
    const struct gcb_view in = {.data = x, .count = a->n};
    struct gcb_wbuf w = {.data = a->t.message, .cap = gcb_coder_bound(a->t.encoder)};

    assert_int_equal(gcb_coder_encode(a->t.encoder, &at, &in, &w, NULL), 0);
    a->t.length = w.len;
    gcb_coder_destroy(a->t.decoder);
    free(a->t.back);
    trip_decode(&a->t, NULL);
    return choice_flags(&a->t, 0);
}

static void assert_kept_at(struct again *a, const float *x, uint64_t step, uint32_t worker,
                           const char *want)
{
    char *got = kept_at(a, x, step, worker);

    assert_memory_equal(got, want, a->n);
    free(got);
}

/* A threshold is used for the other steps of the interval, even if the gradients drift. Then it is
 * searched again. */
static void redsync_reuses(void **state)
{
    enum { N = 50000, STEPS = 12, INTERVAL = 5 };
    const uint64_t k = gcb_kept_of(0.01, N);
    struct again a = {.n = N};
    char *want = malloc(N);
    uint32_t threshold = 0;

    for (uint64_t step = 0; step < STEPS; step++) {
        float *x = choice_tensor(N, LAPLACE, step);

        for (uint64_t i = 0; i < N; i++)
            x[i] *= 1.0f - 0.06f * (float)step;
        if (step == 0)
            trip_encode(&a.t, "redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", x, N,
                        &(struct trip_options){.step = 100});
        if (step % INTERVAL == 0)
            threshold = search(x, N, k);
        choice_flag_from(want, x, N, threshold);
        assert_kept_at(&a, x, 100 + step, 0, want);
        assert_kept_at(&a, x, 100 + step, 0, want); /* the same call again */
        free(x);
    }
    trip_free(&a.t);
    free(want);
}

/* A threshold is not used for another worker, after the interval, in an earlier step, or with
 * interval 1. */
static void redsync_does_not_reuse(void **state)
{
    enum { N = 50000 };
    static const struct {
        const char *spec;
        uint64_t step;
        uint32_t worker;
    } cases[] = {
        {"redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", 8, 1},
        {"redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", 12, 0},
        {"redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", 6, 0},
        {"redsync:density=0.01,dense-below=0,trimmed-below=0,interval=1", 8, 0},
        {"redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", 7, 0},
    };
    float *x = choice_tensor(N, GAUSS, 1), *y = choice_tensor(N, STUDENT3, 2);
    char *want = malloc(N);

    search_choice(want, y, N, gcb_kept_of(0.01, N));
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        struct again a = {.n = N};

        trip_encode(&a.t, cases[c].spec, x, N, &(struct trip_options){.step = 7});
        assert_kept_at(&a, y, cases[c].step, cases[c].worker, want);
        trip_free(&a.t);
    }
    free(want);
    free(x);
    free(y);
}

RUN_TESTS(cmocka_unit_test(trimmed_is_topk), cmocka_unit_test(search_is_that_of_counting),
          cmocka_unit_test(search_lands), cmocka_unit_test(redsync_goes_by_size),
          cmocka_unit_test(redsync_reuses), cmocka_unit_test(redsync_does_not_reuse))
