/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a machine file, a row each, in the order in which they are read, documented and written.
 * One file because it is one table. */
#include "sim/machine/schema.h"

#include <assert.h>
#include <float.h>

#define POSITIVE DBL_MIN
#define MOST_TAKEN 0.99 /* some units are left */

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
static const char *const bufferings[] = {"true", "false", "circular", NULL};
static const char *const fusions[] = {"none", "elementwise", "chains", "layers", NULL};
static const char *const convolving[] = {"direct", "columns", NULL};
static const char *const strided[] = {"exact", "library", "phases", NULL};
static const char *const mappings[] = {"closed_form", "search", NULL};
static const char *const loop_orders[] = {"mnk", "mkn", "nmk", "nkm", "kmn", "knm", NULL};
static const char *const places[] = {"dense", "bitmask", "coordinates", "runs", NULL};
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
static const char *const collectives[] = {
#define LL_COLLECTIVE(word, name, ...) name,
#include "sim/machine/collectives.def"
#undef LL_COLLECTIVE
    NULL};
static const char *const tuners[] = {
    "none",
#define LL_TUNER(word, name, ...) name,
#include "sim/machine/tuners.def"
#undef LL_TUNER
    NULL,
};
static const char *const topologies[] = {
#define LL_TOPOLOGY(word, name, ...) name,
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
    NULL};
static const char *const rests[] = {"standby", "power_down", "self_refresh", NULL};
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

