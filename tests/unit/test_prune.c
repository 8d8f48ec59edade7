/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of which some neighbours are zero: what is stored, counted and computed of them. */
#include "check.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "toy_machine.h"
#include "toy_trace.h"
#include "tracer/transform/sparsity.h"
#include "tracer/transform/rewrite.h"

static struct ll_shape matrix_of(uint64_t rows, enum ll_dtype dtype, unsigned kept, unsigned of)
{
    struct ll_shape shape = toy_matrix(rows, 3);
    shape.dtype = (uint8_t)dtype;
    shape.kept = (uint8_t)kept;
    shape.of = (uint8_t)of;
    return shape;
}

static void check_size(struct ll_shape shape, uint64_t kept, uint64_t bytes)
{
    assert_true(ll_zeros_fit(&shape));
    assert_int_equal(ll_elements_kept(&shape), kept);
    assert_int_equal(ll_size_bytes(&shape), bytes);
}

/* Three columns: two places of four take two bits each, one of eight takes three. */
static void what_is_left_is_stored_with_its_places(void **state)
{
    (void)state;
    check_size(matrix_of(16, LL_F16, 0, 0), 48, 96);
    check_size(matrix_of(16, LL_F16, 2, 4), 24, 48 + 6);
    check_size(matrix_of(7, LL_F16, 2, 4), 12, 24 + 3); /* the rest of three has two, too */
    check_size(matrix_of(16, LL_F32, 1, 8), 6, 24 + 3);
    struct ll_shape wrong = matrix_of(16, LL_F16, 4, 4), outside = matrix_of(16, LL_F16, 2, 4);
    outside.along = 2;
    assert_false(ll_zeros_fit(&wrong));
    assert_false(ll_zeros_fit(&outside));
}

/* Of 48 elements a tenth are 5 rounded up: a bit for each of 48 is more than four for each of 5 and of 3 rows
 * of sixteen; of half of them it is less. */
static void unstructured_weights_are_stored_as_it_takes_least(void **state)
{
    (void)state;
    struct ll_shape tenth = matrix_of(16, LL_F16, 10, 100), half = matrix_of(16, LL_F16, 50, 100),
                    none = tenth;
    tenth.unstructured = half.unstructured = none.unstructured = 1;
    none.dim[0] = 0;
    check_size(tenth, 5, 10 + 4);
    check_size(half, 24, 48 + 6);
    check_size(none, 0, 0);
    tenth.of = tenth.kept = 0;
    assert_false(ll_zeros_fit(&tenth));
}

static void patterns_are_read(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",     "2",    "2:",    ":4",      "0:4",  "4:4",  "5:4",
                                        "2:4x", "2 :4", "2:256", "02:0004", "-1:4", "1:4:8"};
    struct ll_pattern pattern;
    assert_true(ll_pattern_parse("2:4", &pattern));
    assert_int_equal(pattern.kept, 2);
    assert_int_equal(pattern.of, 4);
    assert_true(ll_pattern_parse("254:255", &pattern));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(ll_pattern_parse(wrong[i], &pattern));
        assert_int_equal(pattern.of, 0);
    }
}

static void shares_are_read_and_printed(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "%", "0%", "100%", "90", "90%%", "9.5%", "-1%", "1000%", "2:256"};
    struct ll_pattern pattern;
    char text[LL_PATTERN_TEXT];
    assert_true(ll_sparsity_parse("90%", &pattern));
    assert_int_equal(pattern.kept, 10);
    assert_int_equal(pattern.of, 100);
    assert_true(pattern.unstructured);
    ll_pattern_print(&pattern, text);
    assert_string_equal(text, "90%");
    assert_true(ll_sparsity_parse("2:4", &pattern));
    assert_false(pattern.unstructured);
    ll_pattern_print(&pattern, text);
    assert_string_equal(text, "2:4");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(ll_sparsity_parse(wrong[i], &pattern));
        assert_int_equal(pattern.of, 0);
    }
    assert_false(ll_pattern_parse("90%", &pattern));
}

