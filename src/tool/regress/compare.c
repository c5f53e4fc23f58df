#include "src/tool/regress/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/columns.h"
#include "src/tool/rows/results.h"

/* ---- sizes and errors ---- */

double gcb_compare_tolerance(const struct gcb_case *c)
{
    const char *device = c->text[GCB_CASE_DEVICE];
    struct gcb_method method;

    if (device[0] && strcmp(device, "cpu") != 0)
        return GCB_TOLERANCE;
    return !gcb_method_parse(&method, c->text[GCB_CASE_SPEC], NULL) &&
                   gcb_method_caps(&method) & GCB_CAP_LIBRARY_MATH
               ? GCB_TOLERANCE
               : 0.0;
}

/* Adds the verdict on the sizes. If `tolerance` is above 0 and the headers have equal sizes, a
 * change of up to GCB_TOLERANCE counts as no change. */
static void compare_size(struct gcb_verdicts *out, const struct gcb_case_pair *pair,
                         double tolerance)
{
    const struct gcb_case *a = pair->base, *b = pair->next;
    const double was = (double)a->wire_bytes, is = (double)b->wire_bytes;
    const bool near = tolerance > 0.0 && a->header_bytes == b->header_bytes &&
                      fabs(is - was) <= GCB_TOLERANCE * was;
    struct gcb_verdict *v = gcb_verdicts_add(out, pair, GCB_QUANTITY_SIZE, GCB_SAME);

    gcb_verdict_set_values(v, was, is);
    if (is == was || near)
        return;
    v->kind = is > was ? GCB_LARGER : GCB_SMALLER;
    gcb_verdict_explain(out, v, "%+.0f bytes in %" PRIu64 " message%s, of which %+.0f in headers",
                        is - was, b->messages, b->messages == 1 ? "" : "s",
                        (double)b->header_bytes - (double)a->header_bytes);
}

/* Returns -1 if b is better than a, 1 if b is worse, and 0 if they differ by at most `tolerance` or
 * both are NAN. The smaller figure is better, and NAN is worse than any number. */
static int compare_figure(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return (int)isnan(b) - (int)isnan(a);
    if (fabs(b - a) <= tolerance)
        return 0;
    return b > a ? 1 : -1;
}

/* Compares the error figures: the first figure that differs decides. With a tolerance, only
 * rel_l2 is compared. */
static void compare_error(struct gcb_verdicts *out, const struct gcb_case_pair *pair,
                          double tolerance)
{
    const struct gcb_case *a = pair->base, *b = pair->next;
    struct gcb_verdict *v = gcb_verdicts_add(out, pair, GCB_QUANTITY_ERROR, GCB_SAME);
    enum gcb_field fields[GCB_FIELDS];
    const size_t all = gcb_field_gated(fields, GCB_GATE_ERROR), count = tolerance > 0.0 ? 1 : all;

    gcb_verdict_set_values(v, a->errors[0], b->errors[0]);
    for (size_t i = 0; i < count && v->kind == GCB_SAME; i++) {
        const double was = a->errors[i], is = b->errors[i];
        const double sign = gcb_field_info(fields[i])->better == GCB_BETTER_MORE ? -1.0 : 1.0;
        const int order = compare_figure(sign * was, sign * is, tolerance);
        char now[32], before[32];

        if (order == 0)
            continue;
        v->kind = order > 0 ? GCB_WORSE : GCB_BETTER;
        gcb_verdict_explain(out, v, "%s is %s, was %s", gcb_field_name(fields[i]),
                            gcb_real_text(now, is), gcb_real_text(before, was));
    }
}

/* ---- presence, inputs, and a pair of rows ---- */

/* Adds the verdict on a pair of which a case is missing or did not run. */
static void compare_presence(struct gcb_verdicts *out, const struct gcb_case_pair *pair)
{
    static const char *const states[] = {"ran", "is not supported", "failed", "was interrupted"};
    const struct gcb_case *a = pair->base, *b = pair->next;
    struct gcb_verdict *v = gcb_verdicts_add(out, pair, GCB_QUANTITY_CASE, GCB_NOT_COMPARED);
    const char *why = "", *colon;

    if (b && b->status && b->reason)
        why = b->reason;
    else if (a && a->reason)
        why = a->reason;
    colon = why[0] ? ": " : "";
    if (!b) {
        v->kind = GCB_GONE;
        gcb_verdict_explain(out, v, "the new run has no such case");
    } else if (!a) {
        v->kind = GCB_NEW;
        gcb_verdict_explain(out, v, "the base has no such case");
    } else if (a->status == GCB_CASE_OK && b->status == GCB_CASE_FAILED) {
        v->kind = GCB_GONE;
        gcb_verdict_explain(out, v, "it failed, but it worked in the base%s%.200s", colon, why);
    } else if (a->status == GCB_CASE_FAILED && b->status == GCB_CASE_OK) {
        v->kind = GCB_NEW;
        gcb_verdict_explain(out, v, "it failed in the base%s%.200s", colon, why);
    } else {
        gcb_verdict_explain(out, v, "it %s in the base and %s in the new run%s%.200s",
                            states[a->status], states[b->status], colon, why);
    }
}

