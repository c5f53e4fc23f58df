/*
 * The child that reads HDF5: what ends it becomes one line, and it may do little. Linked so that
 * H5Dopen2 is replaced: the name of a dataset says what HDF5 does wrong when it opens the dataset.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tool/read/hdf5.h"
#include "src/tool/read/source_private.h"
#include "tests/support/h5make.h"
#include "tests/support/patience.h"
#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static pid_t test_process;

/* Ends the process by a signal that only this function sends, so that the test sees that a call was
 * possible. */
static void report(bool possible)
{
    if (possible)
        raise(SIGUSR1);
}

/* A crash must be one under sanitizers too. */
__attribute__((no_sanitize("undefined"))) static void misbehave(const char *name)
{
    volatile int *nowhere = NULL;
    char *kept;

    if (getpid() == test_process)
        return;
    if (strstr(name, "crash"))
        *nowhere = 1;
    if (strstr(name, "abort"))
        abort();
    if (strstr(name, "exit"))
        _exit(0);
    if (strstr(name, "hang"))
        for (;;)
            *(volatile char *)&kept = 0;
    if (strstr(name, "wait")) { /* as for a pipe or a dead file system */
        int never = 0;

        for (;;)
            syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    if (strstr(name, "memory"))
        report((kept = malloc((size_t)3 << 30)) != NULL);
    if (strstr(name, "open"))
        report(open("/etc/passwd", O_RDONLY) >= 0);
    if (strstr(name, "write"))
        report(open("written-by-the-child", O_WRONLY | O_CREAT, 0600) >= 0);
    if (strstr(name, "fork"))
        report(fork() >= 0);
    if (strstr(name, "socket"))
        report(socket(AF_INET, SOCK_STREAM, 0) >= 0);
    if (strstr(name, "kill"))
        report(kill(getppid(), 0) == 0);
    if (strstr(name, "socket") && strstr(name, "ends"))
        abort();
    if (strstr(name, "code"))
        report(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED);
}

hid_t __real_H5Dopen2(hid_t at, const char *name, hid_t list);
hid_t __wrap_H5Dopen2(hid_t at, const char *name, hid_t list);

hid_t __wrap_H5Dopen2(hid_t at, const char *name, hid_t list)
{
    misbehave(name);
    return __real_H5Dopen2(at, name, list);
}

int __real_gcb_h5dataset_vet(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                             const char *shown, struct gcb_diag *diag);
int __wrap_gcb_h5dataset_vet(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                             const char *shown, struct gcb_diag *diag);

/* In the child, changes the shape of a dataset whose name asks for it, and so what the parent is
 * told. */
int __wrap_gcb_h5dataset_vet(struct gcb_h5dataset *d, const struct gcb_h5file *file,
                             const char *shown, struct gcb_diag *diag)
{
    const int err = __real_gcb_h5dataset_vet(d, file, shown, diag);

    if (getpid() == test_process)
        return err;
    if (strstr(shown, "none"))
        d->tensor.count = 0;
    if (strstr(shown, "more"))
        d->tensor.count++;
    if (strstr(shown, "zero"))
        d->tensor.dims[0] = 0;
    return err;
}

/* The seconds of processor time after which a child counts as hanging; it waits for data three times
 * as long. What it does here takes milliseconds. */
static unsigned limit(void)
{
    return patience() < 3 ? patience() : 3;
}

/* Opens a file with a good dataset and one of this name, and reads both. */
static int read_file(const char *name, const struct gcb_read_limits *limits, struct gcb_diag *diag)
{
    const char *files[1];
    struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;
    struct h5make m;
    char path[64];
    float x[64];
    int err;

    h5make_open(&m, "child.h5");
    h5make_put(&m, "/step_1/worker_0/a", H5T_IEEE_F32LE, 64, 0, 0);
    snprintf(path, sizeof(path), "/step_1/worker_0/%s", name);
    h5make_put(&m, path, H5T_IEEE_F32LE, 64, 0, 16);
    h5make_close(&m);
    files[0] = m.path;
    config.limits = *limits;
    err = gcb_source_open(&source, &config, diag);
    for (size_t i = 0; !err && i < gcb_source_count(source); i++) {
        err = gcb_source_read(source, i, x, diag);
        if (!err)
            assert_true(x[63] == 63.0f);
    }
    gcb_source_close(source);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    return err;
}

static void check_ended(int status, const char *name, const char *words)
{
    const struct gcb_read_limits limits = {.seconds = limit()};
    struct gcb_diag diag = {0};

    assert_int_equal(read_file(name, &limits, &diag), status);
    assert_non_null(strstr(diag.text, "child.h5: /step_1/worker_0/"));
    assert_non_null(strstr(diag.text, name));
    if (!strstr(diag.text, words))
        fail_msg("%s: %s", name, diag.text);
    assert_null(strchr(diag.text, '\n'));
}

static void test_ended(void **state)
{
    char hung[100], waits[100];

    snprintf(hung, sizeof(hung), "damaged: the HDF5 library took more than %u s of processor time",
             limit());
    snprintf(waits, sizeof(waits), "no data for %u s; copy the file to a local disk", 3 * limit());
    check_ended(GCB_E_CORRUPT, "crash", "damaged: the HDF5 library crashed while reading it");
    check_ended(GCB_E_CORRUPT, "abort",
                "damaged: the HDF5 library crashed while reading it (signal 6)");
    check_ended(GCB_E_CORRUPT, "exit", "damaged: the HDF5 library crashed while reading it");
    check_ended(GCB_E_CORRUPT, "hang", hung);
    check_ended(GCB_E_IO, "wait", waits);
}

/* What the child may not do fails, and reading goes on. */
static void test_rights(void **state)
{
    static const char *const forbidden[] = {"open", "write", "fork", "socket", "kill", "code"};
    const struct gcb_read_limits limits = {0}, external = {.allow_external = true};
    struct gcb_diag diag = {0};

    if (SANITIZED) {
        print_message("skipped: sanitizers need system calls that the child may not make\n");
        skip();
    }
    assert_int_equal(read_file("memory", &limits, &diag), 0);
    if (!gcb_sandbox_filters()) {
        print_message("skipped: this kernel does not filter system calls\n");
        skip();
    }
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
        if (read_file(forbidden[i], &limits, &diag) != 0)
            fail_msg("%s: %s", forbidden[i], diag.text);
    for (size_t i = 1; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
        if (read_file(forbidden[i], &external, &diag) != 0)
            fail_msg("--allow-external, %s: %s", forbidden[i], diag.text);
    assert_int_equal(read_file("open", &external, &diag),
                     GCB_E_CORRUPT); /* it could, and says so */
    assert_non_null(strstr(diag.text, "(signal 10)"));
    assert_null(strstr(diag.text, "system call"));
    assert_int_equal(read_file("socket that ends", &limits, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "system call socket;"));
}

/* The child is the only thing that a file needs: with in_process there is none, and nothing is
 * refused. */
static void test_in_process(void **state)
{
    const struct gcb_read_limits limits = {.in_process = true};
    struct gcb_diag diag = {0};

    assert_int_equal(read_file("crash", &limits, &diag), 0);
}

/* A list in which a dataset's count is not the product of its dimensions. */
static void test_contradictions(void **state)
{
    static const char *const names[] = {"none", "more", "zero"};
    const struct gcb_read_limits limits = {0};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct gcb_diag diag = {0};

        if (read_file(names[i], &limits, &diag) != GCB_E_CORRUPT ||
            !strstr(diag.text, "its list of tensors contradicts itself"))
            fail_msg("%s: %s", names[i], diag.text);
    }
}

/* The only child of this process. */
static pid_t find_child(void)
{
    char path[64];
    FILE *file;
    int pid = -1;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    if (!file) {
        print_message("skipped: this kernel does not list the children of a process\n");
        skip();
    }
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

/* A child that was ended after the listing is an error each time that it is needed. */
static void test_killed(void **state)
{
    const char *files[1];
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    struct h5make m;
    float x[64];

    h5make_open(&m, "killed.h5");
    h5make_put(&m, "/step_1/plain", H5T_IEEE_F32LE, 64, 0, 0);
    h5make_put(&m, "/step_1/zipped", H5T_IEEE_F32LE, 64, 0, 16);
    h5make_put(&m, "/step_1/zipped_too", H5T_IEEE_F32LE, 64, 0, 16);
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, &diag), 0);
    assert_int_equal(gcb_source_read(source, 1, x, &diag), 0);
    kill(find_child(), SIGKILL);
    assert_int_equal(gcb_source_read(source, 0, x, &diag), 0); /* needs no child */
    for (int i = 0; i < 2; i++)
        assert_int_equal(gcb_source_read(source, 2, x, &diag), GCB_E_CORRUPT);
    gcb_source_close(source);
}

