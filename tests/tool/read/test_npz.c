/* Archives of NumPy: what is read, and every way in which parts of a zip archive can disagree. */
#include <string.h>
#include <zlib.h>

#include "tests/support/flatmake.h"
#include "tests/support/test.h"

#define HEADER "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
#define FORTRAN "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }"

static const struct gcb_reading none;
static const float values[] = {1, -2, 3};
static const uint8_t big[] = {0x3f, 0x80, 0, 0, 0x40, 0,    0, 0,
                              0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0}; /* 1 2 3 4 */

/* How an archive is written. */
struct shape {
    bool deflated;
    bool zip64; /* of the members and of the end */
    bool late;  /* sizes and checksum only after the data, as in a pipe */
    const char *comment;
};

/* Where the parts of an archive are. */
struct parts {
    size_t local, data, central, end64, end;
};

static struct flatmake deflate_raw(const struct flatmake *in)
{
    struct flatmake out = {.size = 0};
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in->bytes,
                  .avail_in = (uInt)in->size,
                  .next_out = out.bytes,
                  .avail_out = sizeof(out.bytes)};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* Writes what local and central headers share, from the flags to the length of the name. */
static void put_common(struct flatmake *f, const struct shape *s, const char *name, uint32_t crc,
                       uint64_t packed, uint64_t size, bool empty)
{
    flatmake_number(f, s->late ? 8 : 0, 2);
    flatmake_number(f, s->deflated ? 8 : 0, 2);
    flatmake_number(f, 0x5a21000, 4); /* time and date */
    flatmake_number(f, empty ? 0 : crc, 4);
    flatmake_number(f, empty ? 0 : s->zip64 ? UINT32_MAX : packed, 4);
    flatmake_number(f, empty ? 0 : s->zip64 ? UINT32_MAX : size, 4);
    flatmake_number(f, strlen(name), 2);
}

static void put_member(struct flatmake *f, struct flatmake *directory, const struct shape *s,
                       const char *name, const struct flatmake *content)
{
    const struct flatmake packed = s->deflated ? deflate_raw(content) : *content;
    const uint32_t crc = (uint32_t)crc32(0, content->bytes, (uInt)content->size);
    const uint64_t at = f->size;

    flatmake_put(f, "PK\3\4\x14\0", 6);
    put_common(f, s, name, crc, packed.size, content->size, s->late);
    flatmake_number(f, s->zip64 && !s->late ? 20 : 0, 2);
    flatmake_put(f, name, strlen(name));
    if (s->zip64 && !s->late) {
        flatmake_number(f, 0x100001, 4);
        flatmake_number(f, content->size, 8);
        flatmake_number(f, packed.size, 8);
    }
    flatmake_put(f, packed.bytes, packed.size);
    if (s->late) {
        flatmake_put(f, "PK\7\x08", 4);
        flatmake_number(f, crc, 4);
        flatmake_number(f, packed.size, 4);
        flatmake_number(f, content->size, 4);
    }
    flatmake_put(directory, "PK\1\2\x14\x03\x14\0", 8);
    put_common(directory, s, name, crc, packed.size, content->size, false);
    flatmake_number(directory, s->zip64 ? 28 : 0, 2);
    flatmake_number(directory, 0, 2 + 2 + 2);
    flatmake_number(directory, 0, 4);
    flatmake_number(directory, s->zip64 ? UINT32_MAX : at, 4);
    flatmake_put(directory, name, strlen(name));
    if (s->zip64) {
        flatmake_number(directory, 0x180001, 4);
        flatmake_number(directory, content->size, 8);
        flatmake_number(directory, packed.size, 8);
        flatmake_number(directory, at, 8);
    }
}

static void put_end(struct flatmake *f, const struct flatmake *directory, const struct shape *s,
                    unsigned count, struct parts *p)
{
    p->central = f->size;
    flatmake_put(f, directory->bytes, directory->size);
    p->end64 = f->size;
    if (s->zip64) {
        flatmake_put(f, "PK\6\6", 4);
        flatmake_number(f, 44, 8);
        flatmake_number(f, 0x2d002d, 4);
        flatmake_number(f, 0, 8);
        flatmake_number(f, count, 8);
        flatmake_number(f, count, 8);
        flatmake_number(f, directory->size, 8);
        flatmake_number(f, p->central, 8);
        flatmake_put(f, "PK\6\7\0\0\0\0", 8);
        flatmake_number(f, p->end64, 8);
        flatmake_number(f, 1, 4);
    }
    p->end = f->size;
    flatmake_put(f, "PK\5\6\0\0\0\0", 8);
    flatmake_number(f, s->zip64 ? UINT16_MAX : count, 2);
    flatmake_number(f, s->zip64 ? UINT16_MAX : count, 2);
    flatmake_number(f, s->zip64 ? UINT32_MAX : directory->size, 4);
    flatmake_number(f, s->zip64 ? UINT32_MAX : p->central, 4);
    flatmake_number(f, s->comment ? strlen(s->comment) : 0, 2);
    if (s->comment)
        flatmake_put(f, s->comment, strlen(s->comment));
}

