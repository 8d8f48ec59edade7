/* SPDX-License-Identifier: Apache-2.0 */
/* What measured rows (tracer/convert/measured.h) ask of a machine. */
#ifndef LL_SIM_VALIDATE_MEASURED_H
#define LL_SIM_VALIDATE_MEASURED_H

#include "sim/machine/machine.h"
#include "sim/network/collective.h"
#include "tracer/convert/measured.h"
#include "tracer/ir/ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a row asks of a machine: pieces of work, one after the other. */
struct ll_measured_part {
    struct ll_work work;
    enum ll_op_kind kind; /* whose kernels run it */
    uint64_t times;       /* that it comes, at least 1 */
    bool apart; /* no software joins it to the part before it, whose result is not its own operand */
    /* Of a collective. */
    enum ll_collective collective;
    uint64_t devices; /* that take part */
    /* Of them, in one group of the network's innermost level; 0: as many as it joins. */
    uint64_t node_devices;
};

/* Starts zeroed, may be used for one row after the other, ends with ll_measured_works_release. */
struct ll_measured_works {
    const char *family; /* it is scored with: "gemm", "conv", ...; static storage */
    struct ll_measured_part *at;
    uint64_t count, capacity;
    uint64_t threads; /* that it runs in, on so many of a machine's cores; 0: on all of them */
    bool failed;      /* memory ran out: parts are missing */
};

/* NULL when the row became work; otherwise why it cannot be scored, static storage. Where a row's library
 * takes the element type that a core computes best, `machine` tells it; NULL: one with no other than f32. */
const char *ll_measured_works(const struct ll_measured *row, const struct ll_machine *machine,
                              struct ll_measured_works *works);

/* Why a dimension of the row is none of these, each between spaces, or a word behind it is not known, as
 * one that is misspelt, static storage; NULL where all are known. */
const char *ll_measured_stray(const struct ll_measured *row, const char *keys);

/* Frees the list, which is {0} again. */
void ll_measured_works_release(struct ll_measured_works *works);

#endif
