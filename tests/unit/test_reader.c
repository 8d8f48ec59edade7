/* SPDX-License-Identifier: Apache-2.0 */
/* Files made by hand, column by column: what no recorder here would write. */
#include "check.h"

#include "tracer/base/clock.h"
#include "tracer/format/format.h"
#include "tracer/format/reader.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS(out, tag, ...)                                                                               \
    ll_put_column(out, tag, LL_PLAIN, (const uint64_t[]){__VA_ARGS__},                                       \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* One op: out = kind(in) over vectors of `elements`. Strings are separated by blanks. */
struct plan {
    const char *strings; /* 0 name, 1 memory class, 2 dtype, 3 role, 4 kind, 5 phase, 6 scope, 7 attribute */
    uint64_t elements, flops, attrs, input; /* input: as in LL_DEF_LINKS_INPUT */
    bool strange; /* a column that nobody knows in each frame, and a frame of an unknown kind */
    uint16_t major, minor;
    uint64_t step, first_op, control; /* control: as in LL_DEF_LINKS_CONTROL, 0 for none */
    uint64_t zeros;                   /* as in LL_DEF_DESC_ZEROS, 0 for no column */
};

static const struct plan relu = {.strings = "x activation f32 batch relu forward scope axis",
                                 .elements = 10,
                                 .flops = 10,
                                 .input = 1,
                                 .major = LL_FORMAT_MAJOR};

static void put_strings(struct ll_bytes *out, const char *strings)
{
    uint64_t sizes[8], count = 0;
    struct ll_bytes text = {0};
    for (const char *at = strings; *at; at += strspn(at, " ")) {
        sizes[count] = strcspn(at, " ");
        ll_put_bytes(&text, at, sizes[count]);
        at += sizes[count++];
    }
    ll_put_column(out, LL_DEF_STRING_SIZE, LL_PLAIN, sizes, count);
    ll_put_raw(out, LL_DEF_TEXT, text.data, text.size);
    ll_bytes_release(&text);
}

static void put_definitions(struct ll_bytes *out, const struct plan *plan)
{
    uint64_t bytes = 4 * plan->elements;
    ll_put_varint(out, LL_FRAME_DEFINITIONS);
    NUMBERS(out, LL_DEF_FIRST, 0, 0, 0, 0);
    put_strings(out, plan->strings);
    NUMBERS(out, LL_DEF_DESC_NAME, 0);
    NUMBERS(out, LL_DEF_DESC_MEMORY, 1);
    NUMBERS(out, LL_DEF_DESC_DTYPE, 2);
    NUMBERS(out, LL_DEF_DESC_RANK, 1);
    NUMBERS(out, LL_DEF_DESC_DIM, plan->elements);
    NUMBERS(out, LL_DEF_DESC_ROLE, 3);
    NUMBERS(out, LL_DEF_FORM_KIND, 4);
    NUMBERS(out, LL_DEF_FORM_PHASE, 5);
    NUMBERS(out, LL_DEF_FORM_SCOPE, 6);
    NUMBERS(out, LL_DEF_FORM_INPUTS, 1);
    NUMBERS(out, LL_DEF_FORM_OUTPUTS, 1);
    NUMBERS(out, LL_DEF_FORM_ATTRS, plan->attrs);
    NUMBERS(out, LL_DEF_FORM_INPUT, 0);
    NUMBERS(out, LL_DEF_FORM_OUTPUT, 0);
    NUMBERS(out, LL_DEF_FORM_ALIAS, 0);
    if (plan->attrs) {
        NUMBERS(out, LL_DEF_FORM_ATTR_KEY, 7);
        NUMBERS(out, LL_DEF_FORM_ATTR_VALUE, 2);
    }
    NUMBERS(out, LL_DEF_FORM_FLOPS, plan->flops);
    NUMBERS(out, LL_DEF_FORM_READ, bytes);
    NUMBERS(out, LL_DEF_FORM_WRITTEN, bytes);
    NUMBERS(out, LL_DEF_LINKS_INPUTS, 1);
    NUMBERS(out, LL_DEF_LINKS_CONTROLS, plan->control > 0);
    NUMBERS(out, LL_DEF_LINKS_INPUT, plan->input);
    if (plan->control)
        NUMBERS(out, LL_DEF_LINKS_CONTROL, plan->control);
    if (plan->zeros)
        NUMBERS(out, LL_DEF_DESC_ZEROS, plan->zeros);
    if (plan->strange)
        NUMBERS(out, LL_DEF_TAGS, 1, 2, 3);
}

static void put_ops(struct ll_bytes *out, const struct plan *plan)
{
    ll_put_varint(out, LL_FRAME_OPS);
    NUMBERS(out, LL_OPS_FIRST, plan->first_op, 0, 0);
    NUMBERS(out, LL_OPS_FORM, 0);
    NUMBERS(out, LL_OPS_LINKS, 0);
    NUMBERS(out, LL_OPS_STEP, plan->step);
    NUMBERS(out, LL_OPS_THREAD, 0);
    NUMBERS(out, LL_OPS_OUTPUTS, 1);
    NUMBERS(out, LL_OPS_GAP, 0);
    NUMBERS(out, LL_OPS_DURATION, 5);
    NUMBERS(out, LL_OPS_BROUGHT_BEFORE, 0);
    NUMBERS(out, LL_OPS_BROUGHT_DESC, 0);
    if (plan->strange)
        NUMBERS(out, 1000, 7);
}

static void put_frame(struct ll_bytes *file, const struct plan *plan, uint32_t number,
                      struct ll_bytes *content)
{
    struct ll_codec *codec = ll_codec_new();
    struct ll_bytes packed = {0};
    ll_frame_pack(codec, content->data, content->size, &packed);
    const struct ll_head head = {{plan->major, plan->minor},
                                 number,
                                 (uint32_t)packed.size,
                                 (uint32_t)content->size,
                                 ll_crc32c(packed.data, packed.size)};
    ll_put_head(file, &head);
    ll_put_bytes(file, packed.data, packed.size);
    ll_bytes_release(&packed);
    ll_codec_free(codec);
    content->size = 0;
}

/* The plan as a file that lacks nothing but an index. */
static struct ll_bytes make_file(const struct plan *plan)
{
    struct ll_bytes file = {0}, content = {0};
    uint32_t number = 0;
    ll_put_header(&file);
    if (plan->strange) {
        ll_put_varint(&content, 99);
        put_frame(&file, plan, number++, &content);
    }
    put_definitions(&content, plan);
    put_frame(&file, plan, number++, &content);
    put_ops(&content, plan);
    put_frame(&file, plan, number++, &content);
    ll_bytes_release(&content);
    assert_false(file.failed);
    return file;
}

static enum ll_status status;
static struct ll_diags diags;

static struct ll_trace *parse(struct ll_bytes *file)
{
    diags = (struct ll_diags){0};
    struct ll_trace *trace = ll_trace_parse(file->data, file->size, "made", &diags, &status);
    ll_bytes_release(file);
    return trace;
}

static struct ll_trace *read_plan(const struct plan *plan)
{
    struct ll_bytes file = make_file(plan);
    return parse(&file);
}

static void release(struct ll_trace *trace)
{
    ll_trace_free(trace);
    ll_diags_release(&diags);
}

/* Some complaint says this. */
static void assert_complaint(const char *text)
{
    for (size_t i = 0; i < diags.kept_count; i++)
        if (strstr(diags.kept[i].message, text))
            return;
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    fail_msg("no complaint says \"%s\"", text);
}

static void a_file_made_by_hand_is_read(void **state)
{
    (void)state;
    struct ll_trace *trace = read_plan(&relu);
    assert_int_equal(status, LL_OK);
    assert_int_equal(diags.count, 1);
    assert_complaint("the index is missing");
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(trace->signatures[0].view.kind, LL_OP_RELU);
    assert_int_equal(trace->tensor_count, 2);
    assert_false(trace->closed);
    release(trace);
}

static void a_kind_that_nobody_knows_keeps_its_name_and_counts(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.strings = "x activation f32 batch warp forward scope factor";
    plan.flops = 12345;
    plan.attrs = 1; /* of an unknown key: left out */
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(diags.count, 1);
    assert_int_equal(trace->signatures[0].view.kind, LL_OP_NONE);
    assert_string_equal(trace->strings[trace->signatures[0].kind_name], "warp");
    assert_int_equal(trace->signatures[0].flops, 12345);
    assert_int_equal(trace->signatures[0].view.attr_count, 0);
    release(trace);
}

/* What is wrong with the plan takes the op with it, and its tensor stays as if the model had brought it. */
static void op_is_lost(struct plan plan, const char *complaint)
{
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(status, LL_OK);
    assert_complaint(complaint);
    assert_int_equal(trace->op_count, 0);
    assert_int_equal(trace->lost_ops, 1);
    assert_int_equal(trace->tensor_count, 2);
    assert_int_equal(trace->tensors[1].producer, LL_NONE);
    release(trace);
}

static void what_cannot_be_understood_costs_what_needs_it(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.attrs = 1;
    plan.strings = "x activation f32 batch relu forward scope factor";
    op_is_lost(plan, "form 0 is lost: an attribute of it is lost or not known here");
    plan = relu;
    plan.strings = "x activation f99 batch relu forward scope";
    op_is_lost(plan, "desc 0 is lost: its dtype is lost or not known here");
    plan.strings = "x elsewhere f32 batch relu forward scope";
    op_is_lost(plan, "desc 0 is lost: its memory class is lost or not known here");
    plan.strings = "x activation f32 batch relu sideward scope";
    op_is_lost(plan, "form 0 is lost: its phase is lost or not known here");
}

/* 4 of 4, 0 of 4, along a second dimension of one, and more than a byte has. */
static void zeros_that_cannot_be_cost_what_needs_them(void **state)
{
    (void)state;
    const uint64_t zeros[] = {4 << 8 | 4,           4 << 8,  1 << 16 | 4 << 8 | 2,          1,
                              2 << 24 | 4 << 8 | 2, 1 << 24, UINT64_C(1) << 32 | 4 << 8 | 2};
    struct plan plan = relu;
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        plan.zeros = zeros[i];
        op_is_lost(plan, "desc 0 is lost: its zeros lie nowhere");
    }
}

