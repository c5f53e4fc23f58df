#include "src/tool/regress/ab_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include "kernels/philox/philox_elem.h"
#include "src/lib/base/text.h"
#include "src/tool/base/child.h"
#include "src/tool/base/memory.h"
#include "src/tool/base/strings.h"
#include "src/tool/base/tidy.h"

#define STREAM UINT64_C(0x6c61796f) /* Philox stream of the random layouts */
#define PADS 128                    /* times that the padding of 16 bytes is linked */
#define LINK_SECONDS 120.0          /* most seconds of a process, such as the linker */

struct words {
    const char **items;
    size_t count, cap;
};

struct gcb_layout {
    char build[PATH_MAX];     /* folder of build.ninja; the link command runs there */
    char target[PATH_MAX];    /* the program, relative to `build` */
    const char *line;         /* the link command */
    struct words command;     /* the link command without objects and output; first the compiler */
    struct words objects;     /* object files of the link command and of its thin archives */
    struct gcb_strings texts; /* memory of `line` and the words */
    char program[PATH_MAX];   /* what gcb_layout_link writes */
    char padding[PATH_MAX + 8]; /* an object file that holds only padding */
    int tidy[2];                /* from gcb_tidy_enter, for `program` and `padding` */
    bool (*stop)(void *ctx);
};

/* Appends a copy of a word. */
static void add_word(struct gcb_layout *l, struct words *w, const char *text)
{
    gcb_must_grow(&w->items, &w->cap, w->count, sizeof(*w->items));
    w->items[w->count++] = gcb_strings_keep(&l->texts, text);
}

/* ---- processes ---- */

/* Runs a program and hands each line of its output to `take`, which may be NULL. Returns 0,
 * GCB_E_UNSUPPORTED if the program cannot be run, fails or takes more than LINK_SECONDS, or
 * GCB_E_IO if l->stop ended it. */
static int run_lines(const char *const *argv, void (*take)(struct gcb_layout *, const char *line),
                     struct gcb_layout *l, struct gcb_diag *diag)
{
    const struct gcb_child_limits limits = {
        .seconds = LINK_SECONDS, .stop = l->stop, .search = true};
    struct gcb_diag own = {.status = 0};
    struct gcb_child child;
    char *line = NULL;
    size_t cap = 0;
    int err = gcb_child_start(&child, (char *const *)(uintptr_t)argv, &limits, NULL);

    if (err)
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "%s cannot be run", argv[0]);
    while (getline(&line, &cap, child.out) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (take)
            take(l, line);
    }
    free(line);
    if (gcb_child_finish(&child, NULL, &own))
        err = gcb_diag_set(diag, child.stopped ? GCB_E_IO : GCB_E_UNSUPPORTED, "%s", own.text);
    return err;
}

/* ---- the link command ---- */

/* Splits the path of the program into its build folder and its target there. */
static int find_build(struct gcb_layout *l, const char *exe, struct gcb_diag *diag)
{
    char path[PATH_MAX], ninja[PATH_MAX + 16];
    char *slash = realpath(exe, path) ? strrchr(path, '/') : NULL;

    for (; slash && slash > path; slash = strrchr(path, '/')) {
        *slash = '\0';
        snprintf(ninja, sizeof(ninja), "%s/build.ninja", path);
        if (access(ninja, R_OK) == 0 && realpath(exe, l->target)) {
            memmove(l->target, l->target + strlen(path) + 1, strlen(l->target + strlen(path)));
            memcpy(l->build, path, sizeof(path));
            return 0;
        }
    }
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "%s: no folder above it has a build.ninja",
                        gcb_show(exe).text);
}

/* Adds a member of an archive to the object files, if its name ends with ".o" and is that of a
 * file, as in a thin archive. */
static void take_member(struct gcb_layout *l, const char *line)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", l->build, line);
    if (gcb_glob("*.o", line) && access(path, R_OK) == 0)
        add_word(l, &l->objects, line);
}

/* Adds a word to l->command. The dynamic linker takes $ORIGIN as the folder of the running program.
 * The new program is in another folder, so $ORIGIN is replaced by the folder of the build's own
 * program. */
static void add_to_command(struct gcb_layout *l, const char *word)
{
    const char *slash = strrchr(l->target, '/'), *origin;
    char text[4 * PATH_MAX] = "";

    for (; (origin = strstr(word, "$ORIGIN")); word = origin + strlen("$ORIGIN"))
        gcb_append(text, sizeof(text), "%.*s%s/%.*s", (int)(origin - word), word, l->build,
                   slash ? (int)(slash - l->target) : 0, l->target);
    add_word(l, &l->command, gcb_append(text, sizeof(text), "%s", word));
}

/* Sorts the words of the link command into l->command and l->objects. The members of a thin archive
 * become objects too, so that their order can change. */
