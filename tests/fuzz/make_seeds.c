/*
 * make_seeds TARGET DIR: writes the seeds of a fuzz target. `decode`: a small message for each
 * method, each value of its parameters and each length; `encode`: the specs and tensors of these
 * messages; `sum`: streams of these messages and others; `exchange`: exchanges of each method by
 * each collective; `options`: each option of each command; `suite`: the shipped suites. All come
 * from the tables of the program, so a new method or option gets seeds at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/cmd.h"
#include "cli/base/optparse.h"
#include "src/gcbench.h"
#include "src/lib/codec/method.h"
#include "src/tool/run/suite.h"

#define SPEC 256
#define MESSAGES 6 /* of a stream */

static const uint64_t lengths[] = {0, 1, 7, 300, 5000}; /* the last has two blocks of symbols */
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static const char *folder, *target;
static unsigned written;
static unsigned refused;
static unsigned method_number;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "make_seeds: %s: %s\n", what, why);
    exit(1);
}

/* Heavy-tailed values, with zeros and repeated magnitudes; the same on all machines. */
static void fill(float *x, uint64_t n)
{
    uint32_t state = 12345;

    for (uint64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        const int32_t level = (int32_t)(state >> 16) % 2000 - 1000;

        x[i] = state >> 29 == 0 ? 0.0f : (float)level * (float)abs(level) * 1e-7f;
    }
}

static void write_file(const char *name, uint64_t n, int checksum, const void *data, size_t size)
{
    char path[4096];
    FILE *file;

    if ((size_t)snprintf(path, sizeof(path), "%s/%03u-%s-%llu%s", folder, written, name,
                         (unsigned long long)n, checksum ? "-checked" : "") >= sizeof(path))
        fail(folder, "name too long");
    file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        fail(path, "cannot be written");
    written++;
}

/* A seed must decode, or the fuzzer would never get past the header. */
static void check_seed(const char *spec, const void *message, size_t length, float *x)
{
    struct gcb_decoder *decoder;
    struct gcb_diag diag;

    if (gcb_decoder_open_like(&decoder, message, length, NULL, &diag) ||
        gcb_decode(decoder, message, length, x, &diag))
        fail(spec, diag.text);
    gcb_decoder_close(decoder);
}

/* An input of fuzz_encode.c: options, the spec, the tensor. */
static void write_tensor(const char *name, const char *spec, uint64_t n, int checksum,
                         const float *x)
{
    const size_t head = strlen(spec) + 2, size = head + (size_t)n * sizeof(*x);
    unsigned char *input = malloc(size);

    if (!input)
        fail(spec, "no memory");
    input[0] = (unsigned char)(checksum << 3);
    memcpy(input + 1, spec, head - 1);
    memcpy(input + head, x, (size_t)n * sizeof(*x));
    write_file(name, n, checksum, input, size);
    free(input);
}

/* Returns the message of x as worker `worker`. */
static unsigned char *encode(const char *spec, uint64_t n, int checksum, uint32_t worker,
                             const float *x, size_t *length)
{
    const struct gcb_options options = {.size = sizeof(options), .checksum = checksum};
    struct gcb_encoder *encoder;
    struct gcb_diag diag;
    unsigned char *message;

    if (gcb_encoder_open(&encoder, spec, n, &options, &diag))
        fail(spec, diag.text);
    message = malloc(gcb_encoder_bound(encoder));
    if (!message)
        fail(spec, "no memory");
    if (gcb_encode(encoder, 3, worker, x, message, gcb_encoder_bound(encoder), length, &diag))
        fail(spec, diag.text);
    gcb_encoder_close(encoder);
    return message;
}

/* An input of fuzz_sum.c: options, the number of a method, and messages in changing order: three of
 * the method, of which one has a changed byte, one raw, and two of another method. */
static void write_stream(const char *name, const char *spec, uint64_t n, int checksum,
                         const float *x)
{
    const char *const specs[MESSAGES] = {"topk:theta=0", spec, "fft:chunk=64,index=golomb",
                                         "fft:chunk=64", spec, spec};
    unsigned char *input = malloc(2 + MESSAGES * (3 + UINT16_MAX));
    size_t size = 2;

    if (!input)
        fail(spec, "no memory");
    input[0] = (unsigned char)written;
    input[1] = (unsigned char)method_number;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        const unsigned which = (i + written / 4) % MESSAGES;
        size_t length;
        unsigned char *message = encode(specs[which], n, checksum, i, x, &length);

        if (length > UINT16_MAX)
            fail(spec, "the message is too long");
        if (which == 1) /* within the parameters and the start of the payload, if there are any */
            message[(16 + written % 16) % length] ^= 0x55;
        input[size] = (unsigned char)(i + written);
        input[size + 1] = (unsigned char)length;
        input[size + 2] = (unsigned char)(length >> 8);
        memcpy(input + size + 3, message, length);
        size += 3 + length;
        free(message);
    }
    write_file(name, n, checksum, input, size);
    free(input);
}

/* True if this build has no FFTW, and such messages need it. */
static bool lacks_fftw(const char *spec, uint64_t n)
{
    struct gcb_encoder *encoder = NULL;
    const int err = gcb_encoder_open(&encoder, spec, n, NULL, NULL);

    gcb_encoder_close(encoder);
    return err == GCB_E_UNSUPPORTED;
}