static void a_role_that_nobody_knows_is_a_plain_one(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.strings = "x activation f32 colour relu forward scope";
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(trace->descs[0].shape.role[0], LL_ROLE_PLAIN);
    release(trace);
}

static void counts_that_the_op_table_does_not_give_are_not_believed(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.flops = 11;
    op_is_lost(plan, "form 0 is lost: its FLOPs or bytes are not those that the op table here gives");
}

static void sizes_that_do_not_fit_are_not_believed(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.elements = UINT64_MAX / 2;
    op_is_lost(plan, "desc 0 is lost: its size does not fit in 64 bits");
}

static void inputs_that_do_not_exist_are_not_believed(void **state)
{
    (void)state;
    const uint64_t inputs[] = {0, 4, UINT64_MAX - 1, 3,
                               UINT64_MAX}; /* itself, before the first, far, itself, far */
    for (int i = 0; i < 5; i++) {
        struct plan plan = relu;
        plan.input = inputs[i];
        op_is_lost(plan, "1 of its 1 ops are lost: they contradict what stands before them");
    }
}

static void a_step_of_any_number_does_not_fill_memory(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.step = 100;
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(trace->step_count, 101);
    assert_int_equal(trace->steps[99].op_count, 0);
    release(trace);
    plan.step = 4000000000u;
    op_is_lost(plan, "they are of more steps than a file of this size may hold");
}

