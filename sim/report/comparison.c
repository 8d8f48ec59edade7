/* SPDX-License-Identifier: Apache-2.0 */
/* Two steps compared. Sides are lists of ops with times; rows of both sides that look the same become one
 * change, and what is left is paired by scope, kind and phase, so that an op whose shape or type changed is
 * one row with two signatures:
 *
 *     A: layer1 matmul f32[8,64]   B: layer1 matmul f32[16,64]   ->   one change, two signatures
 *
 * The differences of all rows and what no op accounts for sum to the difference of the steps. */
#include "sim/report/comparison.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/sim_report.h"
#include "sim/report/table.h"
#include "tracer/base/map.h"
#include "tracer/ir/profile.h"

static const double least_share = 0.01; /* of a step's time, of a row that a limit looks at */

static const char *const match_names[] = {
#define X(word, name, meaning) name,
    LL_MATCH_LIST(X)
#undef X
};

/* --- sides --- */

void ll_side_release(struct ll_side *side)
{
    free(side->rows);
    free(side->causes);
    *side = (struct ll_side){0};
}

static struct ll_side_row *add_row(struct ll_side *side)
{
    if (!ll_grow(&side->rows, &side->row_capacity, side->row_count + 1, sizeof *side->rows))
        return NULL;
    side->rows[side->row_count] = (struct ll_side_row){0};
    return &side->rows[side->row_count++];
}

static struct ll_side_cause *add_cause(struct ll_side *side)
{
    if (!ll_grow(&side->causes, &side->cause_capacity, side->cause_count + 1, sizeof *side->causes))
        return NULL;
    side->causes[side->cause_count] = (struct ll_side_cause){0};
    return &side->causes[side->cause_count++];
}

/* A row for each signature of the trace, which is an op's kind, scope, phase and shapes; unless it has a
 * count it was not used. */
static bool rows_of_signatures(const struct ll_trace *trace, struct ll_arena *arena, struct ll_side *side)
{
    side->has_ops = true;
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[i];
        struct ll_side_row *row = add_row(side);
        struct ll_str text = {0};
        ll_signature_text(&signature->view, &text);
        if (row)
            *row = (struct ll_side_row){.kind = trace->strings[signature->kind_name],
                                        .scope = trace->strings[signature->scope],
                                        .phase = ll_phase_name(signature->phase),
                                        .signature =
                                            text.failed ? NULL : ll_copy_text(arena, text.text, text.length)};
        ll_str_release(&text);
        if (!row || !row->signature)
            return false;
    }
    return true;
}

/* Takes away rows without ops. */
static void drop_unused(struct ll_side *side)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < side->row_count; i++)
        if (side->rows[i].count > 0)
            side->rows[kept++] = side->rows[i];
    side->row_count = kept;
}

bool ll_side_of_result(const struct ll_result *result, struct ll_arena *arena, struct ll_side *side)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double steps = (double)prepared->steps;
    assert(prepared->steps > 0);
    side->machine = result->machine->stem;
    side->time_s = result->time_s;
    side->flops = prepared->flops;
    side->bytes = prepared->bytes;
    side->peak_bytes = result->footprint->unknown ? NAN : (double)result->footprint->peak_bytes;
    if (!rows_of_signatures(trace, arena, side))
        return false;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        struct ll_side_row *row = &side->rows[trace->ops[seq].signature];
        row->count += 1 / steps;
        row->time_s += result->ops[seq - prepared->first_op].time_s / steps;
    }
    drop_unused(side);
    for (unsigned cause = 0; cause < LL_BOUND_LEVEL + result->machine->level_count; cause++) {
        struct ll_side_cause *added = add_cause(side);
        if (!added)
            return false;
        *added = (struct ll_side_cause){ll_bound_name(result->machine, cause),
                                        result->shares[cause] * result->time_s};
    }
    return true;
}

bool ll_side_of_recording(const struct ll_trace *trace, struct ll_arena *arena, struct ll_side *side)
{
    uint32_t first, end;
    uint64_t steps;
    const struct ll_profile *profile = ll_profile(trace, arena);
    if (!profile || !rows_of_signatures(trace, arena, side))
        return false;
    ll_trace_range(trace, &first, &end, &steps);
    side->time_s = profile->wall_s;
    side->flops = profile->flops;
    side->bytes = profile->bytes;
    side->peak_bytes = NAN;
    for (uint32_t seq = first; seq < end; seq++) {
        struct ll_side_row *row = &side->rows[trace->ops[seq].signature];
        row->count += 1 / (double)(steps ? steps : 1);
        row->time_s += (double)trace->ops[seq].duration_ns * 1e-9 / (double)(steps ? steps : 1);
    }
    drop_unused(side);
    return true;
}

