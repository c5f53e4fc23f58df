#ifndef SRC_LIB_BASE_TEXT_H
#define SRC_LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * Copies `s` to `out` (size bytes) and returns out. Control characters, characters that hide or
 * reorder text, backslashes and invalid UTF-8 become \xNN, so that a name from a file cannot send
 * commands to a terminal. A text that is too long is cut and ends with "...", as far as that fits.
 */
char *gcb_escape(char *out, size_t size, const char *s);

/* A text that gcb_escape wrote, for one message: gcb_invalid(diag, "%s: ...", gcb_show(s).text).
 * The text is valid until the end of the statement. */
struct gcb_shown {
    char text[256];
};
struct gcb_shown gcb_show(const char *s);

/* Puts "PATH: UNIT NUMBER: " before the message, or "PATH: " if the number is 0. The path is
 * escaped, and it is cut before the message is, because a message ends with what to do. Returns
 * `status`. */
int gcb_diag_locate(struct gcb_diag *diag, int status, const char *path, const char *unit,
                    uint64_t number);

/* Appends formatted text to the text in `out` (size bytes in all); what does not fit is cut.
 * Returns out. */
char *gcb_append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Works like gcb_escape, but keeps backslashes: for a text that should already be escaped but comes
 * from an untrusted place. */
char *gcb_escape_again(char *out, size_t size, const char *s);

/* Parse a text that consists only of a decimal number, in any locale. gcb_parse_u64 accepts only
 * digits. Return false for any other text and on overflow; *out is then unchanged. */
bool gcb_parse_real(const char *s, double *out);
bool gcb_parse_u64(const char *s, uint64_t *out);
/* Parses a count or size, optionally followed by a unit: K (or k), M, G or T, or KiB and so on, are
 * powers of 1024; KB and so on are powers of 1000: "25M", "1.4GB". A product with a unit is rounded
 * to a whole number; a number without a unit must be whole. Returns false for any other text, for a
 * number with a sign, and on overflow. */
bool gcb_parse_size(const char *s, uint64_t *out);

/* Returns the name that is closest to `word`, by edit distance, among `count` names (entries may be
 * NULL). Returns NULL if none is close enough to suggest. A word or name of more than 63 bytes is
 * close to nothing. */
const char *gcb_suggest(const char *word, const char *const *names, size_t count);

#define GCB_HINT 128 /* most bytes of a hint, with its final zero */

/* Writes "; did you mean '--topk'?" for the name that gcb_suggest returns, with `dashes` before it.
 * If gcb_suggest returns NULL, writes the text `otherwise`. Returns out. */
char *gcb_hint(char out[GCB_HINT], const char *word, const char *dashes, const char *const *names,
               size_t count, const char *otherwise);

/* Sets *out to the index of `text` among `choices`, which end with NULL. Returns 0, or
 * GCB_E_INVALID if `text` is none of them. The message then begins with `dashes` and `name`, and
 * lists the choices. */
int gcb_choose(int *out, const char *dashes, const char *name, const char *const *choices,
               const char *text, struct gcb_diag *diag);

/* True if `names`, a list such as "a, b", has the name `name`. */
bool gcb_lists(const char *names, const char *name);

/* True if `name` matches the glob pattern. * matches any bytes, also '/'; ? matches one byte; [..]
 * is a class, and [!..] or [^..] its complement; \ outside a class makes the next byte literal. */
bool gcb_glob(const char *pattern, const char *name);

/* Writes the decimal text with the fewest digits that reads back as the same double ("0.8",
 * "1e-05"), in any locale. Whole numbers below 1e15 have no exponent ("100000"). `out` has at least
 * 32 bytes. Returns out. */
char *gcb_real_text(char *out, double value);

#endif
