#include "src/tool/search/policy_rules.h"

#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

#define GLOB GCB_RULE_GLOB /* longer globs are not tried */

struct writer {
    const char *const *paths;
    const size_t *chosen;
    size_t count, rest; /* tensors; what most of them have */
    bool *ruled;        /* a rule matches the tensor */
    char best[GLOB];    /* the best glob so far */
    size_t covers;      /* number of tensors that take their method from it */
};

/* Appends n bytes of a path as a glob that matches only them and is no option. It has '?' for '=', which would end the glob on
 * the command line, and for what rows and tables escape. */
static bool append_literal(char glob[GLOB], const char *path, size_t n)
{
    size_t used = strlen(glob);

    for (size_t i = 0; i < n && used < GLOB - 4; i++) {
        const bool special = strchr("*?[", path[i]) || (used == 0 && path[i] == '-');

        if (special)
            glob[used++] = '[';
        glob[used++] = strchr("=\\", path[i]) || path[i] < ' ' || path[i] > '~' ? '?' : path[i];
        if (special)
            glob[used++] = ']';
    }
    glob[used] = '\0';
    return used < GLOB - 4;
}

/* Counts the tensors without a rule that the glob matches. 0 if one of them needs another method. */
static size_t count_covered(const struct writer *w, const char *glob, size_t method)
{
    size_t n = 0;

    for (size_t i = 0; i < w->count; i++) {
        if (w->ruled[i] || !gcb_glob(glob, w->paths[i]))
            continue;
        if (w->chosen[i] != method)
            return 0;
        n++;
    }
    return n;
}

/* Tries the glob "begin*end" of a path; with end == begin, the whole path. */
static void try_glob(struct writer *w, size_t path, size_t begin, size_t end)
{
    const char *name = w->paths[path];
    const size_t length = strlen(name);
    char glob[GLOB] = "";
    bool fits = append_literal(glob, name, begin);
    size_t covers;

    if (fits && end > begin)
        gcb_append(glob, sizeof(glob), "*");
    fits = fits && append_literal(glob, name + end, length - end);
    covers = fits ? count_covered(w, glob, w->chosen[path]) : 0;
    if (covers > w->covers || (covers && covers == w->covers && strlen(glob) < strlen(w->best))) {
        memcpy(w->best, glob, sizeof(glob));
        w->covers = covers;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is this a place where a path may be cut: its begin, its end, next to a separator, or where a number begins or ends? */
static bool is_joint(const char *path, size_t at)
{
    return at == 0 || !path[at] || strchr("./", path[at]) || strchr("./", path[at - 1]) ||
           is_digit(path[at]) != is_digit(path[at - 1]);
}

/* Finds the glob that covers the most tensors without a rule. */
static void find_glob(struct writer *w)
{
    w->covers = 0;
    for (size_t i = 0; i < w->count; i++) {
        const size_t length = strlen(w->paths[i]);

        if (w->ruled[i] || w->chosen[i] == w->rest)
            continue;
        try_glob(w, i, length, length);
        for (size_t begin = 0; begin < length; begin++)
            for (size_t end = begin + 1; end <= length && is_joint(w->paths[i], begin); end++)
                if (is_joint(w->paths[i], end))
                    try_glob(w, i, begin, end);
    }
}

/* Adds a rule for the best glob. */
static int add_rule(struct writer *w, struct gcb_policy *out, const struct gcb_method *methods,
                    struct gcb_diag *diag)
{
    size_t method = 0;

    for (size_t i = 0; i < w->count; i++)
        if (!w->ruled[i] && gcb_glob(w->best, w->paths[i])) {
            w->ruled[i] = true;
            method = w->chosen[i];
        }
    return gcb_policy_add(out, w->best, &methods[method], diag);
}

/* The method of most tensors. */
static size_t find_rest(const struct writer *w)
{
    size_t rest = 0, most = 0;

    for (size_t i = 0; i < w->count; i++) {
        size_t n = 0;

        for (size_t k = 0; k < w->count; k++)
            n += w->chosen[k] == w->chosen[i];
        if (n > most) {
            most = n;
            rest = w->chosen[i];
        }
    }
    return rest;
}

/* Does every tensor that needs a rule have one? */
static bool all_ruled(const struct writer *w)
{
    bool all = true;

    for (size_t i = 0; i < w->count; i++)
        all &= w->ruled[i] || w->chosen[i] == w->rest;
    return all;
}

int gcb_policy_write(struct gcb_policy *out, const char *const *paths, const size_t *chosen,
                     size_t count, const struct gcb_method *methods, struct gcb_diag *diag)
{
    struct writer w = {.paths = paths, .chosen = chosen, .count = count};
    int err = 0;

    w.ruled = gcb_alloc_zero(count, sizeof(*w.ruled));
    if (!w.ruled)
        return gcb_diag_nomem(diag, count, "rules");
    w.rest = find_rest(&w);
    for (find_glob(&w); !err && w.covers; find_glob(&w))
        err = add_rule(&w, out, methods, diag);
    if (!err && all_ruled(&w))
        err = gcb_policy_add(out, NULL, &methods[w.rest], diag);
    else
        gcb_policy_fini(out);
    gcb_free(w.ruled);
    return err;
}
