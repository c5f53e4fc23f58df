#include "src/tool/search/match.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

/* What may be matched, as users name it. Limits exclude what no setting could be nearest to. */
static const struct kind {
    const char *name;
    enum gcb_field field;
    bool at_most, rises, size;
    double above, up_to;
} kinds[] = {
    {"rel_l2", GCB_FIELD_REL_L2, true, false, false, 0.0, 1e6},
    {"cosine", GCB_FIELD_COSINE, false, true, false, -1.0, 1.0},
    {"ratio", GCB_FIELD_RATIO, false, false, false, 0.0, 1e12},
    {"bits", GCB_FIELD_BITS_PER_ELEMENT, true, true, false, 0.0, 1e6},
    {"wire_bytes", GCB_FIELD_WIRE_BYTES, true, true, true, 0.0, 1e18},
};

#define END 64   /* th of the line: what is not looked into before an end */
#define SHORT 16 /* positions that are looked into though their ends are level */

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0 || strcmp(gcb_field_name(kinds[i].field), name) == 0)
            return &kinds[i];
    return NULL;
}

static bool parse_target(double *out, const struct kind *kind, const char *text)
{
    uint64_t bytes;

    if (!kind->size)
        return gcb_parse_real(text, out) && *out > kind->above && *out <= kind->up_to;
    if (!gcb_parse_size(text, &bytes))
        return false;
    *out = (double)bytes;
    return *out > kind->above && *out <= kind->up_to;
}

int gcb_match_goal_parse(struct gcb_match_goal *out, const char *text, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    const struct kind *kind;
    char name[32], shown[64], low[32], high[32];

    gcb_escape(shown, sizeof(shown), text);
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), text);
    kind = find_kind(name);
    if (text[n] == '\0' && kind)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--match %s lacks its target: --match rel_l2=0.4, for example", shown);
    if (text[n] != '=' || !kind)
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "--match takes rel_l2=, cosine=, ratio=, bits= or wire_bytes=, not '%s'", shown);
    *out = (struct gcb_match_goal){
        .field = kind->field,
        .figure = gcb_tally_figure(kind->field),
        .at_most = kind->at_most,
        .rises = kind->rises,
    };
    if (parse_target(&out->target, kind, text + n + 1))
        return 0;
    return gcb_diag_set(diag, GCB_E_INVALID, "--match %s: a %s above %s, at most %s", shown,
                        kind->size ? "size" : "number", gcb_real_text(low, kind->above),
                        gcb_real_text(high, kind->up_to));
}

bool gcb_match_meets(const struct gcb_match_goal *goal, double value)
{
    return goal->at_most ? value <= goal->target : value >= goal->target;
}

void gcb_match_init(struct gcb_match *m, const struct gcb_match_goal *goal, uint64_t count)
{
    memset(m, 0, sizeof(*m));
    m->goal = goal;
    m->count = count;
}

/* Places run from where the target is least likely to be met: limits on error are kept by large messages,
 * limits on size by small ones. Its own inverse. */
static uint64_t place(const struct gcb_match *m, uint64_t position)
{
    return m->goal->at_most != m->goal->rises ? position : m->count - 1 - position;
}

/* The first seen, from there, that meets the target; seen_count: none does. */
static size_t first_met(const struct gcb_match *m)
{
    size_t i = 0;

    while (i < m->seen_count && !gcb_match_meets(m->goal, m->seen[i].value))
        i++;
    return i;
}

static double miss(const struct gcb_match *m, size_t i)
{
    const double d = fabs(m->seen[i].value - m->goal->target);

    return isnan(d) ? (double)INFINITY : d;
}

static size_t nearest(const struct gcb_match *m)
{
    size_t best = 0;

    for (size_t i = 1; i < m->seen_count; i++)
        if (miss(m, i) < miss(m, best))
            best = i;
    return best;
}

static bool is_near(const struct gcb_match *m, double a, double b)
{
    return fabs(a - b) <= GCB_MATCH_NEAR * fabs(m->goal->target);
}

static uint64_t middle(const struct gcb_match_point *low, const struct gcb_match_point *high)
{
    return low->at + (high->at - low->at) / 2;
}

