#ifndef SRC_TOOL_REGRESS_LAYOUT_H
#define SRC_TOOL_REGRESS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/*
 * Links a program again, with its object files in a random order and random padding between them.
 * The machine code of each function stays the same, but the functions have other addresses. Other
 * addresses alone can change the time of a tight loop by 10 % or more (Mytkowicz, Diwan, Hauswirth,
 * Sweeney: "Producing wrong data without doing anything obviously wrong", ASPLOS 2009). A
 * comparison of builds that varies the layout does not take such a change for a change of the code.
 *
 * The program must have been linked by ninja, and its build folder must still be there. The link
 * command comes from ninja.
 */
struct gcb_layout;

/*
 * Finds out how the program at `exe` was linked, and links it once as a trial. `program` is the
 * path of the new program. Temporary files are beside it, and their names begin with its name.
 * gcb_layout_close removes all these files. `stop` may be NULL; it is called several times a second
 * with the argument NULL, and returns true to end the linking. The caller owns *out, also after a
 * failure. Returns GCB_E_UNSUPPORTED if the program cannot be linked again (the message says why),
 * or GCB_E_IO if `stop` ended the linking.
 */
int gcb_layout_open(struct gcb_layout **out, const char *exe, const char *program,
                    bool (*stop)(void *ctx), struct gcb_diag *diag);

/* Links the program, and replaces the program that gcb_layout_link made before. Equal seeds give
 * equal layouts. Returns GCB_E_UNSUPPORTED if the linker failed, or GCB_E_IO if `stop` ended
 * the linking. */
int gcb_layout_link(struct gcb_layout *l, uint64_t seed, struct gcb_diag *diag);

/* Returns the path of the linked program, which lives as long as `l`. */
const char *gcb_layout_path(const struct gcb_layout *l);

void gcb_layout_close(struct gcb_layout *l); /* the argument may be NULL */

#endif