static void write_seed(const char *name, const char *spec, uint64_t n, int checksum)
{
    float *x = calloc((size_t)n + 1, sizeof(*x));
    unsigned char *message;
    size_t length;

    if (!x)
        fail(spec, "no memory");
    fill(x, n);
    if (strcmp(target, "encode") == 0) {
        write_tensor(name, spec, n, checksum, x);
    } else if (lacks_fftw(spec, n)) {
        refused++;
    } else if (strcmp(target, "sum") == 0) {
        write_stream(name, spec, n, checksum, x);
    } else {
        message = encode(spec, n, checksum, 1, x, &length);
        check_seed(spec, message, length, x);
        write_file(name, n, checksum, message, length);
        free(message);
    }
    free(x);
}

static void write_lengths(const struct gcb_method *m)
{
    char spec[SPEC];

    gcb_method_spec(spec, sizeof(spec), m, GCB_SPEC_FULL);
    for (size_t i = 0; i < LENGTHS; i++)
        write_seed(m->name, spec, lengths[i], 0);
}

/* One parameter set, the others at their defaults: writes a seed if the combination is valid. */
static void write_variant(const struct gcb_method *m, const char *key, const char *value)
{
    struct gcb_method variant = *m;
    struct gcb_diag diag;

    if (gcb_method_set(&variant, key, value, &diag) || gcb_method_check(&variant, &diag)) {
        refused++;
        return;
    }
    write_lengths(&variant);
}

static void write_method(const struct gcb_method *m)
{
    const struct gcb_param *table = m->codec->params;
    char text[40];

    write_lengths(m);
    write_seed(m->name, m->name, 300, 1);
    for (size_t row = 0; table && table[row].name; row++) {
        for (size_t c = 0; table[row].choices && table[row].choices[c]; c++)
            write_variant(m, table[row].name, table[row].choices[c]);
        if (table[row].type == GCB_PARAM_TILE) {
            struct gcb_method other = *m;

            gcb_method_set(&other, "transform", "haar", NULL);
            gcb_method_set(&other, "factor-bits", "5", NULL);
            write_variant(&other, table[row].name, "12x20");
            if (gcb_method_set(&other, "bits-per-element", "2", NULL) == 0)
                write_variant(&other, table[row].name, "12x20");
        }
        if (!gcb_param_is_text(&table[row]) && !(table[row].flags & GCB_PARAM_OPEN_MAX))
            write_variant(m, table[row].name, gcb_param_text(text, &table[row], table[row].min));
    }
}

static void write_methods(void)
{
    struct gcb_method method;

    for (method_number = 0; gcb_method_at(&method, method_number); method_number++)
        write_method(&method);
}

/* Inputs of fuzz_exchange.c: what happens to the arrays that worker 0 gets is nothing, or a change
 * far in each array. */
static void write_exchanges(void)
{
    struct gcb_method m;

    for (method_number = 0; gcb_method_at(&m, method_number); method_number++)
        for (unsigned c = 0; c < GCB_COLLECTIVES; c++)
            for (size_t i = 0;
                 gcb_method_collectives(&m) & GCB_COLLECTIVE_BIT(c) && i < LENGTHS - 1; i++) {
                unsigned char input[64] = {
                    (unsigned char)(written * 7), (unsigned char)method_number, (unsigned char)c,
                    (unsigned char)lengths[i], (unsigned char)(lengths[i] >> 8)};

                for (size_t at = 5; i % 2 && at + 4 <= sizeof(input); at += 4) {
                    input[at] = 2;
                    input[at + 1] = (unsigned char)(written + at);
                    input[at + 3] = 0x41;
                }
                write_file(m.name, lengths[i], 0, input, sizeof(input));
            }
}

/* Each option of each command, with a value that its type allows. */
static void write_options(void)
{
    char line[256];
    const struct cmd *cmd;

    for (size_t i = 0; (cmd = cmd_at(i)); i++)
        for (const struct opt_group *g = cmd->spec.groups; g && g->rows; g++)
            for (const struct opt_row *row = g->rows; row->name; row++) {
                const char *value = !opt_metavar(row) ? ""
                                    : row->choices    ? row->choices[0]
                                    : row->type == OPT_TIME || row->type == OPT_DURATION ? "1.5s"
                                                                                         : "30";

                snprintf(line, sizeof(line), "%s\n--%s%s%s\nx.h5", cmd->name, row->name,
                         value[0] ? "\n" : "", value);
                write_file(row->name, i, 0, line, strlen(line));
            }
}

static void write_suites(void)
{
    for (const struct gcb_suite_text *suite = gcb_suite_texts; suite->name; suite++)
        write_file(suite->name, 0, 0, suite->text, strlen(suite->text));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *target;
        void (*write)(void);
    } rows[] = {{"decode", write_methods},     {"encode", write_methods},
                {"exchange", write_exchanges}, {"options", write_options},
                {"suite", write_suites},       {"sum", write_methods}};

    for (size_t i = 0; argc == 3 && i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(argv[1], rows[i].target) == 0) {
            target = argv[1];
            folder = argv[2];
            rows[i].write();
            printf("%u seeds in %s; %u combinations are refused\n", written, folder, refused);
            return 0;
        }
    fprintf(stderr, "usage: make_seeds decode|encode|exchange|options|suite|sum DIR\n");
    return 2;
}
