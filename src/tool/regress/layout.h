#ifndef SRC_TOOL_REGRESS_LAYOUT_H
#define SRC_TOOL_REGRESS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * Links a program again, with its object files in a random order and random padding between them.
 * The machine code of each function stays the same, but the functions have other addresses. That
 * alone can change the time of a tight loop by 10 % or more (Mytkowicz, Diwan, Hauswirth, Sweeney:
 * "Producing wrong data without doing anything obviously wrong", ASPLOS 2009). A comparison of
 * builds that varies the layout does not blame such a change on the code.
 *
 * The program must have been linked by ninja, and its build folder must still be there, because
 * ninja knows the link command.
 */
struct gcb_layout;

/*
 * Finds out how the program at `exe` was linked, and links it once as a trial. `program`: a path
 * for the new program; files beside it have names that begin with it. gcb_layout_close removes them
 * all. `stop` (may be NULL) is asked several times a second whether to end; its argument is NULL.
 * The caller owns *out, also after a failure. GCB_E_UNSUPPORTED: the program cannot be linked
 * again, and the message says why. GCB_E_IO: stopped. GCB_E_NOMEM.
 */
int gcb_layout_open(struct gcb_layout **out, const char *exe, const char *program,
                    bool (*stop)(void *ctx), struct gcb_diag *diag);

/* Links the program into gcb_layout_path, over the program that was there before. Equal seeds
 * give equal layouts. GCB_E_UNSUPPORTED: the linker failed. GCB_E_IO: stopped. GCB_E_NOMEM. */
int gcb_layout_link(struct gcb_layout *l, uint64_t seed, struct gcb_diag *diag);

/* Path of the linked program. */
const char *gcb_layout_path(const struct gcb_layout *l);

void gcb_layout_close(struct gcb_layout *l); /* NULL is fine */

#endif
