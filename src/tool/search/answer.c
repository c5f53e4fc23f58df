#include "src/tool/search/answer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "src/lib/base/text.h"
#include "src/tool/print/number.h"

#define LEVELS 3
static const double levels[LEVELS] = {0.05, 0.3, GCB_ANSWER_WORST};

#define NAMED 3 /* methods of large error that are named; more are counted */

struct answer {
    char *out;
    size_t size;
    const struct gcb_answer_method *methods;
    size_t count;
    double fp16_bytes;
    const struct gcb_answer_words *words;
    size_t best[LEVELS]; /* methods that are recommended */
    size_t bests;
};

/* Finds the method with the fewest bytes among those with at most this error, except `other`. SIZE_MAX: none. */
static size_t find_best(const struct answer *a, double error, size_t other)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < a->count; i++) {
        const struct gcb_answer_method *m = &a->methods[i];

        if (i == other || m->baseline || m->feedback || !(m->error <= error))
            continue;
        if (best == SIZE_MAX || m->bytes < a->methods[best].bytes ||
            (m->bytes <= a->methods[best].bytes && m->error < a->methods[best].error))
            best = i;
    }
    return best;
}

/* Appends how many times fewer bytes `bytes` are than `others`, which `name` sends. */
static void say_fewer(const struct answer *a, double bytes, double others, const char *name)
{
    const double times = others / bytes;

    if (times >= 1.005)
        gcb_append(a->out, a->size, ", %.3g times fewer than %s", times, name);
    else if (times > 0.995)
        gcb_append(a->out, a->size, ", as many as %s", name);
    else
        gcb_append(a->out, a->size, ", %.3g times more than %s", 1.0 / times, name);
}

/* Appends the method with the fewest bytes up to an error, unless it is the one of the level before. */
static void say_level(struct answer *a, double level)
{
    const size_t best = find_best(a, level, SIZE_MAX), next = find_best(a, level, best);
    const struct gcb_answer_method *m = &a->methods[best == SIZE_MAX ? 0 : best];
    char error[32];

    if (best == SIZE_MAX || (a->bests && a->best[a->bests - 1] == best) ||
        m->bytes >= a->fp16_bytes)
        return;
    if (a->bests)
        gcb_append(a->out, a->size, "; up to %g %s", level, m->name);
    else
        gcb_append(a->out, a->size, "up to %s of %g %s sends the fewest bytes", a->words->error,
                   level, m->name);
    if (next != SIZE_MAX)
        say_fewer(a, m->bytes, a->methods[next].bytes, a->methods[next].name);
    say_fewer(a, m->bytes, a->fp16_bytes, "fp16");
    gcb_append(a->out, a->size, " (error %s)", gcb_number_within(error, m->error, 3, 7));
    a->best[a->bests++] = best;
}

/* Appends which of the recommended methods encodes fastest, or that the intervals do not decide it. */
static void say_fastest(const struct answer *a)
{
    size_t fastest = a->best[0];
    const struct gcb_answer_method *m;
    bool decided = true, known = true;
    char speed[32];

    for (size_t i = 0; i < a->bests; i++) {
        m = &a->methods[a->best[i]];
        known &= !isnan(m->speed);
        if (m->speed > a->methods[fastest].speed)
            fastest = a->best[i];
    }
    if (!known)
        return;
    m = &a->methods[fastest];
    for (size_t i = 0; i < a->bests; i++)
        decided &= a->best[i] == fastest || m->slow > a->methods[a->best[i]].fast;
    if (a->bests == 1)
        gcb_append(a->out, a->size, "; it encodes %s GB/s", gcb_number(speed, m->speed, 3));
    else if (decided)
        gcb_append(a->out, a->size, "; of these %s encodes fastest: %s GB/s", m->name,
                   gcb_number(speed, m->speed, 3));
    else
        gcb_append(a->out, a->size, "; the intervals do not decide which of these encodes fastest");
}

/* Does only error feedback make the method useful? */
static bool is_lost(const struct gcb_answer_method *m)
{
    return !m->baseline && !isnan(m->error) && (m->feedback || m->error > GCB_ANSWER_WORST);
}

/* Appends which methods are not recommended, and why. */
static void say_lost(const struct answer *a, size_t lost)
{
    bool feedback = false, errs = false;
    size_t named = 0;

    for (size_t i = 0; i < a->count; i++) {
        if (!is_lost(&a->methods[i]))
            continue;
        feedback |= a->methods[i].feedback;
        errs |= !a->methods[i].feedback;
        if (lost <= NAMED)
            gcb_append(a->out, a->size, "%s%s",
                       named == 0          ? ""
                       : named + 1 == lost ? " and "
                                           : ", ",
                       a->methods[i].name);
        named++;
    }
    if (lost > NAMED)
        gcb_append(a->out, a->size, "%zu methods", lost);
    if (feedback)
        gcb_append(a->out, a->size, " %s on error feedback", lost == 1 ? "lives" : "live");
    if (errs)
        gcb_append(a->out, a->size, "%s %s %s above %g", feedback ? " or" : "",
                   lost == 1 ? "has" : "have", a->words->error, GCB_ANSWER_WORST);
    gcb_append(a->out, a->size, "%s; ", a->words->lost);
}

/* Writes the answer about the only method. */
static void say_only(struct answer *a, size_t only)
{
    const struct gcb_answer_method *m = &a->methods[only];
    char error[32];

    if (m->bytes < a->fp16_bytes)
        gcb_append(a->out, a->size, "%s sends %.3g times fewer bytes than fp16", m->name,
                   a->fp16_bytes / m->bytes);
    else
        gcb_append(a->out, a->size, "%s sends no fewer bytes than fp16", m->name);
    gcb_append(a->out, a->size, ", with %s of %s", a->words->error,
               gcb_number_within(error, m->error, 3, 7));
    a->best[a->bests++] = only;
}

char *gcb_answer(char *out, size_t size, const struct gcb_answer_method methods[], size_t count,
                 double fp16_bytes, bool speeds, const struct gcb_answer_words *words)
{
    struct answer a = {out, size, methods, count, fp16_bytes, words, {0}, 0};
    size_t only = 0, compared = 0, lost = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (methods[i].baseline || isnan(methods[i].error))
            continue;
        lost += is_lost(&methods[i]);
        only = i;
        compared++;
    }
    if (compared == 0)
        return gcb_append(out, size,
                          "no method ran but baselines, so there is nothing to recommend");
    if (compared == 1 && !lost)
        say_only(&a, only);
    for (size_t i = 0; i < LEVELS && compared > 1; i++)
        say_level(&a, levels[i]);
    if (speeds && a.bests)
        say_fastest(&a);
    if (!a.bests && lost < compared)
        gcb_append(out, size, "up to %s of %g nothing here sends fewer bytes than fp16",
                   words->error, GCB_ANSWER_WORST);
    if (*out)
        gcb_append(out, size, "; ");
    if (lost)
        say_lost(&a, lost);
    return gcb_append(out, size, "training was not tested");
}