static const char *const kernel_dtypes[] = {
    "any",
#define X(word, name, bytes) name,
    LL_DTYPE_LIST(X)
#undef X
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
     .help = "partial sums that each column keeps; further ones go to memory and back, or what streams comes in "
             "pieces, whichever is faster; 0: as many as needed"},
    {.key = "tap_by_tap", .type = LL_TYPE_BOOL, AT(systolic.tap_by_tap), .otherwise = "false",
     .help = "whether the taps of a convolution's filter follow one another, so that the array sums up channels alone; "
             "if not, channels of all taps lie side by side, as im2col lays them"},
    {.key = "whole_tiles", .type = LL_TYPE_BOOL, AT(systolic.whole_tiles), .otherwise = "false",
     .help = "whether weights lie in memory in whole tiles of `rows` x `cols`, the last of which have zeros: more bytes come "
             "where these do not divide a layer; for dataflow ws"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(systolic.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per processing element and cycle, by dtype"},
};

#undef AT
#define AT(member) .offset = offsetof(struct ll_gemm_kernels, member)
static const struct ll_field gemm_fields[] = {
    {.key = "tiles", .type = LL_TYPE_TILES, AT(tiles), .required = true,
     .count_offset = offsetof(struct ll_gemm_kernels, tile_count),
     .help = "tile sizes m x n x k that the kernels offer, with m and n swapped as well; k counts elements of 16 bits, "
             "of other types a step takes as many bytes. The fastest is used, with k split among units where that pays"},
    {.key = "pair_tiles", .type = LL_TYPE_TILES, AT(pair_tiles),
     .count_offset = offsetof(struct ll_gemm_kernels, pair_tile_count),
     .help = "tiles that two units compute together, each loading a part of the operands for both"},
    {.key = "boost", .type = LL_TYPE_NUMBER, AT(boost), .min = 1, .max = 10, .otherwise = "1",
     .help = "times of its clock at which it runs while the board's power suffices, where the peak of the data sheet is "
             "stated at a lower clock"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the peak rate that the main loop of these kernels sustains, instead of the unit's"},
    {.key = "min_step_cycles", .type = LL_TYPE_NUMBER, AT(min_step_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0",
     .help = "least cycles of one step of a tile along k, which waits for its operands and for the step before it"},
    {.key = "tile_cycles", .type = LL_TYPE_NUMBER, AT(tile_cycles), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "cycles of a tile beside its steps and its epilogue"},
    {.key = "operand_bandwidth", .type = LL_TYPE_NUMBER, AT(operand_bandwidth), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "bytes per cycle that go from shared memory into the tensor cores; 0: any"},
    {.key = "epilogue_bandwidth", .type = LL_TYPE_NUMBER, AT(epilogue_bandwidth), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "bytes of results per cycle that leave a unit; 0: any"},
    {.key = "bandwidth_efficiency", .type = LL_TYPE_NUMBER, AT(bandwidth_efficiency), .min = POSITIVE, .max = 1,
     .otherwise = "1", .help = "share of the innermost level's bandwidth that operands reach"},
    {.key = "dram_efficiency", .type = LL_TYPE_NUMBER, AT(dram_efficiency), .min = POSITIVE, .max = 1,
     .otherwise = "1", .help = "share of the outermost level's bandwidth that its traffic reaches"},
    {.key = "write_cost", .type = LL_TYPE_NUMBER, AT(write_cost), .min = 0, .max = 100, .otherwise = "1",
     .help = "bytes read that take the outermost level as long as one that is written"},
    {.key = "start", .type = LL_TYPE_QUANTITY, AT(start_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time from a kernel's start to its first multiplication and from the last one to its end, latencies of the "
             "memories included"},
    {.key = "split_k_reduce", .type = LL_TYPE_QUANTITY, AT(split_k_reduce_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time to start adding up partial sums, when units share k"},
    {.key = "occupancy", .type = LL_TYPE_WHOLE, AT(occupancy), .min = 1, .max = 64, .otherwise = "1",
     .help = "tiles that a unit works on at once, each of which hides the least cycles of the others' steps"},
    {.key = "multicast", .type = LL_TYPE_WHOLE, AT(multicast), .min = 1, .max = 64, .otherwise = "1",
     .help = "units that share one read of the wider operand's part of their tiles"},
    {.key = "full_rate_side", .type = LL_TYPE_WHOLE, AT(full_rate_side), .min = 0, .max = 65536, .otherwise = "0",
     .help = "tiles of one unit both of whose sides are shorter multiply at half the rate; 0: none do"},
};
#undef AT
static const struct ll_field_table gemm_table = {TABLE("GEMM kernels", gemm_fields, struct ll_gemm_kernels)};

#define AT(member) .offset = offsetof(struct ll_unit, member)
static const struct ll_field matrix_fields[] = {
    {.key = "tiles", .type = LL_TYPE_TILES, AT(matrix.tiles),
     .count_offset = offsetof(struct ll_unit, matrix.tile_count),
     .help = "tile sizes m x n x k that the kernels offer; one unit computes one tile. When not given, work "
             "is divided evenly among the units"},
    {.key = "few_rows_tiles", .type = LL_TYPE_TILES, AT(matrix.few_rows_tiles),
     .count_offset = offsetof(struct ll_unit, matrix.few_rows_tile_count),
     .help = "tile sizes of kernels for GEMMs of few rows, by their m: a GEMM whose rows all fit into one goes by the first "
             "such m, not by `tiles`"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(matrix.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per unit and cycle, by dtype"},
    {.key = "fill_cycles", .type = LL_TYPE_NUMBER, AT(matrix.fill_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "cycles before the first result of a tile leaves the pipeline"},
    {.key = "feed", .type = LL_TYPE_NUMBER, AT(matrix.feed), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "bytes of a tile's operands that a unit loads per cycle in which it does not multiply; 0: "
             "loading takes no time of its own"},
    {.key = "split_k_reduce_cycles", .type = LL_TYPE_NUMBER, AT(matrix.split_k_reduce_cycles), .min = 0, .max = 1e9, .otherwise = "0",
     .help = "cycles to start adding up partial sums, when units share k"},
    {.key = "strided_rate", .type = LL_TYPE_QUANTITY, AT(matrix.strided_rate_hz), .dimension = LL_DIMENSION_FREQUENCY, .min = 0,
     .max = 1e15, .otherwise = "0Hz",
     .help = "rows of operands that lie along k, out of reach (strided_reach), of which all units together fetch a step's "
             "piece in a second; 0Hz: any number"},
    {.key = "strided_reach", .type = LL_TYPE_SIZE, AT(matrix.strided_reach_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = MOST_BYTES, .otherwise = "0B",
     .help = "longest row, in memory, of which all rows of a tile are in reach: translated addresses and open rows of the "
             "memory suffice for them"},
    {.key = "strided_drift", .type = LL_TYPE_WHOLE, AT(matrix.strided_drift), .min = 0, .max = UINT32_MAX, .otherwise = "0",
     .help = "elements along k that a unit multiplies until tiles that started together are out of step, so that none "
             "finds a row's piece where another has just fetched it; 0: they always are"},
    {.key = "gemm", .type = LL_TYPE_OBJECT, AT(matrix.gemm), .table = &gemm_table,
     .given_offset = offsetof(struct ll_unit, matrix.gemm_given),
     .help = "a library's kernels for GEMMs of 16 bits and narrower on the tensor cores of a GPU, which these go by "
             "instead of `tiles`; when not given, they go by those like all else"},
    {.key = "implicit_gemm", .type = LL_TYPE_OBJECT, AT(matrix.implicit_gemm), .table = &gemm_table,
     .given_offset = offsetof(struct ll_unit, matrix.implicit_gemm_given),
     .help = "the same for convolutions, as implicit GEMMs of channels in loads of 16 bytes; when not given, they go by "
             "`tiles`"},
};

static const struct ll_field spatial_fields[] = {
    {.key = "elements", .type = LL_TYPE_WHOLE, AT(spatial.elements), .required = true, .min = 1, .max = MOST_UNITS,
     .help = "processing elements"},
    {.key = "unroll", .type = LL_TYPE_UNROLLS, AT(spatial.unrolls),
     .count_offset = offsetof(struct ll_unit, spatial.unroll_count), .required = true,
     .help = "loops of a convolution that run side by side, as [C32 K32, C8 OX8 OY8]: how many iterations of which, "
             "one on each element; behind a slash those that each element runs with what its registers hold, as "
             "FY3 OY13 / FX3 K16. Of several ways the fastest is used. G are groups, B images, K filters, C channels, "
             "OY and OX rows and columns of the output, FY and FX those of a filter. A GEMM is a "
             "convolution with 1x1 filters, its rows the pixels, or one with filters as large as its images"},
    {.key = "dataflow", .type = LL_TYPE_CHOICE, AT(spatial.dataflow), .choices = dataflows, .otherwise = "os",
     .help = "operand that stays in the elements while loops that do not concern it run: output, weight or input "
             "stationary"},
    {.key = "accumulators", .type = LL_TYPE_WHOLE, AT(spatial.accumulators), .min = 0, .max = MOST_BYTES,
     .otherwise = "0",
     .help = "partial sums that a unit keeps where outputs are not stationary; further ones go to memory and back, or "
             "what stays comes again for each piece of the others, whichever is faster; 0: as many as needed"},
    {.key = "fill_cycles", .type = LL_TYPE_NUMBER, AT(spatial.fill_cycles), .min = 0, .max = MOST_RATE,
     .otherwise = "0", .help = "cycles before the first sum leaves the unit"},
    {.key = "pass_room", .type = LL_TYPE_SIZE, AT(spatial.pass_room_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = MOST_BYTES, .otherwise = "0B",
     .help = "what a pass over a convolution has of the memory in front of it: sums of whole rows of the output (OX), and "
             "twice the rows of the image that come in; weights come again for each pass. The first unroll that suits is "
             "used: whose filter (FY, FX) is the layer's, whose OY divides its rows, and that finds room; else the first "
             "but for OY; else the fastest. 0B: any room, and the fastest"},
    {.key = "weight_load", .type = LL_TYPE_NUMBER, AT(spatial.weight_load), .min = 0, .max = MOST_RATE, .otherwise = "0",
     .help = "weights that come into the elements a cycle, for which they wait; 0: weights come while others are used"},
    {.key = "macs", .type = LL_TYPE_DTYPES, AT(spatial.macs), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "multiply-accumulates per processing element and cycle, by dtype"},
};

static const struct ll_field vector_fields[] = {
    {.key = "lanes", .type = LL_TYPE_WHOLE, AT(vector.lanes), .required = true, .min = 1, .max = MOST_UNITS,
     .help = "elements processed in parallel"},
    {.key = "flops", .type = LL_TYPE_DTYPES, AT(vector.flops), .required = true, .min = POSITIVE, .max = MOST_RATE,
     .help = "operations per lane and cycle, by dtype; a fused multiply-add counts as two"},
    {.key = "casts", .type = LL_TYPE_DTYPES, AT(vector.casts), .min = POSITIVE, .max = MOST_RATE,
     .help = "elements per unit and cycle converted from or to a dtype that the machine stores but computes "
             "in a wider one; for dtypes not given, conversion takes no time"},
    {.key = "special_functions", .type = LL_TYPE_NUMBER, AT(vector.specials), .min = 0, .max = MOST_RATE,
     .otherwise = "0",
     .help = "exponentials, logarithms, roots, quotients and sines per lane and cycle, in hardware of their own while "
             "lanes do what is around them; 0: lanes do them, as operations like any other"},
};

const struct ll_field_table ll_fields_SYSTOLIC = {
    TABLE("systolic unit", systolic_fields, struct ll_unit), .gemms_only = true};
const struct ll_field_table ll_fields_MATRIX = {
    TABLE("matrix unit", matrix_fields, struct ll_unit), .gemms_only = true};
const struct ll_field_table ll_fields_SPATIAL = {
    TABLE("spatial unit", spatial_fields, struct ll_unit), .gemms_only = true};
const struct ll_field_table ll_fields_VECTOR = {TABLE("vector unit", vector_fields, struct ll_unit)};

static const struct ll_field_table *const unit_variants[] = {
#define LL_UNIT_MODEL(word, ...) &ll_fields_##word,
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL
};

static const struct ll_field unit_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "model", .type = LL_TYPE_CHOICE, AT(model), .required = true, .choices = unit_models,
     .help = "how it computes: see unit models"},
    {.key = "count", .type = LL_TYPE_WHOLE, AT(count), .min = 1, .max = MOST_UNITS, .otherwise = "1",
     .help = "number of such units in the machine"},
    {.key = "clock", .type = LL_TYPE_QUANTITY, AT(clock_hz), .dimension = LL_DIMENSION_FREQUENCY, .min = 1,
     .max = MOST_HZ,
     .help = "its own clock (default: the machine's)"},
    {.key = "rate_of_full", .type = LL_TYPE_NUMBER, AT(rate_of_full), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "its rate over that of the family's full parts, on which kernels were measured: what these lose beside the "
             "multiplications takes as many cycles here"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the peak rate that it sustains"},
    {.key = "runs", .type = LL_TYPE_RUNS, AT(runs), .given_offset = offsetof(struct ll_unit, runs_listed),
     .help = "op classes or kinds that it runs; when not given, all that no other unit lists"},
    {.key = "line_align", .type = LL_TYPE_SIZE, AT(line_align), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = MOST_BYTES, .otherwise = "0B",
     .help = "it only takes GEMMs whose n and k are multiples of so many bytes, but for convolutions; other "
             "work goes to the next unit"},
    {.key = "align", .type = LL_TYPE_WHOLE, AT(align), .min = 1, .max = MOST_UNITS,
     .help = "it only takes unbatched GEMMs with at least two of m, n and k divisible by this; "
             "other work goes to the next unit. When not given, it takes all work"},
    {.key = "sum_bytes", .type = LL_TYPE_WHOLE, AT(sum_bytes), .min = 1, .max = 16,
     .help = "bytes of a partial sum, wherever it is kept until it is whole, but no fewer than its result has; when not "
             "given, 4"},
    {.key = "skips", .type = LL_TYPE_PATTERN, AT(skips),
     .help = "of each so many neighbours of the right operand along k it multiplies only so many, and takes as "
             "long as for these: 2:4 is two of four. It serves operands of which as few are left (sim --prune)"},
    {.key = "skips_unstructured", .type = LL_TYPE_WHOLE, AT(skips_unstructured), .min = 1, .max = MOST_UNITS,
     .help = "it multiplies only what is not zero of the right operand, wherever that lies, and so many columns "
             "of it go in step: they wait for the one of which most is left (sim --prune). When not given, it "
             "multiplies zeros, too"},
    {.key = "skips_inputs", .type = LL_TYPE_WHOLE, AT(skips_inputs), .min = 1, .max = MOST_UNITS,
     .help = "it multiplies only what is not zero of the left operand, wherever that lies, and so many rows of it "
             "go in step (sim --activation-sparsity). When not given, it multiplies zeros, too"},
    {.key = "packs_rows", .type = LL_TYPE_WHOLE, AT(packs_rows), .min = 1, .max = 65536,
     .help = "of so many rows of the left operand it takes, for each step of k, what is not zero side by side, "
             "`row_step` at a time, each with each of the columns"},
    {.key = "row_step", .type = LL_TYPE_WHOLE, AT(row_step), .min = 1, .max = 65536, .otherwise = "1",
     .help = "rows that it takes at a time, where it packs them"},
    {.key = "packs_columns", .type = LL_TYPE_WHOLE, AT(packs_columns), .min = 1, .max = 65536,
     .help = "of so many columns of the right operand it takes, for each step of k, what is not zero side by side, "
             "`column_step` at a time"},
    {.key = "column_step", .type = LL_TYPE_WHOLE, AT(column_step), .min = 1, .max = 65536, .otherwise = "1",
     .help = "columns that it takes at a time, where it packs them"},
    {.key = "gates_zeros", .type = LL_TYPE_BOOL, AT(gates_zeros), .otherwise = "false",
     .help = "whether a multiplication by a zero takes no energy, though it takes its time"},
    {.key = "inputs_stored", .type = LL_TYPE_CHOICE, AT(inputs_stored), .choices = places, .otherwise = "dense",
     .help = "how memories hold the left operand where it has zeros: `dense`; `bitmask`, a bit each place and the "
             "other words; `coordinates` or `runs`, with each other word `place_bits` of its place or of zeros before "
             "it"},
    {.key = "place_bits", .type = LL_TYPE_NUMBER, AT(place_bits), .min = 1, .max = 64, .otherwise = "4",
     .help = "bits of a place or of a run of zeros, where they go with words"},
};
#undef AT

static const struct ll_field_table unit_table = {
    TABLE("unit", unit_fields, struct ll_unit), .variants = unit_variants, .variant_count = COUNT_OF(unit_variants),
    .variant_offset = offsetof(struct ll_unit, model)};

#define AT(member) .offset = offsetof(struct ll_cache_level, member)
static const struct ll_field cache_fields[] = {
    {.key = "ways", .type = LL_TYPE_WHOLE, AT(ways), .min = 1, .max = UINT32_MAX,
     .help = "lines per set; the level's size must make a whole number of sets. What ops find of earlier ones, "
             "and steps of a sequence of its weights, fades with few ways (not with `policy: random`), since some "
             "sets fill sooner than others; when not given, it is fully associative"},
    {.key = "line", .type = LL_TYPE_SIZE, AT(line_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1, .max = 1 << 20,
     .otherwise = "64B",
     .help = "size of a line, a power of two"},
    {.key = "policy", .type = LL_TYPE_CHOICE, AT(policy), .choices = cache_policies, .otherwise = "lru",
     .help = "which line of a full set is evicted; of data that come around in rounds longer than the cache the "
             "next op finds a part with random, nothing with the others"},
    {.key = "admission", .type = LL_TYPE_NUMBER, AT(admission), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the lines that come which it lets in: the less, the longer what has come often withstands "
             "what comes once"},
    {.key = "inclusion", .type = LL_TYPE_CHOICE, AT(inclusion), .choices = inclusions, .otherwise = "non-inclusive",
     .help = "for `leadline cache`: whether it also holds what the caches nearer to the unit hold, as it "
             "happens, always, or never"},
    {.key = "prefetch", .type = LL_TYPE_CHOICE, AT(prefetch), .choices = prefetches, .otherwise = "none",
     .help = "for `leadline cache`: what it fetches before it is asked for"},
    {.key = "write_through", .type = LL_TYPE_BOOL, AT(write_through), .otherwise = "false",
     .help = "for `leadline cache`: whether writes are passed outwards at once, not when their line is evicted"},
    {.key = "write_around", .type = LL_TYPE_BOOL, AT(write_around), .otherwise = "false",
     .help = "for `leadline cache`: whether a write that misses is passed outwards without fetching its line"},
    {.key = "non_overlapping", .type = LL_TYPE_BOOL, AT(non_overlapping), .otherwise = "false",
     .help = "whether what it does not have comes instead of what it has, not beside it, as where a core can wait for "
             "few lines at a time: the times of the two then add up; not with searched mappings"},
    {.key = "affinity", .type = LL_TYPE_BOOL, AT(affinity), .otherwise = "false",
     .help = "whether it stands for the units' own caches, as large as all of them: GEMMs, and ops that are "
             "none, then find only what their like have left there"},
    {.key = "invalidation", .type = LL_TYPE_QUANTITY, AT(invalidation_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "of a line that an op overwrites there while other units have copies of it, until they have dropped "
             "them: where all have read it, as each reads the operand of a GEMM that is not cut"},
    {.key = "corunners", .type = LL_TYPE_QUANTITY, AT(corunners_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 0,
     .max = MOST_BPS, .otherwise = "0B/s",
     .help = "what programs that run beside this one, and are not simulated, bring into it: the longer something "
             "has not been used, the less is left of it"},
};
#undef AT
static const struct ll_field_table cache_table = {TABLE("cache", cache_fields, struct ll_cache_level)};

#define AT(member) .offset = offsetof(struct ll_numa, member)
static const struct ll_field numa_fields[] = {
    {.key = "nodes", .type = LL_TYPE_WHOLE, AT(nodes), .required = true, .min = 2, .max = MOST_UNITS,
     .help = "how many, each with as many of the units and as much of the bandwidth"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(link_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .required = true,
     .min = 1, .max = MOST_BPS,
     .help = "of the link between any two of them, in one direction"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "what an access to another node takes beside the memory's own latency"},
};
#undef AT
static const struct ll_field_table numa_table = {TABLE("numa", numa_fields, struct ll_numa)};

#define AT(member) .offset = offsetof(struct ll_level, member)
static const struct ll_field level_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "size", .type = LL_TYPE_SIZE, AT(size_bytes), .dimension = LL_DIMENSION_SIZE, .required = true,
     .min = 1, .max = MOST_BYTES,
     .help = "capacity of one instance"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "bandwidth of one instance, both directions together; B/cycle counts the machine's clock; when "
             "not given, the sum of its two ports, or of all channels of `dram`; with two ports never more than theirs"},
    {.key = "read_bandwidth", .type = LL_TYPE_QUANTITY, AT(read_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "bandwidth of reads, where they have a port of their own"},
    {.key = "write_bandwidth", .type = LL_TYPE_QUANTITY, AT(write_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "bandwidth of writes (results and partial sums), where they have a port of their own"},
    {.key = "unit_bandwidth", .type = LL_TYPE_QUANTITY, AT(unit_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "the most that one unit draws from an instance that it shares, limited by the misses that it can have "
             "in flight; not with ports of its own; when not given, all"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the bandwidth that it sustains; when not given and there is a `dram`, the share that "
             "a stream of accesses reaches there"},
    {.key = "dram", .type = LL_TYPE_TEXT, AT(dram), .choices = drams,
     .help = "kind of DRAM, as `leadline dram` lists them; access to scattered rows is then slower"},
    {.key = "rest", .type = LL_TYPE_CHOICE, AT(rest), .choices = rests, .otherwise = "standby",
     .help = "what channels of a `dram` do while they move nothing, where energy follows from its currents: stand with their "
             "rows closed, be powered down (power_down), refresh themselves (self_refresh); waking them takes no time"},
    {.key = "channels", .type = LL_TYPE_WHOLE, AT(channels), .min = 1, .max = 1u << 30,
     .help = "number of `dram` channels, each with banks of its own; when not given, as many as make up the "
             "bandwidth"},
    {.key = "access", .type = LL_TYPE_SIZE, AT(access_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1,
     .max = MOST_BYTES,
     .help = "smallest transfer: of rows picked by index, unwanted bytes up to this come along; at least a "
             "burst of `dram`"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "latency of an access that nothing hides"},
    {.key = "scope", .type = LL_TYPE_CHOICE, AT(scope), .choices = scopes, .otherwise = "device",
     .help = "what shares one instance: the whole device, one unit, or a cluster of units. Of memories of which "
             "there are several none keeps anything for the next op; where software has each unit find its own "
             "share there again, describe them as one, with `unit_bandwidth`"},
    {.key = "share", .type = LL_TYPE_WHOLE, AT(share), .min = 1, .max = MOST_UNITS,
     .help = "how many units share an instance, for scope cluster"},
    {.key = "double_buffer", .type = LL_TYPE_CHOICE, AT(buffering), .choices = bufferings, .otherwise = "true",
     .help = "whether the next block loads into one half while the other half is in use; if not, one block "
             "takes the whole level and loading waits; circular: what loads takes the place of what is done with, line "
             "by line, so that blocks take the whole level and loading does not wait"},
    {.key = "passing_overlaps", .type = LL_TYPE_BOOL, AT(passing_overlaps), .otherwise = "false",
     .help = "with `double_buffer: false`, whether operands that it does not hold come while those that it does are worked on"},
    {.key = "holds", .type = LL_TYPE_OPERANDS, AT(holds), .given_offset = offsetof(struct ll_level, holds_given),
     .help = "operands that it keeps, as [input, weight, output] or [a, b, c]; others bypass it; when not "
             "given, all. What is kept for the next op is what it holds then, too: results for a layer that "
             "takes them as input, in a memory of [input, output]. Where operands reach one memory out of several "
             "levels, each level's are blocked as suits them alone: a lower bound, by which holding fewer may look "
             "better than it is. `leadline cache` lets all operands through every cache"},
    {.key = "on_chip", .type = LL_TYPE_BOOL, AT(on_chip), .given_offset = offsetof(struct ll_level, on_chip_given),
     .help = "whether it lies on the chip, for areas, energy and price; when not given, every level does but the "
             "outermost"},
    {.key = "keeps_weights", .type = LL_TYPE_BOOL, AT(keeps_weights), .otherwise = "false",
     .help = "whether weights lie here for good, inference after inference, as many as there is room for beside the largest "
             "op's other operands, so that also the first step finds them: not with `cache`, nor in training, which writes "
             "them"},
    {.key = "tile", .type = LL_TYPE_TILE, AT(tile),
     .help = "m x n x k of a GEMM that software keeps in it, with `mapping: search`, which then looks for the rest "
             "alone: no larger than the GEMM, its longest side halved until it fits, and no larger than the tile "
             "around it; of a convolution m are pixels of the result, n channels of the result, k taps times "
             "channels of the image; when not given, any"},
    {.key = "loops", .type = LL_TYPE_TEXT, AT(loops), .choices = loop_orders,
     .help = "order of the loops that bring such tiles, outermost first; when not given, any"},
    {.key = "cache", .type = LL_TYPE_OBJECT, AT(cache), .table = &cache_table,
     .given_offset = offsetof(struct ll_level, cache_given),
     .help = "what kind of cache it is, for `leadline cache` and for what ops find of earlier ones; when not "
             "given, software fills the level"},
    {.key = "numa", .type = LL_TYPE_OBJECT, AT(numa), .table = &numa_table,
     .given_offset = offsetof(struct ll_level, numa_given),
     .help = "of a memory of the whole device that lies in several nodes, as with the sockets of a board: what "
             "passes between them; when not given, it is in one piece"},
    {.key = "accesses", .type = LL_TYPE_OBJECT, AT(accesses), .table = &ll_accesses_table,
     .given_offset = offsetof(struct ll_level, accesses_given),
     .help = "width, ports and energy of an access, for arrays; when not given, ports follow from the bandwidth, and "
             "energy from the energy section"},
};
#undef AT
static const struct ll_field_table level_table = {TABLE("memory level", level_fields, struct ll_level)};

#define AT(member) .offset = offsetof(struct ll_kernel, member)
static const struct ll_field kernel_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "ops", .type = LL_TYPE_RUNS, AT(ops), .required = true,
     .help = "op classes or kinds that it runs; an op goes to the first kernel that lists it"},
    {.key = "launch_overhead", .type = LL_TYPE_QUANTITY, AT(launch_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS,
     .help = "time to start it, instead of op_overhead"},
    {.key = "launch_overlap", .type = LL_TYPE_NUMBER, AT(launch_overlap), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of the starting time that the host spends while the device is already working"},
    {.key = "compute_efficiency", .type = LL_TYPE_NUMBER, AT(compute_efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of its unit's rate that it reaches"},
    {.key = "bandwidth_efficiency", .type = LL_TYPE_NUMBER, AT(bandwidth_efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of every level's bandwidth that it reaches"},
    {.key = "passes", .type = LL_TYPE_NUMBER, AT(passes), .min = 1, .max = MOST_RATE, .otherwise = "1",
     .help = "how many times it moves its operands; for GEMMs their blocking tells"},
    {.key = "max_register_row", .type = LL_TYPE_WHOLE, AT(max_register_row), .min = 0, .max = UINT32_MAX, .otherwise = "0",
     .help = "longest row, in elements, that it keeps in registers, as of a softmax: such rows are read once and computed "
             "at the full rate; `passes`, `rows_in_flight` and `row_overhead` apply to longer rows only; 0: to all"},
    {.key = "rows_in_flight", .type = LL_TYPE_WHOLE, AT(rows_in_flight), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "rows that a unit processes in parallel; 0: elements are divided evenly"},
    {.key = "row_overhead", .type = LL_TYPE_QUANTITY, AT(row_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time that a unit takes to begin a row that is not kept in registers, or another unbroken run of elements"},
    {.key = "strided_efficiency", .type = LL_TYPE_NUMBER, AT(strided_efficiency), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of `compute_efficiency` that convolutions of a stride above 1 reach; 0: all"},
    {.key = "max_units", .type = LL_TYPE_WHOLE, AT(max_units), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "the most units that it can use; 0: all"},
    {.key = "dram_efficiency", .type = LL_TYPE_NUMBER, AT(dram_efficiency), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of the outermost level's bandwidth that it reaches; 0: `bandwidth_efficiency`"},
    {.key = "serial", .type = LL_TYPE_NUMBER, AT(serial), .min = 0, .max = 1, .otherwise = "0",
     .help = "how little it overlaps: the share of the time of arithmetic and of all levels but the slowest "
             "that is added to the slowest"},
    {.key = "dtype", .type = LL_TYPE_CHOICE, AT(dtype), .choices = kernel_dtypes, .otherwise = "any",
     .help = "it runs only ops on elements of this type; others go to the next kernel"},
    {.key = "partition", .type = LL_TYPE_WHOLE, AT(partition), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "lines of a GEMM's result that are given to a unit as one piece; 0: divided evenly"},
};
#undef AT
static const struct ll_field_table kernel_table = {TABLE("kernel", kernel_fields, struct ll_kernel)};

#define AT(member) .offset = offsetof(struct ll_transform, member)
static const struct ll_field transform_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "size", .type = LL_TYPE_WHOLE, AT(size), .required = true, .min = 2, .max = 1024,
     .help = "input points of a tile along one axis; it yields size - filter + 1 outputs. Winograd's F(2, "
             "3) has 4"},
    {.key = "least_filter", .type = LL_TYPE_WHOLE, AT(least_filter), .min = 1, .max = 1024, .otherwise = "2",
     .help = "smallest filter that it serves, along either axis"},
    {.key = "most_filter", .type = LL_TYPE_WHOLE, AT(most_filter), .required = true, .min = 1, .max = 1024,
     .help = "largest filter that it serves, along either axis"},
    {.key = "products", .type = LL_TYPE_WHOLE, AT(products), .min = 1, .max = 16, .otherwise = "1",
     .help = "real multiplications per point: 1 for Winograd, 2 for Fourier transforms of real images"},
    {.key = "rate", .type = LL_TYPE_DTYPES, AT(rate), .required = true, .min = POSITIVE, .max = 1,
     .help = "share of the unit's rate that its GEMMs reach, by the dtypes for which it is offered"},
    {.key = "fused", .type = LL_TYPE_BOOL, AT(fused), .otherwise = "false",
     .help = "whether tiles are transformed as they are loaded and stored, not in passes of their own"},
    {.key = "absent", .type = LL_TYPE_BOOL, AT(absent), .otherwise = "false",
     .help = "whether to take this transform away again from what is inherited, because this library, or "
             "this use of it, does not have it"},
    {.key = "only_filter_gradients", .type = LL_TYPE_BOOL, AT(only_filter_gradients), .otherwise = "false",
     .help = "whether the library uses it for the gradient of filters alone"},
    {.key = "overhead", .type = LL_TYPE_QUANTITY, AT(overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS,
     .help = "time to start all of its kernels, instead of that of other convolutions; what is more delays this "
             "op alone"},
};
#undef AT
static const struct ll_field_table transform_table = {TABLE("transform", transform_fields, struct ll_transform)};


#define AT(member) .offset = offsetof(struct ll_collective_kernel, member)
static const struct ll_field collective_kernel_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "runs", .type = LL_TYPE_CHOICE, AT(runs), .choices = collectives, .otherwise = "all_reduce",
     .help = "the collective that it carries out"},
    {.key = "algorithm", .type = LL_TYPE_CHOICE, AT(algorithm), .required = true, .choices = algorithms,
     .help = "how: one_shot, direct (two-shot for an all-reduce), in_network, ..."},
    {.key = "start", .type = LL_TYPE_QUANTITY, AT(start_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time to start it and to wait for all devices, instead of collective_overhead and latencies"},
    {.key = "peer", .type = LL_TYPE_QUANTITY, AT(peer_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time that each further device adds to that"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share that it reaches of what the links carry (bandwidth x efficiency, of in_network x in_network)"},
    {.key = "once_a_node", .type = LL_TYPE_BOOL, AT(once_a_node), .otherwise = "false",
     .help = "whether rows of an all-to-all that go to several devices of a node cross the network once, and are passed on there"},
    {.key = "limits_KiB", .type = LL_TYPE_NUMBERS, AT(limits_bytes), .required = true, .min = 0, .max = MOST_BYTES, .unit = "KiB",
     .count_offset = offsetof(struct ll_collective_kernel, limit_count),
     .help = "the most KiB that it serves among 2, among 3 or 4, among 5 to 8 devices and among more, as [8192, 512, 256]; 0, "
             "and of those left out: it does not serve them"},
};
#undef AT
static const struct ll_field_table collective_kernel_table = {
    TABLE("collective kernel", collective_kernel_fields, struct ll_collective_kernel)};

#define AT(member) .offset = offsetof(struct ll_training, member)
static const struct ll_field training_fields[] = {
    {.key = "gradient_buffers", .type = LL_TYPE_BOOL, AT(gradient_buffers), .otherwise = "false",
     .help = "whether gradients of weights lie in buffers that stay from step to step"},
    {.key = "unused_weight_gradients", .type = LL_TYPE_BOOL, AT(unused_weight_gradients), .otherwise = "false",
     .help = "whether GEMMs that add up gradients by themselves return a tensor in place of these, one for each "
             "distinct shape of weights, which stays; the projection onto tokens makes one for the time of its own"},
    {.key = "gather_buffer", .type = LL_TYPE_BOOL, AT(gather_buffer), .otherwise = "false",
     .help = "whether, with sequence parallelism, a buffer for the largest gathered tensor stays"},
    {.key = "norm_statistics", .type = LL_TYPE_BOOL, AT(norm_statistics), .otherwise = "false",
     .help = "whether norms keep a number of 32 bits for each row until their backward pass"},
    {.key = "expert_rows", .type = LL_TYPE_BOOL, AT(expert_rows), .otherwise = "false",
     .help = "whether layers of experts keep rows as they were dispatched, what the first GEMM made and what the second "
             "one reads, where they are one op; and what routes tokens"},
    {.key = "gradient_passes", .type = LL_TYPE_NUMBER, AT(gradient_passes), .min = 0, .max = 100, .otherwise = "0",
     .help = "how often gradients of weights are read or written once a step beside their exchange and the update, as to "
             "be zeroed and checked"},
    {.key = "averaging_passes", .type = LL_TYPE_NUMBER, AT(averaging_passes), .min = 0, .max = 100, .otherwise = "0",
     .help = "the same where there are replicas, as to be averaged"},
    {.key = "workspace", .type = LL_TYPE_SIZE, AT(workspace_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = 0x1p40, .otherwise = "0B",
     .help = "workspaces of GEMM libraries, which stay from the first call on"},
    {.key = "expert_workspace", .type = LL_TYPE_SIZE, AT(expert_workspace_bytes), .dimension = LL_DIMENSION_SIZE,
     .min = 0, .max = 0x1p40, .otherwise = "0B",
     .help = "the same of grouped GEMMs, where there are experts"},
    {.key = "context", .type = LL_TYPE_SIZE, AT(context_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0, .max = 0x1p40,
     .otherwise = "0B",
     .help = "what the driver, kernels and libraries of a process take of the device's memory, beside the framework's "
             "allocator"},
    {.key = "collective_channels", .type = LL_TYPE_WHOLE, AT(collective_channels), .min = 0, .max = 1024, .otherwise = "0",
     .help = "channels around the ring of each communicator (NCCL), each with buffers of its own"},
    {.key = "message_channels", .type = LL_TYPE_WHOLE, AT(message_channels), .min = 0, .max = 1024, .otherwise = "0",
     .help = "the same to each other device of the innermost level of the network to which an all-to-all or a message "
             "goes"},
    {.key = "channel_buffer", .type = LL_TYPE_SIZE, AT(channel_bytes), .dimension = LL_DIMENSION_SIZE, .min = 0,
     .max = 0x1p40, .otherwise = "0B",
     .help = "buffers of a channel between two devices, both ways"},
};
#undef AT
static const struct ll_field_table training_table = {TABLE("training section", training_fields, struct ll_training)};

#define AT(member) .offset = offsetof(struct ll_software, member)
static const struct ll_field software_fields[] = {
    {.key = "op_overhead", .type = LL_TYPE_QUANTITY, AT(op_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time to start one op"},
    {.key = "queue", .type = LL_TYPE_WHOLE, AT(queue), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "ops that the host may start ahead of the device, which hides the time to start them; 0: an op "
             "is started only when its turn has come"},
    {.key = "loop_overhead", .type = LL_TYPE_QUANTITY, AT(loop_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "with a queue: time from when the device has done a turn of a loop over time until the host has decided "
             "on the next one and starts its first op; a turn begins with the op that reads the same weights "
             "again. 0: the host does not wait, as where loops are unrolled"},
    {.key = "gap", .type = LL_TYPE_QUANTITY, AT(gap_s), .dimension = LL_DIMENSION_TIME, .min = 0, .max = MOST_SECONDS,
     .otherwise = "0s",
     .help = "time that the device idles before an op even when the host is ahead: one kernel drains, the "
             "next one fills"},
    {.key = "step_overhead", .type = LL_TYPE_QUANTITY, AT(step_overhead_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time that each dependent step of a sequence, such as a recurrent layer, costs beside its work, and "
             "each pass that lays an operand of a convolution out anew"},
    {.key = "grain", .type = LL_TYPE_NUMBER, AT(grain), .min = 0, .max = 1e15, .otherwise = "0",
     .help = "FLOPs (or bytes, if more) for which one unit is used: an op gets its work divided by this, at "
             "least one unit; 0: all units"},
    {.key = "fusion", .type = LL_TYPE_CHOICE, AT(fusion), .choices = fusions, .otherwise = "none",
     .help = "which ops the software fuses, so that what they hand on stays on chip: element-wise ones into "
             "any op before them (elementwise), or only into ops that are no GEMMs (chains); these, pooling and local "
             "normalisation into any op before them, which works at the same time and writes the last one's result, "
             "as pipelines behind a convolution core do (layers)"},
    {.key = "convolution", .type = LL_TYPE_CHOICE, AT(convolving), .choices = convolving, .otherwise = "direct",
     .help = "how convolutions are computed: directly, as GEMMs over windows in place; or image "
             "by image over windows copied to columns, without transforms"},
    {.key = "strided_data_gradient", .type = LL_TYPE_CHOICE, AT(strided), .choices = strided, .otherwise = "exact",
     .help = "how the gradient of a strided convolution's input is computed: with no more work than it "
             "needs (exact); as the faster of what libraries do: spreading zeros between, or scattering "
             "into a cleared image (library); or as a convolution of stride 1 for each remainder of the stride "
             "(phases), which also multiplies what lies past the border of an unpadded one's result"},
    {.key = "layout_transform", .type = LL_TYPE_DTYPES, AT(layout_transform), .min = 0, .max = 1,
     .help = "by dtype: share of the outermost level's bandwidth that the passes reach in which operands and result of a "
             "convolution are laid out anew, because its kernels want channels last; 1x1 filters of stride 1 need "
             "none where the pixels of a channel are whole loads of 16 bytes. 0, and of dtypes not given: they are taken as they are"},
    {.key = "group_block", .type = LL_TYPE_WHOLE, AT(group_block), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "channels of a grouped convolution that the compiler may compute together as those of a dense one, with zeros "
             "between their groups, where that is faster; 0: each group by itself"},
    {.key = "depthwise_efficiency", .type = LL_TYPE_NUMBER, AT(depthwise_efficiency), .min = 0, .max = 1, .otherwise = "0",
     .help = "share of their rate that vector lanes reach in convolutions whose groups take one channel each, "
             "element by element (needs a vector unit for them); 0: those are convolved as others are"},
    {.key = "mapping", .type = LL_TYPE_CHOICE, AT(mapping), .choices = mappings, .otherwise = "closed_form",
     .help = "how GEMMs are blocked for the memory levels: each level on its own by formula, or "
             "by a search over nested tiles"},
    {.key = "objective", .type = LL_TYPE_CHOICE, AT(objective), .choices = objectives, .otherwise = "time",
     .help = "by what algorithms, tiles and blockings are chosen, and what `mapping: search` minimizes: time, energy, or energy times time"},
    {.key = "early_updates", .type = LL_TYPE_BOOL, AT(early_updates), .otherwise = "false",
     .help = "whether weights are updated right after their gradients, which then need not live until the "
             "end of the step"},
    {.key = "collectives", .type = LL_TYPE_CHOICE, AT(collectives), .choices = algorithms, .otherwise = "fastest",
     .help = "how devices exchange data: always in the same way, or in the fastest way each time"},
    {.key = "tuner", .type = LL_TYPE_CHOICE, AT(tuner), .choices = tuners, .otherwise = "none",
     .help = "library whose cost table `collectives: tuned` goes by (sim/machine/tuners.def)"},
    {.key = "collective_overhead", .type = LL_TYPE_QUANTITY, AT(collective_overhead_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time to start a collective on all its devices, until the first byte leaves"},
    {.key = "message_overhead", .type = LL_TYPE_QUANTITY, AT(message_overhead_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS,
     .help = "time to start a message from one device to another (default: collective_overhead)"},
    {.key = "collective_dispatch", .type = LL_TYPE_QUANTITY, AT(collective_dispatch_s), .dimension = LL_DIMENSION_TIME,
     .min = 0, .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time that a framework adds to each collective before the library starts it (collective_overhead)"},
    {.key = "eager_collective", .type = LL_TYPE_QUANTITY, AT(eager_collective_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "host time of a collective that no captured graph holds: it takes no less; its data are copied into a buffer that all "
             "devices know, through the outermost memory, by one more kernel (collective_overhead)"},
    {.key = "collective_kernels", .type = LL_TYPE_LIST, AT(collective_kernels),
     .count_offset = offsetof(struct ll_software, collective_kernel_count), .table = &collective_kernel_table,
     .max = LL_MAX_COLLECTIVE_KERNELS,
     .help = "kernels of the stack's own for collectives; the first that serves is used in place of "
             "the library, of an all-reduce the fastest of these and the library"},
    {.key = "kernels", .type = LL_TYPE_LIST, AT(kernels), .count_offset = offsetof(struct ll_software, kernel_count),
     .table = &kernel_table, .max = LL_MAX_KERNELS,
     .help = "how well the stack's kernels use the machine"},
    {.key = "transforms", .type = LL_TYPE_LIST, AT(transforms),
     .count_offset = offsetof(struct ll_software, transform_count), .table = &transform_table,
     .max = LL_MAX_TRANSFORMS,
     .help = "ways to convolve in a transformed domain, offered beside the direct one; the fastest is used"},
    {.key = "attention", .type = LL_TYPE_LIST, AT(attention),
     .count_offset = offsetof(struct ll_software, attention_count), .table = &ll_attention_table,
     .max = LL_MAX_ATTENTION_KERNELS,
     .help = "fused attention kernels, of types of 16 and 8 bits; the last that is for what is asked runs it, and where none is, attention is "
             "costed as GEMMs with a softmax between"},
    {.key = "experts", .type = LL_TYPE_LIST, AT(experts), .count_offset = offsetof(struct ll_software, expert_count),
     .table = &ll_expert_table, .max = LL_MAX_EXPERT_KERNELS,
     .help = "grouped GEMMs of experts (MoE); the first that is for the format, and the backend where one is asked for, runs "
             "them, and where none is, they are costed as batched GEMMs"},
    {.key = "linear", .type = LL_TYPE_LIST, AT(linear), .count_offset = offsetof(struct ll_software, linear_count),
     .table = &ll_linear_table, .max = LL_MAX_LINEAR_KERNELS,
     .help = "quantized linear layers; the first that is for the format, and the backend where one is asked for, runs them, "
             "and where none is, they are GEMMs like others"},
    {.key = "training", .type = LL_TYPE_OBJECT, AT(training), .table = &training_table,
     .help = "what a training framework keeps in memory beside a step's tensors"},
};
#undef AT
static const struct ll_field_table software_table = {TABLE("software section", software_fields, struct ll_software)};

#define AT(member) .offset = offsetof(struct ll_host, member)
static const struct ll_field host_fields[] = {
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "bandwidth of the path from host memory to the device; when not given, inputs are there "
             "already"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "latency of one transfer"},
    {.key = "cores", .type = LL_TYPE_WHOLE, AT(cores), .min = 0, .max = 65536, .otherwise = "0",
     .help = "cores of the host's processors, for their utilization; 0: not known"},
    {.key = "prepare_bandwidth", .type = LL_TYPE_QUANTITY, AT(prepare_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "rate at which one worker draws, reads or decodes input; when not given, that takes no time"},
    {.key = "encode_bandwidth", .type = LL_TYPE_QUANTITY, AT(encode_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .min = 1, .max = MOST_BPS,
     .help = "rate at which one worker writes what it makes of input before it goes to the device, such as "
             "one-hot rows of class numbers; when not given, that takes no time"},
    {.key = "workers", .type = LL_TYPE_WHOLE, AT(workers), .min = 1, .max = 65536,
     .help = "workers of the host that prepare input in parallel (default: 1)"},
    {.key = "buffered_steps", .type = LL_TYPE_WHOLE, AT(buffered_steps), .min = 1, .max = 65536, .otherwise = "2",
     .help = "steps whose input the device has buffers for: the input of a step comes when the step so many before "
             "has ended"},
    {.key = "fills_caches", .type = LL_TYPE_BOOL, AT(fills_caches), .otherwise = "false",
     .help = "whether input arrives through the device's caches, as where its own threads copy it; else in its "
             "outermost memory"},
};
#undef AT
static const struct ll_field_table host_table = {TABLE("host section", host_fields, struct ll_host)};

#define AT(member) .offset = offsetof(struct ll_network, member)
static const struct ll_field network_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "topology", .type = LL_TYPE_CHOICE, AT(topology), .required = true, .choices = topologies,
     .help = "which devices are linked to which"},
    {.key = "devices", .type = LL_TYPE_WHOLE, AT(devices), .required = true, .min = 2, .max = MOST_UNITS,
     .help = "how many devices it joins; for a further level, how many groups of the level before"},
    {.key = "shape", .type = LL_TYPE_EXTENTS, AT(shape),
     .help = "sides of a mesh or torus; of a fat tree devices per switch, switches per switch of the next "
             "layer, ...; of a dragonfly devices per router, routers per group, groups"},
    {.key = "edges", .type = LL_TYPE_TEXTS, AT(edges), .count_offset = offsetof(struct ll_network, edge_count),
     .help = "links of topology edges: 0-1 is a link each way between devices 0 and 1, 0>1 is one way, "
             "0-1x2.5 has 2.5 times the bandwidth"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .required = true, .min = 1, .max = MOST_BPS,
     .help = "bandwidth of one link in one direction"},
    {.key = "efficiency", .type = LL_TYPE_NUMBER, AT(efficiency), .min = POSITIVE, .max = 1, .otherwise = "1",
     .help = "share of the bandwidth that large messages reach"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "latency of one message over one link"},
    {.key = "chunk", .type = LL_TYPE_SIZE, AT(chunk_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1, .max = MOST_BYTES,
     .help = "bytes that a device has in flight at once, in all its buffers together. A chunk is passed on "
             "in two halves, each when it is complete, and the next one waits for the last half; through "
             "several levels the smallest of their chunks; when not given, bytes flow without gaps"},
    {.key = "chunk_latency", .type = LL_TYPE_QUANTITY, AT(chunk_latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "time to pass on half a chunk, beside `latency`"},
    {.key = "ll_efficiency", .type = LL_TYPE_NUMBER, AT(ll_efficiency), .min = POSITIVE, .max = 1,
     .help = "share of the bandwidth that NCCL's protocol LL reaches, which sends a flag with every few bytes and so waits "
             "for no half of a chunk; the faster protocol is used; through several levels the least share of theirs; "
             "when not given, there is none"},
    {.key = "ll128_efficiency", .type = LL_TYPE_NUMBER, AT(ll128_efficiency), .min = 0, .max = 1,
     .help = "the same of the protocol LL128, which sends 8 bytes of flags with 120 of data; when not given, or 0, there is none"},
    {.key = "in_network", .type = LL_TYPE_NUMBER, AT(in_network), .min = POSITIVE, .max = 1,
     .help = "for a switch that adds up what devices send and hands out copies by itself (SHARP, NVLink SHARP): "
             "share of the bandwidth that an all-reduce reaches then; when not given, it only passes on"},
    {.key = "in_network_chunk", .type = LL_TYPE_SIZE, AT(in_network_chunk_bytes), .dimension = LL_DIMENSION_SIZE,
     .min = 1, .max = MOST_BYTES,
     .help = "with `in_network`: bytes of the part that each device has added up before copies of them go out; "
             "when not given, bytes flow without gaps"},
    {.key = "port", .type = LL_TYPE_QUANTITY, AT(port_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "the most that one device sends or receives over all its links of this level; when not given, "
             "what they carry"},
    {.key = "group_port", .type = LL_TYPE_QUANTITY, AT(group_port_Bps), .dimension = LL_DIMENSION_BANDWIDTH, .min = 1,
     .max = MOST_BPS,
     .help = "for a further level: the most that a group sends or receives over all its links of this "
             "level; when not given, what they carry"},
    {.key = "links", .type = LL_TYPE_WHOLE, AT(links), .min = 0, .max = MOST_UNITS, .otherwise = "0",
     .help = "for a further level: network cards per group, which devices side by side share; 0: one per "
             "device"},
    {.key = "oversubscription", .type = LL_TYPE_NUMBER, AT(oversubscription), .min = POSITIVE, .max = 1e6, .otherwise = "1",
     .help = "for a fat tree: how many times more a switch takes in from below than it can pass upwards"},
    {.key = "pj_per_byte", .type = LL_TYPE_NUMBER, AT(j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "energy of a byte over one link, with both its ends, in pJ; what goes through a switch crosses two. "
             "When not given, exchanges over this level take none"},
    {.key = "units_taken", .type = LL_TYPE_NUMBER, AT(units_taken), .min = 0, .max = MOST_TAKEN, .otherwise = "0",
     .help = "share of a device's units that an exchange over this level keeps busy while it goes on, so that "
             "what is computed meanwhile takes 1 / (1 - share) times as long; of an exchange over several levels "
             "the largest"},
};
#undef AT
static const struct ll_field_table network_table = {TABLE("network", network_fields, struct ll_network)};

#define AT(member) .offset = offsetof(struct ll_core, member)
static const struct ll_field core_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that links, paths and reports use; of several equal cores the i-th is name.i, counted from 0"},
    {.key = "count", .type = LL_TYPE_WHOLE, AT(count), .min = 1, .max = LL_MOST_CORES, .otherwise = "1",
     .help = "how many equal cores of this kind there are"},
    {.key = "units", .type = LL_TYPE_TEXTS, AT(units), .count_offset = offsetof(struct ll_core, unit_count), .required = true,
     .help = "names of the units that each of these cores has"},
    {.key = "memory", .type = LL_TYPE_TEXTS, AT(memory), .count_offset = offsetof(struct ll_core, memory_count), .required = true,
     .help = "names of the memory levels that each of these cores has of its own; a level that the cores of two kinds "
             "name is one memory that the i-th core of each shares"},
};
#undef AT
static const struct ll_field_table core_table = {TABLE("core", core_fields, struct ll_core)};

static const char *const core_topologies[] = {
#define X(word, name, doc) name,
    LL_CORE_TOPOLOGY_LIST(X)
#undef X
    NULL};
#define AT(member) .offset = offsetof(struct ll_core_link, member)
static const struct ll_field core_link_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true,
     .help = "name that paths and reports use"},
    {.key = "topology", .type = LL_TYPE_CHOICE, AT(topology), .required = true, .choices = core_topologies,
     .help = "bus: one medium that all of them share; mesh: rows and columns as `shape` says, in the order of `joins`; "
             "ring: each with the next; star: the first with each other"},
    {.key = "joins", .type = LL_TYPE_TEXTS, AT(joins), .count_offset = offsetof(struct ll_core_link, join_count), .required = true,
     .help = "what it joins, in order: a kind of core (all of them), one core as name.0, or the outermost memory"},
    {.key = "shape", .type = LL_TYPE_EXTENTS, AT(shape), .help = "rows and columns of a mesh, as 2x2"},
    {.key = "bandwidth", .type = LL_TYPE_QUANTITY, AT(bandwidth_Bps), .dimension = LL_DIMENSION_BANDWIDTH,
     .required = true, .min = 1, .max = MOST_BPS,
     .help = "of a bus all that passes; of one link, of the others, in one direction"},
    {.key = "latency", .type = LL_TYPE_QUANTITY, AT(latency_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = MOST_SECONDS, .otherwise = "0s",
     .help = "from the last byte that leaves one end of a link until it is at the other"},
    {.key = "pj_per_byte", .type = LL_TYPE_NUMBER, AT(j_per_byte), .unit = "pJ/B", .min = 0, .max = 1, .otherwise = "0",
     .help = "energy of a byte over one link, in pJ; 0: by `length_mm`"},
    {.key = "length_mm", .type = LL_TYPE_NUMBER, AT(length_mm), .min = 0, .max = 1e6, .otherwise = "0",
     .help = "length of one link, in mm, which its wires and the router behind it make energy of, by the node; 0 as well: links "
             "take none"},
};
#undef AT
static const struct ll_field_table core_link_table = {TABLE("link between cores", core_link_fields, struct ll_core_link)};

#define AT(member) .offset = offsetof(struct ll_energy, member)
static const struct ll_field energy_fields[] = {
    {.key = "mac_pj", .type = LL_TYPE_DTYPES, AT(mac_j), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "energy of one multiply-accumulate, by dtype, in pJ; a type without a figure takes that of a type of "
             "its size, or of the next larger one, or where there is none of the largest; a floating-point type asks "
             "the floating-point ones first"},
    {.key = "op_pj", .type = LL_TYPE_DTYPES, AT(op_j), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "energy of one operation of ops that are no GEMMs, by dtype, in pJ (default: half of "
             "`mac_pj`)"},
    {.key = "<level>_pj_per_byte", .type = LL_TYPE_LEVELS, AT(level_j_per_byte), .unit = "pJ/B", .min = POSITIVE,
     .max = 1,
     .help = "energy of a byte that is read out of that memory level or written into it, in pJ, as in "
             "`hbm_pj_per_byte: 31`; one that goes from a level to the next is read in one and written in the other"},
    {.key = "on_chip_pj", .type = LL_TYPE_NUMBER, AT(on_chip_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "energy of a byte out of a level of 1 KiB or into it, in pJ; every level on the chip that "
             "has no figure of its own takes this times the square root of its KiB"},
    {.key = "on_chip_bank", .type = LL_TYPE_SIZE, AT(on_chip_bank_bytes), .dimension = LL_DIMENSION_SIZE, .min = 1,
     .max = MOST_BYTES,
     .help = "levels larger than this count as this large for `on_chip_pj`; when not given, they count as "
             "large as they are"},
    {.key = "register_pj_per_bit", .type = LL_TYPE_NUMBER, AT(register_j_per_bit), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "energy of a bit that is read from a register file of an array or written into it, in pJ, where the file has no "
             "figures of its own; with `decode_pj_per_bit`. When not given, registers go by `on_chip_pj`"},
    {.key = "decode_pj_per_bit", .type = LL_TYPE_NUMBER, AT(decode_j_per_bit), .unit = "pJ", .min = POSITIVE, .max = 1,
     .help = "energy of comparing a bit of the address, in pJ: at each line of such a register file an access compares all "
             "bits that tell its lines apart"},
    {.key = "figures_nm", .type = LL_TYPE_NUMBER, AT(figures_nm), .min = 1, .max = 1000,
     .help = "process node of which the figures of arithmetic, registers and `on_chip_pj` are, and those of the area section, in "
             "nm; converters, wires and routers without figures follow from it"},
    {.key = "node_nm", .type = LL_TYPE_NUMBER, AT(node_nm), .min = 1, .max = 1000,
     .help = "process node of the chip, in nm, to which those figures are scaled: logic as Stillmaker and Baas (2017), memory as "
             "CACTI 7 do; when not given, `figures_nm`"},
    {.key = "off_chip_pj", .type = LL_TYPE_NUMBER, AT(off_chip_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "energy of a byte into or out of a level outside of the chip, if that has no figure of its own, in pJ; when not "
             "given, what is published of its kind of `dram` (leadline dram)"},
    {.key = "host_pj", .type = LL_TYPE_NUMBER, AT(host_j_per_byte), .unit = "pJ/B", .min = POSITIVE, .max = 1,
     .help = "energy of a byte from the host, in pJ"},
    {.key = "leakage_w_per_mm2", .type = LL_TYPE_NUMBER, AT(leakage_w_per_mm2), .min = POSITIVE, .max = 1000,
     .help = "static power per mm2 of area, in W, when `static_w` is not given; beside it then stands what channels of a "
             "`dram` take at rest"},
    {.key = "static_w", .type = LL_TYPE_NUMBER, AT(static_w), .unit = "W", .min = POSITIVE, .max = 1e9,
     .help = "static power, which flows all the time, in W"},
    {.key = "limit_w", .type = LL_TYPE_NUMBER, AT(limit_w), .unit = "W", .min = POSITIVE, .max = 1e9,
     .help = "power limit of the board, in W: during GEMMs the clock sinks until static power, their "
             "arithmetic and the bytes that all memories move for them keep within it; when not given, there is no limit"},
    {.key = "power_per_clock", .type = LL_TYPE_NUMBER, AT(power_per_clock), .min = 1, .max = 3,
     .help = "exponent of the clock in the power of arithmetic, while `limit_w` lowers the clock: 1 where "
             "the voltage stays, 3 where it follows (default: 1)"},
};
#undef AT
static const struct ll_field_table energy_table = {TABLE("energy section", energy_fields, struct ll_energy)};

#define AT(member) .offset = offsetof(struct ll_area, member)
static const struct ll_field area_fields[] = {
    {.key = "pe_um2", .type = LL_TYPE_DTYPES, AT(pe_m2), .unit = "um2", .min = POSITIVE, .max = 1,
     .help = "area of one multiply-accumulator, by dtype, in um2; a unit is as large as the largest of its types "
             "that have a figure makes it, and nothing where none of them has"},
    {.key = "sram_mm2_per_MiB", .type = LL_TYPE_NUMBER, AT(sram_m2_per_byte), .unit = "mm2/MiB", .min = POSITIVE,
     .max = 1,
     .help = "area of all memory levels on the chip, in mm2 per MiB"},
    {.key = "fixed_mm2", .type = LL_TYPE_NUMBER, AT(fixed_m2), .unit = "mm2", .min = 0, .max = 1, .otherwise = "0",
     .help = "area of everything else, in mm2"},
};
#undef AT
static const struct ll_field_table area_table = {TABLE("area section", area_fields, struct ll_area)};

#define AT(member) .offset = offsetof(struct ll_pricing, member)
static const struct ll_field pricing_fields[] = {
    {.key = "wafer_usd", .type = LL_TYPE_NUMBER, AT(wafer_usd), .min = POSITIVE, .max = 1e9,
     .help = "price of a processed wafer, in USD; when not given, no silicon is paid for"},
    {.key = "defects_per_cm2", .type = LL_TYPE_NUMBER, AT(defects_per_cm2), .min = 0, .max = 10000, .otherwise = "0",
     .help = "defects that spoil a die, per cm2"},
    {.key = "clustering", .type = LL_TYPE_NUMBER, AT(clustering), .min = POSITIVE, .max = 1e6,
     .help = "alpha of the negative binomial yield, the smaller the more of the defects lie on the same dies; when not "
             "given, they lie anywhere"},
    {.key = "dies", .type = LL_TYPE_WHOLE, AT(dies), .min = 1, .max = MOST_UNITS, .otherwise = "1",
     .help = "equal dies of which the area consists"},
    {.key = "memory_usd_per_GiB", .type = LL_TYPE_NUMBER, AT(memory_usd_per_GiB), .min = 0, .max = 1e9,
     .otherwise = "0",
     .help = "price of the outermost memory, in USD per GiB, unless it lies on the chip"},
    {.key = "fixed_usd", .type = LL_TYPE_NUMBER, AT(fixed_usd), .min = 0, .max = 1e9, .otherwise = "0",
     .help = "price of everything else, as packaging and test, in USD"},
    {.key = "usd_per_hour", .type = LL_TYPE_NUMBER, AT(usd_per_hour), .min = POSITIVE, .max = 1e9,
     .help = "price of renting one device for an hour, in USD; when neither it nor purchase_usd is given, no price of "
             "tokens is reported"},
    {.key = "purchase_usd", .type = LL_TYPE_NUMBER, AT(purchase_usd), .min = POSITIVE, .max = 1e9,
     .help = "price of buying one device with its share of the system, in USD, spread evenly over lifetime_years"},
    {.key = "lifetime_years", .type = LL_TYPE_NUMBER, AT(lifetime_years), .min = POSITIVE, .max = 1000,
     .help = "years of 8766 hours that a device that was bought is used"},
    {.key = "usd_per_kwh", .type = LL_TYPE_NUMBER, AT(usd_per_kwh), .min = 0, .max = 1e6, .otherwise = "0",
     .help = "price of the electricity that a device that was bought draws, in USD per kWh"},
};
#undef AT
static const struct ll_field_table pricing_table = {TABLE("price section", pricing_fields, struct ll_pricing)};

#define AT(member) .offset = offsetof(struct ll_reliability, member)
static const struct ll_field reliability_fields[] = {
    {.key = "device_mtbf_hours", .type = LL_TYPE_NUMBER, AT(device_mtbf_hours), .min = POSITIVE, .max = 1e12,
     .help = "mean time between failures of a device that interrupt a training, in hours"},
    {.key = "node_mtbf_hours", .type = LL_TYPE_NUMBER, AT(node_mtbf_hours), .min = POSITIVE, .max = 1e12,
     .help = "the same of a node beside its devices, the devices of the innermost level of the network, in hours"},
    {.key = "link_mtbf_hours", .type = LL_TYPE_NUMBER, AT(link_mtbf_hours), .min = POSITIVE, .max = 1e12,
     .help = "the same of a device's link to the network beyond its node, in hours"},
    {.key = "restart", .type = LL_TYPE_QUANTITY, AT(restart_s), .dimension = LL_DIMENSION_TIME, .min = 0,
     .max = 1e9, .otherwise = "300s",
     .help = "from a failure until steps go on: it is noticed, the job starts again; reading the checkpoint comes on top"},
    {.key = "repair_hours", .type = LL_TYPE_NUMBER, AT(repair_hours), .min = 0, .max = 1e9, .otherwise = "24",
     .help = "until a device that failed is back, in hours: a job without a spare one waits for it"},
    {.key = "checkpoint_bandwidth", .type = LL_TYPE_QUANTITY, AT(checkpoint_Bps),
     .dimension = LL_DIMENSION_BANDWIDTH, .min = 1, .max = 1e18,
     .help = "at which the storage takes and gives checkpoints, of all devices together"},
};
#undef AT
static const struct ll_field_table reliability_table = {
    TABLE("reliability section", reliability_fields, struct ll_reliability)};

#define AT(member) .offset = offsetof(struct ll_overlay, member)
static const struct ll_field overlay_fields[] = {
    {.key = "name", .type = LL_TYPE_NAME, AT(name), .required = true, .help = "the kernel's"},
    {.key = "shapes", .type = LL_TYPE_RESIDUALS, AT(shapes), .count_offset = offsetof(struct ll_overlay, shape_count),
     .required = true,
     .help = "measured shapes and how many times as long they took as the model says, near the unit / in the "
             "outermost memory: m x n x k of a GEMM, else lines x bytes read x bytes written; similar work "
             "takes as much longer"},
};
#undef AT
static const struct ll_field_table overlay_table = {TABLE("residual table", overlay_fields, struct ll_overlay)};

#define AT(member) .offset = offsetof(struct ll_machine, member)
#define LISTED(member, how_many) \
    AT(member), .count_offset = offsetof(struct ll_machine, how_many)
static const struct ll_field machine_fields[] = {
    {.key = "inherits", .type = LL_TYPE_INHERITS, .wording = true,
     .help = "a machine file beside this one, the name of an installed machine, or a list of these; later "
             "ones override earlier ones, and the keys of this file override them all"},
    {.key = "name", .type = LL_TYPE_TEXT, AT(name), .required = true, .wording = true,
     .help = "name that reports show"},
    {.key = "kind", .type = LL_TYPE_TEXT, AT(kind), .choices = kinds, .wording = true, .otherwise = "custom",
     .help = "what reports call this kind of device; nothing else depends on it"},
    {.key = "family", .type = LL_TYPE_INHERITS, .wording = true,
     .help = "architecture of a device, as `nvidia_hopper`: it lies over what the libraries of that family do "
             "(stacks/libraries), and under the stack that `-c DEVICE+STACK` names"},
    {.key = "year", .type = LL_TYPE_WHOLE, AT(year), .wording = true, .min = 1900, .max = 9999,
     .help = "year in which the device came out"},
    {.key = "estimated", .type = LL_TYPE_BOOL, AT(estimated), .wording = true,
     .given_offset = offsetof(struct ll_machine, estimated_given),
     .help = "whether the figures are those of one data sheet, which one line of `sources` names"},
    {.key = "system", .type = LL_TYPE_TEXT, AT(system), .wording = true,
     .help = "name of the system that several of these devices make where no other is named"},
    {.key = "aliases", .type = LL_TYPE_TEXTS, LISTED(aliases, alias_count), .wording = true,
     .help = "read for one more minor version: names in measured data stand in aliases.yaml"},
    {.key = "clock", .type = LL_TYPE_QUANTITY, AT(clock_hz), .dimension = LL_DIMENSION_FREQUENCY, .min = 1,
     .max = MOST_HZ,
     .help = "clock of units that have none of their own, and of bandwidths in B/cycle"},
    {.key = "units", .type = LL_TYPE_LIST, LISTED(units, unit_count), .table = &unit_table, .required = true,
     .max = LL_MAX_UNITS,
     .help = "the units that compute"},
    {.key = "memory", .type = LL_TYPE_LIST, LISTED(levels, level_count), .table = &level_table, .required = true,
     .max = LL_MAX_LEVELS,
     .help = "memory levels, innermost first; the outermost one holds the tensors"},
    {.key = "software", .type = LL_TYPE_OBJECT, AT(software), .table = &software_table,
     .help = "what the software stack costs, and how well its kernels use the machine"},
    {.key = "overlay", .type = LL_TYPE_LIST, LISTED(overlays, overlay_count), .table = &overlay_table,
     .max = LL_MAX_OVERLAYS,
     .help = "residual tables of kernels, from measurements: applied after the model, their effect shown apart"},
    {.key = "measured", .type = LL_TYPE_DATA_FILE, AT(measured),
     .help = "a table of measured kernels, in the format of leadline validate, beside this file: between its points "
             "the ratio of measured to modelled time is interpolated, beyond them it decays to the model's"},
    {.key = "host", .type = LL_TYPE_OBJECT, AT(host), .table = &host_table,
     .help = "the host, from which inputs come"},
    {.key = "network", .type = LL_TYPE_LIST, LISTED(networks, network_count), .table = &network_table,
     .max = LL_MAX_LINKS,
     .help = "what joins several of these devices, innermost level first"},
    {.key = "cores", .type = LL_TYPE_LIST, LISTED(cores, core_type_count), .table = &core_table,
     .max = LL_MAX_CORE_TYPES,
     .help = "cores that work side by side, each with units and memories of its own; the outermost memory is common. "
             "Layers are cut into tiles that go from core to core"},
    {.key = "core_links", .type = LL_TYPE_LIST, LISTED(core_links, core_link_count), .table = &core_link_table,
     .max = LL_MAX_CORE_LINKS,
     .help = "links between cores and to the outermost memory, shared max-min fairly"},
    {.key = "energy", .type = LL_TYPE_OBJECT, AT(energy), .table = &energy_table,
     .given_offset = offsetof(struct ll_machine, energy_given),
     .help = "energy figures; when not given, no energy is reported"},
    {.key = "area", .type = LL_TYPE_OBJECT, AT(area), .table = &area_table,
     .given_offset = offsetof(struct ll_machine, area_given),
     .help = "silicon area; when not given, none is reported"},
    {.key = "price", .type = LL_TYPE_OBJECT, AT(pricing), .table = &pricing_table,
     .given_offset = offsetof(struct ll_machine, pricing_given),
     .help = "what a device costs to make, rent or buy; when not given, no price is reported"},
    {.key = "reliability", .type = LL_TYPE_OBJECT, AT(reliability), .table = &reliability_table,
     .given_offset = offsetof(struct ll_machine, reliability_given),
     .help = "how often devices, nodes and links fail, for plans of a training of weeks; when not given, none is "
             "ranked by it"},
    {.key = "server", .type = LL_TYPE_OBJECT, AT(server), .table = &ll_server_table,
     .given_offset = offsetof(struct ll_machine, server_given),
     .help = "what a language-model server does beside computing (leadline serve); when not given, as vLLM's without a host"},
    {.key = "sources", .type = LL_TYPE_SOURCES, LISTED(sources, source_count), .wording = true,
     .help = "where each value comes from, by path, as in `hbm.efficiency: \"assumed: typical\"`"},
};
#undef AT
/* clang-format on */

const struct ll_field_table ll_machine_table = {TABLE("machine", machine_fields, struct ll_machine)};

const struct ll_field_table *ll_unit_keys(const struct ll_unit *unit)
{
    return unit_variants[unit->model];
}
