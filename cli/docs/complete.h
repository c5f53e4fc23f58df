#ifndef CLI_DOCS_COMPLETE_H
#define CLI_DOCS_COMPLETE_H

#include "cli/base/commands.h"
#include "src/lib/codec/method.h"

/*
 * Completion for shells. What is written here are the tables; completion.bash and completion.zsh, which the
 * build puts behind them, know what to do with them.
 */
void complete_bash(FILE *out);
void complete_zsh(FILE *out);

/* What may stand behind an option. */
enum complete_kind {
    COMPLETE_FLAG,   /* nothing: it takes no value */
    COMPLETE_ANY,    /* nobody can say: a number, a pattern */
    COMPLETE_WORDS,  /* one of `choices` */
    COMPLETE_FILE,   /* a file, or a folder */
    COMPLETE_METHOD, /* a method with parameters */
};
enum complete_kind complete_kind_of(const struct opt_row *row);

/* Has an earlier name of these the same text? Several methods have a parameter `bits`. */
bool complete_named_before(const struct opt_extra *names, size_t i);

/* Lists with a space before each word, and each word once. Empty: none. Return out. */
char *complete_choices(char *out, size_t size, const char *key); /* of a parameter of any method */
char *complete_keys(char *out, size_t size, const struct gcb_method *m); /* parameters */

#endif
