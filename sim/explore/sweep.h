/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep: searches, the evaluator, the database of results (store), and what runs all three.
 *
 * Choosing the points that are tried.
 *
 * A search proposes points by number, in batches, and is told what became of them. It never evaluates
 * anything itself and keeps no files: whoever answers may remember (an interrupted sweep asks again for what
 * it knows and is answered from its database), so a search is a pure function of space, seed and answers.
 * Added as a row in searches.def and one function. */
#ifndef LL_SIM_EXPLORE_SWEEP_H
#define LL_SIM_EXPLORE_SWEEP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/explore/space.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/base/pool.h"
#include "tracer/ir/trace.h"

/* What became of a point. */
struct ll_answer {
    bool valid; /* such a machine can be, runs all workloads, all constraints hold, and all objectives are
                         finite */
    double violation; /* 0 when valid; else how far the constraints are missed, in shares of their bounds,
                         summed up, and 1 for each objective that is not finite; INFINITY for a machine that
                         cannot be */
    double objectives[LL_MOST_OBJECTIVES]; /* less is better: what shall be most is negated. Several
                         workloads: the geometric mean. INFINITY where there is none */
};

/* Answers for `count` points at once (1,000 or so serve best), outcomes[i] for numbers[i]. False when the
 * search shall stop: interrupted, or trouble that the asker knows of. */
typedef bool ll_ask(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes);

/* Each proposes at most space->search.points points (grid: all, when not given) and returns false when the
 * asker said so, or memory ran out. Deterministic by space->search.seed. */
#define LL_SEARCH(word, ...) bool ll_search_##word(const struct ll_space *space, ll_ask *ask, void *context);
#include "sim/explore/searches.def"
#undef LL_SEARCH

/* Which points to look at when there are too many.
 *
 * A grid has dimensions with so many values each; a point is one index for each dimension. Everything here is
 * a pure function of the seed and of which sample is asked for: threads and shards may ask in any order. */

/* The numbers 0 .. count - 1 in an order of chance, each once, without a list of them. */
struct ll_shuffle {
    uint64_t count, key;
    unsigned half_bits; /* of a number as the network that mixes it sees it */
};

/* count is at least 1 and at most 2^62. */
struct ll_shuffle ll_shuffle_of(uint64_t count, uint64_t seed);

/* The i-th of them; i is below count. A Feistel network of four rounds, walked until it ends inside the range
 * (Black and Rogaway: Ciphers with arbitrary finite domains, 2002); fewer than four walks on average. */
uint64_t ll_shuffle_at(const struct ll_shuffle *shuffle, uint64_t i);

/* A Latin hypercube (McKay, Beckman and Conover, 1979) on a grid: of `samples` points, each value of each
 * dimension is taken by as many as of every other one, give or take one; where a dimension has more values
 * than there are samples, each stretch of them gives one. Writes sample i, i below samples. sizes[d] times
 * samples fits in 64 bits. Two samples may be the same point where the grid is coarse. */
void ll_latin_point(const uint64_t *sizes, size_t dimensions, uint64_t samples, uint64_t seed, uint64_t i,
                    uint32_t *point);

/* Whether a search can be cut into shards: it does not learn from answers. */
bool ll_search_divides(enum ll_search_kind kind);

/* What a search that divides proposes, by place in its sequence: any stretch, in any order, at no cost for
 * those before it, but for a Latin hypercube, which is drawn from its beginning on. */
struct ll_proposals {
    const struct ll_space *space;
    uint64_t count;            /* of places */
    struct ll_shuffle shuffle; /* of all points */
    uint64_t draws;            /* of a Latin hypercube, so far */
    struct ll_map drawn;       /* by it: points, in the order of their places */
};

/* Nothing is drawn yet. The space outlives it. */
struct ll_proposals ll_proposals_of(const struct ll_space *space);
void ll_proposals_release(struct ll_proposals *proposals);

/* The points at `count` places from `first` on, which are all below proposals->count. False when memory ran
 * out. */
bool ll_proposals_at(struct ll_proposals *proposals, uint64_t first, size_t count, uint64_t *numbers);

/* The one that space->search.kind names: as above. */
bool ll_search(const struct ll_space *space, ll_ask *ask, void *context);

/* Searching a grid for its Pareto front by breeding.
 *
 * NSGA-II (Deb, Pratap, Agarwal and Meyarivan: A fast and elitist multiobjective genetic algorithm, 2002) on
 * points that are indices, and beside it refinement: part of each generation are neighbours of what is on the
 * front so far, one step away in one dimension. No point is asked for twice. What is asked for depends on the
 * seed and the answers alone, not on threads or time. */

