/* SPDX-License-Identifier: Apache-2.0 */
/* Fused attention: softmax(Q K^T) V in one kernel, whose scores never leave the chip (Dao et al.,
 * FlashAttention, 2022).
 *
 * Prefill and the gradients. A block takes a tile of rows of one head and walks over the keys that they
 * see, a tile of them a step (of the gradients: a tile of keys, over the rows that see them). A step is
 * two GEMMs (five) and a softmax; how far they overlap is what FlashAttention-2, -3 and kernels of
 * Blackwell differ in:
 *
 *       step = max(gemm_time * FLOPs / peak + softmax_time * exponentials / their rate, FLOPs / peak)
 *
 * With a causal mask the row block behind row i ends at the diagonal, whose tile is computed whole; with a
 * window it begins at the first key that its first row sees. Blocks go to S units by list scheduling
 * (Graham, 1969):
 *
 *       time = max(block + longest, (n block + total) / S
 *                  + (ceil(n / S) - n / S) (block + shortest) + tail (longest - shortest))
 *
 * Decode. A block takes the query heads that share a key head of a sequence, or a part of its keys, at the
 * bandwidth that one unit draws; then the parts are combined by a second kernel (Dao et al.,
 * Flash-Decoding, 2023). Both are at least as long as their bytes take in the outermost memory.
 *
 * The call adds its launches, the write of new keys and values into the cache, casts and copies. */
#include "sim/cost/attention.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"

enum {
    DECODE_TILE = 128,   /* keys of a piece by which split rules count */
    LATENT_TILE = 64,    /* keys of a step of latent decode */
    WRITE_THREADS = 512, /* the most of a block that writes one token's keys or values */
    UNIT_THREADS = 2048, /* that a unit holds */
    SWAPPED_HEADS = 32,  /* the most that are columns of an instruction */
    HALF_BYTES = 2       /* of an element of queries and results */
};

/* Share of the bandwidth of the level inside the outermost one that all units together draw: 36 and 37
 * bytes a cycle and multiprocessor of the 48 and 42 that its ports have (gpu-benches, A100 and H200). Keys
 * that blocks read again come out at three quarters of it. */
static const double L2_SHARE = 0.78, AGAIN_SHARE = 0.75;

/* What the machine's data sheet says of the units that the kernel runs on. */
struct device {
    uint32_t unit; /* in machine->units */
    const struct ll_unit *of;
    double units, clock_hz;
    double flops, exponentials; /* a cycle of one unit */
    double dram_Bps, l2_Bps;
};

/* Blocks of a kernel: how many, the steps of all, of the longest and of the shortest one. */
struct blocks {
    double count, steps, longest, shortest, rows;
};

/* How the time of a kernel comes about. */
struct loops {
    struct ll_tile tile;
    struct blocks blocks;
    double splits, step_s, gemm_s, softmax_s, peak_s, block_s, bytes, dram_Bps, read_again_s;
    double compute_s;                             /* on the units */
    double sums_s;                                /* of that, gradients that are added up in the cache */
    double combine_s;                             /* behind them */
    double skipped_s;                             /* of that, steps outside of the window */
    double longest_skipped_s, shortest_skipped_s; /* of the longest and of the shortest block */
};

struct call {
    const struct ll_attention_kernel *kernel;
    const struct ll_attention *a;
    struct device device;
    bool narrow_cache, narrow; /* 8 bits: of the cache; of the arithmetic */
    double cache_bytes, width; /* of an element of the cache; of one of queries in the arithmetic */
    double window_keys;        /* that one query sees at most */
    struct loops loops;
    double write_bytes, write_s, cast_s, copies_s;
};

/* --- which kernel, on what --- */

static bool does(const struct ll_attention_kernel *kernel, enum ll_attention_trait trait)
{
    return (kernel->traits & (uint64_t)trait) != 0;
}

/* A figure that a kernel gives by dtype. */
static double by_dtype(const double figures[LL_DTYPE_COUNT], bool narrow)
{
    double wide = figures[LL_BF16] > 0 ? figures[LL_BF16] : 1;
    return narrow && figures[LL_F8] > 0 ? figures[LL_F8] : wide;
}

/* The last one: what a stack brings along stands behind what it inherits. */
static const struct ll_attention_kernel *find_pass(const struct ll_machine *machine,
                                                   const struct ll_attention *a, unsigned pass)
{
    for (unsigned backend = a->backend;; backend = LL_BACKEND_ANY) {
        for (uint64_t i = machine->software.attention_count; i > 0; i--) {
            const struct ll_attention_kernel *kernel = &machine->software.attention[i - 1];
            if (kernel->pass == pass && kernel->backend == backend)
                return kernel;
        }
        if (backend == LL_BACKEND_ANY)
            return NULL;
    }
}

/* A prompt of one token goes where the software sends it. */
static const struct ll_attention_kernel *find_kernel(const struct ll_machine *machine,
                                                     const struct ll_attention *a)
{
    if (a->pass == LL_ATTENTION_PREFILL && a->queries == 1) {
        const struct ll_attention_kernel *decode = find_pass(machine, a, LL_ATTENTION_DECODE);
        if (decode && does(decode, LL_TRAIT_FIRST_TOKEN))
            return decode;
    }
    return find_pass(machine, a, a->pass);
}

/* Of one vector unit. */
static double exponentials_of(const struct ll_machine *machine, double *count)
{
    *count = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model != LL_UNIT_VECTOR)
            continue;
        *count = (double)unit->count;
        return (double)unit->vector.lanes *
               (unit->vector.specials > 0 ? unit->vector.specials : unit->vector.flops[LL_F32]);
    }
    return 0;
}

