#include "cli/base/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/tool/payoff/payoff_cases.h"
#include "src/tool/search/answer.h"
#include "src/tool/trial/copy.h"

bool answer_is_baseline(const struct gcb_method *m)
{
    return m->codec == gcb_copy_method.codec || gcb_baseline_of(m->name) < GCB_BASELINES;
}

/* Does the method have a memory unless the user removes it? */
static bool has_memory(const char *name)
{
    struct gcb_memory_params memory = {.kind = GCB_MEMORY_NONE};
    struct gcb_method m;

    if (!gcb_method_parse(&m, name, NULL))
        gcb_method_memory(&memory, &m);
    return memory.kind != GCB_MEMORY_NONE;
}

static struct gcb_answer_method describe(const struct gcb_method *m, const char *name,
                                         const struct gcb_run_total *total)
{
    const struct gcb_tally *t = &total->tally;
    const double gb = (double)t->input_bytes / 1e9;
    const bool ran = t->messages && !total->failure.status;

    return (struct gcb_answer_method){
        .name = name,
        .error = ran ? gcb_tally_figure(t, GCB_FIELD_REL_L2) : NAN,
        .bytes = (double)t->wire_bytes,
        .baseline = answer_is_baseline(m),
        .feedback = has_memory(m->name),
        .speed = gcb_tally_gbps(t, &t->encode),
        .slow = gb / t->encode.high,
        .fast = gb / t->encode.low,
    };
}

int answer_write(char out[ANSWER_SIZE], const char *where, const struct gcb_method *methods,
                 const struct gcb_run_result *result, bool speeds, struct gcb_diag *diag)
{
    static const struct gcb_answer_words words = {"an error", ": see `gcbench replay`"};
    const size_t count = result->method_count;
    struct gcb_answer_method *items = gcb_alloc_array(count, sizeof(*items));
    char(*names)[256] = gcb_alloc_array(count, sizeof(*names));
    double fp16 = 0.0;
    int used;

    for (size_t i = 0; items && names && i < count; i++) {
        const struct gcb_run_total *total = &result->totals[i];

        gcb_method_spec(names[i], sizeof(names[i]), &methods[i], GCB_SPEC_LABEL);
        items[i] = describe(&methods[i], names[i], total);
        if (fp16 <= 0.0 && !isnan(items[i].error)) /* others have not had all messages */
            fp16 = 2.0 * (double)total->tally.elements;
        if (strcmp(methods[i].name, "fp16") == 0 && !isnan(items[i].error))
            fp16 = items[i].bytes;
    }
    if (items && names) {
        used = snprintf(out, ANSWER_SIZE / 2, "%s%s%s", *where ? "for " : "", where,
                        *where ? ", " : "");
        gcb_answer(out + used, ANSWER_SIZE - (size_t)used, items, count, fp16, speeds, &words);
    }
    gcb_free(items);
    gcb_free(names);
    return items && names ? 0 : gcb_diag_nomem(diag, 0, "an answer");
}
