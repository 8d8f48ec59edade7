/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of experts (mixture of experts): two grouped GEMMs and the kernels beside them, on the device
 * that has most rows. Traces have the kernels beside, and each grouped GEMM, as ops of their own.
 *
 * Each expert's rows are padded to the token tile of b rows, so that all experts have P tiles of 128
 * columns. On S units that is w = P ceil(n / 128) / S tiles a unit, of which a unit computes one after the
 * other and holds a few at once, whose loads overlap:
 *
 *       multiply = 2 max(b, least rows) 128 k / (rate * efficiency) + block
 *       load     = (128 k B_weight + b k B_activation) / what a block draws + block
 *       units    = max(multiply max((w + ceil(w)) / 2, 1), load max(w / occupancy, 1))
 *       GEMM     = (units^3 + dram^3)^(1/3)        dram: weights of experts that have rows, rows in and out
 *
 * The cube is how loads of few blocks and of many share the memory (no sharp corner between both). Of the
 * library's token tiles the fastest counts. Routing, permutation, quantization, gate and finalization each
 * move rows through the outermost memory. */
#include "sim/cost/experts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"
#include "tracer/ir/experts.h"

enum {
    COLUMNS = 128,        /* of a tile */
    STEP_BYTES = 128,     /* of a row of a tile, that one step loads */
    MMA_SYNC_FLOPS = 2048 /* a cycle of one unit, by instructions of Ampere in 16 bits */
};

/* Tiles that a unit holds, by token tile of 8, 16, ..., 256 rows: what registers and shared memory have
 * room for. */
static const double occupancy[LL_EXPERT_TILES] = {4, 4, 4, 2, 1, 1};

/* One of the two grouped GEMMs. */
struct grouped {
    double n, k, rows_in, waves; /* tiles a unit */
    double multiply_s, load_s, units_s, bytes, dram_s, time_s;
};

struct layer {
    const struct ll_expert_kernel *kernel;
    const struct ll_experts *e;
    enum ll_expert_format stored; /* as its kernel takes them */
    const struct ll_unit *unit;
    uint32_t unit_index;
    double flops; /* a cycle of one unit */
    double weight_bytes, activation_bytes, dram_Bps;
    double rows; /* that are multiplied */
    double touched;
    unsigned tile; /* index of the token tile */
    struct grouped up, down;
    double pass_bytes, passes_s;
};

static bool does(const struct layer *l, enum ll_expert_trait trait)
{
    return (l->kernel->traits & (uint64_t)trait) != 0;
}

/* The unit that multiplies in this type; not one that computes a wider one instead. */
static bool find_unit(const struct ll_machine *machine, enum ll_op_kind kind, enum ll_dtype dtype,
                      struct layer *l)
{
    enum ll_dtype computed;
    const struct ll_work gemm = {.kind = LL_WORK_GEMM,
                                 .dtype = dtype,
                                 .along_k = LL_LINES_ELSEWHERE,
                                 .gemm = {1, COLUMNS, COLUMNS, COLUMNS}};
    l->unit_index = ll_choose_unit(machine, kind, &gemm, &computed);
    if (l->unit_index == LL_NO_UNIT)
        return false;
    l->unit = &machine->units[l->unit_index];
    l->flops = ll_unit_flops_per_cycle(l->unit, dtype);
    if (does(l, LL_EXPERT_MMA_SYNC))
        l->flops = fmin(l->flops, MMA_SYNC_FLOPS);
    return l->flops > 0;
}

/* The first kernel for experts stored so that a unit can run: of the backend that is asked for, else one that
 * multiplies in their format, else one that expands them. */
static bool find_kernel(const struct ll_machine *machine, enum ll_op_kind kind, enum ll_expert_format stored,
                        struct layer *l)
{
    struct layer first = {0};
    l->stored = stored;
    for (uint64_t i = 0; i < machine->software.expert_count; i++) {
        l->kernel = &machine->software.experts[i];
        enum ll_dtype dtype = does(l, LL_EXPERT_WEIGHT_ONLY) ? LL_BF16 : ll_expert_dtype(stored);
        if (!(l->kernel->formats >> stored & 1) || !find_unit(machine, kind, dtype, l))
            continue;
        if (l->kernel->backend == l->e->backend)
            return true;
        if (!first.kernel || (does(&first, LL_EXPERT_WEIGHT_ONLY) && !does(l, LL_EXPERT_WEIGHT_ONLY)))
            first = *l;
    }
    *l = first;
    return first.kernel != NULL;
}

/* --- the grouped GEMMs --- */

