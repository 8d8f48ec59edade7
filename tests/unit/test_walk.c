/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a damaged file: which frame, where, and how much is lost. */
#include "check.h"

#include "tracer/base/clock.h"
#include "tracer/format/format.h"
#include "tracer/format/reader.h"
#include "tracer/format/walk.h"

#include <stdlib.h>
#include <string.h>

/* A header, three frames of ops as far as the index says, the index. */
static struct ll_bytes file;
static uint64_t frame_at[4];

static void make_file(void)
{
    struct ll_codec *codec = ll_codec_new();
    struct ll_bytes content = {0}, packed = {0};
    struct ll_index_entry entries[3];
    ll_bytes_release(&file);
    ll_put_header(&file);
    for (uint32_t i = 0; i < 3; i++) {
        packed.size = content.size = 0;
        ll_put_varint(&content, LL_FRAME_OPS);
        ll_put_raw(&content, 1, "some content, some content", 26);
        ll_frame_pack(codec, content.data, content.size, &packed);
        frame_at[i] = file.size;
        entries[i] = (struct ll_index_entry){LL_FRAME_OPS, file.size, 100};
        const struct ll_head head = {
            {1, 0}, i, (uint32_t)packed.size, (uint32_t)content.size, ll_crc32c(packed.data, packed.size)};
        ll_put_head(&file, &head);
        ll_put_bytes(&file, packed.data, packed.size);
    }
    frame_at[3] = file.size;
    ll_put_index(&file, entries, 3);
    assert_false(file.failed);
    ll_bytes_release(&content);
    ll_bytes_release(&packed);
    ll_codec_free(codec);
}

/* Walks over size bytes; the complaints must be these, NULL behind the last. */
static struct ll_walk walk_over(uint64_t size, const char *const *complaints)
{
    struct ll_diags diags = {0};
    struct ll_walk walk;
    struct ll_frame frame;
    bool found = ll_walk_open(&walk, file.data, size, "t.llt", &diags) == LL_OK;
    while (found)
        assert_int_equal(ll_walk_next(&walk, &frame, &found), LL_OK);
    size_t count = 0;
    for (; complaints[count] && count < diags.count; count++) {
        assert_string_equal(diags.kept[count].message, complaints[count]);
        assert_string_equal(diags.kept[count].place.file, "t.llt");
    }
    assert_null(complaints[count]);
    assert_int_equal(diags.count, count);
    ll_diags_release(&diags);
    ll_walk_close(&walk);
    return walk;
}

static void a_whole_file_gives_no_cause_for_complaint(void **state)
{
    (void)state;
    make_file();
    struct ll_walk walk = walk_over(file.size, (const char *const[]){NULL});
    assert_int_equal(walk.frames, 3);
    assert_int_equal(walk.lost_bytes + walk.lost_frames, 0);
}

static void damaged_data_is_named_with_what_the_index_knows(void **state)
{
    (void)state;
    make_file();
    char expected[128];
    snprintf(expected, sizeof expected,
             "frame 1 at byte %d (100 ops from op 100) is lost: its checksum is wrong", (int)frame_at[1]);
    file.data[frame_at[1] + LL_HEAD_BYTES + 9] ^= 1;
    struct ll_walk walk = walk_over(file.size, (const char *const[]){expected, NULL});
    assert_int_equal(walk.frames, 2);
    assert_int_equal(walk.lost_frames, 1);
    assert_int_equal(walk.lost_bytes, frame_at[2] - frame_at[1]);
}

static void behind_a_damaged_head_the_next_is_found(void **state)
{
    (void)state;
    make_file();
    char lost[128];
    snprintf(lost, sizeof lost, "%d bytes at byte %d are no frame and are lost",
             (int)(frame_at[2] - frame_at[1]), (int)frame_at[1]);
    file.data[frame_at[1] + 12] ^= 1;
    struct ll_walk walk =
        walk_over(file.size, (const char *const[]){lost, "1 frame is missing before frame 2", NULL});
    assert_int_equal(walk.frames, 2);
    assert_int_equal(walk.lost_frames, 1);
    assert_int_equal(walk.lost_bytes, frame_at[2] - frame_at[1]);
}

static void a_file_that_is_cut_off_lost_its_last_frame(void **state)
{
    (void)state;
    make_file();
    char cut[128];
    snprintf(cut, sizeof cut, "frame 2 at byte %d is cut off by the end of the file", (int)frame_at[2]);
    struct ll_walk walk = walk_over(
        frame_at[3] - 1, (const char *const[]){cut,
                                               "the index is missing or damaged: the recording did not "
                                               "end normally, the file was cut off, or bytes "
                                               "follow its end",
                                               NULL});
    assert_int_equal(walk.frames, 2);
    assert_int_equal(walk.lost_bytes, frame_at[3] - 1 - frame_at[2]);
    assert_false(ll_fits(ll_walk_indexed_ops(&walk)));
}

/* Frames of a byte each, whose checksums are wrong: the index is summed for complaints that are kept. */
static void a_file_of_damage_alone_is_walked_in_moments(void **state)
{
    (void)state;
    enum { FRAMES = 1 << 18 };
    struct ll_index_entry *entries = calloc(FRAMES, sizeof *entries);
    struct ll_diags diags = {0};
    struct ll_walk walk;
    struct ll_frame frame;
    ll_bytes_release(&file);
    ll_put_header(&file);
    for (uint32_t i = 0; i < FRAMES; i++) {
        entries[i] = (struct ll_index_entry){LL_FRAME_OPS, file.size, 1};
        ll_put_head(&file, &(const struct ll_head){{1, 0}, i, 1, 1, 0});
        ll_put_bytes(&file, "x", 1);
    }
    ll_put_index(&file, entries, FRAMES);
    free(entries);
    uint64_t start_ns = ll_now_ns();
    bool found = ll_walk_open(&walk, file.data, file.size, "t.llt", &diags) == LL_OK;
    while (found)
        assert_int_equal(ll_walk_next(&walk, &frame, &found), LL_OK);
    assert_true(ll_now_ns() - start_ns < 5000000000u); /* the index once a frame would be 3e10 additions */
    assert_int_equal(walk.lost_frames, FRAMES);
    assert_int_equal(diags.count, FRAMES);
    ll_diags_release(&diags);
    ll_walk_close(&walk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_file_gives_no_cause_for_complaint),
        cmocka_unit_test(damaged_data_is_named_with_what_the_index_knows),
        cmocka_unit_test(behind_a_damaged_head_the_next_is_found),
        cmocka_unit_test(a_file_that_is_cut_off_lost_its_last_frame),
        cmocka_unit_test(a_file_of_damage_alone_is_walked_in_moments),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ll_bytes_release(&file);
    return failed;
}
