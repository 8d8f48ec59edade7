/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a program that marks none: what it repeats.
 *
 * A training loop calls the same routines with the same shapes from the same places, again and again, and its
 * steps read some of the same tensors (a network's layers may be alike too, but each has weights of its own).
 * Looked for is the smallest distance p at which the longest stretch of calls repeats: p such that call i is
 * call i - p, all along. Where no such steps share a tensor, those count too that ops have updated in place:
 * the weights of a training loop that makes its updates by such calls, but also what goes through all layers
 * of a network and is added to in each, hence only then. Only the last LL_REPEAT_WINDOW calls are remembered;
 * time is linear in them. */
#include "tracer/capture/capture.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/capture/meaning.h"
#include "tracer/capture/memory.h"
#include "tracer/ir/trace.h"
#include "tracer/record/host.h"
#include "tracer/record/recorder.h"

enum {
    LL_REPEAT_BROUGHT = 3,
    LL_REPEAT_WINDOW = 1 << 20,
    LL_REPEAT_LEAST_CALLS = 2, /* of a step */
    LL_REPEAT_LEAST_TIMES = 3  /* that it comes */
};

/* A call as it is compared. */
struct ll_repeat_call {
    uint32_t look; /* equal for calls that do the same */
    /* Tensors that no call made, and that this one reads; LL_NONE for none. Whether calls have updated it. */
    uint32_t brought[LL_REPEAT_BROUGHT];
    bool updated[LL_REPEAT_BROUGHT];
    uint32_t op; /* its first op */
};

/* Steps of `period` calls each, the first beginning with call `first`; `count` of them; whole ones. */
struct ll_repetition {
    uint64_t first, period, count;
};

/* Where the steps of a program are: at its marks, or at what it repeats (below).
 *
 * What is before the first step and behind the last one is a step that is not complete; so is that of the
 * last mark, of which nobody has said where it ends. Times are ns from the process's start. One thread at a
 * time; {0} to begin with. */

struct ll_cuts {
    struct ll_step *marks; /* the steps that they begin, behind the one that ends with the first */
    uint64_t mark_count, mark_capacity, calls_marked; /* the last: calls before the last mark */
    struct ll_cut_call *calls;                        /* a ring of the last LL_REPEAT_WINDOW ones */
    uint64_t call_count, call_capacity;
    uint64_t period, whole; /* when they are cut: calls in one that was found by repetition; complete ones */
};

/* Where the calls end and where the program does: what is between the two belongs to no step. */
struct ll_cuts_end {
    uint32_t calls_op, op; /* the op behind */
    uint64_t calls_ns, ns;
};

/* Candidates first: each call proposes the distance to where its look came last. Of a step, the calls that it
 * makes once all propose the step's length, the others something shorter. The distances that most propose are
 * tried one after the other; each trial is one pass. */

enum {
    TRIALS = 16,
    GRAM = 4 /* a look is that of so many calls in a row: rarer than that of one */
};

struct vote {
    uint64_t distance, votes;
};

struct gram {
    uint32_t looks[GRAM];
};

static int by_votes(const void *a, const void *b)
{
    const struct vote *left = a, *right = b;
    if (left->votes != right->votes)
        return left->votes < right->votes ? 1 : -1;
    return left->distance < right->distance ? -1 : left->distance > right->distance;
}

/* votes[d] for each distance d < count; false when memory ran out. */
static bool count_votes(const struct ll_repeat_call *calls, uint64_t count, struct vote *votes)
{
    struct ll_map grams = {0};
    uint32_t *last = calloc(count + 1, sizeof *last);
    bool room = last != NULL;
    for (uint64_t i = 0; i < count; i++)
        votes[i] = (struct vote){.distance = i};
    for (uint64_t i = GRAM; room && i <= count; i++) {
        struct gram gram;
        bool is_new;
        for (int k = 0; k < GRAM; k++)
            gram.looks[k] = calls[i - GRAM + (uint64_t)k].look;
        uint32_t number = ll_map_intern(&grams, &gram, sizeof gram, &is_new);
        room = number != LL_NO_ID;
        if (room && !is_new)
            votes[i - last[number]].votes++;
        if (room)
            last[number] = (uint32_t)i;
    }
    ll_map_release(&grams);
    free(last);
    return room;
}

static bool alike(const struct ll_repeat_call *calls, uint64_t i, uint64_t period)
{
    return calls[i].look == calls[i - period].look;
}

/* Whether both read the same tensor that the program brought, and `all` or nobody has updated it. */
static bool share(const struct ll_repeat_call *a, const struct ll_repeat_call *b, bool all)
{
    for (int i = 0; i < LL_REPEAT_BROUGHT; i++)
        for (int j = 0; j < LL_REPEAT_BROUGHT; j++)
            if (a->brought[i] != LL_NONE && a->brought[i] == b->brought[j] &&
                (all || (!a->updated[i] && !b->updated[j])))
                return true;
    return false;
}

/* Whether it reads what the program brought and nobody has updated. */
static bool reads_as_brought(const struct ll_repeat_call *call)
{
    for (int i = 0; i < LL_REPEAT_BROUGHT; i++)
        if (call->brought[i] != LL_NONE && !call->updated[i])
            return true;
    return false;
}

/* A stretch of calls, each alike the one a period before: its end, its length with the first period, and how
 * many of its calls share a tensor with the one before, and how many have another one instead. */
struct stretch {
    uint64_t length, end, sharing, others;
};

static struct stretch longest(const struct ll_repeat_call *calls, uint64_t count, uint64_t period, bool all)
{
    struct stretch best = {0}, run = {0};
    for (uint64_t i = period; i < count; i++) {
        const struct ll_repeat_call *call = &calls[i], *before = &calls[i - period];
        if (!alike(calls, i, period)) {
            run = (struct stretch){0};
            continue;
        }
        run.length++;
        run.end = i + 1;
        run.sharing += share(call, before, all);
        run.others += reads_as_brought(call) && reads_as_brought(before) && !share(call, before, false);
        if (run.length > best.length)
            best = run;
    }
    best.length += best.length ? period : 0;
    return best;
}

/* Steps: often enough, most of the program, and reading again what the step before has read; where that may
 * have been updated, not mostly something else as well. */
static bool is_step(const struct stretch *stretch, uint64_t period, uint64_t count, bool all)
{
    uint64_t again = stretch->length - period;
    return period >= LL_REPEAT_LEAST_CALLS && stretch->length >= LL_REPEAT_LEAST_TIMES * period &&
           2 * stretch->length >= count && stretch->sharing * period >= again &&
           (!all || 2 * stretch->others <= again);
}

/* The best of the distances that most propose; false when none is a step. */
static bool try_votes(const struct ll_repeat_call *calls, uint64_t count, const struct vote *votes, bool all,
                      struct ll_repetition *repetition)
{
    uint64_t best = 0;
    for (uint64_t i = 0; i < count && i < TRIALS && votes[i].votes > 0; i++) {
        uint64_t period = votes[i].distance;
        struct stretch stretch = longest(calls, count, period, all);
        if (stretch.length < best || (stretch.length == best && period >= repetition->period) ||
            !is_step(&stretch, period, count, all))
            continue;
        best = stretch.length;
        *repetition = (struct ll_repetition){stretch.end - stretch.length, period, stretch.length / period};
    }
    return best > 0;
}

/* False when these calls do not repeat, or memory ran out. Pure. */
static bool find_repetition(const struct ll_repeat_call *calls, uint64_t count,
                            struct ll_repetition *repetition)
{
    struct vote *votes = calloc(count + 1, sizeof *votes);
    bool found = votes && count_votes(calls, count, votes);
    if (found) {
        qsort(votes, count, sizeof *votes, by_votes);
        found = try_votes(calls, count, votes, false, repetition) ||
                try_votes(calls, count, votes, true, repetition);
    }
    free(votes);
    return found;
}

struct ll_cut_call {
    struct ll_repeat_call call;
    uint64_t start_ns;
};

/* Room for what is remembered; false when memory ran out. */
static bool cuts_prepare(struct ll_cuts *cuts)
{
    return ll_grow((void **)&cuts->calls, &cuts->call_capacity, LL_REPEAT_WINDOW, sizeof *cuts->calls);
}

static void cuts_release(struct ll_cuts *cuts)
{
    free(cuts->marks);
    free(cuts->calls);
    *cuts = (struct ll_cuts){0};
}

/* The program's next call, and when it began. */
static void cuts_call(struct ll_cuts *cuts, const struct ll_repeat_call *call, uint64_t start_ns)
{
    cuts->calls[cuts->call_count++ % LL_REPEAT_WINDOW] =
        (struct ll_cut_call){.call = *call, .start_ns = start_ns};
}

/* A mark: the next op is `op`. One behind another without calls between them takes its place. False when
 * memory ran out. */
static bool cuts_mark(struct ll_cuts *cuts, uint32_t op, uint64_t ns)
{
    if (!ll_grow((void **)&cuts->marks, &cuts->mark_capacity, cuts->mark_count + 2, sizeof *cuts->marks))
        return false;
    if (cuts->mark_count == 0)
        cuts->marks[cuts->mark_count++] = (struct ll_step){.complete = false};
    if (cuts->mark_count == 1 || cuts->calls_marked < cuts->call_count)
        cuts->mark_count++;
    cuts->marks[cuts->mark_count - 1] = (struct ll_step){.first_op = op, .start_ns = ns, .complete = true};
    cuts->calls_marked = cuts->call_count;
    return true;
}

/* Each step ends where the next one begins. */
static void cut_at(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end,
                   struct ll_step *made, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        uint64_t end_ns = last ? end->ns : made[i + 1].start_ns;
        uint32_t end_op = last ? end->op : made[i + 1].first_op;
        made[i].op_count = end_op - made[i].first_op;
        made[i].wall_ns = end_ns > made[i].start_ns ? end_ns - made[i].start_ns : 0;
        cuts->whole += made[i].complete;
    }
    ll_recorder_cut(recorder, made, count);
}

