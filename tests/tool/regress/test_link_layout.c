/* Links the command again in other layouts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/tool/regress/ab_run.h"
#include "tests/support/test.h"

static const char *gcbench; /* the command of this build */
static char folder[] = "/tmp/gcbench-layout-XXXXXX";
static char program[64];

/* Reads the whole program that the layout linked. */
static char *read_program(size_t *size)
{
    FILE *f = fopen(program, "rb");
    struct stat s;
    char *bytes;

    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &s), 0);
    *size = (size_t)s.st_size;
    bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static void links_programs_that_run_and_differ(void **state)
{
    struct gcb_layout *l = NULL;
    struct gcb_diag diag = {.status = 0};
    size_t size[3];
    char *bytes[3], command[128];

    assert_int_equal(gcb_layout_open(&l, gcbench, program, NULL, &diag), 0);
    assert_string_equal(gcb_layout_path(l), program);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gcb_layout_link(l, (uint64_t[]){7, 8, 7}[i], &diag), 0);
        bytes[i] = read_program(&size[i]);
        snprintf(command, sizeof(command), "%s --version >/dev/null", program);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(size[0], size[2]);
    assert_memory_equal(bytes[0], bytes[2], size[0]);
    assert_true(size[0] != size[1] || memcmp(bytes[0], bytes[1], size[0]) != 0);
    for (int i = 0; i < 3; i++)
        free(bytes[i]);
    gcb_layout_close(l);
    assert_int_equal(access(program, F_OK), -1);
    assert_int_equal(rmdir(folder), 0); /* so nothing else was left either */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void says_why_a_program_cannot_be_linked(void **state)
{
    struct gcb_layout *l = NULL;
    struct gcb_diag diag = {.status = 0};

    assert_int_equal(gcb_layout_open(&l, "/bin/sh", program, NULL, &diag), GCB_E_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "build.ninja"));
    gcb_layout_close(l);
    assert_int_equal(gcb_layout_open(&l, "/nowhere/gcbench", program, NULL, &diag),
                     GCB_E_UNSUPPORTED);
    gcb_layout_close(l);
    gcb_layout_close(NULL);
}

/* A build folder whose link command is not one that can be changed. */
static void refuses_other_link_commands(void **state)
{
    static const char *const commands[] = {
        "cp in $out",               /* no -o */
        "gcc -o $out in",           /* no object files */
        "gcc -o $out @objects.rsp", /* a list that ninja does not show */
        "gcc -o $out a.o b.o; true",
        "/nowhere/gcc -o $out a.o b.o",
        "gcc -o $out a.o b.o", /* which do not exist */
    };
    struct gcb_layout *l = NULL;
    char path[96], exe[96];

    snprintf(path, sizeof(path), "%s/build.ninja", folder);
    snprintf(exe, sizeof(exe), "%s/tool", folder);
    fclose(fopen(exe, "w"));
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct gcb_diag diag = {.status = 0};
        FILE *f = fopen(path, "w");

        fprintf(f, "rule link\n  command = %s\nbuild tool: link in\n", commands[i]);
        fclose(f);
        assert_int_equal(gcb_layout_open(&l, exe, program, NULL, &diag), GCB_E_UNSUPPORTED);
        assert_true(diag.text[0] != '\0');
        gcb_layout_close(l);
    }
    unlink(path);
    unlink(exe);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_programs_that_run_and_differ),
        cmocka_unit_test(says_why_a_program_cannot_be_linked),
        cmocka_unit_test(refuses_other_link_commands),
    };
    int failed;

    if (argc < 2 || !mkdtemp(folder))
        return 2;
    gcbench = argv[1];
    snprintf(program, sizeof(program), "%s/linked", folder);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
