/*
 * The time of powersgd, next to that of its BLAS calls alone:
 *
 *   bench_powersgd [ROWS COLS RANK THREADS ROUNDS]    (4096 4096 4 1 21)
 *
 * A step is an exchange of one worker, without memory. "calls": the same products, block by block. "whole": the three
 * products, each as one call for the whole matrix. Each round runs all of them; ratios are medians over rounds. With one
 * thread, times are processor times, which other work on the machine hardly changes.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/lib/exchange/local.h"
#include "src/lib/lowrank/blas.h"
#include "src/lib/lowrank/matrix.h"

#define ROUNDS_MOST 1000

struct bench {
    int rows, cols, rank, threads;
    uint64_t count;
    float *x, *update, *p, *q;
    struct gcb_factors f;
    struct gcb_exchange *checked, *trusted;
};

static clockid_t clock_used;

static double now(void)
{
    struct timespec t;

    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(float *x, uint64_t n)
{
    uint64_t s = 1;

    for (uint64_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int32_t)(s >> 32) * 0x1p-31f;
    }
}

static double run_step(const struct bench *b, struct gcb_exchange *e)
{
    struct gcb_local local = {.workers = 1};
    const double begin = now();
    struct gcb_diag diag;

    if (gcb_exchange_begin(e, 0, b->x, &diag) || gcb_local_run(&local, &e, &diag) ||
        gcb_exchange_finish(e, b->update, &diag)) {
        fprintf(stderr, "bench_powersgd: %s\n", diag.text);
        exit(1);
    }
    gcb_local_fini(&local);
    return now() - begin;
}

static double run_calls(const struct bench *b)
{
    const double begin = now();

    gcb_blas_begin();
    gcb_matrix_to_p(&b->f, b->p, 1.0f, b->x, b->q);
    gcb_matrix_to_q(&b->f, b->q, 1.0f, b->x, b->p);
    gcb_matrix_rebuild(&b->f, b->update, b->p, b->q);
    gcb_blas_end();
    return now() - begin;
}

static double run_whole(const struct bench *b)
{
    struct gcb_product p = {.alpha = 1.0f};
    const double begin = now();

    if (b->threads == 1)
        gcb_blas_begin();
    p.m = b->rank;
    p.n = p.ldc = b->rows;
    p.k = p.lda = p.ldb = b->cols;
    p.a = b->q;
    p.b = b->x;
    p.transpose_b = true;
    p.c = b->p;
    gcb_blas_multiply(&p);
    p.n = p.ldb = p.ldc = b->cols;
    p.k = p.lda = b->rows;
    p.a = b->p;
    p.transpose_b = false;
    p.c = b->q;
    gcb_blas_multiply(&p);
    p.m = b->rows;
    p.k = b->rank;
    p.transpose_a = true;
    p.b = b->q;
    p.c = b->update;
    gcb_blas_multiply(&p);
    if (b->threads == 1)
        gcb_blas_end();
    return now() - begin;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), compare);
    return x[n / 2];
}

static struct gcb_exchange *open_exchange(const struct bench *b, enum gcb_nonfinite nonfinite)
{
    const uint64_t shape[] = {(uint64_t)b->rows, (uint64_t)b->cols};
    const struct gcb_options options = {
        .size = sizeof(options),
        .threads = b->threads,
        .shape = shape,
        .rank = 2,
        .nonfinite = nonfinite,
    };
    struct gcb_exchange *e = NULL;
    struct gcb_diag diag;
    char spec[32];

    snprintf(spec, sizeof(spec), "powersgd:rank=%d", b->rank);
    if (gcb_exchange_open(&e, spec, b->count, &options, &diag)) {
        fprintf(stderr, "bench_powersgd: %s\n", diag.text);
        exit(1);
    }
    return e;
}

static void measure(const struct bench *b, int rounds)
{
    static double seconds[4][ROUNDS_MOST], ratio[ROUNDS_MOST];
    static const char *const names[] = {"calls", "whole", "step, trusted", "step"};

    for (int i = -1; i < rounds; i++) { /* the first round warms up */
        const int r = i < 0 ? 0 : i;

        seconds[0][r] = run_calls(b);
        seconds[2][r] = run_step(b, b->trusted);
        seconds[1][r] = run_whole(b);
        seconds[3][r] = run_step(b, b->checked);
    }
    for (int m = 0; m < 4; m++) {
        double by[2];

        for (int of = 0; of < 2; of++) {
            for (int i = 0; i < rounds; i++)
                ratio[i] = seconds[m][i] / seconds[of][i];
            by[of] = median(ratio, rounds);
        }
        printf("%-14s %6.3f of calls, %6.3f of whole\n", names[m], by[0], by[1]);
    }
    for (int m = 0; m < 4; m++)
        printf("%-14s %8.3f ms\n", names[m], 1e3 * median(seconds[m], rounds));
}

int main(int argc, char **argv)
{
    const int rounds = argc > 5 ? atoi(argv[5]) : 21;
    struct bench b = {
        .rows = argc > 1 ? atoi(argv[1]) : 4096,
        .cols = argc > 2 ? atoi(argv[2]) : 4096,
        .rank = argc > 3 ? atoi(argv[3]) : 4,
        .threads = argc > 4 ? atoi(argv[4]) : 1,
    };
    const struct gcb_queue queue = {.threads = b.threads};
    uint64_t longest;

    if (b.rows < 2 || b.cols < 2 || b.rank < 1 || b.threads < 1 || rounds < 1 ||
        rounds > ROUNDS_MOST)
        return 2;
    b.count = (uint64_t)b.rows * (uint64_t)b.cols;
    longest = (uint64_t)b.rank * (uint64_t)(b.rows > b.cols ? b.rows : b.cols);
    b.f = (struct gcb_factors){
        .m = gcb_matrix_of(b.count, (uint64_t)b.cols), .rank = (unsigned)b.rank, .queue = &queue};
    b.x = malloc(b.count * sizeof(float));
    b.update = malloc(b.count * sizeof(float));
    b.p = malloc(longest * sizeof(float));
    b.q = malloc(longest * sizeof(float));
    if (!b.x || !b.update || !b.p || !b.q)
        return 1;
    clock_used = b.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    fill(b.x, b.count);
    fill(b.q, longest);
    b.trusted = open_exchange(&b, GCB_NONFINITE_TRUSTED);
    b.checked = open_exchange(&b, GCB_NONFINITE_ERROR);
    measure(&b, rounds);
    gcb_exchange_close(b.trusted);
    gcb_exchange_close(b.checked);
    free(b.x);
    free(b.update);
    free(b.p);
    free(b.q);
    return 0;
}
