/* SPDX-License-Identifier: Apache-2.0 */
/* What single parts of a machine are: caches, edges of a network, the arithmetic of units; then the energy
 * and area of all parts, and the price of a device. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/cache_shape.h"
#include "sim/machine/components.h"
#include "sim/machine/edge.h"
#include "sim/machine/machine.h"
#include "sim/machine/unit.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"
#include "tracer/transform/dtype.h"

#define MOST_LINES (UINT32_MAX / 4) /* slots are counted in 32 bits */
enum { MOST_TREE_WAYS = 64 };       /* a set's tree is one word of 64 bits */

static const char *trouble_alone(const struct ll_cache_level *level)
{
    if (level->sets == 0 || level->ways == 0)
        return "a cache has one set and one way at least";
    if (ll_mul(level->sets, level->ways) > MOST_LINES)
        return "a cache has less than a thousand million lines";
    if (!ll_is_power_of_two(level->line_bytes))
        return "the bytes of a line are a power of two";
    if (level->inclusion != LL_CACHE_NON_INCLUSIVE && ll_cache_admission(level) < 1)
        return "a cache that does not let all lines in is a non-inclusive one";
    if (level->prefetch == LL_PREFETCH_STRIDE && (level->stride_pages == 0 || level->stride_page_bytes == 0))
        return "a prefetcher of strides remembers one page at least";
    if (level->policy == LL_CACHE_PLRU && (!ll_is_power_of_two(level->ways) || level->ways > MOST_TREE_WAYS))
        return "tree-PLRU takes 1, 2, 4, ... 64 ways";
    return NULL;
}

/* Of level i with the one inside it. */
static const char *trouble_of(const struct ll_cache_level *levels, size_t i)
{
    const char *alone = trouble_alone(&levels[i]);
    bool exclusive = levels[i].inclusion == LL_CACHE_EXCLUSIVE;
    if (alone)
        return alone;
    if (i == 0)
        return exclusive ? "the innermost cache excludes nothing: there is none further in" : NULL;
    if (levels[i].line_bytes < levels[i - 1].line_bytes)
        return "a cache's lines are no shorter than those of the one inside";
    if (exclusive && levels[i].line_bytes != levels[i - 1].line_bytes)
        return "an exclusive cache has lines as long as the one inside";
    if (exclusive && levels[i].prefetch != LL_PREFETCH_NONE)
        return "an exclusive cache holds what was evicted: it fetches nothing ahead";
    return NULL;
}

const char *ll_cache_trouble(const struct ll_cache_level *levels, size_t count, size_t *which)
{
    for (size_t i = 0; i < count; i++) {
        const char *trouble = trouble_of(levels, i);
        if (!trouble)
            continue;
        if (which)
            *which = i;
        return trouble;
    }
    return NULL;
}

double ll_cache_admission(const struct ll_cache_level *level)
{
    return level->admission > 0 ? level->admission : 1;
}

/* Of so many ways the law is as good as that of one set; what is so near to all or nothing is taken for
 * it. */
double ll_cache_left(const struct ll_cache_level *level, uint64_t size_bytes, double came)
{
    enum { MOST_WAYS = 256 };
    static const double NEAR = 1e-3;
    if (level->ways == 0 || level->ways > MOST_WAYS || level->ways * level->line_bytes >= size_bytes)
        return came <= 1 ? 1 : 0;
    double others = came * (double)level->ways;
    /* Chernoff's bounds: with W ways and x others the share is at least 1 - exp(-x) (e x / W)^W below W,
     * and at most exp(-x) (e x / W)^W above: nearer than NEAR to 1 from x = W / 4 downwards, and to 0 from
     * 3 W upwards. */
    if (level->ways >= 11 && (came <= 0.25 || came >= 3))
        return came <= 0.25 ? 1 : 0;
    double term = exp(-others), share = term;
    for (uint64_t i = 1; i < level->ways; i++) {
        term *= others / (double)i;
        share += term;
    }
    return share < NEAR ? 0 : share > 1 - NEAR ? 1 : share;
}