/* Descriptors are given back, whatever happened. */
static void test_leaks(void **state)
{
    const struct gcb_read_limits limits = {0};
    struct gcb_diag diag;
    int open_before = 0, open_after = 0;

    for (int i = 3; i < 256; i++)
        open_before += fcntl(i, F_GETFD) >= 0;
    for (int i = 0; i < 8; i++) {
        (void)read_file("crash", &limits, &diag);
        (void)read_file("fine", &limits, &diag);
    }
    for (int i = 3; i < 256; i++)
        open_after += fcntl(i, F_GETFD) >= 0;
    assert_int_equal(open_after, open_before);
}

/* Strings of variable length are read without HDF5, also after a user block. */
static void test_texts(void **state)
{
    const char *const words[] = {"bfloat16", "", "a text that is longer than sixteen bytes"};
    const char *const names[] = {"/step_1/bf16", "/step_1/empty", "/step_1/long"};
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    const hid_t list = H5Pcreate(H5P_FILE_CREATE);
    struct h5make m;
    const char *files[1];
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;

    h5make_open(&m, "texts.h5");
    h5make_close(&m);
    assert_true(H5Pset_userblock(list, 1024) >= 0);
    m.file = H5Fcreate(m.path, H5F_ACC_TRUNC, list, H5P_DEFAULT);
    assert_true(H5Tset_size(type, H5T_VARIABLE) >= 0);
    for (int i = 0; i < 3; i++) {
        hid_t set, a;

        h5make_put(&m, names[i], H5T_IEEE_F32LE, 64, 0, 0);
        set = H5Dopen2(m.file, names[i], H5P_DEFAULT);
        a = H5Acreate2(set, "source_dtype", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Awrite(a, type, &words[i]) >= 0);
        H5Aclose(a);
        H5Dclose(set);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(list);
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(gcb_source_tensor(source, i)->dtype, i ? GCB_F32 : GCB_BF16);
    gcb_source_close(source);
}

static void put_chunked(struct h5make *m, const char *name, hid_t type, const hsize_t dims[2],
                        const hsize_t chunk[2], const float *x)
{
    const hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set;

    assert_true(H5Pset_chunk(list, 2, chunk) >= 0);
    set = H5Dcreate2(m->file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    assert_true(set > 0 && H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}

/*
 * Datasets larger than the shared memory arrive in pieces: rows of chunks, of which the last is not
 * whole; one row that needs more memory than there is; and both between small ones that are read
 * ahead, in order and out of order.
 */
static void test_pieces(void **state)
{
    static const hsize_t dims[][2] = {{1501, 1000}, {3, 700001}, {40, 50}, {1, 1}};
    static const hsize_t chunks[][2] = {{100, 999}, {3, 65536}, {7, 9}, {1, 1}};
    static const size_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 0, 3, 1, 2, 6, 5, 4, 0, 1, 2};
    const size_t most = 3 * 700001;
    float *x = malloc(most * sizeof(*x)), *y = malloc(most * sizeof(*y));
    const char *files[1];
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    struct h5make m;

    assert_true(x && y);
    for (size_t i = 0; i < most; i++)
        x[i] = (float)(i % 100003);
    h5make_open(&m, "pieces.h5");
    for (int i = 0; i < 8; i++) {
        char name[8];

        snprintf(name, sizeof(name), "t%d", i);
        put_chunked(&m, name, i < 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64BE, dims[i % 4], chunks[i % 4],
                    x);
    }
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, &diag), 0);
    for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
        const uint64_t count = gcb_source_tensor(source, order[k])->count;

        memset(y, 0xff, count * sizeof(*y));
        if (gcb_source_read(source, order[k], y, &diag))
            fail_msg("%s", diag.text);
        assert_memory_equal(x, y, count * sizeof(*y));
    }
    gcb_source_close(source);
    free(x);
    free(y);
}

