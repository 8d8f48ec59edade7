/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: a program played event by event.
 *
 * Each core takes its tiles in the order of the program, as soon as all that the next one reads has come.
 * Room is made in the same order, of a tile for all that it reads and makes at once, a few tiles ahead: so
 * what comes next loads while a tile computes. A transfer begins when its piece is made and every memory
 * that it goes to has room for it; transfers share links max-min fairly: all grow alike until a link is
 * full, those over it stay, the others go on. Of a core's results one at a time goes out to the outermost
 * memory, in the order in which they are made. What no tile and no transfer reads any more gives its room
 * back. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"

/* Tiles ahead of the one that a core computes for which room is made. */
enum { AHEAD = 3 };

struct flow {
    uint32_t transfer;
    double left_bytes, rate_Bps, since_s, finish_s; /* since: begin of this rate */
};

struct arrival {
    uint32_t transfer;
    double at_s;
};

struct play {
    const struct program *program;
    const struct chip *chip;
    struct schedule *schedule;
    double now_s;
    uint32_t *next_on_core, *core_next, *next_in_domain, *domain_next;
    uint32_t *core_task; /* that it computes; LL_NONE: it waits */
    uint32_t *ahead;     /* by domain: tiles with room that have not ended */
    uint32_t *domain_cores;
    double *core_end_s, *pool_held;
    uint32_t *uses,
        *waits; /* of copies; of transfers: memories without room, and 1 while its piece is made */
    bool *ready, *has_room; /* copies that are there; tasks */
    struct flow *flows;
    uint32_t flow_count, done_count;
    struct arrival *arrivals;
    uint32_t arrival_count;
    uint32_t *out_first, *out_last,
        *out_next;        /* by core: results that go out, the first of them now; by transfer */
    uint32_t *first_link; /* of transfers, in links */
    uint16_t *links;
    double *left_Bps;
    uint32_t *sharing, *stamp;
    uint16_t *used;
    bool rates_old, failed;
};

/* Zeroed arrays out of one block, which grows from play to play. */
static void *take(struct schedule *schedule, uint64_t *used, uint64_t count, size_t size)
{
    uint64_t begin = (*used + 15) & ~(uint64_t)15;
    *used = begin + count * size;
    return schedule->scratch ? (char *)schedule->scratch + begin : NULL;
}

static void lay_out(struct play *play, uint64_t *used, uint64_t link_refs)
{
    const struct program *p = play->program;
    struct schedule *s = play->schedule;
    uint64_t cores = play->chip->core_count, links = play->chip->link_count;
    *used = 0;
    play->next_on_core = take(s, used, p->task_count, sizeof(uint32_t));
    play->next_in_domain = take(s, used, p->task_count, sizeof(uint32_t));
    play->core_next = take(s, used, cores, sizeof(uint32_t));
    play->domain_next = take(s, used, cores, sizeof(uint32_t));
    play->core_task = take(s, used, cores, sizeof(uint32_t));
    play->ahead = take(s, used, cores, sizeof(uint32_t));
    play->domain_cores = take(s, used, cores, sizeof(uint32_t));
    play->core_end_s = take(s, used, cores, sizeof(double));
    play->pool_held = take(s, used, play->chip->pool_count, sizeof(double));
    play->uses = take(s, used, p->copy_count, sizeof(uint32_t));
    play->waits = take(s, used, p->transfer_count, sizeof(uint32_t));
    play->ready = take(s, used, p->copy_count, sizeof(bool));
    play->has_room = take(s, used, p->task_count, sizeof(bool));
    play->flows = take(s, used, p->transfer_count, sizeof(struct flow));
    play->arrivals = take(s, used, p->transfer_count, sizeof(struct arrival));
    play->out_first = take(s, used, cores, sizeof(uint32_t));
    play->out_last = take(s, used, cores, sizeof(uint32_t));
    play->out_next = take(s, used, p->transfer_count, sizeof(uint32_t));
    play->first_link = take(s, used, p->transfer_count + 1, sizeof(uint32_t));
    play->links = take(s, used, link_refs, sizeof(uint16_t));
    play->left_Bps = take(s, used, links, sizeof(double));
    play->sharing = take(s, used, links, sizeof(uint32_t));
    play->stamp = take(s, used, links, sizeof(uint32_t));
    play->used = take(s, used, links, sizeof(uint16_t));
}