/* The unit of its GEMMs in one element type. */
static bool find_unit(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                      enum ll_dtype dtype, struct device *device)
{
    struct ll_work gemm = {.kind = LL_WORK_GEMM,
                           .dtype = dtype,
                           .along_k = LL_LINES_ELSEWHERE,
                           .gemm = {1, LATENT_TILE, LATENT_TILE, work->attention.head_qk}};
    enum ll_dtype computed;
    device->unit = ll_choose_unit(machine, kind, &gemm, &computed);
    if (device->unit == LL_NO_UNIT || ll_unit_flops_per_cycle(&machine->units[device->unit], dtype) == 0)
        return false;
    const struct ll_unit *unit = &machine->units[device->unit];
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    device->of = unit;
    device->units = (double)unit->count;
    device->clock_hz = unit->clock_hz;
    device->flops = ll_unit_flops_per_cycle(unit, dtype);
    double vectors;
    device->exponentials = exponentials_of(machine, &vectors);
    if (unit->model == LL_UNIT_SYSTOLIC) { /* all arrays work on one block, all vector units on its softmax */
        device->flops *= device->units;
        device->exponentials *= vectors;
        device->units = 1;
    }
    device->dram_Bps = outermost->bandwidth_Bps;
    device->l2_Bps = machine->level_count > 1 ? outermost[-1].bandwidth_Bps : outermost->bandwidth_Bps;
    return true;
}

static bool is_8_bits(uint64_t dtype)
{
    return ll_dtype_bits((enum ll_dtype)dtype) <= 8;
}

static bool begin(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                  struct call *c)
{
    const struct ll_attention *a = &work->attention;
    assert(work->kind == LL_WORK_ATTENTION && a->pass < LL_ATTENTION_PASS_COUNT && a->kv_heads > 0);
    *c = (struct call){.kernel = find_kernel(machine, a), .a = a};
    bool served = ll_dtype_bits((enum ll_dtype)work->dtype) <= 16; /* such kernels take no wider types */
    if (!c->kernel || !served || a->batch == 0 || a->queries == 0 || a->heads == 0)
        return false;
    c->narrow_cache = is_8_bits(a->cache);
    c->cache_bytes = ll_dtype_spread((enum ll_dtype)a->cache);
    c->window_keys = a->window > 0 ? fmin((double)a->window + 1, (double)a->keys) : (double)a->keys;
    c->narrow = is_8_bits(work->dtype) || (c->narrow_cache && does(c->kernel, LL_TRAIT_NARROW_CACHE));
    if (c->narrow && !find_unit(machine, kind, work, LL_F8, &c->device))
        c->narrow = false;
    c->width = c->narrow ? 1 : HALF_BYTES;
    enum ll_dtype wide = is_8_bits(work->dtype) ? LL_BF16 : (enum ll_dtype)work->dtype;
    return c->narrow || find_unit(machine, kind, work, wide, &c->device);
}

/* --- blocks --- */

/* Sum of floor((a i + b) / m) over i < n, by the Euclidean descent of lattice point counts. */
static double floor_sum(uint64_t n, uint64_t m, uint64_t a, uint64_t b)
{
    double sum = 0;
    while (n > 0) {
        sum += (double)n * (double)(n - 1) / 2 * (double)(a / m) + (double)n * (double)(b / m);
        a %= m;
        b %= m;
        uint64_t reach = a * n + b;
        if (reach < m)
            break;
        uint64_t next = reach / m;
        b = reach % m;
        n = next;
        next = m;
        m = a;
        a = next;
    }
    return sum;
}

/* Rows of one head, or of a group of heads packed row by row, cut into tiles. */
struct rows {
    uint64_t count, packed; /* rows; heads in each position */
    uint64_t before, keys;  /* keys in front of the first position; of all */
    uint64_t window;        /* 0: none */
    bool causal;
};

/* Steps of row block i: up to the key of its last row, from the first that its first row sees. */
static uint64_t steps_of(const struct rows *r, const struct ll_tile *tile, uint64_t i)
{
    if (!r->causal)
        return ll_ceil_div(r->keys, tile->n);
    uint64_t last = ll_min((i + 1) * tile->m, r->count), first = i * tile->m / r->packed + r->before;
    uint64_t end = ll_min(r->before + ll_ceil_div(last, r->packed), r->keys);
    uint64_t begin = r->window > 0 && first > r->window ? (first - r->window) / tile->n : 0;
    return ll_ceil_div(end, tile->n) - begin;
}

