/* SPDX-License-Identifier: Apache-2.0 */
/* How many cycles work takes on a unit that waits for no memory:
 *
 *   array ROWSxCOLS os|ws|is [overlap] [macs=N] [count=N]       | work | cycles | where from
 *   matrix macs=N [fill=N] [count=N] [tile=MxNxK]...            | work | cycles | where from
 *   vector LANES [flops=N] [count=N]                            | work | cycles | where from
 *
 * Work is `gemm batch m n k`, `vector elements flops` or `reduce elements results flops`, in f32. */
#include "case.h"
#include "sim/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t value_of(struct ll_case *c, const char *text, const char *key, const char *otherwise)
{
    char value[64];
    return ll_case_number(c, ll_case_value(text, key, value) ? value : otherwise);
}

static void read_array(struct ll_case *c, char *rest, struct ll_unit *unit)
{
    struct ll_systolic *array = &unit->systolic;
    char *size = ll_case_word(&rest), *columns = size ? strchr(size, 'x') : NULL,
         *dataflow = ll_case_word(&rest);
    static const char *const flows[] = {"os", "ws", "is"}; /* as enum ll_dataflow */
    unit->model = LL_UNIT_SYSTOLIC;
    array->macs[LL_F32] = (double)value_of(c, rest, "macs", "1");
    array->overlap_folds = strstr(rest, "overlap") != NULL;
    if (!columns || !dataflow) {
        ll_case_fail(c, "an array is ROWSxCOLS and a dataflow");
        return;
    }
    array->rows = strtoull(size, NULL, 10);
    array->cols = strtoull(columns + 1, NULL, 10);
    while (array->dataflow < LL_INPUT_STATIONARY && strcmp(dataflow, flows[array->dataflow]) != 0)
        array->dataflow++;
    if (strcmp(dataflow, flows[array->dataflow]) != 0)
        ll_case_fail(c, "there is no dataflow %s", dataflow);
}

static void read_matrix(struct ll_case *c, char *rest, struct ll_unit *unit)
{
    struct ll_matrix *matrix = &unit->matrix;
    unit->model = LL_UNIT_MATRIX;
    matrix->macs[LL_F32] = (double)value_of(c, rest, "macs", "1");
    matrix->fill_cycles = (double)value_of(c, rest, "fill", "0");
    for (const char *tile = rest; (tile = strstr(tile, "tile=")) && matrix->tile_count < LL_MAX_TILES;
         tile++) {
        struct ll_tile *t = &matrix->tiles[matrix->tile_count++];
        unsigned long long m = 0, n = 0, k = 0;
        if (sscanf(tile, "tile=%llux%llux%llu", &m, &n, &k) != 3)
            ll_case_fail(c, "a tile is MxNxK");
        *t = (struct ll_tile){m, n, k};
    }
}

static void read_vector(struct ll_case *c, char *rest, struct ll_unit *unit)
{
    char *lanes = ll_case_word(&rest);
    unit->model = LL_UNIT_VECTOR;
    unit->vector.lanes = ll_case_number(c, lanes ? lanes : "");
    unit->vector.flops[LL_F32] = (double)value_of(c, rest, "flops", "1");
}

static const struct {
    const char *word;
    void (*read)(struct ll_case *c, char *rest, struct ll_unit *unit);
} models[] = {{"array", read_array}, {"matrix", read_matrix}, {"vector", read_vector}};

/* A machine of this unit alone, with a memory that never makes anyone wait. */
static struct ll_machine read_unit(struct ll_case *c, char *text)
{
    struct ll_machine machine = {.clock_hz = 1e9, .unit_count = 1, .level_count = 1};
    struct ll_unit *unit = &machine.units[0];
    machine.levels[0] = (struct ll_level){
        .name = "memory", .size_bytes = UINT64_C(1) << 50, .bandwidth_Bps = 1e30, .efficiency = 1};
    *unit = (struct ll_unit){.name = "unit", .clock_hz = 1e9, .efficiency = 1};
    unit->count = value_of(c, text, "count", "1");
    const char *word = ll_case_word(&text);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(word, models[i].word) == 0)
            models[i].read(c, text, unit);
    return machine;
}

/* The kind of an op that asks for such work; LL_OP_NONE where there is no such work. */
static enum ll_op_kind read_work(struct ll_case *c, char *text, struct ll_work *work)
{
    const char *kind = ll_case_word(&text);
    uint64_t numbers[4] = {0};
    char *word;
    for (int i = 0; i < 4 && (word = ll_case_word(&text)); i++)
        numbers[i] = ll_case_number(c, word);
    *work = (struct ll_work){.dtype = LL_F32};
    if (kind && strcmp(kind, "gemm") == 0) {
        work->kind = LL_WORK_GEMM;
        work->gemm = (struct ll_gemm){numbers[0], numbers[1], numbers[2], numbers[3]};
        work->flops = 2 * numbers[0] * numbers[1] * numbers[2] * numbers[3];
        work->a_bytes = 4 * numbers[0] * numbers[1] * numbers[3];
        work->b_bytes = 4 * numbers[0] * numbers[2] * numbers[3];
        work->c_bytes = 4 * numbers[0] * numbers[1] * numbers[2];
        return LL_OP_MATMUL;
    }
    if (kind && strcmp(kind, "vector") == 0) {
        work->kind = LL_WORK_VECTOR;
        work->vector.elements = numbers[0];
        work->flops = numbers[1];
        work->a_bytes = work->c_bytes = 4 * numbers[0];
        return LL_OP_ADD;
    }
    if (kind && strcmp(kind, "reduce") == 0) {
        work->kind = LL_WORK_REDUCE;
        work->reduce.in_elements = numbers[0];
        work->reduce.out_elements = numbers[1];
        work->flops = numbers[2];
        work->a_bytes = 4 * numbers[0];
        work->c_bytes = 4 * numbers[1];
        return LL_OP_BIAS_GRAD;
    }
    ll_case_fail(c, "there is no work %s", kind ? kind : "");
    return LL_OP_NONE;
}

void ll_check_unit_case(struct ll_case *c)
{
    struct ll_work work;
    struct ll_cost cost;
    const char *trouble = "";
    struct ll_machine machine = read_unit(c, c->column[0]);
    enum ll_op_kind kind = read_work(c, c->column[1], &work);
    if (c->failed)
        return;
    if (!ll_cost_op(&machine, kind, &work, &cost, &trouble))
        ll_case_fail(c, "%s", trouble);
    else if (cost.compute_cycles != (double)(uint64_t)cost.compute_cycles)
        ll_case_fail(c, "%.17g cycles are no whole number", cost.compute_cycles);
    else
        ll_case_expect(c, "cycles", (uint64_t)cost.compute_cycles, c->column[2]);
}
