/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "tracer/format/reader.h"
#include "tracer/format/walk.h"
#include "tracer/format/format.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "writer-XXXXXX", path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a.llt", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static struct ll_writer *open_over(void)
{
    enum ll_status status;
    struct ll_writer *writer = ll_writer_open(path, &status);
    assert_non_null(writer);
    return writer;
}

static struct ll_writer *open_writer(void)
{
    unlink(path);
    return open_over();
}

static void add(struct ll_writer *writer, const char *text, uint64_t weight)
{
    struct ll_bytes content = {0};
    ll_put_varint(&content, LL_FRAME_END + 1);
    ll_put_raw(&content, 1, text, strlen(text));
    ll_writer_add(writer, &content, 7, weight);
    ll_bytes_release(&content);
}

static uint64_t file_size(void)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (uint64_t)info.st_size;
}

static int files_in_folder(void)
{
    DIR *entries = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

static void the_file_is_there_from_the_beginning_and_alone(void **state)
{
    (void)state;
    struct ll_writer *writer = open_writer();
    assert_int_equal(file_size(), LL_HEADER_BYTES);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
}

static void the_old_file_lives_until_the_new_one_is_whole(void **state)
{
    (void)state;
    struct ll_writer *writer = open_writer();
    add(writer, "old", 0);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
    uint64_t old_size = file_size();
    writer = open_over();
    assert_int_equal(ll_writer_flush(writer), LL_OK);
    assert_int_equal(file_size(), old_size);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
    assert_true(file_size() < old_size);
    assert_int_equal(files_in_folder(), 1);
}

/* As when the disk is full. */
static void what_is_not_whole_costs_no_old_file_and_is_kept_beside_it(void **state)
{
    (void)state;
    char rest[80];
    snprintf(rest, sizeof rest, "%s.part", path);
    struct ll_writer *writer = open_writer();
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
    uint64_t old_size = file_size();
    writer = open_over(); /* nothing was recorded: nothing is to be kept */
    assert_int_equal(ll_writer_close(writer, false), LL_OK);
    assert_int_equal(files_in_folder(), 1);
    writer = open_over();
    add(writer, "new", 0);
    assert_int_equal(ll_writer_close(writer, false), LL_OK);
    assert_int_equal(file_size(), old_size);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(unlink(rest), 0);
}

/* One that points to nothing yet, too. */
static void a_link_to_a_trace_stays_one(void **state)
{
    (void)state;
    char link[80];
    struct stat info;
    snprintf(link, sizeof link, "%s/link.llt", folder);
    unlink(path);
    assert_int_equal(symlink("a.llt", link), 0);
    for (int i = 0; i < 2; i++) {
        enum ll_status status;
        struct ll_writer *writer = ll_writer_open(link, &status);
        assert_non_null(writer);
        add(writer, "some", 0);
        assert_int_equal(ll_writer_close(writer, true), LL_OK);
        assert_int_equal(lstat(link, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
        assert_true(file_size() > LL_HEADER_BYTES);
        assert_int_equal(files_in_folder(), 2);
    }
    unlink(link);
}

static void frames_are_on_disk_after_a_flush_and_not_before(void **state)
{
    (void)state;
    struct ll_writer *writer = open_writer();
    add(writer, "one", 0);
    add(writer, "two", 0);
    assert_int_equal(file_size(), LL_HEADER_BYTES);
    assert_int_equal(ll_writer_flush(writer), LL_OK);
    assert_in_range(file_size(), LL_HEADER_BYTES + 2 * LL_HEAD_BYTES, 500);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
}

static uint64_t read_file(uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, size, file);
    fclose(file);
    return got;
}

static void frames_are_found_as_they_were_added(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    const char *const texts[] = {"first", "second", "third"};
    struct ll_writer *writer = open_writer();
    for (int i = 0; i < 3; i++)
        add(writer, texts[i], 0);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
    struct ll_diags diags = {0};
    struct ll_walk walk;
    struct ll_frame frame;
    bool found;
    assert_int_equal(ll_walk_open(&walk, bytes, read_file(bytes, sizeof bytes), "a.llt", &diags), LL_OK);
    for (uint32_t i = 0; i < 3; i++) {
        struct ll_column column;
        assert_int_equal(ll_walk_next(&walk, &frame, &found), LL_OK);
        assert_true(found);
        assert_int_equal(frame.number, i);
        assert_int_equal(frame.kind, LL_FRAME_END + 1);
        assert_int_equal(frame.offset, walk.index[i].offset);
        assert_true(ll_take_column(&frame.columns, &column));
        assert_memory_equal(column.bytes.at, texts[i], strlen(texts[i]));
    }
    assert_int_equal(ll_walk_next(&walk, &frame, &found), LL_OK);
    assert_false(found);
    assert_int_equal(diags.count, 0);
    assert_int_equal(ll_walk_indexed_ops(&walk), 21);
    ll_walk_close(&walk);
    ll_diags_release(&diags);
}

/* A weight of 64 MiB is free; 256 more want a byte more each. */
static void what_weighs_much_is_padded(void **state)
{
    (void)state;
    struct ll_writer *writer = open_writer();
    add(writer, "light", ll_growth_limit(0));
    assert_int_equal(ll_writer_flush(writer), LL_OK);
    assert_in_range(file_size(), 1, 200);
    add(writer, "heavy", 256 * 10000);
    assert_int_equal(ll_writer_flush(writer), LL_OK);
    assert_in_range(file_size(), 10000, 10200);
    assert_int_equal(ll_writer_close(writer, true), LL_OK);
}

static void a_file_that_is_not_whole_gets_no_index(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    struct ll_writer *writer = open_writer();
    add(writer, "torso", 0);
    assert_int_equal(ll_writer_close(writer, false), LL_OK);
    uint64_t size = read_file(bytes, sizeof bytes);
    assert_int_equal(ll_index_bytes((struct ll_view){bytes, bytes + size}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_there_from_the_beginning_and_alone),
        cmocka_unit_test(the_old_file_lives_until_the_new_one_is_whole),
        cmocka_unit_test(what_is_not_whole_costs_no_old_file_and_is_kept_beside_it),
        cmocka_unit_test(a_link_to_a_trace_stays_one),
        cmocka_unit_test(frames_are_on_disk_after_a_flush_and_not_before),
        cmocka_unit_test(frames_are_found_as_they_were_added),
        cmocka_unit_test(what_weighs_much_is_padded),
        cmocka_unit_test(a_file_that_is_not_whole_gets_no_index),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
