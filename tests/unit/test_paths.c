/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/cli/load.h"

#include <sys/stat.h>
#include <unistd.h>

static void expect_folders(const char *program, const char *path, const char *expected)
{
    struct ll_arena arena = {0};
    char joined[256] = "";
    const char *const *folders = ll_machine_folders_of(&arena, program, path);
    for (; *folders; folders++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "[%s]", *folders);
    assert_string_equal(joined, expected);
    ll_arena_release(&arena);
}

static void the_environment_comes_before_the_installation(void **state)
{
    (void)state;
    expect_folders("/usr/bin/leadline", "/a:b", "[/a][b][/usr/share/leadline/hwconfigs]");
    expect_folders("/usr/bin/leadline", NULL, "[/usr/share/leadline/hwconfigs]");
}

static void a_program_in_the_root_has_its_folders_there(void **state)
{
    (void)state;
    expect_folders("/bin/leadline", NULL, "[/share/leadline/hwconfigs]");
    expect_folders("/leadline", NULL, "[/share/leadline/hwconfigs]");
}

static void empty_entries_of_the_environment_are_nothing(void **state)
{
    (void)state;
    expect_folders(NULL, "", "");
    expect_folders(NULL, ":", "");
    expect_folders(NULL, ":a::b:", "[a][b]");
}

static void a_program_in_its_build_tree_finds_the_source_tree(void **state)
{
    (void)state;
    char tree[] = "/tmp/test_paths.XXXXXX", program[128], link[128], machines[128], expected[512];
    assert_non_null(mkdtemp(tree));
    snprintf(program, sizeof program, "%s/build/sim/cli/leadline", tree);
    snprintf(link, sizeof link, "%s/build/source", tree);
    snprintf(machines, sizeof machines, "%s/hwconfigs", tree);
    snprintf(expected, sizeof expected, "[%s/build/sim/share/leadline/hwconfigs]", tree);
    expect_folders(program, NULL, expected); /* no link, no source tree */

    char *build = strrchr(link, '/');
    *build = '\0';
    assert_int_equal(mkdir(link, 0700), 0);
    *build = '/';
    assert_int_equal(mkdir(machines, 0700), 0);
    assert_int_equal(symlink("..", link), 0);
    snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "[%s]", machines);
    expect_folders(program, NULL, expected);

    unlink(link);
    *build = '\0';
    rmdir(link);
    rmdir(machines);
    rmdir(tree);
}

static void a_program_of_unknown_place_has_no_folders(void **state)
{
    (void)state;
    expect_folders(NULL, NULL, "");
    expect_folders("leadline", NULL, "");
}

static void one_more_folder_comes_before_all_others(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    const char *const *folders =
        ll_folders_before(&arena, "mine", ll_machine_folders_of(&arena, NULL, "a:b"));
    assert_string_equal(folders[0], "mine");
    assert_string_equal(folders[1], "a");
    assert_string_equal(folders[2], "b");
    assert_null(folders[3]);
    ll_arena_release(&arena);
}

static void this_program_knows_its_place(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    const char *const *folders = ll_machine_folders(&arena);
    assert_non_null(folders);
    assert_non_null(folders[0]);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_comes_before_the_installation),
        cmocka_unit_test(a_program_in_the_root_has_its_folders_there),
        cmocka_unit_test(empty_entries_of_the_environment_are_nothing),
        cmocka_unit_test(a_program_in_its_build_tree_finds_the_source_tree),
        cmocka_unit_test(a_program_of_unknown_place_has_no_folders),
        cmocka_unit_test(one_more_folder_comes_before_all_others),
        cmocka_unit_test(this_program_knows_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
