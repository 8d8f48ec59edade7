/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of key heads, against the same model that has as many key heads as there are ranks: a rank of either
 * does the same. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/shard.h"
#include "tracer/transform/rewrite.h"

enum { RANKS = 8, SETTINGS = 8 };

static struct ll_trace *record(const char *model, bool train, const char *kv_heads, const char *pass)
{
    const struct ll_setting settings[] = {{"layers", "2"},      {"hidden", "64"},      {"heads", "16"},
                                          {"ffn_hidden", "96"}, {"seq", "16"},         {"vocabulary", "48"},
                                          {"pass", pass},       {"kv_heads", kv_heads}};
    return dry_model(model, train, 2, settings, SETTINGS);
}

static struct ll_trace *rank_of(struct ll_trace *trace, uint64_t ranks, bool sequence)
{
    struct ll_diags diags = {0};
    const struct ll_parallel plan = {.tensor = ranks, .sequence = sequence};
    struct ll_trace *rank = ll_shard(trace, &plan, &diags);
    if (!rank)
        fail_msg("%s", diags.kept[0].message);
    ll_trace_free(trace);
    ll_diags_release(&diags);
    return rank;
}

/* Whether it sums what the devices with a copy of the same head have. */
static bool sums_copies(const struct ll_trace *rank, uint64_t op, uint64_t copies)
{
    const struct ll_op_signature *signature = &rank->signatures[rank->ops[op].signature];
    return signature->view.kind == LL_OP_ALL_REDUCE && signature->phase == LL_PHASE_UPDATE &&
           ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0) == (int64_t)copies;
}

/* Takes the rank. Without those sums. */
static struct ll_trace *without_sums(struct ll_trace *rank, uint64_t copies)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, rank, NULL, 0);
    for (uint32_t op = 0; op < rank->op_count; op++)
        if (sums_copies(rank, op, copies))
            ll_rewrite_redirect(&rewrite, ll_op_output(rank, op, 0),
                                ll_rewrite_tensor(&rewrite, ll_op_input(rank, op, 0)));
        else
            ll_rewrite_keep(&rewrite, op);
    struct ll_trace *made = ll_rewrite_end(&rewrite, &trouble);
    if (!made)
        fail_msg("%s", trouble);
    ll_trace_free(rank);
    return made;
}

static void check_same_work(struct ll_trace *a, struct ll_trace *b)
{
    assert_int_equal(a->op_count, b->op_count);
    for (uint64_t op = 0; op < a->op_count; op++) {
        const struct ll_op_signature *of_a = &a->signatures[a->ops[op].signature],
                                     *of_b = &b->signatures[b->ops[op].signature];
        assert_int_equal(of_a->view.kind, of_b->view.kind);
        assert_int_equal(of_a->flops, of_b->flops);
        assert_int_equal(of_a->bytes_read, of_b->bytes_read);
        assert_int_equal(of_a->bytes_written, of_b->bytes_written);
    }
    ll_trace_free(a);
    ll_trace_free(b);
}

static void a_rank_with_a_copy_works_as_one_with_a_head_of_its_own(void **state)
{
    (void)state;
    static const char *const models[] = {"llama", "moe"}, *const few[] = {"2", "4"},
                             *const passes[] = {"forward", "prefill", "decode"};
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 2; k++) {
            check_same_work(without_sums(rank_of(record(models[m], true, few[k], "forward"), RANKS, true),
                                         RANKS / strtoull(few[k], NULL, 10)),
                            rank_of(record(models[m], true, "8", "forward"), RANKS, true));
            for (int p = 0; p < 3; p++)
                check_same_work(rank_of(record(models[m], false, few[k], passes[p]), RANKS, false),
                                rank_of(record(models[m], false, "8", passes[p]), RANKS, false));
        }
}

/* Of each layer the keys' and the values': 64 features to a head of 4, of 4 bytes. */
static void holders_of_a_copy_sum_its_gradients(void **state)
{
    (void)state;
    struct ll_trace *rank = rank_of(record("llama", true, "2", "forward"), RANKS, false);
    uint64_t bytes = 0;
    for (uint64_t op = 0; op < rank->op_count; op++)
        bytes += sums_copies(rank, op, RANKS / 2) ? rank->signatures[rank->ops[op].signature].bytes_read : 0;
    assert_int_equal(bytes, 2 * 2 * 64 * 4 * 4);
    ll_trace_free(rank);
}

static void nothing_is_copied_where_heads_suffice_or_do_not_come_out_even(void **state)
{
    (void)state;
    struct ll_trace *grouped = record("llama", true, "4", "forward");
    assert_null(ll_replicate_kv_heads(grouped, 2));
    assert_null(ll_replicate_kv_heads(grouped, 4));
    assert_null(ll_replicate_kv_heads(grouped, 6));  /* no multiple of the key heads */
    assert_null(ll_replicate_kv_heads(grouped, 32)); /* of which four queries are not enough */
    ll_trace_free(grouped);
    struct ll_trace *plain = record("llama", true, "16", "forward");
    assert_null(ll_replicate_kv_heads(plain, 32));
    ll_trace_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_with_a_copy_works_as_one_with_a_head_of_its_own),
        cmocka_unit_test(holders_of_a_copy_sum_its_gradients),
        cmocka_unit_test(nothing_is_copied_where_heads_suffice_or_do_not_come_out_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