/* Writes an archive of one member for each name, which hold a vector and a matrix in turn. */
static struct parts make(struct flatmake *f, const struct shape *s, const char *const *names,
                         unsigned count)
{
    struct flatmake directory = {.size = 0};
    struct parts p = {.data = 30 + strlen(names[0]) + (s->zip64 && !s->late ? 20 : 0)};

    *f = (struct flatmake){.size = 0};
    for (unsigned i = 0; i < count; i++) {
        struct flatmake content = {.size = 0};

        if (i % 2)
            flatmake_npy(&content, 1, FORTRAN, big, sizeof(big));
        else
            flatmake_npy(&content, 1, HEADER, values, sizeof(values));
        put_member(f, &directory, s, names[i], &content);
    }
    put_end(f, &directory, s, count, &p);
    return p;
}

static const char *const pair[] = {"step_5/worker_2/w.npy", "b.npy"};
static const char *const pair_text = "0/0/b 2x2 fp32: 1 3 2 4; 5/2/w 3 fp32: 1 -2 3";

static void test_read(void **state)
{
    for (unsigned bits = 0; bits < 16; bits++) {
        const struct shape s = {.deflated = bits & 1,
                                .zip64 = bits & 2,
                                .late = bits & 4,
                                .comment = bits & 8 ? "PK\5\6 comment" : NULL};
        struct flatmake f;

        make(&f, &s, pair, 2);
        flatmake_expect(&f, "a.npz", none, pair_text);
        if (bits == 0)
            flatmake_expect(&f, "step_7/grads_rank1.npz", none,
                            "5/2/w 3 fp32: 1 -2 3; 7/1/b 2x2 fp32: 1 3 2 4");
    }
}

static void test_names(void **state)
{
    static const char *const others[] = {"a.npy", "folder/", "readme.txt"};
    static const struct {
        const char *names[2], *words;
    } refused[] = {
        {{"a.npy", "a.npy"}, "are the same tensor"}, {{"a.npy", "../b.npy"}, "impossible name"},
        {{"a.npy", "/b.npy"}, "impossible name"},    {{"a.npy", "b//c.npy"}, "impossible name"},
        {{"a.npy", "b/./c.npy"}, "impossible name"}, {{"a.npy", "b/.npy"}, "impossible name"},
    };
    struct flatmake f;

    make(&f, &(struct shape){.deflated = false}, others, 3);
    flatmake_expect(&f, "a.npz", none, "0/0/a 3 fp32: 1 -2 3; +1 skipped");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        make(&f, &(struct shape){.deflated = false}, refused[i].names, 2);
        flatmake_expect_failure(&f, "a.npz", GCB_E_CORRUPT, refused[i].words);
    }
}

