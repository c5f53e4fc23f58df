/*
 * Times how long the messages of many workers take to encode and to add, for payoff_sums.py:
 *
 *     sum_messages METHOD ELEMENTS WORKERS warm|cold|changed
 *
 * Each worker has Laplace-distributed values of its own. Arrays begin on a cache line, as PyTorch's do. With warm caches
 * each tensor is encoded twice, and the second time counts. With cold caches the arrays are flushed before each encoding
 * and before each sum, as `bench --cache cold` does. With "changed", 256 MiB of other memory are changed instead, so that
 * the caches are full of lines that must be written back. Prints two medians, in seconds: over the workers' encodings, and
 * over whole sums.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gcbench.h"
#include "kernels/base/flush.h"
#include "src/lib/base/cpu_flags.h"

#define SUMS 9
#define OTHER ((size_t)1 << 28) /* bytes */
#define LINE 64

struct work {
    struct gcb_encoder *encoder;
    struct gcb_sum *sum;
    struct gcb_diag diag;
    float *x, *update;
    struct gcb_flush_fns flush; /* flush.lines is NULL: not cold */
    unsigned char *other;       /* NULL: not changed */
    void **message;
    size_t *length;
    uint64_t n;
    unsigned workers;
};

static void check(const struct work *w, int status)
{
    if (status == 0)
        return;
    fprintf(stderr, "sum_messages: %s\n", w->diag.text);
    exit(1);
}

static void *lines(size_t bytes)
{
    void *p = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);

    if (!p) {
        fputs("sum_messages: not enough memory\n", stderr);
        exit(1);
    }
    return memset(p, 0, bytes);
}

static void empty_caches(struct work *w)
{
    if (w->flush.lines) {
        w->flush.lines(w->x, w->n * sizeof(*w->x));
        w->flush.lines(w->update, w->n * sizeof(*w->update));
        for (unsigned i = 0; i < w->workers && w->message[i]; i++)
            w->flush.lines(w->message[i], w->length[i]);
    }
    for (size_t i = 0; w->other && i < OTHER; i += LINE)
        w->other[i]++;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t count)
{
    qsort(x, count, sizeof(*x), by_size);
    return (x[(count - 1) / 2] + x[count / 2]) / 2.0;
}

/* Draws a worker's values. */
static void draw(struct work *w, unsigned short seed[3])
{
    for (uint64_t i = 0; i < w->n; i++) {
        const double u = erand48(seed) - 0.5;

        w->x[i] = (float)copysign(log1p(-2.0 * fabs(u)), u);
    }
}

/* All workers encode, one after the other. Returns the median time of one. */
static double encode(struct work *w)
{
    const size_t room = gcb_encoder_bound(w->encoder);
    void *message = lines(room);
    double *took = lines(w->workers * sizeof(*took)), middle;
    unsigned short seed[3] = {1, 2, 3};

    for (unsigned worker = 0; worker < w->workers; worker++) {
        draw(w, seed);
        for (int i = w->other || w->flush.lines ? 1 : 0; i < 2; i++) {
            empty_caches(w);
            took[worker] = now();
            check(w, gcb_encode(w->encoder, 0, worker, w->x, message, room, &w->length[worker],
                                &w->diag));
            took[worker] = now() - took[worker];
        }
        w->message[worker] = memcpy(lines(w->length[worker]), message, w->length[worker]);
    }
    middle = median(took, w->workers);
    free(took);
    free(message);
    return middle;
}

/* Adds all messages, several times. Returns the median time. */
static double add(struct work *w)
{
    double took[SUMS];

    for (int i = 0; i < SUMS; i++) {
        empty_caches(w);
        took[i] = now();
        for (unsigned worker = 0; worker < w->workers; worker++)
            check(w, gcb_sum_add(w->sum, w->message[worker], w->length[worker],
                                 1.0f / (float)w->workers, &w->diag));
        check(w, gcb_sum_finish(w->sum, w->update, &w->diag));
        took[i] = now() - took[i];
    }
    return median(took, SUMS);
}

int main(int count, char **argument)
{
    struct work w = {0};

    if (count != 5) {
        fputs("usage: sum_messages METHOD ELEMENTS WORKERS warm|cold|changed\n", stderr);
        return 2;
    }
    w.n = strtoull(argument[2], NULL, 10);
    w.workers = (unsigned)strtoul(argument[3], NULL, 10);
    if (strcmp(argument[4], "cold") == 0)
        gcb_flush_init(&w.flush, gcb_cpu_detect());
    if (strcmp(argument[4], "changed") == 0 || (strcmp(argument[4], "cold") == 0 && !w.flush.lines))
        w.other = lines(OTHER);
    w.x = lines(w.n * sizeof(*w.x));
    w.update = lines(w.n * sizeof(*w.update));
    w.message = lines(w.workers * sizeof(*w.message));
    w.length = lines(w.workers * sizeof(*w.length));
    check(&w, gcb_encoder_open(&w.encoder, argument[1], w.n, NULL, &w.diag));
    check(&w, gcb_sum_open(&w.sum, argument[1], w.n, w.update, NULL, &w.diag));
    printf("%.9g ", encode(&w));
    printf("%.9g\n", add(&w));
    for (unsigned i = 0; i < w.workers; i++)
        free(w.message[i]);
    gcb_encoder_close(w.encoder);
    gcb_sum_close(w.sum);
    free(w.length);
    free(w.message);
    free(w.update);
    free(w.x);
    free(w.other);
    return 0;
}
