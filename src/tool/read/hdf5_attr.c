#include <math.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/wire/buf.h"
#include "src/tool/read/hdf5.h"

struct attribute {
    hid_t id, type;
    H5T_class_t kind; /* class of `type` */
    hssize_t count;   /* number of elements */
};

static void attribute_close(struct attribute *a)
{
    H5Tclose(a->type);
    H5Aclose(a->id);
}

/* Opens the attribute `name` of an object. Returns false if the attribute is absent or damaged,
 * or has a null dataspace; then nothing stays open. */
static bool attribute_open(struct attribute *a, hid_t object, const char *name)
{
    hid_t space;

    if (H5Aexists(object, name) <= 0)
        return false;
    a->id = H5Aopen(object, name, H5P_DEFAULT);
    a->type = H5Aget_type(a->id);
    a->kind = H5Tget_class(a->type);
    space = H5Aget_space(a->id);
    a->count =
        H5Sget_simple_extent_type(space) == H5S_NULL ? -1 : H5Sget_simple_extent_npoints(space);
    H5Sclose(space);
    if (a->type > 0 && a->kind >= 0 && a->count >= 0)
        return true;
    attribute_close(a);
    return false;
}

/* True if the attribute is a number in a common format. HDF5 converts other formats with code that
 * is little tested. */
static bool is_plain_number(const struct attribute *a)
{
    const size_t size = H5Tget_size(a->type);

    if (a->kind == H5T_INTEGER)
        return size <= 8 && H5Tget_precision(a->type) == 8 * size && H5Tget_offset(a->type) == 0;
    return a->kind == H5T_FLOAT &&
           (H5Tequal(a->type, H5T_IEEE_F64LE) > 0 || H5Tequal(a->type, H5T_IEEE_F32LE) > 0 ||
            H5Tequal(a->type, H5T_IEEE_F64BE) > 0 || H5Tequal(a->type, H5T_IEEE_F32BE) > 0);
}

static bool read_number(hid_t object, const char *name, double *value)
{
    struct attribute a;
    double v;
    bool ok;

    if (!attribute_open(&a, object, name))
        return false;
    ok = a.count == 1 && is_plain_number(&a) && H5Aread(a.id, H5T_NATIVE_DOUBLE, &v) >= 0;
    if (ok)
        *value = v;
    attribute_close(&a);
    return ok;
}

bool gcb_h5attr_integer(hid_t object, const char *name, int64_t *value)
{
    double v;

    if (!read_number(object, name, &v) || !(fabs(v) <= 0x1p53) || v != floor(v))
        return false;
    *value = (int64_t)v;
    return true;
}

/* ---- texts of variable length ---- */

/*
 * An attribute that is a text of variable length stores only a reference to the text: its length,
 * and its place in the file's global heap. The heap is made of collections of objects. The format
 * is in section III.E of the HDF5 File Format Specification, version 3.
 */
enum {
    REFERENCE = 16,      /* bytes of a reference: length (4), collection (8), index (4) */
    HEADER = 16,         /* bytes of the header of a collection, and of the header of an object */
    MAX_OBJECTS = 65536, /* most objects of a collection, because an index has 16 bits */
};

/* Where a text is in the file. */
struct place {
    int fd;
    uint64_t length;     /* bytes of the text */
    uint64_t collection; /* offset of the text's collection in the file */
    uint32_t index;      /* number of the text's object in the collection */
};

