/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep file says: expressions, measures (the names of results), and the space of designs.
 *
 * Arithmetic in sweep files and on the command line: `units.array.rows * 2 <= 256`, `min(time_s, 5ms)`.
 *
 *   or and not    == != < <= > >=    + -    * /    - (sign)    ^ (power, from the right)
 *   min(a, b, ...)  max(a, b, ...)  log2(x)  sqrt(x)  abs(x)  ceil(x)  floor(x)
 *
 * Literals may carry a unit of machine files and are then in its base unit, but areas in mm2 and areas per
 * byte in mm2/B; what a machine file says is in the same. True is 1, false is
 * 0. What is compared is of one dimension, as far as that of both sides is known. Names are what the caller
 * says they are. Expressions live in an arena, are immutable, and may be evaluated by many threads. */
#ifndef LL_SIM_EXPLORE_SPACE_H
#define LL_SIM_EXPLORE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cost/cost.h"
#include "sim/machine/path.h"
#include "sim/machine/quantity.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ir/tensor.h"

struct ll_expression;

/* The names that an expression may use. */
struct ll_names {
    /* The slot of a name, in *slot; false when there is none. */
    bool (*find)(void *context, const char *name, uint32_t *slot);
    /* The i-th name that could have been meant; NULL past the last. One that is not found is no number. */
    const char *(*at)(void *context, size_t i);
    void *context;
    /* What a slot measures; LL_DIMENSION_NUMBER: anything. NULL: all do. */
    enum ll_dimension (*dimension)(const void *context, uint32_t slot);
    /* Why a name that is not found although there is such a thing may not be used: what follows the name in a
     * sentence. NULL: nothing is known of it. NULL: of none. */
    const char *(*hindrance)(void *context, const char *name);
};

/* Reads a text that stands at `place` of a file: complaints point at the character. NULL after complaints. */
struct ll_expression *ll_expression_parse(struct ll_arena *arena, const char *text, struct ll_place place,
                                          const struct ll_names *names, struct ll_diags *diags);

/* How many of its units in expressions a base unit of machines is. */
double ll_expression_scale(enum ll_dimension dimension);

/* Its value, in the units of expressions; value(context, slot) gives what a name stands for. Comparisons are
 * 1 or 0; what has no value, as 0 / 0, is NaN, and so is what is compared with that. Pure but for that;
 * allocates nothing. */
double ll_expression_value(const struct ll_expression *expression,
                           double (*value)(const void *context, uint32_t slot), const void *context);

/* Of a comparison: how far it is missed, as a share of its right side; 0 when it holds. Of `and` the sum of
 * both, of `or` the lesser; of anything else 1 when it is false. */
double ll_expression_violation(const struct ll_expression *expression,
                               double (*value)(const void *context, uint32_t slot), const void *context);

/* Whether it has no value, and whether it does not hold, whatever the other names stand for, when those are
 * no numbers that missing(context, slot) says of. Pure but for that. */
bool ll_expression_has_none(const struct ll_expression *expression,
                            bool (*missing)(const void *context, uint32_t slot), const void *context);
bool ll_expression_fails(const struct ll_expression *expression,
                         bool (*missing)(const void *context, uint32_t slot), const void *context);

/* What it measures, as far as that is known; else LL_DIMENSION_NUMBER. */
enum ll_dimension ll_expression_dimension(const struct ll_expression *expression);

/* What is measured of a workload on a design. Plain data. */

/* Word, name, dimension, what it is. All are doubles, NaN where the machine does not say (energy, area,
 * price). Expressions and databases know them by name. */
