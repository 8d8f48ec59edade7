/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer of a transformer keeps for its backward pass, against Korthikanti et al. (Reducing activation
 * recomputation in large transformer models, 2022): with s words, b sentences, h features, a heads and t
 * ranks
 *
 *     of one device                        s b h (34 + 5 a s / h)
 *     products divided                     s b h (10 + 24 / t + 5 a s / (h t))
 *     and sequences divided                s b h / t (34 + 5 a s / h)
 *     and the middle of attention again    s b h / t 34
 *     and all of the layer again           s b h 2 (its input, which they keep whole; divided: 2 / t)
 *
 * of which a byte for each number that dropout keeps or drops. */
#include "check.h"

#include "dry_model.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"
#include "tracer/ir/trace.h"

enum { SEQ = 2048, HIDDEN = 12288, HEADS = 96, RANKS = 8 }; /* GPT-3, eight ranks, one sentence */

static const struct ll_op_signature *signature_of(const struct ll_trace *trace, uint32_t op)
{
    return &trace->signatures[trace->ops[op].signature];
}

static uint32_t first_backward(const struct ll_trace *trace)
{
    uint32_t op = 0;
    while (signature_of(trace, op)->phase != LL_PHASE_BACKWARD)
        op++;
    return op;
}

/* What is made going forward and still there in the middle of the backward pass's beginning. */
static double kept_bytes(const struct ll_trace *trace)
{
    struct ll_arena arena = {0};
    const struct ll_liveness *lives = ll_trace_liveness(trace, &arena);
    uint32_t turn = first_backward(trace);
    double bytes = 0;
    for (uint64_t s = 0; s < trace->storage_count; s++)
        if (lives[s].memory == LL_ACTIVATION && lives[s].first < turn && lives[s].last > turn)
            bytes += (double)lives[s].bytes;
    ll_arena_release(&arena);
    return bytes;
}

static struct ll_trace *changed(struct ll_trace *trace, uint64_t ranks, bool sequence,
                                enum ll_recompute recompute)
{
    const struct ll_parallel plan = {.data = 1,
                                     .tensor = ranks,
                                     .context = 1,
                                     .pipeline = 1,
                                     .expert = 1,
                                     .chunks = 1,
                                     .sequence = sequence};
    struct ll_diags diags = {0};
    const char *trouble;
    struct ll_trace *shared = ll_shard(trace, &plan, &diags);
    assert_non_null(shared);
    struct ll_trace *again = ll_recompute(shared, recompute, &trouble);
    assert_non_null(again);
    ll_trace_free(shared);
    ll_trace_free(trace);
    ll_diags_release(&diags);
    return again;
}

/* Of one layer in the middle: five layers keep so much more than four. */
static double of_a_layer(uint64_t ranks, bool sequence, enum ll_recompute recompute)
{
    double kept[2];
    for (int more = 0; more < 2; more++) {
        const struct ll_setting settings[] = {
            {"preset", "gpt3-175b"}, {"layers", more ? "5" : "4"}, {"dtype", "bf16"}, {"seq", "2048"}};
        struct ll_trace *trace = changed(dry_model("gpt", true, 1, settings, 4), ranks, sequence, recompute);
        kept[more] = kept_bytes(trace);
        ll_trace_free(trace);
    }
    return kept[1] - kept[0];
}

static void a_layer_keeps_what_the_formulas_say(void **state)
{
    (void)state;
    const double sbh = (double)SEQ * HIDDEN, middle = 5.0 * HEADS * SEQ / HIDDEN, t = RANKS;
    assert_near(of_a_layer(1, false, LL_RECOMPUTE_NONE), sbh * (34 + middle), 1e-9);
    assert_near(of_a_layer(RANKS, false, LL_RECOMPUTE_NONE), sbh * (10 + 24 / t + middle / t), 1e-9);
    assert_near(of_a_layer(RANKS, true, LL_RECOMPUTE_NONE), sbh / t * (34 + middle), 1e-9);
    assert_near(of_a_layer(RANKS, true, LL_RECOMPUTE_SELECTIVE), sbh / t * 34, 1e-9);
    assert_near(of_a_layer(RANKS, false, LL_RECOMPUTE_FULL), sbh * 2, 1e-9);
    assert_near(of_a_layer(RANKS, true, LL_RECOMPUTE_FULL), sbh / t * 2, 1e-9);
}

/* GPT-3 on eight stages of three pieces of four layers each: the first stage keeps 66.84 GiB, and 12.35 GiB
 * with divided sequences and the middle of attention computed again (measured by Korthikanti et al., as Isaev
 * et al., Calculon, 2023, take them over). */
static void the_first_stage_of_gpt3_keeps_what_was_published(void **state)
{
    (void)state;
    const struct ll_pipeline_shape shape = {
        .stages = 8, .chunks = 3, .micro_batches = 64, .schedule = LL_SCHEDULE_INTERLEAVED};
    double layers = 4 * (double)ll_slots_in_flight(&shape, 0), gib = (double)(1 << 30);
    assert_near(layers * of_a_layer(RANKS, false, LL_RECOMPUTE_NONE) / gib, 66.84, 0.002);
    assert_near(layers * of_a_layer(RANKS, true, LL_RECOMPUTE_SELECTIVE) / gib, 12.35, 0.002);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_keeps_what_the_formulas_say),
        cmocka_unit_test(the_first_stage_of_gpt3_keeps_what_was_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