static int take_words(struct gcb_layout *l, char *const *words, size_t count, struct gcb_diag *diag)
{
    bool output = false;
    int err = 0;

    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && strcmp(words[i], "-o") == 0) {
            output = strcmp(words[++i], l->target) == 0;
            continue;
        }
        if (gcb_glob("*.a", words[i]) && words[i][0] != '/' && words[i][0] != '-')
            err = run_lines((const char *[]){"sh", "-c", "cd -- \"$0\" && exec ar t \"$1\"",
                                             l->build, words[i], NULL},
                            take_member, l, diag);
        if (err)
            return err;
        if (gcb_glob("*.o", words[i]))
            add_word(l, &l->objects, words[i]);
        else
            add_to_command(l, words[i]);
    }
    if (output && l->objects.count > 1)
        return 0;
    return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "its link command joins no object files");
}

/* Keeps a line that ninja prints. The last line is the link command. */
static void take_command(struct gcb_layout *l, const char *line)
{
    l->line = gcb_strings_keep(&l->texts, line);
}

/* Asks ninja for the link command, and fills l->command and l->objects. */
static int read_command(struct gcb_layout *l, struct gcb_diag *diag)
{
    const char *const argv[] = {"ninja", "-C", l->build, "-t", "commands", "-s", l->target, NULL};
    wordexp_t split;
    int err = run_lines(argv, take_command, l, diag);

    if (err)
        return err;
    if (!l->line || wordexp(l->line, &split, WRDE_NOCMD))
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "its link command cannot be read");
    err = take_words(l, split.we_wordv, split.we_wordc, diag);
    wordfree(&split);
    return err;
}

/* ---- padding, linking, opening and closing ---- */

/* Makes the object file that holds only padding, with the compiler of the link command. */
static int make_padding(struct gcb_layout *l, struct gcb_diag *diag)
{
    static const char script[] =
        "printf '.text\\n.p2align 4\\n.skip 16\\n.section .note.GNU-stack\\n' | "
        "exec \"$0\" -x assembler -c - -o \"$1\"";
    const char *const argv[] = {"sh", "-c", script, l->command.items[0], l->padding, NULL};

    snprintf(l->padding, sizeof(l->padding), "%s.pad.o", l->program);
    l->tidy[1] = gcb_tidy_enter(l->padding);
    return run_lines(argv, NULL, l, diag);
}

int gcb_layout_link(struct gcb_layout *l, uint64_t seed, struct gcb_diag *diag)
{
    static const char *const shell[] = {"sh", "-c", "cd -- \"$0\" && exec \"$@\""};
    const size_t files = l->objects.count + PADS;
    size_t n = 7; /* words before the files */
    const char **argv = gcb_must_array(n + files + l->command.count, sizeof(*argv));
    int err;

    memcpy(argv, shell, sizeof(shell));
    argv[3] = l->build;
    argv[4] = l->command.items[0];
    argv[5] = "-o";
    argv[6] = l->program;
    /* the "inside-out" shuffle of Fisher and Yates */
    for (size_t i = 0; i < files; i++) {
        const size_t other = gcb_philox(seed, i, STREAM).word[0] % (i + 1);

        argv[n + i] = argv[n + other];
        argv[n + other] = i < PADS ? l->padding : l->objects.items[i - PADS];
    }
    n += files;
    for (size_t i = 1; i < l->command.count; i++)
        argv[n++] = l->command.items[i];
    argv[n] = NULL;
    err = run_lines(argv, NULL, l, diag);
    gcb_free(argv);
    return err;
}

int gcb_layout_open(struct gcb_layout **out, const char *exe, const char *program,
                    bool (*stop)(void *ctx), struct gcb_diag *diag)
{
    struct gcb_layout *l = *out = gcb_must_zero(1, sizeof(*l));
    int err;

    l->tidy[1] = -1;
    l->stop = stop;
    snprintf(l->program, sizeof(l->program), "%s", program);
    l->tidy[0] = gcb_tidy_enter(l->program);
    err = find_build(l, exe, diag);
    if (!err)
        err = read_command(l, diag);
    if (!err)
        err = make_padding(l, diag);
    if (!err)
        err = gcb_layout_link(l, 0, diag);
    if (!err && access(l->program, X_OK))
        err =
            gcb_diag_set(diag, GCB_E_UNSUPPORTED, "programs in the temporary folder cannot be run");
    return err;
}

const char *gcb_layout_path(const struct gcb_layout *l)
{
    return l->program;
}

void gcb_layout_close(struct gcb_layout *l)
{
    if (!l)
        return;
    unlink(l->program);
    if (l->padding[0])
        unlink(l->padding);
    for (int i = 0; i < 2; i++)
        gcb_tidy_leave(l->tidy[i]);
    gcb_free(l->command.items);
    gcb_free(l->objects.items);
    gcb_strings_fini(&l->texts);
    gcb_free(l);
}
