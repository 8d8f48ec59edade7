/* SPDX-License-Identifier: Apache-2.0 */
/* What if: turn one knob of the machine, replay, compare. */
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

static bool turn_and_replay(const struct ll_result *result, size_t knob, struct ll_gain *gain)
{
    struct ll_machine *turned = ll_machine_turn(result->machine, knob);
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_result *other = turned ? ll_replay(result->prepared, turned, &scratch, &diags) : NULL;
    if (other) {
        gain->time_s = other->time_s;
        gain->speedup = other->time_s > 0 ? result->time_s / other->time_s : 1;
    }
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    ll_machine_free(turned);
    return other != NULL;
}

const struct ll_gain *ll_what_if(const struct ll_result *result, struct ll_arena *arena, size_t *count)
{
    const struct ll_knob *knobs = ll_machine_knobs(result->machine, arena, count);
    struct ll_gain *gains = knobs ? ll_alloc(arena, *count + 1, sizeof *gains) : NULL;
    for (size_t i = 0; gains && i < *count; i++) {
        gains[i].knob = knobs[i];
        if (!turn_and_replay(result, i, &gains[i]))
            return NULL;
    }
    if (gains)
        sort_gains(gains, *count);
    return gains;
}
