/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of Fathom share (Adolf et al., "Fathom: Reference Workloads for Modern Deep Learning
 * Methods", IISWC 2016): its workloads, its classes of op types, the one matrix of numbers that it prints. */
#ifndef LL_SIM_STUDY_FATHOM_H
#define LL_SIM_STUDY_FATHOM_H

#include "sim/study/study.h"
#include "tracer/ir/trace.h"

/* A recorded run as op kinds over steps: how long all ops of a kind took together, in each step. */

struct ll_timeline_kind {
    const char *name;
    enum ll_op_kind kind; /* LL_OP_NONE for one that this program does not know */
    const double *time_s; /* by step */
    double quiet_s;       /* the time below which a tenth of the steps lie: little else ran meanwhile */
    double share;         /* of quiet_s in the sum of those of all kinds */
};

/* Complete steps only, the first `skipped` of them left out: caches and page tables are cold there. What the
 * host brings (class input) is no op type of a profile and left out of `kinds`, not of ops_s. */
struct ll_timeline {
    struct ll_timeline_kind *kinds; /* by share, largest first, then by name */
    size_t kind_count;
    size_t step_count;
    double *wall_s, *ops_s, *recording_s; /* by step: in all, in ops, in the recorder */
};

/* In the arena; NULL when memory ran out. Pure otherwise. */
const struct ll_timeline *ll_timeline(const struct ll_trace *trace, size_t skipped, struct ll_arena *arena);

/* In the order of figure 3. */
enum ll_fathom_row {
    LL_SEQ2SEQ,
    LL_MEMNET,
    LL_SPEECH,
    LL_AUTOENC,
    LL_RESIDUAL,
    LL_VGG,
    LL_ALEXNET,
    LL_DEEPQ,
    LL_FATHOM_COUNT
};

/* The paper's name; the model that follows Fathom's code, and its batch there. Then settings: at the size of
 * the paper (`full`), for a profile within seconds (`profile`), small enough for hundreds of steps
 * (`long_run`). */
struct ll_fathom_workload {
    const char *name, *model;
    uint64_t batch, profile_batch, profile_steps, long_batch, long_steps;
    struct ll_study_setting full[LL_MOST_STUDY_SETTINGS], profile[LL_MOST_STUDY_SETTINGS],
        long_run[LL_MOST_STUDY_SETTINGS];
};
extern const struct ll_fathom_workload ll_fathom[LL_FATHOM_COUNT];
extern const char *const ll_fathom_names[LL_FATHOM_COUNT];

/* Figure 3's op types in the classes that its own columns can be sorted into. The three GEMMs of a
 * convolution stay apart, forward, by its filter and by its input; softmax and losses are reductions. */
#define LL_FATHOM_CLASS_LIST(X)                                                                              \
    X(ELEMENTWISE, "elementwise")                                                                            \
    X(MATMUL, "matmul")                                                                                      \
    X(REDUCTION, "reduction")                                                                                \
    X(CONV, "conv")                                                                                          \
    X(CONV_FILTER, "conv filter")                                                                            \
    X(CONV_INPUT, "conv input")                                                                              \
    X(RANDOM, "random")                                                                                      \
    X(OPTIMIZER, "optimizer")                                                                                \
    X(MOVEMENT, "movement")
enum ll_fathom_class {
#define X(word, name) LL_FATHOM_##word,
    LL_FATHOM_CLASS_LIST(X)
#undef X
        LL_FATHOM_CLASS_COUNT
};
extern const char *const ll_fathom_classes[LL_FATHOM_CLASS_COUNT];

/* Figure 3: percent of time by op type when training on the CPU. What is not printed is below 1 % and zero
 * here. */
enum { LL_FATHOM_TYPES = 23 };
extern const double ll_fathom_published[LL_FATHOM_COUNT][LL_FATHOM_TYPES];

/* The same by class, as fractions of the row's sum. */
void ll_fathom_published_classes(double share[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT]);

/* Plans the recordings that figures 2, 3 and 4 are made of: each workload trains some steps on one thread, so
 * that small ops do not show how threads wait for each other. */
void ll_fathom_plan_profiles(struct ll_study_plan *plan);

/* One of them; NULL when there is no such workload or memory ran out. */
const struct ll_timeline *ll_fathom_profile(const struct ll_runs *runs, enum ll_fathom_row row);

/* Figure 3 as it would be on the paper's processor. It was recorded with eight threads (section V.E: the
 * optimizer of deepq takes 7 % with eight threads, "which is also seen in the heatmap of figure 3"), the
 * profiles above are of one thread of another processor. So the workloads are simulated on the i7-6700K
 * with all of its cores; and a few op kinds, which TensorFlow 0.8 computes slowly, may be given the time
 * that figure 3 prints for them. */

/* Plans the dry runs that are simulated so, and the machine. */
void ll_fathom_plan_simulated(struct ll_study_plan *plan);

/* Times of a step by op kind, batched GEMMs as GEMMs. */
struct ll_fathom_simulated {
    double time_s[LL_OP_NONE];
};

/* False when there is no such workload; with `slow` the named kinds take what figure 3 prints. */
bool ll_fathom_simulate(const struct ll_runs *runs, enum ll_fathom_row row, bool slow,
                        struct ll_fathom_simulated *simulated);

/* How many of the op kinds, largest first, reach a part (0 to 1) of the time. Pure. */
size_t ll_fathom_simulated_types(const struct ll_fathom_simulated *simulated, double part);

/* What each element of the slow kinds of a workload takes, as in "tile 2.8 ns"; nothing where it has none. */
void ll_fathom_slow_text(const struct ll_runs *runs, enum ll_fathom_row row, struct ll_str *out);

#endif
