/* SPDX-License-Identifier: Apache-2.0 */
/* A step on many devices as a timeline.
 *
 * It is drawn as it was simulated: a stage runs passes in the order of its schedule, and a pass is the
 * forward or the backward part of the replay of its program. The last pass of a virtual stage is that of the
 * replay with what happens once a step; what of it ends after the pass is the tail:
 *
 *       pass  |F0 |F1 |B0   |F2 |B1   |B2   |tail |
 *       ops    a.. a.. ..a   a.. ..a   ..p   ..p       a: again, p: per step
 *
 * Ops of a device are merged from the passes under way as they are written, so memory grows with the ops of a
 * program and the passes of a step, not with their product. */
#include "sim/cli/timeline.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/replay/replay.h"
#include "tracer/base/num.h"
#include "tracer/convert/timeline/timeline.h"

/* --- replays, cut into parts --- */

/* Where an op is in a micro-batch of a virtual stage. */
enum part { PART_FORWARD, PART_BACKWARD, PART_TAIL, PART_NONE };

/* An op or its launch, in a part of a replay. */
struct cue {
    double at_s; /* from the start of the part */
    uint32_t op;
    bool launches;
};

struct cues {
    struct cue *at; /* by time */
    uint64_t count;
};

/* The last step of a replay: it begins where the steps before it have ended. */
struct window {
    uint32_t first_op, end_op;
    double begin_s, forward_s, end_s; /* forward_s: when its forward pass ends */
};

/* A replay of a program. */
struct score {
    const struct ll_op_schedule *schedule;
    struct window window;
    struct ll_scheduled *ops; /* by op from window.first_op on */
    double part_s[PART_NONE]; /* when the part begins, in the replay */
    struct cues cues[PART_NONE];
    /* Where ops (false) and launches (true) are, by op from window.first_op on. */
    uint8_t *parts[2]; /* PART_NONE: it is not drawn */
    double *at_s[2];   /* from the start of its part */
};

/* A program: how it goes with each micro-batch; and with the last one, from its backward pass on. */
struct play {
    const struct ll_trace *trace;
    const struct ll_deps *deps;
    struct ll_timeline_ops texts;
    struct score again, last;
    bool whole;          /* `last` has the forward pass of the last micro-batch, too */
    uint64_t *out_first; /* by op of the window, and the end: into `out` */
    struct leaving {
        uint64_t place; /* in deps->ops */
        uint32_t reader;
    } * out; /* dependencies that an op leaves behind */
};

static const struct ll_scheduled *scheduled(const struct score *score, uint32_t op)
{
    assert(op >= score->window.first_op && op < score->window.end_op);
    return &score->ops[op - score->window.first_op];
}

static struct window last_step(const struct ll_result *result)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_trace *trace = prepared->trace;
    struct window window = {.first_op = prepared->first_op, .end_op = prepared->end_op};
    for (uint32_t op = prepared->first_op; op < prepared->end_op; op++) {
        const struct ll_op_result *at = &result->ops[op - prepared->first_op];
        enum ll_phase phase = trace->signatures[trace->ops[op].signature].phase;
        if (op > prepared->first_op && trace->ops[op].step != trace->ops[op - 1].step) {
            window.first_op = op;
            window.begin_s = window.forward_s = window.end_s;
        }
        window.end_s = fmax(window.end_s, at->start_s + at->time_s);
        if (phase == LL_PHASE_FORWARD || phase == LL_PHASE_INPUT)
            window.forward_s = fmax(window.forward_s, at->start_s + at->time_s);
    }
    return window;
}

