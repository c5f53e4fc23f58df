/* Structs with a size: every function that takes one, and every size up to 16 bytes more than the
 * library's own. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/gcbench.h"
#include "tests/support/test.h"

#define N 6
#define NEWER 16 /* bytes of a newer header's fields */
#define ROOM 1024
#define UNTOUCHED 0x5a

/* What the functions are called with. */
static struct fixture {
    struct gcb_encoder *encoder;
    struct gcb_exchange *exchange;
    char message[256];
    size_t length;
} f;

/* ---- calls ---- */

static int encoder_open(void *s, struct gcb_diag *diag)
{
    struct gcb_encoder *e = NULL;
    const int err = gcb_encoder_open(&e, "topk", N, s, diag);

    gcb_encoder_close(e);
    return err;
}

static int decoder_open(void *s, struct gcb_diag *diag)
{
    struct gcb_decoder *d = NULL;
    const int err = gcb_decoder_open(&d, "topk", N, s, diag);

    gcb_decoder_close(d);
    return err;
}

static int decoder_open_like(void *s, struct gcb_diag *diag)
{
    struct gcb_decoder *d = NULL;
    const int err = gcb_decoder_open_like(&d, f.message, f.length, s, diag);

    gcb_decoder_close(d);
    return err;
}

static int sum_open(void *s, struct gcb_diag *diag)
{
    struct gcb_sum *sum = NULL;
    const int err = gcb_sum_open(&sum, "topk", N, NULL, s, diag);

    gcb_sum_close(sum);
    return err;
}

static int sum_open_like(void *s, struct gcb_diag *diag)
{
    struct gcb_sum *sum = NULL;
    const int err = gcb_sum_open_like(&sum, f.message, f.length, NULL, s, diag);

    gcb_sum_close(sum);
    return err;
}

static int exchange_open(void *s, struct gcb_diag *diag)
{
    struct gcb_exchange *e = NULL;
    const int err = gcb_exchange_open(&e, "topk", N, s, diag);

    gcb_exchange_close(e);
    return err;
}

static int encoder_save(void *s, struct gcb_diag *diag)
{
    return gcb_encoder_save(f.encoder, s, diag);
}

static int exchange_save(void *s, struct gcb_diag *diag)
{
    return gcb_exchange_save(f.exchange, s, diag);
}

static int encoder_restore(void *s, struct gcb_diag *diag)
{
    return gcb_encoder_restore(f.encoder, s, diag);
}

static int exchange_restore(void *s, struct gcb_diag *diag)
{
    return gcb_exchange_restore(f.exchange, s, diag);
}

static int method_info(void *s, struct gcb_diag *diag)
{
    return gcb_method_info(s, 0, diag);
}

static int message_info(void *s, struct gcb_diag *diag)
{
    return gcb_message_info(s, f.message, f.length, diag);
}

static int exchange_next(void *s, struct gcb_diag *diag)
{
    static const float x[N] = {1.0f};

    assert_int_equal(gcb_exchange_begin(f.exchange, 0, x, NULL), 0);
    return gcb_exchange_next(f.exchange, s, diag);
}

/* ---- sizes ---- */

/* Sizes at which a field ends, or the padding after it. They are those of machines with 64 bits,
 * and never change. */
static const struct sized {
    const char *type;
    int (*call)(void *s, struct gcb_diag *diag);
    int succeeds; /* what the call returns then */
    size_t ends[18];
} rows[] = {
#define OPTIONS \
    { \
        8, 12, 16, 24, 32, 40, 44, 48, 52, 56, 60, 64, 72, 76, 80, 88, 96, 104 \
    }
    {"options", encoder_open, 0, OPTIONS},
    {"options", decoder_open, 0, OPTIONS},
    {"options", decoder_open_like, 0, OPTIONS},
    {"options", sum_open, 0, OPTIONS},
    {"options", sum_open_like, 0, OPTIONS},
    {"options", exchange_open, 0, OPTIONS},
#define STATE \
    { \
        8, 16, 24, 88, 96, 104 \
    }
    {"memory_state", encoder_save, 0, STATE},
    {"memory_state", exchange_save, 0, STATE},
    {"memory_view", encoder_restore, 0, STATE},
    {"memory_view", exchange_restore, 0, STATE},
    {"method_info", method_info, 0, {8, 16, 24, 32, 40, 552}},
    {"message_info", message_info, 0, {8, 16, 24, 28, 32, 36, 40, 44, 48}},
    {"round", exchange_next, 1, {8, 12, 16, 24, 32, 40, 44, 48}},
};

