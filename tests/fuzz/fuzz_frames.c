/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the contents of a trace's frames. Random changes of a whole file end at its checksums; here
 * the input is what lies behind them (two bytes of length, then so many of content, again and again), and is
 * wrapped in whole frames before it is read. */
#include "tracer/base/diag.h"
#include "tracer/crc.h"
#include "tracer/format.h"
#include "tracer/frame.h"
#include "tracer/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void wrap(struct ll_codec *codec, const uint8_t *content, uint32_t size, uint32_t number,
                 struct ll_bytes *file)
{
    struct ll_bytes packed = {0};
    ll_frame_pack(codec, content, size, &packed);
    struct ll_head head = {.version = {LL_FORMAT_MAJOR, LL_FORMAT_MINOR},
                           .number = number,
                           .stored_bytes = (uint32_t)packed.size,
                           .content_bytes = size,
                           .stored_crc = ll_crc32c(packed.data, packed.size)};
    ll_put_head(file, &head);
    ll_put_bytes(file, packed.data, packed.size);
    ll_bytes_release(&packed);
}

static void read_back(const struct ll_bytes *file)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    enum ll_status status = LL_OK;
    struct ll_trace *trace =
        diags ? ll_trace_parse(file->data, file->size, "frames.llt", diags, &status) : NULL;
    if (trace) {
        struct ll_arena arena = {0};
        if (ll_trace_check(trace, &arena))
            abort();
        ll_trace_deps(trace, &arena);
        ll_arena_release(&arena);
    }
    ll_trace_free(trace);
    if (diags)
        ll_diags_release(diags);
    free(diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_codec *codec = ll_codec_new();
    struct ll_bytes file = {0};
    if (!codec)
        return 0;
    ll_put_header(&file);
    for (uint32_t number = 0; size >= 2; number++) {
        uint32_t length = data[0] | (uint32_t)data[1] << 8;
        data += 2;
        size -= 2;
        length = length < size ? length : (uint32_t)size;
        wrap(codec, data, length, number, &file);
        data += length;
        size -= length;
    }
    if (!file.failed)
        read_back(&file);
    ll_bytes_release(&file);
    ll_codec_free(codec);
    return 0;
}
