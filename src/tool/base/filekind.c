#include "src/tool/base/filekind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/base/data.h"

/* ---- commands that can be pasted into a shell ---- */

enum { WORD = GCB_ADVICE_WORD };

/* Writes a file's name as a word of a shell command. Returns false if it does not fit, or has bytes other than ASCII. */
static bool quote_word(char out[WORD], const char *path)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "/._+-,:=@%";
    const bool plain = path[0] && path[strspn(path, safe)] == '\0';
    size_t n = 0;

    if (!plain)
        out[n++] = '\'';
    if (path[0] == '-') { /* not an option */
        out[n++] = '.';
        out[n++] = '/';
    }
    for (; *path && n + 6 < WORD; path++) {
        if (*path < 0x20 || *path >= 0x7f)
            return false;
        if (*path == '\'')
            n += (size_t)snprintf(out + n, WORD - n, "'\\''");
        else
            out[n++] = *path;
    }
    if (!plain)
        out[n++] = '\'';
    out[n] = '\0';
    return *path == '\0';
}

/* Moves the suffix of a name into `suffix`: "a.h5.gz" becomes "a.h5" and ".gz". */
static void cut_suffix(char *name, char suffix[16])
{
    char *dot = strrchr(name, '.');

    snprintf(suffix, 16, "%s", dot && dot > name ? dot : "");
    if (*suffix)
        *dot = '\0';
}

/* Chooses a name for a new file in the current folder: the old one with another suffix, or, for NULL, without its last
 * suffix. Adds a number if the file exists. */
static void name_output(char out[WORD], const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    char name[WORD - 24], own[16];

    snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
    cut_suffix(name, own);
    if (!suffix)
        cut_suffix(name, own);
    snprintf(out, WORD, "%s%s", name, suffix ? suffix : own);
    for (int i = 2; i < 100 && access(out, F_OK) == 0; i++)
        snprintf(out, WORD, "%s-%d%s", name, i, suffix ? suffix : own);
}

/* Writes a command: `before`, the file, `between`, and the name of a new file with this suffix. */
static void write_command(char out[GCB_ADVICE], const char *before, const char *path,
                          const char *between, const char *suffix)
{
    char file[WORD], name[WORD], made[WORD];

    name_output(name, path, suffix);
    if (!quote_word(file, path) || !quote_word(made, name) ||
        snprintf(out, GCB_ADVICE, "%s%s%s%s", before, file, between, made) >= GCB_ADVICE)
        snprintf(out, GCB_ADVICE, "%sFILE%sNEW_FILE", before, between);
}

/* Writes the part of a command that runs the converter. */
static void name_converter(char out[WORD + 24], const char *option)
{
    char script[GCB_DATA_PATH], quoted[WORD];

    if (!gcb_data_find(script, "datasets/convert.py") || !quote_word(quoted, script))
        snprintf(quoted, sizeof(quoted), "datasets/convert.py");
    snprintf(out, WORD + 24, "python3 %s %s", quoted, option);
}

char *gcb_advice_quote(char out[GCB_ADVICE_WORD], const char *path)
{
    if (!quote_word(out, path))
        snprintf(out, WORD, "FILE");
    return out;
}

char *gcb_advice_convert(char out[GCB_ADVICE], const char *path)
{
    char before[WORD + 24];

    name_converter(before, "");
    write_command(out, before, path, " ", ".h5");
    return out;
}

/* ---- files of other formats ---- */

/* What to do with a file. */
enum way {
    SAY,     /* `words` says it */
    CONVERT, /* convert.py reads the file; `words` is an option of it */
    UNPACK,  /* `words` unpacks it to standard output */
    REWRITE, /* `words` writes a new HDF5 file */
    TAKE,    /* `words` needs the file only */
    FETCH,   /* Git fetches the file */
};

struct row {
    unsigned at; /* where the bytes are */
    const char *bytes;
    size_t n;
    const char *name;
    enum way way;
    const char *words;
};

enum { FIRST = 512 }; /* bytes of a file's start that are looked at */

#define BYTES(text) text, sizeof(text) - 1

