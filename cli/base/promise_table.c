#include "cli/base/promise_table.h"

#include <inttypes.h>

#include "src/tool/rows/number.h"
#include "src/tool/rows/results.h"
#include "src/tool/run/verify.h"

static const char *text_of(const struct gcb_row *row, enum gcb_field field)
{
    const char *text = gcb_results_text(row->json, field);

    return text ? text : "";
}

void promise_take(struct promise_counts *counts, const struct out_report *report, const char *label,
                  const struct gcb_row *row)
{
    const char *status = text_of(row, GCB_FIELD_STATUS), *reason = text_of(row, GCB_FIELD_REASON);
    const bool broken = gcb_verify_status(status) == GCB_PROMISE_BROKEN;
    char words[480], value[32], limit[32];

    counts->of[gcb_verify_status(status)]++;
    if (!report->table || !(broken || report->verbose))
        return;
    snprintf(words, sizeof(words), "%s: %s on step %" PRIu64 " worker %" PRIu64 " %s", label,
             text_of(row, GCB_FIELD_PROMISE), gcb_results_u64(row->json, GCB_FIELD_STEP),
             gcb_results_u64(row->json, GCB_FIELD_WORKER), text_of(row, GCB_FIELD_TENSOR));
    if (broken) {
        opt_wrapf(report->out, 0, 0, "BROKEN  %s: %s", words, reason);
        opt_wrapf(report->out, 0, 8, "promised: %s (%s)", text_of(row, GCB_FIELD_CLAIM),
                  text_of(row, GCB_FIELD_SOURCE));
    } else {
        opt_wrapf(report->out, 0, 2, "%s  %s: %s, limit %s %s", status, words,
                  gcb_number(value, gcb_results_real(row->json, GCB_FIELD_VALUE), 3),
                  gcb_number(limit, gcb_results_real(row->json, GCB_FIELD_LIMIT), 3), reason);
    }
}

uint64_t promise_sum(const struct promise_counts *counts, size_t count,
                     enum gcb_promise_status status)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += counts[i].of[status];
    return sum;
}

int promise_show_counts(const struct out_report *report, const struct gcb_label *labels,
                        size_t count, const struct promise_counts *counts, uint64_t messages,
                        struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{.title = "method", .elastic = true},
                                                      {.title = "kept"},
                                                      {.title = "broken"},
                                                      {.title = "nothing to say"}};
    struct gcb_table *table = gcb_table_create(columns, 4);
    int err;

    for (size_t i = 0; i < count; i++) {
        char text[32];

        gcb_table_cell(table, labels[i].text);
        for (size_t k = 0; k < GCB_PROMISE_STATUSES; k++)
            gcb_table_cell(table, gcb_count(text, counts[i].of[k]));
    }
    err = out_table(report, table, diag);
    if (!err)
        fprintf(report->out,
                "%" PRIu64 " promises kept, %" PRIu64 " broken, on %" PRIu64 " message%s\n",
                promise_sum(counts, count, GCB_PROMISE_KEPT),
                promise_sum(counts, count, GCB_PROMISE_BROKEN), messages, messages == 1 ? "" : "s");
    return err;
}

void promise_note_idle(FILE *out, const struct promise_counts *counts, size_t count)
{
    if (promise_sum(counts, count, GCB_PROMISE_IDLE))
        opt_note(out, "nothing to say: the tensor is too small or too simple for the check, or "
                      "was sent raw; -v shows each check");
}
