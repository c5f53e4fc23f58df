#ifndef SRC_TOOL_BASE_COLUMNS_H
#define SRC_TOOL_BASE_COLUMNS_H

#include <stddef.h>

/* The number of columns that a UTF-8 text takes on a terminal. An invalid byte takes one. */
size_t gcb_text_columns(const char *text);

/*
 * Cuts a text of more than `keep` columns in its middle. The first part, of at most `front` columns, ends at *head; the last
 * part begins at *tail, and both together take at most `keep` columns. Characters are not split.
 */
void gcb_text_cut(const char *text, size_t keep, size_t front, const char **head,
                  const char **tail);

/* Copies a text to `out` (size bytes, always terminated). If it is longer than `width` columns, or than `out`, its middle is
 * replaced: "laye..weight". More is kept of the end, which says more in a path. Returns out. */
char *gcb_text_shorten(char *out, size_t size, const char *text, size_t width);

#endif
