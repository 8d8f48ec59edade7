/* SPDX-License-Identifier: Apache-2.0 */
/* Events made by hand become ops, tensors and edges; what is expected follows from who wrote which bytes. */
#include "check.h"

#include "tracer/base/clock.h"
#include "tracer/capture/capture.h"
#include "tracer/capture/meaning.h"
#include "tracer/interpose/call.h"
#include "tracer/format/reader.h"

#include <limits.h>
#include <unistd.h>

static int reallocations = INT_MAX; /* that still succeed */

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* What is new holds what somebody else left there. */
void *__wrap_realloc(void *memory, size_t size)
{
    void *made = reallocations-- > 0 ? __real_realloc(memory, size) : NULL;
    return made && !memory ? memset(made, 0xa5, size) : made;
}

enum { N = 8, BYTES = N * N * 4, MOST = 64 };
static const uint64_t a = 0x10000, b = 0x20000, c = 0x30000, d = 0x40000;

/* A program in the making, and what was recorded of it. */
struct program {
    struct ll_event events[MOST];
    uint32_t count;
    uint64_t now_ns, rows_free, origin_ns, end_ns; /* the last three: 0 where not said */
    struct ll_trace *trace;
    struct ll_capture_summary summary;
    struct ll_arena arena;
    const struct ll_deps *deps;
};

static struct ll_call_operand matrix(uint8_t role, uint8_t access, uint64_t address, uint64_t stride)
{
    struct ll_call_operand operand = {
        .address = address, .rows = 1, .row_bytes = BYTES, .stride_bytes = BYTES};
    operand.access = access;
    operand.role = role;
    operand.shape = (struct ll_shape){.dtype = LL_F32, .rank = 2, .dim = {N, N}};
    if (stride != N * 4) {
        operand.rows = N;
        operand.row_bytes = N * 4;
        operand.stride_bytes = stride;
    }
    return operand;
}

static struct ll_event *add_event(struct program *program, enum ll_event_kind kind)
{
    assert_true(program->count < MOST);
    struct ll_event *event = &program->events[program->count++];
    *event = (struct ll_event){.kind = kind, .start_ns = program->now_ns};
    return event;
}

/* z = x y, or z += x y; 10 us, then 100 ns until the next. */
static struct ll_event *product(struct program *program, uint64_t x, uint64_t y, uint64_t z, bool adds)
{
    struct ll_event *event = add_event(program, LL_EVENT_CALL);
    uint8_t access = adds ? LL_ACCESS_BOTH : LL_ACCESS_WRITE;
    event->call = (struct ll_call){.routine = LL_ROUTINE_GEMM,
                                   .symbol = LL_SYMBOL_sgemm_,
                                   .dtype = LL_F32,
                                   .caller = 0x1234,
                                   .duration_ns = 10000,
                                   .operand_count = 3,
                                   .number_count = 7,
                                   .operand = {matrix(LL_ARGUMENT_A, LL_ACCESS_READ, x, N * 4),
                                               matrix(LL_ARGUMENT_B, LL_ACCESS_READ, y, N * 4),
                                               matrix(LL_ARGUMENT_C, access, z, N * 4)},
                                   .number = {0, 0, N, N, N, 1, adds}};
    program->now_ns += 10100;
    return event;
}

static void begin(struct program *program)
{
    *program = (struct program){.now_ns = ll_now_ns()};
}

/* Records the events and reads the trace back. */
static void record(struct program *program)
{
    char path[] = "/tmp/leadline-test-XXXXXX";
    int file = mkstemp(path);
    enum ll_status status;
    static const struct ll_fact mode = {"mode", "program"};
    struct ll_recorder *recorder = ll_recorder_open(path, &mode, 1, &status);
    const struct ll_capture_settings settings = {
        .recorder = recorder,
        .origin_ns = program->origin_ns ? program->origin_ns : program->events[0].start_ns,
        .rows_free = program->rows_free};
    struct ll_capture *capture = ll_capture_open(&settings);
    for (uint32_t i = 0; i < program->count; i++)
        ll_capture_event(capture, &program->events[i]);
    ll_capture_finish(capture, 0, program->end_ns);
    program->summary = ll_capture_summary(capture);
    ll_capture_close(capture);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_diags diags = {0};
    program->trace = ll_trace_read(path, &diags, &status);
    assert_non_null(program->trace);
    assert_int_equal(diags.count, 0);
    program->deps = ll_trace_deps(program->trace, &program->arena);
    ll_diags_release(&diags);
    close(file);
    unlink(path);
}

