#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A progress bar with the time left, shown only on a terminal. It appears after a second, is drawn
 * a few times a second, and is erased at the end, so that later output starts on a clean line.
 */
struct progress {
    FILE *file; /* stream to draw on; NULL: the bar is never shown */
    double started, shown;
    /* time and share of the first update, which may be above 0: work may go on from the middle */
    double since, from;
    double deadline; /* when the work ends at the latest, by gcb_clock; 0: not known */
    bool visible;
};

/* Starts a progress bar on `file`. `wanted` is false with --quiet: then no bar is shown. */
void progress_start(struct progress *p, FILE *file, bool wanted);
/* Limits the time left that is shown to the time until `deadline`, by gcb_clock. Call it after
 * progress_start. */
void progress_limit(struct progress *p, double deadline);
/* Updates the bar to `share`, from 0 to 1. As a callback for observers, it takes the struct
 * progress as context. */
void progress_update(void *progress, double share);
void progress_end(struct progress *p); /* `p` may be zeroed */

#endif
