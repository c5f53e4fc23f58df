#include "src/tool/plot/plot_labels.h"

#include <stdlib.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/base/columns.h"

struct gcb_plot_axis gcb_plot_axis_of(const struct gcb_plot_range *range, bool logarithmic,
                                      double pixels)
{
    const bool empty = range->low > range->high;
    const double low = empty ? 1.0 : range->low, high = empty ? 1.0 : range->high;

    if (logarithmic) {
        const double room = high > low ? 1.08 * pow(high / low, 0.06) : 2.0;

        return (struct gcb_plot_axis){low / room, high * room, pixels, true};
    }
    const double room = high > low ? 0.06 * (high - low) : 0.1 * fabs(low) + 1e-30;

    return (struct gcb_plot_axis){low - room, high + room, pixels, false};
}

double gcb_plot_pixel_of(const struct gcb_plot_axis *a, double value)
{
    if (a->logarithmic)
        return a->pixels * log(value / a->low) / log(a->high / a->low);
    return a->pixels * (value - a->low) / (a->high - a->low);
}

double gcb_plot_value_of(const struct gcb_plot_axis *a, double pixel)
{
    if (a->logarithmic)
        return a->low * pow(a->high / a->low, pixel / a->pixels);
    return a->low + (a->high - a->low) * pixel / a->pixels;
}

void gcb_plot_var_axis(struct gcb_plot_page *page, const char *name,
                       const struct gcb_plot_axis *axis)
{
    const struct gcb_plot_range range = {axis->low, axis->high};

    gcb_plot_var_range(page, name, &range);
}

void gcb_plot_scene_fini(struct gcb_plot_scene *scene)
{
    gcb_free(scene->boxes);
}

static struct gcb_plot_box box_at(double x, double y, double width, double height)
{
    return (struct gcb_plot_box){x - width / 2.0, x + width / 2.0, y - height / 2.0,
                                 y + height / 2.0};
}

static int add_box(struct gcb_plot_scene *scene, struct gcb_plot_box box)
{
    if (gcb_grow(&scene->boxes, &scene->cap, scene->count, sizeof(*scene->boxes)))
        return GCB_E_NOMEM;
    scene->boxes[scene->count++] = box;
    return 0;
}

int gcb_plot_scene_add(struct gcb_plot_scene *scene, double x, double y, double radius)
{
    return add_box(scene, box_at(x, y, 2.0 * radius, 2.0 * radius));
}

#define PIECE 10.0 /* a line is covered with boxes that are this far apart, in pixels */

int gcb_plot_scene_add_line(struct gcb_plot_scene *scene, double x0, double y0, double x1,
                            double y1)
{
    const double length = hypot(x1 - x0, y1 - y0);
    const int pieces = length > PIECE ? (int)fmin(length / PIECE, 200.0) : 1;
    int err = 0;

    for (int i = 1; !err && i < pieces; i++)
        err = gcb_plot_scene_add(scene, x0 + (x1 - x0) * i / pieces, y0 + (y1 - y0) * i / pieces,
                                 3.0);
    return err;
}

static double common_area(const struct gcb_plot_box *a, const struct gcb_plot_box *b)
{
    const double x = fmin(a->right, b->right) - fmax(a->left, b->left),
                 y = fmin(a->top, b->top) - fmax(a->bottom, b->bottom);

    return x > 0.0 && y > 0.0 ? x * y : 0.0;
}

/* Returns the area of boxes that the text would cover. A text outside the picture is worse than a text that covers
 * something. */
static double covered_area(const struct gcb_plot_scene *scene, const struct gcb_plot_box *text)
{
    const struct gcb_plot_box picture = {0.0, scene->width, 0.0, scene->height};
    double area = (text->right - text->left) * (text->top - text->bottom);

    area = 100.0 * (area - common_area(text, &picture));
    for (size_t i = 0; i < scene->count; i++)
        area += common_area(text, &scene->boxes[i]);
    return area;
}