/* How many links all transfers take, at most. */
static uint64_t count_links(const struct program *program)
{
    const struct chip *chip = program->chip;
    uint64_t count = 0;
    for (uint64_t t = 0; t < program->transfer_count; t++) {
        const struct transfer *transfer = &program->transfers[t];
        uint32_t copy = transfer->first_there;
        do {
            uint16_t to = copy == LL_NONE ? chip_memory(chip) : program->copies[copy].end;
            count += chip->routes[(size_t)transfer->from * chip->ends + to].count;
            copy = copy == LL_NONE ? LL_NONE : program->copies[copy].next_there;
        } while (copy != LL_NONE);
    }
    return count;
}

/* The links of each transfer, each once. */
static void find_links(struct play *play)
{
    const struct program *program = play->program;
    const struct chip *chip = play->chip;
    uint32_t count = 0;
    for (uint32_t t = 0; t < program->transfer_count; t++) {
        const struct transfer *transfer = &program->transfers[t];
        uint32_t copy = transfer->first_there;
        play->first_link[t] = count;
        do {
            uint16_t to = copy == LL_NONE ? chip_memory(chip) : program->copies[copy].end;
            const struct route *route = &chip->routes[(size_t)transfer->from * chip->ends + to];
            for (uint16_t i = 0; i < route->count; i++)
                if (play->stamp[route->links[i]] != t + 1) {
                    play->stamp[route->links[i]] = t + 1;
                    play->links[count++] = route->links[i];
                }
            copy = copy == LL_NONE ? LL_NONE : program->copies[copy].next_there;
        } while (copy != LL_NONE);
    }
    play->first_link[program->transfer_count] = count;
}

static bool begin(struct play *play)
{
    const struct program *p = play->program;
    struct schedule *s = play->schedule;
    uint64_t used, link_refs = count_links(p);
    lay_out(play, &used, link_refs);
    s->time_s = 0;
    s->rate_count = s->room_count = 0;
    if (!ll_grow(&s->scratch, &s->scratch_room, used, 1) ||
        !ll_grow(&s->task_start_s, &s->task_room, p->task_count, sizeof(double)) ||
        !ll_grow(&s->task_end_s, &s->end_room, p->task_count, sizeof(double)) ||
        !ll_grow(&s->transfer_start_s, &s->transfer_room, p->transfer_count, sizeof(double)) ||
        !ll_grow(&s->transfer_end_s, &s->start_room, p->transfer_count, sizeof(double)) ||
        !ll_grow(&s->pool_peak, &s->peak_room, play->chip->pool_count, sizeof(double)))
        return false;
    memset(s->scratch, 0, used);
    memset(s->pool_peak, 0, play->chip->pool_count * sizeof(double));
    lay_out(play, &used, link_refs);
    find_links(play);
    for (uint32_t c = 0; c < play->chip->core_count; c++) {
        play->core_next[c] = play->domain_next[c] = play->core_task[c] = play->out_first[c] = LL_NONE;
        play->domain_cores[play->chip->domain_of[c]]++;
    }
    for (uint64_t t = p->task_count; t-- > 0;) {
        uint16_t core = p->tasks[t].core, domain = play->chip->domain_of[core];
        play->next_on_core[t] = play->core_next[core];
        play->core_next[core] = (uint32_t)t;
        play->next_in_domain[t] = play->domain_next[domain];
        play->domain_next[domain] = (uint32_t)t;
    }
    for (uint64_t c = 0; c < p->copy_count; c++)
        play->uses[c] = p->copies[c].uses;
    for (uint64_t t = 0; t < p->transfer_count; t++)
        play->waits[t] = p->transfers[t].there_count + (p->transfers[t].from_copy != LL_NONE);
    return true;
}

