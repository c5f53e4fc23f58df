#ifndef SRC_LIB_CODEC_PARAM_H
#define SRC_LIB_CODEC_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "src/lib/base/diag.h"
#include "src/lib/wire/buf.h"

/*
 * The table of a codec's parameters. Parsing, range checks, help texts, labels in reports, the
 * parameters in a message's header and the documentation come from it. A row without a name ends a
 * table.
 */
enum gcb_param_type {
    GCB_PARAM_REAL,   /* stored as double */
    GCB_PARAM_INT,    /* stored as uint64_t */
    GCB_PARAM_SIZE,   /* stored as uint64_t; its text may have a unit K, M, G or T */
    GCB_PARAM_CHOICE, /* stored as int, an index into choices */
};

enum gcb_param_flags {
    GCB_PARAM_WIRE = 1,     /* the decoder needs it, so it is in the message's header */
    GCB_PARAM_LABEL = 2,    /* always shown in a short label */
    GCB_PARAM_OPEN_MAX = 4, /* max itself is not allowed */
    /* with WIRE: in the header only if it is not `absent`, after all others. The messages of
     * encoders that did not have the parameter stay valid, and decoders that do not know it refuse
     * the others */
    GCB_PARAM_ADDED = 8,
};

/* How a larger value changes a message. NONE: unknown. UP: the message becomes longer and more
 * accurate. DOWN: it becomes shorter and less accurate. To tune a method is to vary its first
 * parameter that is UP or DOWN and has a meaning with the other values. */
enum gcb_rate { GCB_RATE_NONE, GCB_RATE_UP, GCB_RATE_DOWN };

struct gcb_param {
    const char *name;
    const char *help;
    enum gcb_param_type type;
    size_t offset; /* offset of the field in the codec's state */
    double def, min, max;
    double absent; /* GCB_PARAM_ADDED: the value if the header has none */
    unsigned flags;
    const char *const *choices; /* CHOICE: the names; NULL ends them */
    const char *complement[3];  /* REAL: other names that set this to 1 - value; NULL ends them */
    /* "values=range|uniform": the parameter has a meaning only with these values. '&' joins
     * conditions that must all hold; ';' separates such groups, one of which must hold. NULL:
     * always */
    const char *needs;
    enum gcb_rate rate;
};

#define GCB_MAX_PARAMS 24

/* The row with this name or complement, or NULL. */
const struct gcb_param *gcb_param_find(const struct gcb_param *table, const char *name);
size_t gcb_param_count(const struct gcb_param *table);

/* Parses a value and checks its range. GCB_E_INVALID: the message names the range or the choices.
 * `name` is what the user wrote: the row's name or a complement. */
int gcb_param_parse(double *out, const struct gcb_param *p, const char *name, const char *text,
                    struct gcb_diag *diag);

/* Writes a value as text that gcb_param_parse reads. `out` has at least 40 bytes. Returns out. */
char *gcb_param_text(char *out, const struct gcb_param *p, double value);

/* Stores parameters in a state; value[i] belongs to row i of the table. */
void gcb_param_store(const struct gcb_param *table, const double *value, void *state);

/*
 * Write and read the rows with GCB_PARAM_WIRE, in the order of the table, at most one of them
 * GCB_PARAM_ADDED. REAL takes 8 bytes (double), CHOICE 1, INT and SIZE 1, 2, 4 or 8: the least that
 * holds the row's max. Reading sets the other rows to their
 * defaults, an added one to `absent`. GCB_E_CORRUPT: a value is out
 * of its range, or an added one is `absent`.
 */
void gcb_param_write(const struct gcb_param *table, const void *state, struct gcb_wbuf *out);
int gcb_param_read(const struct gcb_param *table, double *value, struct gcb_rbuf *in,
                   struct gcb_diag *diag);

#endif
