#ifndef SRC_TOOL_READ_PLACE_H
#define SRC_TOOL_READ_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Which step and worker a path in a file belongs to, by the names of its groups (docs/dataset.md). */

/* What in a path a person may have meant otherwise. */
enum gcb_doubt {
    GCB_DOUBT_NONE,
    GCB_DOUBT_NUMBER, /* the step is a group that is only a number */
    GCB_DOUBT_NO_STEP, /* no step, but the first group ends with a number, or the name begins with a step */
    GCB_DOUBT_NO_WORKER, /* no worker, but a group that is only a number follows the step */
};

struct gcb_place {
    bool has_step, has_worker;
    uint64_t step, worker;
    bool epoch;        /* the step is the number of a group epoch_N */
    const char *below; /* the rest of the path, after the groups of step and worker */
    enum gcb_doubt doubt;
};

/*
 * Splits an absolute path. Only the outermost step and worker count, because names inside a worker are names of
 * parameters. `group` says whether the last component is a group or a dataset. If bit i of `linked` is set, component i is
 * a link to another place: unless it names a step or worker itself, groups after it name none.
 */
struct gcb_place gcb_place_of(const char *path, bool group, uint64_t linked);

/* Is this the path of the group of a step, which may have attributes such as loss? Sets *step. Sets
 * *epoch for a group epoch_N: it is a step only if no group below it is. */
bool gcb_place_is_step(const char *path, uint64_t *step, bool *epoch);

/* Returns the N of the last "rankN" or "rank_N" in a file's name (without its folders), or 0. */
uint32_t gcb_place_rank(const char *file);

#endif