#define PLACES 16
#define RINGS 3   /* further rings are for texts that have no room in the first ring */
#define NEAR 8.0  /* distance of a text from its point, in pixels: a mark has a radius of 6 */
#define STEP 12.0 /* distance from one ring to the next, in pixels */

/* Moves a text to place number `k` around a point. Place 0 is at the upper right, and the next places alternate between
 * its two sides. The text is as near to the point as it fits. */
static void move_to(struct gcb_plot_text *text, size_t point, unsigned k)
{
    const double turn = (k % 2 ? 1.0 : -1.0) * ((k % PLACES + 1) / 2) * 2.0 * M_PI / PLACES;
    const double angle = M_PI / 5.0 + turn, far = NEAR + k / PLACES * STEP;

    text->anchor_x = text->x[point];
    text->anchor_y = text->y[point];
    text->text_x = text->anchor_x + cos(angle) * (far + text->width / 2.0);
    text->text_y = text->anchor_y + sin(angle) * (far + text->height / 2.0);
}

void gcb_plot_scene_place(struct gcb_plot_text *text, const struct gcb_plot_scene *scene)
{
    struct gcb_plot_text best = *text;

    best.covered = INFINITY;
    for (unsigned k = 0; k < RINGS * PLACES && best.covered > 0.0; k++)
        for (size_t point = 0; point < text->points; point++) {
            struct gcb_plot_box box;

            move_to(text, point, k);
            box = box_at(text->text_x, text->text_y, text->width, text->height);
            text->covered = covered_area(scene, &box);
            if (text->covered < best.covered)
                best = *text;
        }
    *text = best;
}

int gcb_plot_scene_add_text(struct gcb_plot_scene *scene, const struct gcb_plot_text *text)
{
    return add_box(scene, box_at(text->text_x, text->text_y, text->width, text->height));
}

double gcb_plot_text_width(const char *text)
{
    return 7.2 * (double)gcb_text_columns(text) + 2.0;
}

/* A label on its way: the group of labels that it moves with is one interval of heights. */
struct group {
    double centre;
    size_t first, count;
};

static int higher(const void *a, const void *b)
{
    const double *x = *(double *const *)a, *y = *(double *const *)b;

    return *x == *y ? (x > y) - (x < y) : (*x > *y) - (*x < *y);
}

/* Returns the height of the lowest label of a group, inside the picture if the group fits. */
static double bottom_of(const struct group *g, double gap, double height)
{
    const double room = gap * ((double)g->count - 1.0);

    return fmax(fmin(g->centre - room / 2.0, height - room), 0.0);
}

#define MAX_SPREAD 128

void gcb_plot_spread(double *heights, size_t count, double gap, double height)
{
    double *sorted[MAX_SPREAD];
    struct group groups[MAX_SPREAD];
    size_t n = 0;

    if (count > MAX_SPREAD)
        count = MAX_SPREAD;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &heights[i];
    qsort(sorted, count, sizeof(sorted[0]), higher);
    for (size_t i = 0; i < count; i++) {
        groups[n++] = (struct group){*sorted[i], i, 1};
        /* groups that overlap become one, around the mean of their labels */
        while (n > 1 && bottom_of(&groups[n - 2], gap, height) + gap * (double)groups[n - 2].count >
                            bottom_of(&groups[n - 1], gap, height)) {
            struct group *a = &groups[n - 2], *b = &groups[n - 1];

            a->centre = (a->centre * (double)a->count + b->centre * (double)b->count) /
                        (double)(a->count + b->count);
            a->count += b->count;
            n--;
        }
    }
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            *sorted[groups[g].first + i] = bottom_of(&groups[g], gap, height) + gap * (double)i;
}

