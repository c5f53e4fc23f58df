#include "cli/verify/verify_table.h"

#include <inttypes.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/tool/print/number.h"

#define NAMES 4 /* messages named in a note */

void verify_name(struct verify_names *names, const struct gcb_verify_note *note, const char *method)
{
    const size_t used = strlen(names->text), room = sizeof(names->text) - used;
    char shown[48];

    if (names->shown++ >= NAMES)
        return;
    snprintf(names->text + used, room, "%s%s%sstep %" PRIu64 " worker %" PRIu32 " %s",
             used ? ", " : "", method ? method : "", method ? " on " : "", note->plan->step,
             note->plan->worker, gcb_escape(shown, sizeof(shown), note->name));
}

void verify_show_message(FILE *out, const struct gcb_verify_note *note)
{
    char shown[128], count[32], line[256];

    snprintf(line, sizeof(line), "step %" PRIu64 " worker %" PRIu32 " %s, %s element%s",
             note->plan->step, note->plan->worker, gcb_escape(shown, sizeof(shown), note->name),
             gcb_count(count, note->plan->count), note->plan->count == 1 ? "" : "s");
    opt_wrap(out, line, 0, 2);
}

/* "topk:theta=0.85: contraction on step 100 worker 0 layers.0.bias" */
static void check_words(char out[480], const struct gcb_method *method,
                        const struct gcb_verify_check *c)
{
    char name[128], label[256];

    gcb_method_spec(label, sizeof(label), method, GCB_SPEC_LABEL);
    snprintf(out, 480, "%s: %s on step %" PRIu64 " worker %" PRIu32 " %s", label, c->promise->name,
             c->plan->step, c->plan->worker, gcb_escape(name, sizeof(name), c->name));
}

static void show_broken(FILE *out, const char *words, const struct gcb_verify_check *c)
{
    char line[800];

    snprintf(line, sizeof(line), "BROKEN  %s: %s", words, c->outcome.words);
    opt_wrap(out, line, 0, 0);
    snprintf(line, sizeof(line), "promised: %s (%s)", c->promise->claim, c->promise->source);
    opt_wrap(out, line, 0, 8);
}

void verify_show_check(FILE *out, const struct gcb_method *method, const struct gcb_verify_check *c)
{
    char words[480], value[32], limit[32], line[800];

    check_words(words, method, c);
    if (c->outcome.status == GCB_PROMISE_BROKEN) {
        show_broken(out, words, c);
        return;
    }
    snprintf(line, sizeof(line), "%s  %s: %s, limit %s %s",
             gcb_promise_status_names[c->outcome.status], words,
             gcb_number(value, c->outcome.value, 3), gcb_number(limit, c->outcome.limit, 3),
             c->outcome.words);
    opt_wrap(out, line, 0, 2);
}

int verify_show_table(const struct out_report *report, const struct gcb_method *methods,
                      const struct verify_tally *tallies, size_t count, struct gcb_diag *diag)
{
    static const struct gcb_table_column columns[] = {{"method", false, true},
                                                      {"kept", true, false},
                                                      {"broken", true, false},
                                                      {"nothing to say", true, false}};
    struct gcb_table *table = NULL;
    int err = gcb_table_create(&table, columns, 4, diag);

    for (size_t i = 0; !err && i < count; i++) {
        char label[256], text[3][32];

        gcb_method_spec(label, sizeof(label), &methods[i], GCB_SPEC_LABEL);
        gcb_count(text[0], tallies[i].kept);
        gcb_count(text[1], tallies[i].broken);
        gcb_count(text[2], tallies[i].idle);
        err = gcb_table_add(table, (const char *[]){label, text[0], text[1], text[2]}, diag);
    }
    if (!err)
        out_table(report, table);
    gcb_table_destroy(table);
    return err;
}

void verify_show_sum(FILE *out, const struct gcb_verify_result *r)
{
    fprintf(out, "%" PRIu64 " promises kept, %" PRIu64 " broken, on %" PRIu64 " message%s\n",
            r->kept, r->broken, r->messages, r->messages == 1 ? "" : "s");
}

static void show_names(FILE *out, bool apart, const char *words, const struct verify_names *names)
{
    char line[640];

    snprintf(line, sizeof(line), "%s: %s%s", words, names->text,
             names->shown > NAMES ? ", ..." : "");
    if (apart)
        fprintf(out, "%s\n", line);
    else
        opt_wrap(out, line, 0, 0);
}

void verify_show_notes(FILE *out, bool apart, const struct gcb_verify_result *r,
                       const struct verify_names *left_out, const struct verify_names *not_there,
                       const struct verify_names *unreached)
{
    const char *prefix = apart ? "gcbench" : "note";
    char words[160];

    if (r->left_out) {
        snprintf(words, sizeof(words), "%s: %" PRIu64 " message%s with infinities or NaNs left out",
                 prefix, r->left_out, r->left_out == 1 ? "" : "s");
        show_names(out, apart, words, left_out);
    }
    if (r->not_there) {
        snprintf(words, sizeof(words),
                 "%s: %" PRIu64 " pair%s of method and message that the device does not do", prefix,
                 r->not_there, r->not_there == 1 ? "" : "s");
        show_names(out, apart, words, not_there);
    }
    if (r->unreached) {
        snprintf(words, sizeof(words),
                 "%s: %s before %" PRIu64 " pair%s of method and message %s done", prefix,
                 r->interrupted ? "interrupted" : "the budget (see --budget) ended", r->unreached,
                 r->unreached == 1 ? "" : "s", r->unreached == 1 ? "was" : "were");
        show_names(out, apart, words, unreached);
    }
    if (r->idle && !apart)
        opt_wrap(out,
                 "note: nothing to say: a tensor that is too small, too plain, or was sent raw; "
                 "-v shows each check",
                 0, 0);
}
