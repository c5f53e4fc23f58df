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
 * command. Two processes answer: one encodes, one decodes. The process behind &N does both. If a
 * request fails, the coder returns GCB_E_IO, or GCB_E_CORRUPT if the decoder refused the message.
 * If a process has crashed or gave no valid answer in time, the next request starts it again. The
 * process behind &N cannot be started again.
 */

/* True if `spec` begins with "plugin:" or "exec:", as the spec of a plug-in on the command line
 * does. In a result row, it begins with "plugin/" or "exec/". */
bool gcb_plugin_is(const char *spec);

/* Sets *out to the method of a spec for which gcb_plugin_is is true. The first call for a method
 * makes the method, which stays until this process ends, and loads a shared object, to check that
 * it can be used. `seconds` is the time limit of a request; later calls for the same method ignore
 * it. Returns GCB_E_INVALID if the spec is wrong, the object cannot be used, or another plug-in has
 * the same name and parameters; GCB_E_UNSUPPORTED if there are too many methods; or GCB_E_NOMEM.
 * Only for specs of the user's command line, because the call runs the user's code. Not
 * thread-safe. */
int gcb_plugin_method(struct gcb_method *out, const char *spec, double seconds,
                      struct gcb_diag *diag);
/* `seconds` if the user gives no limit. The first loading of an object has at least this time. */
#define GCB_PLUGIN_SECONDS 60.0

/* Reads the spec of a result row, as gcb_method_read does. The spec may be that of a plug-in. The
 * plug-in is not started, so the method can neither encode nor decode unless gcb_plugin_method has
 * made it. */
int gcb_plugin_read(struct gcb_method *out, const char *spec, struct gcb_diag *diag);

#endif