static int by_time(const void *left, const void *right)
{
    const struct cue *a = left, *b = right;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    if (a->launches != b->launches)
        return a->launches ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static enum part part_at(const struct score *score, double at_s)
{
    enum part part = PART_FORWARD;
    while (part + 1 < PART_NONE && at_s >= score->part_s[part + 1])
        part++;
    return part;
}

static void add_cue(struct score *score, enum part part, double at_s, uint32_t op, bool launches)
{
    struct cues *cues = &score->cues[part];
    cues->at[cues->count++] = (struct cue){at_s, op, launches};
    score->parts[launches][op - score->window.first_op] = (uint8_t)part;
    score->at_s[launches][op - score->window.first_op] = at_s;
}

/* Makes room for a replay whose backward pass ends backward_s after its forward pass. False when memory ran
 * out. */
static bool open_score(const struct ll_result *result, double backward_s, struct ll_arena *arena,
                       struct score *score)
{
    struct window window = score->window = last_step(result);
    uint64_t ops = window.end_op - window.first_op;
    bool room = true;
    score->schedule = ll_schedule_of(result, arena);
    score->part_s[PART_FORWARD] = window.begin_s;
    score->part_s[PART_BACKWARD] = window.forward_s;
    score->part_s[PART_TAIL] = window.forward_s + backward_s;
    for (int launches = 0; launches < 2; launches++) {
        score->parts[launches] = ll_alloc(arena, ops, sizeof(uint8_t));
        score->at_s[launches] = ll_alloc(arena, ops, sizeof(double));
        if (!score->parts[launches] || !score->at_s[launches])
            return false;
        memset(score->parts[launches], PART_NONE, ops);
    }
    for (int part = 0; part < PART_NONE; part++) {
        score->cues[part].at = ll_alloc(arena, 2 * ops + 1, sizeof(struct cue));
        room = room && score->cues[part].at;
    }
    score->ops = ll_alloc(arena, ops, sizeof *score->ops);
    for (uint32_t op = window.first_op; score->schedule && score->ops && op < window.end_op; op++) {
        score->ops[op - window.first_op].energy_j = NAN;
        if (ll_replay_cost(result, op)) /* else the op is idle */
            score->schedule->at(score->schedule, op, &score->ops[op - window.first_op]);
    }
    return room && score->schedule && score->ops;
}

/* A cue of an op, or of its launch, at a time of the replay, in no part before `first`. */
static void add_cue_at(struct score *score, double at_s, enum part first, uint32_t op, bool launches)
{
    enum part part = part_at(score, at_s);
    part = part < first ? first : part;
    add_cue(score, part, fmax(0, at_s - score->part_s[part]), op, launches);
}

static double runs_s(const struct ll_scheduled *here)
{
    return here->start_s + (here->time_s - here->active_s);
}

static void add_op_cues(struct score *score, uint32_t op)
{
    const struct ll_scheduled *here = scheduled(score, op);
    add_cue_at(score, runs_s(here), PART_FORWARD, op, false);
    if (here->launch_s > 0)
        add_cue_at(score, here->launch_start_s, PART_FORWARD, op, true);
}

static void sort_cues(struct score *score)
{
    for (int part = 0; part < PART_NONE; part++)
        qsort(score->cues[part].at, score->cues[part].count, sizeof(struct cue), by_time);
}

static bool read_again(const struct ll_result *result, struct ll_arena *arena, struct score *again)
{
    if (!open_score(result, INFINITY, arena, again))
        return false;
    for (uint32_t op = again->window.first_op; op < again->window.end_op; op++)
        if (ll_replay_cost(result, op)) /* else the op is idle */
            add_op_cues(again, op);
    sort_cues(again);
    return true;
}

/* An op of the last micro-batch whose forward pass is that of any other. What happens once a step although it
 * comes before the backward pass (casts of weights) is counted behind all else, from *behind_s on; a launch
 * before the backward pass is left out. */
static void add_late(struct play *play, uint32_t op, double *behind_s)
{
    const struct score *again = &play->again;
    struct score *last = &play->last;
    const struct ll_scheduled *here = scheduled(last, op);
    uint32_t i = op - last->window.first_op;
    if (again->parts[false][i] == PART_FORWARD)
        return;
    if (again->parts[false][i] == PART_NONE && here->start_s < last->part_s[PART_BACKWARD]) {
        add_cue(last, PART_TAIL, *behind_s, op, false);
        *behind_s += here->active_s;
        return;
    }
    add_cue_at(last, runs_s(here), PART_BACKWARD, op, false);
    if (here->launch_s > 0 && here->launch_start_s >= last->part_s[PART_BACKWARD] &&
        again->parts[true][i] != PART_FORWARD)
        add_cue_at(last, here->launch_start_s, PART_BACKWARD, op, true);
}

static bool read_last(const struct ll_result *result, double backward_s, struct ll_arena *arena,
                      struct play *play)
{
    struct score *last = &play->last;
    if (!open_score(result, backward_s, arena, last))
        return false;
    double behind_s = fmax(0, last->window.end_s - last->part_s[PART_TAIL]);
    play->whole = last->window.forward_s == play->again.window.forward_s;
    for (uint32_t op = last->window.first_op; op < last->window.end_op; op++)
        if (!ll_replay_cost(result, op))
            continue;
        else if (play->whole)
            add_op_cues(last, op);
        else
            add_late(play, op, &behind_s);
    sort_cues(last);
    return true;
}

/* Dependencies by the op that they leave. False when memory ran out. */
static bool find_leaving(struct play *play, struct ll_arena *arena)
{
    const struct window *window = &play->again.window;
    uint64_t ops = window->end_op - window->first_op;
    uint64_t *next = ll_alloc(arena, ops + 1, sizeof *next);
    play->out_first = ll_alloc(arena, ops + 1, sizeof *play->out_first);
    play->out = ll_alloc(arena, play->deps->first[play->trace->op_count] + 1, sizeof *play->out);
    if (!next || !play->out_first || !play->out)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t op = window->first_op; op < window->end_op; op++)
            for (uint64_t i = play->deps->first[op]; i < play->deps->first[op + 1]; i++) {
                uint32_t from = play->deps->ops[i];
                if (from < window->first_op)
                    continue;
                if (pass == 0)
                    play->out_first[from - window->first_op + 1]++;
                else
                    play->out[next[from - window->first_op]++] = (struct leaving){i, op};
            }
        for (uint64_t i = 0; pass == 0 && i < ops; i++)
            play->out_first[i + 1] += play->out_first[i];
        memcpy(next, play->out_first, (ops + 1) * sizeof *next);
    }
    return true;
}

