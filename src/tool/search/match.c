#include "src/tool/search/match.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

/* ---- mixes of two settings ---- */

#define EQUAL 1e-12 /* costs that differ by at most this share are equal except for rounding */

double gcb_mix_between(const struct gcb_mix *mix, double first, double second)
{
    return mix->share * first + (1.0 - mix->share) * second;
}

static bool is_known(const struct gcb_mix_point *p)
{
    return isfinite(p->limited) && isfinite(p->cost);
}

/* Finds the cheapest setting within the limit and at most `near` below it. A later setting is taken
 * only if it is cheaper by the share `margin`. With margin 0, the smaller `limited` decides between
 * equal costs. SIZE_MAX: none. */
static size_t find_single(const struct gcb_mix_point *points, size_t count, double limit,
                          double near, double margin)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct gcb_mix_point *p = &points[i];

        if (!is_known(p) || p->limited > limit || limit - p->limited > near)
            continue;
        if (best == SIZE_MAX || p->cost < points[best].cost * (1.0 - margin) ||
            (margin == 0.0 && p->cost <= points[best].cost && p->limited < points[best].limited))
            best = i;
    }
    return best;
}

/* Finds the setting with the smallest `limited`: the nearest to the limit, because no setting is
 * within the limit. Returns SIZE_MAX if all failed. */
static size_t find_nearest(const struct gcb_mix_point *points, size_t count)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++)
        if (is_known(&points[i]) && (best == SIZE_MAX || points[i].limited < points[best].limited))
            best = i;
    return best;
}

/* True if one setting is within the limit, and the other is cheaper but beyond it. */
static bool is_pair(const struct gcb_mix_point *within, const struct gcb_mix_point *beyond,
                    double limit)
{
    return is_known(within) && is_known(beyond) && within->limited <= limit &&
           beyond->limited > limit && beyond->cost < within->cost;
}

/* Finds the cheapest mix of two settings and returns its cost. If several mixes cost the same,
 * takes the two settings that are nearest to each other. INFINITY: there is no mix. */
static double find_pair(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                        double limit)
{
    double least = (double)INFINITY, gap = (double)INFINITY;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const double width = points[k].limited - points[i].limited;
            struct gcb_mix mix = {.first = i, .second = k, .reached = true};
            double cost;

            if (!is_pair(&points[i], &points[k], limit))
                continue;
            mix.share = (points[k].limited - limit) / width;
            cost = gcb_mix_between(&mix, points[i].cost, points[k].cost);
            if (cost > least * (1.0 + EQUAL) || (cost >= least * (1.0 - EQUAL) && width >= gap))
                continue;
            *out = mix;
            least = cost;
            gap = width;
        }
    return least;
}

void gcb_mix_find(struct gcb_mix *out, const struct gcb_mix_point *points, size_t count,
                  double limit, double near, bool mixes)
{
    const size_t cheapest = find_single(points, count, limit, (double)INFINITY, 0.0);
    const size_t single = find_single(points, count, limit, near, GCB_MIX_WORTH / 2.0);
    struct gcb_mix pair;
    double cost, pair_cost;

    if (cheapest == SIZE_MAX) {
        const size_t nearest = find_nearest(points, count);

        *out = (struct gcb_mix){nearest, nearest, 1.0, false};
        return;
    }
    *out = (struct gcb_mix){cheapest, cheapest, 1.0, true};
    cost = points[cheapest].cost;
    pair_cost = mixes ? find_pair(&pair, points, count, limit) : (double)INFINITY;
    if (pair_cost < cost) {
        *out = pair;
        cost = pair_cost;
    }
    if (single != SIZE_MAX && points[single].cost <= cost * (1.0 + GCB_MIX_WORTH))
        *out = (struct gcb_mix){single, single, 1.0, true};
}

/* ---- searches that advance together ---- */

/* Number of rounds that usually follow the first. Only the progress bar uses this. */
#define BISECTIONS 8.0

