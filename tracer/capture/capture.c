/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of one process from its events: forms of calls, ops with their edges, gaps, and the summary. */
#include "tracer/capture/capture.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/capture/forms.h"
#include "tracer/capture/meaning.h"
#include "tracer/capture/memory.h"
#include "tracer/capture/steps.h"
#include "tracer/record/host.h"

/* An operand without its address. */
enum {
    OPERAND_FROM = offsetof(struct ll_call_operand, rows),
    OPERAND_BYTES = offsetof(struct ll_call_operand, role) + 1 - OPERAND_FROM
};

static const unsigned char *looks_of(const struct ll_call_operand *operand)
{
    return (const unsigned char *)operand + OPERAND_FROM;
}

/* All that makes a form, as bytes in a row. */
struct key {
    unsigned char bytes[40 + LL_MAX_CALL_NUMBERS * sizeof(int64_t) + LL_MAX_OPERANDS * OPERAND_BYTES];
    size_t size;
};

static void put(struct key *key, const void *bytes, size_t size)
{
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
}

static void make_key(const struct ll_call *call, struct key *key)
{
    const uint64_t head[] = {call->caller, call->mapping, call->routine, call->dtype,
                             (uint64_t)call->operand_count << 32 | call->number_count};
    key->size = 0;
    put(key, head, sizeof head);
    put(key, call->number, call->number_count * sizeof *call->number);
    for (uint32_t i = 0; i < call->operand_count; i++)
        put(key, looks_of(&call->operand[i]), OPERAND_BYTES);
}

static struct ll_call_form *look_up(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct key key;
    bool is_new;
    make_key(call, &key);
    if (!ll_grow(&forms->forms, &forms->capacity, forms->keys.count + 1u, sizeof *forms->forms))
        return NULL;
    uint32_t id = ll_map_intern(&forms->keys, key.bytes, key.size, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new)
        forms->forms[id] = ll_alloc(&forms->arena, 1, sizeof **forms->forms);
    return forms->forms[id];
}

/* From now on calls of this number have this form. */
static bool number_form(struct ll_call_forms *forms, uint32_t number, struct ll_call_form *form)
{
    if (!ll_grow(&forms->numbered, &forms->numbered_capacity, number + UINT64_C(1), sizeof *forms->numbered))
        return false;
    while (forms->numbered_count <= number)
        forms->numbered[forms->numbered_count++] = NULL;
    forms->numbered[number] = form;
    return true;
}

struct ll_call_form *ll_call_form_of(struct ll_call_forms *forms, const struct ll_call *call)
{
    struct ll_call_form *form = call->form < forms->numbered_count ? forms->numbered[call->form] : NULL;
    if (form)
        return form;
    form = look_up(forms, call);
    return form && (!call->form || number_form(forms, call->form, form)) ? form : NULL;
}

void ll_call_forms_release(struct ll_call_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    free(forms->numbered);
    *forms = (struct ll_call_forms){0};
}

enum {
    LEAST_GAP_NS = 1000, /* less is the way from one call to the next */
    ROWS_FREE = 1 << 17, /* so many regions and rows may be gone through, and so many more a call; .. */
    ROWS_PER_CALL =
        64 /* .. then rows that lie apart count as one run, or a program of a second takes hours */
};

/* What a thread of the process did last. */
struct thread {
    uint32_t number; /* of the events */
    uint32_t last_op, first_output, output_count;
    bool last_is_gap;
    struct ll_seen_thread seen;
};

struct ll_capture {
    struct ll_capture_settings settings;
    struct ll_recorder *recorder;
    struct ll_meanings meanings;
    struct ll_memory memory;
    struct ll_waits waits;
    struct ll_call_forms forms;
    struct ll_map sites, looks, shapes; /* places to scopes; forms to looks; shapes to descs */
    uint32_t *site_scopes, *shape_descs;
    uint64_t site_capacity, desc_capacity;
    struct thread *threads;
    struct ll_seen_thread *seen; /* for the summary */
    uint64_t thread_capacity, seen_capacity;
    struct ll_cuts cuts;
    struct ll_capture_summary summary;
    uint64_t end_ns;
};

/* Opening and closing. */