/* --- documents --- */

/* One result of a document while it is read. */
struct draft {
    struct ll_json_reader *json;
    struct ll_arena *arena;
    struct ll_side *side;
    struct ll_side kinds; /* rows of by_kind, taken where there are no ops */
};

static bool ran_out(struct draft *draft)
{
    draft->json->failed = true;
    return false;
}

static const char *text_of(struct draft *draft)
{
    ll_json_read(draft->json);
    return draft->json->token == LL_JSON_TEXT ? ll_json_copy(draft->json, draft->arena) : NULL;
}

static double number_of(struct draft *draft)
{
    ll_json_read(draft->json);
    return draft->json->token == LL_JSON_NUMBER ? ll_json_as_real(draft->json) : NAN;
}

/* An object of `by_kind` or `ops`; the reader is behind its brace. */
static bool read_row(struct draft *draft, struct ll_side_row *row)
{
    struct ll_json_reader *json = draft->json;
    *row = (struct ll_side_row){.count = 1};
    while (ll_json_read(json) == LL_JSON_KEY) {
        if (ll_json_says(json, "kind"))
            row->kind = text_of(draft);
        else if (ll_json_says(json, "scope"))
            row->scope = text_of(draft);
        else if (ll_json_says(json, "phase"))
            row->phase = text_of(draft);
        else if (ll_json_says(json, "signature"))
            row->signature = text_of(draft);
        else if (ll_json_says(json, "time_s"))
            row->time_s = number_of(draft);
        else if (ll_json_says(json, "count"))
            row->count = number_of(draft);
        else
            ll_json_pass(json);
    }
    if (json->failed)
        return false;
    if (!row->kind || !(row->time_s >= 0) || !(row->count >= 0))
        return ll_json_expected(json, "a `kind`, a `time_s` and, where there is one, a `count`");
    return true;
}

static bool read_rows(struct draft *draft, struct ll_side *side)
{
    struct ll_json_reader *json = draft->json;
    if (ll_json_read(json) != LL_JSON_LIST)
        return ll_json_expected(json, "a list");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        struct ll_side_row row, *added = NULL;
        if (!read_row(draft, &row))
            return false;
        added = add_row(side);
        if (!added)
            return ran_out(draft);
        *added = row;
    }
    return !json->failed;
}

