#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/payoff/payoff.h"
#include "src/lib/base/text.h"
#include "src/tool/base/data.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/units.h"
#include "src/tool/payoff/measured.h"
#include "src/tool/payoff/timed.h"

/* The state of the command. Starts zeroed. */
struct payoff {
    const struct payoff_options *o;
    struct session s;
    struct payoff_plan plan;
    struct gcb_ways ways;
    /* times that --coding gives; with `--coding cpu` only `device` is set, if rows are given */
    struct gcb_timed timed;
    struct gcb_measureds measured; /* exchanges in the rows given */
    char from[200], coding[200];   /* where errors and times come from, in words */
    struct gcb_judgement *places;  /* one for each pair of workers and bandwidth */
    size_t place_count;
};

/* ---- ways ---- */

/* Lists the ways to measure: the default ones or, with --method, the named ones and the
 * baselines. */
static int list_ways(struct payoff *c, struct gcb_diag *diag)
{
    static const char *const baselines[] = {"identity", "fp16", "bf16", NULL};
    const struct opt_list *methods = &c->o->judging.methods;
    const char *const *all = methods->count ? baselines : gcb_ways_default;
    int err = 0;

    for (size_t i = 0; !err && all[i]; i++)
        err = gcb_ways_add(&c->ways, all[i], diag);
    for (size_t i = 0; !err && i < methods->count; i++)
        err = gcb_ways_add(&c->ways, methods->items[i], diag);
    gcb_ways_label(&c->ways);
    return err;
}

/* ---- times of coding ---- */

/* The H200, whose times are shipped, then the GPUs whose times are estimated from those of the H200
 * by the bandwidths of the memories. */
static const struct card {
    const char *name;
    double memory; /* bytes per second */
} cards[] = {{"h200", 4.8e12}, {"h100", 3.35e12}, {"a100", 2.04e12}};

/* Multiplies all times of coding by `slower`, and divides the speed of copies by it. */
static void scale_times(struct gcb_timed *t, double slower)
{
    for (size_t i = 0; i < t->count; i++) {
        t->items[i].encode *= slower;
        t->items[i].decode *= slower;
        t->items[i].sum *= slower;
        t->items[i].finish *= slower;
    }
    t->copy /= slower;
}

/* Reads the times that --coding asks for, and describes them in c->coding. With `--coding cpu` it
 * reads no times: they are measured later, or they come from rows of results. */
static int read_coding(struct payoff *c, struct gcb_diag *diag)
{
    const char *text = c->plan.coding;
    const struct card *card = NULL;
    char shown[128], path[GCB_DATA_PATH];
    int err;

    snprintf(c->coding, sizeof(c->coding), "one thread of this machine");
    if (strcmp(text, "cpu") == 0)
        return 0;
    gcb_escape(shown, sizeof(shown), text);
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
        if (strcasecmp(text, cards[i].name) == 0)
            card = &cards[i];
    if (card && !gcb_data_find(path, "datasets/h200.json"))
        return gcb_diag_set(
            diag, GCB_E_IO,
            "%s: not found: install gcbench, or give --coding a file of `bench` rows", path);
    if (!card && gcb_parse_bandwidth(text, &c->timed.memory)) {
        snprintf(c->coding, sizeof(c->coding), "each byte once in a memory of %s", shown);
        return 0;
    }
    text = card ? path : text;
    err = gcb_timed_read(&c->timed, &text, 1, NULL, diag);
    if (err == GCB_E_IO)
        err = gcb_diag_set(diag, err,
                           "--coding: '%s' is no file that can be read, and none of cpu, h200, "
                           "h100, a100 or the speed of a memory such as 3000GB/s",
                           shown);
    if (!err && c->timed.count == 0)
        err = gcb_invalid(diag, "--coding %s: the file has no times%s%s", shown,
                          *c->timed.left_out ? "; left out: " : "", c->timed.left_out);
    if (card)
        scale_times(&c->timed, cards[0].memory / card->memory);
    if (card == cards)
        snprintf(c->coding, sizeof(c->coding), "%s, measured on %s", c->timed.gpu, c->timed.date);
    else
        snprintf(c->coding, sizeof(c->coding), "%s%s", card ? card->name : shown,
                 card ? ", estimated from an H200 by the memory's speed" : "");
    return err;
}

