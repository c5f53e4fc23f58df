#include "src/tool/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

static void print_link(FILE *out, const char *id, const char *title)
{
    fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", id, title);
}

static void print_contents(FILE *out, const struct page *page, bool plots)
{
    fputs("<nav aria-label=\"Contents\"><ul>\n", out);
    for (const struct page_table *t = page_tables; t->title; t++) {
        if (page_table_shows(t, page))
            print_link(out, t->id, t->title);
        if (t->plots_follow && plots)
            print_link(out, "plots", "Pictures");
        if (t->plots_follow && page->tensors.count)
            print_link(out, "tensors", "Error by tensor");
    }
    print_link(out, "source", "Where this comes from");
    fputs("</ul></nav>\n", out);
}

static void print_page(FILE *out, const struct page *page, const char *title,
                       const struct gcb_page_outcome *outcome, const char *figures)
{
    const struct page_table *unused;
    const struct page_chart *first = page_first_chart(&unused, page);

    page_head(out, page, title);
    fputs("<main>\n", out);
    page_answer(out, page);
    page_methods(out, page);
    page_remarks(out, page);
    print_contents(out, page, page_has_plots(outcome));
    for (const struct page_table *t = page_tables; t->title; t++) {
        page_table(out, t, page, first);
        if (t->plots_follow) {
            page_plots(out, outcome, figures);
            page_tensors_table(out, &page->tensors);
        }
    }
    page_environments(out, page);
    fputs("</main>\n", out);
    gcb_html_end(out, page_script);
}

int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag)
{
    struct page page;
    char *figures = NULL;
    size_t size = 0;
    FILE *drawn = NULL;
    int err = 0;

    memset(outcome, 0, sizeof(*outcome));
    page_init(&page);
    if (config->plot_folder)
        err = gcb_plot_data_create(&page.plots, diag);
    for (size_t i = 0; !err && i < config->file_count; i++)
        err = page_read(&page, config->files[i], diag);
    if (!err && !page.seen)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "these files have no rows that a report shows");
    if (!err && page_add_history(&page))
        err = gcb_diag_nomem(diag, 0, "a history");
    if (!err && !(drawn = open_memstream(&figures, &size)))
        err = gcb_diag_nomem(diag, 0, "plots");
    if (!err)
        err = page_draw_figures(drawn, outcome, &page, config, diag);
    if (drawn && fclose(drawn) && !err)
        err = gcb_diag_nomem(diag, size, "plots");
    if (!err)
        err = page_sort(&page, diag);
    if (!err)
        print_page(out, &page, config->title, outcome, figures);
    free(figures); /* open_memstream allocates with malloc */
    page_fini(&page);
    return err;
}
