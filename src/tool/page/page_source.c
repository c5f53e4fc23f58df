#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/tool/page/html.h"
#include "src/tool/page/page_parts.h"
#include "src/tool/print/number.h"

/* The end of the page: machine, build and command of each run. */

#define MAX_RUNS 8

static const struct {
    const char *title, *field;
    enum page_kind kind;
} facts[] = {
    {"results", PAGE_RESULTS, PAGE_CODE},
    {"date", "date", PAGE_TEXT},
    {"command", "command", PAGE_CODE},
    {"gcbench", "version", PAGE_TEXT},
    {"revision", "git_revision", PAGE_CODE},
    {"build", "build_type", PAGE_TEXT},
    {"build id", "build_id", PAGE_CODE},
    {"compiler", "compiler", PAGE_TEXT},
    {"flags", "compile_flags", PAGE_CODE},
    {"processor", "cpu_model", PAGE_TEXT},
    {"processors", "cpus", PAGE_WHOLE},
    {"instruction set", "isa", PAGE_TEXT},
    {"threads", "threads", PAGE_WHOLE},
    {"device", "device", PAGE_TEXT},
    {"GPU", "gpu", PAGE_TEXT},
    {"GPU driver", "gpu_driver", PAGE_TEXT},
    {"GPU clock MHz", "gpu_clock_mhz", PAGE_NUMBER},
    {"memory", "memory_bytes", PAGE_SIZE},
    {"kernel", "kernel", PAGE_TEXT},
    {"governor", "governor", PAGE_TEXT},
    {"load", "load1", PAGE_NUMBER},
    {"reads GB/s", "read_gbps", PAGE_NUMBER},
    {"fills GB/s", "fill_gbps", PAGE_NUMBER},
    {"copies GB/s", "copy_gbps", PAGE_NUMBER},
    {"memory by threads", "bandwidths", PAGE_TEXT},
    {"libraries", "libraries", PAGE_TEXT},
    {"inputs", "input_xxh3", PAGE_CODE},
};

/* Bandwidth of memory with so many threads: "2 threads: reads 21, fills 17, copies 9.1 GB/s". */
static void print_bandwidth(FILE *out, const json_t *item)
{
    const double threads = gcb_results_real(item, "threads");
    char read[32], fill[32], copy[32];

    fprintf(out, "%.0f thread%s: reads %s, fills %s, copies %s GB/s<br>", fmin(threads, 1e6),
            threads > 1.0 ? "s" : "", page_number(read, gcb_results_real(item, "read_gbps")),
            page_number(fill, gcb_results_real(item, "fill_gbps")),
            page_number(copy, gcb_results_real(item, "copy_gbps")));
}

/* Words of a command, files with their hashes, bandwidths. */
static void print_list(FILE *out, const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *file = gcb_results_text(item, "file"), *hash = gcb_results_text(item, "xxh3");

        if (isfinite(gcb_results_real(item, "threads"))) {
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
            print_fact(out, json_object_get(runs->items[i], facts[f].field), facts[f].kind);
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
