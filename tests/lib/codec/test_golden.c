/*
 * Golden messages of version 1. A message that stands in golden_v1/CODEC.txt decodes to the same
 * values for ever, and the encoder still writes the same bytes. For transforms and codecs of
 * library math both hold within a tolerance: FFTW made these messages. Our own transforms have rows
 * of digests, which hold exactly.
 *
 *   test_golden FOLDER          checks the messages of tests/lib/codec/golden_v1
 *   test_golden FOLDER SPEC N   appends a message of N elements; rows that are there never change
 *   test_golden FOLDER SPEC N digest   the same, as digests
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include <xxhash.h>

#include "src/lib/sparse/stages.h"
#include "tests/support/trip.h"

#define MOST 512 /* elements */
#define ROWS 256

struct golden {
    char spec[256];
    struct gcb_method method;
    uint64_t n;
    size_t length;
    uint8_t message[4096];
    float values[MOST]; /* decoded */
    bool digests;       /* instead of both there is their XXH64: */
    uint64_t digest[2];
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

static FILE *open_table(const char *folder, const struct gcb_codec *codec, const char *mode)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s.txt", folder, codec->name);
    return fopen(path, mode);
}

static bool parse_row(struct golden *g, const char *message, const char *values)
{
    g->digests = sscanf(message, "xxh64:%" SCNx64, &g->digest[0]) == 1;
    if (gcb_method_parse(&g->method, g->spec, NULL))
        return false;
    if (g->digests)
        return sscanf(values, "xxh64:%" SCNx64, &g->digest[1]) == 1;
    g->length = strlen(message) / 2;
    return strlen(values) == 2 * g->n * sizeof(float) &&
           parse_hex(g->message, message, sizeof(g->message)) &&
           parse_hex(g->values, values, sizeof(g->values));
}

/* A row is a spec and a number of elements, the message, and the values that it decodes to, in hex
 * or as digests. */
static bool read_table(const char *folder, const struct gcb_codec *codec)
{
    FILE *table = open_table(folder, codec, "r");
    char message[8192], values[8192];
    struct golden *const first = golden + golden_count, *g = first;

    while (table && golden_count < ROWS &&
           fscanf(table, "%255s %" SCNu64 " %8191s %8191s", g->spec, &g->n, message, values) == 4) {
        if (!parse_row(g, message, values))
            break;
        g = &golden[++golden_count];
    }
    if (g == first || !feof(table))
        fprintf(stderr,
                "%s/%s.txt: golden message %zu is missing or damaged; "
                "`test_golden %s %s 40` adds one\n",
                folder, codec->name, (size_t)(g - first) + 1, folder, codec->name);
    return g > first && feof(table) && !fclose(table);
}

static void print_hex(FILE *out, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%02x", ((const uint8_t *)bytes)[i]);
    fputc('\n', out);
}

static int add_row(const char *folder, const char *spec, uint64_t n, bool digests)
{
    struct gcb_method m;
    FILE *table = gcb_method_parse(&m, spec, NULL) ? NULL : open_table(folder, m.codec, "a");
    float *x = calloc(n ? n : 1, sizeof(*x));
    struct trip t = {0};

    if (!table || (n > MOST && !digests)) {
        fprintf(stderr, "%s: not a method, or more than %d elements\n", spec, MOST);
        return 1;
    }
    fill(x, n);
    trip_run(&t, spec, x, n, &options);
    fprintf(table, "%s %" PRIu64 "\n", spec, n);
    if (digests) {
        fprintf(table, "xxh64:%016" PRIx64 "\nxxh64:%016" PRIx64 "\n",
                (uint64_t)XXH64(t.message, t.length, 0),
                (uint64_t)XXH64(t.back, n * sizeof(float), 0));
    } else {
        print_hex(table, t.message, t.length);
        print_hex(table, t.back, n * sizeof(float));
    }
    trip_free(&t);
    free(x);
    return fclose(table) ? 1 : 0;
}

static bool library_math(const struct golden *g)
{
    double transform = GCB_TRANSFORM_NONE;

    gcb_method_value(&g->method, "transform", &transform);
    return gcb_method_caps(&g->method) & GCB_CAP_LIBRARY_MATH || transform == GCB_TRANSFORM_FFT ||
           transform == GCB_TRANSFORM_DCT;
}

/* True if neither side takes the message of this row, because this build has no FFTW. Then both must
 * say so. */
static bool is_refused(const struct golden *g)
{
    double pad = GCB_TRANSFORM_PAD_SMOOTH, chunk = 0.0;
    struct gcb_coder_config config;
    struct gcb_kernels kernels;
    struct gcb_queue queue;
    struct gcb_coder *c = NULL;
    struct gcb_diag diag[2];

    gcb_method_value(&g->method, "pad", &pad);
    gcb_method_value(&g->method, "chunk", &chunk);
    if (pad == GCB_TRANSFORM_PAD_SMOOTH || !trip_lacks_fftw(g->n, (uint64_t)chunk))
        return false;
    trip_configure(&config, &queue, &kernels, &options, g->n);
    assert_int_equal(gcb_coder_create(&c, &g->method, &config, &diag[0]), GCB_E_UNSUPPORTED);
    assert_int_equal(gcb_coder_create_decoder(&c, g->message, g->length, &config, &diag[1]),
                     GCB_E_UNSUPPORTED);
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(diag[i].text, "FFTW"));
    return true;
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
        struct trip t = {.n = g->n, .length = g->length};

        if (g->digests || is_refused(g))
            continue;
        t.message = malloc(g->length);
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
        float *x;
        struct trip t = {0};

        if (is_refused(g))
            continue;
        x = calloc(g->n ? g->n : 1, sizeof(*x));
        fill(x, g->n);
        trip_run(&t, g->spec, x, g->n, &options);
        free(x);
        if (g->digests) {
            if (XXH64(t.message, t.length, 0) != g->digest[0] ||
                XXH64(t.back, g->n * sizeof(float), 0) != g->digest[1])
                fail_msg("%s of %u elements: another message than before, or other values", g->spec,
                         (unsigned)g->n);
            trip_free(&t);
            continue;
        }
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
    bool has = false;

    for (size_t i = 0; i < golden_count; i++)
        has |= golden[i].method.codec == codec && golden[i].method.value[row] == value;
    return has;
}

static void every_choice_on_the_wire_has_one(void **state)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
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
    const struct gcb_codec *codec;

    if (argc == 4 || argc == 5)
        return add_row(argv[1], argv[2], strtoul(argv[3], NULL, 10), argc == 5);
    for (size_t i = 0; (codec = gcb_codec_at(i)); i++)
        if (argc != 2 || !read_table(argv[1], codec))
            return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
