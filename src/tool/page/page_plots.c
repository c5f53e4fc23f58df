#include <string.h>

#include "src/tool/page/page_parts.h"

static int draw_page(json_t *out, const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    json_t *figure = json_object();
    struct gcb_plot_drawing drawing;
    const struct gcb_plot_text *svg = &drawing.files[GCB_PLOT_IMAGE];
    int err = gcb_plot_draw(&drawing, job, diag);

    if (!err && (json_object_set_new(figure, "svg", json_string(svg->bytes)) ||
                 json_object_set_new(figure, "title", json_string(job->plot->title)) ||
                 json_array_append(out, figure)))
        err = gcb_diag_nomem(diag, svg->size, "a picture");
    json_decref(figure);
    gcb_plot_drawing_fini(&drawing);
    return err;
}

/* The charts and tables of the page show these rows, and can be worked with. */
static bool is_on_page(const struct gcb_plot *plot)
{
    static const char *const names[] = {"rate-distortion", "ratio-error", "pareto",  "throughput",
                                        "match",           "break-even",  "scaling", "history"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(plot->name, names[i]) == 0)
            return true;
    return false;
}

/* If a plot fails, the page goes without this plot. If gnuplot is not installed, no plot is tried after the first. */
int page_draw_figures(json_t *out, struct gcb_page_outcome *outcome,
                      const struct gcb_page_config *config, const struct gcb_plot_data *data,
                      struct gcb_diag *diag)
{
    struct gcb_plot_job job = {.data = data, .folder = config->plot_folder, .type = GCB_PLOT_SVG};

    for (size_t i = 0; (job.plot = gcb_plot_at(i)); i++) {
        const size_t pages = is_on_page(job.plot) ? 0 : gcb_plot_pages(job.plot, data);

        for (job.page = 0; job.page < pages; job.page++) {
            struct gcb_diag why = {.status = 0};
            int err;

            outcome->stopped = config->stop && config->stop();
            if (outcome->stopped)
                return 0;
            err = draw_page(out, &job, &why);
            outcome->plots += !err;
            outcome->stopped = err && config->stop && config->stop();
            if (outcome->stopped) /* the signal ended gnuplot too */
                return 0;
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
