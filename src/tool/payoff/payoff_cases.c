#include "src/tool/payoff/payoff_cases.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/payoff/truth.h"
#include "src/tool/rows/results.h"

/* A case while its rows are read. */
struct builder {
    struct gcb_payoff_case c;
    struct gcb_payoff_sums summary;
    struct gcb_fit_sums fit[GCB_PAYOFF_QUANTITIES];
    struct exchange {
        uint64_t step, worker;
    } * exchanges; /* the steps and workers seen so far */
    size_t exchange_count, exchange_cap;
    size_t order; /* number of the case, in the order of the cases' first rows */
    bool dropped;
    char refused[64]; /* why the case cannot be judged; "" if it can */
};

struct gcb_payoff_reader {
    struct builder *items;
    size_t count, cap;
    json_t *case_index;        /* maps the key of a case to its index in items */
    json_t *group_index;       /* maps the key of a group to its number */
    json_t *environment;       /* the file's last environment row, or NULL */
    struct gcb_truths *truths; /* may be NULL */
};

/* The texts of a case, cut to `size` bytes. All cases of a group have the same texts, except the first text (the spec)
 * and the last text (the method). */
static const struct {
    enum gcb_field field;
    size_t offset, size;
} texts[] = {
    {GCB_FIELD_SPEC, offsetof(struct gcb_payoff_case, spec), 512},
    {GCB_FIELD_SCOPE, offsetof(struct gcb_payoff_case, scope), 32},
    {GCB_FIELD_DEVICE, offsetof(struct gcb_payoff_case, device), 64},
    {GCB_FIELD_ISA, offsetof(struct gcb_payoff_case, isa), 32},
    {GCB_FIELD_CACHE, offsetof(struct gcb_payoff_case, cache), 32},
    {GCB_FIELD_METHOD, offsetof(struct gcb_payoff_case, method), 64},
};
#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static char **text_at(struct gcb_payoff_case *c, size_t i)
{
    return (char **)(void *)((char *)c + texts[i].offset);
}

void gcb_payoff_case_fini(struct gcb_payoff_case *c)
{
    for (size_t i = 0; i < TEXTS; i++)
        gcb_free(*text_at(c, i));
    gcb_free(c->path);
    gcb_free(c->policy);
}

int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_truths *truths,
                             struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = gcb_alloc_zero(1, sizeof(*r));

    *out = r;
    if (r) {
        r->truths = truths;
        r->case_index = json_object();
        r->group_index = json_object();
    }
    if (r && r->case_index && r->group_index)
        return 0;
    gcb_payoff_reader_destroy(r);
    *out = NULL;
    return gcb_diag_nomem(diag, sizeof(*r), "a reader of results");
}

void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        gcb_payoff_case_fini(&r->items[i].c);
        gcb_free(r->items[i].exchanges);
    }
    gcb_free(r->items);
    json_decref(r->environment);
    json_decref(r->case_index);
    json_decref(r->group_index);
    gcb_free(r);
}

void gcb_payoff_cases_fini(struct gcb_payoff_cases *c)
{
    for (size_t i = 0; i < c->count; i++)
        gcb_payoff_case_fini(&c->items[i]);
    gcb_free(c->items);
    gcb_free(c->left_out);
    memset(c, 0, sizeof(*c));
}

/* ---- what identifies a case ---- */

/* Makes a key from the texts of a case from number `first` on, the threads and the path. The byte between them does
 * not occur in escaped texts. */
#define KEY_TEXT 8192
static void make_key(char out[KEY_TEXT], struct gcb_payoff_case *c, size_t first)
{
    out[0] = '\0';
    /* Leave out the method: the spec begins with it. */
    for (size_t i = first; texts[i].field != GCB_FIELD_METHOD; i++)
        gcb_append(out, KEY_TEXT, "%s\x1f", *text_at(c, i));
    gcb_append(out, KEY_TEXT, "%llu\x1f%s", (unsigned long long)c->threads, c->path);
}

/* Returns the number of a name. A new name is added with the number `fresh`. Returns SIZE_MAX if memory runs out. */
static size_t find_number(json_t *index, const char *name, size_t fresh)
{
    const json_t *known = json_object_get(index, name);

    if (known)
        return (size_t)json_integer_value(known);
    return json_object_set_new_nocheck(index, name, json_integer((json_int_t)fresh)) ? SIZE_MAX
                                                                                     : fresh;
}

/* Keeps a copy of the environment row instead of the last one. `row` may be NULL. */
static void keep_environment(struct gcb_payoff_reader *r, const json_t *row)
{
    json_decref(r->environment);
    r->environment = row ? json_deep_copy(row) : NULL;
}

