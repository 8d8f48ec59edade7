/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to be the least is not more than what a replay takes: on random traces and machines, and for
 * models on machines of all kinds, and behind caches. */
#include "check.h"

#include "models/model.h"
#include "random_machine.h"
#include "sim/explore/database.h"
#include "toy_trace.h"

enum { CASES = 150 };

static const char *const folders[] = {"hwconfigs", NULL};

/* How tight the bounds were, as least over true time. */
struct tightness {
    double sum, most;
    unsigned count;
};

static void show(const struct ll_diags *diags)
{
    for (size_t i = 0; i < diags->kept_count; i++)
        print_error("%s\n", diags->kept[i].message);
}

static void compare(const struct ll_prepared *prepared, const struct ll_lower_bounds *least,
                    const struct ll_machine *machine, struct tightness *tightness)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const struct ll_result *result = ll_replay(prepared, machine, &arena, &diags);
    if (result) {
        double part = ll_lower_bound_time_s(least, machine) / result->time_s;
        double energy_j = ll_lower_bound_energy_j(least, machine);
        if (part > 1 || energy_j > result->energy_j)
            print_error("%s: time %.9g of it, energy %g of %g J\n", machine->name, part, energy_j,
                        result->energy_j);
        assert_true(part <= 1 && part > 0);
        assert_true(isnan(result->energy_j) ? isnan(energy_j) : energy_j <= result->energy_j);
        tightness->sum += part;
        tightness->most = fmax(tightness->most, part);
        tightness->count++;
    }
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static struct ll_machine *machine_of(const char *yaml, struct ll_diags *diags)
{
    struct ll_machine *machine = ll_machine_parse(yaml, strlen(yaml), "random.yaml", folders, NULL, 0, diags);
    show(diags);
    assert_non_null(machine);
    return machine;
}

static void the_least_is_never_more_on_machines_of_chance(void **state)
{
    (void)state;
    uint64_t seed = ll_seed(20251121);
    struct tightness tightness = {0};
    struct ll_diags diags = {0};
    for (uint64_t i = 0; i < CASES; i++) {
        struct ll_arena arena = {0};
        uint64_t random = seed + i;
        struct ll_trace *trace = toy_trace(seed + i);
        const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
        const struct ll_lower_bounds *least = ll_lower_bounds_new(prepared, &arena);
        const char *fusion = i % 2 ? "none" : "elementwise";
        struct ll_machine *machine = machine_of(ll_random_machine(&random, &arena, fusion), &diags);
        compare(prepared, least, machine, &tightness);
        ll_machine_free(machine);
        ll_trace_free(trace);
        ll_arena_release(&arena);
    }
    ll_diags_release(&diags);
    print_message("machines of chance: on average %.2f of the time, %.2f at most\n",
                  tightness.sum / tightness.count, tightness.most);
    assert_int_equal(tightness.count, CASES);
}

/* A dry run of the model, read back. */
static struct ll_trace *trace_of(const char *name, bool train, uint64_t batch)
{
    char path[] = "/tmp/leadline_least_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct ll_diags diags = {0};
    struct ll_run_report report;
    struct ll_run_options options = {
        .train = train, .batch = batch, .steps = 1, .seed = 1, .dry_run = true, .threads = 1, .path = path};
    bool done = ll_model_run(ll_model_find(name), &options, &report, &diags);
    show(&diags);
    assert_true(done);
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    assert_non_null(trace);
    unlink(path);
    ll_diags_release(&diags);
    return trace;
}

