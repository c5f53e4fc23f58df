#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A bar on stderr: only on a terminal, only once the work has taken a second, a few times a second. It
 * tells how long it will take at the pace so far, and wipes itself away, so that what is printed next stands on a clean line.
 */
struct progress {
    FILE *file; /* NULL: never shown */
    double started, shown;
    double since, from; /* of the first update: work may begin in its middle */
    bool visible;
};

/* `wanted`: false under --quiet. */
void progress_start(struct progress *p, FILE *file, bool wanted);
void progress_update(struct progress *p, double share); /* 0 to 1 */
void progress_end(struct progress *p);                  /* zeroed is fine */

#endif
