#include "src/tool/rows/answer.h"

#include <math.h>

#include "src/lib/base/text.h"
#include "src/tool/rows/number.h"

#define NAMED 3  /* at most this many methods that lack a memory are named; more are only counted */
#define LOSS 0.9 /* gains from here to GCB_ANSWER_GAIN are "about as fast" */

const char *const gcb_error_kinds[GCB_ERROR_KINDS] = {"exact", "noise", "lasting", "loud"};

struct gcb_answer_item gcb_answer_item_of(const struct gcb_method *m)
{
    struct gcb_memory_params memory;

    gcb_method_memory(&memory, m);
    return (struct gcb_answer_item){
        .error = NAN,
        .lasting = NAN,
        .low = NAN,
        .high = NAN,
        .step = NAN,
        .speed = NAN,
        .unbiased = gcb_method_caps(m) & GCB_CAP_UNBIASED,
        .memory = memory.kind != GCB_MEMORY_NONE,
        .baseline = m->codec->baseline,
    };
}

/* Returns the limit that the caller gave, or the usual limit if the caller gave 0. */
static double limit(double given, double usual)
{
    return given > 0.0 ? given : usual;
}

enum gcb_error_kind gcb_answer_kind(const struct gcb_answer *a, const struct gcb_answer_item *item)
{
    double lasting = item->lasting;

    if (isnan(lasting))
        lasting = item->unbiased ? 0.0 : item->error;
    if (item->error <= limit(a->exact, GCB_ERROR_EXACT_MOST))
        return GCB_ERROR_EXACT;
    if (lasting > GCB_ERROR_LASTING_MOST)
        return GCB_ERROR_LASTING;
    return item->error <= limit(a->noise, GCB_ERROR_NOISE_MOST) ? GCB_ERROR_NOISE : GCB_ERROR_LOUD;
}

/* True if the item is no baseline and has a known error. It may still not be usable. */
static bool is_judged(const struct gcb_answer_item *item)
{
    return !item->baseline && !isnan(item->error);
}

bool gcb_answer_usable(const struct gcb_answer *a, const struct gcb_answer_item *item)
{
    return is_judged(item) && (item->memory || gcb_answer_kind(a, item) != GCB_ERROR_LASTING);
}

double gcb_answer_worth(const struct gcb_answer_item *item)
{
    return isnan(item->step) ? item->gain : item->step;
}

/* Returns gcb_answer_worth, or -1 if the item is not usable, is of another kind, has an error above
 * `most`, or has no finite worth. */
static double worth_of_kind(const struct gcb_answer *a, const struct gcb_answer_item *x,
                            enum gcb_error_kind kind, double most)
{
    const double worth = gcb_answer_worth(x);
    const bool fits = gcb_answer_usable(a, x) && gcb_answer_kind(a, x) == kind && x->error <= most;

    return fits && isfinite(worth) ? worth : -1.0;
}

size_t gcb_answer_best(const struct gcb_answer *a, enum gcb_error_kind kind, double most)
{
    double worth = 0.0;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < a->count; i++)
        worth = fmax(worth, worth_of_kind(a, &a->items[i], kind, most));
    for (size_t i = 0; i < a->count; i++)
        if (worth_of_kind(a, &a->items[i], kind, most) >= GCB_ANSWER_CLOSE * worth &&
            (best == SIZE_MAX || a->items[i].error < a->items[best].error))
            best = i;
    return best;
}

void gcb_answer_choose(struct gcb_answer *a)
{
    const double noise = limit(a->noise, GCB_ERROR_NOISE_MOST);
    const size_t exact = gcb_answer_best(a, GCB_ERROR_EXACT, INFINITY);
    const size_t noisy = gcb_answer_best(a, GCB_ERROR_NOISE, INFINITY);
    const size_t lasting = gcb_answer_best(a, GCB_ERROR_LASTING, noise);
    double reached = 1.0; /* what the last recommended item is worth; 1: the bar */

    a->best = a->noisy = a->trained = SIZE_MAX;
    if (exact != SIZE_MAX && gcb_answer_worth(&a->items[exact]) >= GCB_ANSWER_GAIN) {
        a->best = exact;
        reached = gcb_answer_worth(&a->items[exact]);
    }
    if (noisy != SIZE_MAX &&
        gcb_answer_worth(&a->items[noisy]) >= GCB_ANSWER_NOISE_GAIN * reached) {
        a->noisy = noisy;
        reached = gcb_answer_worth(&a->items[noisy]);
    }
    if (lasting != SIZE_MAX &&
        gcb_answer_worth(&a->items[lasting]) >= fmax(GCB_ANSWER_GAIN, reached))
        a->trained = lasting;
}

/* ---- the text of an answer ---- */

