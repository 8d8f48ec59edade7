/* SPDX-License-Identifier: Apache-2.0 */
/* Measured kernels: which of them speak of which work (groups and coordinates, first section), the table, and
 * what it answers. */
#include "sim/cost/kernel_table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "tracer/base/hash.h"
#include "tracer/base/num.h"

const char *ll_time_origin_name(enum ll_time_origin origin)
{
    static const char *const names[] = {
#define X(word, name) name,
        LL_TIME_ORIGIN_LIST(X)
#undef X
    };
    assert(origin < LL_TIME_ORIGIN_COUNT);
    return names[origin];
}

/* --- groups and coordinates --- */

enum { MOST_SIDES = 10, TRAITS = 8 };

/* Compared as bytes: no padding. */
struct group_key {
    uint64_t kernel, work, kind, dtype, traits[TRAITS];
};

/* Where a work lies. */
struct spot {
    struct group_key key;
    double x[MOST_SIDES];
    unsigned sides;
};

static void add_side(struct spot *spot, uint64_t side)
{
    assert(spot->sides < MOST_SIDES);
    spot->x[spot->sides++] = log2((double)ll_max(side, 1));
}

static void add_sides(struct spot *spot, const uint64_t *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_side(spot, sides[i]);
}

/* A side that may be absent: 0. */
static void add_optional(struct spot *spot, uint64_t side)
{
    add_side(spot, ll_add(side, 1));
}

/* How many bytes an element of the operands has, so that one type of arithmetic on several of storage is
 * several shapes. */
