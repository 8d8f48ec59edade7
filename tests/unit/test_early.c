/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "scene.h"
#include "toy_machine.h"
#include "toy_trace.h"

#include "sim/memory/footprint.h"

enum { TRACES = 40 };

/* Two layers of 100 x 100 f32, 40,000 bytes each, with their gradients g1 and g2, g2 first, as backward
 * passes have them, and both updates at the end: so both gradients live there, or right behind each, so that
 * only one does. */
static struct ll_trace *two_layers(bool right_behind)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape square = toy_matrix(100, 100);
    uint32_t weights[] = {toy_bring(toy, square, LL_WEIGHT), toy_bring(toy, square, LL_WEIGHT)};
    uint32_t gradients[2];
    ll_recorder_step_begin(toy->recorder);
    for (int i = 2; i-- > 0;) {
        gradients[i] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){weights[i], weights[i]}, 2,
                              NULL, 0, LL_GRADIENT, NULL);
        if (right_behind)
            toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){weights[i], gradients[i]}, 2, NULL, 0,
                   LL_WEIGHT, NULL);
    }
    for (int i = 0; !right_behind && i < 2; i++)
        toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){weights[i], gradients[i]}, 2, NULL, 0, LL_WEIGHT,
               NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static uint64_t early_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    uint64_t sum_bytes = 0;
    assert_true(ll_footprint_early(trace, &footprint));
    for (int i = 0; i < LL_MEMORY_COUNT; i++)
        sum_bytes += footprint.class_bytes[i];
    assert_int_equal(sum_bytes, footprint.peak_bytes);
    return footprint.peak_bytes;
}

static uint64_t recorded_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    assert_true(ll_footprint(trace, &footprint));
    return footprint.peak_bytes;
}

static void gradients_die_with_early_updates(void **state)
{
    (void)state;
    struct ll_trace *late = two_layers(false), *soon = two_layers(true);
    assert_int_equal(recorded_of(late), 4 * 40000);
    assert_int_equal(early_of(late), 3 * 40000);
    assert_int_equal(recorded_of(soon), 3 * 40000);
    assert_int_equal(early_of(soon), 3 * 40000);
    ll_trace_free(late);
    ll_trace_free(soon);
}

/* At the last op there are its operands, its result, and the weight that was updated long before. */
static void weights_stay_behind_their_updates(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape square = toy_matrix(100, 100);
    uint32_t weight = toy_bring(toy, square, LL_WEIGHT), x[2] = {toy_bring(toy, square, LL_ACTIVATION)};
    ll_recorder_step_begin(toy->recorder);
    uint32_t gradient = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){weight, weight}, 2, NULL, 0,
                               LL_GRADIENT, NULL);
    toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){weight, gradient}, 2, NULL, 0, LL_WEIGHT, NULL);
    x[1] = toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, x, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_ADD, LL_PHASE_FORWARD, x, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path);
    assert_int_equal(early_of(trace), 4 * 40000);
    ll_trace_free(trace);
}

/* Noise of the host could be there from the start on, beside activations that are gone when it is
 * added. */
static void updates_that_would_need_more_stay(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape square = toy_matrix(100, 100);
    uint32_t weight = toy_bring(toy, square, LL_WEIGHT), made[4];
    ll_recorder_step_begin(toy->recorder);
    for (int i = 0; i < 3; i++)
        made[i] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD,
                         i < 2 ? (uint32_t[]){weight, weight} : (uint32_t[]){made[0], made[1]}, 2, NULL, 0,
                         LL_ACTIVATION, NULL);
    made[0] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){weight, weight}, 2, NULL, 0,
                     LL_GRADIENT, NULL);
    made[1] = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_UPDATE, NULL, 0, NULL, 0, LL_GRADIENT, &square);
    made[2] = toy_op(toy, LL_OP_ADD, LL_PHASE_UPDATE, made, 2, NULL, 0, LL_GRADIENT, NULL);
    toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){weight, made[2]}, 2, NULL, 0, LL_WEIGHT, NULL);
    ll_recorder_step_end(toy->recorder);
    struct ll_trace *trace = toy_close(toy, path);
    assert_int_equal(recorded_of(trace), 4 * 40000);
    assert_int_equal(early_of(trace), 4 * 40000);
    ll_trace_free(trace);
}

/* Moving updates forward ends lives sooner and begins none sooner than its place allows. */
static void early_updates_never_need_more(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(3);
    for (uint64_t i = 0; i < TRACES; i++) {
        struct ll_trace *trace = toy_trace(seed + i);
        assert_true(early_of(trace) <= recorded_of(trace));
        ll_trace_free(trace);
    }
}

/* What the machine's software does decides what a step needs there, of one and the same recording. */
static void software_says_where_updates_go(void **state)
{
    static const char *const words[] = {"false", "true"};
    (void)state;
    for (int early = 0; early < 2; early++) {
        struct scene scene =
            open_scene_set(two_layers(false), LL_TOY_MACHINE, "software.early_updates", words[early]);
        play(&scene);
        assert_non_null(scene.result);
        assert_int_equal(scene.result->footprint->peak_bytes, (early ? 3 : 4) * 40000);
        close_scene(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_die_with_early_updates),
        cmocka_unit_test(weights_stay_behind_their_updates),
        cmocka_unit_test(updates_that_would_need_more_stay),
        cmocka_unit_test(early_updates_never_need_more),
        cmocka_unit_test(software_says_where_updates_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