/* True if --coding gives times of coding, so that none are measured. */
static bool has_times(const struct payoff *c)
{
    return c->timed.count || c->timed.memory > 0.0;
}

/* ---- dumps ---- */

/* Measures the ways on dumps or, if no file is given, on the sample that is installed. */
static int measure(struct payoff *c, struct gcb_diag *diag)
{
    struct gcb_ways_measuring m = {
        .config = {.compute = session_compute(&c->s), .watch = session_watch(&c->s)},
        .workers = c->plan.workers.values,
        .worker_count = c->plan.workers.count,
        .all = c->o->judging.all,
        .untimed = has_times(c),
        .seconds = 20.0,
        .cpu_flags = c->s.backend.cpu_flags};
    char path[GCB_DATA_PATH];
    const char *items[1] = {path};
    const struct opt_list sample = {.items = items, .count = 1}, *operands = c->s.files;
    int err;

    if (c->s.files->count == 0) {
        if (!gcb_data_find(path, "datasets/sample.h5"))
            return gcb_diag_set(diag, GCB_E_IO, "%s: not found: install gcbench, or name a dump",
                                path);
        c->s.files = &sample;
    }
    err = list_ways(c, diag);
    if (!err)
        err = session_open_input(&c->s);
    session_start_progress(&c->s);
    interrupt_catch(); /* until here, a signal ends the command at once */
    if (!err)
        err = gcb_ways_measure(&c->ways, c->s.source, &c->s.layout, &m, diag);
    progress_end(&c->s.progress);
    c->s.files = operands;
    if (!err && m.untimed)
        gcb_ways_take_times(&c->ways, &c->timed);
    return err;
}

/* ---- rows, and the choice between rows and dumps ---- */

/* True if the file has rows of results, and is not a dump. */
static bool has_rows(const char *path)
{
    struct stat st;
    FILE *file;
    char first = '\0';

    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode)))
        return true; /* a pipe has rows: a dump cannot be piped */
    file = fopen(path, "re");
    if (!file)
        return false;
    fscanf(file, " %c", &first);
    fclose(file);
    return first == '{';
}

/* True if `name` is one of the forms in which --method may name the way. */
static bool is_named(const struct gcb_way *way, const char *name)
{
    char spec[1024];

    gcb_method_spec(spec, sizeof(spec), &way->method, GCB_SPEC_FULL);
    return gcb_spec_is_named(name, spec, way->label);
}

/* With --method, keeps only the ways of the named methods and the baselines. GCB_E_INVALID: a named
 * method has no way. */
static int select_ways(struct payoff *c, struct gcb_diag *diag)
{
    const struct opt_list *methods = &c->o->judging.methods;
    struct gcb_way *ways = c->ways.items;
    size_t kept = 0;

    for (size_t k = 0; k < methods->count; k++) {
        bool found = false;

        for (size_t i = 0; i < c->ways.count; i++)
            found |= is_named(&ways[i], methods->items[k]);
        if (!found)
            return gcb_invalid(diag, "--method %s: not in the results",
                               gcb_show(methods->items[k]).text);
    }
    for (size_t i = 0; i < c->ways.count; i++) {
        bool keep = ways[i].baseline || !methods->count;

        for (size_t k = 0; k < methods->count; k++)
            keep |= is_named(&ways[i], methods->items[k]);
        if (keep)
            ways[kept++] = ways[i];
    }
    c->ways.count = kept;
    return 0;
}

/* Makes the ways and the measured exchanges from rows of results. The ways get the times of coding
 * that the rows have, or those of --coding if it gives any. */
