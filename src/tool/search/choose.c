#include "src/tool/search/choose.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/dump/sample.h"
#include "src/tool/search/policy_search.h"

/* How many settings a search usually measures, from scratch and near the setting of another, and how many a search of
 * compositions does. Only the progress bar depends on them. */
#define SETTINGS 12.0
#define SETTINGS_NEAR 5.0
#define SETTINGS_COMPOSED 700.0
/* The same for a search of a policy, on a sample and on the whole input. */
#define SETTINGS_POLICY_SAMPLED 1000.0
#define SETTINGS_POLICY 50.0

enum phase {
    PHASE_METHODS_SAMPLED,
    PHASE_METHODS,
    PHASE_COMPOSE,
    PHASE_BEST,
    PHASE_STAGES,
    PHASE_POLICY,
    PHASES
};

struct chooser {
    struct gcb_choice *c;
    struct gcb_run_config config;  /* of the whole input */
    struct gcb_run_config sampled; /* of the sample; the whole input if it is small */
    struct gcb_sample sample;
    struct gcb_run_observer observer;
    const struct gcb_run_observer *user;
    enum phase phase;
    double work[PHASES]; /* elements of all settings that are probably measured */
    double begun, last;  /* share of the ended runs of the phase; what the current run said last */
    double
        shown; /* a second goal begins again with an earlier phase, but the bar does not go back */
    bool *interrupted;
    struct gcb_diag *diag;
};

/* Sets the work of all phases. `near` methods are searched near the settings found on the sample. */
static void plan_work(struct chooser *h, bool large, size_t near)
{
    const double goals = h->c->compose ? (double)h->c->goal_count : 0.0;
    const double whole = (double)h->c->elements, count = (double)h->c->count;
    const double sample = h->c->sampled ? (double)h->c->sampled : whole;

    h->work[PHASE_METHODS_SAMPLED] = large ? SETTINGS * count * sample : 0.0;
    h->work[PHASE_METHODS] = (large ? SETTINGS_NEAR * (double)near : SETTINGS * count) * whole;
    h->work[PHASE_COMPOSE] = goals * SETTINGS_COMPOSED * sample;
    h->work[PHASE_BEST] = h->c->sampled ? goals * GCB_COMPOSE_BEST * SETTINGS_NEAR * whole : 0.0;
    h->work[PHASE_STAGES] = goals * GCB_STAGE_NAMES * SETTINGS_NEAR * whole;
    h->work[PHASE_POLICY] =
        h->c->allot ? SETTINGS_POLICY_SAMPLED * sample + SETTINGS_POLICY * whole : 0.0;
}

static void begin(struct chooser *h, enum phase phase)
{
    h->phase = phase;
    h->begun = h->last = 0.0;
}

/* Nobody knows how many runs a search of compositions or of a policy has. Each takes half of what is left. */
static void on_progress(void *ctx, double done)
{
    struct chooser *h = ctx;
    const bool several = h->phase == PHASE_COMPOSE || h->phase == PHASE_POLICY;
    const double next = several ? 0.5 * (1.0 - h->begun) : 1.0;
    double before = 0.0, all = 0.0;

    if (several && done < h->last)
        h->begun += next * h->last;
    h->last = done;
    for (enum phase p = 0; p < PHASES; p++) {
        before += p < h->phase ? h->work[p] : 0.0;
        all += h->work[p];
    }
    h->shown = fmax(h->shown, (before + (h->begun + next * done) * h->work[h->phase]) / all);
    if (h->user->progress)
        h->user->progress(h->user->ctx, h->shown);
}

static bool on_stop(void *ctx)
{
    const struct chooser *h = ctx;

    return h->user->stop && h->user->stop(h->user->ctx);
}

static int run(struct chooser *h, struct gcb_match_search *searches, size_t count,
               const struct gcb_run_config *config)
{
    return count ? gcb_match_run(searches, count, config, &h->observer, h->interrupted, h->diag)
                 : 0;
}

/* Takes the sample. Infinities and NaNs in it become 0: the searches over the whole input follow the policy. */
static int take_sample(struct chooser *h)
{
    const int err =
        gcb_sample_init(&h->sample, h->config.source, h->config.layout, GCB_CHOOSE_SAMPLE, h->diag);

    h->c->sampled = gcb_layout_elements(&h->sample.layout);
    if (err || !h->c->sampled) /* all messages are dense */
        return err;
    h->sampled.layout = &h->sample.layout;
    h->sampled.nonfinite = GCB_POLICY_ZERO;
    h->sampled.in_place = 0;
    return 0;
}

/* The best merit for the goal among the methods that met it. */
static double best_merit(const struct gcb_match_search *s, size_t n,
                         const struct gcb_match_goal *goal)
{
    double best = -(double)INFINITY;

    for (size_t i = 0; i < n; i++)
        if (s[i].goal == goal && gcb_match_reached(&s[i], &s[i].tally))
            best = fmax(best, gcb_match_merit(goal, &s[i].tally));
    return best;
}