const char *ll_cache_policy_name(enum ll_cache_policy policy)
{
    static const char *const names[] = {
#define LL_CACHE_POLICY(word, name, ...) name,
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
    };
    assert(policy < LL_CACHE_POLICY_COUNT);
    return names[policy];
}

static bool parse_device(const char **text, uint64_t *device)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *device = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool parse_links(const char *text, double *links)
{
    char *end;
    size_t length = strspn(text, "0123456789.");
    *links = ll_strtod(text, &end);
    return length > 0 && end == text + length && *end == '\0' && isfinite(*links) && *links > 0;
}

bool ll_edge_parse(const char *text, struct ll_network_edge *edge)
{
    *edge = (struct ll_network_edge){.links = 1};
    if (!parse_device(&text, &edge->from) || (*text != '-' && *text != '>'))
        return false;
    edge->both_ways = *text++ == '-';
    if (!parse_device(&text, &edge->to) || edge->to == edge->from)
        return false;
    return *text == '\0' || (*text == 'x' && parse_links(text + 1, &edge->links));
}

static struct ll_arithmetic arithmetic_SYSTOLIC(const struct ll_unit *unit)
{
    const struct ll_systolic *array = &unit->systolic;
    return (struct ll_arithmetic){(double)array->rows * (double)array->cols, array->macs, 2};
}

static struct ll_arithmetic arithmetic_MATRIX(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){1, unit->matrix.macs, 2};
}

static struct ll_arithmetic arithmetic_SPATIAL(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){(double)unit->spatial.elements, unit->spatial.macs, 2};
}

static struct ll_arithmetic arithmetic_CONV_CORE(const struct ll_unit *unit)
{
    const struct ll_conv_core *core = &unit->conv_core;
    double atom = (double)core->channels * (double)core->kernels;
    return (struct ll_arithmetic){core->multipliers ? (double)core->multipliers : atom, core->macs, 2};
}

static struct ll_arithmetic arithmetic_ARRAY(const struct ll_unit *unit)
{
    double elements = 1;
    for (uint64_t i = 0; i < unit->array.axes.count; i++)
        elements *= (double)unit->array.axes.at[i];
    return (struct ll_arithmetic){elements, unit->array.macs, 2};
}

static struct ll_arithmetic arithmetic_IN_MEMORY(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){1, unit->in_memory.macs, 2};
}

/* Slices of an input come one after the other, each to groups of rows; a converter serves its columns in
 * turn, and of those of a weight each is converted. */
struct ll_in_memory_steps ll_in_memory_steps(const struct ll_in_memory *array, enum ll_dtype dtype,
                                             double rows, double weights)
{
    struct ll_in_memory_steps s = {0};
    double weight_bits = array->weight_bits[dtype], input_bits = array->input_bits[dtype];
    if (weight_bits == 0)
        return s;
    input_bits = input_bits > 0 ? input_bits : weight_bits;
    s.columns_each = ceil(weight_bits / (double)array->cell_bits) * (double)array->cells;
    s.weights = floor((double)array->columns / s.columns_each);
    s.slices = array->dac_bits > 0 ? ceil(input_bits / (double)array->dac_bits) : exp2(input_bits) - 1;
    s.groups = array->rows_at_once > 0 ? ceil(rows / (double)array->rows_at_once) : 1;
    double shared = (double)array->columns_per_adc, columns = weights * s.columns_each,
           turns = shared > 0 ? fmin(shared, columns) : 0;
    double reads = s.groups * (array->converts == LL_CONVERTS_SLICES ? s.slices : 1);
    double summing = s.slices * s.groups * array->slice_cycles,
           converting = reads * turns * array->conversion_cycles;
    s.conversions = shared > 0 ? reads * columns : 0;
    s.cycles = array->pipelined ? fmax(summing, converting) : summing + converting;
    return s;
}

static struct ll_arithmetic arithmetic_VECTOR(const struct ll_unit *unit)
{
    return (struct ll_arithmetic){(double)unit->vector.lanes, unit->vector.flops, 1};
}

