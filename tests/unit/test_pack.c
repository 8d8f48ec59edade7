/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/page/page.h"

#include <unistd.h>

static int digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* The dumb twin: base64 to bytes, then what gzip itself makes of them. */
static size_t unpack(const char *text, unsigned char *bytes, size_t room)
{
    char path[] = "/tmp/leadline_pack_XXXXXX";
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "wb");
    for (const char *p = text; *p; p += 4) {
        int value = digit(p[0]) << 18 | digit(p[1]) << 12 | (p[2] == '=' ? 0 : digit(p[2]) << 6) |
                    (p[3] == '=' ? 0 : digit(p[3]));
        fputc(value >> 16, file);
        if (p[2] != '=')
            fputc(value >> 8 & 255, file);
        if (p[3] != '=')
            fputc(value & 255, file);
    }
    fclose(file);
    char command[128];
    snprintf(command, sizeof command, "gzip -dc < %s", path);
    FILE *plain = popen(command, "r");
    size_t length = fread(bytes, 1, room, plain);
    assert_int_equal(pclose(plain), 0);
    unlink(path);
    return length;
}

static void what_was_packed_comes_back(void **state)
{
    (void)state;
    uint64_t random = ll_seed(1);
    enum { MOST = 1 << 20 };
    unsigned char *bytes = malloc(MOST), *again = malloc(MOST);
    const size_t lengths[] = {0, 1, 2, 3, 4, 5, 767, 768, 769, 196608, 196609, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int plain = 0; plain < 2; plain++) {
            struct ll_str text = {0};
            for (size_t b = 0; b < lengths[i]; b++)
                bytes[b] = (unsigned char)(plain ? b / 1000 : ll_random(&random));
            assert_true(ll_pack(bytes, lengths[i], &text));
            assert_int_equal(text.length % 4, 0);
            assert_int_equal(unpack(text.text, again, MOST), lengths[i]);
            assert_memory_equal(bytes, again, lengths[i]);
            ll_str_release(&text);
        }
    free(bytes);
    free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_packed_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
