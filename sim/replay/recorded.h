/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded timeline (tracer/ir/timeline.h) once more, as it was or changed: what if these kernels took F
 * times as long, or were gone?
 *
 * Every call of the host begins a fixed time after what its thread did before it, or after what another
 * thread did when its own had long been idle. Every event begins once its call has begun and the least time
 * from a call to its event in this recording has passed, the event before it on its stream is over, and so
 * are those that it waits for; whatever later it began than the last of these in the recording, it does so
 * again. A call that waits for the device returns a fixed time after what it waited for. So the replay of an
 * unchanged timeline is the recording itself; a change moves what depends on it and nothing else.
 *
 * Exchanges of several ranks begin on each by itself and end together: when the last has begun, plus the
 * shortest of their recorded times, which is the transfer without waiting.
 *
 * Events whose launch is not in the file, though others' are, ran before the recording began: they are
 * counted and left out (as TraceLens counts them). */
#ifndef LL_SIM_REPLAY_RECORDED_H
#define LL_SIM_REPLAY_RECORDED_H

#include "tracer/base/arena.h"
#include "tracer/ir/timeline.h"

/* A change of all events whose name, or the name of the operator that launched them, has a part that the
 * pattern matches: `*` any characters, `?` any one. */
struct ll_timeline_change {
    const char *pattern;
    double factor; /* of the time; 0 with `drop` */
    bool drop;     /* the event and the call that launched nothing else are gone */
    /* Filled: how many events that count it matches, and how long they took as recorded. */
    uint64_t count;
    double time_s;
};

/* Whether a part of the text matches. Linear in its length times that of the pattern. Pure. */
bool ll_pattern_matches(const char *pattern, const char *text);

/* What one rank's device did: lengths of unions of stretches. */
struct ll_timeline_times {
    double span_s;                         /* last end minus first begin */
    double busy_s, idle_s;                 /* any event; none */
    double computation_s;                  /* kernels and fills */
    double exchange_s, exposed_exchange_s; /* NCCL and RCCL; less computation */
    double copy_s, exposed_copy_s;         /* copies; less computation and exchanges */
    uint64_t event_count;
    uint64_t unlaunched_count; /* launched before the recording began */
    double unlaunched_s;
};

/* All events of a name. */
struct ll_timeline_row {
    const char *name;
    uint32_t kind; /* enum ll_device_event_kind */
    uint64_t count;
    double time_s, recorded_s;
    uint32_t order; /* of its name in the file */
};

/* A piece of the critical path, summed over what has the same words. */
struct ll_timeline_piece {
    /* kernel, copy, fill, exchange; launch: from a call to its event; gap: between events; host: between
     * calls; call; wait: from an event to the return of a call; before: nothing recorded holds it back. */
    const char *what;
    const char *name; /* of the event or call; "" where it has none */
    uint64_t count;
    double time_s;
    uint32_t order; /* of first appearance, from the end of the path */
};

struct ll_timeline_replay {
    const struct ll_device_timeline *timeline;
    const struct ll_timeline_times *recorded, *replayed; /* by rank */
    double recorded_span_s, span_s;                      /* of all ranks together */
    const struct ll_timeline_row *rows;                  /* by replayed time, the longest first */
    uint64_t row_count;
    const struct ll_timeline_piece *path; /* the longest first; they sum to span_s */
    uint64_t piece_count;
    double launch_s;               /* the least time from a call to its event */
    const double *start_s, *end_s; /* by event, replayed, from the first begin on; of those that count */
};

/* Replays with the changes, of which the last that matches an event counts. In the arena; NULL when memory
 * ran out. There is an event that counts. Pure otherwise. */
const struct ll_timeline_replay *ll_timeline_replay(const struct ll_device_timeline *timeline,
                                                    struct ll_timeline_change *changes, uint64_t change_count,
                                                    struct ll_arena *arena);

#endif
