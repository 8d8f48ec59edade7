/* SPDX-License-Identifier: Apache-2.0 */
/* A step on many devices: each distinct program is replayed, a schedule combines the replays into the
 * pipeline's time, and the exposed communication is attributed to the kinds of parallelism. */
#include "sim/parallel/parallel.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/framework.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/stragglers.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/num.h"

/* Laws of a result, for assertions. */
static inline bool shares_sum_to_one(const struct ll_result *result)
{
    double sum = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        sum += result->shares[i];
    return sum == 0 || fabs(sum - 1) < 1e-6;
}
static inline bool exposes_no_more_than_it_takes(const struct ll_exposure *network)
{
    return network->exposed_s >= 0 && network->exposed_s <= network->busy_s * (1 + 1e-9) + 1e-12;
}

/* A program as it goes in a crew that is slower than the others. */
struct variant {
    struct variant *next;
    uint32_t program;
    uint64_t pool; /* on whose devices */
    double slowed;
    const bool *over_slow_links; /* by signature */
    struct ll_program_replay replay;
};

struct run {
    const struct ll_spread *spread;
    const struct ll_machine *const *machines;  /* by pool */
    struct ll_exchanges **exchanges;           /* likewise, over all devices: each network joins as many */
    struct ll_exchanges *alone[LL_MOST_POOLS]; /* of several pools: as if there were no others */
    uint64_t pool_count;
    struct ll_memo *memo;
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_program_replay *measured;  /* by pool and program, on a device like all others of the pool */
    const struct ll_program_replay **of; /* by virtual stage: its replay in the pipeline that is simulated */
    struct ll_known_memory *memory;      /* by pool and program */
    struct ll_crews crews;
    const uint8_t *crew; /* of crews.slow: the pipeline that is simulated; NULL: one without slow devices */
    struct variant *variants;
    double *done_s; /* by stage: when its passes are done */
    double even_s;  /* the step, were no device slower than others */
    double alone_s; /* the pipeline that is reported, by itself: it may wait for others to reduce gradients */
    struct ll_vstage_times *times;
    struct ll_vstage_message *messages;
    uint64_t message_count;
    struct ll_exposure
        *handed;  /* by virtual stage: what it and others hand to one another with a micro-batch */
    bool at_once; /* messages between stages take no time now */
    const struct ll_pipeline *pipeline; /* the step's, with messages that take their time */
};

static uint64_t pool_of_stage(const struct run *run, uint64_t stage)
{
    return ll_pool_of(&run->spread->plan, run->pool_count, stage);
}

static const struct ll_machine *machine_of(const struct run *run, uint64_t stage)
{
    return run->machines[pool_of_stage(run, stage)];
}

static uint64_t pool_of_vstage(const struct run *run, uint64_t vstage)
{
    const struct ll_parallel *plan = &run->spread->plan;
    return pool_of_stage(run, ll_vstage_lies_on(plan->schedule, plan->pipeline, vstage));
}

/* --- what an exchange is for --- */

static bool is_message(const struct ll_op_signature *signature)
{
    return signature->view.kind == LL_OP_SEND || signature->view.kind == LL_OP_RECEIVE;
}

/* Devices of a stage. */
static uint64_t devices_of_stage(const struct ll_parallel *plan)
{
    return plan->tensor * ll_replicas(plan);
}

static bool is_exchange(const struct ll_op_signature *signature)
{
    return signature->view.kind < LL_OP_NONE && ll_op_class(signature->view.kind) == LL_CLASS_COMMUNICATION;
}

/* Messages between virtual stages are the pipeline's business, not the replay's; a trace that came with some
 * keeps them. */
static bool is_idle(const struct run *run, const struct ll_trace *program,
                    const struct ll_op_signature *signature, bool again)
{
    bool handed_on = is_message(signature) && run->spread->vstage_count > 1;
    return handed_on || (again && ll_is_per_step(program, signature));
}

/* --- replays --- */

static const struct ll_result *replay(const struct run *run, const struct variant *variant, bool again)
{
    const struct ll_device_program *program = &run->spread->programs[variant->program];
    struct ll_arena scratch = {0};
    uint64_t count = program->trace->signature_count, idle_count = 0;
    bool *idle = ll_alloc(&scratch, count, sizeof *idle);
    for (uint64_t i = 0; idle && i < count; i++)
        idle_count += idle[i] = is_idle(run, program->trace, &program->trace->signatures[i], again);
    const struct ll_machine *machine = run->machines[variant->pool];
    if (run->memo->machine != machine)
        ll_memo_turn(run->memo, machine);
    const struct ll_among among = {.exchanges = run->exchanges[variant->pool],
                                   .memo = run->memo,
                                   .idle = idle_count ? idle : NULL,
                                   .slowed = variant->slowed,
                                   .over_slow_links = variant->over_slow_links,
                                   .slow_links = run->spread->plan.slow_links.factor};
    const struct ll_result *result =
        idle ? ll_replay_among(program->prepared, machine, &among, run->arena, run->diags) : NULL;
    ll_arena_release(&scratch);
    return result;
}

/* When the forward pass of a step has ended, counted from the end of the step before, on average. */
static double forward_s(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double began_s = 0, end_s = 0, passed_s = 0, sum_s = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_op_result *op = &result->ops[seq - prepared->first_op];
        enum ll_phase phase = trace->signatures[trace->ops[seq].signature].phase;
        if (seq > prepared->first_op && trace->ops[seq].step != trace->ops[seq - 1].step) {
            sum_s += fmax(0, passed_s - began_s);
            began_s = end_s;
        }
        end_s = fmax(end_s, op->start_s + op->time_s);
        if (phase == LL_PHASE_FORWARD || phase == LL_PHASE_INPUT)
            passed_s = fmax(passed_s, op->start_s + op->time_s);
    }
    return (sum_s + fmax(0, passed_s - began_s)) / (double)prepared->steps;
}

