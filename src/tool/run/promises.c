#include "src/tool/run/promises.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"

/* ---- messages by new coders ---- */

static int coders_encode(void *ctx, const struct gcb_promise_job *job, struct gcb_wbuf *out,
                         struct gcb_diag *diag)
{
    const struct gcb_view in = {job->x, job->config.env.count};
    const size_t start = out->len;
    struct gcb_coder *c = NULL;
    int err = gcb_coder_create(&c, job->method, &job->config, diag);

    for (unsigned i = 0; !err && i < job->repeats; i++) {
        out->len = start;
        err = gcb_coder_encode(c, &job->at, &in, out, diag);
    }
    gcb_coder_destroy(c);
    return err;
}

static int coders_decode(void *ctx, const struct gcb_promise_job *job, const void *message,
                         size_t length, const struct gcb_mview *out,
                         struct gcb_message_parts *parts, struct gcb_diag *diag)
{
    struct gcb_coder *c = NULL;
    int err = gcb_coder_create_decoder(&c, message, length, &job->config, diag);

    if (!err)
        err = gcb_coder_decode(c, message, length, out, diag);
    if (!err && parts)
        err = gcb_coder_describe(c, message, length, parts, diag);
    gcb_coder_destroy(c);
    return err;
}

const struct gcb_promise_backend gcb_promise_coders = {.encode = coders_encode,
                                                       .decode = coders_decode};

/* ---- a case, and sending its messages ---- */

/* Sets *max to the largest number of bytes of a message that the job's coder on the CPU
 * promises. */
static int find_max_message(const struct gcb_promise_job *job, uint64_t *max, struct gcb_diag *diag)
{
    struct gcb_coder_config config = job->config;
    struct gcb_coder *coder = NULL;
    int err;

    config.place = NULL; /* if the device lacks the method, encoding fails later */
    err = gcb_coder_create(&coder, job->method, &config, diag);
    if (!err)
        *max = gcb_coder_bound(coder);
    gcb_coder_destroy(coder);
    return err;
}

/* Bytes of a buffer after the longest promised message. A message that is longer by at most this
 * number fits too, so that a check can find the broken promise. */
#define SPARE 4096

/* Gives a buffer room for `max` and SPARE bytes. Its contents may be lost. */
static int take_room(struct gcb_wbuf *message, uint64_t max, struct gcb_diag *diag)
{
    const uint64_t bytes = max + SPARE;

    if (message->cap >= bytes)
        return 0;
    gcb_free(message->data);
    *message = (struct gcb_wbuf){.data = gcb_alloc(bytes)};
    if (!message->data)
        return gcb_diag_nomem(diag, bytes, "a check");
    message->cap = bytes;
    return 0;
}

int gcb_promise_case_init(struct gcb_promise_case *c, const struct gcb_method *method,
                          const struct gcb_coder_config *config, const struct gcb_step *at,
                          const float *x, const struct gcb_promise_backend *backend,
                          struct gcb_diag *diag)
{
    const uint64_t n = config->env.count;
    /* floats of y or z, so that both begin on a cache line */
    const uint64_t room = (n + 2 * GCB_PROMISE_GUARD + 15) / 16 * 16;
    int err;

    memset(c, 0, sizeof(*c));
    c->job = (struct gcb_promise_job){method, *config, *at, x, 1};
    c->backend = backend ? backend : &gcb_promise_coders;
    c->energy = gcb_promise_energy(x, n);
    err = find_max_message(&c->job, &c->max_message, diag);
    if (!err)
        err = take_room(&c->message, c->max_message, diag);
    if (!err)
        err = take_room(&c->other, c->max_message, diag);
    if (err)
        return err;
    c->floats = gcb_alloc_array(2 * room, sizeof(float));
    if (!c->floats)
        return gcb_diag_nomem(diag, 2 * room * sizeof(float), "a check");
    c->y = c->floats + GCB_PROMISE_GUARD;
    c->z = c->y + room;
    return 0;
}

void gcb_promise_case_fini(struct gcb_promise_case *c)
{
    gcb_free(c->message.data);
    gcb_free(c->other.data);
    gcb_free(c->floats);
    memset(c, 0, sizeof(*c));
}

/* A NaN that no arithmetic makes. It fills a decoder's output and the guards before decoding. */
#define UNWRITTEN UINT32_C(0x7fc5a5a5)

