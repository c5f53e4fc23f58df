#ifndef SRC_TOOL_PLUGIN_PEER_H
#define SRC_TOOL_PLUGIN_PEER_H

#include "src/gcbench-plugin.h"
#include "src/tool/base/child.h"

/*
 * The process of a plug-in that answers requests (src/gcbench-plugin.h). It is started with the
 * first request, and again with the next request after it has failed.
 */
struct gcb_peer {
    char *const *argv; /* the command; NULL: the user has started the process (exec:&N) */
    double seconds;    /* time limit of an answer */
    bool runs;         /* the process of argv runs */
    bool lost;         /* a process without argv has failed; it cannot be started again */
    int fd;            /* the socket to the process */
    struct gcb_child child;
};

/*
 * Sends a request with its bytes and receives the answer to `out`, which has `room` bytes; sets
 * *answer. If the status of the answer is not 0, its text becomes that of diag, and the result is
 * `refused`. Returns GCB_E_IO if the process cannot be started, crashes, ends, gives no answer in
 * time, or gives a wrong answer; then the process is ended. `what` names the work in messages:
 * "encoding".
 */
int gcb_peer_ask(struct gcb_peer *p, const struct gcbench_request *request, const void *bytes,
                 struct gcbench_answer *answer, void *out, size_t room, int refused,
                 const char *what, struct gcb_diag *diag);

/* host.c: the process of a shared object. argv[2] is its path, argv[3] its parameters. Returns the
 * exit status. */
int gcb_plugin_host(int argc, char *const *argv);
#define GCB_PLUGIN_HOST "--plugin-host" /* argv[1] */

#endif