struct rounds {
    struct gcb_match_search *searches;
    size_t count;
    /* the `asked` settings that this round measures, and which search asked for each setting */
    struct gcb_method *methods;
    struct request {
        size_t search;
        uint64_t position;
    } * requests;
    size_t asked;
    double measured;   /* settings measured in earlier rounds */
    double bisections; /* number of earlier rounds, without the first */
    const struct gcb_watch *watch;
};

int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key, struct gcb_diag *diag)
{
    const bool consistent = gcb_method_check(method, NULL) == 0;
    int err;

    *s = (struct gcb_match_search){.method = *method, .goal = goal, .weight = 1.0};
    if (key && !gcb_rate_named(method, key))
        key = NULL;
    err = gcb_rate_axis_init(&s->axis, method, key, consistent ? diag : NULL);
    if (err && !consistent) {
        s->axis = (struct gcb_rate_axis){.count = 1};
        err = 0;
    }
    gcb_line_search_init(&s->line, goal, s->axis.count);
    return err;
}

void gcb_match_search_near(struct gcb_match_search *s, const struct gcb_match_search *other)
{
    if (s->axis.param && s->axis.param == other->axis.param && s->axis.count == other->axis.count &&
        other->line.seen_count && other->found.reached)
        gcb_line_search_start(&s->line, other->found.position);
}

int gcb_match_search_again(struct gcb_match_search *s, const struct gcb_match_search *other,
                           struct gcb_diag *diag)
{
    struct gcb_method method = other->method;
    int err;

    if (other->axis.param)
        method.given[other->axis.row] = false;
    err = gcb_match_search_init(s, &method, other->goal,
                                other->axis.param ? other->axis.param->name : NULL, diag);
    s->weight = other->weight;
    if (!err)
        gcb_match_search_near(s, other);
    return err;
}

/* Collects the settings that the searches ask for in the next round. */
static int ask_all(struct rounds *r, struct gcb_diag *diag)
{
    uint64_t position[GCB_LINE_ASKS];
    int err = 0;

    r->asked = 0;
    for (size_t i = 0; !err && i < r->count; i++) {
        struct gcb_match_search *s = &r->searches[i];
        const size_t n = gcb_line_search_ask(&s->line, position);

        for (size_t k = 0; !err && k < n; k++, r->asked++) {
            r->methods[r->asked] = s->method;
            r->requests[r->asked] = (struct request){i, position[k]};
            err = gcb_rate_axis_set(&r->methods[r->asked], &s->axis, position[k], diag);
        }
    }
    return err;
}

/* Tells a search the figures of a setting that it has asked for. */
static void tell(struct gcb_match_search *s, uint64_t position, const struct gcb_run_total *total)
{
    const struct gcb_tally *t = &total->tally;
    struct gcb_line_point figures = {0, (double)NAN, (double)NAN, (double)NAN};

    if (!total->failure.status)
        figures = (struct gcb_line_point){
            .value = gcb_tally_figure(t, s->goal->field),
            .error = gcb_tally_figure(t, GCB_FIELD_REL_L2),
            .bytes = (double)t->wire_bytes,
        };
    gcb_line_search_tell(&s->line, position, figures);
    s->evaluations++;
}

/* Finds the best setting so far of each search that asked in this round. If this round measured
 * that setting, copies its tally without the times, because a single run of a setting is not enough
 * to time it. */
static void keep_best(struct rounds *r, const struct gcb_run_result *result)
{
    const struct gcb_times none = {.seconds = NAN, .min = NAN, .low = NAN, .high = NAN};

    for (size_t i = 0; i < r->asked; i++) {
        struct gcb_match_search *s = &r->searches[r->requests[i].search];

        if (s->line.seen_count == 0)
            continue;
        gcb_line_search_result(&s->found, &s->line);
        if (s->found.position != r->requests[i].position || result->totals[i].failure.status)
            continue;
        s->tally = result->totals[i].tally;
        s->tally.encode = s->tally.decode = none;
        s->tally.stop = GCB_STOP_NONE;
    }
}