void gcb_answer_gain(char *out, size_t size, const struct gcb_answer *a,
                     const struct gcb_answer_item *x)
{
    char mid[32], low[32], high[32];

    if (!a->times)
        gcb_append(out, size, "sends %s times fewer bytes than %s", gcb_factor(mid, x->gain),
                   a->bar);
    else if (x->low < LOSS && x->high > GCB_ANSWER_GAIN)
        gcb_append(out, size, "is %s to %s times as fast as %s (measure again)",
                   gcb_factor(low, x->low), gcb_factor(high, x->high), a->bar);
    else if (!isnan(x->step))
        gcb_append(out, size,
                   "makes a training step %s times as fast as with %s, and the exchange %s times",
                   gcb_factor(low, x->step), a->bar, gcb_factor(mid, x->gain));
    else if (x->gain >= LOSS && x->gain < GCB_ANSWER_GAIN)
        gcb_append(out, size, "is about as fast as %s", a->bar);
    else
        gcb_append(out, size, "is %s times as fast as %s", gcb_factor(mid, x->gain), a->bar);
}

static void say_item(char *out, size_t size, const struct gcb_answer *a, size_t i)
{
    static const char *const notes[GCB_ERROR_KINDS] = {"", " (noise)", " (lasting)", ""};
    const struct gcb_answer_item *x = &a->items[i];
    const int decimals = x->error < 0.1 ? 3 : 2;

    gcb_append(out, size, "%s ", x->name);
    gcb_answer_gain(out, size, a, x);
    gcb_append(out, size, ", error %.*f%s", decimals, x->error, notes[gcb_answer_kind(a, x)]);
    if (!isnan(x->speed))
        gcb_append(out, size, ", encodes %.3g GB/s", x->speed);
}

/* Appends the names, or the number, of the methods that are not usable because they have no memory.
 * Appends nothing to an answer about time. */
static void say_without_memory(char *out, size_t size, const struct gcb_answer *a)
{
    const struct gcb_answer_item *lacking[NAMED];
    size_t count = 0, with_memory = 0;

    for (size_t i = 0; i < a->count; i++) {
        with_memory += a->items[i].memory;
        if (!is_judged(&a->items[i]) || gcb_answer_usable(a, &a->items[i]))
            continue;
        if (count < NAMED)
            lacking[count] = &a->items[i];
        count++;
    }
    if (!count || a->times)
        return;
    gcb_append(out, size, "; ");
    for (size_t i = 0; i < count && count <= NAMED; i++) {
        if (i > 0)
            gcb_append(out, size, "%s", i + 1 == count ? " and " : ", ");
        gcb_append(out, size, "%s", lacking[i]->name);
    }
    if (count > NAMED)
        gcb_append(out, size, "%zu methods", count);
    gcb_append(out, size,
               count == 1 ? " has an error that lasts: it needs"
                          : " have errors that last: they need");
    gcb_append(out, size, " a memory (memory=ef)%s",
               with_memory ? "" : ", which `gcbench replay` tests");
}

char *gcb_answer_text(char *out, size_t size, const struct gcb_answer *a)
{
    const size_t chosen[] = {a->best, a->noisy};
    bool only_baselines = true;

    out[0] = '\0';
    for (size_t i = 0; i < a->count; i++)
        only_baselines &= !is_judged(&a->items[i]);
    if (only_baselines)
        return gcb_append(out, size, "only baselines ran, so there is nothing to recommend");
    for (size_t i = 0; i < 2; i++)
        if (chosen[i] != SIZE_MAX) {
            gcb_append(out, size, "%s", *out ? "; " : "");
            say_item(out, size, a, chosen[i]);
        }
    if (!*out && a->times)
        gcb_append(out, size, "send %s: nothing with a small error %s", a->bar,
                   a->count && !isnan(a->items[0].step) ? "makes a training step much shorter"
                                                        : "is much faster");
    else if (!*out)
        gcb_append(out, size,
                   "nothing with a small error sends at least %.1f times fewer bytes than %s",
                   GCB_ANSWER_GAIN, a->bar);
    if (a->trained != SIZE_MAX) {
        gcb_append(out, size, "; only if a training confirms it: ");
        say_item(out, size, a, a->trained);
    }
    say_without_memory(out, size, a);
    return out;
}

/* ---- the row of an answer ---- */

/* Sets fields of the row to the name, error and gain of item `at`, or to null if `at` is
 * SIZE_MAX. */
static void put_item(struct gcb_row *row, const struct gcb_answer *a, size_t at,
                     enum gcb_field name, enum gcb_field error, enum gcb_field gain)
{
    const struct gcb_answer_item *x = at == SIZE_MAX ? NULL : &a->items[at];

    gcb_row_text(row, name, x ? x->name : NULL);
    gcb_row_real(row, error, x ? x->error : (double)NAN);
    gcb_row_real(row, gain, x ? x->gain : (double)NAN);
}

void gcb_answer_row(struct gcb_row *row, const char *text, const struct gcb_answer *a)
{
    gcb_row_init(row, GCB_RECORD_ANSWER);
    gcb_row_text(row, GCB_FIELD_ANSWER, text);
    if (!a)
        return;
    put_item(row, a, a->best, GCB_FIELD_BEST, GCB_FIELD_BEST_ERROR, GCB_FIELD_BEST_GAIN);
    put_item(row, a, a->noisy, GCB_FIELD_NOISE, GCB_FIELD_NOISE_ERROR, GCB_FIELD_NOISE_GAIN);
    put_item(row, a, a->trained, GCB_FIELD_TRAIN, GCB_FIELD_TRAIN_ERROR, GCB_FIELD_TRAIN_GAIN);
}
