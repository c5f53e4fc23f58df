#include "src/tool/plot/plot_places.h"

#include <math.h>

#define PLACES 16
#define RINGS 2   /* the second one for texts that have no room in the first */
#define GAP 1.0   /* between a point and its text, at least */
#define STEP 12.0 /* from one ring to the next */

struct box {
    double left, right, bottom, top;
};

static double common(const struct box *a, const struct box *b)
{
    const double x = fmin(a->right, b->right) - fmax(a->left, b->left),
                 y = fmin(a->top, b->top) - fmax(a->bottom, b->bottom);

    return x > 0.0 && y > 0.0 ? x * y : 0.0;
}

static struct box box_at(double x, double y, double width, double height)
{
    return (struct box){x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0};
}

/* What a text of spot `i` would cover; before it all texts have their places. */
static double covered(const struct gcb_plot_spot *spots, size_t count, size_t i,
                      const struct box *text)
{
    double area = 0.0;

    for (size_t k = 0; k < count; k++) {
        const struct gcb_plot_spot *s = &spots[k];
        const struct box point = box_at(s->x, s->y, 2.0 * s->radius, 2.0 * s->radius),
                         other = box_at(s->text_x, s->text_y, s->width, s->height);

        area += common(text, &point);
        if (k < i && s->width > 0.0)
            area += common(text, &other);
    }
    return area;
}

static double outside(const struct box *text, double width, double height)
{
    const struct box picture = {0.0, width, 0.0, height};
    const double area = (text->right - text->left) * (text->top - text->bottom);

    return area - common(text, &picture);
}

/* The `k`-th place around a spot: in turns to either side of the upper right, so near that the text does not touch it. */
static void step_around(double *x, double *y, const struct gcb_plot_spot *s, unsigned k)
{
    const double turn = (k % 2 ? 1.0 : -1.0) * ((k % PLACES + 1) / 2) * 2.0 * M_PI / PLACES;
    const double angle = M_PI / 5.0 + turn, far = s->radius + GAP + k / PLACES * STEP;

    *x = s->x + cos(angle) * (far + s->width / 2.0);
    *y = s->y + sin(angle) * (far + s->height / 2.0);
}

void gcb_plot_place_texts(struct gcb_plot_spot *spots, size_t count, double width, double height)
{
    for (size_t i = 0; i < count; i++) {
        struct gcb_plot_spot *s = &spots[i];
        double least = INFINITY;

        for (unsigned k = 0; s->width > 0.0 && k < RINGS * PLACES; k++) {
            double x, y, worse;
            struct box text;

            step_around(&x, &y, s, k);
            text = box_at(x, y, s->width, s->height);
            /* leaving the picture is worse than covering something */
            worse = covered(spots, count, i, &text) + 100.0 * outside(&text, width, height);
            if (worse < least) {
                least = worse;
                s->text_x = x;
                s->text_y = y;
            }
        }
    }
}
