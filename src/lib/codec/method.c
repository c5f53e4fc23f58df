#include "src/lib/codec/method.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/foreign.h"

static const char *const kind_names[] = {"none", "ef",   "dgc",  "delay", "demo",
                                         "gmc",  "loco", "ef21", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const nesterov_names[] = {"no", "yes", "redsync", NULL};
static const char *const residual_names[] = {"subtract", "clear", NULL};

const struct gcb_param gcb_memory_table[] = {
    {GCB_PARAM("memory", CHOICE, struct gcb_memory_params, kind),
     .help = "how a worker keeps what it did not send", .choices = kind_names},
    {GCB_PARAM("decay", REAL, struct gcb_memory_params, decay),
     .help = "share of the residual that is added to the next gradient", .def = 1, .min = 0,
     .max = 1, .needs = "memory=ef"},
    {GCB_PARAM("momentum", REAL, struct gcb_memory_params, momentum),
     .help = "momentum inside the memory (dgc, delay, demo, gmc)", .def = 0, .min = 0, .max = 1,
     .flags = GCB_PARAM_OPEN_MAX, .needs = "memory=dgc|delay|demo|gmc"},
    {GCB_PARAM("nesterov", CHOICE, struct gcb_memory_params, nesterov),
     .help = "use Nesterov's momentum; redsync: as RedSync's paper has it",
     .choices = nesterov_names, .needs = "memory=dgc"},
    {GCB_PARAM("masking", CHOICE, struct gcb_memory_params, masking),
     .help = "set the momentum of sent elements to 0", .def = 1, .choices = no_yes,
     .needs = "memory=dgc|delay"},
    {GCB_PARAM("residual", CHOICE, struct gcb_memory_params, clears),
     .help = "what sent elements leave: the difference to what the receiver decoded, or 0",
     .choices = residual_names, .needs = "memory=dgc"},
    {GCB_PARAM("clip-norm", REAL, struct gcb_memory_params, clip),
     .help = "clip gradients to this norm divided by the square root of the number of workers; 0: "
             "never",
     .def = 0, .min = 0, .max = 1e30, .needs = "memory=dgc"},
    {GCB_PARAM("delay", INT, struct gcb_memory_params, delay),
     .help = "number of steps that one message sums up", .def = 1, .min = 1, .max = 100000,
     .needs = "memory=delay"},
    {GCB_PARAM("average", REAL, struct gcb_memory_params, average),
     .help = "share of the error of earlier steps in the average that is kept", .def = 0.8,
     .min = 0, .max = 1, .needs = "memory=loco"},
    {GCB_PARAM("clear-every", INT, struct gcb_memory_params, clear_every),
     .help = "number of steps after which the error is forgotten; 0: never", .def = 1024, .min = 0,
     .max = 1e9, .needs = "memory=loco"},
    {.name = NULL},
};

const struct gcb_collective_facts gcb_collectives[] = {
#define COLLECTIVE(id, name, help, ...) {__VA_ARGS__},
#include "src/lib/codec/collectives.def"
};

const char *const gcb_collective_names[] = {
#define COLLECTIVE(id, name, ...) #name,
#include "src/lib/codec/collectives.def"
    NULL};

static const char *const second_error_names[] = {"feedback", "drop", NULL};

const struct gcb_param gcb_exchange_table[] = {
    {GCB_PARAM("collective", CHOICE, struct gcb_exchange_params, collective),
     .help = "how the workers exchange their messages", .choices = gcb_collective_names},
    {GCB_PARAM("second-error", CHOICE, struct gcb_exchange_params, second_error),
     .help = "what the second encoding loses: kept by the memory of the worker that encodes, or "
             "dropped",
     .choices = second_error_names,
     .needs = "collective=twoshot|hierarchical&memory=ef|dgc|delay|demo|loco|ef21"},
    {GCB_PARAM("inner", INT, struct gcb_exchange_params, inner),
     .help = "workers of a node, which add up their tensors before the nodes do", .def = 8,
     .min = 1, .max = 65535, .needs = "collective=hierarchical"},
    {.name = NULL},
};

static bool method_of(struct gcb_method *out, const struct gcb_codec *codec,
                      const struct gcb_preset *preset);

/* The first row of the memory's parameters; it is `memory`. */
static size_t memory_row(const struct gcb_method *m)
{
    return gcb_param_count(m->codec->params);
}

/* The first row of the exchange's parameters; it is `collective`. */
static size_t exchange_row(const struct gcb_method *m)
{
    return memory_row(m) + gcb_param_count(gcb_memory_table);
}

const struct gcb_param *gcb_method_param(const struct gcb_method *m, size_t row)
{
    const struct gcb_param *const tables[] = {m->codec->params, gcb_memory_table,
                                              gcb_exchange_table};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        const size_t count = gcb_param_count(tables[i]);

        if (row < count)
            return &tables[i][row];
        row -= count;
    }
    return NULL;
}

