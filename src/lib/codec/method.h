#ifndef SRC_LIB_CODEC_METHOD_H
#define SRC_LIB_CODEC_METHOD_H

#include "src/lib/codec/codec.h"
#include "src/lib/codec/memory_params.h"

/*
 * A method as a user names it: a codec, or a preset over one, with parameter values, and the memory that
 * stands around its coders where messages follow each other (src/lib/memory/memory.h). Plain data, no
 * ownership: names point into static tables.
 *
 * Rows count through the codec's table and on through gcb_memory_table.
 */
#define GCB_MAX_METHOD_PARAMS (GCB_MAX_PARAMS + 8)

struct gcb_method {
    const char *name;
    const struct gcb_codec *codec;
    const struct gcb_preset *preset;     /* NULL: the codec itself */
    double value[GCB_MAX_METHOD_PARAMS]; /* by row */
    bool given[GCB_MAX_METHOD_PARAMS];   /* set by the user, not a default */
};

/* A row, or NULL past the last. */
const struct gcb_param *gcb_method_param(const struct gcb_method *m, size_t row);

/* The i-th method in listing order (codecs, each followed by its presets) at its defaults; false past the
 * end. */
bool gcb_method_at(struct gcb_method *out, size_t i);

/*
 * Parses "name" or "name:key=value,key=value". GCB_E_INVALID with words: unknown method or key (with a
 * suggestion), a value out of range, a key given twice, a key that has no meaning with the others.
 */
int gcb_method_parse(struct gcb_method *out, const char *spec, struct gcb_diag *diag);
/* The same without the last kind of error, for a caller that sets more and then calls gcb_method_check. */
int gcb_method_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag);
/* Takes back a parameter, to what it was before, if it has no meaning with the others; returns whether it
 * had none. */
bool gcb_method_withdraw(struct gcb_method *m, const struct gcb_method *before, const char *key);

/* Has the method a parameter of this name (or complement)? */
bool gcb_method_has(const struct gcb_method *m, const char *key);

/* Sets one parameter as parse does. Call gcb_method_check after the last one. */
int gcb_method_set(struct gcb_method *m, const char *key, const char *value, struct gcb_diag *diag);
int gcb_method_check(const struct gcb_method *m, struct gcb_diag *diag);

/* Sets one parameter to a number, whether it was given before or not; `key` is a row's own name. GCB_E_INVALID: no
 * such row, or out of its range. */
int gcb_method_assign(struct gcb_method *m, const char *key, double value, struct gcb_diag *diag);

/* Has it a row of this name that has a meaning with the other values? *value (may be NULL) is the row's. */
bool gcb_method_value(const struct gcb_method *m, const char *key, double *value);

/* Does parameter row i have a meaning with the other values? */
bool gcb_method_applies(const struct gcb_method *m, size_t row);
/* Is it part of what describes the method: does it apply, and is there a memory to speak of? */
bool gcb_method_shows(const struct gcb_method *m, size_t row);

/* The memory's parameters. */
void gcb_method_memory(struct gcb_memory_params *out, const struct gcb_method *m);
/* Where every message stands alone: takes the memory away. Returns whether the user had asked for one. */
bool gcb_method_forget(struct gcb_method *m);

/* enum gcb_caps of the method with these values. */
unsigned gcb_method_caps(const struct gcb_method *m);

enum gcb_spec_style {
    GCB_SPEC_LABEL, /* name, the main parameters and what the user gave: "fft:theta=0.8,bits=10" */
    GCB_SPEC_GIVEN, /* name and what the user gave */
    GCB_SPEC_FULL,  /* every parameter that has a meaning */
};
/* Writes the spec as gcb_method_parse reads it; cut to size. Returns out. */
char *gcb_method_spec(char *out, size_t size, const struct gcb_method *m,
                      enum gcb_spec_style style);

/* The short label of a spec, a full one for instance: the main parameters and what differs from the method's
 * defaults. A spec that this build does not know is its own label. Returns out. */
char *gcb_method_label(char *out, size_t size, const char *spec);

/* Source, guarantee and summary: the preset's own or the codec's. */
const char *gcb_method_source(const struct gcb_method *m);
const char *gcb_method_guarantee(const struct gcb_method *m);
const char *gcb_method_summary(const struct gcb_method *m);

#endif
