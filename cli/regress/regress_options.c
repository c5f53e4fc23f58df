#include "cli/regress/regress.h"

#include <string.h>

/* clang-format off */
const struct opt_row regress_judge_rows[] = {
    {OPT_ROW("accept", LIST, regress_own, accept), .metavar = "CASE",
     .help = "do not fail because of this change: a glob on the case as the table shows it, or "
             "the glob and a quantity (`--accept 'topk* size'` has the quantity `size`); "
             "repeatable"},
    {OPT_ROW("delta", REAL, regress_own, delta), .metavar = "PERCENT", .min = 0.1, .max = 1000,
     .help = "how much a time may change, in percent (default: 5 with --against, 10 between two "
             "files)"},
    {OPT_ROW("advisory-times", FLAG, regress_own, advisory_times),
     .help = "show what became slower, but fail only on sizes and errors"},
    {OPT_ROW("strict", FLAG, regress_own, strict),
     .help = "exit with 6 if something is ambiguous or could not be compared"},
    {.name = NULL},
};

const struct opt_row regress_against_rows[] = {
    {OPT_ROW("against", TEXT, regress_own, against), .metavar = "GCBENCH",
     .help = "the other build's program: the two builds run `bench` alternately"},
    {OPT_ROW("budget", TIME, regress_own, budget), .min = 0.001, .max = 604800,
     .help = "time for the whole comparison: 90s, 5m (default), 1h"},
    {OPT_ROW("pairs", INT, regress_own, pairs), .min = 20, .max = 10000,
     .help = "most pairs of processes (default 200; at least 20 are run)"},
    {OPT_ROW("calibrate", FLAG, regress_own, calibrate),
     .help = "first run this build against itself, for a third of the budget, and raise each "
             "case's threshold to the difference measured between the two equal builds"},
    {OPT_ROW("floor", REAL, regress_own, floor), .metavar = "US", .max = 1e9, .initial = -1,
     .help = "times shorter than this, in microseconds, are not judged (default 20; 0 for "
             "kernels)"},
    {OPT_ROW("timeout", TIME, regress_own, timeout), .min = 0.1, .max = 86400,
     .help = "time limit of one process (default: a minute, or more if the first processes are "
             "slow)"},
    {OPT_ROW("counts", FLAG, regress_own, counts),
     .help = "count instructions under valgrind instead of timing: one thread, --isa avx2, "
             "--delta 1"},
    {.name = NULL},
};

const struct opt_row regress_show_rows[] = {
    {OPT_ROW("markdown", TEXT, regress_options, own.markdown), .metavar = "FILE",
     .help = "also write the comparison as Markdown, for a comment"},
    {OPT_ROW("force", FLAG, regress_options, bench.common.save.force),
     .help = "replace existing files"},
    {.name = NULL},
};
/* clang-format on */

/* Options that --counts sets itself, and --method, which it writes into the command line. */
static bool is_set_by_counts(const char *name)
{
    static const char *const names[] = {"threads", "isa", "repeat", "warmup", "method"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int regress_forward(struct opt_list *out, const struct opt_result *parsed, bool counts)
{
    int err = 0;

    for (size_t i = 0; !err && i < parsed->given_count; i++) {
        const struct opt_given *g = &parsed->given[i];

        if (g->row ? g->group->passed_on && !(counts && is_set_by_counts(g->name)) : !counts)
            err = opt_list_add_all(out, g->words, g->word_count);
    }
    return err;
}
