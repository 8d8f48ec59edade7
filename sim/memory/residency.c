/* SPDX-License-Identifier: Apache-2.0 */
/* Reuse distances in one walk over the operands (Bennett and Kruskal, IBM J. Res. Dev. 19, 1975). Each
 * access has a place on a line; a storage's bytes stand at the place of its latest access, so the distinct
 * bytes touched since then are the sum to the right of that place:
 *
 *       place    1   2   3   4   5          access 6 touches y again:
 *       storage  x   y   x   z   z          distance = bytes of x + bytes of z
 *       bytes    -   y   x   -   z          then y's bytes move from 2 to 6
 *
 * The line holds sums of 16 places, of 16 such sums and so on: a place changes one of each, and what was
 * touched lately is near the end. When the line is full, places where nobody can be found any more are taken
 * out of it, so that it stays as short as storages are many, however long the trace is.
 *
 * A storage that died leaves its bytes where they stood. Whoever is born at their addresses takes them over,
 * in parts it may be of several of the dead, of which the largest part says when they were touched last.
 *
 * An op that moves less than a tensor it is given (a slice, a gather) counts with what it moves. Nobody knows
 * which part that is: it is as far back as all of the storage, and the rest of the storage may have been
 * touched behind it. The storage stays where it is, and the part takes a place of its own that is never met
 * again. What comes from the host is not on the line before somebody reads it, but how far back that was is
 * known.
 *
 * The ops of a step that was rehearsed are walked twice: they find what they have left the first time. */
#include "sim/memory/residency.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/memory/footprint.h"
#include "tracer/base/map.h"

enum { SIDE_BITS = 4, SIDE = 1 << SIDE_BITS, SUMS = 8, FIRST_PLACES = 1024 };

/* Places from 1 on and the bytes that stand there: sums[k][i] are those of places i 16^k .. (i + 1) 16^k -
 * 1. */
struct line {
    uint64_t *sums[SUMS];
    uint32_t *storages; /* by place: 1 + the storage that took it; 0: no storage can be found there */
    uint32_t *moved;    /* by place, while places are taken out */
    uint32_t capacity;  /* places below it */
    uint32_t end;       /* the latest place */
};

/* What a walk knows about a storage. Numbers of reuses are 1 + their index, 0 for none. */
struct track {
    uint64_t size_bytes; /* of the largest tensor on it */
    uint64_t inherited;  /* distance of its addresses' latest access by whoever died there; LL_NO_FIT: none */
    uint64_t farthest;   /* largest distance since its latest write */
    uint32_t heir_of;    /* the reuse of the access that `inherited` is about */
    uint32_t place;      /* of its latest access; 0 when none of its bytes can be on chip */
    uint32_t latest;     /* the reuse of its latest access */
    uint32_t write;      /* the reuse of its latest write; 0 when that is settled */
    uint32_t arrived;    /* the reuse by which the host has written it since its latest access */
    uint32_t arrival;    /* and its place */
    uint8_t readers;     /* since the latest write: as which operands, a bit each */
    bool read_since;
    bool was_there;       /* before the trace began */
    bool weight, written; /* it holds one; an op writes it */
};

/* What the dead left at addresses that nobody has taken since; none in what is spare. */
struct remains {
    uint64_t address, bytes;
    uint32_t place, latest; /* as of a storage; place 0: spare */
};

struct walk {
    const struct ll_trace *trace;
    uint64_t *desc_bytes; /* by tensor descriptor: what a tensor takes */
    uint8_t *by_all;      /* by signature: read_by_all */
    struct track *tracks; /* by storage */
    struct line line;
    uint64_t count;       /* of operands */
    uint64_t limit_bytes; /* an access counts with at most this, so that no sum passes 64 bits */
    bool failed;          /* memory ran out */
    uint64_t *first;
    uint64_t rehearsal; /* operands of the first step's rehearsal, whose reuses lie before all others */
    bool rehearses;     /* that step comes for the first time */
    struct ll_reuse *reuses;
    uint32_t first_of_op; /* index of the first reuse of the op that is visited */
    struct ll_chains births, deaths;
    const uint64_t *addresses; /* by storage; NULL when together they are too many: then nobody takes over */
    struct remains *remains;
    struct ll_sorted lying; /* of the remains those that are there, by address */
    uint32_t *spare;        /* and those that are not */
    uint32_t remains_count, spare_count;
    uint64_t remains_capacity, spare_capacity;
};