static uint64_t common(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Steps of all row blocks, of the longest and of the shortest. Block i < n - 1 ends at key
 * ceil(((i + 1) m + before p) / p), p heads packed, and begins at floor((i m + (before - window) p) / p). */
static struct blocks count_blocks(const struct rows *r, const struct ll_tile *tile)
{
    uint64_t n = ll_ceil_div(r->count, tile->m), period = r->packed * tile->n,
             last = steps_of(r, tile, n - 1);
    struct blocks b = {.count = (double)n, .longest = (double)last, .shortest = (double)steps_of(r, tile, 0)};
    if (!r->causal) {
        b.steps = b.count * b.longest;
        return b;
    }
    b.steps = (double)last + floor_sum(n - 1, period, tile->m, tile->m + r->before * r->packed + period - 1);
    if (r->window == 0)
        return b;
    /* Of blocks 0 to n - 2, those that begin behind the first key. */
    uint64_t hidden = r->window > r->before ? (r->window - r->before) * r->packed : 0;
    uint64_t from = ll_ceil_div(hidden, tile->m);
    if (from + 1 < n)
        b.steps -= floor_sum(n - 1 - from, period, tile->m,
                             from * tile->m + r->before * r->packed - r->window * r->packed);
    /* Behind the window the steps repeat after so many blocks. */
    uint64_t around = ll_min(n, period / common(period, tile->m) + 1);
    for (uint64_t i = n - around; i < n; i++) {
        b.longest = fmax(b.longest, (double)steps_of(r, tile, i));
        b.shortest = fmin(b.shortest, (double)steps_of(r, tile, i));
    }
    return b;
}

/* Rows that fill their tiles, of those that the tiles have. */
static double filled(uint64_t rows, uint64_t tile)
{
    return (double)rows / (double)(ll_ceil_div(rows, tile) * tile);
}

/* All blocks of the call. Of several parts of the positions one has a piece from the front and one from
 * behind, half each. */
static struct blocks blocks_of(const struct call *c, const struct ll_tile *tile)
{
    const struct ll_attention *a = c->a;
    uint64_t group = does(c->kernel, LL_TRAIT_ABSORBS) ? a->heads : a->heads / a->kv_heads, packed = 1;
    bool packs = does(c->kernel, LL_TRAIT_PACKS_HEADS) || does(c->kernel, LL_TRAIT_ABSORBS);
    if (packs && group > 1 && filled(a->queries, tile->m) < 0.9 * filled(a->queries * group, tile->m))
        packed = group;
    uint64_t parts = ll_max(1, a->parts), share = parts > 1 ? ll_ceil_div(a->queries, 2) : a->queries;
    uint64_t before = ll_sub(a->keys, a->queries * parts);
    struct rows rows = {share * packed, packed, before, a->keys, a->window, a->causal};
    struct blocks b = count_blocks(&rows, tile);
    if (parts > 1) {
        rows.before = a->keys - share;
        const struct blocks late = count_blocks(&rows, tile);
        b.count += late.count;
        b.steps += late.steps;
        b.longest = fmax(b.longest, late.longest);
        b.shortest = fmin(b.shortest, late.shortest);
    }
    double stacks = (double)a->batch * (double)(a->heads / packed);
    b.count *= stacks;
    b.steps *= stacks;
    b.rows = (double)a->batch * (double)a->heads * (double)a->queries;
    return b;
}

/* Blocks on units by list scheduling; first: a block's time beside its steps, the others: of steps. */
static double wave_s(double units, double count, double first_s, double total_s, double longest_s,
                     double shortest_s, double tail)
{
    double even_s = (count * first_s + total_s) / units, idle = ceil(count / units) - count / units;
    double ends_s = idle * (first_s + shortest_s) + tail * (longest_s - shortest_s);
    return fmax(first_s + longest_s, even_s + ends_s);
}

/* --- a step --- */

/* The head that a tile is for, as the kernel pads it. */
static double padded_head(const struct ll_attention_kernel *kernel, double head)
{
    return does(kernel, LL_TRAIT_PADS_HEADS) ? exp2(ceil(log2(head))) : head;
}

/* Rows or columns of a systolic array over those at work: in each GEMM of a step the head is the side that is
 * summed up or that comes out, whose other side is one of the tile's. */
static double array_idle(const struct call *c)
{
    const struct ll_unit *unit = c->device.of;
    if (unit->model != LL_UNIT_SYSTOLIC)
        return 1;
    double head = ((double)c->a->head_qk + (double)c->a->head_v) / 2,
           side = (double)(unit->systolic.rows + unit->systolic.cols) / 2;
    return ceil(head / side) * side / head;
}

/* Times that the GEMMs take over their FLOPs at the peak rate. */
static double gemm_share(const struct call *c)
{
    double share = by_dtype(c->kernel->gemm_time, c->narrow);
    return (share > 1 ? 1 / ll_unit_share(c->device.of, 1 / share) : share) * array_idle(c);
}

static void time_step(const struct call *c, double gemm_flops, double exponentials, struct loops *l)
{
    const struct ll_attention_kernel *k = c->kernel;
    const struct device *d = &c->device;
    double wide = does(k, LL_TRAIT_SPILLS) ? fmax((double)c->a->head_qk, 192) / 192 : 1;
    double share = gemm_share(c) * wide;
    l->gemm_s = share * gemm_flops / (d->flops * d->clock_hz);
    l->softmax_s = d->exponentials > 0 ? k->softmax_time * exponentials / (d->exponentials * d->clock_hz) : 0;
    l->peak_s = gemm_flops / (d->flops * d->clock_hz);
    l->step_s = fmax(l->gemm_s + l->softmax_s, l->peak_s);
}

/* Rows that the matrix instruction computes for a tile. */
static double instruction_rows(const struct call *c, const struct ll_tile *tile)
{
    return fmax((double)tile->m, does(c->kernel, LL_TRAIT_WIDE_ROWS) ? 128 : 0);
}

static double dram_efficiency(const struct call *c)
{
    return by_dtype(c->kernel->dram_efficiency, c->narrow_cache);
}

/* --- prefill and the gradients --- */

/* FlashAttention-3 shares keys out where row blocks are few: heuristics.h of its sources. */
static double prefill_splits(const struct call *c, const struct blocks *b)
{
    double units = c->device.units;
    if (c->kernel->splits == LL_SPLITS_NONE || b->count >= 0.8 * units || b->longest <= 4)
        return 1;
    return fmin(fmax(1, fmin(floor(units / b->count), floor(b->longest / 2))), 128);
}

static double loops_s(const struct loops *l)
{
    return fmax(l->compute_s, fmax(l->bytes / l->dram_Bps, l->read_again_s)) + l->combine_s;
}

static void time_blocks(const struct call *c, struct loops *l)
{
    const struct ll_attention_kernel *k = c->kernel;
    const struct blocks *b = &l->blocks;
    double units = c->device.units, splits = prefill_splits(c, b);
    l->splits = 1;
    l->compute_s = wave_s(units, b->count, l->block_s, b->steps * l->step_s + l->skipped_s,
                          b->longest * l->step_s + l->longest_skipped_s,
                          b->shortest * l->step_s + l->shortest_skipped_s, k->tail);
    if (splits == 1)
        return;
    double split_s =
        wave_s(units, b->count * splits, l->block_s, b->steps * l->step_s,
               ceil(b->longest / splits) * l->step_s, ceil(b->shortest / splits) * l->step_s, k->tail);
    double parts_bytes = 2 * splits * b->rows * (double)c->a->head_v * LL_SUM_BYTES;
    double combine_s = k->combine_s + parts_bytes / l->dram_Bps;
    if (split_s + combine_s >= l->compute_s)
        return;
    l->splits = splits;
    l->compute_s = split_s;
    l->combine_s = combine_s;
}

/* Steps outside of a window, which some kernels walk without computing; what finds that a step is none is
 * done in one that is, too, so it takes no longer. */
static void skip_steps(const struct call *c, struct loops *l)
{
    double each_s = fmin(c->kernel->skipped_step_s, l->step_s);
    if (each_s == 0 || c->a->window == 0)
        return;
    struct ll_attention whole = *c->a;
    whole.window = 0;
    struct call all = *c;
    all.a = &whole;
    const struct blocks walked = blocks_of(&all, &l->tile);
    l->skipped_s = (walked.steps - l->blocks.steps) * each_s;
    l->longest_skipped_s = (walked.longest - l->blocks.longest) * each_s;
    l->shortest_skipped_s = (walked.shortest - l->blocks.shortest) * each_s;
}

/* Bytes of queries, keys, values and results, each once. */
static double prefill_bytes(const struct call *c)
{
    const struct ll_attention *a = c->a;
    double tokens = (double)a->batch * (double)a->queries, heads = (double)a->heads;
    uint64_t seen = a->window > 0 ? ll_min(a->keys, ll_add(a->queries, a->window)) : a->keys;
    double stored = (double)a->batch * (double)seen;
    if (does(c->kernel, LL_TRAIT_ABSORBS))
        return HALF_BYTES * (tokens * heads * (LL_LATENT_KEY + LL_LATENT_VALUE) + stored * LL_LATENT_KEY);
    double results = tokens * heads * (double)a->head_v * HALF_BYTES;
    double each = a->pass == LL_ATTENTION_LATENT_PREFILL ? c->width : c->cache_bytes;
    return tokens * heads * (double)a->head_qk * c->width + results +
           stored * (double)a->kv_heads * ((double)a->head_qk + (double)a->head_v) * each;
}

static struct loops prefill_with(const struct call *c, const struct ll_tile *tile)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    bool absorbed = does(k, LL_TRAIT_ABSORBS);
    double qk = absorbed ? LL_LATENT_KEY : padded_head(k, (double)a->head_qk),
           v = absorbed ? LL_LATENT_VALUE : padded_head(k, (double)a->head_v);
    double scores = (double)tile->m * (double)tile->n;
    struct loops l = {.tile = *tile, .block_s = k->block_s, .blocks = blocks_of(c, tile)};
    time_step(c, 2 * instruction_rows(c, tile) * (double)tile->n * (qk + v), scores, &l);
    skip_steps(c, &l);
    l.bytes = prefill_bytes(c);
    l.dram_Bps = c->device.dram_Bps * dram_efficiency(c);
    time_blocks(c, &l);
    return l;
}

