/* SPDX-License-Identifier: Apache-2.0 */
/* leadline dump T.llt: one JSON object an op, a line each; `leadline export jsonl` by its everyday name. */
#include "sim/cli/choices.h"
#include "sim/cli/load.h"

#include <unistd.h>

static int run(const struct ll_args *args)
{
    int status;
    struct ll_trace *trace = ll_load_trace(args->words[0], &status);
    if (!trace)
        return status;
    struct ll_export request = {.trace = trace, .file = STDOUT_FILENO};
    status = ll_run_export(ll_find_format("jsonl", false), &request, "standard output");
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    {"json", 0, NULL, "the same: a dump is JSON, an object a line"},
    {0},
};

const struct ll_command ll_command_dump = {
    .name = "dump",
    .synopsis = "TRACE",
    .summary = "print every op of a trace as a line of JSON",
    .examples =
        "  leadline dump alexnet.llt | head -3\n  leadline dump alexnet.llt | grep '\"kind\":\"conv2d\"'\n",
    .details = "The dump is always JSON, one object per line.\n",
    .options = options,
    .least_words = 1,
    .most_words = 1,
    .run = run,
};
