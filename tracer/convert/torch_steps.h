/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a file that marks none: what it repeats from its beginning to its end. */
#ifndef LL_TRACER_CONVERT_TORCH_STEPS_H
#define LL_TRACER_CONVERT_TORCH_STEPS_H

#include "tracer/convert/aten.h"
#include "tracer/convert/convert.h"

/* The shortest stretch that the others repeat, as looks compare (equal numbers look the same); the last one
 * may be cut off. count when not even two fit, or memory ran out. Linear in the count (Knuth, Morris and
 * Pratt, 1977). Pure. */
uint64_t ll_period(const uint64_t *looks, uint64_t count);

/* As long as the choice `steps` says, which gives their number, or as ll_period finds; *chosen: the choice
 * was given. False after a complaint that it is no number, or that nothing repeats itself so often. */
bool ll_period_of_steps(struct ll_import *import, const uint64_t *looks, uint64_t count, uint64_t *period,
                        bool *chosen);

/* What a run of PyTorch repeats: where its steps begin when nothing marks them, and which tensors of a
 * profile are the same in each of them. Private to tracer/convert/torch*.c. */

/* A call that is recorded, and what it is part of. */
struct ll_torch_leaf {
    struct ll_torch_node *node;
    const struct ll_aten_row *row; /* NULL: nobody knows the operator; only ll_torch_find_marks wants these */
    enum ll_phase phase;
    uint64_t place; /* of the node */
};

/* Finds the numbers that an older profile does not tell (torch_untold.c): strides, windows, sizes, from the
 * shapes of what a call takes and of what others take that came out of it. NULL when all is known that its
 * rule needs; else the sentence that says what lacks, static storage. *assumed: what was taken for true
 * though the shapes allow other numbers, too; NULL: nothing. Of a call without any such numbers nothing is
 * looked for. import->status is set when memory ran out. */
const char *ll_torch_tell(struct ll_import *import, const struct ll_torch_nodes *nodes,
                          const struct ll_torch_leaf *leaves, uint64_t count, uint64_t at, bool training,
                          const char **assumed);

/* How many calls a step has; count where all of them are one. The choice `steps` tells how many steps
 * there are, where it is given. Otherwise layers of a network repeat, too: steps read a weight again,
 * where the file says so, and where it does not (file is a profile) what one makes cannot be what the next
 * one reads. False after complaints, or with import->status set. */
bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period);

/* Steps as PyTorch marks them: ProfilerStep#N, on one thread or several. A mark without a call is no step,
 * nor is what lies before the first mark or behind the last, nor a first step that is but the end of the
 * second one or a last step that is but the beginning of the one before, where no other step is like it. */
#define LL_TORCH_NO_STEP UINT64_MAX
struct ll_torch_mark {
    uint64_t begin, end, place; /* times, where nodes have them; place of the node */
    const char *name;
    uint64_t calls, look; /* of the calls in it */
    bool kept;
};
struct ll_torch_marks {
    struct ll_torch_mark *at; /* in order */
    uint64_t count, capacity;
    uint64_t step_count;  /* that are kept; 0: nothing marks a step */
    bool timed, spanning; /* nodes have times; marks last as long as their steps */
    const char *warning;  /* what is left out, which steps differ; NULL: nothing */
};

/* False when memory ran out. To be released in any case. */
bool ll_torch_find_marks(struct ll_import *import, const struct ll_torch_nodes *nodes,
                         const struct ll_torch_leaf *leaves, uint64_t count, struct ll_torch_marks *marks);

/* The number of the mark that a node belongs to, of those that are kept; else LL_TORCH_NO_STEP. */
uint64_t ll_torch_step_of(const struct ll_torch_marks *marks, const struct ll_torch_node *node,
                          uint64_t place);

void ll_torch_marks_release(struct ll_torch_marks *marks);

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