struct ll_arithmetic ll_unit_arithmetic(const struct ll_unit *unit)
{
    static struct ll_arithmetic (*const by_model[])(const struct ll_unit *) = {
#define LL_UNIT_MODEL(word, ...) arithmetic_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
    };
    return by_model[unit->model](unit);
}

double ll_unit_flops_per_cycle(const struct ll_unit *unit, enum ll_dtype dtype)
{
    struct ll_arithmetic arithmetic = ll_unit_arithmetic(unit);
    return arithmetic.flops * arithmetic.elements * arithmetic.rates[dtype];
}

/* What an operation and a byte take, and how large the parts of a machine are: from its figures, and where it
 * has none of its own. */

/* The figure of the listed type that is as large or the next larger one, or of the largest; 0 when none is
 * listed. */
static double nearest_j(const double listed_j[LL_DTYPE_COUNT], uint64_t wanted_bits, bool floating_only)
{
    double best_j = 0;
    uint64_t best_bits = UINT64_MAX, largest = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        uint64_t bits = ll_dtype_bits((enum ll_dtype)i);
        bool closer = bits >= wanted_bits ? bits < best_bits : best_bits == UINT64_MAX && bits > largest;
        if (listed_j[i] <= 0 || !closer || (floating_only && !ll_dtype_is_floating((enum ll_dtype)i)))
            continue;
        best_j = listed_j[i];
        largest = ll_max(largest, bits);
        best_bits = bits >= wanted_bits ? bits : best_bits;
    }
    return best_j;
}

/* Of figures of one node on a chip of another; all 1 where nothing is scaled. */
static struct ll_node_scaling scaling(const struct ll_machine *machine)
{
    double figures_nm = machine->energy.figures_nm, node_nm = machine->energy.node_nm;
    return figures_nm > 0 && node_nm > 0 && node_nm != figures_nm ? ll_node_scaling(figures_nm, node_nm)
                                                                  : (struct ll_node_scaling){1, 1, 1, 1};
}

/* A type that the machine leaves out costs what another does. An integer addition costs no more than a
 * floating one of its size, but not the other way round. */
static double of_dtype(const double listed_j[LL_DTYPE_COUNT], enum ll_dtype dtype)
{
    if (listed_j[dtype] > 0)
        return listed_j[dtype];
    bool floating = ll_dtype_is_floating(dtype);
    double nearest = nearest_j(listed_j, ll_dtype_bits(dtype), floating);
    return nearest > 0 ? nearest : nearest_j(listed_j, ll_dtype_bits(dtype), false);
}

double ll_machine_mac_j(const struct ll_machine *machine, enum ll_dtype dtype)
{
    return of_dtype(machine->energy.mac_j, dtype) * scaling(machine).logic;
}

double ll_machine_compute_j(const struct ll_machine *machine, const struct ll_work *work, enum ll_dtype dtype)
{
    const struct ll_energy *energy = &machine->energy;
    double op_j = of_dtype(energy->op_j, dtype) * scaling(machine).logic,
           of_mac_j = ll_machine_mac_j(machine, dtype) / 2;
    double lanes_j = op_j > 0 ? op_j : of_mac_j;
    const struct ll_work gemm = ll_work_as_gemm(work);
    return (double)work->flops * (ll_is_gemm(work) ? of_mac_j : lanes_j) + (double)gemm.between * lanes_j;
}

/* A byte of a memory on the chip. A larger one has longer lines, as long as it is not cut into banks: read
 * energies of CACTI 7 grow with the square root of the size; cells of more ports have longer ones, too. */
static double on_chip_byte_j(const struct ll_machine *machine, double size_bytes,
                             const struct ll_accesses *accesses, double bank_bytes)
{
    double lines_bytes = bank_bytes > 0 ? fmin(size_bytes, bank_bytes) : size_bytes;
    return machine->energy.on_chip_j_per_byte * scaling(machine).memory *
           sqrt(lines_bytes / 1024 * ll_memory_port_growth((double)accesses->cell_ports));
}