static void end(struct program *program)
{
    ll_trace_free(program->trace);
    ll_arena_release(&program->arena);
}

static const char *kind_of(const struct program *program, uint32_t op)
{
    const struct ll_trace *trace = program->trace;
    return trace->strings[trace->signatures[trace->ops[op].signature].kind_name];
}

/* Why op waits for dep; NULL when it does not. */
static const char *edge(const struct program *program, uint32_t op, uint32_t dep)
{
    for (uint64_t i = program->deps->first[op]; i < program->deps->first[op + 1]; i++)
        if (program->deps->ops[i] == dep)
            return ll_edge_name(ll_edge_of(program->trace, op, dep));
    return NULL;
}

static void what_was_written_is_read_from_its_writer(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    product(&p, c, b, d, false);
    record(&p);
    assert_int_equal(p.trace->op_count, 2);
    assert_string_equal(kind_of(&p, 0), "matmul");
    assert_string_equal(edge(&p, 1, 0), "data");
    assert_int_equal(ll_op_input(p.trace, 1, 0), ll_op_output(p.trace, 0, 0));
    assert_int_equal(p.trace->tensor_count, 4); /* a and b were brought, once each */
    assert_near(p.summary.flops, 2 * 2.0 * N * N * N, 0);
    end(&p);
}

static void what_is_overwritten_waits_for_its_readers_and_keeps_their_data(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    product(&p, c, b, d, false);
    product(&p, a, a, b, false); /* needs nothing but a; b and c are still being read */
    product(&p, a, a, c, false);
    record(&p);
    assert_string_equal(edge(&p, 2, 1), "storage");
    assert_null(edge(&p, 2, 0)); /* whose thread has gone on to 1 */
    assert_string_equal(edge(&p, 3, 1), "storage");
    assert_string_equal(edge(&p, 3, 2), "order");
    end(&p);
}

static void an_update_in_place_is_a_new_tensor_on_the_same_storage(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    product(&p, a, b, c, true);
    record(&p);
    uint32_t first = ll_op_output(p.trace, 0, 0), second = ll_op_output(p.trace, 1, 0);
    assert_string_equal(kind_of(&p, 1), "matmul_add");
    assert_string_equal(edge(&p, 1, 0), "data");
    assert_int_not_equal(first, second);
    assert_int_equal(p.trace->tensors[first].storage, p.trace->tensors[second].storage);
    end(&p);
}

static void memory_that_was_allocated_anew_has_no_past(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    struct ll_event *event = add_event(&p, LL_EVENT_ALLOCATE);
    event->memory.address = c;
    event->memory.size_bytes = 2 * BYTES;
    product(&p, a, b, c, false);
    event = add_event(&p, LL_EVENT_RELEASE);
    event->memory.address = c;
    product(&p, a, b, c, false);
    product(&p, a, b, c + BYTES, false);
    record(&p);
    assert_string_equal(edge(&p, 1, 0), "order"); /* no storage */
    assert_null(edge(&p, 2, 0));
    end(&p);
}

static void parts_of_two_tensors_are_seen_as_one(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    product(&p, a, b, c + BYTES, false);
    product(&p, c + BYTES / 2, b, d, false); /* half of each */
    product(&p, c + BYTES / 2, b, d, true);  /* and again: the same tensor */
    record(&p);
    assert_int_equal(p.trace->op_count, 5);
    assert_string_equal(kind_of(&p, 2), "seen_as");
    assert_string_equal(edge(&p, 2, 0), "data");
    assert_string_equal(edge(&p, 2, 1), "data");
    assert_string_equal(edge(&p, 3, 2), "data");
    assert_int_equal(ll_op_input(p.trace, 4, 1), ll_op_output(p.trace, 2, 0));
    assert_int_equal(p.summary.views, 1);
    end(&p);
}

