#include "src/tool/rows/environment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <xxhash.h>

#include "kernels/fft/fft.h"
#include "src/lib/lowrank/blas.h"
#include "src/tool/base/host.h"
#include "src/tool/gcb_build.h"

#define HASH_LIMIT (UINT64_C(1) << 30) /* hashing a larger file takes longer than most commands */

/* Writes the XXH3-64 hash of a file's bytes, as 16 hexadecimal digits. Returns false if the file is
 * not a regular file, cannot be read, or has more than `limit` bytes. */
static bool hash_file(char out[17], const char *path, uint64_t limit)
{
    XXH3_state_t *state = XXH3_createState();
    struct stat st;
    /* a pipe can be read only once, and opening it again may wait for ever */
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
    char data[16384];
    uint64_t total = 0;
    bool good = false;
    size_t n = 1;

    if (!state || !f || XXH3_64bits_reset(state) == XXH_ERROR)
        goto out;
    while (n && total <= limit) {
        n = fread(data, 1, sizeof(data), f);
        total += n;
        XXH3_64bits_update(state, data, n);
    }
    good = !ferror(f) && total <= limit;
    snprintf(out, 17, "%016llx", (unsigned long long)XXH3_64bits_digest(state));
out:
    if (f)
        fclose(f);
    XXH3_freeState(state);
    return good;
}

/* Writes a count, or null for a count of 0, which means "not known". */
static void put_if_set(struct gcb_row *row, enum gcb_field field, uint64_t value)
{
    gcb_row_known_u64(row, field, value > 0, value);
}

static void put_build(struct gcb_row *row)
{
    struct gcb_build b;

    gcb_environment_build(&b);
    gcb_row_text(row, GCB_FIELD_VERSION, gcb_version());
    gcb_row_text(row, GCB_FIELD_GIT_REVISION, b.revision[0] ? b.revision : NULL);
    gcb_row_json(row, GCB_FIELD_GIT_DIRTY, b.revision[0] ? json_boolean(b.dirty) : json_null());
    gcb_row_text(row, GCB_FIELD_BUILD_TYPE, b.type);
    gcb_row_text(row, GCB_FIELD_BUILD_ID, b.id[0] ? b.id : NULL);
    gcb_row_text(row, GCB_FIELD_COMPILER, b.compiler);
    gcb_row_text(row, GCB_FIELD_COMPILE_FLAGS, b.flags);
    gcb_row_text(row, GCB_FIELD_SANITIZE, b.sanitize);
}

static void put_host(struct gcb_row *row)
{
    struct gcb_host host;

    gcb_host_read(&host);
    gcb_row_text(row, GCB_FIELD_CPU_MODEL, host.cpu_model[0] ? host.cpu_model : NULL);
    gcb_row_known_u64(row, GCB_FIELD_CPUS, host.cpus > 0, (uint64_t)host.cpus);
    gcb_row_text(row, GCB_FIELD_GOVERNOR, host.governor[0] ? host.governor : NULL);
    gcb_row_real(row, GCB_FIELD_LOAD1, host.load1 >= 0.0 ? host.load1 : NAN);
    gcb_row_text(row, GCB_FIELD_KERNEL, host.kernel[0] ? host.kernel : NULL);
    put_if_set(row, GCB_FIELD_MEMORY_BYTES, host.memory_bytes);
}

static void put_libraries(struct gcb_row *row)
{
    const unsigned xxh = XXH_versionNumber(); /* 802 is version 0.8.2 */
    const char *fftw = gcb_fft_version();     /* NULL: built without FFTW */
    json_t *libraries =
        json_pack("{ss ss so}", "hdf5", GCB_BUILD_HDF5, "jansson", jansson_version_str(), "xxhash",
                  json_sprintf("%u.%u.%u", xxh / 10000, xxh / 100 % 100, xxh % 100));

    if (fftw)
        gcb_json_set(libraries, "fftw", json_sprintf("%.*s", (int)strcspn(fftw, " "), fftw));
    gcb_row_json(row, GCB_FIELD_LIBRARIES, libraries);
}

