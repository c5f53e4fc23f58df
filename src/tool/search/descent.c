#include "src/tool/base/memory.h"
#include "src/tool/search/choose.h"

#include <math.h>
#include <string.h>

/* The share of the remaining progress bar that a round takes. The number of rounds is not known in
 * advance. */
#define ROUND_SHARE 0.3
#define ROUNDS 12    /* most rounds; searches on real gradients end after 3 to 6 */
#define MOST_TRIED 8 /* room for the values that list_values lists */
#define FROM_ZERO 6  /* most values that are tried instead of 0 */
/* Sizes are also changed by this factor, because the cost may rise when a size is doubled, and yet
 * be lower at a far larger size. */
#define FAR 16.0

/* ---- settings ---- */

/* True if two settings have the same values of all parameters that have an effect, except the
 * parameter in row `axis`. */
static bool is_same(const struct gcb_match_search *a, const struct gcb_method *b, size_t axis)
{
    for (size_t row = 0; gcb_method_param(b, row); row++)
        if (row != axis && a->method.value[row] != b->value[row] &&
            (gcb_method_applies(&a->method, row) || gcb_method_applies(b, row)))
            return false;
    return true;
}

void gcb_descent_append(struct gcb_descent *d, size_t family, const struct gcb_match_search *s,
                        size_t parent)
{
    if (d->err)
        return;
    gcb_must_grow(&d->nodes, &d->node_cap, d->count, sizeof(*d->nodes));
    gcb_must_grow(&d->searches, &d->search_cap, d->count, sizeof(*d->searches));

    d->searches[d->count] = *s;
    d->nodes[d->count++] = (struct gcb_descent_node){.family = family, .parent = parent};
}

void gcb_descent_add(struct gcb_descent *d, size_t family, const struct gcb_method *method,
                     const char *key, size_t parent)
{
    const bool first = parent == SIZE_MAX;
    struct gcb_match_search s;
    struct gcb_method m = *method;
    int err;

    for (size_t row = 0; key && gcb_method_param(&m, row); row++)
        if (strcmp(gcb_method_param(&m, row)->name, key) == 0)
            m.given[row] = false; /* the line search refuses a parameter that the user set */
    if (!first && (gcb_method_check(&m, NULL) || (key && !gcb_rate_named(&m, key))))
        return;
    err = gcb_match_search_init(&s, &m, d->families[family].goal, key, first ? d->diag : NULL);
    if (err) {
        if (first && !d->err)
            d->err = err;
        return;
    }
    for (size_t i = 0; i < d->count; i++)
        if (d->nodes[i].family == family && d->searches[i].axis.param == s.axis.param &&
            is_same(&d->searches[i], &m, s.axis.param ? s.axis.row : SIZE_MAX))
            return;
    if (!first)
        gcb_match_search_near(&s, &d->searches[parent]);
    gcb_descent_append(d, family, &s, parent);
}

/* ---- changes of a method's parameters ---- */

/* True if the preset's defaults set the parameter; false without a preset (NULL). */
static bool preset_sets(const struct gcb_preset *preset, const char *name)
{
    const size_t n = strlen(name);
    const char *at = preset ? preset->defaults : NULL;

    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            return true;
    return false;
}

/* True if the choice in `row` makes the method what it is: the method's preset sets the choice, or
 * in some method of the same codec the choice differs from the codec's default. */
static bool is_defining(const struct gcb_method *method, size_t row)
{
    const struct gcb_codec *codec = method->codec;
    struct gcb_method m;

    if (preset_sets(method->preset, codec->params[row].name))
        return true;
    for (size_t i = 0; gcb_method_at(&m, i); i++)
        if (m.codec == codec && m.value[row] != codec->params[row].def)
            return true;
    return false;
}

static bool is_whole(const struct gcb_param *p)
{
    return p->type == GCB_PARAM_INT || p->type == GCB_PARAM_SIZE;
}

static bool may_change(const struct gcb_descent_family *f, const struct gcb_method *m, size_t row)
{
    const struct gcb_param *p = &m->codec->params[row];

    return p->type != GCB_PARAM_REAL && p->type != GCB_PARAM_TILE && !f->user.given[row] &&
           gcb_method_applies(m, row) && !(p->type == GCB_PARAM_CHOICE && is_defining(m, row));
}

/* Lists the values to try instead of `value`. If `value` is 0, the list is 1, 2, 4 ... for a whole
 * number, and 16, 64, 256 ... for a size. Returns the number of values. */
static size_t list_values(double out[MOST_TRIED], const struct gcb_param *p, double value)
{
    const bool size = p->type == GCB_PARAM_SIZE;
    const double next = size ? FAR * value : value + 1.0;
    const double before = size ? floor(value / FAR) : value - 1.0;
    const double all[] = {floor(value / 2.0), 2.0 * value, before, next};
    size_t n = 0;

    if (!(value > 0.0)) {
        for (double v = size ? 16.0 : 1.0; n < FROM_ZERO && v <= p->max; v *= size ? 4.0 : 2.0)
            out[n++] = v;
        return n;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] >= fmax(p->min, 1.0) && all[i] <= p->max && all[i] != value)
            out[n++] = all[i];
    return n;
}

/* Adds setting `from` with another value of the parameter in `row`, if that is valid. */
static void add_value(struct gcb_descent *d, size_t from, size_t row, double value)
{
    const struct gcb_match_search *s = &d->searches[from];
    const struct gcb_param *p = &s->method.codec->params[row];
    struct gcb_method m = s->method;
    char text[GCB_PARAM_TEXT];

    if (gcb_method_change(&m, p->name, gcb_param_text(text, p, value), NULL) != 0)
        return;
    m.given[row] = value != d->families[d->nodes[from].family].user.value[row];
    gcb_descent_add(d, d->nodes[from].family, &m, s->axis.param ? s->axis.param->name : NULL, from);
}

