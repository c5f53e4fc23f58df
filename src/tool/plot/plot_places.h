#ifndef SRC_TOOL_PLOT_PLOT_PLACES_H
#define SRC_TOOL_PLOT_PLOT_PLACES_H

#include <stddef.h>

/* A point of a picture with a short text beside it, all in pixels. */
struct gcb_plot_spot {
    double x, y;           /* the point's centre, and how far it reaches */
    double radius;         /* 0: an unmarked place, over which texts may stand */
    double width, height;  /* of the text; a width of 0: it has none */
    double text_x, text_y; /* found: its centre */
};

/*
 * Finds places for texts beside their points, in this order: of two rings of places around each the one that covers least of
 * other points and of texts that have theirs, and does not leave the picture of `width` x `height`; to the
 * upper right where all are equal. Deterministic.
 */
void gcb_plot_place_texts(struct gcb_plot_spot *spots, size_t count, double width, double height);

#endif