/* What is searched. */
struct ll_index_grid {
    size_t dimensions;
    const uint64_t *sizes; /* values of each dimension, at least 1 and less than 2^32 */
    const bool *ordered;   /* whether values that lie beside each other are alike */
};

struct ll_breeding {
    uint64_t seed;
    uint64_t evaluations; /* at most so many points are asked for */
    size_t objectives;
    size_t population; /* at least 4; 0: chosen for the number of evaluations */
    double refined;    /* the part of each generation that are neighbours of the front, 0 to 1 */
};

/* Answers for `count` points, `dimensions` indices each: objectives (less is better) and by how much each
 * breaks the constraints, 0 when it holds them. False ends the search. */
typedef bool ll_evolution_ask(void *context, const uint32_t *points, size_t count, double *objectives,
                              double *violations);

/* Asks until the evaluations are used up or all points were seen. LL_NO_MEMORY, or LL_OK, also when the asker
 * ended it. */
enum ll_status ll_evolve(const struct ll_index_grid *grid, const struct ll_breeding *breeding,
                         ll_evolution_ask *ask, void *context);

/* From a point to its results.
 *
 * An evaluator binds the axes of a space to places in a machine once; a point then costs no reading of files:
 * a machine of the thread's own is changed in place, checked, and the workloads are replayed on it. What does
 * not differ from one point to the next is not costed again. Results are those of `leadline sim --set`, bit
 * for bit, whatever the number of threads. */

/* Why a point is not valid. */
enum ll_point_verdict {
    LL_VERDICT_VALID,
    /* A constraint does not hold, or an objective is no finite number; there are results. */
    LL_VERDICT_INFEASIBLE,
    /* The machine contradicts itself, cannot run a workload or has too few devices; there are no results. */
    LL_VERDICT_INVALID,
    /* The point was skipped: a known point dominates its lower bounds; there are no results. */
    LL_VERDICT_PRUNED
};

/* A point and its results. */
struct ll_evaluation {
    uint64_t number; /* of the point, below the space's point_count */
    uint64_t key;    /* hash of version, workloads and all values of the resolved machine that vary */
    enum ll_point_verdict verdict;
    const char
        *why; /* of a point that is not valid: the constraint, or what is wrong. Static, the space's or the
                        evaluator's */
    struct ll_answer outcome;     /* objectives and constraint violation, for the search */
    struct ll_readings *measured; /* by workload; the caller's room */
};

/* When an evaluation's turn comes. */
struct ll_evaluation_turn {
    uint64_t place;
    size_t index; /* of evaluations */
};

/* Sorts evaluations so that points that share most follow one another: as a grid is walked. */
void ll_space_turns(const struct ll_space *space, const struct ll_evaluation *evaluations, size_t count,
                    struct ll_evaluation_turn *turns);

/* Returns the trace of a workload, recorded with `settings`: those of the workload, overridden by the point's
 * model axes. NULL after a complaint. The evaluator frees the trace. */
typedef struct ll_trace *ll_trace_source(void *context, const struct ll_space_workload *workload,
                                         const struct ll_space_setting *settings, size_t count,
                                         struct ll_diags *diags);

struct ll_evaluator;

/* An evaluator of a space, which outlives it, on the threads of a pool. NULL after complaints. */
struct ll_evaluator *ll_evaluator_new(const struct ll_space *space, ll_trace_source *bring, void *context,
                                      struct ll_pool *pool, struct ll_diags *diags);
void ll_evaluator_free(struct ll_evaluator *evaluator);

/* From now on, points whose lower bounds a point of this front dominates are skipped (LL_VERDICT_PRUNED). The
 * front is the caller's and does not change while points are evaluated; NULL: every point is evaluated. */
struct ll_archive;
void ll_evaluator_prune(struct ll_evaluator *evaluator, const struct ll_archive *front);

/* Serves a workload with these options, the point's laid over, on instances of this machine, and measures all
 * of it. False after a complaint: why it cannot be served. Called by all threads of the pool. */
typedef bool ll_serving_source(void *context, const struct ll_space_workload *workload,
                               const struct ll_space_setting *settings, size_t count,
                               const struct ll_machine *machine, struct ll_readings *measured,
                               struct ll_diags *diags);

/* What servings of the space are measured by; needed where there are some. */
void ll_evaluator_serve(struct ll_evaluator *evaluator, ll_serving_source *serve, void *context);