/* What adding up gradients takes, where there are several micro-batches. False when memory ran out. */
static bool add_up(const struct run *run, struct variant *variant)
{
    const struct ll_device_program *program = &run->spread->programs[variant->program];
    struct ll_program_replay *measured = &variant->replay;
    const struct ll_machine *machine = run->machines[variant->pool];
    const struct ll_training *training = &machine->software.training;
    const bool replicas = ll_replicas(&run->spread->plan) > 1;
    uint64_t bytes, of_experts;
    if (!ll_added_gradients(program->trace, &bytes, &of_experts))
        return false;
    measured->swept_bytes = (training->gradient_passes + (replicas ? training->averaging_passes : 0)) *
                            (double)bytes / (double)program->prepared->steps;
    /* GEMMs that add up by themselves write the sum in place of the gradient, and read one more; of
     * experts, which have few rows each, tiles are too short for either to be hidden. In buffers that are
     * zeroed first they do so from the first micro-batch on. */
    const bool zeroed = run->spread->plan.main_grads && training->gradient_buffers;
    const double added_bytes =
        (run->spread->plan.main_grads ? (double)bytes + (double)of_experts : 2 * (double)bytes) /
        (double)program->prepared->steps;
    measured->swept_bytes += zeroed ? added_bytes : 0;
    measured->swept_s = variant->slowed * measured->swept_bytes / ll_machine_memory_Bps(machine);
    if (run->spread->sizes.micro_batches < 2)
        return true;
    measured->added_bytes = added_bytes;
    measured->added_s = variant->slowed * measured->added_bytes / ll_machine_memory_Bps(machine);
    return true;
}

static bool measure_variant(const struct run *run, struct variant *variant)
{
    struct ll_program_replay *measured = &variant->replay;
    measured->again = replay(run, variant, true);
    measured->per_step = replay(run, variant, false);
    if (!measured->again || !measured->per_step)
        return false;
    measured->forward_s = forward_s(measured->again);
    assert(measured->forward_s >= 0 && measured->again->time_s >= 0 && measured->per_step->time_s >= 0);
    return add_up(run, variant);
}

static struct ll_program_replay *measured_of(const struct run *run, uint64_t pool, uint32_t program)
{
    return &run->measured[pool * run->spread->program_count + program];
}

/* Each program on the devices of each pool that runs it. */
static bool measure(struct run *run)
{
    const struct ll_spread *spread = run->spread;
    for (uint64_t pool = 0; pool < run->pool_count; pool++)
        for (uint32_t vstage = 0; vstage < spread->vstage_count; vstage++) {
            const uint32_t program = spread->program_of[vstage];
            struct ll_program_replay *measured = measured_of(run, pool, program);
            struct variant like_others = {.program = program, .pool = pool, .slowed = 1};
            if (pool_of_vstage(run, vstage) != pool)
                continue;
            if (!measured->again && !measure_variant(run, &like_others))
                return false;
            *measured = measured->again ? *measured : like_others.replay;
            run->of[vstage] = measured;
        }
    return true;
}

/* --- the pipeline --- */

static uint64_t stage_of(const struct ll_spread *spread, uint64_t vstage)
{
    return ll_vstage_lies_on(spread->plan.schedule, spread->plan.pipeline, vstage);
}

/* The virtual stage to which one sends: the next on the way that is on that stage. With two models, the
 * second goes the other way, and none sends to the other. */
static bool receiver_of(const struct ll_spread *spread, uint32_t vstage, int64_t stages_on, bool backward,
                        uint32_t *to)
{
    const bool twice = ll_schedule_placement(spread->plan.schedule) == LL_PLACED_BOTH_WAYS;
    int64_t stages = (int64_t)spread->plan.pipeline, step = backward ? -1 : 1;
    if (twice && vstage >= stages)
        stages_on = -stages_on;
    int64_t stage = ((int64_t)stage_of(spread, vstage) + stages_on % stages + stages) % stages;
    for (int64_t other = (int64_t)vstage + step; other >= 0 && other < (int64_t)spread->vstage_count;
         other += step)
        if ((int64_t)stage_of(spread, (uint64_t)other) == stage &&
            (!twice || other / stages == vstage / stages)) {
            *to = (uint32_t)other;
            return true;
        }
    return false;
}

/* False after a complaint: stages cannot reach one another, or memory ran out. */
static bool refuse_message(const struct run *run, const struct ll_asked *asked, const char *trouble)
{
    uint64_t to = asked->first + (uint64_t)asked->peer;
    return ll_complain(run->diags, (struct ll_place){.file = run->machines[0]->path},
                       "stages, a message from device %" PRIu64 " to device %" PRIu64 ": %s", asked->first,
                       to, trouble);
}

/* On the network of both devices, of which one sends; both have a share of the links. */
static void note_message(struct run *run, const struct ll_vstage_message *message,
                         const struct ll_price *price)
{
    struct ll_exposure *ends[] = {&run->handed[message->from], &run->handed[message->to]};
    for (int i = 0; i < 2; i++) {
        ends[i]->count++;
        ends[i]->busy_s += message->time_s;
        ends[i]->links_j += price->exchanged.links_j / 2;
        for (uint32_t l = 0; l < run->machines[0]->network_count; l++)
            ends[i]->levels[l].busy_s += price->levels >> l & 1 ? message->time_s : 0;
    }
    ends[0]->levels[price->outermost].sent_bytes += price->exchanged.sent_bytes;
}

