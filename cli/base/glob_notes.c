#include "cli/base/glob_notes.h"

#include "src/lib/base/text.h"

static void note(FILE *err, const char *option, const char *glob)
{
    char shown[160];

    fprintf(err, "gcbench: note: --%s %s: no tensor matches (a pattern is of the whole name)\n",
            option, gcb_escape(shown, sizeof(shown), glob));
}

static void note_layers(FILE *err, const char *option, const struct gcb_source *source,
                        const struct opt_list *globs)
{
    for (size_t i = 0; i < globs->count; i++)
        if (!gcb_source_matches(source, globs->items[i]))
            note(err, option, globs->items[i]);
}

void glob_notes(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                const struct opt_message *message)
{
    for (size_t i = 0; i < in->dataset.count; i++)
        if (!gcb_source_met(source, i))
            note(err, "dataset", in->dataset.items[i]);
    for (size_t i = 0; i < in->exclude.count; i++)
        if (!gcb_source_met(source, in->dataset.count + i))
            note(err, "exclude", in->exclude.items[i]);
    if (!message)
        return;
    note_layers(err, "dense", source, &message->dense);
    note_layers(err, "output-layer", source, &message->output_layer);
}