/* Tells the searches the results of this round. The figures of an interrupted round cover only some
 * messages, so they count only for a search that has no figures from earlier rounds. */
static void tell_all(struct rounds *r, const struct gcb_run_result *result)
{
    for (size_t i = 0; i < r->asked; i++) {
        struct gcb_match_search *s = &r->searches[r->requests[i].search];
        const bool first = s->tally.messages == 0 && result->totals[i].tally.messages > 0;

        if (!result->interrupted || first)
            tell(s, r->requests[i].position, &result->totals[i]);
    }
    keep_best(r, result);
}

/* Returns the watch for this round. Guesses that each search will ask for one setting in each of
 * the rounds that are left. */
static struct gcb_watch watch_round(const struct rounds *r)
{
    const double left = r->bisections < BISECTIONS ? BISECTIONS - r->bisections : 1.0;
    const double after = r->measured + (double)r->asked, all = after + left * (double)r->count;

    return gcb_watch_part(r->watch, r->measured / all, after / all);
}

/* Fails if the device failed or gave wrong results. Such a result says nothing about the parameter
 * value that is tried. */
static int check_device(const struct gcb_run_result *result, struct gcb_diag *diag)
{
    for (size_t i = 0; i < result->method_count; i++) {
        const struct gcb_diag *failure = &result->totals[i].failure;

        if (failure->status == GCB_E_UNVERIFIED || failure->status == GCB_E_DEVICE)
            return gcb_diag_set(diag, failure->status, "%s", failure->text);
    }
    return 0;
}

/* Measures the error of the mean with each setting whose search has a goal for this error. If the
 * measurement fails, the setting has failed, but a lack of memory ends the run. */
static int measure_means(struct rounds *r, struct gcb_run_result *result, struct gcb_diag *diag)
{
    for (size_t i = 0; i < r->asked; i++) {
        const struct gcb_match_goal *goal = r->searches[r->requests[i].search].goal;
        struct gcb_run_total *total = &result->totals[i];
        struct gcb_diag own = {.status = 0};
        int err;

        if (!goal->workers || total->failure.status)
            continue;
        err = goal->mean->measure(goal->mean->ctx, &total->tally.error_of_mean, &r->methods[i],
                                  goal->workers, &own);
        total->tally.mean_known = err == 0;
        if (err == GCB_E_NOMEM)
            return gcb_diag_set(diag, err, "%s", own.text);
        if (err == 1) {
            result->interrupted = true;
            return 0;
        }
        if (err)
            total->failure = own;
    }
    return 0;
}

/* Measures the settings of this round and tells the searches. */
static int run_round(struct rounds *r, const struct gcb_run_config *config, bool *interrupted,
                     struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {.watch = watch_round(r)};
    struct gcb_run_config own = *config;
    struct gcb_run_result result;
    int err;

    own.methods = r->methods;
    own.method_count = r->asked;
    own.keep = NULL;
    own.carry_on = true;
    own.trial.timing = (struct gcb_timing){.repeat = 1};
    err = gcb_run(&result, &own, &observer, diag);
    if (!err)
        err = check_device(&result, diag);
    if (!err && !result.interrupted)
        err = measure_means(r, &result, diag);
    *interrupted = result.interrupted;
    if (!err)
        tell_all(r, &result);
    gcb_run_result_fini(&result);
    r->bisections += r->measured > 0.0;
    r->measured += (double)r->asked;
    return err;
}

/* Writes the points of all searches to `out`, which has room for them. Returns their number. */
static size_t list_points(struct gcb_mix_point *out, const struct gcb_match_search *searches,
                          size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < searches[i].line.seen_count; k++) {
            const struct gcb_line_point *p = &searches[i].line.seen[k];
            const double cost =
                gcb_match_limits_error(searches[i].goal) ? p->bytes : p->error * p->error;

            out[n++] = (struct gcb_mix_point){gcb_match_sum(searches[i].goal, p->value),
                                              cost * searches[i].weight, &searches[i], k};
        }
    return n;
}

