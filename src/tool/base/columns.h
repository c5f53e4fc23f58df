#ifndef SRC_TOOL_BASE_COLUMNS_H
#define SRC_TOOL_BASE_COLUMNS_H

#include <stddef.h>

/* Columns that a UTF-8 text takes on a terminal. A stray byte takes one. */
size_t gcb_text_columns(const char *text);

/*
 * Cuts a text of more than `keep` columns in its middle: the first part, of at most `front` columns, ends at
 * *head; the last, with what is left of `keep`, begins at *tail. No character is cut in two.
 */
void gcb_text_cut(const char *text, size_t keep, size_t front, const char **head,
                  const char **tail);

/* A copy in out (size bytes, always terminated). A text that is longer than `width` columns, or than out, loses its
 * middle: "laye..weight"; the end of a path tells more than its beginning, so more of it is kept. Returns out. */
char *gcb_text_shorten(char *out, size_t size, const char *text, size_t width);

#endif
