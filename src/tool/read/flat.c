#include "src/tool/read/flat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"

int gcb_flat_open(void **state, const struct gcb_infile *in, const char *path,
                  struct gcb_diag *diag)
{
    struct gcb_flat *f = gcb_alloc_zero(1, sizeof(*f));

    *state = f;
    if (!f)
        return gcb_diag_nomem(diag, sizeof(*f), "reading a file");
    f->in = in;
    f->npy.stream.file = f;
    f->descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f->descriptor < 0)
        return gcb_infile_fail(in, NULL, GCB_E_IO, diag, "%s", strerror(errno));
    return gcb_infile_check(in, f->descriptor, NULL, diag);
}

void gcb_flat_close(void *state)
{
    struct gcb_flat *f = state;

    if (!f)
        return;
    if (f->descriptor >= 0)
        close(f->descriptor);
    gcb_flat_end(&f->npy.stream);
    json_decref(f->header);
    gcb_free(f->directory);
    gcb_free(f->spans);
    gcb_free(f);
}

int gcb_flat_read(const struct gcb_flat *f, const char *name, uint64_t at, void *out, size_t size,
                  struct gcb_diag *diag)
{
    return gcb_infile_read(f->in, f->descriptor, name, at, out, size, diag);
}

int gcb_flat_damaged(const struct gcb_flat *f, const char *name, const char *why,
                     struct gcb_diag *diag)
{
    return gcb_infile_fail(f->in, name, GCB_E_CORRUPT, diag, "damaged: %s", why);
}

int gcb_flat_take(struct gcb_flat *f, uint64_t begin, uint64_t end, struct gcb_diag *diag)
{
    if (gcb_grow(&f->spans, &f->span_cap, f->span_count, sizeof(*f->spans)) != 0)
        return gcb_diag_nomem(diag, f->span_count * sizeof(*f->spans), "the arrays of a file");
    f->spans[f->span_count++] = (struct gcb_flat_span){begin, end};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct gcb_flat_span *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

int gcb_flat_check_spans(struct gcb_flat *f, struct gcb_diag *diag)
{
    if (f->span_count)
        qsort(f->spans, f->span_count, sizeof(*f->spans), by_place);
    for (size_t i = 1; i < f->span_count; i++)
        if (f->spans[i].begin < f->spans[i - 1].end)
            return gcb_flat_damaged(f, NULL, "two arrays take the same bytes of the file", diag);
    return 0;
}

/* ---- arrays ---- */

/* True if the name has no zero byte, and no part of it is empty, ".", ".." or too long. */
static bool is_name(const char *name, size_t n)
{
    size_t from = 0;

    if (memchr(name, '\0', n))
        return false;
    for (size_t i = 0; i <= n; i++) {
        const size_t length = i - from;

        if (i < n && name[i] != '/')
            continue;
        if (length == 0 || length > GCB_READ_NAME || (length == 1 && name[from] == '.') ||
            (length == 2 && name[from] == '.' && name[from + 1] == '.'))
            return false;
        from = i + 1;
    }
    return true;
}

int gcb_flat_name(const struct gcb_flat *f, struct gcb_flat_array *a, const char *name, size_t n,
                  struct gcb_diag *diag)
{
    if (n >= GCB_READ_PATH)
        return gcb_infile_fail(f->in, NULL, GCB_E_CORRUPT, diag,
                               "an array's name is longer than 4095 bytes");
    a->path[0] = '/';
    memcpy(a->path + 1, name, n);
    a->path[n + 1] = '\0';
    if (!is_name(name, n))
        return gcb_infile_fail(f->in, a->path, GCB_E_CORRUPT, diag,
                               "an impossible name: it has a zero byte, or a part that is empty, "
                               "'.', '..' or longer than 1024 bytes");
    gcb_infile_trace(f->in, a->path);
    return 0;
}

int gcb_flat_parse(const struct gcb_flat *f, const char *name, const char *text, size_t size,
                   json_t **out, struct gcb_diag *diag)
{
    json_error_t error;

    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*out))
        return 0;
    if (!*out && json_error_code(&error) == json_error_out_of_memory)
        return gcb_diag_nomem(diag, size, "the header of a file");
    return gcb_flat_damaged(f, name, "its header is not valid", diag);
}

bool gcb_flat_shape(struct gcb_flat_array *a, const json_t *list)
{
    json_t *number;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > GCB_MAX_RANK)
        return false;
    json_array_foreach(list, i, number)
    {
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return false;
        a->dims[i] = (uint64_t)json_integer_value(number);
    }
    a->rank = (unsigned)i;
    return true;
}

bool gcb_flat_tensor(struct gcb_tensor *t, const struct gcb_flat_array *a,
                     const struct gcb_reading *reading)
{
    uint64_t bytes = a->size;

    t->element = a->element;
    if (a->kind == GCB_FLAT_PLAIN && a->size <= 2)
        t->element = a->size == 2 ? reading->words : reading->bytes;
    t->dtype = a->scale ? GCB_F32 : gcb_element_dtype(t->element);
    t->scale = a->scale;
    t->blocked = a->blocked;
    t->rank = a->rank;
    t->count = 0;
    memcpy(t->dims, a->dims, sizeof(t->dims));
    if (a->kind == GCB_FLAT_OTHER || t->element == GCB_ELEMENT_NONE) {
        t->element = GCB_ELEMENT_NONE;
        return false;
    }
    for (unsigned i = 0; i < a->rank; i++)
        if (a->dims[i] == 0)
            return a->bytes == 0;
    for (unsigned i = 0; i < a->rank; i++)
        if (__builtin_mul_overflow(bytes, a->dims[i], &bytes))
            return false;
    t->count = bytes / a->size;
    return bytes == a->bytes;
}

