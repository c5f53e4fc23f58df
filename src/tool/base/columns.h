#ifndef SRC_TOOL_BASE_COLUMNS_H
#define SRC_TOOL_BASE_COLUMNS_H

#include <stddef.h>

/* Returns the number of columns that a UTF-8 text takes on a terminal. The number is an estimate
 * for some rare characters, and if the text is not valid UTF-8. */
size_t gcb_text_columns(const char *text);

/*
 * Finds the middle part to leave out of a text, so that at most `keep` columns stay. The part
 * before the middle has at most `front` columns and ends at *head; the part after the middle begins
 * at *tail. If the text has at most `keep` columns, *tail is *head. `front` is at most `keep`. No
 * code point is split.
 */
void gcb_text_cut(const char *text, size_t keep, size_t front, const char **head,
                  const char **tail);

/*
 * Breaks a text of `bytes` bytes after a comma, so that the first line has at most `width` columns.
 * Returns the number of bytes of the longest such line. If the text up to and including the first
 * comma is too wide, the line ends after the first comma. Returns `bytes` if the text fits or has
 * no comma.
 */
size_t gcb_text_break(const char *text, size_t bytes, size_t width);

/*
 * Copies a text to `out` (size bytes, always terminated). If the text has more than `width` columns
 * or does not fit into `out`, ".." replaces its middle: "laye..weight". The last part is the longer
 * one, because the end of a path tells more. Returns out.
 */
char *gcb_text_shorten(char *out, size_t size, const char *text, size_t width);

#endif