/* --- the whole step --- */

/* Tracks of a process: these, those of the schedule, and links to other stages. */
enum { TRACK_STEP, TRACK_PASSES, TRACK_SUMS, TRACK_LAUNCHES, TRACK_OPS };

/* A part of a micro-batch of a virtual stage that is under way. */
struct source {
    struct play *play;
    const struct score *score;
    enum part part;
    uint64_t next; /* cue */
    double base_s; /* when the part begins */
    uint64_t vstage, micro_batch;
};

struct drawing {
    struct ll_export *export;
    struct ll_timeline_file *timeline;
    const struct ll_parallel_result *step;
    enum ll_timeline_flows flows;
    bool all_devices;
    struct play **plays; /* by virtual stage; those with the same replays share one */
    const struct ll_pass *passes;
    const struct ll_pass_bytes *bytes;
    uint64_t per_stage;
    uint64_t *places; /* by virtual stage, direction and micro-batch: the pass */
    const struct ll_pass_message *messages;
    uint64_t message_count;
    uint64_t *sent_first; /* by stage, and the end: into `sent` */
    struct sent {
        double start_s;
        uint64_t message;
    } * sent;                  /* messages of each stage by start */
    uint64_t *left_first;      /* by pass, and the end: into messages, those that it sends */
    uint64_t *got_first, *got; /* by pass, and the end: into `got`, messages that end at it */
    uint64_t edges;            /* flows that a micro-batch of a virtual stage has at most */
    /* Of the process under way. */
    uint64_t process, stage, rank; /* rank: of the device among those of its stage */
    uint32_t memory, rates;
    int64_t memory_bytes;
    struct source *sources;
    uint64_t source_count, source_capacity;
    struct ll_timeline_flow *ends;
    uint64_t end_count, end_capacity;
};

static uint64_t devices_of_stage(const struct ll_parallel *plan)
{
    return plan->tensor * ll_replicas(plan);
}

static const struct ll_parallel *plan_of(const struct drawing *d)
{
    return &d->step->spread->plan;
}

static uint64_t micro_batches(const struct drawing *d)
{
    return d->step->spread->sizes.micro_batches;
}

static bool is_last(const struct drawing *d, uint64_t micro_batch)
{
    return micro_batch + 1 == micro_batches(d);
}

static const struct ll_pass *pass_of(const struct drawing *d, uint64_t vstage, bool backward,
                                     uint64_t micro_batch)
{
    return &d->passes[d->places[(2 * vstage + backward) * micro_batches(d) + micro_batch]];
}

/* What a virtual stage does once a step, after all passes, as sim/parallel/step.c counts it. */
static double tail_s(const struct drawing *d, uint64_t vstage)
{
    const struct ll_program_replay *replay = d->step->replays[vstage];
    return fmax(0, fmax(0, replay->per_step->time_s - replay->again->time_s) - replay->added_s);
}

/* The virtual stages of a stage end the step one after the other. */
static double tail_begin_s(const struct drawing *d, uint64_t vstage)
{
    uint64_t stages = plan_of(d)->pipeline, stage = vstage % stages;
    double begin_s = d->passes[(stage + 1) * d->per_stage - 1].end_s;
    for (uint64_t before = stage; before < vstage; before += stages)
        begin_s += tail_s(d, before);
    return begin_s;
}

/* The play of the first virtual stage with the same replays; NULL: there is none before this one. */
static struct play *play_before(const struct drawing *d, uint64_t vstage)
{
    for (uint64_t before = 0; before < vstage; before++)
        if (d->step->replays[before] == d->step->replays[vstage])
            return d->plays[before];
    return NULL;
}

/* False when memory ran out. */
static bool read_plays(struct drawing *d)
{
    const uint64_t vstages = d->step->spread->vstage_count;
    struct ll_arena *arena = &d->export->arena;
    d->plays = ll_alloc(arena, vstages, sizeof(struct play *));
    for (uint64_t vstage = 0; d->plays && vstage < vstages; vstage++) {
        const struct ll_program_replay *replay = d->step->replays[vstage];
        const struct ll_pass *pass = pass_of(d, vstage, true, micro_batches(d) - 1);
        struct play *play = d->plays[vstage] = play_before(d, vstage);
        if (play)
            continue;
        play = d->plays[vstage] = ll_alloc(arena, 1, sizeof *play);
        if (!play)
            return false;
        *play = (struct play){.trace = replay->again->prepared->trace, .deps = replay->again->prepared->deps};
        play->texts = (struct ll_timeline_ops){.trace = play->trace, .arena = arena};
        if (!read_again(replay->again, arena, &play->again) ||
            !read_last(replay->per_step, pass->end_s - pass->start_s, arena, play) ||
            !find_leaving(play, arena))
            return false;
        d->edges = ll_max(d->edges, play->deps->first[play->trace->op_count] + play->trace->op_count);
    }
    return d->plays;
}