#define LL_MEASURE_LIST(X)                                                                                   \
    X(TIME, "time_s", TIME, "of a step")                                                                     \
    X(ENERGY, "energy_j", ENERGY, "of a step, all devices together")                                         \
    X(EDP, "edp", NUMBER, "energy of a step times its time")                                                 \
    X(POWER, "power_w", POWER, "energy over time")                                                           \
    X(THROUGHPUT, "throughput", FREQUENCY, "samples per second; of speech, seconds of audio per second")     \
    X(THROUGHPUT_PER_W, "throughput_per_w", NUMBER, "samples per joule")                                     \
    X(UTILIZATION, "flop_utilization", NUMBER, "FLOPs over what the peak rate would allow")                  \
    X(ACTIVE, "device_utilization", NUMBER, "share of the step in which the device is busy")                 \
    X(AREA, "area_mm2", AREA, "of a device, whatever the workload")                                          \
    X(PEAK, "memory.peak_bytes", SIZE, "the peak memory of a device")                                        \
    X(CAPACITY, "memory.capacity_bytes", SIZE, "of the outermost level")                                     \
    X(DEVICES, "devices", NUMBER,                                                                            \
      "that the step is spread over; energy, power and price are of all, area and memory of one")            \
    X(FITS, "memory.fits", NUMBER, "1 when the footprint fits the outermost level, else 0")                  \
    X(PRICE, "price_usd", NUMBER, "of making all devices of the design, whatever the workload")              \
    X(TTFT, "ttft_s", TIME, "of a serving: time to the first token, at its percentile")                      \
    X(TPOT, "tpot_s", TIME, "of a serving: time for each further token, at its percentile")                  \
    X(E2E, "e2e_s", TIME, "of a serving: from arrival to the last token, at its percentile")                 \
    X(TOKENS_PER_DEVICE, "tokens_per_s_per_device", FREQUENCY, "of a serving: tokens that it makes")         \
    X(TOKENS_PER_USER, "tokens_per_s_per_user", FREQUENCY, "of a serving: one over the mean of tpot_s")      \
    X(WITHIN_LIMITS, "slo_attainment", NUMBER, "of a serving: share of requests that hold its limits")       \
    X(USD_PER_M_INPUT, "usd_per_m_input_tokens", NUMBER, "of a serving: of renting its devices")             \
    X(USD_PER_M_OUTPUT, "usd_per_m_output_tokens", NUMBER, "of a serving: of renting its devices")

enum ll_measure {
#define X(word, ...) LL_MEASURE_##word,
    LL_MEASURE_LIST(X)
#undef X
        LL_MEASURE_COUNT
};
/* As in the list. Static storage. */
const char *ll_measure_name(enum ll_measure measure);
/* Its dimension; LL_DIMENSION_NUMBER where there is no word for it. */
enum ll_dimension ll_measure_dimension(enum ll_measure measure);

/* The results of one workload on one design. */
struct ll_readings {
    double of[LL_MEASURE_COUNT]; /* by measure, in base units (areas in mm2); NaN: the machine does not say */
    double shares[LL_BOUND_COUNT]; /* shares of the time by what bounds it; they sum to 1 */
};

/* The mean of a measure over count workloads, at least one: the geometric mean, or with `plain` or where a
 * value is not above 0 the arithmetic one. The mean of equal values is that value, to the last bit. Pure. */
double ll_workload_mean(const double *values, size_t count, bool plain);

/* The prefix of shares of the time by their bound: share.compute, share.hbm, ... */
#define LL_SHARE_PREFIX "share."

/* A space of designs: what a sweep file says is to be tried.
 *
 * An axis is something that varies, with the values that it takes; a point is one value of each axis. Points
 * are numbered like digits, the last axis turning fastest, so a number is a point and the other way round. A
 * space is read once, immutable afterwards, may be shared by threads, and owns all that it points to. */

enum { LL_MOST_AXES = 32, LL_MOST_OBJECTIVES = 8, LL_MOST_WORKLOADS = 64 };

/* What a value of an axis is set in. */
enum ll_axis_target {
    LL_AXIS_MACHINE, /* a path of the machine */
    LL_AXIS_PART,    /* several keys of a part of the machine at once: one memory for another */
    LL_AXIS_MODEL,   /* a parameter of the models that are recorded, `batch` among them, or an option of
                        servings */
    LL_AXIS_PLAN     /* how a step is spread over devices */
};

struct ll_node;

struct ll_axis_value {
    const char *text;           /* the value as a machine file would spell it, or the name of a part */
    double number;              /* the value in its base unit; NaN: it is no number */
    const struct ll_node *node; /* the value as a machine file would have it; NULL outside a space */
};

struct ll_space_axis {
    const char
        *path; /* as the sweep file spells it and --set takes it; of a model's parameter `model.batch` */
    enum ll_axis_target target;
    const struct ll_axis_value *values; /* in the order of the file */
    uint32_t value_count;               /* length of `values`, at least 1 */
    bool ordered;                       /* all values are numbers, so that neighbours are similar */
    bool
        keeps_outlines; /* of machines with these values all costs have the same outlines (sim/cost/outline.h) */
    struct ll_place place; /* in the sweep file, for complaints */
};

