#include "src/tool/plugin/plugin.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lib/base/text.h"
#include "src/lib/codec/foreign.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"
#include "src/tool/plugin/peer.h"

#define PLUGIN "plugin:"
#define EXEC "exec:"

enum { ENCODER, DECODER, PEERS };

/* A method of the command line. It stays until the process ends. */
struct plugin {
    struct gcb_peer peers[PEERS];
    bool object; /* a shared object, not a command */
    char *argv[5];
    const struct gcb_codec *codec;
    struct plugin *next;
};

static struct plugin *plugins;

/* ---- requests ---- */

/* Sends a request to a process. For a shared object, measurements leave out all time except that of
 * its function. */
static int ask(struct plugin *p, int peer, const struct gcbench_request *request, const void *bytes,
               struct gcbench_answer *answer, void *out, size_t room, const char *what,
               struct gcb_diag *diag)
{
    const double begin = gcb_clock();
    /* a process that the user has started (exec:&N) encodes and decodes, through one socket */
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
        err = ask(p, ENCODER, &request, NULL, &answer, &most, sizeof(most), "its bound", diag);
    if (!err && most > n * 16 + (1 << 20))
        return gcb_diag_set(diag, GCB_E_IO,
                            "its bound for %llu elements is %llu bytes: over 16 bytes each + 1 MiB",
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

/* Decodes by both processes. GCB_E_UNVERIFIED: they give different elements. */
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

/* Returns the length of NAME if the text begins with "NAME=", otherwise 0. */
static size_t name_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.-", text[n])))
        n++;
    return text[n] == '=' ? n : 0;
}

/* Writes KIND/BASE. BASE is the base name of a path of `length` bytes, without its suffix and the
 * "lib" of a shared object. The suffix begins at the first dot; a name that begins with a dot has
 * no suffix. */
static void name_after(char *name, size_t size, bool object, const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);
    const char *base = slash ? slash + 1 : path, *dot;

    length -= (size_t)(base - path);
    if (object && length > 3 && strncmp(base, "lib", 3) == 0) {
        base += 3;
        length -= 3;
    }
    dot = memchr(base, '.', length);
    snprintf(name, size, "%s/%.*s", object ? "plugin" : "exec",
             (int)(dot && dot > base ? (size_t)(dot - base) : length), base);
}

/* Names a command by its second word, such as mine.py of "python3 mine.py", or by its first word if
 * the second one is missing or is an option. Returns the words after that word. */
static const char *name_command(char *name, size_t size, const char *command)
{
    const char *word = command + strspn(command, " ");
    const char *second = word + strcspn(word, " ");

    second += strspn(second, " ");
    if (*second && *second != '-')
        word = second;
    name_after(name, size, false, word, strcspn(word, " "));
    word += strcspn(word, " ");
    return word + strspn(word, " ");
}

/* Divides the key=value pairs of a spec: those of memories and exchanges go to `ours`, those of the
 * plug-in to `own`. Both have `size` bytes. */
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

/* The parts of a spec of the command line. */
struct words {
    bool object;
    char name[300]; /* KIND/NAME */
    /* Of an object, both are from divide_pairs. Of a command, `own` is from name_command, or empty
     * if the spec gives NAME=; `ours` is empty. */
    char own[512], ours[512];
    char *command; /* the command, or the path of the object; from malloc, owned */
};

static int read_object(struct words *w, const char *text, struct gcb_diag *diag)
{
    const size_t n = strcspn(text, ":");
    char *path = gcb_must_strndup(text, n);

    if (!w->name[0])
        name_after(w->name, sizeof(w->name), true, path, n);
    w->command = realpath(path, NULL);
    gcb_free(path);
    if (!w->command)
        return gcb_invalid(diag, "plugin:%s: %s", gcb_show(text).text, strerror(errno));
    divide_pairs(text[n] ? text + n + 1 : "", w->own, w->ours, sizeof(w->own));
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
        return gcb_invalid(diag, "%s: name a %s after the colon", w->object ? "plugin" : "exec",
                           w->object ? "shared object" : "command");
    if (w->object)
        return read_object(w, text, diag);
    if (!named)
        snprintf(w->own, sizeof(w->own), "%s", name_command(w->name, sizeof(w->name), text));
    w->command = strdup(text);
    return w->command ? 0 : gcb_diag_nomem(diag, strlen(text), "a command");
}

