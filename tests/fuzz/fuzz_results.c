/* Result files (JSON Lines), for everything that reads them: regress, payoff, plot and report. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/tool/page/page.h"
#include "src/tool/payoff/judge.h"
#include "src/tool/payoff/measured.h"
#include "src/tool/payoff/timed.h"
#include "src/tool/plot/plot.h"
#include "src/tool/regress/verdict.h"
#include "tests/fuzz/fuzz.h"

static const int allowed[] = {GCB_E_CORRUPT, GCB_E_INVALID, GCB_E_IO, GCB_E_NOMEM, 0};

/* Compares the file with itself: everything must be the same or not comparable. */
static void compare(const char *path)
{
    struct gcb_runs runs = {.base = {.items = NULL}};
    struct gcb_verdicts verdicts = {.items = NULL};
    struct gcb_diag diag = {0};
    int err = gcb_cases_read(&runs.base, path, NULL, &diag);

    fuzz_require_status(err, &diag, allowed);
    if (!err)
        err = gcb_cases_read(&runs.next, path, NULL, &diag);
    if (!err)
        err = gcb_compare_runs(&verdicts, &runs, GCB_RUNS_DELTA, &diag);
    fuzz_require_status(err, &diag, allowed);
    for (size_t i = 0; !err && i < verdicts.count; i++)
        fuzz_require(!gcb_verdict_fails(&verdicts.items[i]), "a file does not regress from itself",
                     NULL);
    gcb_verdicts_fini(&verdicts);
    gcb_cases_fini(&runs.base);
    gcb_cases_fini(&runs.next);
}

/* Judges the ways that the rows make, with their own times, on networks of several sizes. */
static void judge(struct gcb_ways *ways, const struct gcb_timed *timed)
{
    static const unsigned workers[] = {2, 12, 65536};
    struct gcb_setting s = {.network = {.bandwidth = 1e9, .latency = 1e-5, .per_node = 1},
                            .elements = 1e6,
                            .bucket = 1e6,
                            .compute = 0.1,
                            .inner_steps = 1,
                            .reduced = "bf16"};

    gcb_ways_from_rows(ways, timed);
    for (size_t i = 0; i < 6; i++) {
        struct gcb_judgement j;
        struct gcb_row row;
        char answer[4096];

        s.network.workers = workers[i / 2];
        s.sharded = i % 2;
        gcb_judge(&j, ways, &s);
        for (size_t k = 0; j.bar != SIZE_MAX && k < j.count; k++) {
            fuzz_require(j.items[k].way->baseline || j.items[k].kind < GCB_ERROR_KINDS,
                         "a way is of a kind", NULL);
            gcb_payoff_row(&row, &j, k, "rows", "rows");
            json_decref(row.json);
        }
        gcb_answer_text(answer, sizeof(answer), &j.answer);
        fuzz_require(*answer, "there is an answer", NULL);
        gcb_judgement_fini(&j);
    }
}

static void read_for_payoff(const char *path)
{
    const struct gcb_network network = {.bandwidth = 1e9, .latency = 1e-5};
    struct gcb_measureds measured = {.count = 0};
    struct gcb_ways ways = {.count = 0};
    struct gcb_diag diag = {0};
    struct gcb_timed timed;
    const int err = gcb_timed_read(&timed, &path, 1, &measured, &diag);

    if (!err)
        judge(&ways, &timed);
    fuzz_require_status(err, &diag, allowed);
    gcb_measured_predict(&measured, &network);
    for (size_t i = 0; !err && i < measured.count; i++) {
        struct gcb_row row;

        gcb_measured_row(&row, &measured.items[i], &network);
        json_decref(row.json);
    }
    gcb_ways_fini(&ways);
    gcb_timed_fini(&timed);
    gcb_measured_fini(&measured);
}

/* Everything of a plot except gnuplot. */
static void read_for_plots(const char *path)
{
    struct gcb_plot_data *data = gcb_plot_data_create();
    struct gcb_diag diag = {0};
    const int err = gcb_plot_data_read(data, path, &diag);

    fuzz_require_status(err, &diag, allowed);
    for (size_t i = 0; !err && gcb_plot_at(i); i++)
        gcb_plot_pages(gcb_plot_at(i), data);
    gcb_plot_data_destroy(data);
}

static void write_page(const char *path)
{
    const struct gcb_page_config config = {.files = &path, .file_count = 1};
    struct gcb_page_outcome outcome;
    struct gcb_diag diag = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    fuzz_require_status(gcb_page_write(out, &outcome, &config, &diag), &diag, allowed);
    fclose(out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("results", 0);
    char path[40];

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    compare(path);
    read_for_payoff(path);
    read_for_plots(path);
    write_page(path);
    close(fd);
    return 0;
}
