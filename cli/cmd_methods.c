#include <string.h>

#include "cli/base/output.h"
#include "src/lib/base/text.h"
#include "src/lib/device/load.h"
#include "src/lib/exchange/exchange.h"

struct methods_options {
    struct opt_show show;
};

/* names of the lowest bits of enum gcb_caps, in their order; the other bits are not shown */
static const char *const caps[] = {"lossless",   "unbiased",     "linear",        "stateful",
                                   "randomised", "library-math", "no-contraction"};
#define CAPS (sizeof(caps) / sizeof(caps[0]))

static const char *const type_names[] = {
    [GCB_PARAM_REAL] = "real",     [GCB_PARAM_INT] = "int",   [GCB_PARAM_SIZE] = "size",
    [GCB_PARAM_CHOICE] = "choice", [GCB_PARAM_TILE] = "tile",
};

/* Puts a list of texts, which end with NULL; an empty list if `names` is NULL. */
static void put_names(struct gcb_row *row, enum gcb_field field, const char *const *names)
{
    json_t *list = json_array();

    for (size_t i = 0; names && names[i]; i++)
        gcb_json_append(list, json_string(names[i]));
    gcb_row_json(row, field, list);
}

/* Makes an object that describes a parameter with this default value. */
static json_t *param_json(const struct gcb_param *p, double value)
{
    struct gcb_row row = {.json = json_object()};
    char text[GCB_PARAM_TEXT];

    gcb_row_text(&row, GCB_FIELD_NAME, p->name);
    gcb_row_text(&row, GCB_FIELD_HELP, p->help);
    gcb_row_text(&row, GCB_FIELD_TYPE, type_names[p->type]);
    if (gcb_param_is_text(p)) {
        gcb_row_text(&row, GCB_FIELD_DEFAULT, gcb_param_text(text, p, value));
        if (p->choices)
            put_names(&row, GCB_FIELD_CHOICES, p->choices);
    } else {
        gcb_row_real(&row, GCB_FIELD_DEFAULT, value);
        gcb_row_real(&row, GCB_FIELD_MIN, p->min);
        gcb_row_real(&row, GCB_FIELD_MAX, p->max);
        gcb_row_bool(&row, GCB_FIELD_MAX_INCLUDED, !(p->flags & GCB_PARAM_OPEN_MAX));
    }
    put_names(&row, GCB_FIELD_COMPLEMENTS, p->complement);
    gcb_row_text(&row, GCB_FIELD_NEEDS, p->needs);
    return row.json;
}

/* Puts a list of the parameters of a method whose index is at least `from` and below `to`. */
static void put_params(struct gcb_row *row, enum gcb_field field, const struct gcb_method *m,
                       size_t from, size_t to)
{
    json_t *list = json_array();

    for (size_t i = from; i < to; i++)
        gcb_json_append(list, param_json(gcb_method_param(m, i), m->value[i]));
    gcb_row_json(row, field, list);
}

/* Fills `names` with the names of the bits that are set, and NULL after the last. all[i] is the
 * name of bit i; `names` has room for `count` + 1. */
static void name_bits(const char **names, unsigned bits, const char *const *all, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (bits >> i & 1)
            names[n++] = all[i];
    names[n] = NULL;
}

/* Appends the names, "a, b". Returns out. */
static char *append_names(char *out, size_t size, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        gcb_append(out, size, "%s%s", i ? ", " : "", names[i]);
    return out;
}

/* True if the installed CUDA module has this method. The answer does not depend on whether there is
 * a GPU. */
static bool in_module(const struct gcb_method *m)
{
    const struct gcb_device_codec *row = gcb_device_codecs_here();

    while (row && row->ops && row->wire_id != m->codec->wire_id)
        row++;
    return row && row->ops && !gcb_method_cpu_only(m);
}

