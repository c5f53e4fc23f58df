#include "src/tool/search/choose.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/read/layout.h"

/* Limits on the settings that are searched on the whole input. The settings that cost least on the
 * sample come first. */
#define WHOLE_METHOD 4       /* most settings of a method for a goal */
#define WHOLE_COMPOSITION 12 /* most compositions for a goal */
/* The second setting of a method is searched together with the best one if it costs less than this
 * many times as much. */
#define WHOLE_NEAR 1.05
/* A later setting is searched if, on the sample, it costs less than this share of the best cost so
 * far on the whole input. */
#define WHOLE_PROMISES 0.99

/* The settings of a family that may be searched on the whole input. */
struct shortlist {
    size_t at[WHOLE_COMPOSITION]; /* indices in the descent on the sample, cheapest first */
    size_t count, tried;          /* the first `tried` were given to chooser.whole */
    bool left_out;                /* the method is far worse than the best one */
};

struct chooser {
    struct gcb_choice *c;
    struct gcb_run_config config;  /* for runs on the whole input */
    struct gcb_run_config sampled; /* for runs on the sample; equal to `config` without a sample */
    struct gcb_sample sample;
    struct shortlist *lists;  /* for each family; NULL until a sample has been searched */
    struct gcb_descent whole; /* the settings of the lists, searched on the whole input */
    const struct gcb_watch *watch;
    bool *interrupted;
    struct gcb_diag *diag;
};

/* Takes the sample. Infinities and NaNs in it become 0; only the searches on the whole input treat
 * them as the user asked. */
static int take_sample(struct chooser *h)
{
    const int err =
        gcb_sample_init(&h->sample, h->config.source, h->config.layout, GCB_CHOOSE_SAMPLE, h->diag);

    h->c->sampled = gcb_layout_elements(&h->sample.layout);
    if (err || !h->c->sampled) /* no sample if all messages are sent as fp32 */
        return err;
    h->sampled.layout = &h->sample.layout;
    h->sampled.nonfinite = GCB_POLICY_ZERO;
    h->sampled.in_place = 0;
    return 0;
}

/* ---- the search of all settings ---- */

/* Makes a family for each method and goal, and a family of compositions for each goal. */
static int plan_families(struct chooser *h)
{
    const struct gcb_choice *c = h->c;
    struct gcb_descent *d = &h->c->descent;

    d->family_count = c->count + (c->compose ? c->goal_count : 0);
    d->families = gcb_must_zero(d->family_count, sizeof(*d->families));
    d->several = h->sampled.layout->count > 1;
    d->diag = h->diag;
    for (size_t i = 0; i < c->count; i++) {
        const struct gcb_match_search *s = &c->searches[i];

        d->families[i] = (struct gcb_descent_family){.user = s->method,
                                                     .goal = s->goal,
                                                     .over = c->over,
                                                     .wide = 1,
                                                     .change = gcb_descent_vary};
        gcb_descent_add(d, i, &s->method, s->axis.param ? s->axis.param->name : NULL, SIZE_MAX);
    }
    for (size_t f = c->count; f < d->family_count; f++)
        gcb_compose_begin(d, f, &c->goals[f - c->count]);
    return d->err;
}

/* ---- the search on the whole input ---- */

bool gcb_choice_composes(const struct gcb_choice *c, size_t family)
{
    return c->descent.families[family].change != gcb_descent_vary;
}

/* Returns the cost on the sample of setting k of a family's list. */
static double sample_cost(const struct chooser *h, size_t family, size_t k)
{
    return gcb_match_cost(&h->c->descent.searches[h->lists[family].at[k]]);
}

/* Lists the settings of each family that may be searched on the whole input. The list of
 * compositions begins with the best three. Each later composition differs in its transform, values
 * or bits from every composition before it. */
