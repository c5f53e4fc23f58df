#include "src/tool/suite/suite.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/queue.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/fields.h"

const char *const gcb_cache_names[] = {"warm", "cold", NULL};

void gcb_suite_init(struct gcb_suite *s)
{
    memset(s, 0, sizeof(*s));
    s->scopes[s->scope_count++] = GCB_SCOPE_TENSOR;
    s->devices[s->device_count++] = "cpu";
    s->threads[s->thread_count++] = 1;
    s->caches[s->cache_count++] = GCB_CACHE_WARM;
    s->warmup = 1;
}

void gcb_suite_fini(struct gcb_suite *s)
{
    gcb_free(s->methods);
    gcb_free(s->folder);
    json_decref(s->json);
    memset(s, 0, sizeof(*s));
}

/* ---- the fields of a suite ---- */

static const char *const scope_names[] = {"tensor", "bucket", "model", NULL};

/* A field of the suite's JSON object. `take` reads the value; if the value is a list, it calls `item` for each item. */
struct field {
    const char *name;
    int (*take)(const struct field *f);
    int (*item)(const struct field *f, size_t i, const json_t *item);
    double *real;       /* receives a real number */
    unsigned *whole;    /* receives a whole number */
    size_t *count;      /* receives the length of a list */
    double least, most; /* limits of a number; `most` also limits the items of a list */
    const char *what;   /* error text for a list: "must be a list of ..." */
    bool distinct;      /* the items of a list must differ */

    struct gcb_suite *s;
    const json_t *value;
    const char *file; /* escaped */
    struct gcb_diag *diag;
};

static int bad(const struct field *f, const char *what)
{
    return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s %s", f->file, f->name, what);
}

static int take_real(const struct field *f)
{
    const double number = json_number_value(f->value);

    if (!json_is_number(f->value) || number < f->least || number > f->most)
        return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s must be a number from %g to %g",
                            f->file, f->name, f->least, f->most);
    *f->real = number;
    return 0;
}

static int take_whole(const struct field *f)
{
    double number = 0.0;
    struct field real = *f;
    int err;

    real.real = &number;
    err = take_real(&real);
    if (!err && !json_is_integer(f->value))
        return bad(f, "must be a whole number");
    *f->whole = (unsigned)number;
    return err;
}

static int take_list(const struct field *f)
{
    const size_t n = json_array_size(f->value);
    int err = n > 0 && n <= (size_t)f->most ? 0 : bad(f, f->what);

    for (size_t i = 0; !err && i < n; i++) {
        const json_t *item = json_array_get(f->value, i);

        err = f->item(f, i, item);
        for (size_t k = 0; !err && f->distinct && k < i; k++)
            if (json_equal(json_array_get(f->value, k), item))
                err = bad(f, f->what);
    }
    if (!err && f->count)
        *f->count = n;
    return err;
}

/* Sets *out to the item's index in `names`, which end with NULL. */
static int choose(size_t *out, const struct field *f, const json_t *item, const char *const *names)
{
    const char *text = json_string_value(item);
    char list[96] = "", shown[64];
    size_t used = 0;

    if (!text)
        return bad(f, f->what);
    for (*out = 0; names[*out] && strcmp(text, names[*out]) != 0; ++*out)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                 names[*out]);
    if (names[*out])
        return 0;
    return gcb_diag_set(f->diag, GCB_E_INVALID, "suite %s: %s: '%s' is not one of %s", f->file,
                        f->name, gcb_escape(shown, sizeof(shown), text), list);
}

static int take_scope(const struct field *f, size_t i, const json_t *item)
{
    size_t at = 0;
    const int err = choose(&at, f, item, scope_names);

    f->s->scopes[i] = (enum gcb_scope)at;
    return err;
}

static int take_cache(const struct field *f, size_t i, const json_t *item)
{
    size_t at = 0;
    const int err = choose(&at, f, item, gcb_cache_names);

    f->s->caches[i] = (enum gcb_cache)at;
    return err;
}

/* Is the value a short text that is safe in rows and on a terminal? */
static bool plain(const json_t *value)
{
    const char *text = json_string_value(value);
    char shown[64];

    return text && text[0] && strlen(text) < 40 &&
           strcmp(text, gcb_escape(shown, sizeof(shown), text)) == 0;
}

static int take_schema(const struct field *f)
{
    return json_integer_value(f->value) == 1
               ? 0
               : bad(f, "must be 1, the only version that this gcbench reads");
}

static int take_name(const struct field *f)
{
    f->s->name = json_string_value(f->value);
    return plain(f->value) ? 0 : bad(f, "must be a short text");
}

static int take_about(const struct field *f)
{
    return json_is_string(f->value) ? 0 : bad(f, "must be a text");
}

static int take_nearer_than(const struct field *f)
{
    f->s->nearer_than = json_string_value(f->value);
    return f->s->nearer_than ? 0 : bad(f, "must be a method");
}

