/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of schedules on cores, of random chips and traces: a fused step is never slower than layer by
 * layer; no stack is shorter than its bound; no core and no link is busier than the step is long; no
 * memory holds more than its size; and the same input gives the same bits. Of gated layers whose hidden
 * columns fit no memory, and of attention. */
#include "check.h"

#include "sim/fusion/fusion.h"
#include "toy_trace.h"

#include <math.h>
#include <stdlib.h>

enum { CASES = 3, FEW_CASES = 2 };

static uint64_t seed; /* of the first case */

/* One to four equal cores, and perhaps a core of lanes alone; a ring or a mesh or none beside the bus. */
static void write_chip(uint64_t *state, char *yaml, size_t room)
{
    static const char *const between[] = {
        "", "  - {name: noc, topology: ring, joins: [core], bandwidth: 8B/cycle}\n",
        ("  - {name: noc, topology: mesh, shape: 1x%u, joins: [core], latency: 3ns, "
         "bandwidth: 2B/cycle}\n")};
    unsigned cores = 1u << ll_random_below(state, 3), kib = 64u << ll_random_below(state, 5);
    unsigned noc = cores > 1 ? (unsigned)ll_random_below(state, 3) : 0;
    bool apart = ll_random_below(state, 2);
    char link[160];
    snprintf(link, sizeof link, between[noc], cores);
    snprintf(yaml, room,
             "name: chip\nclock: 1GHz\nunits:\n"
             "  - {name: array, model: systolic, rows: %u, cols: 16, dataflow: ws, macs: {f32: 1}, "
             "runs: [matrix, conv]}\n"
             "  - {name: lanes, model: vector, lanes: 16, flops: {f32: 1, i32: 1, i64: 1, bool: 1, u8: 1}}\n"
             "memory:\n  - {name: sram, size: %uKiB, bandwidth: 128B/cycle}\n%s"
             "  - {name: dram, size: 8GiB, bandwidth: %uB/cycle, latency: %uns}\n"
             "cores:\n  - {name: core, count: %u, units: [array%s], memory: [sram]}\n%s"
             "core_links:\n%s  - {name: bus, topology: bus, joins: [core%s, dram], bandwidth: %uB/cycle}\n"
             "energy: {mac_pj: {f32: 1}, on_chip_pj: 0.1, off_chip_pj: 50}\n",
             8u << ll_random_below(state, 3), kib,
             apart ? "  - {name: near, size: 128KiB, bandwidth: 64B/cycle}\n" : "",
             1u << ll_random_below(state, 6), (unsigned)ll_random_below(state, 2) * 50, cores,
             apart ? "" : ", lanes", apart ? "  - {name: simd, units: [lanes], memory: [near]}\n" : "", link,
             apart ? ", simd" : "", 1u << ll_random_below(state, 6));
}

