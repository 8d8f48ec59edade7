/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"
#include "toy_trace.h"

#include "sim/replay/cached.h"

enum { MOST = 1 << 22 };

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Distinct addresses of a nest, reads and writes apart. */
static uint64_t distinct(const struct ll_nest *nest, bool write)
{
    uint64_t *all = malloc(MOST * sizeof *all), count = 0, different = 0;
    struct ll_stream stream;
    uint64_t buffer[256];
    ll_stream_begin(&stream, nest);
    for (size_t n; (n = ll_stream_fill(&stream, buffer, 256));)
        for (size_t i = 0; i < n; i++)
            if ((buffer[i] >= LL_CACHE_WRITE) == write) {
                assert_true(count < MOST);
                all[count++] = buffer[i];
            }
    qsort(all, count, sizeof *all, by_value);
    for (uint64_t i = 0; i < count; i++)
        different += i == 0 || all[i] != all[i - 1];
    free(all);
    return different;
}

/* The first byte that is touched. */
static uint64_t lowest(const struct ll_nest *nest)
{
    uint64_t least = UINT64_MAX, buffer[256];
    struct ll_stream stream;
    ll_stream_begin(&stream, nest);
    for (size_t n; (n = ll_stream_fill(&stream, buffer, 256));)
        for (size_t i = 0; i < n; i++)
            least = buffer[i] % LL_CACHE_WRITE < least ? buffer[i] % LL_CACHE_WRITE : least;
    return least;
}

static struct ll_shape shape_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (struct ll_shape){.dim = {a, b, c, d}, .dtype = LL_F32, .rank = d ? 4 : 2};
}

static struct ll_tiling tiling_of(const struct ll_gemm *block, enum ll_operand stays)
{
    return (struct ll_tiling){.stays = stays, .block = *block};
}

/* Whatever the blocks and the transposition: all of both inputs is read, all of the output written. */
static void a_product_touches_all_of_its_operands(void **state)
{
    (void)state;
    for (int t = 0; t < 12; t++) {
        bool ta = t & 1, tb = t & 2;
        struct ll_shape in[] = {ta ? shape_of(7, 5, 0, 0) : shape_of(5, 7, 0, 0),
                                tb ? shape_of(9, 7, 0, 0) : shape_of(7, 9, 0, 0)},
                        out = shape_of(5, 9, 0, 0);
        struct ll_attr attrs[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = ta},
                                  {.key = LL_ATTR_TRANSPOSE_B, .count = tb}};
        struct ll_op_view op = {LL_OP_MATMUL, 2, 1, 2, in, &out, attrs};
        struct ll_work work;
        assert_true(ll_op_lower(&op, &work));
        struct ll_tiling tiling = tiling_of(&(struct ll_gemm){1, 2, 3, 4}, (enum ll_operand)(t / 4));
        struct ll_nest nest = ll_nest_of_op(&op, &work, &tiling);
        assert_int_equal(distinct(&nest, true), 5 * 9);
        /* k is cut by what stays, so that sums are read again. */
        assert_int_equal(distinct(&nest, false), 5 * 7 + 7 * 9 + 5 * 9);
    }
}

/* 6 x 5 images, 3 x 3 filters, all pixels seen: 2 x 6 x 5 x 3 image, 3 x 3 x 3 x 4 filter, 2 x 6 x 5 x 4
 * result. */
static void the_passes_of_a_convolution_touch_all_of_their_operands(void **state)
{
    (void)state;
    const struct ll_shape image = shape_of(2, 6, 5, 3), filter = shape_of(3, 3, 3, 4),
                          result = shape_of(2, 6, 5, 4);
    const enum ll_op_kind kinds[] = {LL_OP_CONV2D, LL_OP_CONV2D_DATA, LL_OP_CONV2D_FILTER};
    const struct ll_shape ins[][2] = {{image, filter}, {result, filter}, {image, result}},
                          outs[] = {result, image, filter};
    const uint64_t elements[] = {180, 108, 240};
    const struct ll_attr attrs[] = {{.key = LL_ATTR_PAD_TOP, .count = 1},
                                    {.key = LL_ATTR_PAD_LEFT, .count = 1},
                                    {.key = LL_ATTR_PAD_BOTTOM, .count = 1},
                                    {.key = LL_ATTR_PAD_RIGHT, .count = 1}};
    const uint64_t written[] = {elements[2], elements[0], elements[1]};
    for (int p = 0; p < 3; p++)
        for (int s = 0; s < 3; s++)
            for (uint64_t block = 1; block < 40; block += 7) {
                struct ll_shape out = outs[p];
                struct ll_op_view op = {kinds[p], 2, 1, 4, ins[p], &out, attrs};
                struct ll_work work;
                assert_true(ll_op_lower(&op, &work));
                struct ll_tiling tiling =
                    tiling_of(&(struct ll_gemm){1, block, block, block}, (enum ll_operand)s);
                struct ll_nest nest = ll_nest_of_op(&op, &work, &tiling);
                uint64_t all = elements[0] + elements[1] + elements[2], read = distinct(&nest, false);
                assert_int_equal(distinct(&nest, true), written[p]);
                assert_int_equal(lowest(&nest), 0); /* where the image lies, whatever is around it */
                /* A forward sum that one block finishes is never read. */
                assert_true(read == all || read == all - written[p]);
            }
}

