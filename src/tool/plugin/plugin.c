#include "src/tool/plugin/plugin.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/lib/codec/foreign.h"
#include "src/tool/base/clock.h"
#include "src/tool/plugin/peer.h"

#define PLUGIN "plugin:"
#define EXEC "exec:"

enum { ENCODER, DECODER, PEERS };

/* A method of the command line. It stays until the process ends. */
struct plugin {
    struct gcb_peer peers[PEERS];
    bool object; /* a shared object, not a command */
    bool loaded; /* the object */
    char *argv[5];
};

/* ---- requests ---- */

/* Sends a request. Its time is that of the shared object's function. */
static int ask(struct plugin *p, int peer, const struct gcbench_request *request, const void *bytes,
               struct gcbench_answer *answer, void *out, size_t room, const char *what,
               struct gcb_diag *diag)
{
    const double begin = gcb_clock();
    /* a process that serves itself has one socket */
    struct gcb_peer *to = &p->peers[p->peers[peer].argv ? peer : ENCODER];
    const int err =
        gcb_peer_ask(to, request, bytes, answer, out, room,
                     request->verb == GCBENCH_DECODE ? GCB_E_CORRUPT : GCB_E_IO, what, diag);

    if (!err && p->object)
        gcb_clock_leave_out(gcb_clock() - begin - 1e-9 * (double)answer->nanoseconds);
    return err;
}

static int bound(void *ctx, uint64_t n, size_t *bytes, struct gcb_diag *diag)
{
    const struct gcbench_request request = {.verb = GCBENCH_BOUND, .elements = n};
    struct plugin *p = ctx;
    struct gcbench_answer answer;
    uint64_t most = n * sizeof(float) + GCBENCH_EXEC_MORE;
    int err = 0;

    if (p->object)
        err = ask(p, ENCODER, &request, NULL, &answer, &most, sizeof(most),
                  p->loaded ? "its bound" : "loading", diag);
    p->loaded = true;
    if (!err && most > n * 16 + (1 << 20))
        return gcb_diag_set(diag, GCB_E_IO, "its bound for %llu elements is %llu bytes",
                            (unsigned long long)n, (unsigned long long)most);
    *bytes = most;
    return err;
}

static int encode(void *ctx, const struct gcb_own_at *at, const float *x, uint64_t n, void *out,
                  size_t room, size_t *length, struct gcb_diag *diag)
{
    const struct gcbench_request request = {GCBENCH_ENCODE, n,        n * sizeof(float),
                                            at->seed,       at->step, at->worker};
    struct gcbench_answer answer;
    const int err = ask(ctx, ENCODER, &request, x, &answer, out, room, "encoding", diag);

    if (!err)
        *length = answer.length;
    return err;
}

static int decode_by(struct plugin *p, int peer, const void *message, size_t length, float *x,
                     uint64_t n, struct gcb_diag *diag)
{
    const struct gcbench_request request = {
        .verb = GCBENCH_DECODE, .elements = n, .length = length};
    struct gcbench_answer answer;
    const int err =
        ask(p, peer, &request, message, &answer, x, n * sizeof(float), "decoding", diag);

    if (err || answer.length == n * sizeof(float))
        return err;
    return gcb_diag_set(diag, GCB_E_IO, "decoding: the answer has %llu bytes, the tensor %llu",
                        (unsigned long long)answer.length, (unsigned long long)n * sizeof(float));
}

static int decode(void *ctx, const void *message, size_t length, float *x, uint64_t n,
                  struct gcb_diag *diag)
{
    return decode_by(ctx, DECODER, message, length, x, n, diag);
}

/* Decodes by both processes. */
static int check(void *ctx, const void *message, size_t length, uint64_t n, struct gcb_diag *diag)
{
    float *both = gcb_alloc_array(n ? n : 1, 2 * sizeof(*both));
    int err = both ? 0 : gcb_diag_nomem(diag, 2 * n * sizeof(*both), "a check");

    for (int peer = 0; !err && peer < PEERS; peer++)
        err = decode_by(ctx, peer, message, length, both + (uint64_t)peer * n, n, diag);
    if (!err && memcmp(both, both + n, n * sizeof(*both)) != 0)
        err = gcb_diag_set(diag, GCB_E_UNVERIFIED,
                           "decoding gives other elements in the process that has seen the tensor "
                           "than in another: it depends on more than the message");
    gcb_free(both);
    return err;
}

