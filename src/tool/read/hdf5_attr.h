#ifndef SRC_TOOL_READ_HDF5_ATTR_H
#define SRC_TOOL_READ_HDF5_ATTR_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads attributes of an object in an untrusted file. Call gcb_h5attr_sound first (the walk, gcb_h5file_open and
 * gcb_h5dataset_open do). The other functions return false and leave their results unchanged if the attribute is
 * absent, damaged, of another type or too large.
 */

/*
 * Can HDF5 decode all attributes of the object? This function searches for a name, because a search decodes all
 * attributes without a table. To iterate over attributes, HDF5 makes a table of them. If an attribute does not decode,
 * HDF5 1.10.8 frees table entries that it has not filled yet.
 */
bool gcb_h5attr_sound(hid_t object);

/* Reads one integer or float: a scalar, or an array with one element. */
bool gcb_h5attr_number(hid_t object, const char *name, double *value);

/* Reads one integer that fits int64_t. */
bool gcb_h5attr_integer(hid_t object, const char *name, int64_t *value);

/* Reads one text of fixed or variable length, shorter than `size` bytes. The copy is terminated. */
bool gcb_h5attr_text(hid_t object, const char *name, char *out, size_t size);

/* Calls visit(ctx, object, name) for at most 256 attributes. Their order is unspecified. */
void gcb_h5attr_each(hid_t object, void (*visit)(void *ctx, hid_t object, const char *name),
                     void *ctx);

#endif