static void add_width(struct spot *spot, const struct ll_work *work, uint64_t elements)
{
    double bytes = (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    assert(spot->sides < MOST_SIDES);
    spot->x[spot->sides++] = elements > 0 && bytes > 0 ? log2(bytes / (double)elements) : 0;
}

/* Rows that do not say how operands lie speak of all that lie somehow. */
static void locate_gemm(const struct ll_work *work, const struct ll_gemm *gemm, struct spot *spot)
{
    uint64_t one =
        ll_add(ll_add(ll_mul(gemm->m, gemm->k), ll_mul(gemm->k, gemm->n)), ll_mul(gemm->m, gemm->n));
    add_sides(spot, (const uint64_t[]){gemm->batch, gemm->m, gemm->n, gemm->k}, 4);
    add_width(spot, work, ll_mul(gemm->batch, one));
    memcpy(spot->key.traits,
           (uint64_t[]){work->linear, work->linear_backend, work->kept, work->of, work->unstructured},
           5 * sizeof *spot->key.traits);
}

static void locate_conv(const struct ll_work *work, struct spot *spot)
{
    const struct ll_conv *c = &work->conv;
    uint64_t pixels = ll_mul(c->out_h, c->out_w);
    add_sides(spot,
              (const uint64_t[]){c->batch, pixels, c->in_c, c->out_c, ll_mul(c->kernel_h, c->kernel_w),
                                 ll_mul(c->stride_h, c->stride_w), c->groups},
              7);
    add_width(spot, work, ll_mul(ll_mul(c->batch, pixels), ll_add(c->in_c, c->out_c)));
    spot->key.traits[0] = c->pass;
    spot->key.traits[1] = ll_max(1, c->dilation_h);
    spot->key.traits[2] = ll_max(1, c->dilation_w);
}

static void locate_attention(const struct ll_attention *a, struct spot *spot)
{
    add_sides(spot,
              (const uint64_t[]){a->batch, a->queries, a->keys, a->heads, a->kv_heads, a->head_qk, a->head_v},
              7);
    add_optional(spot, a->window);
    memcpy(spot->key.traits,
           (uint64_t[]){a->pass, a->causal, a->cache, a->cached, a->backend, ll_max(1, a->parts)},
           6 * sizeof *spot->key.traits);
}

static void locate_experts(const struct ll_experts *e, struct spot *spot)
{
    add_sides(spot,
              (const uint64_t[]){e->tokens, e->hidden, e->inter, e->top_k, e->experts, e->local, e->rows,
                                 e->touched},
              8);
    memcpy(spot->key.traits, (uint64_t[]){e->gated, e->format, e->backend}, 3 * sizeof *spot->key.traits);
}

static void locate_vector(const struct ll_work *work, struct spot *spot)
{
    add_side(spot, work->vector.elements);
    add_optional(spot, work->vector.row);
    add_optional(spot, work->vector.picked);
    add_side(spot, work->a_bytes);
    add_side(spot, work->c_bytes);
}

static void locate_reduction(const struct ll_work *work, struct spot *spot)
{
    add_side(spot, work->reduce.in_elements);
    add_side(spot, work->reduce.out_elements);
    add_width(spot, work, work->reduce.in_elements);
    spot->key.traits[0] = work->reduce.folds;
}

static void locate_sequence(const struct ll_work *work, struct spot *spot)
{
    add_side(spot, work->sequence.steps);
    locate_gemm(work, &work->sequence.step, spot);
    spot->key.traits[6] = work->sequence.fresh;
}

static void locate_moved(const struct ll_work *work, struct spot *spot)
{
    add_side(spot, work->a_bytes);
    add_side(spot, work->c_bytes);
    add_side(spot, work->kind == LL_WORK_GATHER ? work->gather.row_bytes : work->lines);
    add_optional(spot, work->kind == LL_WORK_GATHER ? work->gather.table_bytes : 0);
}

/* Where a work lies; false where the table holds no such work: what a device does not do alone. */
static bool locate(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                   struct spot *spot)
{
    const struct ll_software *software = &machine->software;
    const struct ll_kernel *kernel = ll_machine_kernel(machine, kind, work);
    bool named = kernel >= software->kernels && kernel < software->kernels + software->kernel_count;
    *spot = (struct spot){.key = {.kernel = named ? (uint64_t)(kernel - software->kernels) : UINT64_MAX,
                                  .work = work->kind,
                                  .kind = ll_is_gemm(work) ? 0 : (uint64_t)kind,
                                  .dtype = work->dtype}};
    switch ((enum ll_work_kind)work->kind) {
    case LL_WORK_GEMM:
        locate_gemm(work, &work->gemm, spot);
        return true;
    case LL_WORK_CONV:
        locate_conv(work, spot);
        return true;
    case LL_WORK_ATTENTION:
        locate_attention(&work->attention, spot);
        return true;
    case LL_WORK_EXPERTS:
        locate_experts(&work->experts, spot);
        return true;
    case LL_WORK_SEQUENCE:
        locate_sequence(work, spot);
        return true;
    case LL_WORK_VECTOR:
        locate_vector(work, spot);
        return true;
    case LL_WORK_REDUCE:
        locate_reduction(work, spot);
        return true;
    case LL_WORK_MOVE:
    case LL_WORK_GATHER:
        locate_moved(work, spot);
        return true;
    default:
        return false;
    }
}

/* --- the table --- */

struct group {
    struct group_key key;
    unsigned sides;
    size_t count;
    const double *x; /* of each point its coordinates, one point behind the other */
    const double *log_ratios;
    const unsigned *folds;
    double least[MOST_SIDES], most[MOST_SIDES];
};

struct ll_kernel_table {
    const struct group *groups; /* by key */
    size_t group_count, points;
    uint64_t digest;
};

struct entry {
    struct spot spot;
    double log_ratio;
    unsigned fold;
    size_t order;
};

static int compare_places(const struct spot *a, const struct spot *b)
{
    int keys = memcmp(&a->key, &b->key, sizeof a->key);
    for (unsigned i = 0; keys == 0 && i < a->sides; i++)
        keys = (a->x[i] > b->x[i]) - (a->x[i] < b->x[i]);
    return keys;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int places = compare_places(&a->spot, &b->spot);
    return places ? places : (a->order > b->order) - (a->order < b->order);
}

/* Those of one place become the first of them. How many are left. */
static size_t join_places(struct entry *entries, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < count; i = next) {
        double sum = 0;
        for (next = i; next < count && compare_places(&entries[i].spot, &entries[next].spot) == 0; next++)
            sum += entries[next].log_ratio;
        entries[kept] = entries[i];
        entries[kept++].log_ratio = sum / (double)(next - i);
    }
    return kept;
}

