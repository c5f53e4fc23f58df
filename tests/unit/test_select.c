#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/sparse/select.h"
#include "tests/support/trip.h"

/* ---- inputs ---- */

enum input {
    GAUSS,
    LAPLACE,
    STUDENT3,
    UNIFORM,
    MOSTLY_ZERO, /* one in 1000 is not */
    SMOOTH_LAWS, /* those before: of continuous magnitudes */
    TIES = SMOOTH_LAWS,
    ZERO,
    CONSTANT,
    ONE_HOT,
    TWO_LEVELS,
    DENORMAL,
    MISLEADING, /* large wherever an even sample of 70003 looks */
    INPUTS
};

static float *tensor(uint64_t n, enum input in, uint64_t seed)
{
    static const enum trip_law laws[] = {TRIP_GAUSS, TRIP_LAPLACE, TRIP_STUDENT3};
    float *x = trip_tensor(n, in < UNIFORM ? laws[in] : TRIP_LAPLACE, seed);

    for (uint64_t i = 0; i < n; i++) {
        if (in == UNIFORM)
            x[i] = copysignf(expf(-fabsf(x[i])), x[i]);
        if (in == MOSTLY_ZERO && (i * 40503u + seed) % 1000)
            x[i] = i % 2 ? 0.0f : -0.0f;
        if (in == TIES)
            x[i] = roundf(x[i]) / 4.0f;
        if (in == ZERO || in == ONE_HOT)
            x[i] = 0.0f;
        if (in == CONSTANT)
            x[i] = -0.1f;
        if (in == TWO_LEVELS)
            x[i] = (float)((int)(i % 10) == 3) * (x[i] > 0.0f ? 1.0f : -1.0f);
        if (in == DENORMAL)
            x[i] *= 1e-43f;
        if (in == MISLEADING && i % 16 == 0)
            x[i] *= 1000.0f;
    }
    if (in == ONE_HOT)
        x[n / 3] = -2.5f;
    return x;
}

/* ---- what a message with float32 values and u32 positions keeps ---- */

static char *flags_of(const struct trip *t, uint64_t segment)
{
    const uint64_t cut = segment ? segment : UINT64_C(1) << 31, segments = (t->n + cut - 1) / cut;
    const uint8_t *kept = t->message + t->parts.header_bytes;
    const uint8_t *pos = kept + 4 * segments + 4 * t->parts.payload.kept;
    char *flags = calloc(t->n + 1, 1);

    for (uint64_t g = 0; g < segments && !t->parts.stored; g++)
        for (uint32_t i = 0; i < gcb_load_u32(kept + 4 * g); i++, pos += 4)
            flags[g * cut + gcb_load_u32(pos)] = 1;
    if (t->parts.stored)
        memset(flags, 1, t->n);
    return flags;
}

static uint64_t count_flags(const char *flags, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += (uint64_t)flags[i];
    return count;
}

static char *selected(const char *spec, const float *x, uint64_t n, const struct trip_options *o)
{
    struct trip t = {0};
    char *flags;

    trip_run(&t, spec, x, n, o);
    flags = flags_of(&t, o ? o->segment : 0);
    trip_free(&t);
    return flags;
}

static void assert_selected(const char *spec, const float *x, uint64_t n, const char *want,
                            const struct trip_options *o)
{
    char *flags = selected(spec, x, n, o);

    for (uint64_t i = 0; i < n; i++)
        if (flags[i] != want[i])
            fail_msg("%s: n = %llu, position %llu is %s", spec, (unsigned long long)n,
                     (unsigned long long)i, want[i] ? "missing" : "not to be kept");
    free(flags);
}

/* ---- independent choices, by sorting ---- */

struct place {
    uint32_t magnitude;
    uint64_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->magnitude != q->magnitude)
        return p->magnitude < q->magnitude ? 1 : -1;
    return p->index > q->index ? 1 : -1;
}

/* Places of x[0..n) whose sign is `sign` (0 and not zero: positive, 1: negative, 2: any), largest first. */
static uint64_t sorted(struct place *places, const float *x, uint64_t n, int sign)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        if (sign == 2 || (x[i] != 0.0f && (x[i] < 0.0f) == sign))
            places[count++] = (struct place){gcb_magnitude(x[i]), i};
    qsort(places, count, sizeof(*places), larger_first);
    return count;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The k largest of x[0..n) of a sign set to 1 in flags; returns the sum of their magnitudes. */
