#include "src/tool/payoff/payoff_cases.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/results.h"

/* A case while its rows come in. */
struct gathering {
    struct gcb_payoff_case c;
    struct gcb_payoff_sums summary;
    struct gcb_fit_sums encode, decode, wire;
    struct place {
        uint64_t step, worker;
    } * places; /* seen so far */
    size_t place_count, place_cap;
    size_t met; /* its place in the order of first rows */
};

struct gcb_payoff_reader {
    struct gathering *items;
    size_t count, cap;
    json_t *places, *numbers; /* by what names them: a case's place in items, a group's number */
    uint64_t left_out;
    json_t *environment; /* the file's last, or NULL */
};

void gcb_payoff_case_fini(struct gcb_payoff_case *c)
{
    char **const texts[] = {&c->path,   &c->method, &c->spec, &c->scope,
                            &c->device, &c->isa,    &c->cache};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        gcb_free(*texts[i]);
}

static void gathering_fini(struct gathering *g)
{
    gcb_payoff_case_fini(&g->c);
    gcb_free(g->places);
}

int gcb_payoff_reader_create(struct gcb_payoff_reader **out, struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = gcb_alloc_zero(1, sizeof(*r));

    *out = r;
    if (r) {
        r->places = json_object();
        r->numbers = json_object();
    }
    if (r && r->places && r->numbers)
        return 0;
    gcb_payoff_reader_destroy(r);
    *out = NULL;
    return gcb_diag_nomem(diag, sizeof(*r), "a reader of results");
}

void gcb_payoff_reader_destroy(struct gcb_payoff_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        gathering_fini(&r->items[i]);
    gcb_free(r->items);
    json_decref(r->environment);
    json_decref(r->places);
    json_decref(r->numbers);
    gcb_free(r);
}

void gcb_payoff_cases_fini(struct gcb_payoff_cases *c)
{
    for (size_t i = 0; i < c->count; i++)
        gcb_payoff_case_fini(&c->items[i]);
    gcb_free(c->items);
    memset(c, 0, sizeof(*c));
}

/* What names a case, borrowed or escaped into the buffers. */
struct key {
    char method[64], spec[512], scope[32], device[64], isa[32], cache[32];
    const char *path;
    uint64_t threads;
};

static void take(char *out, size_t size, const json_t *row, enum gcb_field field)
{
    const char *text = gcb_results_text(row, field);

    gcb_escape(out, size, text ? text : "");
}

static void key_of(struct key *k, const struct gcb_results_row *row)
{
    k->path = row->path;
    k->threads = gcb_results_u64(row->json, GCB_FIELD_THREADS);
    take(k->method, sizeof(k->method), row->json, GCB_FIELD_METHOD);
    take(k->spec, sizeof(k->spec), row->json, GCB_FIELD_SPEC);
    take(k->scope, sizeof(k->scope), row->json, GCB_FIELD_SCOPE);
    take(k->device, sizeof(k->device), row->json, GCB_FIELD_DEVICE);
    take(k->isa, sizeof(k->isa), row->json, GCB_FIELD_ISA);
    take(k->cache, sizeof(k->cache), row->json, GCB_FIELD_CACHE);
}

/* All of a group's key in one text, or of a case's. No escaped text holds the byte in between. */
#define KEY_TEXT 8192
static void name_group(char out[KEY_TEXT], const struct key *k)
{
    snprintf(out, KEY_TEXT, "%s\x1f%s\x1f%s\x1f%s\x1f%llu\x1f%s", k->scope, k->device, k->isa,
             k->cache, (unsigned long long)k->threads, k->path);
}

static void name_case(char out[KEY_TEXT], const struct key *k)
{
    const int n = snprintf(out, KEY_TEXT, "%s\x1f", k->spec);
    char group[KEY_TEXT];

    name_group(group, k);
    snprintf(out + n, KEY_TEXT - (size_t)n, "%s", group);
}

