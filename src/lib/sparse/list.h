#ifndef SRC_LIB_SPARSE_LIST_H
#define SRC_LIB_SPARSE_LIST_H

#include "src/lib/sparse/sparse.h"

/*
 * Lists of elements of a tensor: what workers select, send each other and add up, when sparse
 * messages are combined on their way (src/lib/exchange/pieces.h). Positions ascend strictly.
 */
struct gcb_list {
    uint64_t *pos;
    float *x;
    uint64_t n;
    uint64_t room; /* elements that fit; 0 in a list that borrows another list's arrays */
};

void gcb_list_fini(struct gcb_list *l);

/* Makes room for n more elements. Returns 0 or GCB_E_NOMEM. */
int gcb_list_reserve(struct gcb_list *l, uint64_t n);

/* Appends an element, for which there is room. */
static inline void gcb_list_push(struct gcb_list *l, uint64_t pos, float x)
{
    l->pos[l->n] = pos;
    l->x[l->n++] = x;
}

/* Number of elements before position `pos`. */
uint64_t gcb_list_rank(const struct gcb_list *l, uint64_t pos);

/* The elements at positions from `first` to `end` - 1, borrowed. */
struct gcb_list gcb_list_slice(const struct gcb_list *l, uint64_t first, uint64_t end);

/* out = a + weight * b. Each product and each sum is rounded to float32. `out` is another list than
 * a and b. Returns 0 or GCB_E_NOMEM. */
int gcb_list_add(struct gcb_list *out, const struct gcb_list *a, const struct gcb_list *b,
                 float weight);

/* The magnitude that at least k elements reach, as a bit pattern; 1 <= k <= l->n. */
uint32_t gcb_list_kth(const struct gcb_list *l, const struct gcb_kernels *kernels, uint64_t k);

/* Drops the elements below the magnitude. */
void gcb_list_filter(struct gcb_list *l, uint32_t magnitude);

/* Drops all but the k largest magnitudes, k >= 1; among equal ones, the first stay. */
void gcb_list_keep_largest(struct gcb_list *l, const struct gcb_kernels *kernels, uint64_t k);

/* ---- with an encoder of the sparse codec that has no transform ---- */

/* Selects elements of x as an encoder does. Returns 0 or GCB_E_NOMEM. */
int gcb_sparse_select(struct gcb_sparse *s, const struct gcb_step *at, const float *x,
                      struct gcb_list *out);

/*
 * A piece: the elements of a range of `length` positions from `first` on, as the payload of a
 * tensor that consists of this range. It has at most gcb_sparse_bound(s, length, n) bytes for n of
 * them.
 */

/* Appends a piece. All elements of the list are in the range. Adds to the bytes of `parts`. */
void gcb_sparse_put_piece(struct gcb_sparse *s, uint64_t first, uint64_t length,
                          const struct gcb_list *l, struct gcb_wbuf *out, struct gcb_parts *parts);

/* Reads a piece and appends its elements to `out`. Any bytes are safe. GCB_E_CORRUPT, GCB_E_NOMEM:
 * `out` is as before. */
int gcb_sparse_get_piece(struct gcb_sparse *s, uint64_t first, uint64_t length, struct gcb_rbuf *in,
                         struct gcb_list *out);

#endif
