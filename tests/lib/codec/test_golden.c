/*
 * Golden messages of version 1. A message that stands in golden_v1.txt decodes to the same values
 * for ever, and the encoder still writes the same bytes. For codecs of library math both hold
 * within a tolerance.
 *
 *   test_golden TABLE          checks the messages of tests/lib/codec/golden_v1.txt
 *   test_golden TABLE SPEC N   appends a message of N elements; rows that are there never change
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/trip.h"

#define MOST 512 /* elements */
#define ROWS 256

struct golden {
    char spec[256];
    uint64_t n;
    size_t length;
    uint8_t message[4096];
    float values[MOST]; /* decoded */
};

static struct golden golden[ROWS];
static size_t golden_count;

static const struct trip_options options = {
    .seed = 7, .step = 3, .worker = 1, .path = "a/b", .checksum = true};

/* The input: short binary fractions of both signs, some equal, some zero. */
static void fill(float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = i % 11 == 5 ? 0.0f : (float)((int)(i * 7919 % 2001) - 1000) / 512.0f;
}

static bool parse_hex(void *out, const char *hex, size_t size)
{
    const size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n && i < size; i++) {
        unsigned v;

        if (sscanf(hex + 2 * i, "%2x", &v) != 1)
            return false;
        ((uint8_t *)out)[i] = (uint8_t)v;
    }
    return n <= size;
}

/* A row is a spec and a number of elements, the message, and the values that it decodes to, in
 * hex. */
static bool read_table(const char *path)
{
    FILE *table = fopen(path, "r");
    char message[8192], values[8192];
    struct golden *g = golden;

    while (table && golden_count < ROWS &&
           fscanf(table, "%255s %" SCNu64 " %8191s %8191s", g->spec, &g->n, message, values) == 4) {
        g->length = strlen(message) / 2;
        if (strlen(values) != 2 * g->n * sizeof(float) ||
            !parse_hex(g->message, message, sizeof(g->message)) ||
            !parse_hex(g->values, values, sizeof(g->values)))
            break;
        g = &golden[++golden_count];
    }
    if (!table || !feof(table))
        fprintf(stderr, "%s: cannot be read after %zu rows\n", path, golden_count);
    return table && feof(table) && !fclose(table);
}

static void print_hex(FILE *out, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%02x", ((const uint8_t *)bytes)[i]);
    fputc('\n', out);
}

static int add_row(const char *path, const char *spec, uint64_t n)
{
    FILE *table = fopen(path, "a");
    float x[MOST] = {0};
    struct trip t = {0};

    if (!table || n > MOST) {
        perror(path);
        return 1;
    }
    fill(x, n);
    trip_run(&t, spec, x, n, &options);
    fprintf(table, "%s %" PRIu64 "\n", spec, n);
    print_hex(table, t.message, t.length);
    print_hex(table, t.back, n * sizeof(float));
    trip_free(&t);
    return fclose(table) ? 1 : 0;
}

static bool library_math(const struct golden *g)
{
    /* products by BLAS; of the sparse codec, what goes through a transform of the FFT library */
    return strncmp(g->spec, "powersgd", 8) == 0 || strncmp(g->spec, "fft", 3) == 0 ||
           strstr(g->spec, "transform=fft") || strstr(g->spec, "transform=dct") ||
           strncmp(g->spec, "dct", 3) == 0;
}

/* Equal; with library math, within this share of the norm. */
static void same_values(const struct golden *g, const float *have, const float *want,
                        double tolerance)
{
    if (!library_math(g))
        assert_memory_equal(have, want, g->n * sizeof(float));
    assert_true(trip_distance(have, want, g->n) <= tolerance * tolerance * trip_norm(want, g->n));
}

static void golden_messages_decode(void **state)
{
    for (size_t i = 0; i < golden_count; i++) {
        const struct golden *g = &golden[i];
        struct trip t = {.n = g->n, .message = malloc(g->length), .length = g->length};

        memcpy(t.message, g->message, g->length);
        assert_int_equal(gcb_message_check(t.message, t.length, 0, NULL), 0);
        trip_decode(&t, &options);
        same_values(g, t.back, g->values, 1e-6);
        trip_free(&t);
    }
}

static void messages_are_still_written(void **state)
{
    for (size_t i = 0; i < golden_count; i++) {
        const struct golden *g = &golden[i];
        float x[MOST] = {0};
        struct trip t = {0};

        fill(x, g->n);
        trip_run(&t, g->spec, x, g->n, &options);
        if (!library_math(g)) {
            if (t.length != g->length || memcmp(t.message, g->message, g->length) != 0)
                fail_msg("%s: the encoder writes another message than before, which readers of "
                         "version 1 may not expect; undo that, or give the codec a new wire id",
                         g->spec);
        }
        same_values(g, t.back, g->values, 1e-4);
        trip_free(&t);
    }
}

/* True if there is a golden message of this codec in which parameter `row` has this value. */
static bool has_choice(const struct gcb_codec *codec, size_t row, double value)
{
    struct gcb_method m;

    for (size_t i = 0; i < golden_count; i++) {
        assert_int_equal(gcb_method_parse(&m, golden[i].spec, NULL), 0);
        if (m.codec == codec && (!codec->params || m.value[row] == value))
            return true;
    }
    return false;
}

static void every_choice_on_the_wire_has_one(void **state)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        if (!codec->params && !has_choice(codec, 0, 0))
            fail_msg("codec %s has no golden message: run this program with %s 40", codec->name,
                     codec->name);
        for (size_t row = 0; row < gcb_param_count(codec->params); row++) {
            const struct gcb_param *p = &codec->params[row];

            for (size_t v = 0; p->type == GCB_PARAM_CHOICE && p->choices[v]; v++)
                if (p->flags & GCB_PARAM_WIRE && !has_choice(codec, row, (double)v))
                    fail_msg("%s:%s=%s has no golden message: run this program with it and 40",
                             codec->name, p->name, p->choices[v]);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_messages_decode),
        cmocka_unit_test(messages_are_still_written),
        cmocka_unit_test(every_choice_on_the_wire_has_one),
    };

    if (argc == 4)
        return add_row(argv[1], argv[2], strtoul(argv[3], NULL, 10));
    if (argc != 2 || !read_table(argv[1]))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