/* Sets *out to the search of the mix's first point, with the setting of that point and the mix. */
static int set_mix(struct gcb_match_search *out, const struct gcb_mix *mix,
                   const struct gcb_mix_point *points, struct gcb_diag *diag)
{
    const struct gcb_mix_point *first = &points[mix->first], *second = &points[mix->second];
    const struct gcb_line_point *a = &first->search->line.seen[first->seen],
                                *b = &second->search->line.seen[second->seen];
    const uint64_t position = gcb_line_search_position(&first->search->line, first->seen);
    struct gcb_match_search s = *first->search;
    int err = gcb_rate_axis_set(&s.method, &s.axis, position, diag);

    s.mix = (struct gcb_match_mix){
        .reached = mix->reached,
        .share = mix->share,
        .bytes = gcb_mix_between(mix, a->bytes, b->bytes),
        .error = sqrt(gcb_mix_between(mix, a->error * a->error, b->error * b->error)),
        .other = second->search->method,
    };
    if (s.found.position != position) {
        s.tally = (struct gcb_tally){.messages = 0};
        s.found.beyond = (double)NAN;
    }
    s.found.position = position;
    s.found.value = a->value;
    if (!err && mix->share < 1.0) {
        err =
            gcb_rate_axis_set(&s.mix.other, &second->search->axis,
                              gcb_line_search_position(&second->search->line, second->seen), diag);
        s.found.beyond = b->value;
    }
    *out = s;
    return err;
}

int gcb_match_combine(struct gcb_match_search *out, const struct gcb_match_search *searches,
                      size_t count, struct gcb_diag *diag)
{
    const struct gcb_match_goal *goal = searches[0].goal;
    const double limit = gcb_match_sum(goal, goal->target);
    struct gcb_mix_point *points;
    struct gcb_mix mix;
    size_t all = 0, evaluations = 0;
    int err = 0;

    for (size_t i = 0; i < count; i++) {
        all += searches[i].line.seen_count;
        evaluations += searches[i].evaluations;
    }
    points = gcb_must_array(all + 1, sizeof(*points));
    gcb_mix_find(&mix, points, list_points(points, searches, count), limit,
                 fabs(limit) * GCB_LINE_NEAR * (goal->power ? abs(goal->power) : 1), goal->power);
    if (mix.first == SIZE_MAX) /* all settings failed */
        *out = searches[0];
    else
        err = set_mix(out, &mix, points, diag);
    out->evaluations = evaluations;
    gcb_free(points);
    return err;
}

/* Gives a search the best single setting measured so far. */
static int set_found(struct gcb_match_search *s, struct gcb_diag *diag)
{
    if (s->line.seen_count == 0) /* interrupted before the first value */
        return 0;
    gcb_line_search_result(&s->found, &s->line);
    s->mix = (struct gcb_match_mix){.reached = s->found.reached,
                                    .share = 1.0,
                                    .error = gcb_tally_figure(&s->tally, GCB_FIELD_REL_L2),
                                    .bytes = (double)s->tally.wire_bytes};
    return gcb_rate_axis_set(&s->method, &s->axis, s->found.position, diag);
}

int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_watch *watch,
                  bool *interrupted, struct gcb_diag *diag)
{
    struct rounds r = {.searches = searches, .count = count, .watch = watch};
    int err = 0;

    *interrupted = false;
    r.methods = gcb_must_array(count * GCB_LINE_ASKS, sizeof(*r.methods));
    r.requests = gcb_must_array(count * GCB_LINE_ASKS, sizeof(*r.requests));
    while (!err && !*interrupted) {
        err = ask_all(&r, diag);
        if (err || r.asked == 0)
            break;
        err = run_round(&r, config, interrupted, diag);
    }
    for (size_t i = 0; !err && i < count; i++) {
        err = set_found(&searches[i], diag);
        if (!err && !*interrupted)
            err = gcb_match_combine(&searches[i], &searches[i], 1, diag);
    }
    gcb_free(r.methods);
    gcb_free(r.requests);
    return err;
}

