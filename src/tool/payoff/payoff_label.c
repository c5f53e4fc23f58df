#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/columns.h"
#include "src/tool/payoff/payoff_cases.h"

bool gcb_payoff_has_parameter(const char *spec, const char *piece, size_t length)
{
    const char *at = strchr(spec, ':');

    while (at) {
        at++;
        if (strcspn(at, ",") == length && strncmp(at, piece, length) == 0)
            return true;
        at = strchr(at, ',');
    }
    return false;
}

/* Does the parameter tell the case from another one of its method and group? */
static bool tells_apart(const struct gcb_payoff_cases *all, const struct gcb_payoff_case *c,
                        const char *piece, size_t length)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct gcb_payoff_case *other = &all->items[i];

        if (other != c && other->group == c->group && strcmp(other->method, c->method) == 0 &&
            !gcb_payoff_has_parameter(other->spec, piece, length))
            return true;
    }
    return false;
}

/* Does the parameter differ from what the method's name means? `label`: gcb_method_label's. */
static bool is_changed(const char *label, const char *piece, size_t length)
{
    char name[sizeof(((struct gcb_payoff_case *)0)->label)], plain[sizeof(name)];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(label, ":"), label);
    gcb_method_label(plain, sizeof(plain), name);
    return gcb_payoff_has_parameter(label, piece, length) &&
           !gcb_payoff_has_parameter(plain, piece, length);
}

/* Is the parameter the id of a policy? Nobody can read it, so it is shown only if the number of rules is not enough. */
static bool is_id(const struct gcb_payoff_case *c, const char *piece)
{
    return strcmp(c->method, "policy") == 0 && strncmp(piece, "id=", strlen("id=")) == 0;
}

static bool has_twin(const struct gcb_payoff_cases *all, const struct gcb_payoff_case *c)
{
    const size_t rules = strcspn(c->spec, ",") + 1; /* "policy:rules=3," */

    for (size_t i = 0; i < all->count; i++)
        if (&all->items[i] != c && all->items[i].group == c->group &&
            strncmp(all->items[i].spec, c->spec, rules) == 0)
            return true;
    return false;
}

/* Appends the parameters of `text` that have to be shown, or the first of the others that fits. */
static void add_parameters(char *out, size_t size, const char *text, bool musts,
                           const struct gcb_payoff_case *c, const struct gcb_payoff_cases *all)
{
    const char *at = text + strcspn(text, ":");

    while (*at) {
        const size_t length = strcspn(++at, ",");
        const bool id = is_id(c, at);
        const bool must = id ? has_twin(all, c)
                             : strncmp(at, "collective=", strlen("collective=")) == 0 ||
                                   is_changed(c->label, at, length) ||
                                   tells_apart(all, c, at, length);

        if (must == musts && (must || !id) &&
            (must || gcb_text_columns(out) + 1 + length <= GCB_PAYOFF_LABEL)) {
            gcb_append(out, size, "%c%.*s", strchr(out, ':') ? ',' : ':', (int)length, at);
            if (!must)
                return;
        }
        at += length;
    }
}

void gcb_payoff_label_cases(struct gcb_payoff_cases *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct gcb_payoff_case *c = &all->items[i];
        char out[sizeof(c->label)];

        snprintf(out, sizeof(out), "%.*s", (int)strcspn(c->spec, ":"), c->spec);
        add_parameters(out, sizeof(out), c->spec, true, c, all);
        add_parameters(out, sizeof(out), c->label, false, c, all); /* gcb_method_label's so far */
        strcpy(c->label, out);
    }
}