static void put(struct walk *walk, uint32_t place, uint64_t bytes)
{
    assert(place > 0 && place < walk->line.capacity);
    for (unsigned k = 0; place > 0; k++, place >>= SIDE_BITS)
        walk->line.sums[k][place] += bytes; /* wraps for a removal; every sum is right again */
}

static uint64_t bytes_after(const struct walk *walk, uint32_t place)
{
    const struct line *line = &walk->line;
    uint64_t bytes = 0;
    uint32_t next = place + 1;
    for (unsigned k = 0; next <= line->end >> k * SIDE_BITS; k++) {
        const uint32_t last = line->end >> k * SIDE_BITS, side = next | (SIDE - 1);
        const uint64_t *sums = line->sums[k];
        if (next & (SIDE - 1) || last < SIDE)
            for (const uint32_t end = last < side ? last : side; next <= end; next++)
                bytes += sums[next];
        next = (next + SIDE - 1) >> SIDE_BITS;
    }
    return bytes;
}

/* Room for so many places; what stands on them stays. False when memory ran out. */
static bool lengthen(struct line *line, uint64_t capacity)
{
    capacity = (capacity + SIDE) & ~(uint64_t)(SIDE - 1);
    if (capacity > (uint64_t)1 << (SIDE_BITS * (SUMS - 1)))
        return false;
    uint64_t places = capacity, before = line->capacity;
    for (unsigned k = 0; k < SUMS; k++) {
        uint64_t *sums = realloc(line->sums[k], (places + 1) * sizeof *sums);
        if (!sums)
            return false;
        const uint64_t had = line->sums[k] ? before + 1 : 0;
        memset(sums + had, 0, (places + 1 - had) * sizeof *sums);
        line->sums[k] = sums;
        places = (places + SIDE - 1) >> SIDE_BITS;
        before = (before + SIDE - 1) >> SIDE_BITS;
    }
    uint32_t *storages = realloc(line->storages, capacity * sizeof *storages);
    line->storages = storages ? storages : line->storages;
    uint32_t *moved = storages ? realloc(line->moved, capacity * sizeof *moved) : NULL;
    line->moved = moved ? moved : line->moved;
    if (!storages || !moved)
        return false;
    line->capacity = (uint32_t)capacity;
    return true;
}

static void release_line(struct line *line)
{
    for (unsigned k = 0; k < SUMS; k++)
        free(line->sums[k]);
    free(line->storages);
    free(line->moved);
}

/* Sums anew of what stands on the places. */
static void sum_line(struct line *line)
{
    for (unsigned k = 1; k < SUMS; k++) {
        const uint32_t had = line->capacity >> k * SIDE_BITS;
        memset(line->sums[k], 0, (had + (uint64_t)1) * sizeof *line->sums[k]);
        for (uint32_t i = 0; i <= line->end >> (k - 1) * SIDE_BITS; i++)
            line->sums[k][i >> SIDE_BITS] += line->sums[k - 1][i];
    }
}

/* Whether a storage was touched last, or written by the host last, at a place that it took. */
static bool is_at(const struct track *track, uint32_t place)
{
    return track->place == place || (track->arrived > 0 && track->arrival == place);
}

/* The place gets a lower number. */
static void move_place(struct walk *walk, uint32_t from, uint32_t to)
{
    struct line *line = &walk->line;
    const uint32_t storage = line->storages[from];
    struct track *track = storage > 0 ? &walk->tracks[storage - 1] : NULL;
    line->moved[from] = to;
    line->storages[to] = track && is_at(track, from) ? storage : 0;
    if (track && track->place == from)
        track->place = to;
    if (track && track->arrived > 0 && track->arrival == from)
        track->arrival = to;
}

