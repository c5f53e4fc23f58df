/* A sample of a dump in memory: which tensors are drawn, what is read, and what the workers
 * share. */
#include <math.h>

#include "tests/tool/replay/gradient_source.h"

struct setup {
    struct gcb_source source;
    struct gradient_reader reader;
    struct gcb_gradients g;
};

static int read_all(struct setup *s, const struct gcb_gradients_config *config)
{
    return gradient_read(&s->reader, &s->g, &s->source, config);
}

static void done(struct setup *s)
{
    gcb_gradients_fini(&s->g);
    gradient_reader_free(&s->reader);
}

/* Each kept tensor is a tensor of the dump from its beginning, for all workers and steps, in the
 * order of the dump. */
static void expect_values(struct setup *s, const size_t *steps)
{
    uint64_t at = 0;

    for (size_t k = 0; k < s->g.tensor_count; k++) {
        const struct gcb_gradients_tensor *t = &s->g.tensors[k];
        const size_t j = (size_t)(t->tensor - s->source.items);

        assert_true(j < s->source.tensors);
        assert_true(k == 0 || t->tensor > t[-1].tensor);
        assert_true(t->offset == at && t->count > 0 && t->count <= t->tensor->count);
        at += t->count;
        for (size_t step = 0; step < s->g.steps; step++)
            for (unsigned w = 0; w < s->g.workers; w++)
                assert_memory_equal(gcb_gradients_at(&s->g, step, w) + t->offset,
                                    gradient_source_at(&s->source, steps[step], w, j),
                                    t->count * sizeof(float));
    }
    assert_true(at == s->g.count);
}

static uint64_t whole_rows(const struct gcb_tensor *tensor, uint64_t n)
{
    const uint64_t row = gcb_gradients_row(tensor);

    return n > row ? n - n % row : n;
}

static void test_all(void **state)
{
    static const uint64_t counts[] = {70, 0, 1000, 30};
    static const size_t steps[] = {0, 1, 2, 3, 4, 5};
    struct setup s;

    gradient_source_make(&s.source, 6, 3, counts, 4, 1.0, 0.5);
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), 0);
    assert_true(s.g.count == 1100 && s.g.all == 1100 && s.g.tensor_count == 3);
    assert_true(s.g.steps == 6 && s.g.workers == 3 && s.g.all_tensors == 4);
    assert_ptr_equal(gcb_gradients_at(&s.g, 2, 4), gcb_gradients_at(&s.g, 2, 1)); /* they repeat */
    expect_values(&s, steps);
    for (size_t step = 0; step < 6; step++)
        for (uint64_t i = 0; i < s.g.count; i++) {
            double mean = 0.0;

            for (unsigned w = 0; w < 3; w++)
                mean += (double)gcb_gradients_at(&s.g, step, w)[i] / 3;
            assert_true(fabs((double)s.g.means[step * s.g.count + i] - mean) < 1e-6);
        }
    done(&s);
    /* fewer steps are spread evenly, and fewer workers are the first ones */
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 2, .steps = 3}), 0);
    assert_true(s.g.steps == 3 && s.g.workers == 2);
    expect_values(&s, (const size_t[]){0, 2, 4});
    done(&s);
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 99, .steps = 99}), 0);
    assert_true(s.g.steps == 6 && s.g.workers == 3);
    expect_values(&s, steps);
    done(&s);
    gradient_source_free(&s.source);
}

/* Whole tensors are drawn, never more than the limit; large ones are always among them. */
static void test_sample(void **state)
{
    uint64_t counts[40], all = 0;
    static const size_t steps[] = {0, 1};
    double kept[2] = {0.0, 0.0}, of[2] = {0.0, 0.0};
    struct setup s;

    for (size_t j = 0; j < 40; j++)
        all += counts[j] = j % 8 == 3 ? 900 : 20 + j;
    gradient_source_make(&s.source, 2, 2, counts, 40, 1.0, 1.0);
    for (uint64_t most = 1000; most < all; most += 97) {
        assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.most = most}), 0);
        assert_true(s.g.count <= most && s.g.count > 0 && s.g.all == all);
        expect_values(&s, steps);
        for (size_t k = 0; k < s.g.tensor_count; k++) {
            const uint64_t has = s.g.tensors[k].tensor->count, n = s.g.tensors[k].count;

            if (has <= most / 16)
                assert_true(n == has);
            else /* as large a share as that of all elements, in whole rows */
                assert_true(n == whole_rows(s.g.tensors[k].tensor, has * most / all));
            kept[has == 900] += n;
        }
        for (size_t j = 0; j < 40; j++)
            of[counts[j] == 900] += counts[j];
        done(&s);
    }
    /* neither small nor large tensors are preferred */
    assert_true(fabs(kept[0] / of[0] - kept[1] / of[1]) < 0.15);
    /* all workers and steps together: 4 of them */
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.most_together = 8000}), 0);
    assert_true(s.g.count <= 2000 && s.g.count > 500);
    done(&s);
    assert_int_equal(
        read_all(&s, &(struct gcb_gradients_config){.most = all, .most_together = 4 * all}), 0);
    assert_true(s.g.count == all && s.g.tensor_count == 40);
    done(&s);
    gradient_source_free(&s.source);
}

