#include "src/tool/search/match.h"

#include <math.h>
#include <stdio.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

/* How many bisections usually follow the grid of a search. Only the progress bar uses this. */
#define BISECTIONS 8.0

struct rounds {
    struct gcb_match_search *searches;
    size_t count;
    /* this round: the settings to measure, and which search asked for each setting */
    struct gcb_method *methods;
    struct request {
        size_t search;
        uint64_t position;
    } * requests;
    size_t asked;
    double measured, bisections; /* settings measured so far; rounds after the first */
    const struct gcb_run_observer *observer;
};

int gcb_match_search_init(struct gcb_match_search *s, const struct gcb_method *method,
                          const struct gcb_match_goal *goal, const char *key, struct gcb_diag *diag)
{
    const bool consistent = gcb_method_check(method, NULL) == 0;
    int err;

    *s = (struct gcb_match_search){.method = *method, .goal = goal};
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
        s->axis.param->type == GCB_PARAM_REAL && other->line.seen_count && other->found.reached)
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
    if (!err)
        gcb_match_search_near(s, other);
    return err;
}

/* Collects the settings that the searches ask for. */
static int ask_all(struct rounds *r, struct gcb_diag *diag)
{
    uint64_t position[GCB_LINE_ASKS];
    int err = 0;

    r->asked = 0;
    for (size_t i = 0; i < r->count; i++) {
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

static void tell(struct gcb_match_search *s, uint64_t position, const struct gcb_run_total *total)
{
    const bool failed = total->failure.status != 0;

    gcb_line_search_tell(&s->line, position,
                         failed ? (double)NAN : gcb_tally_figure(&total->tally, s->goal->field),
                         failed ? (double)NAN : gcb_tally_figure(&total->tally, GCB_FIELD_REL_L2));
}

/* Removes the times of a tally: the search runs each setting only once, which is not enough for a time. */
static void forget_times(struct gcb_tally *t)
{
    t->encode = t->decode = (struct gcb_times){.seconds = NAN, .min = NAN, .low = NAN, .high = NAN};
    t->stop = GCB_STOP_NONE;
}

/* Keeps the tallies of the settings just measured that are now the best of their search. */
static void keep_best(struct rounds *r, const struct gcb_run_result *result)
{
    for (size_t i = 0; i < r->asked; i++) {
        struct gcb_match_search *s = &r->searches[r->requests[i].search];

        if (s->line.seen_count == 0)
            continue;
        gcb_line_search_result(&s->found, &s->line);
        if (s->found.position != r->requests[i].position || result->totals[i].failure.status)
            continue;
        s->tally = result->totals[i].tally;
        forget_times(&s->tally);
    }
}

/* An interrupted round covers only some messages, so it counts only for a search that has measured nothing else. */
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

static void on_progress(void *ctx, double done)
{
    const struct rounds *r = ctx;
    const double left = r->bisections < BISECTIONS ? BISECTIONS - r->bisections : 1.0;
    const double at = r->measured + done * (double)r->asked;
    const double all = r->measured + (double)r->asked + left * (double)r->count;

    if (r->observer->progress)
        r->observer->progress(r->observer->ctx, at / all);
}

static bool on_stop(void *ctx)
{
    const struct rounds *r = ctx;

    return r->observer->stop && r->observer->stop(r->observer->ctx);
}

/* Fails if the device failed or gave wrong results. Such a result says nothing about the parameter value that is tried. */
static int check_device(const struct gcb_run_result *result, struct gcb_diag *diag)
{
    for (size_t i = 0; i < result->method_count; i++) {
        const struct gcb_diag *failure = &result->totals[i].failure;

        if (failure->status == GCB_E_UNVERIFIED || failure->status == GCB_E_DEVICE)
            return gcb_diag_set(diag, failure->status, "%s", failure->text);
    }
    return 0;
}

static int run_round(struct rounds *r, const struct gcb_run_config *config, bool *interrupted,
                     struct gcb_diag *diag)
{
    const struct gcb_run_observer observer = {.progress = on_progress, .stop = on_stop, .ctx = r};
    struct gcb_run_config own = *config;
    struct gcb_run_result result;
    int err;

    own.methods = r->methods;
    own.method_count = r->asked;
    own.keep = NULL;
    own.carry_on = true;
    own.trial.timing = (struct gcb_timing){.repeat = 1};
    err = gcb_run(&result, &own, &observer, diag);
    *interrupted = result.interrupted;
    if (!err)
        err = check_device(&result, diag);
    if (!err)
        tell_all(r, &result);
    gcb_run_result_fini(&result);
    r->bisections += r->measured > 0.0;
    r->measured += (double)r->asked;
    return err;
}

/* Sets every method to the setting found. */
static int set_found(struct rounds *r, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < r->count; i++) {
        struct gcb_match_search *s = &r->searches[i];

        if (s->line.seen_count == 0) /* interrupted before the first value */
            continue;
        gcb_line_search_result(&s->found, &s->line);
        err = gcb_rate_axis_set(&s->method, &s->axis, s->found.position, diag);
    }
    return err;
}

int gcb_match_run(struct gcb_match_search *searches, size_t count,
                  const struct gcb_run_config *config, const struct gcb_run_observer *observer,
                  bool *interrupted, struct gcb_diag *diag)
{
    struct rounds r = {.searches = searches, .count = count, .observer = observer};
    int err = 0;

    *interrupted = false;
    r.methods = gcb_alloc_array(count * GCB_LINE_ASKS, sizeof(*r.methods));
    r.requests = gcb_alloc_array(count * GCB_LINE_ASKS, sizeof(*r.requests));
    if (!r.methods || !r.requests)
        err = gcb_diag_nomem(diag, count * GCB_LINE_ASKS * sizeof(*r.methods), "searches");
    while (!err && !*interrupted) {
        err = ask_all(&r, diag);
        if (err || r.asked == 0)
            break;
        err = run_round(&r, config, interrupted, diag);
    }
    if (!err)
        err = set_found(&r, diag);
    gcb_free(r.methods);
    gcb_free(r.requests);
    return err;
}

int gcb_match_fill_totals(struct gcb_run_result *out, size_t method_count,
                          const struct gcb_match_search *searches, size_t count,
                          struct gcb_diag *diag)
{
    if (!out->totals) {
        out->totals = gcb_alloc_zero(method_count, sizeof(*out->totals));
        out->method_count = out->totals ? method_count : 0;
    }
    if (!out->totals)
        return gcb_diag_nomem(diag, method_count * sizeof(*out->totals), "totals");
    for (size_t i = 0; i < count; i++) {
        struct gcb_run_total *total = &out->totals[i];

        if (total->failure.status || total->tally.messages >= searches[i].tally.messages)
            continue;
        gcb_sample_sums_fini(&total->encode);
        gcb_sample_sums_fini(&total->decode);
        total->tally = searches[i].tally;
    }
    out->interrupted = true;
    return 0;
}

bool gcb_match_reached(const struct gcb_match_search *s, const struct gcb_tally *tally)
{
    return tally->messages && gcb_match_meets(s->goal, gcb_tally_figure(tally, s->goal->field));
}

bool gcb_match_limits_error(const struct gcb_match_goal *goal)
{
    return goal->at_most != goal->rises;
}

double gcb_match_merit(const struct gcb_match_goal *goal, const struct gcb_tally *tally)
{
    return gcb_match_limits_error(goal) ? gcb_tally_figure(tally, GCB_FIELD_RATIO)
                                        : -gcb_tally_figure(tally, GCB_FIELD_REL_L2);
}

static const char *note_missed(char *out, const struct gcb_match_search *s, double value)
{
    const char *field = gcb_field_name(s->goal->field);
    char nearest[32], target[32];

    gcb_real_text(target, s->goal->target);
    snprintf(nearest, sizeof(nearest), "%.4g", value);
    if (!s->axis.param)
        snprintf(out, 200, "this method has no setting to tune; its %s is always %s", field,
                 nearest);
    else
        snprintf(out, 200, "no %s reaches %s %s; the nearest is %s%s", s->axis.param->name, field,
                 target, nearest,
                 s->found.monotonic ? "" : ", and the figure gets worse beyond that setting");
    return out;
}

const char *gcb_match_note(char *out, const struct gcb_match_search *s,
                           const struct gcb_tally *tally)
{
    const double value = gcb_tally_figure(tally, s->goal->field),
                 error = gcb_tally_figure(tally, GCB_FIELD_REL_L2);

    if (!gcb_match_meets(s->goal, value))
        return note_missed(out, s, value);
    if (!s->found.monotonic) {
        snprintf(out, 200, "%s is not monotonic in %s: other settings may be as good or better",
                 gcb_field_name(s->goal->field), s->axis.param->name);
        return out;
    }
    if (gcb_match_limits_error(s->goal) || !(error > s->found.least * 1.01))
        return NULL;
    snprintf(out, 200, "smaller messages have a smaller error, down to rel_l2 %.4g",
             s->found.least);
    return out;
}

/* ---- rows ---- */

static const enum gcb_field match_fields[] = {GCB_FIELD_MATCH_FIELD,   GCB_FIELD_MATCH_TARGET,
                                              GCB_FIELD_MATCH_REACHED, GCB_FIELD_MATCH_BEYOND,
                                              GCB_FIELD_MATCH_BY,      GCB_FIELD_MATCH_EVALUATIONS,
                                              GCB_FIELD_MATCH_STEADY,  GCB_FIELD_MATCH_NOTE};
#define MATCH_FIELDS (sizeof(match_fields) / sizeof(match_fields[0]))

/* Writes the fields of a search. The goal is not reached if no setting was measured or the setting failed. `whole`: the
 * search was not interrupted. */
static void put_match(struct gcb_row *row, const struct gcb_match_search *s,
                      const struct gcb_run_total *total, bool whole)
{
    const struct gcb_tally *tally = &total->tally;
    const bool measured = tally->messages && !total->failure.status;
    const double value = measured ? gcb_tally_figure(tally, s->goal->field) : (double)NAN;
    char note[200];

    gcb_row_text(row, GCB_FIELD_MATCH_FIELD, gcb_field_name(s->goal->field));
    gcb_row_real(row, GCB_FIELD_MATCH_TARGET, s->goal->target);
    gcb_row_bool(row, GCB_FIELD_MATCH_REACHED, gcb_match_meets(s->goal, value));
    gcb_row_real(row, GCB_FIELD_MATCH_BEYOND, whole && measured ? s->found.beyond : (double)NAN);
    gcb_row_text(row, GCB_FIELD_MATCH_BY, s->axis.param ? s->axis.param->name : NULL);
    gcb_row_u64(row, GCB_FIELD_MATCH_EVALUATIONS, s->line.seen_count);
    if (whole && measured) {
        gcb_row_bool(row, GCB_FIELD_MATCH_STEADY, s->found.monotonic);
        gcb_row_text(row, GCB_FIELD_MATCH_NOTE, gcb_match_note(note, s, tally));
    } else {
        gcb_row_null(row, GCB_FIELD_MATCH_STEADY);
        gcb_row_text(row, GCB_FIELD_MATCH_NOTE,
                     measured ? "interrupted: the search may not have ended" : NULL);
    }
}

void gcb_sweep_put(struct gcb_row *row, const struct gcb_sweep_row *sweep)
{
    gcb_row_known_bool(row, GCB_FIELD_PARETO, sweep->compared, sweep->pareto);
    if (sweep->match)
        put_match(row, sweep->match, sweep->total, sweep->compared);
    for (size_t i = 0; sweep->matching && !sweep->match && i < MATCH_FIELDS; i++)
        gcb_row_null(row, match_fields[i]);
}
