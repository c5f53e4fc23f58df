/* Output files: the name is checked before work starts, and replaced at the end or not at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/tool/base/temp.h"
#include "src/tool/base/tidy.h"
#include "src/tool/write/outfile.h"
#include "tests/support/test.h"

static char folder[64], path[96], other[96];

static int setup(void **state)
{
    strcpy(folder, "/tmp/test_outfile.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/out.h5", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int files(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* Each test removes its files except these two. */
static int teardown(void **state)
{
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void check_text(const char *name, const char *want)
{
    FILE *f = fopen(name, "r");
    char got[32] = "";

    assert_non_null(f);
    assert_non_null(fgets(got, sizeof(got), f));
    fclose(f);
    assert_string_equal(got, want);
}

static void refuse(const char *name, bool force, const char *input, int status, const char *words)
{
    const char *const inputs[] = {"/nowhere", input};
    struct gcb_outfile out;
    struct gcb_diag diag = {0};
    const int before = files();

    assert_int_equal(gcb_outfile_init(&out, name, force, inputs, input ? 2 : 0, &diag), status);
    assert_int_equal(diag.status, status);
    if (!strstr(diag.text, words))
        fail_msg("'%s' does not say '%s'", diag.text, words);
    assert_null(out.final_path);
    gcb_outfile_fini(&out);
    assert_int_equal(files(), before);
}

static struct gcb_outfile start(const char *name, bool force)
{
    struct gcb_outfile out;
    struct gcb_diag diag = {0};

    if (gcb_outfile_init(&out, name, force, NULL, 0, &diag))
        fail_msg("%s", diag.text);
    return out;
}

static void test_new_file(void **state)
{
    struct gcb_outfile out;
    const mode_t mask = umask(027);
    struct stat s;

    out = start(path, false);
    umask(mask);
    assert_int_equal(access(path, F_OK), -1);
    assert_memory_equal(out.temp_path, folder, strlen(folder)); /* the same file system */
    write_text(out.temp_path, "new");
    assert_int_equal(gcb_outfile_commit(&out, NULL), 0);
    gcb_outfile_fini(&out);
    gcb_outfile_fini(&out); /* zeroed is fine */
    check_text(path, "new");
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    assert_int_equal(files(), 1);
}

static void test_given_up(void **state)
{
    struct gcb_outfile out;

    write_text(path, "old");
    out = start(path, true);
    write_text(out.temp_path, "half");
    assert_int_equal(files(), 2);
    gcb_outfile_fini(&out);
    check_text(path, "old");
    assert_int_equal(files(), 1);
}

static void test_replace(void **state)
{
    struct gcb_outfile out;

    write_text(path, "old");
    refuse(path, false, NULL, GCB_E_INVALID, "--force");
    out = start(path, true);
    write_text(out.temp_path, "new");
    assert_int_equal(gcb_outfile_commit(&out, NULL), 0);
    gcb_outfile_fini(&out);
    check_text(path, "new");
}

/* Two outputs of one name: each has its own temporary file, and without force only one succeeds. */
static void test_race(void **state)
{
    struct gcb_outfile first, second;
    struct gcb_diag diag = {0};

    first = start(path, false);
    second = start(path, false);
    assert_string_not_equal(first.temp_path, second.temp_path);
    write_text(first.temp_path, "first");
    write_text(second.temp_path, "second");
    assert_int_equal(gcb_outfile_commit(&first, NULL), 0);
    assert_int_equal(gcb_outfile_commit(&second, &diag), GCB_E_IO);
    assert_non_null(strstr(diag.text, "appeared while"));
    gcb_outfile_fini(&first);
    gcb_outfile_fini(&second);
    check_text(path, "first");
    assert_int_equal(files(), 1);
}

static void test_not_regular(void **state)
{
    refuse(folder, true, NULL, GCB_E_INVALID, "not a regular file");
    refuse("/dev/null", true, NULL, GCB_E_INVALID, "not a regular file");
    assert_int_equal(mkfifo(other, 0600), 0);
    refuse(other, true, NULL, GCB_E_INVALID, "not a regular file");
    assert_int_equal(symlink(other, path), 0);
    refuse(path, true, NULL, GCB_E_INVALID, "not a regular file");
}

static void test_links(void **state)
{
    struct gcb_outfile out;
    struct stat s;

    assert_int_equal(symlink(other, path), 0);
    refuse(path, true, NULL, GCB_E_INVALID, "leads nowhere");
    write_text(other, "old");
    refuse(path, false, NULL, GCB_E_INVALID, "--force");
    out = start(path, true); /* the link's target is replaced, the link stays */
    write_text(out.temp_path, "new");
    assert_int_equal(gcb_outfile_commit(&out, NULL), 0);
    gcb_outfile_fini(&out);
    check_text(other, "new");
    assert_int_equal(lstat(path, &s), 0);
    assert_true(S_ISLNK(s.st_mode));
}

static void test_input(void **state)
{
    write_text(path, "precious");
    refuse(path, true, path, GCB_E_INVALID, "is an input");
    assert_int_equal(link(path, other), 0); /* also under another name */
    refuse(other, true, path, GCB_E_INVALID, "is an input");
    check_text(path, "precious");
}

static void test_bad_names(void **state)
{
    char longer[400];

    refuse("", false, NULL, GCB_E_INVALID, "name of the file to write is empty");
    snprintf(longer, sizeof(longer), "%s/", folder);
    refuse(longer, true, NULL, GCB_E_INVALID, "names a folder");
    snprintf(longer, sizeof(longer), "%s/absent/out.h5", folder);
    refuse(longer, false, NULL, GCB_E_IO, "its folder does not exist");
    snprintf(longer, sizeof(longer), "%s/%0300d", folder, 0);
    refuse(longer, false, NULL, GCB_E_IO, "too long");
    write_text(other, "file");
    snprintf(longer, sizeof(longer), "%s/x", other);
    refuse(longer, false, NULL, GCB_E_IO, "Not a directory");
    snprintf(longer, sizeof(longer), "%s/\x1b[2J/x", folder);
    refuse(longer, false, NULL, GCB_E_IO, "\\x1b[2J");
}

/* With the longest possible name, the temporary file can still be made. */
static void test_longest_name(void **state)
{
    char longest[400];
    struct gcb_outfile out;

    snprintf(longest, sizeof(longest), "%s/%0255d", folder, 0);
    out = start(longest, false);
    write_text(out.temp_path, "new");
    assert_int_equal(gcb_outfile_commit(&out, NULL), 0);
    gcb_outfile_fini(&out);
    check_text(longest, "new");
    assert_int_equal(unlink(longest), 0);
}

/* The temporary file was removed: the old file stays. */
static void test_commit_fails(void **state)
{
    struct gcb_outfile out;

    write_text(path, "old");
    out = start(path, true);
    assert_int_equal(unlink(out.temp_path), 0);
    assert_int_equal(gcb_outfile_commit(&out, NULL), GCB_E_IO);
    gcb_outfile_fini(&out);
    check_text(path, "old");
}

static void test_same(void **state)
{
    char spelled[160], link[96];

    snprintf(spelled, sizeof(spelled), "%s/../%s/./out.h5", folder, strrchr(folder, '/') + 1);
    assert_true(gcb_outfile_same(path, path));
    assert_true(gcb_outfile_same(path, spelled)); /* neither exists */
    assert_false(gcb_outfile_same(path, other));
    assert_true(gcb_outfile_same("/nowhere/at/all", "/nowhere/at/all"));
    assert_false(gcb_outfile_same("/nowhere/at/all", "/nowhere/at/last"));
    write_text(path, "old");
    assert_true(gcb_outfile_same(path, spelled));
    assert_false(gcb_outfile_same(path, other)); /* one exists */
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink("out.h5", link), 0);
    assert_true(gcb_outfile_same(link, path));
    assert_int_equal(unlink(link), 0);
}

