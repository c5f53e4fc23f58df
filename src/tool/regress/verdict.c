#include "src/tool/regress/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

enum gcb_verdict_kind gcb_verdict_judge(double low, double high, double delta)
{
    const double above = 1.0 + delta, below = 1.0 / above;

    if (low > above)
        return GCB_SLOW;
    if (high < below)
        return GCB_FAST;
    return low >= below && high <= above ? GCB_SAME : GCB_AMBIGUOUS;
}

struct gcb_verdict *gcb_verdicts_add(struct gcb_verdicts *all, const struct gcb_case_pair *pair,
                                     enum gcb_quantity quantity, enum gcb_verdict_kind kind)
{
    struct gcb_verdict *v;

    gcb_must_grow(&all->items, &all->cap, all->count, sizeof(*all->items));
    v = &all->items[all->count++];

    *v = (struct gcb_verdict){
        .pair = *pair,
        .quantity = quantity,
        .kind = kind,
        .base = NAN,
        .next = NAN,
        .ratio = NAN,
        .low = NAN,
        .high = NAN,
        .delta = NAN,
        .p = NAN,
    };
    return v;
}

struct gcb_verdict *gcb_verdicts_add_time(struct gcb_verdicts *all,
                                          const struct gcb_case_pair *pair, int op, double delta)
{
    enum gcb_quantity first = GCB_QUANTITY_ENCODE;
    struct gcb_verdict *v;

    if (pair->base->kernel)
        first = GCB_QUANTITY_KERNEL;
    else if (pair->base->exchange)
        first = GCB_QUANTITY_EXCHANGE;
    v = gcb_verdicts_add(all, pair, first + (enum gcb_quantity)op, GCB_NOT_COMPARED);
    v->delta = delta;
    return v;
}

void gcb_verdict_set_values(struct gcb_verdict *v, double base, double next)
{
    v->base = base;
    v->next = next;
    v->ratio = next / base;
}

void gcb_verdict_explain(struct gcb_verdicts *all, struct gcb_verdict *v, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    v->reason = gcb_strings_keep(&all->reasons, text);
}

void gcb_verdicts_fini(struct gcb_verdicts *all)
{
    gcb_strings_fini(&all->reasons);
    gcb_free(all->items);
    memset(all, 0, sizeof(*all));
}

const struct gcb_case *gcb_verdict_case(const struct gcb_verdict *v)
{
    return v->pair.base ? v->pair.base : v->pair.next;
}

const struct gcb_quantity_info gcb_quantities[GCB_QUANTITIES] = {
    [GCB_QUANTITY_CASE] = {"case", NULL, false},
    [GCB_QUANTITY_SIZE] = {"size", "bytes", false},
    [GCB_QUANTITY_ERROR] = {"error", NULL, false},
    [GCB_QUANTITY_ENCODE] = {"encode", "seconds", true},
    [GCB_QUANTITY_DECODE] = {"decode", "seconds", true},
    [GCB_QUANTITY_KERNEL] = {"kernel", "seconds", true},
    [GCB_QUANTITY_EXCHANGE] = {"exchange", "seconds", true},
    [GCB_QUANTITY_ENCODE_COUNT] = {"encode count", "instructions", false},
    [GCB_QUANTITY_DECODE_COUNT] = {"decode count", "instructions", false},
};

const char *const gcb_verdict_names[GCB_VERDICT_KINDS] = {
    "SAME",    "FAST",  "SLOW",   "AMBIGUOUS", "NOT-COMPARED", "LARGER",
    "SMALLER", "WORSE", "BETTER", "NEW",       "GONE"};

const char *gcb_verdict_advice(const struct gcb_verdict *v)
{
    static const char *const advice[GCB_VERDICT_KINDS] = {
        [GCB_SLOW] = "find the commit with `git bisect run`; if the change is wanted, --accept it",
        [GCB_AMBIGUOUS] = "try a longer --budget, a quieter machine, or larger tensors",
        [GCB_LARGER] = "`compress --format json` shows the bytes of header, scales, values and "
                       "indices; if the change is wanted, --accept it",
        [GCB_WORSE] = "`gcbench verify` checks the method's bound; if the change is wanted, "
                      "--accept it",
        [GCB_GONE] = "if the case was dropped on purpose, --accept it",
    };
    const bool counted =
        v->quantity == GCB_QUANTITY_ENCODE_COUNT || v->quantity == GCB_QUANTITY_DECODE_COUNT;

    if (v->kind == GCB_SLOW && counted)
        return "callgrind_annotate names the functions that grew; if the change is wanted, "
               "--accept it";
    if ((v->kind == GCB_SLOW || v->kind == GCB_AMBIGUOUS) && v->quantity == GCB_QUANTITY_EXCHANGE)
        return "measure both again on the same network, with more repeats: `gcbench-mpi --repeat`";
    if ((v->kind == GCB_SLOW || v->kind == GCB_AMBIGUOUS) && !counted && v->pairs == 0)
        return "two runs one after the other prove little: `gcbench regress --against` alternates "
               "the builds";
    return advice[v->kind];
}