static int by_start(const void *left, const void *right)
{
    const struct sent *a = left, *b = right;
    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    return a->message < b->message ? -1 : a->message > b->message;
}

/* Messages by the stage that sends them and by the pass that they end at. False when memory ran out. */
static bool sort_messages(struct drawing *d)
{
    uint64_t stages = plan_of(d)->pipeline, passes = stages * d->per_stage;
    struct ll_arena *arena = &d->export->arena;
    d->sent_first = ll_alloc(arena, stages + 1, sizeof *d->sent_first);
    d->sent = ll_alloc(arena, d->message_count + 1, sizeof *d->sent);
    d->left_first = ll_alloc(arena, passes + 1, sizeof *d->left_first);
    d->got_first = ll_alloc(arena, passes + 2, sizeof *d->got_first);
    d->got = ll_alloc(arena, d->message_count + 1, sizeof *d->got);
    if (!d->sent_first || !d->sent || !d->left_first || !d->got_first || !d->got)
        return false;
    for (uint64_t i = 0; i < d->message_count; i++) {
        d->sent[i] = (struct sent){d->messages[i].start_s, i}; /* in the order of the stages */
        d->sent_first[d->messages[i].from / d->per_stage + 1]++;
        d->left_first[d->messages[i].from + 1]++;
        d->got_first[d->messages[i].to + 2]++;
    }
    for (uint64_t s = 0; s < stages; s++) {
        d->sent_first[s + 1] += d->sent_first[s];
        qsort(d->sent + d->sent_first[s], d->sent_first[s + 1] - d->sent_first[s], sizeof *d->sent, by_start);
    }
    for (uint64_t i = 0; i < passes; i++) {
        d->left_first[i + 1] += d->left_first[i];
        d->got_first[i + 2] += d->got_first[i + 1];
    }
    for (uint64_t i = 0; i < d->message_count; i++)
        d->got[d->got_first[d->messages[i].to + 1]++] = i;
    return true;
}

/* --- flows --- */

/* Numbers of flows: those within micro-batches first, then two of each message, for each process. */
static uint64_t edge_id(const struct drawing *d, const struct source *source, uint64_t edge)
{
    uint64_t before = (d->process * d->step->spread->vstage_count + source->vstage) * micro_batches(d) +
                      source->micro_batch;
    return 1 + before * d->edges + edge;
}

static uint64_t message_id(const struct drawing *d, uint64_t message, bool arrives)
{
    const struct ll_parallel *plan = plan_of(d);
    uint64_t processes = plan->pipeline * (d->all_devices ? devices_of_stage(plan) : 1);
    uint64_t before = processes * d->step->spread->vstage_count * micro_batches(d) * d->edges;
    return 1 + before + 2 * (d->rank * d->message_count + message) + arrives;
}

/* Whether the flow from a message to the pass for which it is goes forward in time. */
static bool arrives_later(const struct drawing *d, const struct ll_pass_message *message)
{
    return ll_timeline_ns(message->start_s) < ll_timeline_ns(d->passes[message->to].start_s);
}

static bool add_end(struct drawing *d, uint64_t id, const char *name, const uint64_t *to_ns)
{
    if (!ll_grow(&d->ends, &d->end_capacity, d->end_count + 1, sizeof *d->ends)) {
        d->export->status = LL_NO_MEMORY;
        return false;
    }
    d->ends[d->end_count++] = (struct ll_timeline_flow){id, name, to_ns != NULL, to_ns ? *to_ns : 0};
    return true;
}

/* Where an op of a source's micro-batch is. */
struct spot {
    enum part part; /* PART_NONE: nowhere */
    double at_s;
    uint64_t begin_ns;
    const struct score *score;
};

static double base_s(const struct drawing *d, const struct source *source, enum part part)
{
    return part == PART_TAIL
               ? tail_begin_s(d, source->vstage)
               : pass_of(d, source->vstage, part == PART_BACKWARD, source->micro_batch)->start_s;
}

/* The spot of an op, or of its launch. */
static struct spot spot_of(const struct drawing *d, const struct source *source, uint32_t op, bool launches)
{
    const struct score *again = &source->play->again, *last = &source->play->last;
    uint32_t i = op - again->window.first_op;
    bool alike = !is_last(d, source->micro_batch) ||
                 (!source->play->whole && again->parts[launches][i] == PART_FORWARD);
    const struct score *score = alike ? again : last;
    struct spot spot = {
        .part = (enum part)score->parts[launches][i], .at_s = score->at_s[launches][i], .score = score};
    if (spot.part != PART_NONE)
        spot.begin_ns = ll_timeline_ns(base_s(d, source, spot.part) + spot.at_s);
    return spot;
}

/* Whether what is at one spot is written before what is at the other. */
static bool is_before(const struct spot *from, uint32_t from_op, const struct spot *to, uint32_t to_op)
{
    if (from->begin_ns != to->begin_ns)
        return from->begin_ns < to->begin_ns;
    return from->part == to->part && (from->at_s < to->at_s || (from->at_s == to->at_s && from_op < to_op));
}

