#include "src/tool/search/choose.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/read/layout.h"
#include "src/tool/search/policy_search.h"

/* The share of what is left of the progress bar that the next search takes: nobody knows how many there are. */
#define NEXT 0.3

/* Settings of a method that are searched on the whole input: at once if they are near the best, and at most. */
#define WHOLE_BEST 2
#define WHOLE_NEAR 1.05
#define WHOLE_MOST 12

/* A method's settings that are searched on the whole input. */
struct shortlist {
    struct gcb_match_search s[WHOLE_MOST]; /* best first, as found on the sample */
    size_t count, tried;                   /* `tried` of them were searched */
    size_t asked;                          /* number that the current batch has */
    bool left_out;
};

struct chooser {
    struct gcb_choice *c;
    struct gcb_run_config config;  /* of the whole input */
    struct gcb_run_config sampled; /* of the sample; the whole input if it is small */
    struct gcb_sample sample;
    /* methods for all goals, as in c->searches, and then a family of compositions for each goal */
    struct gcb_descent descent;
    struct shortlist *lists; /* one for each family, if there is a sample */
    struct gcb_run_observer observer;
    const struct gcb_run_observer *user;
    double begun, last; /* share of the searches that have ended; what the current one said last */
    bool *interrupted;
    struct gcb_diag *diag;
};

static void on_progress(void *ctx, double done)
{
    struct chooser *h = ctx;

    if (done < h->last)
        h->begun += NEXT * h->last * (1.0 - h->begun);
    h->last = done;
    if (h->user->progress)
        h->user->progress(h->user->ctx, h->begun + NEXT * done * (1.0 - h->begun));
}

static bool on_stop(void *ctx)
{
    const struct chooser *h = ctx;

    return h->user->stop && h->user->stop(h->user->ctx);
}

