/* SPDX-License-Identifier: Apache-2.0 */
/* A trace from any bytes: what is read of it is shown, simulated and exported. Bytes that are no trace yet
 * are put behind the beginning of one, since none would be met by chance. */
#include "command.h"

#include "tracer/format/format.h"
#include "tracer/format/reader.h"

/* Contents, each behind its size in two bytes, as frames of a trace. */
static void put_frames(const uint8_t *data, size_t size)
{
    struct ll_view in = {data, data + size};
    struct ll_bytes file = {0};
    struct ll_codec *codec = ll_codec_new();
    uint16_t length;
    ll_put_header(&file);
    for (uint32_t number = 0; ll_take_u16(&in, &length); number++) {
        struct ll_view content = {in.at, length < in.end - in.at ? in.at + length : in.end};
        struct ll_bytes packed = {0};
        ll_frame_pack(codec, content.at, (uint64_t)(content.end - content.at), &packed);
        const struct ll_head head = {{LL_FORMAT_MAJOR, LL_FORMAT_MINOR},
                                     number,
                                     (uint32_t)packed.size,
                                     (uint32_t)(content.end - content.at),
                                     ll_crc32c(packed.data, packed.size)};
        ll_put_head(&file, &head);
        ll_put_bytes(&file, packed.data, packed.size);
        ll_bytes_release(&packed);
        in.at = content.end;
    }
    put_file("in.llt", file.data, file.size);
    ll_codec_free(codec);
    ll_bytes_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    if (ll_trace_begins((const char *)data, size))
        put_file("in.llt", data, size);
    else
        put_frames(data, size);
    RUN("verify", "in.llt");
    if (RUN("info", "in.llt", "--memory", "--json") != 0)
        return 0;
    RUN("dump", "in.llt");
    RUN("sim", "-c", "custom_example", "in.llt");
    RUN("sim", "-c", "custom_example", "--as-recorded", "in.llt");
    RUN("sim", "-c", "archive/vidur_a100", "--dp", "2", "--tp", "2", "--pp", "2", "--batch", "16", "--json",
        "in.llt");
    RUN("sim", "-c", "archive/vidur_a100", "--recompute", "selective", "--zero", "3", "--dp", "4", "--memory",
        "in.llt");
    RUN("sim", "-c", "custom_example", "--gemm-dtype", "f8", "--prune", "2:4", "in.llt");
    RUN("export", "chakra", "in.llt", "-o", "out.et");
    RUN("export", "scalesim", "in.llt", "-o", "out.csv");
    RUN("export", "timeline", "-c", "custom_example", "in.llt", "-o", "out.json");
    RUN("export", "timeline", "in.llt", "-o", "out.pftrace");
    RUN("export", "timeline", "-c", "archive/vidur_a100", "--dp", "2", "--pp", "2", "--batch", "8",
        "--micro-batch", "2", "-p", "flows=all", "in.llt", "-o", "out.pftrace");
    RUN("export", "csv", "-c", "custom_example", "in.llt", "-o", "out.csv");
    return 0;
}
