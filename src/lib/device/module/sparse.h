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

/* How chunks are transformed: by the kernels for powers of two, by those for other even lengths with
 * the factors 2, 3, 5 and 7 (both up to 4096 elements, in shared memory), or by cuFFT. */
enum gcb_device_way { GCB_WAY_BLOCK, GCB_WAY_STEPS, GCB_WAY_LIBRARY };

/* Chunks of one length, one after the other. */
struct gcb_device_run {
    uint64_t first, count, length; /* elements: before the chunks, of all chunks, and of a chunk */
    enum gcb_device_way way;
    const void *table;           /* in device memory, but not for GCB_WAY_STEPS */
    struct gcb_cuda_steps steps; /* GCB_WAY_STEPS */
};

struct gcb_device_sparse {
    struct gcb_sparse p; /* parameters, and the sizes that follow from them, as on the CPU */
    const struct gcb_device_transform *transform;
    struct gcb_device_run runs[2];       /* fft, dct: the whole chunks; the shorter last one */
    struct gcb_cuda_fft *fft;            /* fft, dct: for GCB_WAY_LIBRARY */
    void *table;                         /* fft, dct: tables in device memory */
    struct gcb_cuda_spectrum spectrum;   /* fft: how bins are ordered and scaled */
    struct gcb_cuda_block_fft fft_short; /* fft: for GCB_WAY_BLOCK */
    struct gcb_cuda_dct dct[2];          /* dct: of the runs */
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

/* For fft and dct: cuts the elements into runs, makes their tables, and plans for cuFFT. There is at
 * least one element. gcb_device_plan_fini accepts a state whose plan failed. */
int gcb_device_plan(struct gcb_device_sparse *s, const struct gcb_codec_env *env, bool dct,
                    struct gcb_diag *diag);
void gcb_device_plan_fini(struct gcb_device_sparse *s);
/* The first run that cuFFT transforms. There is one if s->fft is not NULL. */
const struct gcb_device_run *gcb_device_library_run(const struct gcb_device_sparse *s);

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
