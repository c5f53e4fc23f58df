#ifndef SRC_TOOL_SUITE_SUITE_H
#define SRC_TOOL_SUITE_SUITE_H

#include <jansson.h>
#include <stdbool.h>

#include "src/tool/base/data.h"
#include "src/tool/read/layout.h"

/*
 * A suite says what `bench` measures: methods, scopes, devices, threads, caches, and how precisely. docs/suites.md
 * describes the JSON. A file is untrusted: a missing field has its default, a wrong one is an error that names it.
 */
#define GCB_SUITE_THREADS 16
#define GCB_SUITE_DEVICES 8
#define GCB_SUITE_INPUTS 64

enum gcb_cache { GCB_CACHE_WARM, GCB_CACHE_COLD, GCB_CACHES };
extern const char *const gcb_cache_names[]; /* ends with NULL */

/* An entry of `inputs` with a name or a file, or neighbouring entries without: what a case measures together. */
struct gcb_suite_input {
    const char *name;    /* the `file` of its rows */
    const char *file;    /* a dump; NULL: synthetic tensors */
    size_t first, count; /* indices of the synthetic tensors in `tensors` */
};

struct gcb_suite {
    json_t *json;         /* owns the texts below; NULL: they are static */
    char *folder;         /* of the suite's file, with the last '/'; NULL: a shipped suite */
    const char *name;     /* NULL: no suite, the defaults */
    const char **methods; /* method_count specs; none: all methods with default parameters */
    size_t method_count;
    const char *nearer_than; /* the method that the others are compared with; NULL: none */
    enum gcb_scope scopes[3];
    size_t scope_count;
    const char *devices[GCB_SUITE_DEVICES];
    size_t device_count;
    int threads[GCB_SUITE_THREADS];
    size_t thread_count;
    enum gcb_cache caches[GCB_CACHES];
    size_t cache_count;
    unsigned warmup;      /* runs that are not timed */
    unsigned repeat;      /* 0: until the precision is reached */
    double min_time;      /* least seconds of a measurement; 0: no limit */
    double max_time;      /* most seconds of a measurement; 0: no limit */
    double precision;     /* 0: the default */
    double time_budget;   /* seconds for the whole suite; 0: the default */
    unsigned max_samples; /* 0: the default */
    struct gcb_suite_input inputs[GCB_SUITE_INPUTS]; /* used if no file is given */
    size_t input_count;
    struct gcb_source_synthetic tensors[GCB_SUITE_INPUTS]; /* of all inputs */
    size_t tensor_count;
};

/* Sets the defaults: one scope, device, thread and cache, no method, no input. */
void gcb_suite_init(struct gcb_suite *s);
void gcb_suite_fini(struct gcb_suite *s);

/*
 * Reads a suite: from a file if `name` contains a '/' or ends in ".json", otherwise the shipped suite `name` ("quick").
 * GCB_E_IO: the file cannot be read; GCB_E_INVALID: there is no such suite, or it is not as docs/suites.md describes.
 * *s must be released with gcb_suite_fini on success and on failure.
 */
int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag);
/* Reads a suite from memory. `name` is for error messages. */
int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag);

/*
 * Writes the path of an input's file: in the folder of the suite, or else, and for a shipped suite, in gcbench's own folder of
 * datasets. Returns false if neither has it; out is then the last path tried.
 */
bool gcb_suite_find(char out[GCB_DATA_PATH], const struct gcb_suite *s, const char *file);

/* The shipped suites: datasets/suites, compiled into the program. */
struct gcb_suite_text {
    const char *name, *text;
};
extern const struct gcb_suite_text gcb_suite_texts[]; /* ends with a NULL name */

#endif
