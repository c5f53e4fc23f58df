#include "src/tool/page/page.h"

#include <math.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/method.h"
#include "src/tool/base/memory.h"
#include "src/tool/plot/plot.h"
#include "src/tool/plot/plot_style.h"
#include "src/tool/rows/labels.h"
#include "src/tool/rows/results.h"
#include "src/tool/rows/row.h"

/* Writes the rows of the files, what their fields mean, and the pictures of plots, as JSON. page.js
 * builds the page from the JSON. */

#define MAX_ROWS 2000    /* most rows kept of each record except `result`; others are counted */
#define MAX_ERRORS 16000 /* most pairs of a tensor and a spec from `result` rows */
#define MAX_PAGES 6      /* most pictures of a plot; `gcbench plot` draws more */
#define DIGITS 7         /* significant digits of numbers in the JSON */

/* The state of gcb_page_write. */
struct page {
    json_t *rows[GCB_RECORD_PARTS]; /* arrays for the records of records_kept; otherwise NULL */
    uint64_t left_out[GCB_RECORD_PARTS]; /* number of rows beyond MAX_ROWS or MAX_ERRORS */
    json_t *tensors;                     /* tensor -> spec -> the row in rows[GCB_RECORD_RESULT] */
    json_t *labels; /* spec with all parameters -> label; null until label_rows */
    size_t run;     /* the file's last environment row, counted over all files; 0: none */
    bool seen;      /* a row of a record that the page shows was read, except `environment` */
    struct gcb_plot_data *plots; /* all rows that plots can use, owned; NULL: no plots */
};

/* The records that a page shows. There are too many `result` rows to keep, so page->rows has one
 * row for each tensor and spec, with the mean error of the tensor's messages. `payoff` rows of the
 * model `measured` are kept as the part `measured`. */
static const enum gcb_record records_kept[] = {
    GCB_RECORD_ENVIRONMENT, GCB_RECORD_RESULT,   GCB_RECORD_SUMMARY, GCB_RECORD_KERNEL,
    GCB_RECORD_REPLAY,      GCB_RECORD_VERDICT,  GCB_RECORD_PAYOFF,  GCB_RECORD_MEASURED,
    GCB_RECORD_PROMISE,     GCB_RECORD_EXCHANGE, GCB_RECORD_ANSWER,
};
#define RECORDS (sizeof(records_kept) / sizeof(records_kept[0]))

/* Returns the set of records and parts whose fields the rows of this record may have. */
static unsigned bits_of(enum gcb_record record)
{
    return GCB_RECORD_BIT(record) | GCB_RECORD_BIT(GCB_RECORD_PAGE) |
           (record == GCB_RECORD_SUMMARY ? GCB_RECORD_BIT(GCB_RECORD_SWEEP) : 0);
}

/* ---- JSON ---- */

static void set_field(json_t *row, enum gcb_field field, json_t *value)
{
    gcb_json_set(row, gcb_field_name(field), value);
}

/* Copies a value of a file. Escapes invisible characters in its texts, so that a reader of the page
 * sees them. */
static json_t *copy_value(json_t *value)
{
    json_t *out, *item;
    const char *key;
    size_t i;

    if (json_is_string(value))
        return gcb_row_make_text(json_string_value(value));
    if (!json_is_array(value) && !json_is_object(value))
        return json_deep_copy(value);
    out = json_is_array(value) ? json_array() : json_object();
    json_array_foreach(value, i, item) gcb_json_append(out, copy_value(item));
    json_object_foreach(value, key, item) gcb_json_set(out, gcb_show(key).text, copy_value(item));
    return out;
}

/* ---- reading rows ---- */

/* Sets page_label to the spec with all parameters, which label_rows replaces by a label when all
 * methods are known. Also completes the field `spec`, except of a policy, so that rows of older
 * builds can be compared. */
static void set_spec(struct page *page, json_t *row, const json_t *from)
{
    const char *spec = gcb_results_text(from, GCB_FIELD_SPEC),
               *method = gcb_results_text(from, GCB_FIELD_METHOD);
    char full[1024];

    if (!spec && !method)
        return;
    gcb_method_complete(full, sizeof(full), spec ? spec : method);
    if (!*full)
        return;
    set_field(row, GCB_FIELD_PAGE_LABEL, json_string_nocheck(full));
    if (spec && !gcb_results_text(from, GCB_FIELD_POLICY))
        set_field(row, GCB_FIELD_SPEC, gcb_row_make_text(full));
    json_object_set_new_nocheck(page->labels, full, json_null());
}

