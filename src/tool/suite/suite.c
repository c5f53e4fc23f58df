#include "src/tool/suite/suite.h"

#include <errno.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/text.h"
#include "src/tool/suite/suite_fields.h"

const char *const gcb_cache_names[] = {"warm", "cold", NULL};

void gcb_suite_init(struct gcb_suite *s)
{
    memset(s, 0, sizeof(*s));
    s->scopes[s->scope_count++] = GCB_SCOPE_TENSOR;
    s->devices[s->device_count++] = "cpu";
    s->threads[s->thread_count++] = 1;
    s->caches[s->cache_count++] = GCB_CACHE_WARM;
    s->warmup = -1;
}

void gcb_suite_fini(struct gcb_suite *s)
{
    gcb_free(s->methods);
    json_decref(s->json);
    memset(s, 0, sizeof(*s));
}

static int check(const struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    if (!json_object_get(s->json, "schema") || !s->name)
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: schema and name are needed", file);
    if (s->repeat && (s->precision > 0.0 || s->time_budget > 0.0))
        return gcb_diag_set(diag, GCB_E_INVALID,
                            "suite %s: repeat fixes the work; precision and time_budget have no "
                            "meaning beside it",
                            file);
    return 0;
}

/* Takes s->json apart. */
static int take_all(struct gcb_suite *s, const char *file, struct gcb_diag *diag)
{
    const char *key;
    json_t *value;
    int err = 0;

    if (!json_is_object(s->json))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: is no JSON object", file);
    for (void *i = json_object_iter(s->json); !err && i; i = json_object_iter_next(s->json, i)) {
        key = json_object_iter_key(i);
        value = json_object_iter_value(i);
        err = gcb_suite_take(s, file, key, value, diag);
    }
    return err ? err : check(s, file, diag);
}

int gcb_suite_parse(struct gcb_suite *s, const char *text, size_t length, const char *name,
                    struct gcb_diag *diag)
{
    char file[128], words[128];
    json_error_t why;

    gcb_suite_init(s);
    gcb_escape(file, sizeof(file), name);
    s->json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (!s->json)
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s, line %d: %s", file, why.line,
                            gcb_escape(words, sizeof(words), why.text));
    return take_all(s, file, diag);
}

static int load_file(struct gcb_suite *s, const char *path, struct gcb_diag *diag)
{
    char text[65537], file[128];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    const bool failed = !f || ferror(f);
    const int why = errno;

    if (f)
        fclose(f);
    gcb_escape(file, sizeof(file), path);
    if (failed)
        return gcb_diag_set(diag, GCB_E_IO, "%s: cannot read: %s", file, strerror(why));
    if (n == sizeof(text))
        return gcb_diag_set(diag, GCB_E_INVALID, "suite %s: longer than 64 KiB", file);
    return gcb_suite_parse(s, text, n, path, diag);
}

static int no_suite(const char *name, struct gcb_diag *diag)
{
    const char *names[32], *near;
    char shown[64];
    size_t n = 0;

    while (n < 32 && gcb_suite_texts[n].name) {
        names[n] = gcb_suite_texts[n].name;
        n++;
    }
    near = gcb_suggest(name, names, n);
    gcb_escape(shown, sizeof(shown), name);
    if (near)
        return gcb_diag_set(diag, GCB_E_INVALID, "no suite '%s'; did you mean '%s'?", shown, near);
    return gcb_diag_set(diag, GCB_E_INVALID,
                        "no suite '%s'; default and quick are some, and FILE.json is a file",
                        shown);
}

int gcb_suite_load(struct gcb_suite *s, const char *name, struct gcb_diag *diag)
{
    const size_t n = strlen(name);

    gcb_suite_init(s);
    if (strchr(name, '/') || (n >= 5 && strcmp(name + n - 5, ".json") == 0))
        return load_file(s, name, diag);
    for (const struct gcb_suite_text *t = gcb_suite_texts; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return gcb_suite_parse(s, t->text, strlen(t->text), name, diag);
    return no_suite(name, diag);
}
