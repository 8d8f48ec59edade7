/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs on tensor cores by the kernels of a library (gemm_kernels.c has the formulas). All functions are pure
 * and thread-safe; nothing allocates. Times are in seconds, bandwidths in bytes a second. */
#ifndef LL_SIM_COST_GEMM_KERNELS_H
#define LL_SIM_COST_GEMM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/cost/cost_parts.h"

/* What a choice of kernel depends on beside the unit and the task, for one step of a sequence. */
struct ll_gemm_feed {
    const struct ll_machine *machine; /* whose power limits the clock */
    struct ll_draw draw;
    double near_Bps;    /* bandwidth at which tiles load their operands */
    double outermost_s; /* time of the traffic out of the outermost level */
};

/* The kernel that ends first: its index for the functions below. settled: no other one is faster, whatever
 * earlier ops left of the operands. */
struct ll_gemm_choice {
    uint32_t index;
    double time_s; /* without latencies */
    bool settled;
};

/* The fastest kernel. No resource that grows makes it slower. Pure. */
struct ll_gemm_choice ll_gemm_choose(const struct ll_unit *unit, const struct ll_task *task,
                                     const struct ll_gemm_feed *feed);

/* What the kernel of an index asks of the machine, as ll_unit_model's `way`; the lines that say how. Pure. */
void ll_gemm_config(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                    struct ll_kernel_config *way);
void ll_gemm_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     const struct ll_kernel_config *way, struct ll_explain *why);

/* Time to add up the parts of k, of one step; 0 where k is whole. Pure. */
double ll_gemm_reduce_s(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                        double near_Bps);
void ll_gemm_reduce_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                            double near_Bps, struct ll_explain *why);

/* Time of two stages that overlap in part: (a^3 + b^3)^(1/3), at least the longer and at most 1.26 times it.
 * Not negative. Pure. */
double ll_partial_overlap_s(double inside_s, double outermost_s);

#endif