/* Keeps the fields of a row that the page may show. If there are MAX_ROWS rows of the record, only
 * counts the row. */
static void keep_row(struct page *page, enum gcb_record record, const struct gcb_results_row *row)
{
    const struct gcb_field_row *field;
    json_t *copy;

    if (json_array_size(page->rows[record]) == MAX_ROWS) {
        page->left_out[record]++;
        return;
    }
    copy = json_object();
    for (size_t i = 0; (field = gcb_field_row(i)); i++) {
        json_t *value = gcb_results_json(row->json, field->field);
        const bool large = json_is_array(value) || json_is_object(value);

        if (field->records & bits_of(record) && value && !json_is_null(value) &&
            (!large || record == GCB_RECORD_ENVIRONMENT))
            set_field(copy, field->field, copy_value(value));
    }
    set_field(copy, GCB_FIELD_PAGE_RUN, json_integer((json_int_t)page->run));
    set_field(copy, GCB_FIELD_PAGE_RESULTS, gcb_row_make_text(row->path));
    set_spec(page, copy, row->json);
    gcb_json_append(page->rows[record], copy);
}

/* Adds the error of a `result` row to the mean of its tensor and spec. Leaves out baselines, rows
 * without a tensor, a spec or a finite error, and pairs beyond MAX_ERRORS,
 * whose rows are counted. */
static void add_error(struct page *page, const json_t *row)
{
    const char *tensor = gcb_results_text(row, GCB_FIELD_TENSOR),
               *method = gcb_results_text(row, GCB_FIELD_METHOD),
               *spec = gcb_results_text(row, GCB_FIELD_SPEC);
    const double error = gcb_results_real(row, GCB_FIELD_REL_L2);
    json_t *of_tensor, *sum;
    double mean, count;

    if (!tensor || !spec || !isfinite(error) || error < 0.0 ||
        (method && gcb_plot_baseline(method)))
        return;
    of_tensor = json_object_get(page->tensors, tensor);
    sum = json_object_get(of_tensor, spec);
    if (!sum && json_array_size(page->rows[GCB_RECORD_RESULT]) == MAX_ERRORS) {
        page->left_out[GCB_RECORD_RESULT]++;
        return;
    }
    if (!of_tensor) {
        gcb_json_set(page->tensors, tensor, json_object());
        of_tensor = json_object_get(page->tensors, tensor);
    }
    if (!sum) {
        gcb_json_set(of_tensor, spec, json_object());
        sum = json_object_get(of_tensor, spec);
        set_field(sum, GCB_FIELD_TENSOR, gcb_row_make_text(tensor));
        set_spec(page, sum, row);
        gcb_json_append(page->rows[GCB_RECORD_RESULT], json_incref(sum));
    }
    count = gcb_results_real(sum, GCB_FIELD_MESSAGES);
    count = isnan(count) ? 1.0 : count + 1.0;
    mean = count > 1.0 ? gcb_results_real(sum, GCB_FIELD_REL_L2) : 0.0;
    set_field(sum, GCB_FIELD_MESSAGES, json_real(count));
    set_field(sum, GCB_FIELD_REL_L2, json_real(mean + (error - mean) / count));
}

/* Gives a row to the plots, and keeps what the page shows of it: gcb_results_visit_fn. */
static int visit(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct page *page = ctx;
    const char *model = gcb_results_text(row->json, GCB_FIELD_MODEL);
    const bool measured = row->kind == GCB_RECORD_PAYOFF && model &&
                          strcmp(model, gcb_record_name(GCB_RECORD_MEASURED)) == 0;
    const enum gcb_record record = measured ? GCB_RECORD_MEASURED : row->kind;

    if (page->plots)
        gcb_plot_data_row(page->plots, row);
    page->seen |= page->plots && record == GCB_RECORD_TRAINING; /* only plots show its rows */
    if (!page->rows[record])
        return 0;
    if (record == GCB_RECORD_ENVIRONMENT)
        page->run = json_array_size(page->rows[record]) + 1 + (size_t)page->left_out[record];
    else
        page->seen = true;
    if (record == GCB_RECORD_RESULT)
        add_error(page, row->json);
    else
        keep_row(page, record, row);
    (void)diag;
    return 0;
}