/* Returns the bytes per second that `threads` threads copy. If this number of threads was not measured, returns the
 * bandwidth of the run's threads. */
static double find_copy(const json_t *environment, uint64_t threads)
{
    const json_t *list = gcb_results_json(environment, GCB_FIELD_BANDWIDTHS);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (gcb_results_u64(json_array_get(list, i), GCB_FIELD_THREADS) == threads)
            return 1e9 * gcb_results_real(json_array_get(list, i), GCB_FIELD_COPY_GBPS);
    return 1e9 * gcb_results_real(environment, GCB_FIELD_COPY_GBPS);
}

/* Reads the fields that identify the row's case. Returns GCB_E_NOMEM if memory runs out. */
static int read_identity(struct gcb_payoff_case *c, const struct gcb_results_row *row)
{
    char buffer[512];

    memset(c, 0, sizeof(*c));
    c->threads = gcb_results_u64(row->json, GCB_FIELD_THREADS);
    c->path = gcb_strdup(row->path);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = gcb_results_text(row->json, texts[i].field);

        *text_at(c, i) = gcb_strdup(gcb_escape(buffer, texts[i].size, text ? text : ""));
        if (!*text_at(c, i))
            return GCB_E_NOMEM;
    }
    return c->path ? 0 : GCB_E_NOMEM;
}

const char *const gcb_baseline_names[] = {"fp32", "fp16", "bf16"};
const char *const gcb_baseline_methods[] = {"identity", "fp16", "bf16"};

enum gcb_baseline gcb_baseline_of(const char *method)
{
    enum gcb_baseline b = 0;

    while (b < GCB_BASELINES && strcmp(gcb_baseline_methods[b], method) != 0)
        b++;
    return b;
}

/* Adds a case and takes over its texts. Returns GCB_E_NOMEM if memory runs out. */
static int add_case(struct gcb_payoff_reader *r, const struct gcb_payoff_case *identity)
{
    char key[KEY_TEXT];
    struct gcb_payoff_case *c;

    if (gcb_grow(&r->items, &r->cap, r->count, sizeof(*r->items)))
        return GCB_E_NOMEM;
    r->items[r->count] = (struct builder){.c = *identity, .order = r->count};
    c = &r->items[r->count++].c;
    make_key(key, c, 1);
    c->group = find_number(r->group_index, key, json_object_size(r->group_index));
    c->baseline = gcb_baseline_of(c->method) < GCB_BASELINES;
    c->copy = find_copy(r->environment, c->threads);
    c->load1 = gcb_results_real(r->environment, GCB_FIELD_LOAD1);
    c->cpus = gcb_results_real(r->environment, GCB_FIELD_CPUS);
    gcb_method_label(c->label, sizeof(c->label), c->spec);
    c->target = NAN;
    return c->group == SIZE_MAX ? GCB_E_NOMEM : 0;
}

/* Finds the row's case, or adds the case. Returns GCB_E_NOMEM if memory runs out. */
static int find_case(struct gcb_payoff_reader *r, struct builder **out,
                     const struct gcb_results_row *row)
{
    char key[KEY_TEXT];
    struct gcb_payoff_case identity;
    const size_t fresh = r->count;
    size_t at = SIZE_MAX;
    int err = read_identity(&identity, row);

    if (!err) {
        make_key(key, &identity, 0);
        at = find_number(r->case_index, key, fresh);
        err = at == SIZE_MAX ? GCB_E_NOMEM : 0;
    }
    if (!err && at == fresh)
        err = add_case(r, &identity);
    if (at != fresh || r->count == fresh)
        gcb_payoff_case_fini(&identity);
    *out = err ? NULL : &r->items[at];
    return err;
}

/* ---- rows ---- */

static const enum gcb_field values[GCB_PAYOFF_QUANTITIES] = {
    GCB_FIELD_WIRE_BYTES, GCB_FIELD_ENCODE_SECONDS, GCB_FIELD_DECODE_SECONDS, GCB_FIELD_SUM_SECONDS,
    GCB_FIELD_SUM16_SECONDS};

/* The ends of the intervals. Bytes are exact. */
static const enum gcb_field lows[GCB_PAYOFF_QUANTITIES] = {
    GCB_FIELD_WIRE_BYTES, GCB_FIELD_ENCODE_SECONDS_LOW, GCB_FIELD_DECODE_SECONDS_LOW,
    GCB_FIELD_SUM_SECONDS_LOW, GCB_FIELD_SUM16_SECONDS_LOW};
