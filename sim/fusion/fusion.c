/* SPDX-License-Identifier: Apache-2.0 */
/* A step on cores, put together: the chosen stacks are played once more and written down, one behind the
 * other; then energy, and the result of a step as other rooms read it (result.c). */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"
#include "sim/fusion/result.h"
#include "sim/fusion/search.h"

/* Arrays that grow from stack to stack; copied into the arena at the end. */
struct writing {
    struct search *search;
    struct ll_fused_step *fusion;
    uint64_t task_room, copy_room, transfer_room, rate_room, read_room, there_room, stack_room;
};

static bool grow_all(struct writing *writing)
{
    struct ll_fused_step *f = writing->fusion;
    const struct program *p = &writing->search->program;
    return ll_grow(&f->tasks, &writing->task_room, f->task_count + p->task_count, sizeof *f->tasks) &&
           ll_grow(&f->copies, &writing->copy_room, f->copy_count + p->copy_count, sizeof *f->copies) &&
           ll_grow(&f->transfers, &writing->transfer_room, f->transfer_count + p->transfer_count,
                   sizeof *f->transfers) &&
           ll_grow(&f->rates, &writing->rate_room, f->rate_count + writing->search->schedule.rate_count,
                   sizeof *f->rates) &&
           ll_grow(&f->reads, &writing->read_room, f->read_count + p->ref_count, sizeof *f->reads) &&
           ll_grow(&f->there, &writing->there_room, f->there_count + p->copy_count, sizeof *f->there) &&
           ll_grow(&f->stacks, &writing->stack_room, f->stack_count + 1, sizeof *f->stacks);
}

static void write_tasks(struct writing *writing, double begin_s)
{
    struct ll_fused_step *f = writing->fusion;
    const struct program *p = &writing->search->program;
    const struct schedule *s = &writing->search->schedule;
    for (uint64_t t = 0; t < p->task_count; t++) {
        const struct task *task = &p->tasks[t];
        struct ll_fusion_task *it = &f->tasks[f->task_count + t];
        *it = (struct ll_fusion_task){.op = p->graph->nodes[task->node].op,
                                      .stack = (uint32_t)f->stack_count,
                                      .core = task->core,
                                      .start_s = begin_s + s->task_start_s[t],
                                      .end_s = begin_s + s->task_end_s[t],
                                      .energy_j = task->energy_j,
                                      .first_read = (uint32_t)(f->read_count + task->first_ref),
                                      .read_count = task->ref_count,
                                      .made = (uint32_t)(f->copy_count + task->out)};
        memcpy(it->rows, task->rows, sizeof it->rows);
        memcpy(it->columns, task->columns, sizeof it->columns);
        memcpy(it->depth, task->depth, sizeof it->depth);
        f->core_busy_s[task->core] += task->time_s;
        f->compute_j += task->compute_j;
        f->tiles_j += task->energy_j - task->compute_j;
    }
    for (uint64_t i = 0; i < p->ref_count; i++)
        f->reads[f->read_count + i] = (uint32_t)(f->copy_count + p->refs[i]);
}

static void write_copies(struct writing *writing, double begin_s)
{
    struct ll_fused_step *f = writing->fusion;
    const struct program *p = &writing->search->program;
    const struct schedule *s = &writing->search->schedule;
    for (uint64_t c = 0; c < p->copy_count; c++) {
        const struct copy *copy = &p->copies[c];
        const struct piece *piece = &p->pieces[copy->piece];
        struct ll_fusion_copy *it = &f->copies[f->copy_count + c];
        *it =
            (struct ll_fusion_copy){.stack = (uint32_t)f->stack_count,
                                    .op = piece->made == LL_NONE ? LL_NONE : p->graph->nodes[piece->node].op,
                                    .tensor = piece->tensor,
                                    .pool = copy->pool,
                                    .bytes = copy->bytes};
        memcpy(it->rows, piece->rows, sizeof it->rows);
        memcpy(it->columns, piece->columns, sizeof it->columns);
    }
    for (uint64_t r = 0; r < s->room_count; r++) {
        struct ll_fusion_copy *it = &f->copies[f->copy_count + s->rooms[r].copy];
        *(s->rooms[r].bytes > 0 ? &it->from_s : &it->until_s) = begin_s + s->rooms[r].at_s;
    }
}

