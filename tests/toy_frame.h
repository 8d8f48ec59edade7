/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep in memory, as if read from a database: arrays, buffers, memories and clocks, and what a formula
 * makes of them. Everything lives in the arena. */
#ifndef LL_TESTS_TOY_FRAME_H
#define LL_TESTS_TOY_FRAME_H

#include "random.h"
#include "sim/explore/sweep.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOY_AXES = 5, TOY_RESULTS = 6 };

static inline const struct ll_axis_value *toy_values(struct ll_arena *arena, const char *format, double first,
                                                     double factor, uint32_t count)
{
    struct ll_axis_value *values = ll_alloc(arena, count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i].number = first * pow(factor, i);
        values[i].text = ll_format(arena, format, values[i].number);
    }
    return values;
}

/* Names instead of numbers. */
static inline const struct ll_axis_value *toy_memories(struct ll_arena *arena, uint32_t *count)
{
    static const char *const names[] = {"ddr4 <2ch>", "lpddr5", "gddr6", "hbm2e"};
    struct ll_axis_value *values = ll_alloc(arena, 4, sizeof *values);
    for (uint32_t i = 0; i < 4; i++)
        values[i] = (struct ll_axis_value){.text = names[i], .number = NAN};
    *count = 4;
    return values;
}

/* time_s, area_mm2, energy_j, then shares of the time. */
static inline void toy_measure(const double *rows, const double *cols, double buffer, uint32_t memory,
                               double clock, double *results)
{
    static const double bandwidth[] = {25e9, 60e9, 300e9, 900e9}, price[] = {4, 8, 30, 90},
                        pj[] = {60, 30, 40, 15};
    double compute = 4e12 / (*rows * *cols * clock) + 2e9 / (*cols * clock), bytes = 6e9 / sqrt(buffer) * 256;
    double memory_s = bytes / bandwidth[memory];
    results[0] = fmax(compute, memory_s) + 2e-4;
    results[1] = *rows * *cols * 6e-4 + buffer * 4e-7 + price[memory];
    results[2] = bytes * pj[memory] * 1e-12 + 0.8 * clock / 1e9 + results[0] * results[1] * 0.05;
    results[3] = compute > memory_s ? 1 - 2e-4 / results[0] : 0;
    results[4] = compute > memory_s ? 0 : 1 - 2e-4 / results[0];
    results[5] = 2e-4 / results[0];
}

static inline struct ll_data_column *toy_columns(struct ll_arena *arena, uint64_t rows)
{
    static const char *const names[] = {
        "units.array.rows", "units.array.cols", "memory.sram.size", "memory.dram", "clock",         "time_s",
        "area_mm2",         "energy_j",         "share.compute",    "share.dram",  "share.overhead"};
    struct ll_data_column *columns = ll_alloc(arena, TOY_AXES + TOY_RESULTS, sizeof *columns);
    for (size_t c = 0; c < TOY_AXES + TOY_RESULTS; c++)
        columns[c] = (struct ll_data_column){
            .name = names[c],
            .is_axis = c < TOY_AXES,
            .base = c < TOY_AXES || c >= TOY_AXES + 3 ? NAN : 50 / (double)(c * c * c),
            .numbers = ll_alloc(arena, rows, sizeof(double)),
            .choices = c < TOY_AXES ? ll_alloc(arena, rows, sizeof(uint32_t)) : NULL};
    columns[0].values = columns[1].values = toy_values(arena, "%.0f", 8, 2, 7);
    columns[0].value_count = columns[1].value_count = 7;
    columns[2].values = toy_values(arena, "%.0fB", 65536, 2, 10);
    columns[2].value_count = 10;
    columns[3].values = toy_memories(arena, &columns[3].value_count);
    columns[4].values = toy_values(arena, "%.0fHz", 2e8, 1.2, 12);
    columns[4].value_count = 12;
    return columns;
}

/* So many designs drawn by lot; about one in ten is not valid, some of these without results. */
static inline const struct ll_data_frame *toy_frame(struct ll_arena *arena, uint64_t rows, uint64_t seed)
{
    static const struct ll_fact facts[] = {
        {"command", "leadline sweep toy.yaml -o toy.db"}, {"version", "0.1.0"}, {"space_hash", "7f3a91c2"}};
    uint64_t random = seed, *numbers = ll_alloc(arena, rows, sizeof *numbers);
    uint8_t *verdicts = ll_alloc(arena, rows, sizeof *verdicts);
    struct ll_data_column *columns = toy_columns(arena, rows);
    struct ll_data_frame *frame = ll_alloc(arena, 1, sizeof *frame);
    *frame = (struct ll_data_frame){rows,
                                    numbers,
                                    verdicts,
                                    columns,
                                    TOY_AXES + TOY_RESULTS,
                                    TOY_AXES,
                                    facts,
                                    3,
                                    {{"min time_s", "time_s", false}, {"min area_mm2", "area_mm2", false}},
                                    2};
    for (uint64_t row = 0; row < rows; row++) {
        double results[TOY_RESULTS];
        numbers[row] = 3 * row + 1;
        verdicts[row] = ll_random_below(&random, 10)
                            ? LL_VERDICT_VALID
                            : (uint8_t)(LL_VERDICT_INFEASIBLE + ll_random_below(&random, 2));
        for (size_t a = 0; a < TOY_AXES; a++) {
            uint32_t choice = (uint32_t)ll_random_below(&random, columns[a].value_count);
            ((uint32_t *)columns[a].choices)[row] = choice;
            ((double *)columns[a].numbers)[row] = columns[a].values[choice].number;
        }
        toy_measure(&columns[0].numbers[row], &columns[1].numbers[row], columns[2].numbers[row],
                    columns[3].choices[row], columns[4].numbers[row], results);
        for (size_t r = 0; r < TOY_RESULTS; r++)
            ((double *)columns[TOY_AXES + r].numbers)[row] =
                verdicts[row] == LL_VERDICT_INVALID ? NAN : results[r];
    }
    return frame;
}

#endif