static void newer_minor_versions_are_read_past_what_is_new(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.strange = true;
    plan.minor = 9;
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(diags.count, 1); /* the index */
    release(trace);
}

static void a_newer_major_version_is_refused(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.major = LL_FORMAT_MAJOR + 1;
    assert_null(read_plan(&plan));
    assert_int_equal(status, LL_TOO_NEW);
    assert_complaint("this program reads up to 1.x");
    release(NULL);
}

static void what_is_no_trace_is_not_ours(void **state)
{
    (void)state;
    const char *const others[] = {"", "P", "PK\003\004 something else", "\177ELF"};
    for (int i = 0; i < 4; i++) {
        struct ll_bytes file = {0};
        ll_put_bytes(&file, others[i], strlen(others[i]));
        assert_null(parse(&file));
        assert_int_equal(status, i == 1 ? LL_DAMAGED : LL_NOT_OURS); /* a trace begins with a P */
        assert_int_equal(diags.count, 1);
        release(NULL);
    }
    assert_null(ll_trace_read("no/such/file.llt", &diags, &status));
    assert_int_equal(status, LL_NO_FILE);
    assert_null(ll_trace_read(".", &diags, &status));
    assert_int_equal(status, LL_IS_FOLDER);
    assert_null(ll_trace_read("/dev/zero", &diags, &status)); /* it would never end */
    assert_int_equal(status, LL_NOT_OURS);
}

