#include <inttypes.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/options.h"
#include "src/base/alloc.h"
#include "src/base/host.h"
#include "src/base/text.h"
#include "src/codec/coder.h"
#include "src/data/container.h"
#include "src/data/dump.h"

struct decompress_options {
    struct opt_make make;
    struct opt_exec exec;
    uint64_t max_bytes;
    int verbose;
};

static const struct opt_row rows[] = {
    {"threads", 0, "N", "inside a message (default 1)", OPT_INT,
     offsetof(struct decompress_options, exec) + offsetof(struct opt_exec, threads), 1, 4096, NULL},
    {"isa", 0, "ISA", "auto (default), c, avx2, avx512 or neon", OPT_TEXT,
     offsetof(struct decompress_options, exec) + offsetof(struct opt_exec, isa), 0, 0, NULL},
    {"device", 0, "DEVICE", "cpu (default) or cuda[:N]", OPT_TEXT,
     offsetof(struct decompress_options, exec) + offsetof(struct opt_exec, device), 0, 0, NULL},
    {"max-bytes", 0, "SIZE", "refuse a message of more values than fit (default: half of memory)",
     OPT_SIZE, offsetof(struct decompress_options, max_bytes), 1, 0x1p63, NULL},
    {"verbose", 'v', NULL, "say what was restored", OPT_COUNT,
     offsetof(struct decompress_options, verbose), 0, 0, NULL},
    {.name = NULL},
};

/* What decoding needs from message to message. */
struct restorer {
    struct gcb_dump *dump;
    struct gcb_coder *decoder; /* the last one, kept for the next message if it takes it */
    struct opt_backend backend;
    uint64_t max_bytes;
    uint64_t messages, tensors;
    struct gcb_diag *diag;
};

/* Puts file and dataset in front of what is already said. */
static int blame(struct gcb_diag *diag, int err, const char *file, const char *dataset)
{
    char what[GCB_DIAG_TEXT], path[128], name[128];

    snprintf(what, sizeof(what), "%s", diag->text);
    return gcb_diag_set(diag, err, "%s: %s: %s", gcb_escape(path, sizeof(path), file),
                        gcb_escape(name, sizeof(name), dataset),
                        what[0] ? what : gcb_status_text(err));
}

/* Makes r->decoder one for this message. */
static int ready_decoder(struct restorer *r, const struct gcb_container_message *m,
                         const uint8_t *bytes)
{
    const struct gcb_coder_config config = {
        .env = {.kernels = &r->backend.kernels, .queue = &r->backend.queue},
        .max_elements = m->count ? m->count : 1,
    };
    struct gcb_rbuf payload;
    struct gcb_frame frame;
    int err = gcb_frame_parse(&frame, &payload, bytes, m->length, r->diag);

    if (err || (r->decoder && gcb_coder_accepts(r->decoder, &frame)))
        return err;
    gcb_coder_destroy(r->decoder);
    r->decoder = NULL;
    return gcb_coder_create_decoder(&r->decoder, bytes, m->length, &config, r->diag);
}

static int put_tensors(struct restorer *r, const struct gcb_container_message *m,
                       const float *values)
{
    int err = 0;

    for (size_t i = 0; !err && i < m->tensor_count; i++) {
        const struct gcb_container_tensor *t = &m->tensors[i];
        const struct gcb_dump_tensor out = {.dataset = t->dataset,
                                            .dtype = t->dtype,
                                            .rank = t->rank,
                                            .dims = t->dims,
                                            .index = t->index};

        if (t->offset > m->count || t->count > m->count - t->offset)
            return gcb_diag_set(r->diag, GCB_E_CORRUPT, "a tensor lies outside its message");
        err = gcb_dump_put(r->dump, &out, values + t->offset, r->diag);
        r->tensors += !err;
    }
    return err;
}

static int decode(struct restorer *r, const struct gcb_container_message *m, const uint8_t *bytes,
                  float *values)
{
    const int err = ready_decoder(r, m, bytes);

    return err ? err
               : gcb_coder_decode(r->decoder, bytes, m->length,
                                  &(struct gcb_mview){values, m->count}, r->diag);
}

static int restore_message(struct restorer *r, const char *file, struct gcb_container *c, size_t i)
{
    const struct gcb_container_message *m = gcb_container_message(c, i);
    uint8_t *bytes = NULL;
    float *values = NULL;
    int err;

    if (m->count > r->max_bytes / sizeof(float)) {
        gcb_diag_set(r->diag, GCB_E_NOMEM, "%" PRIu64 " elements pass --max-bytes (%" PRIu64 ")",
                     m->count, r->max_bytes);
        return blame(r->diag, GCB_E_NOMEM, file, m->dataset);
    }
    bytes = gcb_alloc(m->length);
    values = gcb_alloc_array(m->count, sizeof(*values));
    err = bytes && values ? gcb_container_read(c, i, bytes, r->diag)
                          : gcb_diag_nomem(r->diag, m->count * sizeof(*values), "a message");
    if (err)
        goto out;
    err = decode(r, m, bytes, values);
    if (err)
        err = blame(r->diag, err, file, m->dataset);
    else
        err = put_tensors(r, m, values);
    r->messages += !err;
out:
    gcb_free(bytes);
    gcb_free(values);
    return err;
}

static int restore_file(struct restorer *r, const char *file)
{
    struct gcb_container *c = NULL;
    int err = gcb_container_open(&c, file, r->max_bytes, r->diag);

    for (size_t i = 0; !err && i < gcb_container_count(c); i++)
        err = restore_message(r, file, c, i);
    gcb_container_close(c);
    return err;
}

static int check_call(const struct decompress_options *o, const struct opt_list *operands,
                      struct gcb_diag *diag)
{
    if (operands->count == 0)
        return gcb_diag_set(diag, GCB_E_INVALID, "no file of messages given");
    return opt_make_check(&o->make, diag);
}

static int decompress_run(const void *options, const struct opt_list *operands,
                          struct cmd_context *ctx)
{
    const struct decompress_options *o = options;
    struct restorer r = {.diag = ctx->diag};
    int err = check_call(o, operands, ctx->diag);

    if (!err)
        err = opt_exec_resolve(&r.backend, &o->exec, ctx->diag);
    if (err)
        return err;
    r.max_bytes = o->max_bytes ? o->max_bytes : gcb_host_memory() / 2;
    err = gcb_dump_create(&r.dump, o->make.output, o->make.force, operands->items, operands->count,
                          ctx->diag);
    for (size_t i = 0; !err && i < operands->count; i++)
        err = restore_file(&r, operands->items[i]);
    if (!err)
        err = gcb_dump_commit(r.dump, ctx->diag);
    if (!err && o->verbose)
        fprintf(ctx->err, "%" PRIu64 " messages, %" PRIu64 " tensors restored\n", r.messages,
                r.tensors);
    gcb_coder_destroy(r.decoder);
    gcb_dump_destroy(r.dump);
    return err;
}

static const struct opt_group groups[] = {
    {"Options", rows, 0},
    {"Output", opt_make_rows, offsetof(struct decompress_options, make)},
    {.rows = NULL},
};

const struct cmd cmd_decompress = {
    .name = "decompress",
    .summary = "restore the tensors from a file of messages",
    .usage = "decompress [options] FILE... -o OUT.h5",
    .examples = "  gcbench compress --method fft grads.h5 -o messages.h5\n"
                "  gcbench decompress messages.h5 -o restored.h5\n",
    .details = "Any changed byte of a message, or of what says which tensors it holds, is found.\n",
    .spec = {.groups = groups},
    .size = sizeof(struct decompress_options),
    .run = decompress_run,
};
