#ifndef SRC_TOOL_PLUGIN_PEER_H
#define SRC_TOOL_PLUGIN_PEER_H

#include "src/gcbench-plugin.h"
#include "src/tool/base/child.h"

/*
 * The process of a plug-in that answers requests (src/gcbench-plugin.h). The process of `argv` is
 * started with the first request, and again with the next request after the process has failed.
 */
struct gcb_peer {
    char *const *argv;      /* the command; NULL: the user has started the process (exec:&N) */
    double seconds;         /* time limit of a request, from its start to the end of its answer */
    bool runs;              /* the process of argv runs */
    bool lost;              /* a process without argv has failed; it cannot be started again */
    int fd;                 /* the socket to the process; not valid while no process of argv runs */
    struct gcb_child child; /* set while a process of argv runs */
};

/*
 * Sends a request with its request->length bytes and receives the answer: its bytes to `out`, which
 * has room for `room` bytes, and the rest to *answer. If the status of the answer is not 0, the
 * result is `refused`, and diag (may be NULL) gets "WHAT failed: " and the beginning of the
 * answer's text. More than `room` bytes, a text of GCB_DIAG_TEXT bytes or more, a status above 255,
 * and bytes from before the request are a wrong answer. Returns GCB_E_IO if the process cannot be
 * started, crashes, ends, gives no answer in time, or gives a wrong answer. Then a process of
 * `argv` is ended, and a process that the user has started gets no more requests: each returns
 * GCB_E_IO. `what` names the work in messages: "encoding".
 */
int gcb_peer_ask(struct gcb_peer *p, const struct gcbench_request *request, const void *bytes,
                 struct gcbench_answer *answer, void *out, size_t room, int refused,
                 const char *what, struct gcb_diag *diag);

/* host.c: the process of a shared object. argv[2] is the object's path, argv[3] its parameters.
 * Returns the exit status when its input ends; a failure before ends the process. */
int gcb_plugin_host(int argc, char *const *argv);
#define GCB_PLUGIN_HOST "--plugin-host" /* argv[1] */

#endif
