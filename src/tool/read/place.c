#include "src/tool/read/source_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS "_-=:. " /* between a word and its number, and between words */

static const char *const step_words[] = {"step",      "global_step", "globalstep",
                                         "iteration", "iter",        NULL};
static const char *const worker_words[] = {"worker", "rank", "gpu", "device", "replica", NULL};
static const char *const file_workers[] = {"rank", "worker", NULL}; /* in the names of files */
/* an epoch is the step if no group is named by one of step_words */
static const char *const epoch_words[] = {"epoch", NULL};
static const char *const no_word[] = {"", NULL}; /* for a name that is only a number */

/* Finds where the digits of a name begin: after one of the words and perhaps a separator. Returns
 * NULL if the name begins with none of the words, or if no digit follows. */
static const char *find_digits(const char *name, const char *const *words)
{
    for (; *words; words++) {
        const size_t letters = strlen(*words);
        const char *digits = name + letters;

        if (strncasecmp(name, *words, letters) != 0)
            continue;
        digits += letters && *digits && strchr(SEPARATORS, *digits);
        if (*digits >= '0' && *digits <= '9')
            return digits;
    }
    return NULL;
}

/* Reads the number in a name that ends at `end`, such as 100 in "step_000100" or "Step=100".
 * Returns false unless the name is one of the words and a number. */
static bool parse_numbered(const char *name, const char *end, const char *const *words,
                           uint64_t *out)
{
    const char *from = find_digits(name, words);
    uint64_t n;
    char *stop;

    if (!from || from >= end)
        return false;
    errno = 0;
    n = strtoull(from, &stop, 10);
    if (stop != end || errno)
        return false;
    *out = n;
    return true;
}

/* True if the first component of a path without a step could be meant as a step: a group whose name
 * ends with a digit, or a dataset that is named like a step. */
static bool looks_like_step(const char *path)
{
    const char *end = strchr(path, '/');

    if (end)
        return end > path && end[-1] >= '0' && end[-1] <= '9';
    return find_digits(path, step_words) || find_digits(path, epoch_words);
}

/* Returns the remark if the user may have meant another step or worker, else GCB_REMARKS. `bare` is
 * true if the step is a group whose name is only a number. */
static enum gcb_remark find_doubt(const struct gcb_place *p, bool bare)
{
    const char *end = strchr(p->below, '/');
    uint64_t n;

    if (bare)
        return GCB_REMARK_NUMBERS;
    if (!p->has_step && looks_like_step(p->below))
        return GCB_REMARK_NO_STEP;
    if (p->has_step && !p->has_worker && end && parse_numbered(p->below, end, no_word, &n))
        return GCB_REMARK_NO_WORKER;
    return GCB_REMARKS;
}

struct gcb_place gcb_place_of(const char *path, bool group, uint64_t linked)
{
    struct gcb_place p = {.below = path + 1, .doubt = GCB_REMARKS};
    bool sure = false; /* a group with a name of step_words gives the step */
    bool bare = false; /* a group whose name is only a number gives the step */

    for (const char *name = path + 1, *end;; name = end + 1, linked >>= 1) {
        const char *after;
        bool known = true;

        end = strchrnul(name, '/');
        after = *end ? end + 1 : end;
        if (*end == '\0' && !group)
            break;
        if (!sure && parse_numbered(name, end, step_words, &p.step))
            p.has_step = sure = true;
        else if (!p.has_worker && parse_numbered(name, end, worker_words, &p.worker))
            p.has_worker = true;
        else if (!p.has_step && parse_numbered(name, end, epoch_words, &p.step))
            p.has_step = true;
        else if (!p.has_step && name == p.below && parse_numbered(name, end, no_word, &p.step))
            p.has_step = bare = true;
        else
            known = false;
        if (known)
            p.below = after;
        if (*end == '\0' || (!known && (linked & 1)))
            break;
    }
    if (!group)
        p.doubt = find_doubt(&p, bare && !sure);
    return p;
}

/* Returns the rank of a character in the order of paths: first the end of a path, then '/', then
 * all other characters by their codes. */
static unsigned rank_of(char c)
{
    if (c == '\0')
        return 0;
    return c == '/' ? 1 : (unsigned char)c + 1u;
}

int gcb_path_compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return (rank_of(*a) > rank_of(*b)) - (rank_of(*a) < rank_of(*b));
}

/* Finds the last place in a name where a number follows one of the words, and sets *out to the
 * number. A word begins after a character that is no letter, or with a capital after a small
 * letter. Words with a number above 4294967294 do not count. Returns where the word begins, or NULL
 * if there is none. */
static const char *find_number(const char *name, const char *const *words, uint64_t *out)
{
    const char *found = NULL;
    char before = '\0';

    for (; *name; before = *name++) {
        const char *digits = find_digits(name, words);
        uint64_t n;

        if (!digits || (isalpha((unsigned char)before) &&
                        !(islower((unsigned char)before) && isupper((unsigned char)*name))))
            continue;
        errno = 0;
        n = strtoull(digits, NULL, 10);
        if (errno == 0 && n < UINT32_MAX) {
            *out = n;
            found = name;
        }
        name = digits; /* so the "step" in global_step_1 is no word of its own */
    }
    return found;
}

struct gcb_place gcb_place_of_file(const char *file)
{
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    struct gcb_place p = {.below = name};
    char path[GCB_READ_PATH + 8];
    const int n = snprintf(path, sizeof(path), "/./%s", file);

    /* the folder "." in front, because a first folder whose name is a number is no step */
    if (n > 0 && (size_t)n < sizeof(path)) {
        p = gcb_place_of(path, false, 0);
        p.below = p.has_step || p.has_worker ? file + strlen(file) - strlen(p.below) : name;
    }
    if (strstr(p.below, "//") || strstr(p.below, "./"))
        p.below = name;
    p.has_step |= find_number(name, step_words, &p.step) != NULL;
    p.has_worker |= find_number(name, file_workers, &p.worker) != NULL;
    return p;
}

/* Removes the last word and number from a name, with the separator before or after them. */
static void cut_number(char *name, const char *const *words)
{
    uint64_t n;
    const char *word = find_number(name, words, &n), *end;
    char *from;

    if (!word)
        return;
    from = name + (word - name);
    end = find_digits(word, words);
    end += strspn(end, "0123456789");
    if (from > name && strchr(SEPARATORS, from[-1]))
        from--;
    else if (from == name && *end && strchr(SEPARATORS, *end))
        end++;
    memmove(from, end, strlen(end) + 1);
}

void gcb_file_tensor(char *out, size_t size, const char *file, const char *ending)
{
    const char *below = gcb_place_of_file(file).below;
    size_t n = strlen(below), more = strlen(ending);
    char *name;

    n -= n > more && strcmp(below + n - more, ending) == 0 ? more : 0;
    snprintf(out, size, "%.*s", (int)n, below);
    name = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
    cut_number(name, step_words);
    cut_number(name, file_workers);
    if (!*name && name > out)
        name[-1] = '\0';
    else if (!*name)
        strcpy(out, "arr_0"); /* the name that NumPy gives an array without one */
}
