#ifndef SRC_TOOL_PLOT_PLOT_STYLE_H
#define SRC_TOOL_PLOT_PLOT_STYLE_H

#include <stdbool.h>

/*
 * The look of a series. Colour and mark come from the method's name, so a method looks the same in
 * each plot. If two methods of one picture would have the same colour, the later one gets another
 * (gcb_plot_set_name). The first series of a method on a page is variant 0. Its further series,
 * variants 1, 2 and so on, have open marks and dashed lines. Baselines are dashed in variant 0 too:
 * fp32 (identity) is black; fp16, bf16 and memcpy are shades of grey. A series without a name in
 * the legend is light grey.
 */
struct gcb_plot_style {
    const char *colour; /* of marks and lines, such as "#0072B2" */
    const char *ink;    /* of texts: the same colour, dark enough to be read on white */
    unsigned point;     /* gnuplot's number of the mark */
    unsigned dash;      /* gnuplot's number of the dash type; 1 is a solid line */
};

#define GCB_PLOT_NO_STYLE ((struct gcb_plot_style){"#d8d8d8", "#909090", 7, 1})

/* Returns the style of a method's variant. */
struct gcb_plot_style gcb_plot_style_of(const char *method, unsigned variant);
/* Returns the style of series `i`, from 0, in a plot whose series are not methods. */
struct gcb_plot_style gcb_plot_style_at(unsigned i);

/* Gives the style another colour: number `i`, from 0. Colours that no method has by its name come
 * first. Returns false if there are fewer than i + 1 colours; then the colour is one of an earlier
 * number. */
bool gcb_plot_style_recolour(struct gcb_plot_style *style, unsigned i);

/* Returns the number of a baseline: 1 for fp16, 2 for bf16, 3 for identity and fp32, 4 for memcpy,
 * and 0 for all others. */
unsigned gcb_plot_baseline(const char *method);

#endif
