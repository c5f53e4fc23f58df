#include "src/tool/run/suite.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"
#include "src/tool/rows/row.h"

void gcb_suite_fini(struct gcb_suite *s)
{
    gcb_free(s->pairs);
    gcb_free(s->folder);
    json_decref(s->json);
    json_decref(s->numbers);
    memset(s, 0, sizeof(*s));
}

/* Returns GCB_E_INVALID with a message that says `what` is wrong with a field. */
static int bad(const struct gcb_suite *s, const char *key, const char *what, struct gcb_diag *diag)
{
    return gcb_invalid(diag, "suite %s: %s %s", s->file, gcb_show(key).text, what);
}

/* ---- the fields that are not options ---- */

#define SHORT 40 /* bytes of a short text, with its terminator */
#define SHORT_TEXT "short text (1 to 39 bytes, no control characters, no backslashes)"

/* True if the value is a short text that is safe in rows and on a terminal. */
static bool is_plain(const json_t *value)
{
    const char *text = json_string_value(value);

    return text && text[0] && strlen(text) < SHORT && strcmp(text, gcb_show(text).text) == 0;
}

/* Adds a synthetic tensor, or the tensors of a layout, to the last input. */
static int add_tensor(struct gcb_suite *s, const struct gcb_source_synthetic *tensor,
                      struct gcb_diag *diag)
{
    if (s->tensor_count == GCB_SUITE_INPUTS)
        return bad(s, "inputs", "has more than 64 tensors", diag);
    s->tensors[s->tensor_count++] = *tensor;
    s->inputs[s->input_count - 1].count++;
    return 0;
}

/* Adds a tensor for each size in the list `elements`. The caller has set the other members of
 * *tensor. */
static int add_sizes(struct gcb_suite *s, struct gcb_source_synthetic *tensor,
                     const json_t *elements, struct gcb_diag *diag)
{
    const size_t n = json_array_size(elements);
    int err = n ? 0 : bad(s, "inputs", "has an entry whose elements are not a list", diag);

    for (size_t i = 0; !err && i < n; i++) {
        const json_t *item = json_array_get(elements, i);
        const char *text = json_string_value(item);
        const json_int_t number = json_integer_value(item);

        tensor->elements = number > 0 ? (uint64_t)number : 0;
        if (text && !gcb_parse_size(text, &tensor->elements))
            tensor->elements = 0;
        err = tensor->elements
                  ? add_tensor(s, tensor, diag)
                  : bad(s, "inputs", "has an invalid size (valid: 4096, \"16M\")", diag);
    }
    return err;
}

/* Begins an input. An entry with neither name nor file continues the last input if that input is
 * called "synthetic" too. */
static int begin_input(struct gcb_suite *s, const char *name, const char *file,
                       struct gcb_diag *diag)
{
    struct gcb_suite_input input = {.name = name, .file = file, .first = s->tensor_count};

    if (!name && file)
        input.name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    else if (!name)
        input.name = GCB_SOURCE_SYNTHETIC;
    if (!name && !file && s->input_count &&
        strcmp(s->inputs[s->input_count - 1].name, input.name) == 0)
        return 0;
    for (size_t i = 0; i < s->input_count; i++)
        if (strcmp(s->inputs[i].name, input.name) == 0)
            return bad(s, "inputs",
                       "has a name twice; entries without a name must follow each other", diag);
    if (s->input_count == GCB_SUITE_INPUTS)
        return bad(s, "inputs", "has more than 64 entries", diag);
    s->inputs[s->input_count++] = input;
    return 0;
}

/* True if an entry of `inputs` has either `file`, or `dist` with one of `layout` and `elements`,
 * and nothing else except perhaps `name`. */
static bool is_input(const json_t *entry)
{
    const json_t *dist = json_object_get(entry, "dist"), *layout = json_object_get(entry, "layout");
    const json_t *elements = json_object_get(entry, "elements");
    const json_t *name = json_object_get(entry, "name"), *file = json_object_get(entry, "file");
    const size_t keys = (file ? 1 : 2) + (name ? 1 : 0);

    if (json_object_size(entry) != keys || (name && !is_plain(name)))
        return false;
    if (file)
        return is_plain(file);
    return is_plain(dist) && (layout ? is_plain(layout) : elements != NULL);
}

/* Adds the tensors or the file of an entry of `inputs`. */
static int take_input(struct gcb_suite *s, const json_t *entry, struct gcb_diag *diag)
{
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *file = json_string_value(json_object_get(entry, "file"));
    struct gcb_source_synthetic tensor = {
        .name = json_string_value(json_object_get(entry, "dist")),
        .layout = json_string_value(json_object_get(entry, "layout")),
    };
    int err;

    if (!is_input(entry))
        return bad(s, "inputs",
                   "must have in each entry either file, or dist and one of elements and layout; "
                   "and name, if you like; each except elements is a " SHORT_TEXT,
                   diag);
    err = begin_input(s, name, file, diag);
    if (err || file)
        return err;
    err = gcb_synthetic_parse(&tensor.dist, tensor.name, diag);
    if (err)
        return err;
    if (tensor.layout)
        return add_tensor(s, &tensor, diag);
    return add_sizes(s, &tensor, json_object_get(entry, "elements"), diag);
}

static int take_inputs(struct gcb_suite *s, const json_t *list, struct gcb_diag *diag)
{
    const size_t n = json_array_size(list);
    int err = n ? 0 : bad(s, "inputs", "must be a list of objects", diag);

    for (size_t i = 0; !err && i < n; i++)
        err = take_input(s, json_array_get(list, i), diag);
    return err;
}

