/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"
#include "scalesim_rows.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

#include <string.h>

static struct ll_unit array_of(uint64_t rows, uint64_t cols, enum ll_dataflow dataflow, uint64_t count)
{
    struct ll_unit unit = {
        .name = "array", .model = LL_UNIT_SYSTOLIC, .count = count, .clock_hz = 1e9, .efficiency = 1};
    unit.systolic = (struct ll_systolic){.rows = rows, .cols = cols, .dataflow = dataflow};
    unit.systolic.macs[LL_F32] = 1;
    unit.systolic.macs[LL_INT8] = 2;
    return unit;
}

/* The one with the fewest cycles. */
static struct ll_kernel_config way_of(const struct ll_unit *unit, const struct ll_work *work)
{
    const struct ll_unit_model *model = ll_unit_model(unit->model);
    struct ll_task task = ll_task_of(work, (enum ll_dtype)work->dtype);
    struct ll_kernel_config best = {.cycles = INFINITY}, way;
    for (uint32_t i = 0; i < model->way_count(unit, &task); i++)
        if (model->way(unit, &task, i, &way) && way.cycles < best.cycles)
            best = way;
    assert_true(best.cycles < INFINITY);
    return best;
}

static double cycles_of(const struct ll_unit *unit, uint64_t batch, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_work work = gemm_work(LL_F32, batch, m, n, k);
    return way_of(unit, &work).cycles;
}

static enum ll_dataflow dataflow_of(const char *name)
{
    return !strcmp(name, "os")   ? LL_OUTPUT_STATIONARY
           : !strcmp(name, "ws") ? LL_WEIGHT_STATIONARY
                                 : LL_INPUT_STATIONARY;
}

/* One line of the file; false for comments and the header. */
struct row {
    char name[64], layer[64], dataflow[8];
    unsigned long m, n, k, rows, cols, total_cycles;
    double utilization;
};

static bool parse(const char *line, struct row *row)
{
    return sscanf(line, "%*d,%63[^,],%63[^,],%lu,%lu,%lu,%7[^,],%lu,%lu,%lu,%lf", row->name, row->layer,
                  &row->m, &row->n, &row->k, row->dataflow, &row->rows, &row->cols, &row->total_cycles,
                  &row->utilization) == 10;
}

/* SCALE-Sim reports the index of the last cycle and divides by it. */
static void scale_sim_counts_the_same_cycles(void **state)
{
    (void)state;
    char line[512];
    int checked = 0;
    FILE *file = fopen("tests/peers/scalesim_sample.csv", "r");
    assert_non_null(file);
    for (struct row row; fgets(line, sizeof line, file);) {
        if (!parse(line, &row))
            continue;
        struct ll_unit unit = array_of(row.rows, row.cols, dataflow_of(row.dataflow), 1);
        double cycles = cycles_of(&unit, 1, row.m, row.n, row.k);
        assert_near(cycles - 1, (double)row.total_cycles, 0);
        double products = (double)row.m * (double)row.n * (double)row.k;
        assert_near(100 * products / ((double)(row.rows * row.cols) * (cycles - 1)), row.utilization, 1e-12);
        checked++;
    }
    fclose(file);
    assert_int_equal(checked, 48);
}

/* The value behind a line's `=`. */
static double said(const struct ll_explain *why, const char *line)
{
    for (uint64_t i = 0; i < why->line_count; i++)
        if (strncmp(why->lines[i], line, strlen(line)) == 0)
            return strtod(strstr(why->lines[i], " = ") + 3, NULL);
    fail_msg("no line begins with %s", line);
    return 0;
}

/* Some rows were read off a screen, with two decimals. */
static void expect_percent(const struct scalesim_row *row, const char *name, double value)
{
    const char *text = row_text(row, name), *point = strchr(text, '.');
    double expected = strtod(text, NULL);
    if (point && strlen(point) == 3)
        assert_true(fabs(value - expected) <= 0.005 + 1e-9);
    else
        assert_near(value, expected, 1e-9);
}

