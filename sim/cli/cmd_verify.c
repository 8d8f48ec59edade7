/* SPDX-License-Identifier: Apache-2.0 */
/* leadline verify T.llt: whole, or how much is. */
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "tracer/base/json.h"

#include <inttypes.h>

static void verdict_json(const struct ll_trace *trace, bool whole, struct ll_str *out)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"ops", trace->op_count},
                  {"complete_steps", ll_complete_steps(trace)},
                  {"file_bytes", trace->file_bytes},
                  {"lost_bytes", trace->lost_bytes},
                  {"lost_frames", trace->lost_frames},
                  {"lost_ops", trace->lost_ops},
                  {"dropped_events", ll_dropped_events(trace)}};
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_object(&json);
    ll_json_put_bool(&json, "whole", whole);
    ll_json_put_bool(&json, "closed", trace->closed);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        ll_json_put_count(&json, counts[i].key, counts[i].count);
    }
    ll_json_close_object(&json);
}

static int run(const struct ll_args *args)
{
    int status;
    struct ll_trace *trace = ll_read_trace(args->words[0], &status);
    if (!trace)
        return status;
    struct ll_str out = {0};
    ll_str_addf(&out, "%s: ", args->words[0]);
    bool whole = ll_add_condition(trace, &out);
    ll_str_add(&out, "\n");
    if (ll_flag(args, "json")) {
        ll_str_release(&out);
        verdict_json(trace, whole, &out);
    }
    ll_trace_free(trace);
    status = ll_print(&out);
    return status != LL_DONE ? status : whole ? LL_DONE : LL_FAILED;
}

const struct ll_command ll_command_verify = {
    .name = "verify",
    .synopsis = "TRACE",
    .summary = "check whether a trace is whole, or how much of it can be used",
    .examples = "  leadline verify alexnet.llt\n  leadline verify alexnet.llt --json\n",
    .details =
        "Exit status: 0 when the trace is whole; 1 when it is damaged or cut off, or events of the "
        "recorded program found no room, but the rest can be used; 2 when nothing of it can be used.\n",
    .least_words = 1,
    .most_words = 1,
    .run = run,
};
