#ifndef CLI_BASE_HEADING_H
#define CLI_BASE_HEADING_H

#include "cli/base/options.h"
#include "src/tool/trial/extent.h"

/* The line above a table: what was read and what applies. Two lines where one would be too long. */
void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *extent,
                   const char *settings);

/* Other work on the machine makes times longer, by any factor: a note where its load says so. It advises more timed runs where
 * each message had a few, `repeat`; 0: as many as it took. */
void heading_note_load(FILE *out, unsigned repeat);

/*
 * A line on `err` for every pattern of --dataset, --exclude, --dense and --output-layer that matches no tensor: it
 * did nothing, and is likely misspelt. `source` was opened by opt_input_open with `in`, or is synthetic, of which
 * nothing can be chosen. `message` may be NULL.
 */
void heading_note_globs(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                        const struct opt_message *message);

#endif