/* Makes a plug-in whose processes are not started yet, and adds it to the list. Takes over
 * w->command. */
static struct plugin *make(struct words *w, double seconds)
{
    struct plugin *p = gcb_must_zero(1, sizeof(*p));
    static char self[] = "/proc/self/exe", host[] = GCB_PLUGIN_HOST, shell[] = "/bin/sh",
                c[] = "-c";
    const bool served = !w->object && w->command[0] == '&';

    p->object = w->object;
    p->argv[0] = w->object ? self : shell;
    p->argv[1] = w->object ? host : c;
    p->argv[2] = w->command;
    p->argv[3] = w->object ? gcb_must_strdup(w->own) : NULL;
    for (int i = 0; i < PEERS; i++)
        p->peers[i] = (struct gcb_peer){.argv = served ? NULL : p->argv,
                                        .seconds = seconds,
                                        .fd = served ? atoi(w->command + 1) : -1};
    if (served) /* no other plug-in gets the socket */
        fcntl(p->peers[0].fd, F_SETFD, FD_CLOEXEC);
    w->command = NULL;
    p->next = plugins;
    return plugins = p;
}

/* Adds the method that *w describes. Asks for the bound of one element, so that a shared object is
 * loaded at once, which finds its errors. */
static int add(struct words *w, double seconds, struct gcb_diag *diag)
{
    struct plugin *p = make(w, seconds);
    const struct gcb_foreign foreign = {
        .own = {.name = w->name,
                .params = w->own,
                .ctx = p,
                .bound = bound,
                .encode = encode,
                .decode = decode},
        .check = p->peers[0].argv ? check : NULL,
        .timed = w->object ? "inside" : "round_trip",
    };
    struct gcb_diag why = {.status = 0};
    size_t bytes;
    int err;

    /* loading may take longer than the time limit that the user gave for encoding and decoding */
    p->peers[ENCODER].seconds = fmax(seconds, GCB_PLUGIN_SECONDS);
    err = bound(p, 1, &bytes, &why);
    p->peers[ENCODER].seconds = seconds;
    if (err)
        return gcb_invalid(diag, "%s: %s", w->name, why.text);
    return gcb_foreign_add(&p->codec, &foreign, diag);
}

/* Adds the method unless it was added before. Refuses another plug-in of the same name and
 * parameters. */
static int add_once(struct words *w, double seconds, struct gcb_diag *diag)
{
    for (const struct plugin *p = plugins; p; p = p->next) {
        if (!p->codec || strcmp(p->codec->name, w->name) != 0 ||
            strcmp(p->codec->text, w->own) != 0)
            continue;
        if (strcmp(p->argv[2], w->command) == 0)
            return 0;
        return gcb_invalid(diag, "two plug-ins are called %s: name one: %s:NAME=%s",
                           gcb_show(w->name).text, w->object ? "plugin" : "exec",
                           gcb_show(w->command).text);
    }
    return add(w, seconds, diag);
}

int gcb_plugin_method(struct gcb_method *out, const char *spec, double seconds,
                      struct gcb_diag *diag)
{
    char full[1600];
    struct words w;
    int err = read_words(&w, spec, diag);

    if (!err)
        err = add_once(&w, seconds, diag);
    free(w.command);
    if (err)
        return err;
    snprintf(full, sizeof(full), "%s:%s%s%s", w.name, w.own, w.own[0] && w.ours[0] ? "," : "",
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
        (void)gcb_foreign_add(&codec, &foreign, NULL); /* gcb_method_read reports a failure */
    }
    return gcb_method_read(out, spec, diag);
}
