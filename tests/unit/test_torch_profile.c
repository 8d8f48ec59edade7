/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's profiler traces, which know no tensors: what is one weight, what is a step, what lies in what. */
#include "check.h"
#include "convert.h"

#include "tracer/ir/profile.h"

/* Events in the making, one behind the other. */
struct profile {
    struct ll_str text;
    unsigned clock;
};

static void add_event(struct profile *p, const char *name, const char *args)
{
    ll_str_addf(
        &p->text,
        "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"tid\": 7, \"ts\": %u, \"dur\": 9, "
        "\"args\": {%s}}",
        p->text.length ? "," : "[", name, p->clock += 10, args);
}

static void add_step(struct profile *p, unsigned number)
{
    ll_str_addf(&p->text,
                "%s{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%u\", \"tid\": 7, "
                "\"ts\": %u, \"dur\": 1}",
                p->text.length ? "," : "[", number, p->clock += 10);
}

/* x[32,in] w[in,out] + b[out], and a ReLU over it. */
static void add_layer(struct profile *p, unsigned in, unsigned out)
{
    char args[300];
    snprintf(args, sizeof args,
             "\"Input Dims\": [[%u], [32, %u], [%u, %u]], \"Input type\": [\"float\", \"float\", \"float\"]",
             out, in, in, out);
    add_event(p, "aten::addmm", args);
    snprintf(args, sizeof args, "\"Input Dims\": [[32, %u]], \"Input type\": [\"float\"]", out);
    add_event(p, "aten::relu", args);
}

static struct conversion import_profile(struct profile *p, const char *steps)
{
    struct conversion c = {.importer = ll_import_TORCH_PROFILE};
    ll_str_add(&p->text, "]");
    add_file(&c, "a.json", &p->text);
    if (steps)
        choose_so(&c, "steps", steps);
    convert(&c);
    ll_str_release(&p->text);
    p->clock = 0;
    return c;
}

static uint64_t parameters_of(const struct conversion *c)
{
    struct ll_arena arena = {0};
    uint64_t parameters = ll_profile(c->trace, &arena)->parameters;
    ll_arena_release(&arena);
    return parameters;
}

/* Weights and biases of 784 x 512 and 512 x 10: 407,050. */
static void steps_share_their_weights(void **state)
{
    (void)state;
    for (int marked = 0; marked < 2; marked++) {
        struct profile p = {0};
        for (unsigned i = 0; i < 5; i++) {
            if (marked)
                add_step(&p, i);
            add_layer(&p, 784, 512);
            add_layer(&p, 512, 10);
        }
        struct conversion c = import_profile(&p, NULL);
        assert_non_null(c.trace);
        assert_int_equal(c.trace->step_count, 5);
        assert_int_equal(parameters_of(&c), 407050);
        end_conversion(&c);
    }
}

/* dx[32,512] of w[512,10] reads that weight again; dw = x^T dy reads none. */
static void gradients_read_the_weights_of_their_step(void **state)
{
    (void)state;
    struct profile p = {0};
    for (unsigned i = 0; i < 3; i++) {
        add_step(&p, i);
        add_layer(&p, 784, 512);
        add_layer(&p, 512, 10);
        ll_str_addf(&p.text,
                    ",{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"autograd::engine::evaluate_function: "
                    "AddmmBackward0\", \"tid\": 7, \"ts\": %u, \"dur\": 50}",
                    p.clock + 10);
        add_event(&p, "aten::mm",
                  "\"Input Dims\": [[32, 10], [10, 512]], \"Input type\": [\"float\", \"float\"]");
        add_event(&p, "aten::mm",
                  "\"Input Dims\": [[10, 32], [32, 512]], \"Input type\": [\"float\", \"float\"]");
        p.clock += 40;
    }
    struct conversion c = import_profile(&p, NULL);
    assert_non_null(c.trace);
    assert_int_equal(parameters_of(&c), 407050);
    end_conversion(&c);
}

/* What a layer makes, the next one can read: one forward pass of four layers, unless one says otherwise. */
static void equal_layers_are_no_steps(void **state)
{
    (void)state;
    for (int chosen = 0; chosen < 2; chosen++) {
        struct profile p = {0};
        for (unsigned i = 0; i < 4; i++)
            add_layer(&p, 256, 256);
        struct conversion c = import_profile(&p, chosen ? "4" : NULL);
        assert_non_null(c.trace);
        assert_int_equal(c.trace->step_count, chosen ? 4 : 1);
        assert_int_equal(parameters_of(&c), (chosen ? 1 : 4) * (256 * 256 + 256));
        end_conversion(&c);
    }
    struct profile p = {0};
    for (unsigned i = 0; i < 4; i++)
        add_layer(&p, 256, 256);
    struct conversion c = import_profile(&p, "3");
    assert_null(c.trace);
    assert_true(complained(&c, "-p steps=3: the 8 calls in it do not repeat themselves so often"));
    end_conversion(&c);
}

/* What one call with these arguments makes. */
static void expect_made(const char *name, const char *args, enum ll_op_kind kind, unsigned rank,
                        const uint64_t *dims)
{
    struct profile p = {0};
    add_event(&p, name, args);
    struct conversion c = import_profile(&p, NULL);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    const struct ll_shape *made = &op_of_kind(c.trace, kind, 0)->out[0];
    assert_int_equal(made->rank, rank);
    assert_memory_equal(made->dim, dims, rank * sizeof *dims);
    end_conversion(&c);
}

