/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a model do together what the whole does, and what one sends another receives. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/pipeline.h"

enum { MOST_PIECES = 16 };

struct programs {
    struct ll_trace *whole, *vstage[MOST_PIECES];
    struct ll_virtual_stages vstages;
    struct ll_arena arena;
    struct ll_pipeline_partition partition;
    uint32_t count;
};

static void cut_all(struct programs *p, const char *model, uint64_t stages, uint64_t chunks)
{
    *p = (struct programs){.partition = {.stages = stages, .chunks = chunks, .distance = 6},
                           .count = (uint32_t)(stages * chunks)};
    p->whole = dry_model(model, true, 8, NULL, 0);
    assert_null(ll_virtual_stages_find(p->whole, &p->partition, &p->arena, &p->vstages));
    for (p->partition.vstage = 0; p->partition.vstage < p->count; p->partition.vstage++) {
        const char *trouble;
        struct ll_trace *vstage = ll_pipeline_partition(p->whole, &p->partition, &trouble);
        if (trouble)
            fail_msg("%s: %s", model, trouble);
        assert_null(ll_trace_check(vstage, &p->arena));
        p->vstage[p->partition.vstage] = vstage;
    }
}

static void free_all(struct programs *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        ll_trace_free(p->vstage[i]);
    ll_trace_free(p->whole);
    ll_arena_release(&p->arena);
}

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint64_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

/* FLOPs of what is not done on several pieces: nobody's ops, updates of tied weights and sums of their
 * gradients. */
static uint64_t flops_of(const struct ll_trace *trace, const struct ll_virtual_stages *vstages)
{
    uint64_t flops = 0;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        bool per_step = vstages->vstage_of[op] != LL_NONE && vstages->tie_of[op] == LL_NONE;
        for (uint32_t tie = 0; tie < vstages->tie_count; tie++)
            per_step &= vstages->ties[tie].sum != op;
        flops += per_step ? signature_of(trace, op)->flops : 0;
    }
    return flops;
}

static uint64_t count_flops(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        flops += signature_of(trace, op)->flops;
    return flops;
}

/* A few counts of steps and the like are done again on each. */
static void pieces_together_compute_what_the_whole_does(void **state)
{
    (void)state;
    static const char *const models[] = {"resnet", "alexnet", "seq2seq", "transformer"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct programs p;
        uint64_t multi_rank = 0;
        cut_all(&p, models[i], i == 2 ? 2 : 4, 1);
        for (uint32_t vstage = 0; vstage < p.count; vstage++)
            multi_rank += count_flops(p.vstage[vstage]);
        uint64_t whole = count_flops(p.whole);
        assert_true(multi_rank >= flops_of(p.whole, &p.vstages));
        if (p.vstages.tie_count == 0)
            assert_in_range(multi_rank, whole, whole + 100 * p.count);
        else /* Adam on the tied table of 33708 x 512, 12 FLOPs an element, once more on each other piece */
            assert_in_range(multi_rank, whole, whole + (p.count - 1) * (12ull * 33708 * 512 + 1000));
        free_all(&p);
    }
}

/* The place in another program of the k-th op of a kind, phase and peer; sizes are compared. */
static void match(const struct programs *p, uint32_t from, uint32_t to)
{
    const struct ll_trace *sender = p->vstage[from], *receiver = p->vstage[to];
    int64_t distance = ((int64_t)(to % p->partition.stages) - (int64_t)(from % p->partition.stages)) * 6;
    for (unsigned phase = 0; phase < LL_PHASE_COUNT; phase++) {
        uint64_t at = 0;
        for (uint64_t op = 0; op < sender->op_count; op++) {
            const struct ll_op_signature *sent = signature_of(sender, op), *got = NULL;
            if (sent->view.kind != LL_OP_SEND || sent->phase != phase ||
                ll_attr_count(&sent->view, LL_ATTR_PEER, 0) != distance)
                continue;
            while (at < receiver->op_count && !got) {
                const struct ll_op_signature *signature = signature_of(receiver, at++);
                if (signature->view.kind == LL_OP_RECEIVE && signature->phase == phase &&
                    ll_attr_count(&signature->view, LL_ATTR_PEER, 0) == -distance)
                    got = signature;
            }
            assert_non_null(got);
            assert_int_equal(got->bytes_written, sent->bytes_read);
            assert_string_equal(receiver->strings[got->scope], sender->strings[sent->scope]);
        }
        for (; at < receiver->op_count; at++) {
            const struct ll_op_signature *signature = signature_of(receiver, at);
            assert_false(signature->view.kind == LL_OP_RECEIVE && signature->phase == phase &&
                         ll_attr_count(&signature->view, LL_ATTR_PEER, 0) == -distance);
        }
    }
}

static void what_is_sent_is_received_in_the_same_order(void **state)
{
    (void)state;
    static const char *const models[] = {"resnet", "alexnet", "seq2seq", "transformer"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct programs p;
        cut_all(&p, models[i], i == 2 ? 2 : 3, 1);
        for (uint32_t from = 0; from < p.count; from++)
            for (uint32_t to = 0; to < p.count; to++)
                if (from != to)
                    match(&p, from, to);
        free_all(&p);
    }
}