/* Blocks of keys, each over the rows that see them: dQ is added up in fp32 through the cache. Row sums, zeros
 * and the cast of dQ are kernels of their own, 14 bytes an element (flash_bwd_preprocess_kernel.h). */
static struct loops backward_with(const struct call *c, const struct ll_tile *tile)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    double qk = padded_head(k, (double)a->head_qk), v = padded_head(k, (double)a->head_v);
    struct loops l = {.tile = *tile, .block_s = k->block_s, .splits = 1};
    const struct ll_tile turned = {.m = tile->n, .n = tile->m};
    l.blocks = blocks_of(c, &turned); /* with a causal mask keys see rows as rows see keys */
    time_step(c, 2 * (double)tile->m * (double)tile->n * (3 * qk + 2 * v), (double)tile->m * (double)tile->n,
              &l);
    l.sums_s = l.blocks.steps * 2 * (double)tile->m * qk * LL_SUM_BYTES / (c->device.l2_Bps * L2_SHARE);
    l.compute_s = l.sums_s + wave_s(c->device.units, l.blocks.count, l.block_s, l.blocks.steps * l.step_s,
                                    l.blocks.longest * l.step_s, l.blocks.shortest * l.step_s, k->tail);
    l.dram_Bps = c->device.dram_Bps * dram_efficiency(c);
    l.bytes = l.blocks.rows * 2 * HALF_BYTES * (qk + v);
    l.combine_s = l.blocks.rows * qk * 14 / l.dram_Bps;
    return l;
}