static struct ll_work work_of(const struct ll_scalesim_layer *l, const struct ll_scalesim_folds *f)
{
    return conv_work(LL_F32, (struct ll_conv){.batch = 1,
                                              .in_h = l->in_h,
                                              .in_w = l->in_w,
                                              .in_c = l->channels,
                                              .out_h = f->m / f->out_w,
                                              .out_w = f->out_w,
                                              .out_c = l->filters,
                                              .kernel_h = l->filter_h,
                                              .kernel_w = l->filter_w,
                                              .stride_h = l->stride_h,
                                              .stride_w = l->stride_w,
                                              .groups = 1});
}

/* All rows, as the convolutions that SCALE-Sim makes of products too. Stalls are of its memory alone. */
static void without_overlap_cycles_and_use_are_those_of_scale_sim(void **state)
{
    (void)state;
    struct scalesim_row *row = calloc(1, sizeof *row);
    FILE *file = fopen("tests/peers/scalesim_reference.csv", "r");
    assert_non_null(row);
    assert_non_null(file);
    int checked = 0;
    for (; next_row(file, row); checked++) {
        struct ll_scalesim_config config = row_config(row);
        struct ll_scalesim_layer layer = row_layer(row);
        struct ll_scalesim_folds folds = ll_scalesim_fold(&config, &layer);
        struct ll_unit unit = array_of(config.rows, config.columns, config.dataflow, 1);
        struct ll_work work = work_of(&layer, &folds);
        struct ll_task task = ll_task_of(&work, LL_F32);
        struct ll_explain why = {0};
        struct ll_kernel_config way;
        assert_true(ll_unit_model(unit.model)->way(&unit, &task, 0, &way));
        ll_unit_model(unit.model)->explain(&unit, &task, 0, &way, &why);
        double total = strtod(row_text(row, "total_cycles"), NULL),
               stalls = strtod(row_text(row, "stall_cycles"), NULL);
        assert_near(way.cycles - 1, total - stalls, 0);
        double macs = strtod(row_text(row, "macs"), NULL), elements = (double)(config.rows * config.columns);
        expect_percent(row, "overall_util_pct", 100 * macs / ((way.cycles - 1 + stalls) * elements));
        expect_percent(row, "mapping_eff_pct", 100 * said(&why, "of their elements are in use"));
        ll_explain_release(&why);
    }
    assert_int_equal(checked, 305);
    fclose(file);
    free(row);
}

/* M = 128, N = K = 4096 on 128 x 128, weight stationary: 1024 folds. Without overlap SCALE-Sim counts
 * 522,239 + 1 cycles; with it, 128 each behind the first of 510. */
static void overlapped_folds_stream_without_a_gap(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(128, 128, LL_WEIGHT_STATIONARY, 1);
    assert_near(cycles_of(&unit, 1, 128, 4096, 4096), 522240, 0);
    unit.systolic.overlap_folds = true;
    assert_near(cycles_of(&unit, 1, 128, 4096, 4096), 510 + 1023 * 128, 0);
}

/* 8 streamed lines cannot hide the 128 cycles that the next weights take. */
static void a_short_stream_waits_for_the_next_weights(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(128, 64, LL_WEIGHT_STATIONARY, 1);
    unit.systolic.overlap_folds = true;
    assert_near(cycles_of(&unit, 1, 8, 128, 128), (8 + 2 * 128 + 64 - 2) + 128, 0);
}

/* The dumb twin of one output-stationary fold: cells that pass their operands on, cycle by cycle. The cell at
 * (r, c) multiplies for the last time in cycle k - 1 + r + c. */
static void a_stepped_array_ends_in_the_same_cycle(void **state)
{
    (void)state;
    for (uint64_t rows = 1; rows <= 6; rows++)
        for (uint64_t cols = 1; cols <= 6; cols++)
            for (uint64_t k = 1; k <= 7; k++) {
                uint64_t done[6][6] = {0}, cycle = 0;
                for (bool busy = true; busy; cycle++) {
                    busy = false;
                    for (uint64_t r = 0; r < rows; r++)
                        for (uint64_t c = 0; c < cols; c++) {
                            done[r][c] += cycle >= r + c && cycle < r + c + k;
                            busy = busy || done[r][c] < k;
                        }
                }
                struct ll_unit unit = array_of(rows, cols, LL_OUTPUT_STATIONARY, 1);
                assert_near(cycles_of(&unit, 1, rows, cols, k), (double)cycle, 0);
            }
}

