/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a machine file, a row each, in the order in which they are read, documented and written. */
#include "sim/machine/schema.h"

#include <assert.h>
#include <float.h>

#define POSITIVE DBL_MIN

/* Upper bounds: far beyond any machine, small enough that no product of a few of them overflows a double, and
 * that sizes are exact in one. */
#define MOST_BYTES 0x1p50
#define MOST_BPS 1e18
#define MOST_HZ 1e15
#define MOST_SECONDS 1e6
#define MOST_UNITS 1048576
#define MOST_RATE 1e6

static const char *const kinds[] = {"cpu", "gpu", "systolic", "custom", NULL};
static const char *const dataflows[] = {"os", "ws", "is", NULL};
static const char *const scopes[] = {"device", "unit", "cluster", NULL};
static const char *const bufferings[] = {"true", "false", NULL};
static const char *const fusions[] = {"none", "elementwise", "chains", NULL};
static const char *const convolving[] = {"direct", "columns", NULL};
static const char *const strided[] = {"exact", "library", NULL};
static const char *const mappings[] = {"closed_form", "search", NULL};
static const char *const objectives[] = {"time", "energy", "edp", NULL};
static const char *const inclusions[] = {"non-inclusive", "inclusive", "exclusive", NULL};
static const char *const prefetches[] = {"none", "next-line", "stride", NULL};
static const char *const cache_policies[] = {
#define LL_CACHE_POLICY(word, name, ...) name,
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
    NULL,
};
static const char *const algorithms[] = {
#define LL_ALGORITHM(word, name, ...) name,
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM
    "fastest", NULL};
static const char *const topologies[] = {
#define LL_TOPOLOGY(word, name, ...) name,
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
    NULL};
static const char *const drams[] = {
#define LL_DRAM(name, ...) name,
#include "sim/machine/dram_presets.def"
#undef LL_DRAM
    NULL,
};
static const char *const unit_models[] = {
#define LL_UNIT_MODEL(word, name, ...) name,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
    NULL,
};

static_assert(sizeof(enum ll_unit_kind) == sizeof(unsigned), "choices are stored as unsigned");

#define COUNT_OF(fields) (sizeof(fields) / sizeof *(fields))
#define TABLE(words, rows, type) .what = words, .fields = rows, .count = COUNT_OF(rows), .size = sizeof(type)

/* clang-format off */
#define AT(member) .offset = offsetof(struct ll_unit, member)

