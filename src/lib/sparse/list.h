#ifndef SRC_LIB_SPARSE_LIST_H
#define SRC_LIB_SPARSE_LIST_H

#include "src/lib/sparse/sparse.h"

/*
 * A list of elements of a tensor. Their positions ascend strictly. If sparse messages are combined
 * on their way, workers select such lists, send them to each other, and add them
 * (src/lib/exchange/pieces.h).
 */
struct gcb_list {
    uint64_t *pos;
    float *x;
    uint64_t n;
    uint64_t room; /* elements that fit; 0 in a list that borrows another list's arrays */
};

/* Frees the arrays. The list must not have borrowed them. */
void gcb_list_fini(struct gcb_list *l);

/* Makes room for n more elements in a list that owns its arrays. Returns 0, or GCB_E_NOMEM; then
 * the list is unchanged. */
int gcb_list_reserve(struct gcb_list *l, uint64_t n);

/* Appends an element. The caller has made room for the element. */
static inline void gcb_list_push(struct gcb_list *l, uint64_t pos, float x)
{
    l->pos[l->n] = pos;
    l->x[l->n++] = x;
}

/* Returns how many of n ascending positions are below `end`. Each has `bytes` bytes: 4 or 8. */
uint64_t gcb_positions_below(const void *pos, size_t bytes, uint64_t n, uint64_t end);

/* Returns the number of elements before position `pos`. */
uint64_t gcb_list_rank(const struct gcb_list *l, uint64_t pos);

/* Returns the elements at positions `first` to `end` - 1. The result borrows the arrays of l. */
struct gcb_list gcb_list_slice(const struct gcb_list *l, uint64_t first, uint64_t end);

/* out = a + weight * b. Each product and each sum is rounded to float32. `out` owns its arrays and
 * is neither a nor b; its elements are replaced. Returns 0, or GCB_E_NOMEM; then `out` is empty. */
int gcb_list_add(struct gcb_list *out, const struct gcb_list *a, const struct gcb_list *b,
                 float weight);

/* Drops the elements whose magnitude, as the bits of a float, is below `magnitude`. */
void gcb_list_filter(struct gcb_list *l, uint32_t magnitude);

/* Keeps the elements with the k largest magnitudes, k >= 1; among equal magnitudes, the first
 * ones. Drops all others. */
void gcb_list_keep_largest(struct gcb_list *l, const struct gcb_kernels *kernels, uint64_t k);

/* ---- lists of an encoder of the sparse codec without a transform, and their pieces ---- */

/* Selects elements of x (s->base.env.count floats, all finite) as an encoder does. Replaces the
 * elements of `out`. Returns 0, or GCB_E_NOMEM; then `out` is empty. */
int gcb_sparse_select(struct gcb_sparse *s, const struct gcb_step *at, const float *x,
                      struct gcb_list *out);

/*
 * A piece is the payload of a part of the tensor: of `length` elements from element `first` on. A
 * piece with n kept elements has at most gcb_sparse_bound(s, length, n) bytes.
 */

/* Appends the piece of a list to `out`; sets out->failed if it does not fit. All elements of the
 * list are in the part. Adds the bytes to the counts of `parts`; the numbers of kept positions are
 * index bytes. Overwrites the positions of s->selection. */
void gcb_sparse_put_piece(struct gcb_sparse *s, uint64_t first, uint64_t length,
                          const struct gcb_list *l, struct gcb_wbuf *out, struct gcb_parts *parts);

/* Reads a piece from `in`, which may be hostile, and appends the elements to `out`. Returns 0,
 * GCB_E_CORRUPT or GCB_E_NOMEM. After an error `out` has the same elements as before. */
int gcb_sparse_get_piece(struct gcb_sparse *s, uint64_t first, uint64_t length, struct gcb_rbuf *in,
                         struct gcb_list *out);

#endif
