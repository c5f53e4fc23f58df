#ifndef SRC_LIB_CODEC_METHOD_H
#define SRC_LIB_CODEC_METHOD_H

#include "src/lib/codec/codec.h"

/* The kinds of memory that a worker may have between steps (src/lib/memory/memory.h). */
enum gcb_memory_kind {
    GCB_MEMORY_NONE,
    GCB_MEMORY_EF,
    GCB_MEMORY_DGC,
    GCB_MEMORY_DELAY,
    GCB_MEMORY_DEMO,
    GCB_MEMORY_GMC,
    GCB_MEMORY_LOCO,
    GCB_MEMORY_EF21,
};

struct gcb_memory_params {
    int kind;        /* enum gcb_memory_kind */
    double decay;    /* ef: share of the residual that is kept */
    double momentum; /* dgc, delay, demo, gmc: factor of the momentum */
    int nesterov;    /* dgc: enum gcb_nesterov (kernels/memory/memory_elem.h) */
    int masking;     /* dgc, delay: the momentum of sent elements becomes 0 */
    int clears;      /* dgc: the residual of sent elements becomes 0 */
    double clip;     /* dgc: gradients are clipped to the norm clip / sqrt(workers); 0: never */
    uint64_t delay;  /* delay: number of steps that one message sums up */
    double average;  /* loco: share of earlier steps in the error */
    uint64_t clear_every; /* loco: steps after which the error becomes 0; 0: never */
};

/* The parameters of the memory, stored in struct gcb_memory_params. Every method has them. */
extern const struct gcb_param gcb_memory_table[];

/* What happens to the error of encoding sums, with collective=twoshot or hierarchical. */
enum gcb_second_error {
    GCB_SECOND_ERROR_FEEDBACK, /* the memory of the worker that encodes keeps it */
    GCB_SECOND_ERROR_DROP,
};

/* How the workers exchange their messages. */
struct gcb_exchange_params {
    int collective;   /* enum gcb_collective */
    int second_error; /* enum gcb_second_error */
    uint64_t inner;   /* hierarchical: workers of a node */
};

/* The parameters of the exchange, stored in struct gcb_exchange_params. Every method has them. */
extern const struct gcb_param gcb_exchange_table[];

/* Most parameters of a method: those of its codec, of the memory and of the exchange. */
#define GCB_MAX_METHOD_PARAMS (GCB_MAX_PARAMS + 20)

/*
 * A method as a user names it: a codec or a preset of a codec, with a value for each parameter. The
 * struct owns nothing: its pointers go to tables that stay until the process ends.
 *
 * A row is the number of a parameter. The rows of the codec's table come first, then those of
 * gcb_memory_table, then those of gcb_exchange_table.
 */
struct gcb_method {
    const char *name;
    const struct gcb_codec *codec;
    const struct gcb_preset *preset;     /* NULL: the codec itself */
    double value[GCB_MAX_METHOD_PARAMS]; /* by row */
    bool given[GCB_MAX_METHOD_PARAMS];   /* set by the user, not a default */
};

/* Returns the parameter of a row, or NULL after the last row. */
const struct gcb_param *gcb_method_param(const struct gcb_method *m, size_t row);

/* True if no device module has the method, whatever its parameters. A device may refuse parameters
 * of other methods too. */
static inline bool gcb_method_cpu_only(const struct gcb_method *m)
{
    return m->codec->cpu_only || (m->preset && m->preset->cpu_only);
}

/* Sets *out to method number i with its default values. The methods are the codecs, each followed
 * by its presets, without foreign methods. Returns false after the last. */
bool gcb_method_at(struct gcb_method *out, size_t i);

/*
 * Parses "name" or "name:key=value,key=value". Returns 0 or GCB_E_INVALID: NULL or another form, an
 * unknown method or key (the message suggests a similar name), a value out of range, a key given
 * twice, or what gcb_method_check refuses.
 */
int gcb_method_parse(struct gcb_method *out, const char *spec, struct gcb_diag *diag);
/* Like gcb_method_parse, but without gcb_method_check. For a caller that sets more parameters and
 * then calls gcb_method_check. */
int gcb_method_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag);
/* True if the full specs of both methods are equal. */
bool gcb_method_equal(const struct gcb_method *a, const struct gcb_method *b);

/* Returns the parameter with this name or complement, or NULL. */
const struct gcb_param *gcb_method_find(const struct gcb_method *m, const char *key);

/* Sets one parameter. The caller calls gcb_method_check after the last parameter. Returns 0 or
 * GCB_E_INVALID: an unknown key, a value out of range, or a key given twice. */
int gcb_method_set(struct gcb_method *m, const char *key, const char *value, struct gcb_diag *diag);
/* Checks the values together. Returns 0 or GCB_E_INVALID: a parameter that the user set has no
 * meaning with the other values, or the method cannot use its collective or these values. */
