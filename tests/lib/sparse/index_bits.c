/*
 * Bits per position of each index coder on gradients from HDF5 files, as in docs/codecs/index.md. There is one message
 * for each step and worker with the whole model, or (--tensors) one for each tensor.
 *
 *   index_bits [--tensors] [--speed] FILE...
 *
 * Length field and directory are not counted, except in the column `bytes`, the mean of whole streams.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/tool/base/clock.h"
#include "tests/support/gradients.h"
#include "tests/support/positions.h"

#define MOST_CODERS 16

struct sum {
    double bits[MOST_CODERS], bytes[MOST_CODERS],
        worst[MOST_CODERS];                          /* worst: largest ratio to Golomb's bits */
    double encode[MOST_CODERS], decode[MOST_CODERS]; /* seconds */
    double kept, messages, entropy;
};

struct job {
    struct sum sum[2][2]; /* by density, by selection */
    bool tensors, speed;
};

static const double densities[] = {0.01, 0.001};

static double flag_entropy(double p)
{
    return p < 1 ? (-p * log2(p) - (1 - p) * log2(1 - p)) / p : 0;
}

/* Bytes of a stream without its length field and directory. */
static size_t stream_of(const struct gcb_index *x, const struct positions *p, size_t length)
{
    const bool blocks = x != &gcb_index_u32 && x != &gcb_index_bitmap && x != &gcb_index_block;

    return length - (blocks ? 4 + gcb_directory_bytes(p->kept) : 0);
}

static void decode_all(const struct gcb_index *x, const struct gcb_wbuf *data,
                       const struct positions *p, uint32_t *back)
{
    struct gcb_rbuf in = {.data = data->data, .len = data->len};
    struct gcb_index_cursor c = {.n = p->n, .kept = p->kept};
    int err = x->open(&c, &in);

    while (!err && c.done < c.kept) {
        const uint64_t left = c.kept - c.done;

        err = x->next(&c, back + c.done, left < GCB_TILE ? left : GCB_TILE);
    }
    if (err)
        abort();
}

/* Takes the fastest of some batches, because other load only makes a batch slower. */
static void time_coder(const struct gcb_index *x, const struct positions *p, double *encode,
                       double *decode)
{
    const unsigned times = (unsigned)(200000 / (p->kept + 1000)) + 1;
    uint32_t *back = malloc(p->kept * sizeof(*back));
    const uint64_t bound = x->bound(p->n, p->kept);
    uint8_t *data = malloc(bound);
    struct gcb_wbuf out = {.data = data, .cap = bound};
    double best[2] = {1e9, 1e9};

    for (unsigned batch = 0; batch < 30; batch++) {
        const double start = gcb_clock();
        double middle, end;

        for (unsigned i = 0; i < times; i++) {
            out.len = 0;
            x->encode(&out, p->pos, p->kept, p->n);
        }
        middle = gcb_clock();
        for (unsigned i = 0; i < times; i++)
            decode_all(x, &out, p, back);
        end = gcb_clock();
        best[0] = middle - start < best[0] ? middle - start : best[0];
        best[1] = end - middle < best[1] ? end - middle : best[1];
    }
    *encode += best[0] / times;
    *decode += best[1] / times;
    free(data);
    free(back);
}

static void add_message(struct job *job, struct sum *sum, const struct positions *p)
{
    double golomb;
    size_t length;

    free(index_encode(&gcb_index_golomb, p, &length));
    golomb = (double)stream_of(&gcb_index_golomb, p, length);
    sum->kept += (double)p->kept;
    sum->messages++;
    sum->entropy += (double)p->kept * flag_entropy((double)p->kept / (double)p->n);
    for (int c = 0; gcb_index_names[c]; c++) {
        const struct gcb_index *x = gcb_indices[c];
        double bytes;

        free(index_encode(x, p, &length));
        bytes = (double)stream_of(x, p, length);
        sum->bits[c] += 8 * bytes;
        sum->bytes[c] += (double)length;
        if (bytes / golomb > sum->worst[c])
            sum->worst[c] = bytes / golomb;
        if (job->speed)
            time_coder(x, p, &sum->encode[c], &sum->decode[c]);
    }
}

static void add_vector(struct job *job, const float *x, uint64_t n)
{
    struct positions p = {0};

    for (int d = 0; d < 2; d++) {
        const uint64_t k = gcb_kept_of(densities[d], n);

        positions_one_sided(&p, x, n, k);
        add_message(job, &job->sum[d][0], &p);
        positions_largest(&p, x, n, k);
        add_message(job, &job->sum[d][1], &p);
    }
    positions_fini(&p);
}

static void add_gradient(void *ctx, const struct gradient *g)
{
    struct job *job = ctx;

    if (!job->tensors) {
        add_vector(job, g->x, g->n);
        return;
    }
    for (size_t t = 0; t < g->tensors; t++)
        if (g->offset[t + 1] > g->offset[t])
            add_vector(job, g->x + g->offset[t], g->offset[t + 1] - g->offset[t]);
}

static void print_sum(const char *file, double density, const char *selection,
                      const struct sum *sum, bool speed)
{
    const double golomb = sum->bits[3];

    printf("\n%s, p = %g, %s: %.0f messages, %.0f positions, H(p)/p %.3f\n", file, density,
           selection, sum->messages, sum->kept, sum->entropy / sum->kept);
    printf("  %-11s %9s %11s %7s %10s\n", "coder", "bits", "of golomb's", "worst", "bytes");
    for (int c = 0; gcb_index_names[c]; c++) {
        printf("  %-11s %9.3f %11.3f %7.3f %10.1f", gcb_index_names[c], sum->bits[c] / sum->kept,
               sum->bits[c] / golomb, sum->worst[c], sum->bytes[c] / sum->messages);
        if (speed)
            printf("  encode %5.0f MB/s, decode %5.0f MB/s", 4e-6 * sum->kept / sum->encode[c],
                   4e-6 * sum->kept / sum->decode[c]);
        printf("\n");
    }
}

static int print_file(const char *file, bool tensors, bool speed)
{
    static const char *const selections[] = {"one-sided", "top-k"};
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    struct job job = {.tensors = tensors, .speed = speed};

    if (gradients_each(file, add_gradient, &job))
        return 1;
    for (int d = 0; d < 2; d++)
        for (int s = 0; s < 2; s++)
            print_sum(name, densities[d], selections[s], &job.sum[d][s], speed);
    return 0;
}

int main(int argc, char **argv)
{
    bool tensors = false, speed = false;
    int failed = argc < 2;

    for (int i = 1; i < argc && !failed; i++) {
        if (strcmp(argv[i], "--tensors") == 0)
            tensors = true;
        else if (strcmp(argv[i], "--speed") == 0)
            speed = true;
        else
            failed = print_file(argv[i], tensors, speed);
    }
    if (argc < 2)
        fprintf(stderr, "usage: index_bits [--tensors] [--speed] FILE...\n");
    return failed;
}
