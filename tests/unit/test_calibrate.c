/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration gets back the machine that its measurements were computed with. */
#include "check.h"

#include "sim/calibrate/calibrate.h"
#include "sim/cost/cost.h"
#include "tracer/format/reader.h"
#include "tracer/record/recorder.h"

#include <unistd.h>

/* Two cores with a private cache each, so that no op finds anything of the one before. */
static const struct ll_fact facts[] = {
    {"model", "micro"},
    {"host.cpu", "A \"made\" processor"},
    {"threads", "2"},
    {"matmul.few_rows", "16"},
    {"blas.core", "Generic"},
    {"probe.clock_hz", "1e9"},
    {"probe.vector.f32", "3.2e10"},
    {"probe.vector.f64", "1.6e10"},
    {"probe.product.f32", "6.4e10"},
    {"probe.product.f64", "3.2e10"},
    {"probe.l1.size_bytes", "32768"},
    {"probe.l1.alone_Bps", "1e11"},
    {"probe.l1.bandwidth_Bps", "2e11"},
    {"probe.l1.latency_s", "1e-9"},
    {"probe.dram.size_bytes", "1000000000"},
    {"probe.dram.alone_Bps", "8e9"},
    {"probe.dram.bandwidth_Bps", "1e10"},
    {"probe.dram.latency_s", "1e-7"},
};
enum { FACTS = sizeof facts / sizeof *facts, STEPS = 15 };

/* None between what one core does at once and what it does as long as two do it faster. */
static const uint64_t sizes[] = {1 << 6, 1 << 7, 1 << 8, 1 << 16, 1 << 19, 1 << 21};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* What the kernels are; the fit is not told. */
static struct ll_kernel truth_of(enum ll_op_kind kind)
{
    struct ll_kernel kernel = {.name = "truth",
                               .launch_overhead_s = 2e-6,
                               .compute_efficiency = kind == LL_OP_MATMUL ? 0.7 : 1,
                               .bandwidth_efficiency = 0.5,
                               .passes = 1};
    kernel.ops[kind] = true;
    return kernel;
}

static double true_s(const struct ll_machine *base, const struct ll_op_view *view)
{
    static struct ll_machine machine;
    struct ll_work work;
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    machine = *base;
    machine.software.kernels[0] = truth_of(view->kind);
    machine.software.kernel_count = 1;
    assert_true(ll_op_lower(view, &work));
    assert_true(ll_cost_op(&machine, view->kind, &work, &cost, &trouble));
    ll_cost_time(&machine, &cost, NULL, &timing);
    return timing.time_s + timing.overhead_s;
}

/* One op on operands of its own, from *now_ns on; how long it takes is what the truth says times `slower`, or
 * nothing of interest without a base. */
static void record_op(struct ll_recorder *recorder, const struct ll_machine *base, enum ll_op_kind kind,
                      uint64_t rows, uint64_t columns, double slower, uint64_t *now_ns)
{
    struct ll_shape in[2] = {{.dtype = LL_F32, .rank = 2, .dim = {rows, columns}}},
                    out[LL_MAX_OUTPUTS] = {{.rank = 0}};
    struct ll_op_view view = {.kind = kind, .input_count = kind == LL_OP_EXP ? 1 : 2, .in = in, .out = out};
    char scope[32];
    in[1] = in[0];
    if (kind == LL_OP_MATMUL)
        in[1].dim[0] = in[1].dim[1] = columns;
    assert_null(ll_op_infer(&view));
    snprintf(scope, sizeof scope, "warm/%s", ll_op_name(kind));
    uint32_t inputs[2], outputs[1];
    for (uint32_t i = 0; i < view.input_count; i++)
        inputs[i] = ll_recorder_tensor(recorder, ll_recorder_desc(recorder, "x", &in[i], LL_WEIGHT));
    outputs[0] = ll_recorder_desc(recorder, "y", &out[0], LL_ACTIVATION);
    struct ll_record record = {.kind = kind,
                               .scope = ll_recorder_string(recorder, scope),
                               .inputs = inputs,
                               .input_count = view.input_count,
                               .outputs = outputs,
                               .output_count = 1,
                               .start_ns = *now_ns,
                               .duration_ns = base ? (uint64_t)(true_s(base, &view) * 1e9 * slower) : 1000};
    ll_recorder_op(recorder, &record);
    *now_ns += record.duration_ns;
}

