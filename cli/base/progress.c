#include "cli/base/progress.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/base/clock.h"

#define PATIENCE 1.0 /* seconds before the bar appears */
#define PAUSE 0.1    /* seconds before the bar is drawn again */
#define WIDTH 40

void progress_start(struct progress *p, FILE *file, bool wanted)
{
    memset(p, 0, sizeof(*p));
    if (!wanted || !isatty(fileno(file)))
        return;
    p->file = file;
    p->started = gcb_clock();
}

void progress_limit(struct progress *p, double deadline)
{
    p->deadline = deadline;
}

/* Estimates the seconds left from the pace since the first update (at the first update: since the
 * start). */
static double seconds_left(const struct progress *p, double now, double share)
{
    const bool first = share <= p->from;
    const double done = first ? share : share - p->from;
    const double left =
        done > 0.0 ? (now - (first ? p->started : p->since)) * (1.0 - share) / done : 0.0;

    return p->deadline > now ? fmin(left, p->deadline - now) : left;
}

/* Prints " 1:05 left", always in the same width. */
static void print_left(FILE *file, double seconds)
{
    const int whole = seconds < 5999.0 ? (int)(seconds + 0.5) : 5999;

    fprintf(file, " %2d:%02d left", whole / 60, whole % 60);
}

void progress_update(void *progress, double share)
{
    struct progress *p = progress;
    static const char full[] = "########################################";
    const double now = p->file ? gcb_clock() : 0.0;
    const int filled = (int)(share * WIDTH);

    if (p->file && p->since <= 0.0) {
        p->since = now;
        p->from = share;
    }
    if (!p->file || now - p->started < PATIENCE || now - p->shown < PAUSE)
        return;
    p->shown = now;
    p->visible = true;
    fprintf(p->file, "\r[%-*.*s] %3d %%", WIDTH, filled, full, (int)(share * 100.0));
    print_left(p->file, seconds_left(p, now, share));
    fflush(p->file);
}

void progress_end(struct progress *p)
{
    if (p->visible)
        fprintf(p->file, "\r%*s\r", WIDTH + 22, "");
    memset(p, 0, sizeof(*p));
}
