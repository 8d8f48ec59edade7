/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a software stack can do a convolution, each as work that stands for it. */
#ifndef LL_SIM_COST_VARIANTS_H
#define LL_SIM_COST_VARIANTS_H

#include "sim/cost/unit_model.h"
#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

#include <stddef.h>

enum { LL_MOST_VARIANTS = LL_MAX_TRANSFORMS + 3 };

struct ll_variant {
    const char *name; /* NULL: as it is */
    struct ll_work work;
    double apart_bytes;                   /* that passes before and after it move */
    bool relaid;                          /* all operands are among them */
    double apart_share, apart_start_s;    /* that these reach of the bandwidth (0: all); to start them */
    double rate;                          /* share of the kernel's rate */
    double overhead_s;                    /* what starting it costs; 0: what the kernel does */
    bool windows;                         /* done by kernels that read windows where they lie */
    bool skips;                           /* zeros of the right operand, where the unit can */
    const struct ll_transform *transform; /* that it goes through; NULL: none */
    /* Says what of the variant's bytes are not those of the work; NULL: they are. */
    void (*tell)(const struct ll_work *work, const struct ll_variant *variant, struct ll_explain *why);
};

/* Whether the software convolves this on vector lanes, one window of one channel after the other. Pure. */
bool ll_on_lanes(const struct ll_software *software, const struct ll_work *work);

/* Fills out and returns how many there are, at least one. Work other than a convolution is done as it is;
 * where zeros are known, also by kernels that skip them. Pure. */
size_t ll_variants(const struct ll_software *software, const struct ll_work *work,
                   struct ll_variant out[LL_MOST_VARIANTS]);

/* Says which way it is, and what it moves that the work itself does not. */
void ll_variant_tell(const struct ll_variant *variant, const struct ll_work *work, struct ll_explain *why);

/* The unit as kernels use it that do a convolution this way: their menu of tiles, and the rate that finding
 * windows leaves, which is returned; and what of the task they take whole. Other units stay what they are. */
double ll_variant_lends(const struct ll_variant *variant, struct ll_unit *unit, struct ll_task *task,
                        struct ll_explain *why);

#endif
