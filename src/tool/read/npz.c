/* The reader of NumPy's .npz: a zip archive of .npy files, stored or deflated, also with zip64. The
 * central directory says where they are. */
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/wire/buf.h"
#include "src/tool/read/flat.h"

enum {
    END = 22,       /* bytes of the end record */
    LOCATOR = 20,   /* bytes of the zip64 locator */
    END64 = 56,     /* bytes of the zip64 end record without extensions */
    CENTRAL = 46,   /* bytes of a record of the directory before the name */
    LOCAL = 30,     /* bytes of a local header before the name */
    COMMENT = 65535 /* most bytes of the archive's comment, a name or an extra field */
};
#define MAX_DIRECTORY (UINT64_C(256) << 20) /* bytes; 2 million arrays take less */

/* Bits of a member's flags. Those of FLAGS_KNOWN do not matter to this reader: a copy of the sizes
 * after the data (8), the effort of deflating (6), the name in UTF-8 (0x800). */
enum { FLAG_ENCRYPTED = 1, FLAGS_KNOWN = 8 | 6 | 0x800 };
enum { METHOD_STORED = 0, METHOD_DEFLATED = 8 };

/* A file in the archive. */
struct member {
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, at; /* stored and unpacked bytes; place of the local header */
    const char *name;          /* not terminated */
    size_t name_length;
};

static unsigned load_u16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static int fail_directory(const struct gcb_flat *z, struct gcb_diag *diag)
{
    return gcb_flat_damaged(z, NULL, "its directory of arrays is not valid", diag);
}

/* ---- the directory ---- */

/* Replaces the numbers that do not fit into 32 bits by those of the zip64 extra field. Returns
 * false if the extra fields are damaged. */
static bool widen(struct member *m, const uint8_t *extra, size_t length)
{
    uint64_t *const numbers[] = {&m->size, &m->packed, &m->at};
    struct gcb_rbuf in = {.data = extra, .len = length}, wide = {.len = 0};

    while (gcb_rbuf_left(&in) >= 4 && !wide.data) {
        const uint8_t *head = gcb_rbuf_take(&in, 4),
                      *field = gcb_rbuf_take(&in, load_u16(head + 2));

        if (!field)
            return false;
        if (load_u16(head) == 1) /* the zip64 extra field */
            wide = (struct gcb_rbuf){.data = field, .len = load_u16(head + 2)};
    }
    for (int i = 0; i < 3; i++)
        if (*numbers[i] == UINT32_MAX)
            *numbers[i] = gcb_get_u64(&wide);
    return !wide.failed;
}

/* If the archive has a zip64 end record, replaces the numbers of the end record at *at by those of
 * the zip64 end record, and moves *at there. */
static int read_end64(struct gcb_flat *z, uint64_t *at, uint64_t *length, struct gcb_diag *diag)
{
    uint8_t locator[LOCATOR], end[END64];
    uint64_t where;
    int err;

    if (*at < LOCATOR)
        return 0;
    err = gcb_flat_read(z, NULL, *at - LOCATOR, locator, LOCATOR, diag);
    if (err || memcmp(locator, "PK\6\7", 4) != 0)
        return err;
    where = gcb_load_u64(locator + 8);
    if (*at < LOCATOR + END64 || where > *at - LOCATOR - END64)
        return fail_directory(z, diag);
    err = gcb_flat_read(z, NULL, where, end, END64, diag);
    if (err)
        return err;
    /* the record's own size does not count its first 12 bytes */
    if (memcmp(end, "PK\6\6", 4) != 0 || gcb_load_u64(end + 4) != *at - LOCATOR - where - 12 ||
        gcb_load_u32(locator + 4) || gcb_load_u32(end + 16) || gcb_load_u32(end + 20))
        return fail_directory(z, diag);
    z->count = gcb_load_u64(end + 32);
    *length = gcb_load_u64(end + 40);
    z->begin = gcb_load_u64(end + 48);
    *at = where;
    return 0;
}

/* Finds the end record: the last that is followed by as much comment as it says. Returns its place
 * in the file, or UINT64_MAX. */
static uint64_t find_end(const uint8_t *tail, size_t n, uint64_t size)
{
    for (size_t i = n < END ? 0 : n - END + 1; i-- > 0;)
        if (memcmp(tail + i, "PK\5\6", 4) == 0 && load_u16(tail + i + 20) == n - i - END)
            return size - n + i;
    return UINT64_MAX;
}

