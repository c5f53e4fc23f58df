#include "src/tool/read/source_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const step_words[] = {"step",      "global_step", "globalstep",
                                         "iteration", "iter",        NULL};
static const char *const worker_words[] = {"worker", "rank", "gpu", "device", "replica", NULL};
static const char *const epoch_words[] = {"epoch", NULL}; /* the step if no other word names it */
static const char *const no_word[] = {"", NULL};          /* a number alone */

/* Finds where the digits of a name begin: after one of the words and perhaps a separator. NULL: no
 * word, or no digit follows. */
static const char *find_digits(const char *name, const char *const *words)
{
    for (; *words; words++) {
        const size_t letters = strlen(*words);
        const char *digits = name + letters;

        if (strncasecmp(name, *words, letters) != 0)
            continue;
        digits += letters && *digits && strchr("_-=:. ", *digits);
        if (*digits >= '0' && *digits <= '9')
            return digits;
    }
    return NULL;
}

/* Reads the number in a name that ends at `end`. For "step_000100" and "Step=100" the number is
 * 100. */
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

static bool ends_with_digit(const char *name, const char *end)
{
    return end > name && end[-1] >= '0' && end[-1] <= '9';
}

/* What may have been meant by a path without a step, or without a worker. */
static enum gcb_remark find_doubt(const struct gcb_place *p, bool bare)
{
    const char *end = strchr(p->below, '/');
    uint64_t n;

    if (bare)
        return GCB_REMARK_NUMBERS;
    if (!p->has_step &&
        (end ? ends_with_digit(p->below, end)
             : find_digits(p->below, step_words) || find_digits(p->below, epoch_words)))
        return GCB_REMARK_NO_STEP;
    if (p->has_step && !p->has_worker && end && parse_numbered(p->below, end, no_word, &n))
        return GCB_REMARK_NO_WORKER;
    return GCB_REMARKS;
}

struct gcb_place gcb_place_of(const char *path, bool group, uint64_t linked)
{
    struct gcb_place p = {.below = path + 1, .doubt = GCB_REMARKS};
    bool sure = false, bare = false; /* of the step: named by a step word; only a number */

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
            p.has_step = p.epoch = true;
        else if (!p.has_step && name == p.below && parse_numbered(name, end, no_word, &p.step))
            p.has_step = bare = true;
        else
            known = false;
        if (known)
            p.below = after;
        if (*end == '\0' || (!known && (linked & 1)))
            break;
    }
    p.epoch &= !sure;
    if (!group)
        p.doubt = find_doubt(&p, bare && !sure);
    return p;
}

bool gcb_place_is_step(const char *path, uint64_t *step, bool *epoch)
{
    const struct gcb_place p = gcb_place_of(path, true, 0);
    const char *name = strrchr(path, '/') + 1, *end = name + strlen(name);

    *epoch = p.epoch;
    return p.has_step && *p.below == '\0' &&
           (parse_numbered(name, end, p.epoch ? epoch_words : step_words, step) ||
            parse_numbered(name, end, no_word, step)) &&
           *step == p.step;
}

int gcb_path_compare(const char *a, const char *b)
{
    unsigned x, y;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    x = *a == '/' ? 1 : *a ? (unsigned char)*a + 1u : 0;
    y = *b == '/' ? 1 : *b ? (unsigned char)*b + 1u : 0;
    return (x > y) - (x < y);
}

uint32_t gcb_place_rank(const char *file)
{
    const char *name = strrchr(file, '/');
    uint32_t rank = 0;

    name = name ? name + 1 : file;
    while ((name = strstr(name, "rank"))) {
        uint64_t n = 0;
        size_t digits;

        name += strlen("rank");
        name += *name == '_' || *name == '-';
        digits = strspn(name, "0123456789");
        for (size_t i = 0; i < digits && n <= UINT32_MAX; i++)
            n = n * 10 + (uint64_t)(name[i] - '0');
        if (digits && n <= UINT32_MAX)
            rank = (uint32_t)n;
    }
    return rank;
}
