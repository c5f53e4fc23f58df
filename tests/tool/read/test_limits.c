/* Where HDF5 gets no memory, or cannot close a file, the caller gets an error, and the process ends
 * as it wants to. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tool/read/child.h"
#include "src/tool/write/dump_private.h"
#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

enum { N = 100, SETS = 40 };

static char folder[64], path[96];

static int setup(void **state)
{
    strcpy(folder, "/tmp/test_h5limits.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/out.h5", folder);
    return 0;
}

/* Nothing but the file that was written is left. */
static int teardown(void **state)
{
    unlink(path);
    return rmdir(folder);
}

/* ---- what the children do; each returns 0 or an error with words ---- */

static int add_set(struct gcb_h5out *f, unsigned i, struct gcb_diag *diag)
{
    static const float x[N];
    const uint64_t dims[] = {N};
    char name[64];
    int err;

    snprintf(name, sizeof(name), "/step_000000/worker_0/w%u", i);
    err = gcb_h5out_set(f, name, H5T_IEEE_F32LE, 1, dims, diag);
    if (!err)
        err = gcb_h5out_append(f, x, sizeof(x), diag);
    return err;
}

static int write_file(struct gcb_diag *diag)
{
    struct gcb_h5out *f = NULL;
    int err = gcb_h5out_create(&f, path, true, NULL, 0, diag);

    for (unsigned i = 0; i < SETS && !err; i++)
        err = add_set(f, i, diag);
    if (!err)
        err = gcb_h5out_commit(f, diag);
    gcb_h5out_destroy(f);
    return err;
}

/* Writes a file that HDF5 cannot close, because the disk is full. */
static int write_to_full_disk(struct gcb_diag *diag)
{
    const int full = open("/dev/full", O_RDWR);
    struct gcb_h5out *f = NULL;
    void *handle;
    int err = gcb_h5out_create(&f, path, true, NULL, 0, diag);

    if (!err)
        err = add_set(f, 0, diag);
    if (!err && (H5Fget_vfd_handle(f->file, H5P_DEFAULT, &handle) < 0 ||
                 dup2(full, *(const int *)handle) < 0))
        err = GCB_E_INTERNAL;
    if (!err)
        err = gcb_h5out_commit(f, diag);
    gcb_h5out_destroy(f);
    return err;
}

static int read_file(bool in_process, struct gcb_diag *diag)
{
    const struct gcb_read_limits limits = {.in_process = in_process};
    struct gcb_file_child *c = NULL;
    struct gcb_infile found;
    int err = gcb_infile_find(&found, path, gcb_readers, &limits, diag);

    if (!err)
        err = gcb_file_child_open(&c, &found, NULL, diag);
    gcb_file_child_close(c);
    return err;
}

static int read_in_process(struct gcb_diag *diag)
{
    return read_file(true, diag);
}

static int read_in_child(struct gcb_diag *diag)
{
    return read_file(false, diag);
}

/* ---- the children ---- */

static void limit_memory(size_t more)
{
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit limit;
    unsigned long pages = 0;

    if (!file || fscanf(file, "%lu", &pages) != 1 || fclose(file))
        exit(99);
    limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
    if (setrlimit(RLIMIT_AS, &limit))
        exit(99);
}

/* Does it in a child that has `more` bytes of memory left (0: no limit), and ends as a program
 * does. Returns 0 if it worked, 1 if it returned an error with words; fails otherwise. */
static int run(int (*work)(struct gcb_diag *diag), size_t more)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct gcb_diag diag = {0};
        int err;

        if (more)
            limit_memory(more);
        err = work(&diag);
        if (err == GCB_E_CORRUPT) /* the file is not to blame */
            exit(97);
        exit(!err ? 0 : diag.status == err && diag.text[0] ? 1 : 98);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("signal %d with %zu KB", WTERMSIG(status), more >> 10);
    assert_true(WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status);
}

static void no_memory_is_an_error(void **state)
{
    int (*const work[])(struct gcb_diag *) = {write_file, read_in_process, read_in_child};

    if (SANITIZED) {
        print_message("skipped: sanitizers need more memory than can be limited\n");
        skip();
    }
    assert_int_equal(run(write_file, 0), 0);
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++) {
        unsigned refused = 0;

        for (size_t more = 16 << 10; more < (size_t)12 << 20;
             more += more < (6 << 20) ? 48 << 10 : 1 << 20)
            refused += (unsigned)run(work[i], more);
        assert_true(refused > 0);
        assert_int_equal(run(work[i], (size_t)64 << 20), 0);
    }
}

static void a_failed_close_is_an_error(void **state)
{
    assert_int_equal(run(write_to_full_disk, 0), 1);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(a_failed_close_is_an_error, setup, teardown),
          cmocka_unit_test_setup_teardown(no_memory_is_an_error, setup, teardown))
