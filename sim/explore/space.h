/* SPDX-License-Identifier: Apache-2.0 */
/* A space of designs: what a sweep file says is to be tried.
 *
 * An axis is something that varies, with the values that it takes; a point is one value of each axis. Points
 * are numbered like digits, the last axis turning fastest, so a number is a point and the other way round. A
 * space is read once, immutable afterwards, may be shared by threads, and owns all that it points to. */
#ifndef LL_SIM_EXPLORE_SPACE_H
#define LL_SIM_EXPLORE_SPACE_H

#include "sim/explore/expression.h"
#include "sim/explore/measure.h"
#include "sim/machine/path.h"
#include "tracer/base/diag.h"
#include "tracer/ir/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_MOST_AXES = 32, LL_MOST_OBJECTIVES = 8, LL_MOST_WORKLOADS = 64 };

/* What a value of an axis is set in. */
enum ll_axis_target {
    LL_AXIS_MACHINE, /* a path of the machine */
    LL_AXIS_PART,    /* several keys of a part of the machine at once: one memory for another */
    LL_AXIS_MODEL,   /* a parameter of the models that are recorded, `batch` among them */
    LL_AXIS_PLAN     /* how a step is spread over devices */
};

struct ll_node;

struct ll_axis_value {
    const char *text;           /* as it would stand in a machine file, or the name of a part */
    double number;              /* in the base unit; NaN when it is no number */
    const struct ll_node *node; /* what a machine file would say; NULL outside a space */
};

struct ll_space_axis {
    const char *path; /* as the file says it, as --set takes it; of a model `model.batch` */
    enum ll_axis_target target;
    const struct ll_axis_value *values;
    uint32_t value_count; /* at least 1 */
    bool ordered;         /* all are numbers: neighbours are alike */
    struct ll_place place;
};

/* What a step is: a recorded trace, or a model of ours recorded dry. */
struct ll_space_workload {
    const char *name;  /* of the file without folder and ending, or the model's: no two share one */
    const char *file;  /* NULL: a model */
    const char *model; /* NULL: a file */
    bool infer;
    /* That all its floating-point tensors are taken to be of, and what its products of weights read;
     * LL_DTYPE_COUNT: as they are. */
    enum ll_dtype dtype, products, weights;
    struct ll_pattern pruned; /* to which its weights are pruned; 0 of 0: to none */
    double gaps;              /* by which recorded time in gaps is multiplied; 1: none is changed */
    struct ll_space_setting {
        const char *key, *value;
    } * settings; /* of the model, `batch` among them */
    size_t setting_count;
    struct ll_place place;
};

struct ll_objective_row {
    const char *text; /* "min time_s" */
    const char *name; /* "time_s": what is wanted, without min or max */
    bool most;        /* max: the evaluator gives its negative, so that less is better of all objectives */
    struct ll_expression *expression;
};

enum ll_search_kind {
#define LL_SEARCH(word, ...) LL_SEARCH_##word,
#include "sim/explore/searches.def"
#undef LL_SEARCH
    LL_SEARCH_COUNT
};

struct ll_sweep_search {
    enum ll_search_kind kind;
    uint64_t points; /* at most; of a grid: all when not given */
    uint64_t seed;
    bool prune; /* points that a known one beats, whatever they are, are not evaluated */
};

/* What a name in an expression stands for: the slots of a space's expressions are indices of these. */
enum ll_named_kind {
    LL_NAMED_AXIS,       /* the number of the point's value of axis `index` */
    LL_NAMED_COUPLING,   /* of coupling `index` */
    LL_NAMED_DEFINITION, /* of definition `index` */
    LL_NAMED_MEASURE,    /* measure `index` of a workload, or of the one that is looked at */
    LL_NAMED_SHARE,      /* share of the time of bound `index`, in the same way */
    LL_NAMED_MACHINE     /* what stands at `location` of the machine; in couplings, of the base */
};
#define LL_THIS_WORKLOAD UINT32_MAX
struct ll_named {
    enum ll_named_kind kind;
    uint32_t index, workload;
    struct ll_location location;
};

/* A value that follows from others, a name for a value, a condition. */
struct ll_rule {
    const char *name; /* a path that is set, or what is defined; NULL of a constraint */
    const char *text; /* the expression as written */
    double scale;     /* of a path: how many of its units in expressions a base unit is */
    struct ll_expression *expression;
    const char *lacks; /* of a definition: a section without which it has no value, and which no design has */
    struct ll_place place;
};

struct ll_space {
    struct ll_arena arena;
    const char *path, *name;
    const char *base;           /* the machine, as -c takes it */
    const char *const *folders; /* in which it was found; the caller's */
    struct ll_machine *machine; /* read from it */
    struct ll_space_axis *axes;
    size_t axis_count;
    struct ll_space_workload *workloads;
    size_t workload_count;
    struct ll_named *names; /* of all expressions */
    size_t name_count;
    struct ll_rule *couplings, *definitions, *constraints;
    size_t coupling_count, definition_count, constraint_count;
    struct ll_objective_row objectives[LL_MOST_OBJECTIVES];
    size_t objective_count; /* at least 1 */
    struct ll_sweep_search search;
    uint64_t point_count; /* of the full grid; at most 2^53 */
    uint64_t text_hash;   /* of the file */
};

/* Reads a sweep file and the machine that it is based on. NULL after complaints, all that could be found at
 * once. Free with ll_space_free. */
struct ll_space *ll_space_read(const char *path, const char *const *folders, struct ll_diags *diags);

/* The same from text in memory; name stands for the file in complaints. */
struct ll_space *ll_space_parse(const char *text, size_t length, const char *name, const char *const *folders,
                                struct ll_diags *diags);
void ll_space_free(struct ll_space *space);

/* The point of a number below point_count: point[a] is the index of the value of axis a. Pure. */
void ll_space_point(const struct ll_space *space, uint64_t number, uint32_t *point);

/* Its number. Pure. */
uint64_t ll_space_number(const struct ll_space *space, const uint32_t *point);

#endif
