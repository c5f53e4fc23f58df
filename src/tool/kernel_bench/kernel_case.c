#include "src/tool/kernel_bench/kernel_case.h"

#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

static const struct gcb_kernel_case *const families[] = {
    gcb_kernel_philox,  gcb_kernel_reduce,  gcb_kernel_compare, gcb_kernel_select,
    gcb_kernel_bitpack, gcb_kernel_convert, gcb_kernel_range,   gcb_kernel_dither,
    gcb_kernel_fft,     gcb_kernel_hadamard};

/* ---- arrays ---- */

void *gcb_kernel_take(struct gcb_kernel_job *job, size_t bytes)
{
    void *p = gcb_alloc(bytes);

    if (!p)
        return NULL;
    memset(p, 0, bytes);
    for (size_t i = 0; i < GCB_KERNEL_ARRAYS; i++)
        if (!job->array[i]) {
            job->array[i] = p;
            return p;
        }
    gcb_free(p);
    return NULL;
}

uint8_t *gcb_kernel_random(struct gcb_kernel_job *job, size_t bytes, unsigned seed)
{
    uint8_t *p = gcb_kernel_take(job, bytes);

    if (p)
        job->kernels.philox.bytes(p, bytes, seed, 0, 0);
    return p;
}

float *gcb_kernel_floats(struct gcb_kernel_job *job, size_t count, unsigned seed)
{
    float *x = (float *)(void *)gcb_kernel_random(job, count * sizeof(*x), seed);

    for (size_t i = 0; x && i < count; i++) {
        const uint32_t u = gcb_bits_of(x[i]);

        x[i] = ((float)(u & 0xffff) - (float)(u >> 16)) * 0x1p-16f;
    }
    return x;
}

void gcb_kernel_writes(struct gcb_kernel_job *job, void *out, size_t bytes)
{
    job->out = out;
    job->out_bytes = job->written = bytes;
}

void gcb_kernel_release(struct gcb_kernel_job *job)
{
    gcb_fft_destroy(job->fft);
    for (size_t i = 0; i < GCB_KERNEL_ARRAYS; i++)
        gcb_free(job->array[i]);
}

/* ---- the table ---- */

const struct gcb_kernel_case *gcb_kernel_at(size_t i)
{
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
        for (const struct gcb_kernel_case *c = families[f]; c->family; c++)
            if (i-- == 0)
                return c;
    return NULL;
}

bool gcb_kernels_case(size_t i, const char **family, const char **kernel, size_t *offset)
{
    const struct gcb_kernel_case *c = gcb_kernel_at(i);

    if (!c)
        return false;
    *family = c->family;
    *kernel = c->kernel;
    *offset = c->offset;
    return true;
}

static bool takes(const char *glob, const struct gcb_kernel_case *c)
{
    char name[64];
    const size_t family = strlen(c->family);

    memcpy(name, c->family, family);
    name[family] = '/';
    memcpy(name + family + 1, c->kernel, strlen(c->kernel) + 1);
    return gcb_glob(glob, name) || gcb_glob(glob, c->family) || gcb_glob(glob, c->kernel);
}

bool gcb_kernel_chosen(const struct gcb_kernels_config *config, const struct gcb_kernel_case *c)
{
    for (size_t i = 0; i < config->glob_count; i++)
        if (takes(config->globs[i], c))
            return true;
    return config->glob_count == 0;
}

/* A glob that takes nothing is a mistake. */
static int check_glob(const char *glob, struct gcb_diag *diag)
{
    const struct gcb_kernel_case *c;
    const char *names[160], *near;
    char text[64];
    size_t count = 0;

    for (size_t i = 0; (c = gcb_kernel_at(i)); i++) {
        if (takes(glob, c))
            return 0;
        if (count + 2 <= sizeof(names) / sizeof(names[0])) {
            names[count++] = c->family;
            names[count++] = c->kernel;
        }
    }
    near = gcb_suggest(glob, names, count);
    return gcb_diag_set(diag, GCB_E_INVALID, "no kernel is called '%s'%s%s%s",
                        gcb_escape(text, sizeof(text), glob), near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
}

int gcb_kernels_match(size_t *count, const struct gcb_kernels_config *config, struct gcb_diag *diag)
{
    const struct gcb_kernel_case *c;
    int err = 0;

    *count = 0;
    for (size_t i = 0; !err && i < config->glob_count; i++)
        err = check_glob(config->globs[i], diag);
    for (size_t i = 0; !err && (c = gcb_kernel_at(i)); i++)
        *count += gcb_kernel_chosen(config, c);
    return err;
}
