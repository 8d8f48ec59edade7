/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/format/format.h"

#include <stdlib.h>
#include <string.h>

struct sample {
    struct ll_codec *codec;
    uint8_t content[5000], unpacked[5000];
    struct ll_bytes packed;
};

static void pack(struct sample *sample)
{
    memset(sample, 0, sizeof *sample);
    sample->codec = ll_codec_new();
    assert_non_null(sample->codec);
    for (size_t i = 0; i < sizeof sample->content; i++)
        sample->content[i] = (uint8_t)(i % 97 * (i / 1000));
    ll_frame_pack(sample->codec, sample->content, sizeof sample->content, &sample->packed);
    assert_false(sample->packed.failed);
}

static void release(struct sample *sample)
{
    ll_codec_free(sample->codec);
    ll_bytes_release(&sample->packed);
}

static enum ll_status unpack(struct sample *sample, uint64_t packed_size, uint64_t size)
{
    struct ll_view stored = {sample->packed.data, sample->packed.data + packed_size};
    return ll_frame_unpack(sample->codec, stored, sample->unpacked, size);
}

static void a_frame_unpacks_to_what_was_packed(void **state)
{
    (void)state;
    struct sample sample;
    pack(&sample);
    assert_in_range(sample.packed.size, 1, sizeof sample.content / 2);
    assert_int_equal(unpack(&sample, sample.packed.size, sizeof sample.content), LL_OK);
    assert_memory_equal(sample.unpacked, sample.content, sizeof sample.content);
    release(&sample);
}

static void another_size_than_the_frame_states_is_refused(void **state)
{
    (void)state;
    struct sample sample;
    pack(&sample);
    for (uint64_t size = 0; size < sizeof sample.content; size += 7)
        assert_int_equal(unpack(&sample, sample.packed.size, size), LL_DAMAGED);
    release(&sample);
}

static void bytes_missing_or_left_over_are_refused(void **state)
{
    (void)state;
    struct sample sample;
    pack(&sample);
    for (uint64_t size = 0; size < sample.packed.size; size++)
        assert_int_equal(unpack(&sample, size, sizeof sample.content), LL_DAMAGED);
    ll_put_bytes(&sample.packed, "x", 1);
    assert_int_equal(unpack(&sample, sample.packed.size, sizeof sample.content), LL_DAMAGED);
    release(&sample);
}

/* Two frames in one place are one too many, though zstd itself would take both. */
static void two_frames_are_not_one(void **state)
{
    (void)state;
    struct sample sample;
    pack(&sample);
    ll_frame_pack(sample.codec, sample.content, 0, &sample.packed);
    assert_int_equal(unpack(&sample, sample.packed.size, sizeof sample.content), LL_DAMAGED);
    release(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_unpacks_to_what_was_packed),
        cmocka_unit_test(another_size_than_the_frame_states_is_refused),
        cmocka_unit_test(bytes_missing_or_left_over_are_refused),
        cmocka_unit_test(two_frames_are_not_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