struct ll_capture *ll_capture_open(const struct ll_capture_settings *settings)
{
    struct ll_capture *capture = calloc(1, sizeof *capture);
    if (!capture || !ll_cuts_prepare(&capture->cuts)) {
        free(capture);
        return NULL;
    }
    capture->settings = *settings;
    ll_meanings(&capture->meanings);
    capture->recorder = settings->recorder;
    capture->memory.recorder = settings->recorder;
    ll_recorder_afterwards(capture->recorder, settings->origin_ns);
    capture->memory.scope = ll_recorder_string(capture->recorder, "memory");
    return capture;
}

static void release(struct ll_capture *capture)
{
    ll_memory_release(&capture->memory);
    ll_call_forms_release(&capture->forms);
    free(capture->waits.ops);
    ll_map_release(&capture->sites);
    ll_map_release(&capture->looks);
    ll_map_release(&capture->shapes);
    free(capture->site_scopes);
    free(capture->shape_descs);
    free(capture->threads);
    free(capture->seen);
    ll_cuts_release(&capture->cuts);
    free(capture);
}

/* What repeats. */

static uint32_t scope_of(struct ll_capture *capture, const struct ll_call *call)
{
    const uint64_t place[] = {call->caller, call->mapping};
    bool is_new;
    if (!ll_grow(&capture->site_scopes, &capture->site_capacity, capture->sites.count + 1u,
                 sizeof *capture->site_scopes))
        return LL_NONE;
    uint32_t site = ll_map_intern(&capture->sites, place, sizeof place, &is_new);
    if (site == LL_NO_ID)
        return LL_NONE;
    if (!is_new)
        return capture->site_scopes[site];
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, call->caller);
    const struct ll_capture_settings *settings = &capture->settings;
    const char *named =
        settings->site ? settings->site(settings->context, call->caller, call->mapping) : NULL;
    return capture->site_scopes[site] = ll_recorder_string(capture->recorder, named ? named : text);
}

static uint32_t desc_of(struct ll_capture *capture, const struct ll_shape *shape)
{
    bool is_new;
    if (!ll_grow(&capture->shape_descs, &capture->desc_capacity, capture->shapes.count + 1u,
                 sizeof *capture->shape_descs))
        return LL_NONE;
    uint32_t number = ll_map_intern(&capture->shapes, shape, sizeof *shape, &is_new);
    if (number == LL_NO_ID)
        return LL_NONE;
    if (is_new)
        capture->shape_descs[number] = ll_recorder_desc(capture->recorder, "", shape, LL_ACTIVATION);
    return capture->shape_descs[number];
}

static struct thread *thread_of(struct ll_capture *capture, uint32_t number)
{
    uint32_t count = capture->summary.thread_count;
    for (uint32_t i = 0; i < count; i++)
        if (capture->threads[i].number == number)
            return &capture->threads[i];
    if (!ll_grow(&capture->threads, &capture->thread_capacity, count + 1u, sizeof *capture->threads))
        return NULL;
    capture->threads[count] = (struct thread){
        .number = number,
        .last_op = LL_NONE,
        .seen = {.begin_ns = capture->settings.origin_ns, .end_ns = capture->settings.origin_ns}};
    capture->summary.thread_count++;
    return &capture->threads[count];
}

static struct ll_stretch_of_memory stretch_of(const struct ll_capture *capture,
                                              const struct ll_call_operand *operand)
{
    uint64_t gaps = operand->rows ? ll_mul(operand->rows - 1, operand->stride_bytes) : 0;
    uint64_t bytes = ll_add(gaps, operand->row_bytes);
    if (ll_add(operand->address, bytes) >= INT64_MAX) /* no memory lies there */
        return ll_stretch(operand->address, 0, 0, 0);
    if (operand->rows > 1 && capture->memory.coarse)
        return ll_stretch(operand->address, 1, bytes, bytes);
    return ll_stretch(operand->address, operand->rows, operand->row_bytes, operand->stride_bytes);
}

/* Ops. */

