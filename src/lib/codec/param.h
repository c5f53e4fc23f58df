#ifndef SRC_LIB_CODEC_PARAM_H
#define SRC_LIB_CODEC_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"
#include "src/lib/wire/buf.h"

/*
 * The one table behind a codec's tunables: parsing, range checks, help, report labels, what the header
 * of a message carries and the docs all come from it. A table ends with a row without a name.
 */
enum gcb_param_type {
    GCB_PARAM_REAL,   /* stored as double */
    GCB_PARAM_INT,    /* stored as uint64_t */
    GCB_PARAM_SIZE,   /* as INT, takes K, M, G */
    GCB_PARAM_CHOICE, /* stored as int, an index into choices */
};

enum gcb_param_flags {
    GCB_PARAM_WIRE = 1,     /* the decoder needs it: part of the message header */
    GCB_PARAM_LABEL = 2,    /* always shown in a short label */
    GCB_PARAM_OPEN_MAX = 4, /* max itself is not allowed */
};

/* What more of a parameter does to a message: nothing that can be told, a longer and better one, or a shorter
 * and worse one. The first row that has a rate and a meaning is what a method is tuned by. */
enum gcb_rate { GCB_RATE_NONE, GCB_RATE_UP, GCB_RATE_DOWN };

struct gcb_param {
    const char *name;
    const char *help;
    enum gcb_param_type type;
    size_t offset; /* in the codec's state */
    double def, min, max;
    unsigned flags;
    const char *const *choices; /* CHOICE: ends with NULL */
    const char *complement[3];  /* REAL: other names, which set this to 1 - value; ends with NULL */
    /* "values=range|uniform": has a meaning only with these; several conditions are separated by ';', any
     * will do; NULL: always */
    const char *needs;
    enum gcb_rate rate;
};

#define GCB_MAX_PARAMS 24

/* Row named `name` or that has it as a complement (*complement set), or NULL. */
const struct gcb_param *gcb_param_find(const struct gcb_param *table, const char *name,
                                       bool *complement);
size_t gcb_param_count(const struct gcb_param *table);

/* Parses and range-checks one value; the words name the range or the choices. `name` is as the user wrote
 * it. */
int gcb_param_parse(double *out, const struct gcb_param *p, const char *name, const char *text,
                    struct gcb_diag *diag);

/* Text of a value as gcb_param_parse reads it; out has at least 40 bytes. Returns out. */
char *gcb_param_text(char *out, const struct gcb_param *p, double value);

/* Stores value[] (by row) into a state. */
void gcb_param_store(const struct gcb_param *table, const double *value, void *state);

/*
 * The WIRE rows in table order: REAL as 8 bytes (double), CHOICE as 1, INT and SIZE as 1, 2, 4 or 8, the
 * least that holds the row's max. Reading range-checks: GCB_E_CORRUPT. Rows that are not on the wire get
 * their defaults.
 */
void gcb_param_write(const struct gcb_param *table, const void *state, struct gcb_wbuf *out);
int gcb_param_read(const struct gcb_param *table, double *value, struct gcb_rbuf *in,
                   struct gcb_diag *diag);

#endif
