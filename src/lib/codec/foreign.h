#ifndef SRC_LIB_CODEC_FOREIGN_H
#define SRC_LIB_CODEC_FOREIGN_H

#include "src/gcbench.h"
#include "src/lib/codec/codec.h"

/*
 * Methods that are not of this library: struct gcb_own_method of src/gcbench.h. Each is a codec, so
 * coders, memories, sums and exchanges work with it. Its name has a '/', so it is no method of
 * gcbench. Its messages have a wire id from GCB_WIRE_FOREIGN on, in the order in which the methods
 * were added, and a number in the header that depends on name and parameters. A process that
 * decodes them must have added the same methods in the same order.
 */
#define GCB_WIRE_FOREIGN 240
#define GCB_MOST_FOREIGN 15 /* most methods with functions in a process */

struct gcb_foreign {
    struct gcb_own_method own; /* its functions are NULL if rows only name the method */
    /* Decodes the message also in the process that encoded it. Returns GCB_E_UNVERIFIED if the
     * elements differ from those of own.decode. Never timed. NULL: not checked. */
    int (*check)(void *ctx, const void *message, size_t length, uint64_t n, struct gcb_diag *diag);
    /* what the times of rows include (GCB_FIELD_TIMED), a static text; NULL: only the call */
    const char *timed;
};

/* Adds a method, and copies its name and parameters. If a method with the same name and parameters
 * was added before, *out is its codec, and new functions replace its functions. But a method
 * that was added without functions never gets any: the method with functions is added beside it.
 * *out stays valid until the process ends. Not thread-safe. Returns 0; GCB_E_INVALID: a name
 * without '/', or a name or parameters that are too long or have other characters than specs have;
 * GCB_E_UNSUPPORTED: too many methods; GCB_E_NOMEM. */
int gcb_foreign_add(const struct gcb_codec **out, const struct gcb_foreign *foreign,
                    struct gcb_diag *diag);

/* Returns the codec whose name and parameters begin the spec, and sets *rest to what follows them.
 * If there are several, returns the one with the longest parameters; if there is none, NULL. */
const struct gcb_codec *gcb_foreign_find(const char *spec, const char **rest);

/* Returns the codec that was added with this wire id, or NULL. */
const struct gcb_codec *gcb_foreign_by_wire_id(uint8_t wire_id);

#endif
