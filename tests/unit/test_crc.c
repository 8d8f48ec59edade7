/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/format/format.h"

#include <string.h>

/* RFC 3720, appendix B.4 (there in the byte order of the wire); "123456789" is the customary check value. */
static void the_sums_are_those_of_the_standard(void **state)
{
    (void)state;
    unsigned char bytes[32] = {0};
    assert_int_equal(ll_crc32c(bytes, 32), 0x8A9136AA);
    memset(bytes, 0xFF, 32);
    assert_int_equal(ll_crc32c(bytes, 32), 0x62A8AB43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(ll_crc32c(bytes, 32), 0x46DD794E);
    assert_int_equal(ll_crc32c("123456789", 9), 0xE3069283);
    assert_int_equal(ll_crc32c("", 0), 0);
}

/* The dumb twin: polynomial division, a bit at a time. */
static uint32_t divide(const unsigned char *bytes, size_t size)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < size * 8; i++) {
        uint32_t bit = (sum ^ bytes[i / 8] >> i % 8) & 1;
        sum = sum >> 1 ^ (bit ? 0x82F63B78u : 0);
    }
    return ~sum;
}

static void every_length_and_alignment_agrees_with_long_division(void **state)
{
    (void)state;
    unsigned char bytes[80];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + 7);
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t size = 0; begin + size <= sizeof bytes; size++)
            assert_int_equal(ll_crc32c(bytes + begin, size), divide(bytes + begin, size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sums_are_those_of_the_standard),
        cmocka_unit_test(every_length_and_alignment_agrees_with_long_division),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
