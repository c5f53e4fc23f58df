#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/plot/plot.h"

struct drawing {
    FILE *out;
    struct gcb_page_outcome *outcome;
    const struct gcb_page_config *config;
    const struct gcb_plot_data *data;
    size_t total, done; /* pages of all plots */
};

/* Notes why a plot is missing; the first reason is the one that is told. */
static void note_missing(struct gcb_page_outcome *outcome, const char *why)
{
    if (!outcome->without[0])
        snprintf(outcome->without, sizeof(outcome->without), "%s", why);
}

static int draw_page(struct drawing *d, const struct gcb_plot *plot, size_t page,
                     struct gcb_diag *diag)
{
    const struct gcb_plot_job job = {plot,         d->data, page, d->config->plot_folder,
                                     GCB_PLOT_SVG, false};
    char *svg;
    const int err = gcb_plot_draw(&svg, &job, diag);

    if (!err) {
        fputs(d->outcome->plots++
                  ? ""
                  : "<section id=\"plots\">\n<h2>Plots</h2>\n<div class=\"plots\">\n",
              d->out);
        fputs("<figure>", d->out);
        gcb_html_image(d->out, "image/svg+xml", svg, strlen(svg), plot->title);
        gcb_html_element(d->out, "figcaption", NULL, plot->title);
        fputs("</figure>\n", d->out);
    }
    gcb_free(svg);
    d->done++;
    if (d->config->progress)
        d->config->progress(d->config->ctx, (double)d->done / (double)d->total);
    return err;
}

static bool is_stopped(struct drawing *d)
{
    d->outcome->stopped = d->config->stop && d->config->stop(d->config->ctx);
    return d->outcome->stopped;
}

/* A plot that fails is missing; without gnuplot all are. */
static int draw_all(struct drawing *d, struct gcb_diag *diag)
{
    const struct gcb_plot *plot;
    int err = 0;

    for (size_t i = 0; (plot = gcb_plot_at(i)); i++)
        d->total += gcb_plot_pages(plot, d->data);
    for (size_t i = 0; (plot = gcb_plot_at(i)); i++) {
        const size_t pages = gcb_plot_pages(plot, d->data);

        for (size_t page = 0; page < pages && !is_stopped(d); page++) {
            struct gcb_diag why = {.status = 0};

            err = draw_page(d, plot, page, &why);
            if (err == GCB_E_NOMEM)
                return gcb_diag_set(diag, err, "%s", why.text);
            if (err)
                note_missing(d->outcome, why.text);
            if (err == GCB_E_UNSUPPORTED)
                return 0;
        }
    }
    return 0;
}

int page_plots(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
               const struct gcb_page_config *config, struct gcb_diag *diag)
{
    struct drawing d = {.out = out, .outcome = outcome, .config = config, .data = page->plots};
    int err;

    if (!page->plots)
        return 0;
    err = draw_all(&d, diag);
    if (!err && outcome->plots)
        fputs("</div>\n", out);
    if (!err && outcome->without[0]) {
        if (!outcome->plots)
            fputs("<section id=\"plots\">\n<h2>Plots</h2>\n", out);
        fputs("<p class=\"note\">", out);
        gcb_html_text(out, outcome->plots ? "Some plots are missing: " : "There are no plots: ");
        gcb_html_text(out, outcome->without);
        fputs(".</p>\n", out);
    }
    if (!err && (outcome->plots || outcome->without[0]))
        fputs("</section>\n", out);
    return err;
}