enum { GATHER, FORWARD, DATA_GRADIENT, WEIGHT_GRADIENT };

/* Rows of a table, a layer, and its two gradients; all of 64 x 64 in f32 but for the table. */
static struct ll_trace *record_layer(uint64_t width)
{
    static const struct ll_attr across = {LL_ATTR_TRANSPOSE_B, {.count = 1}},
                                along = {LL_ATTR_TRANSPOSE_A, {.count = 1}};
    struct toy *toy = calloc(1, sizeof *toy);
    struct ll_shape indices = {.dim = {64}, .dtype = LL_I32, .rank = 1};
    char path[64];
    toy_open(toy, path);
    uint32_t table = toy_bring(toy, toy_matrix(100, width), LL_WEIGHT),
             w = toy_bring(toy, toy_matrix(width, 64), LL_WEIGHT), which = toy_bring(toy, indices, LL_INPUT),
             dy = toy_bring(toy, toy_matrix(64, 64), LL_GRADIENT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t x = toy_op(toy, LL_OP_GATHER, LL_PHASE_FORWARD, (uint32_t[]){table, which}, 2, NULL, 0,
                        LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){dy, w}, 2, &across, 1, LL_GRADIENT, NULL);
    toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){x, dy}, 2, &along, 1, LL_GRADIENT, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static void assert_sound(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    assert_non_null(trace);
    assert_null(ll_trace_check(trace, &arena));
    ll_arena_release(&arena);
}

enum {
    HALF = 64 * 64 / 2,
    PRODUCT = 2 * 64 * 64 * 64,
    DENSE_BYTES = 4 * 64 * 64,
    BYTES = 4 * HALF + HALF / 4
};

/* Of the table rows are read, so it stays; of the layer's weights half is left, along what the forward
 * product sums over. */
static void check_pruned(const struct ll_trace *trace)
{
    const struct ll_op_signature *signatures = trace->signatures;
    struct ll_work work;
    assert_sound(trace);
    assert_string_equal(ll_trace_fact(trace, "pruned"), "2:4");
    assert_int_equal(signatures[GATHER].view.in[0].of, 0);
    assert_int_equal(signatures[FORWARD].flops, PRODUCT / 2);
    assert_int_equal(signatures[FORWARD].bytes_read, DENSE_BYTES + BYTES);
    assert_int_equal(signatures[DATA_GRADIENT].flops, PRODUCT / 2);
    assert_int_equal(signatures[WEIGHT_GRADIENT].flops, PRODUCT);
    assert_int_equal(signatures[WEIGHT_GRADIENT].bytes_written, DENSE_BYTES);
    assert_true(ll_op_lower(&signatures[FORWARD].view, &work));
    assert_int_equal(work.kept, 2);
    assert_int_equal(work.of, 4);
    assert_int_equal(work.b_bytes, BYTES);
    assert_true(ll_op_lower(&signatures[DATA_GRADIENT].view, &work));
    assert_int_equal(work.of, 0); /* its zeros lie along n */
}

static void weights_of_forward_products_are_pruned(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(64);
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_prune(trace, &(struct ll_pattern){2, 4, false}, &weights, &trouble));
    assert_null(trouble);
    assert_int_equal(weights, 1);
    check_pruned(trace);
    ll_trace_free(trace);
}

/* Three quarters of 64 x 64 are zero, wherever, so along n as well, and whatever 64 is a multiple of; the
 * places of 1024 in 64 rows would be 6 bits each, more than a bit for each element. */
