#include "src/tool/plot/plot.h"

#include <stdio.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/plot/plots.h"

static const struct gcb_plot *const plots[] = {
    &gcb_plot_rate_distortion, &gcb_plot_rate_cosine,    &gcb_plot_ratio_error,
    &gcb_plot_throughput,      &gcb_plot_pareto,         &gcb_plot_match,
    &gcb_plot_heatmap,         &gcb_plot_histogram,      &gcb_plot_histogram_log,
    &gcb_plot_error_cdf,       &gcb_plot_spectrum,       &gcb_plot_range_codes,
    &gcb_plot_alpha,           &gcb_plot_staleness,      &gcb_plot_break_even,
    &gcb_plot_scaling,         &gcb_plot_exchange,       &gcb_plot_kernels,
    &gcb_plot_forest,          &gcb_plot_accuracy_steps, &gcb_plot_accuracy_bytes,
    &gcb_plot_accuracy_time,   &gcb_plot_history,
};
#define PLOTS (sizeof(plots) / sizeof(plots[0]))
_Static_assert(PLOTS <= GCB_PLOT_MAX, "raise GCB_PLOT_MAX");

const char *const gcb_plot_type_names[] = {"png", "svg", "pdf", "txt", NULL};

const struct gcb_plot *gcb_plot_at(size_t i)
{
    return i < PLOTS ? plots[i] : NULL;
}

const struct gcb_plot *gcb_plot_find(const char *name, size_t length, struct gcb_diag *diag)
{
    const char *names[PLOTS], *near;
    char word[64], shown[128];

    for (size_t i = 0; i < PLOTS; i++) {
        names[i] = plots[i]->name;
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return plots[i];
    }
    snprintf(word, sizeof(word), "%.*s", length < sizeof(word) ? (int)length : 63, name);
    gcb_escape(shown, sizeof(shown), word);
    near = gcb_suggest(word, names, PLOTS);
    if (near)
        gcb_diag_set(diag, GCB_E_INVALID, "unknown plot '%s'; did you mean '%s'?", shown, near);
    else
        gcb_diag_set(diag, GCB_E_INVALID, "unknown plot '%s'; `gcbench plot --list` lists them",
                     shown);
    return NULL;
}
