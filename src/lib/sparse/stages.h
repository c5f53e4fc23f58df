#ifndef SRC_LIB_SPARSE_STAGES_H
#define SRC_LIB_SPARSE_STAGES_H

#include "src/lib/codec/codec.h"
#include "src/lib/codec/range_codes.h"

/*
 * The sparse codec is a composition: transform -> select -> values + index. Each stage is a row of a small
 * const table; the row's number is its id on the wire and never changes.
 *
 * A position is one thing that is kept or dropped: an element, or a bin of a transform (`width` floats).
 * Positions are numbered through the whole message and cut into segments of at most 2^31, within which
 * they are sorted uint32_t. So 64-bit sizes cost nothing where there is one segment, which is almost
 * always.
 */

/* ---- transform: src/lib/sparse/transform.c ---- */

struct gcb_transform_state {
    uint64_t count, chunk, positions;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
    struct gcb_fft *fft;
    float *coef;      /* width * positions floats; NULL for none */
    float *magnitude; /* positions floats; NULL where the coefficients themselves are ordered */
    struct gcb_codec_env env;
    uint64_t key; /* of random signs; travels in the payload */
};

struct gcb_transform {
    const char *name;
    unsigned width; /* floats per position */
    uint64_t (*positions)(uint64_t count, uint64_t chunk);
    int (*init)(struct gcb_transform_state *t, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_transform_state *t);
    /* what the decoder needs beside the coefficients; 0 and NULL: nothing */
    uint64_t side_bytes;
    void (*put_side)(const struct gcb_transform_state *t, struct gcb_wbuf *out);
    void (*get_side)(struct gcb_transform_state *t, struct gcb_rbuf *in);
    /* is there memory for what a library may take within forward or inverse? NULL: it takes none */
    bool (*has_room)(const struct gcb_transform_state *t);
    /* coefficients of x, valid until the next call; never allocates */
    const float *(*forward)(struct gcb_transform_state *t, const struct gcb_step *at,
                            const float *x);
    /* one float per position whose magnitude orders the coefficients; NULL if some are not finite */
    const float *(*order)(struct gcb_transform_state *t, const float *coef);
    /* brings gathered coefficients of these positions to unitary scale; the same call, before the inverse,
     * undoes it. NULL: nothing to do */
    void (*scale)(const struct gcb_transform_state *t, float *values, const uint32_t *pos, size_t n,
                  uint64_t base);
    /* where kept coefficients are to be put for decoding into out */
    float *(*canvas)(struct gcb_transform_state *t, float *out);
    /* from the filled canvas to out; NULL: the canvas is out */
    void (*inverse)(struct gcb_transform_state *t, float *out);
};
const struct gcb_transform *gcb_transform_at(int id);
extern const char *const gcb_transform_names[];

/* ---- selection: src/lib/sparse/select.c ---- */

/* Parameters of the selectors; what each uses is said in its file. */
struct gcb_selection_params {
    double density;
    uint64_t chunk;         /* chunk: positions it looks at at a time; 0: all */
    double threshold;       /* threshold */
    double sample;          /* sampled: share of positions */
    uint64_t dense_below;   /* redsync: bytes of a tensor */
    uint64_t trimmed_below; /* redsync */
    uint64_t interval;      /* redsync: steps a threshold serves */
};

struct gcb_selection {
    struct gcb_selection_params p;
    uint32_t *pos;          /* kept positions, segment after segment */
    uint64_t *segment_kept; /* how many in each */
    uint64_t kept;
    uint64_t positions, segment, segments;
    uint64_t bytes; /* of the tensor */
    float *value;   /* scratch: values of what was collected */
    float *sample;  /* scratch */
    bool found;     /* redsync: a threshold to reuse, and where it is from */
    struct gcb_step found_at;
    uint32_t found_threshold;
    const struct gcb_kernels *kernels;
    const struct gcb_queue *queue;
};

