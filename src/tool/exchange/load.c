#include "src/tool/exchange/load.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/text.h"
#include "src/tool/run/input.h"

/* Have two messages the same name and size? */
static bool alike(const struct gcb_load *load, const struct gcb_message_plan *a,
                  const struct gcb_message_plan *b)
{
    char name[2][40];

    return a->count == b->count && a->dense == b->dense &&
           strcmp(gcb_plan_name(name[0], a, load->source),
                  gcb_plan_name(name[1], b, load->source)) == 0;
}

int gcb_load_init(struct gcb_load *load, struct gcb_diag *diag)
{
    const struct gcb_message_plan *m = load->layout->messages;
    size_t n = 0, i = 0;

    load->elements = load->input_bytes = 0;
    while (n < load->layout->count && m[n].step == m[0].step && m[n].worker == m[0].worker)
        n++;
    for (; i < load->layout->count && m[i].step == m[0].step; i++) {
        char name[40], shown[96];

        if (m[i].worker == m[i / n * n].worker && alike(load, &m[i], &m[i % n]))
            continue;
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "step %" PRIu64 " worker %" PRIu32 " %s: all workers must have the same tensors, of "
            "the same sizes; select them with --worker and --dataset",
            m[i].step, m[i].worker,
            gcb_escape(shown, sizeof(shown), gcb_plan_name(name, &m[i], load->source)));
    }
    load->messages = n;
    load->sources = (unsigned)(i / n);
    if (i % n)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "step %" PRIu64 " worker %" PRIu32
                            " has fewer tensors than other workers; select workers with --worker",
                            m[i - 1].step, m[i - 1].worker);
    for (size_t j = 0; j < n; j++) {
        load->elements += m[j].count;
        load->input_bytes += m[j].input_bytes;
    }
    return 0;
}

const struct gcb_message_plan *gcb_load_message(const struct gcb_load *load, unsigned worker,
                                                size_t j)
{
    return &load->layout->messages[worker % load->sources * load->messages + j];
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
    XXH64_hash_t hash = load->sources;

    for (size_t j = 0; j < load->messages; j++) {
        const struct gcb_message_plan *m = gcb_load_message(load, 0, j);
        char buffer[40];
        const char *name = gcb_plan_name(buffer, m, load->source);

        hash = XXH3_64bits_withSeed(name, strlen(name),
                                    (hash ^ m->count) + 2 * (uint64_t)m->dtype + m->dense);
    }
    return hash;
}