static void columns_of_one_matrix_do_not_meet(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    for (int side = 0; side < 2; side++) {
        struct ll_event *event = product(&p, a, b, c, false);
        event->call.operand[2] =
            matrix(LL_ARGUMENT_C, LL_ACCESS_WRITE, c + (uint64_t)side * N * 4, 2 * N * 4);
    }
    product(&p, c, b, d, false)->call.operand[0] = matrix(LL_ARGUMENT_A, LL_ACCESS_READ, c, 2 * N * 4);
    record(&p);
    assert_int_equal(p.trace->op_count, 3);
    assert_string_equal(edge(&p, 1, 0), "order");
    assert_string_equal(edge(&p, 2, 0), "data"); /* the left half alone */
    assert_string_equal(edge(&p, 2, 1), "order");
    end(&p);
}

/* Two threads update halves of a matrix that one op made: the same storage, other bytes. */
static void halves_of_one_matrix_are_updated_side_by_side(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    for (uint32_t i = 0; i < 4; i++) {
        struct ll_event *event = product(&p, a, b, c + i % 2 * BYTES / 2, true);
        for (uint32_t k = 0; k < 3; k += 2) {
            event->call.operand[k].row_bytes = event->call.operand[k].stride_bytes = BYTES / 2;
            event->call.operand[k].shape.dim[0] = event->call.number[2] = N / 2;
        }
        event->thread = i & 1;
    }
    record(&p);
    const struct ll_op *ops = p.trace->ops;
    for (uint32_t op = 1; op < p.trace->op_count; op++)
        for (uint32_t by = 1; by < op; by++)
            if (!strcmp(kind_of(&p, op), "matmul_add") && !strcmp(kind_of(&p, by), "matmul_add"))
                assert_int_equal(edge(&p, op, by) != NULL, ops[op].thread == ops[by].thread);
    end(&p);
}

/* A factorization: windows of one matrix that shrink by a row and a column each time are updated by its
 * columns and strided rows. A few regions each time, not one for each row. */
static void windows_that_shrink_are_told_finely(void **state)
{
    enum { SIDE = 40, STEPS = 36 };
    const uint64_t stride = SIDE * 4;
    struct program p;
    (void)state;
    begin(&p);
    for (uint64_t k = 0; k < STEPS; k++) {
        uint64_t left = SIDE - 1 - k, corner = c + k * (stride + 4);
        struct ll_event *event = product(&p, a, b, c, true);
        struct ll_call_operand *operand = event->call.operand;
        const uint64_t shapes[3][4] = {{corner + 4, 1, left, left * 4},
                                       {corner + stride, left, 1, 4},
                                       {corner + stride + 4, left, left, left * 4}};
        for (int i = 0; i < 3; i++) {
            operand[i].address = shapes[i][0];
            operand[i].rows = shapes[i][1];
            operand[i].row_bytes = shapes[i][3];
            operand[i].stride_bytes = operand[i].rows == 1 ? operand[i].row_bytes : stride;
            operand[i].shape.dim[0] = i == 0 ? left : shapes[i][1];
            operand[i].shape.dim[1] = i == 0 ? 1 : shapes[i][2];
        }
        event->call.number[2] = event->call.number[3] = (int64_t)left;
        event->call.number[4] = 1;
    }
    p.rows_free = STEPS * 24;
    record(&p);
    assert_int_equal(p.summary.calls, STEPS);
    assert_int_equal(p.summary.coarse, 0);
    end(&p);
}

/* Products of panels that stand side by side in one matrix, whose leading dimension is another one each
 * second turn. */
static void multiply_panels(struct program *p)
{
    enum { PANELS = 6, TURNS = 7 };
    begin(p);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        const uint64_t stride = (PANELS + turn % 2) * N * 4;
        for (uint64_t i = 0; i < PANELS; i++) {
            struct ll_event *event = product(p, a, b, c, false);
            for (uint64_t k = 0; k < 3; k++) {
                struct ll_call_operand *operand = &event->call.operand[k];
                uint64_t panel = (i + k * (turn + 1)) % PANELS;
                *operand = matrix(operand->role, operand->access, c + panel * N * 4, stride);
            }
        }
    }
}