static void two_products_a_cycle_halve_the_stream(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 16, LL_OUTPUT_STATIONARY, 1);
    struct ll_work work = gemm_work(LL_INT8, 1, 16, 16, 101);
    assert_near(way_of(&unit, &work).cycles, 51 + 16 + 16 - 2, 0);
}

static void arrays_share_the_batch_first(void **state)
{
    (void)state;
    struct ll_unit one = array_of(16, 16, LL_WEIGHT_STATIONARY, 1),
                   four = array_of(16, 16, LL_WEIGHT_STATIONARY, 4);
    assert_near(cycles_of(&four, 8, 64, 16, 16), cycles_of(&one, 2, 64, 16, 16), 0);
}

/* 5 column folds on 4 arrays: two columns of arrays take 3 folds and half the rows each, which beats one
 * column of arrays (5 folds, a quarter of the rows) by fill and four columns (2 folds, all rows) by stream.
 */
static void arrays_share_columns_and_rows(void **state)
{
    (void)state;
    struct ll_unit one = array_of(16, 16, LL_WEIGHT_STATIONARY, 1),
                   four = array_of(16, 16, LL_WEIGHT_STATIONARY, 4);
    struct ll_work work = gemm_work(LL_F32, 1, 120, 80, 16);
    struct ll_kernel_config way = way_of(&four, &work);
    double by_hand[] = {5 * (30 + 46), 3 * (60 + 46), 2 * (120 + 46)};
    assert_near(way.cycles, fmin(by_hand[0], fmin(by_hand[1], by_hand[2])), 0);
    assert_near(cycles_of(&one, 1, 60, 48, 16), by_hand[1], 0);
    assert_int_equal(way.units_used, 4);
}

/* 4 rows of the product lie on one fold whatever the split: only columns can be shared, 12 folds of them. */
static void any_number_of_arrays_shares_the_columns(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 4, 12 * 16, 16);
    for (uint64_t count = 1; count <= 12; count++) {
        struct ll_unit unit = array_of(16, 16, LL_OUTPUT_STATIONARY, count);
        struct ll_kernel_config way = way_of(&unit, &work);
        uint64_t folds = ll_ceil_div(12, count);
        assert_int_equal(way.units_used, ll_ceil_div(12, folds));
        assert_int_equal(way.share.n, folds * 16);
        assert_near(way.cycles, (double)folds * (16 + 16 + 16 - 2), 0);
    }
}

/* 3 column folds by 5 row folds, and any other few, are one for each array wherever there are enough, also
 * where no power of two cuts them so. */
static void a_fold_for_each_array_takes_one_fold(void **state)
{
    (void)state;
    for (uint64_t columns = 1; columns <= 7; columns++)
        for (uint64_t rows = 1; rows <= 7; rows++) {
            struct ll_work work = gemm_work(LL_F32, 1, rows * 16, columns * 16, 16);
            for (uint64_t spare = 0; spare < 12; spare++) {
                struct ll_unit unit = array_of(16, 16, LL_OUTPUT_STATIONARY, rows * columns + spare);
                assert_near(way_of(&unit, &work).cycles, 16 + 16 + 16 - 2, 0);
            }
        }
}

/* One row of the product streams past 3 column folds: so many arrays take one each. */
static void columns_of_what_stays_are_cut_fold_by_fold(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 16, LL_WEIGHT_STATIONARY, 15);
    struct ll_work work = gemm_work(LL_F32, 1, 500, 3 * 16, 16);
    assert_near(way_of(&unit, &work).cycles, 100 + 46, 0);
}

