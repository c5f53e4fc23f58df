#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

#define SHOWN 20

/* A tensor, and the mean error of the method that is worst on this tensor. */
struct ranked {
    const char *name;
    const struct page_cell *cells;
    double worst;
};

static int by_worst(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return x->worst > y->worst ? -1 : x->worst < y->worst ? 1 : strcmp(x->name, y->name);
}

static struct ranked *rank_tensors(const struct page_tensors *t)
{
    struct ranked *out = gcb_alloc_array(t->count, sizeof(*out));
    const char *name;
    json_t *number;
    size_t i = 0;

    if (!out)
        return NULL;
    json_object_foreach(t->names, name, number)
    {
        out[i] = (struct ranked){
            name, &t->cells[PAGE_MAX_METHODS * (size_t)json_integer_value(number)], 0.0};
        for (size_t m = 0; m < json_object_size(t->methods); m++)
            if (out[i].cells[m].count)
                out[i].worst =
                    fmax(out[i].worst, out[i].cells[m].sum / (double)out[i].cells[m].count);
        i++;
    }
    qsort(out, i, sizeof(*out), by_worst);
    return out;
}

/* Prints a cell. A larger error gives a darker cell, but the text stays readable. */
static void print_cell(FILE *out, const struct page_cell *cell)
{
    const double mean = cell->count ? cell->sum / (double)cell->count : NAN;
    char text[32], worst[32];

    if (!cell->count) {
        fputs("<td class=\"n\">-</td>", out);
        return;
    }
    fprintf(out,
            "<td class=\"n\" style=\"background:rgba(213,94,0,%.2f)\" title=\"worst message "
            "%s\">%s</td>",
            0.45 * fmin(mean, 1.0), gcb_field_number(worst, GCB_FIELD_REL_L2, cell->worst, 0),
            gcb_field_number(text, GCB_FIELD_REL_L2, mean, 0));
}

static void print_notes(FILE *out, const struct page_tensors *t)
{
    fputs("<p class=\"help\">Relative L2 error of each tensor, the mean over its messages (steps "
          "and workers). 0 is exact; 1 is as wrong as sending nothing. The largest errors come "
          "first.",
          out);
    if (t->count > SHOWN)
        fprintf(out, " %d of %zu tensors are shown.", SHOWN, t->count);
    if (t->left_out)
        fprintf(out, " %" PRIu64 " rows of further methods or tensors are left out.", t->left_out);
    fputs("</p>\n", out);
}

void page_tensors_table(FILE *out, const struct page_tensors *t)
{
    struct ranked *tensors = t->count ? rank_tensors(t) : NULL;
    const char *label;
    json_t *number;

    if (!tensors)
        return;
    fputs("<section id=\"tensors\">\n<h2>Error by tensor</h2>\n", out);
    print_notes(out, t);
    gcb_html_begin_table(out, "Error by tensor", "");
    fputs("<th scope=\"col\">tensor</th>", out);
    json_object_foreach(t->methods, label, number)
    {
        fputs("<th scope=\"col\" class=\"n\"><code>", out);
        gcb_html_name(out, label);
        fputs("</code></th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < t->count && i < SHOWN; i++) {
        gcb_html_between(out, "<tr><th scope=\"row\"><code>", tensors[i].name, "</code></th>");
        for (size_t m = 0; m < json_object_size(t->methods); m++)
            print_cell(out, &tensors[i].cells[m]);
        fputs("</tr>\n", out);
    }
    gcb_html_end_table(out);
    fputs("</section>\n", out);
    gcb_free(tensors);
}
