#ifndef SRC_TOOL_BASE_WATCH_H
#define SRC_TOOL_BASE_WATCH_H

#include <stdbool.h>

/* Who watches a long piece of work: shows its progress, and may stop it. A zeroed watch does
 * neither. */
struct gcb_watch {
    void (*progress)(void *ctx, double done); /* share of the work, 0 to 1; may be NULL */
    bool (*stop)(void *ctx);                  /* called often; true ends the work; may be NULL */
    void *ctx;
    /* if the watched work is a part of other work: the shares of the other work that are done
     * before and after it; `to` 0: it is the whole work */
    double from, to;
};

/* Shows that a share of the work is done. */
void gcb_watch_show(const struct gcb_watch *w, double done);
/* True if the work must end. */
bool gcb_watch_stopped(const struct gcb_watch *w);
/* Returns a watch for the part of the work between two shares of it. */
struct gcb_watch gcb_watch_part(const struct gcb_watch *w, double from, double to);

#endif
