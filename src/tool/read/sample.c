#include "src/tool/read/layout.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"

struct sampler {
    struct gcb_source *source;
    uint64_t blocks, wanted; /* blocks of the layout, and how many of them are taken */
    uint64_t block;          /* number of the next block */
    float *tensor;           /* room for the largest tensor without parts */
    float *out;              /* where the next block goes */
};

uint64_t gcb_layout_elements(const struct gcb_layout *layout)
{
    uint64_t n = 0;

    for (size_t i = 0; i < layout->count; i++)
        n += layout->messages[i].count;
    return n;
}

static uint64_t count_blocks(uint64_t elements)
{
    return (elements + GCB_SAMPLE_BLOCK - 1) / GCB_SAMPLE_BLOCK;
}

/* True if this block is taken. Taken blocks are spread evenly. */
static bool takes(const struct sampler *s, uint64_t block)
{
    return (block + 1) * s->wanted / s->blocks > block * s->wanted / s->blocks;
}

/* Appends the taken blocks of a tensor. A tensor without parts is read whole. */
static int take_tensor(struct sampler *s, size_t i, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = gcb_source_tensor(s->source, i);
    const bool parts = gcb_source_has_parts(s->source, i);
    bool loaded = false;
    int err = 0;

    for (uint64_t at = 0; !err && at < t->count; at += GCB_SAMPLE_BLOCK) {
        const uint64_t left = t->count - at, n = left < GCB_SAMPLE_BLOCK ? left : GCB_SAMPLE_BLOCK;

        if (!takes(s, s->block++))
            continue;
        if (parts) {
            err = gcb_source_read_part(s->source, i, at, n, s->out, diag);
        } else if (!loaded) {
            err = gcb_source_read(s->source, i, s->tensor, diag);
            loaded = true;
        }
        if (!err && !parts)
            memcpy(s->out, s->tensor + at, n * sizeof(*s->out));
        s->out += n;
    }
    return err;
}

static int take_message(struct gcb_layout *out, struct sampler *s,
                        const struct gcb_message_plan *message, struct gcb_diag *diag)
{
    struct gcb_message_plan *m = &out->messages[out->count];
    int err = 0;

    *m = *message;
    m->data = s->out;
    for (size_t i = 0; !err && i < message->piece_count; i++)
        err = take_tensor(s, message->pieces[i].tensor, diag);
    m->count = (uint64_t)(s->out - m->data);
    m->input_bytes = m->count * gcb_dtype_size(m->dtype);
    if (m->count > out->largest)
        out->largest = m->count;
    out->count += m->count > 0;
    return err;
}

/* Counts the blocks, and returns the elements of the largest tensor without parts. */
static uint64_t survey(struct sampler *s, const struct gcb_layout *layout, uint64_t most)
{
    uint64_t largest = 0, elements = 0;

    for (size_t i = 0; i < layout->count; i++)
        for (size_t k = 0; k < layout->messages[i].piece_count && !layout->messages[i].dense; k++) {
            const size_t number = layout->messages[i].pieces[k].tensor;
            const uint64_t n = gcb_source_tensor(s->source, number)->count;

            s->blocks += count_blocks(n);
            elements += n;
            if (n > largest && !gcb_source_has_parts(s->source, number))
                largest = n;
        }
    s->wanted = elements > most ? (uint64_t)((double)s->blocks * (double)most / (double)elements)
                                : s->blocks;
    if (s->wanted == 0)
        s->wanted = s->blocks ? 1 : 0;
    return largest;
}

int gcb_sample_init(struct gcb_sample *out, struct gcb_source *source,
                    const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag)
{
    struct sampler s = {.source = source};
    const uint64_t largest = survey(&s, layout, most), room = s.wanted * GCB_SAMPLE_BLOCK;
    int err = 0;

    *out = (struct gcb_sample){0};
    s.tensor = gcb_alloc_array(largest, sizeof(*s.tensor));
    out->data = gcb_alloc_array(room, sizeof(*out->data));
    out->layout.messages = gcb_alloc_zero(layout->count, sizeof(*out->layout.messages));
    if (!s.tensor || !out->data || !out->layout.messages)
        err = gcb_diag_nomem(diag, (largest + room) * sizeof(float), "a sample of the messages");
    s.out = out->data;
    for (size_t i = 0; !err && i < layout->count; i++)
        if (!layout->messages[i].dense)
            err = take_message(&out->layout, &s, &layout->messages[i], diag);
    gcb_free(s.tensor);
    if (err)
        gcb_sample_fini(out);
    return err;
}

/* ---- samples with every tensor ---- */

static bool same_worker(const struct gcb_message_plan *a, const struct gcb_message_plan *b)
{
    return a->step == b->step && a->worker == b->worker;
}

/* Copies the messages of some steps and workers to `out`. */
static void choose_workers(struct gcb_layout *out, const struct gcb_layout *layout, uint64_t most)
{
    const double share = (double)most / (double)(gcb_layout_elements(layout) + 1);
    const struct gcb_message_plan *m = layout->messages;
    size_t all = 1, wanted, place = 0;

    for (size_t i = 1; i < layout->count; i++)
        all += !same_worker(&m[i], &m[i - 1]);
    wanted = (size_t)fmin((double)all, 1.0 + (double)all * share);
    for (size_t i = 0; i < layout->count; i++) {
        place += i && !same_worker(&m[i], &m[i - 1]);
        if ((place + 1) * wanted / all > place * wanted / all)
            out->messages[out->count++] = m[i];
    }
}

/* Removes the messages of more than GCB_SAMPLE_WHOLE elements from `out` and puts them into
 * `large`. */
static void part_large(struct gcb_layout *out, struct gcb_layout *large)
{
    size_t kept = 0;

    for (size_t i = 0; i < out->count; i++)
        if (out->messages[i].count > GCB_SAMPLE_WHOLE)
            large->messages[large->count++] = out->messages[i];
        else
            out->messages[kept++] = out->messages[i];
    out->count = kept;
}

int gcb_sample_every_tensor(struct gcb_sample *out, struct gcb_source *source,
                            const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag)
{
    struct gcb_layout large = {.messages = gcb_alloc_array(layout->count, sizeof(*large.messages))};
    struct gcb_sample sample = {0};
    int err = 0;

    *out = (struct gcb_sample){.layout.messages =
                                   gcb_alloc_array(layout->count, sizeof(*out->layout.messages))};
    if (!large.messages || !out->layout.messages)
        err = gcb_diag_nomem(diag, layout->count * sizeof(*large.messages), "messages");
    if (!err)
        choose_workers(&out->layout, layout, most);
    if (!err && gcb_layout_elements(&out->layout) > most)
        part_large(&out->layout, &large);
    if (!err && large.count)
        err = gcb_sample_init(&sample, source, &large, most, diag);
    out->data = sample.data;
    for (size_t i = 0; !err && i < sample.layout.count; i++)
        out->layout.messages[out->layout.count++] = sample.layout.messages[i];
    for (size_t i = 0; i < out->layout.count; i++)
        if (out->layout.messages[i].count > out->layout.largest)
            out->layout.largest = out->layout.messages[i].count;
    gcb_layout_fini(&sample.layout);
    gcb_free(large.messages);
    return err;
}

void gcb_sample_fini(struct gcb_sample *sample)
{
    gcb_layout_fini(&sample->layout);
    gcb_free(sample->data);
    sample->data = NULL;
}
