#include "src/tool/read/source_private.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

enum { ITEM = 64 }; /* bytes of an item of a list, enough for three numbers */

/*
 * Reads the number at *text and advances *text past it. Returns false if no digit is there or the number is too large.
 */
static bool take_number(char **text, uint64_t *out)
{
    const size_t n = strspn(*text, "0123456789");
    const char after = (*text)[n];
    bool ok;

    (*text)[n] = '\0';
    ok = gcb_parse_u64(*text, out);
    *text += n;
    **text = after;
    return ok;
}

/* Parses "N", "A-B" or "A-B/STRIDE". */
static bool parse_range(struct gcb_number_range *r, char *item)
{
    *r = (struct gcb_number_range){.stride = 1};
    if (!take_number(&item, &r->first))
        return false;
    r->last = r->first;
    if (*item == '-') {
        item++;
        if (!take_number(&item, &r->last) || r->last < r->first)
            return false;
        if (*item == '/') {
            item++;
            if (!take_number(&item, &r->stride) || r->stride == 0)
                return false;
        }
    }
    return *item == '\0';
}

/* Parses one item of a list. Changes the text of `item`. */
static int parse_item(struct gcb_numbers *s, char *item, bool may_last)
{
    struct gcb_number_range r;

    if (may_last && strcmp(item, "last") == 0) {
        s->last = true;
        return 0;
    }
    if (!parse_range(&r, item))
        return GCB_E_INVALID;
    if (gcb_grow(&s->ranges, &s->cap, s->count, sizeof(*s->ranges)) != 0)
        return GCB_E_NOMEM;
    s->ranges[s->count++] = r;
    return 0;
}

static int parse_list(struct gcb_numbers *s, const char *text, bool may_last)
{
    char item[ITEM];
    int err = 0;

    while (!err) {
        const size_t n = strcspn(text, ",");

        if (n >= sizeof(item))
            return GCB_E_INVALID;
        memcpy(item, text, n);
        item[n] = '\0';
        err = parse_item(s, item, may_last);
        if (text[n] == '\0')
            break;
        text += n + 1;
    }
    return err;
}

int gcb_numbers_parse(struct gcb_numbers *out, const char *text, const char *option, bool may_last,
                      struct gcb_diag *diag)
{
    char shown[80];
    int err;

    *out = (struct gcb_numbers){0};
    if (!text || strcmp(text, "all") == 0) {
        out->all = true;
        return 0;
    }
    err = parse_list(out, text, may_last);
    if (!err)
        return 0;
    gcb_numbers_fini(out);
    if (err == GCB_E_NOMEM)
        return gcb_diag_nomem(diag, strlen(text), option);
    return gcb_diag_set(diag, err, "%s takes N, A-B, A-B/STRIDE, %sall or a list A,B,C, not '%s'",
                        option, may_last ? "last, " : "", gcb_escape(shown, sizeof(shown), text));
}

void gcb_numbers_fini(struct gcb_numbers *s)
{
    gcb_free(s->ranges);
    *s = (struct gcb_numbers){0};
}

static bool in_range(const struct gcb_number_range *r, uint64_t n)
{
    return n >= r->first && n <= r->last && (n - r->first) % r->stride == 0;
}

void gcb_numbers_meet(struct gcb_numbers *s, uint64_t n)
{
    for (size_t i = 0; i < s->count; i++)
        s->ranges[i].met |= in_range(&s->ranges[i], n);
}

bool gcb_numbers_contain(const struct gcb_numbers *s, uint64_t n)
{
    for (size_t i = 0; i < s->count; i++)
        if (in_range(&s->ranges[i], n))
            return true;
    return s->all;
}

bool gcb_numbers_missed(const struct gcb_numbers *s, uint64_t *n)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->ranges[i].met && s->ranges[i].first == s->ranges[i].last) {
            *n = s->ranges[i].first;
            return true;
        }
    return false;
}

static bool any_glob(const char *const *globs, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (gcb_glob(globs[i], path))
            return true;
    return false;
}

bool gcb_selection_accepts(const struct gcb_tensor_selection *selection, const char *path)
{
    if (selection->include_count && !any_glob(selection->include, selection->include_count, path))
        return false;
    return !gcb_selection_excludes(selection, path);
}

bool gcb_selection_excludes(const struct gcb_tensor_selection *selection, const char *path)
{
    return any_glob(selection->exclude, selection->exclude_count, path);
}

/* Could the glob match a path that begins with `group` and a slash? Compares only what is before the first wildcard. */
static bool may_match_below(const char *glob, const char *group)
{
    const size_t n = strlen(group), literal = strcspn(glob, "*?[\\");

    if (literal <= n)
        return strncmp(glob, group, literal) == 0 && (glob[literal] || n == 0);
    return n == 0 || (strncmp(glob, group, n) == 0 && glob[n] == '/');
}

bool gcb_selection_reaches(const struct gcb_tensor_selection *selection, const char *path)
{
    for (size_t i = 0; i < selection->include_count; i++)
        if (may_match_below(selection->include[i], path))
            return true;
    return selection->include_count == 0;
}

void gcb_selection_meet(const struct gcb_tensor_selection *selection, const char *path, bool *met)
{
    const size_t includes = selection->include_count;

    for (size_t i = 0; i < includes; i++)
        met[i] = met[i] || gcb_glob(selection->include[i], path);
    for (size_t i = 0; i < selection->exclude_count; i++)
        met[includes + i] = met[includes + i] || gcb_glob(selection->exclude[i], path);
}
