#ifndef SRC_TOOL_RUN_SUITE_H
#define SRC_TOOL_RUN_SUITE_H

#include <jansson.h>
#include <stdbool.h>

#include "src/tool/base/data.h"
#include "src/tool/read/layout.h"

/*
 * A suite says what `bench` measures: inputs, and values of options. docs/method.md describes the
 * JSON. A file is untrusted: a wrong field is an error that names the field.
 */
#define GCB_SUITE_INPUTS 64 /* most inputs, and most synthetic tensors of all inputs */

/* What a case measures together: an entry of the field `inputs` with a name or a file, or
 * neighbouring entries without a name and a file. */
struct gcb_suite_input {
    const char *name;    /* the `file` of its rows */
    const char *file;    /* a dump; NULL: synthetic tensors */
    size_t first, count; /* indices of the synthetic tensors in `tensors` */
};

struct gcb_suite {
    json_t *json;     /* the parsed suite; owns the strings below, except those in `numbers` */
    json_t *numbers;  /* the numbers among the values of options, as strings */
    char *folder;     /* folder of the suite's file, with the last '/'; NULL: a shipped suite */
    char file[128];   /* name of the file or the suite for messages; escaped */
    const char *name; /* NULL: no suite */
    /* the fields that are options: name and value of each pair, one after the other; a list has a
     * pair for each item */
    const char **pairs;
    size_t pair_count, pair_cap;
    struct gcb_suite_input inputs[GCB_SUITE_INPUTS]; /* used if the user gives no file */
    size_t input_count;
    struct gcb_source_synthetic tensors[GCB_SUITE_INPUTS]; /* those of all inputs */
    size_t tensor_count;
};

void gcb_suite_fini(struct gcb_suite *s); /* zeroed is fine */

/*
 * Reads a suite: from a file if `name` contains a '/' or ends in ".json", otherwise the shipped
 * suite `name` ("quick"). GCB_E_IO: the file cannot be read. GCB_E_INVALID: there is no such suite,
 * or it is not as docs/method.md describes. *s must be released with gcb_suite_fini on success and
 * on failure.
 */
int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag);
/* Reads a suite from memory. `name` is for error messages. Fails, and must be released, like
 * gcb_suite_load. */
int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag);

/*
 * Writes the path of an input's file. Looks in the folder of the suite's file, and then in
 * gcbench's own folder of datasets. For a shipped suite, looks only in the latter. Returns false if
 * no folder has the file; `out` is then the last path tried.
 */
bool gcb_suite_find(char out[GCB_DATA_PATH], const struct gcb_suite *s, const char *file);

/* The shipped suites: datasets/suites, compiled into the program. */
struct gcb_suite_text {
    const char *name, *text;
};
extern const struct gcb_suite_text gcb_suite_texts[]; /* ends with a NULL name */

#endif
