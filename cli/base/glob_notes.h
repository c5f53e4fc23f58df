#ifndef CLI_BASE_GLOB_NOTES_H
#define CLI_BASE_GLOB_NOTES_H

#include "cli/base/options.h"

/*
 * A line on `err` for every pattern of --dataset, --exclude, --dense and --output-layer that matches no tensor: it
 * did nothing, and is likely misspelt. `source` was opened by opt_input_open with `in`, or is synthetic, of which
 * nothing can be chosen. `message` may be NULL.
 */
void glob_notes(FILE *err, const struct gcb_source *source, const struct opt_input *in,
                const struct opt_message *message);

#endif