static void test_refused(void **state)
{
    /* `at` is counted from the start of a part */
    static const struct {
        bool zip64, late;
        enum { IN_LOCAL, IN_CENTRAL, IN_END64, IN_END } part;
        unsigned at, width;
        uint64_t number;
        int status;
        const char *words;
    } cases[] = {
        {0, 0, IN_LOCAL, 28, 2, 0xffff, GCB_E_CORRUPT, "does not agree"},
        {0, 0, IN_LOCAL, 30, 1, 'x', GCB_E_CORRUPT, "does not agree"},
        {0, 0, IN_CENTRAL, 0, 4, 0, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 8, 2, 1, GCB_E_UNSUPPORTED, "encrypted"},
        {0, 0, IN_CENTRAL, 8, 2, 0x20, GCB_E_UNSUPPORTED, "method 8"},
        {0, 0, IN_CENTRAL, 10, 2, 14, GCB_E_UNSUPPORTED, "method 14"},
        {0, 1, IN_CENTRAL, 16, 4, 1, GCB_E_CORRUPT, "checksum"},
        {0, 1, IN_CENTRAL, 20, 4, 20, GCB_E_CORRUPT, "does not unpack"},
        {0, 1, IN_CENTRAL, 20, 4, 120, GCB_E_CORRUPT, "same bytes"},
        {0, 1, IN_CENTRAL, 20, 4, 1 << 20, GCB_E_CORRUPT, "directory"},
        {0, 1, IN_CENTRAL, 24, 4, 139, GCB_E_CORRUPT, "does not fit its 11 bytes"},
        {0, 1, IN_CENTRAL, 24, 4, 141, GCB_E_CORRUPT, "does not fit its 13 bytes"},
        {0, 1, IN_CENTRAL, 24, 4, 3, GCB_E_CORRUPT, "cut short"},
        {0, 0, IN_CENTRAL, 28, 2, 0xffff, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 30, 2, 0xffff, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 32, 2, 0xffff, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 34, 2, 1, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 42, 4, 1, GCB_E_CORRUPT, "/step_5/worker_2/w: "},
        {0, 0, IN_CENTRAL, 42, 4, UINT32_MAX, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_CENTRAL, 42, 4, UINT32_MAX - 1, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_CENTRAL, 69, 2, 2, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_CENTRAL, 71, 8, UINT64_MAX, GCB_E_CORRUPT, "does not fit"},
        {1, 0, IN_CENTRAL, 79, 8, UINT64_MAX, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_CENTRAL, 87, 8, UINT64_MAX - 5, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 0, 4, 0, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 4, 8, UINT64_MAX, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 16, 4, 1, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 32, 8, 3, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 32, 8, UINT64_MAX, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 40, 8, UINT64_MAX, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 48, 8, 0, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END64, 64, 8, UINT64_MAX, GCB_E_CORRUPT, "directory"},
        {1, 0, IN_END, 10, 2, 2, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 0, 4, 0, GCB_E_CORRUPT, "cut short"},
        {0, 0, IN_END, 4, 2, 1, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 8, 4, 0x10001, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 8, 4, 0x30003, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 12, 4, 1 << 30, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 16, 4, 0, GCB_E_CORRUPT, "directory"},
        {0, 0, IN_END, 20, 2, 1, GCB_E_CORRUPT, "cut short"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct shape s = {.deflated = true, .zip64 = cases[i].zip64, .late = cases[i].late};
        struct flatmake f;
        const struct parts p = make(&f, &s, pair, 2);
        const size_t parts[] = {p.local, p.central, p.end64, p.end};

        memcpy(f.bytes + parts[cases[i].part] + cases[i].at, &cases[i].number, cases[i].width);
        flatmake_expect_failure(&f, "a.npz", cases[i].status, cases[i].words);
    }
}

/* Two members whose data is the same bytes: each is sound, but together they make a bomb. */
static void test_overlap(void **state)
{
    static const char *const names[] = {"a.npy", "c.npy", "b.npy"};
    const struct shape s = {.late = true};
    struct flatmake f;
    const struct parts p = make(&f, &s, names, 3);
    const size_t entry = 46 + strlen(names[0]);

    memcpy(f.bytes + p.central + 2 * entry + 42, "\0\0\0\0", 4); /* place of the local header */
    memcpy(f.bytes + p.central + 2 * entry + 46, "a", 1);
    memcpy(f.bytes + p.central + 46, "a", 1);
    flatmake_expect_failure(&f, "a.npz", GCB_E_CORRUPT, "same bytes of the file");
}

static void test_bomb(void **state)
{
    static const char *const names[] = {"a.npy"};
    struct flatmake f, directory = {.size = 0}, content = {.size = 0};
    const struct shape s = {.deflated = true, .late = true};
    struct parts p;

    flatmake_npy(&content, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (262144,), }", "",
                 0);
    f = (struct flatmake){.size = 0};
    put_member(&f, &directory, &s, names[0], &content);
    memcpy(directory.bytes + 24, (const uint32_t[]){128 + (1 << 20)}, 4);
    put_end(&f, &directory, &s, 1, &p);
    flatmake_expect_failure(&f, "a.npz", GCB_E_CORRUPT, "declares 1048576 bytes but stores");
}

/* Any byte may be wrong: the file is refused, or gives the same tensors, or one of them and a note
 * that the other has a type that is not read. */
static void test_damage(void **state)
{
    for (unsigned bits = 0; bits < 8; bits++) {
        const struct shape s = {.deflated = bits & 1, .zip64 = bits & 2, .late = bits & 4};
        unsigned refused = 0;
        struct flatmake f;

        make(&f, &s, pair, 2);
        for (size_t i = 0; i < f.size; i++)
            for (unsigned change = 1; change < 256; change *= 4) {
                struct gcb_diag diag = {0};
                char out[1024], *note;
                int err;

                f.bytes[i] ^= (uint8_t)change;
                err = flatmake_read(out, &f, "a.npz", none, true, &diag);
                f.bytes[i] ^= (uint8_t)change;
                refused += err != 0;
                if (err && (diag.status != err || err == GCB_E_INTERNAL))
                    fail_msg("byte %zu: status %d, %s", i, err, diag.text);
                note = strstr(out, "; +1 skipped");
                if (note)
                    *note = '\0';
                if (!err && (note ? !strstr(pair_text, out) : strcmp(out, pair_text) != 0))
                    fail_msg("byte %zu of %zu, bits %u: read %s", i, f.size, bits, out);
            }
        assert_true(refused > f.size);
    }
}

static void test_cut(void **state)
{
    struct flatmake f;

    make(&f, &(struct shape){.deflated = true, .zip64 = true}, pair, 2);
    while (f.size-- > 0) {
        struct gcb_diag diag = {0};
        char out[1024];

        assert_int_equal(flatmake_read(out, &f, "a.npz", none, true, &diag), GCB_E_CORRUPT);
    }
}

RUN_TESTS_BETWEEN(NULL, flatmake_clean, cmocka_unit_test(test_read), cmocka_unit_test(test_names),
                  cmocka_unit_test(test_refused), cmocka_unit_test(test_overlap),
                  cmocka_unit_test(test_bomb), cmocka_unit_test(test_damage),
                  cmocka_unit_test(test_cut))
