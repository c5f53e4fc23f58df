#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A progress bar with the time left, shown only on a terminal. It appears after a second, is drawn a few times a second,
 * and is erased at the end, so that later output starts on a clean line.
 */
struct progress {
    FILE *file; /* NULL: never shown */
    double started, shown;
    double since, from; /* time and share of the first update: work may start in the middle */
    bool visible;
};

/* `wanted`: false under --quiet. */
void progress_start(struct progress *p, FILE *file, bool wanted);
/* `share`: 0 to 1. For observers: their context is the struct progress. */
void progress_update(void *progress, double share);
void progress_end(struct progress *p); /* zeroed is fine */

#endif
