#include "src/tool/replay/replay.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"

static int bad_point(const char *point, struct gcb_diag *diag)
{
    return gcb_invalid(
        diag,
        "--theta-schedule: '%s' is not VALUE@STEP (example 0.9@0,0.5@8: 0.9 from step 0, 0.5 from "
        "step 8)",
        gcb_show(point).text);
}

/* Adds a point to the schedule: "V@STEP", or for the first point also "V". Writes to `point`. */
static int add_point(struct gcb_schedule *c, char *point, struct gcb_diag *diag)
{
    char *at = strchr(point, '@');
    const size_t n = c->count;
    char shown[64];

    gcb_escape(shown, sizeof(shown), point);
    if (at)
        *at = '\0';
    if (n == GCB_MAX_POINTS)
        return gcb_invalid(diag, "--theta-schedule: more than %d points", GCB_MAX_POINTS);
    c->from[n] = 0;
    if (!gcb_parse_real(point, &c->theta[n]) || !isfinite(c->theta[n]) || (!at && n) ||
        (at && !gcb_parse_u64(at + 1, &c->from[n])))
        return bad_point(shown, diag);
    if (n && c->from[n] <= c->from[n - 1])
        return gcb_invalid(diag, "--theta-schedule: steps must ascend; '%s' does not", shown);
    if (!(c->theta[n] >= 0.0 && c->theta[n] < 1.0))
        return gcb_invalid(diag, "--theta-schedule: theta must be in [0, 1), not %g", c->theta[n]);
    c->count++;
    return 0;
}

int gcb_schedule_parse(struct gcb_schedule *out, const char *text, struct gcb_diag *diag)
{
    char point[64];
    int err = 0;

    memset(out, 0, sizeof(*out));
    do {
        const size_t n = strcspn(text, ",");

        if (n == 0 || n >= sizeof(point))
            return bad_point(text, diag);
        memcpy(point, text, n);
        point[n] = '\0';
        err = add_point(out, point, diag);
        text += n;
    } while (!err && *text++ == ',');
    return err;
}

double gcb_schedule_theta(const struct gcb_schedule *s, uint64_t index, double own)
{
    size_t n = s->count;

    while (n > 0 && s->from[n - 1] > index)
        n--;
    return n > 0 ? s->theta[n - 1] : own;
}
