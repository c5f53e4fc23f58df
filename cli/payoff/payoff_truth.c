#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/payoff/payoff_show.h"
#include "src/lib/base/text.h"
#include "src/tool/print/number.h"

/* The table of measured exchanges and their predictions. */

static const struct gcb_table_column columns[] = {
    {.title = "method", .elastic = true},
    {.title = "sent by", .text = true},
    {.title = "measured"},
    {.title = "predicted"},
    {.title = "coding", .text = true},
    {.title = "ratio"},
    {.title = "wire"},
    {.title = "share"},
    {.title = "pays", .text = true},
};

static const char *answer_text(enum gcb_payoff_answer answer)
{
    return answer == GCB_PAYOFF_UNDECIDED ? "?" : answer == GCB_PAYOFF_YES ? "yes" : "no";
}

/* The label of the method without its collective, which has a column. */
static void name_method(char *out, size_t size, const struct gcb_truth *x)
{
    struct gcb_method m;

    if (gcb_method_parse(&m, x->label, NULL))
        snprintf(out, size, "%s", x->label);
    else
        opt_method_label(out, size, &m);
}

static void add_exchange(struct gcb_table *table, const struct gcb_truth *x, bool several)
{
    char text[256];

    name_method(text, sizeof(text), x);
    if (several)
        gcb_append(text, sizeof(text), " %s", x->algorithm);
    gcb_table_cell(table, text);
    gcb_table_cell(table, x->collective);
    gcb_table_cell(table, gcb_seconds(text, x->seconds[GCB_BOUND_MEDIAN]));
    gcb_table_cell(table, gcb_seconds(text, x->predicted[GCB_BOUND_MEDIAN]));
    gcb_table_cell(table, x->benched ? "bench" : "ranks");
    gcb_table_cell(
        table, gcb_number(text, x->seconds[GCB_BOUND_MEDIAN] / x->predicted[GCB_BOUND_MEDIAN], 2));
    gcb_table_cell(table, gcb_number(text, x->wire / x->predicted_wire, 2));
    snprintf(text, sizeof(text), "%.0f %%", 100.0 * gcb_truth_share(x));
    gcb_table_cell(table, text);
    if (x->baseline || x->bar == SIZE_MAX)
        snprintf(text, sizeof(text), "-");
    else
        snprintf(text, sizeof(text), "%s, %s", answer_text(x->answer),
                 answer_text(x->predicted_answer));
    gcb_table_cell(table, text);
}

static void show_heading(FILE *out, const struct gcb_truth *x, const struct gcb_link *link)
{
    char bytes[32], rate[32], latency[32], name[64] = "";

    if (link->curve)
        gcb_escape(name, sizeof(name), link->curve->path);
    opt_wrapf(out, 0, 0,
              "%" PRIu64 " workers, each with %s in %" PRIu64 " message%s, %s, network%s%s: %s, %s",
              x->workers, gcb_bytes(bytes, x->gradient), x->messages, x->messages == 1 ? "" : "s",
              x->mpi, *name ? " of " : "", name, gcb_payoff_bandwidth_text(rate, link->bandwidth),
              gcb_seconds(latency, link->latency));
}

static int show_group(const struct out_report *report, const struct gcb_truth *first, size_t count,
                      const struct gcb_link *link, struct gcb_diag *diag)
{
    struct gcb_table *table;
    bool several = false;

    for (size_t i = 1; i < count; i++)
        several |= first[i].algorithm != first->algorithm;
    show_heading(report->out, first, link);
    if (!several)
        opt_wrapf(report->out, 0, 0, "bytes moved by: %s", first->algorithm);
    table = gcb_table_create(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_exchange(table, &first[i], several);
    return out_table(report, table, diag);
}

static void show_notes(const struct out_report *report, const struct gcb_truths *t,
                       const struct gcb_link *link)
{
    const unsigned measured = link->curve ? link->curve->workers : 0;
    bool library = false, others = false, benched = false;

    for (size_t i = 0; i < t->count; i++) {
        library |= strcmp(t->items[i].algorithm, "library") == 0;
        benched |= t->items[i].benched;
        others |= measured && t->items[i].workers != measured;
    }
    opt_note(
        report->out,
        "ratio: measured / predicted; wire: the same for the time on the wire; share: what "
        "the wire takes of the measured time; pays: measured, predicted; coding: the source of "
        "the times of encoding and summing: `bench` rows of the same method, length and threads, "
        "or the ranks of the exchange itself, so that only the network is predicted");
    if (benched)
        opt_note(report->out,
                 "`bench` encodes one tensor again and again; in an exchange encoding takes "
                 "longer, in our trials by 11 to 16 %%, so these predictions are too short");
    if (library)
        opt_note(report->out,
                 "`library`: predicted for the fastest algorithm, which the MPI library may not "
                 "have chosen");
    if (others)
        opt_note(report->out,
                 "the network was measured with %u workers, and not all exchanges had as many",
                 measured);
}

int payoff_show_truths(const struct out_report *report, const struct gcb_truths *truths,
                       const struct gcb_link *link, struct gcb_diag *diag)
{
    const struct gcb_truth_summary s = gcb_truths_sum_up(truths);
    char least[32], most[32], verdicts[96] = "";
    int err = 0, at;

    for (size_t i = 0, end; !err && i < truths->count; i = end) {
        end = gcb_truths_group_end(truths, i);
        err = show_group(report, &truths->items[i], end - i, link, diag);
    }
    if (err)
        return err;
    if (!report->quiet)
        show_notes(report, truths, link);
    if (s.decided == 0)
        gcb_append(verdicts, sizeof(verdicts), "No verdict was decided by both");
    else
        gcb_append(verdicts, sizeof(verdicts), "%zu of %zu verdicts that both decide agree",
                   s.agreed, s.decided);
    at = fprintf(report->out, "answer:");
    if (s.on_wire == 0) {
        opt_wrapf(report->out, at, 2,
                  "in no exchange does the wire take half of the time, so this says little about "
                  "the model of the network");
        return 0;
    }
    opt_wrapf(report->out, at, 2,
              "where the wire takes at least half of the time, measured / predicted is %s to %s: "
              "within %.0f %% for %zu of %zu exchanges. %s",
              gcb_number(least, s.least, 2), gcb_number(most, s.most, 2), 100.0 * GCB_TRUTH_NEAR,
              s.near, s.on_wire, verdicts);
    return 0;
}
