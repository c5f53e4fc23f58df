#include <math.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"

/* Prints the last section of the page: the machine, the build and the command of each run. */

#define MAX_RUNS 8

static const struct {
    const char *title;
    enum gcb_field field;
} facts[] = {
    {"results", GCB_FIELD_PAGE_RESULTS},
    {"date", GCB_FIELD_DATE},
    {"command", GCB_FIELD_COMMAND},
    {"gcbench", GCB_FIELD_VERSION},
    {"revision", GCB_FIELD_GIT_REVISION},
    {"build", GCB_FIELD_BUILD_TYPE},
    {"build id", GCB_FIELD_BUILD_ID},
    {"compiler", GCB_FIELD_COMPILER},
    {"flags", GCB_FIELD_COMPILE_FLAGS},
    {"processor", GCB_FIELD_CPU_MODEL},
    {"processors", GCB_FIELD_CPUS},
    {"instruction set", GCB_FIELD_ISA},
    {"threads", GCB_FIELD_THREADS},
    {"device", GCB_FIELD_DEVICE},
    {"GPU", GCB_FIELD_GPU},
    {"GPU driver", GCB_FIELD_GPU_DRIVER},
    {"GPU clock MHz", GCB_FIELD_GPU_CLOCK_MHZ},
    {"memory", GCB_FIELD_MEMORY_BYTES},
    {"kernel", GCB_FIELD_KERNEL},
    {"governor", GCB_FIELD_GOVERNOR},
    {"load", GCB_FIELD_LOAD1},
    {"reads GB/s", GCB_FIELD_READ_GBPS},
    {"fills GB/s", GCB_FIELD_FILL_GBPS},
    {"copies GB/s", GCB_FIELD_COPY_GBPS},
    {"memory by threads", GCB_FIELD_BANDWIDTHS},
    {"libraries", GCB_FIELD_LIBRARIES},
    {"OpenBLAS", GCB_FIELD_OPENBLAS},
    {"OpenBLAS kernel", GCB_FIELD_OPENBLAS_KERNEL},
    {"inputs", GCB_FIELD_INPUT_XXH3},
};

/* Prints the memory bandwidth of some threads: "2 threads: reads 21, fills 17, copies 9.1 GB/s". */
static void print_bandwidth(FILE *out, const json_t *item)
{
    const double threads = gcb_results_real(item, GCB_FIELD_THREADS);
    char read[32], fill[32], copy[32];

    fprintf(out, "%.0f thread%s: reads %s, fills %s, copies %s GB/s<br>", fmin(threads, 1e6),
            threads > 1.0 ? "s" : "", page_number(read, item, GCB_FIELD_READ_GBPS),
            page_number(fill, item, GCB_FIELD_FILL_GBPS),
            page_number(copy, item, GCB_FIELD_COPY_GBPS));
}

/* Prints a list: the words of a command, files with their hashes, or bandwidths. */
static void print_list(FILE *out, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *file = gcb_results_text(item, GCB_FIELD_FILE);

        if (isfinite(gcb_results_real(item, GCB_FIELD_THREADS))) {
            print_bandwidth(out, item);
            continue;
        }
        fputs(i ? file ? "<br>" : " " : "", out);
        gcb_html_text(out, file ? file : json_string_value(item));
        gcb_html_between(out, " xxh3 ", gcb_results_text(item, GCB_FIELD_XXH3), "");
    }
}

static void print_names(FILE *out, json_t *object)
{
    const char *name, *comma = "";
    json_t *value;

    json_object_foreach(object, name, value)
    {
        gcb_html_between(out, comma, name, " ");
        gcb_html_text(out, json_string_value(value));
        comma = ", ";
    }
}

static void print_fact(FILE *out, enum gcb_field field, json_t *value)
{
    const enum gcb_field_show show = gcb_field_info(field)->show;
    char text[32];

    fputs(show == GCB_SHOW_NAME ? "<td><code>" : "<td>", out);
    if (json_is_array(value))
        print_list(out, value);
    else if (json_is_object(value))
        print_names(out, value);
    else if (json_is_string(value))
        gcb_html_text(out, json_string_value(value));
    else
        fputs(gcb_show_number(text, show, json_is_number(value) ? json_number_value(value) : NAN),
              out);
    fputs(show == GCB_SHOW_NAME ? "</code></td>" : "</td>", out);
}

/* Chooses the newest runs and sorts them, the newest first; those of one date stay in order. Returns how many. */
static size_t choose_runs(size_t out[MAX_RUNS], const struct page_rows *runs)
{
    size_t count = 0;

    for (size_t i = 0; i < runs->count; i++) {
        size_t at = count;

        while (at > 0 &&
               strcmp(page_date_of(runs->items[i]), page_date_of(runs->items[out[at - 1]])) > 0)
            at--;
        if (at == MAX_RUNS)
            continue;
        count += count < MAX_RUNS;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof(*out));
        out[at] = i;
    }
    return count;
}

static void print_runs(FILE *out, const struct page_rows *runs)
{
    size_t shown[MAX_RUNS];
    const size_t count = choose_runs(shown, runs);

    gcb_html_begin_table(out, "Runs", " class=\"facts\"");
    fputs("<td></td>", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<th scope=\"col\">run %zu</th>", shown[i] + 1);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t f = 0; f < sizeof(facts) / sizeof(facts[0]); f++) {
        if (!page_has(runs, facts[f].field))
            continue;
        fprintf(out, "<tr><th scope=\"row\">%s</th>", facts[f].title);
        for (size_t i = 0; i < count; i++)
            print_fact(out, facts[f].field,
                       gcb_results_json(runs->items[shown[i]], facts[f].field));
        fputs("</tr>\n", out);
    }
    gcb_html_end_table(out);
    if (runs->count > count)
        fprintf(out, "<p class=\"note\">%zu older runs are in the files.</p>\n",
                runs->count - count);
}

void page_environments(FILE *out, const struct page *page)
{
    const struct page_rows *runs = &page->rows[PAGE_ENVIRONMENT];

    fputs("<section id=\"source\">\n<h2>Where this comes from</h2>\n", out);
    if (runs->count)
        print_runs(out, runs);
    else
        fputs("<p>The files do not say: they have no environment row.</p>\n", out);
    fputs("</section>\n", out);
}