/* True if the two environment rows have different hashes for a file of the list `names`, such as
 * "b.h5, c.h5". */
static bool contents_differ(const json_t *base, const json_t *next, const char *names)
{
    const json_t *was, *is;
    bool differ = false;
    size_t i, k;

    json_array_foreach(gcb_results_json(base, GCB_FIELD_INPUT_XXH3), i, was)
    {
        const char *file = gcb_results_text(was, GCB_FIELD_FILE),
                   *hash = gcb_results_text(was, GCB_FIELD_XXH3);

        json_array_foreach(gcb_results_json(next, GCB_FIELD_INPUT_XXH3), k, is)
        {
            const char *other = gcb_results_text(is, GCB_FIELD_FILE),
                       *now = gcb_results_text(is, GCB_FIELD_XXH3);

            differ |= file && hash && other && now && strcmp(hash, now) != 0 &&
                      strcmp(basename(file), basename(other)) == 0 &&
                      gcb_lists(names, basename(file));
        }
    }
    return differ;
}

/* True if both cases ran on the same input. Otherwise adds a verdict that says what differs. */
static bool same_inputs(struct gcb_verdicts *out, const struct gcb_runs *runs,
                        const struct gcb_case_pair *pair)
{
    const struct gcb_case *a = pair->base, *b = pair->next;
    const bool same_size = a->elements == b->elements && a->messages == b->messages &&
                           a->input_bytes == b->input_bytes;
    struct gcb_verdict *v;

    if (same_size &&
        !contents_differ(runs->base.environment, runs->next.environment, a->text[GCB_CASE_FILES]))
        return true;
    v = gcb_verdicts_add(out, pair, GCB_QUANTITY_CASE, GCB_NOT_COMPARED);
    if (same_size)
        gcb_verdict_explain(out, v, "the contents of the input file differ");
    else
        gcb_verdict_explain(
            out, v,
            "the inputs differ: %" PRIu64 " elements (%" PRIu64 " bytes) in %" PRIu64
            " messages, was %" PRIu64 " (%" PRIu64 " bytes) in %" PRIu64,
            b->elements, b->input_bytes, b->messages, a->elements, a->input_bytes, a->messages);
    return false;
}

bool gcb_compare_rows(struct gcb_verdicts *out, const struct gcb_runs *runs,
                      const struct gcb_case_pair *pair)
{
    const struct gcb_case *a = pair->base, *b = pair->next;
    bool same = false;

    if (!a || !b || a->status || b->status)
        compare_presence(out, pair);
    else
        same = a->kernel || same_inputs(out, runs, pair);
    if (same && !a->kernel) {
        const double tolerance = gcb_compare_tolerance(a);

        compare_size(out, pair, tolerance);
        compare_error(out, pair, tolerance);
    }
    return same;
}

/* ---- environments ---- */

/* Writes a text or a number, "known" for true, and "not known" for any other value or NULL. A text
 * is escaped, and cut to `size` bytes. */
static void value_text(char *out, size_t size, const json_t *value)
{
    char number[32];

    if (json_is_string(value))
        gcb_escape(out, size, json_string_value(value));
    else if (json_is_number(value))
        snprintf(out, size, "%s", gcb_real_text(number, json_number_value(value)));
    else
        snprintf(out, size, "%s", json_is_true(value) ? "known" : "not known");
}

/* Adds a difference if the values are not equal. Differences beyond the room are dropped. */
static void compare_field(struct gcb_environment_differences *out, const char *field,
                          const json_t *base, const json_t *next)
{
    struct gcb_environment_difference *d = &out->items[out->count]; /* an item is always free */

    value_text(d->base, sizeof(d->base), base);
    value_text(d->next, sizeof(d->next), next);
    gcb_escape(d->field, sizeof(d->field), field);
    /* long texts may differ only after the bytes that d->base and d->next have */
    if (out->count + 1 < GCB_ENVIRONMENT_DIFFERENCES &&
        (strcmp(d->base, d->next) != 0 || (json_is_string(base) && !json_equal(base, next))))
        out->count++;
}

/* Compares the versions in two objects {library: version}. Either object may be NULL. */
static void compare_libraries(struct gcb_environment_differences *out, const json_t *base,
                              const json_t *next)
{
    json_t *all = json_object(), *value;
    const char *name;
    char field[64];

    json_object_update(all, (json_t *)(uintptr_t)base);
    json_object_update(all, (json_t *)(uintptr_t)next);
    json_object_foreach(all, name, value)
    {
        snprintf(field, sizeof(field), "libraries.%s", name);
        compare_field(out, field, json_object_get(base, name), json_object_get(next, name));
    }
    json_decref(all);
}