static struct ll_machine *read_chip(const char *yaml)
{
    static const char *const no_folders[] = {NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_parse(yaml, strlen(yaml), "chip.yaml", no_folders, NULL, 0, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n%s\n", yaml, diags.kept[i].message);
    ll_diags_release(&diags);
    assert_non_null(machine);
    return machine;
}

static const struct ll_fused_step *schedule(const struct ll_prepared *prepared,
                                            const struct ll_machine *machine, enum ll_fuse fuse,
                                            struct ll_arena *arena)
{
    struct ll_diags diags = {0};
    const struct ll_fused_step *step = ll_fuse(prepared, machine, fuse, arena, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    ll_diags_release(&diags);
    assert_non_null(step);
    return step;
}

static void check_step(const struct ll_fused_step *step)
{
    double little_s = 1e-9 * step->time_s;
    for (uint64_t s = 0; s < step->stack_count; s++)
        assert_true(step->stacks[s].bound_s <= step->stacks[s].time_s + little_s);
    for (uint32_t c = 0; c < step->core_count; c++)
        assert_true(step->core_busy_s[c] <= step->time_s + little_s);
    for (uint64_t l = 0; l < step->link_count; l++)
        assert_true(step->links[l].bytes / step->links[l].Bps <= step->time_s + little_s);
    for (uint64_t p = 0; p < step->pool_count; p++)
        assert_true(step->pools[p].peak_bytes <= step->pools[p].capacity_bytes * (1 + 1e-9));
    assert_true(step->energy_j > 0);
    double shares = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        shares += step->result->shares[i];
    assert_true(fabs(shares - 1) < 1e-9);
}

/* Fused, fused again and layer by layer; frees the trace. Returns the most blocks of columns of a stack of
 * several ops. */
static uint32_t check_trace(struct ll_trace *trace, const char *yaml)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_machine *machine = read_chip(yaml);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    uint32_t blocks = 0;
    assert_non_null(prepared);
    const struct ll_fused_step *fused = schedule(prepared, machine, LL_FUSE_AUTO, &arena);
    const struct ll_fused_step *again = schedule(prepared, machine, LL_FUSE_AUTO, &arena);
    const struct ll_fused_step *layers = schedule(prepared, machine, LL_FUSE_NONE, &arena);
    check_step(fused);
    check_step(layers);
    assert_true(fused->time_s <= layers->time_s * (1 + 1e-12));
    assert_true(fused->layer_by_layer_s == layers->time_s);
    assert_true(fused->time_s == again->time_s && fused->energy_j == again->energy_j);
    for (uint64_t s = 0; s < fused->stack_count; s++)
        if (fused->stacks[s].op_count > 1 && fused->stacks[s].column_blocks > blocks)
            blocks = fused->stacks[s].column_blocks;
    ll_machine_free(machine);
    ll_trace_free(trace);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return blocks;
}

static void fused_is_never_slower_than_layer_by_layer(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t random = seed + i;
        char yaml[2048];
        write_chip(&random, yaml, sizeof yaml);
        check_trace(toy_trace(seed + i), yaml);
    }
}

/* x left, x right, a gate of both, a GEMM back and what it began with. */
static struct ll_trace *gated(uint64_t rows, uint64_t width, uint64_t hidden)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t left = toy_bring(toy, toy_matrix(width, hidden), LL_WEIGHT);
    uint32_t right = toy_bring(toy, toy_matrix(width, hidden), LL_WEIGHT);
    uint32_t down = toy_bring(toy, toy_matrix(hidden, width), LL_WEIGHT);
    uint32_t x = toy_bring(toy, toy_matrix(rows, width), LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    uint32_t a =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, left}, 2, NULL, 0, LL_ACTIVATION, NULL);
    uint32_t b =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, right}, 2, NULL, 0, LL_ACTIVATION, NULL);
    uint32_t gate = toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &a, 1, NULL, 0, LL_ACTIVATION, NULL);
    uint32_t h =
        toy_op(toy, LL_OP_MUL, LL_PHASE_FORWARD, (uint32_t[]){gate, b}, 2, NULL, 0, LL_ACTIVATION, NULL);
    uint32_t y =
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){h, down}, 2, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_ADD, LL_PHASE_FORWARD, (uint32_t[]){y, x}, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static void columns_of_a_gated_layer_go_through_the_chip_block_by_block(void **state)
{
    (void)state;
    uint32_t most = 0;
    for (uint64_t i = 0; i < FEW_CASES; i++) {
        uint64_t random = seed + i;
        char yaml[2048];
        write_chip(&random, yaml, sizeof yaml);
        uint64_t rows = 16 + ll_random_below(&random, 100), width = 32 + ll_random_below(&random, 100);
        uint32_t blocks = check_trace(gated(rows, width, 4096 + ll_random_below(&random, 999)), yaml);
        most = blocks > most ? blocks : most;
    }
    assert_true(most > 1);
}

/* Scores, their softmax, and what they weigh, of several heads. */
static struct ll_trace *attention(uint64_t heads, uint64_t tokens, uint64_t width)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    struct ll_shape shape = {.dim = {heads, tokens, width}, .dtype = LL_F32, .rank = 3}, turned = shape;
    turned.dim[1] = width;
    turned.dim[2] = tokens;
    toy_open(toy, path);
    uint32_t q = toy_bring(toy, shape, LL_ACTIVATION), k = toy_bring(toy, turned, LL_ACTIVATION);
    uint32_t v = toy_bring(toy, shape, LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    uint32_t s = toy_op(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){q, k}, 2, NULL, 0,
                        LL_ACTIVATION, NULL);
    uint32_t p = toy_op(toy, LL_OP_SOFTMAX, LL_PHASE_FORWARD, &s, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_BATCH_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){p, v}, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static void scores_of_attention_stay_on_the_chip(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < FEW_CASES; i++) {
        uint64_t random = seed + i;
        char yaml[2048];
        write_chip(&random, yaml, sizeof yaml);
        check_trace(attention(1 + ll_random_below(&random, 6), 32 + ll_random_below(&random, 100),
                              8 + ll_random_below(&random, 64)),
                    yaml);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_is_never_slower_than_layer_by_layer),
        cmocka_unit_test(columns_of_a_gated_layer_go_through_the_chip_block_by_block),
        cmocka_unit_test(scores_of_attention_stay_on_the_chip),
    };
    seed = ll_seed(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