int gcb_method_check(const struct gcb_method *m, struct gcb_diag *diag);

/* Sets the parameters of `count` pairs (key, value, key, value, ...). Ignores pairs whose key the
 * method does not have or whose parameter has no meaning with the other values. used[i] becomes
 * true for each pair that is not ignored. The caller calls gcb_method_check afterwards. Returns 0,
 * or GCB_E_INVALID; then some parameters may have been set. */
int gcb_method_set_all(struct gcb_method *m, const char *const *pairs, size_t count, bool *used,
                       struct gcb_diag *diag);

/* Sets one parameter, even if it was set before, and checks the method. Returns 0 or GCB_E_INVALID;
 * then *m is unchanged. */
int gcb_method_change(struct gcb_method *m, const char *key, const char *value,
                      struct gcb_diag *diag);

/* Sets one parameter to a number, even if it was set before, but does not mark it as set by the
 * user. `key` is a name, not a complement. Returns 0, or GCB_E_INVALID if there is no such
 * parameter, the value is out of its range, or its values are not numbers. */
int gcb_method_assign(struct gcb_method *m, const char *key, double value, struct gcb_diag *diag);

/* True if the method has a parameter with this name that has a meaning with the other values.
 * Then *value becomes the parameter's value, unless `value` is NULL. */
bool gcb_method_value(const struct gcb_method *m, const char *key, double *value);

/* True if the parameter of this row has a meaning with the other values. */
bool gcb_method_applies(const struct gcb_method *m, size_t row);
/* True if the parameter is shown in a full spec. It is shown if it has a meaning and more than one
 * possible value. But memory=none and the collective are shown only if the user set them. */
bool gcb_method_shows(const struct gcb_method *m, size_t row);

/* Copies the parameters of the memory. Those that have no meaning with its kind become 0. */
void gcb_method_memory(struct gcb_memory_params *out, const struct gcb_method *m);
/* Copies the parameters of the memory for a tensor of `count` elements. `masking` and `clears`
 * become 0 if the method's messages leave no elements out (`selects` in struct gcb_codec). */
void gcb_method_memory_for(struct gcb_memory_params *out, const struct gcb_method *m,
                           uint64_t count);
/* Removes the memory, for callers whose messages do not belong to consecutive steps. Returns true
 * if the user had set a parameter of the memory. */
bool gcb_method_forget(struct gcb_method *m);
/* Copies the memory's parameters from `from` to m, and which of them the user set. */
void gcb_method_take_memory(struct gcb_method *m, const struct gcb_method *from);

/* The collectives that the method can use with these values, as GCB_COLLECTIVE_BITs. */
unsigned gcb_method_collectives(const struct gcb_method *m);
/* The names by enum gcb_collective; NULL ends them. */
extern const char *const gcb_collective_names[];
/* Copies the parameters of the exchange, even those without effect, such as `inner` without
 * collective=hierarchical. The collective in use may differ from out->collective: see
 * gcb_method_collective. */
void gcb_method_exchange(struct gcb_exchange_params *out, const struct gcb_method *m);
/* Returns the number of workers of a node: the parameter `inner` with collective=hierarchical, but
 * at most `workers`. With other collectives returns `workers`. */
unsigned gcb_method_node(const struct gcb_method *m, unsigned workers);
/* Returns the collective that the user set, or else the default of the preset or the codec. If the
 * parameters do not allow the default, returns allgather. */
enum gcb_collective gcb_method_collective(const struct gcb_method *m);
/* True if the user set the collective. */
bool gcb_method_gives_collective(const struct gcb_method *m);

/* The capabilities (enum gcb_caps) of the method with these values. */
unsigned gcb_method_caps(const struct gcb_method *m);

enum gcb_spec_style {
    GCB_SPEC_LABEL, /* the main parameters and those that the user set: "fft:theta=0.8,bits=10" */
    GCB_SPEC_GIVEN, /* only the parameters that the user set */
    GCB_SPEC_FULL,  /* all parameters that gcb_method_shows shows */
};
/* Writes a spec that gcb_method_parse reads, cut to `size` bytes. Returns out. */
char *gcb_method_spec(char *out, size_t size, const struct gcb_method *m,
                      enum gcb_spec_style style);

/* Writes the full spec of a spec. So the specs of older versions, which lack newer parameters, can
 * be compared with specs of this version. A spec that gcb_method_parse refuses is copied. Returns
 * out. */
char *gcb_method_complete(char *out, size_t size, const char *spec);

/* Writes the short label of a spec: the main parameters, and those that differ from the method's
 * defaults. A spec that gcb_method_parse refuses is copied. Returns out. */
char *gcb_method_label(char *out, size_t size, const char *spec);

/* The preset's text, or the codec's if there is no preset. */
const char *gcb_method_source(const struct gcb_method *m);
const char *gcb_method_guarantee(const struct gcb_method *m);
const char *gcb_method_summary(const struct gcb_method *m);

#endif
