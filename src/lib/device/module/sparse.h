#ifndef SRC_LIB_DEVICE_MODULE_SPARSE_H
#define SRC_LIB_DEVICE_MODULE_SPARSE_H

#include "kernels/fft/dct_cuda.h"
#include "kernels/fft/fft_cuda.h"
#include "kernels/fft/spectrum_cuda.h"
#include "kernels/index/index_cuda.h"
#include "kernels/select/values_cuda.h"
#include "src/lib/codec/device.h"
#include "src/lib/device/module/fft.h"
#include "src/lib/sparse/sparse.h"

/*
 * The sparse codec on the device: transform -> select -> values -> index, as on the CPU (src/lib/sparse/sparse.h). A
 * stage is a row of a small table here too, named as on the CPU; what has no row runs on the CPU only.
 *
 * The stages behind the transform take one float per position, the tensor's or its spectrum's.
 */
struct gcb_device_sparse {
    struct gcb_sparse p; /* the CPU's state: parameters, and the sizes that follow from them */
    const struct gcb_device_transform *transform;
    struct gcb_cuda_fft *fft;            /* fft and dct, where cuFFT does it */
    struct gcb_cuda_spectrum spectrum;   /* fft */
    struct gcb_cuda_block_fft fft_short; /* fft: whole chunks that cuFFT is not needed for */
    struct gcb_cuda_dct dct,
        dct_rest; /* whole chunks, and the shorter one; count 0: there is none */
    enum gcb_device_dct_way {
        GCB_DCT_SHORT,
        GCB_DCT_DIRECT,
        GCB_DCT_LONG
    } dct_way;                                  /* of whole chunks */
    void *table;                                /* fft, dct: device memory */
    const struct gcb_device_selector *selector; /* NULL in a decoder, which needs none */
    void *found; /* device memory: a threshold that is reused; NULL where none is */
    const struct gcb_device_index *index;
    struct gcb_cuda_values values;
};

/* ---- transform: sparse_transform.c ---- */

/* A message under way: its payload, and the transform's part of the call's scratch, aligned to 256. */
struct gcb_device_work {
    const uint8_t *payload; /* decoding, and where feedback asks what the decoder will make of it */
    uint8_t *out;           /* encoding */
    uint8_t *scratch;
    const float *from; /* of an inverse for feedback: what was encoded; else NULL */
    const struct gcb_device_call *call;
    const struct gcb_cuda_entries *kept; /* of an inverse: what the message keeps */
};

/* Where a function is NULL there is nothing to do. */
struct gcb_device_transform {
    /* Plans and tables, all that is ever allocated; fini accepts what is half done. */
    int (*init)(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_device_sparse *s);
    uint64_t (*scratch)(const struct gcb_device_sparse *s);
    /* Queues the transform of in->x, error feedback put in, and writes what the decoder needs beside coefficients; *order:
     * one float a position. */
    int (*forward)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                   const float **order, const struct gcb_device_work *w);
    /* Brings chosen coefficients to unitary scale; those of two floats are fetched first. */
    int (*gather)(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                  const struct gcb_device_work *w);
    /* Both, and the choice of the largest of each chunk between them, without a spectrum in memory; *chosen is laid out
     * already. NULL, or `fuses` says no: not here. */
    bool (*fuses)(const struct gcb_device_sparse *s);
    int (*choose)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w);
    /* Does inverse take what is kept from w->kept, and not from the scratch? NULL: no. */
    bool (*lists)(const struct gcb_device_sparse *s);
    /* From coefficients at unitary scale, which begin the scratch, to elements; with w->from, to what that has more than
     * those. An encoder's too, where it was made for feedback (env->feedback). */
    int (*inverse)(const struct gcb_device_sparse *s, float *out, const struct gcb_device_work *w);
};

/* `bytes` of a scratch, from *end on, which moves behind them; aligned to 256. NULL where the scratch is, to ask for sizes. */
void *gcb_device_take(uint8_t *scratch, uint64_t *end, uint64_t bytes);

/* What a transform of this coder needs plans for: enum gcb_cuda_fft_way. */
unsigned gcb_device_fft_ways(const struct gcb_codec_env *env);

/* By enum gcb_transform_id. */
extern const struct gcb_device_transform *const gcb_device_transforms[GCB_TRANSFORMS];
extern const struct gcb_device_transform gcb_device_dct; /* sparse_dct.c */
extern const struct gcb_device_transform gcb_device_fft; /* sparse_fft.c */

/* ---- selection: sparse_select.c ---- */

/* How chunk-local selection cuts positions; length 0: it does not. */
struct gcb_cuda_chunks gcb_device_chunks(const struct gcb_sparse *p);

struct gcb_device_selector {
    bool reuses; /* keeps a threshold between calls, in s->found */
    /* bytes of scratch that select needs, its chosen positions included */
    uint64_t (*scratch)(const struct gcb_sparse *p);
    /* Queues the choice from in->n = p.t.positions floats, all finite; lays out *chosen in the call's scratch, which
     * must last until the message is written. */
    int (*select)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call);
};

/* By enum gcb_select_id. */
extern const struct gcb_device_selector gcb_device_selectors[GCB_SELECTORS];

/* ---- values: sparse_values.c ---- */

/* What the kernels need to know. */
struct gcb_cuda_values gcb_device_values(const struct gcb_sparse *p);

/* ---- index: sparse_index.c ---- */

struct gcb_device_index {
    struct gcb_cuda_index_length length; /* of what it writes, where it follows from counts */
    /* bytes of scratch for `most` of n positions, and to decode n; NULL: none */
    uint64_t (*put_scratch)(uint64_t n, uint64_t most);
    uint64_t (*get_scratch)(uint64_t n);
    gcb_cuda_put_index_fn *put;
    gcb_cuda_get_index_fn *get;
};

/* By enum gcb_index_id. */
extern const struct gcb_device_index gcb_device_indices[GCB_INDICES];

#endif
