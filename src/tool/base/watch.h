#ifndef SRC_TOOL_BASE_WATCH_H
#define SRC_TOOL_BASE_WATCH_H

#include <stdbool.h>

/* Functions to show the progress of a long piece of work, and to stop the work. A zeroed watch does
 * neither. */
struct gcb_watch {
    void (*progress)(void *ctx, double done); /* share of the work, 0 to 1; may be NULL */
    bool (*stop)(void *ctx);                  /* called often; true ends the work; may be NULL */
    void *ctx;
    /* The shares of the whole work that are done when the watched work begins and when it ends.
     * `to` is 0 if the watched work is the whole work. */
    double from, to;
};

/* Shows that the share `done` (0 to 1) of the watched work is done. */
void gcb_watch_show(const struct gcb_watch *w, double done);
/* True if the work must end. */
bool gcb_watch_stopped(const struct gcb_watch *w);
/* Returns a watch for a part of the work that w watches: from the share `from` to the share `to`
 * (0 to 1). */
struct gcb_watch gcb_watch_part(const struct gcb_watch *w, double from, double to);

#endif