struct gcb_selector {
    const char *name;
    bool signed_order; /* keeps one sign: not for transforms with complex bins */
    bool by_magnitude; /* no density is asked for */
    /* most positions that select keeps when k are asked for; NULL: exactly k */
    uint64_t (*most)(const struct gcb_selection_params *p, uint64_t positions, uint64_t k);
    /* chooses about k positions from one finite float per position; fills pos, segment_kept, kept */
    void (*select)(struct gcb_selection *s, const struct gcb_step *at, const float *order,
                   uint64_t k);
};
const struct gcb_selector *gcb_selector_at(int id);
extern const char *const gcb_selector_names[];

int gcb_selection_init(struct gcb_selection *s, uint64_t positions, const struct gcb_codec_env *env,
                       struct gcb_diag *diag);
void gcb_selection_fini(struct gcb_selection *s);

/* k for a density: clamp(rint(density * n), 1, n); 0 for n = 0. */
uint64_t gcb_kept_of(double density, uint64_t n);

/* ---- values: src/lib/sparse/values.c ---- */

struct gcb_values_state {
    struct gcb_range_params range;
    const struct gcb_kernels *kernels;
    struct gcb_range_stats stats;
    struct gcb_range_format format;
    uint64_t clamped;
    double sum_up, sum_down;  /* means: of the positive values, and of the others */
    uint64_t positive, count; /* means: how many */
    float up, down;           /* means: what stands for values; uniform: up is the largest */
};

/* Values travel in tiles of up to 2 * GCB_TILE floats; every tile but the last fills whole bytes. */
struct gcb_values {
    const char *name;
    bool one_sign; /* only for selections of one sign */
    uint64_t scale_bytes;
    uint64_t (*bytes)(const struct gcb_values_state *v, uint64_t n); /* without the scale */
    /* sees every tile before the first put; NULL: not needed */
    void (*measure)(struct gcb_values_state *v, const float *x, size_t n);
    void (*put_scale)(struct gcb_values_state *v, struct gcb_wbuf *out); /* NULL: no scale */
    void (*put)(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n);
    int (*get_scale)(struct gcb_values_state *v, struct gcb_rbuf *in);
    void (*get)(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n);
    /* order-0 entropy of n values' symbols; 0 or GCB_E_NOMEM */
    int (*entropy)(const struct gcb_values_state *v, double *bits, const uint8_t *in, uint64_t n);
    double (*nominal_bits)(const struct gcb_values_state *v); /* of one float */
};
const struct gcb_values *gcb_values_at(int id);
extern const char *const gcb_values_names[];

/* ---- index: src/lib/sparse/index.c ---- */

/* Reads the positions of one segment, tile by tile, each checked: ascending and below n. */
struct gcb_index_cursor {
    const uint8_t *body, *end;
    const uint8_t *directory;
    uint64_t n, kept, done;
    uint64_t next; /* lowest position that may come */
    unsigned param;
    uint64_t word; /* bitmap: bits of the current word not yet given */
    uint64_t word_base;
    uint64_t block; /* block: which, and its positions not yet given */
    uint64_t block_left;
};

struct gcb_index {
    const char *name;
    /* worst bytes for `kept` of n positions, kept <= n <= 2^31 */
    uint64_t (*bound)(uint64_t n, uint64_t kept);
    void (*encode)(struct gcb_wbuf *out, const uint32_t *pos, uint64_t kept, uint64_t n);
    /* takes a segment's bytes from `in`; 0 or GCB_E_CORRUPT */
    int (*open)(struct gcb_index_cursor *c, struct gcb_rbuf *in);
    /* the next min(GCB_TILE, kept - done) positions; 0 or GCB_E_CORRUPT */
    int (*next)(struct gcb_index_cursor *c, uint32_t *pos, size_t n);
};
const struct gcb_index *gcb_index_at(int id);
extern const char *const gcb_index_names[];

#endif
