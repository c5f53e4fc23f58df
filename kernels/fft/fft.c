#include "kernels/fft/fft.h"

#include "kernels/fft/engine.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/cpu_flags.h"
#include "src/lib/base/status.h"

/* All whole chunks, or a shorter last chunk. */
struct part {
    const struct gcb_fft_engine_ops *ops; /* NULL if there are no such chunks */
    void *state;
    uint64_t element, bin; /* where the first element and the first bin are, in floats */
    uint64_t chunk;        /* the number of its first chunk */
};

struct gcb_fft {
    struct part parts[2]; /* whole chunks, shorter last chunk */
};

/* ---- sizes ---- */

uint64_t gcb_fft_smooth(uint64_t n)
{
    uint64_t best = 2;

    if (n == 0)
        return 0;
    while (best < n)
        best *= 2;
    for (uint64_t seven = 2; seven < best; seven *= 7)
        for (uint64_t five = seven; five < best; five *= 5)
            for (uint64_t three = five; three < best; three *= 3) {
                uint64_t length = three;

                while (length < n)
                    length *= 2;
                best = length < best ? length : best;
            }
    return best;
}

uint64_t gcb_fft_zeros(uint64_t n, uint64_t chunk)
{
    const uint64_t last = chunk ? n % chunk : n, smooth = gcb_fft_smooth(last);

    return (chunk && smooth > chunk ? chunk : smooth) - last;
}

bool gcb_fft_can(uint64_t length)
{
    return gcb_fft_version() || gcb_fft_is_own(length);
}

/* ---- making an object, and transforms of all chunks ---- */

/* Makes the engine of a part, or none if it has no chunks. */
static int make_part(struct part *part, const struct gcb_fft_config *config, uint64_t length,
                     uint64_t chunks, uint64_t zeros)
{
    const struct gcb_fft_need need = {
        .kind = config->kind,
        .length = length,
        .chunks = chunks,
        .zeros = zeros,
        .threads = config->threads < 1 ? 1 : config->threads,
        .whole = config->chunk == 0,
        .inverse = config->inverse,
        .engine = config->engine,
        .fns = config->fns,
    };

    if (chunks == 0)
        return 0;
    if (gcb_fft_is_own(length) && config->engine == GCB_FFT_OWN)
        part->ops = gcb_fft_own();
#ifdef GCB_FFTW
    else
        part->ops = gcb_fft_fftw();
#endif
    return part->ops ? part->ops->create(&part->state, &need) : GCB_E_UNSUPPORTED;
}

int gcb_fft_create(struct gcb_fft **out, const struct gcb_fft_config *config)
{
    const uint64_t n = config->n;
    const uint64_t chunk = config->chunk == 0 || config->chunk > n ? n : config->chunk;
    struct gcb_fft *fft = gcb_alloc_zero(1, sizeof(*fft));
    int err = GCB_E_NOMEM;

    *out = NULL;
    if (!fft || n > PTRDIFF_MAX / (2 * sizeof(float)))
        goto out;
    err = 0;
    if (n > 0) {
        const uint64_t chunks = n / chunk, rest = n % chunk;

        fft->parts[1].chunk = chunks;
        fft->parts[1].element = chunks * chunk;
        fft->parts[1].bin = chunks * gcb_fft_floats(config->kind, chunk);
        err = make_part(&fft->parts[0], config, chunk, chunks, rest ? 0 : config->zeros);
        if (!err)
            err = make_part(&fft->parts[1], config, rest, rest != 0, config->zeros);
    }
    if (err)
        goto out;
    *out = fft;
    fft = NULL;
out:
    gcb_fft_destroy(fft);
    return err;
}

void gcb_fft_destroy(struct gcb_fft *fft)
{
    for (unsigned i = 0; fft && i < 2; i++)
        if (fft->parts[i].ops)
            fft->parts[i].ops->destroy(fft->parts[i].state);
    gcb_free(fft);
}