/* Returns the remark for an array that is not a tensor. */
static enum gcb_remark remark_for(const struct gcb_flat_array *a)
{
    if (a->kind == GCB_FLAT_FLOAT)
        return GCB_REMARK_FLOATS;
    if (a->kind == GCB_FLAT_OTHER || a->size > 2)
        return GCB_REMARK_OTHERS;
    return a->size == 2 ? GCB_REMARK_WORDS : GCB_REMARK_BYTES;
}

int gcb_flat_list(const struct gcb_flat *f, struct gcb_listing *listing,
                  const struct gcb_flat_array *a, int err, struct gcb_diag *diag)
{
    const bool selected = gcb_listing_selects(listing, a->path, 0);
    struct gcb_tensor t = {
        .dataset = a->path, .offset = a->offset, .object = a->object, .index = a->index};
    bool fits;

    if (err && (selected || err == GCB_E_NOMEM || err == GCB_E_IO))
        return err;
    if (err) {
        if (diag)
            *diag = (struct gcb_diag){0};
        return gcb_listing_remark(listing, GCB_REMARK_UNREADABLE, a->path, true, diag);
    }
    fits = gcb_flat_tensor(&t, a, gcb_listing_reading(listing));
    if (t.element == GCB_ELEMENT_NONE)
        return gcb_listing_remark(listing, remark_for(a), a->path, selected, diag);
    if (selected && !fits)
        return gcb_infile_fail(f->in, a->path, GCB_E_CORRUPT, diag,
                               "damaged: its shape does not fit its %" PRIu64 " bytes", a->bytes);
    if (selected)
        err = gcb_infile_check_size(f->in, a->path, a->bytes, a->stored, diag);
    else
        t = (struct gcb_tensor){.dataset = a->path, .object = a->object};
    return err ? err : gcb_listing_tensor(listing, &t, diag);
}

/* ---- streams ---- */

int gcb_flat_start(struct gcb_flat_stream *s, struct gcb_diag *diag)
{
    s->so_far = (uint32_t)crc32(0, NULL, 0);
    s->inflater = (z_stream){0};
    if (s->deflated && inflateInit2(&s->inflater, -MAX_WBITS) != Z_OK) {
        s->deflated = false; /* gcb_flat_end must not end the inflater */
        return gcb_diag_nomem(diag, sizeof(*s), "inflating an array");
    }
    return 0;
}

void gcb_flat_end(struct gcb_flat_stream *s)
{
    if (s->deflated)
        inflateEnd(&s->inflater);
    s->deflated = false;
}

/* Writes at most `size` inflated bytes to `out`, and sets *got to their number, which may be 0.
 * Sets *ended if the data ends after them. */
static int inflate_some(struct gcb_flat_stream *s, void *out, uint64_t size, uint64_t *got,
                        bool *ended, struct gcb_diag *diag)
{
    z_stream *z = &s->inflater;
    int state, err;

    if (z->avail_in == 0 && s->packed > 0) {
        const size_t n = s->packed < sizeof(s->block) ? (size_t)s->packed : sizeof(s->block);

        err = gcb_flat_read(s->file, s->name, s->at, s->block, n, diag);
        if (err)
            return err;
        s->at += n;
        s->packed -= n;
        z->next_in = s->block;
        z->avail_in = (uInt)n;
    }
    z->next_out = out;
    z->avail_out = size < 1 << 30 ? (uInt)size : 1 << 30;
    size = z->avail_out;
    state = inflate(z, Z_NO_FLUSH);
    *got = size - z->avail_out;
    *ended = state == Z_STREAM_END;
    if (state != Z_OK && state != Z_STREAM_END)
        return gcb_flat_damaged(s->file, s->name, "it does not unpack to its size", diag);
    return 0;
}

/* Checks that the data ends where it should, and its checksum. */
static int finish(struct gcb_flat_stream *s, struct gcb_diag *diag)
{
    uint64_t got = 0;
    bool ended = !s->deflated;
    uint8_t more;
    int err = 0;

    while (!ended && !err && got == 0)
        err = inflate_some(s, &more, 1, &got, &ended, diag);
    if (err)
        return err;
    if (got || s->packed || s->inflater.avail_in)
        return gcb_flat_damaged(s->file, s->name, "it does not unpack to its size", diag);
    return s->checked && s->crc != s->so_far
               ? gcb_flat_damaged(s->file, s->name, "its checksum is wrong", diag)
               : 0;
}

int gcb_flat_next(struct gcb_flat_stream *s, void *out, uint64_t size, struct gcb_diag *diag)
{
    uint8_t *to = out;
    int err = 0;

    if (size > s->left)
        return gcb_flat_damaged(s->file, s->name, "cut short", diag);
    for (uint64_t n = 0; size > 0 && !err; size -= n, to += n) {
        bool ended = false;

        gcb_infile_trace(s->file->in, NULL);
        if (s->deflated) {
            err = inflate_some(s, to, size, &n, &ended, diag);
        } else {
            n = size < 1 << 20 ? size : 1 << 20;
            err = n > s->packed ? gcb_flat_damaged(s->file, s->name, "cut short", diag)
                                : gcb_flat_read(s->file, s->name, s->at, to, (size_t)n, diag);
            s->at += n;
            s->packed -= n;
        }
        if (!err && ended && n < size)
            err = gcb_flat_damaged(s->file, s->name, "it does not unpack to its size", diag);
        if (!err && s->checked)
            s->so_far = (uint32_t)crc32_z(s->so_far, to, n);
        s->left -= n;
    }
    return err || s->left ? err : finish(s, diag);
}