static int take_method(const struct field *f, size_t i, const json_t *item)
{
    f->s->methods[i] = json_string_value(item);
    return f->s->methods[i] ? 0 : bad(f, f->what);
}

static int take_methods(const struct field *f)
{
    const char *text = json_string_value(f->value);

    if (text && strcmp(text, "all") == 0)
        return 0;
    f->s->methods = gcb_alloc_array(json_array_size(f->value), sizeof(*f->s->methods));
    return f->s->methods ? take_list(f) : gcb_diag_nomem(f->diag, 0, "the methods of a suite");
}

static int take_device(const struct field *f, size_t i, const json_t *item)
{
    f->s->devices[i] = json_string_value(item);
    return plain(item) ? 0 : bad(f, f->what);
}

static int take_threads(const struct field *f, size_t i, const json_t *item)
{
    const json_int_t threads = json_integer_value(item);

    f->s->threads[i] = (int)threads;
    return threads >= 1 && threads <= GCB_THREADS_MOST ? 0 : bad(f, f->what);
}

/* Adds a synthetic tensor, or the tensors of a layout, to the last input. */
static int add_tensor(const struct field *f, const struct gcb_source_synthetic *tensor)
{
    if (f->s->tensor_count == GCB_SUITE_INPUTS)
        return bad(f, "has more than 64 tensors");
    f->s->tensors[f->s->tensor_count++] = *tensor;
    f->s->inputs[f->s->input_count - 1].count++;
    return 0;
}

/* Adds a tensor for each size of the list. */
static int add_sizes(const struct field *f, struct gcb_source_synthetic *tensor,
                     const json_t *elements)
{
    const size_t n = json_array_size(elements);
    int err = n ? 0 : bad(f, "has an entry whose elements are not a list");

    for (size_t i = 0; !err && i < n; i++) {
        const json_t *item = json_array_get(elements, i);
        const char *text = json_string_value(item);
        const json_int_t number = json_integer_value(item);

        tensor->elements = number > 0 ? (uint64_t)number : 0;
        if (text && !gcb_parse_size(text, &tensor->elements))
            tensor->elements = 0;
        err = tensor->elements ? add_tensor(f, tensor)
                               : bad(f, "has an invalid size (valid: 4096, \"16M\")");
    }
    return err;
}

/* Begins an input, or goes on with the last one if both have neither name nor file. */
static int begin_input(const struct field *f, const char *name, const char *file)
{
    struct gcb_suite *s = f->s;
    struct gcb_suite_input input = {.name = name, .file = file, .first = s->tensor_count};

    if (!name)
        input.name = !file                ? GCB_SOURCE_SYNTHETIC
                     : strrchr(file, '/') ? strrchr(file, '/') + 1
                                          : file;
    if (!name && !file && s->input_count &&
        strcmp(s->inputs[s->input_count - 1].name, input.name) == 0)
        return 0;
    for (size_t i = 0; i < s->input_count; i++)
        if (strcmp(s->inputs[i].name, input.name) == 0)
            return bad(f, "has a name twice; entries without a name must follow each other");
    if (s->input_count == GCB_SUITE_INPUTS)
        return bad(f, "has more than 64 entries");
    s->inputs[s->input_count++] = input;
    return 0;
}

static int take_input(const struct field *f, size_t i, const json_t *entry)
{
    const json_t *dist = json_object_get(entry, "dist"), *layout = json_object_get(entry, "layout");
    const json_t *elements = json_object_get(entry, "elements");
    const json_t *name = json_object_get(entry, "name"), *file = json_object_get(entry, "file");
    struct gcb_source_synthetic tensor = {.layout = json_string_value(layout)};
    const size_t keys = (size_t) !!name + (size_t) !!file + 2 * (size_t) !!dist;
    int err;

    (void)i;
    if (json_object_size(entry) != keys || (name && !plain(name)) ||
        (file ? dist || !plain(file)
              : !plain(dist) || !!layout == !!elements || (layout && !plain(layout))))
        return bad(f,
                   "must have in each entry either file, or dist and one of elements and layout; "
                   "and name, if you like");
    err = begin_input(f, json_string_value(name), json_string_value(file));
    if (err || file)
        return err;
    tensor.name = json_string_value(dist);
    err = gcb_synthetic_parse(&tensor.dist, tensor.name, f->diag);
    if (err)
        return err;
    return layout ? add_tensor(f, &tensor) : add_sizes(f, &tensor, elements);
}

static int unknown(const char *file, const char *key, const struct field *fields, size_t count,
                   struct gcb_diag *diag)
{
    const char *names[32], *near;
    char shown[64];

    for (size_t i = 0; i < count; i++)
        names[i] = fields[i].name;
    near = gcb_suggest(key, names, count);
    gcb_escape(shown, sizeof(shown), key);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        near ? "suite %s: unknown field '%s'; did you mean '%s'?"
                             : "suite %s: unknown field '%s'",
                        file, shown, near);
}