static uint32_t record(struct ll_capture *capture, struct thread *thread, struct ll_record *record)
{
    record->thread = (uint32_t)(thread - capture->threads);
    uint32_t first_output = ll_recorder_op(capture->recorder, record);
    thread->last_op = (uint32_t)capture->memory.op_count++;
    thread->first_output = first_output;
    thread->output_count = record->output_count;
    thread->last_is_gap = record->kind == LL_OP_GAP;
    return first_output;
}

/* What a thread that calls for the first time goes on from: nobody saw it begin, but somebody began it. Of
 * all threads the one whose last call ended last, if the time since then is a gap; else the process's start.
 */
static const struct thread *thread_before(const struct ll_capture *capture, const struct thread *thread,
                                          uint64_t start_ns)
{
    const struct thread *before = thread;
    for (uint32_t i = 0; thread->last_op == LL_NONE && i < capture->summary.thread_count; i++) {
        const struct thread *other = &capture->threads[i];
        if (other->last_op != LL_NONE && other->seen.end_ns + LEAST_GAP_NS <= start_ns &&
            other->seen.end_ns >= before->seen.end_ns)
            before = other;
    }
    return before;
}

/* The time since the thread's last call, where it is worth an op. */
static void note_gap(struct ll_capture *capture, struct thread *thread, uint64_t start_ns)
{
    const struct thread *last = thread_before(capture, thread, start_ns);
    uint64_t end_ns = last->seen.end_ns, gap_ns = start_ns > end_ns ? start_ns - end_ns : 0;
    if (gap_ns < LEAST_GAP_NS)
        return;
    uint32_t before = last->last_op;
    struct ll_record gap = {.kind = LL_OP_GAP,
                            .scope = capture->memory.scope,
                            .controls = &before,
                            .control_count = before != LL_NONE,
                            .gap_count = before != LL_NONE,
                            .start_ns = end_ns,
                            .duration_ns = gap_ns};
    record(capture, thread, &gap);
    capture->summary.gaps++;
    thread->seen.in_gaps_ns += gap_ns;
}

/* What the thread did before, unless the op waits for it anyway. The reasons stand in the order of struct
 * ll_links: order, storage, gap. */
static void add_thread_order(struct ll_capture *capture, const struct thread *thread, const uint32_t *inputs,
                             uint32_t input_count, struct ll_record *op)
{
    struct ll_waits *waits = &capture->waits;
    bool known = thread->last_op == LL_NONE;
    for (uint32_t i = 0; i < input_count && !known; i++)
        known = inputs[i] - thread->first_output < thread->output_count;
    for (uint64_t i = 0; i < waits->count && !known; i++)
        known = waits->ops[i] == thread->last_op;
    op->storage_count = (uint32_t)waits->count;
    if (!known && ll_grow(&waits->ops, &waits->capacity, waits->count + 1, sizeof *waits->ops)) {
        bool gap = thread->last_is_gap;
        if (!gap)
            memmove(waits->ops + 1, waits->ops, waits->count * sizeof *waits->ops);
        waits->ops[gap ? waits->count : 0] = thread->last_op;
        waits->count++;
        op->gap_count = gap;
    }
    op->controls = waits->ops;
    op->control_count = (uint32_t)waits->count;
}

/* Forms of calls. */

static bool is_input(const struct ll_meant *meant, uint8_t operand)
{
    for (uint32_t i = 0; i < meant->view.input_count; i++)
        if (meant->inputs[i] == operand)
            return true;
    for (uint32_t i = 0; i < meant->behind_count; i++)
        if (meant->behind[i].operand == operand)
            return true;
    return false;
}

static bool find_descs(struct ll_capture *capture, const struct ll_meant *meant, struct ll_call_form *form)
{
    bool all = true;
    for (uint32_t i = 0; i < meant->view.input_count; i++)
        all = (form->in_descs[i] = desc_of(capture, &meant->in[i])) != LL_NONE && all;
    for (uint32_t i = 0; i < meant->view.output_count; i++)
        all = (form->out_descs[i] = desc_of(capture, &meant->out[i])) != LL_NONE && all;
    for (uint32_t i = 0; i < meant->behind_count; i++)
        all = (form->behind[i].desc = desc_of(capture, &meant->behind[i].shape)) != LL_NONE && all;
    return all;
}

