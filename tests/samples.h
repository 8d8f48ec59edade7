/* SPDX-License-Identifier: Apache-2.0 */
/* Random machines and works for tests, the same for the same seed: all values within the bounds of the
 * machine schema, and small enough that a brute force twin can follow. */
#ifndef LL_TESTS_SAMPLES_H
#define LL_TESTS_SAMPLES_H

#include "random.h"

#include <math.h>

#include "sim/machine/dram.h"
#include "sim/machine/machine.h"

struct dice {
    uint64_t state; /* of ll_random: the seed at first */
};

/* From low to high, both included. */
static inline uint64_t roll_between(struct dice *dice, uint64_t low, uint64_t high)
{
    return low + ll_random(&dice->state) % (high - low + 1);
}

/* About as often small as large: uniform in the logarithm. */
static inline uint64_t roll_size(struct dice *dice, uint64_t high)
{
    uint64_t scale = high;
    for (uint64_t halvings = roll_between(dice, 0, 20); halvings && scale > 1; halvings--)
        scale /= 2;
    return roll_between(dice, 1, scale);
}

static inline double roll_real(struct dice *dice, double low, double high)
{
    return low + (high - low) * ((double)(ll_random(&dice->state) >> 11) * 0x1p-53);
}

static inline void random_rates(struct dice *dice, double *rates)
{
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        rates[i] = (double)roll_between(dice, 1, 8) / 2;
}

static inline void random_systolic(struct dice *dice, struct ll_unit *unit)
{
    unit->systolic = (struct ll_systolic){
        .rows = roll_size(dice, 256),
        .cols = roll_size(dice, 256),
        .dataflow = (enum ll_dataflow)roll_between(dice, 0, 2),
        .overlap_folds = roll_between(dice, 0, 1),
    };
    unit->systolic.accumulators = roll_between(dice, 0, 1) ? roll_size(dice, 4096) : 0;
    random_rates(dice, unit->systolic.macs);
}

static inline void random_matrix(struct dice *dice, struct ll_unit *unit)
{
    unit->matrix = (struct ll_matrix){.tile_count = roll_between(dice, 0, 6),
                                      .fill_cycles = (double)roll_between(dice, 0, 500),
                                      .feed = roll_between(dice, 0, 1) ? (double)roll_size(dice, 256) : 0,
                                      .split_k_reduce_cycles = (double)roll_between(dice, 0, 5000)};
    random_rates(dice, unit->matrix.macs);
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        unit->matrix.macs[i] *= 64;
    for (uint64_t i = 0; i < unit->matrix.tile_count; i++)
        unit->matrix.tiles[i] =
            (struct ll_tile){roll_size(dice, 256), roll_size(dice, 256), roll_size(dice, 64)};
}

static inline void random_spatial(struct dice *dice, struct ll_unit *unit)
{
    struct ll_spatial *spatial = &unit->spatial;
    *spatial = (struct ll_spatial){.unroll_count = roll_between(dice, 1, 4),
                                   .dataflow = (enum ll_dataflow)roll_between(dice, 0, 2),
                                   .fill_cycles = (double)roll_between(dice, 0, 100)};
    for (uint64_t i = 0; i < spatial->unroll_count; i++) {
        uint64_t all = 1;
        for (int l = 0; l < LL_LOOP_COUNT; l++) {
            all *= spatial->unrolls[i].by[l] = (uint32_t)(roll_between(dice, 0, 2) ? 1 : roll_size(dice, 32));
            spatial->unrolls[i].each[l] = (uint32_t)(roll_between(dice, 0, 3) ? 1 : roll_size(dice, 32));
        }
        spatial->elements = all > spatial->elements ? all : spatial->elements;
    }
    spatial->accumulators = roll_between(dice, 0, 1) ? roll_size(dice, 1 << 16) : 0;
    random_rates(dice, spatial->macs);
}