/* Lays out the group of the first of these entries; returns how many are in it, 0: memory ran out. */
static size_t fill_group(const struct entry *entries, size_t count, struct ll_arena *arena,
                         struct group *group)
{
    const struct spot *first = &entries[0].spot;
    size_t members = 0;
    while (members < count && memcmp(&entries[members].spot.key, &first->key, sizeof first->key) == 0)
        members++;
    double *x = ll_alloc(arena, members * first->sides, sizeof *x);
    double *log_ratios = ll_alloc(arena, members, sizeof *log_ratios);
    unsigned *folds = ll_alloc(arena, members, sizeof *folds);
    if (!x || !log_ratios || !folds)
        return 0;
    *group = (struct group){first->key, first->sides, members, x, log_ratios, folds, {0}, {0}};
    for (unsigned i = 0; i < first->sides; i++)
        group->least[i] = group->most[i] = first->x[i];
    for (size_t p = 0; p < members; p++) {
        log_ratios[p] = entries[p].log_ratio;
        folds[p] = entries[p].fold;
        for (unsigned i = 0; i < first->sides; i++) {
            x[p * first->sides + i] = entries[p].spot.x[i];
            group->least[i] = fmin(group->least[i], entries[p].spot.x[i]);
            group->most[i] = fmax(group->most[i], entries[p].spot.x[i]);
        }
    }
    return members;
}

static size_t take_points(const struct ll_machine *machine, const struct ll_kernel_point *points,
                          size_t count, struct entry *entries)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        assert(points[i].ratio > 0 && isfinite(points[i].ratio));
        if (locate(machine, points[i].kind, &points[i].work, &entries[taken].spot)) {
            entries[taken].log_ratio = log(points[i].ratio);
            entries[taken].fold = points[i].fold;
            entries[taken].order = taken;
            taken++;
        }
    }
    qsort(entries, taken, sizeof *entries, compare_entries);
    return join_places(entries, taken);
}

const struct ll_kernel_table *ll_kernel_table_new(const struct ll_machine *machine,
                                                  const struct ll_kernel_point *points, size_t count,
                                                  struct ll_arena *arena)
{
    struct entry *entries = calloc(count + 1, sizeof *entries);
    struct ll_kernel_table *table = ll_alloc(arena, 1, sizeof *table);
    size_t kept = entries ? take_points(machine, points, count, entries) : 0;
    struct group *groups = ll_alloc(arena, kept, sizeof *groups);
    bool right = entries && table && groups;
    size_t group_count = 0;
    uint64_t digest = LL_HASH_START;
    for (size_t i = 0, members; right && i < kept; i += members) {
        members = fill_group(entries + i, kept - i, arena, &groups[group_count++]);
        right = members > 0;
    }
    for (size_t i = 0; right && i < kept; i++) {
        digest = ll_hash_bytes(digest, &entries[i].spot.key, sizeof entries[i].spot.key);
        digest = ll_hash_bytes(digest, entries[i].spot.x, entries[i].spot.sides * sizeof *entries[i].spot.x);
        digest = ll_hash_bytes(digest, &entries[i].log_ratio, sizeof entries[i].log_ratio);
    }
    if (right)
        *table = (struct ll_kernel_table){groups, group_count, kept, digest};
    free(entries);
    return right ? table : NULL;
}

size_t ll_kernel_table_points(const struct ll_kernel_table *table)
{
    return table->points;
}

uint64_t ll_kernel_table_digest(const struct ll_kernel_table *table)
{
    return table->digest;
}

bool ll_kernel_table_same(const struct ll_machine *machine, const struct ll_kernel_point *a,
                          const struct ll_kernel_point *b)
{
    struct spot one, other;
    return locate(machine, a->kind, &a->work, &one) && locate(machine, b->kind, &b->work, &other) &&
           compare_places(&one, &other) == 0;
}

/* --- answers --- */

static const double weight_of_none = 1.0 / 16; /* beside 1 of a point an octave away */
static const double near_squared = 4;          /* two octaves */

