#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A progress bar with the time left, shown only on a terminal. It appears after a second, is drawn
 * at most ten times a second, and is erased at the end, so that later output starts on a clean
 * line.
 */
struct progress {
    FILE *file; /* stream to draw on; NULL: the bar is never shown */
    /* times are by gcb_clock */
    double started, shown; /* when the bar was started, and last drawn */
    double since, from;    /* time of the first update, and its `share`, which may be above 0 */
    double deadline; /* when the work ends at the latest; 0: not known; set after progress_start */
    bool visible;
};

/* Starts a progress bar on `file`. `wanted` is false with --quiet: then no bar is shown. */
void progress_start(struct progress *p, FILE *file, bool wanted);
/* Updates the bar to `share`, from 0 to 1. `progress` is the struct progress, so that this function
 * may be the callback of an observer. */
void progress_update(void *progress, double share);
void progress_end(struct progress *p); /* erases the bar; `p` may be zeroed */

#endif
