#include "src/tool/run/restore.h"

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/write/container.h"

/* Sets r->decoder to a decoder for this message, which may be the last decoder. Returns
 * GCB_E_BACKEND if the device cannot decode the message but the CPU can. */
static int ready_decoder(struct gcb_restore *r, const struct gcb_container_message *m,
                         const uint8_t *bytes, struct gcb_diag *diag)
{
    struct gcb_coder_config config = {
        .place = r->place.device ? &r->place : NULL,
        .env = {.kernels = r->kernels, .queue = r->queue},
        .max_elements = m->count ? m->count : 1,
    };
    int err = gcb_coder_renew_decoder(&r->decoder, bytes, m->length, &config, diag);

    if (err != GCB_E_UNSUPPORTED || !config.place)
        return err;
    config.place = NULL;
    if (gcb_coder_renew_decoder(&r->decoder, bytes, m->length, &config, NULL))
        return err;
    return GCB_E_BACKEND;
}

/* Adds a message's tensors, which follow each other in `values`, to the dump. */
static int put_tensors(struct gcb_restore *r, const struct gcb_container_message *m,
                       const float *values, struct gcb_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < m->tensor_count; i++) {
        err = gcb_dump_put(r->dump, &m->tensors[i], values, diag);
        values += m->tensors[i].count;
    }
    return err;
}

/* Decodes a message. The text of an error begins with the names of file and message. */
static int decode(struct gcb_restore *r, const struct gcb_container_message *m, const char *file,
                  const uint8_t *bytes, float *values, struct gcb_diag *diag)
{
    const struct gcb_mview out = {values, m->count};
    char path[128], name[128];
    struct gcb_diag cause = {0};
    int err = ready_decoder(r, m, bytes, &cause);

    if (!err)
        err = gcb_coder_decode(r->decoder, bytes, m->length, &out, &cause);
    if (!err)
        return 0;
    return gcb_diag_set(diag, err, "%s: %s: %s", gcb_escape(path, sizeof(path), file),
                        gcb_escape(name, sizeof(name), m->dataset), cause.text);
}

static int restore_message(struct gcb_restore *r, struct gcb_container *c, size_t i,
                           const char *file, struct gcb_diag *diag)
{
    const struct gcb_container_message *m = gcb_container_message(c, i);
    uint8_t *bytes = gcb_alloc(m->length);
    float *values = gcb_alloc_array(m->count, sizeof(*values));
    int err = bytes && values ? gcb_container_read(c, i, bytes, diag)
                              : gcb_diag_nomem(diag, m->count * sizeof(*values), "a message");

    if (!err)
        err = decode(r, m, file, bytes, values, diag);
    if (!err)
        err = put_tensors(r, m, values, diag);
    gcb_free(bytes);
    gcb_free(values);
    return err;
}

int gcb_restore_file(struct gcb_restore *r, const char *file, struct gcb_diag *diag)
{
    struct gcb_container *c = NULL;
    int err = gcb_container_open(&c, file, r->max_bytes, r->in_process, diag);

    for (size_t i = 0; !err && i < gcb_container_count(c); i++)
        err = restore_message(r, c, i, file, diag);
    gcb_container_close(c);
    return err;
}

void gcb_restore_fini(struct gcb_restore *r)
{
    gcb_place_fini(&r->place);
    gcb_coder_destroy(r->decoder);
    r->decoder = NULL;
}