static int read_files(struct page *page, const struct gcb_page_config *config,
                      struct gcb_diag *diag)
{
    int err = 0;

    page->tensors = json_object();
    page->labels = json_object();
    for (size_t r = 0; r < RECORDS; r++)
        page->rows[records_kept[r]] = json_array();
    if (config->plot_folder)
        page->plots = gcb_plot_data_create();
    for (size_t i = 0; !err && i < config->file_count; i++) {
        page->run = 0;
        if (page->plots)
            gcb_plot_data_begin(page->plots);
        err = gcb_results_read(NULL, config->files[i], GCB_RESULTS_ALL, visit, page, diag);
    }
    if (!err && !page->seen)
        err = gcb_diag_set(diag, GCB_E_CORRUPT, "these files have no rows that a report shows");
    return err;
}

/* ---- labels ---- */

/* Replaces the spec in each row's page_label by the label of the method, which differs from the
 * labels of all other methods. */
static void label_rows(struct page *page)
{
    const size_t count = json_object_size(page->labels);
    struct gcb_label *items = gcb_must_zero(count, sizeof(*items));
    const char *spec;
    json_t *value;
    size_t i = 0;

    json_object_foreach(page->labels, spec, value) items[i++].spec = spec;
    gcb_label_all(items, count);
    for (i = 0; i < count; i++)
        json_object_set_new_nocheck(page->labels, items[i].spec, gcb_row_make_text(items[i].text));
    for (size_t r = 0; r < RECORDS; r++)
        json_array_foreach(page->rows[records_kept[r]], i, value)
        {
            spec = gcb_results_text(value, GCB_FIELD_PAGE_LABEL);
            if (spec)
                set_field(value, GCB_FIELD_PAGE_LABEL,
                          json_incref(json_object_get(page->labels, spec)));
        }
    gcb_free(items);
}

/* ---- pictures ---- */

/* Draws a page of a plot, and appends {title, svg} to `out`. */
static int draw_page(json_t *out, const struct gcb_plot_job *job, struct gcb_diag *diag)
{
    struct gcb_plot_drawing drawing;
    const int err = gcb_plot_draw(&drawing, job, diag);

    if (!err)
        gcb_json_append(out, json_pack("{ss ss}", "svg", drawing.files[GCB_PLOT_IMAGE].bytes,
                                       "title", job->plot->title));
    gcb_plot_drawing_fini(&drawing);
    return err;
}

/* Draws the plots that the rows allow, at most MAX_PAGES pictures of each, until config->stop
 * returns true. A picture that fails is left out. If gnuplot is not installed, all further plots
 * are left out too. */
static void draw_figures(json_t *out, struct gcb_page_outcome *outcome,
                         const struct gcb_page_config *config, const struct gcb_plot_data *data)
{
    struct gcb_plot_job job = {.data = data, .folder = config->plot_folder, .type = GCB_PLOT_SVG};

    for (size_t i = 0; (job.plot = gcb_plot_at(i)); i++) {
        const size_t all = gcb_plot_pages(job.plot, data),
                     pages = all < MAX_PAGES ? all : MAX_PAGES;

        for (job.page = 0; job.page < pages; job.page++) {
            struct gcb_diag why = {.status = 0};
            int err;

            outcome->stopped = config->stop && config->stop();
            if (outcome->stopped)
                return;
            err = draw_page(out, &job, &why);
            outcome->plots += !err;
            outcome->stopped = err && config->stop && config->stop();
            if (outcome->stopped) /* the signal that stops this process has ended gnuplot too */
                return;
            if (err && !outcome->without[0]) /* the page shows only the first reason */
                snprintf(outcome->without, sizeof(outcome->without), "%s", why.text);
            if (err == GCB_E_UNSUPPORTED)
                return;
        }
    }
}

/* ---- writing the page ---- */

/* Returns the column of a field: {show, meaning, each: [values]}, with `all: value` instead of
 * `each` if all rows have the same value. NULL: no row has a value. */
