#include "cli/regress/regress_options.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/lib/base/text.h"

/* clang-format off */
const struct opt_row regress_judge_rows[] = {
    {.name = "accept", .metavar = "CASE", .type = OPT_LIST,
     .offset = offsetof(struct regress_own, accept),
     .help = "a wanted change: a glob on the case as the table shows it, with or without the "
             "quantity (`--accept 'topk* size'`); repeatable"},
    {.name = "delta", .metavar = "PERCENT", .type = OPT_REAL,
     .offset = offsetof(struct regress_own, delta), .min = 0.1, .max = 1000,
     .help = "how much a time may change (default: 5 with --against, 10 between two files)"},
    {.name = "advisory-times", .type = OPT_FLAG,
     .offset = offsetof(struct regress_own, advisory_times),
     .help = "show what became slower, and fail on sizes and errors alone"},
    {.name = "strict", .type = OPT_FLAG, .offset = offsetof(struct regress_own, strict),
     .help = "fail (6) where something is ambiguous or could not be compared"},
    {.name = NULL},
};

const struct opt_row regress_against_rows[] = {
    {.name = "against", .metavar = "GCBENCH", .type = OPT_TEXT,
     .offset = offsetof(struct regress_own, against),
     .help = "the other build's program: both run `bench` in turn"},
    {.name = "budget", .type = OPT_TIME, .offset = offsetof(struct regress_own, budget),
     .min = 0.001, .max = 604800,
     .help = "for all of it: 90s, 5m (default), 1h"},
    {.name = "pairs", .type = OPT_INT, .offset = offsetof(struct regress_own, pairs), .min = 20,
     .max = 10000,
     .help = "of processes at most (default 200; at least 20 are run)"},
    {.name = "calibrate", .type = OPT_FLAG, .offset = offsetof(struct regress_own, calibrate),
     .help = "first run this build against itself, in a third of the budget: delta becomes what "
             "that shows, if it is more"},
    {.name = "floor", .metavar = "US", .type = OPT_REAL,
     .offset = offsetof(struct regress_own, floor), .max = 1e9,
     .help = "times under so many microseconds are never SLOW or FAST (default 20; 0 for kernels)"},
    {.name = "timeout", .type = OPT_TIME, .offset = offsetof(struct regress_own, timeout),
     .min = 0.1, .max = 86400,
     .help = "for one process (default: a minute, or ten times the first one's)"},
    {.name = "counts", .type = OPT_FLAG, .offset = offsetof(struct regress_own, counts),
     .help = "count instructions under valgrind instead of timing: one thread, --isa avx2, 1 %"},
    {.name = NULL},
};

const struct opt_row regress_show_rows[] = {
    {.name = "markdown", .metavar = "FILE", .type = OPT_TEXT,
     .offset = offsetof(struct regress_own, markdown),
     .help = "write the outcome as Markdown too, for a comment"},
    {.name = "force", .type = OPT_FLAG, .offset = offsetof(struct regress_own, force),
     .help = "replace existing files"},
    {.name = NULL},
};
/* clang-format on */

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The program in a source or build folder, or one where programs are installed. */
static bool find_program(char *out, size_t size, const char *folder)
{
    static const char *const places[] = {"build/cli/gcbench", "cli/gcbench", "bin/gcbench",
                                         "gcbench"};
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const int n = snprintf(out, size, "%s%s%s", folder, slash, places[i]);

        if (n > 0 && (size_t)n < size && !is_folder(out) && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

int regress_check_program(const char *path, struct gcb_diag *diag)
{
    char program[4096], shown[160];

    if (!path[0])
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "--against is the path of the other build's program, not ''");
    if (!is_folder(path))
        return 0;
    if (find_program(program, sizeof(program), path))
        return gcb_diag_set(diag, GCB_E_INVALID, "--against: that is a folder; did you mean '%s'?",
                            gcb_escape(shown, sizeof(shown), program));
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "--against: %s is a folder without a gcbench: give the other build's "
                        "program, such as FOLDER/build/cli/gcbench",
                        gcb_escape(shown, sizeof(shown), path));
}

static const struct opt_row *row_named(const struct opt_row *rows, const char *name, size_t length)
{
    for (; rows->name; rows++)
        if (strlen(rows->name) == length && memcmp(rows->name, name, length) == 0)
            return rows;
    return NULL;
}

static const struct opt_row *row_lettered(const struct opt_row *rows, char letter)
{
    for (; rows->name; rows++)
        if (rows->letter == letter)
            return rows;
    return NULL;
}

/* An option on the command line: how many words it takes, from 1, and whose it is. */
struct word {
    int count;
    bool own, parameter; /* of a method: what no table has */
};

static struct word look(const char *word, const struct opt_spec *spec,
                        const struct opt_row *const *own)
{
    const bool is_long = word[1] == '-';
    const size_t length = is_long ? strcspn(word + 2, "=") : 1;
    const struct opt_row *row = NULL;
    struct word out = {.count = 1};

    for (size_t i = 0; !row && own[i]; i++)
        row = is_long ? row_named(own[i], word + 2, length) : row_lettered(own[i], word[1]);
    out.own = row;
    for (size_t i = 0; !row && spec->groups[i].rows; i++)
        row = is_long ? row_named(spec->groups[i].rows, word + 2, length)
                      : row_lettered(spec->groups[i].rows, word[1]);
    out.parameter = !row;
    if (!row || opt_takes_value(row))
        out.count = word[is_long ? length + 2 : 2] ? 1 : 2;
    return out;
}

int regress_forward(struct opt_list *out, const struct opt_spec *spec,
                    const struct opt_row *const *own, bool parameters, int argc, char *const *argv)
{
    struct word word;
    int err = 0;

    for (int i = 0; !err && i < argc && strcmp(argv[i], "--") != 0; i += word.count) {
        word = (struct word){.count = 1, .own = true};
        if (argv[i][0] == '-' && argv[i][1])
            word = look(argv[i], spec, own);
        if (word.own || (word.parameter && !parameters))
            continue;
        for (int w = 0; !err && w < word.count && i + w < argc; w++)
            err = opt_list_add(out, argv[i + w]);
    }
    return err;
}
