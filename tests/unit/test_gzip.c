/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/base/file.h"

#include <unistd.h>

static struct ll_str packed_zeros(size_t count)
{
    struct ll_str packed = {0};
    char *zeros = calloc(count + 1, 1);
    assert_true(ll_gzip(zeros, count, &packed));
    free(zeros);
    return packed;
}

/* What gzip itself makes, of several files one behind the other, padded as on a tape. */
static void what_gzip_packed_is_read(void **state)
{
    (void)state;
    char path[] = "/tmp/leadline_gzip_XXXXXX", command[256];
    close(mkstemp(path));
    snprintf(command, sizeof command,
             "(printf one | gzip -9; printf '' | gzip; printf two | gzip -1; head -c 99 /dev/zero) > %s",
             path);
    assert_int_equal(system(command), 0);
    struct ll_arena arena = {0};
    struct ll_contents text = {0};
    assert_int_equal(ll_read_whole(path, 1000, &arena, &text), LL_OK);
    assert_int_equal(text.length, 6);
    assert_string_equal(text.bytes, "onetwo");
    unlink(path);
    ll_arena_release(&arena);
}

static void any_byte_altered_or_missing_is_damage(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_contents text = {0};
    struct ll_str packed = {0};
    assert_true(ll_gzip("a text that is packed", 21, &packed));
    for (size_t length = 0; length < packed.length; length++)
        assert_int_equal(ll_gunzip(packed.text, length, 1000, &arena, &text), LL_GZIP_DAMAGED);
    size_t refused = 0;
    for (size_t bit = 80; bit < 8 * packed.length; bit++) { /* behind the header, which nothing guards */
        packed.text[bit / 8] ^= (char)(1 << bit % 8);
        text = (struct ll_contents){0};
        enum ll_status status = ll_gunzip(packed.text, packed.length, 1000, &arena, &text);
        refused += status != LL_OK;
        if (status == LL_OK) /* bits that fill the last byte mean nothing */
            assert_string_equal(text.bytes, "a text that is packed");
        packed.text[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_true(refused + 80 + 8 > 8 * packed.length);
    assert_int_equal(ll_gunzip(packed.text, packed.length, 1000, &arena, &text), LL_OK);
    ll_str_add(&packed, "more");
    assert_int_equal(ll_gunzip(packed.text, packed.length, 1000, &arena, &text), LL_GZIP_DAMAGED);
    assert_string_equal(text.bytes, "a text that is packed");
    ll_str_release(&packed);
    ll_arena_release(&arena);
}

/* 400 MiB of zeros become 400 kB: they are counted and never held. */
static void what_unpacks_to_too_much_takes_no_memory(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_contents text = {0};
    struct ll_str packed = packed_zeros(1000);
    assert_int_equal(ll_gunzip(packed.text, packed.length, 999, &arena, &text), LL_GZIP_TOO_LONG);
    assert_int_equal(ll_gunzip(packed.text, packed.length, 1000, &arena, &text), LL_OK);
    ll_str_release(&packed);
    ll_arena_release(&arena);
    arena = (struct ll_arena){0};
    packed = packed_zeros((size_t)400 << 20);
    assert_int_equal(ll_gunzip(packed.text, packed.length, UINT64_MAX, &arena, &text), LL_GZIP_TOO_LONG);
    assert_null(arena.newest);
    ll_str_release(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_gzip_packed_is_read),
        cmocka_unit_test(any_byte_altered_or_missing_is_damage),
        cmocka_unit_test(what_unpacks_to_too_much_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
