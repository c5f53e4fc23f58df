#ifndef SRC_TOOL_READ_SELECTION_H
#define SRC_TOOL_READ_SELECTION_H

#include "src/tool/read/source.h"

/* The numbers first, first + stride, first + 2 stride and so on, up to last. */
struct gcb_number_range {
    uint64_t first, last, stride;
    bool met; /* a number in the dump is in the range */
};

/* The parsed value of --step or --worker: "all", or ranges and perhaps "last". A zeroed struct accepts no number. */
struct gcb_numbers {
    struct gcb_number_range *ranges;
    size_t count, cap;
    bool all;
    bool last;
};

/*
 * Parses "all", or a comma-separated list of "N", "A-B", "A-B/STRIDE" and, if `may_last`, "last". NULL means "all".
 * `option` is the option's name for messages ("--step"). Returns GCB_E_INVALID or GCB_E_NOMEM on failure, with *out
 * zeroed.
 */
int gcb_numbers_parse(struct gcb_numbers *out, const char *text, const char *option, bool may_last,
                      struct gcb_diag *diag);
void gcb_numbers_fini(struct gcb_numbers *s); /* a zeroed struct is allowed */

/* Is n in `s`? Ignores "last", which only the caller can resolve. */
bool gcb_numbers_contain(const struct gcb_numbers *s, uint64_t n);

/* Marks the ranges that contain n, a number in the dump, as met. */
void gcb_numbers_meet(struct gcb_numbers *s, uint64_t n);

/* Finds an "N" of the list that gcb_numbers_meet never saw. Returns false if it saw every "N". */
bool gcb_numbers_missed(const struct gcb_numbers *s, uint64_t *n);

/* Do the globs of the selection accept this path? */
bool gcb_selection_accepts(const struct gcb_tensor_selection *selection, const char *path);

/* Does a glob of `exclude` match this path? */
bool gcb_selection_excludes(const struct gcb_tensor_selection *selection, const char *path);
/* Could the selection accept a path that begins with the group `path` and a slash? "" is the group of the worker. */
bool gcb_selection_reaches(const struct gcb_tensor_selection *selection, const char *path);

/* Sets met[i] if glob i matches this path. The globs of `include` are counted first, then the globs of `exclude`. */
void gcb_selection_meet(const struct gcb_tensor_selection *selection, const char *path, bool *met);

#endif
