/*
 * Adaptive positions on real gradients: at most 0.75 of Golomb's bits in each file of the given
 * folder, at both densities and selections, over the whole model. Without the files the test is
 * skipped.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/support/gradients.h"
#include "tests/support/positions.h"
#include "tests/support/test.h"

#define SKIPPED 77

static const char *folder;

struct bits {
    double adaptive[2][2], golomb[2][2]; /* by density, by selection */
};

static void add_gradient(void *ctx, const struct gradient *g)
{
    static const double densities[] = {0.01, 0.001};
    struct positions p = {0};
    struct bits *b = ctx;

    for (int i = 0; i < 4; i++) {
        const uint64_t k = gcb_kept_of(densities[i / 2], g->n);
        double adaptive, golomb;

        (i % 2 ? positions_largest : positions_one_sided)(&p, g->x, g->n, k);
        assert_int_equal(p.kept, k);
        index_trip(&gcb_index_adaptive, &p);
        adaptive = index_bits(&gcb_index_adaptive, &p);
        golomb = index_bits(&gcb_index_golomb, &p);
        assert_true(adaptive <= golomb);
        b->adaptive[i / 2][i % 2] += adaptive;
        b->golomb[i / 2][i % 2] += golomb;
    }
    positions_fini(&p);
}

static void check_file(const char *name)
{
    struct bits b = {0};
    char path[1024];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(gradients_each(path, add_gradient, &b), 0);
    for (int i = 0; i < 4; i++) {
        const double ratio = b.adaptive[i / 2][i % 2] / b.golomb[i / 2][i % 2];

        print_message("%s, %s, p = %s: %.3f of Golomb's bits\n", name,
                      i % 2 ? "top-k" : "one-sided", i / 2 ? "0.001" : "0.01", ratio);
        assert_true(ratio <= 0.75);
    }
}

static void test_resnet20(void **state)
{
    check_file("resnet20.h5");
}

static void test_resnet20_traj(void **state)
{
    check_file("resnet20_traj.h5");
}

static void test_alexlike(void **state)
{
    check_file("alexlike.h5");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet20),
        cmocka_unit_test(test_resnet20_traj),
        cmocka_unit_test(test_alexlike),
    };
    char path[1024];

    folder = argc > 1 ? argv[1] : ".";
    snprintf(path, sizeof(path), "%s/alexlike.h5", folder);
    if (access(path, R_OK)) {
        printf("skipped: %s is not there\n", path);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
