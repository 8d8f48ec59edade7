/* SPDX-License-Identifier: Apache-2.0 */
/* Each line of an explanation is given to a pocket calculator: the formula behind the words must give the
 * value that the line claims, and the last line the op's time. */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/format/reader.h"
#include "tracer/ir/experts.h"

#include <stdlib.h>
#include <string.h>

/* Where something is subtracted, the digits that are printed may not tell the difference as well: then all
 * is added, to see of what size it is. */
static bool only_adds;

/* sum = term {+|- term};  term = factor {*|/ factor};  factor = base [^ base];
 * base = number | ( sum ) | word ( sum {, sum} ) */
static double sum(const char **at);

static bool next_is(const char **at, const char *text)
{
    while (**at == ' ')
        (*at)++;
    if (strncmp(*at, text, strlen(text)) != 0)
        return false;
    *at += strlen(text);
    return true;
}

static double in_brackets(const char **at)
{
    double value = sum(at);
    assert_true(next_is(at, ")"));
    return value;
}

static double base(const char **at)
{
    if (next_is(at, "ceil("))
        return ceil(in_brackets(at));
    if (next_is(at, "floor("))
        return floor(in_brackets(at));
    if (next_is(at, "sqrt("))
        return sqrt(in_brackets(at));
    if (next_is(at, "exp("))
        return exp(in_brackets(at));
    bool most = next_is(at, "max("), least = !most && next_is(at, "min(");
    if (most || least) {
        double a = sum(at);
        assert_true(next_is(at, ","));
        double b = in_brackets(at);
        return most ? fmax(a, b) : fmin(a, b);
    }
    if (next_is(at, "("))
        return in_brackets(at);
    char *end;
    double value = strtod(*at, &end);
    if (end == *at)
        fail_msg("no number: %s", *at);
    *at = end;
    return value;
}

static double factor(const char **at)
{
    double value = base(at);
    return next_is(at, "^") ? pow(value, base(at)) : value;
}

static double term(const char **at)
{
    double value = factor(at);
    for (;;)
        if (next_is(at, "* "))
            value *= factor(at);
        else if (next_is(at, "/ "))
            value /= factor(at);
        else
            return value;
}

static double sum(const char **at)
{
    double value = term(at);
    for (;;)
        if (next_is(at, "+ "))
            value += term(at);
        else if (next_is(at, "- "))
            value += (only_adds ? 1 : -1) * term(at);
        else
            return value;
}

/* The value that the line claims; false for a plain sentence. */
static bool check_line(const char *line, double *claimed)
{
    const char *formula = strstr(line, ": "), *equals = strstr(line, " = ");
    if (!formula || !equals)
        return false;
    const char *again = formula += 2;
    *claimed = strtod(equals + 3, NULL);
    only_adds = true;
    double size = sum(&again);
    only_adds = false;
    double value = sum(&formula);
    if (fabs(value - *claimed) > 1e-8 * fabs(value) + 2e-10 * size || !next_is(&formula, "= "))
        fail_msg("%s\ngives %.10g", line, value);
    return true;
}

/* Every line of how the work's time on the machine, with something saved, comes about. */
static void follow(const struct ll_machine *machine, const struct ll_work *work,
                   const struct ll_warm_bytes *found)
{
    struct ll_explain why = {0};
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    double claimed = 0;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    ll_cost_time(machine, &cost, found, &timing);
    assert_true(ll_cost_explain(machine, LL_OP_MATMUL, work, LL_FASTEST, NULL, &why));
    ll_time_explain(machine, &cost, found, &why);
    uint64_t formulas = 0;
    for (uint64_t l = 0; l < why.line_count; l++)
        formulas += check_line(why.lines[l], &claimed);
    assert_true(formulas > 2 + 2 * machine->level_count);
    assert_true(check_line(why.lines[why.line_count - 1], &claimed));
    assert_near(claimed, timing.time_s, 1e-9);
    ll_explain_release(&why);
}

static void every_line_can_be_followed_with_a_pocket_calculator(void **state)
{
    (void)state;
    struct dice dice = {40};
    for (int i = 0; i < 5000; i++) {
        struct ll_machine machine = random_machine(&dice);
        struct ll_work work = random_work(&dice);
        struct ll_warm_bytes found = {0};
        found.saved_bytes[machine.level_count - 1] = roll_between(&dice, 0, 1) ? (double)work.a_bytes : 0;
        follow(&machine, &work, &found);
    }
}

