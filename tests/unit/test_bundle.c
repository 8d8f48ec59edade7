/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of what each rank has whole, summed by one exchange. */
#include "check.h"
#include "dry_model.h"

#include "sim/parallel/exchange.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/parallel.h"

#include <string.h>

enum { LAYERS = 3, BATCH = 2, HIDDEN = 64, RANKS = 8 };

static const struct ll_setting small_gpt[] = {
    {"layers", "3"}, {"hidden", "64"}, {"heads", "8"}, {"seq", "16"}, {"vocabulary", "48"}};

static struct ll_trace *record(void)
{
    return dry_model("gpt", true, BATCH, small_gpt, sizeof small_gpt / sizeof *small_gpt);
}

static struct ll_parallel plan_of(uint64_t data, uint64_t stages, uint64_t zero)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.tensor = RANKS;
    plan.sequence = true;
    plan.data = data;
    plan.pipeline = stages;
    plan.zero = zero;
    return plan;
}

/* Sums of an update among so many devices, and the elements in them. */
struct counted {
    uint64_t ops, elements;
};

static void count(const struct ll_trace *trace, uint64_t devices, struct counted *counted)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind != LL_OP_ALL_REDUCE || signature->phase != LL_PHASE_UPDATE ||
            (uint64_t)ll_attr_count(&signature->view, LL_ATTR_DEVICES, 1) != devices)
            continue;
        counted->ops++;
        for (uint32_t k = 0; k < signature->view.input_count; k++)
            counted->elements += ll_elements(&signature->view.in[k]);
    }
}

/* Two norms of two weights each a layer and two biases behind products by rows, and the last norm. Of the
 * table of positions each rank makes its own rows. */
static const uint64_t whole = (6 * LAYERS + 2) * HIDDEN;

static void a_stage_sums_its_whole_weights_at_once(void **state)
{
    (void)state;
    struct ll_trace *trace = record();
    for (uint64_t stages = 1; stages <= 3; stages += 2) {
        const struct ll_parallel plan = plan_of(1, stages, 0);
        struct ll_diags diags = {0};
        struct ll_spread *spread = ll_spread_trace(trace, &plan, RANKS * stages, &diags);
        assert_non_null(spread);
        uint64_t elements = 0;
        for (uint32_t i = 0; i < spread->vstage_count; i++) {
            struct counted counted = {0, 0};
            count(spread->programs[spread->program_of[i]].trace, RANKS, &counted);
            assert_int_equal(counted.ops, 1);
            elements += counted.elements;
        }
        assert_int_equal(elements, whole);
        ll_spread_free(spread);
    }
    ll_trace_free(trace);
}

static uint32_t first_update(const struct ll_trace *trace)
{
    uint32_t op = 0;
    while (trace->signatures[trace->ops[op].signature].phase != LL_PHASE_UPDATE)
        op++;
    return op;
}

/* Each update reads what has become of its own gradient. */
static void updates_read_what_they_did(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const char *trouble;
    const struct ll_parallel plan = plan_of(1, 1, 0);
    struct ll_trace *trace = record(), *rank = ll_shard(trace, &plan, &diags);
    struct ll_trace *made = ll_bundle_sums(rank, &trouble);
    assert_non_null(made);
    assert_null(ll_trace_check(made, &arena));
    struct counted before = {0, 0}, after = {0, 0};
    count(rank, RANKS, &before);
    count(made, RANKS, &after);
    assert_int_equal(after.elements, before.elements);
    assert_int_equal(made->op_count, rank->op_count - before.ops + 1);
    for (uint32_t op = first_update(made); op < made->op_count; op++) {
        const struct ll_op_signature *signature = &made->signatures[made->ops[op].signature];
        for (uint32_t i = 0; signature->view.kind == LL_OP_ADAM && i < 4; i++)
            assert_memory_equal(signature->view.in[i].dim, signature->view.in[0].dim,
                                sizeof signature->view.in[0].dim);
    }
    ll_trace_free(ll_bundle_sums(made, &trouble));
    assert_null(trouble);
    ll_arena_release(&arena);
    ll_trace_free(trace);
    ll_trace_free(rank);
    ll_trace_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_sums_its_whole_weights_at_once),
        cmocka_unit_test(updates_read_what_they_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