/* The fastest of the tiles for the head, or the first that fits: those of the smallest one that holds the
 * head, else of the largest. */
static struct loops best_tile(const struct call *c)
{
    const struct ll_attention_kernel *k = c->kernel;
    bool narrow = c->narrow && k->narrow_tile_count > 0;
    const struct ll_tile *tiles = narrow ? k->narrow_tiles : k->tiles;
    uint64_t count = narrow ? k->narrow_tile_count : k->tile_count, head = 0, largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        largest = ll_max(largest, tiles[i].k);
        if (tiles[i].k >= c->a->head_qk && (head == 0 || tiles[i].k < head))
            head = tiles[i].k;
    }
    head = head > 0 ? head : largest;
    struct loops best = {.compute_s = INFINITY, .dram_Bps = 1};
    for (uint64_t i = 0; i < count; i++) {
        if (tiles[i].k != head)
            continue;
        const struct loops l =
            c->a->pass == LL_ATTENTION_BACKWARD ? backward_with(c, &tiles[i]) : prefill_with(c, &tiles[i]);
        if (does(k, LL_TRAIT_FIRST_FIT) || loops_s(&l) < loops_s(&best))
            best = l;
        if (does(k, LL_TRAIT_FIRST_FIT) && tiles[i].m >= c->a->queries)
            break;
    }
    return best;
}

/* --- decode --- */

/* The least count of splits within 85 % of the best wave efficiency, n s / ceil(n s / slots) of the slots:
 * the rule of FlashAttention-2 and -3 (num_splits_heuristic of their sources); 1 where blocks fill 0.8 of
 * them. */
static double flash_splits(double blocks, double slots, uint64_t pieces)
{
    enum { MOST = 128 };
    if (blocks >= 0.8 * slots || pieces <= 1)
        return 1;
    uint64_t most = ll_min(ll_min(MOST, (uint64_t)slots), pieces);
    double best = 0, efficiency[MOST + 1] = {0};
    for (uint64_t s = 1; s <= most; s++) {
        double waves = blocks * (double)s / slots;
        if (s == 1 || ll_ceil_div(pieces, s) != ll_ceil_div(pieces, s - 1))
            efficiency[s] = waves / ceil(waves);
        best = fmax(best, efficiency[s]);
    }
    uint64_t s = 1;
    while (efficiency[s] < 0.85 * best)
        s++;
    return (double)s;
}

/* Blocks of decode: of a key head each, or of a query head where the library has no kernel for the group. */
struct decode {
    double blocks, group, bytes, block_s; /* bytes of the keys and values of one block */
    bool ungrouped;
};

static struct decode decode_of(const struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    uint64_t group = a->heads / a->kv_heads;
    struct decode d = {.group = (double)group};
    d.ungrouped =
        (group == 1 && does(k, LL_TRAIT_SINGLE_HEADS)) || (k->max_group > 0 && group > k->max_group);
    d.blocks = (double)a->batch * (double)(d.ungrouped ? a->heads : a->kv_heads);
    d.bytes = c->window_keys * ((double)a->head_qk + (double)a->head_v) * c->cache_bytes;
    double begin_s = c->narrow_cache && k->narrow_block_s > 0 ? k->narrow_block_s : k->block_s;
    double more_s = k->head_s * d.group + k->width_s * ((double)a->head_qk - 128) / 128;
    d.block_s = d.ungrouped ? k->single_block_s : fmax(begin_s + more_s, 0.1 * begin_s);
    return d;
}

static void run_decode(const struct call *c, const struct decode *d, double splits, struct loops *l)
{
    double units = c->device.units, blocks = d->blocks * splits;
    double draw_s = c->kernel->unit_Bps > 0 ? d->bytes / splits / c->kernel->unit_Bps : 0;
    double one_s = d->block_s + draw_s;
    l->splits = splits;
    l->step_s = draw_s;
    l->block_s = d->block_s;
    l->blocks.count = blocks;
    l->compute_s = fmax(one_s, blocks / units * one_s + (blocks > units ? 0.5 * one_s : 0));
    double parts =
        2 * splits * (double)c->a->batch * (double)c->a->heads * (double)c->a->head_qk * LL_SUM_BYTES;
    l->combine_s = splits > 1 ? c->kernel->combine_s + parts / l->dram_Bps : 0;
}

/* Of any number of splits up to what fills the units the fastest. */
static void fill_units(const struct call *c, const struct decode *d, struct loops *l)
{
    double most = floor(c->device.units / d->blocks);
    if (c->kernel->max_splits > 0)
        most = fmin(most, (double)c->kernel->max_splits);
    run_decode(c, d, 1, l);
    for (double splits = 2; splits <= most; splits++) {
        struct loops other = *l;
        run_decode(c, d, splits, &other);
        if (loops_s(&other) < loops_s(l))
            *l = other;
    }
}

static double query_bytes(const struct call *c)
{
    const struct ll_attention *a = c->a;
    return (double)a->batch * (double)a->heads * (double)a->head_qk * 2 * HALF_BYTES;
}