/* Reads one field of the suite's object into `s`. */
static int take_field(struct gcb_suite *s, const char *file, const char *key, const json_t *value,
                      struct gcb_diag *diag)
{
    static const char names[] = "must be a list of different names",
                      methods[] = "must be \"all\" or a list of methods",
                      devices[] = "must be a list of devices",
                      threads[] = "must be a list of numbers from 1 to 256",
                      inputs[] = "must be a list of objects";
    const struct field fields[] = {
        {.name = "schema", .take = take_schema},
        {.name = "name", .take = take_name},
        {.name = "about", .take = take_about},
        {"methods", take_methods, take_method, .count = &s->method_count, .most = 1e6,
         .what = methods},
        {.name = gcb_field_name(GCB_FIELD_NEARER_THAN), .take = take_nearer_than},
        {"scopes", take_list, take_scope, .count = &s->scope_count, .most = 3, .what = names,
         .distinct = true},
        {"devices", take_list, take_device, .count = &s->device_count, .most = GCB_SUITE_DEVICES,
         .what = devices},
        {"threads", take_list, take_threads, .count = &s->thread_count, .most = GCB_SUITE_THREADS,
         .what = threads},
        {"caches", take_list, take_cache, .count = &s->cache_count, .most = GCB_CACHES,
         .what = names, .distinct = true},
        {"warmup", take_whole, .whole = &s->warmup, .most = 1e6},
        {"repeat", take_whole, .whole = &s->repeat, .least = 1, .most = 1e6},
        {"min_time", take_real, .real = &s->min_time, .most = 86400},
        {"max_time", take_real, .real = &s->max_time, .most = 86400},
        {"precision", take_real, .real = &s->precision, .least = 1e-6, .most = 1},
        {"time_budget", take_real, .real = &s->time_budget, .least = 0.001, .most = 604800},
        {"max_samples", take_whole, .whole = &s->max_samples, .least = 1, .most = 1e6},
        {"inputs", take_list, take_input, .most = 1e6, .what = inputs},
    };
    const size_t count = sizeof(fields) / sizeof(fields[0]);

    for (size_t i = 0; i < count; i++)
        if (strcmp(key, fields[i].name) == 0) {
            struct field f = fields[i];

            f.s = s;
            f.value = value;
            f.file = file;
            f.diag = diag;
            return f.take(&f);
        }
    return unknown(file, key, fields, count, diag);
}

/* ---- a suite ---- */

static int check(const struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    if (!json_object_get(s->json, "schema") || !s->name)
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: the fields schema and name are needed",
                            file);
    if (s->repeat && (s->precision > 0.0 || s->time_budget > 0.0))
        return gcb_diag_set(
            diag, GCB_E_INVALID,
            "suite %s: repeat fixes the amount of work; remove repeat, or precision and "
            "time_budget",
            file);
    return 0;
}

static int take_all(struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    const char *key;
    json_t *value;
    int err = 0;

    if (!json_is_object(s->json))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: not a JSON object", file);
    json_object_foreach(s->json, key, value)
    {
        err = take_field(s, file, key, value, diag);
        if (err)
            return err;
    }
    return check(s, file, diag);
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
    int err;

    if (f)
        fclose(f);
    gcb_escape(file, sizeof(file), path);
    if (failed)
        return gcb_diag_set(diag, GCB_E_IO, "%s: cannot read: %s", file, strerror(why));
    if (n == sizeof(text))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: longer than 64 KiB", file);
    err = gcb_suite_parse(s, text, n, path, diag);
    s->folder = err ? NULL : gcb_strdup(path);
    if (err || !s->folder)
        return err ? err : gcb_diag_nomem(diag, strlen(path), "the folder of a suite");
    *(strrchr(s->folder, '/') ? strrchr(s->folder, '/') + 1 : s->folder) = '\0';
    return 0;
}

bool gcb_suite_find(char out[GCB_DATA_PATH], const struct gcb_suite *s, const char *file)
{
    char shipped[GCB_DATA_PATH];

    if (s->folder &&
        snprintf(out, GCB_DATA_PATH, "%s%s", file[0] == '/' ? "" : s->folder, file) <
            GCB_DATA_PATH &&
        access(out, R_OK) == 0)
        return true;
    return snprintf(shipped, sizeof(shipped), "datasets/%s", file) < (int)sizeof(shipped) &&
           gcb_data_find(out, shipped);
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
    return gcb_diag_set(diag, GCB_E_INVALID,
                        near ? "no suite '%s'; did you mean '%s'?"
                             : "no suite '%s'; use default, quick, ci, paper-fft, "
                               "paper-redsync, paper-sbc or FILE.json",
                        shown, near);
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
