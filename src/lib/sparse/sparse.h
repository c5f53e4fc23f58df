#ifndef SRC_LIB_SPARSE_SPARSE_H
#define SRC_LIB_SPARSE_SPARSE_H

#include "src/lib/sparse/stages.h"

/*
 * The sparse codec: keeps the k largest of a tensor's elements, or of its transform's bins, and sends their
 * values and positions (src/lib/sparse/stages.h has the stages).
 *
 * Payload: for each segment, how many positions are kept (uint32); what the transform and the values
 * need beside (scales); the values, in the order of positions; the positions of each segment that
 * has any.
 */

/* State of a coder: parameters first, then what init makes of them. */
struct gcb_sparse {
    double theta;
    int transform, select, values, index; /* ids of the stages */
    int quant;
    uint64_t chunk;
    struct gcb_transform_state t;
    struct gcb_selection selection;
    struct gcb_values_state v;
    const struct gcb_transform *transform_ops;
    const struct gcb_selector *selector_ops;
    const struct gcb_values *values_ops;
    const struct gcb_index *index_ops;
    uint64_t count, segment, segments;
    uint64_t k;    /* positions asked for */
    uint64_t most; /* positions the selector may keep */
};

enum gcb_sparse_quant { GCB_QUANT_NONE, GCB_QUANT_ASQ };

/* sparse_params.c: the parameter table, and combinations that make no sense */
extern const struct gcb_param gcb_sparse_params[];
int gcb_sparse_check(const double *value, struct gcb_diag *diag);
unsigned gcb_sparse_caps(const double *value);

/* Number of a name in a NULL-terminated list that has it. */
int gcb_choice(const char *const *names, const char *name);

/* Floats of a tile of positions, at most. */
#define GCB_SPARSE_TILE (2 * GCB_TILE)

/* Positions in segment g. */
uint64_t gcb_sparse_segment(const struct gcb_sparse *s, uint64_t g);

/* What follows from parameters and environment: stages, sizes, k. Takes no memory; a state on a device begins so too
 * (src/lib/device/module/sparse.c). */
void gcb_sparse_bind(struct gcb_sparse *s, const struct gcb_codec_env *env);

/* Worst bytes of a payload; the state is bound. */
uint64_t gcb_sparse_max_payload(const void *state);

/* sparse_encode.c, sparse_decode.c: the codec's operations (src/lib/codec/codec.h) */
int gcb_sparse_encode(void *state, const struct gcb_step *at, const struct gcb_view *in,
                      struct gcb_wbuf *out);
int gcb_sparse_decode(void *state, struct gcb_rbuf *in, const struct gcb_mview *out);
int gcb_sparse_describe(void *state, struct gcb_rbuf *in, struct gcb_parts *parts);

#endif