/* Each group of a convolution is a small product of its own: 8 groups are 8 times one of them. */
static void groups_are_a_batch_of_small_products(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 16, LL_WEIGHT_STATIONARY, 1);
    struct ll_conv grouped = {1, 10, 10, 64, 8, 8, 64, 3, 3, 1, 1, 8, LL_CONV_FORWARD, 1, 1}, one = grouped;
    one.groups = 1;
    one.in_c = one.out_c = 8;
    struct ll_work grouped_work = conv_work(LL_F32, grouped), one_work = conv_work(LL_F32, one);
    assert_near(way_of(&unit, &grouped_work).cycles, 8 * way_of(&unit, &one_work).cycles, 0);
}

/* SCALE-Sim's SRAM reads: ifmap M K FC, filter K N; outputs leave once here, where accumulators hold them. */
static void an_array_asks_for_its_operands_fold_by_fold(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 32, LL_WEIGHT_STATIONARY, 1);
    struct ll_work work = gemm_work(LL_F32, 1, 50, 70, 40);
    assert_near(way_of(&unit, &work).unit_bytes, 4 * (50 * 40 * 3 + 40 * 70 + 50 * 70), 1e-15);
}

/* 50 sums a column, of which 20 find room: three fifths of the output go out and in again for the second and
 * third row fold. In bf16 the output has 2 bytes, a sum 4. */
static void sums_without_an_accumulator_go_to_memory_and_back(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 32, LL_WEIGHT_STATIONARY, 1);
    unit.systolic.accumulators = 20;
    struct ll_work work = gemm_work(LL_F32, 1, 50, 70, 40);
    double operands = 50 * 40 * 3 + 40 * 70, output = 50 * 70, spilled = output * 0.6 * 2 * 2;
    assert_near(way_of(&unit, &work).unit_bytes, 4 * (operands + output + spilled), 1e-15);
    unit.systolic.macs[LL_BF16] = 1;
    struct ll_work half = gemm_work(LL_BF16, 1, 50, 70, 40);
    assert_near(way_of(&unit, &half).unit_bytes, 2 * (operands + output) + 4 * spilled, 1e-15);
    unit.systolic.dataflow = LL_INPUT_STATIONARY;
    unit.systolic.accumulators = 35;
    assert_near(way_of(&unit, &work).unit_bytes, 4 * (50 * 40 + 40 * 70 * 2 + output + output * 0.5 * 2 * 2),
                1e-15);
    unit.systolic.accumulators = 70;
    assert_near(way_of(&unit, &work).unit_bytes, 4 * (50 * 40 + 40 * 70 * 2 + output), 1e-15);
}

/* On one array all that streams goes whole, or, the last way, in pieces. */
static struct ll_kernel_config way_in_pieces(const struct ll_unit *unit, const struct ll_work *work)
{
    const struct ll_unit_model *model = ll_unit_model(unit->model);
    struct ll_task task = ll_task_of(work, (enum ll_dtype)work->dtype);
    struct ll_kernel_config way;
    assert_int_equal(model->way_count(unit, &task), 2);
    assert_true(model->way(unit, &task, 1, &way));
    return way;
}

/* 50 rows in three pieces of at most 20, for each of which all weights are loaded: 3 x 3 folds of 16 x 32.
 * One by one, each piece fills and drains, 2 R + C - 2 = 62 cycles; behind the wavefront loading three times,
 * 48, takes less than streaming 50. */
static void what_streams_comes_in_pieces_whose_sums_find_room(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 32, LL_WEIGHT_STATIONARY, 1);
    unit.systolic.accumulators = 20;
    struct ll_work work = gemm_work(LL_F32, 1, 50, 70, 40);
    struct ll_kernel_config way = way_in_pieces(&unit, &work);
    assert_near(way.unit_bytes, 4 * (50 * 40 * 3 + 3 * 40 * 70 + 50 * 70), 1e-15);
    assert_near(way.cycles, 9 * (50 + 3 * 62), 0);
    unit.systolic.overlap_folds = true;
    assert_near(way_in_pieces(&unit, &work).cycles, 9 * 50 + 62, 0);
    unit.systolic.accumulators = 5;
    way = way_in_pieces(&unit, &work);
    assert_near(way.unit_bytes, 4 * (50 * 40 * 3 + 10 * 40 * 70 + 50 * 70), 1e-15);
    assert_near(way.cycles, 9 * 10 * 16 + 62, 0);
    unit.systolic.dataflow = LL_INPUT_STATIONARY;
    unit.systolic.accumulators = 35;
    assert_near(way_in_pieces(&unit, &work).unit_bytes, 4 * (2 * 50 * 40 + 40 * 70 * 2 + 50 * 70), 1e-15);
}