static const struct ll_field systolic_fields[] = {
    {.key = "rows", .type = LL_TYPE_WHOLE, AT(systolic.rows), .required = true, .min = 1, .max = 65536,
     .help = "rows of the array"},
    {.key = "cols", .type = LL_TYPE_WHOLE, AT(systolic.cols), .required = true, .min = 1, .max = 65536,
     .help = "columns of the array"},
    {.key = "dataflow", .type = LL_TYPE_CHOICE, AT(systolic.dataflow), .choices = dataflows, .otherwise = "ws",
     .help = "operand that stays in the array: output, weight or input stationary"},
    {.key = "overlap_folds", .type = LL_TYPE_BOOL, AT(systolic.overlap_folds), .otherwise = "false",
     .help = "whether the next stationary tile loads while this one computes"},
    {.key = "accumulators", .type = LL_TYPE_WHOLE, AT(systolic.accumulators), .min = 0, .max = 1u << 30,
     .otherwise = "0",
     .help = "partial sums that each column keeps, others go to memory and back; 0 means as many as needed"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(systolic.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per processing element and cycle, by dtype"},
};

static const struct ll_field matrix_fields[] = {
    {.key = "tiles", .type = LL_TYPE_TILES, AT(matrix.tiles),
     .count_offset = offsetof(struct ll_unit, matrix.tile_count),
     .help = "tiles m x n x k that the kernels offer, each computed by one unit; without, work is dealt evenly"},
    {.key = "catalogue", .type = LL_TYPE_CATALOGUE, AT(matrix.catalogue),
     .help = "list of sizes for which the library's kernels were tuned, under the folder of machines: products of its "
             "dtype are computed by the kernel of the nearest size, not by the fastest tile"},
    {.key = "conv_tiles", .type = LL_TYPE_TILES, AT(matrix.conv_tiles),
     .count_offset = offsetof(struct ll_unit, matrix.conv_tile_count),
     .help = "tiles of the kernels that read a convolution's windows where they lie, in place of tiles: pixels x "
             "filters x channels; these kernels share k among units only where it is all pixels"},
    {.key = "whole_channels", .type = LL_TYPE_DTYPES, AT(matrix.whole_channels), .min = 1, .max = 65536,
     .help = "channels of one element of a window that those kernels take at once, the last ones whole, by dtype; "
             "dtypes not given: any number, across elements"},
    {.key = "whole_filters", .type = LL_TYPE_BOOL, AT(matrix.whole_filters), .otherwise = "false",
     .help = "whether the gradient of filters in these dtypes takes a whole tile of channels for each element"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(matrix.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per unit and cycle, by dtype"},
    {.key = "fill_cycles", .type = LL_TYPE_NUMBER, AT(matrix.fill_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "cycles before the first product of a tile leaves the pipeline"},
    {.key = "feed", .type = LL_TYPE_NUMBER, AT(matrix.feed), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "bytes of a tile's operands that a unit takes in per cycle while it does not multiply; 0: at no cost"},
    {.key = "step_cycles", .type = LL_TYPE_NUMBER, AT(matrix.step_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "the least cycles for a step of a tile's k: its loads and the barrier behind them"},
    {.key = "join_cycles", .type = LL_TYPE_NUMBER, AT(matrix.join_cycles), .min = 0, .max = 1e9, .otherwise = "0",
     .help = "cycles to start adding up partial sums, when units share k"},
    {.key = "line_cycles", .type = LL_TYPE_NUMBER, AT(matrix.line_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "cycles that a step waits for each line of an operand along k that is not at hand"},
    {.key = "line_reach", .type = LL_TYPE_SIZE, AT(matrix.line_reach), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = MOST_BYTES, .otherwise = "0B", .help = "length of a line up to which all lines of a tile are at hand"},
    {.key = "line_drift", .type = LL_TYPE_WHOLE, AT(matrix.line_drift), .min = 0, .max = MOST_UNITS,
     .otherwise = "0",
     .help = "products along k of one unit after which tiles begun together are out of step; 0: at once"},
    {.key = "windows", .type = LL_TYPE_NUMBER, AT(matrix.windows), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of its rate that is left to convolutions, whose windows are found on the way; 0: all of it"},
};

static const struct ll_field vector_fields[] = {
    {.key = "lanes", .type = LL_TYPE_WHOLE, AT(vector.lanes), .required = true, .min = 1, .max = MOST_UNITS,
     .help = "elements worked on side by side"},
    {.key = "flops", .type = LL_TYPE_DTYPES, AT(vector.flops), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "operations per lane and cycle, by dtype; a fused multiply-add is two"},
    {.key = "casts", .type = LL_TYPE_DTYPES, AT(vector.casts), .min = POSITIVE, .max = MOST_RATE,
     .help = "elements per unit and cycle that it turns from or into a dtype which the machine stores but computes "
             "in a wider one; of dtypes not given, as many as there are"},
};

const struct ll_field_table ll_fields_SYSTOLIC = {
    TABLE("systolic unit", systolic_fields, struct ll_unit), .products_only = true};
const struct ll_field_table ll_fields_MATRIX = {
    TABLE("matrix unit", matrix_fields, struct ll_unit), .products_only = true};
const struct ll_field_table ll_fields_VECTOR = {TABLE("vector unit", vector_fields, struct ll_unit)};

static const struct ll_field_table *const unit_variants[] = {
#define LL_UNIT_MODEL(word, ...) &ll_fields_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
};

static const struct ll_field unit_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "what paths and reports call it"},
    {.key = "model", .type = LL_TYPE_CHOICE, AT(model), .required = true, .choices = unit_models,
     .help = "way of computing"},
    {.key = "count", .type = LL_TYPE_WHOLE, AT(count), .min = 1, .max = MOST_UNITS, .otherwise = "1",
     .help = "how many of them the machine has"},
    {.key = "clock", .type = LL_TYPE_QUANTITY, AT(clock_hz), .dimension = LL_DIMENSION_FREQUENCY, .min = 1,
     .max = MOST_HZ, .help = "its own clock; the machine's when not given"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "sustained share of the peak rate"},
    {.key = "runs", .type = LL_TYPE_RUNS, AT(runs), .given_offset = offsetof(struct ll_unit, runs_listed),
     .help = "op classes or kinds that it is for; when not given, what no other unit lists"},
    {.key = "align", .type = LL_TYPE_WHOLE, AT(align), .min = 1, .max = MOST_UNITS,
     .help = "it takes single products of which two sides at least are multiples of this, other work goes to the next unit; when not given, all"},
};
#undef AT

static const struct ll_field_table unit_table = {
    TABLE("unit", unit_fields, struct ll_unit), .variants = unit_variants, .variant_count = COUNT_OF(unit_variants),
    .variant_offset = offsetof(struct ll_unit, model)};

#define AT(member) .offset = offsetof(struct ll_cache_level, member)
static const struct ll_field cache_fields[] = {
    {.key = "ways", .type = LL_TYPE_WHOLE, AT(ways), .min = 1, .max = UINT32_MAX,
     .help = "lines of a set, of which the level's size makes a whole number; when not given, all lines are one set"},
    {.key = "line", .type = LL_TYPE_SIZE, AT(line_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1, .max = 1 << 20,
     .otherwise = "64B", .help = "of one line, a power of two"},
    {.key = "policy", .type = LL_TYPE_CHOICE, AT(policy), .choices = cache_policies, .otherwise = "lru",
     .help = "which line of a full set gives way"},
    {.key = "inclusion", .type = LL_TYPE_CHOICE, AT(inclusion), .choices = inclusions, .otherwise = "non-inclusive",
     .help = "whether it holds what the caches further in hold: as it comes, always, or never"},
    {.key = "prefetch", .type = LL_TYPE_CHOICE, AT(prefetch), .choices = prefetches, .otherwise = "none",
     .help = "what it fetches before it is asked for"},
    {.key = "write_through", .type = LL_TYPE_BOOL, AT(write_through), .otherwise = "false",
     .help = "whether writes go on outward at once, instead of when their line is evicted"},
    {.key = "write_around", .type = LL_TYPE_BOOL, AT(write_around), .otherwise = "false",
     .help = "whether a write that misses goes on outward without fetching its line"},
};
#undef AT
static const struct ll_field_table cache_table = {TABLE("cache", cache_fields, struct ll_cache_level)};

#define AT(member) .offset = offsetof(struct ll_level, member)
static const struct ll_field level_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "what paths and reports call it"},
    {.key = "size", .type = LL_TYPE_SIZE, AT(size_bytes), .dimension = LL_DIMENSION_SIZE, .required = true,
     .min = 1, .max = MOST_BYTES, .help = "of one instance"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "of one instance, both directions together; B/cycle counts the machine's clock; left out, that of its two "
             "ports, or of all channels of `dram`"},
    {.key = "read_bandwidth", .type = LL_TYPE_QUANTITY, AT(read_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS, .help = "of what is read, where that has a port of its own"},
    {.key = "write_bandwidth", .type = LL_TYPE_QUANTITY, AT(write_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS, .help = "of results and partial sums that are written, where that has a port of its own"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "sustained share of the bandwidth; left out where there is a `dram`, it is that of a stream"},
    {.key = "dram", .type = LL_TYPE_TEXT, AT(dram), .choices = drams,
     .help = "what kind of dynamic memory it is, a name that `leadline dram` lists; scattered rows then go slower"},
    {.key = "channels", .type = LL_TYPE_WHOLE, AT(channels), .min = 1, .max = 1u << 30,
     .help = "of `dram`, those with banks of their own; when not given, as many as make up the bandwidth"},
    {.key = "access", .type = LL_TYPE_SIZE, AT(access_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1,
     .max = MOST_BYTES, .help = "moves at once: of rows picked by index also what nobody wants; a burst of `dram` at least"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "of an access that nothing hides"},
    {.key = "scope", .type = LL_TYPE_CHOICE, AT(scope), .choices = scopes, .otherwise = "device",
     .help = "who shares it: all of the device, or each unit has one, or each cluster of units"},
    {.key = "share", .type = LL_TYPE_WHOLE, AT(share), .min = 1, .max = MOST_UNITS,
     .help = "how many units share an instance, for scope cluster"},
    {.key = "double_buffer", .type = LL_TYPE_CHOICE, AT(buffering), .choices = bufferings, .otherwise = "true",
     .help = "whether the next block loads into one half while the other is worked on; without, all of it holds one "
             "block and loading waits"},
    {.key = "holds", .type = LL_TYPE_OPERANDS, AT(holds), .given_offset = offsetof(struct ll_level, holds_given),
     .help = "operands that it keeps, as [input, weight, output] or [a, b, c]; others pass by it; all when not given"},
    {.key = "cache", .type = LL_TYPE_OBJECT, AT(cache), .table = &cache_table,
     .given_offset = offsetof(struct ll_level, cache_given),
     .help = "what kind of cache it is, for `leadline cache`; when not given, it is none"},
};
#undef AT
static const struct ll_field_table level_table = {TABLE("memory level", level_fields, struct ll_level)};

#define AT(member) .offset = offsetof(struct ll_kernel, member)
static const struct ll_field kernel_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "what paths and reports call it"},
    {.key = "ops", .type = LL_TYPE_RUNS, AT(ops), .required = true,
     .help = "op classes or kinds that it runs; of several kernels that name an op the first is taken"},
    {.key = "overhead", .type = LL_TYPE_QUANTITY, AT(overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .help = "what starting it costs, in place of op_overhead"},
    {.key = "behind", .type = LL_TYPE_NUMBER, AT(behind), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of what starting it costs that the host takes while the device works already"},
    {.key = "compute", .type = LL_TYPE_NUMBER, AT(compute), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of its unit's rate that it reaches"},
    {.key = "memory", .type = LL_TYPE_NUMBER, AT(memory), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of every level's bandwidth that it reaches"},
    {.key = "passes", .type = LL_TYPE_NUMBER, AT(passes), .min = 1, .max = MOST_RATE, .otherwise = "1",
     .help = "how often it moves its operands; products tell by their blocking"},
    {.key = "row", .type = LL_TYPE_WHOLE, AT(row), .min = 0, .max = UINT32_MAX, .otherwise = "0",
     .help = "elements of a row, as of a softmax, that it keeps at hand: `passes`, `reads`, `side`, `work` and `line` "
             "count for longer rows; 0: always"},
    {.key = "reads", .type = LL_TYPE_NUMBER, AT(reads), .min = 1, .max = MOST_RATE, .otherwise = "1",
     .help = "how often it reads the rows that it goes along; a cache keeps those in progress as far as they fit"},
    {.key = "side", .type = LL_TYPE_WHOLE, AT(side), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "rows that a unit works on side by side; 0 means that elements are dealt evenly"},
    {.key = "rounds", .type = LL_TYPE_BOOL, AT(rounds), .otherwise = "false",
     .help = "whether a unit begins the next rows only when all those side by side are done"},
    {.key = "work", .type = LL_TYPE_NUMBER, AT(work), .min = 1, .max = MOST_RATE, .otherwise = "1",
     .help = "machine operations for each algorithmic FLOP of work that is not a product"},
    {.key = "index", .type = LL_TYPE_NUMBER, AT(index), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "machine operations beside, for each element of its result, as finding its place by division"},
    {.key = "units", .type = LL_TYPE_WHOLE, AT(units), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "as many units as it can employ; 0 means all"},
    {.key = "far", .type = LL_TYPE_NUMBER, AT(far), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of the outermost level's bandwidth that it reaches; 0: as much as `memory` says"},
    {.key = "serial", .type = LL_TYPE_NUMBER, AT(serial), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of the time of arithmetic and levels beside the slowest that does not overlap with it"},
    {.key = "grain", .type = LL_TYPE_NUMBER, AT(grain), .min = 0, .max = 1e15, .otherwise = "0",
     .help = "FLOPs, or bytes if they are more, that are worth a unit, in place of the software's grain"},
    {.key = "rows", .type = LL_TYPE_WHOLE, AT(rows), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "rows of a product's result that it takes at most, longer ones fall to the next kernel; 0: any"},
    {.key = "slice", .type = LL_TYPE_WHOLE, AT(slice), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "lines of a product's result that are dealt to units as one piece; 0 means evenly"},
    {.key = "packing", .type = LL_TYPE_QUANTITY, AT(packing_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS, .help = "at which a unit copies a product's operands before it multiplies them"},
    {.key = "line", .type = LL_TYPE_QUANTITY, AT(line_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "what beginning a line costs: of a convolution's window, of elements that an op goes along"},
    {.key = "rewrites", .type = LL_TYPE_NUMBER, AT(rewrites), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "how often more than once a product's result is moved, as when it is cleared and added to"},
};
#undef AT
static const struct ll_field_table kernel_table = {TABLE("kernel", kernel_fields, struct ll_kernel)};

#define AT(member) .offset = offsetof(struct ll_transform, member)
static const struct ll_field transform_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "what paths and reports call it"},
    {.key = "size", .type = LL_TYPE_WHOLE, AT(size), .required = true, .min = 2, .max = 1024,
     .help = "points of a tile along an axis; outputs are size - filter + 1: 4 for Winograd's F(2, 3)"},
    {.key = "least_filter", .type = LL_TYPE_WHOLE, AT(least_filter), .min = 1, .max = 1024, .otherwise = "2",
     .help = "smallest filter, along each axis, that it serves"},
    {.key = "most_filter", .type = LL_TYPE_WHOLE, AT(most_filter), .required = true, .min = 1, .max = 1024,
     .help = "largest filter, along each axis, that it serves"},
    {.key = "products", .type = LL_TYPE_WHOLE, AT(products), .min = 1, .max = 16, .otherwise = "1",
     .help = "real products for each point: 1 for Winograd, 2 for Fourier transforms of real images"},
    {.key = "rate", .type = LL_TYPE_DTYPES, AT(rate), .required = true, .min = POSITIVE, .max = 1,
     .help = "share of the unit's rate that its products reach, by the dtypes for which it is offered"},
    {.key = "fused", .type = LL_TYPE_BOOL, AT(fused), .otherwise = "false",
     .help = "whether tiles are transformed on their way in and out, not by passes of their own"},
    {.key = "absent", .type = LL_TYPE_BOOL, AT(absent), .otherwise = "false",
     .help = "whether this library, or this use of it, goes without, though a stack that is inherited has it"},
    {.key = "tiles", .type = LL_TYPE_TILES, AT(tiles), .count_offset = offsetof(struct ll_transform, tile_count),
     .help = "tiles m x n x k that its kernels offer on matrix units, in place of the unit's"},
    {.key = "block_rows", .type = LL_TYPE_WHOLE, AT(block_rows), .min = 1, .max = 1024, .otherwise = "1",
     .help = "tiles of one image, one below the other, that its kernel takes at once, the last ones whole"},
    {.key = "block_columns", .type = LL_TYPE_WHOLE, AT(block_columns), .min = 1, .max = 1024, .otherwise = "1",
     .help = "such tiles side by side"},
    {.key = "memory", .type = LL_TYPE_NUMBER, AT(memory), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the outermost level's bandwidth that its passes apart reach"},
    {.key = "not_filters", .type = LL_TYPE_BOOL, AT(not_filters), .otherwise = "false",
     .help = "whether the library does not take it for the gradient of filters; none that is fused is"},
    {.key = "overhead", .type = LL_TYPE_QUANTITY, AT(overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .help = "what starting it costs, in place of what other convolutions cost"},
};
#undef AT
static const struct ll_field_table transform_table = {TABLE("transform", transform_fields, struct ll_transform)};

#define AT(member) .offset = offsetof(struct ll_software, member)
static const struct ll_field software_fields[] = {
    {.key = "op_overhead", .type = LL_TYPE_QUANTITY, AT(op_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "what starting one op costs"},
    {.key = "queue", .type = LL_TYPE_WHOLE, AT(queue), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "ops that the host may start ahead of the device, so that starting them is hidden; 0: none before its turn"},
    {.key = "gap", .type = LL_TYPE_QUANTITY, AT(gap_s), .dimension = LL_DIMENSION_TIME, .min = 0, .max = MOST_SECONDS,
     .otherwise = "0s",
     .help = "that the device leaves before an op, however far ahead the host is: one kernel drains, the next fills"},
    {.key = "step_overhead", .type = LL_TYPE_QUANTITY, AT(step_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "what each dependent step of a sequence, as of a recurrent layer, costs beside its work"},
    {.key = "grain", .type = LL_TYPE_NUMBER, AT(grain), .min = 0, .max = 1e15, .otherwise = "0",
     .help = "an op gets one unit for each so many FLOPs, or bytes if they are more, and at least one unit; 0: all"},
    {.key = "layout_rows", .type = LL_TYPE_WHOLE, AT(layout_rows), .min = 1, .max = 65536, .otherwise = "1",
     .help = "matrices of a product are stored in tiles of so many rows, the last ones whole"},
    {.key = "layout_columns", .type = LL_TYPE_WHOLE, AT(layout_columns), .min = 1, .max = 65536, .otherwise = "1",
     .help = "columns of such a tile"},
    {.key = "fusion", .type = LL_TYPE_CHOICE, AT(fusion), .choices = fusions, .otherwise = "none",
     .help = "which ops the software joins so that what lies between them stays on chip: element-wise ones to whatever "
             "is before them, or in chains, to what is no product"},
    {.key = "convolution", .type = LL_TYPE_CHOICE, AT(convolving), .choices = convolving, .otherwise = "direct",
     .help = "products over windows where they lie; or image by image over windows copied to columns, and no transforms"},
    {.key = "strided_gradient", .type = LL_TYPE_CHOICE, AT(strided), .choices = strided, .otherwise = "exact",
     .help = "gradient of a strided convolution's input: no more work than it needs; or the faster of what libraries "
             "do, zeros spread between, or scattering into a cleared image"},
    {.key = "scattering", .type = LL_TYPE_NUMBER, AT(scattering), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the rate that a strided gradient's product reaches while it scatters, for strided_gradient: library"},
    {.key = "mapping", .type = LL_TYPE_CHOICE, AT(mapping), .choices = mappings, .otherwise = "closed_form",
     .help = "how products are laid into the memories: blocked for each on its own, or by a search over tiles that nest"},
    {.key = "objective", .type = LL_TYPE_CHOICE, AT(objective), .choices = objectives, .otherwise = "time",
     .help = "what the search makes least: time, energy, or their product"},
    {.key = "early_updates", .type = LL_TYPE_BOOL, AT(early_updates), .otherwise = "false",
     .help = "updates of weights come right behind their gradients, which need not live until the end of the step"},
    {.key = "collectives", .type = LL_TYPE_CHOICE, AT(collectives), .choices = algorithms, .otherwise = "fastest",
     .help = "how devices exchange data: one way wherever it serves, or the fastest each time"},
    {.key = "collective_overhead", .type = LL_TYPE_QUANTITY, AT(collective_overhead_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS, .otherwise = "0s",
     .help = "what starting a collective costs on all devices together, until the first byte leaves"},
    {.key = "message_overhead", .type = LL_TYPE_QUANTITY, AT(message_overhead_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS,
     .help = "the same of a message from one device to another; when not given, as much as of a collective"},
    {.key = "kernels", .type = LL_TYPE_LIST, AT(kernels), .count_offset = offsetof(struct ll_software, kernel_count),
     .table = &kernel_table, .max = LL_MAX_KERNELS, .help = "how well the stack's kernels use the machine"},
    {.key = "transforms", .type = LL_TYPE_LIST, AT(transforms),
     .count_offset = offsetof(struct ll_software, transform_count), .table = &transform_table,
     .max = LL_MAX_TRANSFORMS,
     .help = "convolutions in a transformed domain, offered beside the direct one; the fastest is taken"},
};
#undef AT
static const struct ll_field_table software_table = {TABLE("software section", software_fields, struct ll_software)};

#define AT(member) .offset = offsetof(struct ll_host, member)
static const struct ll_field host_fields[] = {
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS, .help = "of the path from host memory; when not given, inputs are there already"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "of one transfer"},
    {.key = "cores", .type = LL_TYPE_WHOLE, AT(cores), .min = 0, .max = 65536, .otherwise = "0",
     .help = "of the host's processors, for their utilization; 0: not known"},
    {.key = "prepare_bandwidth", .type = LL_TYPE_QUANTITY, AT(prepare_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "at which a worker of the host draws, reads or decodes input; when not given, that takes no time"},
    {.key = "encode_bandwidth", .type = LL_TYPE_QUANTITY, AT(encode_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "at which a worker writes what is made of input before it goes to the device, as rows of zeros and a one of "
             "class numbers; when not given, that takes no time"},
    {.key = "workers", .type = LL_TYPE_WHOLE, AT(workers), .min = 1, .max = 65536,
     .help = "of the host that prepare input side by side; when not given, one"},
};
#undef AT
static const struct ll_field_table host_table = {TABLE("host section", host_fields, struct ll_host)};

#define AT(member) .offset = offsetof(struct ll_network_sample, member)
static const struct ll_field network_sample_fields[] = {
    {.key = "devices", .type = LL_TYPE_WHOLE, AT(devices), .required = true, .min = 2, .max = MOST_UNITS,
     .help = "that took part"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .required = true, .help = "of the whole collective, however small"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .required = true, .min = 1, .max = MOST_BPS,
     .help = "at which a device sends what a ring would have it send: 2 (n - 1) / n of an all-reduce's bytes"},
};
#undef AT
static const struct ll_field_table network_sample_table = {
    TABLE("network sample", network_sample_fields, struct ll_network_sample)};

#define AT(member) .offset = offsetof(struct ll_network, member)
static const struct ll_field network_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "what paths and reports call it"},
    {.key = "topology", .type = LL_TYPE_CHOICE, AT(topology), .required = true, .choices = topologies,
     .help = "who is next to whom"},
    {.key = "devices", .type = LL_TYPE_WHOLE, AT(devices), .required = true, .min = 2, .max = MOST_UNITS,
     .help = "how many it joins; of a further level, how many groups of those before"},
    {.key = "shape", .type = LL_TYPE_EXTENTS, AT(shape),
     .help = "sides of a mesh or torus; devices a switch, switches a switch, ... of a fat tree; devices a router, "
             "routers a group, groups of a dragonfly"},
    {.key = "edges", .type = LL_TYPE_TEXTS, AT(edges), .count_offset = offsetof(struct ll_network, edge_count),
     .help = "0-1: a link each way between devices 0 and 1; 0>1: one way; 0-1x2.5: of so many times the bandwidth"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .required = true, .min = 1, .max = MOST_BPS, .help = "of one link, one direction"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "the share of it that large messages reach"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "of one message over one link"},
    {.key = "chunk", .type = LL_TYPE_SIZE, AT(chunk_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1, .max = MOST_BYTES,
     .help = "what a device has under way at once, in all its buffers together: it is passed on in two halves, each when "
             "it is complete, and the next chunk waits for the last half; when not given, all bytes flow without a gap"},
    {.key = "chunk_latency", .type = LL_TYPE_QUANTITY, AT(chunk_latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s", .help = "of passing a half on, beside `latency`"},
    {.key = "flagged", .type = LL_TYPE_NUMBER, AT(flagged), .min = POSITIVE, .max = 1,
     .help = "the share of the bandwidth where each few bytes bring a flag along and wait for no half of a chunk: the "
             "faster way is taken; when not given, there is none"},
    {.key = "port", .type = LL_TYPE_QUANTITY, AT(port_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS, .help = "the most that one device puts into it or takes out of it; when not given, what its links carry"},
    {.key = "group_port", .type = LL_TYPE_QUANTITY, AT(group_port_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "of a further level: the most that a group puts into it or takes out of it over all its links; when not "
             "given, what they carry"},
    {.key = "links", .type = LL_TYPE_WHOLE, AT(links), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "of a further level: network cards of a group; neighbours share one; 0: one a device"},
    {.key = "oversubscription", .type = LL_TYPE_NUMBER, AT(oversubscription), .min = POSITIVE, .max = 1e6, .otherwise = "1",
     .help = "of a fat tree: how much more a switch could take in from below than it can pass upwards"},
    {.key = "samples", .type = LL_TYPE_LIST, AT(samples), .count_offset = offsetof(struct ll_network, sample_count),
     .table = &network_sample_table, .max = LL_MAX_NETWORK_SAMPLES,
     .help = "all-reduces measured on it, by number of devices: used instead of the model for groups within this level"},
};
#undef AT
static const struct ll_field_table network_table = {TABLE("network", network_fields, struct ll_network)};

#define AT(member) .offset = offsetof(struct ll_energy, member)
static const struct ll_field energy_fields[] = {
    {.key = "mac_pj", .type = LL_TYPE_DTYPES, AT(mac_j), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "of one multiply-accumulate, by dtype, in pJ"},
    {.key = "op_pj", .type = LL_TYPE_DTYPES, AT(op_j), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "of one operation of ops that are no products, by dtype, in pJ; when not given, half of `mac_pj`"},
    {.key = "<level>_pj_per_byte", .type = LL_TYPE_LEVELS, AT(level_j_per_byte), .unit = "pJ/B", .min = POSITIVE,
     .max = 1, .help = "of a byte into or out of that memory level, in pJ: `hbm_pj_per_byte: 31`"},
    {.key = "on_chip_pj", .type = LL_TYPE_NUMBER, AT(on_chip_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "of a byte into or out of a level of 1 KiB, in pJ; a level but the outermost without a figure of its own "
             "takes it times the square root of its KiB"},
    {.key = "on_chip_bank", .type = LL_TYPE_SIZE, AT(on_chip_bank_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1,
     .max = MOST_BYTES, .help = "larger levels count as that large for `on_chip_pj`; when not given, as they are"},
    {.key = "off_chip_pj", .type = LL_TYPE_NUMBER, AT(off_chip_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "of a byte into or out of the outermost level when it has no figure of its own, in pJ"},
    {.key = "host_pj", .type = LL_TYPE_NUMBER, AT(host_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "of a byte from the host, in pJ"},
    {.key = "leakage_w_per_mm2", .type = LL_TYPE_NUMBER, AT(leakage_w_per_mm2), .min = POSITIVE, .max = 1000,
     .help = "power that flows all the time when `static_w` is not given, in W for each mm2 of the area"},
    {.key = "static_w", .type = LL_TYPE_NUMBER, AT(static_w), .unit = "W", .min = POSITIVE, .max = 1e9,
     .help = "power that flows all the time, in W"},
    {.key = "limit_w", .type = LL_TYPE_NUMBER, AT(limit_w), .unit = "W", .min = POSITIVE, .max = 1e9,
     .help = "power that the board gives, in W: with products clocks sink until `static_w` and the energy of their "
             "arithmetic keep within it; when not given, as much as is asked for"},
    {.key = "power_per_clock", .type = LL_TYPE_NUMBER, AT(power_per_clock), .min = 1, .max = 3,
     .help = "while `limit_w` holds clocks down, power goes with the clock to this: 1 where the voltage stays, 3 where it "
             "follows; when not given, 1"},
};
#undef AT
static const struct ll_field_table energy_table = {TABLE("energy section", energy_fields, struct ll_energy)};

#define AT(member) .offset = offsetof(struct ll_area, member)
static const struct ll_field area_fields[] = {
    {.key = "pe_um2", .type = LL_TYPE_DTYPES, AT(pe_m2), .unit = "um2", .min = POSITIVE, .max = 1,
     .help = "of one multiply-accumulator, by dtype, in um2"},
    {.key = "sram_mm2_per_MiB", .type = LL_TYPE_NUMBER, AT(sram_m2_per_byte), .unit = "mm2/MiB", .min = POSITIVE,
     .max = 1, .help = "of all memory levels but the outermost, in mm2 for each MiB"},
    {.key = "fixed_mm2", .type = LL_TYPE_NUMBER, AT(fixed_m2), .unit = "mm2", .min = 0, .max = 1, .otherwise = "0",
     .help = "of everything else, in mm2"},
};
#undef AT
static const struct ll_field_table area_table = {TABLE("area section", area_fields, struct ll_area)};

#define AT(member) .offset = offsetof(struct ll_machine, member)
#define LISTED(member, how_many) \
    AT(member), .count_offset = offsetof(struct ll_machine, how_many)
static const struct ll_field machine_fields[] = {
    {.key = "inherits", .type = LL_TYPE_INHERITS, .wording = true,
     .help = "a file beside this one, or the stem of a known machine, or a list of them, each laid over those "
             "before it; the keys here are laid over all"},
    {.key = "name", .type = LL_TYPE_TEXT, AT(name), .required = true, .wording = true,
     .help = "what reports call it"},
    {.key = "kind", .type = LL_TYPE_TEXT, AT(kind), .choices = kinds, .wording = true, .otherwise = "custom",
     .help = "wording of reports, nothing else"},
    {.key = "aliases", .type = LL_TYPE_TEXTS, LISTED(aliases, alias_count), .wording = true,
     .help = "what data calls this hardware"},
    {.key = "clock", .type = LL_TYPE_QUANTITY, AT(clock_hz), .dimension = LL_DIMENSION_FREQUENCY, .min = 1,
     .max = MOST_HZ, .help = "of the units that have none of their own, and of B/cycle"},
    {.key = "units", .type = LL_TYPE_LIST, LISTED(units, unit_count), .table = &unit_table, .required = true,
     .max = LL_MAX_UNITS, .help = "what computes"},
    {.key = "memory", .type = LL_TYPE_LIST, LISTED(levels, level_count), .table = &level_table, .required = true,
     .max = LL_MAX_LEVELS, .help = "levels, innermost first; the outermost holds the tensors"},
    {.key = "software", .type = LL_TYPE_OBJECT, AT(software), .table = &software_table,
     .help = "what the software stack adds"},
    {.key = "host", .type = LL_TYPE_OBJECT, AT(host), .table = &host_table, .help = "where inputs come from"},
    {.key = "network", .type = LL_TYPE_LIST, LISTED(networks, network_count), .table = &network_table,
     .max = LL_MAX_LINKS, .help = "what joins several of these devices"},
    {.key = "energy", .type = LL_TYPE_OBJECT, AT(energy), .table = &energy_table,
     .given_offset = offsetof(struct ll_machine, energy_given), .help = "joules; when not given, none are reported"},
    {.key = "area", .type = LL_TYPE_OBJECT, AT(area), .table = &area_table,
     .given_offset = offsetof(struct ll_machine, area_given), .help = "silicon; when not given, none is reported"},
    {.key = "sources", .type = LL_TYPE_SOURCES, LISTED(sources, source_count), .wording = true,
     .help = "where each value comes from, by path: `hbm.efficiency: \"assumed: typical\"`"},
};
#undef AT
/* clang-format on */

const struct ll_field_table ll_machine_table = {TABLE("machine", machine_fields, struct ll_machine)};

const struct ll_field_table *ll_unit_keys(const struct ll_unit *unit)
{
    return unit_variants[unit->model];
}
