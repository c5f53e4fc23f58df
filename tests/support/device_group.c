#include <stdlib.h>
#include <string.h>

#include "src/tool/read/synthetic.h"
#include "tests/support/device_made.h"
#include "tests/support/device_sets.h"
#include "tests/support/test.h"

const struct device_quantiser device_quantisers[] = {
    {"identity", 1},
    {"fp16", 1},
    {"bf16", 1},
    {"range", 3},
    {"range:max=1", 3},
    {"range:bits=5,mantissa=2", 3},
    {"range:bits=7,max=0.25,mantissa=3", 1},
    {"qsgd", 1},
    {"qsgd:norm=l2,bucket=64", 1},
    {"qsgd:bucket=100", 3},
    {"qsgd:bucket=100,norm=l2", 3},
    {"qsgd:bucket=9000", 3},
    {"qsgd:bucket=9000,norm=l2", 3},
    {"terngrad", 3},
    {"terngrad:clip=0", 3},
    {"terngrad:packing=base3", 3},
    {NULL, 0},
};

void device_set_resnet50(uint64_t *n, uint64_t most)
{
    struct gcb_shape_row rows[GCB_LAYOUT_ROWS];
    const size_t count = gcb_network_layout(rows, "resnet50");

    assert_int_equal(count, DEVICE_SET_MOST);
    for (size_t i = 0; i < count; i++) {
        n[i] = gcb_shape_elements(&rows[i]);
        n[i] = n[i] < most ? n[i] : most;
    }
}

/* Encodes tensor i on the CPU. */
static struct made made_on_cpu(const struct device_set *s, const struct device_plan *plan, size_t i)
{
    const struct gcb_coder_config config = device_set_config(s, plan, i);
    float *x = malloc((s->n[i] + 1) * sizeof(*x));
    struct gcb_method method;
    struct made made;

    assert_int_equal(gcb_method_parse(&method, plan->specs[0], NULL), 0);
    device_set_tensor(x, s->n[i], i);
    made = device_encode_cpu(&method, &config, &device_set_step, x);
    assert_int_equal(made.err, 0);
    free(x);
    return made;
}

static void same_message(struct device_set *s, const struct made *want, size_t i)
{
    struct gcb_wbuf w = {.cap = gcb_coder_bound(s->coder[i])};

    w.data = malloc(w.cap);
    assert_int_equal(gcb_device_coder_fetch(s->coder[i], &s->m[i], &s->frame[i], &w, NULL), 0);
    gcb_message_seal(w.data, w.len, 0);
    if (w.len != want->length || memcmp(w.data, want->bytes, w.len) != 0)
        fail_msg("tensor %zu of the group, %llu elements: messages differ", i,
                 (unsigned long long)s->n[i]);
    free(w.data);
}

static void same_tensor(struct device_set *s, const struct made *made, size_t i)
{
    float *want = calloc(s->n[i] + 1, sizeof(*want)), *got = calloc(s->n[i] + 1, sizeof(*got));

    assert_int_equal(device_decode_cpu(made, want, s->n[i]), 0);
    assert_int_equal(
        gcb_device_batch_download(s->batch, got, s->m[i].in_dev, s->n[i] * sizeof(*got), NULL), 0);
    if (memcmp(want, got, s->n[i] * sizeof(*want)) != 0)
        fail_msg("tensor %zu of the group, %llu elements: decoded floats differ", i,
                 (unsigned long long)s->n[i]);
    free(want);
    free(got);
}

void device_same_group(const struct gcb_device *device, const char *spec, uint64_t most)
{
    uint64_t n[DEVICE_SET_MOST];
    struct device_plan plan = {.device = device,
                               .specs = &spec,
                               .spec_count = 1,
                               .sizes = n,
                               .count = DEVICE_SET_MOST,
                               .nonfinite = GCB_NONFINITE_RAW,
                               .packed = true};
    struct made made[DEVICE_SET_MOST];
    int status[DEVICE_SET_MOST];
    struct device_set s;

    device_set_resnet50(n, most);
    device_set_open(&s, &plan);
    device_set_upload(&s);
    device_set_encode(&s, &plan);
    for (size_t i = 0; i < s.count; i++) {
        made[i] = made_on_cpu(&s, &plan, i);
        same_message(&s, &made[i], i);
    }
    device_set_open_decoders(&s);
    device_set_decode(&s, false, status);
    for (size_t i = 0; i < s.count; i++) {
        assert_int_equal(status[i], 0);
        same_tensor(&s, &made[i], i);
        free(made[i].bytes);
    }
    device_set_close(&s);
    plan.feedback = true;
    device_set_as_alone(&plan);
}
