/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/bursts.h"

double ll_share_of_bursts(const struct ll_dram_result *timed, uint64_t part)
{
    return timed->bursts ? (double)part / (double)timed->bursts : 0;
}

void ll_bursts_json(const struct ll_dram_result *timed, struct ll_json *json)
{
    ll_json_put_count(json, "bursts", timed->bursts);
    ll_json_put_count(json, "row_hits", timed->hits);
    ll_json_put_count(json, "row_misses", timed->misses);
    ll_json_put_count(json, "row_conflicts", timed->conflicts);
    ll_json_put_count(json, "refreshes", timed->refreshes);
}