static void a_second_trace_behind_the_first_is_said_to_be_there_before(void **state)
{
    (void)state;
    struct ll_bytes file = make_file(&relu), again = make_file(&relu);
    ll_put_bytes(&file, again.data, again.size);
    ll_bytes_release(&again);
    struct ll_trace *trace = parse(&file);
    assert_int_equal(trace->op_count, 1);
    assert_complaint("a frame of this number was there before");
    release(trace);
}

/* A frame of a few bytes, many times over, each claiming millions. */
static void claims_are_bounded(void (*exaggerate)(struct ll_bytes *content), const char *complaint)
{
    struct ll_bytes file = {0}, content = {0};
    struct plan plan = relu;
    ll_put_header(&file);
    for (uint32_t number = 0; number < 50; number++) {
        exaggerate(&content);
        put_frame(&file, &plan, number, &content);
    }
    ll_bytes_release(&content);
    uint64_t limit = ll_growth_limit(file.size);
    struct ll_trace *trace = parse(&file);
    assert_complaint(complaint);
    uint64_t filled = trace->string_count * LL_WEIGHT_STRING + trace->edges_count * LL_WEIGHT_LINKS +
                      trace->tensor_count * LL_WEIGHT_TENSOR + trace->step_count * LL_WEIGHT_STEP;
    assert_true(filled <= limit);
    release(trace);
}

static uint64_t *equal_numbers(uint64_t count, uint64_t value)
{
    static uint64_t values[LL_MAX_COLUMN_VALUES];
    for (uint64_t i = 0; i < count; i++)
        values[i] = value;
    return values;
}

static void claim_links(struct ll_bytes *content)
{
    enum { COUNT = 500000 };
    ll_put_varint(content, LL_FRAME_DEFINITIONS);
    NUMBERS(content, LL_DEF_FIRST, 0, 0, 0, 0);
    ll_put_column(content, LL_DEF_LINKS_INPUTS, LL_PLAIN, equal_numbers(COUNT, 0), COUNT);
    ll_put_column(content, LL_DEF_LINKS_CONTROLS, LL_PLAIN, equal_numbers(COUNT, 0), COUNT);
}

static void claim_tensors(struct ll_bytes *content)
{
    static uint64_t first_tensor;
    first_tensor += 1000000; /* a hole of so many before this one */
    ll_put_varint(content, LL_FRAME_OPS);
    NUMBERS(content, LL_OPS_FIRST, 0, first_tensor, 0);
}

static void claim_steps(struct ll_bytes *content)
{
    enum { COUNT = 500000 };
    static uint64_t first;
    ll_put_varint(content, LL_FRAME_STEPS);
    NUMBERS(content, LL_STEPS_FIRST, first);
    for (unsigned tag = LL_STEPS_FIRST_OP; tag <= LL_STEPS_RECORDING; tag++)
        ll_put_column(content, tag, LL_PLAIN, equal_numbers(COUNT, 0), COUNT);
    first += COUNT;
}

/* Two megabytes of zeros, of which zstd makes some hundred bytes. */
static void claim_content(struct ll_bytes *content)
{
    ll_put_varint(content, 77);
    ll_put_raw(content, 1, equal_numbers(1 << 18, 0), 8 << 18);
}

static void a_small_file_cannot_ask_for_much(void **state)
{
    (void)state;
    claims_are_bounded(claim_links, "it holds more than a file of this size may");
    claims_are_bounded(claim_tensors, "it holds more than a file of this size may");
    claims_are_bounded(claim_steps, "it holds more steps than a file of this size may");
    claims_are_bounded(claim_content, "it claims to unpack to more than a file of this size may");
}

static void an_op_that_waited_for_a_lost_one_stays_behind_a_hole_at_the_beginning(void **state)
{
    (void)state;
    struct plan plan = relu;
    plan.first_op = 2;
    plan.control = 1;
    struct ll_trace *trace = read_plan(&plan);
    assert_int_equal(trace->op_count, 1);
    assert_int_equal(trace->lost_ops, 2);
    assert_int_equal(trace->edges[trace->ops[0].edges].control_count, 0);
    assert_int_equal(trace->edges[trace->ops[0].edges].input_count, 1);
    release(trace);
}

