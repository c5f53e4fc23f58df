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
     .help = "show what became slower, but fail only on sizes and errors"},
    {.name = "strict", .type = OPT_FLAG, .offset = offsetof(struct regress_own, strict),
     .help = "fail (6) if something is ambiguous or could not be compared"},
    {.name = NULL},
};

const struct opt_row regress_against_rows[] = {
    {.name = "against", .metavar = "GCBENCH", .type = OPT_TEXT,
     .offset = offsetof(struct regress_own, against),
     .help = "the other build's program: the two builds run `bench` alternately"},
    {.name = "budget", .type = OPT_TIME, .offset = offsetof(struct regress_own, budget),
     .min = 0.001, .max = 604800,
     .help = "time for the whole comparison: 90s, 5m (default), 1h"},
    {.name = "pairs", .type = OPT_INT, .offset = offsetof(struct regress_own, pairs), .min = 20,
     .max = 10000,
     .help = "most pairs of processes (default 200; at least 20 are run)"},
    {.name = "calibrate", .type = OPT_FLAG, .offset = offsetof(struct regress_own, calibrate),
     .help = "first run this build against itself, for a third of the budget, and raise delta to "
             "the differences that this shows"},
    {.name = "floor", .metavar = "US", .type = OPT_REAL,
     .offset = offsetof(struct regress_own, floor), .max = 1e9,
     .help = "times shorter than this, in microseconds, are not judged (default 20; 0 for kernels)"},
    {.name = "timeout", .type = OPT_TIME, .offset = offsetof(struct regress_own, timeout),
     .min = 0.1, .max = 86400,
     .help = "limit of one process (default: a minute, or ten times the first one's time)"},
    {.name = "counts", .type = OPT_FLAG, .offset = offsetof(struct regress_own, counts),
     .help = "count instructions under valgrind instead of timing: one thread, --isa avx2, 1 %"},
    {.name = NULL},
};

const struct opt_row regress_show_rows[] = {
    {.name = "markdown", .metavar = "FILE", .type = OPT_TEXT,
     .offset = offsetof(struct regress_own, markdown),
     .help = "also write the comparison as Markdown, for a comment"},
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

/* Looks for the program in a source, build or installation folder. */
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
                            "--against takes the path of the other build's program, not ''");
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

/* An option on the command line. */
struct option {
    int words;      /* 1 or 2 */
    bool own;       /* belongs to regress */
    bool parameter; /* in no table, so it is a parameter of methods */
};

/* The row of `--name` or `-n`, whose name is `name`, of so many characters; NULL: none. */
static const struct opt_row *find_row(const struct opt_row *rows, bool is_long, const char *name,
                                      size_t length)
{
    for (; rows->name; rows++)
        if (is_long ? strlen(rows->name) == length && memcmp(rows->name, name, length) == 0
                    : rows->letter == *name)
            return rows;
    return NULL;
}

static struct option find_option(const char *word, const struct opt_spec *spec,
                                 const struct opt_row *const *own)
{
    const bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const size_t length = is_long ? strcspn(name, "=") : 1;
    const struct opt_row *row = NULL;
    struct option out = {.words = 1};

    for (size_t i = 0; !row && own[i]; i++)
        row = find_row(own[i], is_long, name, length);
    out.own = row;
    for (size_t i = 0; !row && spec->groups[i].rows; i++)
        row = find_row(spec->groups[i].rows, is_long, name, length);
    out.parameter = !row;
    if ((!row || opt_takes_value(row)) && !name[length])
        out.words = 2;
    return out;
}

int regress_forward(struct opt_list *out, const struct opt_spec *spec,
                    const struct opt_row *const *own, bool parameters, int argc, char *const *argv)
{
    struct option option;
    int err = 0;

    for (int i = 0; !err && i < argc && strcmp(argv[i], "--") != 0; i += option.words) {
        option = (struct option){.words = 1, .own = true}; /* an operand is not passed on */
        if (argv[i][0] == '-' && argv[i][1])
            option = find_option(argv[i], spec, own);
        if (option.own || (option.parameter && !parameters))
            continue;
        for (int w = 0; !err && w < option.words && i + w < argc; w++)
            err = opt_list_add(out, argv[i + w]);
    }
    return err;
}