static bool is_drawn(const struct drawing *d, const struct spot *from, uint32_t from_op,
                     const struct spot *to, uint32_t to_op)
{
    if (d->flows == LL_FLOWS_NONE || from->part == PART_NONE || to->part == PART_NONE ||
        !is_before(from, from_op, to, to_op))
        return false;
    return d->flows == LL_FLOWS_ALL ||
           scheduled(from->score, from_op)->track != scheduled(to->score, to_op)->track;
}

/* The launch of an op: its number among the flows, and where it is. */
static uint64_t launch_edge(const struct play *play, uint32_t op)
{
    return play->deps->first[play->trace->op_count] + op;
}

/* Whether a launch has an arrow to its op. */
static bool is_launched(const struct drawing *d, const struct source *source, uint32_t op)
{
    struct spot launch = spot_of(d, source, op, true), runs = spot_of(d, source, op, false);
    return d->flows != LL_FLOWS_NONE && launch.part != PART_NONE && runs.part != PART_NONE &&
           launch.begin_ns < runs.begin_ns;
}

/* Ends of the flows of an op. */
static bool find_ends(struct drawing *d, const struct source *source, uint32_t op, const struct spot *here)
{
    const struct play *play = source->play;
    uint32_t first = play->again.window.first_op, i = op - first;
    bool done = true;
    d->end_count = 0;
    if (d->flows == LL_FLOWS_NONE)
        return true;
    for (uint64_t k = play->deps->first[op]; done && k < play->deps->first[op + 1]; k++) {
        uint32_t from = play->deps->ops[k];
        struct spot spot = from < first ? (struct spot){.part = PART_NONE} : spot_of(d, source, from, false);
        if (is_drawn(d, &spot, from, here, op))
            done = add_end(d, edge_id(d, source, k), ll_edge_name(ll_edge_of(play->trace, op, from)), NULL);
    }
    for (uint64_t k = play->out_first[i]; done && k < play->out_first[i + 1]; k++) {
        uint32_t to = play->out[k].reader;
        struct spot spot =
            to < play->again.window.end_op ? spot_of(d, source, to, false) : (struct spot){.part = PART_NONE};
        if (is_drawn(d, here, op, &spot, to))
            done = add_end(d, edge_id(d, source, play->out[k].place),
                           ll_edge_name(ll_edge_of(play->trace, to, op)), &spot.begin_ns);
    }
    if (done && is_launched(d, source, op))
        done = add_end(d, edge_id(d, source, launch_edge(play, op)), "launch", NULL);
    return done;
}

/* --- slices --- */

static struct ll_timeline_arg count_arg(const char *name, uint64_t count)
{
    return (struct ll_timeline_arg){.name = name, .kind = LL_TIMELINE_COUNT, .count = count};
}

static bool no_memory(struct drawing *d)
{
    d->export->status = LL_NO_MEMORY;
    return false;
}

static bool put_op(struct drawing *d, const struct source *source, const struct cue *cue)
{
    const struct ll_scheduled *here = scheduled(source->score, cue->op);
    struct spot spot = {source->part, cue->at_s, ll_timeline_ns(source->base_s + cue->at_s), source->score};
    struct ll_timeline_slice slice = {.track = TRACK_OPS + here->track,
                                      .begin_ns = spot.begin_ns,
                                      .end_ns = ll_timeline_ns(source->base_s + cue->at_s + here->active_s)};
    if (!ll_timeline_describe(&source->play->texts, cue->op, here->bound, &slice))
        return no_memory(d);
    if (!find_ends(d, source, cue->op, &spot))
        return false;
    slice.args[slice.arg_count++] = count_arg("micro_batch", source->micro_batch);
    slice.flows = d->ends;
    slice.flow_count = (uint32_t)d->end_count;
    bool goes_on = ll_timeline_slice(d->timeline, &slice);
    if (goes_on)
        ll_timeline_add_rates(d->timeline, d->rates, source->score->schedule, here, &slice);
    return goes_on;
}

static bool put_launch(struct drawing *d, const struct source *source, const struct cue *cue)
{
    const struct ll_scheduled *here = scheduled(source->score, cue->op);
    struct spot runs = spot_of(d, source, cue->op, false);
    double begin_s = source->base_s + cue->at_s;
    struct ll_timeline_slice slice = {.track = TRACK_LAUNCHES,
                                      .begin_ns = ll_timeline_ns(begin_s),
                                      .end_ns = ll_timeline_ns(begin_s + here->launch_s)};
    d->end_count = 0;
    if (!ll_timeline_describe(&source->play->texts, cue->op, here->bound, &slice))
        return no_memory(d);
    if (is_launched(d, source, cue->op) &&
        !add_end(d, edge_id(d, source, launch_edge(source->play, cue->op)), "launch", &runs.begin_ns))
        return false;
    slice.category = "launch";
    slice.arg_count = 1; /* the op's number */
    slice.flows = d->ends;
    slice.flow_count = (uint32_t)d->end_count;
    return ll_timeline_slice(d->timeline, &slice);
}

