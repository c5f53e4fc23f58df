/*
 * Golden messages of version 1. A message that stands in golden_v1.h decodes to the same values for ever, and the
 * encoder still writes the same bytes. For codecs of library math both hold within a tolerance.
 *
 *   test_golden --make FILE    appends to FILE (tests/lib/codec/golden_v1.h) a row for each spec in `wanted` that has
 *                              none; the rows that are there stay as they are
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/trip.h"

struct golden {
    const char *spec;
    uint64_t n;
    const char *message, *values; /* in hex; values are the float32 that are decoded */
};

static const struct golden golden[] = {
#include "tests/lib/codec/golden_v1.h"
};
#define GOLDEN (sizeof(golden) / sizeof(*golden))

/* Every codec, and every choice that is on the wire, needs a spec here. */
static const struct {
    const char *spec;
    uint64_t n;
} wanted[] = {
    {"identity", 5},
    {"fp16", 9},
    {"bf16", 9},
    {"range", 24},
    {"range:bits=5,mantissa=2,rounding=truncate", 24},
    {"range:bits=11,max=1", 24},
    {"qsgd", 40},
    {"qsgd:bits=2,bucket=8,norm=l2", 40},
    {"qsgd:levels=5,bucket=16", 40},
    {"qsgd:coding=elias", 40},
    {"qsgd:levels=300,coding=elias", 40},
    {"qsgd:bits=2,norm=l2,coding=elias-sparse", 40},
    {"terngrad", 40},
    {"terngrad:clip=0,packing=base3", 40},
    {"natural", 40},
    {"randomk", 40},
    {"countsketch:theta=0.8", 40},
    {"signsgd", 40},
    {"signsgd:scale=mean,bucket=16", 40},
    {"powersgd", 200},
    {"powersgd:rank=2", 77},
    {"topk", 40},
    {"topk:theta=0.6,values=fp16,index=varint", 64},
    {"topk:theta=0.6,values=range,bits=6,index=bitmap", 64},
    {"topk:theta=0.7,values=range,bits=9,mantissa=4,rounding=truncate,index=golomb", 64},
    {"topk:theta=0", 3}, /* stored */
    {"fft", 48},
    {"fft:theta=0.5,values=fp32,index=u32,chunk=20", 48},
    {"fft:theta=0.7,values=fp16,index=golomb", 37},
    {"sparse:theta=0.6,transform=dct,chunk=20,values=fp32,index=bitmap", 48},
    {"fft:theta=0.6,pad=smooth", 47},
    {"sparse:theta=0.6,transform=dct,chunk=20,pad=smooth,values=fp32,index=bitmap", 53},
    {"sparse:theta=0.6,transform=hadamard,chunk=16,values=fp32,index=bitmap", 48},
    {"sparse:theta=0.6,values=uniform,index=bitmap", 64},
    {"sbc:p=0.1", 64},
    {"stc:p=0.1", 64},
    {"sparse:theta=0.6,values=means,index=varint", 64},
    {"topk:theta=0.7,index=adaptive", 200},
    {"topk:theta=0.7,index=elias-fano", 200},
    {"topk:theta=0.7,index=block", 200},
    {"sparse:theta=0.83,select=chunk,chunk=24,values=sign-mean,index=adaptive", 400},
};
#define MOST 512 /* elements */
#define WANTED (sizeof(wanted) / sizeof(*wanted))

static const struct trip_options options = {
    .seed = 7, .step = 3, .worker = 1, .path = "a/b", .checksum = true};

/* The input: short binary fractions of both signs, some equal, some zero. */
static void fill(float *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = i % 11 == 5 ? 0.0f : (float)((int)(i * 7919 % 2001) - 1000) / 512.0f;
}

static const struct golden *find_row(const char *spec)
{
    for (size_t i = 0; i < GOLDEN; i++)
        if (strcmp(golden[i].spec, spec) == 0)
            return &golden[i];
    return NULL;
}

static void print_hex(FILE *out, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%02x%s", i % 32 == 0 ? "     \"" : "", ((const uint8_t *)bytes)[i],
                i % 32 == 31 || i + 1 == n ? (i + 1 == n ? "\"" : "\"\n") : "");
}

static void print_row(FILE *out, const char *spec, uint64_t n)
{
    float x[MOST] = {0};
    struct trip t = {0};

    fill(x, n);
    trip_run(&t, spec, x, n, &options);
    fprintf(out, "    {\"%s\", %u,\n", spec, (unsigned)n);
    print_hex(out, t.message, t.length);
    fprintf(out, ",\n");
    print_hex(out, t.back, n * sizeof(float));
    fprintf(out, "},\n");
    trip_free(&t);
}

