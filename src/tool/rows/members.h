#ifndef SRC_TOOL_ROWS_MEMBERS_H
#define SRC_TOOL_ROWS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/tool/rows/fields.h"

/*
 * Finds some fields of a row without building JSON values, which takes ten times as long. Understands the JSON that
 * gcbench writes: one object with texts without escapes, numbers, lists and objects. A caller parses any other line as
 * JSON.
 */
#define GCB_MEMBERS_KEYS 128 /* members of a row; rows of today have up to 100 */

enum gcb_member_kind { GCB_MEMBER_ABSENT, GCB_MEMBER_TEXT, GCB_MEMBER_NUMBER, GCB_MEMBER_OTHER };

struct gcb_member {
    enum gcb_member_kind kind;
    const char *text; /* a text or the digits of a number, with a final 0 */
};

struct gcb_members {
    bool wanted[GCB_FIELDS];              /* set by the caller */
    struct gcb_member member[GCB_FIELDS]; /* values of the last row, only of wanted fields */
    /* private: the names of the last row's members, because the next row most likely has the same names in the same
     * order */
    struct gcb_members_key {
        char name[40];
        size_t length;
        enum gcb_field field; /* GCB_FIELD_NONE: not wanted */
    } key[GCB_MEMBERS_KEYS];
};

/*
 * Reads line[0..length), which has a terminator. Returns false, with the line unchanged, if the line must be parsed as
 * JSON. Otherwise it writes terminators into the line, where the members then point. Values that are not wanted are only
 * checked for quotes and brackets.
 */
bool gcb_members_read(struct gcb_members *m, char *line, size_t length);

#endif