static double choose(char *flags, const float *x, uint64_t n, int sign, uint64_t k)
{
    struct place *places = malloc((n + 1) * sizeof(*places));
    const uint64_t count = least(sorted(places, x, n, sign), k);
    double sum = 0.0;

    memset(flags, 0, n);
    for (uint64_t i = 0; i < count; i++) {
        flags[places[i].index] = 1;
        sum += gcb_float_of(places[i].magnitude);
    }
    free(places);
    return sum;
}

static uint64_t count_at_least(const float *x, uint64_t n, uint32_t threshold)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += gcb_magnitude(x[i]) >= threshold;
    return count;
}

static void flag_at_least(char *flags, const float *x, uint64_t n, uint32_t threshold)
{
    for (uint64_t i = 0; i < n; i++)
        flags[i] = gcb_magnitude(x[i]) >= threshold;
}

static const struct trip_options plans[] = {
    {.threads = 1}, {.threads = 3}, {.threads = 2, .segment = 1000}, {.threads = 1, .segment = 64}};

/* ---- ranking ---- */

static void kth_is_that_of_a_sort(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 31, 1000, 65535, 65536, 70001};
    struct place *places = malloc(70001 * sizeof(*places));
    struct gcb_kernels kernels;

    (void)state;
    gcb_kernels_init(&kernels, gcb_cpu_detect());
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int in = 0; in < INPUTS; in++) {
            const uint64_t n = sizes[s], ks[] = {1, 2, n / 1000 + 1, n / 3 + 1, n - 1, n};
            float *x = tensor(n, (enum input)in, s);

            sorted(places, x, n, 2);
            for (size_t j = 0; j < sizeof(ks) / sizeof(*ks); j++) {
                uint64_t above;

                if (ks[j] == 0 || ks[j] > n)
                    continue;
                assert_int_equal(gcb_select_kth(&kernels, x, n, ks[j], &above),
                                 places[ks[j] - 1].magnitude);
                assert_int_equal(above, count_at_least(x, n, places[ks[j] - 1].magnitude + 1));
            }
            free(x);
        }
    }
    free(places);
}

/* ---- chunk ---- */

static void chunk_is_topk_of_each(void **state)
{
    static const uint64_t chunks[] = {1, 7, 64, 1000, 4096, 66000, 200000};
    static const double densities[] = {0.001, 0.03, 0.2, 0.4};
    enum { N = 140003 };
    char *want = malloc(N);

    (void)state;
    for (int in = 0; in < INPUTS; in++) {
        const uint64_t n = in % 2 ? N : 9001;
        float *x = tensor(n, (enum input)in, 4);

        for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++) {
            const double density = densities[(c + (size_t)in) % 4];
            char spec[96];

            for (uint64_t from = 0; from < n; from += chunks[c]) {
                const uint64_t m = least(n - from, chunks[c]);

                choose(want + from, x + from, m, 2, gcb_kept_of(density, m));
            }
            snprintf(spec, sizeof(spec), "sparse:select=chunk,chunk=%u,density=%g",
                     (unsigned)chunks[c], density);
            if (count_flags(want, n) < n / 2 - 8) /* else it is stored */
                assert_selected(spec, x, n, want, &plans[((size_t)in + c) % 4]);
        }
        free(x);
    }
    free(want);
}

/* ---- threshold ---- */

static void threshold_keeps_all_from_it(void **state)
{
    static const float thresholds[] = {0.0f, 1e-45f, 0.25f, 1.5f, 3e38f};
    enum { N = 20011 };
    char *want = malloc(N), spec[96];

    (void)state;
    for (int in = 0; in < INPUTS; in++) {
        float *x = tensor(N, (enum input)in, 6);

        for (size_t j = 0; j < sizeof(thresholds) / sizeof(*thresholds); j++) {
            for (uint64_t i = 0; i < N; i++)
                want[i] = x[i] != 0.0f && fabsf(x[i]) >= thresholds[j];
            snprintf(spec, sizeof(spec), "sparse:select=threshold,threshold=%.9g",
                     (double)thresholds[j]);
            if (count_flags(want, N) < N / 2 - 32)
                assert_selected(spec, x, N, want, &plans[(size_t)in % 2]);
        }
        free(x);
    }
    free(want);
}

