#include <string.h>

#include "src/base/alloc.h"
#include "src/base/text.h"
#include "src/bench/payoff_cases.h"

/* Is `piece` of so many characters one of the parameters behind the spec's name? */
static bool has_parameter(const char *spec, const char *piece, size_t length)
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

static bool names(const char *wanted, const struct gcb_payoff_case *c)
{
    const size_t name = strcspn(wanted, ":");
    const char *at = wanted + name;

    if (strcmp(wanted, c->label) == 0 || strcmp(wanted, c->spec) == 0)
        return true;
    if (strlen(c->method) != name || strncmp(c->method, wanted, name) != 0)
        return false;
    while (*at) {
        const size_t length = strcspn(++at, ",");

        if (length > 0 && !has_parameter(c->spec, at, length))
            return false;
        at += length;
    }
    return true;
}

/* Marks the cases that are wanted. */
static int mark(bool *keep, const struct gcb_payoff_cases *c, const char *wanted,
                struct gcb_diag *diag)
{
    char shown[128];
    bool found = false;

    for (size_t i = 0; i < c->count; i++)
        if (names(wanted, &c->items[i]))
            keep[i] = found = true;
    return found ? 0
                 : gcb_diag_set(diag, GCB_E_INVALID,
                                "--method %s: the results have no such method with times; without "
                                "--method all that they have are shown",
                                gcb_escape(shown, sizeof(shown), wanted));
}

/* Baselines stay with what is compared to them. */
static void mark_baselines(bool *keep, const struct gcb_payoff_cases *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->count && c->items[i].baseline; k++)
            keep[i] |= keep[k] && c->items[k].group == c->items[i].group;
}

int gcb_payoff_select(struct gcb_payoff_cases *c, const char *const *specs, size_t count,
                      struct gcb_diag *diag)
{
    bool *keep = gcb_alloc_zero(c->count, sizeof(*keep));
    size_t kept = 0;
    int err = keep ? 0 : gcb_diag_nomem(diag, c->count, "cases");

    for (size_t i = 0; !err && i < count; i++)
        err = mark(keep, c, specs[i], diag);
    if (err)
        goto out;
    mark_baselines(keep, c);
    for (size_t i = 0; i < c->count; i++) {
        if (keep[i])
            c->items[kept++] = c->items[i];
        else
            gcb_payoff_case_fini(&c->items[i]);
    }
    c->count = kept;
out:
    gcb_free(keep);
    return err;
}