/* Every second element along k, of two neighbours or of wherever there are any. */
static void prune(struct dice *dice, struct ll_machine *machine, struct ll_work *work)
{
    work->of = 4;
    work->kept = 2;
    work->unstructured = roll_between(dice, 0, 1);
    work->flops /= 2;
    work->b_bytes = work->b_bytes / 2 + work->b_bytes / 16;
    machine->units[0].skips = (struct ll_pattern){2, 4, false};
    machine->units[0].skips_unstructured = roll_between(dice, 0, 2) ? 0 : roll_size(dice, 64);
}

/* Kernels fall short here too, and convolutions go other ways. */
static void also_where_zeros_are_skipped(void **state)
{
    (void)state;
    struct dice dice = {42};
    for (int i = 0; i < 3000; i++) {
        struct ll_machine machine = random_machine(&dice);
        struct ll_work work = roll_between(&dice, 0, 1)
                                  ? random_conv(&dice, LL_BF16)
                                  : gemm_work(LL_F32, roll_size(&dice, 8), roll_size(&dice, 2048),
                                              roll_size(&dice, 2048), 4 * roll_size(&dice, 512));
        random_software(&dice, &machine);
        random_turns(&dice, &machine);
        machine.software.kernels[0].serial = 0; /* a difference of like numbers loses digits */
        prune(&dice, &machine, &work);
        follow(&machine, &work, NULL);
    }
}

/* Of a memory with banks; some are written as well. */
static void also_where_rows_are_picked(void **state)
{
    (void)state;
    struct dice dice = {43};
    for (int i = 0; i < 2000; i++) {
        struct ll_machine machine = random_machine(&dice);
        uint64_t rows = roll_size(&dice, 4096), row_bytes = roll_size(&dice, 65536);
        bool written = roll_between(&dice, 0, 1);
        struct ll_work work = {.kind = written ? LL_WORK_VECTOR : LL_WORK_GATHER,
                               .dtype = LL_F32,
                               .a_bytes = rows * row_bytes,
                               .c_bytes = rows * row_bytes};
        if (written) {
            work.vector.elements = rows * row_bytes;
            work.vector.picked = rows;
            work.vector.picked_bytes = row_bytes;
        } else {
            work.gather.rows = rows;
            work.gather.row_bytes = row_bytes;
            work.gather.table_bytes = roll_between(&dice, 0, 1) ? row_bytes * roll_size(&dice, 1024) : 0;
        }
        follow(&machine, &work, NULL);
    }
}

/* Attention and experts by fused kernels, of whose lines there are fewer: a block, all blocks, memory and the
 * whole at least. */
static void follow_fused(const struct ll_machine *machine, const struct ll_work *work)
{
    struct ll_explain why = {0};
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    double claimed = 0;
    assert_true(ll_cost_op(machine, LL_OP_MATMUL, work, &cost, &trouble));
    ll_cost_time(machine, &cost, NULL, &timing);
    assert_true(ll_cost_explain(machine, LL_OP_MATMUL, work, LL_FASTEST, NULL, &why));
    ll_time_explain(machine, &cost, NULL, &why);
    uint64_t formulas = 0;
    for (uint64_t l = 0; l < why.line_count; l++)
        formulas += check_line(why.lines[l], &claimed);
    assert_true(formulas >= 4);
    assert_near(claimed, timing.time_s, 1e-9);
    ll_explain_release(&why);
}