/* True if the verdict fails unless it is accepted or advisory. */
static bool is_regression(const struct gcb_verdict *v)
{
    return v->kind == GCB_SLOW || v->kind == GCB_LARGER || v->kind == GCB_WORSE ||
           v->kind == GCB_GONE;
}

bool gcb_verdict_fails(const struct gcb_verdict *v)
{
    return is_regression(v) && !v->accepted && !v->advisory;
}

/* True if the glob matches the name, the spec or the label of the verdict's case, alone or with the
 * quantity: "NAME encode". */
static bool matches_case(const char *pattern, const struct gcb_verdict *v)
{
    const struct gcb_case *c = gcb_verdict_case(v);
    const char *const names[] = {c->name[GCB_CASE_NAME], c->text[GCB_CASE_SPEC],
                                 c->label ? c->label : ""};
    bool found = false;

    for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t size = strlen(names[i]) + 32; /* room for a space and the quantity */
        char *both = gcb_must_array(size, 1);

        snprintf(both, size, "%s %s", names[i], gcb_quantities[v->quantity].name);
        found = gcb_glob(pattern, names[i]) || gcb_glob(pattern, both);
        gcb_free(both);
    }
    return found;
}

size_t gcb_verdicts_accept(struct gcb_verdicts *all, const char *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < all->count; i++)
        if (matches_case(pattern, &all->items[i])) {
            all->items[i].accepted = true;
            n++;
        }
    return n;
}

void gcb_verdicts_count(struct gcb_verdict_counts *out, const struct gcb_verdicts *all)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < all->count; i++) {
        const struct gcb_verdict *v = &all->items[i];
        const bool unsure = v->kind == GCB_AMBIGUOUS || v->kind == GCB_NOT_COMPARED;

        out->kinds[v->kind]++;
        out->fails += gcb_verdict_fails(v);
        out->unsure += unsure && !v->accepted && !v->advisory;
        out->accepted += v->accepted && !v->advisory && is_regression(v);
    }
}

void gcb_verdict_row(struct gcb_row *row, const struct gcb_verdict *v)
{
    const struct gcb_case *c = gcb_verdict_case(v);

    gcb_row_init(row, GCB_RECORD_VERDICT);
    /* the texts are escaped already: gcb_row_text would double their backslashes */
    gcb_row_json(row, GCB_FIELD_CASE, json_string(c->name[GCB_CASE_NAME]));
    gcb_row_json(row, GCB_FIELD_LABEL, c->label ? json_string(c->label) : json_null());
    for (size_t i = 0; i < GCB_CASE_SIZE; i++)
        gcb_row_json(row, gcb_case_fields[i],
                     c->text[i][0] ? json_string(c->text[i]) : json_null());
    gcb_row_json(row, GCB_FIELD_METHOD, c->method[0] ? json_string(c->method) : json_null());
    gcb_row_u64(row, GCB_FIELD_THREADS, c->threads);
    gcb_row_u64(row, GCB_FIELD_ELEMENTS, c->elements);
    gcb_row_text(row, GCB_FIELD_QUANTITY, gcb_quantities[v->quantity].name);
    gcb_row_text(row, GCB_FIELD_UNIT, gcb_quantities[v->quantity].unit);
    gcb_row_real(row, GCB_FIELD_BASE, v->base);
    gcb_row_real(row, GCB_FIELD_NEW, v->next);
    gcb_row_real(row, GCB_FIELD_RATIO, v->ratio);
    gcb_row_real(row, GCB_FIELD_LOW, v->low);
    gcb_row_real(row, GCB_FIELD_HIGH, v->high);
    gcb_row_real(row, GCB_FIELD_DELTA, v->delta);
    gcb_row_real(row, GCB_FIELD_P, v->p);
    gcb_row_u64(row, GCB_FIELD_PAIRS, v->pairs);
    gcb_row_text(row, GCB_FIELD_VERDICT, gcb_verdict_names[v->kind]);
    gcb_row_bool(row, GCB_FIELD_ACCEPTED, v->accepted);
    gcb_row_bool(row, GCB_FIELD_ADVISORY, v->advisory);
    gcb_row_bool(row, GCB_FIELD_FAILS, gcb_verdict_fails(v));
    gcb_row_json(row, GCB_FIELD_REASON, v->reason ? json_string(v->reason) : json_null());
    gcb_row_text(row, GCB_FIELD_NEXT, gcb_verdict_advice(v));
}

void gcb_verdicts_row(struct gcb_row *row, const struct gcb_verdicts *all)
{
    json_t *kinds = json_object();
    struct gcb_verdict_counts n;

    gcb_verdicts_count(&n, all);
    gcb_row_u64(row, GCB_FIELD_COMPARISONS, all->count);
    for (size_t k = 0; k < GCB_VERDICT_KINDS; k++)
        gcb_json_set(kinds, gcb_verdict_names[k], json_integer((json_int_t)n.kinds[k]));
    gcb_row_json(row, GCB_FIELD_VERDICTS, kinds);
    gcb_row_u64(row, GCB_FIELD_ACCEPTED_COUNT, n.accepted);
    gcb_row_u64(row, GCB_FIELD_REGRESSIONS, n.fails);
    gcb_row_u64(row, GCB_FIELD_UNSURE, n.unsure);
}