/* What an exchange of the pipeline that is simulated takes, on a stage of it. */
static double over_links_s(const struct run *run, uint64_t stage, const struct ll_asked *asked,
                           const struct ll_price *price)
{
    const struct ll_parallel *plan = &run->spread->plan;
    struct ll_price taken = *price;
    if (run->crew && ll_goes_over_slow_links(plan, &run->crews, run->crew, stage, asked))
        ll_price_over_slow_links(&taken, plan->slow_links.factor);
    return taken.exchanged.time_s;
}

/* An exchange of two virtual stages: between pools over the slower of both networks. NULL, or why there is
 * none. */
static const char *price_between(const struct run *run, uint64_t from, uint64_t to,
                                 const struct ll_asked *asked, struct ll_price *price)
{
    const uint64_t pools[] = {pool_of_vstage(run, from), pool_of_vstage(run, to)};
    *price = (struct ll_price){0};
    for (int i = 0; i < 1 + (pools[0] != pools[1]); i++) {
        const struct ll_asked first = ll_asked_of_first(run->exchanges[pools[i]], *asked);
        const struct ll_price *over = ll_exchanges_price(run->exchanges[pools[i]], &first);
        if (!over || over->trouble)
            return over ? over->trouble : "memory ran out";
        if (i == 0 || over->exchanged.time_s > price->exchanged.time_s)
            *price = *over;
    }
    return NULL;
}

/* Adds what an op of a virtual stage sends, to what goes there already. False after a complaint. */
static bool add_message(struct run *run, uint32_t vstage, const struct ll_op_signature *signature)
{
    const struct ll_parallel *plan = &run->spread->plan;
    int64_t apart = (int64_t)devices_of_stage(plan);
    struct ll_asked asked = ll_asked_by(&signature->view);
    struct ll_vstage_message message = {.from = vstage, .backward = signature->phase == LL_PHASE_BACKWARD};
    if (!receiver_of(run->spread, vstage, asked.peer / apart, message.backward, &message.to))
        return true;
    if (vstage >= plan->pipeline && ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS)
        asked.peer = -asked.peer;
    asked.first = stage_of(run->spread, vstage) * (uint64_t)apart;
    asked.span = (uint64_t)apart;
    struct ll_price price = {0};
    const char *trouble = asked.peer ? price_between(run, vstage, message.to, &asked, &price) : NULL;
    if (trouble)
        return refuse_message(run, &asked, trouble);
    message.time_s =
        asked.peer && !run->at_once ? over_links_s(run, stage_of(run->spread, vstage), &asked, &price) : 0;
    if (asked.peer && !run->at_once)
        note_message(run, &message, &price);
    for (uint64_t i = 0; i < run->message_count; i++)
        if (run->messages[i].from == vstage && run->messages[i].to == message.to &&
            run->messages[i].backward == message.backward) {
            run->messages[i].time_s += message.time_s;
            return true;
        }
    run->messages[run->message_count++] = message;
    return true;
}

static bool add_messages(struct run *run)
{
    run->message_count = 0;
    if (!run->at_once)
        memset(run->handed, 0, run->spread->vstage_count * sizeof *run->handed);
    for (uint32_t vstage = 0; vstage < run->spread->vstage_count; vstage++) {
        const struct ll_prepared *prepared = run->spread->programs[run->spread->program_of[vstage]].prepared;
        const struct ll_trace *trace = prepared->trace;
        const struct ll_op *ops = trace->ops;
        for (uint32_t seq = prepared->first_op;
             seq < prepared->end_op && ops[seq].step == ops[prepared->first_op].step; seq++) {
            const struct ll_op_signature *signature = &trace->signatures[ops[seq].signature];
            if (signature->view.kind == LL_OP_SEND && !ll_is_per_step(trace, signature) &&
                !add_message(run, vstage, signature))
                return false;
        }
    }
    return true;
}

bool *ll_find_weight_halves(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    bool *awaited = ll_alloc(arena, trace->tensor_count + 1, sizeof *awaited);
    bool *of_weights = ll_alloc(arena, prepared->end_op - prepared->first_op + 1u, sizeof *of_weights);
    for (uint32_t seq = prepared->end_op; awaited && of_weights && seq-- > prepared->first_op;) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[seq].signature];
        bool passes = signature->phase == LL_PHASE_FORWARD || signature->phase == LL_PHASE_BACKWARD;
        bool alone = signature->phase == LL_PHASE_BACKWARD && !is_exchange(signature);
        for (uint32_t i = 0; alone && i < signature->view.output_count; i++)
            alone = !awaited[ll_op_output(trace, seq, i)];
        for (uint32_t i = 0; passes && !alone && i < signature->view.input_count; i++)
            awaited[ll_op_input(trace, seq, i)] = true;
        of_weights[seq - prepared->first_op] = alone;
    }
    return awaited ? of_weights : NULL;
}

/* The time of a backward pass that gives gradients of weights alone; 0 when memory ran out. */
static double weights_s(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    struct ll_arena scratch = {0};
    const bool *of_weights = ll_find_weight_halves(prepared, &scratch);
    double sum_s = 0;
    for (uint32_t seq = prepared->end_op; of_weights && seq-- > prepared->first_op;)
        sum_s += of_weights[seq - prepared->first_op] ? result->ops[seq - prepared->first_op].time_s : 0;
    ll_arena_release(&scratch);
    return sum_s / (double)prepared->steps;
}

