/* SPDX-License-Identifier: Apache-2.0 */
/* A replay as exporters of timelines want it, op by op. */
#include <inttypes.h>
#include <math.h>

#include "sim/cli/timeline.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* What ops of a device run on: its units, the levels of the network between devices, the host; the links to
 * the host and back; and what a recorded program did beside its ops. */
enum host_track { TRACK_HOST, TRACK_TO_HOST, TRACK_FROM_HOST, TRACK_PROGRAM, HOST_TRACKS };
static const char *const host_tracks[HOST_TRACKS] = {
    [TRACK_HOST] = "host",
    [TRACK_TO_HOST] = "memory copies to the host",
    [TRACK_FROM_HOST] = "memory copies from the host",
    [TRACK_PROGRAM] = "program",
};

static uint32_t track_count(const struct ll_machine *machine)
{
    return (uint32_t)(machine->unit_count + machine->network_count + HOST_TRACKS);
}

/* Views, which take no time, are beside all that is busy: they are on the track of the host. */
static uint32_t track_of(const struct ll_result *result, uint32_t seq, const struct ll_price *price)
{
    const struct ll_machine *machine = result->machine;
    const struct ll_work *work = &result->prepared->works[result->prepared->trace->ops[seq].signature];
    uint32_t unit = result->ops[seq - result->prepared->first_op].unit;
    uint32_t units = (uint32_t)machine->unit_count, hosts = units + (uint32_t)machine->network_count;
    if (price && price->levels)
        return units + price->outermost;
    if (work->kind == LL_WORK_SWAP)
        return hosts + (work->a_bytes > work->c_bytes ? TRACK_TO_HOST : TRACK_FROM_HOST);
    if (work->kind == LL_WORK_WAIT)
        return hosts + TRACK_PROGRAM;
    return unit == LL_NO_UNIT ? hosts + TRACK_HOST : unit;
}

/* An op of a replay, as the exporters want it. */
static void scheduled_at(const struct ll_op_schedule *schedule, uint32_t seq, struct ll_scheduled *scheduled)
{
    const struct ll_result *result = schedule->context;
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
    struct ll_op_detail detail = ll_replay_detail(result, seq);
    bool alone = schedule->process_count == 1;
    scheduled->start_s = op->start_s;
    scheduled->time_s = op->time_s;
    scheduled->active_s = fmin(op->active_s, op->time_s);
    /* Several ranks are replayed without the queues of their software. */
    scheduled->launch_s = alone ? op->launch_s : 0;
    scheduled->launch_start_s =
        result->machine->software.queue > 0 ? fmax(0, op->start_s - op->lead_s) : op->start_s;
    scheduled->process = alone ? 0 : prepared->trace->ops[seq].thread;
    scheduled->track = track_of(result, seq, detail.price);
    scheduled->bound = ll_bound_name(result->machine, op->bound);
    scheduled->energy_j = ll_replay_energy_j(result, seq);
    for (uint64_t l = 0; l < result->machine->level_count; l++)
        scheduled->level_bytes[l] = detail.traffic_bytes[l];
}

/* False when memory ran out. */
static bool name_tracks(const struct ll_machine *machine, uint32_t ranks, struct ll_arena *arena,
                        struct ll_op_schedule *schedule)
{
    uint32_t units = (uint32_t)machine->unit_count, networks = (uint32_t)machine->network_count;
    const char **tracks = ll_alloc(arena, track_count(machine), sizeof *tracks);
    const char **processes = ll_alloc(arena, ranks, sizeof *processes);
    if (!tracks || !processes)
        return false;
    for (uint32_t i = 0; i < track_count(machine); i++)
        tracks[i] = i < units              ? machine->units[i].name
                    : i < units + networks ? machine->networks[i - units].name
                                           : host_tracks[i - units - networks];
    for (uint32_t i = 0; i < ranks; i++)
        if (!(processes[i] = ll_format(arena, "rank %" PRIu32, i)))
            return false;
    schedule->tracks = tracks;
    schedule->processes = ranks > 1 ? processes : NULL;
    return true;
}

const struct ll_op_schedule *ll_schedule_of(const struct ll_result *result, struct ll_arena *arena)
{
    _Static_assert((int)LL_SCHEDULE_LEVELS >= (int)LL_MAX_LEVELS, "each level has its traffic");
    const struct ll_machine *machine = result->machine;
    uint32_t count = result->prepared->end_op - result->prepared->first_op,
             ranks = ll_trace_ranks(result->prepared->trace);
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    const char **levels = ll_alloc(arena, machine->level_count, sizeof *levels);
    double *peaks_Bps = ll_alloc(arena, machine->level_count, sizeof *peaks_Bps);
    if (!schedule || !levels || !peaks_Bps)
        return NULL;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        levels[l] = machine->levels[l].name;
        peaks_Bps[l] = ll_machine_level_Bps(machine, l);
    }
    *schedule =
        (struct ll_op_schedule){.name = machine->stem,
                                .process_count = ranks,
                                .track_count = track_count(machine),
                                .first_op = result->prepared->first_op,
                                .op_count = count,
                                .level_count = (uint32_t)machine->level_count,
                                .levels = levels,
                                .level_peaks_Bps = peaks_Bps,
                                .static_w = machine->energy_given ? ll_machine_static_w(machine) : NAN,
                                .at = scheduled_at,
                                .context = result};
    return name_tracks(machine, ranks, arena, schedule) ? schedule : NULL;
}