/* Rows are gone through one by one as long as that is quick enough; then the panels run into each other. */
static void what_takes_too_long_is_told_coarsely(void **state)
{
    struct program fine, coarse;
    (void)state;
    multiply_panels(&fine);
    record(&fine);
    assert_int_equal(fine.summary.coarse, 0);
    assert_null(ll_trace_fact(fine.trace, "summary.coarse"));
    multiply_panels(&coarse);
    coarse.rows_free = 1;
    record(&coarse);
    assert_true(coarse.summary.coarse > 30 && coarse.summary.coarse < coarse.summary.calls);
    assert_int_equal(coarse.summary.calls, fine.summary.calls);
    assert_non_null(ll_trace_fact(coarse.trace, "summary.coarse"));
    end(&fine);
    end(&coarse);
}

static void time_between_calls_is_a_gap_of_its_thread(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    p.now_ns += 5000000;
    product(&p, a, b, d, false);
    record(&p);
    assert_string_equal(kind_of(&p, 1), "gap");
    assert_int_equal(p.trace->ops[1].duration_ns, 5000100);
    assert_string_equal(edge(&p, 1, 0), "gap");
    assert_string_equal(edge(&p, 2, 1), "gap");
    assert_null(edge(&p, 2, 0));
    assert_int_equal(p.summary.gaps, 1);
    end(&p);
}

static void a_thread_that_comes_goes_on_from_who_called_last(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    p.now_ns += 5000000;
    product(&p, a, b, d, false)->thread = 1;
    p.now_ns += 3000000;
    product(&p, a, b, d, false)->thread = 2;
    record(&p);
    assert_int_equal(p.trace->ops[1].duration_ns, 5000100);
    assert_int_equal(p.trace->ops[3].duration_ns, 3000100);
    assert_string_equal(edge(&p, 1, 0), "gap");
    assert_string_equal(edge(&p, 3, 2), "gap");
    assert_string_equal(edge(&p, 4, 3), "gap");
    assert_int_equal(p.trace->ops[3].thread, 2);
    assert_int_equal(p.summary.gaps, 2);
    end(&p);
}

static void calls_within_calls_count_once(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, a, b, c, false);
    product(&p, a, b, c, false)->call.depth = 1;
    record(&p);
    assert_int_equal(p.trace->op_count, 1);
    assert_int_equal(p.summary.nested, 1);
    assert_string_equal(ll_trace_fact(p.trace, "summary.nested"), "1");
    end(&p);
}

/* z = x y of two products each, or z += x y, as oneDNN has it. */
static void stack(struct program *program, uint64_t x, uint64_t y, uint64_t z, bool adds)
{
    struct ll_event *event = product(program, x, y, z, adds);
    event->call.routine = LL_ROUTINE_DNN_MATMUL;
    event->call.symbol = LL_SYMBOL_dnnl_primitive_execute;
    event->call.number_count = 0;
    static const uint8_t roles[] = {LL_ARGUMENT_SRC, LL_ARGUMENT_WEIGHTS, LL_ARGUMENT_DST};
    for (int i = 0; i < 3; i++) {
        struct ll_call_operand *operand = &event->call.operand[i];
        operand->role = roles[i];
        operand->row_bytes = operand->stride_bytes = 2 * BYTES;
        operand->shape = (struct ll_shape){.dtype = LL_F32, .rank = 3, .dim = {2, N, N}};
    }
}

static void what_is_added_to_is_read_from_its_writer(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    stack(&p, a, b, c, false);
    stack(&p, a, b, c, true);
    stack(&p, c, b, d, false);
    record(&p);
    assert_int_equal(p.trace->op_count, 4);
    assert_string_equal(kind_of(&p, 1), "batch_matmul");
    assert_string_equal(kind_of(&p, 2), "add");
    assert_string_equal(edge(&p, 2, 0), "data");
    assert_string_equal(edge(&p, 2, 1), "data");
    assert_string_equal(edge(&p, 3, 2), "data");
    assert_int_equal(p.trace->ops[2].duration_ns, 0);
    assert_int_equal(p.summary.calls, 3);
    assert_true(p.summary.flops == 3 * 2 * 2 * N * N * N + 2 * N * N);
    end(&p);
}

