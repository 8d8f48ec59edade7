/* SPDX-License-Identifier: Apache-2.0 */
/* What four layers of a product each cost, counted on paper. */
#include "check.h"

#include "four_products.h"
#include "scene.h"
#include "sim/parallel/profile.h"

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
    assert_true(ll_layer_costs(scene->result, &scene->arena, &costs));
    assert_int_equal(costs.count, 4);
    return costs;
}

/* Each matrix has 64 * 64 * 4 bytes: a layer has a weight, a momentum and a gradient of it, and reads its
 * weight once each way. Each keeps its result for a backward pass, the next layer's or its own, and the first
 * what comes in as well. Later layers read the results of the first three. */
static void bytes_are_those_of_the_layers_matrices(void **state)
{
    (void)state;
    const double matrix = 64 * 64 * 4;
    struct scene scene;
    struct ll_layer_costs costs = costs_of(&scene);
    for (uint32_t i = 0; i < 4; i++) {
        const struct ll_layer_cost *layer = &costs.at[i];
        assert_near(layer->weight_bytes, matrix, 0);
        assert_near(layer->optimizer_bytes, matrix, 0);
        assert_near(layer->gradient_bytes, matrix, 0);
        assert_near(layer->forward_read_bytes, matrix, 0);
        assert_near(layer->backward_read_bytes, matrix, 0);
        assert_near(layer->kept_bytes, i == 0 ? 2 * matrix : matrix, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_layers_matrices),
        cmocka_unit_test(flops_and_times_are_those_of_the_layers_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