static bool is_far(const struct gcb_match_search *s, double best)
{
    const double merit = gcb_match_merit(s->goal, &s->tally);

    if (best == -(double)INFINITY)
        return false;
    return !gcb_match_reached(s, &s->tally) ||
           (merit > 0.0 ? merit * GCB_CHOOSE_FAR < best : merit < best * GCB_CHOOSE_FAR);
}

static void leave_out(struct gcb_choice *c, const struct gcb_match_search *s)
{
    if (!gcb_lists(c->left_out, s->method.name))
        gcb_append(c->left_out, sizeof(c->left_out), "%s%s", c->left_out[0] ? ", " : "",
                   s->method.name);
}

/* Searches the methods of a large input on the sample, leaves out those that are far behind, and lets the others start near
 * the settings found. */
static int prepare_large(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    struct gcb_match_search *s = gcb_alloc_array(c->count, sizeof(*s));
    size_t kept = 0;
    int err;

    if (!s)
        return gcb_diag_nomem(h->diag, c->count * sizeof(*s), "searches");
    memcpy(s, c->searches, c->count * sizeof(*s));
    begin(h, PHASE_METHODS_SAMPLED);
    err = run(h, s, c->count, &h->sampled);
    for (size_t i = 0; !err && !*h->interrupted && i < c->count; i++) {
        if (c->narrow && is_far(&s[i], best_merit(s, c->count, s[i].goal))) {
            leave_out(c, &s[i]);
            continue;
        }
        c->searches[kept] = c->searches[i];
        gcb_match_search_near(&c->searches[kept++], &s[i]);
    }
    if (!err && !*h->interrupted) {
        plan_work(h, true, kept);
        c->count = kept;
    }
    gcb_free(s);
    return err;
}

/* ---- compositions ---- */

/* Did the composition promise more on the sample than `best` reaches on the whole input? By 1 %, because values differ. */
static bool promises_more(const struct gcb_match_search *s, double best)
{
    return best == -(double)INFINITY ||
           gcb_match_merit(s->goal, &s->tally) > best + 0.01 * fabs(best);
}

/* Searches compositions of the sample on the whole input: the best few, and then the others as long as they promise more than
 * those reach. Low bits that are enough for the sample may be too few for the larger range of the whole input. */
static int search_whole(struct chooser *h, const struct gcb_compose_result *found,
                        struct gcb_match_search *s, size_t *best)
{
    size_t tried = 0;
    double reached = -(double)INFINITY;
    int err = 0;

    begin(h, PHASE_BEST);
    while (!err && !*h->interrupted && tried < found->count) {
        size_t n = 0;

        while (!err && n < GCB_COMPOSE_BEST && tried + n < found->count &&
               promises_more(&found->best[tried + n], reached)) {
            err = gcb_match_search_again(&s[tried + n], &found->best[tried + n], h->diag);
            n++;
        }
        if (err || n == 0)
            break;
        err = run(h, s + tried, n, &h->config);
        for (; n > 0; n--, tried++)
            if (gcb_match_reached(&s[tried], &s[tried].tally) &&
                gcb_match_merit(s[tried].goal, &s[tried].tally) > reached) {
                reached = gcb_match_merit(s[tried].goal, &s[tried].tally);
                *best = tried;
            }
    }
    return err;
}

/* Appends the best composition. */
static int add_best(struct chooser *h, const struct gcb_compose_result *found)
{
    struct gcb_choice *c = h->c;
    struct gcb_match_search s[GCB_COMPOSE_KEPT];
    size_t best = 0;
    int err = 0;

    if (found->count == 0)
        return 0;
    memcpy(s, found->best, sizeof(s));
    if (c->sampled)
        err = search_whole(h, found, s, &best);
    if (err || *h->interrupted)
        return err;
    c->searches[c->count++] = s[best];
    c->composed++;
    return 0;
}

static int compose(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    int err = 0;

    for (size_t g = 0; !err && !*h->interrupted && g < c->goal_count; g++) {
        struct gcb_compose_result *found = gcb_alloc_zero(1, sizeof(*found));

        if (!found)
            return gcb_diag_nomem(h->diag, sizeof(*found), "a composition");
        begin(h, PHASE_COMPOSE);
        err = gcb_compose_run(found, &c->goals[g], &h->sampled, &h->observer, h->interrupted,
                              h->diag);
        c->tried += found->tried;
        c->evaluations += found->evaluations;
        if (!err && !*h->interrupted)
            err = add_best(h, found);
        if (c->allot && g == 0)
            c->tried_all = found->all;
        else
            gcb_free(found->all);
        gcb_free(found);
    }
    return err;
}

