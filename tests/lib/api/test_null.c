/* src/gcbench.h: a pointer that is NULL, and may not be, is refused by every function, and nothing
 * changes. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/gcbench.h"
#include "tests/support/test.h"

#define N 6
#define ROOM 256

/* What the functions are called with. The exchange is in the first round of a step. */
static struct fixture {
    struct gcb_encoder *encoder;
    struct gcb_decoder *decoder;
    struct gcb_sum *sum;
    struct gcb_exchange *exchange;
    struct gcb_round round;
    float x[N], y[N];
    char message[ROOM];
    size_t length;
} f = {.x = {3.0f, -1.0f}, .y = {7.0f}, .round = {.size = sizeof(struct gcb_round)}};

/* Argument i of a call, or NULL if it is this one's turn. */
#define ARG(i, pointer) (null == (i) ? NULL : (pointer))

/* ---- functions with a status ---- */

/* A function that calls gcb_NAME with these arguments. */
#define CALL(name, ...) \
    static int name(int null, struct gcb_diag *diag) \
    { \
        return gcb_##name(__VA_ARGS__, diag); \
    }

/* What the calls write. */
static struct gcb_encoder *new_encoder;
static struct gcb_decoder *new_decoder;
static struct gcb_sum *new_sum;
static struct gcb_exchange *new_exchange;
static struct gcb_device_encoder *new_device_encoder;
static char room[ROOM];
static size_t message_length;
static struct gcb_own_method own;
static struct gcb_method_info method_facts = {.size = sizeof(method_facts)};
static struct gcb_message_info message_facts = {.size = sizeof(message_facts)};
static struct gcb_memory_state saved = {.size = sizeof(saved)};
static const struct gcb_memory_view view = {.size = sizeof(view)};

CALL(encoder_open, ARG(0, &new_encoder), ARG(1, "topk"), N, NULL)
CALL(encode, ARG(0, f.encoder), 0, 0, ARG(1, f.x), ARG(2, room), sizeof(room),
     ARG(3, &message_length))
CALL(encoder_set_norm, ARG(0, f.encoder), 1.0)
CALL(encoder_set, ARG(0, f.encoder), ARG(1, "theta"), ARG(2, "0.5"))
CALL(encoder_save, ARG(0, f.encoder), ARG(1, &saved))
CALL(encoder_restore, ARG(0, f.encoder), ARG(1, &view))
CALL(decoder_open, ARG(0, &new_decoder), ARG(1, "topk"), N, NULL)
CALL(decoder_open_like, ARG(0, &new_decoder), ARG(1, f.message), f.length, NULL)
CALL(decode, ARG(0, f.decoder), ARG(1, f.message), f.length, ARG(2, f.y))
CALL(method_add, ARG(0, &own))
CALL(method_info, ARG(0, &method_facts), 0)
CALL(message_info, ARG(0, &message_facts), ARG(1, f.message), f.length)
CALL(sum_open, ARG(0, &new_sum), ARG(1, "topk"), N, NULL, NULL)
CALL(sum_open_like, ARG(0, &new_sum), ARG(1, f.message), f.length, NULL, NULL)
CALL(sum_add, ARG(0, f.sum), ARG(1, f.message), f.length, 1.0f)
CALL(sum_finish, ARG(0, f.sum), f.y)
CALL(exchange_open, ARG(0, &new_exchange), ARG(1, "topk"), N, NULL)
CALL(exchange_begin, ARG(0, f.exchange), 0, ARG(1, f.x))
CALL(exchange_sum_into, ARG(0, f.exchange), ARG(1, f.y))
CALL(exchange_next, ARG(0, f.exchange), ARG(1, &f.round))
CALL(exchange_receive, ARG(0, f.exchange), 0, ARG(1, f.round.data), f.round.bytes)
CALL(exchange_finish, ARG(0, f.exchange), ARG(1, f.y))
CALL(exchange_set_norm, ARG(0, f.exchange), 1.0)
CALL(exchange_set, ARG(0, f.exchange), ARG(1, "theta"), ARG(2, "0.5"))
CALL(exchange_save, ARG(0, f.exchange), ARG(1, &saved))
CALL(exchange_restore, ARG(0, f.exchange), ARG(1, &view))
CALL(device_encoder_open, ARG(0, &new_device_encoder), 0, ARG(1, "topk"), N, NULL)
CALL(device_encode, NULL, 0, 0, f.x, NULL, f.message, f.message, NULL)
CALL(device_sum_slots, NULL, f.message, 1, NULL, f.y, f.message, NULL)

