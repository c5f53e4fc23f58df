/* Command lines. An input is a word a line, the command first. */
#include <stdlib.h>
#include <string.h>

#include "cli/base/cmd.h"
#include "cli/base/optparse.h"
#include "src/lib/base/alloc.h"
#include "tests/fuzz/fuzz.h"

#define WORDS 64

static void parse(const struct cmd *cmd, int argc, char *const *argv)
{
    static const int allowed[] = {GCB_E_INVALID, GCB_E_NOMEM, 0};
    void *options = gcb_alloc_zero(1, cmd->size ? cmd->size : 1);
    struct opt_result parsed = {.help = false};
    struct gcb_diag diag = {0};

    fuzz_require_status(opt_parse(&parsed, &cmd->spec, options, argc, argv, &diag), &diag, allowed);
    opt_fini(&parsed, &cmd->spec, options);
    gcb_free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *words[WORDS + 1], *rest = text;
    const struct cmd *cmd;
    int count = 0;

    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word; count < WORDS && (word = strsep(&rest, "\n"));)
        words[count++] = word;
    words[count] = NULL;
    cmd = count ? cmd_find(words[0]) : NULL;
    if (cmd)
        parse(cmd, count - 1, words + 1);
    for (size_t i = 0; !cmd && cmd_at(i); i++) /* every command */
        parse(cmd_at(i), count, words);
    free(text);
    return 0;
}