/* ---- one sign ---- */

/* SBC's choice. A sign that has fewer than k values stands in the comparison with zeros for the others. */
static void one_sided_choice(char *want, const float *x, uint64_t n, uint64_t k)
{
    const double down = choose(want, x, n, 1, k), up = choose(want, x, n, 0, k);

    if (up == 0.0 && down == 0.0)
        choose(want, x, n, 2, k);
    else if (up < down)
        choose(want, x, n, 1, k);
}

static void alternating_choice(char *want, const float *x, uint64_t n, uint64_t k, uint64_t step)
{
    const int turn = (int)(step % 2);

    if (choose(want, x, n, turn, k) == 0.0 && choose(want, x, n, !turn, k) == 0.0)
        choose(want, x, n, 2, k);
}

enum lean { AS_IS, MIRRORED, FEW_UP, FEW_DOWN, ONLY_UP, ONLY_DOWN, LEANS };

static void lean(float *x, uint64_t n, enum lean how)
{
    for (uint64_t i = 0; i < n; i++) {
        if (how == MIRRORED)
            x[i] = -x[i];
        if (how == FEW_UP || how == ONLY_DOWN)
            x[i] = how == FEW_UP && i % 5003 == 1 ? fabsf(x[i]) : -fabsf(x[i]);
        if (how == FEW_DOWN || how == ONLY_UP)
            x[i] = how == FEW_DOWN && i % 5003 == 1 ? -fabsf(x[i]) : fabsf(x[i]);
    }
}

static void one_sign_is_that_of_a_sort(void **state)
{
    static const uint64_t sizes[] = {1, 2, 10, 1000, 70003};
    char *want = malloc(70003), spec[96];

    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int in = 0; in < INPUTS; in++) {
            for (int how = 0; how < LEANS; how++) {
                const uint64_t n = sizes[s], k = gcb_kept_of(how % 2 ? 0.01 : 0.1, n);
                const struct trip_options *o = &plans[(s + (size_t)(in + how)) % 4];
                float *x = tensor(n, (enum input)in, s + 2);

                lean(x, n, (enum lean)how);
                one_sided_choice(want, x, n, k);
                snprintf(spec, sizeof(spec), "sparse:select=one-sided,density=%g",
                         how % 2 ? 0.01 : 0.1);
                assert_selected(spec, x, n, n < 3 ? memset(want, 1, n) : want, o);
                for (uint64_t step = 0; step < 2 && n > 2; step++) {
                    struct trip_options at = *o;

                    at.step = step + 6;
                    alternating_choice(want, x, n, k, step);
                    snprintf(spec, sizeof(spec), "sparse:select=alternate,density=%g",
                             how % 2 ? 0.01 : 0.1);
                    assert_selected(spec, x, n, want, &at);
                }
                free(x);
            }
        }
    }
    free(want);
}

/* By hand: the larger mean wins, equal means are the positive ones', and one large value of a sign does not
 * outweigh k others. */
static void one_sided_by_hand(void **state)
{
    static const struct {
        float x[12];
        const char *want;
    } cases[] = {
        {{1, 0, -2, 3, 0, -3, 0, 0, 0, 0, 0, 0}, "001001000000"},
        {{1, 0, -2, 3, 0, -2, 0, 0, 0, 0, 0, 0}, "100100000000"},
        {{-1, 4, -3, -3, 0, 0, 0, 0, 0, 0, 0, 0}, "001100000000"},
        {{-1, 7, -3, -3, 0, 0, 0, 0, 0, 0, 0, 0}, "010000000000"},
        {{2, 2, 2, 2, 2, 2, -1, -1, 0, 0, 0, 0}, "110000000000"},
        {{0, -0.0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "110000000000"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        char want[12];

        for (int i = 0; i < 12; i++)
            want[i] = cases[c].want[i] == '1';
        assert_selected("sparse:select=one-sided,density=0.1666", cases[c].x, 12, want, NULL);
    }
}

/* ---- RedSync ---- */

static void trimmed_is_topk(void **state)
{
    static const uint64_t sizes[] = {3, 100, 5000, 65536, 100003};
    static const double densities[] = {0.0001, 0.001, 0.02, 0.3};

    (void)state;
    for (int in = 0; in < INPUTS; in++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            const double density = densities[(s + (size_t)in) % 4];
            float *x = tensor(sizes[s], (enum input)in, s);
            struct trip a = {0}, b = {0};
            char spec[96];

            snprintf(spec, sizeof(spec), "sparse:select=trimmed,density=%g", density);
            trip_encode(&a, spec, x, sizes[s], &plans[s % 4]);
            snprintf(spec, sizeof(spec), "sparse:select=topk,density=%g", density);
            trip_encode(&b, spec, x, sizes[s], &plans[s % 4]);
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.message, b.message, a.length);
            trip_free(&a);
            trip_free(&b);
            free(x);
        }
    }
}