/* Every other op is lost with its links, and every op is a step of its own. */
static void put_holes(struct ll_bytes *out, uint64_t first_op)
{
    enum { COUNT = LL_MAX_FRAME_OPS };
    static const unsigned zeros[] = {LL_OPS_FORM, LL_OPS_STEP, LL_OPS_THREAD, LL_OPS_GAP, LL_OPS_DURATION};
    uint64_t *links = calloc(COUNT, sizeof *links);
    for (uint64_t i = 0; i < COUNT; i++)
        links[i] = i % 2;
    ll_put_varint(out, LL_FRAME_OPS);
    NUMBERS(out, LL_OPS_FIRST, first_op, first_op ? first_op + 1 : 0, 0);
    ll_put_column(out, LL_OPS_LINKS, LL_PLAIN, links, COUNT);
    ll_put_column(out, LL_OPS_OUTPUTS, LL_PLAIN, equal_numbers(COUNT, 1), COUNT);
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        ll_put_column(out, zeros[i], LL_PLAIN, equal_numbers(COUNT, 0), COUNT);
    if (first_op == 0) {
        NUMBERS(out, LL_OPS_BROUGHT_BEFORE, 0);
        NUMBERS(out, LL_OPS_BROUGHT_DESC, 0);
    }
    free(links);
}

static void put_a_cut_an_op(struct ll_bytes *out, uint64_t count)
{
    uint64_t *first_op = calloc(count, sizeof *first_op);
    for (uint64_t i = 0; i < count; i++)
        first_op[i] = i;
    ll_put_varint(out, LL_FRAME_CUTS);
    NUMBERS(out, LL_STEPS_FIRST, 0);
    ll_put_column(out, LL_STEPS_FIRST_OP, LL_PLAIN, first_op, count);
    for (unsigned tag = LL_STEPS_OPS; tag <= LL_STEPS_PARTIAL; tag++)
        ll_put_column(out, tag, LL_PLAIN, equal_numbers(count, tag == LL_STEPS_OPS), count);
    free(first_op);
}

static void many_holes_and_many_cuts_are_no_work_for_minutes(void **state)
{
    (void)state;
    enum { FRAMES = 3, OPS = FRAMES * LL_MAX_FRAME_OPS };
    struct ll_bytes file = {0}, content = {0};
    ll_put_header(&file);
    put_definitions(&content, &relu);
    put_frame(&file, &relu, 0, &content);
    for (uint32_t i = 0; i < FRAMES; i++) {
        put_holes(&content, (uint64_t)i * LL_MAX_FRAME_OPS);
        put_frame(&file, &relu, 1 + i, &content);
    }
    put_a_cut_an_op(&content, OPS);
    put_frame(&file, &relu, 1 + FRAMES, &content);
    ll_bytes_release(&content);
    uint64_t start_ns = ll_now_ns();
    struct ll_trace *trace = parse(&file);
    assert_true(ll_now_ns() - start_ns < 10000000000u); /* each cut past each hole would take half a minute */
    assert_int_equal(trace->op_count, OPS / 2);
    assert_int_equal(trace->step_count, OPS);
    assert_int_equal(trace->steps[OPS - 2].first_op, OPS / 2 - 1);
    assert_int_equal(trace->steps[OPS - 2].op_count, 1);
    assert_int_equal(trace->steps[OPS - 1].op_count, 0);
    release(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_made_by_hand_is_read),
        cmocka_unit_test(a_kind_that_nobody_knows_keeps_its_name_and_counts),
        cmocka_unit_test(what_cannot_be_understood_costs_what_needs_it),
        cmocka_unit_test(zeros_that_cannot_be_cost_what_needs_them),
        cmocka_unit_test(a_role_that_nobody_knows_is_a_plain_one),
        cmocka_unit_test(counts_that_the_op_table_does_not_give_are_not_believed),
        cmocka_unit_test(sizes_that_do_not_fit_are_not_believed),
        cmocka_unit_test(inputs_that_do_not_exist_are_not_believed),
        cmocka_unit_test(a_step_of_any_number_does_not_fill_memory),
        cmocka_unit_test(newer_minor_versions_are_read_past_what_is_new),
        cmocka_unit_test(a_newer_major_version_is_refused),
        cmocka_unit_test(what_is_no_trace_is_not_ours),
        cmocka_unit_test(a_second_trace_behind_the_first_is_said_to_be_there_before),
        cmocka_unit_test(a_small_file_cannot_ask_for_much),
        cmocka_unit_test(an_op_that_waited_for_a_lost_one_stays_behind_a_hole_at_the_beginning),
        cmocka_unit_test(many_holes_and_many_cuts_are_no_work_for_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