/* Adds the source of a pass, or of a tail, if there is anything in it. */
static bool add_source(struct drawing *d, uint64_t vstage, enum part part, uint64_t micro_batch)
{
    struct play *play = d->plays[vstage];
    bool last = is_last(d, micro_batch) && (part != PART_FORWARD || play->whole);
    const struct score *score = last ? &play->last : &play->again;
    struct source source = {play, score, part, 0, 0, vstage, micro_batch};
    source.base_s = base_s(d, &source, part);
    if (score->cues[part].count == 0)
        return true;
    if (!ll_grow(&d->sources, &d->source_capacity, d->source_count + 1, sizeof *d->sources))
        return no_memory(d);
    d->sources[d->source_count++] = source;
    return true;
}

/* Sets the counter of memory from a time on. */
static void set_memory(struct drawing *d, uint64_t at_ns, uint64_t bytes)
{
    int64_t steps = (int64_t)ll_min(bytes, INT64_MAX >> 1);
    ll_timeline_add(d->timeline, d->memory, at_ns, steps - d->memory_bytes);
    d->memory_bytes = steps;
}

/* A slice with a name of its own. */
static bool put_named(struct drawing *d, struct ll_timeline_slice *slice, const char *name)
{
    slice->name = name;
    slice->flows = d->ends;
    slice->flow_count = (uint32_t)d->end_count;
    return name ? ll_timeline_slice(d->timeline, slice) : no_memory(d);
}

static bool find_message_ends(struct drawing *d, uint64_t pass)
{
    bool done = true;
    d->end_count = 0;
    for (uint64_t k = d->got_first[pass]; done && d->flows != LL_FLOWS_NONE && k < d->got_first[pass + 1];
         k++)
        if (arrives_later(d, &d->messages[d->got[k]]))
            done = add_end(d, message_id(d, d->got[k], true), "message", NULL);
    for (uint64_t k = d->left_first[pass]; done && d->flows != LL_FLOWS_NONE && k < d->left_first[pass + 1];
         k++) {
        uint64_t to_ns = ll_timeline_ns(d->messages[k].start_s);
        if (to_ns > ll_timeline_ns(d->passes[pass].start_s))
            done = add_end(d, message_id(d, k, false), "message", &to_ns);
    }
    return done;
}

static bool put_pass(struct drawing *d, uint64_t number)
{
    const struct ll_pass *pass = &d->passes[number];
    uint64_t vstage = pass->chunk * plan_of(d)->pipeline + d->stage;
    const char *word = pass->backward ? "backward" : "forward";
    struct ll_timeline_slice slice = {
        .track = TRACK_PASSES,
        .begin_ns = ll_timeline_ns(pass->start_s),
        .end_ns = ll_timeline_ns(pass->end_s),
        .category = word,
        .args = {count_arg("micro_batch", pass->micro_batch), count_arg("virtual_stage", vstage)},
        .arg_count = 2};
    if (slice.begin_ns == slice.end_ns) /* an inference has no backward pass */
        return true;
    if (!find_message_ends(d, number))
        return false;
    const char *name = plan_of(d)->chunks > 1 ? "%s %" PRIu64 " chunk %" PRIu64 : "%s %" PRIu64;
    struct ll_str text = {0};
    ll_str_addf(&text, name, word, pass->micro_batch, pass->chunk);
    bool goes_on = put_named(d, &slice, text.failed ? NULL : text.text);
    ll_str_release(&text);
    if (goes_on) {
        set_memory(d, slice.begin_ns, d->bytes[number].most);
        set_memory(d, slice.end_ns, d->bytes[number].after);
    }
    return goes_on && add_source(d, vstage, pass->backward ? PART_BACKWARD : PART_FORWARD, pass->micro_batch);
}

/* All but the last micro-batch end with their gradients added to those before. */
static bool put_sum(struct drawing *d, uint64_t number)
{
    const struct ll_pass *pass = &d->passes[number];
    uint64_t vstage = pass->chunk * plan_of(d)->pipeline + d->stage;
    const struct ll_program_replay *replay = d->step->replays[vstage];
    struct ll_timeline_slice slice = {.track = TRACK_SUMS,
                                      .begin_ns = ll_timeline_ns(pass->end_s - replay->added_s),
                                      .end_ns = ll_timeline_ns(pass->end_s),
                                      .category = "backward",
                                      .args = {count_arg("micro_batch", pass->micro_batch),
                                               count_arg("bytes", (uint64_t)replay->added_bytes)},
                                      .arg_count = 2};
    d->end_count = 0;
    return put_named(d, &slice, "accumulate gradients");
}

static bool has_sum(const struct drawing *d, uint64_t number)
{
    const struct ll_pass *pass = &d->passes[number];
    uint64_t vstage = pass->chunk * plan_of(d)->pipeline + d->stage;
    return pass->backward && !is_last(d, pass->micro_batch) && d->step->replays[vstage]->added_s > 0;
}

