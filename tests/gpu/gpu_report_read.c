#include "tests/gpu/gpu_report.h"

#include <math.h>
#include <string.h>

static void take_text(char *out, size_t size, const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    size_t n = 0;

    if (!text)
        return;
    for (; *text && n + 2 < size; text++) { /* a bar would end the table's cell */
        if (*text == '|')
            out[n++] = '\\';
        out[n++] = *text;
    }
    out[n] = '\0';
}

static void take_plain(struct report *r, struct plain *list, size_t *count, const json_t *row)
{
    const json_t *launches = json_object_get(row, "launches");
    struct plain *p = &list[*count];

    if (*count == MAX_ROWS)
        return;
    (*count)++;
    take_text(p->name, sizeof(p->name), row, "spec");
    take_text(p->status, sizeof(p->status), row, "status");
    take_text(p->reason, sizeof(p->reason), row, "reason");
    p->seconds = gcb_results_real(row, GCB_FIELD_SECONDS);
    p->elements = gcb_results_real(row, GCB_FIELD_ELEMENTS);
    p->wire_bytes = gcb_results_real(row, GCB_FIELD_WIRE_BYTES);
    p->launches = json_is_number(launches) ? json_number_value(launches) : NAN;
    p->fed = json_is_true(json_object_get(row, "feedback"));
    p->brief = json_is_true(json_object_get(row, "brief"));
    if (strcmp(p->status, "failed") == 0)
        r->broken = true;
}

static void take_speed(struct report *r, const json_t *row)
{
    struct measured *m = &r->speed[r->speeds];

    if (r->speeds == MAX_ROWS)
        return;
    r->speeds++;
    take_text(m->method, sizeof(m->method), row, "method");
    take_text(m->spec, sizeof(m->spec), row, "spec");
    take_text(m->status, sizeof(m->status), row, "status");
    take_text(m->reason, sizeof(m->reason), row, "reason");
    m->elements = gcb_results_real(row, GCB_FIELD_ELEMENTS);
    m->wire_bytes = gcb_results_real(row, GCB_FIELD_WIRE_BYTES);
    m->encode = gcb_results_real(row, GCB_FIELD_ENCODE_KERNEL_SECONDS);
    m->encode_transfer = gcb_results_real(row, GCB_FIELD_ENCODE_TRANSFER_SECONDS);
    m->decode = gcb_results_real(row, GCB_FIELD_DECODE_KERNEL_SECONDS);
    m->launches = gcb_results_real(row, GCB_FIELD_ENCODE_LAUNCHES);
    if (strcmp(m->status, "failed") == 0)
        r->broken = true;
}

int report_take(void *ctx, const struct gcb_results_row *row, struct gcb_diag *diag)
{
    struct report *r = ctx;

    if (strcmp(row->record, "environment") == 0) {
        take_text(r->gpu, sizeof(r->gpu), row->json, "gpu");
        take_text(r->driver, sizeof(r->driver), row->json, "gpu_driver");
        take_text(r->date, sizeof(r->date), row->json, "date");
        take_text(r->revision, sizeof(r->revision), row->json, "git_revision");
        take_text(r->cpu, sizeof(r->cpu), row->json, "cpu_model");
        r->copy_gbps = gcb_results_real(row->json, GCB_FIELD_GPU_COPY_GBPS);
    } else if (strcmp(row->record, "summary") == 0) {
        take_speed(r, row->json);
    } else if (strcmp(row->record, "check") == 0) {
        take_plain(r, r->checks, &r->check_count, row->json);
    } else if (strcmp(row->record, "step") == 0) {
        take_plain(r, r->steps, &r->step_count, row->json);
    } else if (strcmp(row->record, "torch") == 0) {
        take_plain(r, r->torch, &r->torch_count, row->json);
    } else if (strcmp(row->record, "timing") == 0) {
        take_plain(r, r->timings, &r->timing_count, row->json);
    }
    return 0;
}