/* Sends the row of a method. */
static int put_method(struct out_report *r, const struct gcb_method *m, struct gcb_diag *diag)
{
    const char *collectives[GCB_COLLECTIVES + 1], *names[CAPS + 1];
    const char *const backends[] = {"cpu", in_module(m) ? "cuda" : NULL, NULL};
    /* ends of the parameters of the codec, of its memory, and of the exchange */
    const size_t own = gcb_param_count(m->codec->params);
    const size_t kept = own + gcb_param_count(gcb_memory_table);
    const size_t sent = kept + gcb_param_count(gcb_exchange_table);
    const unsigned rounds = gcb_exchange_rounds(m);
    struct gcb_row row;

    name_bits(collectives, gcb_method_collectives(m), gcb_collective_names, GCB_COLLECTIVES);
    name_bits(names, gcb_method_caps(m), caps, CAPS);
    gcb_row_init(&row, GCB_RECORD_METHOD);
    gcb_row_text(&row, GCB_FIELD_METHOD, m->name);
    gcb_row_text(&row, GCB_FIELD_SUMMARY, gcb_method_summary(m));
    gcb_row_text(&row, GCB_FIELD_CODEC, m->codec->name);
    gcb_row_u64(&row, GCB_FIELD_WIRE_ID, m->codec->wire_id);
    gcb_row_text(&row, GCB_FIELD_SOURCE, gcb_method_source(m));
    gcb_row_text(&row, GCB_FIELD_BOUND, gcb_method_guarantee(m));
    put_names(&row, GCB_FIELD_BACKENDS, backends);
    gcb_row_bool(&row, GCB_FIELD_CPU_ONLY, gcb_method_cpu_only(m));
    put_names(&row, GCB_FIELD_CAPABILITIES, names);
    gcb_row_text(&row, GCB_FIELD_COLLECTIVE, gcb_collective_names[gcb_method_collective(m)]);
    put_names(&row, GCB_FIELD_COLLECTIVES, collectives);
    gcb_row_known_u64(&row, GCB_FIELD_ROUNDS, rounds > 0, rounds);
    put_params(&row, GCB_FIELD_PARAMETERS, m, 0, own);
    put_params(&row, GCB_FIELD_MEMORY, m, own, kept);
    put_params(&row, GCB_FIELD_EXCHANGE, m, kept, sent);
    return out_put(r, &row, diag);
}

static int list_methods(struct out_report *r, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{.title = "method", .text = true},
                                                      {.title = "what it does", .elastic = true}};
    struct gcb_table *table = gcb_table_create(columns, 2);
    struct gcb_method m;
    int err = 0;

    for (size_t i = 0; !err && gcb_method_at(&m, i); i++) {
        gcb_table_cell(table, m.name);
        gcb_table_cell(table, gcb_method_summary(&m));
        err = put_method(r, &m, diag);
    }
    if (err || !r->table) {
        gcb_table_destroy(table);
        return err;
    }
    out_table(r, table);
    fprintf(r->out, "\n`gcbench methods NAME` explains a method.\n");
    return 0;
}

/* Prints a parameter in two paragraphs: first "theta=0.85  in [0, 1)", then its help text; with
 * `condition`, also what other parameters it needs to have an effect. */
static void print_param(const struct out_report *r, const struct gcb_method *m, size_t row,
                        bool condition)
{
    const struct gcb_param *p = gcb_method_param(m, row);
    char text[512] = "one of ", value[40], low[32], high[32];
    const int at = fprintf(r->out, "  %s=%s ", p->name, gcb_param_text(value, p, m->value[row]));

    if (p->type == GCB_PARAM_CHOICE) {
        append_names(text, sizeof(text), p->choices);
    } else if (p->type == GCB_PARAM_TILE) {
        snprintf(text, sizeof(text), "none, kernel or AxB");
    } else {
        gcb_real_text(high, p->max);
        if (strlen(high) > 12) /* do not print all 17 digits of the largest float */
            snprintf(high, sizeof(high), "%.3g", p->max);
        snprintf(text, sizeof(text), "in [%s, %s%c", gcb_real_text(low, p->min), high,
                 p->flags & GCB_PARAM_OPEN_MAX ? ')' : ']');
    }
    /* `at` is always over the indent, because the shortest text printed above, "  max=0 ", has 8
     * columns; so opt_wrap adds a second space */
    opt_wrap(r->out, text, at, 7);
    snprintf(text, sizeof(text), "%s", p->help);
    for (size_t c = 0; p->complement[c]; c++)
        gcb_append(text, sizeof(text), "%s--%s", c ? " or " : "; or give ", p->complement[c]);
    if (p->complement[0])
        gcb_append(text, sizeof(text), ", 1 - %s", p->name);
    if (condition && p->needs)
        gcb_append(text, sizeof(text), " (with %s)", p->needs);
    opt_wrap(r->out, text, fprintf(r->out, "     "), 6);
}

/* Prints the parameters whose index is at least `from` and below `to`. Without `all`, those that
 * have no effect with the method's other parameters are only named, in a paragraph that begins with
 * `others` and ends with `after`. */
static void print_params(const struct out_report *r, const struct gcb_method *m, size_t from,
                         size_t to, bool all, const char *others, const char *after)
{
    char names[512] = "";
    int at;

    for (size_t i = from; i < to; i++)
        if (all || gcb_method_applies(m, i))
            print_param(r, m, i, all);
        else
            gcb_append(names, sizeof(names), "%s %s", names[0] ? "," : "",
                       gcb_method_param(m, i)->name);
    if (!names[0])
        return;
    at = fprintf(r->out, "%s", others) - (others[0] == '\n'); /* a newline takes no column */
    opt_wrap(r->out, gcb_append(names, sizeof(names), "%s", after), at, 2);
}