static int read_directory(struct gcb_flat *z, struct gcb_diag *diag)
{
    const uint64_t size = z->in->size;
    const size_t n = size < END + COMMENT ? (size_t)size : END + COMMENT;
    uint8_t *tail = gcb_alloc(n), *end;
    uint64_t at = UINT64_MAX, length = 0;
    int err = tail ? gcb_flat_read(z, NULL, size - n, tail, n, diag)
                   : gcb_diag_nomem(diag, n, "reading a file");

    if (!err) {
        at = find_end(tail, n, size);
        if (at == UINT64_MAX)
            err = gcb_flat_damaged(z, NULL,
                                   "the end of its zip archive is missing; is it cut short?", diag);
    }
    if (!err) {
        end = tail + (at - (size - n));
        z->count = load_u16(end + 10);
        length = gcb_load_u32(end + 12);
        z->begin = gcb_load_u32(end + 16);
        if (gcb_load_u32(end + 4) || load_u16(end + 8) != load_u16(end + 10))
            err = fail_directory(z, diag); /* a part of an archive in several parts */
    }
    gcb_free(tail);
    if (!err)
        err = read_end64(z, &at, &length, diag);
    if (err)
        return err;
    if (length > at || z->begin != at - length || length > MAX_DIRECTORY ||
        z->count > length / CENTRAL)
        return fail_directory(z, diag);
    z->length = (size_t)length;
    z->directory = gcb_alloc(z->length + LOCAL + COMMENT); /* and room for a local header */
    return z->directory ? gcb_flat_read(z, NULL, z->begin, z->directory, z->length, diag)
                        : gcb_diag_nomem(diag, length, "the directory of a file");
}

/* ---- members ---- */

/* Reads the record of the directory at *at, and moves *at to the next. */
static int read_member(struct gcb_flat *z, struct member *m, size_t *at, struct gcb_diag *diag)
{
    struct gcb_rbuf in = {.data = z->directory, .len = z->length, .pos = *at};
    const uint8_t *r = gcb_rbuf_take(&in, CENTRAL), *extra;
    size_t extra_length;

    if (!r || memcmp(r, "PK\1\2", 4) != 0)
        return fail_directory(z, diag);
    extra_length = load_u16(r + 30);
    *m = (struct member){.flags = load_u16(r + 8),
                         .method = load_u16(r + 10),
                         .crc = gcb_load_u32(r + 16),
                         .packed = gcb_load_u32(r + 20),
                         .size = gcb_load_u32(r + 24),
                         .at = gcb_load_u32(r + 42),
                         .name_length = load_u16(r + 28)};
    m->name = (const char *)gcb_rbuf_take(&in, m->name_length);
    extra = gcb_rbuf_take(&in, extra_length);
    if (!gcb_rbuf_take(&in, load_u16(r + 32)) || load_u16(r + 34) ||
        !widen(m, extra, extra_length) || m->at > z->begin || m->packed > z->begin - m->at)
        return fail_directory(z, diag);
    *at = in.pos;
    return 0;
}

/* Reads the local header, which must have the name that the directory has. Its sizes and checksum
 * are ignored: the directory has them, too. Sets *data to the place of the data, and z->end to its
 * end. */
static int read_local(struct gcb_flat *z, const struct member *m, uint64_t *data,
                      struct gcb_diag *diag)
{
    const char *path = z->npy.array.path;
    uint8_t *r = z->directory + z->length; /* room that read_directory has allocated */
    int err = gcb_flat_read(z, path, m->at, r, LOCAL + m->name_length, diag);

    if (err)
        return err;
    *data = m->at + LOCAL + m->name_length + load_u16(r + 28);
    if (memcmp(r, "PK\3\4", 4) != 0 || load_u16(r + 26) != m->name_length ||
        memcmp(r + LOCAL, m->name, m->name_length) != 0 || *data > z->begin ||
        m->packed > z->begin - *data)
        return gcb_flat_damaged(z, path, "its header does not agree with the directory", diag);
    z->end = *data + m->packed;
    return 0;
}