/* Adds the settings with another value of the parameter in `row`. But if this parameter and the
 * parameter that the line search tunes are both whole numbers that change the size, adds one line
 * search that tunes this parameter instead. */
static void vary_param(struct gcb_descent *d, size_t from, size_t row)
{
    const struct gcb_method *user = &d->families[d->nodes[from].family].user;
    const struct gcb_rate_axis axis = d->searches[from].axis;
    struct gcb_method m = d->searches[from].method;
    const struct gcb_param *p = &m.codec->params[row];
    double values[MOST_TRIED];
    size_t n;

    if (axis.param && is_whole(axis.param) && is_whole(p) && p->rate != GCB_RATE_NONE) {
        m.value[axis.row] = user->value[axis.row];
        m.given[axis.row] = false;
        gcb_descent_add(d, d->nodes[from].family, &m, p->name, from);
    } else if (p->type == GCB_PARAM_CHOICE) {
        for (size_t i = 0; p->choices[i]; i++)
            add_value(d, from, row, (double)i);
    } else {
        n = list_values(values, p, m.value[row]);
        for (size_t i = 0; i < n; i++)
            add_value(d, from, row, values[i]);
    }
}

void gcb_descent_vary(struct gcb_descent *d, size_t from)
{
    const struct gcb_descent_family *f = &d->families[d->nodes[from].family];
    const size_t count = gcb_param_count(f->user.codec->params);

    for (size_t row = 0; !f->over && row < count; row++) {
        const struct gcb_match_search *s = &d->searches[from];

        if (s->axis.param != &f->user.codec->params[row] && may_change(f, &s->method, row))
            vary_param(d, from, row);
    }
}

/* ---- the search ---- */

/* True if setting i is in `best`, which has `n` settings, or is `alike` to a setting in `best`. */
static bool is_ranked(const struct gcb_descent *d, size_t i, const size_t *best, size_t n,
                      bool (*alike)(const struct gcb_method *, const struct gcb_method *))
{
    for (size_t k = 0; k < n; k++)
        if (best[k] == i || (alike && alike(&d->searches[best[k]].method, &d->searches[i].method)))
            return true;
    return false;
}

size_t gcb_descent_rank(const struct gcb_descent *d, size_t family, size_t *best, size_t n,
                        size_t most,
                        bool (*alike)(const struct gcb_method *, const struct gcb_method *))
{
    for (; n < most; n++) {
        size_t found = SIZE_MAX;

        for (size_t i = 0; i < d->count; i++) {
            if (d->nodes[i].family != family || d->searches[i].line.seen_count == 0 ||
                is_ranked(d, i, best, n, alike))
                continue;
            if (found == SIZE_MAX || gcb_match_better(&d->searches[i], &d->searches[found]))
                found = i;
        }
        if (found == SIZE_MAX)
            break;
        best[n] = found;
    }
    return n;
}

/* Adds the changes of the best settings of a family: the default of gcb_descent.grow. */
static void change_best(struct gcb_descent *d, size_t family)
{
    const struct gcb_descent_family *f = &d->families[family];
    size_t best[GCB_DESCENT_WIDE];
    const size_t n = gcb_descent_rank(d, family, best, 0, f->wide, f->alike);

    for (size_t i = 0; i < n; i++)
        if (!d->nodes[best[i]].changed) {
            d->nodes[best[i]].changed = true;
            f->change(d, best[i]);
        }
}

int gcb_descent_run(struct gcb_descent *d, const struct gcb_run_config *config,
                    const struct gcb_watch *watch, bool *interrupted)
{
    void (*const grow)(struct gcb_descent *, size_t) = d->grow ? d->grow : change_best;
    size_t from = 0; /* the first setting that no round has measured */

    for (size_t round = 0; !d->err && !*interrupted && round < ROUNDS && from < d->count; round++) {
        const size_t count = d->count;
        const double next = d->shown + ROUND_SHARE * (1.0 - d->shown);
        const struct gcb_watch part = gcb_watch_part(watch, d->shown, next);

        d->err =
            gcb_match_run(d->searches + from, count - from, config, &part, interrupted, d->diag);
        d->shown = next;
        from = count;
        for (size_t f = 0; !*interrupted && round + 1 < ROUNDS && f < d->family_count; f++)
            grow(d, f);
    }
    return d->err;
}

int gcb_descent_result(struct gcb_match_search *out, const struct gcb_descent *d, size_t family,
                       bool interrupted)
{
    struct gcb_match_search *all = gcb_must_array(d->count + 1, sizeof(*all));
    size_t n = 0, best;
    int err = 0;

    for (size_t i = 0; i < d->count; i++)
        if (d->nodes[i].family == family)
            all[n++] = d->searches[i];
    if (!interrupted)
        err = gcb_match_combine(out, all, n, d->diag);
    else if (gcb_descent_rank(d, family, &best, 0, 1, NULL))
        *out = d->searches[best];
    gcb_free(all);
    return err;
}

void gcb_descent_fini(struct gcb_descent *d)
{
    gcb_free(d->searches);
    gcb_free(d->nodes);
    d->searches = NULL;
    d->nodes = NULL;
    d->count = d->search_cap = d->node_cap = 0;
}