static void fill_unwritten(float *y, uint64_t n)
{
    const uint32_t bits = UNWRITTEN;

    for (float *p = y - GCB_PROMISE_GUARD; p < y + n + GCB_PROMISE_GUARD; p++)
        memcpy(p, &bits, sizeof(bits));
}

static bool is_unwritten(const float *p)
{
    uint32_t bits;

    memcpy(&bits, p, sizeof(bits));
    return bits == UNWRITTEN;
}

/* Checks that decoding wrote all n elements of y, each finite, and none of the guards. Otherwise
 * returns false, and the promise is broken. */
static bool check_written(struct gcb_promise_case *c, const float *y, uint64_t n)
{
    for (unsigned i = 1; i <= GCB_PROMISE_GUARD; i++) {
        if (!is_unwritten(y - i) || !is_unwritten(y + n + i - 1)) {
            gcb_promise_broken(c, NAN, NAN, "decoding wrote outside the tensor");
            return false;
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) {
            gcb_promise_broken(c, (double)i, NAN, "element %llu %s", (unsigned long long)i,
                               is_unwritten(&y[i]) ? "was not written by decoding"
                                                   : "was decoded as an infinity or NaN");
            return false;
        }
    }
    return true;
}

void gcb_promise_note_failure(struct gcb_promise_case *c, int err, const struct gcb_diag *why)
{
    const bool lacks_method = err == GCB_E_UNSUPPORTED && c->job.config.place;

    if (err == GCB_E_NOMEM || err == GCB_E_BACKEND || err == GCB_E_DEVICE || lacks_method) {
        c->failure = *why;
        c->failure.status = err;
    }
}

bool gcb_promise_fail(struct gcb_promise_case *c, int err, const char *words,
                      const struct gcb_diag *why)
{
    gcb_promise_broken(c, NAN, NAN, "%s: %.150s", words, why->text);
    gcb_promise_note_failure(c, err, why);
    return false;
}

/* Encodes the job into `message`, decodes the message into y, and checks y. Sets c->parts and
 * c->stored. Fails like gcb_promise_send. */
static bool send_to(struct gcb_promise_case *c, const struct gcb_promise_job *job,
                    struct gcb_wbuf *message, float *y)
{
    const struct gcb_mview view = {y, job->config.env.count};
    struct gcb_diag diag = {.status = 0};
    struct gcb_frame frame;
    struct gcb_rbuf payload;
    int err;

    message->len = 0;
    message->failed = false;
    err = c->backend->encode(c->backend->ctx, job, message, &diag);
    if (err)
        return gcb_promise_fail(c, err, "encoding fails", &diag);
    fill_unwritten(y, job->config.env.count);
    err = c->backend->decode(c->backend->ctx, job, message->data, message->len, &view, &c->parts,
                             &diag);
    if (err)
        return gcb_promise_fail(c, err, "decoding fails", &diag);
    c->stored = !gcb_frame_parse(&frame, &payload, message->data, message->len, NULL) &&
                frame.flags & GCB_WIRE_STORED;
    return check_written(c, y, job->config.env.count);
}

bool gcb_promise_send(struct gcb_promise_case *c)
{
    return send_to(c, &c->job, &c->message, c->y);
}

bool gcb_promise_send_other(struct gcb_promise_case *c, const struct gcb_promise_job *job)
{
    const bool same_size =
        job->method == c->job.method && job->config.env.count == c->job.config.env.count;
    struct gcb_diag diag = {.status = 0};
    uint64_t max = c->max_message;
    int err = same_size ? 0 : find_max_message(job, &max, &diag);

    if (!err)
        err = take_room(&c->other, max, &diag);
    if (err)
        return gcb_promise_fail(c, err, "preparing fails", &diag);
    return send_to(c, job, &c->other, c->z);
}

bool gcb_promise_send_here(struct gcb_promise_case *c)
{
    const struct gcb_promise_backend *own = c->backend;
    struct gcb_promise_job job = c->job;
    bool sent;

    job.config.place = NULL;
    c->backend = &gcb_promise_coders;
    sent = send_to(c, &job, &c->other, c->z);
    c->backend = own;
    return sent;
}

/* ---- outcomes ---- */

enum gcb_promise_status gcb_promise_kept(struct gcb_promise_case *c, double value, double limit)
{
    c->outcome = (struct gcb_promise_outcome){GCB_PROMISE_KEPT, value, limit, ""};
    return GCB_PROMISE_KEPT;
}