static struct loops loops_of_group(const struct call *c)
{
    const struct decode d = decode_of(c);
    const struct ll_attention_kernel *k = c->kernel;
    uint64_t pieces = (uint64_t)ceil(c->window_keys / DECODE_TILE);
    struct loops l = {.dram_Bps = c->device.dram_Bps * dram_efficiency(c)};
    double key_heads = (double)c->a->batch * (double)c->a->kv_heads;
    l.bytes = key_heads * d.bytes + query_bytes(c);
    l.read_again_s = d.ungrouped ? d.blocks * d.bytes / (c->device.l2_Bps * L2_SHARE * AGAIN_SHARE) : 0;
    if (k->splits == LL_SPLITS_FLASH_2 && d.group > 1)
        run_decode(c, &d, flash_splits(d.blocks * ceil(d.group / 64), 2 * c->device.units, pieces), &l);
    else if (k->splits == LL_SPLITS_FLASH_3 && pieces > 4)
        run_decode(c, &d, flash_splits(d.blocks, c->device.units, pieces), &l);
    else if (k->splits == LL_SPLITS_FILL)
        fill_units(c, &d, &l);
    else
        run_decode(c, &d, 1, &l);
    return l;
}

/* Of groups that are too large for a block, each query head has one, which begins sooner: but more heads are
 * no reason to be sooner than the largest group. */
static struct loops decode_loops(const struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    struct loops l = loops_of_group(c);
    if (k->max_group == 0 || a->heads / a->kv_heads <= k->max_group)
        return l;
    struct ll_attention largest = *a;
    largest.heads = a->kv_heads * k->max_group;
    struct call fewer = *c;
    fewer.a = &largest;
    const struct loops other = loops_of_group(&fewer);
    return loops_s(&other) > loops_s(&l) ? other : l;
}

/* --- latent decode --- */

static void run_latent(const struct call *c, double blocks, double steps, double splits, struct loops *l)
{
    double units = c->device.units, all = blocks * splits;
    double one_s = l->block_s + ceil(steps / splits) * l->step_s;
    l->splits = splits;
    l->blocks.count = all;
    l->blocks.longest = l->blocks.shortest = ceil(steps / splits);
    l->compute_s = fmax(one_s, one_s * (all / units + 0.5 * (ceil(all / units) - all / units)));
    double parts = 2 * splits * (double)c->a->batch * (double)c->a->heads * LL_LATENT_VALUE * LL_SUM_BYTES;
    l->combine_s = splits > 1 ? c->kernel->combine_s + parts / l->dram_Bps : 0;
}

/* Keys of all heads are one, so heads are the rows of its GEMMs (FlashMLA, 2025). */
static struct loops latent_loops(const struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    uint64_t tile_rows = k->tile_count > 0 ? k->tiles[0].m : LATENT_TILE;
    double rows =
        does(k, LL_TRAIT_SWAPS) && a->heads <= SWAPPED_HEADS ? fmax((double)a->heads, 8) : (double)tile_rows;
    bool converts = c->narrow_cache && k->convert_Bps > 0;
    struct loops l = {.tile = {tile_rows, LATENT_TILE, LL_LATENT_KEY}, .block_s = k->block_s};
    time_step(c, 2 * rows * LATENT_TILE * (LL_LATENT_KEY + LL_LATENT_VALUE), rows * LATENT_TILE, &l);
    if (k->unit_Bps > 0)
        l.step_s = fmax(l.step_s, LATENT_TILE * LL_LATENT_KEY * c->cache_bytes / k->unit_Bps);
    double blocks = (double)a->batch * (double)ll_ceil_div(a->heads, tile_rows);
    double steps = ceil((double)a->keys / LATENT_TILE), stored = (double)a->batch * (double)a->keys;
    l.dram_Bps = c->device.dram_Bps * (by_dtype(k->dram_efficiency, c->narrow_cache && !converts));
    l.bytes = stored * LL_LATENT_KEY * c->cache_bytes * (converts ? 2 : 1) +
              (double)a->batch * (double)a->heads * (LL_LATENT_KEY + LL_LATENT_VALUE) * HALF_BYTES;
    run_latent(c, blocks, steps, 1, &l);
    double most = k->splits == LL_SPLITS_FILL ? floor(c->device.units / blocks) : 1;
    for (double splits = 2; splits <= most; splits++) {
        struct loops other = l;
        run_latent(c, blocks, steps, splits, &other);
        if (loops_s(&other) < loops_s(&l))
            l = other;
    }
    l.blocks.steps = blocks * steps;
    return l;
}

/* --- what the call does beside its kernel --- */

/* The kernel in front: writes new keys and values into the cache, rotates or casts queries. */
static double written_bytes(const struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    double tokens = (double)a->batch * (double)a->queries, heads = (double)a->heads;
    double queries = tokens * heads * (double)a->head_qk, cast = HALF_BYTES + 1;
    bool casts = c->narrow_cache && does(k, LL_TRAIT_NARROW_CACHE);
    if (a->pass == LL_ATTENTION_LATENT_PREFILL) {
        double values = tokens * heads * (double)a->head_v,
               bytes = tokens * LL_LATENT_KEY * (HALF_BYTES + c->cache_bytes);
        if (!does(k, LL_TRAIT_ABSORBS))
            bytes += (does(k, LL_TRAIT_ROTATES) ? 2 * queries * HALF_BYTES : 0) +
                     (casts ? (2 * queries + values) * cast : 0);
        return bytes;
    }
    double bytes = tokens * (double)a->kv_heads * 2 * (double)a->head_qk * (HALF_BYTES + c->cache_bytes);
    if (k->pass == LL_ATTENTION_PREFILL)
        bytes += does(k, LL_TRAIT_ROTATES) ? queries * (HALF_BYTES + c->width) : casts ? queries * cast : 0;
    return bytes;
}