/* A workload: a recorded trace, a reference model that is recorded dry, or a model on a server under load. */
struct ll_space_workload {
    const char *name;         /* unique: the file's without folder and ending, or the model's */
    const char *file;         /* the trace; NULL: a model */
    const char *model;        /* the model; NULL: a file */
    bool served;              /* the model, a language model, is on a server; settings are options of this */
    bool infer;               /* the model is recorded in inference; else in training */
    enum ll_dtype dtype;      /* dtype of all floating-point tensors; LL_DTYPE_COUNT: as recorded */
    enum ll_numeric products; /* GEMM dtype: what GEMMs with weights read; LL_NUMERIC_NONE: as recorded */
    enum ll_numeric weights;  /* in which such weights are stored; LL_NUMERIC_NONE: as recorded */
    struct ll_pattern pruned; /* sparsity of its weights; 0 of 0: dense */
    double gaps;              /* factor on the recorded time in gaps; 1: as recorded */
    struct ll_space_setting {
        const char *key, *value;
    } * settings;          /* parameters of the model, `batch` among them */
    size_t setting_count;  /* length of `settings` */
    struct ll_place place; /* in the sweep file, for complaints */
};

struct ll_objective_row {
    const char *text; /* as written: "min time_s" */
    const char *name; /* the text without min or max: "time_s" */
    bool most; /* to be maximized: the evaluator negates it, so that less is better in all objectives */
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
    uint64_t points; /* the largest number of points to evaluate; of a grid without it, all */
    uint64_t seed;   /* of the random numbers of the search */
    bool prune;      /* points whose lower bounds a known point dominates are skipped */
};

/* What a name in an expression stands for: the slots of a space's expressions are indices of these. */
enum ll_named_kind {
    LL_NAMED_AXIS,       /* the point's value of axis `index`, as a number */
    LL_NAMED_COUPLED,    /* the value of coupled parameter `index` */
    LL_NAMED_DEFINITION, /* the value of definition `index` */
    LL_NAMED_MEASURE,    /* measure `index` of workload `workload` */
    LL_NAMED_SHARE,      /* the share of the time of workload `workload` that bound `index` takes */
    LL_NAMED_MACHINE /* the number at `location` of the machine; in coupled parameters, of the base machine */
};
#define LL_THIS_WORKLOAD UINT32_MAX /* the workload for which the expression is evaluated */
struct ll_named {
    enum ll_named_kind kind;
    uint32_t index;    /* as the kind says */
    uint32_t workload; /* of measures and shares; LL_THIS_WORKLOAD or below workload_count */
    struct ll_location location;
};

/* A coupled parameter, a definition or a constraint. */
struct ll_rule {
    const char
        *name; /* the path that a coupled parameter sets, or the name of a definition; NULL: a constraint */
    const char *text; /* the expression as written */
    double scale;     /* of a coupled parameter: units of expressions per base unit (1e6 for areas in mm2) */
    struct ll_expression *expression;
    const char
        *lacks; /* of a definition without value: the machine section that it needs and no design has */
    struct ll_place place; /* in the sweep file, for complaints */
};

struct ll_space {
    struct ll_arena arena;
    const char *path;           /* of the sweep file */
    const char *name;           /* what the file calls itself */
    const char *base;           /* the base machine, as -c takes it */
    const char *const *folders; /* folders of machine files; the caller's */
    struct ll_machine *machine; /* the base machine */
    struct ll_space_axis *axes;
    size_t axis_count;
    struct ll_space_workload *workloads;
    size_t workload_count;
    struct ll_named *names; /* by slot: what names in all expressions stand for */
    size_t name_count;
    struct ll_rule *coupled, *definitions, *constraints;
    size_t coupled_count, definition_count, constraint_count;
    struct ll_objective_row objectives[LL_MOST_OBJECTIVES];
    size_t objective_count; /* at least 1 */
    struct ll_sweep_search search;
    uint64_t point_count; /* points of the full grid, 1 to 2^53 */
    uint64_t text_hash;   /* hash of the sweep file */
};

/* Reads a sweep file and the machine that it is based on. NULL after complaints, all that could be found at
 * once. Free with ll_space_free. */
struct ll_space *ll_space_read(const char *path, const char *const *folders, struct ll_diags *diags);

/* The same from text in memory; name stands for the file in complaints. */
struct ll_space *ll_space_parse(const char *text, size_t length, const char *name, const char *const *folders,
                                struct ll_diags *diags);
void ll_space_free(struct ll_space *space);

/* What a sweep file may say: its keys, for editors. False behind the last. Static storage. */
struct ll_space_key {
    const char *key, *type, *help; /* type: of JSON; NULL: any */
    bool required;
};
bool ll_space_key_at(size_t i, struct ll_space_key *key);

/* The point of a number below point_count: point[a] is the index of the value of axis a. Pure. */
void ll_space_point(const struct ll_space *space, uint64_t number, uint32_t *point);

/* The number of a point, the inverse of ll_space_point. Pure. */
uint64_t ll_space_number(const struct ll_space *space, const uint32_t *point);

#endif
