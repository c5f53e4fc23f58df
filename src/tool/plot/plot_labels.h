#ifndef SRC_TOOL_PLOT_PLOT_LABELS_H
#define SRC_TOOL_PLOT_PLOT_LABELS_H

#include "src/tool/plot/plot_page.h"

/* An axis of a picture: its ends, which leave some room beside the values, and its length in pixels. */
struct gcb_plot_axis {
    double low, high, pixels;
    bool logarithmic;
};
/* An empty range gives an axis around 1. The ends of a logarithmic axis are above 0 if the range is. */
struct gcb_plot_axis gcb_plot_axis_of(const struct gcb_plot_range *range, bool logarithmic,
                                      double pixels);
double gcb_plot_pixel_of(const struct gcb_plot_axis *axis, double value);
double gcb_plot_value_of(const struct gcb_plot_axis *axis, double pixel);
/* Writes NAME_low, NAME_high and NAME_tics, where tics have room: `set xtics (@NAME_tics)`. */
void gcb_plot_var_axis(struct gcb_plot_page *page, const char *name,
                       const struct gcb_plot_axis *axis);

/* A picture in which texts are placed, in pixels: boxes that texts should not cover. Zero `boxes` before use. */
struct gcb_plot_box {
    double left, right, bottom, top;
};
struct gcb_plot_scene {
    double width, height;
    struct gcb_plot_box *boxes;
    size_t count, cap;
};
void gcb_plot_scene_fini(struct gcb_plot_scene *scene);
/* Add a mark, and a line between two marks. They return GCB_E_NOMEM if memory runs out. */
int gcb_plot_scene_add(struct gcb_plot_scene *scene, double x, double y, double radius);
int gcb_plot_scene_add_line(struct gcb_plot_scene *scene, double x0, double y0, double x1,
                            double y1);

/* A text to place beside one of its points: all in pixels. */
struct gcb_plot_text {
    const double *x, *y; /* points that the text may stand at, the best first */
    size_t points;
    double width, height;      /* of the text */
    double text_x, text_y;     /* result: the centre of the text */
    double anchor_x, anchor_y; /* result: the point that the text stands at */
    double covered;            /* result: area of boxes that the text covers or that lies outside */
};
/* Finds the place around one of the points where the text covers least and stays inside the picture. */
void gcb_plot_scene_place(struct gcb_plot_text *text, const struct gcb_plot_scene *scene);
/* Adds the box of a placed text, so that the next texts do not cover it. */
int gcb_plot_scene_add_text(struct gcb_plot_scene *scene, const struct gcb_plot_text *text);

/* Size of a label in the font `small` of plots/style.gp, in pixels. */
#define GCB_PLOT_TEXT_HEIGHT 15.0
double gcb_plot_text_width(const char *text);

/* The place of each case of a page's set in its picture, in pixels. Lines lead only between joined cases. */
struct gcb_plot_spot {
    double x, y; /* NAN: the case is not in the picture */
    bool joined;
};
struct gcb_plot_spots {
    struct gcb_plot_spot *items;
    size_t count;
};
int gcb_plot_spots_init(struct gcb_plot_spots *spots, size_t count, struct gcb_diag *diag);
void gcb_plot_spots_fini(struct gcb_plot_spots *spots);
/*
 * Sets everything that plots/style.gp needs to label the curves of a picture: the sizes of picture and page, the series
 * with their styles (gcb_plot_legend), and, if all labels have room beside their curves, their places. Otherwise a
 * legend stands at the side. Of series whose points are the same, the first has the labels of all, and the others have
 * larger marks around its marks.
 */
int gcb_plot_label_series(struct gcb_plot_page *page, const struct gcb_plot_spots *spots,
                          const struct gcb_plot_axis *x, const struct gcb_plot_axis *y,
                          struct gcb_diag *diag);

/*
 * Moves the heights of `count` labels apart, so that neighbours are at least `gap` apart, all lie between 0 and
 * `height`, and none moves further than it must. The order of the labels stays.
 */
void gcb_plot_spread(double *heights, size_t count, double gap, double height);

#endif