static int by_transfer(const void *left, const void *right)
{
    const struct ll_fusion_rate *a = left, *b = right;
    if (a->transfer != b->transfer)
        return a->transfer < b->transfer ? -1 : 1;
    return a->from_s < b->from_s ? -1 : a->from_s > b->from_s;
}

static void write_transfers(struct writing *writing, double begin_s)
{
    struct ll_fused_step *f = writing->fusion;
    const struct program *p = &writing->search->program;
    struct schedule *s = &writing->search->schedule;
    uint64_t rate = 0;
    qsort(s->rates, s->rate_count, sizeof *s->rates, by_transfer);
    for (uint64_t t = 0; t < p->transfer_count; t++) {
        const struct transfer *transfer = &p->transfers[t];
        struct ll_fusion_transfer *it = &f->transfers[f->transfer_count + t];
        uint32_t copy = transfer->first_there != LL_NONE ? transfer->first_there : transfer->from_copy;
        *it = (struct ll_fusion_transfer){.stack = (uint32_t)f->stack_count,
                                          .copy = (uint32_t)(f->copy_count + copy),
                                          .source = transfer->from_copy == LL_NONE
                                                        ? LL_NONE
                                                        : (uint32_t)(f->copy_count + transfer->from_copy),
                                          .from = transfer->from,
                                          .first_there = (uint32_t)f->there_count,
                                          .bytes = transfer->bytes,
                                          .start_s = begin_s + s->transfer_start_s[t],
                                          .end_s = begin_s + s->transfer_end_s[t],
                                          .first_rate = (uint32_t)(f->rate_count + rate)};
        for (uint32_t c = transfer->first_there; c != LL_NONE; c = p->copies[c].next_there)
            f->there[f->there_count++] = (uint32_t)(f->copy_count + c);
        it->there_count = (uint32_t)f->there_count - it->first_there;
        for (; rate < s->rate_count && s->rates[rate].transfer == t; rate++) {
            struct ll_fusion_rate *written = &f->rates[f->rate_count + rate];
            *written = s->rates[rate];
            written->transfer += (uint32_t)f->transfer_count;
            written->from_s += begin_s;
            written->until_s += begin_s;
            it->rate_count++;
        }
    }
    f->rate_count += s->rate_count;
}

/* Energy of what is moved: over links, out of the outermost memory or into it, out of the memories of
 * cores and into them. */
static void add_moving(struct writing *writing)
{
    struct ll_fused_step *f = writing->fusion;
    const struct program *p = &writing->search->program;
    const struct chip *chip = p->chip;
    const struct ll_machine *machine = chip->machine;
    struct ll_fusion_stack *stack = &f->stacks[f->stack_count];
    uint32_t *seen = calloc(chip->link_count + 1, sizeof *seen);
    if (!seen) {
        writing->search->failed = true;
        return;
    }
    for (uint64_t t = 0; t < p->transfer_count; t++) {
        const struct transfer *it = &p->transfers[t];
        uint32_t copy = it->first_there;
        do {
            uint16_t to = copy == LL_NONE ? chip_memory(chip) : p->copies[copy].end;
            const struct route *route = &chip->routes[(size_t)it->from * chip->ends + to];
            for (uint16_t i = 0; i < route->count; i++) {
                uint16_t l = route->links[i];
                if (seen[l] == t + 1)
                    continue;
                seen[l] = (uint32_t)t + 1;
                f->links[l].bytes += it->bytes;
                f->links_j += it->bytes * chip->links[l].j_per_byte;
                if (l == 0) {
                    stack->memory_bytes += it->bytes;
                    f->memory_j += it->bytes * ll_machine_level_j(machine, machine->level_count - 1);
                }
            }
            if (copy != LL_NONE)
                f->tiles_j +=
                    it->bytes * ll_machine_level_j(machine, chip->pools[p->copies[copy].pool].level);
            copy = copy == LL_NONE ? LL_NONE : p->copies[copy].next_there;
        } while (copy != LL_NONE);
        if (it->from_copy != LL_NONE)
            f->tiles_j +=
                it->bytes * ll_machine_level_j(machine, chip->pools[p->copies[it->from_copy].pool].level);
    }
    free(seen);
}

