#include "src/tool/run/copy.h"

#include <string.h>

#include "src/lib/base/alloc.h"

static const struct gcb_codec_ops none = {.state_size = 0};
static const struct gcb_codec codec = {
    .name = "memcpy",
    .baseline = true,
    .summary = "copies float32: the lower bound for the time of any method",
    .source = "none",
    .guarantee = "lossless",
    .caps = GCB_CAP_LOSSLESS | GCB_CAP_UNBIASED | GCB_CAP_LINEAR,
    .ops = &none,
};
const struct gcb_method gcb_copy_method = {.name = "memcpy", .codec = &codec};

int gcb_copy_init(struct gcb_copy *c, const struct gcb_timing *timing, uint64_t largest,
                  struct gcb_diag *diag)
{
    const uint64_t count = largest ? largest : 1;
    int err;

    memset(c, 0, sizeof(*c));
    c->there = gcb_alloc_array(count, sizeof(*c->there));
    c->back = gcb_alloc_array(count, sizeof(*c->back));
    if (!c->there || !c->back)
        return gcb_diag_nomem(diag, 2 * count * sizeof(*c->back), "copies");
    err = gcb_samples_init(&c->encode, timing, diag);
    return err ? err : gcb_samples_init(&c->decode, timing, diag);
}

void gcb_copy_fini(struct gcb_copy *c)
{
    gcb_free(c->there);
    gcb_free(c->back);
    gcb_samples_fini(&c->encode);
    gcb_samples_fini(&c->decode);
    memset(c, 0, sizeof(*c));
}

void gcb_copy_begin(struct gcb_copy *c, const float *in, uint64_t count)
{
    c->in = in;
    c->count = count;
    c->measured = false;
}

static int there(void *job, struct gcb_diag *diag)
{
    const struct gcb_copy *c = job;

    (void)diag;
    memcpy(c->there, c->in, c->count * sizeof(*c->in));
    return 0;
}

struct gcb_operation gcb_copy_there(struct gcb_copy *c)
{
    return (struct gcb_operation){.run = there, .job = c};
}

static int back(void *job, struct gcb_diag *diag)
{
    const struct gcb_copy *c = job;

    (void)diag;
    memcpy(c->back, c->there, c->count * sizeof(*c->back));
    return 0;
}

struct gcb_operation gcb_copy_back(struct gcb_copy *c)
{
    memset(c->back, 0xff, c->count * sizeof(*c->back)); /* fill with NaNs */
    return (struct gcb_operation){.run = back, .job = c};
}

void gcb_copy_tally(struct gcb_tally *out, const struct gcb_copy *c)
{
    const uint64_t bytes = c->count * sizeof(float);

    out->input_bytes = out->wire_bytes = out->value_bytes = bytes;
    out->dtype = GCB_F32;
    out->nominal_bits = out->entropy0_bits = 8.0 * (double)bytes;
    gcb_tally_times(out, &c->encode, &c->decode);
}
