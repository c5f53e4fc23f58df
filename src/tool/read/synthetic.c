#include "src/tool/read/synthetic.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels/philox/philox_elem.h"
#include "src/lib/base/text.h"

#define PI 3.14159265358979323846
#define SCALE 0.01   /* a typical magnitude of the gradients of a trained layer */
#define LARGEST 1e30 /* keeps heavy tails finite in float32, and their squares in double */

/* A distribution: its name on the command line, and its parameter if it has one. */
static const struct dist_row {
    const char *name;
    const char *key; /* name of the parameter; NULL if there is no parameter */
    double min, max;
    bool open;     /* min and max themselves are not allowed */
    size_t offset; /* offset of the parameter in struct gcb_synthetic */
} dist_rows[] = {
    [GCB_DIST_NORMAL] = {.name = "normal"},
    [GCB_DIST_LAPLACE] = {.name = "laplace"},
    [GCB_DIST_STUDENT_T] = {.name = "student-t",
                            .key = "df",
                            .max = 1e6,
                            .open = true,
                            .offset = offsetof(struct gcb_synthetic, df)},
    [GCB_DIST_SPARSE] = {.name = "sparse",
                         .key = "zeros",
                         .max = 1.0,
                         .offset = offsetof(struct gcb_synthetic, zeros)},
    [GCB_DIST_AR] = {.name = "ar",
                     .key = "rho",
                     .min = -1.0,
                     .max = 1.0,
                     .open = true,
                     .offset = offsetof(struct gcb_synthetic, rho)},
};
#define DIST_ROWS (sizeof(dist_rows) / sizeof(dist_rows[0]))

/* Fails because there is no distribution of this name, which is the first n bytes of `text`. */
static int fail_unknown(const char *text, size_t n, struct gcb_diag *diag)
{
    const char *names[DIST_ROWS], *near;
    char name[32];

    for (size_t i = 0; i < DIST_ROWS; i++)
        names[i] = dist_rows[i].name;
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), text);
    near = gcb_suggest(name, names, DIST_ROWS);
    return gcb_invalid(diag, "unknown distribution '%s'; %s%s%s", gcb_show(name).text,
                       near ? "did you mean '"
                            : "give one of normal, laplace, student-t, sparse, ar",
                       near ? near : "", near ? "'?" : "");
}

/* Parses the "KEY=VALUE" of a distribution, and sets that parameter in *out. */
static int parse_value(struct gcb_synthetic *out, const struct dist_row *row, const char *text,
                       struct gcb_diag *diag)
{
    const size_t n = row->key ? strlen(row->key) : 0;
    char shown[64];
    double v;

    gcb_escape(shown, sizeof(shown), text);
    if (!row->key)
        return gcb_invalid(diag, "distribution %s takes no parameter, not '%s'", row->name, shown);
    if (strncmp(text, row->key, n) != 0 || text[n] != '=' || !gcb_parse_real(text + n + 1, &v))
        return gcb_invalid(diag, "distribution %s takes %s=NUMBER, not '%s'", row->name, row->key,
                           shown);
    if (v < row->min || v > row->max || (row->open && (v <= row->min || v >= row->max)))
        return gcb_invalid(diag, "%s:%s must be from %g to %g%s, not '%s'", row->name, row->key,
                           row->min, row->max, row->open ? ", both excluded" : "", shown);
    memcpy((char *)out + row->offset, &v, sizeof(v));
    return 0;
}

int gcb_synthetic_parse(struct gcb_synthetic *out, const char *text, struct gcb_diag *diag)
{
    struct gcb_synthetic s = {.df = 3.0, .zeros = 0.9, .rho = 0.9};
    const size_t n = strcspn(text, ":");
    size_t dist = 0;
    int err = 0;

    while (dist < DIST_ROWS &&
           (strlen(dist_rows[dist].name) != n || strncmp(dist_rows[dist].name, text, n) != 0))
        dist++;
    if (dist == DIST_ROWS)
        return fail_unknown(text, n, diag);
    s.dist = (enum gcb_dist)dist;
    if (text[n] == ':')
        err = parse_value(&s, &dist_rows[dist], text + n + 1, diag);
    if (!err)
        *out = s;
    return err;
}