static void sums_of_an_output_stationary_array_stay_in_it(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 32, LL_OUTPUT_STATIONARY, 1);
    struct ll_work work = gemm_work(LL_F32, 1, 50, 70, 40);
    double bytes = way_of(&unit, &work).unit_bytes;
    unit.systolic.accumulators = 1;
    assert_near(way_of(&unit, &work).unit_bytes, bytes, 0);
}

/* A depthwise convolution: 32 products of one column each, which use a column of the array; the image is in
 * windows of 9. Twice the batch streams twice as much. */
static void a_depthwise_convolution_uses_one_column(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(16, 16, LL_WEIGHT_STATIONARY, 1);
    struct ll_conv conv = {1, 10, 10, 32, 8, 8, 32, 3, 3, 1, 1, 32, LL_CONV_FORWARD, 1, 1};
    struct ll_work work = conv_work(LL_F32, conv);
    assert_near(way_of(&unit, &work).cycles, 32 * (64 + 2 * 16 + 16 - 2), 0);
    conv.batch = 2;
    struct ll_work two = conv_work(LL_F32, conv);
    assert_near(way_of(&unit, &two).cycles, 32 * (2 * 64 + 2 * 16 + 16 - 2), 0);
}

/* 64 pixels of 9 * 64 inputs each; the gradient of the input forms its overlapping sums inside. */
/* 3 x 3 taps of 3 channels on 16 rows: one fold of 27 by im2col in two, tap by tap nine folds; 64 pixels
 * stream, and 16 cycles load and 30 fill in front of each. */
static void taps_in_turn_take_a_fold_each(void **state)
{
    (void)state;
    const struct ll_conv conv = {1, 10, 10, 3, 8, 8, 16, 3, 3, 1, 1, 1, LL_CONV_FORWARD, 1, 1};
    struct ll_unit unit = array_of(16, 16, LL_WEIGHT_STATIONARY, 1);
    struct ll_work work = conv_work(LL_F32, conv);
    assert_near(way_of(&unit, &work).cycles, 2 * (64 + 16 + 30), 1e-12);
    unit.systolic.tap_by_tap = true;
    assert_near(way_of(&unit, &work).cycles, 9 * (64 + 16 + 30), 1e-12);
    work = gemm_work(LL_F32, 1, 64, 16, 27); /* no taps: as ever */
    assert_near(way_of(&unit, &work).cycles, 2 * (64 + 16 + 30), 1e-12);
}

/* Jouppi et al.: a matrix of 600 x 600 is nine tiles of 256 x 256. */
static void weights_in_whole_tiles_have_their_bytes(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(256, 256, LL_WEIGHT_STATIONARY, 1);
    const struct ll_work work = gemm_work(LL_INT8, 1, 96, 600, 600);
    struct ll_task plain = ll_task_of(&work, LL_INT8), task = plain;
    ll_systolic_pack(&unit, &task);
    assert_near(task.problem.element[LL_OPERAND_B], plain.problem.element[LL_OPERAND_B], 0);
    unit.systolic.whole_tiles = true;
    ll_systolic_pack(&unit, &task);
    assert_near(task.problem.element[LL_OPERAND_B] * 600 * 600, 9 * 65536, 1e-12);
    assert_near(task.unit_pass[LL_OPERAND_B] / plain.unit_pass[LL_OPERAND_B], 9 * 65536.0 / (600 * 600),
                1e-12);
    assert_near(task.problem.element[LL_OPERAND_A], plain.problem.element[LL_OPERAND_A], 0);
}