static void make_lists(struct chooser *h)
{
    const struct gcb_descent *d = &h->c->descent;

    for (size_t f = 0; f < d->family_count; f++) {
        struct shortlist *list = &h->lists[f];
        const bool composed = gcb_choice_composes(h->c, f);

        list->count = gcb_descent_rank(
            d, f, list->at, 0, composed ? GCB_COMPOSE_BEST : WHOLE_METHOD, d->families[f].alike);
        if (composed)
            list->count = gcb_descent_rank(d, f, list->at, list->count, WHOLE_COMPOSITION,
                                           gcb_compose_related);
    }
}

/* Returns the cost of the best method for a goal on the sample. INFINITY: none meets the goal. */
static double least_cost(const struct chooser *h, const struct gcb_match_goal *goal)
{
    double least = (double)INFINITY;

    for (size_t f = 0; f < h->c->count; f++)
        if (h->c->descent.families[f].goal == goal)
            least = fmin(least, sample_cost(h, f, 0));
    return least;
}

/* Leaves out methods that are far worse than the best one on the sample. */
static void leave_out(struct chooser *h)
{
    struct gcb_choice *c = h->c;

    for (size_t f = 0; f < c->count; f++) {
        const struct gcb_descent_family *family = &c->descent.families[f];
        const double least = least_cost(h, family->goal);

        h->lists[f].left_out = isfinite(least) && sample_cost(h, f, 0) > GCB_CHOOSE_FAR * least;
        if (h->lists[f].left_out && !gcb_lists(c->left_out, family->user.name))
            gcb_append(c->left_out, sizeof(c->left_out), "%s%s", c->left_out[0] ? ", " : "",
                       family->user.name);
    }
}

/* True if setting tried + k of a list should be searched in this round. The first round takes the
 * best three compositions. From the list of a method, the first round takes the best setting, and
 * the second one if that costs almost as little. A later round takes at most three settings, each
 * cheaper on the sample than any setting was on the whole input. The whole input may rank settings
 * in another order: for example, few bits that suffice for the sample may be too few for the wider
 * range of values of the whole input. */
static bool is_next(const struct chooser *h, size_t family, size_t k)
{
    const struct shortlist *list = &h->lists[family];
    const double cost = sample_cost(h, family, list->tried + k);
    double least = (double)INFINITY;

    if (list->tried == 0)
        return k == 0 || (k < GCB_COMPOSE_BEST && gcb_choice_composes(h->c, family)) ||
               (k == 1 && cost < WHOLE_NEAR * sample_cost(h, family, 0));
    for (size_t i = 0; i < h->whole.count; i++)
        if (h->whole.nodes[i].family == family)
            least = fmin(least, gcb_match_cost(&h->whole.searches[i]));
    return k < GCB_COMPOSE_BEST && cost < WHOLE_PROMISES * least;
}

/* Adds the settings of a family's list that the next round searches (gcb_descent.grow). Counts
 * these settings before it adds the first, because is_next depends on `tried` and on the settings
 * of earlier rounds. */
static void add_next(struct gcb_descent *whole, size_t family)
{
    struct chooser *h = whole->ctx;
    struct shortlist *list = &h->lists[family];
    struct gcb_match_search s;
    size_t n = 0;

    if (list->left_out)
        return;
    while (list->tried + n < list->count && is_next(h, family, n))
        n++;
    for (; n > 0 && !whole->err; n--) {
        whole->err =
            gcb_match_search_again(&s, &h->c->descent.searches[list->at[list->tried++]], h->diag);
        gcb_descent_append(whole, family, &s, SIZE_MAX);
    }
}

/* Searches the settings of the lists on the whole input. */
static int search_whole(struct chooser *h)
{
    const struct gcb_descent *d = &h->c->descent;

    h->whole = (struct gcb_descent){.families = d->families,
                                    .family_count = d->family_count,
                                    .grow = add_next,
                                    .ctx = h,
                                    .diag = h->diag,
                                    .shown = d->shown};
    h->lists = gcb_must_zero(d->family_count, sizeof(*h->lists));
    make_lists(h);
    if (h->c->narrow && h->c->elements > GCB_CHOOSE_LARGE)
        leave_out(h);
    for (size_t f = 0; f < d->family_count; f++)
        add_next(&h->whole, f);
    return gcb_descent_run(&h->whole, &h->config, h->watch, h->interrupted);
}

