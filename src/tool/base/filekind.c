#include "src/tool/base/filekind.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* A kind of file, recognised by n bytes at offset `at`. */
struct row {
    unsigned at;
    const char *bytes;
    size_t n;
    struct gcb_filekind kind;
};

enum { FIRST = 512 }; /* number of bytes examined, from the start of a file */

#define BYTES(text) text, sizeof(text) - 1
#define CONVERT "convert it: " GCB_CONVERT
#define NCCOPY "convert it: nccopy -k nc4 FILE NEW.h5 (Debian package netcdf-bin)"
#define UNPACK(command) "unpack it: " command " FILE > NEW_FILE"
#define ICONV UNPACK("iconv -f UTF-16 -t UTF-8")
#define PICKLE \
    "it runs code when it is read; if you trust it: python3 datasets/convert.py --trust-pickle " \
    "FILE NEW.h5" GCB_CONVERT_IN

/* The kinds of files that are neither web pages nor archives of PyTorch or NumPy. The first row
 * that fits a file names its kind. */
static const struct row rows[] = {
    {0, BYTES("\x93NUMPY"), {"a NumPy file", CONVERT}},
    {0, BYTES("\x80\x02\x8a\x0a"), {"a PyTorch file", CONVERT}},
    {6, BYTES("\0\0{"), {"a safetensors file", CONVERT}},
    {0, BYTES("MATLAB 5.0 MAT-file"), {"a MATLAB file of version 5", CONVERT}},
    {0, BYTES("CDF\1"), {"a netCDF-3 file", NCCOPY}},
    {0, BYTES("CDF\2"), {"a netCDF-3 file", NCCOPY}},
    {0, BYTES("CDF\5"), {"a netCDF-3 file", NCCOPY}},
    {0, BYTES("PK\5\6"), {"an empty zip archive", ""}},
    {0, BYTES("PK\3\4"), {"a zip archive", "unpack it: unzip FILE"}},
    {257, BYTES("ustar"), {"a tar archive", "unpack it: tar -xf FILE"}},
    {0, BYTES("\x1f\x8b"), {"a file that gzip compressed", UNPACK("gzip -dc")}},
    {0, BYTES("\x28\xb5\x2f\xfd"), {"a file that zstd compressed", UNPACK("zstd -dc")}},
    {0,
     BYTES("\xfd"
           "7zXZ"),
     {"a file that xz compressed", UNPACK("xz -dc")}},
    {0, BYTES("BZh"), {"a file that bzip2 compressed", UNPACK("bzip2 -dc")}},
    {0, BYTES("\xff\xfe"), {"a text in UTF-16", ICONV}},
    {0, BYTES("\xfe\xff"), {"a text in UTF-16", ICONV}},
    {0,
     BYTES("version https://git-lfs"),
     {"a Git LFS pointer instead of the data", "fetch it: git lfs pull"}},
    {0, BYTES("\x80\x02"), {"a Python pickle", PICKLE}},
    {0, BYTES("\x80\x03"), {"a Python pickle", PICKLE}},
    {0, BYTES("\x80\x04\x95"), {"a Python pickle", PICKLE}},
    {0, BYTES("\x80\x05\x95"), {"a Python pickle", PICKLE}},
    {0,
     BYTES("{"),
     {"perhaps a result file", "plot, report, payoff and regress read result files"}},
};

/* True if the file begins as a web page or XML. Blanks and a byte order mark may come first. */
static bool is_page(const uint8_t first[FIRST])
{
    static const char skipped[] = " \t\r\n\xef\xbb\xbf";
    size_t i = 0;

    while (i < FIRST && memchr(skipped, first[i], sizeof(skipped) - 1))
        i++;
    if (i + 1 >= FIRST || first[i] != '<')
        return false;
    return first[i + 1] == '!' || first[i + 1] == '?' || isalpha(first[i + 1]);
}

/* Returns the kind of a zip archive that PyTorch or NumPy wrote, or NULL for another archive. An
 * archive has the name of each of its files just before the file's contents. */
static const char *archive_kind(const uint8_t first[FIRST])
{
    if (memmem(first, FIRST, BYTES("/data.pkl")) || memmem(first, FIRST, BYTES("/byteorder")))
        return "a PyTorch file";
    return memmem(first, FIRST, BYTES(".npy")) ? "a NumPy file" : NULL;
}

struct gcb_filekind gcb_filekind_find(int descriptor)
{
    uint8_t first[FIRST] = {0}; /* zeros after the end of the file */

    if (pread(descriptor, first, sizeof(first), 0) < 0)
        return (struct gcb_filekind){NULL, NULL};
    if (is_page(first))
        return (struct gcb_filekind){
            "a web page (HTML) or XML",
            "the server sent a page, such as an error, instead of the file"};
    if (memcmp(first, "PK\3\4", 4) == 0 && archive_kind(first))
        return (struct gcb_filekind){archive_kind(first), CONVERT};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (memcmp(first + rows[i].at, rows[i].bytes, rows[i].n) == 0)
            return rows[i].kind;
    return (struct gcb_filekind){NULL, NULL};
}

bool gcb_filekind_hdf5(int descriptor, uint64_t size, uint64_t *offset)
{
    uint8_t bytes[8];

    for (uint64_t at = 0; at < size; at = at ? 2 * at : 512)
        if (pread(descriptor, bytes, sizeof(bytes), (off_t)at) == (ssize_t)sizeof(bytes) &&
            memcmp(bytes, "\x89HDF\r\n\x1a\n", sizeof(bytes)) == 0) {
            *offset = at;
            return true;
        }
    return false;
}
