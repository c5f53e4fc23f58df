/* Samples that have every tensor. */
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/layout.h"
#include "tests/support/test.h"

#define TENSORS 12

/* Synthetic tensors of 100, 200, ... elements, and a large one. */
static struct gcb_source *open_source(uint64_t large)
{
    struct gcb_source_synthetic inputs[TENSORS];
    struct gcb_source *source;

    for (size_t i = 0; i < TENSORS; i++) {
        inputs[i] = (struct gcb_source_synthetic){.name = "normal", .elements = 100 * (i + 1)};
        assert_int_equal(gcb_synthetic_parse(&inputs[i].dist, "normal", NULL), 0);
    }
    inputs[5].elements = large;
    assert_int_equal(gcb_source_open_synthetic(&source, inputs, TENSORS, 1, NULL), 0);
    return source;
}

static void test_large_tensors_are_sampled(void **state)
{
    const uint64_t most = 1 << 18;
    struct gcb_source *source = open_source(1 << 20);
    struct gcb_layout layout;
    struct gcb_sample sample;
    bool found[TENSORS] = {false};

    gcb_layout_init(&layout, source, &(struct gcb_layout_config){0});
    assert_int_equal(gcb_sample_every_tensor(&sample, source, &layout, most, NULL), 0);
    assert_int_equal(sample.layout.count, TENSORS);
    assert_int_equal(sample.layout.largest, most);
    for (size_t i = 0; i < TENSORS; i++) {
        const struct gcb_message_plan *m = &sample.layout.messages[i];
        const uint64_t count = gcb_source_tensor(source, m->pieces[0].tensor)->count;
        const uint64_t wanted = count > most ? most : count;
        float *in = gcb_alloc_array(count, sizeof(*in)),
              *out = gcb_alloc_array(wanted, sizeof(*out));

        assert_false(found[m->pieces[0].tensor]);
        found[m->pieces[0].tensor] = true;
        assert_int_equal(m->count, wanted);
        assert_int_equal(gcb_source_read(source, m->pieces[0].tensor, in, NULL), 0);
        assert_int_equal(gcb_layout_read(source, m, out, NULL), 0);
        if (count <= most)
            assert_memory_equal(in, out, count * sizeof(*in));
        gcb_free(in);
        gcb_free(out);
    }
    gcb_sample_fini(&sample);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

/* Of several workers whole ones are taken, evenly spread. */
static void test_whole_workers(void **state)
{
    struct gcb_source *source = open_source(600);
    struct gcb_layout layout, all = {0};
    struct gcb_sample sample;
    static const uint64_t steps[] = {1, 3}; /* two of four, each with half of the elements */

    gcb_layout_init(&layout, source, &(struct gcb_layout_config){0});
    all.messages = gcb_alloc_array(4 * TENSORS, sizeof(*all.messages));
    for (uint64_t step = 0; step < 4; step++)
        for (size_t i = 0; i < TENSORS; i++) {
            all.messages[all.count] = layout.messages[i];
            all.messages[all.count++].step = step;
        }
    assert_int_equal(gcb_sample_every_tensor(&sample, source, &all, 12000, NULL), 0);
    assert_int_equal(sample.layout.count, 2 * TENSORS);
    for (size_t i = 0; i < sample.layout.count; i++) {
        assert_int_equal(sample.layout.messages[i].step, steps[i / TENSORS]);
        assert_int_equal(sample.layout.messages[i].count, layout.messages[i % TENSORS].count);
    }
    gcb_sample_fini(&sample);
    gcb_free(all.messages);
    gcb_layout_fini(&layout);
    gcb_source_close(source);
}

RUN_TESTS(cmocka_unit_test(test_large_tensors_are_sampled), cmocka_unit_test(test_whole_workers))
