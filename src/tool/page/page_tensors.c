#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/page/html.h"
#include "src/tool/page/page_private.h"
#include "src/tool/print/number.h"

#define SHOWN 20

/* The number of `key`, a new one while there are fewer than `most`; -1: there are more; -2: no memory. */
static json_int_t number_of(json_t **names, const char *key, size_t most)
{
    const json_t *known;
    size_t next;

    if (!*names)
        *names = json_object();
    known = json_object_get(*names, key);
    next = json_object_size(*names);
    if (known)
        return json_integer_value(known);
    if (next >= most)
        return -1;
    return json_object_set_new(*names, key, json_integer((json_int_t)next)) ? -2 : (json_int_t)next;
}

/* The number of a row's method, by its label. */
static json_int_t method_of(struct page_tensors *t, const json_t *row)
{
    const char *spec = gcb_results_text(row, "spec");
    const json_t *known = spec ? json_object_get(t->specs, spec) : NULL;
    char label[512];
    json_int_t number;

    if (known)
        return json_integer_value(known);
    number = number_of(&t->methods, page_label(label, sizeof(label), row), PAGE_MAX_METHODS);
    if (!t->specs)
        t->specs = json_object();
    if (number != -2 && spec && json_object_size(t->specs) < PAGE_MAX_TENSORS &&
        json_object_set_new(t->specs, spec, json_integer(number)))
        return -2;
    return number;
}

/* Cells for tensor number `count`, all empty. */
static int grow(struct page_tensors *t)
{
    const size_t row = PAGE_MAX_METHODS * sizeof(*t->cells);
    const int err = gcb_grow(&t->cells, &t->cap, t->count, row);

    if (!err)
        memset(&t->cells[PAGE_MAX_METHODS * t->count++], 0, row);
    return err;
}

int page_tensors_add(struct page_tensors *t, const json_t *row, struct gcb_diag *diag)
{
    const char *tensor = gcb_results_text(row, "tensor");
    const double error = gcb_results_real(row, "rel_l2");
    struct page_cell *cell;
    json_int_t name, method;

    if (!tensor || !isfinite(error) || error < 0.0 || page_is_baseline(row))
        return 0;
    method = method_of(t, row);
    name = method < 0 ? method : number_of(&t->names, tensor, PAGE_MAX_TENSORS);
    if (name == -2 || (name >= 0 && (size_t)name == t->count && grow(t)))
        return gcb_diag_nomem(diag, 0, "tensors");
    if (name < 0) {
        t->left_out++;
        return 0;
    }
    cell = &t->cells[PAGE_MAX_METHODS * (size_t)name + (size_t)method];
    cell->sum += error;
    cell->count++;
    cell->worst = fmax(cell->worst, error);
    return 0;
}

void page_tensors_fini(struct page_tensors *t)
{
    json_decref(t->names);
    json_decref(t->specs);
    json_decref(t->methods);
    gcb_free(t->cells);
    memset(t, 0, sizeof(*t));
}

/* A tensor and the largest mean error any method has on it. */
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

static struct ranked *rank(const struct page_tensors *t)
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

/* The darker, the larger; never so dark that it cannot be read. */
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
            0.45 * fmin(mean, 1.0), page_number(worst, cell->worst), page_number(text, mean));
}

static void print_notes(FILE *out, const struct page_tensors *t)
{
    fputs("<p class=\"help\">Relative L2 error of each tensor, the mean over its messages (steps "
          "and workers); 0 "
          "is exact, 1 is as wrong as sending nothing. The largest errors come first.",
          out);
    if (t->count > SHOWN)
        fprintf(out, " Of %zu tensors, %d are shown.", t->count, SHOWN);
    if (t->left_out)
        fprintf(out, " %" PRIu64 " rows of further methods or tensors are not in this table.",
                t->left_out);
    fputs("</p>\n", out);
}

void page_tensors_table(FILE *out, const struct page_tensors *t)
{
    struct ranked *tensors = t->count ? rank(t) : NULL;
    const char *label;
    json_t *number;

    if (!tensors)
        return;
    fputs("<section id=\"tensors\">\n<h2>Error by tensor</h2>\n", out);
    print_notes(out, t);
    fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Error by "
          "tensor\"><table>\n"
          "<thead><tr><th scope=\"col\">tensor</th>",
          out);
    json_object_foreach(t->methods, label, number)
    {
        fputs("<th scope=\"col\" class=\"n\"><code>", out);
        gcb_html_name(out, label);
        fputs("</code></th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < t->count && i < SHOWN; i++) {
        fputs("<tr><th scope=\"row\"><code>", out);
        gcb_html_text(out, tensors[i].name);
        fputs("</code></th>", out);
        for (size_t m = 0; m < json_object_size(t->methods); m++)
            print_cell(out, &tensors[i].cells[m]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n</section>\n", out);
    gcb_free(tensors);
}