/* 5 rows of 6 floats, of a table of 50 of them, behind 5 indices. Which rows is left to chance, so that no
 * more than 5 are read. */
static void a_gather_reads_indices_and_writes_what_rows_it_reads(void **state)
{
    (void)state;
    const struct ll_shape in[] = {shape_of(50, 6, 0, 0), {.dim = {5}, .dtype = LL_I32, .rank = 1}};
    struct ll_shape out = shape_of(5, 6, 0, 0);
    const struct ll_op_view op = {LL_OP_GATHER, 2, 1, 0, in, &out, NULL};
    struct ll_work work;
    assert_true(ll_op_lower(&op, &work));
    struct ll_nest nest = ll_nest_of_op(&op, &work, NULL);
    assert_int_equal(distinct(&nest, true), 5 * 6);
    uint64_t read = distinct(&nest, false) - 5;
    assert_true(read % 6 == 0 && read >= 6 && read <= 5 * 6);
}

/* The toy machine with a cache of 1 MiB, its shape changed by one setting, and two channels of DDR4. */
static struct ll_machine *cached_machine(const char *path, const char *value)
{
    struct ll_diags diags = {0};
    struct ll_override set[] = {
        {path, value}, {"memory.ram.dram", "ddr4-2400"}, {"memory.ram.channels", "2"}};
    struct ll_machine *machine = ll_toy_parse(LL_TOY_MACHINE, set, 3, &diags);
    assert_non_null(machine);
    ll_diags_release(&diags);
    return machine;
}

/* A product of 40 x terms by terms x 50 and its relu. */
static struct ll_trace *two_ops(uint32_t terms)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    ll_recorder_step_begin(toy->recorder);
    uint32_t a = toy_bring(toy, toy_matrix(40, terms), LL_INPUT),
             b = toy_bring(toy, toy_matrix(terms, 50), LL_WEIGHT);
    uint32_t c = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (const uint32_t[]){a, b}, 2, NULL, 0,
                        LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &c, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

struct world {
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_trace *trace;
    const struct ll_prepared *prepared;
};

static void make_of(struct world *world, uint32_t terms)
{
    *world = (struct world){.trace = two_ops(terms)};
    world->prepared = ll_prepare(world->trace, &world->arena, &world->diags);
    assert_non_null(world->prepared);
}

static void make(struct world *world)
{
    make_of(world, 30);
}

static void unmake(struct world *world)
{
    ll_arena_release(&world->arena);
    ll_diags_release(&world->diags);
    ll_trace_free(world->trace);
}

static struct ll_cached_op run(const struct world *world, const struct ll_machine *machine, uint32_t seq,
                               uint64_t most)
{
    struct ll_cached_op cached;
    assert_true(ll_run_cached(world->prepared, machine, &(struct ll_cached_request){.seq = seq, .most = most},
                              &cached));
    return cached;
}

/* In a cache that holds everything an op moves each line of its operands in once, and those it wrote out. The
 * operands have 75, 93.75 and 125 lines of 64 bytes. */
static void a_large_cache_moves_each_line_once(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.policy", "lru");
    make(&world);
    struct ll_cached_op product = run(&world, machine, 0, UINT64_MAX),
                        relu = run(&world, machine, 1, UINT64_MAX);
    assert_true(product.whole && product.blocked);
    assert_int_equal(product.levels[0].traffic_bytes, 64 * (75 + 94 + 125 + 125));
    assert_near(product.formula_bytes, 4 * (1200 + 1500 + 2000), 0);
    assert_int_equal(product.tiling.stays, LL_OPERAND_C);
    assert_int_equal(product.tiling.block.k, 16); /* floats of a line */
    assert_true(relu.whole && !relu.blocked);
    assert_int_equal(relu.accesses, 4000);
    assert_int_equal(relu.levels[0].traffic_bytes, 64 * (125 + 125 + 125));
    assert_near(relu.formula_bytes, 4 * 4000, 0);
    unmake(&world);
    ll_machine_free(machine);
}

static void an_op_is_blocked_for_half_of_a_cache_or_for_all_where_nothing_loads_meanwhile(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.policy", "lru");
    make(&world);
    machine->levels[0].size_bytes = 8192;
    double half = run(&world, machine, 0, 1).formula_bytes;
    machine->levels[0].buffering = LL_BUFFER_SINGLE;
    double all = run(&world, machine, 0, 1).formula_bytes;
    machine->levels[0].buffering = LL_BUFFER_DOUBLE;
    machine->levels[0].size_bytes = 16384;
    assert_near(all, run(&world, machine, 0, 1).formula_bytes, 0);
    assert_true(all < half);
    unmake(&world);
    ll_machine_free(machine);
}

/* Of 256 lines, a block of 40 x 48 sums takes 160 or 180, as many terms of 40 rows as a line has 40, and each
 * row of the right operand 4 or 5: a few of those fit beside the block, not 16. */