/* ---- names ---- */

bool gcb_plugin_is(const char *spec)
{
    return strncmp(spec, PLUGIN, strlen(PLUGIN)) == 0 || strncmp(spec, EXEC, strlen(EXEC)) == 0;
}

/* Returns the length of the name before '=' at the beginning, or 0. */
static size_t name_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.-", text[n])))
        n++;
    return text[n] == '=' ? n : 0;
}

/* Returns the base name of a path of `length` bytes without its suffix, and without the "lib" of a
 * shared object. *n becomes its length. */
static const char *base_of(const char *path, size_t length, bool object, size_t *n)
{
    const char *base = path;

    for (size_t i = 0; i < length; i++)
        if (path[i] == '/')
            base = path + i + 1;
    length -= (size_t)(base - path);
    if (object && length > 3 && strncmp(base, "lib", 3) == 0) {
        base += 3;
        length -= 3;
    }
    for (*n = 0; *n < length && (base[*n] != '.' || *n == 0);)
        (*n)++;
    return base;
}

/* True if the word is a file with a suffix, such as mine.py but not python3.11. */
static bool is_script(const char *word, size_t length)
{
    const char *dot = memrchr(word, '.', length);

    return dot && dot > word && dot + 1 < word + length && isalpha((unsigned char)dot[1]) &&
           !memchr(dot, '/', length - (size_t)(dot - word));
}

/* Names a command by its first word that is a script, or by its first word. *rest becomes the words
 * after it. */
static void name_command(char *name, size_t size, const char *command, const char **rest)
{
    const char *best = NULL, *word = command + strspn(command, " ");
    size_t length = 0, n;

    for (; *word; word += n + strspn(word + n, " ")) {
        n = strcspn(word, " ");
        if (best && !is_script(word, n))
            continue;
        best = word;
        length = n;
        if (is_script(word, n))
            break;
    }
    *rest = best ? best + length + strspn(best + length, " ") : "";
    word = base_of(best ? best : command, length, false, &n);
    snprintf(name, size, "exec/%.*s", (int)n, word);
}

/* Divides the pairs of a shared object: those of memories and exchanges go to `ours`, all others to
 * `own`. */
static void divide_pairs(const char *pairs, char *own, char *ours, size_t size)
{
    char key[32];

    own[0] = ours[0] = '\0';
    while (*pairs) {
        const size_t n = strcspn(pairs, ","), length = strcspn(pairs, "=,");
        char *to = own;

        snprintf(key, sizeof(key), "%.*s", (int)length, pairs);
        if (gcb_param_find(gcb_memory_table, key) || gcb_param_find(gcb_exchange_table, key))
            to = ours;
        gcb_append(to, size, "%s%.*s", to[0] ? "," : "", (int)n, pairs);
        pairs += n + (pairs[n] == ',');
    }
}

/* ---- methods ---- */

/* What a spec says. */
struct words {
    bool object;
    char name[64], own[512], ours[512];
    char *command; /* the command, or the path of the object; owned */
};

static int read_object(struct words *w, const char *text, size_t named, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, ":");
    char *path = gcb_strndup(text, n), shown[160];
    size_t length;
    const char *base;

    if (!path)
        return gcb_diag_nomem(diag, n, "a path");
    w->command = realpath(path, NULL);
    gcb_escape(shown, sizeof(shown), path);
    gcb_free(path);
    if (!w->command)
        return gcb_diag_set(diag, GCB_E_INVALID, "plugin:%s: no such file", shown);
    base = base_of(text, n, true, &length);
    if (!named)
        snprintf(w->name, sizeof(w->name), "plugin/%.*s", (int)length, base);
    divide_pairs(text[n] ? text + n + 1 : "", w->own, w->ours, sizeof(w->own));
    return 0;
}

static int read_command(struct words *w, const char *text, size_t named, struct gcb_diag *diag)
{
    const char *rest;

    w->command = strdup(text);
    if (!w->command)
        return gcb_diag_nomem(diag, strlen(text), "a command");
    if (named)
        return 0;
    name_command(w->name, sizeof(w->name), text, &rest);
    snprintf(w->own, sizeof(w->own), "%s", rest);
    return 0;
}