static inline void random_conv_core(struct dice *dice, struct ll_unit *unit)
{
    unit->conv_core = (struct ll_conv_core){.channels = roll_size(dice, 128),
                                            .kernels = roll_size(dice, 128),
                                            .packing = (enum ll_packing)roll_between(dice, 0, 2),
                                            .image_channels = roll_size(dice, 16),
                                            .whole_taps = true,
                                            .least_stripe = roll_size(dice, 32),
                                            .stripe = roll_between(dice, 0, 64),
                                            .memory_channels = roll_size(dice, 32),
                                            .image_by_image = roll_between(dice, 0, 1),
                                            .fill_cycles = (double)roll_between(dice, 0, 100)};
    random_rates(dice, unit->conv_core.macs);
}

static inline void random_in_memory(struct dice *dice, struct ll_unit *unit)
{
    struct ll_in_memory *array = &unit->in_memory;
    *array = (struct ll_in_memory){.rows = roll_size(dice, 512),
                                   .columns = 32 + roll_size(dice, 512),
                                   .sets = 1,
                                   .cell_bits = roll_size(dice, 4),
                                   .cells = roll_between(dice, 1, 2),
                                   .dac_bits = roll_size(dice, 8),
                                   .rows_at_once = roll_between(dice, 0, 64),
                                   .columns_per_adc = roll_between(dice, 0, 64),
                                   .converts = (enum ll_converting)roll_between(dice, 0, 1),
                                   .pipelined = roll_between(dice, 0, 1),
                                   .slice_cycles = (double)roll_between(dice, 1, 10),
                                   .conversion_cycles = (double)roll_between(dice, 0, 4),
                                   .write_cycles = (double)roll_between(dice, 0, 20),
                                   .cell_j = roll_real(dice, 0, 1e-14),
                                   .convert_j = roll_real(dice, 0, 1e-12),
                                   .write_j = roll_real(dice, 0, 1e-13)};
    for (int i = 0; i < LL_DTYPE_COUNT; i++) {
        array->weight_bits[i] = (double)roll_between(dice, 1, 16);
        double weights = ll_in_memory_steps(array, (enum ll_dtype)i, 1, 1).weights;
        array->macs[i] = (double)array->rows * weights /
                         ll_in_memory_steps(array, (enum ll_dtype)i, (double)array->rows, weights).cycles;
    }
}

static inline void random_vector(struct dice *dice, struct ll_unit *unit)
{
    unit->vector.lanes = roll_size(dice, 512);
    random_rates(dice, unit->vector.flops);
    if (roll_between(dice, 0, 1))
        random_rates(dice, unit->vector.casts);
    unit->vector.specials = roll_between(dice, 0, 1) ? roll_real(dice, 0.01, 2) : 0;
}

/* A unit for products, of one model or another. */
static inline void random_products(struct dice *dice, struct ll_unit *unit)
{
    static const enum ll_unit_kind models[] = {LL_UNIT_SYSTOLIC, LL_UNIT_MATRIX, LL_UNIT_SPATIAL,
                                               LL_UNIT_CONV_CORE, LL_UNIT_IN_MEMORY};
    static void (*const fill[])(struct dice *, struct ll_unit *) = {
        random_systolic, random_matrix, random_spatial, random_conv_core, random_in_memory};
    uint64_t which = roll_between(dice, 0, 4);
    unit->model = models[which];
    fill[which](dice, unit);
}

/* Its multiply-accumulates per cycle, by dtype. */
static inline double *macs_of(struct ll_unit *unit)
{
    return unit->model == LL_UNIT_SYSTOLIC    ? unit->systolic.macs
           : unit->model == LL_UNIT_MATRIX    ? unit->matrix.macs
           : unit->model == LL_UNIT_CONV_CORE ? unit->conv_core.macs
           : unit->model == LL_UNIT_IN_MEMORY ? unit->in_memory.macs
                                              : unit->spatial.macs;
}