static int compare_key(const void *key, const void *group)
{
    return memcmp(key, &((const struct group *)group)->key, sizeof(struct group_key));
}

static bool is_between(const struct group *group, const double *x)
{
    bool between = true;
    for (unsigned i = 0; i < group->sides; i++)
        between &= x[i] >= group->least[i] && x[i] <= group->most[i];
    return between;
}

static double distance_squared(const double *a, const double *b, unsigned sides)
{
    double sum = 0;
    for (unsigned i = 0; i < sides; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

struct ll_kernel_ratio ll_kernel_table_ask(const struct ll_machine *machine, enum ll_op_kind kind,
                                           const struct ll_work *work)
{
    const struct ll_kernel_table *table = machine->table;
    const unsigned leaves = machine->table_leaves;
    struct ll_kernel_ratio none = {0, LL_TIME_MODELLED};
    struct spot spot;
    if (!table || table->group_count == 0 || !locate(machine, kind, work, &spot))
        return none;
    const struct group *group =
        bsearch(&spot.key, table->groups, table->group_count, sizeof *table->groups, compare_key);
    double all = weight_of_none, sum = 0, nearest = INFINITY;
    for (size_t p = 0; group && p < group->count; p++) {
        double squared = distance_squared(spot.x, group->x + p * group->sides, group->sides);
        bool unheard = leaves >= LL_LEAVE_FOLD    ? group->folds[p] == leaves - LL_LEAVE_FOLD
                       : leaves == LL_LEAVE_SHAPE ? squared == 0
                                                  : false;
        if (unheard)
            continue;
        if (squared == 0)
            return (struct ll_kernel_ratio){exp(group->log_ratios[p]), LL_TIME_MEASURED};
        double weight = 1 / (squared * squared);
        all += weight;
        sum += weight * group->log_ratios[p];
        nearest = fmin(nearest, squared);
    }
    if (isinf(nearest))
        return none;
    bool inside = nearest <= near_squared && is_between(group, spot.x);
    return (struct ll_kernel_ratio){exp(sum / all), inside ? LL_TIME_INTERPOLATED : LL_TIME_MODELLED};
}

/* --- what no kernel beats --- */

/* Of an image the pixels that no window covers are not read or written; of a gathered table at most all. */
double ll_kernel_least_bytes(const struct ll_work *work)
{
    double bytes = (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    if (work->kind == LL_WORK_CONV) {
        const struct ll_conv *c = &work->conv;
        double image = (double)(c->pass == LL_CONV_DATA ? work->c_bytes : work->a_bytes);
        double high = fmin(1, (double)c->kernel_h / (double)c->stride_h),
               wide = fmin(1, (double)c->kernel_w / (double)c->stride_w);
        bytes -= image * (1 - high * wide);
    }
    if (work->kind == LL_WORK_GATHER && work->gather.table_bytes > 0)
        bytes -= fmax(0, (double)work->gather.rows * (double)work->gather.row_bytes -
                             (double)work->gather.table_bytes);
    return fmax(0, bytes);
}

/* What a unit does at most, in the type or in the one that it computes it in. */
static double peak_flops(const struct ll_machine *machine, uint32_t unit, enum ll_dtype dtype)
{
    const struct ll_unit *it = &machine->units[unit];
    return ll_unit_flops_per_cycle(it, dtype) * (double)it->count * it->clock_hz;
}

double ll_kernel_least_s(const struct ll_machine *machine, const struct ll_work *work, uint32_t unit,
                         double made)
{
    if (unit == LL_NO_UNIT)
        return 0;
    enum ll_dtype dtype = (enum ll_dtype)work->dtype;
    const struct ll_gemm *step = &work->sequence.step;
    double flops = (double)work->flops, peak = peak_flops(machine, unit, dtype);
    if (work->kind == LL_WORK_SEQUENCE) /* gates may be another unit's */
        flops = 2 * (double)work->sequence.steps * (double)step->batch * (double)step->m * (double)step->n *
                (double)step->k;
    return peak > 0 ? fmin(1, made > 0 ? made : 1) * flops / peak : 0;
}
