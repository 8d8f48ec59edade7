/* SPDX-License-Identifier: Apache-2.0 */
/* Two steps compared: what changed, by kind, by scope, and by op, matched by scope and signature.
 *
 * A side is a step as recorded, as simulated, or as a document of `leadline sim --json` has it. All texts and
 * lists live in the arena that a side or a comparison was made in. Pure functions of their inputs; an arena
 * belongs to one thread. Times are seconds per step. */
#ifndef LL_SIM_REPORT_COMPARISON_H
#define LL_SIM_REPORT_COMPARISON_H

#include "sim/replay/replay.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* Ops of a step that look the same. */
struct ll_side_row {
    const char *kind;
    const char *scope, *phase, *signature; /* NULL: only the kind is known */
    double count, time_s;                  /* per step */
};

/* Part of the step's time by what bounds it. */
struct ll_side_cause {
    const char *name;
    double time_s;
};

struct ll_side {
    const char *name;    /* the file as the user named it */
    const char *trace;   /* the trace's file; that of `name` unless it is a document */
    const char *machine; /* NULL: times are the recorded ones */
    double time_s, flops, bytes;
    double peak_bytes;                /* of memory; NaN: not known */
    bool has_ops;                     /* each row has scope, phase and signature */
    struct ll_side_row *rows;         /* in order of first appearance; the same op may have several rows */
    uint64_t row_count, row_capacity; /* rows is grown with ll_grow and freed by ll_side_release */
    struct ll_side_cause *causes;     /* NULL: not known, as of a recording */
    uint64_t cause_count, cause_capacity;
};

/* Fills the side from a replay, or from the recorded times of the complete steps of a trace; name and trace
 * are the caller's to set. False when memory ran out. */
bool ll_side_of_result(const struct ll_result *result, struct ll_arena *arena, struct ll_side *side);
bool ll_side_of_recording(const struct ll_trace *trace, struct ll_arena *arena, struct ll_side *side);

/* Fills the side from a document of `leadline sim --json`: from its only result, or of several from the one
 * of this trace and machine (NULL: any). With ops where it was written with --per-op. False after a
 * complaint, when it is no such document or none or several of its results are meant, or when memory ran
 * out. */
bool ll_side_of_document(const char *text, size_t length, const char *trace, const char *machine,
                         struct ll_arena *arena, struct ll_diags *diags, struct ll_side *side);

/* Frees rows and causes. */
void ll_side_release(struct ll_side *side);

/* By what rows are matched: word, name, what a row is. */
#define LL_MATCH_LIST(X)                                                                                     \
    X(KIND, "kind", "all ops of a kind")                                                                     \
    X(SCOPE, "scope", "all ops of a scope")                                                                  \
    X(OP, "op", "all ops of one scope, kind, phase and signature")

enum ll_match {
#define X(word, ...) LL_MATCH_##word,
    LL_MATCH_LIST(X)
#undef X
        LL_MATCH_COUNT
};

/* A row of both sides; what it is not matched by is NULL. Index 0 is side A, 1 side B. */
struct ll_change {
    const char *kind, *scope, *phase;
    const char *signature[2]; /* of an op; NULL on the side that lacks it. They differ where shapes or types
                                 changed within the same scope, kind and phase */
    double count[2], time_s[2];
};

struct ll_comparison {
    const struct ll_side *sides[2];
    struct ll_change
        *changes[LL_MATCH_COUNT];          /* by absolute difference, then time, largest first, then name */
    uint64_t change_count[LL_MATCH_COUNT]; /* 0 of scopes and ops unless both sides have them */
    double matched_share; /* part of both sides' time in ops of the same scope and signature; NaN: no ops */
    double other_s; /* part of the difference that no op accounts for: overlap, waiting, time between ops */
};

/* NULL when memory ran out. The sides outlive it. */
const struct ll_comparison *ll_compare(const struct ll_side *a, const struct ll_side *b,
                                       struct ll_arena *arena);

/* What may not grow: the step's time, or that of each row with at least 1 % of either step's time. */
struct ll_growth_limit {
    bool whole; /* the step; else rows matched by `match` */
    enum ll_match match;
    double share; /* growth above this share of side A's time fails */
};

/* Reads "3%", "kind:3%", "scope:2.5%" or "op:5%"; false when it is no such thing. */
bool ll_growth_limit_parse(const char *text, struct ll_growth_limit *limit);

/* Appends a sentence for each thing that grew by more than a limit allows: to sentences, which has room for
 * `most`; how many there are. Texts live in the arena; NULL among them when memory ran out. */
uint64_t ll_growth_failures(const struct ll_comparison *comparison, const struct ll_growth_limit *limit,
                            const char **sentences, uint64_t most, struct ll_arena *arena);

/* The sentence that names what changed most, and tables of at most `top` rows each. width in characters. */
void ll_comparison_text(const struct ll_comparison *comparison, uint64_t top, unsigned width,
                        struct ll_str *out);

/* The keys `a`, `b`, `difference_s`, `contributions`, ... of sim/report/README.md into the open object. */
void ll_comparison_json(const struct ll_comparison *comparison, struct ll_json *json);

#endif