static uint64_t bytes_sent(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t bytes = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        bytes += signature_of(trace, op)->view.kind == kind ? signature_of(trace, op)->bytes_written : 0;
    return bytes;
}

/* Between the last unit of one stage and the next only the image of the unit goes, and its gradient comes. */
static void a_chain_sends_its_activation_and_gets_its_gradient(void **state)
{
    (void)state;
    struct programs p;
    cut_all(&p, "resnet", 2, 1);
    uint64_t sent = bytes_sent(p.vstage[0], LL_OP_SEND);
    assert_true(sent > 0);
    assert_int_equal(sent, bytes_sent(p.vstage[1], LL_OP_SEND));
    assert_int_equal(sent, bytes_sent(p.vstage[1], LL_OP_RECEIVE));
    assert_int_equal(sent, bytes_sent(p.vstage[0], LL_OP_RECEIVE));
    free_all(&p);
}

/* The Transformer reads its table of words at the beginning of both halves and at the end: with two pieces on
 * both, whose gradients an all_reduce adds. */
static void a_tied_weight_is_on_both_ends_and_its_gradients_are_added(void **state)
{
    (void)state;
    struct programs p;
    cut_all(&p, "transformer", 2, 1);
    for (uint32_t vstage = 0; vstage < 2; vstage++) {
        uint64_t updates = 0, sums = 0;
        for (uint64_t op = 0; op < p.vstage[vstage]->op_count; op++) {
            const struct ll_op_signature *signature = signature_of(p.vstage[vstage], op);
            updates += signature->view.kind == LL_OP_ADAM && signature->view.in[0].dim[0] == 33708;
            if (signature->view.kind != LL_OP_ALL_REDUCE)
                continue;
            sums++;
            assert_int_equal(signature->bytes_read, 33708 * 512 * 4);
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0), 2);
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), 6);
        }
        assert_int_equal(updates, 1);
        assert_int_equal(sums, 1);
    }
    free_all(&p);
}

/* A layer's neighbours then lie on other devices, so more crosses. */
static void chunks_lie_on_stages_in_turn(void **state)
{
    (void)state;
    struct programs per_step, twice;
    cut_all(&per_step, "transformer", 3, 1);
    cut_all(&twice, "transformer", 3, 2);
    uint64_t less = 0, more = 0;
    for (uint32_t vstage = 0; vstage < 3; vstage++)
        less += bytes_sent(per_step.vstage[vstage], LL_OP_SEND);
    for (uint32_t vstage = 0; vstage < 6; vstage++)
        more += bytes_sent(twice.vstage[vstage], LL_OP_SEND);
    assert_true(more > less);
    free_all(&per_step);
    free_all(&twice);
}

static void equal_layers_are_divided_equally(void **state)
{
    (void)state;
    const uint64_t equal[] = {5, 5, 5, 5, 5, 5, 5}, total[] = {50, 5, 5, 5, 5, 5, 90};
    uint32_t part[7];
    ll_balance_loads(equal, total, 7, 3, part);
    assert_memory_equal(part, ((uint32_t[]){0, 0, 0, 1, 1, 2, 2}), sizeof part);
}

/* Against all ways to divide seven loads into three runs. */
static void unlike_layers_are_divided_as_well_as_can_be(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int attempt = 0; attempt < 200; attempt++) {
        uint64_t load[7], best = UINT64_MAX, sum[3] = {0};
        uint32_t part[7];
        for (int i = 0; i < 7; i++)
            load[i] = 1 + ll_random_below(&random, 20) + (uint64_t)(i == 0);
        load[1] = load[0] + 1;
        for (int a = 1; a < 6; a++)
            for (int b = a + 1; b < 7; b++) {
                uint64_t parts[3] = {0};
                for (int i = 0; i < 7; i++)
                    parts[i < a ? 0 : i < b ? 1 : 2] += load[i];
                best = ll_min(best, ll_max(parts[0], ll_max(parts[1], parts[2])));
            }
        ll_balance_loads(load, load, 7, 3, part);
        assert_int_equal(part[0], 0);
        assert_int_equal(part[6], 2);
        for (int i = 0; i < 7; i++) {
            sum[part[i]] += load[i];
            assert_true(i == 0 || part[i] - part[i - 1] <= 1);
        }
        assert_int_equal(ll_max(sum[0], ll_max(sum[1], sum[2])), best);
    }
}

static void more_pieces_than_layers_are_trouble(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_trace *trace = dry_model("alexnet", true, 8, NULL, 0);
    assert_null(ll_pipeline_partition(
        trace, &(struct ll_pipeline_partition){.stages = 40, .chunks = 1, .distance = 1}, &trouble));
    assert_string_equal(trouble, "there are fewer layers than stages");
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_together_compute_what_the_whole_does),
        cmocka_unit_test(what_is_sent_is_received_in_the_same_order),
        cmocka_unit_test(a_chain_sends_its_activation_and_gets_its_gradient),
        cmocka_unit_test(a_tied_weight_is_on_both_ends_and_its_gradients_are_added),
        cmocka_unit_test(chunks_lie_on_stages_in_turn),
        cmocka_unit_test(equal_layers_are_divided_equally),
        cmocka_unit_test(unlike_layers_are_divided_as_well_as_can_be),
        cmocka_unit_test(more_pieces_than_layers_are_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
