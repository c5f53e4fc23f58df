#include "src/tool/base/watch.h"

/* Converts a share of the watched work to a share of the whole work. */
static double whole_share(const struct gcb_watch *w, double share)
{
    return w->to > 0.0 ? w->from + share * (w->to - w->from) : share;
}

void gcb_watch_show(const struct gcb_watch *w, double done)
{
    if (w->progress)
        w->progress(w->ctx, whole_share(w, done));
}

bool gcb_watch_stopped(const struct gcb_watch *w)
{
    return w->stop && w->stop(w->ctx);
}

struct gcb_watch gcb_watch_part(const struct gcb_watch *w, double from, double to)
{
    struct gcb_watch part = *w;

    part.from = whole_share(w, from);
    part.to = whole_share(w, to);
    return part;
}