/* Returns the parameter with this name or complement and sets *row, or returns NULL. */
static const struct gcb_param *find_row(const struct gcb_method *m, const char *key, size_t *row)
{
    const struct gcb_param *const tables[] = {m->codec->params, gcb_memory_table,
                                              gcb_exchange_table};
    size_t first = 0;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        const struct gcb_param *p = gcb_param_find(tables[i], key);

        if (p) {
            *row = first + (size_t)(p - tables[i]);
            return p;
        }
        first += gcb_param_count(tables[i]);
    }
    return NULL;
}

/* Finds the method with this name, or method number i if the name is NULL. Returns false if there
 * is no such method. */
static bool find_method(struct gcb_method *out, const char *name, size_t i)
{
    const struct gcb_codec *codec;

    for (size_t c = 0; (codec = gcb_codec_at(c)); c++) {
        if (name ? strcmp(codec->name, name) == 0 : i-- == 0)
            return method_of(out, codec, NULL);
        for (const struct gcb_preset *p = codec->presets; p && p->name; p++)
            if (name ? strcmp(p->name, name) == 0 : i-- == 0)
                return method_of(out, codec, p);
    }
    return false;
}

bool gcb_method_at(struct gcb_method *out, size_t i)
{
    return find_method(out, NULL, i);
}

#define MOST_PAIR 128 /* most bytes of a key=value pair, with its final zero */

/* Sets key=value pairs separated by commas. Returns 0 or GCB_E_INVALID. */
static int set_pairs(struct gcb_method *m, const char *pairs, struct gcb_diag *diag)
{
    char pair[MOST_PAIR], shown[64];

    for (bool more = *pairs; more;) {
        const size_t n = strcspn(pairs, ",");
        char *equals;
        int err;

        snprintf(pair, sizeof(pair), "%.*s", (int)(n < sizeof(pair) ? n : sizeof(pair)), pairs);
        equals = strchr(pair, '=');
        if (n >= sizeof(pair) || !equals || equals == pair)
            return gcb_invalid(diag, "'%s' is not key=value (in a spec '%s:...')",
                               gcb_escape(shown, sizeof(shown), pair), m->name);
        *equals = '\0';
        err = gcb_method_set(m, pair, equals + 1, diag);
        if (err)
            return err;
        more = pairs[n] == ',';
        pairs += n + more;
    }
    return 0;
}

/* Sets *out to a codec or one of its presets, with default values. Returns false if the preset's
 * values are invalid. */
static bool method_of(struct gcb_method *out, const struct gcb_codec *codec,
                      const struct gcb_preset *preset)
{
    const struct gcb_param *p;
    bool valid;

    memset(out, 0, sizeof(*out));
    out->name = preset ? preset->name : codec->name;
    out->codec = codec;
    out->preset = preset;
    for (size_t i = 0; (p = gcb_method_param(out, i)); i++)
        out->value[i] = p->def;
    out->value[exchange_row(out)] =
        preset && preset->collective ? preset->collective : codec->collective;
    if (!preset)
        return true;
    valid = set_pairs(out, preset->defaults, NULL) == 0 &&
            (!preset->memory || set_pairs(out, preset->memory, NULL) == 0);
    memset(out->given, 0, sizeof(out->given)); /* the user has set none of these values */
    return valid;
}

#define MOST_METHODS 64 /* names that are searched for a similar one */

/* Names that other tools give to methods, in lower case, and what we call the methods. */
static const char *const other_names[][2] = {
    {"fp8_e4m3", "fp8"},
    {"fp8_e4m3fn", "fp8"},
    {"float8", "fp8"},
    {"fp8_e5m2", "fp8:element=e5m2"},
    {"e4m3", "fp8"},
    {"e5m2", "fp8:element=e5m2"},
    {"fp4", "nvfp4"},
    {"float32", "identity"},
    {"fp32", "identity"},
    {"none", "identity"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"bfloat16", "bf16"},
    {"1bit", "onebit"},
    {"1bit_adam", "onebit"},
    {"onebit_adam", "onebit"},
    {"dynamic8", "blockwise8"},
    {"uniform_8bit", "uniform8"},
    {"sign", "signsgd"},
    {"power_sgd", "powersgd"},
    {"top_k", "topk"},
    {"random_k", "randomk"},
    {"quantize_perchannel", "int8"},
    {"deep_gradient_compression", "dgc"},
};