static json_t *make_column(const struct page *page, enum gcb_record record,
                           const struct gcb_field_row *field)
{
    /* in the order of enum gcb_field_show */
    static const char *const shows[] = {"text",  "sentence", "name",   "word",   "yes",
                                        "count", "number",   "error",  "cosine", "percent",
                                        "size",  "seconds",  "by unit"};
    _Static_assert(sizeof(shows) / sizeof(shows[0]) == GCB_SHOW_BY_UNIT + 1, "a name for each");
    const struct gcb_field_info *info = gcb_field_info(field->field);
    const json_t *rows = page->rows[record], *row;
    json_t *values = json_array(), *column;
    bool any = false, same = true;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        json_t *value = gcb_results_json(row, field->field);

        any |= value != NULL;
        value = value ? json_incref(value) : json_null();
        same &= i == 0 || json_equal(value, json_array_get(values, 0));
        gcb_json_append(values, value);
    }
    if (!any) {
        json_decref(values);
        return NULL;
    }
    column = json_object();
    gcb_json_set(column, "show", json_string(shows[info->show]));
    gcb_json_set(column, "meaning", json_string(field->meaning));
    gcb_json_set(column, same ? "all" : "each",
                 same ? json_incref(json_array_get(values, 0)) : values);
    if (same)
        json_decref(values);
    return column;
}

/* Returns a record: {count: rows, more: rows left out, columns: {field: column}}. */
static json_t *make_record(const struct page *page, enum gcb_record record)
{
    json_t *out = json_object(), *columns = json_object();
    const struct gcb_field_row *field;

    for (size_t i = 0; (field = gcb_field_row(i)); i++) {
        const char *name = gcb_field_name(field->field);
        json_t *column = NULL;

        if (field->records & bits_of(record) && !json_object_get(columns, name))
            column = make_column(page, record, field);
        if (column)
            gcb_json_set(columns, name, column);
    }
    gcb_json_set(out, "count", json_integer((json_int_t)json_array_size(page->rows[record])));
    gcb_json_set(out, "more", json_integer((json_int_t)page->left_out[record]));
    gcb_json_set(out, "columns", columns);
    return out;
}

/* Returns the baselines among the methods: {method: true}. */
static json_t *list_baselines(const struct page *page)
{
    json_t *out = json_object(), *row;
    size_t i;

    for (size_t r = 0; r < RECORDS; r++)
        json_array_foreach(page->rows[records_kept[r]], i, row)
        {
            const char *method = gcb_results_text(row, GCB_FIELD_METHOD);

            if (method && gcb_plot_baseline(method))
                gcb_json_set(out, method, json_true());
        }
    return out;
}

/* Writes a piece of JSON: json_dump_callback_t. Escapes each '<', so that no text can end the
 * element with the data; outside of texts JSON has no '<'. */
static int write_json(const char *text, size_t size, void *out)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(text[i], out);
    return ferror(out) ? -1 : 0;
}

static void write_lines(FILE *out, const char *const *lines)
{
    for (; *lines; lines++)
        fputs(*lines, out);
}

/* Writes the page; write errors stay in the FILE. */
static void write_page(FILE *out, const struct page *page, json_t *data, const char *title)
{
    json_t *records = json_object();

    for (size_t r = 0; r < RECORDS; r++)
        gcb_json_set(records, gcb_record_name(records_kept[r]), make_record(page, records_kept[r]));
    gcb_json_set(data, "title", gcb_row_make_text(title));
    gcb_json_set(data, "records", records);
    gcb_json_set(data, "baselines", list_baselines(page));
    write_lines(out, page_before);
    if (json_dump_callback(data, write_json, out, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) &&
        !ferror(out))
        gcb_no_memory();
    write_lines(out, page_after);
}

int gcb_page_write(FILE *out, struct gcb_page_outcome *outcome,
                   const struct gcb_page_config *config, struct gcb_diag *diag)
{
    struct page page = {.seen = false};
    json_t *data = json_object(), *figures = json_array();
    int err = read_files(&page, config, diag);

    memset(outcome, 0, sizeof(*outcome));
    if (!err && page.plots)
        draw_figures(figures, outcome, config, page.plots);
    if (!err) {
        label_rows(&page);
        gcb_json_set(data, "figures", json_incref(figures));
        gcb_json_set(data, "without", gcb_row_make_text(outcome->without));
        write_page(out, &page, data, config->title);
    }
    for (size_t r = 0; r < GCB_RECORD_PARTS; r++)
        json_decref(page.rows[r]);
    json_decref(page.tensors);
    json_decref(page.labels);
    json_decref(data);
    json_decref(figures);
    gcb_plot_data_destroy(page.plots);
    return err;
}
