#include "src/lib/base/sized.h"

#include <stdbool.h>
#include <string.h>

#include "src/lib/base/diag.h"

/* A field of a public struct: where it begins and ends. */
struct field {
    const char *type;
    size_t begin, end;
};

#define FIELD(type, name) \
    { \
        "gcb_" #type, offsetof(struct gcb_##type, name), \
            offsetof(struct gcb_##type, name) + sizeof(((struct gcb_##type *)0)->name) \
    }
/* The row after a struct's last field: the end of the struct, with its padding. A new field must
 * change the struct's size, so that a library knows whether a caller has the field. */
#define WHOLE(type) \
    { \
        "gcb_" #type, sizeof(struct gcb_##type), sizeof(struct gcb_##type) \
    }

static const struct field fields[] = {
    FIELD(options, size),
    FIELD(options, threads),
    FIELD(options, rank),
    FIELD(options, shape),
    FIELD(options, seed),
    FIELD(options, path),
    FIELD(options, nonfinite),
    FIELD(options, input),
    FIELD(options, source),
    FIELD(options, workers),
    FIELD(options, checksum),
    FIELD(options, max_elements),
    FIELD(options, worker),
    FIELD(options, weights),
    FIELD(options, joined),
    FIELD(options, joined_length),
    WHOLE(options),

    FIELD(own_method, size),
    FIELD(own_method, name),
    FIELD(own_method, params),
    FIELD(own_method, ctx),
    FIELD(own_method, bound),
    FIELD(own_method, encode),
    FIELD(own_method, decode),
    WHOLE(own_method),

    FIELD(memory_state, size),
    FIELD(memory_state, residual),
    FIELD(memory_state, momentum),
    FIELD(memory_state, counters),
    FIELD(memory_state, kept),
    FIELD(memory_state, kept_bytes),
    WHOLE(memory_state),

    FIELD(memory_view, size),
    FIELD(memory_view, residual),
    FIELD(memory_view, momentum),
    FIELD(memory_view, counters),
    FIELD(memory_view, kept),
    FIELD(memory_view, kept_bytes),
    WHOLE(memory_view),

    FIELD(method_info, size),
    FIELD(method_info, name),
    FIELD(method_info, summary),
    FIELD(method_info, source),
    FIELD(method_info, promise),
    FIELD(method_info, spec),
    WHOLE(method_info),

    FIELD(message_info, size),
    FIELD(message_info, elements),
    FIELD(message_info, payload_bytes),
    FIELD(message_info, header_bytes),
    FIELD(message_info, source),
    FIELD(message_info, stored),
    FIELD(message_info, has_checksum),
    FIELD(message_info, codec),
    WHOLE(message_info),

    FIELD(round, size),
    FIELD(round, kind),
    FIELD(round, reduction),
    FIELD(round, data),
    FIELD(round, bytes),
    FIELD(round, parts),
    FIELD(round, to),
    FIELD(round, from),
    WHOLE(round),
};

/* True if a struct of this size ends after a field, where the next field begins, or after all
 * fields that this library knows. */
static bool ends_at_a_field(size_t size, const char *type)
{
    size_t whole = 0;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i].type, type) != 0)
            continue;
        if (size == fields[i].begin || size == fields[i].end)
            return true;
        whole = fields[i].end;
    }
    return size > whole;
}

int gcb_struct_check(const void *in, const char *type, struct gcb_diag *diag)
{
    size_t size;

    if (!in)
        return gcb_invalid(diag, "the struct %s is NULL", type);
    memcpy(&size, in, sizeof(size));
    if (size >= sizeof(size) && size <= GCB_STRUCT_MOST && ends_at_a_field(size, type))
        return 0;
    return gcb_invalid(diag,
                       "struct %s has the size %zu; set its field `size` to sizeof(struct %s)",
                       type, size, type);
}

int gcb_struct_copy(void *out, size_t known, const void *in, const char *type,
                    struct gcb_diag *diag)
{
    const int err = gcb_struct_check(in, type, diag);
    size_t size;

    if (err)
        return err;
    memcpy(&size, in, sizeof(size));
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)in)[i])
            return gcb_invalid(diag,
                               "struct %s has a field that this library is too old to know (byte "
                               "%zu of %zu); set it to 0, or install a newer library",
                               type, i, size);
    memset(out, 0, known);
    memcpy(out, in, size < known ? size : known);
    return 0;
}

void gcb_struct_fill(void *out, size_t size, const void *in, size_t known)
{
    memset(out, 0, size);
    memcpy(out, in, size < known ? size : known);
}
