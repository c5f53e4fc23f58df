#ifndef SRC_LIB_CODEC_PARAM_H
#define SRC_LIB_CODEC_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"
#include "src/lib/wire/buf.h"

/*
 * A table has a row (struct gcb_param) for each parameter of a codec, of the memory or of the
 * exchange. Parsing, range checks, help texts, labels in reports, the parameters in a message's
 * header and the documentation come from the table. A row without a name ends a table.
 */
enum gcb_param_type {
    GCB_PARAM_REAL,   /* stored as double */
    GCB_PARAM_INT,    /* stored as uint64_t */
    GCB_PARAM_SIZE,   /* stored as uint64_t; its text may have a unit, as for gcb_parse_size */
    GCB_PARAM_CHOICE, /* stored as int, an index into choices */
    GCB_PARAM_TILE,   /* stored as uint64_t; "none", "kernel", or "AxB" (gcb_tile_of) */
};

enum gcb_param_flags {
    GCB_PARAM_WIRE = 1,     /* the decoder needs it, so it is in the message's header */
    GCB_PARAM_LABEL = 2,    /* in a short label even if the user did not set it */
    GCB_PARAM_OPEN_MAX = 4, /* max itself is not allowed */
    /* With WIRE: in the header only if the value is not `absent`, after all other parameters. So
     * messages of encoders without this parameter stay valid. A decoder without it refuses messages
     * that have it. An added parameter is also in the header if a later added parameter is. */
    GCB_PARAM_ADDED = 8,
};

/* How a larger value changes a message. NONE: unknown. UP: the message becomes longer and more
 * accurate. DOWN: the message becomes shorter and less accurate. `sweep` tunes a method by its
 * first parameter that is UP or DOWN and has a meaning with the other values. */
enum gcb_rate { GCB_RATE_NONE, GCB_RATE_UP, GCB_RATE_DOWN };

struct gcb_param {
    const char *name;
    const char *help;
    enum gcb_param_type type;
    size_t offset;        /* of the field in the codec's state, or in the table's own struct */
    double def, min, max; /* the default, and the range of values */
    double absent;        /* GCB_PARAM_ADDED: the value if the header has none */
    unsigned flags;
    const char *const *choices; /* CHOICE: the names; NULL ends them */
    const char *complement[3]; /* REAL: names that set the parameter to 1 - value; NULL ends them */
    /* "values=range|uniform": the parameter has a meaning only with these values; "tile!=none":
     * only with others. '&' joins conditions that must all hold. ';' separates such groups, and at
     * least one group must hold. NULL: the parameter always has a meaning. */
    const char *needs;
    enum gcb_rate rate;
};

/* True if values are shown as text, not as numbers. */
static inline bool gcb_param_is_text(const struct gcb_param *p)
{
    return p->type == GCB_PARAM_CHOICE || p->type == GCB_PARAM_TILE;
}

/* Name, type and field of a row: {GCB_PARAM("bits", INT, struct range, bits), .help = ...}. */
#define GCB_PARAM(name_, type_, state, member) \
    .name = (name_), .type = GCB_PARAM_##type_, .offset = offsetof(state, member)

/* Values of GCB_PARAM_TILE: no tiles; the kernels of convolutions; tiles of at most so many rows
 * and columns. */
#define GCB_TILE_NONE 0
#define GCB_TILE_KERNEL 1
#define GCB_TILE_SIDE 128 /* most rows and columns */
static inline uint64_t gcb_tile_of(uint64_t rows, uint64_t cols)
{
    return rows << 16 | cols;
}
static inline uint64_t gcb_tile_rows(uint64_t tile)
{
    return tile == GCB_TILE_KERNEL ? GCB_TILE_SIDE : tile >> 16;
}
static inline uint64_t gcb_tile_cols(uint64_t tile)
{
    return tile == GCB_TILE_KERNEL ? GCB_TILE_SIDE : tile & 0xffff;
}

#define GCB_MAX_PARAMS 32 /* most rows of a codec's table */

/* In all functions `table` may be NULL: a table without rows. */

/* Returns the row with this name or complement, or NULL. */
const struct gcb_param *gcb_param_find(const struct gcb_param *table, const char *name);
/* Returns the number of rows. */
size_t gcb_param_count(const struct gcb_param *table);

/* Parses a value and checks its range. `name` is what the user wrote: the row's name or a
 * complement. Returns 0, or GCB_E_INVALID with a message that names the range or the choices; *out,
 * which the caller has set, is then unchanged. */
int gcb_param_parse(double *out, const struct gcb_param *p, const char *name, const char *text,
                    struct gcb_diag *diag);

#define GCB_PARAM_TEXT 40 /* most bytes of a value's text, with its final zero */

/* Writes a value as text that gcb_param_parse reads. `out` has at least GCB_PARAM_TEXT bytes.
 * Returns out. */
char *gcb_param_text(char *out, const struct gcb_param *p, double value);

/* Stores value[i] in the state's field for row i, for all rows. */
void gcb_param_store(const struct gcb_param *table, const double *value, void *state);

/*
 * Writes the parameters with GCB_PARAM_WIRE from a state to a message's header, in the order of the
 * table, then the added ones up to the last whose value is not `absent`. REAL takes 8 bytes
 * (double), CHOICE 1, others the least of 1, 2, 4 and 8 that holds the row's max. The lowest byte
 * comes first.
 */
void gcb_param_write(const struct gcb_param *table, const void *state, struct gcb_wbuf *out);
/*
 * Reads what gcb_param_write writes. value[i] becomes the value of row i: the default if the row is
 * never in a header (without GCB_PARAM_WIRE), and `absent` if it is an added parameter that is not
 * in this header. Returns 0. GCB_E_CORRUPT: a value is out of its range, the last added parameter
 * of the header has the value `absent`, or `in` has fewer or more bytes than the parameters.
 */
int gcb_param_read(const struct gcb_param *table, double *value, struct gcb_rbuf *in,
                   struct gcb_diag *diag);

#endif