/* Both models' stages have the same weights, whose gradients they add up. */
static double between_models_s(const struct run *run, uint32_t vstage)
{
    const struct ll_parallel *plan = &run->spread->plan;
    uint64_t bytes, of_experts, stage = vstage % plan->pipeline, other = plan->pipeline - 1 - stage;
    if (ll_schedule_placement(plan->schedule) != LL_PLACED_BOTH_WAYS || vstage >= plan->pipeline ||
        !ll_added_gradients(run->spread->programs[run->spread->program_of[vstage]].trace, &bytes,
                            &of_experts))
        return 0;
    struct ll_asked asked = {.kind = LL_OP_ALL_REDUCE,
                             .bytes = plan->zero ? bytes / ll_replicas(plan) : bytes,
                             .devices = 2,
                             .stride =
                                 devices_of_stage(plan) * (stage > other ? stage - other : other - stage)};
    struct ll_price price;
    return price_between(run, stage, other, &asked, &price) ? 0 : over_links_s(run, stage, &asked, &price);
}

/* The first micro-batch has nothing to add its gradients to, which the tail makes up for; where the tail is
 * shorter than that, all micro-batches share what is left. */
static void time_vstages(struct run *run)
{
    for (uint32_t vstage = 0; vstage < run->spread->vstage_count; vstage++) {
        const struct ll_program_replay *measured = run->of[vstage];
        double tail_s = fmax(0, measured->per_step->time_s - measured->again->time_s) - measured->added_s +
                        measured->swept_s;
        double shared_s = fmin(0, tail_s) / (double)run->spread->sizes.micro_batches;
        run->times[vstage] = (struct ll_vstage_times){
            .forward_s = measured->forward_s,
            .backward_s =
                fmax(0, measured->again->time_s - measured->forward_s) + measured->added_s + shared_s,
            .tail_s = fmax(0, tail_s) + between_models_s(run, vstage),
        };
        if (run->spread->plan.pipeline > 1)
            run->times[vstage].joint_s =
                fmin(run->times[vstage].tail_s, ll_behind_norm_s(measured->per_step));
        if (ll_schedule_splits(run->spread->plan.schedule))
            run->times[vstage].weights_s =
                fmin(run->times[vstage].backward_s, weights_s(measured->again) + measured->added_s);
        assert(run->times[vstage].forward_s >= 0 && run->times[vstage].backward_s >= 0);
    }
}

/* One stage waits for nobody. */
static void run_alone(const struct run *run, struct ll_pipeline_result *result)
{
    assert(run->spread->vstage_count == 1 && run->spread->sizes.micro_batches > 0);
    const struct ll_program_replay *measured = run->of[0];
    double more = (double)(run->spread->sizes.micro_batches - 1);
    result->time_s =
        more * (measured->again->time_s + measured->added_s) + measured->per_step->time_s + measured->swept_s;
    result->busy_s = result->time_s;
    run->done_s[0] = fmax(0, result->time_s - run->times[0].tail_s);
}

static struct ll_pipeline_shape shape_of(const struct ll_spread *spread)
{
    return (struct ll_pipeline_shape){.schedule = spread->plan.schedule,
                                      .stages = spread->plan.pipeline,
                                      .chunks = spread->plan.chunks,
                                      .micro_batches = spread->sizes.micro_batches};
}

/* Pieces that are measured hand micro-batches to one another. */
static bool run_vstages(struct run *run, bool at_once, struct ll_pipeline_result *result)
{
    run->at_once = at_once;
    if (!add_messages(run))
        return false;
    const struct ll_pipeline pipeline = {.shape = shape_of(run->spread),
                                         .vstages = run->times,
                                         .messages = run->messages,
                                         .message_count = run->message_count,
                                         .done_s = at_once ? NULL : run->done_s};
    return ll_pipeline_run(&pipeline, result);
}

/* What the step was simulated as, for who asks when its passes run: a copy, for messages are priced again. */
static bool keep_pipeline(struct run *run)
{
    struct ll_pipeline *kept = ll_alloc(run->arena, 1, sizeof *kept);
    struct ll_vstage_message *messages =
        ll_copy(run->arena, run->messages, (run->message_count + 1) * sizeof *messages);
    if (!kept || !messages)
        return false;
    *kept = (struct ll_pipeline){.shape = shape_of(run->spread),
                                 .vstages = run->times,
                                 .messages = messages,
                                 .message_count = run->message_count};
    run->pipeline = kept;
    return true;
}

/* The pipeline whose virtual stages have been measured. */
static bool play(struct run *run, struct ll_pipeline_result *result)
{
    *result = (struct ll_pipeline_result){0};
    time_vstages(run);
    if (run->spread->vstage_count > 1)
        return run_vstages(run, false, result);
    run_alone(run, result);
    return true;
}

/* --- pipelines with slow devices --- */

/* By signature of the program of a virtual stage: which exchanges go over slow links in the pipeline that is
 * simulated, messages between stages apart. Whether any does. */
static bool find_over_slow_links(const struct run *run, uint32_t vstage, bool *over)
{
    const struct ll_spread *spread = run->spread;
    const struct ll_trace *trace = spread->programs[spread->program_of[vstage]].trace;
    bool any = false;
    for (uint64_t i = 0; i < trace->signature_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[i];
        if (!is_exchange(signature) || is_idle(run, trace, signature, false))
            continue;
        const struct ll_asked asked = ll_asked_by(&signature->view);
        over[i] =
            ll_goes_over_slow_links(&spread->plan, &run->crews, run->crew, stage_of(spread, vstage), &asked);
        any |= over[i];
    }
    return any;
}

/* A program replayed in a crew like this one, once for all of them. NULL after complaints or when memory ran
 * out. */