/* ---- results of searches ---- */

void gcb_match_fill_totals(struct gcb_run_result *out, size_t method_count,
                           const struct gcb_match_search *searches, size_t count)
{
    if (!out->totals) {
        out->totals = gcb_must_zero(method_count, sizeof(*out->totals));
        out->method_count = method_count;
    }
    for (size_t i = 0; i < count; i++) {
        struct gcb_run_total *total = &out->totals[i];

        if (total->failure.status || total->tally.messages >= searches[i].tally.messages)
            continue;
        for (int k = 0; k < GCB_TIMED; k++)
            gcb_sample_sums_fini(&total->samples[k]);
        total->tally = searches[i].tally;
    }
    out->interrupted = true;
}

bool gcb_match_reached(const struct gcb_match_search *s, const struct gcb_tally *tally)
{
    return tally->messages && s->mix.reached;
}

bool gcb_match_limits_error(const struct gcb_match_goal *goal)
{
    return goal->at_most != goal->rises;
}

double gcb_match_cost(const struct gcb_match_search *s)
{
    if (!s->mix.reached)
        return (double)INFINITY;
    return gcb_match_limits_error(s->goal) ? s->mix.bytes : s->mix.error;
}

/* Returns the number by which two results are compared; the smaller number is better. If `reached`,
 * at least one of the two meets the goal, and the number is the weighted cost. Otherwise the number
 * is gcb_match_sum of the figure found, NAN if the setting failed. NAN if nothing was measured. */
static double comparable(const struct gcb_match_search *s, bool reached)
{
    if (!s->line.seen_count)
        return (double)NAN;
    return reached ? gcb_match_cost(s) * s->weight : gcb_match_sum(s->goal, s->found.value);
}

bool gcb_match_better(const struct gcb_match_search *a, const struct gcb_match_search *b)
{
    const bool reached = a->mix.reached || b->mix.reached;
    const double x = comparable(a, reached), y = comparable(b, reached);

    if (isnan(x) || isnan(y))
        return !isnan(x);
    return isinf(y) ? !isinf(x) : x < y - GCB_MATCH_GAIN * fabs(y);
}

void gcb_match_mix_tally(struct gcb_tally *tally, const struct gcb_match_search *s)
{
    const double error = s->mix.error;

    if (!tally->messages || !(s->mix.share < 1.0))
        return;
    tally->wire_bytes = (uint64_t)llround(s->mix.bytes);
    tally->fidelity.dd = error * error * tally->fidelity.xx;
    tally->fidelity.xy = (double)NAN;
    tally->encode.seconds = tally->decode.seconds = (double)NAN;
}

/* Writes to `out` (200 bytes) why no setting meets the goal, and returns out. `value` is the figure
 * of the setting found. */
static const char *note_missed(char *out, const struct gcb_match_search *s, double value)
{
    const char *field = gcb_field_name(s->goal->field);
    char nearest[32], target[32];

    gcb_real_text(target, s->goal->target);
    snprintf(nearest, sizeof(nearest), "%.4g", value);
    if (strcmp(nearest, target) == 0) /* four digits do not show the difference: show all */
        gcb_real_text(nearest, value);
    if (!s->axis.param)
        snprintf(out, 200, "this method has no setting to tune; its %s is always %s", field,
                 nearest);
    else
        snprintf(out, 200, "no %s reaches %s %s; the nearest is %s%s", s->axis.param->name, field,
                 target, nearest,
                 s->found.monotonic ? ""
                                    : ", but the figure is not monotonic: others may be nearer");
    return out;
}