static void marks_begin_steps(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, d, d, c, false); /* setting up, for a millisecond */
    p.now_ns += 1000000;
    for (int step = 0; step < 3; step++) {
        add_event(&p, LL_EVENT_STEP);
        add_event(&p, LL_EVENT_STEP); /* no step without calls */
        product(&p, a, b, c, false);
        product(&p, c, b, d, false);
    }
    add_event(&p, LL_EVENT_STEP);
    product(&p, d, d, c, false);
    record(&p);
    assert_int_equal(p.trace->step_count, 5);
    assert_false(p.trace->steps[0].complete);
    assert_int_equal(p.trace->steps[0].op_count, 2); /* with the gap */
    for (int step = 1; step < 4; step++) {
        assert_true(p.trace->steps[step].complete);
        assert_int_equal(p.trace->steps[step].op_count, 2);
        assert_int_equal(p.trace->steps[step].wall_ns, 2 * 10100);
    }
    assert_false(p.trace->steps[4].complete);
    assert_int_equal(p.summary.steps, 3);
    assert_string_equal(ll_trace_fact(p.trace, "summary.steps_by"), "marks");
    end(&p);
}

/* Eight steps of three calls behind two from elsewhere, and one behind them: the weights b and d come again.
 */
static void what_repeats_is_a_step(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    product(&p, d, d, c, true)->call.caller = 0x9999;
    product(&p, d, a, c, true)->call.caller = 0x9999;
    for (int step = 0; step < 8; step++) {
        product(&p, a, b, c, false);
        product(&p, c, d, 0x50000, false);
        product(&p, 0x50000, b, 0x60000, true);
    }
    product(&p, d, d, c, true)->call.caller = 0x9999;
    record(&p);
    assert_int_equal(p.summary.steps, 8);
    assert_int_equal(p.summary.period, 3);
    assert_int_equal(p.trace->step_count, 10);
    assert_false(p.trace->steps[0].complete);
    assert_int_equal(p.trace->steps[0].op_count, 2);
    for (int step = 1; step < 9; step++) {
        assert_true(p.trace->steps[step].complete);
        assert_int_equal(p.trace->steps[step].op_count, 3);
    }
    assert_false(p.trace->steps[9].complete);
    end(&p);
}

/* A second before the first call and one behind the last: none of the steps that are found has any of it. */
static void a_process_begins_before_its_first_call_and_ends_behind_its_last(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    p.origin_ns = p.now_ns;
    p.now_ns += 1000000000;
    for (int step = 0; step < 4; step++) {
        product(&p, a, b, c, false);
        product(&p, c, d, 0x50000, true);
    }
    p.now_ns -= 100;
    p.end_ns = p.now_ns + 1000000000;
    record(&p);
    assert_int_equal(p.summary.wall_ns, UINT64_C(2000000000) + 8 * 10100 - 100);
    assert_int_equal(p.trace->step_count, 6);
    assert_false(p.trace->steps[0].complete);
    assert_int_equal(p.trace->steps[0].op_count, 1);
    assert_int_equal(p.trace->ops[0].duration_ns, 1000000000);
    assert_true(p.trace->steps[4].complete);
    assert_int_equal(p.trace->steps[4].op_count, 2);
    assert_int_equal(p.trace->steps[4].wall_ns, 2 * 10100 - 100);
    assert_false(p.trace->steps[5].complete);
    assert_string_equal(kind_of(&p, 9), "gap");
    assert_string_equal(edge(&p, 9, 8), "gap");
    assert_int_equal(p.trace->ops[9].duration_ns, 1000000000);
    end(&p);
}

/* d and c come and go; only b stays, and is changed by each step. */
static void weights_that_steps_update_tell_them(void **state)
{
    (void)state;
    struct program program;
    begin(&program);
    for (int step = 0; step < 5; step++) {
        product(&program, d, b, c, false);
        product(&program, c, b, d, false);
        product(&program, c, d, b, true);
    }
    record(&program);
    assert_int_equal(program.summary.steps, 5);
    assert_int_equal(program.summary.period, 3);
    end(&program);
}

