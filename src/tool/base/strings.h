#ifndef SRC_TOOL_BASE_STRINGS_H
#define SRC_TOOL_BASE_STRINGS_H

#include <stddef.h>

/*
 * Many strings that are released together. They are packed into blocks, because each gcb_strdup
 * takes at least 80 bytes. A zeroed struct is empty.
 */
struct gcb_strings {
    char **blocks;
    size_t count, cap; /* number of blocks; length of the array `blocks` */
    size_t left;       /* free bytes in the last block */
    void *kept;        /* a tree (tsearch) of the strings of gcb_strings_keep; NULL: none */
};

/* Returns a copy of n bytes with a terminator, which `s` owns. Ends the process if memory runs
 * out. */
const char *gcb_strings_add(struct gcb_strings *s, const char *text, size_t n);

/* Returns the copy that an earlier call of this function made of an equal text, or else a new copy.
 * So equal texts have equal pointers. Ends the process if memory runs out. */
const char *gcb_strings_keep(struct gcb_strings *s, const char *text);

void gcb_strings_fini(struct gcb_strings *s); /* a zeroed struct is fine */

#endif