static int unknown_method(const char *name, struct gcb_diag *diag)
{
    const char *names[MOST_METHODS];
    struct gcb_method m;
    char shown[80], hint[GCB_HINT], lower[64] = "";
    size_t n = 0;

    for (size_t i = 0; name[i] && i + 1 < sizeof(lower); i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];

    while (n < MOST_METHODS && gcb_method_at(&m, n))
        names[n++] = m.name;
    gcb_escape(shown, sizeof(shown), name);
    if (strchr(name, ','))
        return gcb_invalid(diag, "unknown method '%s'; repeat --method for each method", shown);
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        if (strcmp(other_names[i][0], lower) == 0)
            return gcb_invalid(diag, "unknown method '%s'; did you mean '%s'?", shown,
                               other_names[i][1]);
    return gcb_invalid(diag, "unknown method '%s'%s", shown,
                       gcb_hint(hint, lower, "", names, n, "; `gcbench methods` lists them"));
}

static int unknown_key(const struct gcb_method *m, const char *key, struct gcb_diag *diag)
{
    const char *names[GCB_MAX_METHOD_PARAMS];
    const struct gcb_param *p;
    char shown[80], hint[GCB_HINT], lists[96];
    size_t n;

    for (n = 0; (p = gcb_method_param(m, n)); n++)
        names[n] = p->name;
    snprintf(lists, sizeof(lists), "; `gcbench methods %s` lists its parameters", m->name);
    return gcb_invalid(diag, "method '%s' has no '%s'%s", m->name,
                       gcb_escape(shown, sizeof(shown), key),
                       gcb_hint(hint, key, "", names, n, lists));
}

int gcb_method_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag)
{
    const size_t n = spec ? strcspn(spec, ":") : 0;
    const struct gcb_codec *foreign;
    const char *rest;
    char name[64];

    if (!spec)
        return gcb_invalid(diag, "no method is given");
    foreign = gcb_foreign_find(spec, &rest);
    if (foreign) {
        method_of(out, foreign, NULL);
        return set_pairs(out, rest, diag);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name)), spec);
    if (!find_method(out, name, 0))
        return unknown_method(name, diag);
    if (spec[n] == ':' && spec[n + 1] == '\0')
        return gcb_invalid(diag, "'%s:' has no key=value after the colon", out->name);
    return spec[n] ? set_pairs(out, spec + n + 1, diag) : 0;
}

int gcb_method_parse(struct gcb_method *out, const char *spec, struct gcb_diag *diag)
{
    const int err = gcb_method_read(out, spec, diag);

    return err ? err : gcb_method_check(out, diag);
}

const struct gcb_param *gcb_method_find(const struct gcb_method *m, const char *key)
{
    size_t row;

    return find_row(m, key, &row);
}

int gcb_method_set(struct gcb_method *m, const char *key, const char *value, struct gcb_diag *diag)
{
    size_t row;
    const struct gcb_param *p = find_row(m, key, &row);

    if (!p)
        return unknown_key(m, key, diag);
    if (m->given[row])
        return gcb_invalid(diag, "method '%s': '%s' is given twice", m->name, p->name);
    m->given[row] = true;
    return gcb_param_parse(&m->value[row], p, key, value, diag);
}

int gcb_method_set_all(struct gcb_method *m, const char *const *pairs, size_t count, bool *used,
                       struct gcb_diag *diag)
{
    const struct gcb_method before = *m;
    size_t row;
    int err = 0;

    for (size_t i = 0; !err && i < count; i++)
        if (gcb_method_find(m, pairs[2 * i]))
            err = gcb_method_set(m, pairs[2 * i], pairs[2 * i + 1], diag);
    /* A pair may give an earlier pair a meaning, so all pairs are set before any is taken back. */
    for (size_t i = 0; !err && i < count; i++) {
        if (!find_row(m, pairs[2 * i], &row))
            continue;
        if (gcb_method_applies(m, row)) {
            used[i] = true;
        } else {
            m->value[row] = before.value[row];
            m->given[row] = before.given[row];
        }
    }
    return err;
}

/* True if two methods of one codec have different values of the parameter in this row. */
static bool differs(const struct gcb_method *a, const struct gcb_method *b, size_t row)
{
    return a->value[row] < b->value[row] || a->value[row] > b->value[row];
}

bool gcb_method_equal(const struct gcb_method *a, const struct gcb_method *b)
{
    bool equal = strcmp(a->name, b->name) == 0 && a->codec == b->codec;

    for (size_t row = 0; equal && gcb_method_param(a, row); row++) {
        const bool shown = gcb_method_shows(a, row);

        equal = shown == gcb_method_shows(b, row) && !(shown && differs(a, b, row));
    }
    return equal;
}

