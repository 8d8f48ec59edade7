/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/simulated.h"

#include "sim/cli/load.h"
#include "sim/cli/paths.h"
#include "sim/parallel/together.h"
#include "sim/replay/communication.h"
#include "sim/replay/remembered.h"
#include "sim/replay/replay.h"

#include <inttypes.h>
#include <stdlib.h>

/* Tracks of a device: of its units, of each level of the network, and of the host, the last. */
static uint32_t tracks_of(const struct ll_machine *machine)
{
    return (uint32_t)(machine->unit_count + machine->network_count + 1);
}

/* Exchanges between devices have a track for each level of the network. Ops without a unit, views and input,
 * run on the host. */
static uint32_t track_of(const struct ll_result *result, uint32_t seq, const struct ll_op_detail *detail)
{
    uint32_t unit = result->ops[seq - result->prepared->first_op].unit,
             units = (uint32_t)result->machine->unit_count;
    if (detail->price && detail->price->levels)
        return units + detail->price->outermost;
    return unit == LL_NO_UNIT ? tracks_of(result->machine) - 1 : unit;
}

static void place(const struct ll_result *result, uint32_t ranks, struct ll_scheduled *ops, double *bytes)
{
    const struct ll_prepared *prepared = result->prepared;
    uint32_t count = prepared->end_op - prepared->first_op;
    uint64_t levels = result->machine->level_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_op_result *op = &result->ops[i];
        struct ll_op_detail detail = ll_replay_detail(result, prepared->first_op + i);
        uint32_t rank = ranks > 1 ? prepared->trace->ops[prepared->first_op + i].thread : 0;
        ops[i] = (struct ll_scheduled){.start_s = op->start_s,
                                       .time_s = op->time_s,
                                       .track = rank * tracks_of(result->machine) +
                                                track_of(result, prepared->first_op + i, &detail),
                                       .bound = ll_bound_name(result->machine, op->bound)};
        for (uint64_t l = 0; l < levels; l++)
            bytes[i * levels + l] = detail.traffic_bytes[l];
    }
}

/* False when memory ran out. */
static bool name_tracks(const struct ll_machine *machine, uint32_t ranks, const char **tracks,
                        struct ll_arena *arena)
{
    uint32_t units = (uint32_t)machine->unit_count, each = tracks_of(machine);
    for (uint32_t i = 0; i < ranks * each; i++) {
        uint32_t of = i % each;
        const char *name = of + 1 == each ? "host"
                           : of < units   ? machine->units[of].name
                                          : machine->networks[of - units].name;
        tracks[i] = ranks > 1 ? ll_format(arena, "rank %" PRIu32 ": %s", i / each, name) : name;
        if (!tracks[i])
            return false;
    }
    return true;
}

static const struct ll_op_schedule *schedule_of(const struct ll_result *result, struct ll_arena *arena)
{
    const struct ll_machine *machine = result->machine;
    uint32_t count = result->prepared->end_op - result->prepared->first_op,
             ranks = ll_trace_ranks(result->prepared->trace), tracked = ranks * tracks_of(machine);
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    struct ll_scheduled *ops = ll_alloc(arena, count, sizeof *ops);
    double *bytes = ll_alloc(arena, count * machine->level_count, sizeof *bytes);
    const char **tracks = ll_alloc(arena, tracked, sizeof *tracks);
    const char **levels = ll_alloc(arena, machine->level_count, sizeof *levels);
    if (!schedule || !ops || !bytes || !tracks || !levels || !name_tracks(machine, ranks, tracks, arena))
        return NULL;
    place(result, ranks, ops, bytes);
    for (uint64_t l = 0; l < machine->level_count; l++)
        levels[l] = machine->levels[l].name;
    *schedule = (struct ll_op_schedule){.name = machine->stem,
                                        .tracks = tracks,
                                        .track_count = tracked,
                                        .first_op = result->prepared->first_op,
                                        .op_count = count,
                                        .ops = ops,
                                        .level_count = (uint32_t)machine->level_count,
                                        .levels = levels,
                                        .level_bytes = bytes};
    return schedule;
}

/* A trace of several ranks is of devices that wait for one another. */
static const struct ll_result *play(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                    struct ll_arena *arena, struct ll_diags *diags)
{
    if (ll_trace_ranks(prepared->trace) == 1)
        return ll_replay(prepared, machine, arena, diags);
    struct ll_remembered remembered = {0};
    const struct ll_together *together = ll_replay_together(prepared, machine, &remembered, arena, diags);
    ll_remembered_release(&remembered);
    return together ? together->result : NULL;
}

static int replay(const struct ll_trace *trace, struct ll_simulated *simulated, struct ll_diags *diags)
{
    struct ll_arena *arena = &simulated->arena;
    const struct ll_prepared *prepared = ll_prepare(trace, arena, diags);
    const struct ll_result *result = prepared ? play(prepared, simulated->machine, arena, diags) : NULL;
    simulated->schedule = result ? schedule_of(result, arena) : NULL;
    ll_print_diags(diags);
    if (!simulated->schedule && diags->count == 0)
        return ll_failed("memory ran out");
    return simulated->schedule ? LL_DONE : LL_WRONG;
}

int ll_simulate(const struct ll_args *args, const char *machine, const struct ll_trace *trace,
                struct ll_simulated *simulated)
{
    size_t count;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int status = LL_WRONG;
    if (!folders || !diags)
        status = ll_failed("memory ran out");
    else if (overrides && (simulated->machine = ll_load_machine(machine, folders, overrides, count)))
        status = replay(trace, simulated, diags);
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return status;
}

void ll_simulated_release(struct ll_simulated *simulated)
{
    ll_arena_release(&simulated->arena);
    ll_machine_free(simulated->machine);
    *simulated = (struct ll_simulated){0};
}
