/* SPDX-License-Identifier: Apache-2.0 */
/* What passes out of a level, as a stage of an op (cost.h). */
#ifndef LL_SIM_COST_STAGE_H
#define LL_SIM_COST_STAGE_H

#include "sim/machine/machine.h"

#include <math.h>

struct ll_stage {
    double whole_s, first_s; /* of the whole, what the first piece takes; */
    double others_s;         /* and behind it, the first pieces of other units */
    double wait_s;           /* latencies beside it */
};

/* What of a level's stage does not depend on how much passes. */
struct ll_intake {
    double first_s;     /* what a first piece takes */
    double pieces;      /* first pieces that one instance provides, one after the other */
    double wait_s;      /* the latencies of dependent accesses */
    double line_bytes;  /* of the cache further in; 0: there is none */
    double saved_bytes; /* that need not pass, because earlier ops left them further in */
};

/* Bytes of a line of the cache inside of a level; 0: there is none. Pure. */
static inline double ll_line_inside(const struct ll_machine *machine, uint64_t level)
{
    const struct ll_level *inside = level > 0 ? &machine->levels[level - 1] : NULL;
    return inside && inside->cache_given ? (double)inside->cache.line_bytes : 0;
}

/* What is left to move comes in lines of the cache further in: where that is less than a line, as what a law
 * of chance leaves in the mean, it is waited for as seldom. A level that has nothing left to move is not
 * waited for. level_s: what all of the bytes take. Grows with the bytes, and with level_s. Pure. */
static inline struct ll_stage ll_stage_of(const struct ll_intake *intake, double bytes, double level_s)
{
    double left = fmax(0, bytes - intake->saved_bytes);
    if (left == 0)
        return (struct ll_stage){0};
    double whole_s = level_s * (left / bytes), first_s = fmin(intake->first_s, whole_s);
    double waits = left < intake->line_bytes ? left / intake->line_bytes : 1;
    return (struct ll_stage){.whole_s = whole_s,
                             .first_s = first_s,
                             .others_s = fmin(fmax(0, intake->pieces - 1) * first_s, whole_s - first_s),
                             .wait_s = intake->wait_s * waits};
}

/* What a stage takes behind its first piece. */
static inline double ll_stage_rest_s(const struct ll_stage *stage)
{
    return stage->whole_s - stage->first_s;
}

/* Stages overlap, but for a level that holds one block at a time, which parts what fills it from what happens
 * further in. The group of stages that a level's belongs to: as many as there are such levels further in;
 * computing belongs to the first, 0. Pure. */
static inline uint32_t ll_stage_group(const struct ll_machine *machine, uint64_t level)
{
    uint32_t group = 0;
    for (uint64_t l = 0; l < level; l++)
        group += machine->levels[l].buffering == LL_BUFFER_SINGLE;
    return group;
}

#endif