/* For the search of repetitions: what the call is. */
static uint32_t look_of(struct ll_capture *capture, const struct ll_call_form *form)
{
    uint32_t look[2 + 2 * LL_MAX_OPERANDS] = {form->op.kind, form->op.scope}, size = 2;
    for (uint32_t i = 0; i < form->op.input_count; i++)
        look[size++] = form->in_descs[i];
    for (uint32_t i = 0; i < form->op.output_count; i++)
        look[size++] = form->out_descs[i];
    return ll_map_intern(&capture->looks, look, size * sizeof *look, NULL);
}

/* What a call of a form not met before means. False when the recorder has stopped or memory ran out. */
static bool fill_form(struct ll_capture *capture, const struct ll_call *call, struct ll_call_form *form)
{
    struct ll_meant meant;
    ll_meaning_of(&capture->meanings, call, &meant);
    form->op = (struct ll_record){
        .kind = meant.view.kind,
        .phase = meant.phase,
        .scope = scope_of(capture, call),
        .input_count = meant.view.input_count,
        .outputs = form->out_descs,
        .output_count = meant.view.output_count,
        .attrs = ll_copy(&capture->forms.arena, meant.attrs, meant.view.attr_count * sizeof *meant.attrs),
        .attr_count = meant.view.attr_count};
    form->placed = meant.placed;
    form->flops = (double)ll_meant_flops(&meant);
    form->behind_count = meant.behind_count;
    for (uint32_t i = 0; i < meant.behind_count; i++) {
        form->behind[i].kind = meant.behind[i].kind;
        form->behind[i].operand = meant.behind[i].operand;
    }
    memcpy(form->inputs, meant.inputs, sizeof form->inputs);
    memcpy(form->outputs, meant.outputs, sizeof form->outputs);
    for (uint32_t i = 0; i < meant.placed; i++)
        form->updated |= is_input(&meant, meant.outputs[i]) ? UINT32_C(1) << i : 0;
    bool all = form->op.attrs && form->op.scope != LL_NONE && find_descs(capture, &meant, form);
    return form->told = all && (form->look = look_of(capture, form)) != LL_NO_ID;
}

/* A call's op with all that it refers to. */
struct told {
    const struct ll_call *call;
    const struct ll_call_form *form;
    uint32_t inputs[LL_MAX_OPERANDS], behind[LL_MEANT_BEHIND]; /* tensors */
    struct ll_touch touches[LL_MAX_OPERANDS];                  /* of the call's operands */
};

/* Inputs become tensors, outputs must wait; false when the recorder has stopped. */
static bool resolve(struct ll_capture *capture, const struct thread *thread, struct told *told)
{
    const struct ll_call_form *form = told->form;
    uint32_t number = (uint32_t)(thread - capture->threads);
    capture->waits.count = 0;
    for (uint32_t i = 0; i < told->call->operand_count; i++)
        told->touches[i] = (struct ll_touch){.at = stretch_of(capture, &told->call->operand[i])};
    for (uint32_t i = 0; i < form->op.input_count; i++) {
        struct ll_touch *touch = &told->touches[form->inputs[i]];
        told->inputs[i] = ll_memory_read(&capture->memory, touch, form->in_descs[i], number);
        if (told->inputs[i] == LL_NONE)
            return false;
    }
    for (uint32_t i = 0; i < form->behind_count; i++) {
        struct ll_touch *touch = &told->touches[form->behind[i].operand];
        told->behind[i] = ll_memory_read(&capture->memory, touch, form->behind[i].desc, number);
        if (told->behind[i] == LL_NONE)
            return false;
    }
    for (uint32_t i = 0; i < form->placed; i++) {
        bool updated = form->updated >> i & 1;
        ll_memory_overwrite(&capture->memory, &told->touches[form->outputs[i]], updated, &capture->waits);
    }
    return true;
}

/* The ops behind the first one, in no time of their own. What the last of them gives; LL_NONE when the
 * recorder has stopped. */
