#include "src/tool/replay/replay.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"

#define LARGEST_THETA 0.999999 /* the largest theta that methods accept */

static int bad_point(const char *point, const char *option, struct gcb_diag *diag)
{
    return gcb_invalid(
        diag, "%s: '%s' is not VALUE@STEP (example 0.9@0,0.5@8: 0.9 from step 0, 0.5 from step 8)",
        option, gcb_show(point).text);
}

/* Parses "V@STEP"; the first point of a list may also be "V". */
static int add_point(struct gcb_points *c, char *point, const char *option, struct gcb_diag *diag)
{
    char *at = strchr(point, '@');
    const size_t n = c->count;
    char shown[64];

    gcb_escape(shown, sizeof(shown), point);
    if (at)
        *at = '\0';
    if (n == GCB_MAX_POINTS)
        return gcb_invalid(diag, "%s: more than %d points", option, GCB_MAX_POINTS);
    c->from[n] = 0;
    if (!gcb_parse_real(point, &c->value[n]) || !isfinite(c->value[n]) || (!at && n) ||
        (at && !gcb_parse_u64(at + 1, &c->from[n])))
        return bad_point(shown, option, diag);
    if (n && c->from[n] <= c->from[n - 1])
        return gcb_invalid(diag, "%s: steps must ascend; '%s' does not", option, shown);
    c->count++;
    return 0;
}

int gcb_points_parse(struct gcb_points *out, const char *text, const char *option,
                     struct gcb_diag *diag)
{
    char point[64];
    int err = 0;

    memset(out, 0, sizeof(*out));
    do {
        const size_t n = strcspn(text, ",");

        if (n == 0 || n >= sizeof(point))
            return bad_point(text, option, diag);
        memcpy(point, text, n);
        point[n] = '\0';
        err = add_point(out, point, option, diag);
        text += n;
    } while (!err && *text++ == ',');
    return err;
}

/* Finds the value at a step. Returns false before the first point. */
static bool value_at(const struct gcb_points *c, uint64_t index, double *value)
{
    size_t n = c->count;

    while (n > 0 && c->from[n - 1] > index)
        n--;
    if (n > 0)
        *value = c->value[n - 1];
    return n > 0;
}

/* Parses the points of a theta schedule. */
static int parse_points(struct gcb_schedule *out, const char *text, struct gcb_diag *diag)
{
    const int err = gcb_points_parse(&out->theta, text, "--theta-schedule", diag);

    for (size_t i = 0; !err && i < out->theta.count; i++)
        if (!(out->theta.value[i] >= 0.0 && out->theta.value[i] < 1.0))
            return gcb_invalid(diag, "--theta-schedule: theta must be in [0, 1), not %g",
                               out->theta.value[i]);
    out->kind = GCB_SCHEDULE_POINTS;
    return err;
}

int gcb_schedule_parse(struct gcb_schedule *out, const char *text, struct gcb_diag *diag)
{
    static const char warmup[] = "dgc-warmup";
    const char *rest = text + strlen(warmup);

    if (strcmp(text, "sqrt-lr") == 0) {
        out->kind = GCB_SCHEDULE_SQRT_LR;
        return 0;
    }
    if (strncmp(text, warmup, strlen(warmup)) != 0)
        return parse_points(out, text, diag);
    out->kind = GCB_SCHEDULE_WARMUP;
    if (*rest == '\0' ||
        (*rest == ':' && gcb_parse_u64(rest + 1, &out->steps_per_epoch) && out->steps_per_epoch))
        return 0;
    return gcb_invalid(diag, "--theta-schedule: write dgc-warmup or dgc-warmup:STEPS_PER_EPOCH");
}

/* Sets *theta and *lr for GCB_SCHEDULE_SQRT_LR. */
static int sqrt_lr(const struct gcb_schedule *s, const struct gcb_schedule_step *at, double *theta,
                   double *lr, struct gcb_diag *diag)
{
    if (!value_at(&s->lr, at->index, lr) &&
        !gcb_source_step_value(at->source, at->recorded, "lr", lr))
        return gcb_invalid(diag,
                           "step %" PRIu64 " has no attribute lr; give the learning rate: --lr",
                           at->recorded);
    if (!(*lr >= 0.0 && isfinite(*lr)))
        return gcb_invalid(
            diag, "step %" PRIu64 " has a learning rate of %g; give another learning rate: --lr",
            at->recorded, *lr);
    *theta = fmin(sqrt(s->lipschitz * *lr), LARGEST_THETA);
    return 0;
}

/* Sets *theta for GCB_SCHEDULE_WARMUP. */
static int warmup(const struct gcb_schedule *s, const struct gcb_schedule_step *at, double *theta,
                  struct gcb_diag *diag)
{
    static const double density[] = {0.25, 0.0625, 0.015625, 0.004, 0.001};
    const size_t last = sizeof(density) / sizeof(density[0]) - 1;
    double epoch, first;

    if (s->steps_per_epoch)
        epoch = (double)(at->index / s->steps_per_epoch);
    else if (gcb_source_step_value(at->source, at->recorded, "epoch", &epoch) &&
             gcb_source_step_value(at->source, at->first, "epoch", &first) && isfinite(epoch))
        epoch = floor(epoch) - floor(first);
    else
        return gcb_invalid(diag,
                           "step %" PRIu64 " has no attribute epoch; say how many steps an epoch "
                           "has: --theta-schedule dgc-warmup:STEPS",
                           at->recorded);
    *theta = 1.0 - density[epoch < (double)last ? (size_t)fmax(epoch, 0.0) : last];
    return 0;
}

int gcb_schedule_theta(const struct gcb_schedule *s, const struct gcb_schedule_step *at, double own,
                       double *theta, double *lr, struct gcb_diag *diag)
{
    *theta = own;
    *lr = NAN;
    switch (s->kind) {
    case GCB_SCHEDULE_POINTS:
        value_at(&s->theta, at->index, theta);
        return 0;
    case GCB_SCHEDULE_SQRT_LR:
        return sqrt_lr(s, at, theta, lr, diag);
    case GCB_SCHEDULE_WARMUP:
        return warmup(s, at, theta, diag);
    case GCB_SCHEDULE_NONE:
        break;
    }
    return 0;
}
