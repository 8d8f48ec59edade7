/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage of a plan uses: memory, on the machine that has its devices; and what its exchanges are
 * for. */
#include <assert.h>
#include <string.h>

#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "tracer/base/num.h"

/* The program of a virtual stage of a stage. */
static const struct ll_trace *program_at(const struct ll_spread *spread, uint64_t stage, uint64_t chunk)
{
    const uint64_t vstage = ll_vstage_at(spread->plan.schedule, spread->plan.pipeline, stage, chunk);
    return spread->programs[spread->program_of[vstage]].trace;
}

/* What a device of a stage has beside its framework's allocator. */
static bool outside_memory(const struct ll_spread *spread, const struct ll_machine *machine, uint64_t stage,
                           struct ll_footprint *footprint, struct ll_stage_use *use)
{
    struct ll_arena scratch = {0};
    struct ll_outside outside;
    const uint64_t chunks = spread->plan.chunks;
    const struct ll_trace **programs = ll_alloc(&scratch, chunks, sizeof *programs);
    for (uint64_t c = 0; programs && c < chunks; c++)
        programs[c] = program_at(spread, stage, c);
    bool done = programs &&
                ll_framework_outside(programs, chunks, &machine->software.training,
                                     machine->network_count > 0 ? machine->networks[0].devices : 1, &outside);
    if (done) {
        use->communicators = outside.communicators;
        use->communicator_bytes = outside.communicator_bytes;
        use->context_bytes = outside.context_bytes;
        footprint->outside_bytes = ll_add(outside.communicator_bytes, outside.context_bytes);
    }
    ll_arena_release(&scratch);
    return done;
}

/* The memory of a virtual stage, which is looked at once for each program. */
static bool vstage_memory(const struct ll_spread *spread, const struct ll_training *training, uint64_t vstage,
                          struct ll_known_memory *known, struct ll_vstage_memory *memory)
{
    const uint32_t program = spread->program_of[vstage];
    if (!known[program].is_known)
        known[program].is_known = ll_vstage_memory(
            spread->programs[program].trace, spread->sizes.micro_batches, training, &known[program].memory);
    *memory = known[program].memory;
    return known[program].is_known;
}

/* `alone`: of a stage that is all there is. */
static bool stage_memory(const struct ll_spread *spread, const struct ll_machine *machine, uint64_t stage,
                         const struct ll_footprint *alone, struct ll_known_memory *known,
                         struct ll_footprint *footprint, struct ll_stage_use *use)
{
    const struct ll_pipeline_shape shape = {.schedule = spread->plan.schedule,
                                            .stages = spread->plan.pipeline,
                                            .chunks = spread->plan.chunks,
                                            .micro_batches = spread->sizes.micro_batches};
    const struct ll_training *training = &machine->software.training;
    struct ll_arena scratch = {0};
    struct ll_vstage_memory *memory = ll_alloc(&scratch, shape.chunks, sizeof *memory);
    bool done = memory;
    for (uint64_t c = 0; done && c < shape.chunks; c++)
        done = vstage_memory(spread, training, ll_vstage_at(shape.schedule, shape.stages, stage, c), known,
                             &memory[c]);
    if (done && shape.chunks * shape.stages * shape.micro_batches == 1 && !training->gradient_buffers) {
        *footprint = *alone;
        use->peak = (struct ll_stage_peak){.op = alone->peak_op};
    } else if (done) {
        done = ll_stage_memory(memory, &shape, stage, footprint, &use->peak);
    }
    ll_arena_release(&scratch);
    return done && outside_memory(spread, machine, stage, footprint, use);
}