static const enum gcb_field highs[GCB_PAYOFF_QUANTITIES] = {
    GCB_FIELD_WIRE_BYTES, GCB_FIELD_ENCODE_SECONDS_HIGH, GCB_FIELD_DECODE_SECONDS_HIGH,
    GCB_FIELD_SUM_SECONDS_HIGH, GCB_FIELD_SUM16_SECONDS_HIGH};

static void add_row(struct gcb_payoff_sums *s, const json_t *row)
{
    static const enum gcb_field stages[] = {GCB_FIELD_TRANSFORM_SECONDS, GCB_FIELD_SELECT_SECONDS,
                                            GCB_FIELD_QUANTISE_SECONDS, GCB_FIELD_INDEX_SECONDS};
    const double messages = gcb_results_real(row, GCB_FIELD_MESSAGES);
    const double elements = gcb_results_real(row, GCB_FIELD_ELEMENTS);
    const double error = gcb_results_real(row, GCB_FIELD_REL_L2);
    const double headers = gcb_results_real(row, GCB_FIELD_HEADER_BYTES);

    s->headers += headers > 0.0 ? headers : 0.0;
    s->rows += 1.0;
    s->messages += isnan(messages) ? 1.0 : messages;
    s->elements += elements;
    s->error += error * error * elements;
    s->exchanges = (double)gcb_results_u64(row, GCB_FIELD_EXCHANGES);
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++) {
        s->value[i] += gcb_results_real(row, values[i]);
        s->low[i] += gcb_results_real(row, lows[i]);
        s->high[i] += gcb_results_real(row, highs[i]);
    }
    for (size_t i = 0; i < 4; i++)
        s->stage[i] += gcb_results_real(row, stages[i]);
}

/* Counts each step and worker once. Rows come step by step, so the search begins at the last exchange, which nearly
 * always matches. */
static int add_exchange(struct builder *b, const json_t *row)
{
    const struct exchange e = {gcb_results_u64(row, GCB_FIELD_STEP),
                               gcb_results_u64(row, GCB_FIELD_WORKER)};

    for (size_t i = b->exchange_count; i-- > 0;)
        if (b->exchanges[i].step == e.step && b->exchanges[i].worker == e.worker)
            return 0;
    if (gcb_grow(&b->exchanges, &b->exchange_cap, b->exchange_count, sizeof(*b->exchanges)))
        return GCB_E_NOMEM;
    b->exchanges[b->exchange_count++] = e;
    return 0;
}

static bool is_usable(const json_t *row)
{
    const char *status = gcb_results_text(row, GCB_FIELD_STATUS);

    return status && strcmp(status, "ok") == 0 &&
           gcb_results_real(row, GCB_FIELD_ENCODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_DECODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_ELEMENTS) > 0.0 &&
           gcb_results_real(row, GCB_FIELD_WIRE_BYTES) > 0.0;
}

/*
 * Reads how messages can travel. All-gather keeps the measured error; so does an all-reduce if it is the method's usual
 * way. The all-reduce of another method, which rounds to a shared scale, is left out: it sends other bytes than the
 * message. Returns NULL, or why the row does not tell what is sent.
 */
static const char *read_collectives(struct gcb_payoff_case *c, const json_t *row)
{
    const json_t *list = gcb_results_json(row, GCB_FIELD_COLLECTIVES);
    const char *usual = gcb_results_text(row, GCB_FIELD_COLLECTIVE);
    const double rounds = gcb_results_real(row, GCB_FIELD_ROUNDS);
    const bool reduces = usual && strcmp(usual, "allreduce") == 0 && !(rounds > 1.0);
    const unsigned gather = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLGATHER),
                   reduce = GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE);
    unsigned known = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        for (int k = 0; name && gcb_collective_names[k]; k++)
            if (strcmp(name, gcb_collective_names[k]) == 0)
                known |= GCB_COLLECTIVE_BIT(k);
    }
    if (json_array_size(list) == 0)
        return "its build does not say how messages travel";
    if (!known)
        return "another build's collective";
    c->collectives = known & (gather | (reduces ? reduce : 0));
    c->lossy = known & ~(gather | reduce);
    if (!c->collectives) {
        c->collectives = c->lossy;
        c->lossy = 0;
    }
    c->sizes |= json_is_false(gcb_results_json(row, GCB_FIELD_FIXED_LENGTH));
    return c->collectives ? NULL : "its all-reduce does not send its messages";
}