/* The number that an index has for a name, else `fresh`, which it has from then on. */
static size_t number_of(json_t *index, const char *name, size_t fresh)
{
    const json_t *known = json_object_get(index, name);

    if (known)
        return (size_t)json_integer_value(known);
    return json_object_set_new_nocheck(index, name, json_integer((json_int_t)fresh)) ? SIZE_MAX
                                                                                     : fresh;
}

/* Name, main parameters, and those that are not the default's; of a method nobody knows, its spec. */
static void describe(struct gcb_payoff_case *c)
{
    struct gcb_method m;

    gcb_method_label(c->label, sizeof(c->label), c->spec);
    if (!gcb_method_read(&m, c->spec, NULL))
        c->sums = gcb_method_caps(&m) & GCB_CAP_LINEAR;
}

/* Replaces what was kept; NULL: by nothing. */
static void take_environment(struct gcb_payoff_reader *r, const json_t *row)
{
    json_decref(r->environment);
    r->environment = row ? json_deep_copy(row) : NULL;
}

/* Bytes per second copied by so many threads, if that was measured, else by the run's own. */
static double copy_of(const json_t *environment, uint64_t threads)
{
    const json_t *list = gcb_results_json(environment, GCB_FIELD_BANDWIDTHS);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (gcb_results_u64(json_array_get(list, i), GCB_FIELD_THREADS) == threads)
            return 1e9 * gcb_results_real(json_array_get(list, i), GCB_FIELD_COPY_GBPS);
    return 1e9 * gcb_results_real(environment, GCB_FIELD_COPY_GBPS);
}

static int start_case(struct gcb_payoff_reader *r, const struct key *k, struct gcb_diag *diag)
{
    char group[KEY_TEXT];
    struct gathering *g;
    struct gcb_payoff_case *c;

    if (gcb_grow(&r->items, &r->cap, r->count, sizeof(*r->items)))
        return gcb_diag_nomem(diag, 0, "cases");
    g = &r->items[r->count];
    memset(g, 0, sizeof(*g));
    g->met = r->count;
    c = &g->c;
    name_group(group, k);
    c->group = number_of(r->numbers, group, json_object_size(r->numbers));
    c->path = gcb_strdup(k->path);
    c->method = gcb_strdup(k->method);
    c->spec = gcb_strdup(k->spec);
    c->scope = gcb_strdup(k->scope);
    c->device = gcb_strdup(k->device);
    c->isa = gcb_strdup(k->isa);
    c->cache = gcb_strdup(k->cache);
    c->threads = k->threads;
    c->baseline = strcmp(k->method, "identity") == 0 || strcmp(k->method, "fp16") == 0;
    c->copy = copy_of(r->environment, k->threads);
    c->load1 = gcb_results_real(r->environment, GCB_FIELD_LOAD1);
    c->cpus = gcb_results_real(r->environment, GCB_FIELD_CPUS);
    r->count++;
    if (!c->path || !c->method || !c->spec || !c->scope || !c->device || !c->isa || !c->cache ||
        c->group == SIZE_MAX)
        return gcb_diag_nomem(diag, 0, "cases");
    describe(c);
    return 0;
}

static int find_case(struct gcb_payoff_reader *r, struct gathering **out,
                     const struct gcb_results_row *row, struct gcb_diag *diag)
{
    char name[KEY_TEXT];
    struct key k;
    size_t at;
    int err = 0;

    key_of(&k, row);
    name_case(name, &k);
    at = number_of(r->places, name, r->count);
    if (at == SIZE_MAX)
        return gcb_diag_nomem(diag, 0, "cases");
    if (at == r->count)
        err = start_case(r, &k, diag);
    *out = err ? NULL : &r->items[at];
    return err;
}

