/* SPDX-License-Identifier: Apache-2.0 */
/* What if: turn one knob of the machine, replay, compare. */
#include <assert.h>

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* Insertion sort: stable, so that equal gains stay in the order of the machine's knobs. */
static void sort_gains(struct ll_gain *gains, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && gains[j - 1].speedup < gains[j].speedup; j--) {
            struct ll_gain moved = gains[j];
            gains[j] = gains[j - 1];
            gains[j - 1] = moved;
        }
}

static bool turn(const struct ll_machine *machine, double time_s, size_t knob, ll_timed timed, void *context,
                 struct ll_gain *gain)
{
    struct ll_machine *turned = ll_machine_turn(machine, knob);
    double other_s = turned ? timed(turned, context) : -1;
    gain->time_s = other_s;
    gain->speedup = other_s > 0 ? time_s / other_s : 1;
    ll_machine_free(turned);
    return other_s >= 0;
}

const struct ll_gain *ll_turn_knobs(const struct ll_machine *machine, double time_s, ll_timed timed,
                                    void *context, struct ll_arena *arena, size_t *count)
{
    assert(time_s >= 0);
    const struct ll_knob *knobs = ll_machine_knobs(machine, arena, count);
    struct ll_gain *gains = knobs ? ll_alloc(arena, *count + 1, sizeof *gains) : NULL;
    for (size_t i = 0; gains && i < *count; i++) {
        gains[i].knob = knobs[i];
        if (!turn(machine, time_s, i, timed, context, &gains[i]))
            return NULL;
    }
    if (gains)
        sort_gains(gains, *count);
    return gains;
}

struct again {
    const struct ll_prepared *prepared;
    struct ll_remembered *remembered;
};

static double replay_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, 0, &again->remembered->prices);
    const struct ll_among among = {
        .exchanges = exchanges, .memo = &again->remembered->costs, .time_alone = true};
    ll_memo_turn(&again->remembered->costs, machine);
    const struct ll_result *result =
        exchanges ? ll_replay_among(again->prepared, machine, &among, &scratch, &diags) : NULL;
    double time_s = result ? result->time_s : -1;
    ll_exchanges_free(exchanges);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return time_s;
}

const struct ll_gain *ll_what_if(const struct ll_result *result, struct ll_remembered *remembered,
                                 struct ll_arena *arena, size_t *count)
{
    struct again again = {result->prepared, remembered};
    ll_memo_settle(&remembered->costs);
    return ll_turn_knobs(result->machine, result->time_s, replay_s, &again, arena, count);
}