/* Some kind of dynamic memory, or accesses of some size, or neither. */
static inline void random_dram(struct dice *dice, struct ll_level *level)
{
    size_t count;
    const struct ll_dram *presets = ll_dram_presets(&count);
    if (roll_between(dice, 0, 1))
        level->dram = presets[roll_between(dice, 0, count - 1)].name;
    level->channels = level->dram ? roll_size(dice, 256) : 0;
    level->access_bytes = roll_between(dice, 0, 1) ? roll_size(dice, 4096) : 0;
}

/* Clusters between units and the device, ports, single buffers, operands that pass by; the outermost level
 * holds everything. */
static inline void random_memory(struct dice *dice, struct ll_machine *machine, uint64_t private_levels)
{
    uint64_t clusters = roll_between(dice, 0, private_levels), share = 1;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct ll_level *level = &machine->levels[l];
        if (l >= private_levels - clusters && l < private_levels) {
            level->scope = LL_SCOPE_CLUSTER;
            level->share = share *= roll_size(dice, 8);
        }
        if (!roll_between(dice, 0, 3))
            level->read_Bps = roll_real(dice, 1e9, 4e12);
        if (!roll_between(dice, 0, 3))
            level->write_Bps = roll_real(dice, 1e9, 4e12);
        if (level->read_Bps == 0 && level->write_Bps == 0 && !roll_between(dice, 0, 3))
            level->unit_Bps = roll_real(dice, 1e9, 4e11);
        level->numa_given =
            level->scope == LL_SCOPE_DEVICE && !ll_level_has_ports(level) && !roll_between(dice, 0, 3);
        if (level->numa_given)
            level->numa = (struct ll_numa){roll_between(dice, 2, 8), roll_real(dice, 1e8, 1e11),
                                           roll_real(dice, 0, 1e-7)};
        level->buffering = roll_between(dice, 0, 3) ? LL_BUFFER_DOUBLE : LL_BUFFER_SINGLE;
        level->holds_given = l + 1 < machine->level_count && !roll_between(dice, 0, 2);
        for (int i = 0; level->holds_given && i < LL_OPERAND_COUNT; i++)
            level->holds[i] = roll_between(dice, 0, 1);
        level->holds[roll_between(dice, 0, LL_OPERAND_COUNT - 1)] = true;
    }
}

/* Some of the levels are caches whose misses are waited for in turn. */
static inline void random_turns(struct dice *dice, struct ll_machine *machine)
{
    bool any = machine->software.mapping == LL_MAPPED_CLOSED_FORM && !roll_between(dice, 0, 2);
    for (uint64_t l = 0; any && l + 1 < machine->level_count; l++) {
        struct ll_level *level = &machine->levels[l];
        level->cache_given = roll_between(dice, 0, 1);
        level->cache = (struct ll_cache_level){.non_overlapping = roll_between(dice, 0, 3)};
    }
}

/* Software that brings tiles in an order of its own, and keeps tiles of its own in the innermost level:
 * given to one further out, a larger one can make more tiles further in (sim/cost/cost_parts.h). */
static inline void random_tiles(struct dice *dice, struct ll_machine *machine)
{
    static const char *const orders[] = {"mnk", "mkn", "nmk", "nkm", "kmn", "knm"};
    for (enum ll_scope scope = LL_SCOPE_DEVICE; scope <= LL_SCOPE_UNIT; scope++) {
        struct ll_levels levels = ll_nested_levels(machine, scope);
        for (uint64_t l = levels.first; l < levels.end; l++) {
            struct ll_level *inside = &machine->levels[l - 1];
            if (l == levels.first && roll_between(dice, 0, 3) == 0)
                inside->tile =
                    (struct ll_tile){roll_size(dice, 1000), roll_size(dice, 1000), roll_size(dice, 1000)};
            if (roll_between(dice, 0, 3) == 0)
                inside->loops = orders[roll_between(dice, 0, 5)];
        }
    }
}