static int add_result(struct builder *b, const json_t *row)
{
    const double bytes = 4.0 * gcb_results_real(row, GCB_FIELD_ELEMENTS);

    add_row(&b->c.total, row);
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++)
        gcb_fit_add(&b->fit[i], bytes, gcb_results_real(row, values[i]));
    return add_exchange(b, row);
}

/* Keeps the rules of a policy. Returns GCB_E_NOMEM if memory runs out. */
static int keep_policy(struct gcb_payoff_case *c, const json_t *row)
{
    const char *text = gcb_results_text(row, GCB_FIELD_POLICY);
    const size_t size = text ? 4 * strlen(text) + 1 : 0; /* an escaped byte takes 4 */

    if (!text || c->policy)
        return 0;
    c->policy = gcb_alloc(size);
    if (!c->policy)
        return GCB_E_NOMEM;
    gcb_escape(c->policy, size, text);
    return 0;
}

/* Notes why a case has no complete results. */
static void refuse(struct builder *b, const char *status)
{
    const bool untimed = !status || strcmp(status, "ok") == 0;

    gcb_escape(b->refused, sizeof(b->refused), untimed ? "no times" : status);
}

static int read_row(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = ctx;
    const bool result = row->kind == GCB_RECORD_RESULT;
    const char *method = gcb_results_text(row->json, GCB_FIELD_METHOD);
    const char *why;
    struct builder *b;
    char path[256];

    if (row->kind == GCB_RECORD_ENVIRONMENT)
        keep_environment(r, row->json);
    if (row->kind == GCB_RECORD_RACE && r->truths)
        return gcb_truths_add(r->truths, row, diag);
    if (!result && row->kind != GCB_RECORD_SUMMARY)
        return 0;
    if (!method || !gcb_results_text(row->json, GCB_FIELD_SPEC))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: line %llu: a %s without method and spec",
                            gcb_escape(path, sizeof(path), row->path),
                            (unsigned long long)row->line, row->record);
    if (strcmp(method, "memcpy") == 0)
        return 0; /* memcpy rows measure the machine, not a method */
    if (find_case(r, &b, row))
        return gcb_diag_nomem(diag, 0, "cases");
    if (!is_usable(row->json)) {
        refuse(b, gcb_results_text(row->json, GCB_FIELD_STATUS));
        return 0;
    }
    why = read_collectives(&b->c, row->json);
    if (why) {
        refuse(b, why);
        return 0;
    }
    b->c.searched = gcb_results_text(row->json, GCB_FIELD_MATCH_FIELD) != NULL;
    b->c.missed = b->c.searched && !gcb_results_bool(row->json, GCB_FIELD_MATCH_REACHED);
    b->c.target = gcb_results_real(row->json, GCB_FIELD_MATCH_TARGET);
    if (result && add_result(b, row->json))
        return gcb_diag_nomem(diag, 0, "steps and workers");
    if (!result)
        add_row(&b->summary, row->json);
    if (!result && keep_policy(&b->c, row->json))
        return gcb_diag_nomem(diag, 0, "a policy");
    return 0;
}

int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag)
{
    keep_environment(r, NULL);
    return gcb_results_read(path, GCB_RESULTS_ALL, read_row, r, diag);
}

int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag)
{
    const char *record = gcb_results_text(row, GCB_FIELD_RECORD);

    return read_row(r,
                    &(struct gcb_results_row){.json = row,
                                              .record = record ? record : "",
                                              .kind = gcb_record_find(record),
                                              .path = path,
                                              .line = 1},
                    diag);
}

/* Completes a case and moves it, with its texts, to *out. */
static void finish_case(struct gcb_payoff_case *out, struct builder *b)
{
    const struct gcb_payoff_sums *errors = b->summary.rows > 0.0 ? &b->summary : &b->c.total;
    const bool summary_only = b->c.total.rows == 0.0;

    b->c.rel_l2 = sqrt(errors->error / errors->elements);
    *out = b->c;
    memset(&b->c, 0, sizeof(b->c));
    out->exchanges = (double)b->exchange_count;
    if (summary_only) {
        out->total = b->summary;
        out->exchanges = out->total.exchanges;
    }
    for (size_t i = 0; i < GCB_PAYOFF_QUANTITIES; i++) {
        if (summary_only)
            gcb_fit_add(&b->fit[i], 4.0 * out->total.elements, out->total.value[i]);
        gcb_fit_line(&out->fit[i], &b->fit[i]);
    }
}

