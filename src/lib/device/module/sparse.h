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
 * The sparse codec on the device: transform -> select -> values -> index, as on the CPU (src/lib/sparse/sparse.h). Each
 * stage has a table here too, by the same ids. A stage without a row runs on the CPU only.
 *
 * The stages after the transform take one float per position, of the tensor or of its spectrum.
 */
struct gcb_device_sparse {
    struct gcb_sparse p; /* parameters, and the sizes that follow from them, as on the CPU */
    const struct gcb_device_transform *transform;
    struct gcb_cuda_fft *fft;            /* fft and dct, if cuFFT does the transform */
    struct gcb_cuda_spectrum spectrum;   /* fft */
    struct gcb_cuda_block_fft fft_short; /* fft: whole chunks that do not need cuFFT */
    struct gcb_cuda_dct dct;             /* whole chunks */
    struct gcb_cuda_dct dct_rest;        /* the shorter last chunk; count 0: there is none */
    enum gcb_device_dct_way {
        GCB_DCT_SHORT,
        GCB_DCT_DIRECT,
        GCB_DCT_LONG
    } dct_way;                                  /* of whole chunks */
    void *table;                                /* fft, dct: device memory */
    const struct gcb_device_selector *selector; /* not used by a decoder */
    void *found; /* device memory: the threshold that is used again; NULL if there is none */
    const struct gcb_device_index *index;
    struct gcb_cuda_values values;
};

/* ---- transform: sparse_transform.c ---- */

/* A message being encoded or decoded. */
struct gcb_device_work {
    const uint8_t *payload; /* decoding, and encoding with feedback, which decodes the message */
    uint8_t *out;           /* encoding */
    uint8_t *scratch;       /* the transform's part of the call's scratch, aligned to 256 */
    const float *from;      /* inverse for feedback: what was encoded; else NULL */
    const struct gcb_device_call *call;
    const struct gcb_cuda_entries *kept; /* inverse: what the message keeps */
};

/* A function that is NULL does nothing, unless said otherwise. */
struct gcb_device_transform {
    /* Makes plans and tables; nothing else is ever allocated. fini accepts a state whose init failed. */
    int (*init)(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_device_sparse *s);
    uint64_t (*scratch)(const struct gcb_device_sparse *s);
    /* Adds error feedback to in->x, transforms it, and writes what the decoder needs besides the coefficients. *order: one
     * float per position, which orders them. */
    int (*forward)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                   const float **order, const struct gcb_device_work *w);
    /* Brings the chosen coefficients to unitary scale. Coefficients of two floats are first copied from the spectrum. */
    int (*gather)(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                  const struct gcb_device_work *w);
    /* If `fuses` (not NULL) returns true, `choose` does all of this, with the selection of the largest of each chunk, and
     * needs no spectrum in memory. The caller has laid out *chosen. */
    bool (*fuses)(const struct gcb_device_sparse *s);
    int (*choose)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w);
    /* Does `inverse` read what is kept from w->kept, not from the scratch? NULL: no. */
    bool (*lists)(const struct gcb_device_sparse *s);
    /* From coefficients at unitary scale, which begin the scratch, to elements. With w->from it writes w->from minus the
     * elements: an encoder with env->feedback calls it so. */
    int (*inverse)(const struct gcb_device_sparse *s, float *out, const struct gcb_device_work *w);
};

/* Takes `bytes` of a scratch at *end and moves *end after them, aligned to 256. If `scratch` is NULL only *end moves, to
 * compute sizes. */
void *gcb_device_take(uint8_t *scratch, uint64_t *end, uint64_t bytes);

/* The `count` elements of the input that begin at element `from`. */
struct gcb_device_input gcb_device_part(const struct gcb_device_input *in, uint64_t from,
                                        uint64_t count);

/* The directions that this coder transforms in: enum gcb_cuda_fft_way. */
unsigned gcb_device_fft_ways(const struct gcb_codec_env *env);

/* By enum gcb_transform_id. */
extern const struct gcb_device_transform *const gcb_device_transforms[GCB_TRANSFORMS];
extern const struct gcb_device_transform gcb_device_dct; /* sparse_dct.c */
extern const struct gcb_device_transform gcb_device_fft; /* sparse_fft.c */

/* ---- selection: sparse_select.c ---- */

/* The chunks of select=chunk; length 0: another selection, or one chunk. */
struct gcb_cuda_chunks gcb_device_chunks(const struct gcb_sparse *p);

struct gcb_device_selector {
    bool reuses; /* keeps a threshold between calls, in s->found */
    /* bytes of scratch that select needs, with the chosen positions */
    uint64_t (*scratch)(const struct gcb_sparse *p);
    /* Queues the selection from in->n = p.t.positions finite floats. Lays out *chosen, whose n and most the caller has set,
     * in the call's scratch. It must stay there until the message is written. */
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
    struct gcb_cuda_index_length length; /* bytes that it writes, if counts determine them */
    /* bytes of scratch to encode `most` of n positions, and to decode n; NULL: none */
    uint64_t (*put_scratch)(uint64_t n, uint64_t most);
    uint64_t (*get_scratch)(uint64_t n);
    gcb_cuda_put_index_fn *put;
    gcb_cuda_get_index_fn *get;
};

/* By enum gcb_index_id. */
extern const struct gcb_device_index gcb_device_indices[GCB_INDICES];

#endif
