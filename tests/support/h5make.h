#ifndef TESTS_SUPPORT_H5MAKE_H
#define TESTS_SUPPORT_H5MAKE_H

#include <hdf5.h>
#include <stdint.h>

/*
 * Small HDF5 files for tests, in a temporary folder of the test. A failure ends the test.
 */
struct h5make {
    char path[192];
    hid_t file;
};

/* Creates or empties the file `name`. Close it with h5make_close before reading it. */
void h5make_open(struct h5make *m, const char *name);
void h5make_close(struct h5make *m);

/* Writes a dataset of `type` at `path`, and the groups above it, with n values start, start + 1,
 * ... It is contiguous if chunk is 0, else chunked and deflated. */
void h5make_put(struct h5make *m, const char *path, hid_t type, uint64_t n, float start,
                uint64_t chunk);

void h5make_integer(struct h5make *m, const char *path, const char *name, int64_t value);
void h5make_text(struct h5make *m, const char *path, const char *name, const char *value);

/* Removes the folder and the files that h5make_open made. */
void h5make_clean(void);

#endif