static const struct {
    const char *name;
    int (*call)(int null, struct gcb_diag *diag);
    int pointers; /* that may not be NULL */
} rows[] = {
    {"gcb_encoder_open", encoder_open, 2},
    {"gcb_encode", encode, 4},
    {"gcb_encoder_set_norm", encoder_set_norm, 1},
    {"gcb_encoder_set", encoder_set, 3},
    {"gcb_encoder_save", encoder_save, 2},
    {"gcb_encoder_restore", encoder_restore, 2},
    {"gcb_decoder_open", decoder_open, 2},
    {"gcb_decoder_open_like", decoder_open_like, 2},
    {"gcb_decode", decode, 3},
    {"gcb_method_info", method_info, 1},
    {"gcb_method_add", method_add, 1},
    {"gcb_message_info", message_info, 2},
    {"gcb_sum_open", sum_open, 2},
    {"gcb_sum_open_like", sum_open_like, 2},
    {"gcb_sum_add", sum_add, 2},
    {"gcb_sum_finish", sum_finish, 1},
    {"gcb_exchange_open", exchange_open, 2},
    {"gcb_exchange_begin", exchange_begin, 2},
    {"gcb_exchange_sum_into", exchange_sum_into, 2},
    {"gcb_exchange_next", exchange_next, 2},
    {"gcb_exchange_receive", exchange_receive, 2},
    {"gcb_exchange_finish", exchange_finish, 2},
    {"gcb_exchange_set_norm", exchange_set_norm, 1},
    {"gcb_exchange_set", exchange_set, 3},
    {"gcb_exchange_save", exchange_save, 2},
    {"gcb_exchange_restore", exchange_restore, 2},
    {"gcb_device_encoder_open", device_encoder_open, 2},
    {"gcb_device_encode", device_encode, 1},
    {"gcb_device_sum_slots", device_sum_slots, 1},
};

/* Functions that have no status, or no pointer. */
static const char *const others[] = {
    "gcb_status_text",         "gcb_version",
    "gcb_encoder_close",       "gcb_encoder_bound",
    "gcb_encoder_length",      "gcb_encoder_kept_bytes",
    "gcb_decoder_close",       "gcb_decoder_elements",
    "gcb_sum_close",           "gcb_exchange_close",
    "gcb_reduction_size",      "gcb_reduction_combine",
    "gcb_exchange_kept_bytes", "gcb_device_encoder_close",
    "gcb_device_slot_bytes",   "gcb_device_scratch_bytes",
};

static void refused(void **state)
{
    const float y[N] = {7.0f};
    struct gcb_diag diag;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int null = 0; null < rows[i].pointers; null++) {
            diag.text[0] = '\0';
            if (rows[i].call(null, &diag) != GCB_E_INVALID || !strstr(diag.text, "is NULL"))
                fail_msg("%s, pointer %d: %s", rows[i].name, null, diag.text);
            assert_int_equal(rows[i].call(null, NULL), GCB_E_INVALID);
        }
    assert_memory_equal(f.y, y, sizeof(y));
}

/* After the refusals above, the step of the exchange goes on, and the other objects are as
 * before. */
static void nothing_has_changed(void **state)
{
    char message[ROOM];
    size_t length;

    assert_int_equal(exchange_receive(-1, NULL), 0);
    assert_int_equal(exchange_next(-1, NULL), 0);
    assert_int_equal(exchange_finish(-1, NULL), 0);
    assert_int_equal(gcb_encode(f.encoder, 0, 0, f.x, message, ROOM, &length, NULL), 0);
    assert_int_equal(length, f.length);
    assert_memory_equal(message, f.message, length);
    assert_int_equal(sum_add(-1, NULL), 0);
    assert_int_equal(sum_finish(-1, NULL), 0);
    assert_true(f.y[0] == 3.0f);
    assert_int_equal(decode(-1, NULL), 0);
    assert_true(f.y[0] == 3.0f);
}

static void numbers_are_0(void **state)
{
    float one = 1.0f;

    assert_int_equal(gcb_encoder_bound(NULL), 0);
    assert_int_equal(gcb_encoder_length(NULL), 0);
    assert_int_equal(gcb_encoder_kept_bytes(NULL), 0);
    assert_int_equal(gcb_decoder_elements(NULL), 0);
    assert_int_equal(gcb_exchange_kept_bytes(NULL), 0);
    gcb_reduction_combine(GCB_SUM_F32, NULL, &one, sizeof(one));
    gcb_reduction_combine(GCB_SUM_F32, &one, NULL, sizeof(one));
    assert_true(one == 1.0f);
    gcb_encoder_close(NULL);
    gcb_decoder_close(NULL);
    gcb_sum_close(NULL);
    gcb_exchange_close(NULL);
}

