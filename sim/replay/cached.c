/* SPDX-License-Identifier: Apache-2.0 */
/* One op's loops, element by element, through the simulated caches and DRAM of a machine
 * (sim/memory/cache.h).
 *
 * The blocks are those that the cost model found; the result stands beside the traffic that the model
 * expects. */
#include "sim/replay/cached.h"

#include "sim/cost/cost_parts.h"

#include <assert.h>
#include <math.h>

enum { ROOM = 4096 };

/* The order of the loops over blocks: the operand that stays first, what streams past it last. */
static enum ll_nest_order order_of(enum ll_operand stays)
{
    static const enum ll_nest_order orders[] = {LL_ORDER_MKN, LL_ORDER_KNM, LL_ORDER_MNK};
    return orders[stays];
}

static struct ll_nest product_of(const struct ll_op_view *op, const struct ll_work *work,
                                 const struct ll_tiling *tiling)
{
    static const enum ll_nest_order inside[] = {LL_ORDER_MKN, LL_ORDER_NKM, LL_ORDER_MNK};
    const struct ll_gemm *block = &tiling->block;
    return ll_nest_product(&(struct ll_product){
        .dims = work->gemm,
        .element_bytes = {ll_dtype_bytes((enum ll_dtype)op->in[0].dtype),
                          ll_dtype_bytes((enum ll_dtype)op->in[1].dtype),
                          ll_dtype_bytes((enum ll_dtype)op->out[0].dtype)},
        .transpose_a = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0) != 0,
        .transpose_b = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0) != 0,
        .blocks = {{block->m, block->n, block->k, order_of(tiling->stays)}},
        .block_count = 1,
        .order = inside[tiling->stays],
    });
}

/* Which dimensions of the pass's GEMM are pixels, output and input channels, which operands are image,
 * filter and result, and the order of its loops by what stays. */
struct pass_words {
    size_t pixels, out_c, in_c;
    size_t image, filter, result; /* inputs 0 and 1, output 2 */
    enum ll_nest_order orders[LL_OPERAND_COUNT];
};
static const struct pass_words passes[] = {
    [LL_CONV_FORWARD] = {0, 1, 2, 0, 1, 2, {LL_ORDER_MKN, LL_ORDER_KNM, LL_ORDER_MNK}},
    [LL_CONV_DATA] = {0, 2, 1, 2, 1, 0, {LL_ORDER_MNK, LL_ORDER_NKM, LL_ORDER_MKN}},
    [LL_CONV_FILTER] = {2, 1, 0, 0, 2, 1, {LL_ORDER_KMN, LL_ORDER_MNK, LL_ORDER_KNM}},
};

static uint64_t at_least_one(uint64_t count)
{
    return count ? count : 1;
}

/* A block of pixels is some images, or some rows of one, or a piece of a row. */
static struct ll_nest convolution_of(const struct ll_op_view *op, const struct ll_work *work,
                                     const struct ll_tiling *tiling)
{
    const struct ll_conv *d = &work->conv;
    const struct pass_words *words = &passes[d->pass];
    const uint64_t sides[] = {tiling->block.m, tiling->block.n, tiling->block.k};
    uint64_t pixels = sides[words->pixels], row = d->out_w, image = d->out_h * row;
    const enum ll_dtype types[] = {(enum ll_dtype)op->in[0].dtype, (enum ll_dtype)op->in[1].dtype,
                                   (enum ll_dtype)op->out[0].dtype};
    return ll_nest_convolution(&(struct ll_nest_conv){
        .dims = *d,
        .element_bytes = {ll_dtype_bytes(types[words->image]), ll_dtype_bytes(types[words->filter]),
                          ll_dtype_bytes(types[words->result])},
        .images = at_least_one(pixels / image),
        .rows = pixels >= image ? d->out_h : at_least_one(pixels / row),
        .columns = pixels >= row ? row : pixels,
        .out_c = sides[words->out_c],
        .in_c = at_least_one(sides[words->in_c] / (d->kernel_h * d->kernel_w)),
        .order = words->orders[tiling->stays],
    });
}