/* A search is complete where no memory is tiny. */
static inline bool can_search(const struct ll_machine *machine)
{
    return machine->levels[0].size_bytes >= 1024;
}

/* Two units, a product unit and vector lanes that take the rest, and one to four levels. */
static inline struct ll_machine random_machine(struct dice *dice)
{
    static const char *const names[] = {"l0", "l1", "l2", "l3"};
    struct ll_machine machine = {.name = "random", .unit_count = 2, .clock_hz = 1e9};
    for (uint64_t i = 0; i < machine.unit_count; i++) {
        struct ll_unit *unit = &machine.units[i];
        unit->name = i ? "lanes" : "products";
        unit->model = LL_UNIT_VECTOR;
        unit->count = roll_size(dice, 128);
        unit->clock_hz = roll_real(dice, 1e8, 3e9);
        unit->efficiency = roll_real(dice, 0.3, 1);
        unit->sum_bytes = roll_between(dice, 0, 3) ? 0 : roll_between(dice, 1, 8);
    }
    random_products(dice, &machine.units[0]);
    random_vector(dice, &machine.units[1]);
    machine.level_count = roll_between(dice, 1, 4);
    uint64_t private_levels = roll_between(dice, 0, machine.level_count - 1);
    for (uint64_t l = 0; l < machine.level_count; l++)
        machine.levels[l] = (struct ll_level){
            .name = names[l],
            .size_bytes = roll_size(dice, UINT64_C(1) << (14 + 4 * l)),
            .bandwidth_Bps = roll_real(dice, 1e9, 4e12),
            .efficiency = roll_real(dice, 0.3, 1),
            .latency_s = roll_between(dice, 0, 1) ? roll_real(dice, 0, 1e-6) : 0,
            .scope = l < private_levels ? LL_SCOPE_UNIT : LL_SCOPE_DEVICE,
        };
    random_dram(dice, &machine.levels[machine.level_count - 1]);
    if (roll_between(dice, 0, 1))
        random_memory(dice, &machine, private_levels);
    machine.software.op_overhead_s = roll_real(dice, 0, 1e-5);
    machine.software.grain = roll_between(dice, 0, 1) ? (double)roll_size(dice, 1 << 20) : 0;
    machine.host =
        (struct ll_host){.bandwidth_Bps = roll_real(dice, 1e9, 1e11), .latency_s = roll_real(dice, 0, 1e-5)};
    if (roll_between(dice, 0, 1))
        machine.energy = (struct ll_energy){.mac_j[LL_F32] = roll_real(dice, 1e-13, 1e-10),
                                            .off_chip_j_per_byte = roll_real(dice, 1e-12, 1e-10),
                                            .power_per_clock = roll_real(dice, 1, 3)};
    if (machine.energy.mac_j[LL_F32] > 0) { /* small units, some of which are short of power */
        machine.energy.limit_w = pow(10, roll_real(dice, -4, 1));
        machine.energy.static_w = machine.energy.limit_w * roll_real(dice, 0, 0.9);
        for (uint64_t l = 0; l + 1 < machine.level_count; l++)
            machine.energy.level_j_per_byte[l] = roll_real(dice, 1e-13, 1e-11);
    }
    if (roll_between(dice, 0, 2) == 0 && can_search(&machine))
        machine.software.mapping = LL_MAPPED_SEARCH;
    if (machine.software.mapping == LL_MAPPED_SEARCH)
        random_tiles(dice, &machine);
    return machine;
}