static int read_rows(struct payoff *c, struct gcb_diag *diag)
{
    struct gcb_timed rows = {.count = 0};
    int err = gcb_timed_read(&rows, c->s.files->items, c->s.files->count, &c->measured, diag);

    if (!err)
        gcb_ways_from_rows(&c->ways, &rows);
    if (!err && rows.count && has_times(c)) {
        gcb_ways_take_times(&c->ways, &c->timed);
    } else if (!err) {
        snprintf(c->coding, sizeof(c->coding), "%s", rows.where);
        memcpy(c->timed.device, rows.device, sizeof(rows.device));
    }
    gcb_timed_fini(&rows);
    if (!err && c->ways.count)
        err = select_ways(c, diag);
    if (!err && c->measured.count && c->plan.bandwidths.count != 1)
        err = gcb_invalid(diag, "the results hold measured exchanges, and a prediction needs their "
                                "network: give --link FILE (`gcbench-mpi --calibrate --results "
                                "FILE` measures it) or one --bandwidth");
    if (!err && !c->ways.count && !c->measured.count)
        err = gcb_invalid(diag, "no rows to judge: `bench --results FILE` writes times%s%s",
                          *c->ways.left_out ? "; left out: " : "", c->ways.left_out);
    return err;
}

/* True if the times of coding come from rows of a GPU. */
static bool on_gpu(const struct payoff *c)
{
    return strncmp(c->timed.device, "cuda", 4) == 0;
}

/* Makes the ways, with errors and times, from rows or by measuring dumps. */
static int find_ways(struct payoff *c, struct gcb_diag *diag)
{
    const struct payoff_exchange *x = &c->o->exchange;
    size_t rows = 0;
    int err = read_coding(c, diag);

    for (size_t i = 0; i < c->s.files->count; i++)
        rows += has_rows(c->s.files->items[i]);
    if (rows && rows < c->s.files->count)
        return gcb_invalid(diag, "give dumps or rows of results, not both");
    if (c->s.files->count)
        gcb_escape(c->from, sizeof(c->from), c->s.files->items[0]);
    else
        snprintf(c->from, sizeof(c->from), "the shipped sample, a ResNet-20");
    if (!err)
        err = rows ? read_rows(c, diag) : measure(c, diag);
    if (!err && on_gpu(c) && (x->host_copy || x->cores > 0.0))
        err = gcb_invalid(
            diag, "--%s is for coding on the CPU, and these times are of a GPU: leave it out",
            x->host_copy ? "host-copy" : "cores-per-worker");
    if (!err && c->plan.setting.elements == 0.0)
        c->plan.setting.elements = (double)c->ways.dump.all;
    if (!err && c->ways.count && !(c->plan.setting.elements > 0.0))
        err = gcb_invalid(diag, "the rows do not say how large the gradient is: give --params");
    return err;
}

/* ---- places and measured exchanges, and the command ---- */

/* Judges all ways in all places, and marks all as shown if --method is given. GCB_E_INVALID: there
 * are no times of a baseline, with which ways are compared. */
static int judge_all(struct payoff *c, struct gcb_diag *diag)
{
    const struct payoff_plan *p = &c->plan;
    int err = 0;

    c->places = gcb_must_zero(p->workers.count * p->bandwidths.count, sizeof(*c->places));
    for (size_t w = 0; !err && w < p->workers.count; w++)
        for (size_t b = 0; !err && b < p->bandwidths.count; b++) {
            struct gcb_judgement *place = &c->places[c->place_count++];
            struct gcb_setting setting = p->setting;

            setting.network.workers = (unsigned)p->workers.values[w];
            setting.network.bandwidth = p->bandwidths.values[b];
            gcb_judge(place, &c->ways, &setting);
            for (size_t i = 0; c->o->judging.methods.count && i < place->count; i++)
                place->items[i].shown = true;
            if (place->bar == SIZE_MAX)
                err = gcb_invalid(diag,
                                  "there are no times of %s, with which ways are compared: add "
                                  "`bench --method %s`",
                                  p->setting.sharded ? p->setting.reduced : "fp16, bf16 or fp32",
                                  p->setting.sharded ? p->setting.reduced : "fp16");
        }
    return err;
}

