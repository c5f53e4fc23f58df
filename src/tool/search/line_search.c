#include "src/tool/search/match.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"

/* The figures that can be matched. A target is above `above` and at most `up_to`. */
/* clang-format off */
static const struct kind {
    enum gcb_field field;
    const char *alias; /* another name that users may give, or NULL */
    bool rises;
    int power; /* as in struct gcb_match_goal */
    double above, up_to;
} kinds[] = {
    {.field = GCB_FIELD_REL_L2, .power = 2, .up_to = 1e6},
    {.field = GCB_FIELD_ERROR_OF_MEAN, .power = 2, .up_to = 1e6},
    {.field = GCB_FIELD_COSINE, .rises = true, .above = -1.0, .up_to = 1.0},
    {.field = GCB_FIELD_RATIO, .power = -1, .up_to = 1e12},
    {.field = GCB_FIELD_BITS_PER_ELEMENT, .alias = "bits", .rises = true, .power = 1, .up_to = 1e6},
    {.field = GCB_FIELD_WIRE_BYTES, .alias = "bytes", .rises = true, .power = 1, .up_to = 1e18},
};
/* clang-format on */
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* If no point meets the goal and the nearest value is at an end of the line, a gap beside it of at
 * most 1 / END_SHARE of the line is not searched. */
#define END_SHARE 64
/* A search that starts near a position first steps by about 1 / FIRST_SHARE of the line. */
#define FIRST_SHARE 2048
/* If no point meets the goal, a gap of more positions than this is not searched if the values at
 * both ends are almost equal. */
#define SHORT_GAP 16
#define MOST_WORKERS 65536

/* Finds the figure with this name or alias. NULL: none. */
static const struct kind *find_kind(const char *name)
{
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++)
        if (strcmp(gcb_field_name(kind->field), name) == 0 ||
            (kind->alias && strcmp(kind->alias, name) == 0))
            return kind;
    return NULL;
}

/* Parses a target and checks its range. With `size`, the target is a number of bytes and may have a
 * unit, such as "1M". */
static bool parse_target(double *out, const struct kind *kind, bool size, const char *text)
{
    uint64_t bytes = 0;

    if (size ? !gcb_parse_size(text, &bytes) : !gcb_parse_real(text, out))
        return false;
    if (size)
        *out = (double)bytes;
    return *out > kind->above && *out <= kind->up_to;
}

int gcb_match_goal_parse(struct gcb_match_goal *out, const char *option, const char *text,
                         struct gcb_diag *diag)
{
    const size_t n = strcspn(text, "=");
    const char *value = text[n] ? text + n + 1 : NULL, *workers = strstr(text, ",workers=");
    const struct kind *kind;
    char name[32], shown[64], low[32], high[32], target[64];
    uint64_t count = 0;
    size_t length;
    bool size;

    gcb_escape(shown, sizeof(shown), text);
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), text);
    kind = find_kind(name);
    if (!kind)
        return gcb_invalid(
            diag,
            "--%s takes rel_l2=, error_of_mean=, cosine=, ratio=, bits= or wire_bytes=, not '%s'",
            option, shown);
    if (!value)
        return gcb_invalid(diag, "--%s %s lacks its target: --%s rel_l2=0.4, for example", option,
                           shown, option);
    length = strlen(value);
    if (kind->field == GCB_FIELD_ERROR_OF_MEAN) {
        if (!workers || !gcb_parse_u64(workers + strlen(",workers="), &count) || count < 1 ||
            count > MOST_WORKERS)
            return gcb_invalid(diag,
                               "--%s %s: say of how many workers: error_of_mean=0.2,workers=16 "
                               "(1 to %d)",
                               option, shown, MOST_WORKERS);
        length = (size_t)(workers - value);
    }
    *out = (struct gcb_match_goal){
        .field = kind->field,
        .at_most = kind->power > 0,
        .rises = kind->rises,
        .power = kind->power,
        .workers = (unsigned)count,
    };
    size = gcb_field_info(kind->field)->show == GCB_SHOW_SIZE;
    if (length < sizeof(target)) {
        snprintf(target, sizeof(target), "%.*s", (int)length, value);
        if (parse_target(&out->target, kind, size, target))
            return 0;
    }
    return gcb_invalid(diag, "--%s %s: give a %s above %s, at most %s", option, shown,
                       size ? "size" : "number", gcb_real_text(low, kind->above),
                       gcb_real_text(high, kind->up_to));
}

bool gcb_match_meets(const struct gcb_match_goal *goal, double value)
{
    return goal->at_most ? value <= goal->target : value >= goal->target;
}