static struct ll_trace *made_trace_of(const struct ll_machine *base, const struct ll_fact *header,
                                      size_t fact_count)
{
    char path[] = "calibrate.XXXXXX";
    int file = mkstemp(path);
    enum ll_status status;
    struct ll_diags diags = {0};
    struct ll_recorder *recorder = ll_recorder_open(path, header, fact_count, &status);
    assert_non_null(recorder);
    static const double slow[STEPS] = {1, 3, 1, 0.9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const struct ll_fact *last = &header[fact_count - 1];
    bool is_crowded = strcmp(last->key, "host.crowded") == 0;
    int alone = is_crowded ? STEPS - (int)(atof(last->value) * STEPS) : STEPS;
    uint64_t now_ns = 1;
    for (int step = 0; step < STEPS; step++) {
        ll_recorder_step_begin(recorder);
        double slower = step >= alone ? 1.6 : is_crowded ? 1 : slow[step];
        for (int i = 0; i < SIZES; i++) {
            bool waits = !is_crowded && i == 0 && (step == 8 || step == 13); /* for a processor */
            record_op(recorder, base, LL_OP_MUL, sizes[i] / 16, 16, slower, &now_ns);
            record_op(recorder, base, LL_OP_EXP, sizes[i] / 16, 16, slower * (waits ? 100 : 1), &now_ns);
            record_op(recorder, base, LL_OP_MATMUL, 4 << i, 16 << i, slower, &now_ns);
        }
        ll_recorder_step_end(recorder);
    }
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    assert_non_null(trace);
    ll_diags_release(&diags);
    close(file);
    unlink(path);
    return trace;
}

static struct ll_trace *made_trace(const struct ll_machine *base, size_t fact_count)
{
    return made_trace_of(base, facts, fact_count);
}

static const struct ll_listener nobody;

/* What a calibration would record; crowded: the share of looks that its header tells, and of its steps (the
 * last) that take longer; NULL: its header tells none, and single steps and ops were disturbed. */
static struct ll_trace *true_trace(const char *crowded)
{
    struct ll_fact all[FACTS + 1];
    struct ll_diags diags = {0};
    struct ll_trace *empty = made_trace(NULL, FACTS);
    struct ll_machine *base = ll_calibrate_base(empty, &diags);
    assert_non_null(base);
    memcpy(all, facts, sizeof facts);
    all[FACTS] = (struct ll_fact){"host.crowded", crowded};
    struct ll_trace *trace = made_trace_of(base, all, FACTS + (crowded != NULL));
    ll_machine_free(base);
    ll_trace_free(empty);
    return trace;
}

static void units_and_levels_are_what_was_probed(void **state)
{
    struct ll_diags diags = {0};
    struct ll_trace *trace = made_trace(NULL, FACTS);
    struct ll_machine *machine = ll_calibrate_base(trace, &diags);
    (void)state;
    assert_non_null(machine);
    assert_int_equal(machine->unit_count, 2);
    assert_int_equal(machine->units[0].count, 2);
    assert_near(2 * machine->units[0].matrix.macs[LL_F32] * machine->clock_hz, 6.4e10, 1e-3);
    assert_near(16 * machine->units[1].vector.flops[LL_F64] * machine->clock_hz, 1.6e10, 1e-3);
    assert_int_equal(machine->level_count, 2);
    assert_near(machine->levels[0].bandwidth_Bps, 1e11, 1e-3);
    assert_near(machine->levels[1].bandwidth_Bps, 1e10, 1e-3);
    assert_string_equal(machine->name, "A made processor, 2 threads");
    ll_machine_free(machine);
    ll_trace_free(trace);
}

/* The library may be told to use half of the registers; the third-level cache is shared with others. */
static void a_core_does_what_its_registers_do_and_a_cache_keeps_what_was_found(void **state)
{
    struct ll_fact changed[FACTS + 5];
    struct ll_diags diags = {0};
    (void)state;
    memcpy(changed, facts, sizeof facts);
    for (size_t i = 0; i < FACTS; i++)
        if (strcmp(changed[i].key, "probe.vector.f32") == 0)
            changed[i].value = "1e11";
    static const struct ll_fact more[] = {
        {"probe.l3.size_bytes", "33554432"},
        {"probe.l3.alone_Bps", "5e10"},
        {"probe.l3.bandwidth_Bps", "7e10"},
        {"probe.l3.latency_s", "2e-8"},
        {"probe.l3.rounds", "8000000=8e10 16000000=8e10 24000000=2e10 33554432=2e10 64000000=2e10"}};
    memcpy(changed + FACTS, more, sizeof more);
    struct ll_trace *trace = made_trace_of(NULL, changed, FACTS + 5);
    struct ll_machine *machine = ll_calibrate_base(trace, &diags);
    assert_non_null(machine);
    assert_near(2 * machine->units[0].matrix.macs[LL_F32] * machine->clock_hz, 1e11, 1e-3);
    assert_true(machine->levels[1].size_bytes > 16000000 && machine->levels[1].size_bytes < 24000000);
    assert_int_equal(machine->levels[1].cache.policy, LL_CACHE_LRU);
    ll_machine_free(machine);
    ll_trace_free(trace);
}

/* The machine whose header has some more facts. */
static struct ll_machine *base_with(const struct ll_fact *more, size_t count)
{
    enum { MOST = 16 };
    struct ll_fact all[FACTS + MOST];
    struct ll_diags diags = {0};
    assert_true(count <= MOST);
    memcpy(all, facts, sizeof facts);
    memcpy(all + FACTS, more, count * sizeof *more);
    struct ll_trace *trace = made_trace_of(NULL, all, FACTS + count);
    struct ll_machine *machine = ll_calibrate_base(trace, &diags);
    assert_non_null(machine);
    ll_trace_free(trace);
    return machine;
}

/* Two cores' caches of 4 MB, of which rounds of 6 MB find all, longer ones less and less. */
static void a_cores_own_cache_keeps_what_was_found_as_well(void **state)
{
    static const struct ll_fact more[] = {
        {"probe.l2.size_bytes", "4000000"},
        {"probe.l2.alone_Bps", "6e10"},
        {"probe.l2.bandwidth_Bps", "1.2e11"},
        {"probe.l2.latency_s", "5e-9"},
        {"probe.l2.invalidation_s", "6.5e-9"},
        {"probe.l2.rounds", "2000000=8e10 6000000=8e10 8400000=3.2e10 12000000=2.26e10 64000000=2e10"}};
    (void)state;
    struct ll_machine *machine = base_with(more, sizeof more / sizeof *more);
    assert_int_equal(machine->levels[1].cache.policy, LL_CACHE_RANDOM);
    assert_near((double)machine->levels[1].size_bytes, 6e6, 0.1);
    assert_true(machine->levels[1].cache.affinity);
    assert_near(machine->levels[1].cache.invalidation_s, 6.5e-9, 1e-15);
    assert_near(machine->levels[0].cache.invalidation_s, 0, 0);
    assert_near(machine->levels[1].bandwidth_Bps, 1.2e11, 1e-3);
    ll_machine_free(machine);
}

/* Others leave less of the shared cache than the cores' own hold together. */
static void a_shared_cache_is_no_smaller_than_what_it_feeds(void **state)
{
    static const struct ll_fact more[] = {
        {"probe.l2.size_bytes", "4194304"},
        {"probe.l2.alone_Bps", "6e10"},
        {"probe.l2.bandwidth_Bps", "1.2e11"},
        {"probe.l2.latency_s", "5e-9"},
        {"probe.l3.size_bytes", "33554432"},
        {"probe.l3.alone_Bps", "5e10"},
        {"probe.l3.bandwidth_Bps", "7e10"},
        {"probe.l3.read_Bps", "4.2e10"},
        {"probe.l3.latency_s", "2e-8"},
        {"probe.l3.rounds", "1000000=2e10 8000000=2e10 16000000=2e10 24000000=1.9e10 64000000=1.9e10"}};
    (void)state;
    struct ll_machine *machine = base_with(more, sizeof more / sizeof *more);
    assert_int_equal(machine->level_count, 4);
    assert_int_equal(machine->levels[1].size_bytes, 2 * 4194304); /* of two threads */
    assert_true(machine->levels[2].size_bytes >= machine->levels[1].size_bytes);
    assert_near(machine->levels[2].efficiency, 0.6, 1e-3);
    assert_near(machine->levels[1].efficiency, 1, 0); /* not measured */
    assert_true(ll_level_waits(machine, 2));
    ll_machine_free(machine);
}

/* Bytes at 80 GB/s near and 20 GB/s far. Of x times what it holds, a cache that replaces at random keeps
 * what a Poisson branching process of x children dies out with: 0.8239 of 1.1, 0.6863 of 1.2, 0.4172 of 1.5,
 * 0.2032 of 2. One that replaces by age keeps nothing. */
static void how_a_cache_replaces_is_told_by_how_fast_rounds_are(void **state)
{
    enum { HELD = 32000000, SIZE = 64000000 };
    static const struct {
        double rounds, kept[2]; /* by age, at random */
    } points[] = {{0.25, {1, 1}},    {0.75, {1, 1}},    {1, {1, 1}},     {1.1, {0, .8239}},
                  {1.2, {0, .6863}}, {1.5, {0, .4172}}, {2, {0, .2032}}, {20, {0, 0}}};
    static const enum ll_cache_policy policies[] = {LL_CACHE_LRU, LL_CACHE_RANDOM};
    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        char text[512] = "";
        for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
            double kept = points[i].kept[policy], ns_a_byte = kept / 80 + (1 - kept) / 20;
            size_t length = strlen(text);
            snprintf(text + length, sizeof text - length, " %.0f=%.6g", points[i].rounds * HELD,
                     1e9 / ns_a_byte);
        }
        struct ll_cache_share held = ll_held_of(SIZE, &(struct ll_cache_rates){.rounds = text});
        assert_int_equal(held.policy, policies[policy]);
        assert_near((double)held.bytes, HELD, 0.1);
        assert_near(held.admission, 1, 0);
    }
    static const char *const told[] = {NULL, "1e6=8e10 2e6=9e10", "1e6=8e10 nan=1 2e6=2e10"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        assert_int_equal(ll_held_of(SIZE, &(struct ll_cache_rates){.rounds = told[i]}).bytes, SIZE);
}

