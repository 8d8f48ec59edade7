/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace. Checksums and compression would stop nearly every mutation at the door, so that an
 * input that is no trace file is taken for the contents of frames (a length of two bytes, then the content),
 * which are packed and sealed as a recorder would. Whatever the reader accepts must be fit for use. */
#include "sim/replay/recorded.h"
#include "tracer/ir/profile.h"
#include "tracer/ir/timeline.h"
#include "tracer/format/format.h"
#include "tracer/format/reader.h"
#include "tracer/transform/rescale.h"
#include "tracer/transform/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

/* What is made of it is fit for use, or there is a reason why it is not made. */
static void rescale(const struct ll_trace *trace, struct ll_arena *arena)
{
    const char *trouble;
    struct ll_trace *other = ll_trace_rescale(trace, 3, &trouble);
    demand(other ? !ll_trace_check(other, arena) : trouble != NULL);
    ll_trace_free(other);
}

static void retype(struct ll_trace *trace, struct ll_arena *arena)
{
    const char *trouble;
    if (ll_trace_change_dtype(trace, LL_BF16, &trouble))
        demand(!ll_trace_check(trace, arena));
    else
        demand(trouble != NULL);
}

/* What devices did, as it was and changed: as long as it was, and no shorter than what is busy in it. */
static void replay(const struct ll_device_timeline *timeline, struct ll_arena *arena)
{
    struct ll_timeline_change change = {.pattern = "a*", .factor = 0.5};
    uint64_t counted = 0;
    demand(!ll_timeline_check(timeline));
    for (uint64_t i = 0; i < timeline->event_count; i++)
        counted += ll_event_counts(timeline, &timeline->events[i]);
    if (counted == 0)
        return;
    const struct ll_timeline_replay *was = ll_timeline_replay(timeline, NULL, 0, arena);
    const struct ll_timeline_replay *changed = ll_timeline_replay(timeline, &change, 1, arena);
    demand(was && changed && isfinite(changed->span_s));
    for (uint32_t i = 0; i < timeline->rank_count; i++)
        demand(changed->replayed[i].busy_s <= changed->replayed[i].span_s * (1 + 1e-9) + 1e-9);
    double scale_s = was->recorded_span_s + 1e-9;
    demand(timeline->rank_count > 1 || fabs(was->span_s - was->recorded_span_s) <= 1e-6 * scale_s);
}

static void use(struct ll_trace *trace)
{
    struct ll_accounts accounts;
    struct ll_arena arena = {0};
    demand(!ll_trace_check(trace, &arena));
    const struct ll_deps *deps = ll_trace_deps(trace, &arena);
    demand(deps);
    for (uint64_t op = 0; op < trace->op_count; op++)
        for (uint64_t i = deps->first[op]; i < deps->first[op + 1]; i++)
            demand(deps->ops[i] < op && (i == deps->first[op] || deps->ops[i - 1] < deps->ops[i]));
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        struct ll_work work;
        if (trace->signatures[i].view.kind < LL_OP_NONE)
            ll_op_lower(&trace->signatures[i].view, &work);
    }
    demand(ll_catamount(trace, &accounts));
    if (trace->timeline)
        replay(trace->timeline, &arena);
    rescale(trace, &arena);
    retype(trace, &arena);
    ll_arena_release(&arena);
}

static void parse(const uint8_t *bytes, size_t size)
{
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_parse(bytes, size, "fuzz", &diags, &status);
    demand((trace != NULL) == (status == LL_OK));
    if (trace)
        use(trace);
    else
        demand(diags.count > 0 || status == LL_NO_MEMORY);
    ll_trace_free(trace);
    ll_diags_release(&diags);
}

static void put_frame(struct ll_bytes *file, struct ll_codec *codec, uint32_t number, struct ll_view content)
{
    struct ll_bytes packed = {0};
    ll_frame_pack(codec, content.at, (uint64_t)(content.end - content.at), &packed);
    const struct ll_head head = {{LL_FORMAT_MAJOR, LL_FORMAT_MINOR},
                                 number,
                                 (uint32_t)packed.size,
                                 (uint32_t)(content.end - content.at),
                                 ll_crc32c(packed.data, packed.size)};
    ll_put_head(file, &head);
    ll_put_bytes(file, packed.data, packed.size);
    ll_bytes_release(&packed);
}

static void seal_and_parse(struct ll_view in)
{
    struct ll_bytes file = {0};
    struct ll_codec *codec = ll_codec_new();
    uint16_t size;
    ll_put_header(&file);
    for (uint32_t number = 0; codec && ll_take_u16(&in, &size); number++) {
        struct ll_view content = {in.at, size < in.end - in.at ? in.at + size : in.end};
        put_frame(&file, codec, number, content);
        in.at = content.end;
    }
    if (!file.failed)
        parse(file.data, file.size);
    ll_codec_free(codec);
    ll_bytes_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t magic[] = {LL_MAGIC_HEADER & 0xFF, LL_MAGIC_HEADER >> 8 & 0xFF};
    if (size >= 2 && memcmp(bytes, magic, 2) == 0)
        parse(bytes, size);
    else
        seal_and_parse((struct ll_view){bytes, bytes + size});
    return 0;
}