static const struct ll_program_replay *replay_of(struct run *run, const struct variant *wanted)
{
    const uint64_t signatures = run->spread->programs[wanted->program].trace->signature_count;
    for (struct variant *known = run->variants; known; known = known->next)
        if (known->program == wanted->program && known->pool == wanted->pool &&
            known->slowed == wanted->slowed &&
            memcmp(known->over_slow_links, wanted->over_slow_links, signatures * sizeof(bool)) == 0)
            return &known->replay;
    struct variant *variant = ll_copy(run->arena, wanted, sizeof *wanted);
    if (!variant || !(variant->over_slow_links =
                          ll_copy(run->arena, wanted->over_slow_links, (signatures + 1) * sizeof(bool))))
        return NULL;
    if (!measure_variant(run, variant))
        return NULL;
    variant->next = run->variants;
    run->variants = variant;
    return &variant->replay;
}

/* How a virtual stage goes in the pipeline that is simulated. NULL as above. */
static const struct ll_program_replay *replay_in_crew(struct run *run, uint32_t vstage)
{
    const struct ll_spread *spread = run->spread;
    const uint32_t program = spread->program_of[vstage];
    const bool slow = run->crew[stage_of(spread, vstage)] & LL_SLOW_DEVICE;
    struct ll_arena scratch = {0};
    bool *over = ll_alloc(&scratch, spread->programs[program].trace->signature_count + 1, sizeof *over);
    const struct variant wanted = {.program = program,
                                   .pool = pool_of_vstage(run, vstage),
                                   .slowed = slow ? spread->plan.stragglers.factor : 1,
                                   .over_slow_links = over};
    const struct ll_program_replay *found = NULL;
    if (over)
        found = find_over_slow_links(run, vstage, over) || slow ? replay_of(run, &wanted)
                                                                : measured_of(run, wanted.pool, program);
    ll_arena_release(&scratch);
    return found;
}

static bool run_crew(struct run *run, uint64_t pipeline, struct ll_pipeline_result *result)
{
    run->crew = &run->crews.slow[pipeline * run->crews.stages];
    for (uint32_t vstage = 0; vstage < run->spread->vstage_count; vstage++)
        if (!(run->of[vstage] = replay_in_crew(run, vstage)))
            return false;
    return play(run, result);
}

/* The time of a program's weight updates without exchanges, per step. */
static double update_s(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    double sum_s = 0;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++)
        if (trace->signatures[trace->ops[seq].signature].phase == LL_PHASE_UPDATE &&
            !is_exchange(&trace->signatures[trace->ops[seq].signature]))
            sum_s += result->ops[seq - prepared->first_op].time_s;
    return sum_s / (double)prepared->steps;
}

/* Of what a virtual stage does once a step, its weight updates. */
static double update_of(const struct run *run, uint64_t vstage)
{
    return fmin(run->times[vstage].tail_s, update_s(run->of[vstage]->per_step));
}

/* When a stage is done, of those pipelines that have been simulated: the last one, and what it updates then;
 * the longest update of all. */
struct stage_end {
    double last_s, update_s, longest_s;
};

static void note_end(const struct run *run, uint64_t stage, struct stage_end *end)
{
    const struct ll_parallel *plan = &run->spread->plan;
    double done_s = run->done_s[stage], update_s = 0;
    for (uint64_t c = 0; c < plan->chunks; c++) {
        const uint64_t vstage = ll_vstage_at(plan->schedule, plan->pipeline, stage, c);
        done_s += run->times[vstage].tail_s;
        update_s += update_of(run, vstage);
    }
    if (done_s > end->last_s) {
        end->last_s = done_s;
        end->update_s = update_s;
    }
    end->longest_s = fmax(end->longest_s, update_s);
}

/* On a stage gradients are there for all pipelines when the last one has reduced them, and all is over when
 * the longest update is. The pipeline that ends last by itself is the one that is reported. */
static bool run_crews(struct run *run, struct ll_pipeline_result *result)
{
    const uint64_t stages = run->crews.stages;
    struct stage_end *ends = ll_alloc(run->arena, stages, sizeof *ends);
    double most_s = -1;
    uint64_t last = 0;
    for (uint64_t i = 0; i < run->crews.count; i++) {
        if (!ends || !run_crew(run, i, result))
            return false;
        last = result->time_s > most_s ? i : last;
        most_s = fmax(most_s, result->time_s);
        for (uint64_t s = 0; s < stages; s++)
            note_end(run, s, &ends[s]);
    }
    if (!run_crew(run, last, result))
        return false;
    run->alone_s = result->time_s;
    for (uint64_t s = 0; run->crews.count > 1 && s < stages; s++)
        result->time_s = fmax(result->time_s, ends[s].last_s + (ends[s].longest_s - ends[s].update_s));
    result->idle_s += (double)stages * (result->time_s - run->alone_s);
    return true;
}

/* False after complaints or when memory ran out. */
static bool run_step(struct run *run, struct ll_pipeline_result *result)
{
    const struct ll_parallel *plan = &run->spread->plan;
    if (!measure(run) || !play(run, result))
        return false;
    run->even_s = run->alone_s = result->time_s;
    if (plan->stragglers.share > 0 || plan->slow_links.share > 0)
        if (!ll_crews_draw(plan, run->arena, &run->crews) || !run_crews(run, result))
            return false;
    return keep_pipeline(run);
}

/* --- what comes of it --- */

