/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/pack.h"

#include "tracer/base/gzip.h"

#include <stdint.h>

static void add_base64(struct ll_str *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t here = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (here > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (here > 2 ? bytes[i + 2] : 0);
        text[used++] = digits[bits >> 18];
        text[used++] = digits[bits >> 12 & 63];
        text[used++] = '=';
        text[used++] = '=';
        if (here > 1)
            text[used - 2] = digits[bits >> 6 & 63];
        if (here > 2)
            text[used - 1] = digits[bits & 63];
        if (used == sizeof text || i + 3 >= length) {
            ll_str_add_bytes(out, text, used);
            used = 0;
        }
    }
}

bool ll_pack(const void *bytes, size_t length, struct ll_str *out)
{
    struct ll_str packed = {0};
    bool done = ll_gzip(bytes, length, &packed);
    if (done)
        add_base64(out, (const unsigned char *)packed.text, packed.length);
    ll_str_release(&packed);
    return done && !out->failed;
}
