#include "src/tool/rows/row.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/base/memory.h"

void gcb_row_init(struct gcb_row *row, enum gcb_record record)
{
    row->json = json_object();
    gcb_row_text(row, GCB_FIELD_RECORD, gcb_record_name(record));
    gcb_row_u64(row, GCB_FIELD_SCHEMA, 1);
}

void gcb_row_fini(struct gcb_row *row)
{
    json_decref(row->json);
    row->json = NULL;
}

void gcb_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        gcb_no_memory();
}

void gcb_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        gcb_no_memory();
}

json_t *gcb_json_copy(const json_t *value)
{
    json_t *copy = json_deep_copy(value);

    if (!copy)
        gcb_no_memory();
    return copy;
}

void gcb_row_json(struct gcb_row *row, enum gcb_field field, json_t *value)
{
    gcb_json_set(row->json, gcb_field_name(field), value);
}

/* Makes a JSON string of the text, which `escape` escapes; JSON's null if `text` is NULL. */
static json_t *make_text(const char *text, char *(*escape)(char *out, size_t size, const char *s))
{
    json_t *value;
    size_t size;
    char *shown;

    if (!text)
        return json_null();
    size = 4 * strlen(text) + 1; /* room for every byte as \xNN */
    shown = gcb_must_array(size, 1);
    value = json_string(escape(shown, size, text));
    gcb_free(shown);
    return value;
}

json_t *gcb_row_make_text(const char *text)
{
    return make_text(text, gcb_escape);
}

json_t *gcb_row_make_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void gcb_row_text(struct gcb_row *row, enum gcb_field field, const char *text)
{
    gcb_row_json(row, field, gcb_row_make_text(text));
}

void gcb_row_words(struct gcb_row *row, enum gcb_field field, const char *words)
{
    gcb_row_json(row, field, make_text(words, gcb_escape_again));
}

void gcb_row_real(struct gcb_row *row, enum gcb_field field, double value)
{
    gcb_row_json(row, field, gcb_row_make_real(value));
}

void gcb_row_reals(struct gcb_row *row, enum gcb_field field, const double *values, size_t count)
{
    json_t *array = values ? json_array() : json_null();

    for (size_t i = 0; values && i < count; i++)
        gcb_json_append(array, gcb_row_make_real(values[i]));
    gcb_row_json(row, field, array);
}

void gcb_row_texts(struct gcb_row *row, enum gcb_field field, char *const *texts, int count)
{
    json_t *array = texts ? json_array() : json_null();

    for (int i = 0; texts && i < count; i++)
        gcb_json_append(array, gcb_row_make_text(texts[i]));
    gcb_row_json(row, field, array);
}

void gcb_row_u64(struct gcb_row *row, enum gcb_field field, uint64_t value)
{
    /* jansson's integers are signed: a larger value becomes the nearest double */
    gcb_row_json(row, field,
                 value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value));
}

void gcb_row_bool(struct gcb_row *row, enum gcb_field field, bool value)
{
    gcb_row_json(row, field, json_boolean(value));
}

void gcb_row_null(struct gcb_row *row, enum gcb_field field)
{
    gcb_row_json(row, field, json_null());
}

void gcb_row_known_u64(struct gcb_row *row, enum gcb_field field, bool known, uint64_t value)
{
    if (known)
        gcb_row_u64(row, field, value);
    else
        gcb_row_null(row, field);
}

void gcb_row_known_bool(struct gcb_row *row, enum gcb_field field, bool known, bool value)
{
    gcb_row_json(row, field, known ? json_boolean(value) : json_null());
}

static json_t *param_value(const struct gcb_param *p, double value)
{
    char text[GCB_PARAM_TEXT];

    if (gcb_param_is_text(p))
        return json_string(gcb_param_text(text, p, value));
    if (p->type == GCB_PARAM_REAL)
        return gcb_row_make_real(value);
    return json_integer((json_int_t)value);
}

void gcb_row_method(struct gcb_row *row, const struct gcb_method *method)
{
    const struct gcb_param *p;
    json_t *params = json_object();
    char spec[512];

    gcb_row_text(row, GCB_FIELD_METHOD, method->name);
    gcb_row_text(row, GCB_FIELD_SPEC, gcb_method_spec(spec, sizeof(spec), method, GCB_SPEC_FULL));
    for (size_t i = 0; (p = gcb_method_param(method, i)); i++)
        if (gcb_method_shows(method, i))
            gcb_json_set(params, p->name, param_value(p, method->value[i]));
    gcb_row_json(row, GCB_FIELD_PARAMS, params);
}
