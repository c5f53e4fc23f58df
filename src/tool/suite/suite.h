#ifndef SRC_TOOL_SUITE_SUITE_H
#define SRC_TOOL_SUITE_SUITE_H

#include <jansson.h>
#include <stdbool.h>

#include "src/tool/dump/layout.h"

/*
 * What `bench` is to measure, as data: methods, scopes, devices, threads, caches, and how well (docs/suites.md
 * has the JSON). A file is untrusted: what it does not say is a default, what it says wrongly is an error that
 * names the field.
 */
#define GCB_SUITE_THREADS 16
#define GCB_SUITE_DEVICES 8
#define GCB_SUITE_INPUTS 64

enum gcb_cache { GCB_CACHE_WARM, GCB_CACHE_COLD, GCB_CACHES };
extern const char *const gcb_cache_names[]; /* ends with NULL */

struct gcb_suite {
    json_t *json;         /* owns the texts below; NULL: they are static */
    const char *name;     /* NULL: no suite, the defaults */
    const char **methods; /* specs, method_count of them; none: all at their defaults */
    size_t method_count;
    enum gcb_scope scopes[3];
    size_t scope_count;
    const char *devices[GCB_SUITE_DEVICES];
    size_t device_count;
    int threads[GCB_SUITE_THREADS];
    size_t thread_count;
    enum gcb_cache caches[GCB_CACHES];
    size_t cache_count;
    int warmup;           /* -1: the default */
    unsigned repeat;      /* 0: as the timings call for */
    double min_time;      /* seconds for each measurement, at least; 0: none */
    double max_time;      /* seconds for each, at most; 0: none */
    double precision;     /* 0: the default */
    double time_budget;   /* seconds for all; 0: the default */
    unsigned max_samples; /* 0: the default */
    struct gcb_source_synthetic inputs[GCB_SUITE_INPUTS]; /* where no file is given */
    size_t input_count;
};

/* One scope, device, thread and cache, no method, no input. */
void gcb_suite_init(struct gcb_suite *s);
void gcb_suite_fini(struct gcb_suite *s);

/*
 * Reads a suite by the name of a shipped one ("quick"), or from a file (what has a '/' or ends in ".json").
 * GCB_E_IO: cannot be read; GCB_E_INVALID: no such suite, or not what docs/suites.md describes. *s is
 * initialised by it, and to be released in every case.
 */
int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag);
/* The same from memory; `name` is for the words. */
int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag);

/* Suites that are part of the program: the files of datasets/suites. */
struct gcb_suite_text {
    const char *name, *text;
};
extern const struct gcb_suite_text gcb_suite_texts[]; /* ends with a NULL name */

#endif
