/* SPDX-License-Identifier: Apache-2.0 */
/* Experts divided among replicas: specs of GShard (Lepikhin et al., 2020) on a mixture. */
#include "check.h"
#include "dry_model.h"

#include "models/model.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/experts.h"
#include "sim/parallel/shard.h"

enum { LAYERS = 2, EXPERTS = 8, PLACES = 10, HIDDEN = 64, INNER = 96, REPLICAS = 4 };

/* 2 sentences of 16 words with 2 choices of 8 experts each: 8 places for each expert, and a quarter more. */
static struct ll_trace *record(bool train)
{
    static const struct ll_setting settings[] = {{"layers", "2"},    {"hidden", "64"},     {"heads", "8"},
                                                 {"key_heads", "4"}, {"inner", "96"},      {"seq", "16"},
                                                 {"experts", "8"},   {"vocabulary", "48"}, {"choices", "2"}};
    return dry_model("mixture", train, 2, settings, sizeof settings / sizeof *settings);
}

static const struct ll_parallel plan = {
    .data = 2 * REPLICAS, .tensor = 2, .context = 1, .pipeline = 1, .expert = REPLICAS, .chunks = 1};

static struct ll_trace *spread(const struct ll_trace *trace)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_trace *replica = ll_spread_experts(trace, &plan, &diags);
    if (!replica)
        fail_msg("%s", diags.kept[0].message);
    assert_null(ll_trace_check(replica, &arena));
    ll_arena_release(&arena);
    return replica;
}

static void what_experts_read_and_write_crosses_twice_each_way(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    uint64_t ops[LL_PHASE_COUNT] = {0};
    for (uint32_t i = 0; i < replica->op_count; i++) {
        const struct ll_form *form = &replica->forms[replica->ops[i].form];
        if (form->view.kind != LL_OP_ALL_TO_ALL)
            continue;
        ops[form->phase]++;
        assert_int_equal(ll_elements(&form->view.in[0]), EXPERTS * PLACES * HIDDEN);
        assert_int_equal(ll_attr_count(&form->view, LL_ATTR_DEVICES, 0), REPLICAS);
        assert_int_equal(ll_attr_count(&form->view, LL_ATTR_STRIDE, 0), plan.tensor);
    }
    assert_int_equal(ops[LL_PHASE_FORWARD], 2 * LAYERS);
    assert_int_equal(ops[LL_PHASE_BACKWARD], 2 * LAYERS);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* With sequences divided among the devices of a product, each sends the words that it has: with 12 places
 * an expert, 6 of each. What experts read is gathered behind that, and what they make is scattered before it
 * goes back (Megatron-core's token dispatcher). */
static void devices_of_a_product_send_their_share_of_words(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {
        {"layers", "2"}, {"hidden", "64"},     {"heads", "8"},   {"key_heads", "4"}, {"inner", "96"},
        {"seq", "16"},   {"vocabulary", "48"}, {"experts", "8"}, {"choices", "2"},   {"capacity", "150"}};
    struct ll_diags diags = {0};
    struct ll_parallel divided = plan;
    divided.sequence = true;
    struct ll_trace *trace = dry_model("mixture", true, 2, settings, sizeof settings / sizeof *settings);
    struct ll_trace *rank = ll_shard(trace, &divided, &diags), *replica = rank ? spread(rank) : NULL;
    assert_non_null(replica);
    uint64_t ops = 0, gathered = 0, scattered = 0;
    for (uint32_t i = 0; i < replica->op_count; i++) {
        const struct ll_form *form = &replica->forms[replica->ops[i].form];
        bool of_rows = form->view.input_count == 1 && form->view.in[0].rank == 3 &&
                       form->view.in[0].dim[0] == EXPERTS / REPLICAS;
        gathered += form->view.kind == LL_OP_ALL_GATHER && of_rows;
        scattered += form->view.kind == LL_OP_REDUCE_SCATTER && of_rows;
        if (form->view.kind != LL_OP_ALL_TO_ALL)
            continue;
        ops++;
        assert_int_equal(ll_elements(&form->view.in[0]), EXPERTS * (12 / plan.tensor) * HIDDEN);
    }
    assert_int_equal(ops, 2 * 2 * LAYERS);
    assert_int_equal(gathered, 3 * LAYERS); /* what they read, again going backward, and what flows back */
    assert_int_equal(scattered, 2 * LAYERS);
    ll_trace_free(trace);
    ll_trace_free(rank);
    ll_trace_free(replica);
}

static uint64_t flops_of_products(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        if (ll_op_class(form->view.kind) == LL_CLASS_MATRIX)
            flops += form->flops;
    }
    return flops;
}

static uint64_t weight_bytes(const struct ll_trace *trace)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        const struct ll_desc *desc = &trace->descs[trace->tensors[i].desc];
        if (trace->tensors[i].producer == LL_NONE && desc->memory == LL_WEIGHT)
            bytes += ll_size_bytes(&desc->shape);
    }
    return bytes;
}

