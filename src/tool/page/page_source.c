#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/print/number.h"

/* The end of the page: the machine, the build and the command of each run. */

#define MAX_RUNS 8

static const struct {
    const char *title;
    enum gcb_field field;
    enum page_kind kind;
} facts[] = {
    {"results", GCB_FIELD_PAGE_RESULTS, PAGE_CODE},
    {"date", GCB_FIELD_DATE, PAGE_TEXT},
    {"command", GCB_FIELD_COMMAND, PAGE_CODE},
    {"gcbench", GCB_FIELD_VERSION, PAGE_TEXT},
    {"revision", GCB_FIELD_GIT_REVISION, PAGE_CODE},
    {"build", GCB_FIELD_BUILD_TYPE, PAGE_TEXT},
    {"build id", GCB_FIELD_BUILD_ID, PAGE_CODE},
    {"compiler", GCB_FIELD_COMPILER, PAGE_TEXT},
    {"flags", GCB_FIELD_COMPILE_FLAGS, PAGE_CODE},
    {"processor", GCB_FIELD_CPU_MODEL, PAGE_TEXT},
    {"processors", GCB_FIELD_CPUS, PAGE_WHOLE},
    {"instruction set", GCB_FIELD_ISA, PAGE_TEXT},
    {"threads", GCB_FIELD_THREADS, PAGE_WHOLE},
    {"device", GCB_FIELD_DEVICE, PAGE_TEXT},
    {"GPU", GCB_FIELD_GPU, PAGE_TEXT},
    {"GPU driver", GCB_FIELD_GPU_DRIVER, PAGE_TEXT},
    {"GPU clock MHz", GCB_FIELD_GPU_CLOCK_MHZ, PAGE_NUMBER},
    {"memory", GCB_FIELD_MEMORY_BYTES, PAGE_SIZE},
    {"kernel", GCB_FIELD_KERNEL, PAGE_TEXT},
    {"governor", GCB_FIELD_GOVERNOR, PAGE_TEXT},
    {"load", GCB_FIELD_LOAD1, PAGE_NUMBER},
    {"reads GB/s", GCB_FIELD_READ_GBPS, PAGE_NUMBER},
    {"fills GB/s", GCB_FIELD_FILL_GBPS, PAGE_NUMBER},
    {"copies GB/s", GCB_FIELD_COPY_GBPS, PAGE_NUMBER},
    {"memory by threads", GCB_FIELD_BANDWIDTHS, PAGE_TEXT},
    {"libraries", GCB_FIELD_LIBRARIES, PAGE_TEXT},
    {"inputs", GCB_FIELD_INPUT_XXH3, PAGE_CODE},
};

/* The bandwidth of memory by threads: "2 threads: reads 21, fills 17, copies 9.1 GB/s". */
static void print_bandwidth(FILE *out, const json_t *item)
{
    const double threads = gcb_results_real(item, GCB_FIELD_THREADS);
    char read[32], fill[32], copy[32];

    fprintf(out, "%.0f thread%s: reads %s, fills %s, copies %s GB/s<br>", fmin(threads, 1e6),
            threads > 1.0 ? "s" : "",
            page_number(read, gcb_results_real(item, GCB_FIELD_READ_GBPS)),
            page_number(fill, gcb_results_real(item, GCB_FIELD_FILL_GBPS)),
            page_number(copy, gcb_results_real(item, GCB_FIELD_COPY_GBPS)));
}

/* The words of a command, files with their hashes, or bandwidths. */
static void print_list(FILE *out, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *file = gcb_results_text(item, GCB_FIELD_FILE),
                   *hash = gcb_results_text(item, GCB_FIELD_XXH3);

        if (isfinite(gcb_results_real(item, GCB_FIELD_THREADS))) {
            print_bandwidth(out, item);
            continue;
        }
        fputs(i ? file ? "<br>" : " " : "", out);
        gcb_html_text(out, file ? file : json_string_value(item));
        fputs(hash ? " xxh3 " : "", out);
        gcb_html_text(out, hash);
    }
}

static void print_names(FILE *out, json_t *object)
{
    const char *name, *comma = "";
    json_t *value;

    json_object_foreach(object, name, value)
    {
        fputs(comma, out);
        gcb_html_text(out, name);
        fputc(' ', out);
        gcb_html_text(out, json_string_value(value));
        comma = ", ";
    }
}

static void print_fact(FILE *out, json_t *value, enum page_kind kind)
{
    char text[32];

    fputs(kind == PAGE_CODE ? "<td><code>" : "<td>", out);
    if (json_is_array(value))
        print_list(out, value);
    else if (json_is_object(value))
        print_names(out, value);
    else if (json_is_string(value))
        gcb_html_text(out, json_string_value(value));
    else if (json_is_number(value) && kind == PAGE_SIZE)
        fputs(gcb_bytes(text, json_number_value(value)), out);
    else if (json_is_number(value) && kind == PAGE_WHOLE)
        fprintf(out, "%.0f", fmin(json_number_value(value), 1e9));
    else
        fputs(json_is_number(value) ? page_number(text, json_number_value(value)) : "-", out);
    fputs(kind == PAGE_CODE ? "</code></td>" : "</td>", out);
}

static void print_runs(FILE *out, const struct page_rows *runs)
{
    const size_t count = runs->count < MAX_RUNS ? runs->count : MAX_RUNS;

    fputs("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\"><table "
          "class=\"facts\">\n"
          "<thead><tr><td></td>",
          out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<th scope=\"col\">run %zu</th>", i + 1);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t f = 0; f < sizeof(facts) / sizeof(facts[0]); f++) {
        if (!page_has(runs, facts[f].field))
            continue;
        fprintf(out, "<tr><th scope=\"row\">%s</th>", facts[f].title);
        for (size_t i = 0; i < count; i++)
            print_fact(out, gcb_results_json(runs->items[i], facts[f].field), facts[f].kind);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
    if (runs->count > count)
        fprintf(out, "<p class=\"note\">%zu more runs are in the files.</p>\n",
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
