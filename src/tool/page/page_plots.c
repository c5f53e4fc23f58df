#include <stdlib.h>
#include <string.h>

#include "src/tool/page/page_parts.h"

struct drawing {
    json_t *out;
    struct gcb_page_outcome *outcome;
    const struct gcb_page_config *config;
    const struct gcb_plot_data *data;
    size_t total, done; /* pages of all plots: how many there are, and how many were tried */
};

static int draw_page(struct drawing *d, const struct gcb_plot *plot, size_t page,
                     struct gcb_diag *diag)
{
    const struct gcb_plot_job job = {plot,         d->data, page, d->config->plot_folder,
                                     GCB_PLOT_SVG, false};
    char *svg;
    int err = gcb_plot_draw(&svg, &job, diag);

    if (!err) {
        json_t *figure = json_object();

        if (json_object_set_new(figure, "svg", json_string(svg)) ||
            json_object_set_new(figure, "title", json_string(plot->title)) ||
            json_array_append(d->out, figure))
            err = gcb_diag_nomem(diag, strlen(svg), "a picture");
        json_decref(figure);
        d->outcome->plots++;
    }
    free(svg);
    d->done++;
    if (d->config->progress)
        d->config->progress(d->config->ctx, (double)d->done / (double)d->total);
    return err;
}

/* The charts and tables of the page show these rows, and can be worked with. */
static bool is_on_page(const struct gcb_plot *plot)
{
    static const char *const names[] = {"rate-distortion", "rate-cosine", "ratio-error", "pareto",
                                        "throughput",      "match",       "break-even",  "scaling",
                                        "heatmap",         "history"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(plot->name, names[i]) == 0)
            return true;
    return false;
}

static bool is_stopped(struct drawing *d)
{
    d->outcome->stopped = d->config->stop && d->config->stop(d->config->ctx);
    return d->outcome->stopped;
}

/* If a plot fails, the page goes without this plot. If gnuplot is not installed, no plot is tried after the first. */
int page_draw_figures(json_t *out, struct gcb_page_outcome *outcome,
                      const struct gcb_page_config *config, const struct gcb_plot_data *data,
                      struct gcb_diag *diag)
{
    struct drawing d = {.out = out, .outcome = outcome, .config = config, .data = data};
    const struct gcb_plot *plot;

    for (size_t i = 0; (plot = gcb_plot_at(i)); i++)
        d.total += is_on_page(plot) ? 0 : gcb_plot_pages(plot, d.data);
    for (size_t i = 0; (plot = gcb_plot_at(i)); i++) {
        const size_t pages = is_on_page(plot) ? 0 : gcb_plot_pages(plot, d.data);

        for (size_t k = 0; k < pages && !is_stopped(&d); k++) {
            struct gcb_diag why = {.status = 0};
            const int err = draw_page(&d, plot, k, &why);

            if (err == GCB_E_NOMEM)
                return gcb_diag_set(diag, err, "%s", why.text);
            if (err && !outcome->without[0]) /* the page tells only the first reason */
                snprintf(outcome->without, sizeof(outcome->without), "%s", why.text);
            if (err == GCB_E_UNSUPPORTED)
                return 0;
        }
    }
    return 0;
}