static void zeros_may_lie_anywhere(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(64);
    const struct ll_op_signature *signatures = trace->signatures;
    struct ll_work work;
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_prune(trace, &(struct ll_pattern){25, 100, true}, &weights, &trouble));
    assert_int_equal(weights, 1);
    assert_sound(trace);
    assert_string_equal(ll_trace_fact(trace, "pruned"), "75%");
    assert_int_equal(signatures[FORWARD].flops, PRODUCT / 4);
    assert_int_equal(signatures[DATA_GRADIENT].flops, PRODUCT / 4);
    assert_int_equal(signatures[WEIGHT_GRADIENT].flops, PRODUCT);
    for (int i = FORWARD; i <= DATA_GRADIENT; i++) {
        assert_true(ll_op_lower(&signatures[i].view, &work));
        assert_int_equal(work.kept, 25);
        assert_int_equal(work.of, 100);
        assert_int_equal(work.unstructured, 1);
        assert_int_equal(work.b_bytes, DENSE_BYTES / 4 + 64 * 64 / 8);
    }
    ll_trace_free(trace);
}

/* All its ops again: a trace made from another one goes through the file's columns. */
static struct ll_trace *made_again(const struct ll_trace *trace)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    struct ll_trace *again = ll_rewrite_end(&rewrite, &trouble);
    assert_null(trouble);
    return again;
}

static void what_is_made_of_a_pruned_trace_is_pruned(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(64);
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_prune(trace, &(struct ll_pattern){2, 4, false}, &weights, &trouble));
    struct ll_trace *again = made_again(trace);
    check_pruned(again);
    ll_trace_free(again);
    ll_trace_free(trace);
}

static void so_is_one_with_zeros_anywhere(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(62);
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_prune(trace, &(struct ll_pattern){1, 100, true}, &weights, &trouble));
    struct ll_trace *again = made_again(trace);
    assert_sound(again);
    assert_memory_equal(&again->signatures[FORWARD].view.in[1], &trace->signatures[FORWARD].view.in[1],
                        sizeof(struct ll_shape));
    assert_int_equal(again->signatures[FORWARD].view.in[1].unstructured, 1);
    ll_trace_free(again);
    ll_trace_free(trace);
}

static void groups_are_whole(void **state)
{
    (void)state;
    struct ll_trace *trace = record_layer(62);
    const char *trouble;
    uint64_t weights;
    assert_true(ll_trace_prune(trace, &(struct ll_pattern){2, 4, false}, &weights, &trouble));
    assert_int_equal(weights, 0);
    assert_int_equal(trace->signatures[FORWARD].flops, 2 * 64 * 62 * 64);
    assert_sound(trace);
    ll_trace_free(trace);
}

/* x of 64 x 64, of w so many of so many, in bf16. */
static struct ll_cost cost_of(const char *skips, uint64_t kept, uint64_t of)
{
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_BF16,
                                 .flops = PRODUCT * kept / of,
                                 .a_bytes = 8192,
                                 .b_bytes = 4608,
                                 .c_bytes = 8192,
                                 .kept = kept,
                                 .of = of,
                                 .gemm = {1, 64, 64, 64}};
    char text[512];
    snprintf(
        text, sizeof text,
        "name: Toy\nclock: 1GHz\nunits:\n"
        "  - {name: array, model: systolic, rows: 8, cols: 16, dataflow: ws, macs: {bf16: 1}, runs: [matrix, "
        "conv]%s}\n"
        "  - {name: simd, model: vector, lanes: 16, flops: {f32: 2}}\n"
        "memory: [{name: sram, size: 1MiB, bandwidth: 1TB/s}, {name: ram, size: 1GiB, bandwidth: 10GB/s}]\n",
        skips);
    struct ll_machine *machine = ll_toy_machine(text);
    struct ll_cost cost;
    const char *trouble;
    assert_non_null(machine);
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &cost, &trouble));
    ll_machine_free(machine);
    return cost;
}

/* A fold of 8 x 16 takes 64 + 2 * 8 + 16 - 2 = 94 cycles; 64 x 64 weights are 32 of them, 32 x 64 are 16. */
static void units_that_skip_compute_what_is_left(void **state)
{
    (void)state;
    struct ll_cost dense = cost_of("", 2, 4), skips = cost_of(", skips: 2:4", 2, 4);
    assert_near(dense.compute_cycles, 32 * 94, 0);
    assert_near(skips.compute_cycles, 16 * 94, 0);
    assert_near(dense.level_bytes[1], 8192 + 4608 + 8192, 0);
    assert_near(skips.level_bytes[1], 8192 + 4608 + 8192, 1e-9);
}