/* A gather has rows of its table, as long as the rows it writes. */
static struct ll_nest gather_of(const struct ll_op_view *op, const struct ll_work *work)
{
    uint64_t element = ll_dtype_bytes((enum ll_dtype)op->in[0].dtype);
    uint64_t row = at_least_one(work->gather.row_bytes / element);
    return ll_nest_gather(at_least_one(ll_elements(&op->in[0]) / row), row, element,
                          ll_dtype_bytes((enum ll_dtype)op->in[1].dtype), work->gather.rows);
}

/* All that is read beside all that is written. */
static struct ll_nest sweep_of(const struct ll_work *work)
{
    uint64_t element = ll_dtype_bytes((enum ll_dtype)work->dtype);
    const struct ll_nest_operand operands[] = {
        {ll_ceil_div(work->a_bytes + work->b_bytes, element), element, false},
        {ll_ceil_div(work->c_bytes, element), element, true}};
    return ll_nest_sweep(operands, 2);
}

struct ll_nest ll_nest_of_op(const struct ll_op_view *op, const struct ll_work *work,
                             const struct ll_tiling *tiling)
{
    const struct ll_work gemm = ll_work_as_gemm(work);
    if (gemm.kind == LL_WORK_GEMM)
        return product_of(op, &gemm, tiling);
    if (work->kind == LL_WORK_CONV)
        return convolution_of(op, work, tiling);
    return work->kind == LL_WORK_GATHER && work->gather.rows ? gather_of(op, work) : sweep_of(work);
}

/* The machine's caches; which of them the op is blocked for. */
static void find_caches(const struct ll_machine *machine, uint64_t blocked_for, struct ll_cached_op *cached)
{
    for (uint64_t i = 0; i < machine->level_count; i++) {
        if (!machine->levels[i].cache_given)
            continue;
        if (i == blocked_for)
            cached->blocked_for = cached->level_count;
        cached->levels[cached->level_count++] =
            (struct ll_cached_level){.level = i, .shape = ll_machine_cache(&machine->levels[i])};
    }
}

bool ll_has_loops(const struct ll_prepared *prepared, uint32_t seq)
{
    assert(seq < prepared->trace->op_count);
    const struct ll_work *work = &prepared->works[prepared->trace->ops[seq].signature];
    bool product = ll_is_gemm(work) && work->kind != LL_WORK_SEQUENCE;
    bool elsewhere = work->kind == LL_WORK_NOTHING || work->kind == LL_WORK_HOST ||
                     work->kind == LL_WORK_WAIT || work->kind == LL_WORK_SWAP ||
                     work->kind == LL_WORK_COLLECTIVE;
    return !elsewhere && ll_work_bytes(work) > 0 && (!product || work->flops > 0);
}

static bool are_whole(const struct ll_shape *shapes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ll_dtype_bits((enum ll_dtype)shapes[i].dtype) % 8 != 0)
            return false;
    return true;
}

bool ll_has_whole_bytes(const struct ll_prepared *prepared, uint32_t seq)
{
    assert(seq < prepared->trace->op_count);
    const struct ll_trace *trace = prepared->trace;
    const struct ll_op_view *op = &trace->signatures[trace->ops[seq].signature].view;
    return are_whole(op->in, op->input_count) && are_whole(op->out, op->output_count);
}

/* The side of a block along which a or b streams past what stays. */
static uint64_t *streamed_side(struct ll_gemm *block, enum ll_operand stays)
{
    return stays == LL_OPERAND_C ? &block->k : &block->n;
}

/* The formula streams one element at a time past the block; a cache had better get whole lines where elements
 * lie side by side: along n, and along k of the left operand, or the channels of an image with all taps of a
 * window. As many of them, up to a line, as there is room for beside the block: LRU keeps what streams along
 * the inner side of a block twice, the old and the new. */