/* c goes through all layers and is added to in each, but each has weights of its own. */
static void what_goes_through_layers_makes_no_steps_of_them(void **state)
{
    (void)state;
    struct program program;
    begin(&program);
    for (int step = 0; step < 4; step++)
        for (uint64_t layer = 0; layer < 3; layer++) {
            product(&program, c, 0x100000 + 0x1000 * layer, d, false);
            product(&program, d, 0x200000 + 0x1000 * layer, c, true);
        }
    record(&program);
    assert_int_equal(program.summary.steps, 0);
    end(&program);
}

/* Layers are alike, but each has weights of its own. */
static void layers_are_no_steps(void **state)
{
    struct program p;
    (void)state;
    begin(&p);
    for (uint64_t layer = 0; layer < 12; layer++) {
        product(&p, c, 0x100000 + 0x1000 * layer, d, false);
        product(&p, d, 0x200000 + 0x1000 * layer, c, false);
    }
    record(&p);
    assert_int_equal(p.summary.steps, 0);
    assert_int_equal(p.trace->step_count, 1);
    end(&p);
}

/* What a trace keeps as `opaque`: what a later version of oneDNN brings. */
static void every_routine_has_a_meaning_or_is_known_to_have_none(void **state)
{
    static const char *const without[] = {"primitive"};
    struct ll_meanings meanings;
    (void)state;
    ll_meanings(&meanings);
    for (uint32_t i = 0; i < LL_ROUTINE_COUNT; i++) {
        bool none = false;
        for (size_t w = 0; w < sizeof without / sizeof without[0]; w++)
            none |= strcmp(without[w], ll_routine_name((enum ll_routine)i)) == 0;
        if (none != !meanings.rows[i])
            print_error("%s\n", ll_routine_name((enum ll_routine)i));
        assert_true(none == !meanings.rows[i]);
    }
}

/* A form that found no memory is made when it is asked for again. */
static void forms_without_memory_leave_no_hole(void **state)
{
    (void)state;
    for (int granted = 0; granted < 20; granted++) {
        struct ll_call_forms forms = {0};
        bool told[40] = {false};
        reallocations = granted;
        for (uint64_t i = 0; i < 80; i++) {
            struct ll_call call = {.caller = i % 40};
            reallocations = i < 40 ? reallocations : INT_MAX;
            struct ll_call_form *form = ll_call_form_of(&forms, &call);
            assert_true(form ? form->told == told[i % 40] : i < 40);
            if (form)
                form->told = told[i % 40] = true;
        }
        ll_call_forms_release(&forms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_without_memory_leave_no_hole),
        cmocka_unit_test(what_was_written_is_read_from_its_writer),
        cmocka_unit_test(what_is_overwritten_waits_for_its_readers_and_keeps_their_data),
        cmocka_unit_test(an_update_in_place_is_a_new_tensor_on_the_same_storage),
        cmocka_unit_test(memory_that_was_allocated_anew_has_no_past),
        cmocka_unit_test(parts_of_two_tensors_are_seen_as_one),
        cmocka_unit_test(columns_of_one_matrix_do_not_meet),
        cmocka_unit_test(halves_of_one_matrix_are_updated_side_by_side),
        cmocka_unit_test(windows_that_shrink_are_told_finely),
        cmocka_unit_test(what_takes_too_long_is_told_coarsely),
        cmocka_unit_test(time_between_calls_is_a_gap_of_its_thread),
        cmocka_unit_test(a_thread_that_comes_goes_on_from_who_called_last),
        cmocka_unit_test(calls_within_calls_count_once),
        cmocka_unit_test(what_is_added_to_is_read_from_its_writer),
        cmocka_unit_test(marks_begin_steps),
        cmocka_unit_test(what_repeats_is_a_step),
        cmocka_unit_test(a_process_begins_before_its_first_call_and_ends_behind_its_last),
        cmocka_unit_test(weights_that_steps_update_tell_them),
        cmocka_unit_test(what_goes_through_layers_makes_no_steps_of_them),
        cmocka_unit_test(layers_are_no_steps),
        cmocka_unit_test(every_routine_has_a_meaning_or_is_known_to_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