/* Kernels that fall short, and other ways to convolve. */
static inline void random_software(struct dice *dice, struct ll_machine *machine)
{
    struct ll_software *software = &machine->software;
    software->kernel_count = roll_between(dice, 0, 1);
    software->kernels[0] = (struct ll_kernel){.name = "kernel",
                                              .ops = {[LL_OP_MATMUL] = true},
                                              .launch_overhead_s = roll_real(dice, 0, 1e-5),
                                              .launch_overlap = roll_real(dice, 0, 1),
                                              .compute_efficiency = roll_real(dice, 0.03, 1),
                                              .bandwidth_efficiency = roll_real(dice, 0.3, 1),
                                              .serial = roll_between(dice, 0, 1) ? roll_real(dice, 0, 1) : 0,
                                              .passes = roll_real(dice, 1, 4),
                                              .rows_in_flight = roll_between(dice, 0, 4),
                                              .max_register_row = roll_size(dice, 1000),
                                              .max_units = roll_between(dice, 0, 20)};
    static const struct ll_shape_ratio shapes[] = {{{64, 64, 64}, 0.5, 0.2}, {{1, 4096, 4096}, 3, 0.7}};
    machine->overlay_count = software->kernel_count;
    machine->overlays[0] = (struct ll_overlay){"kernel", shapes, roll_between(dice, 0, 2)};
    software->mapping =
        roll_between(dice, 0, 9) || !can_search(machine) ? LL_MAPPED_CLOSED_FORM : LL_MAPPED_SEARCH;
    software->strided = (enum ll_strided)roll_between(dice, LL_STRIDED_EXACT, LL_STRIDED_PHASES);
    software->convolving = roll_between(dice, 0, 3) ? LL_CONVOLVING_DIRECT : LL_CONVOLVING_COLUMNS;
    software->depthwise_efficiency = roll_between(dice, 0, 1) ? roll_real(dice, 0.05, 1) : 0;
    software->group_block = roll_between(dice, 0, 1) ? roll_between(dice, 1, 256) : 0;
    software->transform_count = roll_between(dice, 0, 2);
    for (uint64_t i = 0; i < software->transform_count; i++) {
        struct ll_transform *transform = &software->transforms[i];
        *transform = (struct ll_transform){.name = "transform",
                                           .size = roll_between(dice, 3, 12),
                                           .least_filter = 1,
                                           .most_filter = roll_between(dice, 1, 12),
                                           .products = roll_between(dice, 1, 2),
                                           .fused = roll_between(dice, 0, 1),
                                           .only_filter_gradients = !roll_between(dice, 0, 3),
                                           .overhead_s = roll_real(dice, 0, 1e-5)};
        for (unsigned d = 0; d < LL_DTYPE_COUNT; d++)
            transform->rate[d] = roll_between(dice, 0, 3) ? roll_real(dice, 0.3, 1) : 0;
    }
}

static inline struct ll_work gemm_work(enum ll_dtype dtype, uint64_t batch, uint64_t m, uint64_t n,
                                       uint64_t k)
{
    uint64_t size = ll_dtype_bytes(dtype);
    return (struct ll_work){.kind = LL_WORK_GEMM,
                            .dtype = dtype,
                            .flops = 2 * batch * m * n * k,
                            .a_bytes = batch * m * k * size,
                            .b_bytes = batch * k * n * size,
                            .c_bytes = batch * m * n * size,
                            .gemm = {batch, m, n, k}};
}

/* A pass of a convolution without padding over square images and kernels. */
static inline struct ll_work conv_work(enum ll_dtype dtype, struct ll_conv conv)
{
    uint64_t size = ll_dtype_bytes(dtype);
    uint64_t x = conv.batch * conv.in_h * conv.in_w * conv.in_c * size;
    uint64_t y = conv.batch * conv.out_h * conv.out_w * conv.out_c * size;
    uint64_t w = conv.kernel_h * conv.kernel_w * (conv.in_c / conv.groups) * conv.out_c * size;
    struct ll_gemm gemm = ll_conv_as_gemm(&conv);
    return (struct ll_work){.kind = LL_WORK_CONV,
                            .dtype = dtype,
                            .flops = 2 * gemm.batch * gemm.m * gemm.n * gemm.k,
                            .a_bytes = conv.pass == LL_CONV_DATA ? y : x,
                            .b_bytes = conv.pass == LL_CONV_FILTER ? y : w,
                            .c_bytes = conv.pass == LL_CONV_FORWARD ? y
                                       : conv.pass == LL_CONV_DATA  ? x
                                                                    : w,
                            .conv = conv};
}

