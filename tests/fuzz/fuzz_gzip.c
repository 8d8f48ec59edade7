/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a gzip file: unpacked within its bound or refused; what is packed again comes back. */
#include "tracer/base/file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 18 };
    struct ll_arena arena = {0};
    struct ll_contents text = {0}, again = {0};
    struct ll_str packed = {0};
    enum ll_status status = ll_gunzip((const char *)data, size, MOST, &arena, &text);
    expect(status == LL_OK || status == LL_GZIP_DAMAGED || status == LL_GZIP_TOO_LONG);
    expect(status != LL_OK || (text.length <= MOST && text.bytes[text.length] == '\0'));
    expect(ll_gzip(data, size, &packed));
    expect(ll_gunzip(packed.text, packed.length, size, &arena, &again) == LL_OK);
    expect(again.length == size && (size == 0 || memcmp(again.bytes, data, size) == 0));
    ll_str_release(&packed);
    ll_arena_release(&arena);
    return 0;
}