/* Takes out places where neither storages nor remains are found. What stands there, parts of storages, goes
 * to the next place to the right: it counts for all to its left as before, and for none to its right. */
static void close_ranks(struct walk *walk)
{
    struct line *line = &walk->line;
    uint64_t *bytes = line->sums[0], left_over = 0;
    uint32_t end = 0;
    memset(line->moved, 0, line->capacity * sizeof *line->moved);
    for (uint32_t i = 0; i < walk->remains_count; i++)
        line->moved[walk->remains[i].place] = 1;
    for (uint32_t place = 1; place <= line->end; place++) {
        const uint32_t storage = line->storages[place];
        left_over += bytes[place];
        bytes[place] = 0;
        if (!line->moved[place] && (storage == 0 || !is_at(&walk->tracks[storage - 1], place)))
            continue;
        move_place(walk, place, ++end);
        bytes[end] = left_over;
        left_over = 0;
    }
    if (left_over > 0) {
        bytes[++end] = left_over;
        line->storages[end] = 0;
    }
    for (uint32_t i = 0; i < walk->remains_count; i++)
        if (walk->remains[i].place > 0)
            walk->remains[i].place = line->moved[walk->remains[i].place];
    line->end = end;
    sum_line(line);
}

/* The next place; a storage's, or of a part of one that is never met again (LL_NONE). */
static uint32_t next_place(struct walk *walk, uint32_t storage)
{
    struct line *line = &walk->line;
    if (line->end + 1 == line->capacity) {
        close_ranks(walk);
        if (line->end > line->capacity / 2 && !lengthen(line, (uint64_t)line->capacity * 4))
            walk->failed = true;
        if (line->end + 1 == line->capacity) /* memory ran out: nothing is right any more */
            line->end--;
    }
    line->storages[++line->end] = storage == LL_NONE ? 0 : storage + 1;
    return line->end;
}

static uint64_t weight(const struct walk *walk, uint64_t bytes)
{
    return ll_min(bytes, walk->limit_bytes);
}

/* 1 + the index of a reuse. */
static uint32_t number_of(const struct walk *walk, const struct ll_reuse *reuse)
{
    return (uint32_t)(reuse - walk->reuses) + 1;
}

static void forget(struct walk *walk, struct track *track)
{
    if (track->place)
        put(walk, track->place, -weight(walk, track->size_bytes));
    track->place = 0;
}

/* Takes the next place for a storage, and tells how far it is from the previous one, and whose that was. */
static void touch(struct walk *walk, struct track *track, struct ll_reuse *reuse)
{
    reuse->since = track->place ? bytes_after(walk, track->place) : LL_NO_FIT;
    reuse->before = track->place ? track->latest : 0;
    reuse->arrived = track->arrived;
    reuse->since_arrival = track->arrived ? bytes_after(walk, track->arrival) : LL_NO_FIT;
    track->arrived = 0;
    forget(walk, track);
    track->place = next_place(walk, (uint32_t)(track - walk->tracks));
    track->latest = number_of(walk, reuse);
    put(walk, track->place, weight(walk, track->size_bytes));
    track->farthest = ll_max(track->farthest, reuse->since);
}

struct looking {
    const struct walk *walk;
    uint64_t address;
};

static bool ends_before(const void *context, uint32_t number)
{
    const struct looking *looking = context;
    const struct remains *r = &looking->walk->remains[number];
    return r->address + r->bytes <= looking->address;
}

/* The first remains that end behind the address. */
static struct ll_sorted_place remains_behind(const struct walk *walk, uint64_t address)
{
    const struct looking looking = {walk, address};
    return ll_sorted_find(&walk->lying, ends_before, &looking);
}

/* What lies behind the place, when it begins before `end`; else NULL. */
static struct remains *remains_at(const struct walk *walk, struct ll_sorted_place place, uint64_t end)
{
    uint32_t number = ll_sorted_at(&walk->lying, place);
    return number != LL_NO_NUMBER && walk->remains[number].address < end ? &walk->remains[number] : NULL;
}

