#ifndef SRC_TOOL_REGRESS_CASE_INDEX_H
#define SRC_TOOL_REGRESS_CASE_INDEX_H

#include "src/tool/regress/cases.h"

/* What two cases have in common to be the same case. */
enum gcb_case_identity {
    GCB_SAME_ALL,             /* all texts */
    GCB_SAME_WITHOUT_FOLDERS, /* GCB_CASE_FILES instead of GCB_CASE_FILE */
    GCB_SAME_WITHOUT_ISA,     /* in addition, not the instruction set */
    GCB_CASE_IDENTITIES
};

/* Finds cases of a list by their identity. Starts zeroed. */
struct gcb_case_index {
    const struct gcb_case *cases;
    enum gcb_case_identity identity;
    struct gcb_case_place {
        size_t number; /* of the first case with this identity, from 1; 0: empty */
        bool several;  /* other cases have it too */
    } * places;
    size_t size; /* a power of two */
};

/* Makes room for `count` cases of the list. GCB_E_NOMEM. */
int gcb_case_index_init(struct gcb_case_index *index, const struct gcb_case *cases, size_t count,
                        enum gcb_case_identity identity);
void gcb_case_index_fini(struct gcb_case_index *index); /* zeroed is fine */

/* Adds case number i of the list. Returns its place, with the number of an earlier case if one has the same identity. */
struct gcb_case_place *gcb_case_index_add(struct gcb_case_index *index, size_t i);

/* The place of a case of any list; NULL: the index has none with its identity. */
const struct gcb_case_place *gcb_case_index_find(const struct gcb_case_index *index,
                                                 const struct gcb_case *c);

#endif