void gcb_fft_forward(const struct gcb_fft *fft, const float *x, float *bins)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct part *p = &fft->parts[i];

        if (p->ops)
            p->ops->forward(p->state, x + p->element, bins + p->bin);
    }
}

void gcb_fft_inverse(const struct gcb_fft *fft, float *bins, float *x)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct part *p = &fft->parts[i];

        if (p->ops)
            p->ops->inverse(p->state, bins + p->bin, x + p->element);
    }
}

/* ---- transforms of some of the chunks ---- */

unsigned gcb_fft_group(const struct gcb_fft *fft, unsigned *workers)
{
    unsigned group = 0, alone;

    for (unsigned i = 2; i-- > 0;) {
        const struct part *p = &fft->parts[i];

        if (!p->ops)
            continue;
        group = p->ops->group ? p->ops->group(p->state, i ? &alone : workers) : 0;
        if (group == 0)
            break;
    }
    return group;
}

/* Returns the part that has the chunks, and sets their numbers in this part. The part of a shorter
 * last chunk has scratch for one worker only. */
static const struct part *part_of(const struct gcb_fft *fft, struct gcb_fft_chunks *which)
{
    const bool last = fft->parts[1].ops && which->first == fft->parts[1].chunk;

    which->first -= fft->parts[last].chunk;
    which->worker = last ? 0 : which->worker;
    return &fft->parts[last];
}

void gcb_fft_forward_chunks(const struct gcb_fft *fft, const float *x,
                            const struct gcb_fft_chunks *which, float *bins)
{
    struct gcb_fft_chunks here = *which;
    const struct part *p = part_of(fft, &here);

    p->ops->forward_chunks(p->state, x + p->element, &here, bins);
}

void gcb_fft_inverse_chunks(const struct gcb_fft *fft, float *bins,
                            const struct gcb_fft_chunks *which, float *x)
{
    struct gcb_fft_chunks here = *which;
    const struct part *p = part_of(fft, &here);

    p->ops->inverse_chunks(p->state, bins, &here, x + p->element);
}

/* ---- FFTW's memory and version ---- */

bool gcb_fft_has_room(const struct gcb_fft *fft)
{
    bool room = true;

    for (unsigned i = 0; i < 2; i++) {
        const struct part *p = &fft->parts[i];

        room = room && (!p->ops || !p->ops->has_room || p->ops->has_room(p->state));
    }
    return room;
}

#ifndef GCB_FFTW
const char *gcb_fft_version(void)
{
    return NULL;
}
#endif

/* ---- choice of variants by the CPU ---- */

void gcb_fft_init(struct gcb_fft_fns *fns, unsigned cpu_flags)
{
    *fns = (struct gcb_fft_fns){
        .lanes = 4,
        .forward = gcb_fft_forward_c,
        .inverse = gcb_fft_inverse_c,
        .forward_one = gcb_fft_forward_one_c,
        .inverse_one = gcb_fft_inverse_one_c,
        .columns = gcb_fft_columns_c,
        .rows = gcb_fft_rows_c,
        .split = gcb_fft_split_c,
        .join = gcb_fft_join_c,
    };
#if defined(__x86_64__)
    if (cpu_flags & GCB_CPU_AVX2)
        *fns = (struct gcb_fft_fns){
            .lanes = 8,
            .forward = gcb_fft_forward_avx2,
            .inverse = gcb_fft_inverse_avx2,
            .forward_one = gcb_fft_forward_one_avx2,
            .inverse_one = gcb_fft_inverse_one_avx2,
            .columns = gcb_fft_columns_avx2,
            .rows = gcb_fft_rows_avx2,
            .split = gcb_fft_split_avx2,
            .join = gcb_fft_join_avx2,
        };
    if (cpu_flags & GCB_CPU_AVX512) {
        fns->lanes = 16;
        fns->forward = gcb_fft_forward_avx512;
        fns->inverse = gcb_fft_inverse_avx512;
        fns->columns = gcb_fft_columns_avx512;
        fns->rows = gcb_fft_rows_avx512;
    }
#endif
}
