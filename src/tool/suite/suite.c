#include "src/tool/suite/suite.h"

#include <errno.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

const char *const gcb_cache_names[] = {"warm", "cold", NULL};

void gcb_suite_init(struct gcb_suite *s)
{
    memset(s, 0, sizeof(*s));
    s->scopes[s->scope_count++] = GCB_SCOPE_TENSOR;
    s->devices[s->device_count++] = "cpu";
    s->threads[s->thread_count++] = 1;
    s->caches[s->cache_count++] = GCB_CACHE_WARM;
    s->warmup = -1;
}

void gcb_suite_fini(struct gcb_suite *s)
{
    gcb_free(s->methods);
    json_decref(s->json);
    memset(s, 0, sizeof(*s));
}

/* ---- the fields of a suite ---- */

static const char *const scope_names[] = {"tensor", "bucket", "model", NULL};

/* A field and where it stands, for words. */
struct field {
    struct gcb_suite *s;
    const char *file; /* escaped */
    const char *name;
    const json_t *value;
    struct gcb_diag *diag;
};

static int bad(const struct field *f, const char *what)
{
    return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s %s", f->file, f->name, what);
}

/* Which of the names (ends with NULL) is it? */
static int choose(size_t *out, const struct field *f, const json_t *item, const char *const *names)
{
    const char *text = json_string_value(item);
    char list[96] = "", shown[64];
    size_t used = 0;

    for (size_t i = 0; names[i]; i++) {
        if (text && strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (!text)
        return bad(f, "takes texts");
    return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s: '%s' is none of %s", f->file,
                        f->name, gcb_escape(shown, sizeof(shown), text), list);
}

static int take_choices(const struct field *f, const char *const *names, size_t most, size_t *out,
                        size_t *count)
{
    const size_t n = json_array_size(f->value);

    if (n == 0 || n > most)
        return bad(f, "is a list of different names");
    for (size_t i = 0; i < n; i++) {
        const int err = choose(&out[i], f, json_array_get(f->value, i), names);

        if (err)
            return err;
        for (size_t k = 0; k < i; k++)
            if (out[k] == out[i])
                return bad(f, "is a list of different names");
    }
    *count = n;
    return 0;
}

static int take_scopes(const struct field *f)
{
    size_t at[3] = {0};
    const int err = take_choices(f, scope_names, 3, at, &f->s->scope_count);

    for (size_t i = 0; !err && i < f->s->scope_count; i++)
        f->s->scopes[i] = (enum gcb_scope)at[i];
    return err;
}

static int take_caches(const struct field *f)
{
    size_t at[GCB_CACHES] = {0};
    const int err = take_choices(f, gcb_cache_names, GCB_CACHES, at, &f->s->cache_count);

    for (size_t i = 0; !err && i < f->s->cache_count; i++)
        f->s->caches[i] = (enum gcb_cache)at[i];
    return err;
}

/* A text that is safe in rows and on a terminal, and short. */
static bool plain(const json_t *value)
{
    const char *text = json_string_value(value);
    char shown[64];

    return text && text[0] && strlen(text) < 40 &&
           strcmp(text, gcb_escape(shown, sizeof(shown), text)) == 0;
}

static int take_name(const struct field *f)
{
    if (!plain(f->value))
        return bad(f, "is a short text");
    f->s->name = json_string_value(f->value);
    return 0;
}

static int take_about(const struct field *f)
{
    return json_is_string(f->value) ? 0 : bad(f, "is a text");
}

static int take_schema(const struct field *f)
{
    return json_integer_value(f->value) == 1 ? 0 : bad(f, "is not 1, the only one known here");
}

static int take_methods(const struct field *f)
{
    const char *text = json_string_value(f->value);
    const size_t n = json_array_size(f->value);

    if (text && strcmp(text, "all") == 0)
        return 0;
    if (n == 0)
        return bad(f, "is \"all\" or a list of methods");
    f->s->methods = gcb_alloc_array(n, sizeof(*f->s->methods));
    if (!f->s->methods)
        return gcb_diag_nomem(f->diag, 0, "the methods of a suite");
    for (size_t i = 0; i < n; i++) {
        f->s->methods[i] = json_string_value(json_array_get(f->value, i));
        if (!f->s->methods[i])
            return bad(f, "is \"all\" or a list of methods");
    }
    f->s->method_count = n;
    return 0;
}

static int take_devices(const struct field *f)
{
    const size_t n = json_array_size(f->value);

    if (n == 0 || n > GCB_SUITE_DEVICES)
        return bad(f, "is a list of devices");
    for (size_t i = 0; i < n; i++) {
        if (!plain(json_array_get(f->value, i)))
            return bad(f, "is a list of devices");
        f->s->devices[i] = json_string_value(json_array_get(f->value, i));
    }
    f->s->device_count = n;
    return 0;
}

static int take_threads(const struct field *f)
{
    const size_t n = json_array_size(f->value);

    if (n == 0 || n > GCB_SUITE_THREADS)
        return bad(f, "is a list of numbers of threads");
    for (size_t i = 0; i < n; i++) {
        const json_int_t threads = json_integer_value(json_array_get(f->value, i));

        if (threads < 1 || threads > 4096)
            return bad(f, "is a list of numbers from 1 to 4096");
        f->s->threads[i] = (int)threads;
    }
    f->s->thread_count = n;
    return 0;
}

static int take_number(double *out, const struct field *f, double least, double most)
{
    if (!json_is_number(f->value) || json_number_value(f->value) < least ||
        json_number_value(f->value) > most)
        return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s is a number from %g to %g",
                            f->file, f->name, least, most);
    *out = json_number_value(f->value);
    return 0;
}

