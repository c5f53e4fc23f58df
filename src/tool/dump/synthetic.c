#include "src/tool/dump/synthetic.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kernels/philox/philox_elem.h"
#include "src/lib/base/text.h"

#define PI 3.14159265358979323846
#define SCALE 0.01   /* about what the gradients of a trained layer come to */
#define LARGEST 1e30 /* keeps heavy tails finite in float32, and their squares in double */

/* A distribution: its name on the command line, and its parameter if it has one. */
static const struct dist_row {
    const char *name;
    enum gcb_dist dist;
    const char *key;
    double least, most;
    bool open; /* the ends do not belong to the range */
} rows[] = {
    {.name = "normal", .dist = GCB_DIST_NORMAL},
    {.name = "laplace", .dist = GCB_DIST_LAPLACE},
    {"student-t", GCB_DIST_STUDENT_T, "df", 0.0, 1e6, true},
    {"sparse", GCB_DIST_SPARSE, "zeros", 0.0, 1.0, false},
    {"ar", GCB_DIST_AR, "rho", -1.0, 1.0, true},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int unknown(const char *text, size_t n, struct gcb_diag *diag)
{
    const char *names[ROWS], *near;
    char name[32], shown[64];

    for (size_t i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), text);
    near = gcb_suggest(name, names, ROWS);
    return gcb_diag_set(diag, GCB_E_INVALID, "unknown distribution '%s'; %s%s%s",
                        gcb_escape(shown, sizeof(shown), name),
                        near ? "did you mean '"
                             : "known are normal, laplace, student-t, sparse, ar",
                        near ? near : "", near ? "'?" : "");
}

/* "KEY=VALUE" of a distribution that has the key. */
static int parse_value(double *out, const struct dist_row *row, const char *text,
                       struct gcb_diag *diag)
{
    const size_t n = row->key ? strlen(row->key) : 0;
    char shown[64];
    double v;

    gcb_escape(shown, sizeof(shown), text);
    if (!row->key)
        return gcb_diag_set(diag, GCB_E_INVALID, "distribution %s takes no parameter, not '%s'",
                            row->name, shown);
    if (strncmp(text, row->key, n) != 0 || text[n] != '=' || !gcb_parse_real(text + n + 1, &v))
        return gcb_diag_set(diag, GCB_E_INVALID, "distribution %s takes %s=NUMBER, not '%s'",
                            row->name, row->key, shown);
    if (v < row->least || v > row->most || (row->open && (v <= row->least || v >= row->most)))
        return gcb_diag_set(diag, GCB_E_INVALID, "%s:%s is from %g to %g%s, not '%s'", row->name,
                            row->key, row->least, row->most, row->open ? ", both excluded" : "",
                            shown);
    *out = v;
    return 0;
}

int gcb_synthetic_parse(struct gcb_synthetic *out, const char *text, struct gcb_diag *diag)
{
    struct gcb_synthetic s = {.df = 3.0, .zeros = 0.9, .rho = 0.9};
    const size_t n = strcspn(text, ":");
    const struct dist_row *row = NULL;
    double v = 0.0;
    int err;

    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == n && strncmp(rows[i].name, text, n) == 0)
            row = &rows[i];
    if (!row)
        return unknown(text, n, diag);
    s.dist = row->dist;
    if (text[n] == ':') {
        err = parse_value(&v, row, text + n + 1, diag);
        if (err)
            return err;
        s.df = s.dist == GCB_DIST_STUDENT_T ? v : s.df;
        s.zeros = s.dist == GCB_DIST_SPARSE ? v : s.zeros;
        s.rho = s.dist == GCB_DIST_AR ? v : s.rho;
    }
    *out = s;
    return 0;
}

/* In (0, 1), symmetric about 1/2. */
static double uniform(uint32_t word)
{
    return ((double)word + 0.5) * 0x1p-32;
}

/* Four standard normal values (Box and Muller, two pairs). */
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

static double laplace(uint32_t word)
{
    const double u = uniform(word) - 0.5;

    return copysign(log(1.0 - 2.0 * fabs(u)) * sqrt(0.5), u);
}

/*
 * Student's t from two uniforms, for any number of degrees of freedom: the polar method of Bailey
 * (1994). Divided by its deviation where it has one, above two degrees.
 */
static double student(double df, uint32_t radius, uint32_t angle)
{
    const double r = sqrt(df * expm1(-2.0 / df * log(uniform(radius))));
    const double t = r * cos(2.0 * PI * uniform(angle));

    if (!(fabs(t) < LARGEST))
        return copysign(LARGEST, t);
    return df > 2.0 ? t * sqrt((df - 2.0) / df) : t;
}

static void four_student(double out[4], double df, uint64_t seed, uint64_t block, uint64_t stream)
{
    for (uint64_t half = 0; half < 2; half++) {
        const struct gcb_philox_block b = gcb_philox(seed, 2 * block + half, stream);

        out[2 * half] = student(df, b.word[0], b.word[1]);
        out[2 * half + 1] = student(df, b.word[2], b.word[3]);
    }
}

static void four_sparse(double out[4], double zeros, uint64_t seed, uint64_t block, uint64_t stream)
{
    const struct gcb_philox_block coin = gcb_philox(seed, 2 * block, stream);

    four_normal(out, seed, 2 * block + 1, stream);
    for (int i = 0; i < 4; i++)
        out[i] = uniform(coin.word[i]) < zeros ? 0.0 : out[i];
}

/* Elements 4 * block and the three after it; `last` carries what an autoregressive one depends on. */
static void four(const struct gcb_synthetic *s, double out[4], double *last, uint64_t seed,
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
            if (block || i) /* the first stands for all that were before it */
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
        four(s, value, &last, seed, i / 4, stream);
        for (uint64_t j = 0; j < 4 && i + j < n; j++)
            out[i + j] = (float)(value[j] * SCALE);
    }
}
