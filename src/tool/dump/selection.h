#ifndef SRC_TOOL_DUMP_SELECTION_H
#define SRC_TOOL_DUMP_SELECTION_H

#include "src/tool/dump/source.h"

/* first, first + stride, ... up to last. */
struct gcb_number_range {
    uint64_t first, last, stride;
    bool met; /* a number of the dump fell into it */
};

/* Parsed form of --step or --worker: "all", or ranges and perhaps "last". Zeroed accepts nothing. */
struct gcb_numbers {
    struct gcb_number_range *ranges;
    size_t count, cap;
    bool all;
    bool last;
};

/*
 * Parses "all", "N", "A-B", "A-B/STRIDE", "last" (if `may_last`) or a list of them behind commas; NULL is
 * "all". `option` is the name for words ("--step"). GCB_E_INVALID, GCB_E_NOMEM; *out is zeroed then.
 */
int gcb_numbers_parse(struct gcb_numbers *out, const char *text, const char *option, bool may_last,
                      struct gcb_diag *diag);
void gcb_numbers_fini(struct gcb_numbers *s); /* zeroed is fine */

/* Does it accept n? "last" is not looked at: the caller knows the greatest number only at the end. Marks the
 * ranges that n falls into as met. */
bool gcb_numbers_accepts(struct gcb_numbers *s, uint64_t n);

/* A number that was asked for by itself and never met; false when there is none. */
bool gcb_numbers_missed(const struct gcb_numbers *s, uint64_t *n);

/* Do the globs of a selection accept this path? */
bool gcb_selection_accepts(const struct gcb_tensor_selection *selection, const char *path);

/* Sets met[i] of every glob that matches this path; `include` before `exclude`. */
void gcb_selection_meet(const struct gcb_tensor_selection *selection, const char *path, bool *met);

#endif