/* Who does not skip multiplies zeros, which takes energy; of 1:4 a unit of 2:4 multiplies one. */
static void zeros_that_are_multiplied_count(void **state)
{
    (void)state;
    assert_near(cost_of("", 2, 4).zeros, 1, 0);
    assert_near(cost_of(", skips: 2:4", 2, 4).zeros, 0, 0);
    assert_near(cost_of(", skips: 2:4", 1, 4).zeros, 1, 0);
    assert_near(cost_of(", skips: 2:4", 3, 4).zeros, 1.0 / 3, 1e-12);
    assert_near(cost_of(", skips_unstructured: 8", 3, 4).zeros, 0, 0);
}

static void a_pattern_serves_where_no_group_has_more(void **state)
{
    (void)state;
    static const struct {
        const char *skips;
        uint64_t kept, of, folds;
    } cases[] = {
        {", skips: 2:4", 1, 4, 16}, {", skips: 2:4", 1, 2, 16}, {", skips: 2:4", 2, 8, 16},
        {", skips: 2:4", 3, 8, 32}, {", skips: 2:4", 3, 4, 32}, {", skips: 2:4", 1, 3, 32},
        {", skips: 1:4", 1, 4, 8},  {", skips: 1:4", 2, 8, 32}, {", skips: 4:8", 2, 4, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_near(cost_of(cases[i].skips, cases[i].kept, cases[i].of).compute_cycles,
                    (double)cases[i].folds * 94, 0);
}

/* k of a product whose right operand has such zeros, on a unit of which so many columns go in step. */
static uint64_t left_of(uint64_t k, uint64_t n, struct ll_pattern zeros, uint64_t together)
{
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_BF16,
                                 .flops = 2 * k * n,
                                 .a_bytes = 2 * k,
                                 .b_bytes = 2 * k * n,
                                 .c_bytes = 2 * n,
                                 .kept = zeros.kept,
                                 .of = zeros.of,
                                 .unstructured = zeros.unstructured,
                                 .gemm = {1, 1, n, k}};
    const struct ll_unit unit = {.name = "unit", .skips_unstructured = together};
    struct ll_task task = ll_task_of(&work, LL_BF16);
    ll_skip_zeros(&task, &unit);
    return task.problem.dims.k;
}

/* The expected largest of `count` sums of k trials that succeed with this share: the sum over all x of the
 * probability that not all are below x, from the binomial distribution itself. */
static double largest_binomial(uint64_t k, double share, uint64_t count)
{
    double probability = pow(1 - share, (double)k), below = 0, largest = 0;
    for (uint64_t x = 0; x < k; x++) {
        below += probability;
        largest += 1 - pow(below, (double)count);
        probability *= (double)(k - x) / (double)(x + 1) * share / (1 - share);
    }
    return largest;
}

static void columns_wait_for_the_one_with_most(void **state)
{
    (void)state;
    static const struct {
        uint64_t k, together;
        uint32_t percent;
    } cases[] = {{64, 1, 25},  {64, 2, 50},    {64, 8, 25},  {128, 16, 10},  {363, 16, 10},
                 {512, 64, 5}, {576, 128, 50}, {1024, 4, 2}, {1024, 256, 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ll_pattern zeros = {cases[i].percent, 100, true};
        double exact = largest_binomial(cases[i].k, cases[i].percent / 100.0, cases[i].together);
        double left = (double)left_of(cases[i].k, 1000, zeros, cases[i].together);
        assert_true(left >= 0.96 * exact && left <= 1.04 * exact + 1);
    }
    assert_int_equal(left_of(363, 1000, (struct ll_pattern){10, 100, true}, 1), 37);
    assert_int_equal(left_of(363, 1, (struct ll_pattern){10, 100, true}, 64),
                     37); /* one column waits for none */
    assert_int_equal(left_of(10, 1000, (struct ll_pattern){99, 100, true}, 64), 10);
}

/* All columns have as many; of a rest of three all may be left. */
static void what_skips_anywhere_serves_every_pattern(void **state)
{
    (void)state;
    assert_int_equal(left_of(64, 64, (struct ll_pattern){2, 4, false}, 64), 32);
    assert_int_equal(left_of(64, 64, (struct ll_pattern){3, 4, false}, 64), 48);
    assert_int_equal(left_of(67, 64, (struct ll_pattern){3, 8, false}, 64), 27);
    assert_int_equal(left_of(64, 64, (struct ll_pattern){2, 4, false}, 0), 64);
}

/* Expected largest of standard normal variables, as tabulated: Harter, Expected values of normal order
 * statistics, 1961. */
static void the_largest_of_many_is_known(void **state)
{
    (void)state;
    assert_near(ll_largest_of(1), 0, 0);
    assert_near(ll_largest_of(2), 0.56419, 0.05);
    assert_near(ll_largest_of(10), 1.53875, 0.01);
    assert_near(ll_largest_of(100), 2.50759, 0.01);
}

/* A GEMM of 64 x 64 x 64 in which half of a and a quarter of b are not zero, wherever. */
static struct ll_task both_sides(const struct ll_work *work, const struct ll_unit *unit)
{
    struct ll_task task = ll_task_of(work, LL_BF16);
    ll_skip_zeros(&task, unit);
    ll_store_zeros(&task, unit);
    return task;
}

/* A quarter of b's FLOPs are there, 1 / 4 of 2 * 64^3. By itself an element takes 64 / 2 / 4 of k, and half
 * of these FLOPs; one that only skips columns takes a quarter and all; one that gates takes its time and
 * half of the energy. */
static void zeros_of_both_sides_meet(void **state)
{
    (void)state;
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_BF16,
                                 .flops = 2 * 64 * 64 * 64 / 4,
                                 .a_bytes = 2 * 64 * 64,
                                 .b_bytes = 2 * 64 * 64,
                                 .c_bytes = 2 * 64 * 64,
                                 .kept = 25,
                                 .of = 100,
                                 .unstructured = 1,
                                 .a_nonzero = 50,
                                 .gemm = {1, 64, 64, 64}};
    const struct ll_unit one = {.name = "unit", .skips_unstructured = 1, .skips_inputs = 1},
                         columns = {.name = "unit", .skips_unstructured = 1},
                         gate = {.name = "unit", .gates_zeros = true},
                         wide = {.name = "unit", .skips_unstructured = 8, .skips_inputs = 8},
                         runs = {.name = "unit", .inputs_stored = LL_PLACES_RUNS, .place_bits = 4},
                         mask = {.name = "unit", .inputs_stored = LL_PLACES_BITMASK};
    struct ll_task task = both_sides(&work, &one);
    assert_int_equal(task.problem.dims.k, 8);
    assert_near(task.zeros, -0.5, 1e-12);
    assert_true(task.skips_a);
    task = both_sides(&work, &columns);
    assert_int_equal(task.problem.dims.k, 16);
    assert_near(task.zeros, 0, 1e-12);
    task = both_sides(&work, &gate);
    assert_int_equal(task.problem.dims.k, 64);
    assert_near(task.zeros, -0.5, 1e-12);
    assert_in_range(both_sides(&work, &wide).problem.dims.k, 9, 16); /* the slowest of 64 pairs */
    double dense = both_sides(&work, &gate).problem.element[LL_OPERAND_A];
    assert_near(both_sides(&work, &runs).problem.element[LL_OPERAND_A], dense * (0.5 + 0.5 * 4 / 16), 1e-12);
    assert_near(both_sides(&work, &mask).problem.element[LL_OPERAND_A], dense * (0.5 + 1. / 16), 1e-12);
}

/* Half of four rows in steps of two: none in 1 of 16, one step in 10, two in 5, of two. */
static void packed_rows_take_whole_steps(void **state)
{
    (void)state;
    const struct ll_work work = {.kind = LL_WORK_GEMM,
                                 .dtype = LL_BF16,
                                 .flops = 2 * 4 * 8 * 3200,
                                 .a_bytes = 2 * 4 * 3200,
                                 .b_bytes = 2 * 8 * 3200,
                                 .c_bytes = 2 * 4 * 8,
                                 .a_nonzero = 50,
                                 .gemm = {1, 4, 8, 3200}};
    const struct ll_unit unit = {.name = "unit", .packs_rows = 4, .row_step = 2};
    struct ll_task task = both_sides(&work, &unit);
    assert_int_equal(task.problem.dims.k, 3200 * 20 / 32);
    assert_near(task.zeros, -0.5, 1e-12);
}

static bool read_rules(const char *text, struct ll_arena *arena, struct ll_diags *diags,
                       struct ll_sparsity **rules, size_t *count)
{
    return ll_sparsity_read(text, strlen(text), "zeros.csv", arena, diags, rules, count);
}

/* The first rule that fits holds, for weights and for inputs apart. */
static void layers_have_zeros_of_their_own(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_sparsity *rules;
    struct ll_work work;
    size_t count;
    const char *trouble;
    uint64_t weights, inputs;
    struct ll_trace *trace = record_layer(64);
    assert_true(read_rules("layer,weights,inputs\nelse*,2:4,\n*,,45%\n*,75%,10%\n\n", &arena, &diags, &rules,
                           &count));
    assert_int_equal(count, 3);
    assert_true(ll_trace_sparsify(trace, rules, count, &weights, &inputs, &trouble));
    assert_int_equal(weights, 1);
    assert_int_equal(inputs, 1);
    assert_sound(trace);
    assert_true(ll_op_lower(&trace->signatures[FORWARD].view, &work));
    assert_int_equal(work.kept, 25);
    assert_int_equal(work.a_nonzero, 55);
    assert_true(ll_op_lower(&trace->signatures[DATA_GRADIENT].view, &work));
    assert_int_equal(work.a_nonzero, 0);
    ll_trace_free(trace);
    assert_false(read_rules("layer,weights,inputs\nconv,5:4,\nfc,,2:4\n", &arena, &diags, &rules, &count));
    assert_false(read_rules("layer,weights,inputs\n", &arena, &diags, &rules, &count));
    assert_true(diags.count >= 2);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void patterns_of_machines_are_checked(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    assert_null(ll_toy_parse(LL_TOY_MACHINE, &(struct ll_override){"units.array.skips", "4:2"}, 1, &diags));
    assert_int_equal(diags.count, 1);
    assert_non_null(strstr(diags.kept[0].message, LL_PATTERN_WANTED));
    ll_diags_release(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_stored_with_its_places),
        cmocka_unit_test(unstructured_weights_are_stored_as_it_takes_least),
        cmocka_unit_test(patterns_are_read),
        cmocka_unit_test(shares_are_read_and_printed),
        cmocka_unit_test(weights_of_forward_products_are_pruned),
        cmocka_unit_test(what_is_made_of_a_pruned_trace_is_pruned),
        cmocka_unit_test(zeros_may_lie_anywhere),
        cmocka_unit_test(so_is_one_with_zeros_anywhere),
        cmocka_unit_test(groups_are_whole),
        cmocka_unit_test(units_that_skip_compute_what_is_left),
        cmocka_unit_test(zeros_that_are_multiplied_count),
        cmocka_unit_test(a_pattern_serves_where_no_group_has_more),
        cmocka_unit_test(columns_wait_for_the_one_with_most),
        cmocka_unit_test(what_skips_anywhere_serves_every_pattern),
        cmocka_unit_test(the_largest_of_many_is_known),
        cmocka_unit_test(zeros_of_both_sides_meet),
        cmocka_unit_test(packed_rows_take_whole_steps),
        cmocka_unit_test(layers_have_zeros_of_their_own),
        cmocka_unit_test(patterns_of_machines_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