/* With --allow-external a dataset's data may be in a pipe, which gives none. */
static void test_pipe(void **state)
{
    const hsize_t dims[1] = {3};
    const hid_t space = H5Screate_simple(1, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    const char *files[1];
    const struct gcb_source_config config = {
        .files = files, .file_count = 1, .limits.allow_external = true, .limits.seconds = limit()};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    struct h5make m;
    char pipe[256], words[64];
    float x[3];

    h5make_open(&m, "pipe.h5");
    snprintf(pipe, sizeof(pipe), "%s.pipe", m.path);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_true(H5Pset_external(list, pipe, 0, sizeof(x)) >= 0);
    H5Dclose(H5Dcreate2(m.file, "w", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, &diag), 0);
    assert_int_equal(gcb_source_read(source, 0, x, &diag), GCB_E_IO);
    snprintf(words, sizeof(words), "pipe.h5: /w: no data for %u s; ", 3 * limit());
    assert_non_null(strstr(diag.text, words));
    assert_non_null(strstr(diag.text, "leave out --allow-external"));
    gcb_source_close(source);
    remove(pipe);
}

/* The child reads ahead while tensors are read in order. Whatever order the caller then changes to,
 * and after a tensor that fails half-way, each tensor has its own elements. */
static void test_order(void **state)
{
    enum { SETS = 24, ELEMENTS = 30000 };
    static const size_t order[] = {0, 1, 2, 7, 8, 9, 10, 3, 23, 22, 0, 1, 2, 3, 4, 5, 6, 7, 11, 12};
    const char *files[1];
    const struct gcb_source_config config = {.files = files, .file_count = 1};
    struct gcb_source *source = NULL;
    struct gcb_diag diag = {0};
    struct h5make m;
    static float x[ELEMENTS];
    double *huge;
    hid_t set;

    h5make_open(&m, "order.h5");
    for (int i = 0; i < SETS; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/step_1/t%02d", i);
        h5make_put(&m, path, i == 5 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE, ELEMENTS, (float)i, 4096);
    }
    set = H5Dopen2(m.file, "/step_1/t05", H5P_DEFAULT);
    huge = calloc(ELEMENTS, sizeof(*huge));
    assert_non_null(huge);
    huge[10] = 1e300; /* in the first packet of many */
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, huge) >= 0);
    H5Dclose(set);
    free(huge);
    h5make_close(&m);
    files[0] = m.path;
    assert_int_equal(gcb_source_open(&source, &config, &diag), 0);
    for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
        const int err = gcb_source_read(source, order[k], x, &diag);

        assert_int_equal(err, order[k] == 5 ? GCB_E_CORRUPT : 0);
        for (int i = 0; i < ELEMENTS && !err; i++)
            if (x[i] != (float)order[k] + (float)i)
                fail_msg("read %zu, tensor %zu: element %d is %g", k, order[k], i, (double)x[i]);
    }
    assert_non_null(strstr(diag.text, "t05: element 10 is 1e+300"));
    gcb_source_close(source);
}