/* One stack, from begin_s on. */
static bool write_stack(struct writing *writing, const struct choice *choice, double begin_s)
{
    struct search *search = writing->search;
    struct ll_fused_step *f = writing->fusion;
    search->schedule.recording = true;
    if (!program_make(&search->program, &choice->plan, UINT32_MAX) ||
        !schedule_make(&search->schedule, &search->program, INFINITY) || !grow_all(writing))
        return false;
    assert(search->schedule.time_s == choice->time_s);
    const struct program *p = &search->program;
    f->stacks[f->stack_count] =
        (struct ll_fusion_stack){.first_op = p->graph->nodes[choice->plan.first].op,
                                 .last_op = p->graph->nodes[choice->plan.last].op,
                                 .op_count = choice->plan.last - choice->plan.first + 1,
                                 .bands = choice->plan.bands,
                                 .columns = choice->plan.columns,
                                 .steps = choice->plan.steps,
                                 .column_blocks = choice->plan.column_blocks,
                                 .depth_blocks = choice->plan.depth_blocks,
                                 .tiles = (uint32_t)p->task_count,
                                 .pipeline = choice->plan.pipeline,
                                 .start_s = begin_s,
                                 .time_s = search->schedule.time_s,
                                 .bound_s = p->bound_s};
    write_tasks(writing, begin_s);
    write_copies(writing, begin_s);
    write_transfers(writing, begin_s);
    add_moving(writing);
    for (uint32_t i = 0; i < p->chip->pool_count; i++)
        f->pools[i].peak_bytes = fmax(f->pools[i].peak_bytes, search->schedule.pool_peak[i]);
    f->task_count += p->task_count;
    f->copy_count += p->copy_count;
    f->transfer_count += p->transfer_count;
    f->read_count += p->ref_count;
    f->stack_count++;
    return !search->failed;
}

static bool write_all(struct writing *writing)
{
    struct search *search = writing->search;
    double begin_s = 0;
    for (uint32_t n = 0; n < search->graph.node_count; n = search->stack[n].plan.last + 1) {
        if (!write_stack(writing, &search->stack[n], begin_s))
            return false;
        begin_s += search->stack[n].time_s;
    }
    writing->fusion->time_s = begin_s;
    return true;
}

/* Cores, memories, links and ways, by name. */
static bool name_parts(struct ll_fused_step *f, const struct chip *chip, struct ll_arena *arena)
{
    const struct ll_machine *machine = chip->machine;
    size_t ways = (size_t)chip->ends * chip->ends;
    f->core_count = chip->core_count;
    f->pool_count = chip->pool_count;
    f->link_count = chip->link_count;
    f->core_names = ll_alloc(arena, chip->core_count, sizeof *f->core_names);
    f->core_busy_s = ll_alloc(arena, chip->core_count, sizeof *f->core_busy_s);
    f->pools = ll_alloc(arena, chip->pool_count, sizeof *f->pools);
    f->links = ll_alloc(arena, chip->link_count, sizeof *f->links);
    f->routes = ll_alloc(arena, ways, sizeof *f->routes);
    f->route_lengths = ll_alloc(arena, ways, sizeof *f->route_lengths);
    if (!f->core_names || !f->core_busy_s || !f->pools || !f->links || !f->routes || !f->route_lengths)
        return false;
    for (uint32_t c = 0; c < chip->core_count; c++) {
        const struct ll_core *core = &machine->cores[chip->type_of[c]];
        f->core_names[c] = core->count > 1
                               ? ll_format(arena, "%s.%d", core->name, c - chip->first_of[chip->type_of[c]])
                               : core->name;
        if (!f->core_names[c])
            return false;
    }
    for (uint32_t p = 0; p < chip->pool_count; p++)
        f->pools[p] = (struct ll_fusion_pool){machine->levels[chip->pools[p].level].name, chip->pools[p].end,
                                              chip->pools[p].capacity_bytes, 0};
    for (uint32_t l = 0; l < chip->link_count; l++) {
        const struct link *link = &chip->links[l];
        f->links[l] = (struct ll_fusion_link){.name = link->spec == UINT32_MAX
                                                          ? machine->levels[machine->level_count - 1].name
                                                          : machine->core_links[link->spec].name,
                                              .Bps = link->Bps,
                                              .latency_s = link->latency_s};
    }
    for (size_t i = 0; i < ways; i++) {
        f->routes[i] = chip->routes[i].links;
        f->route_lengths[i] = chip->routes[i].count;
    }
    return true;
}

