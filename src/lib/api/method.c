#include "src/gcbench.h"

#include "src/lib/base/diag.h"
#include "src/lib/base/sized.h"
#include "src/lib/codec/foreign.h"
#include "src/lib/codec/method.h"

int gcb_method_info(struct gcb_method_info *info, size_t index, struct gcb_diag *diag)
{
    struct gcb_method_info known = {0};
    struct gcb_method method;
    int err = gcb_struct_check(info, "gcb_method_info", diag);

    if (err)
        return err;
    if (!gcb_method_at(&method, index))
        return gcb_diag_set(diag, GCB_E_UNSUPPORTED, "there is no method %zu", index);
    known.size = info->size;
    known.name = method.name;
    known.summary = gcb_method_summary(&method);
    known.source = gcb_method_source(&method);
    known.promise = gcb_method_guarantee(&method);
    gcb_method_spec(known.spec, sizeof(known.spec), &method, GCB_SPEC_FULL);
    gcb_struct_fill(info, info->size, &known, sizeof(known));
    return 0;
}

int gcb_method_add(const struct gcb_own_method *method, struct gcb_diag *diag)
{
    struct gcb_foreign foreign = {.check = NULL};
    const struct gcb_codec *codec;
    const int err =
        gcb_struct_copy(&foreign.own, sizeof(foreign.own), method, "gcb_own_method", diag);

    if (err)
        return err;
    if (!foreign.own.name || !foreign.own.bound || !foreign.own.encode || !foreign.own.decode)
        return gcb_diag_set(diag, GCB_E_INVALID, "a method needs a name and its three functions");
    return gcb_foreign_add(&codec, &foreign, diag);
}