int gcb_method_change(struct gcb_method *m, const char *key, const char *value,
                      struct gcb_diag *diag)
{
    struct gcb_method changed = *m;
    size_t row;
    int err;

    if (find_row(m, key, &row))
        changed.given[row] = false;
    err = gcb_method_set(&changed, key, value, diag);
    if (!err)
        err = gcb_method_check(&changed, diag);
    if (!err)
        *m = changed;
    return err;
}

/* True if one condition, "key=a|b|c" or "key!=a|b|c" of `length` bytes, holds. */
static bool holds(const struct gcb_method *m, const char *condition, size_t length)
{
    char text[128], current[GCB_PARAM_TEXT], *values = text, *value, *key, *negation;
    const struct gcb_param *p;
    size_t row;

    snprintf(text, sizeof(text), "%.*s", (int)length, condition);
    key = strsep(&values, "=");
    negation = strchr(key, '!');
    if (negation)
        *negation = '\0';
    p = find_row(m, key, &row);
    if (!p)
        return false;
    gcb_param_text(current, p, m->value[row]);
    while ((value = strsep(&values, "|")))
        if (strcmp(value, current) == 0)
            return !negation;
    return negation;
}

bool gcb_method_applies(const struct gcb_method *m, size_t row)
{
    const char *at = gcb_method_param(m, row)->needs;
    bool all = true; /* the conditions of the present group hold so far */

    if (!at)
        return true;
    for (;; at++) {
        const size_t n = strcspn(at, "&;");

        all &= holds(m, at, n);
        at += n;
        if (*at != '&' && all)
            return true;
        if (*at == '\0')
            return false;
        all |= *at == ';';
    }
}

bool gcb_method_shows(const struct gcb_method *m, size_t row)
{
    const struct gcb_param *p = gcb_method_param(m, row);

    if (row == memory_row(m) && m->value[row] == GCB_MEMORY_NONE)
        return m->given[row]; /* memory=none may remove a preset's memory */
    if (row == exchange_row(m))
        return m->given[row];
    if (p->type == GCB_PARAM_INT && p->min >= p->max) /* it has only one value */
        return false;
    return gcb_method_applies(m, row);
}

bool gcb_method_value(const struct gcb_method *m, const char *key, double *value)
{
    size_t row;
    const struct gcb_param *p = find_row(m, key, &row);

    if (!p || strcmp(p->name, key) != 0 || !gcb_method_applies(m, row))
        return false;
    if (value)
        *value = m->value[row];
    return true;
}

int gcb_method_assign(struct gcb_method *m, const char *key, double value, struct gcb_diag *diag)
{
    char text[GCB_PARAM_TEXT];
    size_t row;
    const struct gcb_param *p = find_row(m, key, &row);

    if (!p || strcmp(p->name, key) != 0)
        return unknown_key(m, key, diag);
    return gcb_param_parse(&m->value[row], p, key, gcb_real_text(text, value), diag);
}

void gcb_method_memory(struct gcb_memory_params *out, const struct gcb_method *m)
{
    const size_t first = memory_row(m);
    double value[GCB_MAX_METHOD_PARAMS];

    for (size_t row = first; row < exchange_row(m); row++)
        value[row - first] = gcb_method_applies(m, row) ? m->value[row] : 0.0;
    gcb_param_store(gcb_memory_table, value, out);
}

void gcb_method_memory_for(struct gcb_memory_params *out, const struct gcb_method *m,
                           uint64_t count)
{
    gcb_method_memory(out, m);
    if (!m->codec->selects || !m->codec->selects(m->value, count))
        out->masking = out->clears = 0;
}

bool gcb_method_forget(struct gcb_method *m)
{
    bool given = false;

    for (size_t i = memory_row(m); i < exchange_row(m); i++) {
        given |= m->given[i];
        m->given[i] = false;
    }
    m->value[memory_row(m)] = GCB_MEMORY_NONE;
    return given;
}

void gcb_method_take_memory(struct gcb_method *m, const struct gcb_method *from)
{
    const size_t count = exchange_row(m) - memory_row(m);

    memcpy(m->value + memory_row(m), from->value + memory_row(from), count * sizeof(*m->value));
    memcpy(m->given + memory_row(m), from->given + memory_row(from), count * sizeof(*m->given));
}

void gcb_method_exchange(struct gcb_exchange_params *out, const struct gcb_method *m)
{
    gcb_param_store(gcb_exchange_table, m->value + exchange_row(m), out);
}