static size_t ask_grid(const struct gcb_match *m, uint64_t *out)
{
    const uint64_t n = m->count < GCB_MATCH_ASKS ? m->count : GCB_MATCH_ASKS;

    for (uint64_t i = 0; i < n; i++)
        out[i] =
            n > 1 ? i * ((m->count - 1) / (n - 1)) + i * ((m->count - 1) % (n - 1)) / (n - 1) : 0;
    return n;
}

/* Between the first that meets the target and the one below it. */
static size_t ask_between(const struct gcb_match *m, size_t met, uint64_t *out)
{
    const struct gcb_match_point *high = &m->seen[met], *low = high - 1;

    if (met == 0 || high->at - low->at == 1 || is_near(m, high->value, m->goal->target))
        return 0;
    out[0] = middle(low, high);
    return 1;
}

/* Half-way from the nearest to one neighbour, unless that one is far and as good. */
static size_t ask_beside(const struct gcb_match *m, size_t low, double other, uint64_t *out)
{
    const struct gcb_match_point *p = &m->seen[low];

    const uint64_t gap = p[1].at - p[0].at;

    if (gap <= 1 || (gap > SHORT && is_near(m, other, m->seen[nearest(m)].value)))
        return 0;
    out[0] = middle(&p[0], &p[1]);
    return 1;
}

/* The nearest is an end: a bottom may hide before it, so it is looked for as far as END of the line. */
static size_t ask_before_end(const struct gcb_match *m, size_t best, uint64_t *out)
{
    const struct gcb_match_point *p = &m->seen[best ? best - 1 : 0];

    if (m->seen_count < 2 || p[1].at - p[0].at <= m->count / END)
        return 0;
    return ask_beside(m, best ? best - 1 : 0, p[best ? 0 : 1].value, out);
}

/* On both sides of the nearest, if it lies inside the line: there is a bottom. */
static size_t ask_around(const struct gcb_match *m, uint64_t *out)
{
    const size_t best = nearest(m);
    size_t n;

    if (best == 0 || best + 1 >= m->seen_count)
        return ask_before_end(m, best, out);
    n = ask_beside(m, best - 1, m->seen[best - 1].value, out);
    return n + ask_beside(m, best, m->seen[best + 1].value, out + n);
}

size_t gcb_match_ask(const struct gcb_match *m, uint64_t position[GCB_MATCH_ASKS])
{
    const size_t met = first_met(m);
    size_t n;

    if (m->seen_count == 0)
        n = ask_grid(m, position);
    else if (m->seen_count + 2 > GCB_MATCH_SEEN)
        n = 0;
    else
        n = met < m->seen_count ? ask_between(m, met, position) : ask_around(m, position);
    for (size_t i = 0; i < n; i++)
        position[i] = place(m, position[i]);
    return n;
}

void gcb_match_tell(struct gcb_match *m, uint64_t position, double value, double error)
{
    const struct gcb_match_point point = {place(m, position), value, error};
    size_t i = m->seen_count++;

    for (; i > 0 && m->seen[i - 1].at > point.at; i--)
        m->seen[i] = m->seen[i - 1];
    m->seen[i] = point;
}

static bool is_steady(const struct gcb_match *m)
{
    for (size_t i = 1; i < m->seen_count; i++) {
        const double from = m->seen[i - 1].value, to = m->seen[i].value;

        if (!(m->goal->at_most ? to <= from : to >= from))
            return false;
    }
    return true;
}

void gcb_match_result(struct gcb_match_found *out, const struct gcb_match *m)
{
    const size_t met = first_met(m);
    const struct gcb_match_point *p = &m->seen[met < m->seen_count ? met : nearest(m)];

    out->position = place(m, p->at);
    out->value = p->value;
    out->reached = met < m->seen_count;
    out->beyond = out->reached && met > 0 ? p[-1].value : (double)NAN;
    out->steady = is_steady(m);
    out->least = (double)INFINITY;
    for (size_t i = 0; i < m->seen_count; i++)
        if (gcb_match_meets(m->goal, m->seen[i].value) && m->seen[i].error < out->least)
            out->least = m->seen[i].error;
}
