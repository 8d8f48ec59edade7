/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors are gradients, and what is updated with them, of steps of a few ops. */
#include "check.h"
#include "toy_trace.h"

#include "sim/parallel/exchange.h"

/* A step under way, and what is found in it. */
struct found {
    struct toy *toy;
    char path[64];
    struct ll_trace *trace;
    struct ll_arena arena;
    struct ll_gradients of;
};

static struct found begin(void)
{
    struct found f = {.toy = calloc(1, sizeof *f.toy)};
    toy_open(f.toy, f.path);
    ll_recorder_step_begin(f.toy->recorder);
    return f;
}

static void find(struct found *f)
{
    ll_recorder_step_end(f->toy->recorder);
    f->trace = toy_close(f->toy, f->path);
    assert_true(ll_gradients_find(f->trace, &f->arena, &f->of));
}

static void end(struct found *f)
{
    ll_trace_free(f->trace);
    ll_arena_release(&f->arena);
}

static uint32_t bring(struct found *f, uint64_t rows, uint64_t columns, enum ll_memory_class memory)
{
    return toy_bring(f->toy, toy_matrix(rows, columns), memory);
}

/* An op of one or two inputs. */
static uint32_t does(struct found *f, enum ll_op_kind kind, enum ll_phase phase, enum ll_memory_class memory,
                     uint32_t a, uint32_t b)
{
    return toy_op(f->toy, kind, phase, (uint32_t[]){a, b}, b == LL_NONE ? 1 : 2, NULL, 0, memory, NULL);
}

static uint32_t momentum(struct found *f, uint32_t w, uint32_t v, uint32_t g)
{
    return toy_op(f->toy, LL_OP_MOMENTUM, LL_PHASE_UPDATE, (uint32_t[]){w, v, g}, 3, NULL, 0, LL_WEIGHT,
                  NULL);
}

static bool is_sharded(const struct found *f, uint32_t tensor)
{
    return f->of.sharded[f->trace->tensors[tensor].storage];
}

/* Real numbers of the class of gradients that an op going backward has made: neither what it makes of other
 * classes, nor a single number, nor counts, nor what the update makes of them itself. That belongs to the
 * weight all the same, and so does what decays it before. */
static void what_an_update_reads_of_the_way_back_is_a_gradient(void **state)
{
    (void)state;
    struct found f = begin();
    const struct ll_shape counts = {.dim = {8, 6}, .dtype = LL_I32, .rank = 2};
    uint32_t x = bring(&f, 8, 6, LL_INPUT), w = bring(&f, 8, 6, LL_WEIGHT), v = bring(&f, 8, 6, LL_OPTIMIZER),
             other = bring(&f, 8, 6, LL_WEIGHT);
    uint32_t dw = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE),
             number = does(&f, LL_OP_SUM, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE),
             map = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_ACTIVATION, x, LL_NONE),
             early = does(&f, LL_OP_RELU, LL_PHASE_FORWARD, LL_GRADIENT, x, LL_NONE),
             count = toy_op(f.toy, LL_OP_CAST, LL_PHASE_BACKWARD, &x, 1, NULL, 0, LL_GRADIENT, &counts);
    does(&f, LL_OP_MUL, LL_PHASE_UPDATE, LL_WORKSPACE, map, early);
    toy_op(f.toy, LL_OP_CAST, LL_PHASE_UPDATE, &count, 1, NULL, 0, LL_WORKSPACE,
           &(struct ll_shape){.dim = {8, 6}, .dtype = LL_F32, .rank = 2});
    uint32_t decayed = does(&f, LL_OP_RELU, LL_PHASE_UPDATE, LL_WORKSPACE, w, LL_NONE),
             scaled = does(&f, LL_OP_MUL, LL_PHASE_UPDATE, LL_WORKSPACE, dw, number),
             sum = does(&f, LL_OP_ADD, LL_PHASE_UPDATE, LL_WORKSPACE, scaled, decayed);
    momentum(&f, w, v, sum);
    find(&f);
    const uint32_t none[] = {x, number, map, early, count, decayed, scaled, sum};
    assert_int_equal(f.of.kind[dw], LL_DENSE_GRADIENT);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(f.of.kind[none[i]], LL_NO_GRADIENT);
    assert_true(f.of.in_parts[dw] && f.of.in_parts[scaled] && f.of.in_parts[sum] && f.of.in_parts[decayed]);
    assert_false(f.of.in_parts[number] || f.of.in_parts[map] || f.of.in_parts[count]);
    assert_true(is_sharded(&f, w) && is_sharded(&f, v));
    assert_false(is_sharded(&f, x) || is_sharded(&f, other));
    end(&f);
}