/* By age: a quarter of what comes and is not there is let in. Of 8 MB, then, nothing is found the first time,
 * a quarter the second time, 0.4375 the third and 0.578125 the fourth, at 80 GB/s, the rest at 20. */
static void what_a_cache_lets_in_is_told_by_how_fast_bytes_come_again(void **state)
{
    (void)state;
    static const char rounds[] = "8e6=8e10 24e6=8e10 32e6=8e10 34e6=2e10 64e6=2e10 640e6=2e10";
    struct ll_cache_rates rates = {rounds, "8e6=2e10 8e6=2.4615e10 8e6=2.9767e10 8e6=3.5310e10", NULL};
    struct ll_cache_share some = ll_held_of(64000000, &rates);
    assert_int_equal(some.policy, LL_CACHE_LRU);
    assert_near(some.admission, 0.25, 1e-9);
    assert_near((double)some.bytes, 32000000, 0.1);
    rates.times = "8e6=2e10 8e6=8e10 8e6=8e10 8e6=8e10";
    assert_near(ll_held_of(64000000, &rates).admission, 1, 0);
}

/* Of a cache of 32 MB by age, of which the program uses 8, nothing is left after 24 MB of others: at 1 GB/s
 * after 24 ms. At random exp(-0.5) is left after 16 ms and exp(-1) after 32. */