int gcb_plot_spots_init(struct gcb_plot_spots *spots, size_t count, struct gcb_diag *diag)
{
    spots->items = gcb_alloc_zero(count, sizeof(*spots->items));
    spots->count = count;
    return spots->items ? 0 : gcb_diag_nomem(diag, 0, "a plot");
}

void gcb_plot_spots_fini(struct gcb_plot_spots *spots)
{
    gcb_free(spots->items);
}

#define SAME 1.5          /* points that are nearer than this look like one point, in pixels */
#define MOST_LABELS 48    /* more series have a legend */
#define MOST_SPOTS 5000   /* with more points, the search for places takes too long */
#define MOST_COVERED 0.05 /* a label has room if it covers less than this share of its size */

static bool same_spots(const struct gcb_plot_spots *spots, const struct gcb_plot_series *a,
                       const struct gcb_plot_series *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct gcb_plot_spot *p = &spots->items[a->first + i],
                                   *q = &spots->items[b->first + i];

        if (!(fabs(p->x - q->x) < SAME && fabs(p->y - q->y) < SAME))
            return false;
    }
    return true;
}

/* What a series shows beside its curve. */
struct tag {
    char text[2 * GCB_PLOT_LABEL]; /* empty: an earlier series has the label */
    double size;                   /* of the marks; 1 unless they would be hidden */
    double x, y;                   /* of the label, in pixels */
    double anchor_x, anchor_y;
};

/* Joins the labels of series whose points are the same. `brief` labels lack the parameter's range. */
static void name_tags(struct tag *tags, const struct gcb_plot_set *set,
                      const struct gcb_plot_spots *spots, bool brief)
{
    for (size_t i = 0; i < set->count; i++) {
        struct tag *first = NULL;

        tags[i] = (struct tag){.size = 1.0, .x = NAN, .y = NAN, .anchor_x = NAN, .anchor_y = NAN};
        for (size_t k = 0; k < i && set->count <= MOST_LABELS; k++)
            if (same_spots(spots, &set->items[k], &set->items[i])) {
                first = first ? first : &tags[k];
                tags[i].size += 0.7;
            }
        gcb_append(first ? first->text : tags[i].text, sizeof(first->text), "%s%.*s",
                   first ? " = " : "", brief ? (int)set->items[i].name_length : GCB_PLOT_LABEL,
                   set->items[i].label);
    }
}

static int add_curves(struct gcb_plot_scene *scene, const struct gcb_plot_set *set,
                      const struct gcb_plot_spots *spots)
{
    int err = 0;

    for (size_t s = 0; !err && s < set->count; s++)
        for (size_t i = 0; !err && i < set->items[s].count; i++) {
            const struct gcb_plot_spot *p = &spots->items[set->items[s].first + i];

            if (isnan(p->x) || isnan(p->y))
                continue;
            err = gcb_plot_scene_add(scene, p->x, p->y, 6.0);
            if (!err && i && p->joined && p[-1].joined)
                err = gcb_plot_scene_add_line(scene, p[-1].x, p[-1].y, p->x, p->y);
        }
    return err;
}

/* Places the label of a series at its last point, its first, or one between. Returns GCB_E_UNSUPPORTED if it has no
 * room. */
static int place_tag(struct tag *tag, struct gcb_plot_scene *scene, const struct gcb_plot_series *s,
                     const struct gcb_plot_spots *spots)
{
    const size_t at[] = {s->count - 1, 0, s->count / 2, s->count / 4, 3 * s->count / 4};
    double x[5], y[5];
    struct gcb_plot_text text = {
        .x = x, .y = y, .width = gcb_plot_text_width(tag->text), .height = GCB_PLOT_TEXT_HEIGHT};

    if (!tag->text[0])
        return 0;
    for (size_t i = 0; i < 5; i++) {
        x[text.points] = spots->items[s->first + at[i]].x;
        y[text.points] = spots->items[s->first + at[i]].y;
        text.points += isfinite(x[text.points]) && isfinite(y[text.points]);
    }
    if (text.points == 0)
        return 0;
    gcb_plot_scene_place(&text, scene);
    tag->x = text.text_x;
    tag->y = text.text_y;
    tag->anchor_x = text.anchor_x;
    tag->anchor_y = text.anchor_y;
    if (text.covered > MOST_COVERED * text.width * text.height)
        return GCB_E_UNSUPPORTED;
    return gcb_plot_scene_add_text(scene, &text);
}