static void cut_at_marks(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    uint64_t first = cuts->marks[1].first_op > 0 ? 0 : 1;
    cuts->marks[cuts->mark_count - 1].complete = false;
    cut_at(cuts, recorder, end, cuts->marks + first, cuts->mark_count - first);
}

/* The last calls in their order, and what comes behind them. */
static void unroll(const struct ll_cuts *cuts, const struct ll_cuts_end *end, uint64_t count,
                   struct ll_repeat_call *calls, uint64_t *starts)
{
    uint64_t first = cuts->call_count - count;
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_cut_call *from = &cuts->calls[(first + i) % LL_REPEAT_WINDOW];
        calls[i] = from->call;
        starts[i] = from->start_ns;
    }
    calls[count].op = end->calls_op;
    starts[count] = end->calls_ns;
}

static void cut_at_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                               const struct ll_cuts_end *end, const struct ll_repetition *found,
                               const struct ll_repeat_call *calls, const uint64_t *starts)
{
    struct ll_step *made = calloc(found->count + 2, sizeof *made);
    uint64_t count = 0;
    if (!made)
        return;
    if (calls[found->first].op > 0)
        made[count++] = (struct ll_step){.complete = false};
    for (uint64_t i = 0; i <= found->count; i++) {
        uint64_t at = found->first + i * found->period;
        if (calls[at].op < end->op)
            made[count++] = (struct ll_step){
                .first_op = calls[at].op, .start_ns = starts[at], .complete = i < found->count};
    }
    cut_at(cuts, recorder, end, made, count);
    cuts->period = found->period;
    free(made);
}

