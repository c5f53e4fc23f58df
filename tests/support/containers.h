#ifndef TESTS_SUPPORT_CONTAINERS_H
#define TESTS_SUPPORT_CONTAINERS_H

#include "src/tool/write/container.h"
#include "src/tool/write/dump.h"

/* Small files of messages for tests, in a folder of the test. A failure ends the test. */
struct containers {
    char folder[64];
    char dump[2][96]; /* paths of the dumps; the name of the second says rank 3 */
    char path[96];    /* path of the file of messages */
};
extern struct containers containers;

/* For cmocka_unit_test_setup_teardown: make the folder, and remove it with these files. */
int containers_setup(void **state);
int containers_teardown(void **state);

/* The tensors of a dump, by their paths below a step and worker. */
#define CONTAINERS_ROWS 4
extern const struct gcb_tensor containers_rows[CONTAINERS_ROWS];

/* Writes a dump of `steps` steps; with 0 its tensors are at the root. */
void containers_dump(const char *file, unsigned steps);
/* Opens the first `files` dumps as one source. The caller closes it. */
struct gcb_source *containers_source(size_t files);
/* Writes a message of `count` elements, at most 64 bytes, whose payload depends on `tag`. Returns
 * its length. */
size_t containers_message(uint8_t *out, uint64_t count, unsigned tag);
/* Writes the messages of a layout of the given scope. Returns their number. */
size_t containers_write(struct gcb_source *source, enum gcb_scope scope);
/* Writes a dump of one step, and its messages. */
void containers_make(enum gcb_scope scope);
/* Opens the messages that were written. The caller closes them. */
struct gcb_container *containers_open(void);

#endif
