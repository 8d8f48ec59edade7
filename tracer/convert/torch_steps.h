/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of PyTorch repeats: where its steps begin when nothing marks them, and which tensors of a
 * profile are the same in each of them. Private to tracer/convert/torch*.c. */
#ifndef LL_CONVERT_TORCH_STEPS_H
#define LL_CONVERT_TORCH_STEPS_H

#include "tracer/convert/aten.h"

/* A call that is recorded, and what it is part of. */
struct ll_torch_leaf {
    struct ll_torch_node *node;
    const struct ll_aten_row *row;
    enum ll_phase phase;
    uint64_t place; /* of the node */
};

/* How many calls a step has; count where all of them are one. The choice `steps` tells how many steps
 * there are, where it is given. Otherwise layers of a network repeat, too: steps read a weight again,
 * where the file says so, and where it does not (file is a profile) what one makes cannot be what the next
 * one reads. False after complaints, or with import->status set. */
bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period);

/* A weight that the step has read, for its gradient. */
struct ll_torch_read {
    struct ll_shape shape;
    uint64_t storage;
    bool taken;
};

/* The tensors of a profile that stay from step to step; starts as zeros. */
struct ll_torch_kept {
    struct ll_map places;       /* kind of call, argument, shape; the how manieth of the step */
    uint64_t *storages;         /* by place */
    struct ll_map looks;        /* of this step, the same without their number */
    uint64_t *counts;           /* of each look in this step */
    struct ll_torch_read *read; /* in this step, forwards */
    uint64_t storage_capacity, count_capacity, read_capacity, read_count;
};

/* A new step begins. */
void ll_torch_keep_step(struct ll_torch_kept *kept);

/* Gives weights of the call, and what an optimizer's call takes, the storages that they had in the step
 * before; weights of backward calls those of the forward ones of this step whose shape they have. False
 * when memory ran out. */
bool ll_torch_keep(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf);

/* Frees what it keeps. */
void ll_torch_keep_release(struct ll_torch_kept *kept);

#endif
