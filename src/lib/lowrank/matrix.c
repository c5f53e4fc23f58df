#include "src/lib/lowrank/matrix.h"

#include <limits.h>
#include <math.h>

#include "src/lib/lowrank/blas.h"

/* Share of a vector's length. Rounding to float32 leaves about this much of a vector that depends
 * on others. */
#define DEPENDENT 1e-7

/* A block has about BLOCK elements of the tensor, but at least ROWS_LEAST rows or COLUMNS_LEAST
 * columns. Blocks at the end of the matrix may have fewer. */
#define BLOCK ((uint64_t)1 << 18)
#define ROWS_LEAST ((uint64_t)64)
#define COLUMNS_LEAST ((uint64_t)512)

struct gcb_matrix gcb_matrix_of(uint64_t count, uint64_t cols)
{
    return (struct gcb_matrix){
        .rows = count / cols + (count % cols != 0), .cols = cols, .tail = count % cols};
}

bool gcb_matrix_fits(const struct gcb_matrix *m)
{
    return m->rows <= INT_MAX && m->cols <= INT_MAX;
}

/* The least integer whose square is at least n < 2^62. */
static uint64_t side_of(uint64_t n)
{
    uint64_t side = (uint64_t)sqrt((double)n);

    while (side * side < n)
        side++;
    while (side && (side - 1) * (side - 1) >= n)
        side--;
    return side;
}

uint64_t gcb_matrix_columns(const struct gcb_codec_env *env)
{
    struct gcb_matrix m;

    if (env->count == 0 || (env->shape && env->rank < 2))
        return 0;
    m = gcb_matrix_of(env->count, env->shape ? env->count / env->shape[0] : side_of(env->count));
    return gcb_matrix_fits(&m) ? m.cols : 0;
}

/* ---- products ---- */

/* A product of matrices. The fields m, p and q are the operands; one of them is NULL. */
struct product_job {
    const struct gcb_factors *f;
    const float *m, *p, *q;
    float *out;
    float weight;
    uint64_t block; /* rows or columns of a block */
};

/* Number of rows (or columns) in a block, if a row (column) has `other_side` elements. */
static uint64_t block_length(uint64_t other_side, uint64_t least)
{
    return BLOCK / other_side > least ? BLOCK / other_side : least;
}

static uint64_t full_rows(const struct gcb_matrix *m)
{
    return m->rows - (m->tail != 0);
}

/* Finds the rows of block i: full rows, or only the last row if it is not full. Returns the number
 * of rows. Sets *first to the first row, and *cols to the number of elements in each row. */
static int rows_of_block(const struct product_job *job, uint64_t i, uint64_t *first, int *cols)
{
    const struct gcb_matrix *m = &job->f->m;
    const uint64_t full = full_rows(m), left = full - i * job->block;

    if (m->tail && i == (full + job->block - 1) / job->block) {
        *first = full;
        *cols = (int)m->tail;
        return 1;
    }
    *first = i * job->block;
    *cols = (int)m->cols;
    return (int)(left < job->block ? left : job->block);
}

static uint64_t blocks_of_rows(const struct product_job *job)
{
    const struct gcb_matrix *m = &job->f->m;

    return (full_rows(m) + job->block - 1) / job->block + (m->tail != 0);
}

static void p_of_block(void *ctx, uint64_t i)
{
    const struct product_job *job = ctx;
    const struct gcb_matrix *m = &job->f->m;
    uint64_t first;
    int cols;
    const int n = rows_of_block(job, i, &first, &cols);

    gcb_blas_multiply(&(struct gcb_product){
        .m = (int)job->f->rank,
        .n = n,
        .k = cols,
        .alpha = job->weight,
        .a = job->q,
        .lda = (int)m->cols,
        .b = job->m + first * m->cols,
        .ldb = (int)m->cols,
        .transpose_b = true,
        .c = job->out + first,
        .ldc = (int)m->rows,
    });
}

