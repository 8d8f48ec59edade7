/* SPDX-License-Identifier: Apache-2.0 */
/* Against the values that its authors published (Fowler, Noll, Vo and Eastlake, The FNV non-cryptographic
 * hash algorithm, appendix C). */
#include "check.h"

#include "tracer/base/hash.h"

static void hashes_are_those_published(void **state)
{
    (void)state;
    assert_int_equal(ll_hash_bytes(LL_HASH_START, "", 0), 0xcbf29ce484222325);
    assert_int_equal(ll_hash_bytes(LL_HASH_START, "a", 1), 0xaf63dc4c8601ec8c);
    assert_int_equal(ll_hash_bytes(LL_HASH_START, "foobar", 6), 0x85944171f73967e8);
    assert_int_equal(ll_digest("", 0), 0x811c9dc5);
    assert_int_equal(ll_digest("a", 1), 0xe40c292c);
    assert_int_equal(ll_digest("foobar", 6), 0xbf9cf968);
}

static void hashes_go_on_where_they_ended(void **state)
{
    (void)state;
    uint64_t whole = ll_hash_bytes(LL_HASH_START, "foobar", 6);
    assert_int_equal(ll_hash_bytes(ll_hash_bytes(LL_HASH_START, "foo", 3), "bar", 3), whole);
}

static void texts_end_where_they_end(void **state)
{
    (void)state;
    uint64_t one = ll_hash_text(ll_hash_text(LL_HASH_START, "ab"), "c");
    uint64_t other = ll_hash_text(ll_hash_text(LL_HASH_START, "a"), "bc");
    assert_int_not_equal(one, other);
}

static void numbers_are_hashed_from_their_lowest_byte_on(void **state)
{
    (void)state;
    assert_int_equal(ll_hash_number(LL_HASH_START, UINT64_C(0x61626f6f66), 5),
                     ll_hash_bytes(LL_HASH_START, "fooba", 5));
    assert_int_equal(ll_hash_number(LL_HASH_START, 'a', 1), 0xaf63dc4c8601ec8c);
    assert_int_equal(ll_hash_number(LL_HASH_START, 1, 4), ll_hash_bytes(LL_HASH_START, "\1\0\0", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_published),
        cmocka_unit_test(hashes_go_on_where_they_ended),
        cmocka_unit_test(texts_end_where_they_end),
        cmocka_unit_test(numbers_are_hashed_from_their_lowest_byte_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
