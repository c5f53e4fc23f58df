#include "src/tool/rows/labels.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

bool gcb_spec_has(const char *spec, const char *piece, size_t length)
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
    const char *at = wanted + strcspn(wanted, ":");

    if (strcmp(wanted, label) == 0 || strcmp(wanted, spec) == 0)
        return true;
    if (!same_name(wanted, spec))
        return false;
    while (*at) {
        const size_t length = strcspn(++at, ",");

        if (length > 0 && !gcb_spec_has(spec, at, length))
            return false;
        at += length;
    }
    return true;
}

/* True if the parameter tells the method from another one of its name and set. */
static bool tells_apart(const struct gcb_label *items, size_t count, const struct gcb_label *one,
                        const char *piece, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (&items[i] != one && items[i].set == one->set && same_name(items[i].spec, one->spec) &&
            !gcb_spec_has(items[i].spec, piece, length))
            return true;
    return false;
}

/* True if the parameter differs from what the method's name means. `label`: gcb_method_label's. */
static bool is_changed(const char *label, const char *piece, size_t length)
{
    char name[GCB_LABEL], plain[GCB_LABEL];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(label, ":"), label);
    gcb_method_label(plain, sizeof(plain), name);
    return gcb_spec_has(label, piece, length) && !gcb_spec_has(plain, piece, length);
}

/* True if there is another policy with as many rules. */
static bool has_twin(const struct gcb_label *items, size_t count, const struct gcb_label *one)
{
    const size_t rules = strcspn(one->spec, ",") + 1; /* "policy:rules=3," */

    for (size_t i = 0; i < count; i++)
        if (&items[i] != one && items[i].set == one->set &&
            strncmp(items[i].spec, one->spec, rules) == 0 && strcmp(items[i].spec, one->spec) != 0)
            return true;
    return false;
}

/* Appends the parameters of `from` that have to be shown, or the first of the others that fits.
 * `label`: gcb_method_label's. */
static void add_parameters(struct gcb_label *one, const char *from, const char *label, bool musts,
                           const struct gcb_label *items, size_t count)
{
    const char *at = from + strcspn(from, ":");

    while (*at) {
        const size_t length = strcspn(++at, ",");
        /* the id of a policy, which nobody can read */
        const bool id = strncmp(one->spec, "policy:", strlen("policy:")) == 0 &&
                        strncmp(at, "id=", strlen("id=")) == 0;
        const bool must =
            id ? has_twin(items, count, one)
               : gcb_spec_has(label, at, length) &&
                     (is_changed(label, at, length) || tells_apart(items, count, one, at, length));

        if (must == musts && (must || !id) &&
            (must || strcspn(one->text, ":") + 1 + length <= GCB_LABEL_COLUMNS)) {
            gcb_append(one->text, sizeof(one->text), "%c%.*s", strchr(one->text, ':') ? ',' : ':',
                       (int)length, at);
            if (!must)
                return;
        }
        at += length;
    }
}

void gcb_label_all(struct gcb_label *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gcb_label *one = &items[i];
        char label[4 * GCB_LABEL], bare[GCB_LABEL];

        gcb_method_label(label, sizeof(label), one->spec);
        snprintf(one->text, sizeof(one->text), "%.*s", (int)strcspn(one->spec, ":"), one->spec);
        add_parameters(one, one->spec, label, true, items, count);
        snprintf(bare, sizeof(bare), "%s", one->text);
        if (!strchr(gcb_spec_drop(bare, "collective"), ':'))
            add_parameters(one, label, label, false, items, count);
    }
}

struct gcb_label *gcb_label_methods(const struct gcb_method *first, size_t stride, size_t count)
{
    enum { SPEC = 1024 };
    struct gcb_label *items = gcb_alloc_zero(count, sizeof(*items) + SPEC);
    char *spec = items ? (char *)(items + count) : NULL;

    for (size_t i = 0; items && i < count; i++, spec += SPEC) {
        const struct gcb_method *m =
            (const struct gcb_method *)(const void *)((const char *)first + i * stride);

        items[i].spec = gcb_method_spec(spec, SPEC, m, GCB_SPEC_FULL);
    }
    if (items)
        gcb_label_all(items, count);
    return items;
}
