#include "src/tool/search/choose.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/read/layout.h"

/* The share of what is left of the progress bar that the next search takes: nobody knows how many
 * there are. */
#define NEXT 0.3

/* Settings of a method that are searched on the whole input: at once if they are near the best, and
 * at most. */
#define WHOLE_BEST 2
#define WHOLE_NEAR 1.05
#define WHOLE_MOST 12

/* A method's settings that are searched on the whole input: places in the descent, best first as
 * found on the sample. */
struct shortlist {
    size_t at[WHOLE_MOST];
    size_t count, tried; /* `tried` of them were searched */
    bool left_out;
};

struct chooser {
    struct gcb_choice *c;
    struct gcb_run_config config;  /* of the whole input */
    struct gcb_run_config sampled; /* of the sample; the whole input if it is small */
    struct gcb_sample sample;
    struct shortlist *lists;  /* one for each family, if there is a sample */
    struct gcb_descent whole; /* the settings of the lists, over the whole input */
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

/* Takes the sample. Infinities and NaNs in it become 0: the searches over the whole input follow
 * the policy. */
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
    struct gcb_descent *d = &h->c->descent;

    d->family_count = c->count + (c->compose ? c->goal_count : 0);
    d->families = gcb_alloc_zero(d->family_count, sizeof(*d->families));
    d->several = h->sampled.layout->count > 1;
    d->diag = h->diag;
    if (!d->families)
        return gcb_diag_nomem(h->diag, 0, "methods");
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

/* ---- the whole input ---- */

bool gcb_choice_composes(const struct gcb_choice *c, size_t family)
{
    return c->descent.families[family].change != gcb_descent_vary;
}

/* The cost on the sample of a setting of a list. */
static double sample_cost(const struct chooser *h, size_t family, size_t k)
{
    return gcb_match_cost(&h->c->descent.searches[h->lists[family].at[k]]);
}

/* Lists the settings to search on the whole input: the best ones of each method, and compositions
 * of which each has another transform or other values than all before it. Leaves out methods that
 * are far behind. */
static void make_lists(struct chooser *h)
{
    struct gcb_choice *c = h->c;
    const struct gcb_descent *d = &c->descent;
    const bool narrow = c->narrow && c->elements > GCB_CHOOSE_LARGE;

    for (size_t f = 0; f < d->family_count; f++) {
        struct shortlist *list = &h->lists[f];
        const bool composed = gcb_choice_composes(c, f);

        list->count = gcb_descent_rank(d, f, list->at, 0, composed ? GCB_COMPOSE_BEST : 4,
                                       d->families[f].alike);
        if (composed)
            list->count =
                gcb_descent_rank(d, f, list->at, list->count, WHOLE_MOST, gcb_compose_related);
    }
    for (size_t f = 0; narrow && f < c->count; f++) {
        const char *name = d->families[f].user.name;
        double least =
            (double)INFINITY; /* among the published methods; INFINITY: none meets the goal */

        for (size_t k = 0; k < c->count; k++)
            if (d->families[k].goal == d->families[f].goal)
                least = fmin(least, sample_cost(h, k, 0));
        h->lists[f].left_out = isfinite(least) && sample_cost(h, f, 0) > GCB_CHOOSE_FAR * least;
        if (h->lists[f].left_out && !gcb_lists(c->left_out, name))
            gcb_append(c->left_out, sizeof(c->left_out), "%s%s", c->left_out[0] ? ", " : "", name);
    }
}

/* True if the next setting of a list but `k` should be searched: the best one, compositions that
 * may change places with it, and other settings that almost reached it on the sample. Then those
 * that promised more than was reached on the whole input, by 1 %, because values differ: low bits
 * that are enough for the sample may be too few for the larger range of the whole input. */
static bool is_next(const struct chooser *h, size_t family, size_t k)
{
    const struct shortlist *list = &h->lists[family];
    const double cost = sample_cost(h, family, list->tried + k);
    double least = (double)INFINITY;

    if (list->tried == 0)
        return k == 0 || (k < GCB_COMPOSE_BEST && gcb_choice_composes(h->c, family)) ||
               (k < WHOLE_BEST && cost < WHOLE_NEAR * sample_cost(h, family, 0));
    for (size_t i = 0; i < h->whole.count; i++)
        if (h->whole.nodes[i].family == family)
            least = fmin(least, gcb_match_cost(&h->whole.searches[i]));
    return k < GCB_COMPOSE_BEST && cost < 0.99 * least;
}

/* Adds the next settings of a list. */
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

static int search_whole(struct chooser *h)
{
    const struct gcb_descent *d = &h->c->descent;

    h->whole = (struct gcb_descent){.families = d->families,
                                    .family_count = d->family_count,
                                    .grow = add_next,
                                    .ctx = h,
                                    .diag = h->diag};
    h->lists = gcb_alloc_zero(d->family_count, sizeof(*h->lists));
    if (!h->lists)
        return gcb_diag_nomem(h->diag, 0, "settings");
    make_lists(h);
    for (size_t f = 0; f < d->family_count; f++)
        add_next(&h->whole, f);
    return gcb_descent_run(&h->whole, &h->config, &h->observer, h->interrupted);
}

/* ---- results ---- */

/* Replaces the searches by their results, and appends the compositions. After an interruption on
 * the sample nothing is known of the whole input. */
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
    return c->without_count ? gcb_match_run(c->without, c->without_count, &h->config, &h->observer,
                                            h->interrupted, h->diag)
                            : 0;
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
        err = plan_families(&h);
    if (!err)
        err = gcb_descent_run(&c->descent, &h.sampled, &h.observer, interrupted);
    if (!err && !*interrupted && c->sampled)
        err = search_whole(&h);
    if (!err)
        err = take_results(&h);
    if (!err && !*interrupted && c->composed)
        err = take_away(&h);
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
