#include "src/tool/base/memory.h"
#include "src/tool/read/layout.h"

#include <math.h>
#include <string.h>

/* The state of taking a sample. */
struct sampler {
    struct gcb_source *source;
    uint64_t blocks;  /* number of blocks of the messages that are not dense */
    uint64_t wanted;  /* number of blocks to take */
    uint64_t block;   /* number of the next block */
    uint64_t largest; /* elements of the largest tensor that must be read whole */
    float *tensor;    /* room for `largest` elements */
    float *out;       /* where the next block goes */
    uint64_t *shape;  /* where the shape of the next block goes */
};

uint64_t gcb_layout_elements(const struct gcb_layout *layout)
{
    uint64_t n = 0;

    for (size_t i = 0; i < layout->count; i++)
        n += layout->messages[i].count;
    return n;
}

/* Returns the number of elements of a row: of all elements with the same first index. If a row is
 * longer than a block, returns that of a convolution's kernel (the last one or two dimensions), or
 * else 1. */
static uint64_t row_of(const struct gcb_tensor *t)
{
    const uint64_t *dims = t->dims;
    uint64_t row = t->rank > 1 && dims[0] ? t->count / dims[0] : 1;

    if (row > GCB_SAMPLE_BLOCK)
        row = t->rank > 2 ? dims[t->rank - 1] * (t->rank > 3 ? dims[t->rank - 2] : 1) : 1;
    return row == 0 || row > GCB_SAMPLE_BLOCK ? 1 : row;
}

/* Elements of a block of the tensor: whole rows. */
static uint64_t block_of(const struct gcb_tensor *t)
{
    return GCB_SAMPLE_BLOCK / row_of(t) * row_of(t);
}

/* Writes the shape of a block of n elements to s->shape: the number of rows, and then the tensor's
 * dimensions from the second on, with 1 for each that a row does not have. */
static void put_shape(struct sampler *s, const struct gcb_tensor *t, uint64_t n)
{
    uint64_t dims[GCB_MAX_RANK], left = row_of(t);

    dims[0] = n / left;
    for (unsigned i = t->rank; i-- > 1;) {
        dims[i] = left % t->dims[i] == 0 ? t->dims[i] : 1;
        left /= dims[i];
    }
    s->shape = gcb_layout_put_shape(s->shape, t->rank ? t->rank : 1, dims);
}

/* True if item i is one of `wanted` items that are evenly spread over `all` items. */
static bool is_taken(uint64_t i, uint64_t wanted, uint64_t all)
{
    return (i + 1) * wanted / all > i * wanted / all;
}

/* Copies to s->out the blocks of tensor i that the sample takes. Reads the whole tensor if its
 * parts cannot be read (gcb_source_has_parts). */
static int take_tensor(struct sampler *s, size_t i, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = gcb_source_tensor(s->source, i);
    const bool parts = gcb_source_has_parts(s->source, i);
    const uint64_t block = block_of(t);
    bool loaded = false;
    int err = 0;

    for (uint64_t at = 0; !err && at < t->count; at += block) {
        const uint64_t left = t->count - at, n = left < block ? left : block;

        if (!is_taken(s->block++, s->wanted, s->blocks))
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
        put_shape(s, t, n);
    }
    return err;
}

/* Appends to `out` a message of the blocks that the sample takes of `message`, if there are any. */
static int take_message(struct gcb_layout *out, struct sampler *s,
                        const struct gcb_message_plan *message, struct gcb_diag *diag)
{
    struct gcb_message_plan *m = &out->messages[out->count];
    int err = 0;

    *m = *message;
    m->data = s->out;
    m->joined = s->shape;
    for (size_t i = 0; !err && i < message->piece_count; i++)
        err = take_tensor(s, message->pieces[i].tensor, diag);
    m->count = (uint64_t)(s->out - m->data);
    m->joined_length = (size_t)(s->shape - m->joined);
    m->input_bytes = m->count * gcb_dtype_size(m->dtype);
    if (m->count > out->largest)
        out->largest = m->count;
    out->count += m->count > 0;
    return err;
}

