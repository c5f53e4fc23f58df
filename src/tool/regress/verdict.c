#include "src/tool/regress/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

enum gcb_verdict_kind gcb_verdict_judge(double low, double high, double delta)
{
    const double above = 1.0 + delta, below = 1.0 / above;

    if (low > above)
        return GCB_SLOW;
    if (high < below)
        return GCB_FAST;
    return low >= below && high <= above ? GCB_SAME : GCB_AMBIGUOUS;
}

struct gcb_verdict *gcb_verdicts_add(struct gcb_verdicts *v, const struct gcb_match *match,
                                     enum gcb_quantity quantity, enum gcb_verdict_kind kind)
{
    struct gcb_verdict *out;

    if (gcb_grow(&v->items, &v->cap, v->count, sizeof(*v->items)))
        return NULL;
    out = &v->items[v->count++];
    *out = (struct gcb_verdict){
        .match = *match,
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
    return out;
}

void gcb_verdicts_fini(struct gcb_verdicts *v)
{
    for (size_t i = 0; i < v->count; i++)
        gcb_free(v->items[i].reason);
    gcb_free(v->items);
    memset(v, 0, sizeof(*v));
}

int gcb_verdict_say(struct gcb_verdict *v, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gcb_free(v->reason);
    v->reason = gcb_strdup(text);
    return v->reason ? 0 : GCB_E_NOMEM;
}

const struct gcb_case *gcb_verdict_case(const struct gcb_verdict *v)
{
    return v->match.base ? v->match.base : v->match.next;
}

const char *gcb_quantity_name(enum gcb_quantity q)
{
    static const char *const names[GCB_QUANTITIES] = {
        "case", "size", "error", "encode", "decode", "kernel", "encode count", "decode count"};

    return names[q];
}

const char *gcb_verdict_name(enum gcb_verdict_kind k)
{
    static const char *const names[GCB_VERDICT_KINDS] = {
        "SAME",    "FAST",  "SLOW",   "AMBIGUOUS", "NOT-COMPARED", "LARGER",
        "SMALLER", "WORSE", "BETTER", "NEW",       "GONE"};

    return names[k];
}

const char *gcb_verdict_advice(const struct gcb_verdict *v)
{
    static const char *const advice[GCB_VERDICT_KINDS] = {
        [GCB_SLOW] = "find the commit with `git bisect run`, or --accept the case if it is wanted",
        [GCB_AMBIGUOUS] = "give it more time (--budget), a quieter machine, or larger tensors",
        [GCB_LARGER] = "see which part grew: compress --format json has header, scale, value and "
                       "index bytes; --accept the case if it is wanted",
        [GCB_WORSE] =
            "`gcbench verify` checks the method's bound; --accept the case if it is wanted",
        [GCB_GONE] = "--accept the case if it was dropped on purpose",
    };
    const bool counted = v->quantity == GCB_OF_ENCODE_COUNT || v->quantity == GCB_OF_DECODE_COUNT;

    if (v->kind == GCB_SLOW && counted)
        return "callgrind_annotate names the functions that grew; --accept the case if it is "
               "wanted";
    if ((v->kind == GCB_SLOW || v->kind == GCB_AMBIGUOUS) && !counted && v->pairs == 0)
        return "two runs one after the other prove little: `gcbench regress --against` runs both "
               "builds in turn";
    return advice[v->kind];
}

bool gcb_verdict_fails(const struct gcb_verdict *v)
{
    return !v->accepted && !v->advisory &&
           (v->kind == GCB_SLOW || v->kind == GCB_LARGER || v->kind == GCB_WORSE ||
            v->kind == GCB_GONE);
}

/* Does it break the build under --strict: AMBIGUOUS or NOT-COMPARED, neither accepted nor advisory? */
static bool is_unsure(const struct gcb_verdict *v)
{
    return !v->accepted && !v->advisory &&
           (v->kind == GCB_AMBIGUOUS || v->kind == GCB_NOT_COMPARED);
}

/* "NAME" or "NAME encode". */
static bool matches_name(const char *pattern, const char *name, enum gcb_quantity quantity)
{
    const size_t size = strlen(name) + 32;
    char *both = gcb_alloc(size);
    bool found = gcb_glob(pattern, name);

    if (both && !found) {
        snprintf(both, size, "%s %s", name, gcb_quantity_name(quantity));
        found = gcb_glob(pattern, both);
    }
    gcb_free(both);
    return found;
}

static bool matches(const char *pattern, const struct gcb_verdict *v)
{
    const struct gcb_case *c = gcb_verdict_case(v);

    return matches_name(pattern, c->name, v->quantity) ||
           matches_name(pattern, c->text[GCB_CASE_SPEC], v->quantity) ||
           (c->label && matches_name(pattern, c->label, v->quantity));
}

size_t gcb_verdicts_accept(struct gcb_verdicts *v, const char *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < v->count; i++)
        if (matches(pattern, &v->items[i])) {
            v->items[i].accepted = true;
            n++;
        }
    return n;
}