static bool add_remains(struct walk *walk, struct ll_sorted_place place, struct remains remains)
{
    bool again = walk->spare_count > 0;
    if (!again && (walk->remains_count == LL_NO_NUMBER ||
                   !ll_grow(&walk->remains, &walk->remains_capacity, walk->remains_count + UINT64_C(1),
                            sizeof *walk->remains)))
        return false;
    uint32_t number = again ? walk->spare[--walk->spare_count] : walk->remains_count++;
    walk->remains[number] = remains;
    return ll_sorted_put(&walk->lying, place, number);
}

static bool remove_remains(struct walk *walk, struct ll_sorted_place place)
{
    if (!ll_grow(&walk->spare, &walk->spare_capacity, walk->spare_count + UINT64_C(1), sizeof *walk->spare))
        return false;
    const uint32_t number = ll_sorted_at(&walk->lying, place);
    walk->spare[walk->spare_count++] = number;
    walk->remains[number].place = 0;
    ll_sorted_take(&walk->lying, place);
    return true;
}

/* Takes what lies between the addresses out of the remains behind the place, which reach in there; that may
 * leave two ends of them. False when memory ran out. */
static bool cut(struct walk *walk, struct ll_sorted_place place, uint64_t begin, uint64_t end)
{
    struct remains *there = remains_at(walk, place, end), old = *there;
    uint64_t front = begin > old.address ? begin - old.address : 0;
    uint64_t old_end = old.address + old.bytes, back = old_end > end ? old_end - end : 0;
    put(walk, old.place, weight(walk, front) + weight(walk, back) - weight(walk, old.bytes));
    there->bytes = front;
    if (front == 0 && !remove_remains(walk, place))
        return false;
    const struct remains rest = {end, back, old.place, old.latest};
    return back == 0 || add_remains(walk, remains_behind(walk, end), rest);
}

/* How far back the largest part of what lies between the addresses, from this place on, was touched, and by
 * which access; what nobody touched is a part, too. */
static void inherit(const struct walk *walk, struct ll_sorted_place place, uint64_t begin, uint64_t end,
                    struct track *heir)
{
    uint64_t untouched = end - begin, most = 0;
    heir->inherited = LL_NO_FIT;
    heir->heir_of = 0;
    for (const struct remains *r; (r = remains_at(walk, place, end));
         place = ll_sorted_next(&walk->lying, place)) {
        uint64_t bytes = ll_min(end, r->address + r->bytes) - ll_max(begin, r->address);
        if (bytes > most) {
            heir->inherited = bytes_after(walk, r->place);
            heir->heir_of = r->latest;
        }
        most = ll_max(most, bytes);
        untouched -= bytes;
    }
    if (untouched > most) {
        heir->inherited = LL_NO_FIT;
        heir->heir_of = 0;
    }
}

/* A storage takes the place of whoever lay where it lies now. */
static bool bear(struct walk *walk, uint32_t storage)
{
    struct track *track = &walk->tracks[storage];
    uint64_t begin = walk->addresses[storage], end = begin + track->size_bytes;
    struct ll_sorted_place place = remains_behind(walk, begin);
    inherit(walk, place, begin, end, track);
    for (const struct remains *r; (r = remains_at(walk, place, end)); place = remains_behind(walk, begin)) {
        bool covers = r->address <= begin && r->address + r->bytes >= end;
        if (!cut(walk, place, begin, end))
            return false;
        if (covers)
            break; /* there is nothing else */
    }
    return true;
}

static bool bury(struct walk *walk, uint32_t storage)
{
    struct track *track = &walk->tracks[storage];
    uint64_t address = walk->addresses[storage];
    bool lives_on = walk->rehearses && track->was_there;
    if (track->place == 0 || track->size_bytes == 0 || lives_on)
        return true;
    struct remains remains = {address, track->size_bytes, track->place, track->latest};
    track->place = 0;
    return add_remains(walk, remains_behind(walk, address), remains);
}

/* All that are born, or die, at an op; nobody where storages have no addresses. */
static bool each_of(struct walk *walk, const struct ll_chains *chains, uint32_t op,
                    bool (*act)(struct walk *walk, uint32_t storage))
{
    bool right = true;
    for (uint32_t s = walk->addresses ? chains->first[op] : LL_NONE; right && s != LL_NONE;
         s = chains->next[s])
        right = act(walk, s);
    return right;
}