static void an_array_reads_each_window_in_full(void **state)
{
    (void)state;
    struct ll_unit unit = array_of(1000, 1000, LL_OUTPUT_STATIONARY, 1);
    struct ll_conv conv = {1, 10, 10, 64, 8, 8, 16, 3, 3, 1, 1, 1, LL_CONV_FORWARD, 1, 1};
    struct ll_work forward = conv_work(LL_F32, conv);
    assert_near(way_of(&unit, &forward).unit_bytes, 4 * (64 * 9 * 64 + 9 * 64 * 16 + 64 * 16), 1e-15);
    conv.pass = LL_CONV_DATA;
    struct ll_work data = conv_work(LL_F32, conv);
    assert_near(way_of(&unit, &data).unit_bytes, 4 * (64 * 16 + 9 * 64 * 16 + 100 * 64), 1e-15);
}

/* Each with a memory of its own before a memory that they share. */
static struct ll_machine arrays_with_memories(uint64_t count)
{
    struct ll_machine machine = {.name = "arrays", .unit_count = 1, .level_count = 2, .clock_hz = 1e9};
    machine.units[0] = array_of(32, 64, LL_WEIGHT_STATIONARY, count);
    machine.levels[0] = (struct ll_level){.name = "own",
                                          .size_bytes = 4 << 20,
                                          .bandwidth_Bps = 512e9,
                                          .efficiency = 1,
                                          .scope = LL_SCOPE_UNIT};
    machine.levels[1] = (struct ll_level){.name = "shared",
                                          .size_bytes = UINT64_C(16) << 30,
                                          .bandwidth_Bps = 900e9,
                                          .efficiency = 1,
                                          .scope = LL_SCOPE_DEVICE};
    return machine;
}

static struct ll_timing time_with(uint64_t arrays, const struct ll_work *work)
{
    struct ll_machine machine = arrays_with_memories(arrays);
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    assert_true(ll_cost_op(&machine, LL_OP_MATMUL, work, &cost, &trouble));
    ll_cost_time(&machine, &cost, NULL, &timing);
    return timing;
}

/* 256 rows on 32 arrays load 32 copies of the weights, on 128 arrays 128. */
static void no_more_arrays_work_than_their_operands_are_worth(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 1, 256, 32, 12800);
    assert_true(time_with(128, &work).time_s < 1.02 * time_with(32, &work).time_s);
    assert_true(time_with(32, &work).time_s < time_with(2, &work).time_s);
}

/* There is one fold of columns in two products: two arrays work, however many there are. */
static void arrays_without_work_take_no_time(void **state)
{
    (void)state;
    struct ll_work work = gemm_work(LL_F32, 2, 1, 64, 512);
    assert_true(time_with(64, &work).time_s == time_with(2, &work).time_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_sim_counts_the_same_cycles),
        cmocka_unit_test(without_overlap_cycles_and_use_are_those_of_scale_sim),
        cmocka_unit_test(overlapped_folds_stream_without_a_gap),
        cmocka_unit_test(a_short_stream_waits_for_the_next_weights),
        cmocka_unit_test(a_stepped_array_ends_in_the_same_cycle),
        cmocka_unit_test(two_products_a_cycle_halve_the_stream),
        cmocka_unit_test(arrays_share_the_batch_first),
        cmocka_unit_test(arrays_share_columns_and_rows),
        cmocka_unit_test(any_number_of_arrays_shares_the_columns),
        cmocka_unit_test(a_fold_for_each_array_takes_one_fold),
        cmocka_unit_test(columns_of_what_stays_are_cut_fold_by_fold),
        cmocka_unit_test(groups_are_a_batch_of_small_products),
        cmocka_unit_test(an_array_asks_for_its_operands_fold_by_fold),
        cmocka_unit_test(sums_without_an_accumulator_go_to_memory_and_back),
        cmocka_unit_test(what_streams_comes_in_pieces_whose_sums_find_room),
        cmocka_unit_test(sums_of_an_output_stationary_array_stay_in_it),
        cmocka_unit_test(a_depthwise_convolution_uses_one_column),
        cmocka_unit_test(taps_in_turn_take_a_fold_each),
        cmocka_unit_test(weights_in_whole_tiles_have_their_bytes),
        cmocka_unit_test(an_array_reads_each_window_in_full),
        cmocka_unit_test(no_more_arrays_work_than_their_operands_are_worth),
        cmocka_unit_test(arrays_without_work_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