static void note_room(struct play *play, uint32_t copy, double bytes)
{
    struct schedule *s = play->schedule;
    double *held = &play->pool_held[play->program->copies[copy].pool];
    double *peak = &s->pool_peak[play->program->copies[copy].pool];
    *held += bytes;
    *peak = fmax(*peak, *held);
    if (!s->recording)
        return;
    if (!ll_grow(&s->rooms, &s->room_room, s->room_count + 1, sizeof *s->rooms)) {
        play->failed = true;
        return;
    }
    s->rooms[s->room_count++] = (struct ll_fusion_room){copy, play->now_s, bytes};
}

static void note_rate(struct play *play, const struct flow *flow)
{
    struct schedule *s = play->schedule;
    if (!s->recording || flow->rate_Bps <= 0 || play->now_s <= flow->since_s)
        return;
    if (!ll_grow(&s->rates, &s->rate_room, s->rate_count + 1, sizeof *s->rates)) {
        play->failed = true;
        return;
    }
    s->rates[s->rate_count++] =
        (struct ll_fusion_rate){flow->transfer, flow->since_s, play->now_s, flow->rate_Bps};
}

static void use_less(struct play *play, uint32_t copy)
{
    assert(play->uses[copy] > 0);
    if (--play->uses[copy] == 0)
        note_room(play, copy, -play->program->copies[copy].bytes);
}

static void arrive(struct play *play, uint32_t transfer)
{
    const struct program *program = play->program;
    const struct transfer *it = &program->transfers[transfer];
    play->schedule->transfer_end_s[transfer] = play->now_s;
    for (uint32_t c = it->first_there; c != LL_NONE; c = program->copies[c].next_there)
        play->ready[c] = true;
    if (it->from_copy != LL_NONE)
        use_less(play, it->from_copy);
}

/* From the last byte's leaving until it is there. */
static double latency_of(const struct play *play, uint32_t transfer)
{
    double sum_s = 0;
    for (uint32_t i = play->first_link[transfer]; i < play->first_link[transfer + 1]; i++)
        sum_s += play->chip->links[play->links[i]].latency_s;
    return sum_s;
}

static void end_flow(struct play *play, uint32_t transfer);

static void begin_flow(struct play *play, uint32_t transfer)
{
    play->schedule->transfer_start_s[transfer] = play->now_s;
    if (play->program->transfers[transfer].bytes <= 0 ||
        play->first_link[transfer] == play->first_link[transfer + 1]) {
        end_flow(play, transfer);
        return;
    }
    play->flows[play->flow_count++] = (struct flow){
        .transfer = transfer, .left_bytes = play->program->transfers[transfer].bytes, .since_s = play->now_s};
    play->rates_old = true;
}

static void end_flow(struct play *play, uint32_t transfer)
{
    const struct transfer *it = &play->program->transfers[transfer];
    double latency_s = latency_of(play, transfer);
    if (latency_s > 0)
        play->arrivals[play->arrival_count++] = (struct arrival){transfer, play->now_s + latency_s};
    else
        arrive(play, transfer);
    if (it->first_there != LL_NONE)
        return;
    play->out_first[it->from] =
        play->out_first[it->from] == play->out_last[it->from] ? LL_NONE : play->out_next[transfer];
    if (play->out_first[it->from] != LL_NONE)
        begin_flow(play, play->out_first[it->from]);
}

static void wait_less(struct play *play, uint32_t transfer)
{
    const struct transfer *it = &play->program->transfers[transfer];
    assert(play->waits[transfer] > 0);
    if (--play->waits[transfer] > 0)
        return;
    if (it->first_there == LL_NONE) {
        bool busy = play->out_first[it->from] != LL_NONE;
        if (busy)
            play->out_next[play->out_last[it->from]] = transfer;
        else
            play->out_first[it->from] = transfer;
        play->out_last[it->from] = transfer;
        if (busy)
            return;
    }
    begin_flow(play, transfer);
}