enum gcb_promise_status gcb_promise_broken(struct gcb_promise_case *c, double value, double limit,
                                           const char *format, ...)
{
    va_list args;

    c->outcome = (struct gcb_promise_outcome){GCB_PROMISE_BROKEN, value, limit, ""};
    va_start(args, format);
    vsnprintf(c->outcome.words, sizeof(c->outcome.words), format, args);
    va_end(args);
    return GCB_PROMISE_BROKEN;
}

enum gcb_promise_status gcb_promise_idle(struct gcb_promise_case *c, const char *why)
{
    c->outcome = (struct gcb_promise_outcome){GCB_PROMISE_IDLE, NAN, NAN, ""};
    snprintf(c->outcome.words, sizeof(c->outcome.words), "%s", why);
    return GCB_PROMISE_IDLE;
}

enum gcb_promise_status gcb_promise_at_most(struct gcb_promise_case *c, double value, double limit,
                                            const char *words)
{
    if (value <= limit)
        return gcb_promise_kept(c, value, limit);
    return gcb_promise_broken(c, value, limit, "%s: %.6g, at most %.6g", words, value, limit);
}

bool gcb_promise_is_trivial(struct gcb_promise_case *c)
{
    if (c->stored)
        gcb_promise_idle(c, "the message was sent raw");
    else if (c->energy == 0.0)
        gcb_promise_idle(c, "all elements are zero");
    return c->stored || c->energy == 0.0;
}

/* ---- parameters of a method, and sums over tensors ---- */

const char *gcb_promise_choice(const struct gcb_method *m, const char *key)
{
    const struct gcb_param *p;
    double value;

    if (!gcb_method_value(m, key, &value))
        return "";
    for (size_t row = 0; (p = gcb_method_param(m, row)); row++)
        if (strcmp(p->name, key) == 0)
            return p->type == GCB_PARAM_CHOICE ? p->choices[(int)value] : "";
    return "";
}

bool gcb_promise_transforms(const struct gcb_method *m)
{
    const char *transform = gcb_promise_choice(m, "transform");

    return transform[0] && strcmp(transform, "none") != 0;
}

/* Returns how many elements one transform of the method takes, in a tensor of n elements: 1 without
 * a transform. For transforms of tiles, which take fewer, returns n. */
static double transform_length(const struct gcb_method *m, uint64_t n)
{
    double chunk = 0.0;

    if (!gcb_promise_transforms(m))
        return 1.0;
    gcb_method_value(m, "chunk", &chunk);
    if (chunk > 0.0 && chunk <= (double)n)
        return chunk;
    return (double)(strcmp(gcb_promise_choice(m, "pad"), "smooth") == 0 ? gcb_fft_smooth(n) : n);
}

double gcb_promise_rounding(const struct gcb_promise_case *c, const struct gcb_method *m)
{
    const uint64_t n = c->job.config.env.count;

    return 2.0 * GCB_PROMISE_STEP * sqrt((double)n * transform_length(m, n) / c->energy);
}

uint64_t gcb_promise_differing(const float *x, const float *y, uint64_t n)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < n; i++)
        count += memcmp(&x[i], &y[i], sizeof(*x)) != 0;
    return count;
}

double gcb_promise_distance(const float *x, const float *y, uint64_t n)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)y[i];

        sum += d * d;
    }
    return sum;
}

double gcb_promise_energy(const float *y, uint64_t n)
{
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        sum += (double)y[i] * (double)y[i];
    return sum;
}

/* ---- the tables of promises ---- */

bool gcb_promise_binds(const struct gcb_promise *p, const struct gcb_method *m)
{
    const struct gcb_error_rule *rule = gcb_error_rule_of(m);

    return p->binds ? p->binds(m) : rule && &rule->promise == p;
}

const struct gcb_promise *gcb_promise_at(size_t i, bool on_device)
{
    const enum gcb_promise_place other = on_device ? GCB_PROMISE_ON_CPU : GCB_PROMISE_ON_DEVICE;
    const struct gcb_promise *const tables[] = {gcb_promises_message, gcb_promises_error,
                                                gcb_promises_sparse, gcb_promises_random};
    const struct gcb_error_rule *rule;

    for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++)
        for (const struct gcb_promise *p = tables[k]; p->name; p++)
            if (p->place != other && i-- == 0)
                return p;
    rule = gcb_error_rule_at(i);
    return rule ? &rule->promise : NULL;
}