static void time_write(struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    if (!a->cached || (k->write_unit_Bps == 0 && k->write_block_s == 0))
        return;
    double rate_Bps = c->loops.dram_Bps;
    if (k->write_unit_Bps > 0)
        rate_Bps = fmin(rate_Bps, k->write_unit_Bps * c->device.units);
    double threads = fmin((double)a->kv_heads * (double)a->head_qk, WRITE_THREADS);
    double tokens = (double)a->batch * (double)a->queries;
    c->write_bytes = written_bytes(c);
    c->write_s = fmax(c->write_bytes / rate_Bps,
                      tokens * threads / (UNIT_THREADS * c->device.units) * k->write_block_s);
}

static void time_beside(const struct ll_work *work, struct call *c)
{
    const struct ll_attention *a = c->a;
    const struct ll_attention_kernel *k = c->kernel;
    bool decodes = k->pass == LL_ATTENTION_DECODE,
         latent = a->pass == LL_ATTENTION_LATENT_PREFILL || a->pass == LL_ATTENTION_LATENT_DECODE;
    bool casts = decodes || latent ? c->narrow_cache : is_8_bits(work->dtype);
    time_write(c);
    c->cast_s = casts ? k->cast_s : 0;
    if (!latent && a->head_qk != a->head_v)
        c->cast_s += k->copies_s;
    if (decodes && k->splits == LL_SPLITS_FLASH_2 && k->copies_s > 0 && a->kv_heads > 1 &&
        a->heads > a->kv_heads)
        c->copies_s = k->copies_s + 2 * query_bytes(c) / c->loops.dram_Bps;
    if (a->pass == LL_ATTENTION_LATENT_DECODE && c->narrow_cache && k->convert_Bps > 0)
        c->copies_s = (double)a->batch * (double)a->keys * LL_LATENT_KEY / k->convert_Bps;
}

static bool solve(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                  struct call *c)
{
    if (!begin(machine, kind, work, c))
        return false;
    if (c->kernel->pass == LL_ATTENTION_DECODE)
        c->loops = decode_loops(c);
    else if (c->kernel->pass == LL_ATTENTION_LATENT_DECODE)
        c->loops = latent_loops(c);
    else
        c->loops = best_tile(c);
    if (isinf(c->loops.compute_s))
        return false;  /* it offers no tile */
    if (!c->a->cached) /* an op of a trace moves what its tensors have */
        c->loops.bytes = fmax(c->loops.bytes, ll_work_bytes(work));
    time_beside(work, c);
    return true;
}

bool ll_attention_cost(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                       struct ll_cost *cost, bool *launches)
{
    struct call c;
    if (!solve(machine, kind, work, &c))
        return false;
    const struct loops *l = &c.loops;
    *launches = c.kernel->launch_s > 0;
    uint64_t outermost = machine->level_count - 1;
    *cost = (struct ll_cost){.unit = c.device.unit,
                             .ways = 1,
                             .units_used = (uint64_t)fmin(l->blocks.count, c.device.units),
                             .clock_hz = c.device.clock_hz,
                             .made = 1};
    cost->compute_s = fmax(l->compute_s, l->read_again_s);
    cost->compute_cycles = cost->compute_s * c.device.clock_hz;
    double bytes = l->bytes;
    cost->level_bytes[outermost] = cost->level_price[outermost] = bytes;
    cost->level_written[outermost] = fmin((double)work->c_bytes, bytes);
    cost->level_of[outermost][LL_OPERAND_A] = fmax(0, bytes - (double)work->b_bytes - (double)work->c_bytes);
    cost->level_of[outermost][LL_OPERAND_B] = (double)work->b_bytes;
    cost->level_of[outermost][LL_OPERAND_C] = (double)work->c_bytes;
    cost->level_s[outermost] = bytes / l->dram_Bps;
    cost->level_pieces[outermost] = 1;
    cost->apart_s = c.write_s + c.cast_s + c.copies_s + l->combine_s;
    *(does(c.kernel, LL_TRAIT_IN_STREAM) ? &cost->stream_s : &cost->gap_s) = c.kernel->launch_s;
    double peak = c.device.flops * c.device.units * cost->compute_cycles;
    cost->utilization = peak > 0 ? (double)work->flops / peak : 0;
    return true;
}

/* --- explain --- */

static void explain_step(const struct call *c, double gemm_flops, double exponentials, double share,
                         struct ll_explain *why)
{
    const struct loops *l = &c->loops;
    const struct device *d = &c->device;
    ll_say(why, "GEMMs of a step: %.10g * %.10g / (%.10g * %.10g) = %.10g s", share, gemm_flops, d->flops,
           d->clock_hz, l->gemm_s);
    ll_say(why, "exponentials of a step: %.10g * %.10g / (%.10g * %.10g) = %.10g s", c->kernel->softmax_time,
           exponentials, fmax(d->exponentials, 1), d->clock_hz, l->softmax_s);
}

