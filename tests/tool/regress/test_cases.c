/* Cases of result files: reading, pairing, labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/regress/verdict.h"
#include "tests/support/test.h"

/* A row of a result file. */
struct line {
    const char *file, *spec, *isa;
};

static int read_lines(struct gcb_cases *out, const struct line *lines, size_t count,
                      struct gcb_diag *diag)
{
    FILE *f = tmpfile();
    int err;

    assert_non_null(f);
    for (size_t i = 0; i < count; i++)
        fprintf(f,
                "{\"record\":\"summary\",\"schema\":1,\"file\":\"%s\",\"scope\":\"tensor\","
                "\"spec\":\"%s\",\"isa\":\"%s\",\"threads\":1,\"device\":\"cpu\"}\n",
                lines[i].file, lines[i].spec, lines[i].isa);
    rewind(f);
    err = gcb_cases_read(out, "r.json", f, diag);
    fclose(f);
    return err;
}

static void test_basename(void **state)
{
    static const char *const pairs[][2] = {
        {"a/b/g.h5", "g.h5"},           {"g.h5", "g.h5"},       {"a/x.h5, b/c/y.h5", "x.h5, y.h5"},
        {"a/x.h5, y.h5", "x.h5, y.h5"}, {"folder/", "folder/"}, {"", ""},
        {"/tmp/a,b.h5", "a,b.h5"},
    };
    char out[64];

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        strcpy(out, pairs[i][0]);
        gcb_case_remove_folders(out);
        assert_string_equal(out, pairs[i][1]);
    }
}

/* First by everything, then without folders, then without the instruction set; an ambiguous case
 * and a shuffled one stay unpaired. */
static void test_match(void **state)
{
    static const struct line base[] = {{"a/g.h5", "topk", "avx2"}, {"b/g.h5", "topk", "avx2"},
                                       {"a/h.h5", "topk", "avx2"}, {"a/i.h5", "topk", "avx2"},
                                       {"c/j.h5", "topk", "avx2"}, {"d/j.h5", "topk", "avx2"},
                                       {"k.h5", "topk", "avx2"}};
    static const struct line next[] = {{"b/g.h5", "topk", "avx2"},
                                       {"a/g.h5", "topk", "avx2"},
                                       {"z/h.h5", "topk", "avx2"},
                                       {"z/i.h5", "topk", "avx512"},
                                       {"z/j.h5", "topk", "avx2"},
                                       {"a/g.h5", "qsgd", "avx2"},
                                       {"k.h5", "topk", "avx2\",\"shuffle\":\"rows"}};
    static const int want[][2] = {{0, 1},  {1, 0},  {2, 2},  {3, 3},  {4, -1},
                                  {5, -1}, {6, -1}, {-1, 4}, {-1, 5}, {-1, 6}};
    struct gcb_cases a, b;
    struct gcb_case_pair *m;
    struct gcb_diag diag;
    size_t count;

    assert_int_equal(read_lines(&a, base, 7, &diag), 0);
    assert_int_equal(read_lines(&b, next, 7, &diag), 0);
    m = gcb_pair_cases(&count, &a, &b);
    assert_int_equal(count, 10);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(m[i].base, want[i][0] < 0 ? NULL : &a.items[want[i][0]]);
        assert_ptr_equal(m[i].next, want[i][1] < 0 ? NULL : &b.items[want[i][1]]);
    }
    gcb_free(m);
    gcb_cases_fini(&a);
    gcb_cases_fini(&b);
}

/* Labels have only the parts that differ between cases, and no two labels are equal. */
static void test_labels(void **state)
{
    static const struct line base[] = {{"a/g.h5", "topk:theta=0.9,index=u32", "avx2"},
                                       {"a/h.h5", "topk:theta=0.85", "avx2"},
                                       {"a/g.h5", "of another build", "avx2"}};
    static const struct line same[] = {{"a/g.h5", "natural", "c"}, {"b/g.h5", "natural", "c"}};
    struct gcb_cases a, none = {.items = NULL};
    struct gcb_diag diag;

    assert_int_equal(read_lines(&a, base, 3, &diag), 0);
    gcb_cases_label(&a, &none);
    assert_string_equal(a.items[0].label, "topk:theta=0.9 g.h5"); /* u32 is the default */
    assert_string_equal(a.items[1].label, "topk:theta=0.85 h.h5");
    assert_string_equal(a.items[2].label, "of another build g.h5");
    gcb_cases_fini(&a);
    assert_int_equal(read_lines(&a, same, 2, &diag), 0);
    gcb_cases_label(&a, &none);
    assert_string_equal(a.items[0].label, "a/g.h5 g.h5 tensor natural cpu c t1");
    assert_string_equal(a.items[1].label, "b/g.h5 g.h5 tensor natural cpu c t1");
    gcb_cases_fini(&a);
}

static void test_refused(void **state)
{
    static const struct line twice[] = {
        {"g.h5", "topk", "c"}, {"h.h5", "topk", "c"}, {"g.h5", "topk", "c"}};
    struct gcb_cases a;
    struct gcb_diag diag;

    assert_int_equal(read_lines(&a, twice, 3, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "lines 1 and 3 are the same case"));
    gcb_cases_fini(&a);
    assert_int_equal(read_lines(&a, twice, 0, &diag), GCB_E_CORRUPT);
    gcb_cases_fini(&a);
}

/* Unescaped texts of a hostile file are escaped; escaped texts stay as they are. */
static void test_clean(void **state)
{
    static const struct line odd[] = {{"a\\u001b[31m\\tb\\\\x0a.h5", "topk", "c"}};
    struct gcb_cases a;
    struct gcb_diag diag;

    assert_int_equal(read_lines(&a, odd, 1, &diag), 0);
    assert_string_equal(a.items[0].text[GCB_CASE_FILE], "a\\x1b[31m\\x09b\\x0a.h5");
    gcb_cases_fini(&a);
}

RUN_TESTS(cmocka_unit_test(test_basename), cmocka_unit_test(test_match),
          cmocka_unit_test(test_labels), cmocka_unit_test(test_refused),
          cmocka_unit_test(test_clean))
