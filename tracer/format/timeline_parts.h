/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline (tracer/ir/timeline.h) as the content of frames, a part of each list in each of them. */
#ifndef LL_TRACER_FORMAT_TIMELINE_PARTS_H
#define LL_TRACER_FORMAT_TIMELINE_PARTS_H

#include "tracer/format/format.h"
#include "tracer/ir/timeline.h"

/* How many of each list are written; {0} to begin with. */
struct ll_timeline_done {
    uint64_t names, tracks, calls, events, waits;
};

/* Whether all of the timeline is written. Pure. */
bool ll_timeline_is_done(const struct ll_device_timeline *timeline, const struct ll_timeline_done *done);

/* Adds the content of the next frame to `out` and moves *done on; the weight of what it holds (LL_WEIGHT_*).
 * When memory runs out `out` is marked failed. */
uint64_t ll_encode_timeline(struct ll_bytes *out, const struct ll_device_timeline *timeline,
                            struct ll_timeline_done *done);

#endif
