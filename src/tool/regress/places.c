#include "src/tool/regress/places.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/regress/cases.h"
#include "src/tool/rows/results.h"

/* A field's value in words. */
static void words(char *out, size_t size, const json_t *value)
{
    char number[32];

    if (json_is_string(value))
        gcb_escape(out, size, json_string_value(value));
    else if (json_is_number(value))
        snprintf(out, size, "%s", gcb_real_text(number, json_number_value(value)));
    else
        snprintf(out, size, "not known");
}

static size_t compare(struct gcb_place_difference *out, size_t cap, size_t count, const char *field,
                      const json_t *base, const json_t *next)
{
    struct gcb_place_difference d;

    words(d.base, sizeof(d.base), base);
    words(d.next, sizeof(d.next), next);
    if (strcmp(d.base, d.next) == 0)
        return count;
    gcb_escape(d.field, sizeof(d.field), field);
    if (count < cap)
        out[count] = d;
    return count + 1;
}

static size_t compare_libraries(struct gcb_place_difference *out, size_t cap, size_t count,
                                const json_t *base, const json_t *next)
{
    const char *name;
    json_t *value;
    char field[64];

    json_object_foreach((json_t *)(uintptr_t)base, name, value)
    {
        snprintf(field, sizeof(field), "libraries.%s", name);
        count = compare(out, cap, count, field, value, json_object_get(next, name));
    }
    json_object_foreach((json_t *)(uintptr_t)next, name, value)
    {
        snprintf(field, sizeof(field), "libraries.%s", name);
        if (!json_object_get(base, name))
            count = compare(out, cap, count, field, NULL, value);
    }
    return count;
}

size_t gcb_places_differ(struct gcb_place_difference *out, size_t cap, const json_t *base,
                         const json_t *next)
{
    static const char *const fields[] = {"cpu_model",  "cpus",      "governor", "kernel",
                                         "build_type", "sanitize",  "compiler", "compile_flags",
                                         "gpu",        "gpu_driver"};
    size_t count = 0;

    if (!base || !next) {
        if (cap)
            *out = (struct gcb_place_difference){"environment", "", ""};
        for (size_t i = 0; cap && i < 2; i++)
            snprintf(i ? out->next : out->base, sizeof(out->base), "%s",
                     (i ? next : base) ? "known" : "not known");
        return 1;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        count = compare(out, cap, count, fields[i], json_object_get(base, fields[i]),
                        json_object_get(next, fields[i]));
    return compare_libraries(out, cap, count, json_object_get(base, "libraries"),
                             json_object_get(next, "libraries"));
}

/* Is `name` one of the names in "a, b"? */
static bool listed(const char *names, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = names; (at = strstr(at, name)); at++)
        if ((at == names || (at >= names + 2 && strncmp(at - 2, ", ", 2) == 0)) &&
            (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

static const char *own_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The hash of a file in a row's list, by the file's own name. */
static const char *hash_in(const json_t *row, const char *name)
{
    const json_t *list = json_object_get(row, "input_xxh3"), *item;

    for (size_t i = 0; (item = json_array_get(list, i)); i++) {
        const char *file = gcb_results_text(item, "file");

        if (file && strcmp(own_name(file), name) == 0)
            return gcb_results_text(item, "xxh3");
    }
    return NULL;
}

bool gcb_places_inputs_differ(const json_t *base, const json_t *next, const char *files)
{
    const json_t *list = json_object_get(base, "input_xxh3"), *item;
    char *names = gcb_alloc(strlen(files) + 1);
    bool differ = false;

    if (names)
        gcb_case_basename(names, files);
    for (size_t i = 0; names && (item = json_array_get(list, i)); i++) {
        const char *file = gcb_results_text(item, "file"), *a = gcb_results_text(item, "xxh3");
        const char *b = file && a ? hash_in(next, own_name(file)) : NULL;

        differ |= b && strcmp(a, b) != 0 && listed(names, own_name(file));
    }
    gcb_free(names);
    return differ;
}
