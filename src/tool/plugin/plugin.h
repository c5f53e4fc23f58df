#ifndef SRC_TOOL_PLUGIN_PLUGIN_H
#define SRC_TOOL_PLUGIN_PLUGIN_H

#include "src/lib/codec/method.h"

/*
 * Methods of users, which other processes carry out (src/gcbench-plugin.h):
 *
 *   plugin:[NAME=]FILE[:key=value,...]   a shared object
 *   exec:[NAME=]COMMAND                  a command of the shell; or &N: the descriptor N, a socket
 *
 * The method is called plugin/NAME or exec/NAME; without NAME=, it is named after the file or the
 * command. Two processes answer: one encodes, one decodes. The process behind &N does both. A
 * request that fails is the error GCB_E_IO of that coder (GCB_E_CORRUPT: the decoder refused the
 * message). If a process has crashed or gave no valid answer, the next request starts it again. The
 * process behind &N cannot be started again.
 */

/* True if the spec is one of the command line: it begins with "plugin:" or "exec:". */
bool gcb_plugin_is(const char *spec);

/* Makes the method, which stays until this process ends, unless an earlier call made it. A shared
 * object is loaded at once, to check that it can be. `seconds` is the time limit of a request.
 * GCB_E_INVALID: the spec is wrong, or the object cannot be used. GCB_E_UNSUPPORTED: too many
 * methods. GCB_E_NOMEM. Only for specs of the user's command line, because the call runs the user's
 * code. Not thread-safe. */
int gcb_plugin_method(struct gcb_method *out, const char *spec, double seconds,
                      struct gcb_diag *diag);
#define GCB_PLUGIN_SECONDS 60.0 /* the limit if the user gives none; loading has at least this */

/* Reads the spec of a result row, as gcb_method_read does. The spec may be that of a plug-in. The
 * plug-in is not started, so the method cannot encode unless gcb_plugin_method has made it. */
int gcb_plugin_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag);

#endif