static uint32_t record_behind(struct ll_capture *capture, struct thread *thread, struct told *told,
                              uint32_t first_output, uint64_t end_ns)
{
    const struct ll_call_form *form = told->form;
    for (uint32_t i = 0; i < form->behind_count && first_output != LL_NONE; i++) {
        const uint32_t inputs[] = {first_output, told->behind[i]};
        struct ll_record op = {.kind = form->behind[i].kind,
                               .phase = form->op.phase,
                               .scope = form->op.scope,
                               .inputs = inputs,
                               .input_count = 2,
                               .outputs = form->out_descs,
                               .output_count = 1,
                               .start_ns = end_ns};
        first_output = record(capture, thread, &op);
        ll_memory_was_read(&capture->memory, &told->touches[form->behind[i].operand], thread->last_op,
                           thread->number);
    }
    return first_output;
}

/* What was read, and what the last op gave is where the call wrote it. */
static void enter_reads(struct ll_capture *capture, const struct thread *thread, struct told *told)
{
    for (uint32_t i = 0; i < told->form->op.input_count; i++)
        ll_memory_was_read(&capture->memory, &told->touches[told->form->inputs[i]], thread->last_op,
                           thread->number);
}

static void enter_writes(struct ll_capture *capture, const struct thread *thread, struct told *told,
                         uint32_t first_output)
{
    const struct ll_call_form *form = told->form;
    for (uint32_t i = 0; i < form->placed; i++)
        ll_memory_was_written(&capture->memory, &told->touches[form->outputs[i]], thread->last_op,
                              first_output + i, form->out_descs[i], form->updated >> i & 1);
}

/* When something happened, from the process's start. */
static uint64_t since_origin(const struct ll_capture *capture, uint64_t ns)
{
    return ns > capture->settings.origin_ns ? ns - capture->settings.origin_ns : 0;
}

static void remember(struct ll_capture *capture, struct told *told, uint32_t first_op, uint64_t start_ns)
{
    struct ll_repeat_call call = {.look = told->form->look, .op = first_op};
    uint32_t brought = 0;
    for (uint32_t i = 0; i < told->form->op.input_count && brought < LL_REPEAT_BROUGHT; i++) {
        bool updated;
        uint32_t tensor =
            ll_memory_brought(&capture->memory, &told->touches[told->form->inputs[i]], &updated);
        if (tensor == LL_NONE)
            continue;
        call.updated[brought] = updated;
        call.brought[brought++] = tensor;
    }
    while (brought < LL_REPEAT_BROUGHT)
        call.brought[brought++] = LL_NONE;
    ll_cuts_call(&capture->cuts, &call, since_origin(capture, start_ns));
}

static void sum_up(struct ll_capture *capture, struct thread *thread, const struct ll_event *event,
                   const struct ll_call_form *form)
{
    capture->summary.calls++;
    capture->summary.opaque += form->op.kind == LL_OP_OPAQUE;
    capture->summary.flops += form->flops;
    thread->seen.calls++;
    thread->seen.in_calls_ns += event->call.duration_ns;
    thread->seen.end_ns = ll_max(thread->seen.end_ns, event->start_ns + event->call.duration_ns);
    capture->end_ns = ll_max(capture->end_ns, thread->seen.end_ns);
}

static bool walks_too_far(const struct ll_capture *capture)
{
    uint64_t free = capture->settings.rows_free;
    free = free ? free : ROWS_FREE + ROWS_PER_CALL * capture->summary.calls;
    return capture->memory.regions.walked > free;
}

/* The op of a call, with what it reads, makes and waits for. */
static void take_formed(struct ll_capture *capture, struct thread *thread, const struct ll_event *event,
                        const struct ll_call_form *form)
{
    struct told told;
    told.call = &event->call;
    told.form = form;
    uint32_t first_op = (uint32_t)capture->memory.op_count;
    capture->memory.coarse |= walks_too_far(capture);
    capture->summary.coarse += capture->memory.coarse;
    if (!resolve(capture, thread, &told))
        return;
    struct ll_record op = form->op;
    op.inputs = told.inputs;
    op.start_ns = event->start_ns;
    op.duration_ns = event->call.duration_ns;
    add_thread_order(capture, thread, told.inputs, form->op.input_count, &op);
    uint32_t first_output = record(capture, thread, &op);
    if (first_output == LL_NONE)
        return;
    enter_reads(capture, thread, &told);
    first_output =
        record_behind(capture, thread, &told, first_output, event->start_ns + event->call.duration_ns);
    if (first_output == LL_NONE)
        return;
    enter_writes(capture, thread, &told, first_output);
    sum_up(capture, thread, event, form);
    remember(capture, &told, first_op, event->start_ns);
}