/* Three products an expert; a quarter of them, for four times as many samples. */
static void a_replica_has_its_experts_and_as_much_to_do(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    const uint64_t experts = LAYERS * 3 * EXPERTS * HIDDEN * INNER * 4;
    assert_int_equal(flops_of_products(replica), flops_of_products(trace));
    assert_int_equal(weight_bytes(trace) - weight_bytes(replica), experts - experts / REPLICAS);
    ll_trace_free(trace);
    ll_trace_free(replica);
}

/* Eight replicas, of which two have the same experts, eight devices apart. */
static void gradients_of_experts_are_summed_where_these_are(void **state)
{
    (void)state;
    struct ll_trace *trace = record(true), *replica = spread(trace);
    const char *trouble;
    struct ll_trace *all = ll_exchange_gradients(replica, &plan, &trouble);
    assert_non_null(all);
    uint64_t of_experts = 0, of_others = 0;
    for (uint32_t i = 0; i < all->op_count; i++) {
        const struct ll_form *form = &all->forms[all->ops[i].form];
        if (form->view.kind != LL_OP_ALL_REDUCE)
            continue;
        for (uint32_t k = 0; k < form->view.input_count; k++) {
            bool experts = ll_is_of_experts(&all->descs[form->inputs[k]]);
            (*(experts ? &of_experts : &of_others))++;
            assert_int_equal(ll_attr_count(&form->view, LL_ATTR_DEVICES, 0), experts ? 2 : 2 * REPLICAS);
            assert_int_equal(ll_attr_count(&form->view, LL_ATTR_STRIDE, 0), experts ? 2 * REPLICAS : 2);
        }
    }
    assert_int_equal(of_experts, LAYERS * 3);
    /* words, head and its norm; of each layer two norms, queries, keys, values, output, router */
    assert_int_equal(of_others, 3 + LAYERS * 7);
    ll_trace_free(trace);
    ll_trace_free(replica);
    ll_trace_free(all);
}

static void what_cannot_be_divided_is_complained_about(void **state)
{
    (void)state;
    struct ll_trace *trace = record(false);
    struct ll_diags diags = {0};
    struct ll_parallel three = plan;
    three.expert = 3;
    assert_null(ll_spread_experts(trace, &three, &diags));
    assert_string_equal(diags.kept[0].message, "ep 3: the experts of a layer are no multiple of them");
    ll_diags_release(&diags);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_experts_read_and_write_crosses_twice_each_way),
        cmocka_unit_test(devices_of_a_product_send_their_share_of_words),
        cmocka_unit_test(a_replica_has_its_experts_and_as_much_to_do),
        cmocka_unit_test(gradients_of_experts_are_summed_where_these_are),
        cmocka_unit_test(what_cannot_be_divided_is_complained_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