static bool read_causes(struct draft *draft)
{
    struct ll_json_reader *json = draft->json;
    if (ll_json_read(json) != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object");
    while (ll_json_read(json) == LL_JSON_KEY) {
        struct ll_side_cause *cause = add_cause(draft->side);
        if (!cause)
            return ran_out(draft);
        cause->name = ll_json_copy(json, draft->arena);
        cause->time_s = number_of(draft); /* a share, until the step's time is known */
    }
    return !json->failed;
}

static bool read_memory(struct draft *draft)
{
    struct ll_json_reader *json = draft->json;
    if (ll_json_read(json) != LL_JSON_OBJECT)
        return ll_json_expected(json, "an object");
    while (ll_json_read(json) == LL_JSON_KEY)
        if (ll_json_says(json, "peak_bytes"))
            draft->side->peak_bytes = number_of(draft);
        else
            ll_json_pass(json);
    return !json->failed;
}

static bool read_member(struct draft *draft)
{
    struct ll_json_reader *json = draft->json;
    struct ll_side *side = draft->side;
    if (ll_json_says(json, "trace"))
        side->trace = text_of(draft);
    else if (ll_json_says(json, "machine"))
        side->machine = text_of(draft);
    else if (ll_json_says(json, "time_s"))
        side->time_s = number_of(draft);
    else if (ll_json_says(json, "flops"))
        side->flops = number_of(draft);
    else if (ll_json_says(json, "bytes"))
        side->bytes = number_of(draft);
    else if (ll_json_says(json, "memory"))
        return read_memory(draft);
    else if (ll_json_says(json, "bottlenecks"))
        return read_causes(draft);
    else if (ll_json_says(json, "by_kind"))
        return read_rows(draft, &draft->kinds);
    else if (ll_json_says(json, "ops"))
        return read_rows(draft, side);
    else
        ll_json_pass(json);
    return !json->failed;
}

/* Ops are those of all replayed steps, kinds are per step: their counts say how many steps there are. */
static void settle(struct draft *draft)
{
    struct ll_side *side = draft->side;
    double kinds = 0, ops = 0;
    for (uint64_t i = 0; i < draft->kinds.row_count; i++)
        kinds += draft->kinds.rows[i].count;
    side->has_ops = side->row_count > 0;
    for (uint64_t i = 0; i < side->row_count; i++) {
        ops += side->rows[i].count;
        side->has_ops =
            side->has_ops && side->rows[i].scope && side->rows[i].phase && side->rows[i].signature;
    }
    for (uint64_t i = 0; side->has_ops && kinds > 0 && i < side->row_count; i++) {
        side->rows[i].count *= kinds / ops;
        side->rows[i].time_s *= kinds / ops;
    }
    if (!side->has_ops) {
        free(side->rows);
        side->rows = draft->kinds.rows;
        side->row_count = draft->kinds.row_count;
        side->row_capacity = draft->kinds.row_capacity;
        draft->kinds = (struct ll_side){0};
    }
    for (uint64_t i = 0; i < side->cause_count; i++)
        side->causes[i].time_s *= side->time_s;
}

/* The reader is behind the brace of a result. */
static bool read_result(struct draft *draft)
{
    struct ll_json_reader *json = draft->json;
    draft->side->peak_bytes = draft->side->time_s = NAN;
    while (ll_json_read(json) == LL_JSON_KEY)
        if (!read_member(draft))
            return false;
    if (json->failed)
        return false;
    if (!draft->side->machine || !(draft->side->time_s >= 0))
        return ll_json_expected(json, "a result of leadline sim, with `machine` and `time_s`");
    settle(draft);
    return true;
}

static bool is_meant(const struct ll_side *side, const char *trace, const char *machine)
{
    return (!trace || (side->trace && strcmp(side->trace, trace) == 0)) &&
           (!machine || (side->machine && strcmp(side->machine, machine) == 0));
}

/* How many results there are, and how many are meant; the first of these becomes *side. */
struct census {
    uint64_t all, meant;
    bool has_results;
};

/* The list `results`: the one that is meant becomes *side. */
static bool read_results(struct ll_json_reader *json, const char *trace, const char *machine,
                         struct ll_arena *arena, struct ll_side *side, struct census *census)
{
    if (ll_json_read(json) != LL_JSON_LIST)
        return ll_json_expected(json, "a list of results");
    while (ll_json_read(json) == LL_JSON_OBJECT) {
        struct ll_side one = {0};
        struct draft draft = {.json = json, .arena = arena, .side = &one};
        bool read = read_result(&draft);
        ll_side_release(&draft.kinds);
        bool meant = read && is_meant(&one, trace, machine);
        census->all++;
        census->meant += meant;
        if (meant && census->meant == 1) {
            const char *name = side->name;
            *side = one;
            side->name = name;
        } else {
            ll_side_release(&one);
        }
        if (!read)
            return false;
    }
    return !json->failed;
}

static bool read_document(const char *text, size_t length, const char *trace, const char *machine,
                          struct ll_arena *arena, struct ll_diags *diags, struct ll_side *side,
                          struct census *census)
{
    struct ll_json_reader json = {
        .file = side->name, .begin = text, .at = text, .end = text + length, .diags = diags};
    *census = (struct census){0};
    if (ll_json_read(&json) != LL_JSON_OBJECT)
        return ll_json_expected(&json, "a document of leadline sim --json");
    while (ll_json_read(&json) == LL_JSON_KEY) {
        bool results = ll_json_says(&json, "results");
        census->has_results |= results;
        if (!results)
            ll_json_pass(&json);
        else if (!read_results(&json, trace, machine, arena, side, census))
            return false;
    }
    return !json.failed;
}

bool ll_side_of_document(const char *text, size_t length, const char *trace, const char *machine,
                         struct ll_arena *arena, struct ll_diags *diags, struct ll_side *side)
{
    struct census census;
    struct ll_place place = {.file = side->name};
    bool read = read_document(text, length, trace, machine, arena, diags, side, &census);
    if (read && census.all == 1 && census.meant == 0)
        read = read_document(text, length, NULL, NULL, arena, diags, side, &census);
    if (!read)
        return false;
    if (!census.has_results)
        return ll_complain(diags, place, "no `results`; expected a document of leadline sim --json");
    if (census.meant != 1)
        return ll_complain(diags, place,
                           census.meant
                               ? "several results; -c MACHINE and --trace TRACE say which one is meant"
                               : "no result of this trace and machine");
    return true;
}

/* --- matching --- */

/* Changes of one way to match, while rows are added. */
struct matching {
    enum ll_match match;
    struct ll_map keys;
    struct ll_change *changes;
    uint64_t count, capacity;
};

static void add_key(enum ll_match match, bool with_signature, const struct ll_side_row *row,
                    struct ll_str *key)
{
    if (match == LL_MATCH_KIND)
        ll_str_add(key, row->kind);
    else if (match == LL_MATCH_SCOPE)
        ll_str_add(key, row->scope);
    else
        ll_str_addf(key, "%s\n%s\n%s\n%s", row->scope, row->kind, row->phase,
                    with_signature ? row->signature : "");
}

static bool add_to(struct matching *matching, const struct ll_side_row *row, int which)
{
    struct ll_str key = {0};
    bool is_new = false;
    add_key(matching->match, true, row, &key);
    uint32_t id =
        key.failed ? LL_NO_ID : ll_map_intern(&matching->keys, key.text ? key.text : "", key.length, &is_new);
    ll_str_release(&key);
    if (id == LL_NO_ID ||
        !ll_grow(&matching->changes, &matching->capacity, id + UINT64_C(1), sizeof *matching->changes))
        return false;
    struct ll_change *change = &matching->changes[id];
    if (is_new) {
        bool of_op = matching->match == LL_MATCH_OP;
        *change = (struct ll_change){.kind = matching->match == LL_MATCH_SCOPE ? NULL : row->kind,
                                     .scope = matching->match == LL_MATCH_KIND ? NULL : row->scope,
                                     .phase = of_op ? row->phase : NULL};
        matching->count = id + UINT64_C(1);
    }
    if (matching->match == LL_MATCH_OP)
        change->signature[which] = row->signature;
    change->count[which] += row->count;
    change->time_s[which] += row->time_s;
    return true;
}

/* Changes that one side has, in lists by scope, kind and phase: numbers of changes, plus 1; 0 ends a list. */
struct waiting {
    struct ll_map keys;
    uint64_t *first, *last; /* by key */
    uint64_t *next;         /* by change */
    uint64_t first_capacity, last_capacity;
};

static uint32_t key_without_signature(struct waiting *waiting, const struct ll_change *change)
{
    const struct ll_side_row row = {.kind = change->kind, .scope = change->scope, .phase = change->phase};
    struct ll_str key = {0};
    bool is_new = false;
    add_key(LL_MATCH_OP, false, &row, &key);
    uint32_t id = key.failed ? LL_NO_ID : ll_map_intern(&waiting->keys, key.text, key.length, &is_new);
    ll_str_release(&key);
    if (id == LL_NO_ID ||
        !ll_grow(&waiting->first, &waiting->first_capacity, id + UINT64_C(1), sizeof *waiting->first) ||
        !ll_grow(&waiting->last, &waiting->last_capacity, id + UINT64_C(1), sizeof *waiting->last))
        return LL_NO_ID;
    if (is_new)
        waiting->first[id] = waiting->last[id] = 0;
    return id;
}

static bool has_only(const struct ll_change *change, int which)
{
    return change->count[which] > 0 && change->count[1 - which] == 0;
}

/* What side A alone has waits in its list; what side B alone has joins the first that waits. */
static bool join(struct matching *matching, struct waiting *waiting)
{
    for (uint64_t i = 0; i < matching->count; i++) {
        struct ll_change *change = &matching->changes[i];
        if (!has_only(change, 0) && !has_only(change, 1))
            continue;
        uint32_t id = key_without_signature(waiting, change);
        if (id == LL_NO_ID)
            return false;
        uint64_t first = waiting->first[id];
        if (has_only(change, 0)) {
            *(first ? &waiting->next[waiting->last[id] - 1] : &waiting->first[id]) = i + 1;
            waiting->last[id] = i + 1;
        } else if (first) {
            struct ll_change *other = &matching->changes[first - 1];
            waiting->first[id] = waiting->next[first - 1];
            other->signature[1] = change->signature[1];
            other->count[1] = change->count[1];
            other->time_s[1] = change->time_s[1];
            change->count[1] = 0; /* it is part of the other now */
        }
    }
    return true;
}

/* Joins what only one side has with what only the other has in the same scope, kind and phase, in order of
 * appearance; those of A come first. */
static bool pair_rest(struct matching *matching)
{
    struct waiting waiting = {.next = calloc(matching->count + 1, sizeof *waiting.next)};
    bool whole = waiting.next && join(matching, &waiting);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < matching->count; i++)
        if (matching->changes[i].count[0] > 0 || matching->changes[i].count[1] > 0)
            matching->changes[kept++] = matching->changes[i];
    matching->count = kept;
    free(waiting.first);
    free(waiting.last);
    free(waiting.next);
    ll_map_release(&waiting.keys);
    return whole;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int by_difference(const void *a, const void *b)
{
    const struct ll_change *x = a, *y = b;
    double dx = fabs(x->time_s[1] - x->time_s[0]), dy = fabs(y->time_s[1] - y->time_s[0]);
    if (dx != dy)
        return dx < dy ? 1 : -1;
    double most_x = fmax(x->time_s[0], x->time_s[1]), most_y = fmax(y->time_s[0], y->time_s[1]);
    if (most_x != most_y)
        return most_x < most_y ? 1 : -1;
    int order = compare_text(x->scope, y->scope);
    order = order ? order : compare_text(x->kind, y->kind);
    order = order ? order : compare_text(x->phase, y->phase);
    order = order ? order : compare_text(x->signature[0], y->signature[0]);
    return order ? order : compare_text(x->signature[1], y->signature[1]);
}

/* Share of the time of both sides in ops that both have. */
static double matched(const struct matching *matching)
{
    double both_s = 0, all_s = 0;
    for (uint64_t i = 0; i < matching->count; i++) {
        const struct ll_change *change = &matching->changes[i];
        double time_s = change->time_s[0] + change->time_s[1];
        all_s += time_s;
        both_s += change->count[0] > 0 && change->count[1] > 0 ? time_s : 0;
    }
    return all_s > 0 ? both_s / all_s : NAN;
}

static bool match_rows(struct ll_comparison *comparison, enum ll_match match, struct ll_arena *arena)
{
    struct matching matching = {.match = match};
    bool whole = true;
    for (int which = 0; which < 2; which++)
        for (uint64_t i = 0; whole && i < comparison->sides[which]->row_count; i++)
            whole = add_to(&matching, &comparison->sides[which]->rows[i], which);
    if (whole && match == LL_MATCH_OP) {
        comparison->matched_share = matched(&matching);
        whole = pair_rest(&matching);
    }
    if (whole && matching.count) {
        qsort(matching.changes, matching.count, sizeof *matching.changes, by_difference);
        comparison->changes[match] =
            ll_copy(arena, matching.changes, matching.count * sizeof *matching.changes);
        whole = comparison->changes[match] != NULL;
    }
    comparison->change_count[match] = whole ? matching.count : 0;
    free(matching.changes);
    ll_map_release(&matching.keys);
    return whole;
}

const struct ll_comparison *ll_compare(const struct ll_side *a, const struct ll_side *b,
                                       struct ll_arena *arena)
{
    struct ll_comparison *comparison = ll_alloc(arena, 1, sizeof *comparison);
    if (!comparison)
        return NULL;
    comparison->sides[0] = a;
    comparison->sides[1] = b;
    comparison->matched_share = NAN;
    for (enum ll_match match = 0; match < LL_MATCH_COUNT; match++)
        if ((match == LL_MATCH_KIND || (a->has_ops && b->has_ops)) && !match_rows(comparison, match, arena))
            return NULL;
    comparison->other_s = b->time_s - a->time_s;
    for (uint64_t i = 0; i < comparison->change_count[LL_MATCH_KIND]; i++)
        comparison->other_s -=
            comparison->changes[LL_MATCH_KIND][i].time_s[1] - comparison->changes[LL_MATCH_KIND][i].time_s[0];
    return comparison;
}

/* --- limits --- */

bool ll_growth_limit_parse(const char *text, struct ll_growth_limit *limit)
{
    *limit = (struct ll_growth_limit){.whole = true};
    for (enum ll_match match = 0; match < LL_MATCH_COUNT; match++) {
        size_t length = strlen(match_names[match]);
        if (strncmp(text, match_names[match], length) == 0 && text[length] == ':') {
            *limit = (struct ll_growth_limit){.match = match};
            text += length + 1;
            break;
        }
    }
    char *end;
    double percent = ll_strtod(text, &end);
    limit->share = percent / 100;
    return strspn(text, "0123456789.") > 0 && strcmp(end, "%") == 0 && isfinite(percent);
}

static const char *failure(const char *what, const char *which, double before_s, double after_s,
                           const struct ll_growth_limit *limit, struct ll_arena *arena)
{
    struct ll_human before, after, growth, most;
    const char *grew = before_s > 0 ? ll_format_percent(&growth, after_s / before_s - 1) : "from nothing";
    return ll_format(arena, "%s%s takes %s%s, above the limit of %s: %s per step before, %s after", what,
                     which, grew, before_s > 0 ? " longer" : "", ll_format_percent(&most, limit->share),
                     ll_format_si(&before, before_s, "s"), ll_format_si(&after, after_s, "s"));
}

/* Growth above the limit, which rounding does not reach. */
static bool is_above(double before_s, double after_s, double share)
{
    return after_s > before_s * (1 + share) * (1 + 1e-12);
}

uint64_t ll_growth_failures(const struct ll_comparison *comparison, const struct ll_growth_limit *limit,
                            const char **sentences, uint64_t most, struct ll_arena *arena)
{
    const double times_s[2] = {comparison->sides[0]->time_s, comparison->sides[1]->time_s};
    uint64_t count = 0;
    if (limit->whole) {
        if (most > 0 && is_above(times_s[0], times_s[1], limit->share))
            sentences[count++] = failure("the step", "", times_s[0], times_s[1], limit, arena);
        return count;
    }
    for (uint64_t i = 0; i < comparison->change_count[limit->match] && count < most; i++) {
        const struct ll_change *change = &comparison->changes[limit->match][i];
        bool counts =
            change->time_s[0] >= least_share * times_s[0] || change->time_s[1] >= least_share * times_s[1];
        if (!counts || !is_above(change->time_s[0], change->time_s[1], limit->share))
            continue;
        const char *what = limit->match == LL_MATCH_SCOPE  ? "scope "
                           : limit->match == LL_MATCH_KIND ? "kind "
                                                           : "op ";
        const char *which = limit->match == LL_MATCH_KIND ? change->kind
                            : limit->match == LL_MATCH_SCOPE
                                ? change->scope
                                : ll_format(arena, "%s %s %s", change->scope, change->kind, change->phase);
        sentences[count++] =
            failure(what, which ? which : "", change->time_s[0], change->time_s[1], limit, arena);
    }
    return count;
}

/* --- for people --- */

static const char *percent_change(struct ll_human *human, double before, double after)
{
    if (before == after)
        return "0.0 %";
    if (!(before > 0))
        return "new";
    snprintf(human->text, sizeof human->text, "%+.1f %%", 100 * (after / before - 1));
    return human->text;
}

static const char *difference(struct ll_human *human, double difference_s)
{
    struct ll_human plain;
    if (fabs(difference_s) < 1e-15) /* what rounding leaves */
        return "0 s";
    snprintf(human->text, sizeof human->text, "%s%s", difference_s < 0 ? "-" : "+",
             ll_format_si(&plain, fabs(difference_s), "s"));
    return human->text;
}

static void add_side(const char *letter, const struct ll_side *side, struct ll_str *out)
{
    bool of_document = side->trace && strcmp(side->trace, side->name) != 0;
    ll_str_addf(out, "%s  %s%s%s%s%s\n", letter, side->name, of_document ? ": " : "",
                of_document ? side->trace : "", side->machine ? " on " : ", as recorded",
                side->machine ? side->machine : "");
}

/* The sentence that says how much, and what changed most. */
static void add_answer(const struct ll_comparison *c, unsigned width, struct ll_str *out)
{
    struct ll_human a, b, change, growth;
    struct ll_str line = {0};
    double before_s = c->sides[0]->time_s, after_s = c->sides[1]->time_s;
    if (before_s == after_s)
        ll_str_addf(&line, "B takes as long as A, %s per step.", ll_format_si(&a, before_s, "s"));
    else
        ll_str_addf(&line, "B takes %s per step, A %s: %s, %s.", ll_format_si(&b, after_s, "s"),
                    ll_format_si(&a, before_s, "s"), difference(&change, after_s - before_s),
                    percent_change(&growth, before_s, after_s));
    const struct ll_change *most = c->change_count[LL_MATCH_KIND] ? c->changes[LL_MATCH_KIND] : NULL;
    if (most && most->time_s[0] != most->time_s[1])
        ll_str_addf(&line, " Kind %s changed most: %s, %s.", most->kind,
                    difference(&change, most->time_s[1] - most->time_s[0]),
                    percent_change(&growth, most->time_s[0], most->time_s[1]));
    ll_end_line(&line, width, out);
}

static void add_row_of(struct ll_table *table, const char *what, double a, double b,
                       const char *(*format)(struct ll_human *, double, const char *), const char *unit)
{
    struct ll_human before, after, change, growth;
    if (!isfinite(a) || !isfinite(b))
        return;
    format(&change, fabs(b - a), unit);
    ll_table_row(table, "%s|%s|%s|%s%s|%s", what, format(&before, a, unit), format(&after, b, unit),
                 b < a   ? "-"
                 : b > a ? "+"
                         : "",
                 change.text, percent_change(&growth, a, b));
}

static const char *binary(struct ll_human *human, double value, const char *unit)
{
    (void)unit;
    return ll_format_binary(human, value);
}

static void add_totals(const struct ll_comparison *c, unsigned width, struct ll_str *out)
{
    const struct ll_side *a = c->sides[0], *b = c->sides[1];
    struct ll_table *table = ll_table_new("per step|>A|>B|>B - A|>%");
    add_row_of(table, "time", a->time_s, b->time_s, ll_format_si, "s");
    add_row_of(table, "FLOPs", a->flops, b->flops, ll_format_si, "FLOP");
    add_row_of(table, "bytes", a->bytes, b->bytes, ll_format_si, "B");
    add_row_of(table, "peak memory", a->peak_bytes, b->peak_bytes, binary, "");
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static double cause_s(const struct ll_side *side, const char *name)
{
    for (uint64_t i = 0; i < side->cause_count; i++)
        if (strcmp(side->causes[i].name, name) == 0)
            return side->causes[i].time_s;
    return 0;
}

/* Calls a function for each cause of either side, those of A first. */
static void for_each_cause(const struct ll_comparison *c, void (*put)(void *to, const char *, double, double),
                           void *to)
{
    for (int which = 0; which < 2; which++)
        for (uint64_t i = 0; i < c->sides[which]->cause_count; i++) {
            const char *name = c->sides[which]->causes[i].name;
            bool known = false;
            for (uint64_t k = 0; which == 1 && k < c->sides[0]->cause_count && !known; k++)
                known = strcmp(c->sides[0]->causes[k].name, name) == 0;
            if (!known)
                put(to, name, cause_s(c->sides[0], name), cause_s(c->sides[1], name));
        }
}

static void cause_row(void *to, const char *name, double a, double b)
{
    if (a > 0 || b > 0)
        add_row_of(to, name, a, b, ll_format_si, "s");
}

static bool has_causes(const struct ll_comparison *c)
{
    return c->sides[0]->cause_count > 0 && c->sides[1]->cause_count > 0;
}

static void add_causes(const struct ll_comparison *c, unsigned width, struct ll_str *out)
{
    if (!has_causes(c))
        return;
    struct ll_table *table = ll_table_new("bound by|>A|>B|>B - A|>%");
    for_each_cause(c, cause_row, table);
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static void add_changes(const struct ll_comparison *c, enum ll_match match, uint64_t top, unsigned width,
                        struct ll_str *out)
{
    uint64_t count = c->change_count[match], shown = count < top ? count : top;
    struct ll_human rest;
    double rest_s[2] = {0, 0};
    struct ll_table *table = ll_table_new(match == LL_MATCH_KIND    ? "kind|>B - A|>%|>A|>B|?>ops A|?>ops B"
                                          : match == LL_MATCH_SCOPE ? "scope|>B - A|>%|>A|>B|?>ops A|?>ops B"
                                                                    : "op|>B - A|>%|>A|>B|?signature");
    if (count == 0) {
        ll_table_free(table);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_change *change = &c->changes[match][i];
        struct ll_human before, after, more, growth;
        if (i >= shown) {
            rest_s[0] += change->time_s[0];
            rest_s[1] += change->time_s[1];
            continue;
        }
        if (match == LL_MATCH_OP)
            ll_table_cell(table, "%s %s %s", change->scope, change->kind, change->phase);
        else
            ll_table_cell(table, "%s", match == LL_MATCH_KIND ? change->kind : change->scope);
        ll_table_cell(table, "%s", difference(&more, change->time_s[1] - change->time_s[0]));
        ll_table_cell(table, "%s", percent_change(&growth, change->time_s[0], change->time_s[1]));
        ll_table_cell(table, "%s", ll_format_si(&before, change->time_s[0], "s"));
        ll_table_cell(table, "%s", ll_format_si(&after, change->time_s[1], "s"));
        const char *a = change->signature[0], *b = change->signature[1];
        if (match != LL_MATCH_OP) {
            ll_table_cell(table, "%s", ll_format_count(&before, change->count[0], ""));
            ll_table_cell(table, "%s", ll_format_count(&after, change->count[1], ""));
        } else if (a && b && strcmp(a, b) != 0) {
            ll_table_cell(table, "%s, now %s", a, b);
        } else {
            ll_table_cell(table, "%s", a ? a : b);
        }
        ll_table_end_row(table);
    }
    if (shown < count) {
        struct ll_human more;
        ll_table_row(table, "%s more|%s||%s|%s", ll_format_grouped(&rest, count - shown),
                     difference(&more, rest_s[1] - rest_s[0]),
                     ll_format_si(&(struct ll_human){0}, rest_s[0], "s"),
                     ll_format_si(&(struct ll_human){0}, rest_s[1], "s"));
    }
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

void ll_comparison_text(const struct ll_comparison *comparison, uint64_t top, unsigned width,
                        struct ll_str *out)
{
    struct ll_human share, other;
    struct ll_str line = {0};
    add_side("A", comparison->sides[0], out);
    add_side("B", comparison->sides[1], out);
    ll_str_add(out, "\n");
    add_answer(comparison, width, out);
    add_totals(comparison, width, out);
    add_causes(comparison, width, out);
    for (enum ll_match match = 0; match < LL_MATCH_COUNT; match++)
        add_changes(comparison, match, top, width, out);
    ll_str_add(out, "\n");
    if (isfinite(comparison->matched_share))
        ll_str_addf(&line, "%s of the time is in ops of the same scope and signature on both sides. ",
                    ll_format_percent(&share, comparison->matched_share));
    else
        ll_str_add(&line, "Documents written with --per-op also show scopes and ops. ");
    ll_str_addf(&line, "Overlap, waiting and time between ops: %s.", difference(&other, comparison->other_s));
    ll_end_line(&line, width, out);
}

/* --- for programs --- */

static void side_json(const struct ll_side *side, const char *key, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_object(json);
    ll_json_put_text(json, "name", side->name);
    ll_json_put_text(json, "trace", side->trace);
    ll_json_put_text(json, "machine", side->machine);
    ll_json_put_number(json, "time_s", side->time_s);
    ll_json_put_number(json, "flops", side->flops);
    ll_json_put_number(json, "bytes", side->bytes);
    ll_json_put_number(json, "peak_bytes", side->peak_bytes);
    ll_json_close_object(json);
}

static void times_json(double a_s, double b_s, struct ll_json *json)
{
    ll_json_put_number(json, "a_s", a_s);
    ll_json_put_number(json, "b_s", b_s);
    ll_json_put_number(json, "difference_s", b_s - a_s);
    ll_json_put_number(json, "growth", a_s > 0 ? b_s / a_s - 1 : NAN);
}

static void cause_json(void *to, const char *name, double a, double b)
{
    struct ll_json *json = to;
    ll_json_open_object(json);
    ll_json_put_text(json, "bound", name);
    times_json(a, b, json);
    ll_json_close_object(json);
}

static void change_json(const struct ll_change *change, enum ll_match match, struct ll_json *json)
{
    ll_json_open_object(json);
    if (match != LL_MATCH_SCOPE)
        ll_json_put_text(json, "kind", change->kind);
    if (match != LL_MATCH_KIND)
        ll_json_put_text(json, "scope", change->scope);
    if (match == LL_MATCH_OP) {
        ll_json_put_text(json, "phase", change->phase);
        ll_json_put_text(json, "a_signature", change->signature[0]);
        ll_json_put_text(json, "b_signature", change->signature[1]);
    }
    times_json(change->time_s[0], change->time_s[1], json);
    ll_json_put_number(json, "a_count", change->count[0]);
    ll_json_put_number(json, "b_count", change->count[1]);
    ll_json_close_object(json);
}

static void changes_json(const struct ll_comparison *c, enum ll_match match, const char *key,
                         struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (uint64_t i = 0; i < c->change_count[match]; i++)
        change_json(&c->changes[match][i], match, json);
    ll_json_close_list(json);
}

void ll_comparison_json(const struct ll_comparison *comparison, struct ll_json *json)
{
    side_json(comparison->sides[0], "a", json);
    side_json(comparison->sides[1], "b", json);
    double a_s = comparison->sides[0]->time_s, b_s = comparison->sides[1]->time_s;
    ll_json_put_number(json, "difference_s", b_s - a_s);
    ll_json_put_number(json, "growth", a_s > 0 ? b_s / a_s - 1 : NAN);
    ll_json_put_number(json, "other_s", comparison->other_s);
    ll_json_put_number(json, "matched_share", comparison->matched_share);
    changes_json(comparison, LL_MATCH_KIND, "contributions", json);
    changes_json(comparison, LL_MATCH_SCOPE, "by_scope", json);
    changes_json(comparison, LL_MATCH_OP, "by_op", json);
    ll_json_key(json, "by_bound");
    ll_json_open_list(json);
    if (has_causes(comparison))
        for_each_cause(comparison, cause_json, json);
    ll_json_close_list(json);
}
