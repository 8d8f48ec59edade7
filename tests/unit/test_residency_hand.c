/* SPDX-License-Identifier: Apache-2.0 */
/* What is left on chip, of traces whose distances are worked out by hand. */
#include "check.h"

#include "sim/memory/residency.h"

/* A trace by hand. */
struct hand {
    struct ll_tensor_desc descs[2];
    struct ll_op_signature signatures[2];
    struct ll_op_edges edges[1];
    struct ll_op ops[4];
    struct ll_tensor tensors[2];
    uint64_t inputs[2];
    struct ll_trace trace;
};

/* Tensors: 0 is a table of 1000 bytes, 1 a vector of 100. Forms: 0 reads all of both, 1 reads 50 bytes. */
static void hand_trace(struct hand *hand)
{
    static const uint32_t descs[2] = {0, 1};
    *hand = (struct hand){
        .descs = {{.memory = LL_WEIGHT, .shape = {.dim = {1000}, .rank = 1, .dtype = LL_INT8}},
                  {.memory = LL_ACTIVATION, .shape = {.dim = {100}, .rank = 1, .dtype = LL_INT8}}},
        .tensors = {{.desc = 0, .storage = 0, .producer = LL_NONE},
                    {.desc = 1, .storage = 1, .producer = LL_NONE}},
        .inputs = {2 * 0 + 1, 2 * 1 + 1},
    };
    for (int i = 0; i < 2; i++)
        hand->signatures[i] = (struct ll_op_signature){
            .view = {.kind = LL_OP_ADD, .input_count = 2}, .inputs = descs, .bytes_read = i == 0 ? 1100 : 50};
    hand->edges[0] = (struct ll_op_edges){.inputs = hand->inputs, .input_count = 2};
    for (int i = 0; i < 4; i++)
        hand->ops[i] = (struct ll_op){.signature = i == 1, .first_output = 2};
    hand->trace = (struct ll_trace){.descs = hand->descs,
                                    .desc_count = 2,
                                    .signatures = hand->signatures,
                                    .signature_count = 2,
                                    .edges = hand->edges,
                                    .edges_count = 1,
                                    .ops = hand->ops,
                                    .op_count = 4,
                                    .tensors = hand->tensors,
                                    .tensor_count = 2,
                                    .storage_count = 2};
}

/* The same table and vector with other tensors and ops. */
static const struct ll_reuse *reuses_of(struct hand *hand, struct ll_tensor *tensors, size_t tensor_count,
                                        struct ll_op_signature *signatures, struct ll_op *ops,
                                        size_t op_count, struct ll_arena *arena)
{
    hand_trace(hand);
    hand->trace.tensors = tensors;
    hand->trace.tensor_count = tensor_count;
    hand->trace.signatures = signatures;
    hand->trace.ops = ops;
    hand->trace.op_count = op_count;
    return ll_residency_new(&hand->trace, arena)->reuses;
}

/* Ops 0, 2, 3 read table and vector whole; op 1 some 50 bytes of each, nobody knows which: the other 950 of
 * the table and 50 of the vector may have come behind them. And they stand between op 0 and op 2 beside the
 * vector. */
static void an_op_that_reads_a_part_counts_with_that_part(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    hand_trace(&hand);
    const struct ll_residency *residency = ll_residency_new(&hand.trace, &arena);
    const struct ll_reuse *reuses = residency->reuses;
    assert_true(reuses[0].distance == LL_NO_FIT && reuses[1].distance == LL_NO_FIT);
    assert_int_equal(reuses[2].bytes, 50);
    assert_int_equal(reuses[2].distance, 950 + 100);
    assert_int_equal(reuses[2].before, 1);
    assert_int_equal(reuses[3].distance, 50 + 50);
    assert_int_equal(reuses[3].before, 2);
    assert_int_equal(reuses[4].distance, 100 + 50 + 50);
    assert_int_equal(reuses[4].before, 1);
    assert_int_equal(reuses[5].distance, 50 + 50 + 1000);
    assert_int_equal(reuses[6].distance, 100);
    assert_int_equal(reuses[7].distance, 1000);
    ll_arena_release(&arena);
}

/* The ops of a step that had run before it find what these have left: op 0 what op 3 has read. */
static void a_rehearsed_step_begins_with_what_it_leaves(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    struct ll_fact fact = {"rehearsed", "yes"};
    struct ll_step step = {.op_count = 4, .complete = true};
    hand_trace(&hand);
    hand.trace.steps = &step;
    hand.trace.step_count = 1;
    const struct ll_residency *cold = ll_residency_new(&hand.trace, &arena);
    hand.trace.facts = &fact;
    hand.trace.fact_count = 1;
    const struct ll_residency *warm = ll_residency_new(&hand.trace, &arena);
    assert_int_equal(cold->first[0], 0);
    assert_int_equal(warm->first[0], 8);
    assert_int_equal(warm->first[4], 16);
    const struct ll_reuse *reuses = &warm->reuses[warm->first[0]];
    assert_int_equal(reuses[0].distance, 100);
    assert_int_equal(reuses[0].before, 7);
    assert_int_equal(reuses[1].distance, 1000);
    assert_int_equal(reuses[1].before, 8);
    for (int i = 0; i < 8; i++)
        assert_true(warm->reuses[i].distance == cold->reuses[i].distance);
    for (int i = 2; i < 8; i++)
        assert_true(reuses[i].distance == cold->reuses[i].distance);
    ll_arena_release(&arena);
}

/* Op 0 writes a vector and a table, op 1 reads both, op 2 overwrites the vector, which nobody reads again.
 * The first vector ends on chip, after the table stood before it; the second, and the table, a weight, must
 * go out. */
