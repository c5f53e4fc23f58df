#include "src/tool/rows/labels.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

bool gcb_spec_next(const char **at, size_t *length)
{
    *at += *length == GCB_SPEC_BEGIN ? strcspn(*at, ":") : *length;
    if (!**at)
        return false;
    /* *at is at the ':' or ',' before the parameter */
    *length = strcspn(++*at, ",");
    return true;
}

bool gcb_spec_has(const char *spec, const char *piece, size_t length)
{
    const char *at = spec;
    size_t n = GCB_SPEC_BEGIN;

    while (gcb_spec_next(&at, &n))
        if (n == length && strncmp(at, piece, length) == 0)
            return true;
    return false;
}

char *gcb_spec_drop(char *text, const char *key)
{
    const size_t n = strlen(key);
    char *at = strchr(text, ':');

    while (at) {
        char *end = at + 1 + strcspn(at + 1, ",");

        if (strncmp(at + 1, key, n) == 0 && at[1 + n] == '=') {
            if (*at == ':' && *end == ',')
                memmove(at + 1, end + 1, strlen(end + 1) + 1);
            else
                memmove(at, end, strlen(end) + 1);
            return text;
        }
        at = *end ? end : NULL;
    }
    return text;
}

static bool same_name(const char *a, const char *b)
{
    const size_t n = strcspn(a, ":");

    return n == strcspn(b, ":") && strncmp(a, b, n) == 0;
}

bool gcb_spec_is_named(const char *wanted, const char *spec, const char *label)
{
    const char *at = wanted;
    size_t length = GCB_SPEC_BEGIN;

    if (strcmp(wanted, label) == 0 || strcmp(wanted, spec) == 0)
        return true;
    if (!same_name(wanted, spec))
        return false;
    while (gcb_spec_next(&at, &length))
        if (length > 0 && !gcb_spec_has(spec, at, length))
            return false;
    return true;
}

/* True if another method of this name and set does not have the parameter with this value. */
static bool tells_apart(const struct gcb_label *items, size_t count, const struct gcb_label *one,
                        const char *piece, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (&items[i] != one && items[i].set == one->set && same_name(items[i].spec, one->spec) &&
            !gcb_spec_has(items[i].spec, piece, length))
            return true;
    return false;
}

/* True if the parameter differs from what the method's name means. `label`: from
 * gcb_method_label. */
static bool is_changed(const char *label, const char *piece, size_t length)
{
    char name[GCB_LABEL], plain[GCB_LABEL];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(label, ":"), label);
    gcb_method_label(plain, sizeof(plain), name);
    return gcb_spec_has(label, piece, length) && !gcb_spec_has(plain, piece, length);
}

/* True if the set has another policy with as many rules. */
static bool has_twin(const struct gcb_label *items, size_t count, const struct gcb_label *one)
{
    const size_t rules = strcspn(one->spec, ",") + 1; /* length of "policy:rules=3," */

    for (size_t i = 0; i < count; i++)
        if (&items[i] != one && items[i].set == one->set &&
            strncmp(items[i].spec, one->spec, rules) == 0 && strcmp(items[i].spec, one->spec) != 0)
            return true;
    return false;
}

/* True if the parameter is the id of a policy, which says nothing to a reader. */
static bool is_policy_id(const struct gcb_label *one, const char *piece)
{
    return strncmp(one->spec, "policy:", strlen("policy:")) == 0 &&
           strncmp(piece, "id=", strlen("id=")) == 0;
}

static void append_parameter(struct gcb_label *one, const char *piece, size_t length)
{
    gcb_append(one->text, sizeof(one->text), "%c%.*s", strchr(one->text, ':') ? ',' : ':',
               (int)length, piece);
}

/* Appends the parameters of the spec that a label needs. `brief`: from gcb_method_label. */
static void add_needed(struct gcb_label *one, const char *brief, const struct gcb_label *items,
                       size_t count)
{
    const char *at = one->spec;
    size_t length = GCB_SPEC_BEGIN;

    while (gcb_spec_next(&at, &length)) {
        bool needed = is_changed(brief, at, length) || (gcb_spec_has(brief, at, length) &&
                                                        tells_apart(items, count, one, at, length));

        if (is_policy_id(one, at))
            needed = has_twin(items, count, one);
        if (needed)
            append_parameter(one, at, length);
    }
}

/* Appends the first main parameter that the label lacks and that fits: the method's name, a colon
 * and the parameter have at most GCB_LABEL_COLUMNS bytes. */
static void add_first(struct gcb_label *one, const char *brief)
{
    const char *at = brief;
    size_t length = GCB_SPEC_BEGIN;

    while (gcb_spec_next(&at, &length))
        if (!is_policy_id(one, at) && !gcb_spec_has(one->text, at, length) &&
            strcspn(one->text, ":") + 1 + length <= GCB_LABEL_COLUMNS) {
            append_parameter(one, at, length);
            return;
        }
}

void gcb_label_all(struct gcb_label *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gcb_label *one = &items[i];
        char brief[4 * GCB_LABEL], bare[GCB_LABEL];

        gcb_method_label(brief, sizeof(brief), one->spec);
        snprintf(one->text, sizeof(one->text), "%.*s", (int)strcspn(one->spec, ":"), one->spec);
        add_needed(one, brief, items, count);
        /* `collective` tells nothing about the method itself, so it does not count */
        snprintf(bare, sizeof(bare), "%s", one->text);
        if (!strchr(gcb_spec_drop(bare, "collective"), ':'))
            add_first(one, brief);
    }
}

struct gcb_label *gcb_label_methods(const struct gcb_method *first, size_t stride, size_t count)
{
    enum { SPEC = 1024 }; /* bytes for a full spec; the specs are stored after the labels */
    struct gcb_label *items = gcb_must_zero(count, sizeof(*items) + SPEC);
    char *spec = (char *)(items + count);

    for (size_t i = 0; i < count; i++, spec += SPEC) {
        const struct gcb_method *m =
            (const struct gcb_method *)(const void *)((const char *)first + i * stride);

        items[i].spec = gcb_method_spec(spec, SPEC, m, GCB_SPEC_FULL);
    }
    gcb_label_all(items, count);
    return items;
}
