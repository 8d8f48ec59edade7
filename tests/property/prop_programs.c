/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of the functions that make programs, one behind the other, on models and random plans: whatever is
 * asked for, each program is a sound trace, together they compute what the whole does, what one piece sends
 * another receives, and what replicas and the host take off the device is less for it. */
#include "check.h"

#include "dry_model.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/exchange.h"

enum { PLANS = 60, MOST_PIECES = 6 };

static const char *const models[] = {"resnet",  "transformer", "gpt", "alexnet",
                                     "seq2seq", "memnet",      "nmt", "wgan"};

static struct ll_trace *record(uint64_t *random)
{
    static const struct ll_setting gpt[] = {{"layers", "6"}, {"seq", "32"}, {"dtype", "bf16"}};
    const char *name = models[ll_random_below(random, sizeof models / sizeof *models)];
    bool small = strcmp(name, "gpt") == 0;
    return dry_model(name, true, 2 + ll_random_below(random, 6), small ? gpt : NULL, small ? 3 : 0);
}

/* FLOPs of these phases; of work that is done once on a device in any case. */
static uint64_t flops_of(const struct ll_trace *trace, enum ll_phase phase)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        flops += signature->phase == phase ? signature->flops : 0;
    }
    return flops;
}

static uint64_t bytes_of(const struct ll_trace *trace, enum ll_op_kind kind)
{
    uint64_t bytes = 0;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
        bytes += signature->view.kind == kind ? signature->bytes_written : 0;
    }
    return bytes;
}

static uint64_t peak_of(const struct ll_trace *trace)
{
    struct ll_footprint footprint;
    assert_true(ll_footprint(trace, &footprint));
    return footprint.peak_bytes;
}

/* Takes the place of the trace before it. */
static void become(struct ll_trace **trace, struct ll_trace *new, const char *what,
                   const char *const *trouble)
{
    struct ll_arena arena = {0};
    if (!new)
        fail_msg("%s, %s: %s", ll_trace_fact(*trace, "model"), what, *trouble);
    const char *wrong = ll_trace_check(new, &arena);
    if (wrong)
        fail_msg("%s, %s: %s", ll_trace_fact(*trace, "model"), what, wrong);
    ll_arena_release(&arena);
    ll_trace_free(*trace);
    *trace = new;
}

static void programs_do_together_what_the_whole_does(void **state)
{
    (void)state;
    uint64_t random = ll_seed(23);
    for (int i = 0; i < PLANS; i++) {
        const char *trouble = NULL;
        struct ll_trace *whole = record(&random);
        enum ll_recompute recompute = (enum ll_recompute)ll_random_below(&random, LL_RECOMPUTE_COUNT);
        become(&whole, ll_recompute(whole, recompute, &trouble), "computed again", &trouble);
        struct ll_pipeline_partition partition = {
            .stages = 2 + ll_random_below(&random, 2), .chunks = 1, .distance = 4};
        struct ll_parallel plan = {.data = 2 + ll_random_below(&random, 5),
                                   .tensor = 2,
                                   .context = 1,
                                   .pipeline = partition.stages,
                                   .expert = 1,
                                   .chunks = 1,
                                   .zero = ll_random_below(&random, 4),
                                   .bucket_bytes = ll_random_below(&random, 2) << 22,
                                   .overlap = ll_random_below(&random, 2)};
        uint64_t flops[2] = {0}, sent = 0, received = 0;
        for (partition.vstage = 0; partition.vstage < partition.stages; partition.vstage++) {
            struct ll_trace *vstage = ll_pipeline_partition(whole, &partition, &trouble);
            if (!vstage && strstr(trouble, "fewer layers")) {
                partition.stages = 0;
                break;
            }
            assert_non_null(vstage);
            uint64_t before = peak_of(vstage);
            become(&vstage, ll_exchange_gradients(vstage, &plan, &trouble), "exchanged", &trouble);
            if (plan.zero == 1 && bytes_of(vstage, LL_OP_REDUCE_SCATTER))
                assert_true(peak_of(vstage) <= before + before / 20);
            plan.offload = (struct ll_offload){ll_random_below(&random, 2), ll_random_below(&random, 2),
                                               ll_random_below(&random, 2)};
            become(&vstage, ll_offload(vstage, &plan, &trouble), "on the host", &trouble);
            flops[0] += flops_of(vstage, LL_PHASE_FORWARD);
            flops[1] += flops_of(vstage, LL_PHASE_BACKWARD);
            sent += bytes_of(vstage, LL_OP_SEND);
            received += bytes_of(vstage, LL_OP_RECEIVE);
            ll_trace_free(vstage);
        }
        if (sent != received)
            fail_msg("%s in %d pieces, zero %d: %llu bytes sent, %llu received",
                     ll_trace_fact(whole, "model"), (int)partition.stages, (int)plan.zero,
                     (unsigned long long)sent, (unsigned long long)received);
        if (partition.stages) {
            /* masks and the like may be made on several pieces, sums of tied weights' gradients are updates
             */
            assert_near((double)flops[0], (double)flops_of(whole, LL_PHASE_FORWARD), 1e-3);
            assert_near((double)flops[1], (double)flops_of(whole, LL_PHASE_BACKWARD), 2e-2);
        }
        ll_trace_free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_do_together_what_the_whole_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