/* A figure of the level's own comes first, then that of reading once; off the chip one for all, then what is
 * published of its kind of DRAM. */
double ll_machine_level_j(const struct ll_machine *machine, uint64_t l)
{
    const struct ll_energy *energy = &machine->energy;
    const struct ll_level *level = &machine->levels[l];
    if (energy->level_j_per_byte[l] > 0)
        return energy->level_j_per_byte[l];
    const struct ll_accesses *accesses = &level->accesses;
    double bits = accesses->width_bits > 0 ? accesses->width_bits : accesses->port[0].width_bits;
    if (accesses->read_j > 0 && bits > 0)
        return 8 * accesses->read_j / bits;
    if (ll_level_is_on_chip(machine, l))
        return on_chip_byte_j(machine, (double)level->size_bytes, accesses,
                              (double)energy->on_chip_bank_bytes);
    if (energy->off_chip_j_per_byte > 0 || !level->dram || !machine->energy_given)
        return energy->off_chip_j_per_byte;
    return ll_dram_stream_j(ll_dram_find(level->dram), level->rest);
}

double ll_machine_register_j(const struct ll_machine *machine, const struct ll_register *r, double width_bits)
{
    const struct ll_energy *energy = &machine->energy;
    double lines = fmax(1, 8 * (double)r->size_bytes / width_bits);
    double compared = r->decode_bits > 0 ? r->decode_bits : log2(lines);
    if (energy->register_j_per_bit > 0)
        return scaling(machine).logic *
               (width_bits * energy->register_j_per_bit + lines * compared * energy->decode_j_per_bit);
    return on_chip_byte_j(machine, (double)r->size_bytes, &r->accesses, 0) * width_bits / 8;
}

/* Node of the chip for formulas that ask it; 0: not said. */
static double node_of(const struct ll_machine *machine)
{
    return machine->energy.node_nm > 0 ? machine->energy.node_nm : machine->energy.figures_nm;
}

/* Elements are square. */
double ll_machine_hop_j(const struct ll_machine *machine, uint64_t u)
{
    const struct ll_unit *unit = &machine->units[u];
    double hop_j = unit->array.hop_j, node_nm = node_of(machine);
    assert(unit->model == LL_UNIT_ARRAY);
    if (hop_j > 0 || node_nm == 0 || !machine->area_given)
        return hop_j;
    double elements = ll_unit_arithmetic(unit).elements * (double)unit->count;
    return ll_wire_j(1e3 * sqrt(ll_machine_unit_area_m2(machine, u) / elements), node_nm);
}

double ll_machine_core_link_j(const struct ll_machine *machine, const struct ll_core_link *link)
{
    double node_nm = node_of(machine);
    if (link->j_per_byte > 0 || link->length_mm == 0 || node_nm == 0)
        return link->j_per_byte;
    return 8 * (ll_wire_j(link->length_mm, node_nm) + ll_router_j(node_nm));
}

/* Conversions a second of one converter: one in conversion_cycles, or in a slice where these are 0. */
static double conversion_rate_hz(const struct ll_unit *unit)
{
    const struct ll_in_memory *array = &unit->in_memory;
    return unit->clock_hz / (array->conversion_cycles > 0 ? array->conversion_cycles : array->slice_cycles);
}

double ll_machine_convert_j(const struct ll_machine *machine, const struct ll_unit *unit)
{
    double node_nm = node_of(machine);
    assert(unit->model == LL_UNIT_IN_MEMORY);
    if (unit->in_memory.convert_j > 0 || unit->in_memory.adc_bits == 0 || node_nm == 0)
        return unit->in_memory.convert_j;
    return ll_adc_conversion_j(unit->in_memory.adc_bits, conversion_rate_hz(unit), node_nm);
}