/* A part of a storage, which stays where it is. */
static void touch_part(struct walk *walk, struct track *track, struct ll_reuse *reuse)
{
    assert(reuse->bytes <= track->size_bytes);
    uint64_t beside = ll_sub(track->size_bytes, reuse->bytes);
    if (track->place) {
        reuse->since = ll_add(bytes_after(walk, track->place), beside);
        reuse->before = track->latest;
    }
    if (track->arrived) {
        reuse->arrived = track->arrived;
        reuse->since_arrival = ll_add(bytes_after(walk, track->arrival), beside);
    }
    put(walk, next_place(walk, LL_NONE), weight(walk, reuse->bytes));
}

/* What an op moves of all its tensors on one side, and what of that is left for those it touches in part. */
struct moved {
    uint64_t bytes, rest;
};

static uint64_t tensor_bytes(const struct walk *walk, uint32_t tensor)
{
    return walk->desc_bytes[walk->trace->tensors[tensor].desc];
}

/* Takes out of the rest what is moved whole. */
static void take_whole(const struct walk *walk, uint32_t tensor, struct moved *moved)
{
    uint64_t bytes = tensor_bytes(walk, tensor);
    if (bytes <= moved->bytes)
        moved->rest = ll_sub(moved->rest, ll_min(moved->rest, bytes));
}

/* How an op touches a tensor: whole, or a part. */
static bool touches_whole(const struct walk *walk, uint32_t tensor, const struct moved *moved,
                          struct ll_reuse *reuse)
{
    uint64_t bytes = tensor_bytes(walk, tensor);
    bool whole = bytes <= moved->bytes;
    reuse->bytes = whole ? bytes : moved->rest;
    return whole;
}

static void read_operand(struct walk *walk, uint32_t tensor, const struct moved *moved,
                         struct ll_reuse *reuse)
{
    struct track *track = &walk->tracks[walk->trace->tensors[tensor].storage];
    bool whole = touches_whole(walk, tensor, moved, reuse);
    if (reuse->bytes == 0 && !whole) /* named, but what it holds is not looked at */
        return;
    reuse->stays = track->weight && !track->written;
    track->read_since = true;
    track->readers |= (uint8_t)(1u << reuse->operand);
    (whole ? touch : touch_part)(walk, track, reuse);
    track->farthest = ll_max(track->farthest, reuse->since); /* a part, too, has to be there until then */
    reuse->distance = reuse->since;
}

/* The latest write of a storage is settled: its bytes end here after having been at most that far. */
static void settle(struct walk *walk, struct track *track, bool stayed)
{
    if (track->write) {
        walk->reuses[track->write - 1].distance = stayed ? track->farthest : LL_NO_FIT;
        walk->reuses[track->write - 1].readers = track->readers;
    }
    track->write = 0;
    track->readers = 0;
}

/* This op has read what it overwrites, element by element: the two are one access. */
static void touch_in_place(struct walk *walk, struct track *track, struct ll_reuse *reuse)
{
    const struct ll_reuse *read = &walk->reuses[track->latest - 1];
    reuse->since = read->since;
    reuse->before = read->before;
    reuse->arrived = read->arrived;
    reuse->since_arrival = read->since_arrival;
    track->latest = number_of(walk, reuse);
}

/* Whoever lay at the addresses of a storage that nobody has touched left something in caches there. */
static void inherit_reuse(const struct track *track, struct ll_reuse *reuse)
{
    reuse->since = track->inherited;
    reuse->before = track->heir_of;
}

static void write_operand(struct walk *walk, uint32_t tensor, const struct moved *moved,
                          struct ll_reuse *reuse)
{
    struct track *track = &walk->tracks[walk->trace->tensors[tensor].storage];
    bool fresh = track->place == 0;
    if (!touches_whole(walk, tensor, moved, reuse)) {
        touch_part(walk, track, reuse);
        if (fresh)
            inherit_reuse(track, reuse);
        return;
    }
    if (!fresh && track->latest > walk->first_of_op)
        touch_in_place(walk, track, reuse);
    else
        touch(walk, track, reuse);
    if (fresh)
        inherit_reuse(track, reuse);
    track->inherited = LL_NO_FIT;
    settle(walk, track, track->write && walk->reuses[track->write - 1].bytes <= reuse->bytes);
    track->write = number_of(walk, reuse);
    track->farthest = 0;
    track->read_since = false;
}