static void run(const struct layer *l, double n, double k, double rows_in, double results, unsigned tile,
                struct grouped *g)
{
    const struct ll_expert_kernel *kernel = l->kernel;
    double b = (double)((uint64_t)LL_LEAST_EXPERT_TILE << tile), units = (double)l->unit->count;
    double extra = ceil(fmax(0, l->rows - (double)l->e->rows) / b), tiles = (double)l->e->tiles[tile] + extra;
    double computed = fmax(b, (double)kernel->least_rows);
    double draws_Bps = kernel->unit_Bps > 0
                           ? kernel->unit_Bps
                           : COLUMNS * STEP_BYTES * l->unit->clock_hz / fmax(kernel->step_cycles, 1);
    *g = (struct grouped){.n = n, .k = k, .rows_in = rows_in};
    g->waves = tiles * ceil(n / COLUMNS) / units;
    g->multiply_s = 2 * computed * COLUMNS * k /
                        (l->flops * l->unit->clock_hz * ll_unit_share(l->unit, kernel->compute_efficiency)) +
                    kernel->block_s;
    g->load_s = (COLUMNS * k * l->weight_bytes + b * k * l->activation_bytes) / draws_Bps + kernel->block_s;
    double held = does(l, LL_EXPERT_PERSISTENT) ? 1 : occupancy[tile];
    g->units_s =
        fmax(g->multiply_s * fmax((g->waves + ceil(g->waves)) / 2, 1), g->load_s * fmax(g->waves / held, 1));
    g->bytes = l->touched * n * k * l->weight_bytes + rows_in * k * l->activation_bytes + results * n * 2;
    g->dram_s = g->bytes / (l->dram_Bps * kernel->dram_efficiency);
    g->time_s = cbrt(g->units_s * g->units_s * g->units_s + g->dram_s * g->dram_s * g->dram_s);
}

static void choose_tile(struct layer *l)
{
    const struct ll_experts *e = l->e;
    double hidden = (double)e->hidden, inter = (double)e->inter, ups = e->gated ? 2 : 1;
    double rows_in = does(l, LL_EXPERT_PERMUTES) ? (double)e->rows : fmin((double)e->tokens, l->rows),
           best_s = INFINITY;
    for (uint64_t i = 0; i < l->kernel->tile_count; i++) {
        unsigned tile = (unsigned)floor(log2(l->kernel->tiles[i] / LL_LEAST_EXPERT_TILE));
        struct grouped up, down = {0};
        run(l, ups * inter, hidden, rows_in, l->rows, tile, &up);
        if (!e->single)
            run(l, hidden, inter, l->rows, l->rows, tile, &down);
        if (up.time_s + down.time_s >= best_s)
            continue;
        best_s = up.time_s + down.time_s;
        l->tile = tile;
        l->up = up;
        l->down = down;
    }
}

/* --- the kernels beside --- */

/* Bytes of routing (logits), of the gate, of sums over a token's experts, of quantization, of permutation. */
static double pass_bytes(const struct layer *l)
{
    const struct ll_experts *e = l->e;
    double hidden = (double)e->hidden, inter = (double)e->inter, tokens = (double)e->tokens;
    double ups = e->gated ? 2 : 1, half = 2, cast = half + l->activation_bytes;
    double rows = does(l, LL_EXPERT_ALL_ROWS) ? tokens * (double)e->top_k : (double)e->rows;
    double bytes = tokens * (double)e->experts * LL_SUM_BYTES + (rows + tokens) * hidden * half;
    if (does(l, LL_EXPERT_PERMUTES))
        bytes += rows * hidden * cast;
    else if (l->activation_bytes < half)
        bytes += tokens * hidden * cast + (does(l, LL_EXPERT_FUSED_GATE) ? 0 : rows * inter * cast);
    if (!does(l, LL_EXPERT_FUSED_GATE))
        bytes += rows * inter * (ups + 1) * half;
    return bytes;
}

/* Software without a kernel for a format holds its weights in 16 bits, as SGLang does with mxfp4 where its
 * Triton kernels run it. */
static bool solve(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                  struct layer *l)
{
    const struct ll_experts *e = &work->experts;
    assert(work->kind == LL_WORK_EXPERTS && e->format < LL_EXPERT_FORMAT_COUNT && e->touched > 0);
    *l = (struct layer){.e = e};
    if (!find_kernel(machine, kind, (enum ll_expert_format)e->format, l)) {
        l->e = e;
        if (!find_kernel(machine, kind, LL_EXPERTS_BF16, l))
            return false;
    }
    l->weight_bytes = does(l, LL_EXPERT_WIDE_WEIGHTS) ? 2 : ll_expert_weight_bytes(l->stored);
    l->activation_bytes = does(l, LL_EXPERT_WEIGHT_ONLY) ? 2 : ll_expert_activation_bytes(l->stored);
    l->dram_Bps = machine->levels[machine->level_count - 1].bandwidth_Bps;
    l->rows = (double)e->rows;
    l->touched = (double)e->touched;
    bool elsewhere = e->local < e->experts;
    if (elsewhere && does(l, LL_EXPERT_WHOLE_TOKENS))
        l->rows = fmax(l->rows, fmax(1, (double)e->local_tokens) * (double)e->top_k);
    if (elsewhere && does(l, LL_EXPERT_READS_ALL)) {
        double local = (double)e->local, all = (double)e->tokens * (double)e->top_k;
        l->touched = fmax(l->touched, local * (1 - pow(1 - 1 / local, all)));
    }
    choose_tile(l);
    l->pass_bytes = e->single ? 0 : pass_bytes(l);
    l->passes_s = l->pass_bytes / (l->dram_Bps * l->kernel->pass_efficiency);
    return true;
}

