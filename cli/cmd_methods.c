#include <string.h>

#include "cli/output.h"
#include "src/base/alloc.h"
#include "src/base/text.h"

struct methods_options {
    struct opt_show show;
};

static const struct {
    unsigned cap;
    const char *name;
} caps[] = {
    {GCB_CAP_LOSSLESS, "lossless"},     {GCB_CAP_UNBIASED, "unbiased"},
    {GCB_CAP_LINEAR, "linear"},         {GCB_CAP_STATEFUL, "stateful"},
    {GCB_CAP_RANDOMISED, "randomised"}, {GCB_CAP_LIBRARY_MATH, "library-math"},
};

static const char *const type_names[] = {
    [GCB_PARAM_REAL] = "real",
    [GCB_PARAM_INT] = "int",
    [GCB_PARAM_SIZE] = "size",
    [GCB_PARAM_CHOICE] = "choice",
};

/* "[0, 1)" or "a|b|c". */
static char *range_text(char *out, size_t size, const struct gcb_param *p)
{
    char low[32], high[32];

    gcb_real_text(high, p->max);
    if (strlen(high) > 12) /* the largest float, say: nobody reads 17 digits */
        snprintf(high, sizeof(high), "%.3g", p->max);
    out[0] = '\0';
    if (p->type != GCB_PARAM_CHOICE) {
        snprintf(out, size, "[%s, %s%c", gcb_real_text(low, p->min), high,
                 p->flags & GCB_PARAM_OPEN_MAX ? ')' : ']');
        return out;
    }
    for (size_t i = 0; p->choices[i]; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? "|" : "", p->choices[i]);
    return out;
}

