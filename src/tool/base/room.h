#ifndef SRC_TOOL_BASE_ROOM_H
#define SRC_TOOL_BASE_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "src/lib/base/diag.h"

/* Memory that grows as needed, for a message or other data. Starts zeroed. */
struct gcb_room {
    uint8_t *block;
    size_t size;
};
/* Makes the room at least `size` bytes large. Its contents are lost if it grows. `what` is for the
 * message of GCB_E_NOMEM. */
int gcb_room_reserve(struct gcb_room *room, size_t size, const char *what, struct gcb_diag *diag);
void gcb_room_fini(struct gcb_room *room); /* zeroed is fine */

#endif
