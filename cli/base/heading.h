#ifndef CLI_BASE_HEADING_H
#define CLI_BASE_HEADING_H

#include "cli/base/optparse.h"
#include "src/tool/trial/extent.h"

/* The line above a table: what was read and what applies. Two lines where one would be too long. */
void heading_print(FILE *out, const struct opt_list *files, const struct gcb_extent *extent,
                   const char *settings);

/* The files of a dump as one text, for rows; cut if there are very many. */
void heading_files(char *out, size_t size, const struct opt_list *files);

/* Other work on the machine makes times longer, by any factor: a note where its load says so. It advises more timed runs where
 * each message had a few, `repeat`; 0: as many as it took. */
void heading_note_load(FILE *out, unsigned repeat);

#endif