static void what_others_bring_in_is_told_by_how_fast_bytes_come_after_a_rest(void **state)
{
    (void)state;
    struct ll_cache_rates rates = {"8e6=8e10 24e6=8e10 32e6=8e10 34e6=2e10 64e6=2e10 640e6=2e10",
                                   "8e6=2e10 8e6=8e10 8e6=8e10",
                                   "2e-3=8e10 16e-3=8e10 23e-3=8e10 27e-3=2e10"};
    struct ll_cache_share by_age = ll_held_of(64000000, &rates);
    assert_int_equal(by_age.policy, LL_CACHE_LRU);
    assert_near(by_age.corunners_Bps, 1e9, 1e-9);
    rates.rests = NULL;
    assert_near(ll_held_of(64000000, &rates).corunners_Bps, 0, 0);
    rates =
        (struct ll_cache_rates){"8e6=8e10 32e6=8e10 48e6=2.9099e10 64e6=2.359e10 640e6=2e10",
                                "8e6=2e10 8e6=8e10 8e6=8e10", "2e-3=6.752e10 16e-3=3.669e10 32e-3=2.762e10"};
    struct ll_cache_share at_random = ll_held_of(64000000, &rates);
    assert_int_equal(at_random.policy, LL_CACHE_RANDOM);
    assert_near(at_random.corunners_Bps, 1e9, 1e-9);
}

