#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/sink.h"

/*
 * jansson writes every value but reals, for which it knows only a fixed number of digits: 0.8 would be
 * 0.80000000000000004. So objects are walked here and reals written in their shortest form.
 */
static int write_value(FILE *f, const json_t *value);

static int write_real(FILE *f, double value)
{
    char text[32];

    gcb_real_text(text, value);
    /* keeps its type when read back: 5.0, not 5 */
    return fprintf(f, "%s%s", text, strpbrk(text, ".e") ? "" : ".0") < 0 ? GCB_E_IO : 0;
}

static int write_scalar(FILE *f, const json_t *value)
{
    return json_dumpf(value, f, JSON_ENCODE_ANY) ? GCB_E_IO : 0;
}

static int write_array(FILE *f, const json_t *array)
{
    int err = fputc('[', f) == EOF ? GCB_E_IO : 0;

    for (size_t i = 0; !err && i < json_array_size(array); i++) {
        if (i && fputs(", ", f) == EOF)
            return GCB_E_IO;
        err = write_value(f, json_array_get(array, i));
    }
    return err ? err : fputc(']', f) == EOF ? GCB_E_IO : 0;
}

/* Iterating wants a pointer that is not const, and changes nothing. */
static json_t *unconst(const json_t *value)
{
    json_t *plain;

    memcpy(&plain, &value, sizeof(plain));
    return plain;
}

static int write_object(FILE *f, const json_t *object)
{
    json_t *o = unconst(object);
    const char *separator = "{";

    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
        /* keys are the program's own names: nothing in them needs quoting */
        int err = fprintf(f, "%s\"%s\": ", separator, json_object_iter_key(it)) < 0 ? GCB_E_IO : 0;

        err = err ? err : write_value(f, json_object_iter_value(it));
        if (err)
            return err;
        separator = ", ";
    }
    return fputs(*separator == '{' ? "{}" : "}", f) == EOF ? GCB_E_IO : 0;
}

static int write_value(FILE *f, const json_t *value)
{
    if (json_is_object(value))
        return write_object(f, value);
    if (json_is_array(value))
        return write_array(f, value);
    if (json_is_real(value))
        return write_real(f, json_real_value(value));
    return write_scalar(f, value);
}

static int json_put(FILE *f, const json_t *row, const struct gcb_columns *columns)
{
    const int err = write_object(f, row);

    (void)columns;
    return err ? err : fputc('\n', f) == EOF ? GCB_E_IO : 0;
}

const struct gcb_sink_ops gcb_sink_json = {.put = json_put};