void gcb_verdicts_count(struct gcb_verdict_counts *out, const struct gcb_verdicts *v)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < v->count; i++) {
        struct gcb_verdict stripped = v->items[i];

        stripped.accepted = false;
        out->kinds[stripped.kind]++;
        out->fails += gcb_verdict_fails(&v->items[i]);
        out->unsure += is_unsure(&v->items[i]);
        out->accepted += v->items[i].accepted && gcb_verdict_fails(&stripped);
    }
}

static void put_case(struct gcb_row *row, const struct gcb_case *c)
{
    static const char *const keys[GCB_CASE_TEXTS] = {"file",   "scope", "spec",
                                                     "device", "isa",   "cache"};

    /* texts are escaped already: a second time would double their backslashes */
    gcb_row_json(row, "case", json_string(c->name));
    gcb_row_json(row, "label", c->label ? json_string(c->label) : json_null());
    for (size_t i = 0; i < GCB_CASE_TEXTS; i++)
        gcb_row_json(row, keys[i], c->text[i][0] ? json_string(c->text[i]) : json_null());
    gcb_row_json(row, "method", c->method[0] ? json_string(c->method) : json_null());
    gcb_row_u64(row, "threads", c->threads);
    gcb_row_u64(row, "elements", c->elements);
}

static const char *unit_of(enum gcb_quantity q)
{
    static const char *const units[GCB_QUANTITIES] = {
        NULL, "bytes", NULL, "seconds", "seconds", "seconds", "instructions", "instructions"};

    return units[q];
}

void gcb_verdict_row(struct gcb_row *row, const struct gcb_verdict *v)
{
    const char *advice = gcb_verdict_advice(v);

    gcb_row_init(row, "verdict");
    put_case(row, gcb_verdict_case(v));
    gcb_row_text(row, "quantity", gcb_quantity_name(v->quantity));
    gcb_row_text(row, "unit", unit_of(v->quantity));
    gcb_row_real(row, "base", v->base);
    gcb_row_real(row, "new", v->next);
    gcb_row_real(row, "ratio", v->ratio);
    gcb_row_real(row, "low", v->low);
    gcb_row_real(row, "high", v->high);
    gcb_row_real(row, "delta", v->delta);
    gcb_row_real(row, "p", v->p);
    gcb_row_u64(row, "pairs", v->pairs);
    gcb_row_text(row, "verdict", gcb_verdict_name(v->kind));
    gcb_row_bool(row, "accepted", v->accepted);
    gcb_row_bool(row, "advisory", v->advisory);
    gcb_row_bool(row, "fails", gcb_verdict_fails(v));
    gcb_row_json(row, "reason", v->reason ? json_string(v->reason) : json_null());
    gcb_row_text(row, "next", advice);
}

/* A text of an environment row, which is escaped already. */
static void put_known(struct gcb_row *row, const char *key, const json_t *environment,
                      const char *field)
{
    const char *text = json_string_value(json_object_get(environment, field));

    gcb_row_json(row, key, text ? json_string(text) : json_null());
}

void gcb_verdict_total_row(struct gcb_row *row, const struct gcb_verdict_total *total,
                           const struct gcb_verdicts *v)
{
    json_t *kinds = json_object();
    struct gcb_verdict_counts n;

    gcb_verdicts_count(&n, v);
    gcb_row_init(row, "regress");
    gcb_row_text(row, "form", total->form);
    put_known(row, "base_revision", total->base, "git_revision");
    put_known(row, "new_revision", total->next, "git_revision");
    put_known(row, "base_build_id", total->base, "build_id");
    put_known(row, "new_build_id", total->next, "build_id");
    gcb_row_u64(row, "pairs", total->pairs);
    gcb_row_u64(row, "repeat", total->repeat);
    gcb_row_real(row, "seconds", total->seconds);
    gcb_row_real(row, "budget", total->budget);
    gcb_row_bool(row, "interrupted", total->interrupted);
    gcb_row_u64(row, "comparisons", v->count);
    for (size_t k = 0; kinds && k < GCB_VERDICT_KINDS; k++)
        if (json_object_set_new(kinds, gcb_verdict_name((enum gcb_verdict_kind)k),
                                json_integer((json_int_t)n.kinds[k])))
            row->failed = true;
    gcb_row_json(row, "verdicts", kinds);
    gcb_row_u64(row, "accepted", n.accepted);
    gcb_row_u64(row, "regressions", n.fails);
    gcb_row_u64(row, "unsure", n.unsure);
    gcb_row_u64(row, "exit", (uint64_t)total->exit);
}

static const char *const records[] = {"verdict", NULL};
static const char *const names[] = {
    "record", "case", "label", "quantity", "verdict",  "base",   "new",  "ratio", "low",  "high",
    "delta",  "p",    "pairs", "accepted", "advisory", "fails",  "file", "scope", "spec", "method",
    "device", "isa",  "cache", "threads",  "elements", "reason", "next", NULL};

const struct gcb_columns gcb_verdict_columns = {records, names};