static void add_stages(struct gcb_payoff_sums *s, const json_t *row)
{
    static const enum gcb_field fields[] = {GCB_FIELD_TRANSFORM_SECONDS, GCB_FIELD_SELECT_SECONDS,
                                            GCB_FIELD_QUANTISE_SECONDS, GCB_FIELD_INDEX_SECONDS};

    for (size_t i = 0; i < 4; i++)
        s->stage[i] += gcb_results_real(row, fields[i]);
}

static void add_row(struct gcb_payoff_sums *s, const json_t *row)
{
    const double messages = gcb_results_real(row, GCB_FIELD_MESSAGES);
    const double error = gcb_results_real(row, GCB_FIELD_REL_L2);

    s->rows += 1.0;
    s->messages += isnan(messages) ? 1.0 : messages;
    s->elements += gcb_results_real(row, GCB_FIELD_ELEMENTS);
    s->error += error * error * gcb_results_real(row, GCB_FIELD_ELEMENTS);
    s->wire += gcb_results_real(row, GCB_FIELD_WIRE_BYTES);
    s->encode += gcb_results_real(row, GCB_FIELD_ENCODE_SECONDS);
    s->decode += gcb_results_real(row, GCB_FIELD_DECODE_SECONDS);
    add_stages(s, row);
}

/* Counts a step and worker once. Rows come step by step, so the last place is nearly always the one. */
static int add_place(struct gathering *g, const json_t *row, struct gcb_diag *diag)
{
    const struct place p = {gcb_results_u64(row, GCB_FIELD_STEP),
                            gcb_results_u64(row, GCB_FIELD_WORKER)};

    for (size_t i = g->place_count; i-- > 0;)
        if (g->places[i].step == p.step && g->places[i].worker == p.worker)
            return 0;
    if (gcb_grow(&g->places, &g->place_cap, g->place_count, sizeof(*g->places)))
        return gcb_diag_nomem(diag, 0, "steps and workers");
    g->places[g->place_count++] = p;
    return 0;
}

static bool usable(const json_t *row)
{
    const char *status = gcb_results_text(row, GCB_FIELD_STATUS);

    return status && strcmp(status, "ok") == 0 &&
           gcb_results_real(row, GCB_FIELD_ENCODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_DECODE_SECONDS) >= 0.0 &&
           gcb_results_real(row, GCB_FIELD_ELEMENTS) > 0.0 &&
           gcb_results_real(row, GCB_FIELD_WIRE_BYTES) > 0.0;
}

/* Sparsifiers' rows have a density; behind a transform nearly no element is zero. */
static bool sparse(const json_t *row)
{
    const char *transform =
        json_string_value(json_object_get(gcb_results_json(row, GCB_FIELD_PARAMS), "transform"));

    return gcb_results_real(row, GCB_FIELD_DENSITY) < 1.0 &&
           (!transform || strcmp(transform, "none") == 0);
}

/* A deviation stands in every row, and has a value from two runs on. */
static bool once(const json_t *row)
{
    return json_is_null(gcb_results_json(row, GCB_FIELD_ENCODE_SECONDS_MAD));
}

static int take_result(struct gathering *g, const json_t *row, struct gcb_diag *diag)
{
    const double bytes = 4.0 * gcb_results_real(row, GCB_FIELD_ELEMENTS);

    add_row(&g->c.total, row);
    gcb_fit_add(&g->encode, bytes, gcb_results_real(row, GCB_FIELD_ENCODE_SECONDS));
    gcb_fit_add(&g->decode, bytes, gcb_results_real(row, GCB_FIELD_DECODE_SECONDS));
    gcb_fit_add(&g->wire, bytes, gcb_results_real(row, GCB_FIELD_WIRE_BYTES));
    return add_place(g, row, diag);
}