static void a_block_stays_in_a_cache_of_one_set(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.policy", "lru");
    make_of(&world, 400);
    machine->levels[0].size_bytes = 16384;
    struct ll_cached_op product = run(&world, machine, 0, UINT64_MAX);
    assert_true((double)product.levels[0].traffic_bytes < 1.2 * (product.formula_bytes + 4 * 2000));
    unmake(&world);
    ll_machine_free(machine);
}

/* Written around, the relu's 2000 results go out one by one: 125 lines in, 2000 floats out. */
static void writes_that_go_around_are_traffic(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.write_around", "true");
    make(&world);
    struct ll_cached_op relu = run(&world, machine, 1, UINT64_MAX);
    assert_int_equal(relu.levels[0].traffic_bytes, 64 * 125 + 4 * 2000);
    assert_int_equal(relu.memory.read_bytes, 64 * 125);
    assert_int_equal(relu.memory.written_bytes, 4 * 2000);
    unmake(&world);
    ll_machine_free(machine);
}

/* The relu written out: a line of x and one of y in turn, y behind 8000 bytes of x at the next multiple of
 * 4096, and at the end all lines of y. Formula: a stream. */
static void memory_serves_what_the_caches_ask(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.ways", "4");
    struct ll_dram_timed *ram = ll_dram_timed_new(ll_dram_find("ddr4-2400"), 2, NULL, NULL);
    struct ll_dram_result by_hand;
    make(&world);
    struct ll_cached_memory memory = run(&world, machine, 1, UINT64_MAX).memory;
    for (uint64_t line = 0; line < 125; line++) {
        ll_dram_timed_access(ram, 64 * line, 64, false);
        ll_dram_timed_access(ram, 8192 + 64 * line, 64, false);
    }
    for (uint64_t line = 0; line < 125; line++)
        ll_dram_timed_access(ram, 8192 + 64 * line, 64, true);
    ll_dram_timed_finish(ram, &by_hand);
    ll_dram_timed_free(ram);
    assert_true(memory.is_timed && memory.level == 1);
    assert_int_equal(memory.read_bytes, 64 * 250);
    assert_int_equal(memory.written_bytes, 64 * 125);
    assert_memory_equal(&memory.timed, &by_hand, sizeof by_hand);
    assert_near(memory.efficiency, 64 * 375 / by_hand.time_s / (2 * 19.2e9), 1e-12);
    assert_near(memory.formula_efficiency, ll_dram_stream_efficiency(ll_dram_find("ddr4-2400")), 1e-12);
    unmake(&world);
    ll_machine_free(machine);
}

struct listener {
    uint64_t reads, writes, calls;
};

static void hear(void *context, uint64_t address, uint64_t bytes, bool write)
{
    struct listener *heard = context;
    (void)address;
    *(write ? &heard->writes : &heard->reads) += bytes;
}

static bool stop_after_two(void *context, uint64_t accesses)
{
    struct listener *heard = context;
    (void)accesses;
    return ++heard->calls < 2;
}

static void who_watches_hears_everything_and_may_stop_it(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.write_around", "true");
    struct ll_cached_op cached;
    struct listener heard = {0};
    struct ll_cached_request request = {
        .seq = 1, .most = UINT64_MAX, .listener = hear, .listener_context = &heard};
    make(&world);
    assert_true(ll_run_cached(world.prepared, machine, &request, &cached));
    assert_int_equal(heard.reads, cached.memory.read_bytes);
    assert_int_equal(heard.writes, 4 * 2000);
    request = (struct ll_cached_request){
        .seq = 0, .most = UINT64_MAX, .progress = stop_after_two, .progress_context = &heard};
    assert_true(ll_run_cached(world.prepared, machine, &request, &cached));
    assert_int_equal(heard.calls, 2);
    assert_false(cached.whole);
    unmake(&world);
    ll_machine_free(machine);
}

static void a_replay_may_stop_early(void **state)
{
    (void)state;
    struct world world;
    struct ll_machine *machine = cached_machine("memory.sram.cache.ways", "4");
    make(&world);
    struct ll_cached_op part = run(&world, machine, 0, 5000);
    assert_false(part.whole);
    assert_int_equal(part.accesses, 5000);
    assert_int_equal(part.levels[0].counts.accesses, 5000);
    assert_int_equal(part.levels[0].shape.sets, 4096);
    unmake(&world);
    ll_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_touches_all_of_its_operands),
        cmocka_unit_test(the_passes_of_a_convolution_touch_all_of_their_operands),
        cmocka_unit_test(a_gather_reads_indices_and_writes_what_rows_it_reads),
        cmocka_unit_test(a_large_cache_moves_each_line_once),
        cmocka_unit_test(a_block_stays_in_a_cache_of_one_set),
        cmocka_unit_test(writes_that_go_around_are_traffic),
        cmocka_unit_test(an_op_is_blocked_for_half_of_a_cache_or_for_all_where_nothing_loads_meanwhile),
        cmocka_unit_test(memory_serves_what_the_caches_ask),
        cmocka_unit_test(who_watches_hears_everything_and_may_stop_it),
        cmocka_unit_test(a_replay_may_stop_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