/* Evaluates the points evaluations[i].number on the pool's threads; measured points to room for each
 * workload, given by the caller. False after complaints: a model refuses its parameters, or memory ran out.
 */
bool ll_evaluate(struct ll_evaluator *evaluator, struct ll_evaluation *evaluations, size_t count,
                 struct ll_diags *diags);

/* The base machine as it is, with the first of each model's parameters and of the plan's; number and key are
 * not set, measured points to room for each workload. */
void ll_evaluator_base(struct ll_evaluator *evaluator, struct ll_evaluation *base);

/* What sim would warn of on the base machine, or else on one that differs from the first point in a single
 * value, each workload with its name: numbers that are sound, but hardly those that were meant, as where no
 * unit for GEMMs computes in a workload's type. False: nothing. */
bool ll_evaluator_warn(struct ll_evaluator *evaluator, struct ll_str *out);

/* The key of a point, by which a database recognizes its results. */
uint64_t ll_evaluator_key(const struct ll_evaluator *evaluator, uint64_t number);

/* By workload: a hash of its trace, or of its model and the settings that do not vary. */
const uint64_t *ll_evaluator_workload_hashes(const struct ll_evaluator *evaluator);

/* Where a sweep keeps its results: one SQLite file.
 *
 *   provenance (name, value)                   version, hashes of code, space and base machine, rules, seed
 *   workloads  (id, name, hash)                the traces, in the order of the space
 *   parameters (id, path, target)              the axes
 *   choices    (parameter, id, text, number)   and their values
 *   objectives (id, text, name, most, base)    and what the base machine reaches
 *   points     (number, key, verdict, why, violation, a column for each parameter, by its path, and one for
 *              each objective, by its text)
 *   results    (point, workload, a column for each measure and each share of the time, by name)
 *   designs    a view of both together, a row for each point and workload
 *
 * Rows come in batches of a transaction each, in write-ahead mode: what was committed survives a kill, what
 * was not is not there at all. Numbers of points are primary keys, so the same sweep gives the same rows
 * whatever happened on the way. Other programs may read at any time. A store belongs to one thread. */

struct ll_store;

/* The fact of provenance that tells spaces apart. */
#define LL_FACT_SPACE "space"

/* Those that say which parts of the sweep have ended: finished.2of8 is `yes` or `no`. */
#define LL_FACT_FINISHED "finished."

/* What sweep, pareto and the page warn of (ll_evaluator_warn). */
#define LL_FACT_WARNING "warning"

/* In which types the workloads are simulated. */
#define LL_FACT_DTYPE "dtype"

/* Facts that all results of a database rest on, with what a complaint calls them; the hashes of the workloads
 * are the others. The store writes them itself. Rules stand there as written. */
#define LL_BASIS_LIST(X)                                                                                     \
    X("version", "the version of leadline")                                                                  \
    X("code", "the code of leadline")                                                                        \
    X("base.hash", "the base machine")                                                                       \
    X(LL_FACT_DTYPE, "the dtype")                                                                            \
    X("couplings", "coupled parameters")                                                                     \
    X("definitions", "definitions")                                                                          \
    X("constraints", "constraints")

/* What else a database says of itself: facts are those of the last sweep that wrote to it. */
struct ll_store_facts {
    const struct ll_fact *facts;
    size_t count;
    const uint64_t *workload_hashes;
    const struct ll_evaluation *base; /* of the base machine as it is */
};

/* Opens the database of a space for writing, and makes it when it is not there; one that holds the results of
 * another space, or such as rest on something else than now, is refused, and stays as it was, and one that
 * another store has open for writing, in this process or another. fresh: what is there is thrown away, if it
 * may be discarded. NULL after a complaint; then *status is LL_OK where what is there is refused, and else
 * says what trouble there was. */
struct ll_store *ll_store_open(const char *path, const struct ll_space *space,
                               const struct ll_store_facts *facts, bool fresh, enum ll_status *status,
                               struct ll_diags *diags);

/* Whether nothing but the results of a sweep, of any space, is lost with this file; one that is empty or not
 * there is fine too. False after a complaint. */
bool ll_store_discardable(const char *path, struct ll_diags *diags);

/* Whether a file is there and is the database of a sweep, of any space. False after a complaint. */
bool ll_store_check(const char *path, struct ll_diags *diags);

/* Closes; then all is in the one file, unless somebody reads it for long. False after a complaint. NULL is
 * fine. */
bool ll_store_close(struct ll_store *store, struct ll_diags *diags);

