#ifndef SRC_LIB_BASE_DIAG_H
#define SRC_LIB_BASE_DIAG_H

#include "src/lib/base/status.h"

/*
 * Stores `status` and a message of one line (printf style), cut to GCB_DIAG_TEXT bytes, and returns
 * `status`. So a failing function can write `return gcb_diag_set(diag, GCB_E_IO, "%s: %s", path,
 * why);`. diag may be NULL. Names that come from files must go through gcb_escape first
 * (src/lib/base/text.h).
 */
int gcb_diag_set(struct gcb_diag *diag, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like gcb_diag_set with GCB_E_INVALID. For wrong values that a user or a caller gave. */
int gcb_invalid(struct gcb_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns GCB_E_NOMEM, with the message "out of memory (BYTES bytes for WHAT)". If `bytes` is 0,
 * the number is unknown, and the message leaves it out. */
int gcb_diag_nomem(struct gcb_diag *diag, uint64_t bytes, const char *what);

/* For pointers from callers of public functions: returns 0, or GCB_E_INVALID with the message "WHAT
 * is NULL". */
int gcb_need(const void *pointer, const char *what, struct gcb_diag *diag);
/* Like gcb_need, for two pointers: the message names the first that is NULL. */
int gcb_need_both(const void *first, const char *what, const void *second, const char *what_else,
                  struct gcb_diag *diag);

#endif
