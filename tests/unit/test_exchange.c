/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes on the wire and in memory as Rajbhandari et al. (ZeRO, 2020, section 5 and 7) count them. With
 * weights, gradients and Adam's two states in f32, a parameter takes 4 + 4 + 8 bytes, just as much as the 2 +
 * 2 + 12 of mixed precision. */
#include "check.h"

#include "dry_model.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/exchange.h"
#include "tracer/transform/rewrite.h"

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint64_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

static struct ll_trace *exchanged(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_arena arena = {0};
    const char *trouble;
    struct ll_trace *new = ll_exchange_gradients(trace, plan, &trouble);
    if (trouble)
        print_error("%s, zero %d: %s\n", ll_trace_fact(trace, "model"), (int)plan->zero, trouble);
    assert_non_null(new);
    const char *wrong = ll_trace_check(new, &arena);
    if (wrong)
        print_error("%s\n", wrong);
    assert_null(wrong);
    ll_arena_release(&arena);
    return new;
}

/* What a device sends in the kinds of exchange between N of them, (N-1)/N of the larger side, twice for a sum
 * that all get. */
static double sent_bytes(const struct ll_trace *trace)
{
    double bytes = 0;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = signature_of(trace, op);
        if (ll_op_class(signature->view.kind) != LL_CLASS_COMMUNICATION)
            continue;
        double devices = (double)ll_attr_count(&signature->view, LL_ATTR_DEVICES, 1);
        double size = (double)ll_max(signature->bytes_read, signature->bytes_written);
        bytes += (signature->view.kind == LL_OP_ALL_REDUCE ? 2 : 1) * (devices - 1) / devices * size;
    }
    return bytes;
}

static uint64_t flops_of(const struct ll_trace *trace, enum ll_phase phase)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        flops += signature_of(trace, op)->phase == phase ? signature_of(trace, op)->flops : 0;
    return flops;
}

static uint64_t count_kind(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t count = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        count += signature_of(trace, op)->view.kind == kind;
    return count;
}

static struct ll_parallel plan_of(uint64_t data, uint64_t zero)
{
    return (struct ll_parallel){.data = data,
                                .tensor = 4,
                                .context = 1,
                                .pipeline = 1,
                                .expert = 1,
                                .zero = zero,
                                .bucket_bytes = 25 << 20,
                                .overlap = true,
                                .prefetch = 1};
}

enum { DATA = 8 };
#define PARAMETERS 61415424.0 /* of the base Transformer as `leadline models` lists it */

