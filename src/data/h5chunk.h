#ifndef SRC_DATA_H5CHUNK_H
#define SRC_DATA_H5CHUNK_H

#include "src/data/h5file.h"

/*
 * Checks stored chunks before HDF5 unpacks them. HDF5 (1.10.8, seen under AddressSanitizer) believes that a
 * chunk has the chunk's size, packed or not: a shorter one makes it read past its buffer, and one that
 * inflates to more takes all the memory it asks for. So each is inflated into nothing first, and only
 * counted. That doubles the time of inflating, which is never inside a timed region.
 */
struct gcb_h5chunk_check {
    const struct gcb_h5dataset *dataset;
    uint8_t *stored; /* one chunk as it stands in the file; NULL without filters */
    uint64_t cap;    /* of stored: no honest chunk is longer */
    uint64_t bytes;  /* of a chunk, unpacked */
};

/* For a vetted chunked dataset; memory is taken only if it has filters. Returns 0 or GCB_E_NOMEM. */
int gcb_h5chunk_check_init(struct gcb_h5chunk_check *c, const struct gcb_h5dataset *dataset);
void gcb_h5chunk_check_fini(struct gcb_h5chunk_check *c); /* zeroed is fine */

/* Would every chunk in the box of `count` elements at `start` (at a chunk's corner) unpack to its size?
 * Chunks that are not there are fine: they read as the fill value. */
bool gcb_h5chunk_check_box(struct gcb_h5chunk_check *c, const hsize_t *start, const hsize_t *count);

#endif