#define POOL(size, padding, ceiling)                                                                         \
    "\"Input Dims\": [[2, 3, " size ", " size "], [], [], [], [], []], \"Input type\": [\"float\", "         \
    "\"ScalarList\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"], \"Concrete Inputs\": "     \
    "[\"\", \"[3, 3]\", \"[2, 2]\", \"" padding "\", \"[1, 1]\", \"" ceiling "\"]"
#define AVERAGE(size)                                                                                        \
    "\"Input Dims\": [[2, 3, " size ", " size "], [], [], [], []], \"Input type\": [\"float\", "             \
    "\"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"], \"Concrete Inputs\": "                     \
    "[\"\", \"[3, 3]\", \"[2, 2]\", \"[0, 0]\", \"True\"]"

/* ceil((8 - 3) / 2) + 1 = 4; with padding, ceil((7 + 2 - 3) / 2) + 1 = 4. */
static void windows_are_cut_where_it_says_so(void **state)
{
    (void)state;
    expect_made("aten::max_pool2d_with_indices", POOL("8", "[0, 0]", "True"), LL_OP_MAX_POOL, 4,
                (const uint64_t[]){2, 4, 4, 3});
    expect_made("aten::max_pool2d_with_indices", POOL("8", "[0, 0]", "False"), LL_OP_MAX_POOL, 4,
                (const uint64_t[]){2, 3, 3, 3});
    expect_made("aten::max_pool2d_with_indices", POOL("7", "[1, 1]", "True"), LL_OP_MAX_POOL, 4,
                (const uint64_t[]){2, 4, 4, 3});
    expect_made("aten::avg_pool2d", AVERAGE("8"), LL_OP_AVG_POOL, 4, (const uint64_t[]){2, 4, 4, 3});
}

static void what_is_repeated_or_padded_grows(void **state)
{
    (void)state;
    expect_made("aten::repeat",
                "\"Input Dims\": [[3, 4], []], \"Input type\": [\"float\", \"ScalarList\"], "
                "\"Concrete Inputs\": [\"\", \"[2, 2]\"]",
                LL_OP_CAST, 2, (const uint64_t[]){6, 8});
    expect_made("aten::repeat",
                "\"Input Dims\": [[4], []], \"Input type\": [\"float\", \"ScalarList\"], "
                "\"Concrete Inputs\": [\"\", \"[5, 1]\"]",
                LL_OP_CAST, 2, (const uint64_t[]){5, 4});
    expect_made("aten::constant_pad_nd",
                "\"Input Dims\": [[3, 4], [], []], \"Input type\": [\"float\", \"ScalarList\", \"Scalar\"], "
                "\"Concrete Inputs\": [\"\", \"[1, 1]\", \"0\"]",
                LL_OP_CAST, 2, (const uint64_t[]){3, 6});
    expect_made("aten::constant_pad_nd",
                "\"Input Dims\": [[3, 4], [], []], \"Input type\": [\"float\", \"ScalarList\", \"Scalar\"], "
                "\"Concrete Inputs\": [\"\", \"[0, -1, 2, 0]\", \"0\"]",
                LL_OP_CAST, 2, (const uint64_t[]){5, 3});
}

#define EVENT(name, time)                                                                                    \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"tid\": 7, " time                         \
    ", \"args\": {\"Input Dims\": [[3, 4], [4, 5]], \"Input type\": [\"float\", \"float\"]}}"

/* matmul from 10.9 to 13.8 calls mm from 11.1 to 13.7, which older versions write as 10 + 2 and 11 + 2.
 * What comes behind begins where it ends. */
static void times_that_are_cut_off_still_nest(void **state)
{
    static const struct {
        const char *text;
        uint64_t ops; /* 0: refused */
    } rows[] = {
        {"[" EVENT("aten::matmul", "\"ts\": 10, \"dur\": 2") "," EVENT("aten::mm",
                                                                       "\"ts\": 11, \"dur\": 2") "]",
         1},
        {"[" EVENT("aten::matmul", "\"ts\": 10, \"dur\": 2") "," EVENT("aten::mm",
                                                                       "\"ts\": 11, \"dur\": 3") "]",
         0},
        {"[" EVENT("aten::matmul", "\"ts\": 10.5, \"dur\": 2") "," EVENT("aten::mm",
                                                                         "\"ts\": 11, \"dur\": 2") "]",
         0},
        {"[" EVENT("aten::mm", "\"ts\": 10, \"dur\": 2") "," EVENT("aten::mm", "\"ts\": 12, \"dur\": 1") "]",
         2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_str bytes = {0};
        struct conversion c = {.importer = ll_import_TORCH_PROFILE};
        ll_str_add(&bytes, rows[i].text);
        add_file(&c, "a.json", &bytes);
        convert(&c);
        assert_int_equal(c.trace ? c.trace->op_count : 0, rows[i].ops);
        end_conversion(&c);
        ll_str_release(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_share_their_weights),
        cmocka_unit_test(gradients_read_the_weights_of_their_step),
        cmocka_unit_test(equal_layers_are_no_steps),
        cmocka_unit_test(windows_are_cut_where_it_says_so),
        cmocka_unit_test(what_is_repeated_or_padded_grows),
        cmocka_unit_test(times_that_are_cut_off_still_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
