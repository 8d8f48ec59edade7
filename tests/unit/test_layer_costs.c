/* SPDX-License-Identifier: Apache-2.0 */
/* What four layers of a product each cost, counted on paper. */
#include "check.h"

#include "dry_model.h"
#include "four_products.h"
#include "scene.h"
#include "sim/parallel/pipeline.h"

static const char machine[] = "name: plain\nclock: 1GHz\nunits:\n"
                              "  - {name: array, model: matrix, macs: {f32: 64}}\n"
                              "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}}\n"
                              "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
                              "software: {op_overhead: 1us}\n";

static struct ll_layer_costs costs_of(struct scene *scene)
{
    struct ll_layer_costs costs;
    *scene = open_scene(four_products(true), machine);
    play(scene);
    assert_non_null(scene->result);
    assert_true(ll_layer_costs(scene->result, NULL, &scene->arena, &costs));
    assert_int_equal(costs.count, 4);
    return costs;
}

/* Each matrix has 64 * 64 * 4 bytes: a layer has a weight, a momentum and a gradient of it, and reads its
 * weight once each way. Each keeps its result for a backward pass, the next layer's or its own, and the first
 * what comes in as well. Later layers read the results of the first three. Going back, a layer has beside its
 * result the gradient that comes in and the one that goes out, of which the last one's result is the first;
 * the first one has done with what came in when it makes the second. */
static void bytes_are_those_of_the_layers_matrices(void **state)
{
    (void)state;
    const double matrix = 64 * 64 * 4;
    struct scene scene;
    struct ll_layer_costs costs = costs_of(&scene);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ll_layer_cost *layer = &costs.at[i];
        assert_near(layer->state.weight, matrix, 0);
        assert_near(layer->state.optimizer, matrix, 0);
        assert_near(layer->state.gradient, matrix, 0);
        assert_near(layer->forward_read_bytes, matrix, 0);
        assert_near(layer->backward_read_bytes, matrix, 0);
        assert_near(layer->kept_bytes, i == 0 ? 2 * matrix : matrix, 0);
        assert_near(layer->peak_bytes, i < 3 ? 3 * matrix : 2 * matrix, 0);
        assert_near(layer->again_peak_bytes, layer->peak_bytes, 0);
        assert_near(layer->handed_bytes, i < 3 ? matrix : 0, 0);
    }
    close_scene(&scene);
}

/* A product one way, two back, and four operations an element of the update. A product takes 64^3 / 64 cycles
 * of 1 ns, a start 1 us. */
static void flops_and_times_are_those_of_the_layers_ops(void **state)
{
    (void)state;
    struct scene scene;
    struct ll_layer_costs costs = costs_of(&scene);
    double sum_s = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const struct ll_layer_cost *layer = &costs.at[i];
        assert_int_equal(layer->flops, 3 * 2 * 64 * 64 * 64 + 4 * 64 * 64);
        assert_int_equal(layer->named_flops, layer->flops);
        assert_near(layer->forward_s, 4.096e-6 + 1e-6, 0.01);
        assert_near(layer->backward_s, 2 * (4.096e-6 + 1e-6), 0.01);
        assert_near(layer->update_start_s, 1e-6, 1e-9);
        sum_s += layer->forward_s + layer->backward_s + layer->update_s;
    }
    assert_near(sum_s, scene.result->time_s, 1e-9);
    close_scene(&scene);
}

/* A layer of one product has nothing inside: what it makes the next one reads. */
static void a_layer_of_one_op_holds_all_that_it_keeps(void **state)
{
    (void)state;
    struct scene scene;
    struct ll_layer_costs costs = costs_of(&scene);
    for (uint32_t i = 0; i < 3; i++) {
        assert_near(costs.at[i].held_bytes, costs.at[i].kept_bytes, 0);
        assert_near(costs.at[i].again_s, 0, 0);
    }
    close_scene(&scene);
}

static struct ll_layer_costs costs_of_steps(uint64_t steps, struct scene *scene)
{
    static const struct ll_setting sizes[] = {
        {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "100"}, {"seq", "16"}};
    struct ll_layer_costs costs;
    *scene = open_scene(dry_steps("gpt", true, 2, steps, sizes, 5), machine);
    play(scene);
    assert_non_null(scene->result);
    assert_true(ll_layer_costs(scene->result, NULL, &scene->arena, &costs));
    return costs;
}

static void several_steps_have_the_state_of_one(void **state)
{
    (void)state;
    struct scene one, three;
    struct ll_layer_costs first = costs_of_steps(1, &one), all = costs_of_steps(3, &three);
    assert_int_equal(first.count, all.count);
    for (uint32_t i = 0; i < first.count; i++) {
        const struct ll_layer_cost *a = &first.at[i], *b = &all.at[i];
        assert_near(b->state.weight, a->state.weight, 0);
        assert_near(b->state.optimizer, a->state.optimizer, 0);
        assert_near(b->state.gradient, a->state.gradient, 0);
        assert_near(b->forward_read_bytes, a->forward_read_bytes, 0);
        assert_near(b->backward_read_bytes, a->backward_read_bytes, 0);
    }
    close_scene(&one);
    close_scene(&three);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_layers_matrices),
        cmocka_unit_test(a_layer_of_one_op_holds_all_that_it_keeps),
        cmocka_unit_test(several_steps_have_the_state_of_one),
        cmocka_unit_test(flops_and_times_are_those_of_the_layers_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