static void put_array(struct gcb_plot_page *page, const char *name, const struct tag *tags,
                      size_t count, size_t offset, const struct gcb_plot_axis *axis)
{
    gcb_plot_array_begin(page, name, count);
    for (size_t i = 0; i < count; i++) {
        const double value = *(const double *)((const char *)&tags[i] + offset);

        gcb_plot_array_real(page, axis ? gcb_plot_value_of(axis, value) : value);
    }
}

static void put_tags(struct gcb_plot_page *page, const struct tag *tags,
                     const struct gcb_plot_axis *x, const struct gcb_plot_axis *y)
{
    const size_t count = page->set.count;

    gcb_plot_array_begin(page, "tag", count);
    for (size_t i = 0; i < count; i++)
        gcb_plot_array_text(page, tags[i].text, 100);
    put_array(page, "tag_x", tags, count, offsetof(struct tag, x), x);
    put_array(page, "tag_y", tags, count, offsetof(struct tag, y), y);
    put_array(page, "anchor_x", tags, count, offsetof(struct tag, anchor_x), x);
    put_array(page, "anchor_y", tags, count, offsetof(struct tag, anchor_y), y);
}

/* Places all labels. Returns GCB_E_UNSUPPORTED if a label has no room. */
static int place_tags(struct tag *tags, const struct gcb_plot_set *set,
                      const struct gcb_plot_spots *spots, const struct gcb_plot_axis *x,
                      const struct gcb_plot_axis *y)
{
    struct gcb_plot_scene scene = {.width = x->pixels, .height = y->pixels};
    int err = add_curves(&scene, set, spots);

    for (size_t s = 0; !err && s < set->count; s++)
        err = place_tag(&tags[s], &scene, &set->items[s], spots);
    gcb_plot_scene_fini(&scene);
    return err;
}

int gcb_plot_label_series(struct gcb_plot_page *page, const struct gcb_plot_spots *spots,
                          const struct gcb_plot_axis *x, const struct gcb_plot_axis *y,
                          struct gcb_diag *diag)
{
    const struct gcb_plot_set *set = &page->set;
    struct tag *tags = gcb_alloc_zero(set->count, sizeof(*tags));
    const double legend = gcb_plot_legend(page, set);
    int err = tags ? GCB_E_UNSUPPORTED : GCB_E_NOMEM;
    bool direct = set->count <= MOST_LABELS && spots->count <= MOST_SPOTS;

    for (int brief = 0; brief < 2 && err == GCB_E_UNSUPPORTED; brief++) {
        name_tags(tags, set, spots, brief);
        if (direct)
            err = place_tags(tags, set, spots, x, y);
    }
    if (err == GCB_E_UNSUPPORTED) {
        direct = false;
        err = 0;
    }
    if (!err) {
        put_array(page, "size", tags, set->count, offsetof(struct tag, size), NULL);
        if (direct)
            put_tags(page, tags, x, y);
        gcb_plot_var_real(page, "picture_width", x->pixels);
        gcb_plot_var_real(page, "picture_height", y->pixels);
        gcb_plot_var_real(page, "plot_width", x->pixels + (direct ? 120.0 : 100.0 + legend));
        gcb_plot_var_real(
            page, "plot_height",
            fmax(y->pixels + 150.0, direct ? 0.0 : 130.0 + 18.0 * fmin((double)set->count, 60.0)));
    }
    gcb_free(tags);
    return err ? gcb_diag_nomem(diag, 0, "a plot") : 0;
}