/* A product of gradients (as of Newton and Schulz) is done whole, with the weight that it is for; another
 * weight is not of that family. */
static void a_family_with_a_product_stays_whole(void **state)
{
    (void)state;
    struct found f = begin();
    uint32_t x = bring(&f, 8, 8, LL_INPUT), w[2], v[2], dw[2];
    for (int i = 0; i < 2; i++) {
        w[i] = bring(&f, 8, 8, LL_WEIGHT);
        v[i] = bring(&f, 8, 8, LL_OPTIMIZER);
        dw[i] = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE);
    }
    momentum(&f, w[0], v[0], does(&f, LL_OP_MATMUL, LL_PHASE_UPDATE, LL_WORKSPACE, dw[0], dw[0]));
    momentum(&f, w[1], v[1], dw[1]);
    find(&f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.of.kind[dw[i]], LL_DENSE_GRADIENT);
        assert_int_equal(f.of.in_parts[dw[i]], i == 1);
        assert_int_equal(is_sharded(&f, w[i]), i == 1);
        assert_int_equal(is_sharded(&f, v[i]), i == 1);
    }
    end(&f);
}

/* A slice of a state that lies whole on each device, as tensor parallelism takes one, has to be made whole,
 * and so has all that is updated with it. */
static void a_family_with_a_slice_of_a_whole_state_stays_whole(void **state)
{
    (void)state;
    static const struct ll_attr half = {.key = LL_ATTR_SIZE, .count = 4};
    struct found f = begin();
    uint32_t x = bring(&f, 4, 6, LL_INPUT), v = bring(&f, 8, 6, LL_OPTIMIZER), w[2], dw[2];
    for (int i = 0; i < 2; i++) {
        w[i] = bring(&f, 4, 6, LL_WEIGHT);
        dw[i] = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE);
    }
    uint32_t cut = toy_op(f.toy, LL_OP_SLICE, LL_PHASE_UPDATE, &v, 1, &half, 1, LL_OPTIMIZER, NULL);
    uint32_t sum = does(&f, LL_OP_ADD, LL_PHASE_UPDATE, LL_OPTIMIZER, cut, dw[0]);
    does(&f, LL_OP_ADD, LL_PHASE_UPDATE, LL_WEIGHT, w[0], sum);
    does(&f, LL_OP_ADD, LL_PHASE_UPDATE, LL_WEIGHT, w[1], dw[1]);
    find(&f);
    assert_false(f.of.in_parts[dw[0]] || f.of.in_parts[cut] || is_sharded(&f, cut) || is_sharded(&f, w[0]));
    assert_true(f.of.in_parts[dw[1]] && is_sharded(&f, w[1]));
    end(&f);
}

/* Each on a gradient of its own, before the update that reads the gradient and what has become of it. */
enum extra { NUMBER_OF_ALL, SUMS_OF_ROWS, ROW_OF_FACTORS, EXTRAS };

/* What is done to all elements alike leaves them in parts, be it a norm that is one number, or Adam's powers,
 * which are not as many as its elements; sums of its rows and factors of its columns do not. */
