/* Opening a dataset of an untrusted file, and reading it once it is vetted. */
#include <stdio.h>

#include "src/data/h5chunk.h"

enum { BOX_CHUNKS = 1024 }; /* chunks in one read: HDF5 keeps about a KiB for each */

int gcb_h5dataset_open(struct gcb_h5dataset *out, const struct gcb_h5file *file, hid_t at,
                       const char *link, const char *shown, struct gcb_diag *diag)
{
    char cause[160];

    *out = (struct gcb_h5dataset){0};
    out->id = H5Dopen2(at, link, file->access);
    if (out->id > 0)
        out->type = H5Dget_type(out->id);
    if (out->type > 0) {
        out->kind = H5Tget_class(out->type);
        out->type_size = H5Tget_size(out->type);
    }
    if (out->type_size > 0 && out->kind >= 0)
        return 0;
    gcb_h5file_cause(cause, sizeof(cause));
    gcb_h5dataset_close(out);
    return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be opened (%s)", cause);
}

void gcb_h5dataset_close(struct gcb_h5dataset *dataset)
{
    if (dataset->type > 0)
        H5Tclose(dataset->type);
    if (dataset->id > 0)
        H5Dclose(dataset->id);
    *dataset = (struct gcb_h5dataset){0};
}

/* A box of whole chunks that moves over the dataset like an odometer, the last dimension fastest. */
struct box {
    hsize_t start[GCB_MAX_RANK];
    hsize_t step[GCB_MAX_RANK]; /* elements, a multiple of the chunk's */
};

/* Whole rows of chunks from the last dimension upward, until BOX_CHUNKS would be passed. */
static void box_init(struct box *b, const struct gcb_h5dataset *d)
{
    uint64_t room = BOX_CHUNKS;

    for (unsigned i = d->rank; i-- > 0;) {
        const uint64_t chunks = d->dims[i] / d->chunk[i] + (d->dims[i] % d->chunk[i] != 0);
        const uint64_t take = chunks < room ? chunks : room;

        b->start[i] = 0;
        b->step[i] = take * d->chunk[i];
        room = take < chunks ? 1 : room / take;
    }
}

/* Moves on; false when all is covered. */
static bool box_next(struct box *b, const struct gcb_h5dataset *d)
{
    for (unsigned i = d->rank; i-- > 0;) {
        if (b->step[i] < d->dims[i] - b->start[i]) {
            b->start[i] += b->step[i];
            return true;
        }
        b->start[i] = 0;
    }
    return false;
}

enum outcome { READ, UNREADABLE, UNPACKABLE };

static enum outcome read_box(struct gcb_h5chunk_check *check, const struct box *b, hid_t space,
                             hid_t mem_type, void *out)
{
    const struct gcb_h5dataset *d = check->dataset;
    hsize_t count[GCB_MAX_RANK];

    for (unsigned i = 0; i < d->rank; i++) {
        const hsize_t left = d->dims[i] - b->start[i];

        count[i] = b->step[i] < left ? b->step[i] : left;
    }
    if (!gcb_h5chunk_check_box(check, b->start, count))
        return UNPACKABLE;
    /* The same selection on both sides, for `out` has the dataset's shape. */
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, b->start, NULL, count, NULL) >= 0 &&
        H5Dread(d->id, mem_type, space, space, H5P_DEFAULT, out) >= 0)
        return READ;
    return UNREADABLE;
}

/* `cause` is filled on failure, before anything else is asked of HDF5. */
static bool read_boxes(struct gcb_h5chunk_check *check, hid_t mem_type, void *out, char *cause,
                       size_t size)
{
    const struct gcb_h5dataset *d = check->dataset;
    hsize_t dims[GCB_MAX_RANK];
    enum outcome outcome;
    struct box b;
    hid_t space;

    for (unsigned i = 0; i < d->rank; i++)
        dims[i] = d->dims[i];
    box_init(&b, d);
    space = H5Screate_simple((int)d->rank, dims, NULL);
    do
        outcome = space > 0 ? read_box(check, &b, space, mem_type, out) : UNREADABLE;
    while (outcome == READ && box_next(&b, d));
    if (outcome == UNREADABLE)
        gcb_h5file_cause(cause, size);
    else if (outcome == UNPACKABLE)
        snprintf(cause, size, "a chunk does not unpack to its size");
    if (space > 0)
        H5Sclose(space);
    return outcome == READ;
}

static bool read_whole(const struct gcb_h5dataset *d, hid_t mem_type, void *out, char *cause,
                       size_t size)
{
    if (H5Dread(d->id, mem_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0)
        return true;
    gcb_h5file_cause(cause, size);
    return false;
}

static int read_chunked(const struct gcb_h5dataset *d, hid_t mem_type, void *out, bool *ok,
                        char *cause, size_t size)
{
    struct gcb_h5chunk_check check;
    const int err = gcb_h5chunk_check_init(&check, d);

    if (!err)
        *ok = read_boxes(&check, mem_type, out, cause, size);
    gcb_h5chunk_check_fini(&check);
    return err;
}

int gcb_h5dataset_read(const struct gcb_h5dataset *dataset, const struct gcb_h5file *file,
                       const char *shown, hid_t mem_type, void *out, struct gcb_diag *diag)
{
    char cause[160];
    bool ok = true;

    if (!dataset->vetted)
        return gcb_h5file_fail(file, shown, GCB_E_INTERNAL, diag, "read before it was vetted");
    if (dataset->count == 0)
        return 0;
    if (!dataset->chunk_rank)
        ok = read_whole(dataset, mem_type, out, cause, sizeof(cause));
    else if (read_chunked(dataset, mem_type, out, &ok, cause, sizeof(cause)) != 0)
        return gcb_h5file_fail(file, shown, GCB_E_NOMEM, diag, "out of memory for a chunk");
    if (ok)
        return 0;
    return gcb_h5file_fail(file, shown, GCB_E_CORRUPT, diag, "cannot be read (%s)", cause);
}
