#include "src/lib/codec/parts.h"

#include <string.h>

#include "src/lib/base/alloc.h"

static void put_number(struct gcb_wbuf *out, uint64_t v)
{
    for (; v >> 7; v >>= 7)
        gcb_put_u8(out, (uint8_t)(v | 0x80));
    gcb_put_u8(out, (uint8_t)v);
}

static uint64_t get_number(struct gcb_rbuf *in)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 63; shift += 7) {
        const uint8_t byte = gcb_get_u8(in);

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    in->failed = true;
    return 0;
}

static unsigned largest_divisor(uint64_t n, uint64_t most)
{
    uint64_t d = n < most ? n : most;

    while (n % d)
        d--;
    return (unsigned)d;
}

/* Reads the next part of the tensors; `left` is the number of elements that no part has yet.
 * Returns false if the part is not sound. */
static bool read_part(struct gcb_part *p, struct gcb_rbuf *in, uint64_t tile, uint64_t *left)
{
    uint64_t size, all;

    p->matrices = get_number(in);
    p->rows = get_number(in);
    p->cols = get_number(in);
    if (in->failed || !p->matrices || !p->rows || !p->cols ||
        __builtin_mul_overflow(p->rows, p->cols, &size) ||
        __builtin_mul_overflow(size, p->matrices, &all) || all > *left)
        return false;
    p->height = largest_divisor(p->rows, gcb_tile_rows(tile));
    p->width = largest_divisor(p->cols, gcb_tile_cols(tile));
    p->tiles = all / (p->height * p->width);
    *left -= all;
    return true;
}

int gcb_parts_read(struct gcb_part **part, size_t *parts, struct gcb_rbuf *in, uint64_t tile,
                   uint64_t count)
{
    uint64_t left = count;

    *parts = 0;
    *part = gcb_alloc_array(gcb_rbuf_left(in) / 3 + 1, sizeof(**part)); /* each has >= 3 bytes */
    if (!*part)
        return GCB_E_NOMEM;
    for (; gcb_rbuf_left(in); ++*parts)
        if (!read_part(&(*part)[*parts], in, tile, &left))
            return GCB_E_CORRUPT;
    return in->failed || left ? GCB_E_CORRUPT : 0;
}

/* The part of a tensor with these dimensions: one matrix, with a row for each index of the first
 * dimension, or one row if there is no other dimension. With tile=kernel: the kernels of a
 * convolution, or matrices of one element if there are at most two dimensions. */
static struct gcb_part part_of(uint64_t tile, unsigned rank, const uint64_t *dims)
{
    struct gcb_part p = {.matrices = 1, .rows = 1, .cols = 1};

    for (unsigned i = 0; i < rank; i++) {
        const bool last = i + 1 == rank;

        if (tile == GCB_TILE_KERNEL && rank > 2 && (last || (i + 2 == rank && rank > 3)))
            *(last ? &p.cols : &p.rows) = dims[i];
        else if (tile == GCB_TILE_KERNEL)
            p.matrices *= dims[i];
        else
            *(i || last ? &p.cols : &p.rows) *= dims[i];
    }
    return p;
}

#define MOST_BYTES 27 /* of a part: 9 of each number */

size_t gcb_parts_bound(const struct gcb_codec_env *env)
{
    return MOST_BYTES * (env->joined ? env->joined_length : 1);
}

void gcb_parts_write(struct gcb_wbuf *out, const struct gcb_codec_env *env, uint64_t tile)
{
    uint64_t alone[1 + GCB_MAX_RANK] = {1, env->count};
    const uint64_t *tensors = env->joined ? env->joined : alone;
    const size_t length = env->joined ? env->joined_length : 1 + (env->shape ? env->rank : 1);
    struct gcb_part last = {0};

    if (env->shape && !env->joined) {
        alone[0] = env->rank;
        memcpy(alone + 1, env->shape, env->rank * sizeof(*alone));
    }
    for (size_t i = 0; i < length; i += 1 + tensors[i]) {
        const struct gcb_part p = part_of(tile, (unsigned)tensors[i], tensors + i + 1);

        if (p.matrices * p.rows * p.cols == 0)
            continue;
        if (last.matrices && last.rows == p.rows && last.cols == p.cols) {
            last.matrices += p.matrices;
            continue;
        }
        for (unsigned k = 0; last.matrices && k < 3; k++)
            put_number(out, k == 0 ? last.matrices : k == 1 ? last.rows : last.cols);
        last = p;
    }
    for (unsigned k = 0; last.matrices && k < 3; k++)
        put_number(out, k == 0 ? last.matrices : k == 1 ? last.rows : last.cols);
}

uint64_t gcb_part_tile_at(const struct gcb_part *p, uint64_t k)
{
    const uint64_t across = p->cols / p->width, down = p->rows / p->height;

    return (k / across / down * p->rows + k / across % down * p->height) * p->cols +
           k % across * p->width;
}
