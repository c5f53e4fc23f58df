#ifndef SRC_TOOL_PAGE_HTML_H
#define SRC_TOOL_PAGE_HTML_H

#include <stdbool.h>
#include <stdio.h>

/*
 * These functions print pieces of an HTML page. Write errors stay in the FILE (ferror).
 *
 * gcb_html_text prints a text so that a browser shows it as it is: markup and quotes are escaped, and control
 * characters, marks that reorder text and invalid bytes become \xNN. The result is also safe in a quoted attribute.
 * NULL prints nothing.
 */
void gcb_html_text(FILE *out, const char *text);

/* Prints a text between two pieces of markup. A text of NULL prints nothing, not even the markup. */
void gcb_html_between(FILE *out, const char *before, const char *text, const char *after);

/* Prints a text as gcb_html_text does. The browser may break the line after ':' and ','. */
void gcb_html_name(FILE *out, const char *text);

/* Prints <name attributes>text</name> and a newline. `attributes` is markup, or NULL. */
void gcb_html_element(FILE *out, const char *name, const char *attributes, const char *text);

/* Begin and end a table that scrolls sideways on a narrow screen. `attributes` is "", or markup for <table> that starts
 * with a blank. */
void gcb_html_begin_table(FILE *out, const char *label, const char *attributes);
void gcb_html_end_table(FILE *out);

/*
 * Prints an <img> whose image is inside the page, in base64: `size` bytes of the media type `type`. A browser runs no
 * script in an <img> and loads nothing for it, even if the image asks for it.
 */
void gcb_html_image(FILE *out, const char *type, const void *image, size_t size, const char *alt);

/*
 * Print the head and the end of a document. The document loads nothing: its Content-Security-Policy allows only inline
 * styles, images inside the document, and the one script that gcb_html_end prints. `hash` names this script, such as
 * "sha256-47DE..."; a browser refuses every other script. `style` and `script` are lines that end with NULL.
 */
void gcb_html_begin(FILE *out, const char *title, const char *const *style, const char *hash);
void gcb_html_end(FILE *out, const char *const *script);

#endif
