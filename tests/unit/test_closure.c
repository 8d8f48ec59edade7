/* SPDX-License-Identifier: Apache-2.0 */
/* The twin is the loader itself, which lists what it would load (LD_TRACE_LOADED_OBJECTS). */
#define _GNU_SOURCE
#include "check.h"

#include "tracer/binary/coverage.h"

#include <sys/stat.h>
#include <unistd.h>

static struct ll_arena arena;

static struct ll_file_search environment(void)
{
    return (struct ll_file_search){.path = getenv("PATH"), .library_path = getenv("LD_LIBRARY_PATH")};
}

static const struct ll_format_binary *find(const struct ll_closure *closure, const char *path)
{
    for (size_t i = 0; i < closure->count; i++) {
        char *ours = realpath(closure->binaries[i].path, NULL), *theirs = realpath(path, NULL);
        bool same = ours && theirs && strcmp(ours, theirs) == 0;
        free(ours), free(theirs);
        if (same)
            return &closure->binaries[i];
    }
    return NULL;
}

/* Every "name => path (address)" that the loader prints is in the closure; returns how many. */
static size_t compare_with_loader(const char *program)
{
    struct ll_file_search search = environment();
    struct ll_closure closure;
    char line[4096], path[4096];
    size_t count = 0;
    assert_int_equal(ll_closure_read(&arena, program, &search, &closure), LL_OK);
    FILE *loader = popen(ll_format(&arena, "LD_TRACE_LOADED_OBJECTS=1 %s", closure.binaries[0].path), "r");
    assert_non_null(loader);
    while (fgets(line, sizeof line, loader)) {
        if (sscanf(line, " %*s => %4095s", path) != 1 || path[0] != '/')
            continue;
        if (!find(&closure, path))
            fail_msg("%s: the loader loads %s, the closure has it not", program, path);
        count++;
    }
    pclose(loader);
    assert_true(closure.count >= count + 1 &&
                closure.count <= count + 2); /* the loader may be needed itself */
    assert_int_equal(closure.missing_count, 0);
    return count;
}

static void a_closure_holds_what_the_loader_loads(void **state)
{
    (void)state;
    static const char *const programs[] = {"sh", "python3", "git", "cmake"};
    size_t compared = 0;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (ll_find_program(&arena, programs[i], getenv("PATH")))
            compared += compare_with_loader(programs[i]);
    assert_true(compared > 0);
}

static const char *folder;

static const char *make_script(const char *name, const char *text)
{
    const char *path = ll_format(&arena, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void a_script_is_the_program_that_reads_it(void **state)
{
    (void)state;
    struct ll_file_search search = environment();
    struct ll_closure closure;
    static const char *const lines[] = {"#!/bin/sh\n", "#! /bin/sh -e\n", "#!/usr/bin/env sh\n",
                                        "#!/usr/bin/env -S A=1 sh -e\n", "echo no first line\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *path = make_script("script", lines[i]);
        assert_int_equal(ll_closure_read(&arena, path, &search, &closure), LL_OK);
        assert_string_equal(closure.script, path);
        assert_non_null(find(&closure, "/bin/sh"));
    }
}

static void a_program_that_cannot_be_run_is_refused(void **state)
{
    (void)state;
    struct ll_file_search search = environment();
    struct ll_closure closure;
    assert_int_equal(ll_closure_read(&arena, "no-such-program", &search, &closure), LL_NO_FILE);
    assert_int_equal(ll_closure_read(&arena, "no/such/program", &search, &closure), LL_NO_FILE);
    assert_int_equal(ll_closure_read(&arena, "/etc/passwd", &search, &closure), LL_FORBIDDEN);
    assert_int_equal(ll_closure_read(&arena, "/", &search, &closure), LL_IS_FOLDER);
    const char *circle = ll_format(&arena, "%s/circle", folder);
    make_script("circle", ll_format(&arena, "#!%s\n", circle));
    assert_int_equal(ll_closure_read(&arena, circle, &search, &closure), LL_CANNOT_READ);
}

static void parts_of_a_list_come_one_by_one(void **state)
{
    (void)state;
    const char *list = "a::bc;d";
    assert_string_equal(ll_next_part(&arena, &list, ":;"), "a");
    assert_string_equal(ll_next_part(&arena, &list, ":;"), "");
    assert_string_equal(ll_next_part(&arena, &list, ":;"), "bc");
    assert_string_equal(ll_next_part(&arena, &list, ":;"), "d");
    assert_null(ll_next_part(&arena, &list, ":;"));
    list = NULL;
    assert_null(ll_next_part(&arena, &list, ":;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closure_holds_what_the_loader_loads),
        cmocka_unit_test(a_script_is_the_program_that_reads_it),
        cmocka_unit_test(a_program_that_cannot_be_run_is_refused),
        cmocka_unit_test(parts_of_a_list_come_one_by_one),
    };
    char name[] = "/tmp/closure.XXXXXX";
    folder = mkdtemp(name);
    if (!folder)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(ll_format(&arena, "%s/script", folder));
    unlink(ll_format(&arena, "%s/circle", folder));
    rmdir(folder);
    ll_arena_release(&arena);
    return failed;
}
