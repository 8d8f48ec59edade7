/* SPDX-License-Identifier: Apache-2.0 */
/* What the searches for mappings on arrays looked at, and how much better what they left out may be. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"
#include "tracer/base/str.h"

/* Of a step; mappings of each signature once. */
struct searched {
    uint64_t mappings, ops, ops_in_part;
    double gap_s, gap_j; /* what a step could take less at most, were all mappings looked at */
};

static struct searched searched_of(const struct ll_result *result)
{
    const struct ll_trace *trace = result->prepared->trace;
    const struct ll_prepared *prepared = result->prepared;
    struct searched sum = {0};
    bool *seen = calloc(trace->signature_count + 1, sizeof *seen);
    double steps = (double)prepared->steps;
    for (uint32_t seq = prepared->first_op; seen && result->costs && seq < prepared->end_op; seq++) {
        const struct ll_cost *cost = ll_replay_cost(result, seq);
        if (!cost || cost->mappings == 0)
            continue;
        sum.mappings += seen[trace->ops[seq].signature] ? 0 : cost->mappings;
        seen[trace->ops[seq].signature] = true;
        sum.ops++;
        sum.ops_in_part += cost->mapped_in_part;
        sum.gap_s += cost->mapped_in_part ? cost->mapping_gap_s / steps : 0;
        sum.gap_j += cost->mapped_in_part ? cost->mapping_gap_j / steps : 0;
    }
    free(seen);
    return sum;
}

void ll_searched_text(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    struct searched sum = searched_of(result);
    struct ll_human time, energy;
    struct ll_str line = {0};
    if (sum.ops_in_part == 0)
        return;
    ll_str_addf(
        &line,
        "of %" PRIu64 " of %" PRIu64
        " ops on the array a part of the mappings was searched: by the bounds others take at most %s less",
        sum.ops_in_part, sum.ops, ll_format_si(&time, sum.gap_s, "s/step"));
    if (result->machine->energy_given)
        ll_str_addf(&line, ", or %s less", ll_format_si(&energy, sum.gap_j, "J/step"));
    ll_end_line(&line, width, out);
}

void ll_searched_json(const struct ll_result *result, struct ll_json *json)
{
    struct searched sum = searched_of(result);
    if (sum.ops == 0)
        return;
    ll_json_put_count(json, "mappings_evaluated", sum.mappings);
    ll_json_put_bool(json, "mappings_complete", sum.ops_in_part == 0);
    ll_json_put_number(json, "mappings_gap_s", sum.gap_s);
    if (result->machine->energy_given)
        ll_json_put_number(json, "mappings_gap_j", sum.gap_j);
}