static int take_count(unsigned *out, const struct field *f, unsigned least)
{
    double number = 0.0;
    const int err = take_number(&number, f, (double)least, 1e6);

    if (!err && !json_is_integer(f->value))
        return bad(f, "is a whole number");
    *out = (unsigned)number;
    return err;
}

static int take_warmup(const struct field *f)
{
    unsigned number = 0;
    const int err = take_count(&number, f, 0);

    f->s->warmup = (int)number;
    return err;
}

static int take_repeat(const struct field *f)
{
    return take_count(&f->s->repeat, f, 1);
}

static int take_max_samples(const struct field *f)
{
    return take_count(&f->s->max_samples, f, 1);
}

static int take_min_time(const struct field *f)
{
    return take_number(&f->s->min_time, f, 0.0, 86400.0);
}

static int take_max_time(const struct field *f)
{
    return take_number(&f->s->max_time, f, 0.0, 86400.0);
}

static int take_precision(const struct field *f)
{
    return take_number(&f->s->precision, f, 1e-6, 1.0);
}

static int take_time_budget(const struct field *f)
{
    return take_number(&f->s->time_budget, f, 0.001, 604800.0);
}

/* One tensor for each size; of a layout, its own. */
static int add_input(const struct field *f, const struct gcb_source_synthetic *input)
{
    if (f->s->input_count == GCB_SUITE_INPUTS)
        return bad(f, "has too many entries");
    f->s->inputs[f->s->input_count++] = *input;
    return 0;
}

static int add_sizes(const struct field *f, struct gcb_source_synthetic *input,
                     const json_t *elements)
{
    const size_t n = json_array_size(elements);
    int err = n ? 0 : bad(f, "has an entry whose elements are no list");

    for (size_t i = 0; !err && i < n; i++) {
        const json_t *item = json_array_get(elements, i);
        const char *text = json_string_value(item);
        const json_int_t number = json_integer_value(item);

        input->elements = number > 0 ? (uint64_t)number : 0;
        if (text && !gcb_parse_size(text, &input->elements))
            input->elements = 0;
        err = input->elements ? add_input(f, input) : bad(f, "has a size that is none (\"16M\")");
    }
    return err;
}

static int take_input(const struct field *f, const json_t *entry)
{
    const json_t *dist = json_object_get(entry, "dist"), *layout = json_object_get(entry, "layout");
    const json_t *elements = json_object_get(entry, "elements");
    struct gcb_source_synthetic input = {.layout = json_string_value(layout)};
    int err;

    if (!plain(dist) || !!layout == !!elements || json_object_size(entry) != 2 ||
        (layout && !plain(layout)))
        return bad(f, "has an entry without dist and either elements or layout");
    input.name = json_string_value(dist);
    err = gcb_synthetic_parse(&input.dist, input.name, f->diag);
    if (err)
        return err;
    return layout ? add_input(f, &input) : add_sizes(f, &input, elements);
}