unsigned gcb_method_node(const struct gcb_method *m, unsigned workers)
{
    double inner;

    return gcb_method_value(m, "inner", &inner) && inner < workers ? (unsigned)inner : workers;
}

enum gcb_collective gcb_method_collective(const struct gcb_method *m)
{
    const enum gcb_collective own = (enum gcb_collective)m->value[exchange_row(m)];
    const bool can = gcb_method_collectives(m) & GCB_COLLECTIVE_BIT(own);

    return can || gcb_method_gives_collective(m) ? own : GCB_COLLECTIVE_ALLGATHER;
}

bool gcb_method_gives_collective(const struct gcb_method *m)
{
    return m->given[exchange_row(m)];
}

unsigned gcb_method_collectives(const struct gcb_method *m)
{
    const struct gcb_codec *codec = m->codec;
    const unsigned reduce = codec->reduce ? GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_ALLREDUCE) : 0;
    unsigned can =
        codec->collectives_of ? codec->collectives_of(m->value) : codec->collectives | reduce;

    for (unsigned c = 0; c < GCB_COLLECTIVES; c++)
        can |= gcb_collectives[c].every ? GCB_COLLECTIVE_BIT(c) : 0;
    return can;
}

static int check_collective(const struct gcb_method *m, struct gcb_diag *diag)
{
    const unsigned can = gcb_method_collectives(m), own = gcb_method_collective(m);
    char names[80] = "";

    if (can & GCB_COLLECTIVE_BIT(own))
        return 0;
    for (int i = 0; i < GCB_COLLECTIVES; i++)
        if (can & GCB_COLLECTIVE_BIT(i))
            gcb_append(names, sizeof(names), "%s%s", *names ? ", " : "", gcb_collective_names[i]);
    return gcb_invalid(diag,
                       "method '%s' cannot use collective=%s with these parameters; choose %s",
                       m->name, gcb_collective_names[own], names);
}

int gcb_method_check(const struct gcb_method *m, struct gcb_diag *diag)
{
    const struct gcb_param *p;
    int err;

    for (size_t i = 0; (p = gcb_method_param(m, i)); i++)
        if (m->given[i] && !gcb_method_applies(m, i))
            return gcb_invalid(diag, "method '%s': '%s' has a meaning only with %s", m->name,
                               p->name, p->needs);
    err = check_collective(m, diag);
    return err || !m->codec->check ? err : m->codec->check(m->value, diag);
}

char *gcb_method_spec(char *out, size_t size, const struct gcb_method *m, enum gcb_spec_style style)
{
    const struct gcb_param *p;
    char separator = ':', text[GCB_PARAM_TEXT];
    const bool own = m->codec->text && m->codec->text[0];
    size_t used = (size_t)snprintf(out, size, own ? "%s:%s" : "%s", m->name, m->codec->text);

    if (own)
        separator = ',';

    for (size_t i = 0; (p = gcb_method_param(m, i)) && used < size; i++) {
        const bool main = style == GCB_SPEC_LABEL && p->flags & GCB_PARAM_LABEL;
        const bool wanted = style == GCB_SPEC_FULL || main || m->given[i];

        if (!wanted || !gcb_method_shows(m, i))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%c%s=%s", separator, p->name,
                                 gcb_param_text(text, p, m->value[i]));
        separator = ',';
    }
    return out;
}

char *gcb_method_complete(char *out, size_t size, const char *spec)
{
    struct gcb_method m;

    snprintf(out, size, "%s", spec);
    return gcb_method_parse(&m, spec, NULL) ? out : gcb_method_spec(out, size, &m, GCB_SPEC_FULL);
}

char *gcb_method_label(char *out, size_t size, const char *spec)
{
    struct gcb_method m, plain;

    snprintf(out, size, "%s", spec);
    if (gcb_method_parse(&m, spec, NULL) || !method_of(&plain, m.codec, m.preset))
        return out;
    for (size_t row = 0; gcb_method_param(&m, row); row++)
        m.given[row] &= differs(&m, &plain, row);
    return gcb_method_spec(out, size, &m, GCB_SPEC_LABEL);
}

const char *gcb_method_source(const struct gcb_method *m)
{
    return m->preset ? m->preset->source : m->codec->source;
}

const char *gcb_method_guarantee(const struct gcb_method *m)
{
    return m->preset ? m->preset->guarantee : m->codec->guarantee;
}

const char *gcb_method_summary(const struct gcb_method *m)
{
    return m->preset ? m->preset->summary : m->codec->summary;
}

unsigned gcb_method_caps(const struct gcb_method *m)
{
    return m->codec->caps_of ? m->codec->caps_of(m->value) : m->codec->caps;
}
