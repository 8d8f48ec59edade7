/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of three ops, each unlike the first in one thing: those that differ in what a device does are not
 * replayed once for both, those that differ in names and in what is drawn are. */
#include "check.h"
#include "toy_trace.h"

#include "sim/parallel/parallel.h"

/* A product of x and w, dropout of it, an activation of it that also waits for an op. */
struct program {
    enum ll_op_kind last;
    enum ll_phase phase;
    enum ll_memory_class memory; /* of the last result */
    enum ll_dtype dtype;
    uint64_t rows;
    int64_t transpose, seed, in_place; /* in_place: 0 for a result of its own, 1 for one over y */
    uint32_t reads;                    /* the last op: 0 what was dropped out, 1 the product */
    uint32_t controls, control;        /* how many ops it waits for, and which is the first */
    const char *scope;
};

static const struct program first = {.last = LL_OP_RELU,
                                     .phase = LL_PHASE_FORWARD,
                                     .memory = LL_ACTIVATION,
                                     .dtype = LL_F32,
                                     .rows = 16,
                                     .controls = 1,
                                     .scope = "here"};

static struct ll_trace *record(const struct program *p)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    toy->scope = ll_recorder_string(toy->recorder, p->scope);
    struct ll_shape x_shape = toy_matrix(p->rows, p->rows), w_shape = x_shape;
    x_shape.dtype = w_shape.dtype = (uint8_t)p->dtype;
    uint32_t x = toy_bring(toy, x_shape, LL_INPUT), w = toy_bring(toy, w_shape, LL_WEIGHT), made[2],
             step = toy_bring(toy, (struct ll_shape){.dtype = LL_F32}, LL_WORKSPACE);
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_A, .count = p->transpose},
                         drawn[] = {{.key = LL_ATTR_KEEP, .real = 0.5},
                                    {.key = LL_ATTR_SEED, .count = p->seed}},
                         over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    ll_recorder_step_begin(toy->recorder);
    made[0] = toy_op(toy, LL_OP_MATMUL, p->phase, (uint32_t[]){x, w}, 2, &turned, 1, LL_ACTIVATION, NULL);
    made[1] = toy_op(toy, LL_OP_DROPOUT, LL_PHASE_FORWARD, (uint32_t[]){made[0], step}, 2, drawn, 2,
                     LL_ACTIVATION, NULL);
    uint32_t desc = ll_recorder_desc(toy->recorder, p->scope, &toy->shape[made[0]], p->memory);
    const uint32_t controls[] = {p->control, 1 - p->control}, read = p->reads ? made[0] : made[1];
    ll_recorder_op(toy->recorder, &(struct ll_record){.kind = p->last,
                                                      .phase = LL_PHASE_FORWARD,
                                                      .scope = toy->scope,
                                                      .inputs = &read,
                                                      .input_count = 1,
                                                      .outputs = &desc,
                                                      .output_count = 1,
                                                      .attrs = &over,
                                                      .attr_count = p->in_place != 0,
                                                      .controls = controls,
                                                      .control_count = p->controls});
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static void expect(struct program other, bool same, const char *what)
{
    struct ll_trace *a = record(&first), *b = record(&other);
    if (ll_same_program(a, b) != same || ll_same_program(b, a) != same)
        fail_msg("programs that differ in %s are %s", what, same ? "not the same" : "the same");
    ll_trace_free(a);
    ll_trace_free(b);
}

/* `first` but for one member. */
#define BUT(member, value, same)                                                                             \
    do {                                                                                                     \
        struct program other = first;                                                                        \
        other.member = value;                                                                                \
        expect(other, same, #member);                                                                        \
    } while (0)

static void what_a_device_does_tells_programs_apart(void **state)
{
    (void)state;
    expect(first, true, "nothing");
    BUT(last, LL_OP_TANH, false);
    BUT(phase, LL_PHASE_BACKWARD, false);
    BUT(memory, LL_GRADIENT, false);
    BUT(dtype, LL_F64, false);
    BUT(rows, 17, false);
    BUT(transpose, 1, false);
    BUT(in_place, 1, false);
    BUT(reads, 1, false);
    BUT(controls, 0, false);
    BUT(controls, 2, false);
    BUT(control, 1, false);
}

static void names_and_what_is_drawn_do_not(void **state)
{
    (void)state;
    BUT(seed, 7, true);
    BUT(scope, "there", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_device_does_tells_programs_apart),
        cmocka_unit_test(names_and_what_is_drawn_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