/* Makes room for tasks in their order, as far as memories and the number ahead allow. */
static bool make_room(struct play *play, uint32_t domain)
{
    const struct program *program = play->program;
    bool any = false;
    while (play->domain_next[domain] != LL_NONE && play->ahead[domain] < AHEAD * play->domain_cores[domain]) {
        uint32_t t = play->domain_next[domain];
        const struct task *task = &program->tasks[t];
        bool room = true;
        for (uint32_t a = 0; room && a < task->alloc_count; a++) {
            uint16_t pool = program->copies[program->allocs[task->first_alloc + a]].pool;
            double wanted = play->pool_held[pool];
            for (uint32_t b = 0; b < task->alloc_count; b++) {
                const struct copy *copy = &program->copies[program->allocs[task->first_alloc + b]];
                wanted += copy->pool == pool ? copy->bytes : 0;
            }
            room = wanted <= play->chip->pools[pool].capacity_bytes * (1 + 1e-12);
        }
        if (!room)
            return any;
        for (uint32_t a = 0; a < task->alloc_count; a++) {
            uint32_t copy = program->allocs[task->first_alloc + a];
            note_room(play, copy, program->copies[copy].bytes);
            if (program->copies[copy].transfer != LL_NONE)
                wait_less(play, program->copies[copy].transfer);
        }
        play->has_room[t] = true;
        play->ahead[domain]++;
        play->domain_next[domain] = play->next_in_domain[t];
        any = true;
    }
    return any;
}

static bool can_start(const struct play *play, uint32_t t)
{
    const struct task *task = &play->program->tasks[t];
    if (!play->has_room[t])
        return false;
    for (uint32_t i = 0; i < task->ref_count; i++)
        if (!play->ready[play->program->refs[task->first_ref + i]])
            return false;
    return true;
}

static bool start_tasks(struct play *play)
{
    bool any = false;
    for (uint32_t c = 0; c < play->chip->core_count; c++) {
        uint32_t t = play->core_next[c];
        if (play->core_task[c] != LL_NONE || t == LL_NONE || !can_start(play, t))
            continue;
        play->core_task[c] = t;
        play->core_next[c] = play->next_on_core[t];
        play->schedule->task_start_s[t] = play->now_s;
        play->core_end_s[c] = play->now_s + play->program->tasks[t].time_s;
        any = true;
    }
    return any;
}

static void end_task(struct play *play, uint32_t core)
{
    const struct program *program = play->program;
    uint32_t t = play->core_task[core];
    const struct task *task = &program->tasks[t];
    play->core_task[core] = LL_NONE;
    play->ahead[play->chip->domain_of[core]]--;
    play->schedule->task_end_s[t] = play->now_s;
    play->done_count++;
    for (uint32_t i = 0; i < task->ref_count; i++)
        use_less(play, program->refs[task->first_ref + i]);
    if (!task->ends)
        return;
    play->ready[task->out] = true;
    for (uint32_t x = program->copies[task->out].first_out; x != LL_NONE; x = program->transfers[x].next_out)
        wait_less(play, x);
    use_less(play, task->out);
}

/* Max-min fair rates by progressive filling. */
static void share_links(struct play *play)
{
    uint32_t used = 0, open = play->flow_count;
    for (uint32_t f = 0; f < play->flow_count; f++) {
        uint32_t t = play->flows[f].transfer;
        for (uint32_t i = play->first_link[t]; i < play->first_link[t + 1]; i++) {
            uint16_t l = play->links[i];
            if (play->sharing[l]++ == 0) {
                play->left_Bps[l] = play->chip->links[l].Bps;
                play->used[used++] = l;
            }
        }
        play->flows[f].finish_s = -1; /* no rate yet */
    }
    while (open > 0) {
        double least_Bps = INFINITY;
        uint16_t full = 0;
        for (uint32_t u = 0; u < used; u++) {
            uint16_t l = play->used[u];
            if (play->sharing[l] > 0 && play->left_Bps[l] / play->sharing[l] < least_Bps) {
                least_Bps = play->left_Bps[l] / play->sharing[l];
                full = l;
            }
        }
        for (uint32_t f = 0; f < play->flow_count; f++) {
            struct flow *flow = &play->flows[f];
            uint32_t first = play->first_link[flow->transfer], end = play->first_link[flow->transfer + 1];
            bool over = false;
            for (uint32_t i = first; flow->finish_s < 0 && i < end; i++)
                over = over || play->links[i] == full;
            if (!over)
                continue;
            for (uint32_t i = first; i < end; i++) {
                play->left_Bps[play->links[i]] = fmax(0, play->left_Bps[play->links[i]] - least_Bps);
                play->sharing[play->links[i]]--;
            }
            if (flow->rate_Bps != least_Bps) {
                note_rate(play, flow);
                flow->rate_Bps = least_Bps;
                flow->since_s = play->now_s;
            }
            flow->finish_s = play->now_s + flow->left_bytes / least_Bps;
            open--;
        }
        play->sharing[full] = 0;
    }
    play->rates_old = false;
}