static void what_is_not_done_element_by_element_stays_whole(void **state)
{
    (void)state;
    static const struct ll_attr columns = {.key = LL_ATTR_AXIS, .count = 1};
    const struct ll_shape row = {.dim = {6}, .dtype = LL_F32, .rank = 1};
    struct found f = begin();
    uint32_t x = bring(&f, 8, 6, LL_INPUT), powers = bring(&f, 1, 2, LL_OPTIMIZER),
             factors = toy_bring(f.toy, row, LL_INPUT), w[EXTRAS], m[EXTRAS], v[EXTRAS], dw[EXTRAS];
    for (int i = 0; i < EXTRAS; i++) {
        w[i] = bring(&f, 8, 6, LL_WEIGHT);
        m[i] = bring(&f, 8, 6, LL_OPTIMIZER);
        v[i] = bring(&f, 8, 6, LL_OPTIMIZER);
        dw[i] = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE);
    }
    does(&f, LL_OP_SUM, LL_PHASE_UPDATE, LL_WORKSPACE, dw[NUMBER_OF_ALL], LL_NONE);
    toy_op(f.toy, LL_OP_SUM, LL_PHASE_UPDATE, &dw[SUMS_OF_ROWS], 1, &columns, 1, LL_WORKSPACE, NULL);
    does(&f, LL_OP_MUL, LL_PHASE_UPDATE, LL_WORKSPACE, dw[ROW_OF_FACTORS], factors);
    for (int i = 0; i < EXTRAS; i++)
        toy_op(f.toy, LL_OP_ADAM, LL_PHASE_UPDATE, (uint32_t[]){w[i], m[i], v[i], dw[i], powers}, 5, NULL, 0,
               LL_WEIGHT, NULL);
    find(&f);
    for (int i = 0; i < EXTRAS; i++) {
        assert_int_equal(f.of.in_parts[dw[i]], i == NUMBER_OF_ALL);
        assert_int_equal(is_sharded(&f, w[i]), i == NUMBER_OF_ALL);
        assert_int_equal(is_sharded(&f, v[i]), i == NUMBER_OF_ALL);
    }
    assert_false(is_sharded(&f, powers) || is_sharded(&f, factors));
    end(&f);
}

/* Rows of a table are so before they are scaled, too; their table is not shared out. */
static void rows_of_a_table_are_gradients_of_their_own(void **state)
{
    (void)state;
    struct found f = begin();
    const struct ll_shape picked = {.dim = {3}, .dtype = LL_I32, .rank = 1};
    uint32_t x = bring(&f, 3, 6, LL_INPUT), table = bring(&f, 8, 6, LL_WEIGHT),
             indices = toy_bring(f.toy, picked, LL_INPUT);
    uint32_t rows = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE),
             number = does(&f, LL_OP_SUM, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE),
             scaled = does(&f, LL_OP_MUL, LL_PHASE_UPDATE, LL_GRADIENT, rows, number);
    toy_op(f.toy, LL_OP_SGD_ROWS, LL_PHASE_UPDATE, (uint32_t[]){table, scaled, indices}, 3, NULL, 0,
           LL_WEIGHT, NULL);
    find(&f);
    assert_int_equal(f.of.kind[rows], LL_ROWS_GRADIENT);
    assert_int_equal(f.of.kind[number], LL_NO_GRADIENT);
    assert_int_equal(f.of.kind[scaled], LL_NO_GRADIENT);
    assert_false(f.of.in_parts[rows] || f.of.in_parts[scaled] || is_sharded(&f, table));
    end(&f);
}

/* Whose weight counts experts, whatever is known of the gradient's own dimensions. */
static void a_family_is_of_experts_with_its_weight(void **state)
{
    (void)state;
    struct found f = begin();
    struct ll_shape experts = toy_matrix(8, 6);
    experts.role[0] = LL_ROLE_EXPERTS;
    uint32_t x = bring(&f, 8, 6, LL_INPUT),
             w[] = {toy_bring(f.toy, experts, LL_WEIGHT), bring(&f, 8, 6, LL_WEIGHT)}, v[2], dw[2];
    for (int i = 0; i < 2; i++) {
        v[i] = bring(&f, 8, 6, LL_OPTIMIZER);
        dw[i] = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE);
        momentum(&f, w[i], v[i], dw[i]);
    }
    find(&f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(f.of.experts[w[i]], i == 0);
        assert_int_equal(f.of.experts[v[i]], i == 0);
        assert_int_equal(f.of.experts[dw[i]], i == 0);
    }
    assert_false(f.of.experts[x]);
    end(&f);
}

/* Numbers that the updates of two weights read in a step (the powers of Adam's betas) are no weight's. Where
 * there are as many as a weight has they may be read element by element, so that the weights stay whole.
 * What one update reads in each of two steps is its weight's. */
