#ifndef SRC_CODEC_METHOD_H
#define SRC_CODEC_METHOD_H

#include "src/codec/codec.h"

/*
 * A method as a user names it: a codec, or a preset over one, with parameter values. Plain data, no
 * ownership: names point into static tables.
 */
struct gcb_method {
    const char *name;
    const struct gcb_codec *codec;
    const struct gcb_preset *preset; /* NULL: the codec itself */
    double value[GCB_MAX_PARAMS];    /* by row of the codec's table */
    bool given[GCB_MAX_PARAMS];      /* set by the user, not a default */
};

/* The i-th method in listing order (codecs, each followed by its presets) at its defaults; false past the
 * end. */
bool gcb_method_at(struct gcb_method *out, size_t i);

/*
 * Parses "name" or "name:key=value,key=value". GCB_E_INVALID with words: unknown method or key (with a
 * suggestion), a value out of range, a key given twice, a key that has no meaning with the others.
 */
int gcb_method_parse(struct gcb_method *out, const char *spec, struct gcb_diag *diag);

/* Has the method a parameter of this name (or complement)? */
bool gcb_method_has(const struct gcb_method *m, const char *key);

/* Sets one parameter as parse does. Call gcb_method_check after the last one. */
int gcb_method_set(struct gcb_method *m, const char *key, const char *value, struct gcb_diag *diag);
int gcb_method_check(const struct gcb_method *m, struct gcb_diag *diag);

/* Does parameter row i have a meaning with the other values? */
bool gcb_method_applies(const struct gcb_method *m, size_t row);

enum gcb_spec_style {
    GCB_SPEC_LABEL, /* name, the main parameters and what the user gave: "fft:theta=0.8,bits=10" */
    GCB_SPEC_FULL,  /* every parameter that has a meaning */
};
/* Writes the spec as gcb_method_parse reads it; cut to size. Returns out. */
char *gcb_method_spec(char *out, size_t size, const struct gcb_method *m,
                      enum gcb_spec_style style);

/* Source, bound and summary: the preset's own or the codec's. */
const char *gcb_method_source(const struct gcb_method *m);
const char *gcb_method_bound(const struct gcb_method *m);
const char *gcb_method_summary(const struct gcb_method *m);

#endif
