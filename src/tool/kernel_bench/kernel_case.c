#include "src/tool/kernel_bench/kernel_case.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/hd.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

static const struct {
    const char *name;
    const struct gcb_kernel_case *cases;
} families[] = {
    {"philox", gcb_kernel_philox},   {"reduce", gcb_kernel_reduce},
    {"compare", gcb_kernel_compare}, {"select", gcb_kernel_select},
    {"bitpack", gcb_kernel_bitpack}, {"convert", gcb_kernel_convert},
    {"range", gcb_kernel_range},     {"dither", gcb_kernel_dither},
    {"fft", gcb_kernel_fft},         {"hadamard", gcb_kernel_hadamard},
};

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

int gcb_kernel_writes(struct gcb_kernel_job *job, void *out, size_t bytes)
{
    job->out = out;
    job->out_bytes = job->written = bytes;
    return out ? 0 : GCB_E_NOMEM;
}

void gcb_kernel_release(struct gcb_kernel_job *job)
{
    gcb_fft_destroy(job->fft);
    for (size_t i = 0; i < GCB_KERNEL_ARRAYS; i++)
        gcb_free(job->array[i]);
}

/* ---- the table ---- */

bool gcb_kernel_at(struct gcb_kernel_entry *out, size_t i)
{
    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
        for (const struct gcb_kernel_case *c = families[f].cases; c->name; c++)
            if (i-- == 0) {
                *out = (struct gcb_kernel_entry){families[f].name, c};
                return true;
            }
    return false;
}

static bool matches(const char *glob, const struct gcb_kernel_entry *e)
{
    char name[64];

    snprintf(name, sizeof(name), "%s/%s", e->family, e->c->name);
    return gcb_glob(glob, name) || gcb_glob(glob, e->family) || gcb_glob(glob, e->c->name);
}

bool gcb_kernel_chosen(const struct gcb_kernels_config *config, const struct gcb_kernel_entry *e)
{
    for (size_t i = 0; i < config->glob_count; i++)
        if (matches(config->globs[i], e))
            return true;
    return config->glob_count == 0;
}

/* Checks that the glob matches a case. */
static int check_glob(const char *glob, struct gcb_diag *diag)
{
    struct gcb_kernel_entry e;
    const char *names[160], *near;
    char text[64];
    size_t count = 0;

    for (size_t i = 0; gcb_kernel_at(&e, i); i++) {
        if (matches(glob, &e))
            return 0;
        if (count + 2 <= sizeof(names) / sizeof(names[0])) {
            names[count++] = e.family;
            names[count++] = e.c->name;
        }
    }
    near = gcb_suggest(glob, names, count);
    return gcb_diag_set(diag, GCB_E_INVALID, "no kernel is called '%s'%s%s%s",
                        gcb_escape(text, sizeof(text), glob), near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
}

int gcb_kernels_match(size_t *count, const struct gcb_kernels_config *config, struct gcb_diag *diag)
{
    struct gcb_kernel_entry e;
    int err = 0;

    *count = 0;
    for (size_t i = 0; !err && i < config->glob_count; i++)
        err = check_glob(config->globs[i], diag);
    for (size_t i = 0; !err && gcb_kernel_at(&e, i); i++)
        *count += gcb_kernel_chosen(config, &e);
    return err;
}