static inline struct ll_work random_conv(struct dice *dice, enum ll_dtype dtype)
{
    uint64_t kernel = roll_between(dice, 1, 5), stride = roll_between(dice, 1, 3), out = roll_size(dice, 32);
    uint64_t in = (out - 1) * stride + kernel,
             groups = roll_between(dice, 0, 3) ? 1 : roll_between(dice, 2, 8);
    return conv_work(dtype, (struct ll_conv){.batch = roll_size(dice, 16),
                                             .in_h = in,
                                             .in_w = in,
                                             .in_c = groups * roll_size(dice, 64),
                                             .out_h = out,
                                             .out_w = out,
                                             .out_c = groups * roll_size(dice, 64),
                                             .kernel_h = kernel,
                                             .kernel_w = kernel,
                                             .stride_h = stride,
                                             .stride_w = stride,
                                             .groups = groups,
                                             .pass = roll_between(dice, 0, 2)});
}

static inline struct ll_work random_work(struct dice *dice)
{
    enum ll_dtype dtype = (enum ll_dtype)roll_between(dice, LL_F32, LL_BF16);
    uint64_t size = ll_dtype_bytes(dtype), elements = roll_size(dice, 1 << 20);
    struct ll_work work = {.dtype = dtype, .a_bytes = elements * size, .c_bytes = elements * size};
    switch (roll_between(dice, 0, 6)) {
    case 0:
        return random_conv(dice, dtype);
    case 1:
        work.kind = LL_WORK_VECTOR;
        work.flops = elements * roll_between(dice, 1, 12);
        work.vector.elements = elements;
        work.vector.row = roll_between(dice, 0, 1) ? roll_size(dice, elements) : 0;
        work.specials = elements * roll_between(dice, 0, 3);
        return work;
    case 2:
        work.kind = LL_WORK_REDUCE;
        work.flops = elements;
        work.reduce.in_elements = elements;
        work.reduce.out_elements = roll_size(dice, elements);
        work.c_bytes = work.reduce.out_elements * size;
        return work;
    case 3:
        work.kind = roll_between(dice, 0, 1) ? LL_WORK_MOVE : LL_WORK_GATHER;
        if (work.kind == LL_WORK_GATHER) {
            uint64_t row = roll_size(dice, elements);
            work.gather.rows = elements / row;
            work.gather.row_bytes = row * size;
            work.gather.table_bytes = roll_between(dice, 0, 1) ? row * size * roll_size(dice, 1024) : 0;
        }
        return work;
    case 4:
        work = gemm_work(dtype, 1, roll_size(dice, 256), roll_size(dice, 1024), roll_size(dice, 1024));
        work.kind = LL_WORK_SEQUENCE;
        struct ll_gemm step = work.gemm;
        work.sequence.steps = roll_size(dice, 64);
        work.sequence.step = step;
        work.flops = work.sequence.steps * (work.flops + roll_between(dice, 0, 30) * step.m * step.n);
        work.specials = work.sequence.steps * roll_between(dice, 0, 10) * step.m * step.n;
        work.a_bytes *= work.sequence.steps;
        work.c_bytes *= work.sequence.steps;
        return work;
    default:
        work = gemm_work(dtype, roll_size(dice, 32), roll_size(dice, 2048), roll_size(dice, 2048),
                         roll_size(dice, 2048));
        work.between =
            roll_between(dice, 0, 3) ? 0 : 6 * work.gemm.batch * work.gemm.m * work.gemm.n; /* a softmax */
        work.specials = work.between / 6;
        return work;
    }
}

#endif
