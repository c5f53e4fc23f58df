#ifndef SRC_TOOL_PAGE_SVG_H
#define SRC_TOOL_PAGE_SVG_H

#include <stdio.h>

#include "src/lib/base/diag.h"

/*
 * Puts an SVG document, from <svg on, into a page of HTML. Only drawing passes: elements and attributes that this
 * file knows, no scripts, no handlers, no links but those to its own parts, nothing loaded. Every id gets
 * `prefix` (letters, digits, dashes) in front, so that several drawings can stand in one page.
 *
 * GCB_E_CORRUPT where anything else is in it, with words; what was written until then has to be thrown away.
 */
int gcb_svg_inline(FILE *out, const char *svg, const char *prefix, const char *title,
                   struct gcb_diag *diag);

#endif