/* ---- the fields that are options ---- */

/* Adds a pair of the key and the value as a string. */
static int add_pair(struct gcb_suite *s, const char *key, const json_t *value,
                    struct gcb_diag *diag)
{
    const char *text = json_string_value(value);
    char number[40];

    if (!text && !json_is_number(value))
        return bad(s, key, "must be a text, a number, or a list of them", diag);
    if (!text) {
        gcb_json_append(s->numbers, json_string(gcb_real_text(number, json_number_value(value))));
        text = json_string_value(json_array_get(s->numbers, json_array_size(s->numbers) - 1));
    }
    gcb_must_grow(&s->pairs, &s->pair_cap, s->pair_count, 2 * sizeof(*s->pairs));
    s->pairs[2 * s->pair_count] = key;
    s->pairs[2 * s->pair_count++ + 1] = text;
    return 0;
}

/* Takes a field of the suite. A key other than schema, name, about and inputs is the name of an
 * option. */
static int take_field(struct gcb_suite *s, const char *key, const json_t *value,
                      struct gcb_diag *diag)
{
    const size_t n = json_array_size(value);
    int err = 0;

    if (strcmp(key, "schema") == 0)
        return json_integer_value(value) == 1
                   ? 0
                   : bad(s, key, "must be 1, the only version that this gcbench reads", diag);
    if (strcmp(key, "name") == 0) {
        s->name = json_string_value(value);
        return is_plain(value) ? 0 : bad(s, key, "must be a " SHORT_TEXT, diag);
    }
    if (strcmp(key, "about") == 0)
        return json_is_string(value) ? 0 : bad(s, key, "must be a text", diag);
    if (strcmp(key, "inputs") == 0)
        return take_inputs(s, value, diag);
    if (!json_is_array(value))
        return add_pair(s, key, value, diag);
    for (size_t i = 0; !err && i < n; i++)
        err = add_pair(s, key, json_array_get(value, i), diag);
    return n ? err : bad(s, key, "must not be empty", diag);
}

/* ---- a suite ---- */

static int take_all(struct gcb_suite *s, struct gcb_diag *diag)
{
    const char *key;
    json_t *value;
    int err = 0;

    if (!json_is_object(s->json))
        return gcb_invalid(diag, "suite %s: not a JSON object", s->file);
    json_object_foreach(s->json, key, value)
    {
        err = take_field(s, key, value, diag);
        if (err)
            return err;
    }
    if (!json_object_get(s->json, "schema") || !s->name)
        return gcb_invalid(diag, "suite %s: the fields schema and name are needed", s->file);
    return 0;
}

int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag)
{
    json_error_t why;

    memset(s, 0, sizeof(*s));
    gcb_escape(s->file, sizeof(s->file), name);
    s->numbers = json_array();
    s->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!s->json)
        return gcb_invalid(diag, "suite %s, line %d: %s", s->file, why.line,
                           gcb_show(why.text).text);
    return take_all(s, diag);
}

#define MOST_BYTES 65536 /* most bytes of a suite's file */

static int load_file(struct gcb_suite *s, const char *path, struct gcb_diag *diag)
{
    char text[MOST_BYTES + 1], file[128], *slash;
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
        return gcb_invalid(diag, "suite %s: longer than 64 KiB", file);
    err = gcb_suite_parse(s, text, n, path, diag);
    if (err)
        return err;
    s->folder = gcb_must_strdup(path);
    slash = strrchr(s->folder, '/');
    *(slash ? slash + 1 : s->folder) = '\0';
    return 0;
}

bool gcb_suite_find(char out[GCB_DATA_PATH], const struct gcb_suite *s, const char *file)
{
    const char *folder = file[0] == '/' ? "" : s->folder;
    char shipped[GCB_DATA_PATH];

    if (s->folder && snprintf(out, GCB_DATA_PATH, "%s%s", folder, file) < GCB_DATA_PATH &&
        access(out, R_OK) == 0)
        return true;
    return snprintf(shipped, sizeof(shipped), "datasets/%s", file) < (int)sizeof(shipped) &&
           gcb_data_find(out, shipped);
}

/* Returns GCB_E_INVALID with a message that suggests a shipped suite with a similar name, or else
 * lists all of them. */
static int no_suite(const char *name, struct gcb_diag *diag)
{
    const char *names[32], *near; /* room for more suites than there are */
    char shown[64], list[256] = "";
    size_t n = 0;

    for (; n < sizeof(names) / sizeof(names[0]) && gcb_suite_texts[n].name; n++) {
        names[n] = gcb_suite_texts[n].name;
        gcb_append(list, sizeof(list), "%s%s", n ? ", " : "", names[n]);
    }
    near = gcb_suggest(name, names, n);
    gcb_escape(shown, sizeof(shown), name);
    if (near)
        return gcb_invalid(diag, "no suite '%s'; did you mean '%s'?", shown, near);
    return gcb_invalid(diag, "no suite '%s'; use %s or FILE.json", shown, list);
}

int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag)
{
    const size_t n = strlen(name), suffix = strlen(".json");

    memset(s, 0, sizeof(*s));
    if (strchr(name, '/') || (n >= suffix && strcmp(name + n - suffix, ".json") == 0))
        return load_file(s, name, diag);
    for (const struct gcb_suite_text *t = gcb_suite_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return gcb_suite_parse(s, t->text, strlen(t->text), name, diag);
    return no_suite(name, diag);
}