/* One bit is a wire that is driven, no DAC; so is a pulse. */
double ll_machine_drive_j(const struct ll_machine *machine, const struct ll_unit *unit)
{
    const struct ll_in_memory *array = &unit->in_memory;
    assert(unit->model == LL_UNIT_IN_MEMORY);
    double node_nm = node_of(machine);
    if (array->drive_j > 0 || array->dac_bits < 2 || node_nm == 0)
        return array->drive_j;
    return ll_dac_drive_j((double)array->dac_bits, node_nm);
}

double ll_machine_inside_j(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    int catcher = ll_destination_level(machine, level, operand);
    return catcher == LL_CATCHER_UNIT ? 0 : ll_machine_level_j(machine, (uint64_t)catcher);
}

static double sram_m2_per_byte(const struct ll_machine *machine, const struct ll_accesses *accesses)
{
    return machine->area.sram_m2_per_byte * scaling(machine).memory_area *
           ll_memory_port_growth((double)accesses->cell_ports);
}

/* Registers of all elements of one array. */
static double registers_m2(const struct ll_machine *machine, const struct ll_array_unit *array)
{
    double sum_m2 = 0, node_nm = node_of(machine);
    for (uint64_t i = 0; i < array->register_count; i++) {
        const struct ll_register *r = &array->registers[i];
        double instances = 1;
        for (uint64_t a = 0; a < array->axes.count; a++)
            instances *= r->serves >> a & 1 ? 1 : (double)array->axes.at[a];
        sum_m2 += instances * (double)r->size_bytes *
                  (node_nm > 0 ? 8 * ll_register_m2(node_nm) : sram_m2_per_byte(machine, &r->accesses));
    }
    return sum_m2;
}

/* Cells, as large as those of a memory of their bits, and converters of one array in memory. */
static double in_memory_m2(const struct ll_machine *machine, const struct ll_unit *unit)
{
    const struct ll_in_memory *array = &unit->in_memory;
    double bytes =
        (double)array->rows * (double)array->columns * (double)array->sets * (double)array->cell_bits / 8;
    double converters =
        array->columns_per_adc > 0 ? ceil((double)array->columns / (double)array->columns_per_adc) : 0;
    return bytes * sram_m2_per_byte(machine, &(struct ll_accesses){0}) +
           converters * ll_adc_area_m2(array->adc_bits, conversion_rate_hz(unit), node_of(machine));
}

/* The arithmetic of a unit is as large as its largest type needs: the types share multipliers. */
double ll_machine_unit_area_m2(const struct ll_machine *machine, uint64_t u)
{
    const struct ll_unit *unit = &machine->units[u];
    if (unit->model == LL_UNIT_IN_MEMORY && unit->in_memory.adc_bits > 0 && node_of(machine) > 0)
        return in_memory_m2(machine, unit) * (double)unit->count;
    struct ll_arithmetic arithmetic = ll_unit_arithmetic(unit);
    double macs = arithmetic.elements * arithmetic.flops / 2, largest_m2 = 0;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        largest_m2 = fmax(largest_m2, machine->area.pe_m2[i] * arithmetic.rates[i]);
    double registers = unit->model == LL_UNIT_ARRAY ? registers_m2(machine, &unit->array) : 0;
    return (largest_m2 * scaling(machine).logic_area * macs + registers) * (double)unit->count;
}

double ll_machine_level_m2_per_byte(const struct ll_machine *machine, uint64_t l)
{
    return ll_level_is_on_chip(machine, l) ? sram_m2_per_byte(machine, &machine->levels[l].accesses) : 0;
}

double ll_machine_level_area_m2(const struct ll_machine *machine, uint64_t l)
{
    return (double)machine->levels[l].size_bytes * (double)ll_machine_instances(machine, l) *
           ll_machine_level_m2_per_byte(machine, l);
}

double ll_machine_area_m2(const struct ll_machine *machine)
{
    if (!machine->area_given)
        return NAN;
    double total_m2 = machine->area.fixed_m2;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        total_m2 += ll_machine_unit_area_m2(machine, u);
    for (uint64_t l = 0; l < machine->level_count; l++)
        total_m2 += ll_machine_level_area_m2(machine, l);
    return total_m2;
}

