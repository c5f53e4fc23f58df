#include <inttypes.h>
#include <string.h>

#include "cli/base/session.h"
#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"

int session_read_shard(struct session *s, const struct gcb_method *methods, size_t count)
{
    const int err = gcb_shard_parse(&s->shard, s->o.shard.text, s->ctx->diag);
    char spec[512];

    for (size_t i = 0; !err && s->shard.count && i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (gcb_method_equal(&methods[i], &methods[k]))
                return gcb_diag_set(
                    s->ctx->diag, GCB_E_INVALID,
                    "--shard: the method %s is given twice: leave one out",
                    gcb_method_spec(spec, sizeof(spec), &methods[i], GCB_SPEC_FULL));
    return err;
}

static bool is_named(const char *option, const char *name, size_t length)
{
    return strncmp(option, name, length) == 0 && strcspn(option, "=") == length;
}

/* Adds an option to the list, which is sorted by name; options of the same name keep their order. */
static int add_option(json_t *list, const char *name, size_t length, const char *value)
{
    const size_t size = length + (value ? strlen(value) : 0) + sizeof("--=");
    char *text = gcb_alloc(size);
    size_t at = json_array_size(list);
    int err;

    if (!text)
        return -1;

    for (; at > 0; at--) {
        const char *before = json_string_value(json_array_get(list, at - 1)) + 2;

        if (is_named(before, name, length) || strncmp(before, name, length) < 0)
            break;
    }
    snprintf(text, size, "--%.*s%s%s", (int)length, name, value ? "=" : "", value ? value : "");
    err = json_array_insert_new(list, at, gcb_row_make_text(text));
    gcb_free(text);
    return err;
}

/* Do shards with different values of the option still belong to the same run? A shard that ends at --budget is refused. */
static bool may_differ(const struct opt_group *group, const struct opt_row *row)
{
    return row == &opt_shard_rows[0] || strcmp(group->title, "Output") == 0 ||
           strcmp(row->name, "budget") == 0;
}

/* Lists the options of the command line that all shards of a run have. */
static json_t *list_options(const struct cmd_context *ctx)
{
    json_t *list = json_array();
    int words = 1, failed = 0;

    for (int i = 2; list && i < ctx->argc && strcmp(ctx->argv[i], "--") != 0; i += words) {
        const char *word = ctx->argv[i];
        const struct opt_group *group;
        const struct opt_row *row;
        const char *name, *value;
        size_t length;

        words = 1;
        if (word[0] != '-' || !word[1])
            continue;
        row = opt_find(&group, &words, &ctx->cmd->spec, word);
        if (row && may_differ(group, row))
            continue;
        name = row ? row->name : word + 2;
        length = strcspn(name, "=");
        value = words == 2 ? ctx->argv[i + 1] : strchr(word, '=');
        failed |= add_option(list, name, length, value && words == 1 ? value + 1 : value);
    }
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

static void put_methods(struct gcb_row *row, const struct session_shard *shard)
{
    json_t *methods = json_array(), *failed = json_array();
    json_t *checks = shard->checks ? json_array() : json_null();
    char spec[512];

    for (size_t i = 0; i < shard->method_count; i++) {
        const struct gcb_run_total *total = shard->result ? &shard->result->totals[i] : NULL;
        const bool good = total && !total->failure.status;
        const size_t at = total ? total->failed_at : 0;

        gcb_method_spec(spec, sizeof(spec), &shard->methods[i], GCB_SPEC_FULL);
        if (json_array_append_new(methods, gcb_row_make_text(spec)) ||
            json_array_append_new(failed, good ? json_null() : json_integer((json_int_t)at)))
            row->failed = true;
        if (shard->checks &&
            json_array_append_new(checks, json_integer((json_int_t)shard->checks[i])))
            row->failed = true;
    }
    gcb_row_json(row, GCB_FIELD_METHODS, methods);
    gcb_row_json(row, GCB_FIELD_FAILED_AT, failed);
    gcb_row_json(row, GCB_FIELD_CHECKS, checks);
}

int session_put_shard(struct session *s, const struct session_shard *shard)
{
    const bool interrupted = shard->result && shard->result->interrupted;
    struct gcb_row row;
    char plan[17];

    if (s->shard.count == 0 || !out_wants_rows(&s->report))
        return 0;
    snprintf(plan, sizeof(plan), "%016" PRIx64, shard->layout->fingerprint);
    gcb_row_init(&row, GCB_RECORD_SHARD);
    gcb_row_text(&row, GCB_FIELD_FILE, shard->files);
    gcb_row_text(&row, GCB_FIELD_SCOPE, s->setting.scope);
    gcb_row_text(&row, GCB_FIELD_ORDER, s->setting.order);
    gcb_row_text(&row, GCB_FIELD_DEVICE, s->setting.device);
    gcb_row_u64(&row, GCB_FIELD_THREADS, (uint64_t)s->setting.threads);
    gcb_row_text(&row, GCB_FIELD_ISA, s->setting.isa);
    gcb_row_text(&row, GCB_FIELD_CACHE, s->setting.cache);
    gcb_row_text(&row, GCB_FIELD_SUITE, s->setting.suite);
    gcb_row_u64(&row, GCB_FIELD_SHARD_INDEX, s->shard.index);
    gcb_row_u64(&row, GCB_FIELD_SHARDS, s->shard.count);
    gcb_row_text(&row, GCB_FIELD_STATUS,
                 interrupted          ? "interrupted"
                 : shard->over_budget ? "budget"
                                      : "ok");
    gcb_row_u64(&row, GCB_FIELD_MESSAGES, shard->layout->count);
    gcb_row_u64(&row, GCB_FIELD_SKIPPED_MESSAGES,
                shard->result ? shard->result->skipped_messages : 0);
    gcb_row_u64(&row, GCB_FIELD_ALL_MESSAGES, shard->layout->all_count);
    gcb_row_text(&row, GCB_FIELD_PLAN, plan);
    put_methods(&row, shard);
    gcb_row_json(&row, GCB_FIELD_OPTIONS, list_options(s->ctx));
    return session_put(s, &row);
}