/* Moves what has grown on the heap into the arena. */
static bool settle(struct ll_fused_step *f, struct ll_arena *arena)
{
    struct {
        void *at;
        uint64_t count;
        size_t size;
    } parts[] = {{&f->tasks, f->task_count, sizeof *f->tasks},
                 {&f->copies, f->copy_count, sizeof *f->copies},
                 {&f->rates, f->rate_count, sizeof *f->rates},
                 {&f->reads, f->read_count, sizeof *f->reads},
                 {&f->there, f->there_count, sizeof *f->there},
                 {&f->stacks, f->stack_count, sizeof *f->stacks},
                 {&f->transfers, f->transfer_count, sizeof *f->transfers}};
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        void *heap, *kept;
        memcpy(&heap, parts[i].at, sizeof heap);
        kept = good ? ll_alloc(arena, parts[i].count + 1, parts[i].size) : NULL;
        if (kept && parts[i].count)
            memcpy(kept, heap, parts[i].count * parts[i].size);
        good = good && kept;
        free(heap);
        memcpy(parts[i].at, &kept, sizeof kept);
    }
    return good;
}

static void sum_energy(struct ll_fused_step *f)
{
    const struct ll_machine *machine = f->machine;
    f->static_j = ll_machine_static_w(machine) * f->time_s;
    f->energy_j =
        machine->energy_given ? f->compute_j + f->tiles_j + f->links_j + f->memory_j + f->static_j : NAN;
}

static bool searched(struct search *search, const struct ll_prepared *prepared,
                     const struct ll_machine *machine, enum ll_fuse fuse, struct ll_arena *arena,
                     struct ll_diags *diags)
{
    if (!search_open(search, prepared, machine, arena, diags))
        return false;
    if (search_step(search, fuse))
        return true;
    if (search->failed)
        return false;
    const struct node *node = &search->graph.nodes[search->unfit];
    return ll_complain(diags, (struct ll_place){.file = machine->path},
                       "op %" PRIu32
                       " (%s) finds no room in the memories of the core `%s`, however it is cut",
                       node->op, ll_op_name(node->kind), machine->cores[node->type].name);
}

const struct ll_fused_step *ll_fuse(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                    enum ll_fuse fuse, struct ll_arena *arena, struct ll_diags *diags)
{
    struct search *search = calloc(1, sizeof *search);
    struct ll_fused_step *f = ll_alloc(arena, 1, sizeof *f);
    struct writing writing = {.search = search, .fusion = f};
    bool good = search && f && searched(search, prepared, machine, fuse, arena, diags);
    if (good) {
        f->machine = machine;
        good = name_parts(f, &search->chip, arena) && write_all(&writing);
        for (uint32_t n = 0; n < search->graph.node_count; n++)
            f->layer_by_layer_s += search->alone[n].time_s;
        f->bound_s = search_least_s(search);
        f->plans_tried = search->tried;
        f->plans_played = search->played;
        good = settle(f, arena) && good && f->bound_s >= 0;
        assert(!good || f->bound_s <= f->time_s * (1 + 1e-9));
        assert(f->time_s <= f->layer_by_layer_s * (1 + 1e-9));
        sum_energy(f);
        good = good && fusion_result(f, search, arena, diags);
    }
    if (search)
        search_close(search);
    free(search);
    return good ? f : NULL;
}

double ll_fuse_time(const struct ll_prepared *prepared, const struct ll_machine *machine, enum ll_fuse fuse)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct search *search = calloc(1, sizeof *search);
    bool good = search && searched(search, prepared, machine, fuse, &arena, &diags);
    double time_s = good ? search->rest_s[0] / (double)prepared->steps : -1;
    if (search)
        search_close(search);
    free(search);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return time_s;
}