/* The search as corrected (papers: fewer than k lower the upper end; the interval may shrink to 1e-3), by
 * plain counting. 0: no ratio let k pass. */
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
        const uint64_t count = count_at_least(x, n, threshold);

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
        flag_at_least(want, x, n, threshold);
    else
        choose(want, x, n, 2, k);
}

static void search_is_that_of_counting(void **state)
{
    static const uint64_t sizes[] = {1, 2, 50, 3000, 65537, 140007};
    static const double densities[] = {0.0001, 0.001, 0.01, 0.1};
    char *want = malloc(140007), spec[96];

    (void)state;
    for (int in = 0; in < INPUTS; in++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            const double density = densities[(s + (size_t)in) % 4];
            const uint64_t n = sizes[s], k = gcb_kept_of(density, n);
            float *x = tensor(n, (enum input)in, s);

            search_choice(want, x, n, k);
            assert_true(count_flags(want, n) >= k);
            if (count_flags(want, n) > n / 2 - least(n / 2, 4 * (n / 1000 + 2)))
                memset(want, 1, n); /* stored */
            snprintf(spec, sizeof(spec), "sparse:select=search,density=%g", density);
            assert_selected(spec, x, n, want, &plans[s % 2]);
            free(x);
        }
    }
    free(want);
}