/* Steps with long paths and many links to one tensor: a list that is much larger than its file. */
static void make_long_names(struct h5make *m)
{
    hid_t at;

    h5make_open(m, "names.h5");
    h5make_put(m, "/a", H5T_IEEE_F32LE, 1, 0, 0);
    at = H5Gopen2(m->file, "/", H5P_DEFAULT);
    for (int depth = 0; depth < 4; depth++) {
        char name[1001];
        hid_t below;

        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        below = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(at);
        at = below;
    }
    for (int step = 0; step < 50; step++) {
        char name[16];
        hid_t group;

        snprintf(name, sizeof(name), "step_%d", step);
        group = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof(name), "a%d", i);
            H5Lcreate_hard(m->file, "/a", group, name, H5P_DEFAULT, H5P_DEFAULT);
        }
        H5Gclose(group);
    }
    H5Gclose(at);
    h5make_close(m);
}

static void test_long_names(void **state)
{
    const char *files[1];
    struct gcb_source_config config = {
        .files = files, .file_count = 1, .limits.max_bytes = 1 << 20};
    struct gcb_source *source = NULL;
    struct h5make m;

    make_long_names(&m);
    files[0] = m.path;
    for (int i = 0; i < 2; i++) {
        struct gcb_diag diag = {0};

        config.limits.in_process = i == 1;
        assert_int_equal(gcb_source_open(&source, &config, &diag), GCB_E_CORRUPT);
        assert_non_null(
            strstr(diag.text, "the names of its objects take more than 17825792 bytes"));
    }
    config.limits.max_bytes = 1 << 26; /* now the size of the file decides, and there is enough */
    assert_int_equal(gcb_source_open(&source, &config, NULL), 0);
    gcb_source_close(source);
}

/* A tensor lies at its offset if the reader opens no other files, also with --allow-external. */
static void test_offset(void **state)
{
    struct gcb_reader reader = {.opens_files = false};
    const struct gcb_infile file = {.reader = &reader, .size = 64, .limits.allow_external = true};
    const struct gcb_tensor t = {
        .dtype = GCB_F32, .element = GCB_ELEMENT_FP32, .count = 1, .offset = 60};

    assert_true(gcb_tensor_is_plausible(&t, &file));
    reader.opens_files = true;
    assert_false(gcb_tensor_is_plausible(&t, &file));
}

static int clean(void **state)
{
    h5make_clean();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended),          cmocka_unit_test(test_rights),
        cmocka_unit_test(test_in_process),     cmocka_unit_test(test_killed),
        cmocka_unit_test(test_leaks),          cmocka_unit_test(test_texts),
        cmocka_unit_test(test_pieces),         cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_long_names),     cmocka_unit_test(test_order),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_offset),
    };

    if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "/vgpreload_")) {
        puts("skipped: under valgrind files are read without a child");
        return 77;
    }
    test_process = getpid();
    return cmocka_run_group_tests(tests, NULL, clean);
}