static int compare_cases(const void *a, const void *b)
{
    const struct builder *x = a, *y = b;

    if (x->c.group != y->c.group)
        return x->c.group < y->c.group ? -1 : 1;
    if (x->c.baseline != y->c.baseline)
        return x->c.baseline ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Refuses cases that lack messages: fewer than their summary counts, or fewer elements than another case of the group. */
static void refuse_incomplete(struct gcb_payoff_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct builder *b = &r->items[i];
        const struct gcb_payoff_sums *rows = &b->c.total, *summary = &b->summary;
        bool lacks = rows->rows > 0.0 && summary->rows > 0.0 && rows->messages < summary->messages;

        for (size_t k = 0; k < r->count && rows->rows > 0.0; k++)
            lacks |= r->items[k].c.group == b->c.group && !*r->items[k].refused &&
                     r->items[k].c.total.elements > rows->elements;
        if (lacks && !*b->refused)
            snprintf(b->refused, sizeof(b->refused), "incomplete");
    }
}

static bool same_place(const struct gcb_payoff_case *a, const struct gcb_payoff_case *b)
{
    return a->threads == b->threads && strcmp(a->path, b->path) == 0 &&
           strcmp(a->scope, b->scope) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->isa, b->isa) == 0;
}

/* Was this case, with warm caches, also measured with cold ones? */
static bool is_superseded(const struct gcb_payoff_reader *r, const struct gcb_payoff_case *c)
{
    bool found = false;

    for (size_t i = 0; i < r->count && strcmp(c->cache, "warm") == 0; i++) {
        const struct builder *other = &r->items[i];

        found |= !*other->refused && strcmp(other->c.cache, "cold") == 0 &&
                 strcmp(other->c.spec, c->spec) == 0 && same_place(&other->c, c);
    }
    return found;
}

/* Are all cases of the file refused for the same reason? Counts them in *count. */
static bool whole_file(size_t *count, const struct gcb_payoff_reader *r, const struct builder *of)
{
    *count = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->items[i].c.path, of->c.path) != 0)
            continue;
        if (strcmp(r->items[i].refused, of->refused) != 0)
            return false;
        ++*count;
    }
    return *count > 1;
}

/* Lists the refused methods. Returns NULL if memory runs out. */
static char *list_refused(const struct gcb_payoff_reader *r)
{
    const char *last = ""; /* the last file of which all methods were refused together */
    char *text = NULL, *copy, path[128];
    size_t size = 0, count;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && i < r->count; i++) {
        const struct builder *b = &r->items[i];
        const char *comma = ftell(out) > 0 ? ", " : "";

        if (!*b->refused || strcmp(b->c.path, last) == 0)
            continue;
        if (whole_file(&count, r, b)) {
            last = b->c.path;
            fprintf(out, "%sall %zu methods of %s (%s)", comma, count,
                    gcb_escape(path, sizeof(path), last), b->refused);
        } else {
            fprintf(out, "%s%s (%s)", comma, b->c.label, b->refused);
        }
    }
    if (out)
        fclose(out);
    copy = text ? gcb_strdup(text) : NULL;
    free(text); /* open_memstream allocates with malloc */
    return copy;
}

int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    refuse_incomplete(r);
    out->items = gcb_alloc_zero(r->count ? r->count : 1, sizeof(*out->items));
    out->left_out = list_refused(r);
    if (!out->items || !out->left_out)
        return gcb_diag_nomem(diag, 0, "cases");
    if (r->count)
        qsort(r->items, r->count, sizeof(*r->items), compare_cases);
    for (size_t i = 0; i < r->count; i++)
        r->items[i].dropped = *r->items[i].refused || is_superseded(r, &r->items[i].c);
    for (size_t i = 0; i < r->count; i++)
        if (!r->items[i].dropped)
            finish_case(&out->items[out->count++], &r->items[i]);
    gcb_payoff_label_cases(out);
    if (out->count || (r->truths && r->truths->count))
        return 0;
    if (*out->left_out)
        return gcb_diag_set(diag, GCB_E_CORRUPT, "no method can be judged: %s", out->left_out);
    return gcb_diag_set(diag, GCB_E_CORRUPT,
                        "the results have no method with times; `bench --results` and "
                        "`compress --results` write them, and `gcbench-mpi --results` of 2 or more "
                        "ranks");
}

const struct gcb_payoff_case *gcb_payoff_find_baseline(const struct gcb_payoff_cases *cases,
                                                       size_t group, const char *method)
{
    for (size_t i = 0; i < cases->count; i++)
        if (cases->items[i].group == group && strcmp(cases->items[i].method, method) == 0)
            return &cases->items[i];
    return NULL;
}