/* How many points are there, with whatever key. False after a complaint. */
bool ll_store_rows(struct ll_store *store, uint64_t *rows, struct ll_diags *diags);

/* Whether the point is there with this key; then its outcome is too. */
bool ll_store_find(struct ll_store *store, uint64_t number, uint64_t key, struct ll_answer *outcome);

/* Adds points in one transaction. False after a complaint (a full disk); then none of them is there. */
bool ll_store_add(struct ll_store *store, const struct ll_evaluation *evaluations, size_t count,
                  struct ll_diags *diags);

/* Writes down that this part of so many parts of a sweep (shards, or processes that work together) has
 * begun, or that it has ended, all of its points being there; what was written down before is forgotten.
 * False after a complaint. */
bool ll_store_mark(struct ll_store *store, uint64_t part, uint64_t parts, bool finished,
                   struct ll_diags *diags);

/* The same, into a file that must not be there yet. */
bool ll_store_merge(const char *path, const char *const *parts, size_t count,
                    const volatile sig_atomic_t *stop, uint64_t *points, struct ll_diags *diags);

/* What a database lacks of its sweep, as the rest of a sentence that begins with its name; NULL when
 * nothing is known to be missing, as of one that was written before that was told. In the arena. */
const char *ll_store_missing(const char *path, struct ll_arena *arena);

/* Why points are not valid: the commonest reasons, the most frequent first; how many reasons they are. In
 * the arena. */
struct ll_store_trouble {
    const char *why;
    uint64_t count; /* points */
};
size_t ll_store_troubles(const char *path, struct ll_arena *arena, size_t most,
                         struct ll_store_trouble *troubles);

/* All of a finished or unfinished sweep in memory, column by column: for fronts, sensitivities and figures.
 */
struct ll_data_column {
    const char *name; /* a path of an axis, or of a result: time_s, share.hbm, or alexnet.time_s */
    bool is_axis;
    const double *numbers;              /* by row; NaN for what is no number */
    const uint32_t *choices;            /* of an axis, by row: index in values */
    const struct ll_axis_value *values; /* of an axis */
    uint32_t value_count;
    double base; /* the value on the base machine as it is; NaN when that has none */
};

struct ll_data_frame {
    uint64_t row_count;      /* points, by number */
    const uint64_t *numbers; /* of the points */
    const uint8_t *verdicts; /* enum ll_point_verdict */
    const struct ll_data_column *columns;
    size_t column_count;
    size_t axis_count; /* the first columns */
    const struct ll_fact *facts;
    size_t fact_count;
    struct {
        const char *text, *name;
        bool most;
    } objectives[LL_MOST_OBJECTIVES];
    size_t objective_count;
};

/* Reads a database, everything in the arena. Results of several workloads have a column for their geometric
 * mean under the plain name, and one each under the workload's. NULL after a complaint. */
const struct ll_data_frame *ll_data_frame_read(const char *path, struct ll_arena *arena,
                                               struct ll_diags *diags);

/* Whether it can be read so, row by row. False after a complaint. */
bool ll_store_is_sound(const char *path, struct ll_diags *diags);

/* What the database says of itself under a name, or NULL. */
const char *ll_data_frame_fact(const struct ll_data_frame *frame, const char *key);

/* The column of this name, or NULL. */
const struct ll_data_column *ll_data_frame_column(const struct ll_data_frame *frame, const char *name);

/* The same frame with the rows for which an expression over its columns is true. In the arena; NULL after a
 * complaint. */
const struct ll_data_frame *ll_data_frame_where(const struct ll_data_frame *frame, const char *condition,
                                                struct ll_arena *arena, struct ll_diags *diags);

/* The same frame with another objective, an expression over its columns, which becomes one of them; the first
 * takes the place of those that the sweep had. In the arena; NULL after a complaint. */
const struct ll_data_frame *ll_data_frame_want(const struct ll_data_frame *frame, const char *name, bool most,
                                               bool first, struct ll_arena *arena, struct ll_diags *diags);

/* Sharing what a search proposes among so many lanes, evenly and with little said. Pure. */
struct ll_deal {
    uint64_t count;  /* places of the sequence */
    uint64_t lanes;  /* at least 1 */
    uint64_t block;  /* places that stay together */
    uint64_t rounds; /* in each, every lane has a block, or none at the end */
};

/* Some rounds of a lane. */
struct ll_deal_piece {
    uint64_t lane, first_round, end_round;
};

/* Blocks of 64 places, or shorter ones where a lane would have less than 256 of them. */
struct ll_deal ll_deal_of(uint64_t count, uint64_t lanes);

