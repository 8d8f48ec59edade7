/* SPDX-License-Identifier: Apache-2.0 */
/* Measured kernels of a machine: how much longer than modelled they took, by shape, and what that says of
 * kernels of other shapes.
 *
 * Points that can speak of one another form a group: the same kernel of the software, kind of work, dtype,
 * format, pass; ops on elements and reductions also the same kind of op. Within a group a shape is a point
 * whose coordinates are logarithms (base 2) of its sides, and distance is Euclidean, in octaves. The ratio of
 * measured to modelled time at a shape x is (Shepard, "A two-dimensional interpolation function for
 * irregularly-spaced data", ACM National Conference 1968):
 *
 *       ln ratio(x) = sum w_i ln ratio_i / (sum w_i + 1/16),     w_i = 1 / distance(x, x_i)^4
 *
 * It is exact at the points, continuous everywhere, and goes to 1, the model's own time, with the distance
 * from all points: of a ratio at the border half is left two octaves out. The ratio belongs to a shape, not
 * to a machine: it was formed on the machine that was measured, and stays where one of its figures is
 * changed, so that more bandwidth, a larger buffer or a higher clock never make an op slower.
 *
 * The exponent and the weight of none are those that predicted shapes best that were left out, in five folds
 * of 17,800 kernels on A100, H100 and B200: exponents of 3, 4 and 5 had errors of 8.5, 8.4 and 8.5 % in the
 * mean over the families, the model alone 10.1 %. Interpolated against a roofline instead of the model,
 * GEMMs had 22 instead of 7 %.
 *
 * A table lives in the arena given, is immutable, and may be shared by threads. */
#ifndef LL_SIM_COST_KERNEL_TABLE_H
#define LL_SIM_COST_KERNEL_TABLE_H

#include "sim/machine/machine.h"
#include "tracer/base/arena.h"
#include "tracer/ir/ops.h"

/* Where a time comes from: word, name. A shape counts as interpolated where each of its coordinates lies
 * between the least and the largest of its group, and the nearest point no more than two octaves away;
 * elsewhere it is modelled, scaled as far as points reach. */
#define LL_TIME_ORIGIN_LIST(X)                                                                               \
    X(MODELLED, "modelled")                                                                                  \
    X(INTERPOLATED, "interpolated")                                                                          \
    X(MEASURED, "measured")

enum ll_time_origin {
#define X(word, name) LL_TIME_##word,
    LL_TIME_ORIGIN_LIST(X)
#undef X
        LL_TIME_ORIGIN_COUNT
};

/* Its name; static storage. */
const char *ll_time_origin_name(enum ll_time_origin origin);

/* A measured kernel. */
struct ll_kernel_point {
    enum ll_op_kind kind;
    struct ll_work work;
    double ratio;  /* measured over modelled time, above 0 */
    unsigned fold; /* that it is left out with */
};

/* What the table says of a work. */
struct ll_kernel_ratio {
    double ratio; /* of its time to the model's; 0: the table has nothing like it */
    enum ll_time_origin origin;
};

/* Points of one shape count as one, whose ratio is their geometric mean. NULL when memory ran out. */
const struct ll_kernel_table *ll_kernel_table_new(const struct ll_machine *machine,
                                                  const struct ll_kernel_point *points, size_t count,
                                                  struct ll_arena *arena);

/* Asks the machine's table; the points that machine->table_leaves says are not heard. Pure, thread-safe. */
struct ll_kernel_ratio ll_kernel_table_ask(const struct ll_machine *machine, enum ll_op_kind kind,
                                           const struct ll_work *work);

/* Whether two works are one shape of one group: the table cannot tell them apart. Pure. */
bool ll_kernel_table_same(const struct ll_machine *machine, const struct ll_kernel_point *a,
                          const struct ll_kernel_point *b);

/* How many shapes it has. */
size_t ll_kernel_table_points(const struct ll_kernel_table *table);

/* A digest of all that its answers depend on. */
uint64_t ll_kernel_table_digest(const struct ll_kernel_table *table);

/* The least time that any kernel could take: FLOPs at the unit's peak (LL_NO_UNIT: 0), in as many
 * multiplications as its way makes of each of the algorithm's, and every operand once, but for what was found
 * in caches, at the outermost memory's bandwidth. Pure. */
double ll_kernel_least_s(const struct ll_machine *machine, const struct ll_work *work, uint32_t unit,
                         double made);
double ll_kernel_least_bytes(const struct ll_work *work);

#endif
