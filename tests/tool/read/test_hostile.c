/*
 * Opens and reads the files that tests/data/make_hostile.py wrote, and compares the results with
 * its manifest:
 *     test_hostile DIRECTORY
 * With "any" the file may be read or refused, but a message has one line, and nothing crashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/read/source.h"
#include "tests/support/test.h"

enum { MAX_ROWS = 256, MAX_LINE = 512, COLUMNS = 6 };

struct row {
    char line[MAX_LINE];
    char *column[COLUMNS]; /* file, status, tensors, skipped, read, words */
    char path[MAX_LINE + 300];
};

static const struct {
    const char *name;
    int status;
} statuses[] = {
    {"ok", GCB_OK},
    {"invalid", GCB_E_INVALID},
    {"corrupt", GCB_E_CORRUPT},
    {"unsupported", GCB_E_UNSUPPORTED},
    {"nomem", GCB_E_NOMEM},
    {"io", GCB_E_IO},
};

static void check_status(const char *want, int got, const struct gcb_diag *diag)
{
    if (strcmp(want, "any") == 0) {
        assert_true(got == GCB_OK || got == GCB_E_CORRUPT || got == GCB_E_UNSUPPORTED);
        return;
    }
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        if (strcmp(want, statuses[i].name) == 0) {
            if (statuses[i].status != got)
                fail_msg("want %s, got %d: %s", want, got, diag->text);
            return;
        }
    fail_msg("unknown status in the manifest: %s", want);
}

/* The message has one printable line, the name of the file, and the text of the manifest. */
static void check_words(const struct row *row, const struct gcb_diag *diag)
{
    assert_non_null(strstr(diag->text, row->column[0]));
    for (const char *p = diag->text; *p; p++)
        assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
    if (strcmp(row->column[5], "-") != 0 && !strstr(diag->text, row->column[5]))
        fail_msg("'%s' is not in: %s", row->column[5], diag->text);
}

static int read_all(struct gcb_source *source, struct gcb_diag *diag)
{
    for (size_t i = 0; i < gcb_source_count(source); i++) {
        const struct gcb_tensor *t = gcb_source_tensor(source, i);
        float *x = gcb_alloc_array(t->count, sizeof(*x));
        int err;

        assert_non_null(x);
        err = gcb_source_read(source, i, x, diag);
        gcb_free(x);
        if (err)
            return err;
    }
    return 0;
}

/* Counts what was skipped: each remark on it begins with the number. */
static unsigned long count_skipped(const struct gcb_source *source)
{
    char text[GCB_REMARK_TEXT];
    unsigned long n = 0;

    for (int kind = 0; kind <= GCB_REMARK_OTHERS; kind++)
        if (gcb_source_remark(text, source, (enum gcb_remark)kind))
            n += strtoul(text, NULL, 10);
    return n;
}

static void check_row(void **state)
{
    const struct row *row = *state;
    const char *files[] = {row->path};
    const struct gcb_source_config config = {
        .files = files, .file_count = 1, .limits.max_bytes = UINT64_C(1) << 30};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    int err = gcb_source_open(&source, &config, &diag);

    check_status(row->column[1], err, &diag);
    if (err) {
        check_words(row, &diag);
        assert_null(source);
        return;
    }
    if (strcmp(row->column[1], "any") != 0) {
        assert_int_equal(gcb_source_count(source), strtoul(row->column[2], NULL, 10));
        assert_int_equal(count_skipped(source), strtoul(row->column[3], NULL, 10));
    }
    err = read_all(source, &diag);
    gcb_source_close(source);
    check_status(row->column[4], err, &diag);
    if (err)
        check_words(row, &diag);
}

static bool read_row(struct row *row, FILE *manifest, const char *directory)
{
    char *at = row->line;

    if (!fgets(row->line, sizeof(row->line), manifest))
        return false;
    row->line[strcspn(row->line, "\n")] = '\0';
    for (int i = 0; i < COLUMNS; i++)
        row->column[i] = strsep(&at, "\t");
    if (!row->column[COLUMNS - 1])
        return false;
    snprintf(row->path, sizeof(row->path), "%s/%s", directory, row->column[0]);
    return true;
}

int main(int argc, char **argv)
{
    static struct row rows[MAX_ROWS];
    static struct CMUnitTest tests[MAX_ROWS];
    char name[512];
    size_t n = 0;
    FILE *manifest;

    if (argc != 2)
        return 77; /* nothing to read: skipped */
    snprintf(name, sizeof(name), "%s/manifest.tsv", argv[1]);
    manifest = fopen(name, "r");
    if (!manifest)
        return 1;
    while (n < MAX_ROWS && read_row(&rows[n], manifest, argv[1])) {
        tests[n] = (struct CMUnitTest){rows[n].column[0], check_row, NULL, NULL, &rows[n]};
        n++;
    }
    fclose(manifest);
    return _cmocka_run_group_tests("hostile", tests, n, NULL, NULL) || n == 0;
}