static void stream_lines(const struct ll_task *task, const struct ll_level *level, struct ll_tiling *tiling)
{
    const struct ll_conv *conv = task->work->kind == LL_WORK_CONV ? &task->work->conv : NULL;
    bool output = tiling->stays == LL_OPERAND_C;
    uint64_t *streamed = streamed_side(&tiling->block, tiling->stays);
    uint64_t outer = tiling->block.m, inner = output ? tiling->block.n : tiling->block.k;
    uint64_t element = ll_dtype_bytes((enum ll_dtype)task->work->dtype);
    uint64_t taps = conv && conv->pass != LL_CONV_FILTER ? conv->kernel_h * conv->kernel_w : 1;
    double room = (double)level->size_bytes / (double)element - (double)outer * (double)inner;
    double most = room / ((double)outer + 2 * (double)inner),
           line = (double)(level->cache.line_bytes / element);
    if (tiling->stays == LL_OPERAND_B || most < (double)taps)
        return;
    uint64_t whole = (uint64_t)fmin(most / (double)taps, line) * taps;
    *streamed = ll_min(output ? task->problem.dims.k : task->problem.dims.n, ll_max(*streamed, whole));
}

/* Bytes of the lines that `runs` pieces of a matrix touch, each of `elements` side by side that begin
 * anywhere in a line. */
static double touched(double runs, double elements, double element_bytes, double line_bytes)
{
    return runs * ((elements - 1) * element_bytes + line_bytes);
}

/* What must fit for the block to stay while so many elements stream past at a time. */
static double needed(const struct ll_op_view *op, const struct ll_gemm *block, double element, double line)
{
    double m = (double)block->m, n = (double)block->n, k = (double)block->k;
    bool turned_a = ll_attr_count(op, LL_ATTR_TRANSPOSE_A, 0),
         turned_b = ll_attr_count(op, LL_ATTR_TRANSPOSE_B, 0);
    double a = turned_a ? touched(k, m, element, line) : touched(m, k, element, line);
    double b = turned_b ? touched(n, k, element, line) : touched(k, n, element, line);
    return a + 2 * b + touched(m, n, element, line);
}

/* Where all lines are of one set, LRU keeps the block if few enough elements stream past at a time. In sets
 * of few ways some of its lines give way to others in each pass, as they do where nothing is few enough: then
 * as few passes as possible are best. */
static void let_stay(const struct ll_op_view *op, const struct ll_task *task, const struct ll_level *level,
                     uint64_t least, struct ll_tiling *tiling)
{
    const struct ll_cache_level shape = ll_machine_cache(level);
    struct ll_gemm block = tiling->block;
    uint64_t *streamed = streamed_side(&block, tiling->stays);
    double element = (double)ll_dtype_bytes((enum ll_dtype)task->work->dtype);
    if (task->work->kind != LL_WORK_GEMM || shape.sets > 1 || shape.policy != LL_CACHE_LRU ||
        tiling->stays == LL_OPERAND_B)
        return;
    while (*streamed > least &&
           needed(op, &block, element, (double)shape.line_bytes) > (double)level->size_bytes)
        --*streamed;
    if (needed(op, &block, element, (double)shape.line_bytes) <= (double)level->size_bytes)
        tiling->block = block;
}

/* What the formulas say of this op with the room of this level, and the blocks to run. */
static void ask_formula(const struct ll_op_view *op, const struct ll_work *work, const struct ll_level *level,
                        struct ll_cached_op *cached)
{
    const struct ll_work gemm = ll_work_as_gemm(work);
    struct ll_task task = ll_task_of(&gemm, (enum ll_dtype)work->dtype);
    cached->blocked = task.is_gemm;
    cached->formula_bytes = ll_work_bytes(work);
    if (!task.is_gemm)
        return;
    cached->tiling = ll_tile(&task.problem, ll_level_room(level));
    cached->formula_bytes = cached->tiling.bytes;
    const uint64_t least = *streamed_side(&cached->tiling.block, cached->tiling.stays);
    stream_lines(&task, level, &cached->tiling);
    let_stay(op, &task, level, least, &cached->tiling);
}

/* What the memory outside of the caches hears. */
struct asked {
    const struct ll_cached_request *request;
    uint64_t element_bytes; /* of single writes */
    struct ll_dram_timed *timed;
    struct ll_cached_memory *memory;
};

static void ask_memory(void *context, uint64_t address, uint64_t bytes, bool write)
{
    struct asked *asked = context;
    bytes = bytes ? bytes : asked->element_bytes;
    *(write ? &asked->memory->written_bytes : &asked->memory->read_bytes) += bytes;
    if (asked->timed)
        ll_dram_timed_access(asked->timed, address, bytes, write);
    if (asked->request->listener)
        asked->request->listener(asked->request->listener_context, address, bytes, write);
}

