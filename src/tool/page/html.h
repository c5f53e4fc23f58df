#ifndef SRC_TOOL_PAGE_HTML_H
#define SRC_TOOL_PAGE_HTML_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Pieces of a page of HTML. Write errors stay in the FILE.
 *
 * Any text is shown as it is: markup and quotes are escaped, and control characters, marks that reorder text and
 * invalid bytes stand as \xNN. Also for attributes in "quotes". NULL: nothing.
 */
void gcb_html_text(FILE *out, const char *text);

/* The text between two pieces of markup; NULL: nothing, not even the markup. */
void gcb_html_between(FILE *out, const char *before, const char *text, const char *after);

/* The same as gcb_html_text, and a line may end after ':' and ','. */
void gcb_html_name(FILE *out, const char *text);

/* <name>text</name>, with `attributes` (markup, or NULL), and a newline. */
void gcb_html_element(FILE *out, const char *name, const char *attributes, const char *text);

/* A table that scrolls sideways on a narrow screen; `attributes`: markup of <table>, with a blank in front, or "". */
void gcb_html_begin_table(FILE *out, const char *label, const char *attributes);
void gcb_html_end_table(FILE *out);

/*
 * <img>, with the image inside of the page: `size` bytes of the media type `type`, in base64. A browser runs no script
 * of an <img> and loads nothing for it, even if the image asks for it.
 */
void gcb_html_image(FILE *out, const char *type, const void *image, size_t size, const char *alt);

/*
 * The head and the end of a document. It loads nothing and runs nothing: its Content-Security-Policy allows only inline
 * styles and images inside of the document.
 */
void gcb_html_begin(FILE *out, const char *title, const char *style);
void gcb_html_end(FILE *out);

#endif