static struct ll_work random_attention(struct dice *dice)
{
    struct ll_attention a = {.batch = roll_size(dice, 64),
                             .queries = roll_size(dice, 5000),
                             .kv_heads = roll_size(dice, 16),
                             .head_qk = 64 * roll_between(dice, 1, 4),
                             .causal = 1,
                             .pass = (uint8_t)roll_between(dice, 0, LL_ATTENTION_PASS_COUNT - 1),
                             .backend = (uint8_t)roll_between(dice, 0, LL_BACKEND_COUNT - 1),
                             .cache = roll_between(dice, 0, 1) ? LL_F8 : LL_BF16,
                             .cached = 1};
    bool decodes = a.pass == LL_ATTENTION_DECODE || a.pass == LL_ATTENTION_LATENT_DECODE;
    a.queries = decodes ? 1 : a.queries;
    a.heads = a.kv_heads * roll_size(dice, 16);
    a.head_v = a.head_qk;
    a.keys = a.queries + (decodes ? roll_size(dice, 20000) : 0);
    a.window = roll_between(dice, 0, 2) ? 0 : roll_size(dice, 4096);
    struct ll_work work = {.kind = LL_WORK_ATTENTION, .dtype = LL_BF16, .attention = a};
    work.flops = ll_attention_flops(&a);
    work.a_bytes = work.c_bytes = 2 * a.batch * a.queries * a.heads * a.head_qk;
    work.b_bytes = 4 * a.batch * a.keys * a.kv_heads * a.head_qk;
    return work;
}

static struct ll_work random_experts(struct dice *dice)
{
    struct ll_experts e = {.tokens = roll_size(dice, 10000),
                           .hidden = 128 * roll_between(dice, 1, 64),
                           .inter = 64 * roll_between(dice, 1, 64),
                           .top_k = roll_between(dice, 1, 8),
                           .experts = 128,
                           .gated = 1,
                           .format = (uint8_t)roll_between(dice, 0, LL_EXPERT_FORMAT_COUNT - 1),
                           .backend = (uint8_t)roll_between(dice, 0, LL_GROUPED_COUNT - 1)};
    assert_true(ll_experts_spread(1.2 * (double)roll_between(dice, 0, 1), 1 + roll_between(dice, 0, 1), &e));
    struct ll_work work = {.kind = LL_WORK_EXPERTS,
                           .dtype = ll_expert_dtype((enum ll_expert_format)e.format),
                           .flops = ll_experts_flops(&e),
                           .a_bytes = 2 * e.tokens * e.hidden,
                           .b_bytes = ll_experts_weight_bytes(&e),
                           .c_bytes = 2 * e.tokens * e.hidden,
                           .experts = e};
    return work;
}

static void also_where_one_kernel_does_attention_or_experts(void **state)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    static const char *const machines[] = {"h100_sxm+trtllm", "h100_sxm+sglang",      "a100_sxm_80gb+vllm",
                                           "b200_sxm+sglang", "a100_sxm_80gb+trtllm", "h100_sxm"};
    struct dice dice = {47};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct ll_diags diags = {0};
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        assert_non_null(machine);
        for (int k = 0; k < 300; k++) {
            const struct ll_work attention = random_attention(&dice), experts = random_experts(&dice);
            follow_fused(machine, &attention);
            follow_fused(machine, &experts);
        }
        ll_machine_free(machine);
        ll_diags_release(&diags);
    }
}

/* What random eviction leaves of it may be next to nothing, of which the value still has all digits. */
static void also_where_hardly_anything_is_left_to_move(void **state)
{
    (void)state;
    struct dice dice = {46};
    uint64_t reported = 0;
    for (int i = 0; i < 300; i++) {
        struct ll_machine machine = random_machine(&dice);
        struct ll_work work = gemm_work(LL_F32, 64, 64, 64, 1);
        struct ll_explain why = {0};
        struct ll_warm_bytes found = {0};
        struct ll_cost cost;
        const char *trouble;
        uint64_t outermost = machine.level_count - 1;
        assert_true(ll_cost_op(&machine, LL_OP_MATMUL, &work, &cost, &trouble));
        found.saved_bytes[outermost] = cost.level_bytes[outermost] * (1 - 1e-12);
        ll_time_explain(&machine, &cost, &found, &why);
        for (uint64_t l = 0; l < why.line_count; l++) {
            const char *formula = strstr(why.lines[l], "left further in");
            if (!formula || !(formula = strstr(formula, ": ")))
                continue;
            formula += 2;
            double value = sum(&formula);
            assert_near(strtod(strstr(why.lines[l], " = ") + 3, NULL), value, 1e-8);
            reported++;
        }
        ll_explain_release(&why);
    }
    assert_true(reported > 100);
}