static void explain_blocks(const struct call *c, struct ll_explain *why)
{
    const struct loops *l = &c->loops;
    const struct ll_attention_kernel *k = c->kernel;
    double scores = (double)l->tile.m * (double)l->tile.n,
           flops = l->gemm_s * c->device.flops * c->device.clock_hz;
    double share = gemm_share(c);
    ll_say(why,
           "tiles of %" PRIu64 " rows x %" PRIu64 " keys: %.10g blocks of %.10g to %.10g steps, %.10g in all",
           l->tile.m, l->tile.n, l->blocks.count, l->blocks.shortest, l->blocks.longest, l->blocks.steps);
    explain_step(c, flops / share, scores, share, why);
    ll_say(why, "a step, no faster than its GEMMs at the peak: max(%.10g + %.10g, %.10g) = %.10g s",
           l->gemm_s, l->softmax_s, l->peak_s, l->step_s);
    if (l->skipped_s > 0)
        ll_say(why, "steps outside of the window, of all blocks and of the longest: %.10g s and %.10g s",
               l->skipped_s, l->longest_skipped_s);
    const struct blocks *b = &l->blocks;
    double n = b->count * l->splits, longest = ceil(b->longest / l->splits),
           shortest = ceil(b->shortest / l->splits);
    if (l->splits > 1)
        ll_say(why, "blocks, keys split in %.10g parts: %.10g * %.10g = %.10g", l->splits, b->count,
               l->splits, n);
    ll_say(
        why,
        "blocks in waves: max(%.10g + %.10g * %.10g, (%.10g * %.10g + %.10g * %.10g) / %.10g + (ceil(%.10g / "
        "%.10g) - %.10g / %.10g) * (%.10g + %.10g * %.10g) + %.10g * (%.10g - %.10g) * %.10g)%s %.10g s",
        l->block_s, longest, l->step_s, n, l->block_s, b->steps, l->step_s, c->device.units, n,
        c->device.units, n, c->device.units, l->block_s, shortest, l->step_s, k->tail, longest, shortest,
        l->step_s, l->skipped_s > 0 ? ", and what is skipped, is" : " =", l->compute_s - l->sums_s);
    if (l->sums_s > 0)
        ll_say(why, "gradients of queries are added up in the cache, beside it: %.10g + %.10g = %.10g s",
               l->compute_s - l->sums_s, l->sums_s, l->compute_s);
}

static void explain_decode(const struct call *c, struct ll_explain *why)
{
    const struct loops *l = &c->loops;
    double n = l->blocks.count, one_s = l->block_s + l->step_s, units = c->device.units;
    ll_say(why, "%.10g blocks, keys of each sequence and head in %.10g parts", n, l->splits);
    ll_say(why, "a block, and its keys at the bandwidth of a unit: %.10g + %.10g = %.10g s", l->block_s,
           l->step_s, one_s);
    ll_say(why, "blocks on units: max(%.10g, %.10g / %.10g * %.10g + %.10g * %.10g) = %.10g s", one_s, n,
           units, one_s, n > units ? 0.5 : 0.0, one_s, l->compute_s);
}

static void explain_latent(const struct call *c, struct ll_explain *why)
{
    const struct loops *l = &c->loops;
    double n = l->blocks.count, one_s = l->block_s + l->blocks.longest * l->step_s, units = c->device.units;
    ll_say(why, "%.10g blocks of %" PRIu64 " heads, keys of each sequence in %.10g parts", n, l->tile.m,
           l->splits);
    ll_say(why, "a step of %d keys: max(%.10g + %.10g, %.10g) = %.10g s", LATENT_TILE, l->gemm_s,
           l->softmax_s, l->step_s, l->step_s);
    ll_say(why, "a block: %.10g + %.10g * %.10g = %.10g s", l->block_s, l->blocks.longest, l->step_s, one_s);
    ll_say(why,
           "blocks on units: max(%.10g, %.10g * (%.10g / %.10g + 0.5 * (ceil(%.10g / %.10g) - %.10g / "
           "%.10g))) = %.10g s",
           one_s, one_s, n, units, n, units, n, units, l->compute_s);
}

static void explain_beside(const struct call *c, struct ll_explain *why)
{
    const struct loops *l = &c->loops;
    if (l->combine_s > 0)
        ll_say(why,
               c->a->pass == LL_ATTENTION_BACKWARD
                   ? "row sums, zeros and the cast of the queries' gradient: %.10g = %.10g s"
                   : "the parts are combined: %.10g = %.10g s",
               l->combine_s, l->combine_s);
    if (c->write_s > 0)
        ll_say(why, "new keys and values into the cache, %.10g B: %.10g = %.10g s", c->write_bytes,
               c->write_s, c->write_s);
    if (c->cast_s + c->copies_s > 0)
        ll_say(why, "casts and copies: %.10g + %.10g = %.10g s", c->cast_s, c->copies_s,
               c->cast_s + c->copies_s);
}

void ll_attention_explain(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                          struct ll_explain *why)
{
    struct call c;
    if (!solve(machine, kind, work, &c))
        return;
    const struct loops *l = &c.loops;
    ll_explain_group(why, "kernel");
    ll_say(why, "%s runs on %s, computed in %s", c.kernel->name, machine->units[c.device.unit].name,
           c.narrow ? "f8" : ll_dtype_name((enum ll_dtype)work->dtype));
    ll_explain_group(why, "compute");
    if (c.kernel->pass == LL_ATTENTION_DECODE)
        explain_decode(&c, why);
    else if (c.kernel->pass == LL_ATTENTION_LATENT_DECODE)
        explain_latent(&c, why);
    else
        explain_blocks(&c, why);
    ll_explain_group(why, machine->levels[machine->level_count - 1].name);
    if (l->read_again_s > 0)
        ll_say(why, "keys that several blocks read, out of the cache: %.10g = %.10g s", l->read_again_s,
               l->read_again_s);
    ll_say(why, "%s: %.10g / %.10g = %.10g s", machine->levels[machine->level_count - 1].name, l->bytes,
           l->dram_Bps, l->bytes / l->dram_Bps);
    ll_explain_group(why, "overlap");
    explain_beside(&c, why);
}
