#include "src/tool/plot/plot_label.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

unsigned gcb_plot_baseline(const char *method)
{
    static const char *const names[] = {"fp16", "bf16", "identity"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(method, names[i]) == 0)
            return i + 1;
    return 0;
}

static bool equal(struct gcb_plot_piece a, struct gcb_plot_piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* The next "name=value" of a spec; *at moves on. False at the end. */
static bool next_key(struct gcb_plot_piece *name, struct gcb_plot_piece *value, const char **at)
{
    const size_t n = strcspn(*at, ","), e = strcspn(*at, "=");

    if (n == 0 || e >= n)
        return false;
    *name = (struct gcb_plot_piece){*at, e};
    *value = (struct gcb_plot_piece){*at + e + 1, n - e - 1};
    *at += n + ((*at)[n] == ',');
    return true;
}

static const char *keys_of(const char *spec)
{
    const char *colon = strchr(spec, ':');

    return colon ? colon + 1 : "";
}

static void note_value(struct gcb_plot_keys *keys, struct gcb_plot_piece name,
                       struct gcb_plot_piece value)
{
    struct gcb_plot_key *k = keys->items;
    size_t i = 0;

    while (k < keys->items + keys->count && !equal(k->name, name))
        k++;
    if (k == keys->items + GCB_PLOT_KEYS)
        return;
    if (k == keys->items + keys->count) {
        keys->count++;
        k->name = name;
        k->distinct = 0;
    }
    while (i < k->distinct && !equal(k->values[i], value))
        i++;
    if (i == k->distinct && k->distinct < GCB_PLOT_VALUES)
        k->values[k->distinct++] = value;
}

void gcb_plot_keys_of(struct gcb_plot_keys *keys, const struct gcb_plot_cases *cases,
                      const char *method, bool apart)
{
    size_t most = 1;

    keys->count = 0;
    keys->curve = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const char *at = keys_of(cases->items[i]->spec);
        struct gcb_plot_piece name, value;

        while (cases->items[i]->method == method && next_key(&name, &value, &at))
            note_value(keys, name, value);
    }
    for (size_t k = 0; !apart && k < keys->count; k++)
        if (keys->items[k].distinct > most) {
            most = keys->items[k].distinct;
            keys->curve = &keys->items[k];
        }
}

static void append(char *label, const char *before, struct gcb_plot_piece a, const char *between,
                   struct gcb_plot_piece b)
{
    const size_t n = strlen(label);

    snprintf(label + n, GCB_PLOT_LABEL - n, "%s%.*s%s%.*s", before, (int)a.length, a.at, between,
             (int)b.length, b.at);
}

void gcb_plot_label_of(char label[GCB_PLOT_LABEL], const struct gcb_plot_case *c,
                       const struct gcb_plot_keys *keys)
{
    const char *at = keys_of(c->spec);
    struct gcb_plot_piece name, value;

    snprintf(label, GCB_PLOT_LABEL, "%s%s", c->method,
             !gcb_plot_baseline(c->method) ? ""
             : c->rel_l2 == 0.0            ? " (baseline, exact)"
                                           : " (baseline)");
    while (next_key(&name, &value, &at))
        for (size_t k = 0; k < keys->count; k++)
            if (&keys->items[k] != keys->curve && keys->items[k].distinct > 1 &&
                equal(keys->items[k].name, name))
                append(label, " ", name, "=", value);
}

static bool number_of(double *out, struct gcb_plot_piece p)
{
    char text[32];

    if (p.length >= sizeof(text))
        return false;
    memcpy(text, p.at, p.length);
    text[p.length] = '\0';
    return gcb_parse_real(text, out);
}

static bool value_at(struct gcb_plot_piece *out, const struct gcb_plot_case *c,
                     const struct gcb_plot_key *key)
{
    const char *at = keys_of(c->spec);
    struct gcb_plot_piece name;

    while (next_key(&name, out, &at))
        if (equal(name, key->name))
            return true;
    return false;
}

void gcb_plot_label_range(struct gcb_plot_series *s, const struct gcb_plot_cases *cases,
                          const struct gcb_plot_key *key)
{
    struct gcb_plot_piece least = {NULL, 0}, most = {NULL, 0}, p;
    double low = INFINITY, high = -INFINITY, x;
    size_t used;

    for (size_t i = 0; i < s->count; i++) {
        if (!value_at(&p, cases->items[s->first + i], key) || !number_of(&x, p))
            return;
        least = x < low ? p : least;
        most = x > high ? p : most;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    if (low == high || !least.at || !most.at)
        return;
    used = strlen(s->label);
    append(s->label, ", ", key->name, " ", least);
    append(s->label, " to ", most, "", (struct gcb_plot_piece){"", 0});
    if (gcb_text_columns(s->label) > GCB_PLOT_LABEL_WIDTH)
        s->label[used] = '\0';
}

char *gcb_plot_spec_text(char out[32], const char *spec, const char *key)
{
    const char *at = keys_of(spec);
    struct gcb_plot_piece name, value;

    out[0] = '\0';
    while (next_key(&name, &value, &at))
        if (name.length == strlen(key) && memcmp(name.at, key, name.length) == 0)
            snprintf(out, 32, "%.*s", (int)value.length, value.at);
    return out;
}

double gcb_plot_spec_real(const char *spec, const char *key)
{
    char text[32];
    double value;

    return gcb_parse_real(gcb_plot_spec_text(text, spec, key), &value) ? value : NAN;
}
