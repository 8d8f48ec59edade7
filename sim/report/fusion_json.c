/* SPDX-License-Identifier: Apache-2.0 */
/* A step on cores for programs: what JSON says of stacks, cores, memories and links; and the whole
 * schedule, every tile, transfer and piece, from which others can check it. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/report/fusion_report.h"
#include "tracer/ir/trace.h"

static void put_stacks(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "stacks");
    ll_json_open_list(json);
    for (uint64_t s = 0; s < fusion->stack_count; s++) {
        const struct ll_fusion_stack *stack = &fusion->stacks[s];
        ll_json_open_object(json);
        ll_json_put_count(json, "first_op", stack->first_op);
        ll_json_put_count(json, "last_op", stack->last_op);
        ll_json_put_count(json, "ops", stack->op_count);
        ll_json_put_text(json, "cut", stack->pipeline ? "pipeline" : "parallel");
        ll_json_put_count(json, "row_bands", stack->bands);
        ll_json_put_count(json, "column_parts", stack->columns);
        ll_json_put_count(json, "row_tiles", stack->steps);
        ll_json_put_count(json, "column_blocks", stack->column_blocks);
        ll_json_put_count(json, "depth_blocks", stack->depth_blocks);
        ll_json_put_count(json, "tiles", stack->tiles);
        ll_json_put_number(json, "start_s", stack->start_s);
        ll_json_put_number(json, "time_s", stack->time_s);
        ll_json_put_number(json, "bound_s", stack->bound_s);
        ll_json_put_number(json, "memory_bytes", stack->memory_bytes);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_cores(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "cores");
    ll_json_open_list(json);
    for (uint32_t c = 0; c < fusion->core_count; c++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "core", fusion->core_names[c]);
        ll_json_put_number(json, "busy_s", fusion->core_busy_s[c]);
        ll_json_put_number(json, "busy_share",
                           fusion->time_s > 0 ? fusion->core_busy_s[c] / fusion->time_s : 0);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_pools(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "memories");
    ll_json_open_list(json);
    for (uint64_t p = 0; p < fusion->pool_count; p++) {
        const struct ll_fusion_pool *pool = &fusion->pools[p];
        ll_json_open_object(json);
        ll_json_put_text(json, "core", fusion->core_names[pool->core]);
        ll_json_put_text(json, "memory", pool->name);
        ll_json_put_number(json, "capacity_bytes", pool->capacity_bytes);
        ll_json_put_number(json, "peak_bytes", pool->peak_bytes);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_links(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "links");
    ll_json_open_list(json);
    for (uint64_t l = 0; l < fusion->link_count; l++) {
        const struct ll_fusion_link *link = &fusion->links[l];
        ll_json_open_object(json);
        ll_json_put_text(json, "link", link->name);
        ll_json_put_number(json, "bandwidth_Bps", link->Bps);
        ll_json_put_number(json, "latency_s", link->latency_s);
        ll_json_put_number(json, "bytes", link->bytes);
        ll_json_put_number(json, "busy_share",
                           fusion->time_s > 0 ? link->bytes / link->Bps / fusion->time_s : 0);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_fusion_json(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "fusion");
    ll_json_open_object(json);
    ll_json_put_number(json, "time_s", fusion->time_s);
    ll_json_put_number(json, "layer_by_layer_s", fusion->layer_by_layer_s);
    ll_json_put_number(json, "bound_s", fusion->bound_s);
    ll_json_put_count(json, "plans_tried", fusion->plans_tried);
    ll_json_put_count(json, "plans_played", fusion->plans_played);
    ll_json_key(json, "energy");
    ll_json_open_object(json);
    bool given = fusion->machine->energy_given;
    ll_json_put_number(json, "arithmetic_j", given ? fusion->compute_j : NAN);
    ll_json_put_number(json, "core_memories_j", given ? fusion->tiles_j : NAN);
    ll_json_put_number(json, "links_j", given ? fusion->links_j : NAN);
    ll_json_put_number(json, "memory_j", given ? fusion->memory_j : NAN);
    ll_json_put_number(json, "static_j", given ? fusion->static_j : NAN);
    ll_json_close_object(json);
    put_stacks(fusion, json);
    put_cores(fusion, json);
    put_pools(fusion, json);
    put_links(fusion, json);
    ll_json_close_object(json);
}

/* --- the schedule --- */

static void put_range(struct ll_json *json, const char *key, const uint64_t range[2])
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    ll_json_count(json, range[0]);
    ll_json_count(json, range[1]);
    ll_json_close_list(json);
}

