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
 * The sparse codec on the device: transform -> select -> values -> index, as on the CPU
 * (src/lib/sparse/sparse.h). Each stage has a table of its own here, indexed by the same ids as on
 * the CPU. A stage without a row runs on the CPU only.
 *
 * The stages after the transform take one float per position, of the tensor or of its spectrum.
 */
struct gcb_device_sparse {
    struct gcb_sparse p; /* parameters, and the sizes that follow from them, as on the CPU */
    const struct gcb_device_transform *transform;
    struct gcb_cuda_fft *fft;            /* fft and dct, if cuFFT does the transform */
    struct gcb_cuda_spectrum spectrum;   /* fft: how bins are ordered and scaled */
    struct gcb_cuda_block_fft fft_short; /* fft: whole chunks that do not need cuFFT */
    struct gcb_cuda_dct dct;             /* dct: whole chunks */
    struct gcb_cuda_dct dct_rest;        /* dct: the shorter last chunk; count 0: none */
    enum gcb_device_dct_way {
        GCB_DCT_SHORT,
        GCB_DCT_DIRECT,
        GCB_DCT_LONG
    } dct_way;                                  /* dct: how whole chunks are transformed */
    void *table;                                /* fft, dct: tables in device memory */
    const struct gcb_device_selector *selector; /* not used by a decoder */
    void *found; /* device memory: the threshold that later steps reuse, or NULL */
    const struct gcb_device_index *index;
    struct gcb_cuda_values values;
};

/* ---- transform: sparse_transform.c ---- */

/* A message being encoded or decoded. */
struct gcb_device_work {
    const uint8_t *payload; /* for decoding, and for encoding with feedback */
    uint8_t *out;           /* for encoding */
    uint8_t *scratch;       /* the transform's part of the call's scratch, aligned to 256 */
    const float *from;      /* inverse with feedback: the tensor that was encoded; else NULL */
    const struct gcb_device_call *call;
    const struct gcb_cuda_entries *kept; /* inverse: the entries that the message keeps */
};

/* A function that is NULL does nothing, unless said otherwise. */
struct gcb_device_transform {
    /* Makes plans and tables; nothing else is ever allocated. fini accepts a state whose init
     * failed. */
    int (*init)(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_device_sparse *s);
    uint64_t (*scratch)(const struct gcb_device_sparse *s);
    /* Adds error feedback to in->x, transforms it, and writes what the decoder needs besides the
     * coefficients. *order: one float per position, whose magnitude the selection compares. */
    int (*forward)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                   const float **order, const struct gcb_device_work *w);
    /* Brings the chosen coefficients to unitary scale. Coefficients of two floats are first copied
     * from the spectrum. */
    int (*gather)(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                  const struct gcb_device_work *w);
    /* If `fuses` is not NULL and returns true, `choose` replaces forward, selection and gather. It
     * selects the largest magnitudes of each chunk and needs no spectrum in memory. The caller has
     * laid out *chosen. */
    bool (*fuses)(const struct gcb_device_sparse *s);
    int (*choose)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w);
    /* True if `inverse` reads the kept coefficients from w->kept instead of the scratch. NULL:
     * false. */
    bool (*lists)(const struct gcb_device_sparse *s);
    /* Turns coefficients at unitary scale, which are at the beginning of the scratch, into
     * elements. If w->from is not NULL (in an encoder with env->feedback), writes w->from minus the
     * elements instead. */
    int (*inverse)(const struct gcb_device_sparse *s, float *out, const struct gcb_device_work *w);
};

/* Takes `bytes` of a scratch at *end and moves *end after them, aligned to 256. If `scratch` is
 * NULL only *end moves, to compute sizes. */
void *gcb_device_take(uint8_t *scratch, uint64_t *end, uint64_t bytes);

/* The `count` elements of the input that begin at element `from`. */
struct gcb_device_input gcb_device_part(const struct gcb_device_input *in, uint64_t from,
                                        uint64_t count);

/* The directions in which this coder transforms: bits of enum gcb_cuda_fft_way. */
unsigned gcb_device_fft_ways(const struct gcb_codec_env *env);

/* Indexed by enum gcb_transform_id. */
extern const struct gcb_device_transform *const gcb_device_transforms[GCB_TRANSFORMS];
extern const struct gcb_device_transform gcb_device_dct; /* sparse_dct.c */
extern const struct gcb_device_transform gcb_device_fft; /* sparse_fft.c */

/* ---- selection: sparse_select.c ---- */

/* The chunks of select=chunk. `length` is 0 for other selections, and if there is only one
 * chunk. */
struct gcb_cuda_chunks gcb_device_chunks(const struct gcb_sparse *p);

struct gcb_device_selector {
    bool reuses; /* keeps a threshold between calls, in s->found */
    /* bytes of scratch that select needs, including the chosen positions */
    uint64_t (*scratch)(const struct gcb_sparse *p);
    /* Queues the selection from in->n = p.t.positions finite floats. Lays out *chosen, whose n and
     * most the caller has set, in the call's scratch. It must stay there until the message is
     * written. */
    int (*select)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_call *call);
};

/* Indexed by enum gcb_select_id. */
extern const struct gcb_device_selector gcb_device_selectors[GCB_SELECTORS];

/* ---- values: sparse_values.c ---- */

/* The parameters of the values stage, as the kernels take them. */
struct gcb_cuda_values gcb_device_values(const struct gcb_sparse *p);

/* ---- index: sparse_index.c ---- */

struct gcb_device_index {
    struct gcb_cuda_index_length length; /* bytes of the index, if the counts determine them */
    /* bytes of scratch for encoding at most `most` of n positions, and for decoding; NULL: 0
     * bytes */
    uint64_t (*put_scratch)(uint64_t n, uint64_t most);
    uint64_t (*get_scratch)(uint64_t n);
    gcb_cuda_put_index_fn *put;
    gcb_cuda_get_index_fn *get;
};

/* Indexed by enum gcb_index_id. */
extern const struct gcb_device_index gcb_device_indices[GCB_INDICES];

#endif
