#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/sparse/stages.h"

/*
 * ---- fit: curves through the sorted values (DeepReduce, Xu et al. 2021) ----
 *
 * The values, in ascending order, are cut into up to GCB_FIT_PIECES pieces. Polynomials of degree 5
 * (less for fewer than six values) are fitted to the pieces by least squares, in Legendre's basis,
 * over u from -1 to 1. Each value is sent as its rank, from which the decoder computes it.
 *
 * Scale: for each piece the rank at which it ends (uint32) and its coefficients (float32).
 */

#define TERMS GCB_FIT_TERMS
#define LARGEST 0x1p125f /* largest coefficient: the sum of six is finite */

struct gcb_fit_scratch {
    uint64_t n;       /* values so far */
    uint64_t *pair;   /* `ascending` of a value << 32 | its number; sorted by put_scale */
    uint64_t *rank;   /* by the value's number; scratch of the sort */
    uint64_t written; /* ranks that gcb_fit_put has written */
};

struct gcb_fit_scratch *gcb_fit_create(uint64_t most)
{
    struct gcb_fit_scratch *s = gcb_alloc_zero(1, sizeof(*s));

    if (!s)
        return NULL;
    s->pair = gcb_alloc_array(most, sizeof(*s->pair));
    s->rank = gcb_alloc_array(most, sizeof(*s->rank));
    if (s->pair && s->rank)
        return s;
    gcb_fit_destroy(s);
    return NULL;
}

void gcb_fit_destroy(struct gcb_fit_scratch *s)
{
    if (!s)
        return;
    gcb_free(s->pair);
    gcb_free(s->rank);
    gcb_free(s);
}

/* A number that ascends with x. */
static uint32_t ascending(float x)
{
    const uint32_t u = gcb_bits_of(x);

    return u >> 31 ? ~u : u | 0x80000000u;
}

static double value_of(uint64_t pair)
{
    const uint32_t u = (uint32_t)(pair >> 32);

    return (double)gcb_float_of(u >> 31 ? u & 0x7fffffffu : ~u);
}

void gcb_fit_measure(struct gcb_values_state *v, const float *x, size_t n)
{
    struct gcb_fit_scratch *s = v->fit;

    if (v->count == 0)
        s->n = s->written = 0;
    for (size_t i = 0; i < n; i++, s->n++)
        s->pair[s->n] = (uint64_t)ascending(x[i]) << 32 | s->n;
    v->count = s->n;
}

/* Sorts the pairs by value; equal values keep their order. */
static void sort_pairs(struct gcb_fit_scratch *s)
{
    for (unsigned shift = 32; shift < 64; shift += 8) {
        uint64_t count[257] = {0}, *from = s->pair;

        for (uint64_t i = 0; i < s->n; i++)
            count[(from[i] >> shift & 255) + 1]++;
        for (unsigned d = 1; d < 256; d++)
            count[d] += count[d - 1];
        for (uint64_t i = 0; i < s->n; i++)
            s->rank[count[from[i] >> shift & 255]++] = from[i];
        s->pair = s->rank;
        s->rank = from;
    }
}

/* Returns the rank between `from` and `end` - 1 whose value is farthest from the line between these
 * two, among the ranks that leave at least TERMS values on both sides. *distance: how far; 0 if no
 * such value is off the line, or the piece is too short to be cut. */
static uint64_t farthest(const uint64_t *pair, uint64_t from, uint64_t end, double *distance)
{
    const double first = value_of(pair[from]), last = value_of(pair[end - 1]);
    const double step = (last - first) / (double)(end - 1 - from);
    uint64_t at = from;

    *distance = 0.0;
    for (uint64_t i = from + TERMS; i + TERMS < end; i++) {
        const double d = fabs(value_of(pair[i]) - (first + step * (double)(i - from)));

        if (d > *distance) {
            *distance = d;
            at = i;
        }
    }
    return at;
}

/* Sets the ends of the pieces: cuts the piece with the largest distance, again and again. Only the
 * two pieces of the last cut, from number `renew` on, need their distances anew. */
static void cut_pieces(const struct gcb_fit_scratch *s, struct gcb_fit_piece *piece)
{
    uint64_t begin[GCB_FIT_PIECES + 1] = {0}, at[GCB_FIT_PIECES] = {0};
    double distance[GCB_FIT_PIECES] = {0.0};
    unsigned pieces = 1;

    begin[1] = s->n;
    for (unsigned renew = 0; pieces < GCB_FIT_PIECES; pieces++) {
        unsigned worst = 0;

        for (unsigned p = renew; p < pieces && p < renew + 2; p++)
            at[p] = farthest(s->pair, begin[p], begin[p + 1], &distance[p]);
        for (unsigned p = 1; p < pieces; p++)
            worst = distance[p] > distance[worst] ? p : worst;
        if (distance[worst] == 0.0)
            break;
        for (unsigned p = pieces; p > worst; p--) {
            begin[p + 1] = begin[p];
            at[p] = at[p - 1];
            distance[p] = distance[p - 1];
        }
        begin[worst + 1] = at[worst];
        renew = worst;
    }
    for (unsigned p = 0; p < GCB_FIT_PIECES; p++)
        piece[p].end = (uint32_t)(p < pieces ? begin[p + 1] : s->n);
}