/* Sets s->blocks, s->wanted and s->largest for a sample of about `most` elements. */
static void measure_sample(struct sampler *s, const struct gcb_layout *layout, uint64_t most)
{
    uint64_t elements = 0;

    for (size_t i = 0; i < layout->count; i++)
        for (size_t k = 0; k < layout->messages[i].piece_count && !layout->messages[i].dense; k++) {
            const size_t number = layout->messages[i].pieces[k].tensor;
            const struct gcb_tensor *t = gcb_source_tensor(s->source, number);
            const uint64_t n = t->count;

            s->blocks += (n + block_of(t) - 1) / block_of(t);
            elements += n;
            if (n > s->largest && !gcb_source_has_parts(s->source, number))
                s->largest = n;
        }
    s->wanted = elements > most ? (uint64_t)((double)s->blocks * (double)most / (double)elements)
                                : s->blocks;
    if (s->wanted == 0)
        s->wanted = s->blocks ? 1 : 0;
}

int gcb_sample_init(struct gcb_sample *out, struct gcb_source *source,
                    const struct gcb_layout *layout, uint64_t most, struct gcb_diag *diag)
{
    struct sampler s = {.source = source};
    uint64_t room;
    int err = 0;

    *out = (struct gcb_sample){0};
    measure_sample(&s, layout, most);
    room = s.wanted * GCB_SAMPLE_BLOCK;
    s.tensor = gcb_alloc_array(s.largest, sizeof(*s.tensor));
    out->data = gcb_alloc_array(room, sizeof(*out->data));
    out->layout.messages = gcb_must_zero(layout->count, sizeof(*out->layout.messages));
    out->layout.shapes = s.shape = gcb_must_array(s.wanted * (1 + GCB_MAX_RANK), sizeof(*s.shape));
    if (!s.tensor || !out->data)
        err = gcb_diag_nomem(diag, (s.largest + room) * sizeof(float), "a sample of the messages");
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

/* True if message i is the first of its step and worker. */
static bool starts_worker(const struct gcb_layout *layout, size_t i)
{
    const struct gcb_message_plan *m = &layout->messages[i];

    return i == 0 || m->step != m[-1].step || m->worker != m[-1].worker;
}

/* Copies to `out` the messages of some pairs of a step and a worker, with about `most` elements. */
static void choose_workers(struct gcb_layout *out, const struct gcb_layout *layout, uint64_t most)
{
    /* + 1, because a layout may have no elements */
    const double share = (double)most / (double)(gcb_layout_elements(layout) + 1);
    size_t all = 0, wanted; /* number of pairs of a step and a worker, and how many to take */
    size_t pair = 0;        /* number of the pair of message i */

    for (size_t i = 0; i < layout->count; i++)
        all += starts_worker(layout, i);
    wanted = (size_t)fmin((double)all, 1.0 + (double)all * share);
    for (size_t i = 0; i < layout->count; i++) {
        pair += i > 0 && starts_worker(layout, i);
        if (is_taken(pair, wanted, all))
            out->messages[out->count++] = layout->messages[i];
    }
}

/* Moves the messages of more than GCB_SAMPLE_WHOLE elements from `out` to `large`. */
static void move_large(struct gcb_layout *out, struct gcb_layout *large)
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
    struct gcb_layout large = {.messages = gcb_must_array(layout->count, sizeof(*large.messages))};
    struct gcb_sample sample = {0};
    int err = 0;

    *out = (struct gcb_sample){.layout.messages =
                                   gcb_must_array(layout->count, sizeof(*out->layout.messages))};
    choose_workers(&out->layout, layout, most);
    if (gcb_layout_elements(&out->layout) > most)
        move_large(&out->layout, &large);
    if (large.count)
        err = gcb_sample_init(&sample, source, &large, most, diag);
    out->data = sample.data;
    for (size_t i = 0; !err && i < sample.layout.count; i++)
        out->layout.messages[out->layout.count++] = sample.layout.messages[i];
    for (size_t i = 0; i < out->layout.count; i++)
        if (out->layout.messages[i].count > out->layout.largest)
            out->layout.largest = out->layout.messages[i].count;
    out->layout.shapes = sample.layout.shapes;
    sample.layout.shapes = NULL;
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