/* Sums what the framework has beside tensors, over the virtual stages of a stage. */
static bool sum_framework(const struct ll_spread *spread, const struct ll_machine *machine, uint64_t stage,
                          struct ll_stage_use *use)
{
    const struct ll_parallel *plan = &spread->plan;
    struct ll_arena scratch = {0};
    bool done = true;
    for (uint64_t c = 0; done && c < plan->chunks; c++) {
        const uint64_t vstage = ll_vstage_at(plan->schedule, plan->pipeline, stage, c);
        struct ll_framework_memory memory;
        done = ll_framework_memory(spread->programs[spread->program_of[vstage]].trace,
                                   &machine->software.training, &scratch, &memory);
        for (int part = 0; done && part < LL_FRAMEWORK_PARTS; part++) {
            const bool lasts = part == LL_FRAMEWORK_UNUSED || part == LL_FRAMEWORK_WORKSPACE;
            uint64_t bytes =
                ll_mul(memory.part_bytes[part], lasts ? 1 : use->in_flight) / (lasts ? 1 : plan->chunks);
            use->framework_bytes[part] = ll_add(use->framework_bytes[part], bytes);
        }
    }
    ll_arena_release(&scratch);
    return done;
}

bool ll_use_memory(const struct ll_spread *spread, const struct ll_machine *machine, uint64_t stage,
                   const struct ll_footprint *alone, struct ll_known_memory *known,
                   struct ll_footprint *footprint, struct ll_stage_use *use)
{
    const bool done = stage_memory(spread, machine, stage, alone, known, footprint, use) &&
                      sum_framework(spread, machine, stage, use);
    footprint->unknown = alone->unknown;
    use->memory_bytes = footprint->peak_bytes;
    use->capacity_bytes = machine->levels[machine->level_count - 1].size_bytes;
    use->fits = ll_footprint_fits(footprint, use->capacity_bytes);
    memcpy(use->class_bytes, footprint->class_bytes, sizeof use->class_bytes);
    return done;
}

/* --- what an exchange is for: which kind of parallelism asks for it --- */

const char *ll_traffic_name(enum ll_traffic_kind traffic)
{
    assert(traffic < LL_TRAFFIC_COUNT);
    static const char *const names[LL_TRAFFIC_COUNT] = {
#define X(word, name, help) name,
        LL_TRAFFIC_LIST(X)
#undef X
    };
    return names[traffic];
}

/* Weights and their gradients go among as many devices in a pass, too, of which parts are vectors. */
static bool is_of_context(const struct ll_parallel *plan, const struct ll_op_signature *signature)
{
    const struct ll_op_view *view = &signature->view;
    bool vectors = view->input_count == 0 || view->in[0].rank != view->out[0].rank || view->in[0].rank == 1;
    return plan->context > 1 && signature->phase != LL_PHASE_COMM && !vectors &&
           ll_attr_count(view, LL_ATTR_DEVICES, 0) == (int64_t)plan->context &&
           ll_attr_count(view, LL_ATTR_STRIDE, 1) == (int64_t)plan->tensor;
}

/* What goes to experts are rows; what goes from positions to heads has a dimension of these. */
static bool is_of_heads(const struct ll_op_view *view)
{
    return view->input_count > 0 && view->in[0].rank == 4 && view->in[0].role[1] == LL_ROLE_HEADS;
}

enum ll_traffic_kind ll_traffic_of(const struct ll_parallel *plan, const struct ll_op_signature *signature)
{
    const struct ll_op_view *view = &signature->view;
    if (view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE)
        return LL_TRAFFIC_PIPELINE;
    if (view->kind == LL_OP_ALL_TO_ALL)
        return is_of_heads(view) ? LL_TRAFFIC_CONTEXT : LL_TRAFFIC_EXPERT;
    /* Stages that hold the same weight are at least so far apart, replicas never. */
    if (plan->pipeline > 1 &&
        ll_attr_count(view, LL_ATTR_STRIDE, 1) >= (int64_t)(plan->tensor * ll_replicas(plan)))
        return LL_TRAFFIC_PIPELINE;
    bool within = plan->tensor > 1 && ll_attr_count(view, LL_ATTR_STRIDE, 1) == 1 &&
                  ll_attr_count(view, LL_ATTR_DEVICES, 0) > 1; /* some, where these hold the same key heads */
    if (within && signature->phase != LL_PHASE_COMM)
        return LL_TRAFFIC_TENSOR;
    return is_of_context(plan, signature) ? LL_TRAFFIC_CONTEXT : LL_TRAFFIC_DATA;
}
