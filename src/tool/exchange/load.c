#include "src/tool/exchange/load.h"

#include <string.h>
#include <xxhash.h>

#include "src/lib/base/alloc.h"
#include "src/tool/run/input.h"

int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = load->layout->messages;
    struct gcb_layout first = *load->layout;
    const struct gcb_replay_order order = {.workers = 0};
    int err;

    for (first.count = 0; first.count < load->layout->count; first.count++)
        if (m[first.count].step != m[0].step)
            break;
    err = gcb_replay_plan_init(&load->plan, load->source, &first, &order, NULL, diag);
    load->plan.layout = load->layout; /* has the messages of `first`, which ends here */
    load->elements = load->input_bytes = 0;
    for (size_t j = 0; !err && j < load->plan.messages; j++) {
        load->elements += m[j].count;
        load->input_bytes += m[j].input_bytes;
    }
    return err;
}

void gcb_load_fini(struct gcb_load *load)
{
    gcb_free(load->plan.recorded);
    memset(load, 0, sizeof(*load));
}

const struct gcb_message_plan *gcb_load_message(const struct gcb_load *load, unsigned worker,
                                                size_t j)
{
    return gcb_replay_message_at(&load->plan, 0, worker, j);
}

int gcb_load_read(const struct gcb_load *load, unsigned worker, size_t j, float *x,
                  struct gcb_diag *diag)
{
    const struct gcb_message_plan *plan = gcb_load_message(load, worker, j);
    struct gcb_source *own;
    int err;

    if (!load->synthetic)
        return gcb_layout_read(load->source, plan, x, diag);
    err = gcb_source_open_synthetic(&own, load->synthetic, 1, load->seed + worker, diag);
    if (err)
        return err;
    err = gcb_layout_read(own, plan, x, diag);
    gcb_source_close(own);
    return err;
}

uint64_t gcb_load_hash(const struct gcb_load *load)
{
    XXH64_hash_t hash = load->plan.workers;

    for (size_t j = 0; j < load->plan.messages; j++) {
        const struct gcb_message_plan *m = gcb_load_message(load, 0, j);
        const char *name = gcb_plan_name(m, load->source);

        hash = XXH3_64bits_withSeed(name, strlen(name),
                                    (hash ^ m->count) + 2 * (uint64_t)m->dtype + m->dense);
    }
    return hash;
}