double gcb_match_sum(const struct gcb_match_goal *goal, double value)
{
    if (goal->power)
        return pow(value, goal->power);
    return goal->at_most ? value : -value;
}

void gcb_line_search_init(struct gcb_line_search *s, const struct gcb_match_goal *goal,
                          uint64_t count)
{
    memset(s, 0, sizeof(*s));
    s->goal = goal;
    s->count = count;
}

/* Converts a position to its rank and back. Rank 0 is the least likely to meet the goal: the
 * smallest messages for a limit on the error, the largest for a limit on the size. */
static uint64_t convert_rank(const struct gcb_line_search *s, uint64_t position)
{
    return s->goal->at_most != s->goal->rises ? position : s->count - 1 - position;
}

/* Returns the index of the first point in `seen` that meets the goal, or seen_count if none
 * does. */
static size_t first_met(const struct gcb_line_search *s)
{
    size_t i = 0;

    while (i < s->seen_count && !gcb_match_meets(s->goal, s->seen[i].value))
        i++;
    return i;
}

/* Returns how far the value of point i is from the target; INFINITY if the setting failed. */
static double distance(const struct gcb_line_search *s, size_t i)
{
    const double d = fabs(s->seen[i].value - s->goal->target);

    return isnan(d) ? (double)INFINITY : d;
}

static size_t find_nearest(const struct gcb_line_search *s)
{
    size_t best = 0;

    for (size_t i = 1; i < s->seen_count; i++)
        if (distance(s, i) < distance(s, best))
            best = i;
    return best;
}

static bool is_near(const struct gcb_line_search *s, double a, double b)
{
    return fabs(a - b) <= GCB_LINE_NEAR * fabs(s->goal->target);
}

static uint64_t midpoint(const struct gcb_line_point *low, const struct gcb_line_point *high)
{
    return low->at + (high->at - low->at) / 2;
}

static bool was_seen(const struct gcb_line_search *s, uint64_t rank)
{
    for (size_t i = 0; i < s->seen_count; i++)
        if (s->seen[i].at == rank)
            return true;
    return false;
}

/* The functions ask_... write ranks to measure to `out` and return their number. */

/* Asks for ranks at equal distances over the whole line, except those seen. */
static size_t ask_grid(const struct gcb_line_search *s, uint64_t *out)
{
    const uint64_t n = s->count < GCB_LINE_ASKS ? s->count : GCB_LINE_ASKS;
    const uint64_t last = s->count - 1, gaps = n > 1 ? n - 1 : 1;
    size_t asked = 0;

    for (uint64_t i = 0; i < n; i++) {
        /* i * last / gaps, without overflow */
        const uint64_t at = i * (last / gaps) + i * (last % gaps) / gaps;

        if (!was_seen(s, at))
            out[asked++] = at;
    }
    return asked;
}

/* Steps away from the start. `down`: to lower ranks, because all points meet the goal; otherwise to
 * higher ranks, because no point does. Returns 0 at the end of the line. */
static size_t ask_step(const struct gcb_line_search *s, bool down, uint64_t *out)
{
    const uint64_t last = s->count - 1, at = s->seen[down ? 0 : s->seen_count - 1].at;
    const uint64_t left = down ? at : last - at;
    uint64_t step = s->count / FIRST_SHARE + 1;

    /* each point after the first was one step */
    for (size_t i = 1; i < s->seen_count && step < left; i++)
        step *= 4;
    if (step > left)
        step = left;
    out[0] = down ? at - step : at + step;
    return step > 0;
}

/* Returns the rank between two points at which a straight line through them is just within the
 * target: by half of GCB_LINE_NEAR, so that the search can end there. */
static uint64_t interpolate(const struct gcb_line_search *s, const struct gcb_line_point *low,
                            const struct gcb_line_point *high)
{
    const double within =
        high->value < low->value ? 1.0 - GCB_LINE_NEAR / 2.0 : 1.0 + GCB_LINE_NEAR / 2.0;
    const double part = (s->goal->target * within - low->value) / (high->value - low->value);
    const uint64_t gap = high->at - low->at;
    uint64_t step = part > 0.0 && part < 1.0 ? (uint64_t)(part * (double)gap) : gap / 2;

    if (step > gap - 1)
        step = gap - 1;
    return low->at + (step < 1 ? 1 : step);
}

/* Divides the gap between the first point that meets the goal and the point before it. Bisects the
 * gap, or interpolates if s->near, because the ends of the gap are then probably close to the
 * target. Every third time, bisects in any case, because the figure may be far from a straight
 * line. */