/* The host writes a storage: where its bytes lay before, nothing of them counts any more. */
static void arrive(struct walk *walk, uint32_t tensor, struct ll_reuse *reuse)
{
    const struct ll_trace *trace = walk->trace;
    struct track *track = &walk->tracks[trace->tensors[tensor].storage];
    bool fresh = track->place == 0;
    reuse->by_host = true;
    reuse->bytes = tensor_bytes(walk, tensor);
    reuse->since = fresh ? track->inherited : bytes_after(walk, track->place);
    reuse->before = fresh ? track->heir_of : track->latest;
    forget(walk, track);
    track->inherited = LL_NO_FIT;
    track->arrival = next_place(walk, trace->tensors[tensor].storage);
    track->arrived = number_of(walk, reuse);
}

static bool from_host(const struct ll_op_signature *signature)
{
    return signature->phase == LL_PHASE_INPUT ||
           (signature->view.kind < LL_OP_NONE && ll_op_class(signature->view.kind) == LL_CLASS_INPUT);
}

/* What every unit reads it reads again and again, until the op ends: behind the others. */
static void read_operands(struct walk *walk, uint32_t op, struct ll_reuse *reuses)
{
    const struct ll_trace *trace = walk->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    unsigned by_all = walk->by_all[trace->ops[op].signature];
    struct moved moved = {signature->bytes_read, signature->bytes_read};
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        take_whole(walk, ll_op_input(trace, op, i), &moved);
    for (int last = 0; last < 2; last++)
        for (uint32_t i = 0; i < signature->view.input_count; i++) {
            bool everywhere = i < 2 && (by_all >> i & 1);
            if (everywhere != last)
                continue;
            reuses[i].everywhere = everywhere;
            reuses[i].operand = ll_kind_is_gemm(signature->view.kind) && i > 0 ? LL_OPERAND_B : LL_OPERAND_A;
            read_operand(walk, ll_op_input(trace, op, i), &moved, &reuses[i]);
        }
}

/* One op of the walk: its reads find their distances, storages born here take their addresses over, its
 * writes find theirs, and storages that die here leave their bytes where they stand. */
static bool visit_op(struct walk *walk, uint32_t op)
{
    const struct ll_trace *trace = walk->trace;
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    struct ll_reuse *reuse = &walk->reuses[walk->first[op] - (walk->rehearses ? walk->rehearsal : 0)];
    bool idle = signature->bytes_read == 0 && signature->bytes_written == 0, host = from_host(signature);
    walk->first_of_op = (uint32_t)(reuse - walk->reuses);
    struct ll_reuse nothing = {
        .distance = LL_NO_FIT, .since = LL_NO_FIT, .op = op, .kind = (uint16_t)signature->view.kind};
    for (uint32_t i = 0; i < signature->view.input_count; i++)
        reuse[i] = nothing;
    if (!idle)
        read_operands(walk, op, reuse);
    reuse += signature->view.input_count;
    bool right = each_of(walk, &walk->births, op, bear);
    nothing.written = true;
    nothing.operand = LL_OPERAND_C;
    struct moved moved = {signature->bytes_written, signature->bytes_written};
    for (uint32_t i = 0; i < signature->view.output_count; i++)
        take_whole(walk, ll_op_output(trace, op, i), &moved);
    for (uint32_t i = 0; i < signature->view.output_count; i++, reuse++) {
        uint32_t tensor = ll_op_output(trace, op, i);
        *reuse = nothing;
        if (host)
            arrive(walk, tensor, reuse);
        else if (!idle)
            write_operand(walk, tensor, &moved, reuse);
    }
    return each_of(walk, &walk->deaths, op, bury) && right && !walk->failed;
}

