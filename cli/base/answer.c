#include "cli/base/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/rows/labels.h"

struct gcb_answer_item answer_item(const struct gcb_method *m)
{
    struct gcb_memory_params memory;

    gcb_method_memory(&memory, m);
    return (struct gcb_answer_item){.error = NAN,
                                    .lasting = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .step = NAN,
                                    .speed = NAN,
                                    .unbiased = gcb_method_caps(m) & GCB_CAP_UNBIASED,
                                    .memory = memory.kind != GCB_MEMORY_NONE,
                                    .baseline = m->codec->baseline};
}

int answer_make(struct gcb_row *out, const char *where, const struct gcb_method *methods,
                const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag)
{
    const size_t count = result->method_count;
    struct gcb_answer_item *items = gcb_alloc_zero(count, sizeof(*items));
    struct gcb_label *labels = gcb_label_methods(methods, sizeof(*methods), count);
    struct gcb_answer answer = {.items = items, .count = count, .bar = "fp16"};
    double fp16 = 0.0;
    char text[4000], words[2000];
    int err = items && labels ? 0 : gcb_diag_nomem(diag, 0, "an answer");

    for (size_t i = 0; !err && i < count; i++) {
        const struct gcb_tally *t = &result->totals[i].tally;
        const bool ran = t->messages && !result->totals[i].failure.status;

        items[i] = answer_item(&methods[i]);
        items[i].name = labels[i].text;
        items[i].memory = false;
        items[i].error = ran ? gcb_tally_figure(t, GCB_FIELD_REL_L2) : NAN;
        items[i].speed = ran && speeds ? gcb_tally_gbps(t, &t->encode) : NAN;
        if (ran && fp16 <= 0.0) /* others have not had all messages */
            fp16 = 2.0 * (double)t->elements;
        if (ran && strcmp(methods[i].name, "fp16") == 0)
            fp16 = (double)t->wire_bytes;
    }
    for (size_t i = 0; !err && i < count; i++)
        items[i].gain = fp16 / (double)result->totals[i].tally.wire_bytes;
    if (!err) {
        gcb_answer_choose(&answer);
        snprintf(text, sizeof(text), "%s%s%s%s; training was not tested", *where ? "for " : "",
                 where, *where ? ", " : "", gcb_answer_text(words, sizeof(words), &answer));
        gcb_answer_row(out, text, &answer);
    }
    gcb_free(items);
    gcb_free(labels);
    return err;
}