static int read_words(struct words *w, const char *spec, struct gcb_diag *diag)
{
    const char *text = strchr(spec, ':') + 1;
    const size_t named = name_length(text);

    memset(w, 0, sizeof(*w));
    w->object = strncmp(spec, PLUGIN, strlen(PLUGIN)) == 0;
    if (named) {
        snprintf(w->name, sizeof(w->name), "%s/%.*s", w->object ? "plugin" : "exec", (int)named,
                 text);
        text += named + 1;
    }
    if (!*text)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: name a %s after the colon",
                            w->object ? "plugin" : "exec", w->object ? "shared object" : "command");
    return w->object ? read_object(w, text, named, diag) : read_command(w, text, named, diag);
}

/* Makes the processes, which are not started yet. Takes over w->command. */
static struct plugin *make(struct words *w, double seconds)
{
    struct plugin *p = gcb_alloc_zero(1, sizeof(*p));
    static char self[] = "/proc/self/exe", host[] = GCB_PLUGIN_HOST, shell[] = "/bin/sh",
                c[] = "-c";
    const bool served = !w->object && w->command[0] == '&';

    if (!p)
        return NULL;
    p->object = w->object;
    p->argv[0] = w->object ? self : shell;
    p->argv[1] = w->object ? host : c;
    p->argv[2] = w->command;
    p->argv[3] = w->object ? gcb_strdup(w->own) : NULL;
    for (int i = 0; i < PEERS; i++)
        p->peers[i] = (struct gcb_peer){.argv = served ? NULL : p->argv,
                                        .seconds = seconds,
                                        .fd = served ? atoi(w->command + 1) : -1};
    w->command = NULL;
    return p;
}

/* Adds the method of the words, and loads a shared object. */
static int add(const struct gcb_codec **codec, struct words *w, double seconds,
               struct gcb_diag *diag)
{
    struct plugin *p = make(w, seconds);
    const struct gcb_foreign foreign = {
        .own = {.name = w->name,
                .params = w->own,
                .ctx = p,
                .bound = bound,
                .encode = encode,
                .decode = decode},
        .check = p && p->peers[0].argv ? check : NULL,
        .timed = w->object ? "inside" : "round_trip",
    };
    struct gcb_diag why = {.status = 0};
    size_t bytes;
    int err;

    if (!p)
        return gcb_diag_nomem(diag, sizeof(*p), "a plug-in");
    /* a short time limit is for coding */
    p->peers[ENCODER].seconds = fmax(seconds, GCB_PLUGIN_SECONDS);
    err = bound(p, 1, &bytes, &why);
    p->peers[ENCODER].seconds = seconds;
    if (err)
        return gcb_diag_set(diag, GCB_E_INVALID, "%s: %s", w->name, why.text);
    return gcb_foreign_add(codec, &foreign, diag);
}

int gcb_plugin_method(struct gcb_method *out, const char *spec, double seconds,
                      struct gcb_diag *diag)
{
    const struct gcb_codec *codec;
    char full[1200];
    struct words w;
    int err = read_words(&w, spec, diag);

    if (!err)
        err = add(&codec, &w, seconds, diag);
    free(w.command);
    if (err)
        return err;
    snprintf(full, sizeof(full), "%s%s%s%s%s", w.name, w.own[0] ? ":" : "", w.own,
             !w.ours[0] ? ""
             : w.own[0] ? ","
                        : ":",
             w.ours);
    return gcb_method_read(out, full, diag);
}

int gcb_plugin_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag)
{
    const size_t n = strcspn(spec, ":");
    const struct gcb_codec *codec;
    char name[64], own[512], ours[512];
    const struct gcb_foreign foreign = {.own = {.name = name, .params = own}};

    if (memchr(spec, '/', n) && n < sizeof(name)) {
        snprintf(name, sizeof(name), "%.*s", (int)n, spec);
        divide_pairs(spec[n] ? spec + n + 1 : "", own, ours, sizeof(own));
        (void)gcb_foreign_add(&codec, &foreign, NULL); /* else the method is unknown */
    }
    return gcb_method_read(out, spec, diag);
}
