#include "src/tool/dump/source.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/source_private.h"
#include "src/tool/hdf5/h5type.h"

enum {
    STRING_BLOCK = 64 << 10,
    BOUNCE = 4096, /* 2-byte floats widened at a time */
};

const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n)
{
    const size_t block = n + 1 > STRING_BLOCK ? n + 1 : STRING_BLOCK;
    char *at;

    if (s->left < n + 1) {
        if (gcb_grow(&s->blocks, &s->cap, s->count, sizeof(*s->blocks)) != 0)
            return NULL;
        s->blocks[s->count] = gcb_alloc(block);
        if (!s->blocks[s->count])
            return NULL;
        s->count++;
        s->left = block;
    }
    at = s->blocks[s->count - 1] + (block - s->left);
    s->left -= n + 1;
    memcpy(at, text, n);
    at[n] = '\0';
    return at;
}

void gcb_source_close(struct gcb_source *source)
{
    if (!source)
        return;
    gcb_h5file_close(&source->file);
    gcb_free(source->tensors);
    gcb_free(source->met);
    gcb_free(source->values);
    gcb_free(source->notes);
    gcb_free(source->synthetic);
    for (size_t i = 0; i < source->strings.count; i++)
        gcb_free(source->strings.blocks[i]);
    gcb_free(source->strings.blocks);
    gcb_free(source);
}

size_t gcb_source_count(const struct gcb_source *source)
{
    return source->count;
}

const struct gcb_tensor *gcb_source_tensor(const struct gcb_source *source, size_t i)
{
    return &source->tensors[i];
}

bool gcb_source_met(const struct gcb_source *source, size_t i)
{
    return source->met[i];
}

bool gcb_source_matches(const struct gcb_source *source, const char *glob)
{
    for (size_t i = 0; i < source->count; i++)
        if (gcb_glob(glob, source->tensors[i].path))
            return true;
    return false;
}

size_t gcb_source_skipped(const struct gcb_source *source)
{
    return source->skipped;
}

bool gcb_source_step_value(const struct gcb_source *source, uint64_t step, const char *name,
                           double *value)
{
    for (size_t i = 0; i < source->value_count; i++)
        if (source->values[i].step == step && strcmp(source->values[i].name, name) == 0) {
            *value = source->values[i].value;
            return true;
        }
    return false;
}

const char *gcb_source_note(const struct gcb_source *source, const char *name)
{
    for (size_t i = 0; i < source->note_count; i++)
        if (strcmp(source->notes[i].name, name) == 0)
            return source->notes[i].text;
    return NULL;
}

/* ---- reading ---- */

int gcb_source_use(struct gcb_source *source, const char *name, struct gcb_diag *diag)
{
    int err;

    if (source->file_name == name)
        return 0;
    gcb_h5file_close(&source->file);
    source->file_name = NULL;
    err = gcb_h5file_open(&source->file, name, &source->limits, diag);
    if (!err)
        source->file_name = name;
    return err;
}

/* Has the dataset still the type and shape that it was listed with? */
static int check_same(const struct gcb_h5file *file, const struct gcb_tensor *t,
                      const struct gcb_h5dataset *d, struct gcb_diag *diag)
{
    enum gcb_dtype dtype;

    if (gcb_h5type_of(&dtype, d) && dtype == t->dtype && d->rank == t->rank &&
        d->count == t->count && memcmp(d->dims, t->dims, sizeof(t->dims)) == 0)
        return 0;
    return gcb_h5file_fail(
        file, t->dataset, GCB_E_CORRUPT, diag,
        "changed since it was listed; do not write to the file while gcbench reads it");
}

/* The dataset's own type in little-endian order, so that HDF5 only swaps bytes. The caller closes the type. */
static hid_t little_endian(const struct gcb_h5dataset *d)
{
    const hid_t type = H5Tcopy(d->type);

    if (type > 0 && H5Tset_order(type, H5T_ORDER_LE) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

/*
 * Widens the n 2-byte floats in the second half of `out` to n floats that fill `out`. Each piece is copied away
 * before it is widened, so writing never overtakes reading.
 */
static void widen_in_place(gcb_convert_widen_fn *widen, float *out, uint64_t n)
{
    const uint8_t *in = (const uint8_t *)out + 2 * n;
    uint8_t bounce[2 * BOUNCE];

    for (uint64_t i = 0; i < n; i += BOUNCE) {
        const size_t m = n - i < BOUNCE ? (size_t)(n - i) : BOUNCE;

        memcpy(bounce, in + 2 * i, 2 * m);
        widen(out + i, bounce, m);
    }
}

/* HDF5's own conversion of 2-byte floats is slow and takes memory, so they are widened here. */
static int read_half(const struct gcb_source *s, const struct gcb_tensor *t,
                     const struct gcb_h5dataset *d, float *out, struct gcb_diag *diag)
{
    const hid_t type = little_endian(d);
    uint8_t *tail = (uint8_t *)out + 2 * t->count;
    int err;

    if (type < 0)
        return gcb_h5file_fail(&s->file, t->dataset, GCB_E_NOMEM, diag,
                               "HDF5 cannot make a float type");
    err = gcb_h5dataset_read(d, &s->file, t->dataset, type, tail, diag);
    H5Tclose(type);
    if (!err)
        widen_in_place(t->dtype == GCB_BF16 ? s->convert.from_bf16 : s->convert.from_fp16, out,
                       t->count);
    return err;
}

int gcb_source_read(struct gcb_source *source, size_t i, float *out, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = &source->tensors[i];
    struct gcb_h5dataset d = {0};
    int err;

    if (source->synthetic) {
        gcb_synthetic_fill(&source->synthetic[i], out, t->count, source->seed, i);
        return 0;
    }
    err = gcb_source_use(source, t->file, diag);
    if (err)
        return err;
    err = gcb_h5dataset_open(&d, &source->file, source->file.id, t->dataset, t->dataset, diag);
    if (!err)
        err = gcb_h5dataset_vet(&d, &source->file, t->dataset, diag);
    if (!err)
        err = check_same(&source->file, t, &d, diag);
    if (!err && d.type_size == 2)
        err = read_half(source, t, &d, out, diag);
    else if (!err)
        err = gcb_h5dataset_read(&d, &source->file, t->dataset, H5T_NATIVE_FLOAT, out, diag);
    gcb_h5dataset_close(&d);
    return err;
}
