#ifndef TESTS_SUPPORT_CONTAINERS_H
#define TESTS_SUPPORT_CONTAINERS_H

#include "src/tool/container/container.h"
#include "src/tool/dump/dump.h"

/* Small files of messages for tests, in a folder of the test's own. Failures end the test. */
struct containers {
    char folder[64];
    char dump[2][96]; /* where dumps are written; the second is of rank 3 by its name */
    char path[96];    /* where messages are written */
};
extern struct containers containers;

/* For cmocka_unit_test_setup_teardown: the folder, and its removal with these files. */
int containers_setup(void **state);
int containers_teardown(void **state);

/* The tensors of a dump, by their paths below a step and worker. */
#define CONTAINERS_ROWS 4
extern const struct gcb_dump_tensor containers_rows[CONTAINERS_ROWS];

/* A dump of `steps` steps; 0 puts its tensors at the root. */
void containers_dump(const char *file, unsigned steps);
/* The first `files` dumps as one source; the caller closes it. */
struct gcb_source *containers_source(size_t files);
/* A message of `count` elements whose payload depends on `tag`; at most 64 bytes. Returns its length. */
size_t containers_message(uint8_t *out, uint64_t count, unsigned tag);
/* Writes one message for each of a layout of the given scope; returns how many. */
size_t containers_write(struct gcb_source *source, enum gcb_scope scope);
/* All of it: a dump of one step, and its messages. */
void containers_make(enum gcb_scope scope);
/* The messages that were written; the caller closes them. */
struct gcb_container *containers_open(void);

#endif