static void the_last_write_goes_out_unless_it_was_used(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    struct ll_tensor tensors[] = {{1, 0, 0}, {0, 1, 0}, {1, 0, 2}};
    struct ll_op_signature signatures[] = {
        {.view = {.kind = LL_OP_ADD, .output_count = 2}, .bytes_written = 1100},
        {.view = {.kind = LL_OP_ADD, .input_count = 2}, .bytes_read = 1100},
        {.view = {.kind = LL_OP_ADD, .output_count = 1}, .bytes_written = 100},
    };
    struct ll_op ops[] = {{.signature = 0, .first_output = 0},
                          {.signature = 1, .first_output = 2},
                          {.signature = 2, .first_output = 2}};
    const struct ll_reuse *reuses = reuses_of(&hand, tensors, 3, signatures, ops, 3, &arena);
    assert_int_equal(reuses[0].distance, 1000);
    assert_true(reuses[1].distance == LL_NO_FIT);
    assert_true(reuses[4].distance == LL_NO_FIT);
    ll_arena_release(&arena);
}

/* Of what op 0 writes op 1 reads 50 bytes, which may lie before the other 50. */
static void what_is_read_in_parts_is_as_far_back_as_all_of_it(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    struct ll_tensor tensors[] = {{1, 0, 0}};
    struct ll_op_signature signatures[] = {
        {.view = {.kind = LL_OP_ADD, .output_count = 1}, .bytes_written = 100},
        {.view = {.kind = LL_OP_ADD, .input_count = 1}, .bytes_read = 50}};
    struct ll_op ops[] = {{.signature = 0, .first_output = 0}, {.signature = 1, .first_output = 1}};
    const struct ll_reuse *reuses = reuses_of(&hand, tensors, 1, signatures, ops, 2, &arena);
    assert_int_equal(reuses[0].distance, 50);
    assert_int_equal(reuses[1].distance, 50);
    ll_arena_release(&arena);
}

/* Op 0 reads table and vector, op 1 puts the vector into the table: of the table nothing is read, and 100
 * bytes are written, which op 0 has left there before the vector. They must go out. */
static void of_what_is_overwritten_in_part_nothing_is_read(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    struct ll_tensor tensors[] = {{0, 0, LL_NONE}, {1, 1, LL_NONE}, {0, 0, 1}};
    struct ll_op_signature signatures[] = {
        {.view = {.kind = LL_OP_ADD, .input_count = 2}, .bytes_read = 1100},
        {.view = {.kind = LL_OP_ADD, .input_count = 2, .output_count = 1},
         .bytes_read = 100,
         .bytes_written = 100}};
    struct ll_op ops[] = {{.signature = 0, .first_output = 2}, {.signature = 1, .first_output = 2}};
    const struct ll_reuse *reuses = reuses_of(&hand, tensors, 3, signatures, ops, 2, &arena);
    assert_int_equal(reuses[2].bytes, 0);
    assert_int_equal(reuses[3].distance, 0);
    assert_int_equal(reuses[4].bytes, 100);
    assert_int_equal(reuses[4].since, 900 + 100);
    assert_int_equal(reuses[4].before, 1);
    assert_true(reuses[4].distance == LL_NO_FIT);
    ll_arena_release(&arena);
}

/* A memory of 600 bytes that keeps weights has room for half of the 1000 bytes of the table beside the
 * vector's 100, from the first op on; op 1 finds half of its 50. Where an op writes the table, nothing of
 * it stays. */
static void weights_that_stay_are_there_from_the_first_op_on(void **state)
{
    (void)state;
    struct hand hand;
    struct ll_arena arena = {0};
    struct ll_warm_bytes found;
    struct ll_machine machine = {.level_count = 2,
                                 .levels = {{.name = "sram", .size_bytes = 600, .keeps_weights = true},
                                            {.name = "ram", .size_bytes = 1 << 20}}};
    hand_trace(&hand);
    const struct ll_residency *residency = ll_residency_new(&hand.trace, &arena);
    assert_near(residency->staying_bytes, 1000, 1e-12);
    assert_near(residency->most_bytes, 100, 1e-12);
    ll_residency_saved(residency, &machine, 0, 0, (struct ll_so_far){0}, &found);
    assert_near(found.saved_bytes[1], 500, 1e-12);
    assert_true(found.saved_bytes[0] == 0);
    machine.levels[0].size_bytes = 1100;
    ll_residency_saved(residency, &machine, 0, 0, (struct ll_so_far){0}, &found);
    assert_near(found.saved_bytes[1], 1000, 1e-12);
    machine.levels[0].keeps_weights = false;
    ll_residency_saved(residency, &machine, 0, 0, (struct ll_so_far){0}, &found);
    assert_true(found.saved_bytes[1] == 0);
    machine.levels[0].keeps_weights = true;
    hand.tensors[0].producer = 3;
    hand.signatures[0].bytes_written = 1000;
    residency = ll_residency_new(&hand.trace, &arena);
    assert_true(residency->staying_bytes == 0 && !residency->reuses[0].stays);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_that_reads_a_part_counts_with_that_part),
        cmocka_unit_test(weights_that_stay_are_there_from_the_first_op_on),
        cmocka_unit_test(a_rehearsed_step_begins_with_what_it_leaves),
        cmocka_unit_test(the_last_write_goes_out_unless_it_was_used),
        cmocka_unit_test(what_is_read_in_parts_is_as_far_back_as_all_of_it),
        cmocka_unit_test(of_what_is_overwritten_in_part_nothing_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