/* Exchanges on the network of each pool; those of several stages may be among several pools. */
static bool open_exchanges(struct run *run, struct ll_prices *prices)
{
    const struct ll_spread *spread = run->spread;
    const uint64_t devices = spread->sizes.devices > 1 ? spread->sizes.devices : 0, pools = run->pool_count;
    run->exchanges = ll_alloc(run->arena, pools, sizeof(struct ll_exchanges *));
    struct ll_exchanges **all = ll_alloc(run->arena, pools, sizeof(struct ll_exchanges *));
    if (!run->exchanges || !all)
        return false;
    for (uint64_t i = 0; i < pools; i++) {
        run->exchanges[i] = ll_exchanges_new(run->machines[i], devices, prices);
        if (pools > 1)
            run->alone[i] = ll_exchanges_new(run->machines[i], devices, prices);
        if (!run->exchanges[i] || (pools > 1 && !run->alone[i]))
            return false;
    }
    for (uint64_t i = 0; pools > 1 && i < pools; i++)
        if (!ll_exchanges_join(run->exchanges[i], run->alone, pools, devices_of_stage(&spread->plan)))
            return false;
    return true;
}

/* Whether stages lie on pools: each has some, and those of a pool have whole nodes of its network. */
static bool check_pools(const struct run *run)
{
    const struct ll_parallel *plan = &run->spread->plan;
    uint64_t given = 0, sum = 0;
    for (; given < LL_MOST_POOLS && plan->pool_stages[given] > 0; given++)
        sum = ll_add(sum, plan->pool_stages[given]);
    if (given > 0 && (given != run->pool_count || sum != plan->pipeline))
        return ll_complain(run->diags, (struct ll_place){0},
                           "pool_stages: %" PRIu64 " stages on %" PRIu64 " pools; expected pp %" PRIu64
                           " stages on the machine's %" PRIu64,
                           sum, given, plan->pipeline, run->pool_count);
    if (plan->pipeline < run->pool_count)
        return ll_complain(run->diags, (struct ll_place){0},
                           "pp %" PRIu64 ": expected at least a stage for each of the machine's %" PRIu64
                           " pools",
                           plan->pipeline, run->pool_count);
    for (uint64_t i = 0; run->pool_count > 1 && i < run->pool_count; i++) {
        uint64_t devices = 0;
        const struct ll_machine *machine = run->machines[i];
        for (uint64_t s = 0; s < plan->pipeline; s++)
            devices += pool_of_stage(run, s) == i ? devices_of_stage(plan) : 0;
        if (machine->network_count < 2 || devices % machine->networks[0].devices != 0)
            return ll_complain(run->diags, (struct ll_place){0},
                               "pool %" PRIu64 " has the devices of its stages, %" PRIu64
                               "; expected whole nodes, and a network between them%s",
                               i + 1, devices, machine->network_count < 2 ? ", which it does not have" : "");
    }
    return true;
}

static bool open_run(struct run *run, const struct ll_spread *spread,
                     const struct ll_machine *const *machines, uint64_t pools,
                     struct ll_remembered *remembered, struct ll_arena *arena, struct ll_diags *diags)
{
    uint64_t vstages = spread->vstage_count;
    assert(pools > 0 && pools <= LL_MOST_POOLS);
    *run = (struct run){.spread = spread,
                        .machines = machines,
                        .pool_count = pools,
                        .memo = &remembered->costs,
                        .arena = arena,
                        .diags = diags};
    if (!check_pools(run))
        return false;
    ll_memo_turn(&remembered->costs, machines[0]);
    if (!open_exchanges(run, &remembered->prices))
        return false;
    run->measured = ll_alloc(arena, ll_mul(pools, spread->program_count), sizeof *run->measured);
    run->times = ll_alloc(arena, vstages, sizeof *run->times);
    run->messages = ll_alloc(arena, vstages * vstages * 2 + 1, sizeof *run->messages);
    run->handed = ll_alloc(arena, vstages, sizeof *run->handed);
    run->of = ll_alloc(arena, vstages, sizeof *run->of);
    run->done_s = ll_alloc(arena, spread->plan.pipeline, sizeof *run->done_s);
    run->memory = ll_alloc(arena, ll_mul(pools, spread->program_count), sizeof *run->memory);
    return run->memory && run->measured && run->times && run->messages && run->handed && run->of &&
           run->done_s;
}

/* What a device of a stage replays in a step. */
static size_t terms_of(const struct run *run, uint64_t stage, struct ll_term *terms)
{
    assert(stage < run->spread->plan.pipeline);
    const struct ll_spread *spread = run->spread;
    size_t count = 0;
    for (uint64_t c = 0; c < spread->plan.chunks; c++) {
        const uint64_t vstage = ll_vstage_at(spread->plan.schedule, spread->plan.pipeline, stage, c);
        const struct ll_program_replay *measured = run->of[vstage];
        const struct ll_exposure *handed = &run->handed[vstage];
        terms[count++] =
            (struct ll_term){measured->per_step, 1, measured->swept_bytes, measured->swept_s, handed};
        if (spread->sizes.micro_batches > 1)
            terms[count++] = (struct ll_term){measured->again, (double)(spread->sizes.micro_batches - 1),
                                              measured->added_bytes, measured->added_s, handed};
    }
    return count;
}

static bool sum_stage(const struct run *run, uint64_t stage, struct ll_term *terms,
                      struct ll_footprint *footprint, struct ll_stage_use *use)
{
    struct ll_pipeline_shape shape = shape_of(run->spread);
    double m = (double)shape.micro_batches;
    *use = (struct ll_stage_use){.flops = ll_combined_flops(terms, terms_of(run, stage, terms)),
                                 .in_flight = ll_stage_in_flight(&shape, stage)};
    for (uint64_t c = 0; c < shape.chunks; c++) {
        const uint64_t vstage = ll_vstage_at(shape.schedule, shape.stages, stage, c);
        use->forward_s += run->times[vstage].forward_s;
        use->backward_s += run->times[vstage].backward_s;
        use->tail_s += run->times[vstage].tail_s;
        const struct ll_program_replay *measured = run->of[vstage];
        use->exposed_s += measured->again->network.exposed_s;
        use->update_s += update_of(run, vstage);
    }
    use->busy_s = m * (use->forward_s + use->backward_s) + use->tail_s;
    assert(use->flops >= 0 && use->busy_s >= 0 && use->in_flight > 0 &&
           use->in_flight <= shape.micro_batches * shape.chunks);
    return ll_use_memory(run->spread, machine_of(run, stage), stage, terms[0].result->footprint,
                         &run->memory[pool_of_stage(run, stage) * run->spread->program_count], footprint,
                         use);
}