/* When a process is killed, its temporary files are removed; committed and older files stay. */
static void test_abandon(void **state)
{
    struct gcb_outfile done, open, given_up;

    done = start(path, false);
    write_text(done.temp_path, "done");
    open = start(other, false);
    given_up = start(other, false);
    gcb_outfile_fini(&given_up);
    assert_int_equal(gcb_outfile_commit(&done, NULL), 0);
    assert_int_equal(files(), 2);
    gcb_tidy_all();
    assert_int_equal(files(), 1);
    gcb_outfile_fini(&done);
    gcb_outfile_fini(&open);
    check_text(path, "done");
}

/* A file that is replaced keeps its mode, and as root its owner. */
static void keeps_mode_and_owner(void **state)
{
    struct gcb_outfile o;
    struct stat before, after;

    write_text(path, "old");
    assert_int_equal(chmod(path, 0604), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(gcb_outfile_init(&o, path, true, NULL, 0, NULL), 0);
    write_text(o.temp_path, "new");
    assert_int_equal(gcb_outfile_commit(&o, NULL), 0);
    gcb_outfile_fini(&o);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_uid, before.st_uid);
    assert_int_equal(after.st_gid, before.st_gid);
}

/* Makes a file that a process with this number could have left, and says whether the next output
 * removes it. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool is_swept(const char *shape, long pid)
{
    char prefix[GCB_TEMP_PREFIX], host[32], left[160];
    struct gcb_outfile o;
    bool gone;

    gcb_temp_prefix(prefix);
    snprintf(host, sizeof(host), "%.17s", prefix); /* ".gcbench-" and eight digits */
    snprintf(left, sizeof(left), shape, folder, host, pid);
    write_text(left, "left behind");
    assert_int_equal(gcb_outfile_init(&o, path, true, NULL, 0, NULL), 0);
    gcb_outfile_fini(&o);
    gone = access(left, F_OK) != 0;
    unlink(left);
    return gone;
}

static void removes_what_dead_processes_left(void **state)
{
    const pid_t dead = fork();

    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    assert_true(is_swept("%s/%s-%ld-0", dead));
    assert_false(is_swept("%s/%s-%ld-0", (long)getppid())); /* alive */
    assert_false(is_swept("%s/%s-%ldx", dead));             /* another name */
    assert_false(is_swept("%s/x%s-%ld-0", dead));           /* another host, or no file of ours */
    assert_false(is_swept("%s/%.12s-%ld-0", dead));
}

RUN_TESTS(cmocka_unit_test_setup_teardown(test_new_file, setup, teardown),
          cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
          cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
          cmocka_unit_test_setup_teardown(keeps_mode_and_owner, setup, teardown),
          cmocka_unit_test_setup_teardown(removes_what_dead_processes_left, setup, teardown),
          cmocka_unit_test_setup_teardown(test_race, setup, teardown),
          cmocka_unit_test_setup_teardown(test_not_regular, setup, teardown),
          cmocka_unit_test_setup_teardown(test_links, setup, teardown),
          cmocka_unit_test_setup_teardown(test_input, setup, teardown),
          cmocka_unit_test_setup_teardown(test_bad_names, setup, teardown),
          cmocka_unit_test_setup_teardown(test_longest_name, setup, teardown),
          cmocka_unit_test_setup_teardown(test_commit_fails, setup, teardown),
          cmocka_unit_test_setup_teardown(test_same, setup, teardown),
          cmocka_unit_test_setup_teardown(test_abandon, setup, teardown))
