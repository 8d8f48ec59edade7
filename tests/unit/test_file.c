/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: what cannot be written does not cost what was there. */
#include "check.h"

#include "tracer/base/file.h"
#include "tracer/convert/convert.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/leadline-test-XXXXXX", path[64], link_path[64];

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove(path);
    remove(link_path);
    return rmdir(folder); /* fails where a part was left */
}

static enum ll_status write_text(const char *where, const char *words)
{
    struct ll_str text = {0};
    ll_str_add(&text, words);
    enum ll_status status = ll_write_whole(where, &text);
    ll_str_release(&text);
    return status;
}

static void check_holds(const char *where, const char *words)
{
    struct ll_arena arena = {0};
    struct ll_contents contents;
    assert_int_equal(ll_read_whole(where, 100, &arena, &contents), LL_OK);
    assert_string_equal(contents.bytes, words);
    ll_arena_release(&arena);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    assert_int_equal(write_text(path, "first"), LL_OK);
    check_holds(path, "first");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(write_text(path, "anew"), LL_OK);
    check_holds(path, "anew");
    struct stat there;
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_mode & 07777, 0640);
}

/* Also when it is named by a link. */
static void a_full_disk_leaves_what_was_there(void **state)
{
    (void)state;
    struct rlimit before, limit;
    static char many[100000];
    memset(many, 'x', sizeof many - 1);
    assert_int_equal(write_text(path, "old"), LL_OK);
    assert_int_equal(symlink("file", link_path), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    enum ll_status status = write_text(path, many), behind_link = write_text(link_path, many);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, LL_DISK_FULL);
    assert_int_equal(behind_link, LL_DISK_FULL);
    check_holds(path, "old");
    assert_int_equal(unlink(link_path), 0);
}

static void a_text_that_failed_is_not_written(void **state)
{
    (void)state;
    struct ll_str text = {.failed = true};
    assert_int_equal(write_text(path, "old"), LL_OK);
    assert_int_equal(ll_write_whole(path, &text), LL_NO_MEMORY);
    check_holds(path, "old");
}

static void a_link_stays_one(void **state)
{
    (void)state;
    struct stat there;
    assert_int_equal(write_text(path, "old"), LL_OK);
    assert_int_equal(symlink("file", link_path), 0);
    assert_int_equal(write_text(link_path, "new"), LL_OK);
    check_holds(path, "new");
    assert_int_equal(lstat(link_path, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write_text(link_path, "made"), LL_OK); /* it pointed to nothing */
    check_holds(path, "made");
    assert_int_equal(unlink(link_path), 0);
}

static void a_link_finds_its_target_step_by_step(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    char second[80], absolute[80];
    snprintf(second, sizeof second, "%s/second", folder);
    snprintf(absolute, sizeof absolute, "%s/link", folder);
    assert_int_equal(symlink("../x/y", link_path), 0);
    assert_int_equal(symlink(absolute, second), 0);
    const char *target = ll_path_target(&arena, second);
    assert_memory_equal(target, folder, strlen(folder));
    assert_string_equal(target + strlen(folder), "/../x/y");
    assert_string_equal(ll_path_target(&arena, path), path);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(symlink("second", link_path), 0); /* in a circle */
    assert_string_equal(ll_path_target(&arena, second), second);
    assert_int_not_equal(write_text(second, "nowhere"), LL_OK);
    unlink(second);
    unlink(link_path);
    ll_arena_release(&arena);
}

/* As `program -o file >file`: what it prints goes on in the same file. */
static void the_file_of_standard_output_is_written_in_place(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    assert_int_equal(write_text(path, "old"), LL_OK);
    fflush(stdout);
    int output = dup(STDOUT_FILENO), file = open(path, O_WRONLY);
    dup2(file, STDOUT_FILENO);
    bool in_place = ll_path_beside(&arena, path) == path;
    dup2(output, STDOUT_FILENO);
    close(output);
    close(file);
    assert_true(in_place);
    assert_false(ll_path_beside(&arena, path) == path);
    ll_arena_release(&arena);
}

static void a_device_stays_one(void **state)
{
    (void)state;
    struct stat there;
    assert_int_equal(write_text("/dev/full", "x"), LL_DISK_FULL);
    assert_int_equal(write_text("/dev/null", "x"), LL_OK);
    assert_int_equal(lstat("/dev/null", &there), 0);
    assert_true(S_ISCHR(there.st_mode));
}

static void what_is_too_long_is_not_read(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_contents contents;
    assert_int_equal(ll_read_whole("/dev/zero", 10000, &arena, &contents), LL_FILE_TOO_LONG);
    assert_int_equal(write_text(path, "four"), LL_OK);
    assert_int_equal(ll_read_whole(path, 4, &arena, &contents), LL_OK);
    assert_int_equal(ll_read_whole(path, 3, &arena, &contents), LL_FILE_TOO_LONG);
    ll_arena_release(&arena);
}

/* Of files in /sys their length is said to be a page, whatever they hold. */
static void what_loses_its_end_is_told_apart(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_contents contents;
    struct stat there;
    if (stat("/sys/devices/system/cpu/online", &there) != 0)
        skip();
    assert_true(there.st_size > 0);
    assert_int_equal(ll_read_whole("/sys/devices/system/cpu/online", 10000, &arena, &contents), LL_SHORTENED);
    ll_arena_release(&arena);
}

/* A file that another program writes anew meanwhile. */
static void an_input_stays_whole_when_its_file_loses_bytes(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_input_file input;
    assert_int_equal(write_text(path, "of an import"), LL_OK);
    assert_int_equal(ll_input_open(path, &arena, &input), LL_OK);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(input.size, 12);
    assert_memory_equal(input.bytes, "of an import", 12);
    ll_arena_release(&arena);
}

static void an_input_that_is_a_device_is_refused(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_input_file input;
    assert_int_equal(ll_input_open("/dev/zero", &arena, &input), LL_IS_DEVICE);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_full_disk_leaves_what_was_there),
        cmocka_unit_test(a_text_that_failed_is_not_written),
        cmocka_unit_test(a_link_stays_one),
        cmocka_unit_test(a_link_finds_its_target_step_by_step),
        cmocka_unit_test(the_file_of_standard_output_is_written_in_place),
        cmocka_unit_test(a_device_stays_one),
        cmocka_unit_test(what_is_too_long_is_not_read),
        cmocka_unit_test(what_loses_its_end_is_told_apart),
        cmocka_unit_test(an_input_stays_whole_when_its_file_loses_bytes),
        cmocka_unit_test(an_input_that_is_a_device_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