/* Lines are longest where each level has a latency of its own and nothing overlaps. */
static void however_many_levels_there_are(void **state)
{
    (void)state;
    struct dice dice = {41};
    for (int i = 0; i < 200; i++) {
        struct ll_machine machine = random_machine(&dice);
        machine.level_count = LL_MAX_LEVELS;
        for (uint64_t l = 0; l < machine.level_count; l++)
            machine.levels[l] =
                (struct ll_level){.name = "a level among many",
                                  .size_bytes = UINT64_C(4096) << l,
                                  .bandwidth_Bps = roll_real(&dice, 1e9, 4e12),
                                  .efficiency = roll_real(&dice, 0.3, 1),
                                  .latency_s = roll_real(&dice, 1e-9, 1e-6),
                                  .scope = l < LL_MAX_LEVELS / 2 ? LL_SCOPE_UNIT : LL_SCOPE_DEVICE,
                                  .buffering = LL_BUFFER_SINGLE};
        machine.software.mapping = LL_MAPPED_CLOSED_FORM;
        struct ll_work work = random_work(&dice);
        follow(&machine, &work, NULL);
    }
}

/* The number behind `mark` in lines that begin so is nothing, or what a line before says. How many there
 * are. */
static uint64_t expect_derived(const struct ll_explain *why, const char *start, const char *mark)
{
    uint64_t count = 0;
    for (uint64_t l = 0; l < why->line_count; l++) {
        if (strncmp(why->lines[l], start, strlen(start)) != 0)
            continue;
        double number = strtod(strstr(why->lines[l], mark) + strlen(mark), NULL), claimed = 0;
        bool derived = number == 0;
        for (uint64_t before = 0; before < l; before++)
            derived = derived || (check_line(why->lines[before], &claimed) && claimed == number);
        if (!derived)
            fail_msg("nothing before derives the number behind%sin\n%s", mark, why->lines[l]);
        count++;
    }
    return count;
}

/* How many of the ops lack power. */
static uint64_t expect_last_lines_to_be_times(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    uint64_t slowed = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        struct ll_explain why = {0};
        double claimed;
        assert_true(ll_replay_explain(result, seq, &why));
        for (uint64_t l = 0; l + 1 < why.line_count; l++)
            assert_true(check_line(why.lines[l], &claimed) || !strchr(why.lines[l], '='));
        assert_true(check_line(why.lines[why.line_count - 1], &claimed));
        assert_near(claimed, result->ops[seq - prepared->first_op].time_s, 1e-9);
        expect_derived(&why, "compute: (", " * ");
        expect_derived(&why, "compute, first piece: min(", " * ");
        expect_derived(&why, "compute, until these are there", " + ");
        slowed += expect_derived(&why, "power that arithmetic and memories ask for", " + ");
        ll_explain_release(&why);
    }
    return slowed;
}

static void the_last_line_is_the_time_of_the_op_also_of_views_inputs_and_fused_ops(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    static const char *const machines[] = {"i7_6700k",          "v100_sxm_16gb+archive/deepbench",
                                           "tpu_v2_core",       "custom_example",
                                           "archive/stampede2", "t4+archive/pytorch_2020"};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read("traces/alexnet_train_b8.llt", &diags, &status);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        const struct ll_result *result = ll_replay(prepared, machine, &arena, &diags);
        double shares = 0;
        uint64_t slowed = expect_last_lines_to_be_times(result);
        assert_true(slowed > 0 || strcmp(machines[i], "t4+archive/pytorch_2020") != 0);
        for (uint64_t k = 0; k < result->kind_count; k++)
            shares += result->kinds[k].share;
        assert_near(shares, 1, 1e-12);
        ll_machine_free(machine);
    }
    assert_int_equal(diags.count, 0);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* What one of eight replicas does on machines whose exchanges keep units busy. */
