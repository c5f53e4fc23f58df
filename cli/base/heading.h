#ifndef CLI_BASE_HEADING_H
#define CLI_BASE_HEADING_H

#include "cli/base/options.h"
#include "src/tool/run/input.h"

/* Prints the line above a table: what was read, and the settings, which may be "". Prints two lines if one is too long.
 * */
void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *extent,
                   const char *settings);

/* Prints a note if the machine is busy with other work, which makes times longer. If each message had only a few timed
 * runs (`repeat`; 0: as many as were needed), the note advises more. */
void heading_note_load(FILE *out, unsigned repeat);

/*
 * Prints notes on `err`: if --allow-external loosens what the reading process may do; what was left out of the files or is
 * doubtful (gcb_source_remark); and each pattern of --dataset, --exclude, --dense and --output-layer that matches no
 * tensor, because it is probably misspelt. `source` was opened by opt_input_open with `in`, or is synthetic; a synthetic
 * source has nothing to choose from. `message` may be NULL.
 */
void heading_note_input(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                        const struct opt_message *message);

#endif