static const char *const absent[LL_EXPERT_FORMAT_COUNT] = {
#define X(word, name, ...)                                                                                   \
    "this software has no grouped GEMM for experts in " name ", nor one of 16 bits, that this machine runs",
    LL_EXPERT_FORMAT_LIST(X)
#undef X
};

bool ll_experts_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                     struct ll_cost *cost, bool *launches, const char **trouble)
{
    struct layer l;
    *trouble = NULL;
    if (machine->software.expert_count > 0 && !solve(machine, kind, work, &l))
        *trouble = absent[work->experts.format];
    if (machine->software.expert_count == 0 || *trouble)
        return false;
    *launches = l.kernel->launch_s > 0 && !work->experts.single;
    uint64_t outermost = machine->level_count - 1;
    double tiles = l.up.waves * (double)l.unit->count, bytes = l.up.bytes + l.down.bytes;
    *cost = (struct ll_cost){.unit = l.unit_index,
                             .ways = 1,
                             .units_used = (uint64_t)fmin(fmax(tiles, 1), (double)l.unit->count),
                             .clock_hz = l.unit->clock_hz,
                             .made = 1,
                             .compute_s = l.up.time_s + l.down.time_s,
                             .apart_bytes = l.pass_bytes,
                             .apart_s = l.passes_s,
                             .gap_s = *launches ? l.kernel->launch_s : 0};
    cost->compute_cycles = cost->compute_s * cost->clock_hz;
    cost->level_bytes[outermost] = cost->level_price[outermost] = bytes;
    cost->level_s[outermost] = l.up.dram_s + l.down.dram_s;
    cost->level_pieces[outermost] = 1;
    cost->utilization = (double)work->flops / (l.flops * (double)l.unit->count * cost->compute_cycles);
    return true;
}

/* --- explain --- */

static void explain_grouped(const struct layer *l, const struct grouped *g, const char *name,
                            struct ll_explain *why)
{
    double units = (double)l->unit->count, held = does(l, LL_EXPERT_PERSISTENT) ? 1 : occupancy[l->tile];
    ll_say(why, "%s, tiles a unit: %.10g * ceil(%.10g / %d) / %.10g = %.10g", name,
           g->waves * units / ceil(g->n / COLUMNS), g->n, COLUMNS, units, g->waves);
    ll_say(why, "%s, a tile multiplies %.10g s and loads %.10g s", name, g->multiply_s, g->load_s);
    ll_say(why,
           "%s on units: max(%.10g * max((%.10g + ceil(%.10g)) / 2, 1), %.10g * max(%.10g / %.10g, 1)) = "
           "%.10g s",
           name, g->multiply_s, g->waves, g->waves, g->load_s, g->waves, held, g->units_s);
    ll_say(why, "%s, weights and rows in the outermost memory: %.10g / (%.10g * %.10g) = %.10g s", name,
           g->bytes, l->dram_Bps, l->kernel->dram_efficiency, g->dram_s);
    ll_say(why, "%s: (%.10g ^ 3 + %.10g ^ 3) ^ (1 / 3) = %.10g s", name, g->units_s, g->dram_s, g->time_s);
}

void ll_experts_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        struct ll_explain *why)
{
    struct layer l;
    if (!solve(machine, kind, work, &l))
        return;
    const struct ll_experts *e = l.e;
    const char *format = ll_expert_format_name((enum ll_expert_format)e->format);
    ll_explain_group(why, "kernel");
    if (l.stored != (enum ll_expert_format)e->format)
        ll_say(why, "no kernel of this software takes %s, so weights are held in 16 bits", format);
    ll_say(why, "%s runs on %s, experts in %s", l.kernel->name, l.unit->name,
           ll_expert_format_name(l.stored));
    ll_say(why, "%" PRIu64 " rows of %" PRIu64 " experts, in tiles of %d rows", e->rows, e->touched,
           LL_LEAST_EXPERT_TILE << l.tile);
    ll_explain_group(why, "compute");
    explain_grouped(&l, &l.up, e->single ? "GEMMs" : "up", why);
    if (e->single)
        return;
    explain_grouped(&l, &l.down, "down", why);
    ll_say(why, "both: %.10g + %.10g = %.10g s", l.up.time_s, l.down.time_s, l.up.time_s + l.down.time_s);
    ll_explain_group(why, "overlap");
    ll_say(why, "routing, gate, sums and the like: %.10g / (%.10g * %.10g) = %.10g s", l.pass_bytes,
           l.dram_Bps, l.kernel->pass_efficiency, l.passes_s);
}
