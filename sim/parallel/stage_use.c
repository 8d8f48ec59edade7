/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a stage of a plan, on the machine that has its devices. */
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
