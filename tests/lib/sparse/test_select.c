#include <math.h>
#include <stdio.h>

#include "tests/lib/sparse/choices.h"

/* ---- ranking ---- */

static void kth_is_that_of_a_sort(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 31, 1000, 65535, 65536, 70001};
    struct choice_place *places = malloc(70001 * sizeof(*places));
    struct gcb_kernels kernels;

    gcb_kernels_init(&kernels, gcb_cpu_detect());
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int in = 0; in < CHOICE_INPUTS; in++) {
            const uint64_t n = sizes[s], ks[] = {1, 2, n / 1000 + 1, n / 3 + 1, n - 1, n};
            float *x = choice_tensor(n, (enum choice_input)in, s);

            choice_sorted(places, x, n, 2);
            for (size_t j = 0; j < sizeof(ks) / sizeof(*ks); j++) {
                uint64_t above;

                if (ks[j] == 0 || ks[j] > n)
                    continue;
                assert_int_equal(gcb_select_kth(&kernels, x, n, ks[j], &above),
                                 places[ks[j] - 1].magnitude);
                assert_int_equal(above, choice_count_from(x, n, places[ks[j] - 1].magnitude + 1));
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

    for (int in = 0; in < CHOICE_INPUTS; in++) {
        const uint64_t n = in % 2 ? N : 9001;
        float *x = choice_tensor(n, (enum choice_input)in, 4);

        for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++) {
            const double density = densities[(c + (size_t)in) % 4];
            char spec[96];

            for (uint64_t from = 0; from < n; from += chunks[c]) {
                const uint64_t m = choice_least(n - from, chunks[c]);

                choice_largest(want + from, x + from, m, 2, gcb_kept_of(density, m));
            }
            snprintf(spec, sizeof(spec), "sparse:select=chunk,chunk=%u,density=%g",
                     (unsigned)chunks[c], density);
            if (choice_count(want, n) < n / 2 - 8) /* otherwise the message is stored */
                choice_assert(spec, x, n, want, &choice_plans[((size_t)in + c) % 4]);
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

    for (int in = 0; in < CHOICE_INPUTS; in++) {
        float *x = choice_tensor(N, (enum choice_input)in, 6);

        for (size_t j = 0; j < sizeof(thresholds) / sizeof(*thresholds); j++) {
            for (uint64_t i = 0; i < N; i++)
                want[i] = x[i] != 0.0f && fabsf(x[i]) >= thresholds[j];
            snprintf(spec, sizeof(spec), "sparse:select=threshold,threshold=%.9g",
                     (double)thresholds[j]);
            if (choice_count(want, N) < N / 2 - 32)
                choice_assert(spec, x, N, want, &choice_plans[(size_t)in % 2]);
        }
        free(x);
    }
    free(want);
}

/* ---- one sign ---- */

/* SBC's selection. In the comparison, a sign with fewer than k values counts the missing ones as
 * zeros. */
static void one_sided_choice(char *want, const float *x, uint64_t n, uint64_t k)
{
    const double down = choice_largest(want, x, n, 1, k), up = choice_largest(want, x, n, 0, k);

    if (up == 0.0 && down == 0.0)
        choice_largest(want, x, n, 2, k);
    else if (up < down)
        choice_largest(want, x, n, 1, k);
}

static void alternating_choice(char *want, const float *x, uint64_t n, uint64_t k, uint64_t step)
{
    const int turn = (int)(step % 2);

    if (choice_largest(want, x, n, turn, k) == 0.0 && choice_largest(want, x, n, !turn, k) == 0.0)
        choice_largest(want, x, n, 2, k);
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

    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        for (int in = 0; in < CHOICE_INPUTS; in++) {
            for (int how = 0; how < LEANS; how++) {
                const uint64_t n = sizes[s], k = gcb_kept_of(how % 2 ? 0.01 : 0.1, n);
                const struct trip_options *o = &choice_plans[(s + (size_t)(in + how)) % 4];
                float *x = choice_tensor(n, (enum choice_input)in, s + 2);

                lean(x, n, (enum lean)how);
                one_sided_choice(want, x, n, k);
                snprintf(spec, sizeof(spec), "sparse:select=one-sided,density=%g",
                         how % 2 ? 0.01 : 0.1);
                choice_assert(spec, x, n, n < 3 ? memset(want, 1, n) : want, o);
                for (uint64_t step = 0; step < 2 && n > 2; step++) {
                    struct trip_options at = *o;

                    at.step = step + 6;
                    alternating_choice(want, x, n, k, step);
                    snprintf(spec, sizeof(spec), "sparse:select=alternate,density=%g",
                             how % 2 ? 0.01 : 0.1);
                    choice_assert(spec, x, n, want, &at);
                }
                free(x);
            }
        }
    }
    free(want);
}

/* ---- DGC ---- */

/* Keeps between 0.8 k and 1.3 k of the largest, or exactly the k largest; never all elements. */
static void sampled_keeps_near_k(void **state)
{
    static const uint64_t sizes[] = {1, 9, 1000, 40000, 140009};
    static const double densities[] = {0.0001, 0.001, 0.01, 0.2}, shares[] = {0.000001, 0.01, 1.0};
    char spec[96], *exact = malloc(140009);

    for (int in = 0; in < CHOICE_INPUTS; in++) {
        for (size_t j = 0; j < 5 * 4; j++) {
            const uint64_t n = sizes[j / 4], k = gcb_kept_of(densities[j % 4], n);
            const struct trip_options o = {.step = j * 17};
            float *x = choice_tensor(n, (enum choice_input)in, j);
            uint32_t lowest = UINT32_MAX, highest = 0;
            uint64_t kept;
            char *got;

            snprintf(spec, sizeof(spec), "dgc:density=%g,sample=%g", densities[j % 4],
                     shares[(j + (size_t)in) % 3]);
            got = choice_of(spec, x, n, &o);
            kept = choice_count(got, n);
            choice_largest(exact, x, n, 2, k);
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

RUN_TESTS(cmocka_unit_test(kth_is_that_of_a_sort), cmocka_unit_test(chunk_is_topk_of_each),
          cmocka_unit_test(threshold_keeps_all_from_it),
          cmocka_unit_test(one_sign_is_that_of_a_sort), cmocka_unit_test(sampled_keeps_near_k))
