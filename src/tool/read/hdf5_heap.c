#include "src/tool/read/hdf5_heap.h"

#include <string.h>
#include <unistd.h>

#include "src/lib/wire/buf.h"

/* The format is in section III.E of the HDF5 File Format Specification, version 3. */
enum {
    HEADER = 16, /* bytes of the header of a collection, and of the header of an object */
    MAX_OBJECTS = 65536,
};

/* Where a text is in the file. */
struct place {
    int fd;
    uint64_t length;     /* bytes of the text */
    uint64_t collection; /* offset of the text's collection in the file */
    uint32_t index;
};

static bool read_at(int fd, uint64_t offset, void *out, size_t size)
{
    return offset <= INT64_MAX && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

/*
 * A type conversion that changes nothing, so that HDF5 returns the 16 bytes that it stores for a variable-length text.
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

static bool read_reference(hid_t attribute, uint8_t bytes[HEADER])
{
    const hid_t raw = H5Tcreate(H5T_OPAQUE, HEADER), text = H5Aget_type(attribute);
    bool ok = false;

    if (raw > 0 && text > 0 && H5Tregister(H5T_PERS_SOFT, "raw", text, raw, keep_bytes) >= 0) {
        ok = H5Aread(attribute, raw, bytes) >= 0;
        H5Tunregister(H5T_PERS_SOFT, "raw", text, raw, keep_bytes);
    }
    if (raw > 0)
        H5Tclose(raw);
    if (text > 0)
        H5Tclose(text);
    return ok;
}

/* Fills p->fd and *base: addresses in the file count from this offset. */
static bool find_base(struct place *p, hid_t attribute, hsize_t *base)
{
    const hid_t file = H5Iget_file_id(attribute);
    const hid_t list = file > 0 ? H5Fget_create_plist(file) : H5I_INVALID_HID;
    size_t address = 0, length = 0;
    void *handle = NULL;
    bool ok;

    ok = list > 0 && H5Pget_userblock(list, base) >= 0 &&
         H5Pget_sizes(list, &address, &length) >= 0 && address == 8 && length == 8 &&
         H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
    if (ok)
        p->fd = *(const int *)handle;
    if (list > 0)
        H5Pclose(list);
    if (file > 0)
        H5Fclose(file);
    return ok;
}

static bool find_text(struct place *p, hid_t attribute)
{
    uint8_t bytes[HEADER];
    hsize_t base = 0;

    if (!find_base(p, attribute, &base) || !read_reference(attribute, bytes))
        return false;
    p->length = gcb_load_u32(bytes);
    p->index = gcb_load_u32(bytes + 12);
    return !__builtin_add_overflow(gcb_load_u64(bytes + 4), base, &p->collection);
}

/* Finds the offset of the text in the file. */
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
        at += (size + 7) & ~UINT64_C(7);
    }
    return false;
}

bool gcb_h5heap_text(hid_t attribute, char *out, size_t size)
{
    struct place p;
    uint64_t offset;

    if (!find_text(&p, attribute) || p.length >= size)
        return false;
    if (p.length > 0 && (!find_object(&p, &offset) || !read_at(p.fd, offset, out, p.length)))
        return false;
    out[p.length] = '\0';
    return true;
}