static int run(struct chooser *h, struct gcb_match_search *searches, size_t count)
{
    return count ? gcb_match_run(searches, count, &h->config, &h->observer, h->interrupted, h->diag)
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

/* ---- the search of all settings ---- */

/* Makes a family of each method and goal, and one of the compositions for each goal. */
static int plan_families(struct chooser *h)
{
    const struct gcb_choice *c = h->c;
    const size_t composed = c->compose ? c->goal_count : 0;
    struct gcb_descent *d = &h->descent;
    int err = 0;

    d->families = gcb_alloc_zero(c->count + composed, sizeof(*d->families));
    d->family_count = c->count + composed;
    d->several = h->sampled.layout->count > 1;
    d->diag = h->diag;
    if (!d->families)
        return gcb_diag_nomem(h->diag, 0, "methods");
    for (size_t i = 0; !err && i < c->count; i++) {
        const struct gcb_match_search *s = &c->searches[i];

        d->families[i] = (struct gcb_descent_family){.user = s->method,
                                                     .goal = s->goal,
                                                     .over = c->over,
                                                     .wide = 1,
                                                     .change = gcb_descent_vary};
        err =
            gcb_descent_add(d, i, &s->method, s->axis.param ? s->axis.param->name : NULL, SIZE_MAX);
    }
    for (size_t g = 0; !err && g < composed; g++)
        err = gcb_compose_begin(d, c->count + g, &c->goals[g]);
    return err;
}

static int search_settings(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    struct gcb_descent *d = &h->descent;
    int err = plan_families(h);

    if (!err)
        err = gcb_descent_run(d, &h->sampled, &h->observer, h->interrupted);
    c->tried = d->count;
    for (size_t i = 0; i < d->count; i++)
        c->evaluations += d->searches[i].evaluations;
    if (err || !c->allot)
        return err;
    c->tried_all = gcb_alloc_array(d->count + 1, sizeof(*c->tried_all));
    if (!c->tried_all)
        return gcb_diag_nomem(h->diag, 0, "compositions");
    for (size_t i = 0; i < d->count; i++)
        if (d->nodes[i].family == c->count) /* the compositions for the first goal */
            c->tried_all[c->tried_count++] = d->searches[i];
    return 0;
}

/* ---- the whole input ---- */

static bool is_composed(const struct chooser *h, size_t family)
{
    return h->descent.families[family].change != gcb_descent_vary;
}

/* The least cost for the goal among the published methods. INFINITY: none meets it. */
static double least_cost(const struct chooser *h, const struct gcb_match_goal *goal)
{
    double least = (double)INFINITY;

    for (size_t f = 0; f < h->c->count; f++)
        if (h->descent.families[f].goal == goal)
            least = fmin(least, gcb_match_cost(&h->lists[f].s[0]));
    return least;
}

static void leave_out(struct gcb_choice *c, const struct gcb_match_search *s)
{
    if (!gcb_lists(c->left_out, s->method.name))
        gcb_append(c->left_out, sizeof(c->left_out), "%s%s", c->left_out[0] ? ", " : "",
                   s->method.name);
}

/* Lists the settings to search on the whole input: the best ones of each method, and compositions of which each has another
 * transform or other values than all before it. Leaves out methods that are far behind. */
static void make_lists(struct chooser *h)
{
    const struct gcb_descent *d = &h->descent;
    const bool narrow = h->c->narrow && h->c->elements > GCB_CHOOSE_LARGE;

    for (size_t f = 0; f < d->family_count; f++) {
        struct shortlist *list = &h->lists[f];
        size_t best[WHOLE_MOST];

        list->count = gcb_descent_rank(d, f, best, 0, is_composed(h, f) ? GCB_COMPOSE_BEST : 4,
                                       d->families[f].alike);
        if (is_composed(h, f))
            list->count =
                gcb_descent_rank(d, f, best, list->count, WHOLE_MOST, gcb_compose_related);
        for (size_t i = 0; i < list->count; i++)
            list->s[i] = d->searches[best[i]];
    }
    for (size_t f = 0; narrow && f < h->c->count; f++) {
        const double least = least_cost(h, d->families[f].goal);

        h->lists[f].left_out =
            isfinite(least) && gcb_match_cost(&h->lists[f].s[0]) > GCB_CHOOSE_FAR * least;
        if (h->lists[f].left_out)
            leave_out(h->c, &h->lists[f].s[0]);
    }
}

/* Should the next setting of a list but `k` be searched? The best one, compositions that may change places with it, and other
 * settings that almost reached it on the sample. Then those that promised more than was reached on the whole input, by 1 %,
 * because values differ: low bits that are enough for the sample may be too few for the larger range of the whole input. */
static bool is_next(const struct shortlist *list, size_t k, bool composed)
{
    const double cost = gcb_match_cost(&list->s[list->tried + k]);
    double least = (double)INFINITY;

    if (list->tried == 0)
        return k == 0 || (k < GCB_COMPOSE_BEST && composed) ||
               (k < WHOLE_BEST && cost < WHOLE_NEAR * gcb_match_cost(&list->s[0]));
    for (size_t i = 0; i < list->tried; i++)
        least = fmin(least, gcb_match_cost(&list->s[i]));
    return k < GCB_COMPOSE_BEST && cost < 0.99 * least;
}

/* Searches the next settings of all lists together. *count: how many there were. */
static int search_next(struct chooser *h, struct gcb_match_search *batch, size_t *count)
{
    const size_t families = h->descent.family_count;
    size_t n = 0;
    int err = 0;

    for (size_t f = 0; f < families; f++) {
        struct shortlist *list = &h->lists[f];
        size_t k = 0;

        for (; !err && !list->left_out && list->tried + k < list->count &&
               is_next(list, k, is_composed(h, f));
             k++)
            err = gcb_match_search_again(&batch[n++], &list->s[list->tried + k], h->diag);
        list->asked = k;
    }
    if (!err)
        err = run(h, batch, n);
    *count = n;
    for (size_t f = 0; !err && f < families; f++)
        for (; h->lists[f].asked > 0; h->lists[f].asked--)
            h->lists[f].s[h->lists[f].tried++] = *batch++;
    return err;
}

static int search_whole(struct chooser *h)
{
    const size_t families = h->descent.family_count;
    struct gcb_match_search *batch;
    size_t count = 1;
    int err = 0;

    h->lists = gcb_alloc_zero(families, sizeof(*h->lists));
    batch = gcb_alloc_array(families * GCB_COMPOSE_BEST, sizeof(*batch));
    if (!h->lists || !batch)
        err = gcb_diag_nomem(h->diag, 0, "settings");
    else
        make_lists(h);
    while (!err && !*h->interrupted && count > 0)
        err = search_next(h, batch, &count);
    gcb_free(batch);
    return err;
}

/* ---- results ---- */

/* The best setting that was measured, or a mix of two. */
static int take_result(struct chooser *h, struct gcb_match_search *out, size_t family)
{
    const struct shortlist *list = h->lists ? &h->lists[family] : NULL;

    if (!list)
        return gcb_descent_result(out, &h->descent, family, *h->interrupted);
    if (list->tried && !*h->interrupted)
        return gcb_match_combine(out, list->s, list->tried, h->diag);
    for (size_t i = 0; i < list->tried; i++)
        if (i == 0 || gcb_match_better(&list->s[i], out))
            *out = list->s[i];
    return 0;
}

/* Replaces the searches by their results, and appends the compositions. After an interruption on the sample nothing is known
 * of the whole input. */
static int take_results(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    const size_t families = h->descent.family_count;
    int err = 0;

    if (*h->interrupted && c->sampled && !h->lists)
        return 0;
    c->count = 0;
    for (size_t f = 0; !err && f < families; f++) {
        const bool composed = is_composed(h, f);
        struct gcb_match_search s = {.goal = NULL};

        if ((h->lists && h->lists[f].left_out) || (composed && *h->interrupted))
            continue;
        if (!composed)
            s = c->searches[f];
        err = take_result(h, &s, f);
        if (!composed || s.mix.reached) {
            c->searches[c->count++] = s;
            c->composed += composed;
        }
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
    return err ? err : run(h, c->without, c->without_count);
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
    int err = 0;

    h.observer.ctx = &h;
    c->elements = gcb_layout_elements(config->layout);
    if (c->elements > GCB_CHOOSE_SAMPLE)
        err = take_sample(&h);
    if (!err)
        err = search_settings(&h);
    if (!err && !*interrupted && c->sampled)
        err = search_whole(&h);
    if (!err)
        err = take_results(&h);
    if (!err && !*interrupted && c->composed)
        err = take_away(&h);
    if (!err && !*interrupted && c->allot)
        err = gcb_policy_search(&c->policy, c, &h.config, &h.observer, interrupted, diag);
    gcb_sample_fini(&h.sample);
    gcb_free(h.descent.families);
    gcb_descent_fini(&h.descent);
    gcb_free(h.lists);
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

    if (!best || !plain->mix.reached)
        return (double)NAN;
    return gcb_match_cost(plain) / gcb_match_cost(best);
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