/* An array without elements, or without bytes, may be NULL. */
static void empty_arrays(void **state)
{
    struct gcb_round round = {.size = sizeof(round)};
    struct gcb_exchange *exchange;
    struct gcb_encoder *e;
    struct gcb_decoder *d;
    struct gcb_sum *s;
    char message[ROOM];
    size_t length;

    assert_int_equal(gcb_encoder_open(&e, "topk", 0, NULL, NULL), 0);
    assert_int_equal(gcb_decoder_open(&d, "topk", 0, NULL, NULL), 0);
    assert_int_equal(gcb_sum_open(&s, "topk", 0, NULL, NULL, NULL), 0);
    assert_int_equal(gcb_encode(e, 0, 0, NULL, NULL, 0, &length, NULL), GCB_E_NOSPACE);
    assert_int_equal(gcb_encode(e, 0, 0, NULL, message, ROOM, &length, NULL), 0);
    assert_int_equal(gcb_decode(d, message, length, NULL, NULL), 0);
    assert_int_equal(gcb_decode(d, NULL, 0, NULL, NULL), GCB_E_CORRUPT);
    assert_int_equal(gcb_sum_add(s, NULL, 0, 1.0f, NULL), GCB_E_CORRUPT);
    assert_int_equal(gcb_sum_finish(s, NULL, NULL), 0); /* nothing was added */
    assert_int_equal(gcb_sum_add(s, message, length, 1.0f, NULL), 0);
    assert_int_equal(gcb_sum_finish(s, NULL, NULL), 0);
    gcb_reduction_combine(GCB_SUM_F32, NULL, NULL, 0);
    gcb_encoder_close(e);
    gcb_decoder_close(d);
    gcb_sum_close(s);

    assert_int_equal(gcb_exchange_open(&exchange, "topk", 0, NULL, NULL), 0);
    assert_int_equal(gcb_exchange_begin(exchange, 0, NULL, NULL), 0);
    assert_int_equal(gcb_exchange_next(exchange, &round, NULL), 1);
    assert_int_equal(gcb_exchange_receive(exchange, 0, round.data, round.bytes, NULL), 0);
    assert_int_equal(gcb_exchange_next(exchange, &round, NULL), 0);
    assert_int_equal(gcb_exchange_finish(exchange, NULL, NULL), 0);
    gcb_exchange_close(exchange);
}

/* Every exported function is in a table above. */
static void all_functions_are_tried(void **state)
{
    FILE *map = fopen(*state, "r");
    unsigned seen = 0;
    char line[128], name[64];

    assert_non_null(map);
    while (fgets(line, sizeof(line), map)) {
        bool tried = false;

        if (sscanf(line, " %63[a-z_0-9];", name) != 1 || strncmp(name, "gcb_", 4) != 0)
            continue;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            tried |= strcmp(name, rows[i].name) == 0;
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
            tried |= strcmp(name, others[i]) == 0;
        if (!tried)
            fail_msg("%s is not tried", name);
        seen++;
    }
    fclose(map);
    assert_int_equal(seen, sizeof(rows) / sizeof(rows[0]) + sizeof(others) / sizeof(others[0]));
}

static int open_all(void **state)
{
    return gcb_encoder_open(&f.encoder, "topk:theta=0.9", N, NULL, NULL) ||
           gcb_decoder_open(&f.decoder, "topk:theta=0.9", N, NULL, NULL) ||
           gcb_sum_open(&f.sum, "topk:theta=0.9", N, NULL, NULL, NULL) ||
           gcb_exchange_open(&f.exchange, "topk:theta=0.9,memory=ef", N, NULL, NULL) ||
           gcb_encode(f.encoder, 0, 0, f.x, f.message, ROOM, &f.length, NULL) ||
           gcb_exchange_begin(f.exchange, 0, f.x, NULL) ||
           gcb_exchange_next(f.exchange, &f.round, NULL) != 1;
}

static int close_all(void **state)
{
    gcb_encoder_close(f.encoder);
    gcb_decoder_close(f.decoder);
    gcb_sum_close(f.sum);
    gcb_exchange_close(f.exchange);
    return 0;
}

/* The argument is src/lib/libgcbench.map. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(all_functions_are_tried, argc > 1 ? argv[1] : NULL),
        cmocka_unit_test(refused),
        cmocka_unit_test(nothing_has_changed),
        cmocka_unit_test(numbers_are_0),
        cmocka_unit_test(empty_arrays),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
