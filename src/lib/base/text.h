#ifndef SRC_LIB_BASE_TEXT_H
#define SRC_LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies `s` into out (size bytes, always terminated, cut with "..." if too long) with control
 * characters, DEL, backslashes and bytes that are not valid UTF-8 written as \xNN, so that a name
 * from a file cannot steer a terminal. Returns out.
 */
char *gcb_escape(char *out, size_t size, const char *s);

/* Writes what stands for the character (or stray byte) at *s, without an end, and moves *s behind it. Returns its
 * length. */
size_t gcb_escape_one(char piece[8], const char **s);

/* Whole-string numbers, independent of the locale. Return false on anything else, overflow included. */
bool gcb_parse_real(const char *s, double *out);
bool gcb_parse_u64(const char *s, uint64_t *out);
/* A count or size with an optional K, M, G or T (1024-based) behind it: "25M", "1.5G". */
bool gcb_parse_size(const char *s, uint64_t *out);

/* The name among `names` (count of them, NULL entries skipped) closest to `word` by edit distance, or
 * NULL when none is near enough to suggest. */
const char *gcb_suggest(const char *word, const char *const *names, size_t count);

/* Does `name` match a glob in which * crosses '/', ? is one byte, [..] a class, \ quotes? */
bool gcb_glob(const char *pattern, const char *name);

/* Shortest decimal text that reads back as the same double ("0.8", "1e-05"), independent of the
 * locale. `out` has at least 32 bytes. Returns out. */
char *gcb_real_text(char *out, double value);

#endif