/* A mark ends the gap that it stands in. */
static void take_mark(struct ll_capture *capture, const struct ll_event *event)
{
    struct thread *thread = thread_of(capture, event->thread);
    if (!thread)
        return;
    note_gap(capture, thread, event->start_ns);
    thread->seen.end_ns = ll_max(thread->seen.end_ns, event->start_ns);
    ll_recorder_step_begin(capture->recorder);
    ll_cuts_mark(&capture->cuts, (uint32_t)capture->memory.op_count, since_origin(capture, event->start_ns));
}

static void take_call(struct ll_capture *capture, const struct ll_event *event)
{
    struct thread *thread = thread_of(capture, event->thread);
    if (event->call.operand_count == 0) { /* vectors of no elements */
        capture->summary.empty++;
        return;
    }
    struct ll_call_form *form = ll_call_form_of(&capture->forms, &event->call);
    if (!thread || !form || (!form->told && !fill_form(capture, &event->call, form)))
        return;
    if (form->op.kind == LL_OP_OPAQUE && form->op.output_count == 0) { /* what it writes has no elements */
        capture->summary.empty++;
        return;
    }
    note_gap(capture, thread, event->start_ns);
    take_formed(capture, thread, event, form);
}

/* What the thread waited for us is no gap: without us it would have gone on at once. */
static void take_wait(struct ll_capture *capture, const struct ll_event *event)
{
    struct thread *thread = thread_of(capture, event->thread);
    capture->summary.waited_ns += event->waited_ns;
    if (!thread)
        return;
    note_gap(capture, thread, event->start_ns);
    thread->seen.end_ns = ll_max(thread->seen.end_ns, event->start_ns + event->waited_ns);
}

void ll_capture_event(struct ll_capture *capture, const struct ll_event *event)
{
    if (ll_recorder_status(capture->recorder) != LL_OK)
        return;
    switch (event->kind) {
    case LL_EVENT_CALL:
        if (event->call.depth == 0)
            take_call(capture, event);
        else
            capture->summary.nested++;
        break;
    case LL_EVENT_ALLOCATE:
        ll_memory_allocated(&capture->memory, event->memory.address, event->memory.size_bytes);
        break;
    case LL_EVENT_RELEASE:
        ll_memory_freed(&capture->memory, event->memory.address);
        break;
    case LL_EVENT_STEP:
        take_mark(capture, event);
        break;
    case LL_EVENT_WAIT:
        take_wait(capture, event);
        break;
    case LL_EVENT_LOST:
        capture->summary.lost += event->lost;
        break;
    }
}

/* The end. */

void ll_capture_unreturned(struct ll_capture *capture, const struct ll_unreturned *last)
{
    struct thread *thread = thread_of(capture, last->thread);
    if (!thread || ll_recorder_status(capture->recorder) != LL_OK || last->end_ns < last->start_ns)
        return;
    note_gap(capture, thread, last->start_ns);
    struct ll_record op = {.kind = LL_OP_OPAQUE,
                           .scope = ll_recorder_string(capture->recorder, last->routine),
                           .start_ns = last->start_ns,
                           .duration_ns = last->end_ns - last->start_ns};
    if (op.scope == LL_NONE)
        return;
    capture->waits.count = 0;
    add_thread_order(capture, thread, NULL, 0, &op);
    record(capture, thread, &op);
    thread->seen.in_calls_ns += op.duration_ns;
    thread->seen.end_ns = last->end_ns;
    capture->end_ns = ll_max(capture->end_ns, last->end_ns);
}

