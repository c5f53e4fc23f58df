/*
 * Hostile HDF5 files: mutates small files of all layouts and reads them as a command would, in this
 * process, which has a child for each open file.
 *
 *   mutate_hdf5 [--count N | --seconds N] [--seed N] [--keep DIR] [--files FILE...]
 *
 * 2,000 files unless told. A file that is kept is one that crashed HDF5 in the child. --files reads
 * these files instead, unchanged. Fails if this process crashes or takes too long, if a descriptor,
 * a process or memory is not given back, or if a message is not one line. Memory is filled with a
 * pattern on allocation and release.
 */
#include <dirent.h>
#include <errno.h>
#include <hdf5.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/tool/write/container.h"
#include "tests/support/containers.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

enum { SEEDS = 12, MOST = 1 << 16 };

struct seed {
    uint8_t bytes[MOST];
    size_t size;
};

static struct seed seeds[SEEDS];

/* ---- seeds ---- */

/* What a dump looks like inside. */
struct shape {
    bool latest; /* new-style groups, attributes and chunk indexes */
    bool vlen;   /* attributes are strings of variable length */
    bool big_endian;
    int layout; /* H5D_COMPACT, H5D_CONTIGUOUS or H5D_CHUNKED */
    bool deflate, shuffle, fletcher;
    bool links;       /* names for the same objects, and floats in integers */
    unsigned tensors; /* many make HDF5 store links in a heap and a tree */
    unsigned attributes;
    unsigned user_block;
};

static const struct shape shapes[] = {
    {.layout = H5D_CONTIGUOUS, .tensors = 3, .attributes = 2},
    {.layout = H5D_CONTIGUOUS, .tensors = 3, .attributes = 2, .vlen = true},
    {.layout = H5D_COMPACT, .tensors = 3, .attributes = 1, .user_block = 512},
    {.layout = H5D_CHUNKED, .tensors = 2, .attributes = 1},
    {.layout = H5D_CHUNKED, .tensors = 2, .attributes = 1, .deflate = true, .shuffle = true},
    {.layout = H5D_CHUNKED, .tensors = 2, .attributes = 1, .fletcher = true, .big_endian = true},
    {.layout = H5D_CONTIGUOUS, .tensors = 3, .attributes = 3, .latest = true, .links = true},
    {.layout = H5D_CHUNKED, .tensors = 2, .attributes = 2, .latest = true, .deflate = true},
    {.layout = H5D_CONTIGUOUS, .tensors = 20, .attributes = 12, .latest = true, .vlen = true},
    {.layout = H5D_CONTIGUOUS, .tensors = 40, .attributes = 1, .links = true},
};

static void put_text(hid_t at, const char *name, const char *text, bool vlen)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    hid_t a;

    assert_true(H5Tset_size(type, vlen ? H5T_VARIABLE : strlen(text)) >= 0);
    a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(a > 0 && H5Awrite(a, type, vlen ? (const void *)&text : text) >= 0);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_number(hid_t at, const char *name, int64_t value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t a = H5Acreate2(at, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);

    assert_true(a > 0 && H5Awrite(a, H5T_NATIVE_INT64, &value) >= 0);
    H5Aclose(a);
    H5Sclose(space);
}

