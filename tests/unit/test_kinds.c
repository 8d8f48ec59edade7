/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a kind's rate, held against the machine's own figures. */
#include "check.h"

#include "sim/replay/replay.h"
#include "tracer/format/reader.h"

#include <string.h>

static const struct ll_kind_result *kind_called(const struct ll_result *result, const char *name)
{
    for (uint64_t i = 0; i < result->kind_count; i++)
        if (strcmp(result->kinds[i].kind, name) == 0)
            return &result->kinds[i];
    fail_msg("no kind %s", name);
    return NULL;
}

static const struct ll_unit *unit_called(const struct ll_machine *machine, const char *name)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (strcmp(machine->units[i].name, name) == 0)
            return &machine->units[i];
    fail_msg("no unit %s", name);
    return NULL;
}

static void expect_shares_of_peaks(const struct ll_result *result)
{
    const struct ll_machine *machine = result->machine;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (kind->bound < LL_BOUND_LEVEL)
            continue;
        const struct ll_level *level = &machine->levels[kind->bound - LL_BOUND_LEVEL];
        double instances = (double)ll_machine_instances(machine, kind->bound - LL_BOUND_LEVEL);
        double peak_Bps = level->bandwidth_Bps * level->efficiency * instances;
        assert_near(kind->peak_share, kind->rate / peak_Bps, 1e-12);
        assert_true(kind->peak_share <= 1 + 1e-12);
    }
    const struct ll_kind_result *conv = kind_called(result, "conv2d");
    const struct ll_unit *fma = unit_called(machine, "fma");
    double peak = 2 * fma->matrix.macs[LL_F32] * (double)fma->count * fma->clock_hz;
    assert_int_equal(conv->bound, LL_BOUND_COMPUTE);
    assert_near(conv->peak_share, conv->rate / peak, 1e-12);
    assert_near(conv->rate, conv->flops / conv->time_s, 1e-12);
}

/* Of the T4 its board's power holds the clock down, and convolutions go Winograd's way. */
static void the_share_of_a_peak_is_the_rate_over_what_the_machine_describes(void **state)
{
    (void)state;
    static const char *const folders[] = {"hwconfigs", NULL};
    static const char *const machines[] = {"t4+pytorch", "v100_sxm_16gb+archive/deepbench"};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read("traces/alexnet_train_b8.llt", &diags, &status);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct ll_machine *machine = ll_machine_read(machines[i], folders, NULL, 0, &diags);
        expect_shares_of_peaks(ll_replay(prepared, machine, &arena, &diags));
        ll_machine_free(machine);
    }
    assert_int_equal(diags.count, 0);
    ll_diags_release(&diags);
    ll_trace_free(trace);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_share_of_a_peak_is_the_rate_over_what_the_machine_describes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
