#include "src/tool/run/plan.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/lib/base/text.h"

static enum gcb_role role_of(const struct gcb_output_layers *layers, const char *path)
{
    for (size_t i = 0; i < layers->count; i++)
        if (gcb_glob(layers->globs[i], path))
            return GCB_ROLE_OUTPUT;
    return GCB_ROLE_HIDDEN;
}

void gcb_plan_env(struct gcb_codec_env *env, char buffer[40], const struct gcb_source *source,
                  const struct gcb_message_plan *plan, const struct gcb_output_layers *layers)
{
    const struct gcb_tensor *first = gcb_source_tensor(source, plan->pieces[0].tensor);
    const bool alone = plan->piece_count == 1;

    env->count = plan->count;
    env->shape = alone && !plan->data ? first->dims : NULL;
    env->rank = env->shape ? first->rank : 0;
    env->role = alone ? role_of(layers, first->path) : GCB_ROLE_HIDDEN;
    env->path = gcb_plan_name(buffer, plan, source);
}

const char *gcb_plan_name(char buffer[40], const struct gcb_message_plan *plan,
                          const struct gcb_source *source)
{
    if (!plan->name[0])
        return gcb_source_tensor(source, plan->pieces[0].tensor)->path;
    snprintf(buffer, 40, "messages/%s", plan->name);
    return buffer;
}

int gcb_plan_explain(int err, const char *method, const struct gcb_message_plan *plan,
                     const struct gcb_source *source, struct gcb_diag *diag)
{
    const struct gcb_diag cause = diag ? *diag : (struct gcb_diag){0};
    char name[40], shown[96];

    return gcb_diag_set(diag, err, "%s, step %" PRIu64 " worker %" PRIu32 " %s: %.240s", method,
                        plan->step, plan->worker,
                        gcb_escape(shown, sizeof(shown), gcb_plan_name(name, plan, source)),
                        cause.text);
}