/* Starts to read the array in a member: sets z->npy, except the array's path, object and index. */
static int start_array(struct gcb_flat *z, const struct member *m, struct gcb_diag *diag)
{
    struct gcb_flat_stream *s = &z->npy.stream;
    uint64_t data = 0;
    int err;

    gcb_flat_end(s);
    if (m->flags & FLAG_ENCRYPTED)
        return gcb_infile_fail(z->in, z->npy.array.path, GCB_E_UNSUPPORTED, diag,
                               "it is encrypted");
    if (m->flags & ~(unsigned)FLAGS_KNOWN ||
        (m->method != METHOD_STORED && m->method != METHOD_DEFLATED))
        return gcb_infile_fail(z->in, z->npy.array.path, GCB_E_UNSUPPORTED, diag,
                               "it uses method %u and flags 0x%x of zip, which gcbench does not "
                               "read; rewrite the file: " GCB_CONVERT,
                               m->method, m->flags);
    err = read_local(z, m, &data, diag);
    if (err)
        return err;
    s->name = z->npy.array.path;
    s->at = data;
    s->packed = m->packed;
    s->left = m->size;
    s->deflated = m->method == METHOD_DEFLATED;
    s->checked = true;
    s->crc = m->crc;
    z->npy.array.stored = m->packed;
    return gcb_npy_start(&z->npy, diag);
}

/* True if the member is an array: its name ends with ".npy". */
static bool is_array(const struct member *m)
{
    return m->name_length > 4 && memcmp(m->name + m->name_length - 4, ".npy", 4) == 0;
}

/* Lists a member that is an array. Skips a folder. Any other member becomes a remark. */
static int list_member(struct gcb_flat *z, const struct member *m, struct gcb_listing *listing,
                       struct gcb_diag *diag)
{
    struct gcb_flat_array *a = &z->npy.array;
    const size_t n = m->name_length;
    const bool folder = n > 0 && m->name[n - 1] == '/';
    uint64_t data;
    int err;

    z->end = m->at + m->packed;
    err = gcb_flat_name(z, a, m->name, n - (is_array(m) ? 4 : folder), diag);
    if (err)
        return err;
    if (is_array(m))
        return gcb_flat_list(z, listing, a, start_array(z, m, diag), diag);
    err = read_local(z, m, &data, diag);
    if (err || folder)
        return err;
    return gcb_listing_remark(listing, GCB_REMARK_OTHERS, a->path,
                              gcb_listing_selects(listing, a->path, 0), diag);
}

/* ---- the table of the reader ---- */

/* True if the first member of the archive has a name that ends with ".npy". */
static bool probe(int descriptor, uint64_t size)
{
    uint8_t first[LOCAL];
    char end[4];

    return size > LOCAL && pread(descriptor, first, LOCAL, 0) == LOCAL &&
           memcmp(first, "PK\3\4", 4) == 0 && load_u16(first + 26) > sizeof(end) &&
           pread(descriptor, end, sizeof(end), LOCAL + load_u16(first + 26) - 4) == sizeof(end) &&
           memcmp(end, ".npy", sizeof(end)) == 0;
}

static int open_file(void **state, const struct gcb_infile *in, const char *path,
                     struct gcb_diag *diag)
{
    const int err = gcb_flat_open(state, in, path, diag);

    return err ? err : read_directory(*state, diag);
}

/* The number of an array's object is the place of its record in the directory. */
static int list(void *state, struct gcb_listing *listing, struct gcb_diag *diag)
{
    struct gcb_flat *z = state;
    size_t at = 0;
    int err = 0;

    for (uint64_t i = 0; i < z->count && !err; i++) {
        struct member m;

        z->npy.array.object = at;
        z->npy.array.index = (int64_t)i;
        err = read_member(z, &m, &at, diag);
        if (!err)
            err = list_member(z, &m, listing, diag);
        if (!err)
            err = gcb_flat_take(z, m.at, z->end, diag);
    }
    if (!err && at != z->length)
        err = fail_directory(z, diag);
    return err ? err : gcb_flat_check_spans(z, diag);
}

static int read_elements(void *state, const struct gcb_tensor *t, uint64_t from, uint64_t *count,
                         void *out, struct gcb_diag *diag)
{
    struct gcb_flat *z = state;
    size_t at = (size_t)t->object;
    struct member m;
    int err = 0;

    if (from == 0) {
        err = at < z->length ? read_member(z, &m, &at, diag) : fail_directory(z, diag);
        if (!err && !is_array(&m))
            err = fail_directory(z, diag);
        if (!err)
            err = gcb_flat_name(z, &z->npy.array, m.name, m.name_length - 4, diag);
        if (!err)
            err = start_array(z, &m, diag);
    }
    return err ? err : gcb_npy_read(&z->npy, t, from, count, out, diag);
}

const struct gcb_reader gcb_npz = {
    .name = ".npz",
    .summary = "each array of NumPy is a tensor, whose name may begin with "
               "`step_100/worker_0/`.",
    .endings = {".npz"},
    .library = "gcbench",
    .address_space = UINT64_C(512) << 20,
    .probe = probe,
    .open = open_file,
    .list = list,
    .read = read_elements,
    .close = gcb_flat_close,
};
