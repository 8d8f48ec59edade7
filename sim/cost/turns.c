/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/turns.h"

/* What passes a level, in bytes of both directions that take it as long. */
struct turn {
    uint64_t level;
    double bytes;
};

/* Those that more passes come first; of equals the innermost. */
static void insert(struct turn *turns, uint64_t count, struct turn turn)
{
    uint64_t at = count;
    for (; at > 0 && turns[at - 1].bytes < turn.bytes; at--)
        turns[at] = turns[at - 1];
    turns[at] = turn;
}

/* Each level adds what its bytes take beyond the slowest pace of those that more passes. Returns which level
 * takes the largest part. */
static uint64_t add_up(const struct ll_machine *machine, const struct turn *turns, uint64_t count,
                       struct ll_stage *innermost, struct ll_stage *stages, struct ll_explain *why)
{
    double all_s = 0, pace = 0, most_s = 0;
    uint64_t most = turns[0].level;
    for (uint64_t i = 0; i < count; i++) {
        struct ll_stage *stage = &stages[turns[i].level];
        double bytes = turns[i].bytes, before_s = all_s, rest_s = ll_stage_rest_s(stage);
        all_s += fmax(0, rest_s - bytes * pace);
        if (all_s > before_s) /* where the first piece is nearly all of it, their difference has few digits */
            ll_say(why, "%s, in turn: %.10g + (%.13g - %.13g) - %.10g * %.10g = %.10g s",
                   machine->levels[turns[i].level].name, before_s, stage->whole_s, stage->first_s, bytes,
                   pace, all_s);
        pace = bytes > 0 ? fmax(pace, rest_s / bytes) : pace;
        double part_s = (bytes - (i + 1 < count ? turns[i + 1].bytes : 0)) * pace;
        most = part_s > most_s ? turns[i].level : most;
        most_s = fmax(most_s, part_s);
        stage->whole_s = stage->first_s;
    }
    innermost->whole_s += all_s;
    return most;
}

void ll_take_turns(const struct ll_machine *machine, const struct ll_cost *cost,
                   const struct ll_leftovers *found, struct ll_stage *stages, uint64_t most[LL_MAX_LEVELS],
                   struct ll_explain *why)
{
    struct turn turns[LL_MAX_LEVELS];
    uint64_t count = 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double bytes = cost->level_bytes[l], left = fmax(0, bytes - (found ? found->saved_bytes[l] : 0));
        double share = bytes > 0 ? left / bytes : 0;
        bool waits = ll_level_waits(machine, l);
        most[l] = l;
        if (waits || count > 0)
            insert(turns, count++, (struct turn){l, cost->level_price[l] * share});
        if (waits || count == 0)
            continue;
        uint64_t innermost = l + 1 - count;
        most[innermost] = add_up(machine, turns, count, &stages[innermost], stages, why);
        count = 0;
    }
}
