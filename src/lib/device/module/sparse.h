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
 * The selection takes one float for each position: an element, a real coefficient, or the power of
 * a bin of fft.
 */

/* How chunks are transformed: by the kernels for powers of two (BLOCK), by the kernels for all even
 * lengths with the factors 2, 3, 5 and 7 (STEPS), or by cuFFT (LIBRARY). A shorter last chunk is
 * never BLOCK. The kernels work in shared memory, on up to 4096 elements. */
enum gcb_device_way { GCB_WAY_BLOCK, GCB_WAY_STEPS, GCB_WAY_LIBRARY };

/* Chunks of one length, one after the other. */
struct gcb_device_run {
    uint64_t first, count, length; /* elements before the run, in the run, and in a chunk */
    enum gcb_device_way way;
    const void *table;           /* BLOCK, and LIBRARY of dct: the table in device memory */
    struct gcb_cuda_steps steps; /* STEPS: what the kernels take; its tables are device memory */
};

struct gcb_device_sparse {
    struct gcb_sparse p; /* parameters, and what gcb_sparse_bind derives from them */
    const struct gcb_device_transform *transform;
    struct gcb_device_run runs[2];       /* fft, dct: the whole chunks; the shorter last chunk */
    struct gcb_cuda_fft *fft;            /* fft, dct: plans of LIBRARY runs, or NULL */
    void *table;                         /* fft, dct: the tables of both runs; owned */
    struct gcb_cuda_spectrum spectrum;   /* fft: how bins are ordered and scaled */
    struct gcb_cuda_block_fft fft_short; /* fft: the run of whole chunks, if BLOCK; count 0: none */
    struct gcb_cuda_dct dct[2];          /* dct: parameters of the runs */
    const struct gcb_device_selector *selector; /* only encoders use it */
    /* device memory with a threshold that later steps use again; NULL in decoders, and without
     * selector->reuses */
    void *found;
    const struct gcb_device_index *index;
    struct gcb_cuda_values values;
};

/* ---- transform: sparse_transform.c ---- */

/* A message being encoded or decoded. */
struct gcb_device_work {
    const uint8_t *payload; /* decoding, and encoding with feedback: the payload to read */
    uint8_t *out;           /* encoding: the payload to write */
    uint8_t *scratch;       /* the transform's part of the call's scratch, aligned to 256 */
    const float *from;      /* inverse with feedback: the tensor that was encoded; else NULL */
    const struct gcb_device_call *call;
    const struct gcb_cuda_entries *kept; /* inverse: positions and values of the message */
};

/* The functions of a transform. A NULL function does nothing, unless its comment says otherwise.
 * Functions that return int return 0 or an error of `init` or of a call in struct
 * gcb_device_ops. */
struct gcb_device_transform {
    /* Makes plans and tables. Other functions allocate nothing. fini is called even after an
     * error. */
    int (*init)(struct gcb_device_sparse *s, const struct gcb_codec_env *env,
                struct gcb_diag *diag);
    void (*fini)(struct gcb_device_sparse *s);
    /* Bytes of scratch that the functions below need. NULL: none. */
    uint64_t (*scratch)(const struct gcb_device_sparse *s);
    /* Adds error feedback to in->x, transforms the sum, and writes the side bytes to w->out. *order
     * becomes an array of one float per position. Positions are selected by the magnitude of this
     * float. */
    int (*forward)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                   const float **order, const struct gcb_device_work *w);
    /* Brings the chosen coefficients to unitary scale. If a coefficient has two floats, first
     * copies them from the spectrum. */
    int (*gather)(const struct gcb_device_sparse *s, struct gcb_cuda_chosen *chosen,
                  const struct gcb_device_work *w);
    /* True if `choose` replaces forward, selection and gather. NULL: never. */
    bool (*fuses)(const struct gcb_device_sparse *s);
    /* Adds error feedback, transforms, and selects the largest magnitudes of each chunk. Only a
     * shorter last chunk has a spectrum in memory. The caller has laid out *chosen. */
    int (*choose)(const struct gcb_device_sparse *s, const struct gcb_device_input *in,
                  struct gcb_cuda_chosen *chosen, const struct gcb_device_work *w);
    /* True if `inverse` reads the kept coefficients from w->kept. Otherwise the caller writes all
     * coefficients to the beginning of the scratch. NULL: never. */
    bool (*lists)(const struct gcb_device_sparse *s);
    /* Transforms coefficients at unitary scale to elements. If w->from is not NULL (in an encoder
     * with env->feedback), writes w->from minus the elements instead. */
    int (*inverse)(const struct gcb_device_sparse *s, float *out, const struct gcb_device_work *w);
};

/* Takes `bytes` bytes at offset *end of a scratch, and moves *end after these bytes, to a multiple
 * of 256. Returns their address. If `scratch` is NULL, only moves *end and returns NULL. */
void *gcb_device_take(uint8_t *scratch, uint64_t *end, uint64_t bytes);

/* Returns the part of the input with `count` elements from element `from` on. */
struct gcb_device_input gcb_device_part(const struct gcb_device_input *in, uint64_t from,
                                        uint64_t count);

/* For fft and dct: cuts the elements into runs, and makes the runs' tables and plans. There is at
 * least one element. Returns 0, GCB_E_NOMEM or an error of gcb_cuda_fft_create.
 * gcb_device_plan_fini is due in either case. */
int gcb_device_plan(struct gcb_device_sparse *s, const struct gcb_codec_env *env, bool dct,
                    struct gcb_diag *diag);
void gcb_device_plan_fini(struct gcb_device_sparse *s);
/* Returns the first run that cuFFT transforms. The result has a meaning only if s->fft is not
 * NULL. */
const struct gcb_device_run *gcb_device_library_run(const struct gcb_device_sparse *s);

/* Indexed by enum gcb_transform_id. */
extern const struct gcb_device_transform *const gcb_device_transforms[GCB_TRANSFORMS];
extern const struct gcb_device_transform gcb_device_dct; /* sparse_dct.c */
extern const struct gcb_device_transform gcb_device_fft; /* sparse_fft.c */

/* ---- selection: sparse_select.c ---- */

/* Returns how select=chunk cuts the positions. `length` is 0 for other selectors, and if there is
 * only one chunk. */
struct gcb_cuda_chunks gcb_device_chunks(const struct gcb_sparse *p);

struct gcb_device_selector {
    bool reuses; /* keeps a threshold from call to call, in s->found */
    bool lists;  /* always makes a list, and never writes a message itself */
    /* Bytes of scratch that `select` needs, including the arrays of *chosen. */
    uint64_t (*scratch)(const struct gcb_sparse *p);
    /* Queues the selection from in->n = p.t.positions finite floats. The caller has set
     * chosen->n and chosen->most; `select` lays out the arrays of *chosen in the call's scratch.
     * They stay there until the message is written. */
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
    /* The length of the index in a payload. `any` is 1 if n and the number of kept positions do not
     * determine the length. */
    struct gcb_cuda_index_length length;
    /* Bytes of scratch to encode at most `most` of n positions. NULL: none. */
    uint64_t (*put_scratch)(uint64_t n, uint64_t most);
    /* Bytes of scratch to decode some of n positions. NULL: none. */
    uint64_t (*get_scratch)(uint64_t n);
    gcb_cuda_put_index_fn *put;
    gcb_cuda_get_index_fn *get;
};

/* Indexed by enum gcb_index_id. */
extern const struct gcb_device_index gcb_device_indices[GCB_INDICES];

#endif