static size_t whole_of(const struct sized *row)
{
    size_t whole = 0;

    for (size_t i = 0; i < sizeof(row->ends) / sizeof(row->ends[0]) && row->ends[i]; i++)
        whole = row->ends[i];
    return whole;
}

static int is_end(const struct sized *row, size_t size)
{
    for (size_t i = 0; i < sizeof(row->ends) / sizeof(row->ends[0]); i++)
        if (size && row->ends[i] == size)
            return 1;
    return size > whole_of(row);
}

static void check_size(const struct sized *row, size_t size)
{
    _Alignas(max_align_t) unsigned char s[ROOM];
    unsigned char before[ROOM];
    struct gcb_diag diag;
    char name[64];
    int err;

    memset(s, UNTOUCHED, sizeof(s));
    memset(s, 0, size);
    memcpy(s, &size, sizeof(size));
    memcpy(before, s, sizeof(s));
    err = row->call(s, &diag);
    if (err != (is_end(row, size) ? row->succeeds : GCB_E_INVALID))
        fail_msg("struct gcb_%s of %zu bytes: %d %s", row->type, size, err,
                 err < 0 ? diag.text : "");
    if (size < sizeof(size))
        size = sizeof(size);
    assert_memory_equal(s + size, before + size,
                        sizeof(s) - size); /* nothing after it is written */
    if (err >= 0)
        return;
    snprintf(name, sizeof(name), "sizeof(struct gcb_%s)", row->type);
    assert_non_null(strstr(diag.text, name));
    assert_memory_equal(s, before, sizeof(s));
}

static void only_whole_fields(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t size = 0; size <= whole_of(&rows[i]) + NEWER; size++)
            check_size(&rows[i], size);
}

/* Bytes of a newer header's fields must be 0 where the caller fills a struct in. Where the library
 * does, they become 0. */
static void newer_fields(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t size = whole_of(&rows[i]) + NEWER;
        const bool filled = strstr(rows[i].type, "info") || strcmp(rows[i].type, "round") == 0;
        _Alignas(max_align_t) unsigned char s[ROOM] = {0};
        struct gcb_diag diag;

        memcpy(s, &size, sizeof(size));
        s[size - 1] = 1;
        assert_int_equal(rows[i].call(s, &diag), filled ? rows[i].succeeds : GCB_E_INVALID);
        assert_int_equal(s[size - 1], !filled);
        if (!filled)
            assert_non_null(strstr(diag.text, "newer library"));
    }
}

/* The table ends where the header's structs do. */
static void table_is_complete(void **state)
{
    static const struct {
        const char *type;
        size_t whole;
    } header[] = {
        {"options", sizeof(struct gcb_options)},
        {"memory_state", sizeof(struct gcb_memory_state)},
        {"memory_view", sizeof(struct gcb_memory_view)},
        {"method_info", sizeof(struct gcb_method_info)},
        {"message_info", sizeof(struct gcb_message_info)},
        {"round", sizeof(struct gcb_round)},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t h = 0; h < sizeof(header) / sizeof(header[0]); h++)
            if (strcmp(rows[i].type, header[h].type) == 0)
                assert_int_equal(whole_of(&rows[i]), header[h].whole);
}

static int open_all(void **state)
{
    static const float x[N] = {3.0f, -1.0f};

    return gcb_encoder_open(&f.encoder, "topk", N, NULL, NULL) ||
           gcb_exchange_open(&f.exchange, "topk", N, NULL, NULL) ||
           gcb_encode(f.encoder, 0, 0, x, f.message, sizeof(f.message), &f.length, NULL);
}

static int close_all(void **state)
{
    gcb_encoder_close(f.encoder);
    gcb_exchange_close(f.exchange);
    return 0;
}

RUN_TESTS_BETWEEN(open_all, close_all, cmocka_unit_test(table_is_complete),
                  cmocka_unit_test(only_whole_fields), cmocka_unit_test(newer_fields))
