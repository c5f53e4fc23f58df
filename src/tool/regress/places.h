#ifndef SRC_TOOL_REGRESS_PLACES_H
#define SRC_TOOL_REGRESS_PLACES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Are two runs comparable? What their `environment` rows say of machine and build (docs/rows.md).
 */
struct gcb_place_difference {
    char field[40];          /* of the environment row, "libraries.fftw" */
    char base[96], next[96]; /* its values as text, escaped; "not known" */
};

/*
 * Fields that make times incomparable where they differ: processor, how many, governor, kernel, build type,
 * sanitizers, compiler, flags, libraries, GPU and its driver. Instruction set, threads and device are those of each case. Fills up
 * to `cap` and returns how many differ. Rows may be NULL: then one difference, field "environment".
 */
size_t gcb_places_differ(struct gcb_place_difference *out, size_t cap, const json_t *base,
                         const json_t *next);

/* Do the two runs say that one of these files ("a/b.h5, c.h5", as rows name them) had other contents? By the file's own
 * name and its hash, where both rows have one. */
bool gcb_places_inputs_differ(const json_t *base, const json_t *next, const char *files);

#endif