static const struct row rows[] = {
    {0, BYTES("\x93NUMPY"), "a NumPy file", CONVERT, ""},
    {0, BYTES("\x80\x02\x8a\x0a"), "a PyTorch file", CONVERT, ""},
    {6, BYTES("\0\0{"), "a safetensors file", CONVERT, ""},
    {0, BYTES("MATLAB 5.0 MAT-file"), "a MATLAB file of version 5", CONVERT, ""},
    {0, BYTES("CDF\1"), "a netCDF-3 file", REWRITE, "nccopy -k nc4 "},
    {0, BYTES("CDF\2"), "a netCDF-3 file", REWRITE, "nccopy -k nc4 "},
    {0, BYTES("CDF\5"), "a netCDF-3 file", REWRITE, "nccopy -k nc4 "},
    {0, BYTES("PK\5\6"), "an empty zip archive", SAY, ""},
    {0, BYTES("PK\3\4"), "a zip archive", TAKE, "unzip "},
    {257, BYTES("ustar"), "a tar archive", TAKE, "tar -xf "},
    {0, BYTES("\x1f\x8b"), "a file that gzip compressed", UNPACK, "gzip -dc "},
    {0, BYTES("\x28\xb5\x2f\xfd"), "a file that zstd compressed", UNPACK, "zstd -dc "},
    {0,
     BYTES("\xfd"
           "7zXZ"),
     "a file that xz compressed", UNPACK, "xz -dc "},
    {0, BYTES("BZh"), "a file that bzip2 compressed", UNPACK, "bzip2 -dc "},
    {0, BYTES("\xff\xfe"), "a text in UTF-16", UNPACK, "iconv -f UTF-16 -t UTF-8 "},
    {0, BYTES("\xfe\xff"), "a text in UTF-16", UNPACK, "iconv -f UTF-16 -t UTF-8 "},
    {0, BYTES("version https://git-lfs"), "a Git LFS pointer instead of the data", FETCH, NULL},
    {0, BYTES("\x80\x02"), "a Python pickle", CONVERT, "--trust-pickle "},
    {0, BYTES("\x80\x03"), "a Python pickle", CONVERT, "--trust-pickle "},
    {0, BYTES("\x80\x04\x95"), "a Python pickle", CONVERT, "--trust-pickle "},
    {0, BYTES("\x80\x05\x95"), "a Python pickle", CONVERT, "--trust-pickle "},
    {0, BYTES("{"), "looks like a result file", SAY,
     "plot, report, payoff and regress read result files"},
};

/* Does the file begin as a web page or XML? Blanks and a byte order mark may come first. */
static bool is_page(const uint8_t first[FIRST])
{
    size_t i = 0;

    while (i < FIRST && memchr(" \t\r\n\xef\xbb\xbf", first[i], 7))
        i++;
    return i + 1 < FIRST && first[i] == '<' &&
           (strchr("!?", first[i + 1]) ? first[i + 1] != '\0' : isalpha(first[i + 1]) != 0);
}

/* NumPy and PyTorch write zip archives. The names of the files in an archive are beside their contents. */
static const char *archive_name(const uint8_t first[FIRST])
{
    if (memmem(first, FIRST, "/data.pkl", 9) || memmem(first, FIRST, "/byteorder", 10))
        return "a PyTorch file";
    return memmem(first, FIRST, ".npy", 4) ? "a NumPy file" : NULL;
}

static void write_advice(struct gcb_filekind *out, enum way way, const char *words,
                         const char *path)
{
    char text[GCB_ADVICE] = "", before[WORD + 24], folder[WORD];
    const char *slash = strrchr(path, '/');

    out->makes_hdf5 = way == CONVERT || way == REWRITE;
    switch (way) {
    case CONVERT:
        name_converter(before, words);
        write_command(text, before, path, " ", ".h5");
        snprintf(out->advice, sizeof(out->advice), "%s: %s",
                 *words ? "it runs code when it is read; if you trust it" : "convert it", text);
        return;
    case UNPACK:
        write_command(text, words, path, " > ", NULL);
        snprintf(out->advice, sizeof(out->advice), "unpack it: %s", text);
        return;
    case REWRITE:
        write_command(text, words, path, " ", ".h5");
        snprintf(out->advice, sizeof(out->advice), "convert it: %s (Debian package netcdf-bin)",
                 text);
        return;
    case TAKE:
        snprintf(out->advice, sizeof(out->advice), "unpack it: %s%s", words,
                 gcb_advice_quote(folder, path));
        return;
    case FETCH:
        snprintf(before, sizeof(before), "%.*s", slash > path ? (int)(slash - path) : 1,
                 slash ? path : ".");
        snprintf(out->advice, sizeof(out->advice), "fetch it: git -C %s lfs pull",
                 gcb_advice_quote(folder, before));
        return;
    default:
        snprintf(out->advice, sizeof(out->advice), "%s", words);
    }
}

void gcb_filekind_of(struct gcb_filekind *out, const void *bytes, size_t n, const char *path)
{
    uint8_t first[FIRST] = {0}; /* zeros after the end of the file */
    const char *archive = NULL;

    *out = (struct gcb_filekind){0};
    memcpy(first, bytes, n < FIRST ? n : FIRST);
    if (is_page(first)) {
        out->name = "a web page (HTML) or XML";
        write_advice(out, SAY, "the server sent a page, such as an error, instead of the file",
                     path);
        return;
    }
    if (memcmp(first, "PK\3\4", 4) == 0)
        archive = archive_name(first);
    if (archive) {
        out->name = archive;
        write_advice(out, CONVERT, "", path);
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];

        if (memcmp(first + r->at, r->bytes, r->n) != 0)
            continue;
        out->name = r->name;
        write_advice(out, r->way, r->words, path);
        return;
    }
}

void gcb_filekind_find(struct gcb_filekind *out, int descriptor, const char *path)
{
    uint8_t first[FIRST];
    const ssize_t n = pread(descriptor, first, sizeof(first), 0);

    gcb_filekind_of(out, first, n > 0 ? (size_t)n : 0, path);
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
