/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of computing, as sim/cost sees them: one file each, bound by the rows of sim/machine/unit_models.def.
 *
 * A task is work prepared for the units: its product with the bytes of its elements, if it is one. A unit
 * may have several ways to do a task (tiles of a menu); each says how long it takes and what one instance
 * gets, and sim/cost/cost.c takes the fastest. Models are pure, thread-safe, and know nothing of memory
 * beyond what they ask of the innermost level. */
#ifndef LL_SIM_COST_UNIT_MODEL_H
#define LL_SIM_COST_UNIT_MODEL_H

#include "sim/cost/explain.h"
#include "sim/cost/tiling.h"
#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

struct ll_task {
    const struct ll_work *work;
    enum ll_dtype dtype;       /* in which it is computed: the work's, or a wider one */
    uint64_t instances;        /* of the unit, of which the software employs `count`; 0: all */
    bool is_product;           /* GEMM, CONV or SEQUENCE; then: */
    uint64_t steps;            /* that often, one after the other; 1 but for SEQUENCE */
    bool b_stays;              /* the same b in all of several steps */
    struct ll_problem problem; /* of one step */
    double sum_bytes;          /* of a partial sum, where its result has fewer */
    bool whole_k;              /* its kernels do not share k among instances */
    double a_each;  /* elements of a taken in for each of k: more than 1 where zeros of b are skipped */
    double zeros;   /* multiplications by zero for each of the work's */
    uint64_t bands; /* of the product's rows, equal ones, that share no tile; 0: one */
    /* Bytes of one pass over each operand of the whole problem as the unit reads it: an image is unrolled
     * into its windows here, an overlap is read again. */
    double unit_pass[LL_OPERAND_COUNT];
};

struct ll_way {
    uint64_t units_used; /* instances that work */
    double at_work;      /* of these, in the mean over the cycles: fewer where the last tiles fill no wave */
    double cycles;       /* of the busiest instance, one step */
    double first_cycles; /* before the first result; the same for all ways of a task */
    /* Operands and result of the finest piece of one instance; the same for all ways. */
    double first_bytes[LL_OPERAND_COUNT];
    struct ll_gemm share; /* the part of a product that one instance gets */
    double shares;        /* how many of them make the whole; may be fractional */
    double unit_bytes;    /* out of the innermost level and back, all instances together, one step */
    double asked_bytes[LL_OPERAND_COUNT]; /* unit_bytes by operand */
    bool any_tile; /* it has none of its own: nothing but their room says what goes into private memories */
    double macs;   /* of one step, all instances together; a matrix unit multiplies whole tiles */
    double joining_bytes; /* to add partial sums of different instances, in the first memory they share */
};

struct ll_unit_model {
    bool products, elements; /* what it can run: products, or all that goes element by element */
    uint32_t (*way_count)(const struct ll_unit *unit, const struct ll_task *task);
    /* False when this way makes no sense for the task; way 0 always does. */
    bool (*way)(const struct ll_unit *unit, const struct ll_task *task, uint32_t index, struct ll_way *way,
                struct ll_explain *why);
};

#define LL_UNIT_MODEL(word, ...) extern const struct ll_unit_model ll_cost_##word;
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL

/* The functions of a way of computing; never NULL. */
const struct ll_unit_model *ll_unit_model(enum ll_unit_kind kind);

/* The more instances work, the more copies of the operands their own memories load. So fewer of them may be
 * faster: all that are employed are a way, and of all that there are, half of them, half of these, rounded
 * up, and so on down to one, where that is fewer. So twice as many can be used as the half. How many ways
 * that makes, and how many instances work in one. Pure. */
uint32_t ll_counts_at_work(const struct ll_unit *unit, const struct ll_task *task);
uint64_t ll_count_at_work(const struct ll_unit *unit, const struct ll_task *task, uint32_t way);

/* The multiply-accumulates of a product. Pure. */
double ll_gemm_macs(const struct ll_gemm *dims);

/* A product's output dealt to parts of equal size. */
struct ll_split {
    struct ll_gemm share;
    uint64_t used; /* parts that get something, at most as many as there are */
};

/* Cuts the batch into `batches` parts, the columns of each into `columns`, its rows into `rows`; rows and
 * columns come in whole grains. Parts and grains are at least 1. Pure. */
struct ll_split ll_split(const struct ll_gemm *dims, uint64_t batches, uint64_t rows, uint64_t columns,
                         uint64_t row_grain, uint64_t column_grain);

/* The same where the number of parts alone is given: whole products of the batch first; what is left of the
 * parts as such rows and columns of each product that each part loads least: columns over rows is about n
 * over m, and hardly a part goes without work. `count` at least 1. Pure. */
struct ll_split ll_split_evenly(const struct ll_gemm *dims, uint64_t count);

/* The bytes of a product when each operand of a share is passed that often, all `shares` together; by operand
 * too, unless NULL. */
double ll_unit_bytes(const struct ll_task *task, const struct ll_gemm *share, double shares,
                     const double passes[LL_OPERAND_COUNT], double by_operand[LL_OPERAND_COUNT]);

#endif