/* Sends a row for each way in each place. The field `coding` has the device of the rows that were
 * given, if the times of coding come from them; otherwise what --coding says. */
static int put_rows(struct payoff *c, struct gcb_diag *diag)
{
    const bool asked = strcmp(c->plan.coding, "cpu") != 0 || !*c->timed.device;
    const char *coding = asked ? c->plan.coding : c->timed.device;
    const char *from = c->s.files->count ? c->s.files->items[0] : c->from;
    struct gcb_row row;
    int err = 0;

    for (size_t p = 0; !err && p < c->place_count && out_wants_rows(&c->s.report); p++)
        for (size_t i = 0; !err && i < c->places[p].count; i++) {
            gcb_payoff_row(&row, &c->places[p], i, from, coding);
            err = out_put(&c->s.report, &row, diag);
        }
    return err;
}

/* Predicts the measured exchanges, sends their rows, and prints them beside the predictions. */
static int show_measured(struct payoff *c, struct gcb_diag *diag)
{
    struct gcb_network network = c->plan.setting.network;
    struct gcb_row row;
    int err = 0;

    network.bandwidth = c->plan.bandwidths.values[0];
    gcb_measured_predict(&c->measured, &network);
    for (size_t i = 0; !err && i < c->measured.count && out_wants_rows(&c->s.report); i++) {
        gcb_measured_row(&row, &c->measured.items[i], &network);
        err = out_put(&c->s.report, &row, diag);
    }
    if (!err && c->s.report.table)
        payoff_show_measured(&c->s.report, &c->measured, &network);
    return err;
}

/* Prints the ways of one place, or a line for each of several places, with headings and notes. */
static void show_places(struct payoff *c)
{
    const struct payoff_exchange *x = &c->o->exchange;
    const struct out_report *report = &c->s.report;

    payoff_show_setting(report, &c->plan, &c->places[0].setting, c->place_count > 1);
    payoff_show_origin(report, &c->ways, c->from, c->coding);
    if (c->place_count == 1)
        payoff_show_ways(report, c->places);
    else
        payoff_show_places(report, c->places, c->place_count);
    if (report->quiet)
        return;
    if (c->s.files->count == 0 && !x->params && !x->model_bytes)
        opt_note(report->out, "this is the sample's gradient: --params gives yours");
    payoff_show_notes(report, &c->ways, c->places);
    if (c->s.source && !has_times(c))
        heading_note_load(report->out, 0);
}

/* Sends the rows of all places. Then prints their table, and the answer if there is one place. */
static int show(struct payoff *c, struct gcb_diag *diag)
{
    const bool on_cpu = strcmp(c->plan.coding, "cpu") == 0 && !on_gpu(c);
    char answer[PAYOFF_ANSWER];
    struct gcb_row row;
    int err = put_rows(c, diag);

    if (!err && c->s.report.table && c->place_count)
        show_places(c);
    if (err || c->place_count != 1)
        return err;
    gcb_answer_row(&row, payoff_answer(answer, c->places, on_cpu), &c->places[0].answer);
    return out_answer(&c->s.report, &row, diag);
}