static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct gcb_payoff_reader *r = ctx;
    const bool result = strcmp(row->record, "result") == 0;
    const char *method = gcb_results_text(row->json, GCB_FIELD_METHOD);
    struct gathering *g;
    char path[256];
    int err;

    if (strcmp(row->record, "environment") == 0)
        take_environment(r, row->json);
    if (!result && strcmp(row->record, "summary") != 0)
        return 0;
    if (!method || !gcb_results_text(row->json, GCB_FIELD_SPEC))
        return gcb_diag_set(diag, GCB_E_CORRUPT, "%s: line %llu: a %s without method and spec",
                            gcb_escape(path, sizeof(path), row->path),
                            (unsigned long long)row->line, row->record);
    if (strcmp(method, "memcpy") == 0)
        return 0; /* no method: what a machine can do at all */
    if (!usable(row->json)) {
        r->left_out++;
        return 0;
    }
    err = find_case(r, &g, row, diag);
    if (err)
        return err;
    g->c.sparse = sparse(row->json);
    g->c.searched = gcb_results_text(row->json, GCB_FIELD_MATCH_FIELD) != NULL;
    g->c.missed = g->c.searched && !gcb_results_bool(row->json, GCB_FIELD_MATCH_REACHED);
    g->c.once |= once(row->json);
    if (result)
        return take_result(g, row->json, diag);
    add_row(&g->summary, row->json);
    return 0;
}

int gcb_payoff_reader_file(struct gcb_payoff_reader *r, const char *path, struct gcb_diag *diag)
{
    take_environment(r, NULL);
    return gcb_results_read(path, visit, r, diag);
}

int gcb_payoff_reader_row(struct gcb_payoff_reader *r, const char *path, const json_t *row,
                          struct gcb_diag *diag)
{
    const char *record = gcb_results_text(row, GCB_FIELD_RECORD);

    return visit(r, &(struct gcb_results_row){row, record ? record : "", path, 1}, diag);
}

/* Hands over a case with its texts. */
static void finish_case(struct gcb_payoff_case *out, struct gathering *g)
{
    const struct gcb_payoff_sums *errors = g->summary.rows > 0.0 ? &g->summary : &g->c.total;

    g->c.rel_l2 = sqrt(errors->error / errors->elements);
    *out = g->c;
    memset(&g->c, 0, sizeof(g->c));
    out->exchanges = (double)g->place_count;
    if (out->total.rows == 0.0) {
        out->summary_only = true;
        out->total = g->summary;
        out->exchanges = 1.0;
        gcb_fit_add(&g->encode, 4.0 * out->total.elements, out->total.encode);
        gcb_fit_add(&g->decode, 4.0 * out->total.elements, out->total.decode);
        gcb_fit_add(&g->wire, 4.0 * out->total.elements, out->total.wire);
    }
    gcb_fit_line(&out->encode, &g->encode);
    gcb_fit_line(&out->decode, &g->decode);
    gcb_fit_line(&out->wire, &g->wire);
}

/* Baselines behind the others of their group, all in the order they were met. */
static int by_group(const void *a, const void *b)
{
    const struct gathering *x = a, *y = b;

    if (x->c.group != y->c.group)
        return x->c.group < y->c.group ? -1 : 1;
    if (x->c.baseline != y->c.baseline)
        return x->c.baseline ? 1 : -1;
    return (x->met > y->met) - (x->met < y->met);
}

int gcb_payoff_reader_finish(struct gcb_payoff_reader *r, struct gcb_payoff_cases *out,
                             struct gcb_diag *diag)
{
    memset(out, 0, sizeof(*out));
    if (r->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "no method with times in the results; bench and compress --results "
                            "write them");
    out->items = gcb_alloc_zero(r->count, sizeof(*out->items));
    if (!out->items)
        return gcb_diag_nomem(diag, 0, "cases");
    qsort(r->items, r->count, sizeof(*r->items), by_group);
    for (size_t i = 0; i < r->count; i++)
        finish_case(&out->items[out->count++], &r->items[i]);
    out->left_out = r->left_out;
    for (size_t i = 0; i < r->count; i++)
        gathering_fini(&r->items[i]);
    r->count = 0;
    json_object_clear(r->places);
    json_object_clear(r->numbers);
    r->left_out = 0;
    return 0;
}