static void print_head(const struct out_report *r, const struct gcb_method *m)
{
    const char *names[CAPS + 1];
    char text[200] = "";

    opt_wrap(r->out, gcb_method_summary(m), fprintf(r->out, "%s:", m->name), 2);
    fputc('\n', r->out);
    if (m->preset)
        opt_wrap(r->out, m->preset->defaults, fprintf(r->out, "preset    of %s:", m->codec->name),
                 10);
    opt_wrap(r->out, gcb_method_source(m), fprintf(r->out, "source    "), 10);
    opt_wrap(r->out, gcb_method_guarantee(m), fprintf(r->out, "promises  "), 10);
    if (gcb_method_cpu_only(m))
        fprintf(r->out, "backends  cpu only\n");
    else
        fprintf(r->out, "backends  cpu%s\n", in_module(m) ? ", cuda" : "");
    name_bits(names, gcb_method_caps(m), caps, CAPS);
    fprintf(r->out, "is        %s\n",
            names[0] ? append_names(text, sizeof(text), names) : "deterministic, lossy, biased");
}

/* Prints the collectives that the method can use. If two-shot is one of them, also prints the other
 * parameters of exchanges. `from`: index of the parameter "collective". */
static void print_exchange(const struct out_report *r, const struct gcb_method *m, size_t from)
{
    const char *names[GCB_COLLECTIVES + 1];
    char text[120] = "one of ";
    int at;

    name_bits(names, gcb_method_collectives(m), gcb_collective_names, GCB_COLLECTIVES);
    fprintf(r->out, "\nexchange between workers (gcbench replay; docs/exchange.md)\n");
    at = fprintf(r->out, "  collective=%s ", gcb_collective_names[gcb_method_collective(m)]);
    opt_wrap(r->out, names[1] ? append_names(text, sizeof(text), names) : "the only one", at, 7);
    if (gcb_method_collectives(m) & GCB_COLLECTIVE_BIT(GCB_COLLECTIVE_TWOSHOT))
        print_params(r, m, from + 1, from + gcb_param_count(gcb_exchange_table), false,
                     "with twoshot and a memory also", "");
}

static int explain_method(struct out_report *r, const struct gcb_method *m, struct gcb_diag *diag)
{
    const size_t own = gcb_param_count(m->codec->params);
    char after[80];

    if (!r->table)
        return put_method(r, m, diag);
    print_head(r, m);
    fprintf(r->out, own ? "\nparameters and their defaults\n" : "\nIt has no parameters.\n");
    snprintf(after, sizeof(after), ": see `gcbench methods %s`", m->codec->name);
    print_params(r, m, 0, own, !m->preset, "\nwith other stages also", after);
    fprintf(r->out, "\nmemory from step to step (gcbench replay)\n");
    print_params(r, m, own, own + gcb_param_count(gcb_memory_table), false,
                 "with other memories also", "");
    print_exchange(r, m, own + gcb_param_count(gcb_memory_table));
    return 0;
}

static int methods_run(const void *options, const struct opt_list *operands,
                       struct cmd_context *ctx)
{
    const struct methods_options *o = options;
    struct out_report r;
    struct gcb_method m;
    int err = out_open(&r, &o->show, NULL, NULL, GCB_RECORD_BIT(GCB_RECORD_METHOD), ctx);

    if (!err && operands->count == 0)
        err = list_methods(&r, ctx->diag);
    for (size_t i = 0; !err && i < operands->count; i++) {
        err = gcb_method_parse(&m, operands->items[i], ctx->diag);
        if (!err && i && r.table)
            fputc('\n', r.out);
        if (!err)
            err = explain_method(&r, &m, ctx->diag);
    }
    out_close(&r);
    return err;
}

static const struct opt_group groups[] = {
    OPT_GROUP("Output", opt_show_rows, struct methods_options, show),
    {.rows = NULL},
};

const struct cmd cmd_methods = {
    .name = "methods",
    .summary = "list the methods, or explain one: parameters, paper, promises",
    .usage = "methods [options] [NAME...]",
    .examples = "  gcbench methods\n"
                "  gcbench methods fft\n"
                "  gcbench methods topk --format json\n",
    .spec = {.groups = groups},
    .operands = CMD_METHODS,
    .size = sizeof(struct methods_options),
    .run = methods_run,
};