static json_t *names_json(const char *const *names)
{
    json_t *list = json_array();

    for (size_t i = 0; names && names[i]; i++)
        if (json_array_append_new(list, json_string(names[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *param_json(const struct gcb_param *p, double value)
{
    struct gcb_row row = {.json = json_object()};
    char text[40];

    gcb_row_text(&row, "name", p->name);
    gcb_row_text(&row, "help", p->help);
    gcb_row_text(&row, "type", type_names[p->type]);
    if (p->type == GCB_PARAM_CHOICE) {
        gcb_row_text(&row, "default", gcb_param_text(text, p, value));
        gcb_row_json(&row, "choices", names_json(p->choices));
    } else {
        gcb_row_real(&row, "default", value);
        gcb_row_real(&row, "min", p->min);
        gcb_row_real(&row, "max", p->max);
        gcb_row_bool(&row, "max_included", !(p->flags & GCB_PARAM_OPEN_MAX));
    }
    gcb_row_json(&row, "complements", names_json(p->complement));
    gcb_row_text(&row, "needs", p->needs);
    if (row.failed)
        gcb_row_fini(&row);
    return row.json;
}

static json_t *params_json(const struct gcb_method *m)
{
    json_t *list = json_array();

    for (size_t i = 0; i < gcb_param_count(m->codec->params); i++)
        if (json_array_append_new(list, param_json(&m->codec->params[i], m->value[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *caps_json(const struct gcb_method *m)
{
    const char *names[sizeof(caps) / sizeof(caps[0]) + 1] = {NULL};
    size_t n = 0;

    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
        if (m->codec->caps & caps[i].cap)
            names[n++] = caps[i].name;
    return names_json(names);
}

static int put_method(struct out_report *r, const struct gcb_method *m, struct gcb_diag *diag)
{
    static const char *const backends[] = {"cpu", NULL};
    struct gcb_row row;

    gcb_row_init(&row, "method");
    gcb_row_text(&row, "method", m->name);
    gcb_row_text(&row, "summary", gcb_method_summary(m));
    gcb_row_text(&row, "codec", m->codec->name);
    gcb_row_u64(&row, "wire_id", m->codec->wire_id);
    gcb_row_text(&row, "source", gcb_method_source(m));
    gcb_row_text(&row, "bound", gcb_method_bound(m));
    gcb_row_json(&row, "backends", names_json(backends));
    gcb_row_json(&row, "capabilities", caps_json(m));
    gcb_row_json(&row, "parameters", params_json(m));
    return out_put(r, &row, diag);
}

static int list_methods(struct out_report *r, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{"method", false, false},
                                                      {"what it does", false, true}};
    struct gcb_table *table = NULL;
    struct gcb_method m;
    int err = gcb_table_create(&table, columns, 2, diag);

    for (size_t i = 0; !err && gcb_method_at(&m, i); i++) {
        err = gcb_table_add(table, (const char *[]){m.name, gcb_method_summary(&m)}, diag);
        if (!err)
            err = put_method(r, &m, diag);
    }
    if (!err && r->table) {
        out_table(r, table);
        fprintf(r->out, "\n`gcbench methods NAME` explains one.\n");
    }
    gcb_table_destroy(table);
    return err;
}

static int param_table(struct gcb_table *table, const struct gcb_method *m, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < gcb_param_count(m->codec->params); i++) {
        const struct gcb_param *p = &m->codec->params[i];
        char value[40], range[128];

        err = gcb_table_add(table,
                            (const char *[]){p->name, gcb_param_text(value, p, m->value[i]),
                                             range_text(range, sizeof(range), p)},
                            diag);
    }
    return err;
}

static void print_notes(const struct out_report *r, const struct gcb_method *m)
{
    for (size_t i = 0; i < gcb_param_count(m->codec->params); i++) {
        const struct gcb_param *p = &m->codec->params[i];

        char text[512];
        size_t n = (size_t)snprintf(text, sizeof(text), "%s", p->help);

        if (p->needs)
            n += (size_t)snprintf(text + n, sizeof(text) - n, " (only with %s)", p->needs);
        for (size_t c = 0; p->complement[c]; c++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s", c ? " or " : "; or give --",
                                  c ? "--" : "", p->complement[c]);
        if (p->complement[0])
            snprintf(text + n, sizeof(text) - n, ", 1 - %s", p->name);
        opt_wrap(r->out, text, fprintf(r->out, "  %-10s", p->name), 12);
    }
}

static void print_head(const struct out_report *r, const struct gcb_method *m)
{
    const char *separator = "";

    opt_wrap(r->out, gcb_method_summary(m), fprintf(r->out, "%s:", m->name), 2);
    fputc('\n', r->out);
    if (m->preset)
        fprintf(r->out, "preset    of %s: %s\n", m->codec->name, m->preset->defaults);
    opt_wrap(r->out, gcb_method_source(m), fprintf(r->out, "source    "), 10);
    opt_wrap(r->out, gcb_method_bound(m), fprintf(r->out, "promises  "), 10);
    fprintf(r->out, "backends  cpu\n");
    fprintf(r->out, "is        ");
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        if (!(m->codec->caps & caps[i].cap))
            continue;
        fprintf(r->out, "%s%s", separator, caps[i].name);
        separator = ", ";
    }
    fprintf(r->out, "%s\n", *separator ? "" : "deterministic, lossy, biased");
}

static int explain(struct out_report *r, const struct gcb_method *m, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {
        {"parameter", false, false}, {"default", true, false}, {"range", false, true}};
    struct gcb_table *table = NULL;
    int err;

    if (!r->table)
        return put_method(r, m, diag);
    print_head(r, m);
    if (gcb_param_count(m->codec->params) == 0) {
        fprintf(r->out, "\nIt has no parameters.\n");
        return 0;
    }
    err = gcb_table_create(&table, columns, 3, diag);
    if (!err)
        err = param_table(table, m, diag);
    if (!err) {
        fputc('\n', r->out);
        out_table(r, table);
        fputc('\n', r->out);
        print_notes(r, m);
    }
    gcb_table_destroy(table);
    return err;
}

static int methods_run(const void *options, const struct opt_list *operands,
                       struct cmd_context *ctx)
{
    static const char *const records[] = {"method", NULL};
    static const char *const names[] = {"record",  "method", "summary", "codec",
                                        "wire_id", "source", "bound",   NULL};
    static const struct gcb_columns columns = {records, names};
    const struct methods_options *o = options;
    struct out_report r;
    struct gcb_method m;
    int err = out_open(&r, &o->show, NULL, NULL, &columns, ctx);

    if (!err && operands->count == 0)
        err = list_methods(&r, ctx->diag);
    for (size_t i = 0; !err && i < operands->count; i++) {
        err = gcb_method_parse(&m, operands->items[i], ctx->diag);
        if (!err && i && r.table)
            fputc('\n', r.out);
        if (!err)
            err = explain(&r, &m, ctx->diag);
    }
    out_close(&r);
    return err;
}

static const struct opt_group groups[] = {
    {"Output", opt_show_rows, offsetof(struct methods_options, show)},
    {.rows = NULL},
};

const struct cmd cmd_methods = {
    .name = "methods",
    .summary = "list the methods, or explain one: parameters, paper, promise",
    .usage = "methods [options] [NAME...]",
    .examples = "  gcbench methods\n"
                "  gcbench methods fft\n"
                "  gcbench methods topk --format json\n",
    .spec = {.groups = groups},
    .size = sizeof(struct methods_options),
    .run = methods_run,
};