/* Whether a stage's devices are fuller than another one's: on devices alike the more bytes, else the larger
 * share. */
static bool is_fuller(const struct ll_stage_use *a, const struct ll_stage_use *b)
{
    return a->capacity_bytes == b->capacity_bytes ? a->memory_bytes > b->memory_bytes
                                                  : (double)a->memory_bytes * (double)b->capacity_bytes >
                                                        (double)b->memory_bytes * (double)a->capacity_bytes;
}

/* What a pool has of the step. */
static void add_to_pool(const struct run *run, uint64_t stage, double energy_j, struct ll_pool_use *pools)
{
    struct ll_pool_use *pool = &pools[pool_of_stage(run, stage)];
    if (pool->stages == 0)
        *pool = (struct ll_pool_use){.machine = machine_of(run, stage), .first_stage = stage};
    pool->stages++;
    pool->devices += devices_of_stage(&run->spread->plan);
    pool->energy_j += energy_j;
}

/* Adds the energy of a stage's devices. */
static double add_energy(const struct run *run, const struct ll_term *terms, size_t count, double step_s,
                         struct ll_parallel_result *result)
{
    double devices = (double)devices_of_stage(&run->spread->plan);
    struct ll_energy_parts parts;
    const double energy_j = devices * ll_combined_energy_j(terms, count, step_s, &parts);
    result->energy_j += energy_j;
    ll_energy_add(&result->energy, &parts, devices);
    return energy_j;
}

/* The result of a device of the slowest stage; that of a plain replay as it is. */
static bool sum_up(const struct run *run, const struct ll_pipeline_result *step,
                   struct ll_parallel_result *result)
{
    const struct ll_spread *spread = run->spread;
    uint64_t stages = spread->plan.pipeline;
    struct ll_stage_use *uses = ll_alloc(run->arena, stages, sizeof *uses);
    struct ll_footprint *footprints = ll_alloc(run->arena, stages, sizeof *footprints);
    struct ll_term *terms = ll_alloc(run->arena, 2 * spread->plan.chunks, sizeof *terms);
    struct ll_pool_use *pools = ll_alloc(run->arena, run->pool_count, sizeof *pools);
    bool done = uses && footprints && terms && pools, fits = true;
    for (uint64_t s = 0; done && s < stages; s++) {
        done = sum_stage(run, s, terms, &footprints[s], &uses[s]);
        const double energy_j = add_energy(run, terms, terms_of(run, s, terms), step->time_s, result);
        add_to_pool(run, s, energy_j, pools);
        result->flops += uses[s].flops * (double)devices_of_stage(&spread->plan);
        result->fullest = is_fuller(&uses[s], &uses[result->fullest]) ? s : result->fullest;
        fits &= uses[s].fits;
    }
    if (!done)
        return false;
    result->stages = uses;
    result->pools = pools;
    result->pool_count = run->pool_count;
    size_t count = terms_of(run, step->slowest, terms);
    bool plain = count == 1 && spread->vstage_count == 1 && terms[0].more_s == 0 &&
                 terms[0].result->time_s == step->time_s;
    result->result = plain ? terms[0].result
                           : ll_combine(terms, count, step->time_s, step->time_s - uses[step->slowest].busy_s,
                                        &footprints[result->fullest], run->arena);
    struct ll_result *judged =
        result->result && run->pool_count > 1 ? ll_copy(run->arena, result->result, sizeof *judged) : NULL;
    if (judged) { /* by each pool's own memory */
        judged->fits = fits;
        result->result = judged;
    }
    return result->result && (judged || run->pool_count == 1);
}

/* What of a replay's exchanges shows, by what they are for. */
static bool add_exposed(const struct run *run, const struct ll_term *term, double exposed_s[LL_TRAFFIC_COUNT])
{
    const struct ll_trace *trace = term->result->prepared->trace;
    struct ll_arena scratch = {0};
    uint8_t *traffic = ll_alloc(&scratch, trace->signature_count, sizeof *traffic);
    double shown_s[LL_TRAFFIC_COUNT] = {0};
    for (uint64_t f = 0; traffic && f < trace->signature_count; f++)
        if (is_exchange(&trace->signatures[f]))
            traffic[f] = (uint8_t)ll_traffic_of(&run->spread->plan, &trace->signatures[f]);
    bool done = traffic && ll_exposed_by_kind(term->result, traffic, shown_s);
    for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
        exposed_s[i] += term->times * shown_s[i];
    ll_arena_release(&scratch);
    return done;
}

/* Of what a stage hands on and is handed in a step, so much shows, but no more than there is. */
static void share_shown(struct run *run, uint64_t stage, double shown_s)
{
    assert(shown_s >= 0);
    const struct ll_parallel *plan = &run->spread->plan;
    double busy_s = 0;
    for (uint64_t c = 0; c < plan->chunks; c++)
        busy_s += run->handed[ll_vstage_at(plan->schedule, plan->pipeline, stage, c)].busy_s *
                  (double)run->spread->sizes.micro_batches;
    double share = busy_s > 0 ? fmin(1, shown_s / busy_s) : 0;
    for (uint64_t c = 0; c < plan->chunks; c++) {
        struct ll_exposure *handed = &run->handed[ll_vstage_at(plan->schedule, plan->pipeline, stage, c)];
        handed->exposed_s = share * handed->busy_s;
        for (unsigned l = 0; l < LL_MAX_LINKS; l++)
            handed->levels[l].exposed_s = share * handed->levels[l].busy_s;
    }
}

