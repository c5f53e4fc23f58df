#ifndef SRC_TOOL_PLUGIN_PEER_H
#define SRC_TOOL_PLUGIN_PEER_H

#include "src/gcbench-plugin.h"
#include "src/tool/base/child.h"

/*
 * The process of a plug-in that answers requests (src/gcbench-plugin.h). It is started with the
 * first request, and again with the next request after it has failed.
 */
struct gcb_peer {
    char *const *argv; /* the command; NULL: `fd` is a socket of a process that serves itself */
    double seconds;    /* most for one answer */
    bool runs, lost;   /* the process runs; a process that serves itself has failed */
    int fd;
    struct gcb_child child;
};

/*
 * Sends a request with its bytes and receives the answer to `out`, which has `room` bytes; sets
 * *answer. If the status of the answer is not 0, its text becomes that of diag, and the result is
 * `refused`. Returns GCB_E_IO if the process crashes, ends, gives no answer in time, or gives a
 * wrong one: then it is ended. `what` says what it does: "encoding".
 */
int gcb_peer_ask(struct gcb_peer *p, const struct gcbench_request *request, const void *bytes,
                 struct gcbench_answer *answer, void *out, size_t room, int refused,
                 const char *what, struct gcb_diag *diag);

/* host.c: the process of a shared object. argv[2] is its path, argv[3] its parameters. Returns the
 * exit status. */
int gcb_plugin_host(int argc, char *const *argv);
#define GCB_PLUGIN_HOST "--plugin-host" /* argv[1] */

#endif
