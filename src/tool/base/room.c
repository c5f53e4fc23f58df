#include "src/tool/base/room.h"

#include "src/lib/base/alloc.h"

int gcb_room_reserve(struct gcb_room *room, size_t size, const char *what, struct gcb_diag *diag)
{
    if (room->size >= size)
        return 0;
    gcb_room_fini(room);
    room->block = gcb_alloc(size);
    if (!room->block)
        return gcb_diag_nomem(diag, size, what);
    room->size = size;
    return 0;
}

void gcb_room_fini(struct gcb_room *room)
{
    gcb_free(room->block);
    *room = (struct gcb_room){0};
}
