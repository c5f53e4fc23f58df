#include "src/tool/read/source_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

/* Reads the number at *text and moves *text after it. Returns false if no digit is there or the
 * number is too large. */
static bool take_number(const char **text, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* Reads "N", "A-B" or "A-B/STRIDE" at *text and moves *text after it. Returns false for any other
 * text. */
static bool take_range(const char **text, struct gcb_number_range *r)
{
    *r = (struct gcb_number_range){.stride = 1};
    if (!take_number(text, &r->first))
        return false;
    r->last = r->first;
    if (**text != '-')
        return true;
    ++*text;
    if (!take_number(text, &r->last) || r->last < r->first)
        return false;
    if (**text != '/')
        return true;
    ++*text;
    return take_number(text, &r->stride) && r->stride > 0;
}

/* Appends the ranges of a comma-separated list to *s. If `may_last`, sets s->last for "last".
 * Returns false for any other text. */
static bool parse_list(struct gcb_numbers *s, const char *text, bool may_last)
{
    for (;; text++) {
        struct gcb_number_range r;

        if (may_last && strncmp(text, "last", 4) == 0) {
            s->last = true;
            text += 4;
        } else if (!take_range(&text, &r)) {
            return false;
        } else {
            gcb_must_grow(&s->ranges, &s->cap, s->count, sizeof(*s->ranges));
            s->ranges[s->count++] = r;
        }
        if (*text != ',')
            return !*text;
    }
}

int gcb_numbers_parse(struct gcb_numbers *out, const char *text, const char *option, bool may_last,
                      struct gcb_diag *diag)
{
    *out = (struct gcb_numbers){0};
    if (!text || strcmp(text, "all") == 0) {
        out->all = true;
        return 0;
    }
    if (parse_list(out, text, may_last))
        return 0;
    gcb_numbers_fini(out);
    return gcb_invalid(diag, "%s takes N, A-B, A-B/STRIDE, %sall or a list A,B,C, not '%s'", option,
                       may_last ? "last, " : "", gcb_show(text).text);
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

/* True if the glob could match a path that begins with `group` and a slash, or any path if `group`
 * is "". Compares only what is before the first wildcard. */
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
