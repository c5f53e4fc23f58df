/* The work of walking a hostile file, counted by the walk's own count of its progress. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/tool/read/hdf5.h"
#include "tests/support/test.h"

enum { GROUPS = 256, LINKS = 20000, HEADER = 16, SYMBOL_TABLE = 0x11 };

static char path[] = "/tmp/test_h5walk.XXXXXX";

/* Makes a group with many links, and groups in it that are empty. Returns their addresses, that of
 * the first group first. */
static void make_groups(haddr_t at[GROUPS + 1])
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate2(file, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5O_info_t info;
    char name[16];

    assert_true(group > 0 && H5Oget_info2(group, &info, H5O_INFO_BASIC) >= 0);
    at[0] = info.addr;
    for (unsigned i = 0; i < GROUPS; i++) {
        hid_t member;

        snprintf(name, sizeof(name), "g%05u", i);
        member = H5Gcreate2(group, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(member > 0 && H5Oget_info2(member, &info, H5O_INFO_BASIC) >= 0);
        at[1 + i] = info.addr;
        H5Gclose(member);
    }
    for (unsigned i = 0; i < LINKS; i++) {
        snprintf(name, sizeof(name), "s%05u", i);
        assert_true(H5Lcreate_soft("/nowhere", group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    /* a group with two names makes the walk map the groups */
    assert_true(H5Lcreate_hard(file, "a", file, "b", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Gclose(group);
    assert_true(H5Fclose(file) >= 0);
}

/* The place of the addresses of a group's list of links, in the symbol table message of its
 * header. */
static off_t find_list(int fd, haddr_t header)
{
    off_t at = (off_t)header + HEADER;
    uint8_t start[8];

    for (;; at += 8 + start[2] + 256 * start[3]) {
        assert_int_equal(pread(fd, start, sizeof(start), at), sizeof(start));
        assert_true(at < (off_t)header + 4096);
        if (start[0] == SYMBOL_TABLE && start[1] == 0)
            return at + 8;
    }
}

/* All groups get the list of the first one, and so each of them has all groups in it. */
static void share_list(const haddr_t at[GROUPS + 1])
{
    const int fd = open(path, O_RDWR);
    uint8_t list[16];

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, list, sizeof(list), find_list(fd, at[0])), sizeof(list));
    for (unsigned i = 1; i <= GROUPS; i++)
        assert_int_equal(pwrite(fd, list, sizeof(list), find_list(fd, at[i])), sizeof(list));
    close(fd);
}

/* The lists have 5 million links together. The map of the groups ends when it has read as many as a
 * file may have. */
static void shared_lists(void **state)
{
    const struct gcb_read_limits limits = {.in_process = true};
    const struct gcb_h5visitor visitor = {.dataset = NULL};
    struct gcb_trace trace = {.steps = 0};
    struct gcb_diag diag = {0};
    haddr_t at[GROUPS + 1];
    struct gcb_infile in;
    void *file = NULL;
    uint64_t before;

    make_groups(at);
    share_list(at);
    assert_int_equal(gcb_infile_find(&in, path, gcb_readers, &limits, &diag), 0);
    in.trace = &trace;
    assert_int_equal(gcb_h5file_prepare(&diag), 0);
    assert_int_equal(gcb_h5file_open(&file, &in, path, &diag), 0);
    before = trace.steps;
    assert_int_equal(gcb_h5walk(file, &visitor, &diag), GCB_E_CORRUPT);
    assert_non_null(strstr(diag.text, "the file has more than 4194304 links"));
    if (trace.steps - before > GROUPS)
        fail_msg("%llu steps", (unsigned long long)(trace.steps - before));
    gcb_h5file_close(file);
}

static int setup(void **state)
{
    const int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    return unlink(path);
}

RUN_TESTS(cmocka_unit_test_setup_teardown(shared_lists, setup, teardown))
