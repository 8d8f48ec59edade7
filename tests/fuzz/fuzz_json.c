/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON: read to the end or complained about once, every token within the text. */
#include "tracer/base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    const char *text = (const char *)data;
    struct ll_json_reader reader = {
        .file = "fuzz", .begin = text, .at = text, .end = text + size, .diags = diags};
    size_t tokens = 0;
    if (!diags)
        return 0;
    while (ll_json_read(&reader) != LL_JSON_END) {
        expect(reader.text >= text && reader.text + reader.length <= text + size && ++tokens <= size);
        if (reader.token == LL_JSON_KEY || reader.token == LL_JSON_TEXT)
            expect(ll_json_copy(&reader, &arena) != NULL);
        ll_json_as_integer(&reader);
        ll_json_as_real(&reader);
        if (tokens % 7 == 0)
            ll_json_pass(&reader);
    }
    expect(diags->count == reader.failed);
    ll_arena_release(&arena);
    ll_diags_release(diags);
    free(diags);
    return 0;
}
