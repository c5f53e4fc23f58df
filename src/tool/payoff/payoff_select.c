#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/payoff_cases.h"

/* Does the spec name the method? */
static bool is_method(const char *method, const char *spec)
{
    const size_t name = strcspn(spec, ":");

    return strlen(method) == name && strncmp(method, spec, name) == 0;
}

bool gcb_payoff_names(const char *wanted, const char *method, const char *spec, const char *label)
{
    const char *at = wanted + strcspn(wanted, ":");

    if (strcmp(wanted, label) == 0 || strcmp(wanted, spec) == 0)
        return true;
    if (!is_method(method, wanted))
        return false;
    while (*at) {
        const size_t length = strcspn(++at, ",");

        if (length > 0 && !gcb_payoff_has_parameter(spec, at, length))
            return false;
        at += length;
    }
    return true;
}

/* Lists the measured settings of the wanted method, "a:x=1, a:x=2", as far as there is room, and returns true. If the
 * method was not measured, lists all measured methods and returns false. */
static bool list_settings(char *out, size_t size, const struct gcb_payoff_cases *c,
                          const char *wanted)
{
    bool known = false;

    for (size_t i = 0; i < c->count; i++)
        known |= is_method(c->items[i].method, wanted);
    out[0] = '\0';
    for (size_t i = 0; i < c->count; i++) {
        const struct gcb_payoff_case *at = &c->items[i];
        const char *text = known ? at->label : at->method;

        if (known && !is_method(at->method, wanted))
            continue;
        if (i > 0 && strcmp(text, known ? at[-1].label : at[-1].method) == 0)
            continue;
        if (strlen(out) + strlen(text) + sizeof(", , ...") > size) {
            gcb_append(out, size, out[0] ? ", ..." : "...");
            break;
        }
        gcb_append(out, size, "%s%s", out[0] ? ", " : "", text);
    }
    return known;
}

/* Marks the cases that `wanted` names. Fails if it names no case. */
static int mark_wanted(bool *keep, const struct gcb_payoff_cases *c, const char *wanted,
                       struct gcb_diag *diag)
{
    char shown[128], settings[200];
    bool found = false, known;

    for (size_t i = 0; i < c->count; i++)
        if (gcb_payoff_names(wanted, c->items[i].method, c->items[i].spec, c->items[i].label))
            keep[i] = found = true;
    if (found)
        return 0;
    known = list_settings(settings, sizeof(settings), c, wanted);
    return gcb_diag_set(
        diag, GCB_E_INVALID, "--method %s: not in the results, which have times of %s%s",
        gcb_escape(shown, sizeof(shown), wanted), known ? "" : "these methods: ", settings);
}

/* Marks the baselines of groups with marked cases. */
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
        err = mark_wanted(keep, c, specs[i], diag);
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
