#ifndef SRC_TOOL_HDF5_H5ATTR_H
#define SRC_TOOL_HDF5_H5ATTR_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Attributes of an object in an untrusted file. An attribute that is absent, damaged, of another type or
 * too large counts as absent: each returns false then and leaves its results alone.
 */

/* A single integer or float (a scalar, or an array of one). */
bool gcb_h5attr_number(hid_t object, const char *name, double *value);

/* A single integer that int64_t holds. */
bool gcb_h5attr_integer(hid_t object, const char *name, int64_t *value);

/* A single text, fixed or of variable length, shorter than size bytes; terminated. */
bool gcb_h5attr_text(hid_t object, const char *name, char *out, size_t size);

/* Calls visit(ctx, name) for each attribute, at most 256 of them, in no promised order. */
void gcb_h5attr_each(hid_t object, void (*visit)(void *ctx, hid_t object, const char *name),
                     void *ctx);

#endif
