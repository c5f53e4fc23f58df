#include "tests/support/flatmake.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/lib/base/text.h"
#include "tests/support/test.h"

static char folder[64];

void flatmake_put(struct flatmake *f, const void *bytes, size_t size)
{
    assert_true(size <= sizeof(f->bytes) - f->size);
    if (size)
        memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
}

void flatmake_number(struct flatmake *f, uint64_t number, unsigned width)
{
    flatmake_put(f, &number, width); /* on a little-endian processor, as all that gcbench runs on */
}

void flatmake_npy(struct flatmake *f, unsigned version, const char *header, const void *data,
                  size_t size)
{
    char padded[256];

    snprintf(padded, sizeof(padded), "%-117s\n", header);
    flatmake_put(f, "\x93NUMPY", 6);
    flatmake_number(f, version, 2);
    flatmake_number(f, strlen(padded), version == 1 ? 2 : 4);
    flatmake_put(f, padded, strlen(padded));
    flatmake_put(f, data, size);
}

/* Writes the file, and the folders around it. Sets `path`. */
static void write_file(char path[512], const struct flatmake *f, const char *name)
{
    FILE *file;

    if (!folder[0]) {
        strcpy(folder, "/tmp/test_flat.XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    snprintf(path, 512, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(f->bytes, 1, f->size, file), f->size);
    assert_int_equal(fclose(file), 0);
}

/* Reads tensor i, and appends what it is to `out`. */
static int read_tensor(char out[1024], struct gcb_source *source, size_t i, struct gcb_diag *diag)
{
    const struct gcb_tensor *t = gcb_source_tensor(source, i);
    float x[256];
    int err;

    assert_true(t->count <= sizeof(x) / sizeof(x[0]));
    gcb_append(out, 1024, "%s%llu/%u/%s ", i ? "; " : "", (unsigned long long)t->step, t->worker,
               t->path);
    for (unsigned k = 0; k < t->rank; k++)
        gcb_append(out, 1024, "%s%llu", k ? "x" : "", (unsigned long long)t->dims[k]);
    gcb_append(out, 1024, " %s:", gcb_dtype_name(t->dtype));
    err = gcb_source_read(source, i, x, diag);
    for (uint64_t k = 0; k < t->count && !err; k++)
        gcb_append(out, 1024, " %g", (double)x[k]);
    return err;
}

int flatmake_read(char out[1024], const struct flatmake *f, const char *name,
                  struct gcb_reading reading, bool in_process, struct gcb_diag *diag)
{
    char path[512], remark[GCB_REMARK_TEXT];
    const char *files[] = {path};
    const struct gcb_source_config config = {.files = files,
                                             .file_count = 1,
                                             .reading = reading,
                                             .limits.max_bytes = 1 << 20,
                                             .limits.in_process = in_process};
    struct gcb_source *source = NULL;
    int err;

    out[0] = '\0';
    write_file(path, f, name);
    err = gcb_source_open(&source, &config, diag);
    for (size_t i = 0; !err && i < gcb_source_count(source); i++)
        err = read_tensor(out, source, i, diag);
    for (int kind = 0; !err && kind <= GCB_REMARK_OTHERS; kind++)
        if (gcb_source_remark(remark, source, (enum gcb_remark)kind))
            gcb_append(out, 1024, "; +%lu skipped", strtoul(remark, NULL, 10));
    gcb_source_close(source);
    remove(path);
    return err;
}

void flatmake_expect(const struct flatmake *f, const char *name, struct gcb_reading reading,
                     const char *text)
{
    for (int in_process = 0; in_process < 2; in_process++) {
        struct gcb_diag diag = {0};
        char out[1024];

        if (flatmake_read(out, f, name, reading, in_process, &diag))
            fail_msg("%s", diag.text);
        assert_string_equal(out, text);
    }
}

void flatmake_expect_failure(const struct flatmake *f, const char *name, int status,
                             const char *words)
{
    for (int in_process = 0; in_process < 2; in_process++) {
        struct gcb_diag diag = {0};
        char out[1024];
        const int err = flatmake_read(out, f, name, (struct gcb_reading){0}, in_process, &diag);

        if (err != status || !strstr(diag.text, words))
            fail_msg("want %d and '%s', got %d: %s", status, words, err, diag.text);
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    return remove(path);
}

int flatmake_clean(void **state)
{
    return folder[0] ? nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) : 0;
}