/* Writes the figures of a bandwidth, or nulls if `b` is NULL. */
static void put_gbps(struct gcb_row *row, const struct gcb_bandwidth *b)
{
    gcb_row_real(row, GCB_FIELD_READ_GBPS, b ? b->read_gbps : NAN);
    gcb_row_real(row, GCB_FIELD_FILL_GBPS, b ? b->fill_gbps : NAN);
    gcb_row_real(row, GCB_FIELD_COPY_GBPS, b ? b->copy_gbps : NAN);
    gcb_row_known_u64(row, GCB_FIELD_BANDWIDTH_BYTES, b, b ? b->bytes : 0);
}

/* Writes the bandwidth with the number of threads of the run as fields of the row, and the
 * bandwidths with all numbers of threads as a list. */
static void put_bandwidth(struct gcb_row *row, const struct gcb_environment *env)
{
    json_t *list = env->bandwidth_count ? json_array() : json_null();

    put_gbps(row, env->bandwidth_count ? &env->bandwidth[0] : NULL);
    for (size_t i = 0; i < env->bandwidth_count; i++) {
        struct gcb_row item = {.json = json_object()};

        gcb_row_u64(&item, GCB_FIELD_THREADS, (uint64_t)env->bandwidth[i].threads);
        put_gbps(&item, &env->bandwidth[i]);
        gcb_json_append(list, item.json);
    }
    gcb_row_json(row, GCB_FIELD_BANDWIDTHS, list);
}

static void put_inputs(struct gcb_row *row, const struct gcb_environment *env)
{
    json_t *list = json_array();
    char hash[17];

    for (size_t i = 0; i < env->input_count; i++) {
        const bool known =
            hash_file(hash, env->inputs[i], env->hash_large ? UINT64_MAX : HASH_LIMIT);
        struct gcb_row file = {.json = json_object()};

        gcb_row_text(&file, GCB_FIELD_FILE, env->inputs[i]);
        gcb_row_text(&file, GCB_FIELD_XXH3, known ? hash : NULL);
        gcb_json_append(list, file.json);
    }
    gcb_row_json(row, GCB_FIELD_INPUT_XXH3, list);
}

static void put_date(struct gcb_row *row)
{
    const time_t now = time(NULL);
    char text[32];
    struct tm utc;
    const bool known =
        gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);

    gcb_row_text(row, GCB_FIELD_DATE, known ? text : NULL);
}

void gcb_environment_row(struct gcb_row *row, const struct gcb_environment *env)
{
    struct gcb_blas_facts blas;

    (void)gcb_blas_facts(&blas);
    gcb_row_init(row, GCB_RECORD_ENVIRONMENT);
    put_build(row);
    put_host(row);
    gcb_row_text(row, GCB_FIELD_ISA, env->isa);
    gcb_row_known_u64(row, GCB_FIELD_THREADS, env->threads > 0, (uint64_t)env->threads);
    gcb_row_text(row, GCB_FIELD_DEVICE, env->device);
    put_libraries(row);
    gcb_row_text(row, GCB_FIELD_OPENBLAS, blas.version[0] ? blas.version : NULL);
    gcb_row_text(row, GCB_FIELD_OPENBLAS_KERNEL, blas.kernel[0] ? blas.kernel : NULL);
    gcb_row_text(row, GCB_FIELD_GPU, env->gpu);
    gcb_row_text(row, GCB_FIELD_GPU_DRIVER, env->gpu_driver);
    put_if_set(row, GCB_FIELD_GPU_CLOCK_MHZ, env->gpu_clock_mhz);
    put_if_set(row, GCB_FIELD_GPU_CLOCK_MAX_MHZ, env->gpu_clock_max_mhz);
    gcb_row_real(row, GCB_FIELD_GPU_COPY_GBPS, env->gpu_copy_bytes ? env->gpu_copy_gbps : NAN);
    put_if_set(row, GCB_FIELD_GPU_COPY_BYTES, env->gpu_copy_bytes);
    put_bandwidth(row, env);
    put_date(row);
    gcb_row_texts(row, GCB_FIELD_COMMAND, env->argv, env->argc);
    put_inputs(row, env);
    gcb_row_text(row, GCB_FIELD_WHAT, env->what);
}