/* ---- the results and the whole run ---- */

/* Replaces c->searches by the results of the methods that were not left out, then of the
 * compositions that meet their goals. After an interruption there are no compositions. If the run
 * was interrupted while the sample was searched, c->searches stays as it is, because nothing is
 * known about the whole input. */
static int take_results(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    const size_t families = c->descent.family_count;
    int err = 0;

    if (*h->interrupted && c->sampled && !h->lists)
        return 0;
    c->count = 0;
    for (size_t f = 0; !err && f < families; f++) {
        const bool composed = gcb_choice_composes(c, f);
        struct gcb_match_search s = {.goal = NULL};

        if ((h->lists && h->lists[f].left_out) || (composed && *h->interrupted))
            continue;
        if (!composed)
            s = c->searches[f];
        err = gcb_descent_result(&s, h->lists ? &h->whole : &c->descent, f, *h->interrupted);
        if (!composed || s.mix.reached) {
            c->searches[c->count++] = s;
            c->composed += composed;
        }
    }
    return err;
}

/* Searches each composition again, with each stage in turn replaced by the plain one. */
static int search_without(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    const size_t most = c->composed * GCB_STAGE_NAMES;
    const struct gcb_watch rest =
        gcb_watch_part(h->watch, fmax(c->descent.shown, h->whole.shown), 1.0);
    int err = 0;

    c->without = gcb_must_zero(most, sizeof(*c->without));
    c->stages = gcb_must_zero(most, sizeof(*c->stages));
    for (size_t i = c->count - c->composed; i < c->count; i++)
        for (int stage = 0; stage < GCB_STAGE_NAMES; stage++) {
            struct gcb_match_search *s = &c->without[c->without_count];
            struct gcb_method m;

            if (!gcb_compose_without(&m, &c->searches[i].method, stage))
                continue;
            err = gcb_match_search_init(s, &m, c->searches[i].goal, NULL, h->diag);
            if (err)
                return err;
            gcb_match_search_near(s, &c->searches[i]);
            c->stages[c->without_count++] = (struct gcb_choice_stage){c->searches[i].goal, stage};
        }
    if (!c->without_count)
        return 0;
    return gcb_match_run(c->without, c->without_count, &h->config, &rest, h->interrupted, h->diag);
}

int gcb_choose_run(struct gcb_choice *c, const struct gcb_run_config *config,
                   const struct gcb_watch *watch, bool *interrupted, struct gcb_diag *diag)
{
    struct chooser h = {
        .c = c,
        .config = *config,
        .sampled = *config,
        .watch = watch,
        .interrupted = interrupted,
        .diag = diag,
    };
    int err = 0;

    c->elements = gcb_layout_elements(config->layout);
    if (c->elements > GCB_CHOOSE_SAMPLE)
        err = take_sample(&h);
    if (!err)
        err = plan_families(&h);
    if (!err)
        err = gcb_descent_run(&c->descent, &h.sampled, watch, interrupted);
    if (!err && !*interrupted && c->sampled)
        err = search_whole(&h);
    if (!err)
        err = take_results(&h);
    if (!err && !*interrupted && c->composed)
        err = search_without(&h);
    gcb_sample_fini(&h.sample);
    gcb_descent_fini(&h.whole);
    gcb_free(h.lists);
    return err;
}

bool gcb_choice_composed(const struct gcb_choice *c, size_t search)
{
    return search < c->count && search >= c->count - c->composed;
}

double gcb_choice_earns(const struct gcb_choice *c, size_t k)
{
    const struct gcb_match_search *plain = &c->without[k];

    for (size_t i = c->count - c->composed; i < c->count && plain->mix.reached; i++)
        if (c->searches[i].goal == plain->goal)
            return gcb_match_cost(plain) / gcb_match_cost(&c->searches[i]);
    return (double)NAN;
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
    gcb_free(c->descent.families);
    gcb_descent_fini(&c->descent);
    memset(c, 0, sizeof(*c));
}