/* What the channels of a DRAM without a figure of its own take at rest; what moving data takes beyond that is
 * in the energy of a byte. */
static double drams_at_rest_w(const struct ll_machine *machine)
{
    double sum_w = 0;
    for (uint64_t l = 0; machine->energy_given && l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        struct ll_dram_energy energy;
        bool described = machine->energy.level_j_per_byte[l] > 0 || machine->energy.off_chip_j_per_byte > 0 ||
                         level->accesses.read_j > 0 || ll_level_is_on_chip(machine, l);
        if (level->dram && !described && ll_dram_energy(ll_dram_find(level->dram), &energy))
            sum_w += energy.rest_w[level->rest] * (double)level->channels;
    }
    return sum_w;
}

double ll_machine_static_w(const struct ll_machine *machine)
{
    const struct ll_energy *energy = &machine->energy;
    if (energy->static_w > 0)
        return energy->static_w;
    double leaks_w = energy->leakage_w_per_mm2 > 0 && machine->area_given
                         ? energy->leakage_w_per_mm2 * ll_machine_area_m2(machine) * 1e6
                         : 0;
    return leaks_w + drams_at_rest_w(machine);
}

/* What a device costs to make, to first order: good dies of a wafer, memory, and what is fixed. */

/* Dies beside each other on a round wafer, the cut ones at its edge left out. */
static double dies_on(double wafer_mm, double die_mm2)
{
    double pi = acos(-1), radius_mm = wafer_mm / 2;
    return fmax(0, floor(pi * radius_mm * radius_mm / die_mm2 - pi * wafer_mm / sqrt(2 * die_mm2)));
}

static double yield_of(const struct ll_pricing *pricing, double die_mm2)
{
    double defects = pricing->defects_per_cm2 * die_mm2 / 100, clustering = pricing->clustering;
    return clustering > 0 ? pow(1 + defects / clustering, -clustering) : exp(-defects);
}

bool ll_machine_has_making_price(const struct ll_machine *machine)
{
    const struct ll_pricing *p = &machine->pricing;
    return machine->pricing_given && (p->wafer_usd > 0 || p->memory_usd_per_GiB > 0 || p->fixed_usd > 0);
}

double ll_machine_usd_per_hour(const struct ll_machine *machine)
{
    enum { HOURS_PER_YEAR = 8766 };
    const struct ll_pricing *p = &machine->pricing;
    return p->purchase_usd > 0   ? p->purchase_usd / (p->lifetime_years * HOURS_PER_YEAR)
           : p->usd_per_hour > 0 ? p->usd_per_hour
                                 : NAN;
}

bool ll_machine_price(const struct ll_machine *machine, struct ll_priced *priced)
{
    const struct ll_pricing *pricing = &machine->pricing;
    uint64_t outermost = machine->level_count - 1;
    double dies = (double)pricing->dies, die_mm2 = ll_machine_area_m2(machine) * 1e6 / dies;
    *priced = (struct ll_priced){0};
    if (!ll_machine_has_making_price(machine) || machine->level_count == 0 ||
        (pricing->wafer_usd > 0 && !(die_mm2 > 0)))
        return false;
    if (pricing->wafer_usd > 0) {
        priced->dies_per_wafer = dies_on(LL_WAFER_MM, die_mm2);
        priced->yield = yield_of(pricing, die_mm2);
        priced->dies_usd = dies * pricing->wafer_usd / (priced->dies_per_wafer * priced->yield);
    }
    if (!ll_level_is_on_chip(machine, outermost))
        priced->memory_usd =
            pricing->memory_usd_per_GiB * (double)machine->levels[outermost].size_bytes / 0x1p30;
    priced->fixed_usd = pricing->fixed_usd;
    priced->all_usd = priced->dies_usd + priced->memory_usd + priced->fixed_usd;
    return priced->dies_per_wafer >= 1 || pricing->wafer_usd == 0;
}