/* l[j] = Legendre's polynomial of degree j at the place of rank i of n in a piece. */
static void fill_basis(double *l, uint64_t i, uint64_t n)
{
    const double u = (double)(2 * i + 1) / (double)n - 1.0;

    l[0] = 1.0;
    l[1] = u;
    for (unsigned j = 1; j + 1 < TERMS; j++)
        l[j + 1] = ((2 * j + 1) * u * l[j] - j * l[j - 1]) / (j + 1);
}

/* Fits the n values of a piece, whose first is pair[0]: solves the normal equations by Cholesky's
 * method. */
static void fit_piece(float *coefficient, const uint64_t *pair, uint64_t n)
{
    const unsigned terms = n < TERMS ? (unsigned)n : TERMS;
    double a[TERMS][TERMS] = {{0.0}}, c[TERMS] = {0.0}, l[TERMS];

    for (uint64_t i = 0; i < n; i++) {
        const double y = value_of(pair[i]);

        fill_basis(l, i, n);
        for (unsigned j = 0; j < terms; j++) {
            c[j] += l[j] * y;
            for (unsigned k = 0; k <= j; k++)
                a[j][k] += l[j] * l[k];
        }
    }
    for (unsigned j = 0; j < terms; j++) {
        for (unsigned k = 0; k <= j; k++) {
            for (unsigned m = 0; m < k; m++)
                a[j][k] -= a[j][m] * a[k][m];
            a[j][k] = k == j ? sqrt(a[j][j]) : a[j][k] / a[k][k];
        }
        for (unsigned k = 0; k < j; k++)
            c[j] -= a[j][k] * c[k];
        c[j] /= a[j][j];
    }
    for (unsigned j = terms; j-- > 0;) {
        for (unsigned k = j + 1; k < terms; k++)
            c[j] -= a[k][j] * c[k];
        c[j] /= a[j][j];
    }
    for (unsigned j = 0; j < TERMS; j++)
        coefficient[j] = (float)fmin(fmax(c[j], -(double)LARGEST), (double)LARGEST);
}

void gcb_fit_put_scale(struct gcb_values_state *v, struct gcb_wbuf *out)
{
    struct gcb_fit_scratch *s = v->fit;
    uint64_t begin = 0;

    s->n = v->count;
    s->written = 0;
    sort_pairs(s);
    memset(v->piece, 0, sizeof(v->piece));
    if (s->n)
        cut_pieces(s, v->piece);
    for (unsigned p = 0; p < GCB_FIT_PIECES; p++) {
        if (v->piece[p].end > begin)
            fit_piece(v->piece[p].coefficient, s->pair + begin, v->piece[p].end - begin);
        begin = v->piece[p].end;
        gcb_put_u32(out, v->piece[p].end);
        for (unsigned j = 0; j < TERMS; j++)
            gcb_put_f32(out, v->piece[p].coefficient[j]);
    }
    for (uint64_t r = 0; r < s->n; r++)
        s->rank[(uint32_t)s->pair[r]] = r;
}

void gcb_fit_put(struct gcb_values_state *v, uint8_t *out, const float *x, size_t n)
{
    uint64_t word = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        word |= v->fit->rank[v->fit->written++] << bits;
        for (bits += v->rank_bits; bits >= 8; bits -= 8, word >>= 8)
            *out++ = (uint8_t)word;
    }
    if (bits)
        *out = (uint8_t)word;
}

int gcb_fit_get_scale(struct gcb_values_state *v, struct gcb_rbuf *in)
{
    uint32_t begin = 0;

    for (unsigned p = 0; p < GCB_FIT_PIECES; p++) {
        v->piece[p].end = gcb_get_u32(in);
        in->failed |= v->piece[p].end < begin;
        begin = v->piece[p].end;
        for (unsigned j = 0; j < TERMS; j++) {
            v->piece[p].coefficient[j] = gcb_get_f32(in);
            in->failed |= gcb_magnitude(v->piece[p].coefficient[j]) > gcb_bits_of(LARGEST);
        }
    }
    return in->failed || begin != v->count ? GCB_E_CORRUPT : 0;
}

static float value_at(const struct gcb_values_state *v, uint64_t rank)
{
    uint64_t begin = 0;
    double l[TERMS], sum = 0.0;
    unsigned p = 0;

    rank = rank < v->count ? rank : v->count - 1;
    for (; v->piece[p].end <= rank; p++)
        begin = v->piece[p].end;
    fill_basis(l, rank - begin, v->piece[p].end - begin);
    for (unsigned j = 0; j < TERMS; j++)
        sum += (double)v->piece[p].coefficient[j] * l[j];
    return (float)sum;
}

void gcb_fit_get(const struct gcb_values_state *v, float *x, const uint8_t *in, size_t n)
{
    uint64_t word = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        for (; bits < v->rank_bits; bits += 8)
            word |= (uint64_t)*in++ << bits;
        x[i] = value_at(v, word & ((UINT64_C(1) << v->rank_bits) - 1));
        word >>= v->rank_bits;
        bits -= v->rank_bits;
    }
}