static bool find_exposed(struct run *run, const struct ll_pipeline_result *step,
                         struct ll_parallel_result *result)
{
    struct ll_arena scratch = {0};
    struct ll_pipeline_result without = {0};
    struct ll_term *terms = ll_alloc(&scratch, 2 * run->spread->plan.chunks, sizeof *terms);
    size_t count = terms ? terms_of(run, step->slowest, terms) : 0;
    bool done = terms;
    for (size_t i = 0; done && i < count; i++)
        done = add_exposed(run, &terms[i], result->exposed_s);
    if (done && run->spread->vstage_count > 1 && (done = run_vstages(run, true, &without))) {
        double shown_s = fmax(0, run->alone_s - without.time_s);
        result->exposed_s[LL_TRAFFIC_PIPELINE] += shown_s;
        share_shown(run, step->slowest, shown_s);
    }
    ll_arena_release(&scratch);
    return done;
}

static void close_run(struct run *run)
{
    for (uint64_t i = 0; run->exchanges && i < run->pool_count; i++)
        ll_exchanges_free(run->exchanges[i]);
    for (uint64_t i = 0; i < run->pool_count; i++)
        ll_exchanges_free(run->alone[i]);
}

/* The machines of all pools; how many. */
static uint64_t list_pools(const struct ll_machine *machine, const struct ll_machine *machines[LL_MOST_POOLS])
{
    uint64_t count = 0;
    machines[count++] = machine;
    for (uint64_t i = 0; i < machine->pool_count && count < LL_MOST_POOLS; i++)
        machines[count++] = machine->pools[i];
    return count;
}

const struct ll_parallel_result *ll_parallel_run(const struct ll_spread *spread,
                                                 const struct ll_machine *machine,
                                                 struct ll_remembered *remembered, struct ll_arena *arena,
                                                 struct ll_diags *diags)
{
    struct run run;
    struct ll_pipeline_result step;
    struct ll_parallel_result *result = ll_alloc(arena, 1, sizeof *result);
    const struct ll_machine *machines[LL_MOST_POOLS];
    const uint64_t pools = list_pools(machine, machines);
    bool done =
        open_run(&run, spread, machines, pools, remembered, arena, diags) && result && run_step(&run, &step);
    if (done) {
        *result = (struct ll_parallel_result){.spread = spread,
                                              .machine = machine,
                                              .step_s = step.time_s,
                                              .slowest = step.slowest,
                                              .pipeline = run.pipeline,
                                              .replays = run.of,
                                              .even_s = run.even_s,
                                              .slow_devices = run.crews.devices,
                                              .slow_links = run.crews.links};
        double all_s = step.time_s * (double)spread->plan.pipeline;
        result->bubble = all_s > 0 ? step.idle_s / all_s : 0;
        assert(result->bubble >= 0 && result->bubble < 1);
        result->samples_Hz = step.time_s > 0 ? (double)spread->sizes.batch / step.time_s : 0;
        done = find_exposed(&run, &step, result) && sum_up(&run, &step, result);
    }
    for (int i = 0; done && i < LL_TRAFFIC_COUNT; i++)
        assert(result->exposed_s[i] >= 0);
    assert(!done || (result->flops >= 0 && shares_sum_to_one(result->result)));
    assert(!done || exposes_no_more_than_it_takes(&result->result->network));
    close_run(&run);
    return done ? result : NULL;
}

static double time_on_s(const struct ll_spread *spread, const struct ll_machine *const *machines,
                        uint64_t pools, struct ll_remembered *remembered, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct run run;
    struct ll_pipeline_result step;
    bool done = open_run(&run, spread, machines, pools, remembered, &scratch, diags) && run_step(&run, &step);
    close_run(&run);
    ll_arena_release(&scratch);
    return done ? step.time_s : -1;
}

double ll_parallel_time_s(const struct ll_spread *spread, const struct ll_machine *machine,
                          struct ll_remembered *remembered, struct ll_diags *diags)
{
    const struct ll_machine *machines[LL_MOST_POOLS];
    const uint64_t pools = list_pools(machine, machines);
    return time_on_s(spread, machines, pools, remembered, diags);
}

struct again {
    const struct ll_spread *spread;
    const struct ll_machine *machine;
    const struct ll_machine *slowest; /* of its pools that of the bottleneck stage, which is turned */
    struct ll_remembered *remembered;
};

static double turned_s(const struct ll_machine *machine, void *context)
{
    const struct again *again = context;
    struct ll_diags diags = {0};
    const struct ll_machine *machines[LL_MOST_POOLS];
    const uint64_t pools = list_pools(again->machine, machines);
    for (uint64_t i = 0; i < pools; i++)
        machines[i] = machines[i] == again->slowest ? machine : machines[i];
    double time_s = time_on_s(again->spread, machines, pools, again->remembered, &diags);
    ll_diags_release(&diags);
    return time_s;
}

const struct ll_gain *ll_parallel_what_if(const struct ll_parallel_result *result,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count)
{
    struct again again = {result->spread, result->machine, result->result->machine, remembered};
    return ll_turn_knobs(result->result->machine, result->step_s, turned_s, &again, arena, count);
}
