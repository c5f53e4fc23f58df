#include <math.h>
#include <string.h>

#include "src/tool/base/columns.h"
#include "src/tool/plot/plot_label.h"
#include "src/tool/plot/plot_series.h"

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "Xeon, 2 threads, avx512, gcbench 0.1.0". `threads`: NAN, unknown. */
static void name_machine(struct gcb_plot_page *page, const struct gcb_plot_env *env,
                         const char *device, const char *isa, double threads)
{
    const char *machine =
        *device && strcmp(device, "cpu") != 0 && *env->gpu ? env->gpu : env->cpu_model;
    char text[256], cut[256], more[64] = "";

    if (threads > 0)
        snprintf(more, sizeof(more), ", %.0f thread%s", threads, threads == 1 ? "" : "s");
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", *machine ? machine : "unknown machine", more,
             *isa ? ", " : "", isa, *env->version ? ", gcbench " : "", env->version);
    gcb_plot_var_text(page, "plot_machine", gcb_text_shorten(cut, sizeof(cut), text, 100));
}

void gcb_plot_heading(struct gcb_plot_page *page, const char *title,
                      const struct gcb_plot_data *data, const struct gcb_plot_case *like,
                      enum gcb_plot_by by)
{
    char file[128], text[256], cut[256];

    gcb_plot_var_text(page, "plot_title", title);
    gcb_text_shorten(file, sizeof(file), name_of(like->file), 48);
    snprintf(text, sizeof(text), "%s, scope %s%s%s%s", file, like->scope,
             by == GCB_PLOT_BY_TIME && *like->cache ? ", " : "",
             by == GCB_PLOT_BY_TIME ? like->cache : "",
             by == GCB_PLOT_BY_TIME && *like->cache ? " cache" : "");
    gcb_plot_var_text(page, "plot_file", gcb_text_shorten(cut, sizeof(cut), text, 100));
    name_machine(page, gcb_plot_env_of(data, like->env), like->device, like->isa,
                 by == GCB_PLOT_BY_TIME ? like->threads : NAN);
}

void gcb_plot_heading_of(struct gcb_plot_page *page, const char *title, const char *file,
                         const char *scope, const struct gcb_plot_env *env)
{
    char text[256], cut[256];

    gcb_plot_var_text(page, "plot_title", title);
    snprintf(text, sizeof(text), "%s%s%s", *file ? name_of(file) : "input not named",
             *scope ? ", scope " : "", scope);
    gcb_plot_var_text(page, "plot_file", gcb_text_shorten(cut, sizeof(cut), text, 100));
    name_machine(page, env, env->device, env->isa, env->threads);
}

/* In pixels: a mark, and letters of the widest label, which are about eight wide. */
static double legend_width(size_t letters)
{
    return 70.0 + 8.5 * (double)letters;
}

double gcb_plot_legend(struct gcb_plot_page *page, const struct gcb_plot_set *set)
{
    char text[GCB_PLOT_LABEL];
    size_t widest = 0;

    gcb_plot_var_real(page, "series", (double)set->count);
    gcb_plot_array_begin(page, "label", set->count);
    for (size_t i = 0; i < set->count; i++) {
        const size_t width = gcb_text_columns(
            gcb_text_shorten(text, sizeof(text), set->items[i].label, GCB_PLOT_LABEL_WIDTH));

        gcb_plot_array_text(page, text);
        widest = width > widest ? width : widest;
    }
    if (set->count == 0) /* scripts look at the first one all the same, as a text */
        gcb_plot_array_text(page, "");
    gcb_plot_array_end(page);
    gcb_plot_array_begin(page, "style", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, set->items[i].style);
    gcb_plot_array_end(page);
    gcb_plot_array_begin(page, "members", set->count);
    for (size_t i = 0; i < set->count; i++)
        gcb_plot_array_real(page, (double)set->items[i].count);
    gcb_plot_array_end(page);
    return legend_width(widest);
}

void gcb_plot_two_panels(struct gcb_plot_page *page, double legend)
{
    gcb_plot_var_real(page, "plot_width", 790.0 + fmax(legend, 170.0));
}