static void check_model(const char *name, bool train, uint64_t batch)
{
    static const char *const machines[] = {"custom_example",
                                           "tpu_v2_core",
                                           "dgx_v100+archive/deepbench+archive/frameworks_2020",
                                           "eyeriss_like",
                                           "archive/gtx_1080ti_box+archive/torch7_nn",
                                           "xeon_e5_2680v4",
                                           "h100_sxm+pytorch",
                                           "tpu_v1"};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct tightness tightness = {0};
    struct ll_trace *trace = trace_of(name, train, batch);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    assert_non_null(prepared);
    const struct ll_lower_bounds *least = ll_lower_bounds_new(prepared, &arena);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        assert_non_null(machine);
        compare(prepared, least, machine, &tightness);
        ll_machine_free(machine);
    }
    print_message("%s on %u machines: on average %.2f of the time, %.2f at most\n", name, tightness.count,
                  tightness.sum / tightness.count, tightness.most);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

/* A machine whose energy is nearly all arithmetic, of which Winograd's way saves some. */
static void the_least_is_never_more_where_convolutions_multiply_less_often(void **state)
{
    (void)state;
    static const char winograd[] =
        "name: winograd\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 64}, runs: "
        "[matrix, conv]}\n"
        "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 1, i64: 1, bool: 1}}\n"
        "memory:\n  - {name: dram, size: 64GiB, bandwidth: 10TB/s}\nenergy: {mac_pj: {f32: 1000}}\n"
        "software: {transforms: [{name: f43, size: 6, most_filter: 3, rate: {f32: 1}, fused: true}]}\n";
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct tightness tightness = {0};
    struct ll_trace *trace = trace_of("residual", false, 1);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    struct ll_machine *machine = machine_of(winograd, &diags);
    compare(prepared, ll_lower_bounds_new(prepared, &arena), machine, &tightness);
    assert_int_equal(tightness.count, 1);
    ll_machine_free(machine);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

static void the_least_is_never_more_for_models_on_machines_that_exist(void **state)
{
    (void)state;
    check_model("alexnet", true, 16);
    check_model("resnet", true, 16);
    check_model("inception_v3", false, 4);
    check_model("seq2seq", true, 16);
    check_model("transformer", true, 4);
    check_model("memnet", true, 8);
    check_model("speech", true, 4);
    check_model("deepq", true, 8);
    check_model("retinanet", true, 1);
}

/* A memory so slow that it alone counts, behind every kind of cache: what they spare is all that shows. */
static void the_least_is_never_more_behind_caches(void **state)
{
    (void)state;
    static const char *const caches[] = {"lru", "fifo", "random", "lru, admission: 0.25",
                                         "random, admission: 0.25"},
                             *const hosts[] = {"", "host: {bandwidth: 1TB/s, fills_caches: true}\n"};
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct tightness tightness = {0};
    struct ll_trace *trace = trace_of("alexnet", true, 4);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    const struct ll_lower_bounds *least = ll_lower_bounds_new(prepared, &arena);
    for (unsigned c = 0; c < sizeof caches / sizeof *caches; c++)
        for (unsigned mib = 1; mib <= 1024; mib *= 2)
            for (unsigned h = 0; h < 2; h++) {
                struct ll_machine *machine = machine_of(
                    ll_format(&arena,
                              "name: \"%s, %u MiB\"\nclock: 1GHz\n"
                              "units: [{name: simd, model: vector, lanes: 4096, flops: {f32: 2}}]\n"
                              "memory:\n"
                              "  - {name: llc, size: %uMiB, bandwidth: 40TB/s, cache: {policy: %s}}\n"
                              "  - {name: dram, size: 16GiB, bandwidth: 1GB/s}\n%s",
                              caches[c], mib, mib, caches[c], hosts[h]),
                    &diags);
                compare(prepared, least, machine, &tightness);
                ll_machine_free(machine);
            }
    print_message("behind caches: on average %.2f of the time, %.2f at most\n",
                  tightness.sum / tightness.count, tightness.most);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_is_never_more_on_machines_of_chance),
        cmocka_unit_test(the_least_is_never_more_where_convolutions_multiply_less_often),
        cmocka_unit_test(the_least_is_never_more_for_models_on_machines_that_exist),
        cmocka_unit_test(the_least_is_never_more_behind_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
