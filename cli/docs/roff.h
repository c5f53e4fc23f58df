#ifndef CLI_DOCS_ROFF_H
#define CLI_DOCS_ROFF_H

#include <stdio.h>

/*
 * Text as man(7) source. A reader sees exactly the text: no line of it becomes a request, no character an escape, and
 * `-` is the character that a shell understands. Lines have at most 80 bytes unless a word is longer.
 */

/* Prints one filled paragraph; text in `backticks` is bold. Ends the line. */
void roff_text(FILE *out, const char *text);

/* Prints the lines of an example unchanged. */
void roff_literal(FILE *out, const char *lines);

/* Prints a roff request with one argument: `.SH "EXIT STATUS"`. */
void roff_request(FILE *out, const char *request, const char *argument);

/* Prints escaped text in a line that the caller has begun. */
void roff_inline(FILE *out, const char *text);

/* Prints a command line: options in bold, UPPER-CASE words in italics. Ends the line. */
void roff_synopsis(FILE *out, const char *usage);

#endif