/* A microsecond and 10 GB/s; one size alone tells neither. */
static void how_input_arrives_is_told_by_large_and_small(void **state)
{
    struct ll_arrival arrivals[] = {{1e7, 1.001e-3}, {1e3, 1.1e-6}, {1e5, 1.1e-5}};
    struct ll_samples samples = {.arrivals = arrivals, .arrival_count = 3};
    struct ll_host host = {0};
    (void)state;
    ll_fit_host(&samples, &host);
    assert_near(host.bandwidth_Bps, 1e10, 1e-9);
    assert_near(host.latency_s, 1e-6, 1e-9);
    assert_true(host.fills_caches);
    samples.arrival_count = 1;
    host = (struct ll_host){0};
    ll_fit_host(&samples, &host);
    assert_near(host.bandwidth_Bps, 0, 0);
}

static void the_kernels_that_made_the_times_are_found_again(void **state)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_calibration calibration;
    struct ll_trace *trace = true_trace(NULL);
    (void)state;
    assert_true(ll_calibrate(trace, &nobody, &arena, &diags, &calibration));
    assert_int_equal(calibration.fit_count, 3);
    for (uint64_t i = 0; i < calibration.fit_count; i++) {
        assert_true(calibration.fits[i].error < 0.03);
        assert_near(calibration.fits[i].spread, 0, 0);
    }
    ll_machine_free(calibration.machine);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

/* With 7 of 15 steps beside somebody. */
static void what_somebody_was_beside_is_left_out(void **state)
{
    static const char *const crowded[] = {"0", "0.47"};
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    const struct ll_samples *samples[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ll_trace *trace = true_trace(crowded[i]);
        struct ll_machine *base = ll_calibrate_base(trace, &diags);
        samples[i] = ll_samples_of(trace, base, &arena, &diags);
        assert_non_null(samples[i]);
        ll_machine_free(base);
        ll_trace_free(trace);
    }
    const struct ll_samples *alone = samples[0], *beside = samples[1];
    assert_int_equal(beside->count, alone->count);
    for (uint64_t i = 0; i < alone->count; i++)
        assert_near(beside->at[i].time_s / alone->at[i].time_s, 1, 1e-12);
    ll_arena_release(&arena);
}

static void the_file_reads_back_to_the_machine(void **state)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_calibration calibration;
    struct ll_str yaml = {0};
    struct ll_trace *trace = true_trace(NULL);
    (void)state;
    assert_true(ll_calibrate(trace, &nobody, &arena, &diags, &calibration));
    ll_calibration_yaml(&calibration, &yaml);
    struct ll_machine *again = ll_machine_parse(yaml.text, yaml.length, "host.yaml", NULL, NULL, 0, &diags);
    assert_non_null(again);
    assert_int_equal(again->software.kernel_count, calibration.machine->software.kernel_count);
    for (uint64_t i = 0; i < again->software.kernel_count; i++)
        assert_near(again->software.kernels[i].bandwidth_efficiency,
                    calibration.machine->software.kernels[i].bandwidth_efficiency, 1e-9);
    assert_non_null(strstr(yaml.text, "measured by leadline calibrate on A made processor, threads 2"));
    ll_str_release(&yaml);
    ll_machine_free(again);
    ll_machine_free(calibration.machine);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

static void all_that_a_header_lacks_is_named(void **state)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_calibration calibration;
    struct ll_trace *trace = made_trace(NULL, 2);
    (void)state;
    assert_false(ll_calibrate(trace, &nobody, &arena, &diags, &calibration));
    assert_null(calibration.machine);
    assert_true(diags.count >= 8);
    assert_non_null(strstr(diags.kept[0].message, "`threads`"));
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_and_levels_are_what_was_probed),
        cmocka_unit_test(a_core_does_what_its_registers_do_and_a_cache_keeps_what_was_found),
        cmocka_unit_test(a_shared_cache_is_no_smaller_than_what_it_feeds),
        cmocka_unit_test(a_cores_own_cache_keeps_what_was_found_as_well),
        cmocka_unit_test(how_a_cache_replaces_is_told_by_how_fast_rounds_are),
        cmocka_unit_test(what_a_cache_lets_in_is_told_by_how_fast_bytes_come_again),
        cmocka_unit_test(what_others_bring_in_is_told_by_how_fast_bytes_come_after_a_rest),
        cmocka_unit_test(how_input_arrives_is_told_by_large_and_small),
        cmocka_unit_test(the_kernels_that_made_the_times_are_found_again),
        cmocka_unit_test(what_somebody_was_beside_is_left_out),
        cmocka_unit_test(the_file_reads_back_to_the_machine),
        cmocka_unit_test(all_that_a_header_lacks_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