/* Above 4 MiB, where RedSync searches: k to 2k, on light and heavy tails. */
static void search_lands(void **state)
{
    static const double densities[] = {0.001, 0.01};
    enum { N = (1 << 20) + 1 };
    char spec[96];

    (void)state;
    for (int in = 0; in < SMOOTH_LAWS; in++) {
        for (size_t d = 0; d < 2; d++) {
            const uint64_t k = gcb_kept_of(densities[d], N);
            float *x = tensor(N, (enum input)in, 31 + d);
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

/* By bytes of the tensor: everything, trimmed, search; each limit is the first size of the next. */
static void redsync_goes_by_size(void **state)
{
    enum { DENSE = 131072 / 4, TRIMMED = 4194304 / 4 };
    float *x = tensor(TRIMMED + 1, STUDENT3, 8);
    struct trip t = {0};

    (void)state;
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
    struct trip t; /* its encoder is used for every step */
    uint64_t n;
};

/* Encodes as that step and worker, by the same coder, and says what is kept. free() it. */
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
    return flags_of(&a->t, 0);
}

static void assert_kept_at(struct again *a, const float *x, uint64_t step, uint32_t worker,
                           const char *want)
{
    char *got = kept_at(a, x, step, worker);

    assert_memory_equal(got, want, a->n);
    free(got);
}

/* A threshold found at a step serves the interval's other steps, however far the gradients drift; then it
 * is searched again. */
static void redsync_reuses(void **state)
{
    enum { N = 50000, STEPS = 12, INTERVAL = 5 };
    const uint64_t k = gcb_kept_of(0.01, N);
    struct again a = {.n = N};
    char *want = malloc(N);
    uint32_t threshold = 0;

    (void)state;
    for (uint64_t step = 0; step < STEPS; step++) {
        float *x = tensor(N, LAPLACE, step);

        for (uint64_t i = 0; i < N; i++)
            x[i] *= 1.0f - 0.06f * (float)step;
        if (step == 0)
            trip_encode(&a.t, "redsync:density=0.01,dense-below=0,trimmed-below=0,interval=5", x, N,
                        &(struct trip_options){.step = 100});
        if (step % INTERVAL == 0)
            threshold = search(x, N, k);
        flag_at_least(want, x, N, threshold);
        assert_kept_at(&a, x, 100 + step, 0, want);
        assert_kept_at(&a, x, 100 + step, 0, want); /* the same call again */
        free(x);
    }
    trip_free(&a.t);
    free(want);
}

/* Not another worker's, not after the interval, not an earlier step's, and with interval 1 never. */
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
    float *x = tensor(N, GAUSS, 1), *y = tensor(N, STUDENT3, 2);
    char *want = malloc(N);

    (void)state;
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

/* ---- DGC ---- */

/* Between 0.8 k and 1.3 k of the largest, or exactly the k largest; never everything. */
static void sampled_keeps_near_k(void **state)
{
    static const uint64_t sizes[] = {1, 9, 1000, 40000, 140009};
    static const double densities[] = {0.0001, 0.001, 0.01, 0.2}, shares[] = {0.000001, 0.01, 1.0};
    char spec[96], *exact = malloc(140009);

    (void)state;
    for (int in = 0; in < INPUTS; in++) {
        for (size_t j = 0; j < 5 * 4; j++) {
            const uint64_t n = sizes[j / 4], k = gcb_kept_of(densities[j % 4], n);
            const struct trip_options o = {.step = j * 17};
            float *x = tensor(n, (enum input)in, j);
            uint32_t lowest = UINT32_MAX, highest = 0;
            uint64_t kept;
            char *got;

            snprintf(spec, sizeof(spec), "dgc:density=%g,sample=%g", densities[j % 4],
                     shares[(j + (size_t)in) % 3]);
            got = selected(spec, x, n, &o);
            kept = count_flags(got, n);
            choose(exact, x, n, 2, k);
            for (uint64_t i = 0; i < n; i++)
                if (got[i] && gcb_magnitude(x[i]) < lowest)
                    lowest = gcb_magnitude(x[i]);
                else if (!got[i] && gcb_magnitude(x[i]) > highest)
                    highest = gcb_magnitude(x[i]);
            assert_true(lowest >= highest);
            assert_true(n < 2 || kept == k
                            ? n < 2 || memcmp(got, exact, n) == 0
                            : (double)kept >= 0.8 * (double)k && (double)kept <= 1.3 * (double)k);
            free(got);
            free(x);
        }
    }
    free(exact);
}

/* ---- all ---- */

static const char *const selections[] = {
    "sparse:select=topk,density=0.01",
    "sparse:select=chunk,chunk=4096,density=0.01",
    "sparse:select=chunk,chunk=100000,density=0.01",
    "sparse:select=threshold,threshold=2.5",
    "sparse:select=one-sided,density=0.01",
    "sparse:select=alternate,density=0.01",
    "sparse:select=trimmed,density=0.01",
    "sparse:select=search,density=0.01",
    "sparse:select=redsync,density=0.01,dense-below=0,trimmed-below=0",
    "sparse:select=sampled,density=0.01",
};

/* Threads and kernels change no byte, small segments no choice. */
static void nothing_else_matters(void **state)
{
    enum { N = 140007 };

    (void)state;
    for (size_t j = 0; j < sizeof(selections) / sizeof(*selections); j++) {
        for (int in = 0; in < INPUTS; in++) {
            float *x = tensor(N, (enum input)in, j);
            struct trip a = {0}, b = {0};
            char *flags;

            trip_run(&a, selections[j], x, N, NULL);
            trip_encode(&b, selections[j], x, N,
                        &(struct trip_options){.threads = 7, .flags = gcb_cpu_detect()});
            assert_int_equal(a.length, b.length);
            assert_memory_equal(a.message, b.message, a.length);
            flags = flags_of(&a, 0);
            if (!a.parts.stored)
                assert_selected(selections[j], x, N, flags,
                                &(struct trip_options){.threads = 2, .segment = 4999});
            free(flags);
            trip_free(&a);
            trip_free(&b);
            free(x);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kth_is_that_of_a_sort),       cmocka_unit_test(chunk_is_topk_of_each),
        cmocka_unit_test(threshold_keeps_all_from_it), cmocka_unit_test(one_sign_is_that_of_a_sort),
        cmocka_unit_test(one_sided_by_hand),           cmocka_unit_test(trimmed_is_topk),
        cmocka_unit_test(search_is_that_of_counting),  cmocka_unit_test(search_lands),
        cmocka_unit_test(redsync_goes_by_size),        cmocka_unit_test(redsync_reuses),
        cmocka_unit_test(redsync_does_not_reuse),      cmocka_unit_test(sampled_keeps_near_k),
        cmocka_unit_test(nothing_else_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
