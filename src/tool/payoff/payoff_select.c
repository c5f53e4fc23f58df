#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/payoff_cases.h"

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

/* "a:x=1, a:x=2": the settings of the method that is wanted, or of all where none is; the first few of many. */
static bool list_settings(char *out, size_t size, const struct gcb_payoff_cases *c,
                          const char *wanted)
{
    const size_t name = strcspn(wanted, ":");
    size_t used = 0;
    bool known = false;

    for (size_t i = 0; i < c->count; i++)
        known |=
            strlen(c->items[i].method) == name && strncmp(c->items[i].method, wanted, name) == 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->count; i++) {
        const struct gcb_payoff_case *at = &c->items[i];
        const char *text = known ? at->label : at->method;

        if (known && (strlen(at->method) != name || strncmp(at->method, wanted, name) != 0))
            continue;
        if (i > 0 && strcmp(text, known ? at[-1].label : at[-1].method) == 0)
            continue;
        if (used + strlen(text) + sizeof(", ...") >= size) {
            strcpy(out + used, used ? ", ..." : "...");
            break;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", text);
    }
    return known;
}

/* Marks the cases that are wanted. */
static int mark(bool *keep, const struct gcb_payoff_cases *c, const char *wanted,
                struct gcb_diag *diag)
{
    char shown[128], settings[200];
    bool found = false, known;

    for (size_t i = 0; i < c->count; i++)
        if (names(wanted, &c->items[i]))
            keep[i] = found = true;
    if (found)
        return 0;
    known = list_settings(settings, sizeof(settings), c, wanted);
    return gcb_diag_set(diag, GCB_E_INVALID, "--method %s: the results have times of %s%s",
                        gcb_escape(shown, sizeof(shown), wanted),
                        known ? "" : "these methods: ", settings);
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
