/* SPDX-License-Identifier: Apache-2.0 */
/* Memory plans of random networks, looked at step by step: what is still to be read lies alone. */
#include "check.h"
#include "random.h"

#include "models/nn/runner.h"

enum { NETWORKS = 60, OPS = 60, VALUES = 2 * OPS };

static struct ll_value *some(struct ll_nn *nn, uint64_t *random)
{
    return nn->values[ll_random_below(random, nn->value_count)];
}

static void add_variable(struct ll_nn *nn, uint64_t *random)
{
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){1 + ll_random_below(random, 99)}, NULL);
    ll_nn_variable(nn, "v", &shape, LL_WEIGHT, (struct ll_init){0});
}

static void add_view(struct ll_nn *nn, uint64_t *random)
{
    struct ll_value *x = some(nn, random);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){1, ll_elements(&x->shape)}, NULL);
    ll_nn_do(nn,
             &(struct ll_nn_call){
                 .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &shape});
}

static struct ll_nn *draw_network(uint64_t *random)
{
    struct ll_nn *nn = ll_nn_new(LL_F32);
    add_variable(nn, random);
    for (int i = 0; i < OPS; i++) {
        uint64_t what = ll_random_below(random, 10);
        struct ll_value *x = some(nn, random);
        if (what == 0)
            add_variable(nn, random);
        else if (what == 1)
            add_view(nn, random);
        else if (what < 5)
            ll_nn_do2(nn, LL_OP_ADD, x, x);
        else
            ll_nn_do1(nn, LL_OP_RELU, x);
        if (ll_random_below(random, 12) == 0)
            ll_nn_keep(some(nn, random));
    }
    return nn;
}

static bool overlap(const struct ll_memory_plan *plan, const struct ll_value *a, const struct ll_value *b)
{
    uint64_t a0 = plan->offset[a->index], b0 = plan->offset[b->index];
    return a0 < b0 + ll_size_bytes(&b->shape) && b0 < a0 + ll_size_bytes(&a->shape);
}

/* Whether the memory of a root holds something that is still needed while op `at` runs. */
static bool alive(const struct ll_nn *nn, const struct ll_value *root, uint64_t at)
{
    if (!root->producer)
        return true;
    for (uint64_t i = 0; i < nn->value_count; i++)
        if (nn->values[i]->root == root && nn->values[i]->kept)
            return true;
    if (root->producer->index > at)
        return false;
    for (uint64_t i = at; i < nn->op_count; i++) {
        for (uint32_t j = 0; j < nn->ops[i]->view.input_count; j++)
            if (nn->ops[i]->inputs[j]->root == root)
                return true;
        for (uint32_t j = 0; j < nn->ops[i]->view.output_count; j++)
            if (nn->ops[i]->outputs[j]->root == root)
                return true;
    }
    return false;
}

static void check_plan(const struct ll_nn *nn, const struct ll_memory_plan *plan)
{
    for (uint64_t at = 0; at < nn->op_count; at++)
        for (uint64_t i = 0; i < nn->value_count; i++) {
            const struct ll_value *a = nn->values[i];
            assert_true(plan->offset[i] + ll_size_bytes(&a->shape) <= plan->total_bytes);
            assert_int_equal(plan->offset[i] % LL_MEMORY_PLAN_ALIGN, 0);
            assert_int_equal(plan->offset[i], plan->offset[a->root->index]);
            for (uint64_t j = 0; a->root == a && alive(nn, a, at) && j < i; j++) {
                const struct ll_value *b = nn->values[j];
                assert_false(b->root == b && alive(nn, b, at) && overlap(plan, a, b));
            }
        }
}

static void what_is_still_needed_lies_alone(void **state)
{
    (void)state;
    uint64_t random = ll_seed(31);
    for (int i = 0; i < NETWORKS; i++) {
        struct ll_nn *nn = draw_network(&random);
        struct ll_arena arena = {0};
        struct ll_memory_plan plan;
        assert_null(ll_nn_trouble(nn));
        assert_true(ll_memory_plan_make(nn, &arena, &plan));
        check_plan(nn, &plan);
        ll_arena_release(&arena);
        ll_nn_free(nn);
    }
}

/* Each op needs its input and its output at the same time, and nothing else. */
static void a_chain_of_ops_needs_two_buffers(void **state)
{
    (void)state;
    struct ll_nn *nn = ll_nn_new(LL_F32);
    struct ll_arena arena = {0};
    struct ll_memory_plan plan;
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){1024}, NULL);
    struct ll_value *x = ll_nn_variable(nn, "x", &shape, LL_WEIGHT, (struct ll_init){0});
    for (int i = 0; i < 20; i++)
        x = ll_nn_do1(nn, LL_OP_RELU, x);
    assert_true(ll_memory_plan_make(nn, &arena, &plan));
    assert_int_equal(plan.shared_bytes, 2 * 4096);
    assert_int_equal(plan.total_bytes, 3 * 4096); /* and the variable */
    ll_arena_release(&arena);
    ll_nn_free(nn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_still_needed_lies_alone),
        cmocka_unit_test(a_chain_of_ops_needs_two_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