static bool put_tail(struct drawing *d, uint64_t vstage)
{
    double begin_s = tail_begin_s(d, vstage);
    struct ll_timeline_slice slice = {.track = TRACK_PASSES,
                                      .begin_ns = ll_timeline_ns(begin_s),
                                      .end_ns = ll_timeline_ns(begin_s + tail_s(d, vstage)),
                                      .category = "update",
                                      .args = {count_arg("virtual_stage", vstage)},
                                      .arg_count = 1};
    d->end_count = 0;
    if (slice.begin_ns < slice.end_ns && !put_named(d, &slice, "gradient exchange and update"))
        return false;
    return add_source(d, vstage, PART_TAIL, micro_batches(d) - 1);
}

static bool put_message(struct drawing *d, uint64_t number)
{
    const struct ll_pass_message *message = &d->messages[number];
    uint64_t to = message->to / d->per_stage, to_ns = ll_timeline_ns(d->passes[message->to].start_s);
    const struct ll_op_schedule *schedule = d->plays[0]->again.schedule;
    struct ll_timeline_slice slice = {
        .track = TRACK_OPS + schedule->track_count + message->backward,
        .begin_ns = ll_timeline_ns(message->start_s),
        .end_ns = ll_timeline_ns(message->end_s),
        .category = message->backward ? "backward" : "forward",
        .args = {count_arg("micro_batch", d->passes[message->from].micro_batch), count_arg("to_stage", to)},
        .arg_count = 2};
    d->end_count = 0;
    if (d->flows != LL_FLOWS_NONE && slice.begin_ns > ll_timeline_ns(d->passes[message->from].start_s) &&
        !add_end(d, message_id(d, number, false), "message", NULL))
        return false;
    if (d->flows != LL_FLOWS_NONE && arrives_later(d, message) &&
        !add_end(d, message_id(d, number, true), "message", &to_ns))
        return false;
    struct ll_str text = {0};
    ll_str_addf(&text, "send to stage %" PRIu64, to);
    bool goes_on = put_named(d, &slice, text.failed ? NULL : text.text);
    ll_str_release(&text);
    return goes_on;
}

/* --- a process --- */

static bool begin_process(struct drawing *d)
{
    const struct ll_parallel *plan = plan_of(d);
    uint64_t devices = devices_of_stage(plan), first = d->stage * devices;
    const char *model = ll_trace_fact(d->export->trace, "model");
    const struct ll_op_schedule *schedule = d->plays[0]->again.schedule;
    struct ll_str name = {0};
    if (d->all_devices || devices == 1)
        ll_str_addf(&name, "device %" PRIu64, first + d->rank);
    else
        ll_str_addf(&name, "devices %" PRIu64 " to %" PRIu64, first, first + devices - 1);
    if (plan->pipeline > 1)
        ll_str_addf(&name, ", stage %" PRIu64, d->stage);
    ll_str_addf(&name, ": %s on %s", model ? model : "trace", schedule->name);
    if (name.failed)
        return no_memory(d);
    ll_timeline_process(d->timeline, name.text);
    ll_str_release(&name);
    ll_timeline_track(d->timeline, "steps");
    ll_timeline_track(d->timeline, "passes");
    ll_timeline_track(d->timeline, "gradient accumulation");
    ll_timeline_track(d->timeline, "kernel launches");
    for (uint32_t i = 0; i < schedule->track_count; i++)
        ll_timeline_track(d->timeline, schedule->tracks[i]);
    ll_timeline_track(d->timeline, "sends to later stages");
    ll_timeline_track(d->timeline, "sends to earlier stages");
    const struct ll_timeline_counter memory = {"memory in use (peak of each pass)", "bytes", 1, NULL};
    d->memory = ll_timeline_counter(d->timeline, &memory);
    d->rates = ll_timeline_rates(d->timeline, schedule);
    d->memory_bytes = 0;
    d->source_count = d->end_count = 0;
    struct ll_timeline_slice step = {.track = TRACK_STEP,
                                     .end_ns = ll_timeline_ns(d->step->step_s),
                                     .category = "step",
                                     .args = {count_arg("step", 0)},
                                     .arg_count = 1};
    return put_named(d, &step, "step 0");
}

/* The source whose next cue comes first, and when; NULL: none is left. */
static struct source *next_source(struct drawing *d, double *at_s)
{
    struct source *first = NULL;
    for (uint64_t i = 0; i < d->source_count; i++) {
        struct source *source = &d->sources[i];
        double next_s = source->base_s + source->score->cues[source->part].at[source->next].at_s;
        if (!first || next_s < *at_s) {
            first = source;
            *at_s = next_s;
        }
    }
    return first;
}

static bool put_cue(struct drawing *d, struct source *source)
{
    const struct cues *cues = &source->score->cues[source->part];
    struct source copy = *source;
    const struct cue *cue = &cues->at[source->next];
    if (++source->next == cues->count)
        *source = d->sources[--d->source_count];
    return cue->launches ? put_launch(d, &copy, cue) : put_op(d, &copy, cue);
}

