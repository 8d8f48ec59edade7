/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to make a step fit does so, and costs what its replay takes. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/parallel.h"
#include "toy_machine.h"
#include "tracer/transform/rescale.h"

enum { BATCH = 64 };

/* A hundred TFLOP/s, a memory of so many bytes, eight of it on a ring, a link to the host. */
static struct ll_machine *machine_of(uint64_t size_bytes, struct ll_arena *arena)
{
    const char *text =
        ll_format(arena,
                  "name: One\nclock: 1GHz\nunits:\n"
                  "  - {name: all, model: vector, lanes: 50000, flops: {f32: 2}}\n"
                  "memory:\n  - {name: hbm, size: %lluB, bandwidth: 1TB/s}\n"
                  "host: {bandwidth: 16GB/s, latency: 1us}\n"
                  "network:\n  - {name: ring, topology: ring, devices: 8, bandwidth: 100GB/s}\n",
                  (unsigned long long)size_bytes);
    struct ll_machine *machine = ll_toy_machine(text);
    assert_non_null(machine);
    return machine;
}

struct cured {
    struct ll_arena arena;
    struct ll_trace *trace;
    struct ll_machine *machine;
    const struct ll_result *result;
    const struct ll_mitigation *mitigations;
};

static void mitigation(struct cured *c, const char *model, uint64_t size_bytes)
{
    struct ll_diags diags = {0};
    *c = (struct cured){.trace = dry_model(model, true, BATCH, NULL, 0)};
    c->machine = machine_of(size_bytes, &c->arena);
    c->result = ll_replay(ll_prepare(c->trace, &c->arena, &diags), c->machine, &c->arena, &diags);
    assert_non_null(c->result);
    c->mitigations = ll_memory_mitigations(c->result, &c->arena);
    assert_non_null(c->mitigations);
}

static void release(struct cured *c)
{
    ll_machine_free(c->machine);
    ll_trace_free(c->trace);
    ll_arena_release(&c->arena);
}

static uint64_t peak_at(const struct ll_trace *trace, uint64_t batch)
{
    const char *trouble;
    struct ll_footprint footprint;
    struct ll_trace *other = ll_trace_rescale(trace, batch, &trouble);
    assert_non_null(other);
    assert_true(ll_footprint(other, &footprint));
    ll_trace_free(other);
    return footprint.peak_bytes;
}

static void the_batch_that_is_said_to_fit_is_the_largest(void **state)
{
    (void)state;
    struct cured c;
    unsigned batch;
    mitigation(&c, "resnet", 3ull << 30);
    const struct ll_mitigation *smaller = &c.mitigations[LL_MITIGATION_BATCH];
    assert_true(smaller->done && smaller->fits);
    assert_int_equal(sscanf(smaller->with, "--batch %u", &batch), 1);
    assert_int_equal(peak_at(c.trace, batch), smaller->peak_bytes);
    assert_true(peak_at(c.trace, batch) <= 3ull << 30);
    assert_true(peak_at(c.trace, batch + 1) > 3ull << 30);
    assert_true(smaller->slowdown >= 0.99);
    release(&c);
}

/* Nothing is for free: what frees memory takes as long or longer. */
static void every_cure_frees_memory_and_takes_time(void **state)
{
    (void)state;
    struct cured c;
    mitigation(&c, "transformer", 2ull << 30);
    assert_false(c.result->fits);
    for (unsigned i = 0; i < LL_MITIGATION_COUNT; i++) {
        const struct ll_mitigation *cured = &c.mitigations[i];
        if (!cured->done)
            fail_msg("%s: %s", cured->name, cured->trouble);
        assert_true(cured->peak_bytes < c.result->prepared->footprint.peak_bytes);
        assert_int_equal(cured->fits, cured->peak_bytes <= 2ull << 30);
        if (i != LL_MITIGATION_BATCH && (i < LL_MITIGATION_ZERO_1 || i > LL_MITIGATION_ZERO_3))
            assert_true(cured->slowdown >= 1);
        assert_true(isfinite(cured->time_s));
    }
    release(&c);
}

static void what_fits_needs_no_smaller_batch(void **state)
{
    (void)state;
    struct cured c;
    mitigation(&c, "alexnet", 64ull << 30);
    assert_true(c.result->fits);
    assert_false(c.mitigations[LL_MITIGATION_BATCH].done);
    assert_string_equal(c.mitigations[LL_MITIGATION_BATCH].trouble, "it fits as it is");
    assert_string_equal(c.mitigations[LL_MITIGATION_SELECTIVE].trouble, "there is nothing to recompute");
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_batch_that_is_said_to_fit_is_the_largest),
        cmocka_unit_test(every_cure_frees_memory_and_takes_time),
        cmocka_unit_test(what_fits_needs_no_smaller_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