/* If even one tensor is too large, its first part is taken, whether or not parts can be read. */
static void test_part(void **state)
{
    static const uint64_t counts[] = {10, 5000, 10};
    struct setup s;

    gradient_source_make(&s.source, 2, 2, counts, 3, 1.0, 1.0);
    for (int parts = 0; parts < 2; parts++) {
        bool large = false;

        s.source.parts = parts;
        s.source.whole_reads = s.source.part_reads = 0;
        assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.most = 300}), 0);
        assert_true(s.g.count <= 300 && s.g.all == 5020);
        for (size_t k = 0; k < s.g.tensor_count; k++)
            large |= s.g.tensors[k].tensor->count == 5000 &&
                     s.g.tensors[k].count == whole_rows(s.g.tensors[k].tensor, 298);
        assert_true(large);
        expect_values(&s, (const size_t[]){0, 1});
        assert_int_equal(s.source.part_reads, parts ? 4 : 0);
        done(&s);
    }
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.most_together = 3}), 0);
    assert_int_equal(s.g.count, 1); /* never nothing */
    done(&s);
    gradient_source_free(&s.source);
}

static void test_refuses(void **state)
{
    static const uint64_t empty[] = {0, 0}, counts[] = {20, 30};
    struct setup s;

    gradient_source_make(&s.source, 2, 2, empty, 2, 1.0, 1.0);
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), GCB_E_INVALID);
    assert_null(s.g.data);
    done(&s);
    gradient_source_free(&s.source);
    gradient_source_make(&s.source, 2, 2, counts, 2, 1.0, 1.0);
    s.source.items[7].count = 29; /* of step 11 worker 1 */
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), GCB_E_INVALID);
    done(&s);
    s.source.items[7].count = 30;
    s.source.items[7].path = "other";
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), GCB_E_INVALID);
    done(&s);
    gradient_source_free(&s.source);
}

/* Infinities and NaNs become 0. */
static void test_nonfinite(void **state)
{
    static const uint64_t counts[] = {40};
    struct setup s;

    gradient_source_make(&s.source, 1, 2, counts, 1, 1.0, 1.0);
    gradient_source_at(&s.source, 0, 0, 0)[3] = INFINITY;
    gradient_source_at(&s.source, 0, 1, 0)[3] = 4.0f;
    gradient_source_at(&s.source, 0, 1, 0)[39] = NAN;
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), 0);
    assert_true(gcb_gradients_at(&s.g, 0, 0)[3] == 0.0f && s.g.means[3] == 2.0f);
    assert_true(gcb_gradients_at(&s.g, 0, 1)[39] == 0.0f);
    assert_true(isfinite(s.g.signal) && isfinite(s.g.noise));
    done(&s);
    gradient_source_free(&s.source);
}

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want)))
        fail_msg("%.9g, not %.9g", got, want);
}

/* What the workers share and what they do not is found, with any number of workers. */
static void test_signal(void **state)
{
    static const uint64_t counts[] = {20000, 10000};
    struct setup s;

    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        gradient_source_make(&s.source, 2, workers, counts, 2, 0.5, 1.5);
        assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), 0);
        near(s.g.signal + s.g.noise, 2 * 30000 * (0.25 + 2.25), 0.03);
        if (workers > 1) {
            near(s.g.noise, 2 * 30000 * 2.25, 0.03);
            near(s.g.signal, 2 * 30000 * 0.25, 0.15); /* 4 % of noise in it with two workers */
        } else {
            assert_true(s.g.noise == 0.0); /* unknown */
        }
        done(&s);
        gradient_source_free(&s.source);
    }
    gradient_source_make(&s.source, 1, 3, counts, 2, 1.0, 0.0); /* all alike */
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), 0);
    assert_true(s.g.noise < 1e-6 * s.g.signal);
    done(&s);
    gradient_source_free(&s.source);
    gradient_source_make(&s.source, 1, 3, counts, 2, 0.0, 0.0); /* zeros */
    assert_int_equal(read_all(&s, &(struct gcb_gradients_config){.workers = 0}), 0);
    assert_true(s.g.signal == 0.0 && s.g.noise == 0.0);
    done(&s);
    gradient_source_free(&s.source);
}

RUN_TESTS(cmocka_unit_test(test_all), cmocka_unit_test(test_sample), cmocka_unit_test(test_part),
          cmocka_unit_test(test_refuses), cmocka_unit_test(test_nonfinite),
          cmocka_unit_test(test_signal))