static void what_several_updates_read_is_no_weights_state(void **state)
{
    (void)state;
    for (int weights = 1; weights <= 2; weights++) {
        struct found f = begin();
        uint32_t x = bring(&f, 1, 2, LL_INPUT), powers = bring(&f, 1, 2, LL_OPTIMIZER), w[2], m[2], v[2];
        for (int i = 0; i < weights; i++) {
            w[i] = bring(&f, 1, 2, LL_WEIGHT);
            m[i] = bring(&f, 1, 2, LL_OPTIMIZER);
            v[i] = bring(&f, 1, 2, LL_OPTIMIZER);
        }
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < weights; i++) {
                uint32_t dw = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE);
                toy_op(f.toy, LL_OP_ADAM, LL_PHASE_UPDATE, (uint32_t[]){w[i], m[i], v[i], dw, powers}, 5,
                       NULL, 0, LL_WEIGHT, NULL);
            }
            ll_recorder_step_end(f.toy->recorder);
            ll_recorder_step_begin(f.toy->recorder);
        }
        find(&f);
        assert_int_equal(is_sharded(&f, powers), weights == 1);
        for (int i = 0; i < weights; i++)
            assert_true(is_sharded(&f, w[i]) == (weights == 1) && is_sharded(&f, v[i]) == (weights == 1));
        end(&f);
    }
}

/* Where nothing is updated: what going backward leaves unread, if a weight is as large. */
static void without_updates_what_is_left_is_a_gradient(void **state)
{
    (void)state;
    struct found f = begin();
    uint32_t x = bring(&f, 8, 6, LL_INPUT), small = bring(&f, 8, 5, LL_INPUT);
    bring(&f, 8, 6, LL_WEIGHT);
    bring(&f, 3, 3, LL_WEIGHT);
    bring(&f, 9, 9, LL_WEIGHT);
    uint32_t read = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, x, LL_NONE),
             left = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, read, LL_NONE),
             of_input = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_GRADIENT, small, LL_NONE),
             map = does(&f, LL_OP_RELU, LL_PHASE_BACKWARD, LL_ACTIVATION, x, LL_NONE),
             early = does(&f, LL_OP_RELU, LL_PHASE_FORWARD, LL_GRADIENT, x, LL_NONE);
    find(&f);
    assert_int_equal(f.of.kind[left], LL_DENSE_GRADIENT);
    const uint32_t none[] = {x, read, of_input, map, early};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(f.of.kind[none[i]], LL_NO_GRADIENT);
    end(&f);
}

/* What another stage sends before replicas exchange it is a gradient here as well; what it sends while it
 * updates has been exchanged, and comes in parts. */
static void received_gradients_are_told_by_their_phase(void **state)
{
    (void)state;
    static const struct ll_attr peer = {.key = LL_ATTR_PEER, .count = -1};
    const struct ll_shape shape = toy_matrix(8, 6);
    struct found f = begin();
    uint32_t w[3], v[3], g[3];
    const enum ll_phase phases[] = {LL_PHASE_COMM, LL_PHASE_UPDATE, LL_PHASE_COMM};
    for (int i = 0; i < 3; i++) {
        w[i] = bring(&f, 8, 6, LL_WEIGHT);
        v[i] = bring(&f, 8, 6, LL_OPTIMIZER);
    }
    uint32_t x = bring(&f, 8, 6, LL_INPUT);
    for (int i = 0; i < 3; i++)
        g[i] = i < 2 ? toy_op(f.toy, LL_OP_RECEIVE, phases[i], NULL, 0, &peer, 1, LL_GRADIENT, &shape)
                     : does(&f, LL_OP_RELU, LL_PHASE_COMM, LL_GRADIENT, x, LL_NONE);
    for (int i = 0; i < 3; i++)
        momentum(&f, w[i], v[i], g[i]);
    find(&f);
    assert_int_equal(f.of.kind[g[0]], LL_DENSE_GRADIENT);
    assert_int_equal(f.of.kind[g[1]], LL_NO_GRADIENT);
    assert_int_equal(f.of.kind[g[2]], LL_NO_GRADIENT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.of.in_parts[g[i]], i < 2);
        assert_int_equal(is_sharded(&f, w[i]), i < 2);
        assert_int_equal(is_sharded(&f, v[i]), i < 2);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_update_reads_of_the_way_back_is_a_gradient),
        cmocka_unit_test(a_family_with_a_product_stays_whole),
        cmocka_unit_test(a_family_with_a_slice_of_a_whole_state_stays_whole),
        cmocka_unit_test(what_is_not_done_element_by_element_stays_whole),
        cmocka_unit_test(rows_of_a_table_are_gradients_of_their_own),
        cmocka_unit_test(a_family_is_of_experts_with_its_weight),
        cmocka_unit_test(what_several_updates_read_is_no_weights_state),
        cmocka_unit_test(without_updates_what_is_left_is_a_gradient),
        cmocka_unit_test(received_gradients_are_told_by_their_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
