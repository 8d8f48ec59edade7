/* SPDX-License-Identifier: Apache-2.0 */
/* A step on cores, for people and for programs. All are pure functions of the schedule. */
#ifndef LL_SIM_REPORT_FUSION_REPORT_H
#define LL_SIM_REPORT_FUSION_REPORT_H

#include "sim/fusion/fusion.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* The key `fusion` into the open object: times, energy, stacks, cores, memories, links. */
void ll_fusion_json(const struct ll_fused_step *fusion, struct ll_json *json);

/* One object: every tile, piece in a memory, transfer with its rates, and the ways over links. Cores,
 * memories, links and pieces are meant by their places in its lists. */
void ll_fusion_schedule_json(const struct ll_fused_step *fusion, struct ll_json *json);

/* Stacks, and over time what each core computes and how full its memories are. width in characters. Nothing
 * of NULL: no step on cores. */
void ll_fusion_text(const struct ll_fused_step *fusion, unsigned width, uint64_t top, struct ll_str *out);

#endif