/* When something ends next; infinity when nothing goes on. */
static double next_end_s(const struct play *play)
{
    double next_s = INFINITY;
    for (uint32_t c = 0; c < play->chip->core_count; c++)
        if (play->core_task[c] != LL_NONE)
            next_s = fmin(next_s, play->core_end_s[c]);
    for (uint32_t f = 0; f < play->flow_count; f++)
        next_s = fmin(next_s, play->flows[f].finish_s);
    for (uint32_t a = 0; a < play->arrival_count; a++)
        next_s = fmin(next_s, play->arrivals[a].at_s);
    return next_s;
}

/* Goes to that time and lets end what ends then. */
static void advance(struct play *play, double to_s)
{
    double took_s = to_s - play->now_s;
    uint32_t kept = 0, flows = play->flow_count;
    play->now_s = to_s;
    for (uint32_t f = 0; f < flows; f++) {
        struct flow *flow = &play->flows[f];
        flow->left_bytes -= flow->rate_Bps * took_s;
        if (flow->finish_s > to_s)
            continue;
        note_rate(play, flow);
        flow->finish_s = -1;
        play->rates_old = true;
        end_flow(play, flow->transfer);
    }
    for (uint32_t f = 0; f < play->flow_count; f++)
        if (f >= flows || play->flows[f].finish_s >= 0)
            play->flows[kept++] = play->flows[f];
    play->flow_count = kept;
    kept = 0;
    for (uint32_t a = 0; a < play->arrival_count; a++)
        if (play->arrivals[a].at_s > to_s)
            play->arrivals[kept++] = play->arrivals[a];
        else
            arrive(play, play->arrivals[a].transfer);
    play->arrival_count = kept;
    for (uint32_t c = 0; c < play->chip->core_count; c++)
        if (play->core_task[c] != LL_NONE && play->core_end_s[c] <= to_s)
            end_task(play, c);
}

bool schedule_make(struct schedule *schedule, const struct program *program, double limit_s)
{
    struct play play = {.program = program, .chip = program->chip, .schedule = schedule};
    if (!begin(&play)) {
        schedule->failed = true;
        return false;
    }
    for (;;) {
        bool any = true;
        while (any) {
            any = false;
            for (uint32_t d = 0; d < play.chip->core_count; d++)
                any = make_room(&play, d) || any;
            any = start_tasks(&play) || any;
        }
        if (play.rates_old)
            share_links(&play);
        double next_s = next_end_s(&play);
        if (!isfinite(next_s))
            break;
        if (next_s > limit_s || play.failed)
            return false;
        advance(&play, next_s);
    }
    assert(play.done_count == program->task_count);
    schedule->failed = schedule->failed || play.failed;
    schedule->time_s = play.now_s;
    return !play.failed && play.done_count == program->task_count;
}

void schedule_release(struct schedule *schedule)
{
    free(schedule->task_start_s);
    free(schedule->task_end_s);
    free(schedule->transfer_start_s);
    free(schedule->transfer_end_s);
    free(schedule->pool_peak);
    free(schedule->rates);
    free(schedule->rooms);
    free(schedule->scratch);
}