/* Searches each composition again with each stage plain. */
static int take_away(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    const size_t most = c->composed * GCB_STAGE_NAMES;
    int err = 0;

    c->without = gcb_alloc_zero(most, sizeof(*c->without));
    c->stages = gcb_alloc_zero(most, sizeof(*c->stages));
    if (!c->without || !c->stages)
        return gcb_diag_nomem(h->diag, most * sizeof(*c->without), "searches");
    for (size_t i = c->count - c->composed; !err && i < c->count; i++)
        for (int stage = 0; !err && stage < GCB_STAGE_NAMES; stage++) {
            struct gcb_match_search *s = &c->without[c->without_count];
            struct gcb_method m;

            if (!gcb_compose_without(&m, &c->searches[i].method, stage))
                continue;
            err = gcb_match_search_init(s, &m, c->searches[i].goal, NULL, h->diag);
            if (err)
                break;
            gcb_match_search_near(s, &c->searches[i]);
            c->stages[c->without_count++] = (struct gcb_choice_stage){c->searches[i].goal, stage};
        }
    begin(h, PHASE_STAGES);
    return err ? err : run(h, c->without, c->without_count, &h->config);
}

int gcb_choose_run(struct gcb_choice *c, const struct gcb_run_config *config,
                   const struct gcb_run_observer *observer, bool *interrupted,
                   struct gcb_diag *diag)
{
    struct chooser h = {
        .c = c,
        .config = *config,
        .sampled = *config,
        .user = observer,
        .observer = {.progress = on_progress, .stop = on_stop},
        .interrupted = interrupted,
        .diag = diag,
    };
    bool large;
    int err = 0;

    h.observer.ctx = &h;
    c->elements = gcb_layout_elements(config->layout);
    large = c->elements > GCB_CHOOSE_LARGE;
    if (large || (c->compose && c->elements > GCB_CHOOSE_SAMPLE))
        err = take_sample(&h);
    plan_work(&h, large && c->sampled, c->count / 2);
    if (!err && large && c->sampled)
        err = prepare_large(&h);
    begin(&h, PHASE_METHODS);
    if (!err && !*interrupted)
        err = run(&h, c->searches, c->count, &h.config);
    if (!err && !*interrupted && c->compose)
        err = compose(&h);
    if (!err && !*interrupted && c->composed)
        err = take_away(&h);
    begin(&h, PHASE_POLICY);
    if (!err && !*interrupted && c->allot)
        err = gcb_policy_search(&c->policy, c, &h.config, &h.observer, interrupted, diag);
    gcb_sample_fini(&h.sample);
    return err;
}

bool gcb_choice_composed(const struct gcb_choice *c, size_t search)
{
    return search < c->count && search >= c->count - c->composed;
}

/* The composition for a goal. */
static const struct gcb_match_search *find_composition(const struct gcb_choice *c,
                                                       const struct gcb_match_goal *goal)
{
    for (size_t i = c->count - c->composed; i < c->count; i++)
        if (c->searches[i].goal == goal)
            return &c->searches[i];
    return NULL;
}

double gcb_choice_earns(const struct gcb_choice *c, size_t k)
{
    const struct gcb_match_search *plain = &c->without[k];
    const struct gcb_match_search *best = find_composition(c, plain->goal);
    const enum gcb_field field =
        gcb_match_limits_error(plain->goal) ? GCB_FIELD_WIRE_BYTES : GCB_FIELD_REL_L2;

    if (!best || !gcb_match_reached(plain, &plain->tally))
        return (double)NAN;
    return gcb_tally_figure(&plain->tally, field) / gcb_tally_figure(&best->tally, field);
}

void gcb_choice_put(struct gcb_row *row, const struct gcb_choice *c, size_t search)
{
    static const enum gcb_field fields[GCB_STAGE_NAMES] = {
        GCB_FIELD_WITHOUT_TRANSFORM, GCB_FIELD_WITHOUT_SELECT, GCB_FIELD_WITHOUT_VALUES,
        GCB_FIELD_WITHOUT_INDEX};
    double earns[GCB_STAGE_NAMES] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    const bool composed = gcb_choice_composed(c, search);

    for (size_t k = 0; composed && k < c->without_count; k++)
        if (c->stages[k].goal == c->searches[search].goal)
            earns[c->stages[k].stage] = gcb_choice_earns(c, k);
    gcb_row_known_bool(row, GCB_FIELD_MATCH_COMPOSED, search < c->count, composed);
    for (size_t i = 0; i < GCB_STAGE_NAMES; i++)
        gcb_row_real(row, fields[i], earns[i]);
}

void gcb_choice_fini(struct gcb_choice *c)
{
    gcb_free(c->searches);
    gcb_free(c->without);
    gcb_free(c->stages);
    gcb_free(c->tried_all);
    gcb_policy_fini(&c->policy);
    memset(c, 0, sizeof(*c));
}
