#include "cli/base/progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/base/clock.h"

#define PATIENCE 1.0     /* seconds before the bar appears */
#define PAUSE 0.1        /* seconds before the bar is drawn again */
#define LEFT_MOST 5999.0 /* most seconds left to show: 99:59, so that the width is constant */
#define WIDTH 40         /* columns of the bar */

void progress_start(struct progress *p, FILE *file, bool wanted)
{
    memset(p, 0, sizeof(*p));
    if (!wanted || !isatty(fileno(file)))
        return;
    p->file = file;
    p->started = gcb_clock();
}

/* Estimates the seconds left from the pace since the first update or, while the share is that of
 * the first update, since the start. Returns at most the time until a deadline in the future. */
static double seconds_left(const struct progress *p, double now, double share)
{
    const bool first = share <= p->from;
    const double done = first ? share : share - p->from, since = first ? p->started : p->since;
    const double left = done > 0.0 ? (now - since) * (1.0 - share) / done : 0.0;

    return p->deadline > now ? fmin(left, p->deadline - now) : left;
}

void progress_update(void *progress, double share)
{
    struct progress *p = progress;
    static const char full[] = "########################################";
    const double now = p->file ? gcb_clock() : 0.0;
    const int filled = (int)(share * WIDTH);
    int left;

    if (p->file && p->since <= 0.0) {
        p->since = now;
        p->from = share;
    }
    if (!p->file || now - p->started < PATIENCE || now - p->shown < PAUSE)
        return;
    p->shown = now;
    p->visible = true;
    left = (int)(fmin(seconds_left(p, now, share), LEFT_MOST) + 0.5);
    fprintf(p->file, "\r[%-*.*s] %3d %% %2d:%02d left", WIDTH, filled, full, (int)(share * 100.0),
            left / 60, left % 60);
    fflush(p->file);
}

void progress_end(struct progress *p)
{
    if (p->visible)
        fprintf(p->file, "\r%*s\r", WIDTH + 22, ""); /* 22: enough for the text around the bar */
    memset(p, 0, sizeof(*p));
}