static void the_last_line_is_the_time_of_the_op_also_beside_exchanges(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    static const char *const machines[] = {"hgx_a100", "dgx_h100+pytorch", "selene+megatron"};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read("traces/alexnet_train_b8.llt", &diags, &status);
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = 8;
    plan.batch = 64;
    plan.zero = 1;
    plan.bucket_bytes = 5 << 20;
    struct ll_spread *spread = ll_spread_trace(trace, &plan, 8, &diags);
    assert_non_null(spread);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        const struct ll_result *result = ll_replay(spread->programs[0].prepared, machine, &arena, &diags);
        uint32_t slowed = 0;
        expect_last_lines_to_be_times(result);
        for (uint32_t op = 0; op < result->prepared->end_op - result->prepared->first_op; op++)
            slowed += result->ops[op].taken_s > 0;
        assert_true(slowed > 4);
        ll_machine_free(machine);
    }
    assert_int_equal(diags.count, 0);
    ll_diags_release(&diags);
    ll_spread_free(spread);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void follow_exchange(struct ll_exchanges *exchanges, const struct ll_asked *asked)
{
    struct ll_explain why = {0};
    double claimed = 0;
    const struct ll_price *price = ll_exchanges_price(exchanges, asked);
    assert_non_null(price);
    ll_exchanges_tell(exchanges, asked, price, &why);
    assert_false(why.failed);
    for (uint64_t l = 0; l < why.line_count; l++)
        assert_true(check_line(why.lines[l], &claimed) || !strchr(why.lines[l], '='));
    assert_int_equal(why.line_count > 0, price->devices > 1 && !price->trouble);
    if (why.line_count > 0)
        assert_near(claimed, price->exchanged.time_s - price->exchanged.overhead_s, 1e-9);
    ll_explain_release(&why);
}

/* On switches, rings, meshes, tori and nodes behind few cards, as libraries choose and where none does. */
static void messages_of_exchanges_can_be_followed_too(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    static const char *const machines[] = {"dgx_h100+pytorch", "archive/vidur_a100",
                                           "selene+megatron",  "archive/vidur_h100+pytorch",
                                           "tpu_v3",           "dgx_v100+archive/deepbench",
                                           "tpu_v4",           "v100_sxm_16gb+archive/deepbench",
                                           "custom_example"};
    static const uint64_t kinds[] = {
        LL_OP_ALL_REDUCE, LL_OP_REDUCE_SCATTER, LL_OP_ALL_GATHER, LL_OP_ALL_TO_ALL,
        LL_OP_BROADCAST,  LL_OP_REDUCE,         LL_OP_BARRIER,    LL_OP_SEND};
    struct dice dice = {44};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct ll_diags diags = {0};
        struct ll_prices prices = {0};
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        uint64_t all = ll_min(64, ll_machine_devices(machine));
        struct ll_exchanges *exchanges = ll_exchanges_new(machine, all, &prices);
        for (int trial = 0; trial < 100; trial++) {
            uint64_t kind = kinds[roll_between(&dice, 0, sizeof kinds / sizeof kinds[0] - 1)];
            uint64_t devices = kind == LL_OP_SEND ? 2 : roll_between(&dice, 1, all);
            follow_exchange(exchanges, &(struct ll_asked){.kind = kind,
                                                          .bytes = roll_size(&dice, UINT64_C(1) << 30),
                                                          .devices = devices,
                                                          .stride = 1,
                                                          .peer = kind == LL_OP_SEND});
        }
        ll_exchanges_free(exchanges);
        ll_prices_release(&prices);
        ll_machine_free(machine);
        ll_diags_release(&diags);
    }
}

static void released_lines_are_gone(void **state)
{
    (void)state;
    struct ll_explain why = {0};
    ll_say(&why, "%s: %d + %d = %d", "sum", 1, 2, 3);
    assert_int_equal(why.line_count, 1);
    assert_string_equal(why.lines[0], "sum: 1 + 2 = 3");
    ll_explain_release(&why);
    assert_int_equal(why.line_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_can_be_followed_with_a_pocket_calculator),
        cmocka_unit_test(also_where_zeros_are_skipped),
        cmocka_unit_test(also_where_rows_are_picked),
        cmocka_unit_test(also_where_one_kernel_does_attention_or_experts),
        cmocka_unit_test(also_where_hardly_anything_is_left_to_move),
        cmocka_unit_test(however_many_levels_there_are),
        cmocka_unit_test(the_last_line_is_the_time_of_the_op_also_of_views_inputs_and_fused_ops),
        cmocka_unit_test(the_last_line_is_the_time_of_the_op_also_beside_exchanges),
        cmocka_unit_test(messages_of_exchanges_can_be_followed_too),
        cmocka_unit_test(released_lines_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
