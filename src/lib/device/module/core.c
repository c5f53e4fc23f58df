/*
 * The core's functions as the module calls them: each calls the function of the same name in the core that opened the
 * module (src/lib/device/core.h).
 */
#include "src/lib/device/module/core.h"

#include <stdarg.h>
#include <stdio.h>

#include "src/lib/device/core.h"
#include "src/lib/device/module.h"

static const struct gcb_device_core *core;

bool gcb_module_take_core(const struct gcb_device_core *from)
{
    if (!from || from->version != GCB_DEVICE_MODULE_VERSION || from->size != sizeof(*from))
        return false;
    core = from;
    return true;
}

void *gcb_alloc_array(uint64_t count, size_t size)
{
    return core->alloc_array(count, size);
}

void *gcb_alloc_zero(uint64_t count, size_t size)
{
    return core->alloc_zero(count, size);
}

void gcb_free(void *p)
{
    core->free(p);
}

int gcb_diag_set(struct gcb_diag *diag, int status, const char *format, ...)
{
    char text[sizeof(diag->text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return core->diag_set(diag, status, "%s", text);
}

int gcb_diag_nomem(struct gcb_diag *diag, uint64_t bytes, const char *what)
{
    return core->diag_nomem(diag, bytes, what);
}

uint64_t gcb_packed_bytes(uint64_t count, unsigned width)
{
    return core->packed_bytes(count, width);
}

void gcb_qsgd_lay_out(struct gcb_qsgd_layout *out, struct gcb_qsgd_params *p, uint64_t count)
{
    core->qsgd_lay_out(out, p, count);
}

uint64_t gcb_qsgd_elias_bound(uint64_t count, uint32_t levels)
{
    return core->qsgd_elias_bound(count, levels);
}

struct gcb_rounding_draw gcb_rounding_draw(const struct gcb_codec_env *env,
                                           const struct gcb_step *at)
{
    return core->rounding_draw(env, at);
}

uint64_t gcb_kept_of(double density, uint64_t n)
{
    return core->kept_of(density, n);
}

struct gcb_sample_plan gcb_sample_plan(uint64_t positions, double share, uint64_t k, uint64_t step)
{
    return core->sample_plan(positions, share, k, step);
}

void gcb_sparse_bind(struct gcb_sparse *s, const struct gcb_codec_env *env)
{
    core->sparse_bind(s, env);
}

uint64_t gcb_sparse_max_payload(const void *state)
{
    return core->sparse_max_payload(state);
}

uint64_t gcb_hadamard_length(uint64_t count, uint64_t chunk)
{
    return core->hadamard_length(count, chunk);
}

uint64_t gcb_hadamard_key(const struct gcb_codec_env *env, uint64_t step)
{
    return core->hadamard_key(env, step);
}
