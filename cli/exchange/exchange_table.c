#include "cli/exchange/exchange.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/number.h"

static const struct gcb_table_column columns[] = {
    {.title = "method", .elastic = true},
    {.title = "sent by", .text = true},
    {.title = "sent"},
    {.title = "time"},
    {.title = "encode"},
    {.title = "wire"},
    {.title = "sum"},
    {.title = "wrong"},
};

static bool have_several_algorithms(const struct gcb_lane *lanes, size_t count)
{
    bool several = false;

    for (size_t i = 1; i < count; i++)
        several |= lanes[i].algorithm != lanes[0].algorithm;
    return several;
}

static void add_lane(struct gcb_table *table, const struct gcb_lane *lane, const char *label,
                     unsigned ranks, bool several)
{
    struct gcb_exchange_params params;
    char text[256];

    gcb_method_exchange(&params, &lane->method);
    snprintf(text, sizeof(text), "%s", label);
    gcb_spec_drop(text, "collective"); /* has a column */
    if (several) /* beside the method, because text of the first column is never cut */
        gcb_append(text, sizeof(text), " %s", gcb_net_algorithm_names[lane->algorithm]);
    gcb_table_cell(table, text);
    gcb_table_cell(table, gcb_collective_names[params.collective]);
    out_cell(table, GCB_FIELD_WIRE_BYTES, (double)lane->first.given / ranks, 0);
    out_cell(table, GCB_FIELD_SECONDS, gcb_lane_stats(lane, GCB_TIME_WHOLE).median, 0);
    out_cell(table, GCB_FIELD_SECONDS, gcb_lane_stats(lane, GCB_TIME_ENCODE).median, 0);
    out_cell(table, GCB_FIELD_SECONDS,
             gcb_lane_stats(lane, GCB_TIME_WIRE).median +
                 gcb_lane_stats(lane, GCB_TIME_SIZES).median,
             0);
    out_cell(table, GCB_FIELD_SECONDS, gcb_lane_stats(lane, GCB_TIME_SUM).median, 0);
    snprintf(text, sizeof(text), "%" PRIu64, lane->wrong);
    gcb_table_cell(table, text);
}

int exchange_show(const struct out_report *report, const struct gcb_lane *lanes, size_t count,
                  unsigned ranks, struct gcb_diag *diag)
{
    struct gcb_label *labels = gcb_label_methods(&lanes->method, sizeof(*lanes), count);
    struct gcb_table *table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    const bool several = have_several_algorithms(lanes, count);

    for (size_t i = 0; i < count; i++)
        add_lane(table, &lanes[i], labels ? labels[i].text : lanes[i].method.name, ranks, several);
    gcb_free(labels);
    return out_table(report, table, diag);
}

/* The lane with the least median time among those without a wrong update; `baselines`: only
 * fp32, fp16 and bf16, or only the others. NULL: there is none. */
static const struct gcb_lane *fastest(const struct gcb_lane *lanes, size_t count, bool baselines)
{
    const struct gcb_lane *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < count; i++) {
        const double seconds = gcb_lane_stats(&lanes[i], GCB_TIME_WHOLE).median;

        if (lanes[i].wrong == 0 && exchange_is_baseline(&lanes[i].method) == baselines &&
            seconds < least) {
            least = seconds;
            best = &lanes[i];
        }
    }
    return best;
}

/* The lane's label; with several algorithms, its algorithm too. */
static const char *name_lane(char *out, size_t size, const struct gcb_lane *lane, const char *label,
                             bool several)
{
    snprintf(out, size, "%s", label);
    if (exchange_is_baseline(&lane->method))
        snprintf(out, size, "%s",
                 strcmp(lane->method.name, "identity") == 0 ? "fp32" : lane->method.name);
    if (several)
        gcb_append(out, size, " by %s", gcb_net_algorithm_names[lane->algorithm]);
    return out;
}

bool exchange_answer(char *out, size_t size, const struct gcb_lane *lanes, size_t count,
                     const struct gcb_load *load, const struct gcb_net *net)
{
    const struct gcb_lane *method = fastest(lanes, count, false);
    const struct gcb_lane *bar = fastest(lanes, count, true);
    struct gcb_label *labels;
    struct gcb_stats a, b;
    const bool several = have_several_algorithms(lanes, count);
    struct gcb_answer answer = {.times = true};
    struct gcb_answer_item item;
    char name[256], baseline[64], bytes[32];

    if (!method || !bar)
        return false;
    a = gcb_lane_stats(method, GCB_TIME_WHOLE);
    b = gcb_lane_stats(bar, GCB_TIME_WHOLE);
    labels = gcb_label_methods(&lanes->method, sizeof(*lanes), count);
    name_lane(name, sizeof(name), method,
              labels ? labels[method - lanes].text : method->method.name, several);
    name_lane(baseline, sizeof(baseline), bar, bar->method.name, several);
    gcb_free(labels);
    answer.bar = baseline;
    item = gcb_answer_item_of(&method->method);
    item.name = name;
    item.gain = b.median / a.median;
    item.low = b.low / a.high;
    item.high = b.high / a.low;
    snprintf(out, size, "with %u workers and %s each on this network ", gcb_net_ranks(net),
             gcb_show_number(bytes, GCB_SHOW_SIZE, (double)load->input_bytes));
    if (item.gain < GCB_ANSWER_GAIN && !(item.low < 0.9 && item.high > 1.1))
        gcb_append(out, size, "nothing is faster than %s: ", baseline);
    gcb_append(out, size, "%s ", name);
    gcb_answer_gain(out, size, &answer, &item);
    gcb_append(out, size, "; errors and training were not tested");
    return true;
}

int exchange_show_link(const struct out_report *report, const struct gcb_link *link,
                       struct gcb_diag *diag)
{
    static const struct gcb_table_column titles[] = {{.title = "pattern", .text = true},
                                                     {.title = "transfer"},
                                                     {.title = "first"},
                                                     {.title = "next"},
                                                     {.title = "Gb/s"}};
    struct gcb_table *table = gcb_table_create(titles, 5);

    for (size_t i = 0; i < link->count; i++) {
        const struct gcb_link_size *size = &link->sizes[i];
        const double seconds = gcb_stats_make(size->seconds, size->samples).median;

        gcb_table_cell(table, gcb_pattern_names[size->pattern]);
        out_cell(table, GCB_FIELD_BYTES, size->bytes, 0);
        out_cell(table, GCB_FIELD_FIRST_SECONDS, gcb_stats_make(size->first, size->samples).median,
                 0);
        out_cell(table, GCB_FIELD_SECONDS, seconds, 0);
        out_cell(table, GCB_FIELD_BANDWIDTH_GBIT, 8e-9 * size->bytes / seconds, 0);
    }
    return out_table(report, table, diag);
}
