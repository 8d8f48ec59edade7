/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of which nothing is known but their names and recorded times, on another machine than the one that
 * ran them:
 *
 *       time = recorded * what bounded it there / what bounds it here
 *
 * bandwidth of the outermost memory for most, peak FLOP/s in bfloat16 for those whose names say that they
 * multiply matrices, the host's link for copies from and to the host. What is over before either counts, and
 * exchanges, which depend on who takes part, take their recorded time. Which of these it is the importer has
 * written down (attribute `bound_by`). It is an assumption: nothing but names and times is known of them. */
#include "sim/replay/replay_parts.h"

/* As tracer/convert writes it. */
enum bound { BY_MEMORY, BY_COMPUTE, BY_LATENCY, BY_NETWORK, BY_HOST };

void ll_prepared_on(const struct ll_prepared *prepared, const struct ll_machine *machine)
{
    ((struct ll_prepared *)prepared)->recorded_on = machine;
}

static int64_t bound_of(const struct ll_prepared *prepared, uint32_t seq)
{
    const struct ll_op_view *view = &prepared->trace->signatures[prepared->trace->ops[seq].signature].view;
    for (uint32_t i = 0; i < view->attr_count; i++)
        if (view->attrs[i].key == LL_ATTR_BOUND_BY)
            return view->attrs[i].count;
    return BY_MEMORY;
}

/* What bounds such kernels on a machine: B/s or FLOP/s; 0 where the machine has none. */
static double rate_of(const struct ll_machine *machine, int64_t bound)
{
    switch (bound) {
    case BY_MEMORY:
        return ll_machine_memory_Bps(machine);
    case BY_COMPUTE:
        return ll_machine_peak_flops(machine, LL_BF16);
    case BY_HOST:
        return machine->host.bandwidth_Bps;
    default:
        return 0;
    }
}

static uint32_t kernel_bound(const struct ll_prepared *prepared, const struct ll_machine *machine,
                             uint32_t seq)
{
    switch (bound_of(prepared, seq)) {
    case BY_COMPUTE:
        return LL_BOUND_COMPUTE;
    case BY_LATENCY:
    case BY_NETWORK: /* other devices, of which nothing is simulated here */
        return LL_BOUND_DEPENDENCY;
    case BY_HOST:
        return LL_BOUND_HOST;
    default:
        return LL_BOUND_LEVEL + (uint32_t)machine->level_count - 1;
    }
}

static double kernel_scale(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq)
{
    const struct ll_machine *there = prepared->recorded_on;
    if (!there || prepared->as_recorded)
        return 1;
    double here = rate_of(machine, bound_of(prepared, seq)), then = rate_of(there, bound_of(prepared, seq));
    return here > 0 && then > 0 ? then / here : 1;
}

double ll_wait_s(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                 uint32_t *bound)
{
    double recorded_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
    bool kernel = ll_is_kernel(prepared, prepared->trace->ops[seq].signature);
    *bound = kernel ? kernel_bound(prepared, machine, seq) : LL_BOUND_HOST;
    return kernel ? recorded_s * kernel_scale(prepared, machine, seq) : recorded_s;
}

static void explain_kernel(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                           struct ll_explain *why)
{
    static const char *const words[] = {"bandwidth of memory, B/s", "peak in bf16, FLOP/s", "latency",
                                        "the network", "link to the host, B/s"};
    double recorded_s = (double)prepared->trace->ops[seq].duration_ns * 1e-9;
    int64_t bound = bound_of(prepared, seq);
    double scale = kernel_scale(prepared, machine, seq);
    const char *word = bound >= 0 && bound <= BY_HOST ? words[bound] : words[BY_MEMORY];
    if (scale == 1)
        ll_say(why,
               "a kernel of unknown meaning takes as long as when it was recorded (bound by %s): %.10g s",
               word, recorded_s);
    else
        ll_say(
            why,
            "a kernel of unknown meaning, by its name bound by %s: recorded %.10g * %.10g / %.10g = %.10g s",
            word, recorded_s, rate_of(prepared->recorded_on, bound), rate_of(machine, bound),
            recorded_s * scale);
}

bool ll_explain_wait(const struct ll_prepared *prepared, const struct ll_machine *machine, uint32_t seq,
                     struct ll_explain *why)
{
    if (ll_is_kernel(prepared, prepared->trace->ops[seq].signature))
        explain_kernel(prepared, machine, seq, why);
    else
        ll_say(why,
               "what the program did here was not seen; it takes as long as when it was recorded: %.10g s",
               (double)prepared->trace->ops[seq].duration_ns * 1e-9);
    return true;
}
