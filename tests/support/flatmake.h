#ifndef TESTS_SUPPORT_FLATMAKE_H
#define TESTS_SUPPORT_FLATMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/tool/read/source.h"

/*
 * Files of arrays for tests of readers (.npy, .npz, safetensors), in a temporary folder. A failure
 * of the test itself ends the test.
 */

/* Bytes that a test puts together. */
struct flatmake {
    uint8_t bytes[8192];
    size_t size;
};

void flatmake_put(struct flatmake *f, const void *bytes, size_t size);
/* Appends a number of `width` bytes, little-endian. */
void flatmake_number(struct flatmake *f, uint64_t number, unsigned width);
/* Appends an array in the format .npy of this version, with the header padded as NumPy does it. */
void flatmake_npy(struct flatmake *f, unsigned version, const char *header, const void *data,
                  size_t size);

/*
 * Writes the bytes as the file `name` (perhaps with folders) and reads all its tensors. Writes to
 * `out` a text of what was read, such as "1/0/w 2x1 fp32: 1 2; +1 skipped", and returns 0, or the
 * status of the failure. The integers of the file are read as `reading` says.
 */
int flatmake_read(char out[1024], const struct flatmake *f, const char *name,
                  struct gcb_reading reading, bool in_process, struct gcb_diag *diag);

/* Reads the file in a child and in this process, and requires this text. */
void flatmake_expect(const struct flatmake *f, const char *name, struct gcb_reading reading,
                     const char *text);
/* The same, and requires this status and these words in the message. */
void flatmake_expect_failure(const struct flatmake *f, const char *name, int status,
                             const char *words);

/* Removes the folder. For the teardown of a group of tests. */
int flatmake_clean(void **state);

#endif