const char *gcb_match_note(char *out, const struct gcb_match_search *s,
                           const struct gcb_tally *tally)
{
    if (!s->mix.reached)
        return note_missed(out, s, gcb_tally_figure(tally, s->goal->field));
    if (s->found.monotonic)
        return NULL;
    snprintf(out, 200, "%s is not monotonic in %s: other settings may be as good or better",
             gcb_field_name(s->goal->field), s->axis.param->name);
    return out;
}

/* ---- rows ---- */

/* Writes the figures of the setting or mix that meets the target; null unless `reached`. `at`: the
 * tally of the setting. */
static void put_mix(struct gcb_row *row, const struct gcb_match_search *s, struct gcb_tally at,
                    bool reached)
{
    static const enum gcb_field fields[][2] = {
        {GCB_FIELD_MATCH_ERROR, GCB_FIELD_REL_L2},
        {GCB_FIELD_MATCH_BITS, GCB_FIELD_BITS_PER_ELEMENT},
        {GCB_FIELD_MATCH_RATIO, GCB_FIELD_RATIO},
    };
    const bool mixed = reached && s->mix.share < 1.0;
    char spec[1024];

    gcb_match_mix_tally(&at, s);
    gcb_row_real(row, GCB_FIELD_MATCH_SHARE, reached ? s->mix.share : (double)NAN);
    gcb_row_text(row, GCB_FIELD_MATCH_WITH,
                 mixed ? gcb_method_spec(spec, sizeof(spec), &s->mix.other, GCB_SPEC_FULL) : NULL);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        gcb_row_real(row, fields[i][0],
                     reached ? gcb_tally_figure(&at, fields[i][1]) : (double)NAN);
    gcb_row_known_u64(row, GCB_FIELD_MATCH_BYTES, reached, at.wire_bytes);
}

void gcb_match_put(struct gcb_row *row, const struct gcb_match_search *s,
                   const struct gcb_run_total *total, bool whole)
{
    const struct gcb_tally *tally = &total->tally;
    const bool measured = tally->messages && !total->failure.status;
    const char *why = "interrupted: the search may not have ended";
    double value;
    bool reached;
    char note[200];

    if (!s) {
        for (enum gcb_field f = GCB_FIELD_MATCH_FIELD; f <= GCB_FIELD_MATCH_STEADY; f++)
            gcb_row_null(row, f);
        gcb_row_null(row, GCB_FIELD_MATCH_NOTE);
        return;
    }
    value = measured ? gcb_tally_figure(tally, s->goal->field) : (double)NAN;
    reached = s->mix.reached && gcb_match_meets(s->goal, value);
    if (whole)
        why = gcb_match_note(note, s, tally);
    if (s->goal->workers && measured) {
        gcb_row_real(row, GCB_FIELD_ERROR_OF_MEAN, value);
        gcb_row_u64(row, GCB_FIELD_WORKERS, s->goal->workers);
    }
    gcb_row_text(row, GCB_FIELD_MATCH_FIELD, gcb_field_name(s->goal->field));
    gcb_row_real(row, GCB_FIELD_MATCH_TARGET, s->goal->target);
    gcb_row_bool(row, GCB_FIELD_MATCH_REACHED, reached);
    put_mix(row, s, *tally, reached);
    gcb_row_real(row, GCB_FIELD_MATCH_BEYOND, whole && measured ? s->found.beyond : (double)NAN);
    gcb_row_text(row, GCB_FIELD_MATCH_BY, s->axis.param ? s->axis.param->name : NULL);
    gcb_row_u64(row, GCB_FIELD_MATCH_EVALUATIONS, s->evaluations);
    gcb_row_known_bool(row, GCB_FIELD_MATCH_STEADY, whole && measured, s->found.monotonic);
    gcb_row_text(row, GCB_FIELD_MATCH_NOTE, measured ? why : NULL);
}