/* What a stage does beside ops, each in order of time. */
struct order {
    uint64_t pass, sum, tail, sent;
};

/* The earliest of what is left of an order, before or at *at_s, which becomes its time: 0 to 3 as the fields
 * of struct order, 4: none. */
static int next_in_order(const struct drawing *d, const struct order *order, double *at_s)
{
    uint64_t end = (d->stage + 1) * d->per_stage;
    double times_s[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    if (order->pass < end)
        times_s[0] = d->passes[order->pass].start_s;
    if (order->sum < end) {
        uint64_t vstage = d->passes[order->sum].chunk * plan_of(d)->pipeline + d->stage;
        times_s[1] = d->passes[order->sum].end_s - d->step->replays[vstage]->added_s;
    }
    if (order->tail < d->step->spread->vstage_count)
        times_s[2] = tail_begin_s(d, order->tail);
    if (order->sent < d->sent_first[d->stage + 1])
        times_s[3] = d->sent[order->sent].start_s;
    int first = 4;
    for (int i = 0; i < 4; i++)
        if (times_s[i] < *at_s || (first == 4 && times_s[i] == *at_s && isfinite(*at_s))) {
            first = i;
            *at_s = times_s[i];
        }
    return first;
}

static void skip_passes_without_sum(const struct drawing *d, struct order *order)
{
    while (order->sum < (d->stage + 1) * d->per_stage && !has_sum(d, order->sum))
        order->sum++;
}

static bool put_process(struct drawing *d)
{
    bool goes_on = begin_process(d);
    struct order order = {d->stage * d->per_stage, d->stage * d->per_stage, d->stage,
                          d->sent_first[d->stage]};
    skip_passes_without_sum(d, &order);
    while (goes_on) {
        double at_s = INFINITY;
        struct source *source = next_source(d, &at_s);
        switch (next_in_order(d, &order, &at_s)) {
        case 0:
            goes_on = put_pass(d, order.pass++);
            break;
        case 1:
            goes_on = put_sum(d, order.sum++);
            skip_passes_without_sum(d, &order);
            break;
        case 2:
            goes_on = put_tail(d, order.tail);
            order.tail += plan_of(d)->pipeline;
            break;
        case 3:
            goes_on = put_message(d, d->sent[order.sent++].message);
            break;
        default:
            if (!source)
                return true;
            goes_on = put_cue(d, source);
        }
    }
    return false;
}

static bool choose_devices(struct drawing *d)
{
    const char *given = ll_export_choice(d->export, "devices");
    d->all_devices = given && strcmp(given, "all") == 0;
    return !given || d->all_devices || strcmp(given, "distinct") == 0 ||
           ll_complain(d->export->diags, (struct ll_place){0},
                       "-p devices=%s: expected `all` or `distinct`, one of those that do the same", given);
}

static bool find_places(struct drawing *d)
{
    uint64_t stages = plan_of(d)->pipeline;
    d->places = ll_alloc(&d->export->arena, stages * d->per_stage, sizeof *d->places);
    for (uint64_t i = 0; d->places && i < stages * d->per_stage; i++) {
        uint64_t vstage = d->passes[i].chunk * stages + i / d->per_stage;
        d->places[(2 * vstage + d->passes[i].backward) * micro_batches(d) + d->passes[i].micro_batch] = i;
    }
    return d->places;
}

/* False when memory ran out. */
static bool read_step(struct drawing *d)
{
    struct ll_arena *arena = &d->export->arena;
    d->passes = ll_parallel_passes(d->step, arena, &d->per_stage);
    if (!d->passes || !find_places(d))
        return false;
    d->bytes = ll_parallel_pass_bytes(d->step, d->passes, d->per_stage, arena);
    d->messages = ll_parallel_messages(d->step, d->passes, d->per_stage, arena, &d->message_count);
    return d->bytes && d->messages && read_plays(d) && sort_messages(d);
}

static bool draw(struct drawing *d)
{
    if (!ll_timeline_choose_flows(d->export, LL_FLOWS_CROSS, &d->flows) || !choose_devices(d) ||
        !ll_export_ready(d->export))
        return false;
    if (!read_step(d))
        return no_memory(d);
    uint64_t ranks = d->all_devices ? devices_of_stage(plan_of(d)) : 1;
    bool goes_on = true;
    for (d->stage = 0; goes_on && d->stage < plan_of(d)->pipeline; d->stage++)
        for (d->rank = 0; goes_on && d->rank < ranks; d->rank++) {
            d->process = d->stage * ranks + d->rank;
            goes_on = put_process(d);
        }
    return goes_on;
}

bool ll_export_step(struct ll_export *export)
{
    const struct ll_step_export *request = (const struct ll_step_export *)export;
    struct drawing d = {.export = export, .step = request->step, .timeline = ll_timeline_open(export)};
    bool done = d.timeline && draw(&d);
    done = ll_timeline_close(d.timeline) && done;
    free(d.sources);
    free(d.ends);
    return done;
}