/* All that a lane has: no lane more than one block above another. */
struct ll_deal_piece ll_deal_lane(const struct ll_deal *deal, uint64_t lane);

/* How many places the lane has that has most. */
uint64_t ll_deal_most(const struct ll_deal *deal);

/* The pieces in order: one of each lane, half of the places; then one of each lane, half of the rest, ...
 * False past the last. */
bool ll_deal_next(const struct ll_deal *deal, uint64_t number, struct ll_deal_piece *piece);

/* The block of a lane in a round: its first place and, as result, how many there are. */
uint64_t ll_deal_block(const struct ll_deal *deal, uint64_t lane, uint64_t round, uint64_t *first);

/* How many places the piece that is taken after this one has at most: it is of the same rounds or of later
 * ones. */
uint64_t ll_deal_next_most(const struct ll_deal *deal, const struct ll_deal_piece *piece);

/* How many of so many points one of the lanes evaluates at most, as long as others can: this share above
 * their mean, or the mean rounded up. Who gets more of the processor than the others ends sooner. */
#define LL_MOST_ABOVE_MEAN 0.05
uint64_t ll_deal_limit(uint64_t points, uint64_t lanes);

/* A search, answered by an evaluator, remembered by a store.
 *
 * What the store has is not evaluated again: so an interrupted sweep goes on where it was, and a search that
 * learns from answers takes the same way once more. */

/* How far a sweep is. */
struct ll_sweep_state {
    uint64_t total;     /* points that the search means to propose, of all shards */
    uint64_t proposed;  /* points that the search has proposed so far, of all shards */
    uint64_t known;     /* points of this shard whose results the store had already */
    uint64_t evaluated; /* points of this shard that this run evaluated */
    uint64_t valid;     /* points among known and evaluated that are valid */
    uint64_t left_out;  /* points among evaluated that were pruned: known ones dominate their lower bounds */
    double evaluating_cpu_s; /* CPU time of evaluating points, of all threads */
    bool stopped;            /* the sweep was stopped before its end */
};

/* Other processes that run the same sweep at the same time, each with a store of its own. All deal the places
 * of the search in the same pieces (struct ll_deal); each begins with its own, and who is done with one takes
 * the next. Of a search that learns, each has its share of every batch and gets all answers, so it goes the
 * way it goes alone. */
struct ll_sweep_crew {
    unsigned rank, size; /* this process, of so many */
    /* How often anybody has called this before: 0, 1, 2, ... */
    uint64_t (*take)(void *context);
    /* Adds up each value over all processes, once all have come here; all call it equally often. Who waits
     * takes no time of the processor. */
    void (*add_up)(void *context, double *values, size_t count);
    /* The greatest status of all, once all have come here with theirs. */
    int (*agree)(void *context, int status);
    void *context;
};

struct ll_sweep {
    const struct ll_space *space;
    struct ll_evaluator *evaluator;
    struct ll_store *store;            /* NULL: nothing is kept */
    uint64_t shard, shards;            /* this one of so many, from 0; shards is at least 1 */
    const struct ll_sweep_crew *crew;  /* NULL: alone; there are no shards then */
    const volatile sig_atomic_t *stop; /* ends the sweep soon when it is not 0; may be NULL */
    /* Told after every so many points; may be NULL. */
    void (*progress)(void *context, const struct ll_sweep_state *state);
    void *context;
    struct ll_sweep_state state;
};

/* Points that the search of a space means to propose. */
uint64_t ll_sweep_search_total(const struct ll_space *space);

/* Runs the search to its end. False when it was stopped, or after complaints. */
bool ll_sweep_run(struct ll_sweep *sweep, struct ll_diags *diags);

/* The databases of processes that sweep together: R.db is in parts R.part0.db, R.part1.db, ... while they
 * work, and what a process that was killed leaves behind is a part that the next run joins. */

enum { LL_MOST_PARTS = 4096 };

/* Where a process keeps its part; in the arena, NULL when memory ran out. */
const char *ll_part_path(const char *output, unsigned rank, struct ll_arena *arena);

/* Begins a part as a copy of the output; of nothing, when that is not there. False after a complaint. */
bool ll_part_begin(const char *output, const char *part, struct ll_diags *diags);

/* Joins all parts that there are with the output, which takes their place; fresh: all of them are thrown away
 * instead. False after complaints; then what there was is still there. */
bool ll_parts_join(const char *output, bool fresh, struct ll_arena *arena, struct ll_diags *diags);

#endif