static int take_inputs(const struct field *f)
{
    const size_t n = json_array_size(f->value);
    int err = n ? 0 : bad(f, "is a list of objects");

    for (size_t i = 0; !err && i < n; i++)
        err = take_input(f, json_array_get(f->value, i));
    return err;
}

static const struct {
    const char *name;
    int (*take)(const struct field *f);
} fields[] = {
    {"schema", take_schema},
    {"name", take_name},
    {"about", take_about},
    {"methods", take_methods},
    {"scopes", take_scopes},
    {"devices", take_devices},
    {"threads", take_threads},
    {"caches", take_caches},
    {"warmup", take_warmup},
    {"repeat", take_repeat},
    {"min_time", take_min_time},
    {"max_time", take_max_time},
    {"precision", take_precision},
    {"time_budget", take_time_budget},
    {"max_samples", take_max_samples},
    {"inputs", take_inputs},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static int unknown(const char *file, const char *key, struct gcb_diag *diag)
{
    const char *names[FIELDS], *near;
    char shown[64];

    for (size_t i = 0; i < FIELDS; i++)
        names[i] = fields[i].name;
    near = gcb_suggest(key, names, FIELDS);
    gcb_escape(shown, sizeof(shown), key);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        near ? "suite %s: unknown field '%s'; did you mean '%s'?"
                             : "suite %s: unknown field '%s'",
                        file, shown, near);
}

/* Takes one field of the suite's object into `s`. */
static int take_field(struct gcb_suite *s, const char *file, const char *key, const json_t *value,
                      struct gcb_diag *diag)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(key, fields[i].name) == 0)
            return fields[i].take(&(struct field){s, file, key, value, diag});
    return unknown(file, key, diag);
}

/* ---- a suite ---- */

static int check(const struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    if (!json_object_get(s->json, "schema") || !s->name)
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: schema and name are needed", file);
    if (s->repeat && (s->precision > 0.0 || s->time_budget > 0.0))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "suite %s: repeat fixes the work; precision and time_budget have no "
                            "meaning beside it",
                            file);
    return 0;
}

/* Takes s->json apart. */
static int take_all(struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    const char *key;
    json_t *value;
    int err = 0;

    if (!json_is_object(s->json))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: is no JSON object", file);
    for (void *i = json_object_iter(s->json); !err && i; i = json_object_iter_next(s->json, i)) {
        key = json_object_iter_key(i);
        value = json_object_iter_value(i);
        err = take_field(s, file, key, value, diag);
    }
    return err ? err : check(s, file, diag);
}

int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag)
{
    char file[128], words[128];
    json_error_t why;

    gcb_suite_init(s);
    gcb_escape(file, sizeof(file), name);
    s->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!s->json)
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s, line %d: %s", file, why.line,
                            gcb_escape(words, sizeof(words), why.text));
    return take_all(s, file, diag);
}

static int load_file(struct gcb_suite *s, const char *path, struct gcb_diag *diag)
{
    char text[65537], file[128];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    const bool failed = !f || ferror(f);
    const int why = errno;

    if (f)
        fclose(f);
    gcb_escape(file, sizeof(file), path);
    if (failed)
        return gcb_diag_set(diag, GCB_E_IO, "%s: cannot read: %s", file, strerror(why));
    if (n == sizeof(text))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: longer than 64 KiB", file);
    return gcb_suite_parse(s, text, n, path, diag);
}

static int no_suite(const char *name, struct gcb_diag *diag)
{
    const char *names[32], *near;
    char shown[64];
    size_t n = 0;

    while (n < 32 && gcb_suite_texts[n].name) {
        names[n] = gcb_suite_texts[n].name;
        n++;
    }
    near = gcb_suggest(name, names, n);
    gcb_escape(shown, sizeof(shown), name);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "no suite '%s'; did you mean '%s'?", shown, near);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "no suite '%s'; default and quick are some, and FILE.json is a file",
                        shown);
}

int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag)
{
    const size_t n = strlen(name);

    gcb_suite_init(s);
    if (strchr(name, '/') || (n >= 5 && strcmp(name + n - 5, ".json") == 0))
        return load_file(s, name, diag);
    for (const struct gcb_suite_text *t = gcb_suite_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return gcb_suite_parse(s, t->text, strlen(t->text), name, diag);
    return no_suite(name, diag);
}
