#ifndef CLI_DOCS_ROFF_H
#define CLI_DOCS_ROFF_H

#include <stdio.h>

/*
 * Text as man(7) source. Whatever it holds, it arrives as it is: no line of it is a request, no character of it
 * an escape, and `-` is the character that a shell understands. Lines stay under 80 bytes where words allow it.
 */

/* One paragraph, filled; what stands in `backticks` is bold. Ends the line. */
void roff_text(FILE *out, const char *text);

/* Lines as they stand: an example. */
void roff_literal(FILE *out, const char *lines);

/* A request with one argument: `.SH "EXIT STATUS"`. */
void roff_request(FILE *out, const char *request, const char *argument);

/* Escaped, within a line that the caller writes; not for its beginning. */
void roff_inline(FILE *out, const char *text);

/* A call with its options in bold and its UPPER-CASE words in italics. Ends the line. */
void roff_synopsis(FILE *out, const char *usage);

#endif