static int payoff_run(const void *options, const struct opt_list *operands, struct cmd_context *ctx)
{
    const struct payoff_options *o = options;
    struct payoff c = {.o = o, .s = {.o = o->common, .files = operands, .ctx = ctx}};
    int err = payoff_plan(&c.plan, o, ctx->diag);

    if (!err)
        err = session_resolve(&c.s);
    if (!err)
        err = find_ways(&c, ctx->diag);
    if (interrupt_seen())
        err = session_interrupted(&c.s, "");
    if (!err && c.ways.count)
        err = judge_all(&c, ctx->diag);
    if (!err)
        err = session_start_report(&c.s, GCB_RECORD_BIT(GCB_RECORD_PAYOFF), false);
    if (!err)
        err = show(&c, ctx->diag);
    if (!err && c.measured.count)
        err = show_measured(&c, ctx->diag);
    if (!err)
        err = out_commit(&c.s.report, ctx->diag);
    session_close(&c.s);
    for (size_t i = 0; i < c.place_count; i++)
        gcb_judgement_fini(&c.places[i]);
    gcb_free(c.places);
    gcb_ways_fini(&c.ways);
    gcb_timed_fini(&c.timed);
    gcb_measured_fini(&c.measured);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Network", payoff_network_rows, struct payoff_options, network),
    OPT_GROUP("Exchange", payoff_exchange_rows, struct payoff_options, exchange),
    OPT_GROUP("Ways", payoff_judging_rows, struct payoff_options, judging),
    OPT_GROUP("Input", opt_input_rows, struct payoff_options, common.input),
    OPT_GROUP("Measuring", opt_exec_rows, struct payoff_options, common.exec),
    OPT_GROUP("Output", opt_force_rows, struct payoff_options, common.save),
    OPT_GROUP("Output", opt_save_rows, struct payoff_options, common.save),
    OPT_GROUP("Output", opt_show_rows, struct payoff_options, common.show),
    {.rows = NULL},
};

const struct cmd cmd_payoff = {
    .name = "payoff",
    .summary = "tell whether a compressor pays on a network, and which one",
    .usage = "payoff [options] [DUMP...|RESULTS...]",
    .examples = "  gcbench payoff --params 25M --workers 4 --bandwidth 10Gb grads.h5\n"
                "  gcbench payoff --params 350M --cluster h100-8x400 --coding h200 grads.h5\n"
                "  gcbench payoff --params 7B --cluster h100-8x400 --workers 256 --sharded\n"
                "  gcbench payoff --params 25M --cluster sites-100m --compute 200ms grads.h5\n"
                "  gcbench payoff --params 25M --bandwidth 10Gb --workers 2..128 --format csv\n"
                "  gcbench bench --repeat 9 --results r.json grads.h5\n"
                "  gcbench payoff --params 25M --workers 16 --bandwidth 10Gb r.json\n"
                "  gcbench payoff --link rows.json rows.json\n",
    .details =
        "Without a file the errors are those of shipped gradients of a ResNet-20. RESULTS are "
        "rows of `bench`, `sweep`, `replay` and gcbench-mpi.\n"
        "A way is a method, its setting and a collective. Collectives:\n"
#define COLLECTIVE(id, name, help, ...) #name ": " help ".\n"
#include "src/lib/codec/collectives.def"
        "Columns. error: of the mean that all workers get, relative to the mean of what they "
        "computed: 0 is perfect, 1 is as bad as sending zeros. lasting: the part of it that "
        "stays if the step is repeated, with its memory if it has one. MB sent: through the "
        "busiest link. x fp16: how many times as fast as the fastest of fp32, fp16 and bf16, "
        "coded by the same machine; of measured times the median of rounds, or its interval if "
        "that is wide. x step: the same for a training step, in which coding and sending "
        "overlap. limit: x fp16 if coding and adding took no time. code/net/add: shares of the "
        "time in percent.\n"
        "Nearly exact ways have an error of at most 0.05. Noise: a larger error, up to 0.35, "
        "that is right on average. All other errors last: such a way is shown with a memory "
        "(memory=ef), and only a training can confirm it. A nearly exact way is named if it is "
        "1.1 times as fast, noise if it is 1.2 times as fast as what would be sent otherwise. "
        "-v shows all ways.\n"
        "Bandwidths are decimal: Gb and GB are 1e9. docs/payoff.md has the model and what it "
        "leaves out.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct payoff_options),
    .run = payoff_run,
};