void gcb_environment_compare(struct gcb_environment_differences *out, const struct gcb_runs *runs)
{
    const json_t *base = runs->base.environment, *next = runs->next.environment;
    enum gcb_field fields[GCB_FIELDS];
    const size_t count = gcb_field_gated(fields, GCB_GATE_PLACE);

    out->count = 0;
    if (!base || !next) {
        compare_field(out, "environment", base ? json_true() : NULL, next ? json_true() : NULL);
        out->count = 1; /* also if neither run says where it ran */
    }
    for (size_t i = 0; base && next && i < count; i++) {
        const json_t *was = gcb_results_json(base, fields[i]),
                     *is = gcb_results_json(next, fields[i]);

        if (gcb_field_info(fields[i])->type == GCB_TYPE_OBJECT)
            compare_libraries(out, was, is);
        else
            compare_field(out, gcb_field_name(fields[i]), was, is);
    }
}

/* ---- comparing two runs ---- */

/* Fills the verdict on one time. `obstacle` says why the times cannot be compared, or is "". */
static void compare_time(struct gcb_verdicts *out, struct gcb_verdict *v,
                         const struct gcb_case_time *a, const struct gcb_case_time *b,
                         const char *obstacle)
{
    const double best = b->min / a->min, delta = v->delta;

    gcb_verdict_set_values(v, a->seconds, b->seconds);
    v->low = b->low / a->high;
    v->high = b->high / a->low;
    if (!obstacle[0] && (!(v->low <= v->ratio && v->ratio <= v->high) || isnan(best)))
        obstacle = "no interval around this ratio: too few samples, or the rows were changed; "
                   "run `bench` without --repeat";
    if (obstacle[0]) {
        gcb_verdict_explain(out, v, "%s", obstacle);
        return;
    }
    /* a change is AMBIGUOUS unless the fastest samples show the same change */
    v->kind = gcb_verdict_judge(v->low, v->high, delta);
    if (v->kind != GCB_SAME && v->kind != gcb_verdict_judge(best, best, delta))
        v->kind = GCB_AMBIGUOUS;
    if (v->kind == GCB_AMBIGUOUS)
        gcb_verdict_explain(out, v,
                            "inconclusive: the interval contains the threshold of %.3g %%, or the "
                            "fastest samples do not confirm it",
                            100.0 * delta);
    else if (v->kind != GCB_SAME)
        gcb_verdict_explain(out, v, "%+.1f %% (%+.1f to %+.1f %%); the fastest sample %+.1f %%",
                            100.0 * (v->ratio - 1.0), 100.0 * (v->low - 1.0),
                            100.0 * (v->high - 1.0), 100.0 * (best - 1.0));
}

/* Adds a verdict for each operation of a pair. `environments` says how the environments differ, or
 * is "". */
static void compare_times(struct gcb_verdicts *out, const struct gcb_case_pair *pair, double delta,
                          const char *environments)
{
    const char *const isa[] = {pair->base->text[GCB_CASE_ISA], pair->next->text[GCB_CASE_ISA]};
    char obstacle[400];

    snprintf(obstacle, sizeof(obstacle), "%s", environments);
    if (!obstacle[0] && strcmp(isa[0], isa[1]) != 0)
        snprintf(obstacle, sizeof(obstacle), "isa differs: %.40s, was %.40s", isa[1], isa[0]);
    for (int op = 0; op < pair->base->operations; op++)
        compare_time(out, gcb_verdicts_add_time(out, pair, op, delta), &pair->base->time[op],
                     &pair->next->time[op], obstacle);
}

/* Writes how the environments differ, such as "environments not alike: cpu_model, kernel", or "" if
 * they are the same. */
static void describe_environments(char *out, size_t size, const struct gcb_runs *runs)
{
    struct gcb_environment_differences differ;

    gcb_environment_compare(&differ, runs);
    out[0] = '\0';
    for (size_t i = 0; i < differ.count; i++)
        gcb_append(out, size, "%s%s", i ? ", " : "environments not alike: ", differ.items[i].field);
}

/* Fails because the files have no case in common. Both files have cases. */
static int fail_apart(const struct gcb_runs *runs, struct gcb_diag *diag)
{
    const struct gcb_cases *const sides[] = {&runs->base, &runs->next};
    char files[2][64], cases[2][128];

    for (size_t i = 0; i < 2; i++) {
        gcb_escape(files[i], sizeof(files[i]), sides[i]->path);
        gcb_text_shorten(cases[i], sizeof(cases[i]), sides[i]->items->name[GCB_CASE_NAME], 80);
    }
    return gcb_invalid(diag,
                       "%s and %s have no case in common: the first are \"%s\" and \"%s\"; run "
                       "`bench` with the same files and options for both",
                       files[0], files[1], cases[0], cases[1]);
}

int gcb_compare_runs(struct gcb_verdicts *out, const struct gcb_runs *runs, double delta,
                     struct gcb_diag *diag)
{
    size_t count;
    struct gcb_case_pair *pairs = gcb_pair_cases(&count, &runs->base, &runs->next);
    bool common = false;
    char environments[400];
    int err = 0;

    for (size_t i = 0; i < count; i++)
        common |= pairs[i].base && pairs[i].next;
    if (!common)
        err = fail_apart(runs, diag);
    describe_environments(environments, sizeof(environments), runs);
    for (size_t i = 0; !err && i < count; i++)
        if (gcb_compare_rows(out, runs, &pairs[i]))
            compare_times(out, &pairs[i], delta, environments);
    gcb_free(pairs);
    return err;
}