static size_t ask_between(const struct gcb_line_search *s, size_t met, uint64_t *out)
{
    const struct gcb_line_point *high = &s->seen[met], *low = high - 1;

    if (met == 0 || high->at - low->at == 1 || is_near(s, high->value, s->goal->target))
        return 0;
    out[0] = s->near && s->seen_count % 3 ? interpolate(s, low, high) : midpoint(low, high);
    return 1;
}

/* Bisects between point `low` and the next point. One of the two is the point nearest to the
 * target; `other` is the value of the other point. Asks nothing if no rank lies between the points,
 * or if the gap is long and both values are almost equal. */
static size_t ask_beside(const struct gcb_line_search *s, size_t low, double other, uint64_t *out)
{
    const struct gcb_line_point *p = &s->seen[low];
    const uint64_t gap = p[1].at - p[0].at;

    if (gap <= 1 || (gap > SHORT_GAP && is_near(s, other, s->seen[find_nearest(s)].value)))
        return 0;
    out[0] = midpoint(&p[0], &p[1]);
    return 1;
}

/* If no point meets the goal: looks for a nearer point on both sides of the point nearest to the
 * target. If that is the first or the last point, a short gap beside it is not searched. */
static size_t ask_around(const struct gcb_line_search *s, uint64_t *out)
{
    const size_t best = find_nearest(s);
    const bool at_end = best == 0 || best + 1 == s->seen_count;
    size_t n = 0;

    for (size_t low = best ? best - 1 : 0; low <= best && low + 1 < s->seen_count; low++) {
        const struct gcb_line_point *p = &s->seen[low];
        const double other = low == best ? p[1].value : p[0].value;

        if (!at_end || p[1].at - p[0].at > s->count / END_SHARE)
            n += ask_beside(s, low, other, out + n);
    }
    return n;
}

void gcb_line_search_start(struct gcb_line_search *s, uint64_t position)
{
    s->near = true;
    s->start = convert_rank(s, position < s->count ? position : s->count - 1);
}

/* Asks for the next points of a search that started near a position, as long as all points meet the
 * goal or none does. */
static size_t ask_near(struct gcb_line_search *s, size_t met, uint64_t *out)
{
    if (s->seen_count == 0) {
        out[0] = s->start;
        return 1;
    }
    if (met == 0 && is_near(s, s->seen[0].value, s->goal->target))
        return 0;
    if (ask_step(s, met == 0, out))
        return 1;
    if (met == 0)
        return 0;
    s->near = false;
    return ask_grid(s, out);
}

size_t gcb_line_search_ask(struct gcb_line_search *s, uint64_t position[GCB_LINE_ASKS])
{
    const size_t met = first_met(s);
    size_t n;

    if (s->seen_count + 2 > GCB_LINE_SEEN) /* after the grid, a search asks for up to two points */
        n = 0;
    else if (s->near && (met == 0 || met == s->seen_count))
        n = ask_near(s, met, position);
    else if (s->seen_count == 0)
        n = ask_grid(s, position);
    else
        n = met < s->seen_count ? ask_between(s, met, position) : ask_around(s, position);
    for (size_t i = 0; i < n; i++)
        position[i] = convert_rank(s, position[i]);
    return n;
}

void gcb_line_search_tell(struct gcb_line_search *s, uint64_t position,
                          struct gcb_line_point figures)
{
    size_t i = s->seen_count++;

    figures.at = convert_rank(s, position);
    for (; i > 0 && s->seen[i - 1].at > figures.at; i--)
        s->seen[i] = s->seen[i - 1];
    s->seen[i] = figures;
}

uint64_t gcb_line_search_position(const struct gcb_line_search *s, size_t seen)
{
    return convert_rank(s, s->seen[seen].at);
}

static bool is_monotonic(const struct gcb_line_search *s)
{
    for (size_t i = 1; i < s->seen_count; i++) {
        const double from = s->seen[i - 1].value, to = s->seen[i].value;

        if (!(s->goal->at_most ? to <= from : to >= from))
            return false;
    }
    return true;
}

void gcb_line_search_result(struct gcb_line_found *out, const struct gcb_line_search *s)
{
    const size_t met = first_met(s);
    const struct gcb_line_point *p = &s->seen[met < s->seen_count ? met : find_nearest(s)];

    out->position = convert_rank(s, p->at);
    out->value = p->value;
    out->reached = met < s->seen_count;
    out->beyond = out->reached && met > 0 ? p[-1].value : (double)NAN;
    out->monotonic = is_monotonic(s);
}
