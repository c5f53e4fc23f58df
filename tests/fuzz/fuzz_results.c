/* Result files (JSON Lines), for everything that reads them: regress, payoff, plot and report. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/tool/page/page.h"
#include "src/tool/payoff/truth.h"
#include "src/tool/plot/plot.h"
#include "src/tool/regress/compare.h"
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

static void read_for_payoff(const char *path)
{
    struct gcb_payoff_reader *reader = NULL;
    struct gcb_payoff_cases cases = {.items = NULL};
    struct gcb_truths truths = {.items = NULL};
    struct gcb_diag diag = {0};
    int err = gcb_payoff_reader_create(&reader, &truths, &diag);

    if (!err)
        err = gcb_payoff_reader_file(reader, path, &diag);
    if (!err)
        err = gcb_payoff_reader_finish(reader, &cases, &diag);
    fuzz_require_status(err, &diag, allowed);
    gcb_payoff_reader_destroy(reader);
    gcb_payoff_cases_fini(&cases);
    gcb_truths_fini(&truths);
}

/* Everything of a plot except gnuplot. */
static void read_for_plots(const char *path)
{
    struct gcb_plot_data *data = NULL;
    struct gcb_diag diag = {0};
    int err = gcb_plot_data_create(&data, &diag);

    if (!err)
        err = gcb_plot_data_read(data, path, &diag);
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