static void put_indices(struct ll_json *json, const char *key, const uint32_t *at, uint32_t count)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (uint32_t i = 0; i < count; i++)
        ll_json_count(json, at[i]);
    ll_json_close_list(json);
}

static void put_tiles(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "tiles");
    ll_json_open_list(json);
    for (uint64_t t = 0; t < fusion->task_count; t++) {
        const struct ll_fusion_task *task = &fusion->tasks[t];
        ll_json_open_object(json);
        ll_json_put_count(json, "op", task->op);
        ll_json_put_count(json, "stack", task->stack);
        ll_json_put_count(json, "core", task->core);
        ll_json_put_number(json, "start_s", task->start_s);
        ll_json_put_number(json, "end_s", task->end_s);
        put_range(json, "rows", task->rows);
        put_range(json, "columns", task->columns);
        put_range(json, "depth", task->depth);
        put_indices(json, "reads", &fusion->reads[task->first_read], task->read_count);
        ll_json_put_count(json, "adds_to", task->made);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_pieces(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "pieces");
    ll_json_open_list(json);
    for (uint64_t c = 0; c < fusion->copy_count; c++) {
        const struct ll_fusion_copy *copy = &fusion->copies[c];
        ll_json_open_object(json);
        ll_json_put_count(json, "stack", copy->stack);
        if (copy->op != LL_NONE)
            ll_json_put_count(json, "op", copy->op);
        if (copy->tensor != LL_NONE)
            ll_json_put_count(json, "tensor", copy->tensor);
        ll_json_put_count(json, "memory", copy->pool);
        ll_json_put_number(json, "bytes", copy->bytes);
        ll_json_put_number(json, "from_s", copy->from_s);
        ll_json_put_number(json, "until_s", copy->until_s);
        put_range(json, "rows", copy->rows);
        put_range(json, "columns", copy->columns);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_rates(const struct ll_fused_step *fusion, const struct ll_fusion_transfer *transfer,
                      struct ll_json *json)
{
    ll_json_key(json, "rates");
    ll_json_open_list(json);
    for (uint32_t r = 0; r < transfer->rate_count; r++) {
        const struct ll_fusion_rate *rate = &fusion->rates[transfer->first_rate + r];
        ll_json_open_list(json);
        ll_json_number(json, rate->from_s);
        ll_json_number(json, rate->until_s);
        ll_json_number(json, rate->Bps);
        ll_json_close_list(json);
    }
    ll_json_close_list(json);
}

static void put_transfers(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_key(json, "transfers");
    ll_json_open_list(json);
    for (uint64_t t = 0; t < fusion->transfer_count; t++) {
        const struct ll_fusion_transfer *transfer = &fusion->transfers[t];
        ll_json_open_object(json);
        ll_json_put_count(json, "stack", transfer->stack);
        ll_json_put_count(json, "from", transfer->from);
        if (transfer->source != LL_NONE)
            ll_json_put_count(json, "reads", transfer->source);
        put_indices(json, "fills", &fusion->there[transfer->first_there], transfer->there_count);
        ll_json_put_number(json, "bytes", transfer->bytes);
        ll_json_put_number(json, "start_s", transfer->start_s);
        ll_json_put_number(json, "end_s", transfer->end_s);
        put_rates(fusion, transfer, json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* Links of the way from an end to an end; the outermost memory is the end behind the last core. */
static void put_ways(const struct ll_fused_step *fusion, struct ll_json *json)
{
    uint32_t ends = fusion->core_count + 1;
    ll_json_key(json, "ways");
    ll_json_open_list(json);
    for (uint32_t from = 0; from < ends; from++) {
        ll_json_open_list(json);
        for (uint32_t to = 0; to < ends; to++) {
            size_t way = (size_t)from * ends + to;
            ll_json_open_list(json);
            for (uint16_t i = 0; i < fusion->route_lengths[way]; i++)
                ll_json_count(json, fusion->routes[way][i]);
            ll_json_close_list(json);
        }
        ll_json_close_list(json);
    }
    ll_json_close_list(json);
}

void ll_fusion_schedule_json(const struct ll_fused_step *fusion, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_number(json, "time_s", fusion->time_s);
    put_cores(fusion, json);
    put_pools(fusion, json);
    put_links(fusion, json);
    put_ways(fusion, json);
    put_tiles(fusion, json);
    put_pieces(fusion, json);
    put_transfers(fusion, json);
    ll_json_close_object(json);
}