static void find_repetitions(struct ll_cuts *cuts, struct ll_recorder *recorder,
                             const struct ll_cuts_end *end)
{
    uint64_t count = ll_min(cuts->call_count, LL_REPEAT_WINDOW);
    struct ll_repeat_call *calls = calloc(count + 1, sizeof *calls);
    uint64_t *starts = calloc(count + 1, sizeof *starts);
    struct ll_repetition found;
    if (calls && starts) {
        unroll(cuts, end, count, calls, starts);
        if (find_repetition(calls, count, &found))
            cut_at_repetitions(cuts, recorder, end, &found, calls, starts);
    }
    free(calls);
    free(starts);
}

/* Finds the steps, if there are any, and writes them (ll_recorder_cut). */
static void cuts_cut(struct ll_cuts *cuts, struct ll_recorder *recorder, const struct ll_cuts_end *end)
{
    if (cuts->mark_count > 0)
        cut_at_marks(cuts, recorder, end);
    else if (cuts->call_count > 0)
        find_repetitions(cuts, recorder, end);
}

/* A trace of one process from its events: ops with their edges, gaps, and the summary. */

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
    struct ll_meanings meanings;         /* the row of each routine */
    struct ll_memory memory;             /* which tensor lies where */
    struct ll_waits waits;               /* scratch: what the op at work must wait for */
    struct ll_call_forms forms;          /* what calls mean, found out once for each form */
    struct ll_map sites, looks, shapes;  /* places to scopes; forms to looks; shapes to descs */
    uint32_t *site_scopes, *shape_descs; /* by the ids of sites and shapes: the recorder's numbers */
    uint64_t site_capacity, desc_capacity;
    struct thread *threads;      /* by number of the thread */
    struct ll_seen_thread *seen; /* for the summary */
    uint64_t thread_capacity, seen_capacity;
    struct ll_cuts cuts; /* steps at marks, or what repeats */
    struct ll_capture_summary summary;
    uint64_t end_ns; /* the latest end of a call or mark, from the process's start */
};

/* Opening and closing. */

struct ll_capture *ll_capture_open(const struct ll_capture_settings *settings)
{
    assert(settings->recorder);
    struct ll_capture *capture = calloc(1, sizeof *capture);
    if (!capture || !cuts_prepare(&capture->cuts)) {
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
    cuts_release(&capture->cuts);
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
 * ll_op_edges: order, storage, gap. */
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
    cuts_call(&capture->cuts, &call, since_origin(capture, start_ns));
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
    cuts_mark(&capture->cuts, (uint32_t)capture->memory.op_count, since_origin(capture, event->start_ns));
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

/* One event of the process. Calls become ops, memory that comes or goes makes tensors be forgotten, marks
 * begin steps; what was lost or waited for is summed up. */
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

/* The summary as facts of the header: what was seen, what was missed, how busy the threads were. */
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
    cuts_cut(&capture->cuts, capture->recorder, &end);
    add_summary(capture);
}

void ll_capture_close(struct ll_capture *capture)
{
    if (capture)
        release(capture);
}