static bool read_at(int fd, uint64_t offset, void *out, size_t size)
{
    return offset <= INT64_MAX && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

/*
 * A type conversion that changes nothing, so that HDF5 returns the reference to a text and not the
 * text.
 */
static herr_t keep_bytes(hid_t from, hid_t to, H5T_cdata_t *data, size_t count, size_t stride,
                         size_t background_stride, void *bytes, void *background, hid_t list)
{
    (void)from, (void)to, (void)count, (void)stride, (void)background_stride;
    (void)bytes, (void)background, (void)list;
    if (data->command == H5T_CONV_INIT)
        data->need_bkg = H5T_BKG_NO;
    return 0;
}

/* Reads the reference that the attribute stores instead of its text. Returns false on failure. */
static bool read_reference(hid_t attribute, uint8_t bytes[REFERENCE])
{
    const hid_t raw = H5Tcreate(H5T_OPAQUE, REFERENCE), text = H5Aget_type(attribute);
    bool ok = false;

    if (H5Tregister(H5T_PERS_SOFT, "raw", text, raw, keep_bytes) >= 0) {
        ok = H5Aread(attribute, raw, bytes) >= 0;
        H5Tunregister(H5T_PERS_SOFT, "raw", text, raw, keep_bytes);
    }
    H5Tclose(raw);
    H5Tclose(text);
    return ok;
}

/* Sets p->fd, and *base to the offset in the file from which addresses count. Returns false on
 * failure, or if the file's addresses and sizes do not have 8 bytes. */
static bool find_file(struct place *p, hid_t attribute, hsize_t *base)
{
    const hid_t file = H5Iget_file_id(attribute);
    const hid_t list = H5Fget_create_plist(file);
    size_t address = 0, length = 0;
    void *handle = NULL;
    bool ok;

    ok = H5Pget_userblock(list, base) >= 0 && H5Pget_sizes(list, &address, &length) >= 0 &&
         address == 8 && length == 8 && H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 &&
         handle;
    if (ok)
        p->fd = *(const int *)handle;
    H5Pclose(list);
    H5Fclose(file);
    return ok;
}

/* Finds the text in its collection, and sets *offset to its place in the file. Returns false if the
 * text is not in the collection, or if the collection is damaged. */
static bool find_object(const struct place *p, uint64_t *offset)
{
    uint8_t header[HEADER];
    uint64_t at = p->collection, end;

    if (!read_at(p->fd, at, header, HEADER) || memcmp(header, "GCOL\1", 5) != 0 ||
        __builtin_add_overflow(at, gcb_load_u64(header + 8), &end))
        return false;
    at += HEADER;
    for (int i = 0; i < MAX_OBJECTS && at < end && end - at >= HEADER; i++) {
        uint64_t size;
        uint32_t index;

        if (!read_at(p->fd, at, header, HEADER))
            return false;
        index = header[0] | (uint32_t)header[1] << 8;
        size = gcb_load_u64(header + 8);
        at += HEADER;
        if (index == 0 || size > end - at) /* index 0 marks the free space at the end */
            return false;
        if (index == p->index) {
            *offset = at;
            return size >= p->length;
        }
        at += (size + 7) & ~UINT64_C(7); /* objects are padded to a multiple of 8 bytes */
    }
    return false;
}

/*
 * Reads the text of an attribute that is one variable-length string. HDF5 1.10.8 does not check the
 * index in the reference, so this function reads the collection without HDF5.
 *
 * Returns false if the text is damaged or has `size` bytes or more, or if the file does not have
 * the usual 8-byte addresses and sizes. The copy is terminated.
 */
static bool read_variable(hid_t attribute, char *out, size_t size)
{
    uint8_t bytes[REFERENCE];
    struct place p;
    hsize_t base = 0;
    uint64_t offset;

    if (!find_file(&p, attribute, &base) || !read_reference(attribute, bytes))
        return false;
    p.length = gcb_load_u32(bytes);
    p.index = gcb_load_u32(bytes + 12);
    if (__builtin_add_overflow(gcb_load_u64(bytes + 4), base, &p.collection) || p.length >= size)
        return false;
    if (p.length > 0 && (!find_object(&p, &offset) || !read_at(p.fd, offset, out, p.length)))
        return false;
    out[p.length] = '\0';
    return true;
}

/* ---- texts, and the check of all attributes ---- */

/* Reads a text of fixed length, which is padded with zeros or blanks and need not be terminated.
 * Returns false if the text has `size` bytes or more, or is damaged. The copy is terminated. */
static bool read_fixed(const struct attribute *a, char *out, size_t size)
{
    const size_t n = H5Tget_size(a->type);

    if (n == 0 || n >= size || H5Aread(a->id, a->type, out) < 0)
        return false;
    out[n] = '\0';
    if (H5Tget_strpad(a->type) == H5T_STR_SPACEPAD)
        for (size_t i = strlen(out); i > 0 && out[i - 1] == ' '; i--)
            out[i - 1] = '\0';
    return true;
}

bool gcb_h5attr_text(hid_t object, const char *name, char *out, size_t size)
{
    struct attribute a;
    bool ok = false;

    if (!attribute_open(&a, object, name))
        return false;
    if (a.kind == H5T_STRING && a.count == 1) {
        if (H5Tis_variable_str(a.type) > 0)
            ok = read_variable(a.id, out, size);
        else
            ok = read_fixed(&a, out, size);
    }
    attribute_close(&a);
    return ok;
}

bool gcb_h5attr_sound(hid_t object)
{
    H5O_info_t info;

    return H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) >= 0 &&
           (info.num_attrs == 0 || H5Aexists(object, "gcbench: no such attribute") >= 0);
}