static void feed(struct ll_cache *cache, const struct ll_nest *nest, const struct ll_cached_request *request,
                 struct ll_cached_op *cached)
{
    struct ll_stream stream;
    uint64_t accesses[ROOM];
    size_t count;
    bool goes_on = true;
    ll_stream_begin(&stream, nest);
    while ((count = ll_stream_fill(&stream, accesses, ROOM)) && goes_on && cached->accesses < request->most) {
        count = ll_min(count, request->most - cached->accesses);
        ll_cache_run(cache, accesses, count);
        cached->accesses += count;
        goes_on = !request->progress || request->progress(request->progress_context, cached->accesses);
    }
    cached->whole = count == 0;
    if (cached->whole)
        ll_cache_flush(cache);
}

static void collect(const struct ll_cache *cache, uint64_t element_bytes, struct ll_cached_op *cached)
{
    for (size_t i = 0; i < cached->level_count; i++) {
        struct ll_cached_level *level = &cached->levels[i];
        level->counts = ll_cache_counts(cache, i);
        level->traffic_bytes =
            level->counts.in_bytes + level->counts.out_bytes + level->counts.passed_writes * element_bytes;
    }
}

/* The level outside of the caches, played where it is dynamic. False when memory ran out. */
static bool find_memory(const struct ll_machine *machine, struct ll_cached_op *cached, struct asked *asked)
{
    struct ll_cached_memory *memory = asked->memory;
    memory->level = cached->levels[cached->level_count - 1].level + 1;
    const struct ll_level *level = &machine->levels[memory->level];
    memory->is_timed = level->dram && level->channels <= LL_DRAM_MOST_CHANNELS;
    if (memory->is_timed)
        asked->timed = ll_dram_timed_new(ll_dram_find(level->dram), (uint32_t)level->channels, NULL, NULL);
    return asked->timed || !memory->is_timed;
}

static void collect_memory(const struct ll_machine *machine, const struct ll_work *work,
                           const struct asked *asked)
{
    struct ll_cached_memory *memory = asked->memory;
    const struct ll_level *level = &machine->levels[memory->level];
    if (!asked->timed)
        return;
    double peak_Bps = ll_dram_channel_Bps(ll_dram_find(level->dram)) * (double)level->channels;
    ll_dram_timed_finish(asked->timed, &memory->timed);
    memory->efficiency = memory->timed.moved_Bps / peak_Bps;
    memory->formula_efficiency = level->efficiency / ll_gather_slowdown(machine, work, memory->level);
}

bool ll_run_cached(const struct ll_prepared *prepared, const struct ll_machine *machine,
                   const struct ll_cached_request *request, struct ll_cached_op *cached)
{
    assert(request->most > 0 && request->seq < prepared->trace->op_count);
    const struct ll_trace *trace = prepared->trace;
    uint32_t signature = trace->ops[request->seq].signature;
    const struct ll_op_view *op = &trace->signatures[signature].view;
    const struct ll_work *work = &prepared->works[signature];
    struct ll_cache_level shapes[LL_MAX_LEVELS];
    assert(machine->levels[request->level].cache_given && ll_has_loops(prepared, request->seq) &&
           ll_has_whole_bytes(prepared, request->seq));
    *cached = (struct ll_cached_op){0};
    find_caches(machine, request->level, cached);
    for (size_t i = 0; i < cached->level_count; i++)
        shapes[i] = cached->levels[i].shape;
    ask_formula(op, work, &machine->levels[request->level], cached);
    struct ll_nest nest = ll_nest_of_op(op, work, &cached->tiling);
    struct asked asked = {request, ll_dtype_bytes((enum ll_dtype)op->out[0].dtype), NULL, &cached->memory};
    struct ll_arena arena = {0};
    struct ll_cache *cache = ll_cache_new(shapes, cached->level_count, &arena);
    bool ready = cache && find_memory(machine, cached, &asked);
    if (ready) {
        ll_cache_tell(cache, ask_memory, &asked);
        feed(cache, &nest, request, cached);
        collect(cache, asked.element_bytes, cached);
        collect_memory(machine, work, &asked);
    }
    ll_dram_timed_free(asked.timed);
    ll_arena_release(&arena);
    return ready;
}
