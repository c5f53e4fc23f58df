#include <stdlib.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/plot/plot.h"

struct drawing {
    FILE *out;
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
    const int err = gcb_plot_draw(&svg, &job, diag);

    if (!err) {
        fputs("<figure>", d->out);
        gcb_html_image(d->out, "image/svg+xml", svg, strlen(svg), plot->title);
        gcb_html_element(d->out, "figcaption", NULL, plot->title);
        fputs("</figure>\n", d->out);
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
int page_draw_figures(FILE *out, struct gcb_page_outcome *outcome, const struct page *page,
                      const struct gcb_page_config *config, struct gcb_diag *diag)
{
    struct drawing d = {.out = out, .outcome = outcome, .config = config, .data = page->plots};
    const struct gcb_plot *plot;

    if (!page->plots)
        return 0;
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

bool page_has_plots(const struct gcb_page_outcome *outcome)
{
    return outcome->plots || outcome->without[0];
}

void page_plots(FILE *out, const struct gcb_page_outcome *outcome, const char *figures)
{
    if (!page_has_plots(outcome))
        return;
    fputs("<section id=\"plots\">\n<h2>Pictures</h2>\n", out);
    if (outcome->plots)
        fprintf(out,
                "<details>\n<summary>%zu pictures of <code>gcbench plot</code></summary>\n"
                "<div class=\"plots\">\n%s</div>\n</details>\n",
                outcome->plots, figures);
    if (outcome->without[0]) {
        fputs("<p class=\"note\">", out);
        gcb_html_between(out, outcome->plots ? "Some plots are missing: " : "There are no plots: ",
                         outcome->without, ".</p>\n");
    }
    fputs("</section>\n", out);
}