static void put_tensor(hid_t group, const struct shape *s, unsigned number)
{
    const hid_t types[] = {s->big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE, H5T_IEEE_F64LE};
    const hsize_t dims[] = {6, 8}, chunk[] = {4, 8};
    const hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    float x[48];
    char name[32];
    hid_t set;

    for (int i = 0; i < 48; i++)
        x[i] = (float)(i % 7) * 0.25f;
    snprintf(name, sizeof(name), "layer%u.weight", number);
    assert_true(H5Pset_layout(list, (H5D_layout_t)s->layout) >= 0);
    if (s->layout == H5D_CHUNKED)
        assert_true(H5Pset_chunk(list, 2, chunk) >= 0);
    if (s->shuffle)
        assert_true(H5Pset_shuffle(list) >= 0);
    if (s->deflate)
        assert_true(H5Pset_deflate(list, 6) >= 0);
    if (s->fletcher)
        assert_true(H5Pset_fletcher32(list) >= 0);
    set = H5Dcreate2(group, name, types[number % 2], space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(set > 0 && H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    put_number(set, "index", number);
    if (number == 0)
        put_text(set, "source_dtype", "bfloat16", s->vlen);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}

static void put_links(hid_t file, hid_t worker)
{
    const hsize_t dims = 48;
    const hid_t space = H5Screate_simple(1, &dims, NULL);
    const hid_t set =
        H5Dcreate2(worker, "words", H5T_STD_U16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const uint16_t x[48] = {0x3f80, 0x4000};

    assert_true(set > 0 && H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    put_text(set, "source_dtype", "bfloat16", false);
    H5Dclose(set);
    H5Sclose(space);
    assert_true(H5Lcreate_soft("layer0.weight", worker, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_soft("/nowhere", worker, "gone", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_hard(file, "step_000001", worker, "up", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    assert_true(H5Lcreate_hard(file, "step_000001", file, "step_2", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void make_dump(const char *path, const struct shape *s)
{
    const hid_t created = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file, step, worker;
    char name[32];

    assert_true(H5Pset_userblock(created, s->user_block) >= 0);
    if (s->latest)
        assert_true(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
    file = H5Fcreate(path, H5F_ACC_TRUNC, created, access);
    step = H5Gcreate2(file, "step_000001", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    worker = H5Gcreate2(step, "worker_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(worker > 0);
    for (unsigned i = 0; i < s->attributes; i++) {
        snprintf(name, sizeof(name), "note%u", i);
        put_text(file, name, "resnet20 on CIFAR-10", s->vlen);
        snprintf(name, sizeof(name), "value%u", i);
        put_number(step, name, i);
    }
    for (unsigned i = 0; i < s->tensors; i++)
        put_tensor(worker, s, i);
    if (s->links)
        put_links(file, worker);
    H5Gclose(worker);
    H5Gclose(step);
    H5Fclose(file);
    H5Pclose(created);
    H5Pclose(access);
}

static void load(struct seed *seed, const char *path)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    seed->size = fread(seed->bytes, 1, MOST, file);
    assert_true(seed->size > 0 && seed->size < MOST);
    fclose(file);
}

static void make_seeds(void)
{
    const size_t dumps = sizeof(shapes) / sizeof(shapes[0]);

    for (size_t i = 0; i < dumps; i++) {
        make_dump(containers.dump[0], &shapes[i]);
        load(&seeds[i], containers.dump[0]);
    }
    for (int scope = GCB_SCOPE_TENSOR; scope <= GCB_SCOPE_BUCKET; scope++) {
        containers_make((enum gcb_scope)scope);
        load(&seeds[dumps + (size_t)scope], containers.path);
        unlink(containers.path);
    }
}

/* ---- mutating ---- */

static uint64_t state;

/* A number below n: splitmix64. */
static uint64_t below(uint64_t n)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

/* Changes one place. Half of the changes are single bits, as on a bad disk; the others are numbers
 * that break parsers. */
static void mutate(struct seed *s)
{
    static const uint64_t numbers[] = {0,     1,       2,          255,       256,
                                       65535, 1 << 20, UINT32_MAX, INT64_MAX, UINT64_MAX};
    const size_t at = below(s->size), width = (size_t)1 << below(4);
    const uint64_t value = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
    size_t n;

    switch (below(12)) {
    case 0: /* a number, little-endian */
    case 1:
        for (size_t i = 0; i < width && at + i < s->size; i++)
            s->bytes[at + i] = (uint8_t)(value >> 8 * i);
        break;
    case 2: /* an address in the file, where a number may be */
        for (size_t i = 0; i < 8 && (at & ~(size_t)7) + i < s->size; i++)
            s->bytes[(at & ~(size_t)7) + i] = (uint8_t)(below(s->size) >> 8 * i);
        break;
    case 3: /* one part over another */
        n = below(64) + 1;
        for (size_t i = 0, from = below(s->size); i < n && at + i < s->size && from + i < s->size;
             i++)
            s->bytes[at + i] = s->bytes[from + i];
        break;
    case 4: /* cut, rarely much */
        if (below(4) == 0)
            s->size = at + 1;
        break;
    case 5:
        s->bytes[at] = (uint8_t)below(256);
        break;
    default:
        s->bytes[at] ^= (uint8_t)(1 << below(8));
    }
}

/* ---- reading ---- */

struct tally {
    unsigned read, refused, crashed, stuck, leaks, slow, bad;
};

static int read_dump(const char *path, struct gcb_diag *diag)
{
    const struct gcb_source_config config = {.files = &path,
                                             .file_count = 1,
                                             .limits.max_bytes = 1 << 20,
                                             .limits.seconds = 2 * patience()};
    struct gcb_source *source = NULL;
    float *x = malloc(1 << 20);
    int err = gcb_source_open(&source, &config, diag);

    for (size_t i = 0; !err && i < gcb_source_count(source); i++)
        err = gcb_source_read(source, i, x, diag);
    gcb_source_close(source);
    free(x);
    return err;
}

static int read_messages(const char *path, struct gcb_diag *diag)
{
    struct gcb_container *c = NULL;
    int err = gcb_container_open(&c, path, 1 << 20, false, diag);

    for (size_t i = 0; !err && i < gcb_container_count(c); i++) {
        uint8_t *bytes = malloc(gcb_container_message(c, i)->length + 1);

        err = bytes ? gcb_container_read(c, i, bytes, diag) : GCB_E_NOMEM;
        free(bytes);
    }
    gcb_container_close(c);
    return err;
}

/* What this process holds: its descriptors and its memory. */
static size_t count_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static void read_one(const char *path, bool messages, struct tally *t)
{
    const size_t open = count_open(), held = mallinfo2().uordblks;
    struct gcb_diag diag = {0};
    struct timespec begin, end;
    int err;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    err = messages ? read_messages(path, &diag) : read_dump(path, &diag);
    clock_gettime(CLOCK_MONOTONIC, &end);
    t->slow += end.tv_sec - begin.tv_sec > hang_seconds();
    if (!err)
        t->read++;
    else if (strstr(diag.text, "the HDF5 library crashed"))
        t->crashed++;
    else if (strstr(diag.text, "of processor time"))
        t->stuck++;
    else
        t->refused++;
    t->bad += err == GCB_E_INVALID; /* a wrong option, which damage in a file is not */
    t->bad += err && (!diag.text[0] || strchr(diag.text, '\n') || diag.status != err);
    t->leaks += count_open() != open || mallinfo2().uordblks > held ||
                (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD);
}

static void write_file(const char *path, const struct seed *s)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_true(fwrite(s->bytes, 1, s->size, file) == s->size);
    fclose(file);
}

static void campaign(unsigned count, time_t until, const char *keep, struct tally *t)
{
    static struct seed mutant;

    for (unsigned i = 0; until ? time(NULL) < until : i < count; i++) {
        const unsigned crashed = t->crashed, which = i % SEEDS;

        mutant = seeds[which];
        for (uint64_t n = 1 + below(3); n > 0; n--)
            mutate(&mutant);
        write_file(containers.path, &mutant);
        read_one(containers.path, which >= SEEDS - 2, t);
        if (keep && t->crashed > crashed) {
            char path[4096];

            snprintf(path, sizeof(path), "%s/%s_%u.h5", keep,
                     which < SEEDS - 2 ? "dump" : "messages", i);
            write_file(path, &mutant);
        }
    }
}

/* Starts the program again with a malloc that fills memory with a pattern and keeps no cache that
 * looks like a leak. */
static void perturb(char **argv)
{
    static const char wanted[] = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0";
    const char *now = getenv("GLIBC_TUNABLES");

    if (now && strcmp(now, wanted) == 0)
        return;
    setenv("GLIBC_TUNABLES", wanted, 1);
    unsetenv("MALLOC_PERTURB_"); /* meson sets it, and it would win */
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    unsigned count = 2000;
    time_t until = 0;
    const char *keep = NULL;
    char **files = NULL;
    struct tally t = {0};
    struct seed *seed = seeds;

    for (int i = 1; i < argc && !files; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--count") == 0)
            count = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--seconds") == 0)
            until = time(NULL) + strtol(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            state = strtoull(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--keep") == 0)
            keep = argv[++i];
        else if (strcmp(argv[i], "--files") == 0)
            files = argv + i + 1;
        else
            return fprintf(stderr, "unknown: %s\n", argv[i]), 2;
    }
    perturb(argv);
    if (containers_setup(NULL) != 0)
        return 2;
    make_seeds();
    for (int i = 0; i < SEEDS;
         i++, seed++) { /* they are sound, and what HDF5 keeps for itself is there */
        write_file(containers.path, seed);
        read_one(containers.path, i >= SEEDS - 2, &t);
        assert_int_equal(t.read, i + 1);
    }
    t = (struct tally){0};
    if (files)
        for (; *files; files++)
            read_one(*files, strstr(*files, "messages") != NULL, &t);
    else
        campaign(count, until, keep, &t);
    printf("%u read, %u refused; contained by the child: %u crashes, %u hangs; "
           "0 crashes and %u hangs of this process, %u leaks, %u bad messages\n",
           t.read, t.refused, t.crashed, t.stuck, t.slow, t.leaks, t.bad);
    containers_teardown(NULL);
    return t.slow || t.leaks || t.bad;
}