static bool visit_ops(struct walk *walk, uint64_t count, bool rehearses)
{
    bool right = true;
    walk->rehearses = rehearses;
    for (uint64_t op = 0; op < count && right; op++)
        right = visit_op(walk, (uint32_t)op);
    return right;
}

static bool dies(enum ll_memory_class memory)
{
    return memory == LL_ACTIVATION || memory == LL_GRADIENT || memory == LL_WORKSPACE;
}

/* What was written last is over with its last use, unless it outlives the trace or nobody used it. */
static void settle_all(struct walk *walk)
{
    const struct ll_trace *trace = walk->trace;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        struct track *track = &walk->tracks[trace->tensors[i].storage];
        enum ll_memory_class memory = (enum ll_memory_class)trace->descs[trace->tensors[i].desc].memory;
        settle(walk, track, dies(memory) && track->read_since);
    }
}

/* Inputs that every unit reads all of, a bit each: of a GEMM the operand that is not cut with the result's
 * longer side (sim/cost/gemm_work.c), of a convolution its filter, or both that a filter's gradient is made
 * of. */
static unsigned read_by_all(const struct ll_op_view *view)
{
    enum { FIRST = 1, SECOND = 2 };
    struct ll_work work;
    if (!ll_kind_is_gemm(view->kind) || !ll_op_lower(view, &work))
        return 0;
    if (work.kind == LL_WORK_CONV)
        return work.conv.pass == LL_CONV_FILTER ? FIRST | SECOND : SECOND;
    bool alone = work.kind == LL_WORK_GEMM && work.gemm.batch == 1;
    return !alone ? 0 : work.gemm.m >= work.gemm.n ? SECOND : FIRST;
}

/* What is known of tensors and ops by what they share. False when memory ran out. */
static bool measure_signatures(struct walk *walk)
{
    const struct ll_trace *trace = walk->trace;
    walk->desc_bytes = calloc(trace->desc_count + 1, sizeof *walk->desc_bytes);
    walk->by_all = calloc(trace->signature_count + 1, sizeof *walk->by_all);
    for (uint64_t i = 0; walk->desc_bytes && i < trace->desc_count; i++)
        walk->desc_bytes[i] = ll_size_bytes(&trace->descs[i].shape);
    for (uint64_t i = 0; walk->by_all && i < trace->signature_count; i++)
        walk->by_all[i] = (uint8_t)read_by_all(&trace->signatures[i].view);
    return walk->desc_bytes && walk->by_all;
}

/* Whether an op writes this tensor, and does not only look at a storage in another shape. */
static bool is_written(const struct ll_trace *trace, const struct ll_tensor *tensor)
{
    return tensor->producer != LL_NONE &&
           trace->signatures[trace->ops[tensor->producer].signature].bytes_written > 0;
}

static void measure_storages(struct walk *walk)
{
    const struct ll_trace *trace = walk->trace;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        struct track *track = &walk->tracks[trace->tensors[i].storage];
        uint64_t bytes = tensor_bytes(walk, (uint32_t)i);
        track->size_bytes = ll_max(track->size_bytes, bytes);
        track->was_there |= trace->tensors[i].producer == LL_NONE;
        track->weight |= trace->descs[trace->tensors[i].desc].memory == LL_WEIGHT;
        track->written |= is_written(trace, &trace->tensors[i]);
    }
    walk->limit_bytes = LL_NO_FIT / (walk->count + 1);
}

static uint64_t operands_of(const struct ll_trace *trace, uint64_t op)
{
    const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
    return (uint64_t)view->input_count + view->output_count;
}

/* Ops of the first step, where they had run once when it began. */
static uint64_t rehearsed_ops(const struct ll_trace *trace)
{
    bool rehearsed = ll_trace_fact(trace, "rehearsed") != NULL && trace->step_count > 0;
    return rehearsed && trace->steps[0].first_op == 0 ? trace->steps[0].op_count : 0;
}

/* Offsets of the ops' operands, behind those of the rehearsal; how many there are in all, LL_NO_FIT when
 * memory ran out. */