static void volumes_are_those_of_the_table(void **state)
{
    (void)state;
    static const double factor[] = {2, 2, 2, 3};
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    for (uint64_t zero = 0; zero < 4; zero++) {
        const struct ll_parallel plan = plan_of(DATA, zero);
        struct ll_trace *new = exchanged(trace, &plan);
        double bytes = factor[zero] * (DATA - 1) / DATA * 4 * PARAMETERS;
        if (zero ==
            3) /* the table of words is gathered for both halves' beginning and end: once more each way */
            assert_in_range(sent_bytes(new), bytes, bytes + 3 * 7.0 / 8 * 4 * 33708 * 512);
        else
            assert_near(sent_bytes(new), bytes, 1e-6);
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

/* The footprint when all updates are to come holds weights, gradients and states; of the batch of one no more
 * is left than gradients of the table of words that are to be added, and that table where it was gathered. */
static uint64_t peak_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    assert_true(ll_footprint(trace, &footprint));
    return footprint.peak_bytes;
}

static void check_memory(struct ll_trace *trace, double parameters, const double shares[4][2],
                         double table_bytes)
{
    double before = 1e300;
    for (uint64_t zero = 0; zero < 4; zero++) {
        const struct ll_parallel plan = plan_of(DATA, zero);
        struct ll_trace *new = exchanged(trace, &plan);
        double held = parameters * (shares[zero][0] + shares[zero][1] / DATA), peak = (double)peak_of(new);
        if (peak < held || peak > held + 3.1 * table_bytes || peak >= before)
            fail_msg("zero %d holds %g bytes, expected %g and up to three tables of %g", (int)zero, peak,
                     held, table_bytes);
        before = peak;
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

static void memory_is_that_of_the_table(void **state)
{
    (void)state;
    const double shares[4][2] = {{16, 0}, {8, 8}, {4, 12}, {0, 16}};
    check_memory(dry_model("transformer", true, 1, NULL, 0), PARAMETERS, shares, 4.0 * 33708 * 512);
}

/* GPT-2, 124,439,808 parameters with 1024 positions of which 64 are left; as in the paper 2 bytes of a
 * weight, 2 of its gradient, 12 of a master copy and two numbers of Adam's. */
static void memory_in_mixed_precision_is_that_of_the_table(void **state)
{
    (void)state;
    const double shares[4][2] = {{16, 0}, {4, 12}, {2, 14}, {0, 16}};
    const struct ll_setting settings[] = {{"preset", "gpt2"}, {"dtype", "bf16"}, {"seq", "64"}};
    check_memory(dry_model("gpt", true, 1, settings, 3), 124439808 - 960 * 768, shares, 4.0 * 50257 * 768);
}

/* Eight replicas that share four by four: W = 4 within, N / W = 2 with the same parts of S / W, so that by
 * distance
 *
 *     within     2 (W-1)/W S, with zero 3 once more (W-1)/W S        one device apart from the next, here 4
 *     between    2 (1/2) S / W                                       four replicas apart */
static void groups_share_and_add_up_with_their_likes(void **state)
{
    enum { WITHIN = 4, TENSOR = 4 };
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 8, NULL, 0);
    for (uint64_t zero = 1; zero < 3; zero++) {
        struct ll_parallel plan = plan_of(DATA, zero);
        plan.within = WITHIN;
        struct ll_trace *new = exchanged(trace, &plan);
        double within = 0, between = 0;
        for (uint64_t op = 0; op < new->op_count; op++) {
            const struct ll_op_signature *signature = signature_of(new, op);
            if (ll_op_class(signature->view.kind) != LL_CLASS_COMMUNICATION)
                continue;
            double devices = (double)ll_attr_count(&signature->view, LL_ATTR_DEVICES, 1);
            double size = (double)ll_max(signature->bytes_read, signature->bytes_written);
            bool sum = signature->view.kind == LL_OP_ALL_REDUCE;
            assert_int_equal(devices, sum ? DATA / WITHIN : WITHIN);
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 1),
                             sum ? TENSOR * WITHIN : TENSOR);
            *(sum ? &between : &within) += (sum ? 2 : 1) * (devices - 1) / devices * size;
        }
        assert_near(within, 2.0 * (WITHIN - 1) / WITHIN * 4 * PARAMETERS, 1e-5);
        assert_near(between, 2.0 / 2 * 4 * PARAMETERS / WITHIN, 1e-5);
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

static void what_is_shared_by_four_is_a_quarter(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 1, NULL, 0);
    struct ll_parallel plan = plan_of(DATA, 3), four = plan_of(4, 3);
    plan.within = 4;
    struct ll_trace *new = exchanged(trace, &plan), *alone = exchanged(trace, &four);
    assert_in_range(peak_of(new), peak_of(alone), peak_of(alone) / 10 * 11);
    ll_trace_free(new);
    ll_trace_free(alone);
    ll_trace_free(trace);
}

static void updates_are_done_by_the_n_th(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("transformer", true, 1, NULL, 0);
    const struct ll_parallel whole = plan_of(DATA, 0), parts = plan_of(DATA, 1);
    struct ll_trace *all = exchanged(trace, &whole), *some = exchanged(trace, &parts);
    assert_int_equal(flops_of(all, LL_PHASE_UPDATE), flops_of(trace, LL_PHASE_UPDATE));
    assert_near((double)flops_of(some, LL_PHASE_UPDATE), (double)flops_of(trace, LL_PHASE_UPDATE) / DATA,
                1e-5);
    assert_int_equal(flops_of(some, LL_PHASE_BACKWARD), flops_of(trace, LL_PHASE_BACKWARD));
    ll_trace_free(all);
    ll_trace_free(some);
    ll_trace_free(trace);
}

/* A bucket leaves with the gradient that fills it, before the backward pass is over; without overlap none
 * does. */
static void buckets_leave_when_they_are_full(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("resnet", true, 2, NULL, 0);
    for (unsigned overlap = 0; overlap < 2; overlap++) {
        struct ll_parallel plan = plan_of(DATA, 0);
        plan.overlap = overlap;
        struct ll_trace *new = exchanged(trace, &plan);
        uint64_t early = 0, last_backward = 0, sums = count_kind(new, LL_OP_ALL_REDUCE);
        for (uint64_t op = 0; op < new->op_count; op++)
            if (signature_of(new, op)->phase == LL_PHASE_BACKWARD)
                last_backward = op;
        for (uint64_t op = 0; op < last_backward; op++)
            early += signature_of(new, op)->view.kind == LL_OP_ALL_REDUCE;
        /* 25,549,483 parameters of 4 bytes make three buckets of 25 MiB and a rest */
        assert_in_range(sums, 3, 4);
        if (overlap)
            assert_in_range(early, sums - 1, sums);
        else
            assert_int_equal(early, 0);
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

static bool awaits(const struct ll_trace *trace, uint64_t op, uint64_t distance)
{
    const struct ll_op_edges *waits = &trace->edges[trace->ops[op].edges];
    for (uint32_t i = 0; i < waits->control_count; i++)
        if (waits->controls[i] == distance)
            return true;
    return false;
}

/* Parts of gradients leave with each micro-batch; without overlap the passes stand still meanwhile: an
 * exchange waits for all before it, and what comes next waits for the exchange. */
static void without_overlap_the_passes_wait_for_exchanges(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "4"}, {"hidden", "64"}, {"heads", "4"}, {"seq", "16"}};
    struct ll_trace *trace = dry_model("gpt", true, 1, settings, 4);
    for (unsigned overlap = 0; overlap < 2; overlap++) {
        struct ll_parallel plan = plan_of(DATA, 2);
        plan.bucket_bytes = 1 << 17;
        plan.overlap = overlap;
        struct ll_trace *new = exchanged(trace, &plan);
        uint64_t early = 0;
        for (uint64_t op = 1; op + 1 < new->op_count; op++) {
            if (signature_of(new, op)->view.kind != LL_OP_REDUCE_SCATTER ||
                signature_of(new, op + 1)->phase != LL_PHASE_BACKWARD)
                continue;
            assert_int_equal(awaits(new, op, 1), !overlap);
            assert_int_equal(awaits(new, op + 1, 1), !overlap);
            early++;
        }
        assert_true(early > 2);
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

static void without_buckets_each_gradient_goes_by_itself(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("alexnet", true, 2, NULL, 0);
    struct ll_parallel plan = plan_of(2, 0);
    plan.bucket_bytes = 0;
    struct ll_trace *new = exchanged(trace, &plan);
    assert_int_equal(count_kind(new, LL_OP_ALL_REDUCE), 16); /* eight layers, weights and biases */
    ll_trace_free(new);
    ll_trace_free(trace);
}

/* Three tables of seq2seq get rows: they and their indices are gathered, and all devices' rows are updated.
 */
static void rows_of_tables_are_gathered(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("seq2seq", true, 4, NULL, 0);
    for (uint64_t zero = 0; zero < 4; zero++) {
        const struct ll_parallel plan = plan_of(DATA, zero);
        struct ll_trace *new = exchanged(trace, &plan);
        uint64_t before = 0, after = 0, gathers = 0;
        for (uint64_t op = 0; op < trace->op_count; op++)
            before +=
                signature_of(trace, op)->view.kind == LL_OP_SGD_ROWS ? signature_of(trace, op)->flops : 0;
        for (uint64_t op = 0; op < new->op_count; op++) {
            const struct ll_op_signature *signature = signature_of(new, op);
            after += signature->view.kind == LL_OP_SGD_ROWS ? signature->flops : 0;
            gathers += signature->view.kind == LL_OP_ALL_GATHER && signature->phase == LL_PHASE_COMM &&
                       signature->view.input_count == 1 &&
                       strcmp(new->strings[signature->scope], "gradients") == 0;
        }
        assert_int_equal(after, DATA * before);
        assert_int_equal(gathers, 6);
        ll_trace_free(new);
    }
    ll_trace_free(trace);
}

/* Of eight replicas two and two have the same experts: gradients of those go between 2 devices, 16 apart,
 * with four ranks that share each product; all others between 8, 4 apart.
 * Weights that were updated in parts are gathered as their gradients were scattered. */
static void gradients_of_experts_go_between_those_who_have_them(void **state)
{
    (void)state;
    const struct ll_setting settings[] = {{"layers", "2"}, {"dtype", "bf16"}, {"seq", "64"}};
    struct ll_trace *trace = dry_model("moe", true, 8, settings, 3);
    for (uint64_t zero = 0; zero < 4; zero++) {
        struct ll_parallel plan = plan_of(DATA, zero);
        struct ll_diags diags = {0};
        plan.expert = 4;
        struct ll_trace *own = ll_spread_experts(trace, &plan, &diags);
        assert_non_null(own);
        struct ll_trace *new = exchanged(own, &plan);
        uint64_t few = 0, all = 0, scattered[2] = {0}, gathered[2] = {0};
        for (uint64_t op = 0; op < new->op_count; op++) {
            const struct ll_op_signature *signature = signature_of(new, op);
            bool gradients = signature->view.kind == LL_OP_REDUCE_SCATTER; /* zero 2: with each micro-batch */
            if (ll_op_class(signature->view.kind) != LL_CLASS_COMMUNICATION ||
                (signature->phase != LL_PHASE_COMM && !gradients))
                continue;
            bool of_experts = ll_attr_count(&signature->view, LL_ATTR_DEVICES, 0) == 2;
            assert_int_equal(ll_attr_count(&signature->view, LL_ATTR_STRIDE, 0), of_experts ? 16 : 4);
            *(of_experts ? &few : &all) += signature->view.input_count;
            if (signature->view.kind != LL_OP_ALL_REDUCE)
                (gradients ? scattered : gathered)[of_experts] += signature->view.input_count;
        }
        assert_true(few > 0 && all > 0);
        assert_int_equal(gathered[0], zero < 3 ? scattered[0] : 0);
        assert_int_equal(gathered[1], zero < 3 ? scattered[1] : 0);
        ll_trace_free(new);
        ll_trace_free(own);
        ll_diags_release(&diags);
    }
    ll_trace_free(trace);
}

/* As a profile of the passes alone has it: of each step the ops but those that update. */
static struct ll_trace *without_updates(const struct ll_trace *trace)
{
    struct ll_rewrite rewrite;
    const char *trouble;
    ll_rewrite_begin(&rewrite, trace, NULL, 0);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (signature_of(trace, op)->phase != LL_PHASE_UPDATE)
            ll_rewrite_keep(&rewrite, op);
    struct ll_trace *passes = ll_rewrite_end(&rewrite, &trouble);
    assert_non_null(passes);
    return passes;
}

static void gradients_that_nothing_updates_are_exchanged_too(void **state)
{
    (void)state;
    static const char *const models[] = {"alexnet", "resnet", "mobilenet"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_model(models[i], true, 2, NULL, 0), *passes = without_updates(trace);
        const struct ll_parallel plan = plan_of(4, 0);
        struct ll_trace *all = exchanged(trace, &plan), *some = exchanged(passes, &plan);
        assert_true(sent_bytes(all) > 0);
        assert_near(sent_bytes(some), sent_bytes(all), 1e-6); /* resnet fixes 3 numbers */
        ll_trace_free(some);
        ll_trace_free(all);
        ll_trace_free(passes);
        ll_trace_free(trace);
    }
}

static void without_updates_there_is_nothing_to_share_out(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("alexnet", true, 2, NULL, 0), *passes = without_updates(trace);
    const struct ll_parallel plan = plan_of(4, 1);
    const char *trouble;
    assert_null(ll_exchange_gradients(passes, &plan, &trouble));
    assert_non_null(strstr(trouble, "no optimizer"));
    ll_trace_free(passes);
    ll_trace_free(trace);
}

/* With zero 3 an inference gathers each weight once, and a device has the n-th of them and, at a time, two
 * layers of the ten. */
static void weights_that_only_infer_are_shared_out(void **state)
{
    static const struct ll_setting layers[] = {{"layers", "10"}, {"vocabulary", "64"}, {"seq", "16"}};
    struct ll_trace *trace = dry_model("gpt", false, 1, layers, sizeof layers / sizeof *layers);
    const struct ll_parallel none = plan_of(DATA, 0), three = plan_of(DATA, 3);
    const double parameters = 10 * (12.0 * 768 + 13) * 768 + (64 + 16 + 2) * 768;
    struct ll_trace *whole = exchanged(trace, &none), *shared = exchanged(trace, &three);
    (void)state;
    assert_int_equal(sent_bytes(whole), 0);
    assert_in_range(sent_bytes(shared), 7.0 / 8 * 4 * parameters,
                    7.0 / 8 * 4 * (parameters + 64 * 768) + 4e3);
    assert_true((double)peak_of(whole) > 4 * parameters);
    assert_true((double)peak_of(shared) < 4 * parameters * (1.0 / 8 + 2.0 / 10) + 2e6);
    assert_true(flops_of(whole, LL_PHASE_FORWARD) == flops_of(shared, LL_PHASE_FORWARD));
    ll_trace_free(trace);
    ll_trace_free(whole);
    ll_trace_free(shared);
}

/* Steps are counted by an update, of which no weight is a part. */
static void an_inference_that_counts_its_steps_shares_its_weights_too(void **state)
{
    static const struct ll_setting sizes[] = {{"vocabulary", "600"}, {"hidden", "32"}};
    struct ll_trace *trace = dry_model("seq2seq", false, 1, sizes, sizeof sizes / sizeof *sizes);
    const struct ll_parallel three = plan_of(DATA, 3);
    (void)state;
    struct ll_trace *shared = exchanged(trace, &three);
    assert_true(count_kind(shared, LL_OP_ALL_GATHER) > 0);
    ll_trace_free(trace);
    ll_trace_free(shared);
}

static void a_single_replica_exchanges_nothing(void **state)
{
    (void)state;
    struct ll_trace *trace = dry_model("alexnet", true, 2, NULL, 0);
    const struct ll_parallel plan = plan_of(1, 3);
    struct ll_trace *new = exchanged(trace, &plan);
    assert_int_equal(new->op_count, trace->op_count);
    ll_trace_free(new);
    ll_trace_free(trace);
}

static void every_model_can_be_exchanged(void **state)
{
    (void)state;
    static const char *const models[] = {"nmt",      "sockeye", "deepspeech2", "wgan", "memnet",
                                         "densenet", "speech",  "gpt",         "moe"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (uint64_t zero = 0; zero < 4; zero++) {
            struct ll_trace *trace = dry_model(models[i], true, 2, NULL, 0);
            const struct ll_parallel plan = plan_of(3, zero);
            ll_trace_free(exchanged(trace, &plan));
            ll_trace_free(trace);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volumes_are_those_of_the_table),
        cmocka_unit_test(memory_is_that_of_the_table),
        cmocka_unit_test(memory_in_mixed_precision_is_that_of_the_table),
        cmocka_unit_test(groups_share_and_add_up_with_their_likes),
        cmocka_unit_test(what_is_shared_by_four_is_a_quarter),
        cmocka_unit_test(updates_are_done_by_the_n_th),
        cmocka_unit_test(buckets_leave_when_they_are_full),
        cmocka_unit_test(without_overlap_the_passes_wait_for_exchanges),
        cmocka_unit_test(without_buckets_each_gradient_goes_by_itself),
        cmocka_unit_test(rows_of_tables_are_gathered),
        cmocka_unit_test(gradients_of_experts_go_between_those_who_have_them),
        cmocka_unit_test(gradients_that_nothing_updates_are_exchanged_too),
        cmocka_unit_test(without_updates_there_is_nothing_to_share_out),
        cmocka_unit_test(weights_that_only_infer_are_shared_out),
        cmocka_unit_test(an_inference_that_counts_its_steps_shares_its_weights_too),
        cmocka_unit_test(a_single_replica_exchanges_nothing),
        cmocka_unit_test(every_model_can_be_exchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