/* Is there a row of this spec in the table's text? The program may be older than the table. */
static bool text_has_row(FILE *table, const char *spec)
{
    char line[256], start[256];
    bool found = false;

    snprintf(start, sizeof(start), "    {\"%s\", ", spec);
    rewind(table);
    while (!found && fgets(line, sizeof(line), table))
        found = strncmp(line, start, strlen(start)) == 0;
    return found;
}

static int make(const char *path)
{
    FILE *table = fopen(path, "r+"); /* it must be there: another name is a mistake */
    size_t added = 0;

    if (!table) {
        perror(path);
        return 1;
    }
    for (size_t i = 0; i < WANTED; i++) {
        if (text_has_row(table, wanted[i].spec) || fseek(table, 0, SEEK_END))
            continue;
        print_row(table, wanted[i].spec, wanted[i].n);
        added++;
    }
    printf("%zu rows added to %s\n", added, path);
    return fclose(table) ? 1 : 0;
}

static size_t parse_hex(uint8_t *out, const char *hex)
{
    const size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        unsigned v;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
        out[i] = (uint8_t)v;
    }
    return n;
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
    (void)state;
    for (size_t i = 0; i < GOLDEN; i++) {
        const struct golden *g = &golden[i];
        struct trip t = {.n = g->n, .message = malloc(strlen(g->message))};
        float values[MOST];

        t.length = parse_hex(t.message, g->message);
        assert_true(g->n <= MOST);
        assert_int_equal(parse_hex((uint8_t *)values, g->values), g->n * sizeof(float));
        assert_int_equal(gcb_message_check(t.message, t.length, 0, NULL), 0);
        trip_decode(&t, &options);
        same_values(g, t.back, values, 1e-6);
        trip_free(&t);
    }
}

static void messages_are_still_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDEN; i++) {
        const struct golden *g = &golden[i];
        uint8_t bytes[4096];
        const size_t length = parse_hex(bytes, g->message);
        float x[MOST] = {0}, values[MOST];
        struct trip t = {0};

        fill(x, g->n);
        parse_hex((uint8_t *)values, g->values);
        trip_run(&t, g->spec, x, g->n, &options);
        if (!library_math(g)) {
            if (t.length != length || memcmp(t.message, bytes, length) != 0)
                fail_msg("%s: the encoder writes another message than before, which readers of "
                         "version 1 may not expect; undo that, or give the codec a new wire id",
                         g->spec);
        }
        same_values(g, t.back, values, 1e-4);
        trip_free(&t);
    }
}

#define HOW_TO_MAKE \
    "build, run `build/tests/lib/test_golden --make tests/lib/codec/golden_v1.h`, build again"

/* Every spec has a row, and no row was lost. */
static void all_specs_are_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < WANTED; i++) {
        const struct golden *row = find_row(wanted[i].spec);

        if (!row)
            fail_msg("%s has no golden message: " HOW_TO_MAKE, wanted[i].spec);
        assert_int_equal(row->n, wanted[i].n);
    }
    if (GOLDEN != WANTED)
        fail_msg("golden_v1.h has a row whose spec is not in `wanted`: put the spec back into "
                 "test_golden.c, because messages in the world are decoded for ever");
}

/* Is there a golden message of this codec in which parameter `row` has this value? */
static bool has_choice(const struct gcb_codec *codec, size_t row, double value)
{
    struct gcb_method m;

    for (size_t i = 0; i < GOLDEN; i++) {
        assert_int_equal(gcb_method_parse(&m, golden[i].spec, NULL), 0);
        if (m.codec == codec && (!codec->params || m.value[row] == value))
            return true;
    }
    return false;
}

static void every_choice_on_the_wire_has_one(void **state)
{
    const struct gcb_codec *codec;

    (void)state;
    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        if (!codec->params && !has_choice(codec, 0, 0))
            fail_msg("codec %s has no golden message: add {\"%s\", 40} to `wanted` in "
                     "test_golden.c; " HOW_TO_MAKE,
                     codec->name, codec->name);
        for (size_t row = 0; row < gcb_param_count(codec->params); row++) {
            const struct gcb_param *p = &codec->params[row];

            for (size_t v = 0; p->type == GCB_PARAM_CHOICE && p->choices[v]; v++)
                if (p->flags & GCB_PARAM_WIRE && !has_choice(codec, row, (double)v))
                    fail_msg("%s:%s=%s has no golden message: add a spec with it to `wanted` in "
                             "test_golden.c; " HOW_TO_MAKE,
                             codec->name, p->name, p->choices[v]);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_messages_decode),
        cmocka_unit_test(messages_are_still_written),
        cmocka_unit_test(all_specs_are_there),
        cmocka_unit_test(every_choice_on_the_wire_has_one),
    };

    if (argc == 3 && strcmp(argv[1], "--make") == 0)
        return make(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