static uint64_t lay_out(struct walk *walk, struct ll_arena *arena)
{
    const struct ll_trace *trace = walk->trace;
    for (uint64_t op = 0, rehearsed = rehearsed_ops(trace); op < rehearsed; op++)
        walk->rehearsal += operands_of(trace, op);
    uint64_t count = walk->rehearsal;
    walk->first = ll_alloc(arena, trace->op_count + 1, sizeof *walk->first);
    if (!walk->first)
        return LL_NO_FIT;
    for (uint64_t op = 0; op < trace->op_count; op++) {
        walk->first[op] = count;
        count += operands_of(trace, op);
    }
    walk->first[trace->op_count] = count;
    return count;
}

/* And the footprint, unless NULL. */
static bool find_addresses(struct walk *walk, struct ll_arena *scratch, struct ll_footprint *footprint)
{
    const struct ll_trace *trace = walk->trace;
    if (trace->op_count == 0)
        return !footprint || ll_footprint(trace, footprint);
    struct ll_arena of_lives = {0};
    const struct ll_liveness *lives = ll_trace_liveness(trace, &of_lives);
    const bool chained = lives && ll_chain(trace, lives, false, &walk->births, scratch) &&
                         ll_chain(trace, lives, true, &walk->deaths, scratch);
    if (chained && footprint)
        ll_footprint_of_chains(trace, lives, &walk->births, &walk->deaths, footprint);
    if (chained)
        walk->addresses = ll_arena_addresses(trace, lives, &walk->births, &walk->deaths, scratch);
    ll_arena_release(&of_lives);
    return chained;
}

/* What stays, and what the op with most of the rest has of that. */
static void measure_rest(const struct walk *walk, struct ll_residency *residency)
{
    for (uint32_t i = 0; i < walk->trace->storage_count; i++)
        if (walk->tracks[i].weight && !walk->tracks[i].written)
            residency->staying_bytes += (double)walk->tracks[i].size_bytes;
    for (uint64_t op = 0; op < walk->trace->op_count; op++) {
        double sum = 0;
        for (uint64_t i = walk->first[op]; i < walk->first[op + 1]; i++)
            sum += walk->reuses[i].stays ? 0 : (double)walk->reuses[i].bytes;
        residency->most_bytes = fmax(residency->most_bytes, sum);
    }
}

const struct ll_residency *ll_residency_new(const struct ll_trace *trace, struct ll_arena *arena)
{
    return ll_residency_and_footprint(trace, arena, NULL);
}

const struct ll_residency *ll_residency_and_footprint(const struct ll_trace *trace, struct ll_arena *arena,
                                                      struct ll_footprint *footprint)
{
    struct ll_arena scratch = {0};
    struct walk walk = {.trace = trace};
    walk.count = lay_out(&walk, arena);
    if (!ll_fits(walk.count) || walk.count >= LL_NONE)
        return NULL;
    struct ll_residency *residency = ll_alloc(arena, 1, sizeof *residency);
    walk.reuses = ll_alloc(arena, walk.count, sizeof *walk.reuses);
    walk.tracks = calloc(trace->storage_count + 1, sizeof *walk.tracks);
    bool ready = residency && walk.reuses && walk.tracks &&
                 lengthen(&walk.line, ll_min(walk.count + 1, FIRST_PLACES)) && measure_signatures(&walk) &&
                 find_addresses(&walk, &scratch, footprint);
    for (uint32_t i = 0; ready && i < trace->storage_count; i++)
        walk.tracks[i].inherited = LL_NO_FIT;
    if (ready) {
        measure_storages(&walk);
        ready = visit_ops(&walk, rehearsed_ops(trace), true) && visit_ops(&walk, trace->op_count, false);
        settle_all(&walk);
        *residency = (struct ll_residency){.first = walk.first, .reuses = walk.reuses};
        measure_rest(&walk, residency);
    }
    free(walk.desc_bytes);
    free(walk.by_all);
    free(walk.tracks);
    release_line(&walk.line);
    free(walk.remains);
    free(walk.spare);
    ll_sorted_release(&walk.lying);
    ll_arena_release(&scratch);
    return ready ? residency : NULL;
}