/* ---- drawing values ---- */

/* Returns a uniform value in (0, 1). The possible values are symmetric about 1/2. */
static double uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

/* Draws four standard normal values: two pairs by the Box-Muller method. */
static void four_normal(double out[4], uint64_t seed, uint64_t block, uint64_t stream)
{
    const struct gcb_philox_block b = gcb_philox(seed, block, stream);

    for (int i = 0; i < 4; i += 2) {
        const double r = sqrt(-2.0 * log(uniform(b.word[i])));
        const double angle = 2.0 * PI * uniform(b.word[i + 1]);

        out[i] = r * cos(angle);
        out[i + 1] = r * sin(angle);
    }
}

/* Draws a value of the Laplace distribution of variance 1 by inverting its distribution function.
 */
static double laplace(uint32_t word)
{
    const double u = uniform(word) - 0.5;

    return copysign(log(1.0 - 2.0 * fabs(u)) * sqrt(0.5), u);
}

/*
 * Draws a value of Student's t distribution from two random words, for any degrees of freedom, by
 * Bailey's polar method (1994). Above two degrees of freedom the distribution has a standard
 * deviation, by which the value is divided. A value beyond LARGEST becomes LARGEST with its sign.
 */
static double student(double df, uint32_t radius, uint32_t angle)
{
    const double r = sqrt(df * expm1(-2.0 / df * log(uniform(radius))));
    const double t = r * cos(2.0 * PI * uniform(angle));

    if (!(fabs(t) < LARGEST))
        return copysign(LARGEST, t);
    return df > 2.0 ? t * sqrt((df - 2.0) / df) : t;
}

/* Draws four values from two Philox blocks, because each value needs two words. */
static void four_student(double out[4], double df, uint64_t seed, uint64_t block, uint64_t stream)
{
    for (uint64_t half = 0; half < 2; half++) {
        const struct gcb_philox_block b = gcb_philox(seed, 2 * block + half, stream);

        out[2 * half] = student(df, b.word[0], b.word[1]);
        out[2 * half + 1] = student(df, b.word[2], b.word[3]);
    }
}

/* Draws four values. The first of two Philox blocks decides which values are 0, and the second
 * gives the normal values. */
static void four_sparse(double out[4], double zeros, uint64_t seed, uint64_t block, uint64_t stream)
{
    const struct gcb_philox_block coin = gcb_philox(seed, 2 * block, stream);

    four_normal(out, seed, 2 * block + 1, stream);
    for (int i = 0; i < 4; i++)
        out[i] = uniform(coin.word[i]) < zeros ? 0.0 : out[i];
}

/* Draws the elements 4 * block to 4 * block + 3. *last is the element before them, which only `ar`
 * uses and updates. */
static void four_values(const struct gcb_synthetic *s, double out[4], double *last, uint64_t seed,
                        uint64_t block, uint64_t stream)
{
    struct gcb_philox_block b;

    switch (s->dist) {
    case GCB_DIST_LAPLACE:
        b = gcb_philox(seed, block, stream);
        for (int i = 0; i < 4; i++)
            out[i] = laplace(b.word[i]);
        break;
    case GCB_DIST_STUDENT_T:
        four_student(out, s->df, seed, block, stream);
        break;
    case GCB_DIST_SPARSE:
        four_sparse(out, s->zeros, seed, block, stream);
        break;
    case GCB_DIST_AR:
        four_normal(out, seed, block, stream);
        for (int i = 0; i < 4; i++) {
            if (block || i) /* the first element has no predecessor */
                out[i] = s->rho * *last + sqrt(1.0 - s->rho * s->rho) * out[i];
            *last = out[i];
        }
        break;
    default:
        four_normal(out, seed, block, stream);
    }
}

void gcb_synthetic_fill(const struct gcb_synthetic *s, float *out, uint64_t n, uint64_t seed,
                        uint64_t stream)
{
    double value[4], last = 0.0;

    for (uint64_t i = 0; i < n; i += 4) {
        four_values(s, value, &last, seed, i / 4, stream);
        for (uint64_t j = 0; j < 4 && i + j < n; j++)
            out[i + j] = (float)(value[j] * SCALE);
    }
}