struct ll_capture_summary ll_capture_summary(struct ll_capture *capture)
{
    struct ll_capture_summary summary = capture->summary;
    summary.views = capture->memory.views_made;
    summary.wall_ns = since_origin(capture, capture->end_ns);
    summary.period = capture->cuts.period;
    summary.steps = capture->cuts.whole;
    summary.steps_by = summary.period             ? LL_STEPS_BY_REPETITION
                       : capture->cuts.mark_count ? LL_STEPS_BY_MARKS
                                                  : LL_STEPS_NONE;
    uint64_t count = summary.thread_count;
    bool room = ll_grow(&capture->seen, &capture->seen_capacity, count, sizeof *capture->seen);
    summary.thread_count = room ? summary.thread_count : 0;
    for (uint32_t i = 0; i < summary.thread_count; i++)
        capture->seen[i] = capture->threads[i].seen;
    summary.threads = capture->seen;
    return summary;
}

static void add_thread_facts(const struct ll_capture *capture, struct ll_facts *facts)
{
    for (uint32_t i = 0; i < capture->summary.thread_count; i++) {
        const struct ll_seen_thread *seen = &capture->threads[i].seen;
        double wall_ns = (double)since_origin(capture, capture->end_ns);
        char key[64];
        snprintf(key, sizeof key, "summary.thread.%" PRIu32 ".covered", i);
        ll_facts_add(facts, key, "%.4f", wall_ns > 0 ? (double)seen->in_calls_ns / wall_ns : 0);
        snprintf(key, sizeof key, "summary.thread.%" PRIu32 ".calls", i);
        ll_facts_add(facts, key, "%" PRIu64, seen->calls);
    }
}

static void add_summary(struct ll_capture *capture)
{
    static const char *const by[] = {"none", "marks", "repetition"};
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    struct ll_capture_summary summary = ll_capture_summary(capture);
    ll_facts_add(&facts, "summary.calls", "%" PRIu64, summary.calls);
    ll_facts_add(&facts, "summary.flops", "%.0f", summary.flops);
    ll_facts_add(&facts, "summary.nested", "%" PRIu64, summary.nested);
    ll_facts_add(&facts, "summary.opaque", "%" PRIu64, summary.opaque);
    ll_facts_add(&facts, "summary.empty", "%" PRIu64, summary.empty);
    ll_facts_add(&facts, "summary.dropped", "%" PRIu64, summary.lost);
    if (summary.waited_ns)
        ll_facts_add(&facts, "summary.waited_s", "%.6f", (double)summary.waited_ns * 1e-9);
    if (summary.coarse)
        ll_facts_add(&facts, "summary.coarse", "%" PRIu64, summary.coarse);
    ll_facts_add(&facts, "summary.gaps", "%" PRIu64, summary.gaps);
    ll_facts_add(&facts, "summary.steps", "%" PRIu64, summary.steps);
    ll_facts_add(&facts, "summary.steps_by", "%s", by[summary.steps_by]);
    if (summary.period)
        ll_facts_add(&facts, "summary.calls_per_step", "%" PRIu64, summary.period);
    add_thread_facts(capture, &facts);
    if (!facts.failed)
        ll_recorder_facts(capture->recorder, facts.items, facts.count);
    ll_arena_release(&arena);
}

/* What was done behind the last call goes on from it. */
static struct ll_cuts_end take_end(struct ll_capture *capture, uint64_t end_ns)
{
    struct ll_cuts_end end = {.calls_op = (uint32_t)capture->memory.op_count,
                              .calls_ns = since_origin(capture, capture->end_ns)};
    struct thread *last = NULL;
    for (uint32_t i = 0; i < capture->summary.thread_count; i++)
        if (!last || capture->threads[i].seen.end_ns > last->seen.end_ns)
            last = &capture->threads[i];
    if (last)
        note_gap(capture, last, end_ns);
    capture->end_ns = ll_max(capture->end_ns, end_ns);
    end.op = (uint32_t)capture->memory.op_count;
    end.ns = since_origin(capture, capture->end_ns);
    return end;
}

void ll_capture_finish(struct ll_capture *capture, uint64_t nested, uint64_t end_ns)
{
    const struct ll_cuts_end end = take_end(capture, end_ns);
    capture->summary.nested += nested;
    ll_cuts_cut(&capture->cuts, capture->recorder, &end);
    add_summary(capture);
}

void ll_capture_close(struct ll_capture *capture)
{
    if (capture)
        release(capture);
}