void gcb_matrix_to_p(const struct gcb_factors *f, float *p, float weight, const float *m,
                     const float *q)
{
    struct product_job job = {.f = f, .m = m, .q = q, .out = p, .weight = weight};

    job.block = block_length(f->m.cols, ROWS_LEAST);
    gcb_parallel(f->queue, blocks_of_rows(&job), p_of_block, &job);
}

static void q_of_block(void *ctx, uint64_t i)
{
    const struct product_job *job = ctx;
    const struct gcb_matrix *m = &job->f->m;
    const uint64_t first = i * job->block, full = full_rows(m);
    const uint64_t n = m->cols - first < job->block ? m->cols - first : job->block;
    struct gcb_product product = {
        .m = (int)job->f->rank,
        .n = (int)n,
        .k = (int)full,
        .alpha = job->weight,
        .a = job->p,
        .lda = (int)m->rows,
        .b = job->m + first,
        .ldb = (int)m->cols,
        .c = job->out + first,
        .ldc = (int)m->cols,
    };

    gcb_blas_multiply(&product);
    if (first >= m->tail)
        return;
    /* the last row is not full: adds its share to the first `tail` columns */
    product.n = (int)(m->tail - first < n ? m->tail - first : n);
    product.k = 1;
    product.a = job->p + full;
    product.b = job->m + full * m->cols + first;
    product.beta = 1.0f;
    gcb_blas_multiply(&product);
}

void gcb_matrix_to_q(const struct gcb_factors *f, float *q, float weight, const float *m,
                     const float *p)
{
    struct product_job job = {.f = f, .m = m, .p = p, .out = q, .weight = weight};

    job.block = block_length(f->m.rows, COLUMNS_LEAST);
    gcb_parallel(f->queue, (f->m.cols + job.block - 1) / job.block, q_of_block, &job);
}

static void rebuild_block(void *ctx, uint64_t i)
{
    const struct product_job *job = ctx;
    const struct gcb_matrix *m = &job->f->m;
    uint64_t first;
    int cols;
    const int n = rows_of_block(job, i, &first, &cols);

    gcb_blas_multiply(&(struct gcb_product){
        .m = n,
        .n = cols,
        .k = (int)job->f->rank,
        .alpha = 1.0f,
        .a = job->p + first,
        .lda = (int)m->rows,
        .transpose_a = true,
        .b = job->q,
        .ldb = (int)m->cols,
        .c = job->out + first * m->cols,
        .ldc = (int)m->cols,
    });
}

void gcb_matrix_rebuild(const struct gcb_factors *f, float *m, const float *p, const float *q)
{
    struct product_job job = {.f = f, .p = p, .q = q, .out = m};

    job.block = block_length(f->m.cols, ROWS_LEAST);
    gcb_parallel(f->queue, blocks_of_rows(&job), rebuild_block, &job);
}

/* ---- Gram-Schmidt ---- */

#define LANES 8 /* partial sums of a dot product, so that the compiler can use vectors */

static double dot(const double *a, const double *b, uint64_t n)
{
    double lane[LANES] = {0.0}, sum = 0.0;
    uint64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (unsigned k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        lane[i % LANES] += a[i] * b[i];
    for (unsigned k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

void gcb_orthonormalise(float *a, unsigned rank, uint64_t n, double *work)
{
    for (unsigned v = 0; v < rank; v++) {
        double *own = work + v * n, before, after, scale;

        for (uint64_t i = 0; i < n; i++)
            own[i] = (double)a[v * n + i];
        before = sqrt(dot(own, own, n));
        for (unsigned u = 0; u < v; u++) {
            const double *other = work + u * n, along = dot(own, other, n);

            for (uint64_t i = 0; i < n; i++)
                own[i] -= along * other[i];
        }
        after = sqrt(dot(own, own, n));
        scale = after > DEPENDENT * before ? 1.0 / after : 0.0;
        for (uint64_t i = 0; i < n; i++) {
            own[i] *= scale;
            a[v * n + i] = (float)own[i];
        }
    }
}
