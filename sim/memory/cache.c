/* SPDX-License-Identifier: Apache-2.0 */
/* A hierarchy of set-associative caches, simulated address by address.
 *
 * The replacement policies come first, four short functions each. The loops that run accesses follow,
 * compiled once for each policy. The last section puts levels together: misses, evictions, inclusion and
 * write-backs. */
#include "sim/memory/cache.h"

#include <assert.h>

#include "tracer/base/num.h"
#include "tracer/base/random.h"

/* What a level consists of, and the replacement policies of sim/machine/cache_policies.def: four short
 * functions each, which are inlined into the loops below.
 *
 * A slot is a place for a line: slot = set * ways + way. LRU and FIFO keep the ways of a set in order,
 * newest first: up to 16 of them as the digits of one word, the newest lowest, so that nothing is decided
 * where none can be foreseen; more as a ring, where the oldest stands just before the newest, so that a set
 * which is swept turns its ring and moves nothing. */

#define NO_LINE UINT64_MAX

enum { ORDERED_WAYS = 16 };

struct ring {
    uint32_t older, newer;
};

/* What a page's lines were asked in. */
struct stride {
    uint64_t page, line; /* page counts from 1: 0 is no page */
    int64_t step;
};

struct level {
    struct ll_cache_level is;
    uint32_t line_shift, ways;
    uint64_t set_mask; /* 0 when the number of sets is no power of two */
    uint64_t *lines;   /* number of the line in each slot, NO_LINE when empty */
    uint8_t *flags;    /* of each slot: WRITTEN, AHEAD */
    uint32_t *empty;   /* ways of each set that are empty, as a stack: slots set * ways and up */
    uint32_t *empty_count;
    uint64_t *tags; /* a byte a way, tag_words words a set; or NULL */
    uint32_t tag_words;
    uint32_t *table;     /* finds the slot of a line where a set is too wide to be searched; or NULL */
    uint32_t table_bits; /* log2 of its size */
    uint64_t *orders;    /* LRU, FIFO, of each set: its ways; NULL where there are more than ORDERED_WAYS */
    struct ring *rings;  /* then of each slot */
    uint32_t *newest;    /* then of each set: slot */
    uint64_t *trees;     /* PLRU: bit i of a set's is where node i points; the root is node 1 */
    uint64_t *turned_away, *turns; /* PLRU: of each way, the bits to keep and to set when it is used */
    uint64_t draws;                /* of 32 bits, by RANDOM and for admission */
    struct stride *strides; /* prefetch STRIDE: of is.stride_pages pages, each at its number modulo so many */
    uint64_t wish;          /* line to fetch ahead, NO_LINE for none */
    struct ll_cache_counts counts;
};

static inline uint64_t draw(struct level *level)
{
    return ll_random_bits(level->is.seed, level->draws++) >> 32;
}

static inline bool prepare_orders(struct level *level, struct ll_arena *arena)
{
    level->orders = ll_alloc(arena, level->is.sets, sizeof *level->orders);
    for (uint64_t set = 0; level->orders && set < level->is.sets; set++)
        level->orders[set] = UINT64_C(0xfedcba9876543210);
    return level->orders != NULL;
}

static inline bool prepare_rings(struct level *level, struct ll_arena *arena)
{
    uint64_t sets = level->is.sets, ways = level->ways;
    level->rings = ll_alloc(arena, sets * ways, sizeof *level->rings);
    level->newest = ll_alloc(arena, sets, sizeof *level->newest);
    if (!level->rings || !level->newest)
        return false;
    for (uint64_t slot = 0; slot < sets * ways; slot++) {
        uint64_t first = slot - slot % ways, way = slot % ways;
        level->rings[slot].older = (uint32_t)(first + (way + 1) % ways);
        level->rings[slot].newer = (uint32_t)(first + (way + ways - 1) % ways);
    }
    for (uint64_t set = 0; set < sets; set++)
        level->newest[set] = (uint32_t)(set * ways);
    return true;
}

/* The digit of the way is taken out, those below it move up. Where it stands: its digit alone is zero in
 * `apart`, and the lowest zero digit is the lowest whose top bit is set in `zeros`. */
static inline uint64_t put_first(uint64_t order, uint64_t way)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t apart = order ^ way * ones, zeros = (apart - ones) & ~apart & ones << 3;
    unsigned shift = (unsigned)__builtin_ctzll(zeros) - 3;
    uint64_t below = (UINT64_C(1) << shift) - 1, up_to = below << 4 | 15;
    return (order & ~up_to) | (order & below) << 4 | way;
}

static inline void put_first_in_ring(struct level *level, uint64_t set, uint32_t slot)
{
    uint32_t newest = level->newest[set];
    if (slot == newest)
        return;
    struct ring *rings = level->rings;
    uint32_t oldest = rings[newest].newer;
    level->newest[set] = slot;
    if (slot == oldest)
        return;
    struct ring *ring = &rings[slot];
    rings[ring->older].newer = ring->newer;
    rings[ring->newer].older = ring->older;
    *ring = (struct ring){.older = newest, .newer = oldest};
    rings[newest].newer = slot;
    rings[oldest].older = slot;
}

static inline bool prepare_LRU(struct level *level, struct ll_arena *arena)
{
    return level->ways <= ORDERED_WAYS ? prepare_orders(level, arena) : prepare_rings(level, arena);
}

static inline void used_LRU(struct level *level, uint64_t set, uint32_t slot)
{
    if (level->orders)
        level->orders[set] = put_first(level->orders[set], slot - (uint32_t)set * level->ways);
    else
        put_first_in_ring(level, set, slot);
}

static inline void filled_LRU(struct level *level, uint64_t set, uint32_t slot)
{
    used_LRU(level, set, slot);
}

static inline uint32_t victim_LRU(struct level *level, uint64_t set)
{
    if (level->orders)
        return (uint32_t)set * level->ways + (level->orders[set] >> 4 * (level->ways - 1) & 15);
    return level->rings[level->newest[set]].newer;
}

static inline bool prepare_FIFO(struct level *level, struct ll_arena *arena)
{
    return prepare_LRU(level, arena);
}

static inline void used_FIFO(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline void filled_FIFO(struct level *level, uint64_t set, uint32_t slot)
{
    used_LRU(level, set, slot);
}

static inline uint32_t victim_FIFO(struct level *level, uint64_t set)
{
    return victim_LRU(level, set);
}

/* A set's ways are the leaves of a binary tree. Each node on the way to a leaf that is used turns away from
 * it; the leaf that all nodes point to goes. Node i has children 2 i and 2 i + 1; bit i set points to 2 i
 * + 1. */
static inline bool prepare_PLRU(struct level *level, struct ll_arena *arena)
{
    level->trees = ll_alloc(arena, level->is.sets, sizeof *level->trees);
    level->turned_away = ll_alloc(arena, level->ways, sizeof *level->turned_away);
    level->turns = ll_alloc(arena, level->ways, sizeof *level->turns);
    if (!level->trees || !level->turned_away || !level->turns)
        return false;
    for (uint32_t way = 0; way < level->ways; way++) {
        uint64_t path = 0, set = 0;
        for (uint32_t node = level->ways + way; node > 1; node /= 2) {
            path |= UINT64_C(1) << node / 2;
            set |= (uint64_t)(node % 2 == 0) << node / 2;
        }
        level->turned_away[way] = ~path;
        level->turns[way] = set;
    }
    return true;
}

static inline void used_PLRU(struct level *level, uint64_t set, uint32_t slot)
{
    uint32_t way = slot - (uint32_t)set * level->ways;
    level->trees[set] = (level->trees[set] & level->turned_away[way]) | level->turns[way];
}

static inline void filled_PLRU(struct level *level, uint64_t set, uint32_t slot)
{
    used_PLRU(level, set, slot);
}

static inline uint32_t victim_PLRU(struct level *level, uint64_t set)
{
    uint64_t tree = level->trees[set];
    uint32_t node = 1;
    while (node < level->ways)
        node = 2 * node + (tree >> node & 1);
    return (uint32_t)set * level->ways + node - level->ways;
}

static inline bool prepare_RANDOM(struct level *level, struct ll_arena *arena)
{
    (void)level, (void)arena;
    return true;
}

static inline void used_RANDOM(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline void filled_RANDOM(struct level *level, uint64_t set, uint32_t slot)
{
    (void)level, (void)set, (void)slot;
}

static inline uint32_t victim_RANDOM(struct level *level, uint64_t set)
{
    return (uint32_t)(set * level->ways + (draw(level) * level->ways >> 32));
}

/* Nearly all accesses hit the innermost level, so that case is one tight loop for each policy (`run_WORD`):
 * find the line, tell the policy, mark it. Everything else goes through the functions below it, which ask a
 * level's policy through pointers: a miss costs more than that anyway.
 *
 *       access   a read or write that the stream, or a write passed on, asks for
 *       fetch    the level inside wants a line
 *       bring    a line is put into a slot, after another one had to leave
 *       leave    a line goes: to an exclusive level outside, or back if it was written, or just so
 *
 * A fetch comes before the leaving of the victim: an exclusive level outside gives its line up first, and
 * then has a place for the victim. */

#define NO_SLOT UINT32_MAX

/* A set of few ways is searched, a wide one's lines are found by a table; those in between by a table as long
 * as it is small enough to be at hand. */
enum { FEW_WAYS = 8, MANY_WAYS = 32, SMALL_SLOTS = 4096 };

/* Slots behind the last, where a search may look. */
enum { BEHIND = 7 };
enum { WRITTEN = 1, AHEAD = 2 };

struct ll_cache {
    struct level *levels;
    size_t count;
    ll_cache_listener *listener;
    void *context;
};

static void tell(const struct ll_cache *cache, uint64_t address, uint64_t bytes, bool write)
{
    if (cache->listener)
        cache->listener(cache->context, address, bytes, write);
}

static inline uint64_t set_of(const struct level *level, uint64_t line)
{
    return level->set_mask || level->is.sets == 1 ? line & level->set_mask : line % level->is.sets;
}

static inline uint64_t place_of(const struct level *level, uint64_t line)
{
    return line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - level->table_bits);
}

static inline uint32_t look_up(const struct level *level, uint64_t line)
{
    uint64_t mask = (UINT64_C(1) << level->table_bits) - 1;
    for (uint64_t place = place_of(level, line);; place = (place + 1) & mask) {
        uint32_t slot = level->table[place];
        if (slot == NO_SLOT || level->lines[slot] == line)
            return slot;
    }
}

/* Eight bits of a line's number, which tell it apart from most others. */
static inline uint64_t tag_of(uint64_t line)
{
    return line * UINT64_C(0x9e3779b97f4a7c15) >> 56;
}

/* A line is looked at where its tag is. Bytes of `apart` that are zero have their top bit set in `maybe`;
 * so may some above the lowest of them, and some behind the last way, whose slots are of another set, or of
 * none. */
static inline uint32_t search(const struct level *level, uint64_t set, uint64_t line)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t first = set * level->ways, wanted = tag_of(line) * ones;
    for (uint32_t word = 0; word < level->tag_words; word++) {
        uint64_t apart = level->tags[set * level->tag_words + word] ^ wanted;
        for (uint64_t maybe = (apart - ones) & ~apart & ones << 7; maybe; maybe &= maybe - 1) {
            uint64_t slot = first + 8 * word + (unsigned)__builtin_ctzll(maybe) / 8;
            if (level->lines[slot] == line)
                return (uint32_t)slot;
        }
    }
    return NO_SLOT;
}

static inline void tag(struct level *level, uint64_t set, uint32_t slot)
{
    uint32_t way = slot - (uint32_t)set * level->ways, shift = way % 8 * 8;
    uint64_t *word = &level->tags[set * level->tag_words + way / 8];
    *word = (*word & ~(UINT64_C(255) << shift)) | tag_of(level->lines[slot]) << shift;
}

static uint32_t find(const struct level *level, uint64_t line)
{
    return level->table ? look_up(level, line) : search(level, set_of(level, line), line);
}

/* The policies as cold code sees them. */
static const struct policy {
    bool (*prepare)(struct level *level, struct ll_arena *arena);
    void (*used)(struct level *level, uint64_t set, uint32_t slot);
    void (*filled)(struct level *level, uint64_t set, uint32_t slot);
    uint32_t (*victim)(struct level *level, uint64_t set);
} policies[] = {
#define LL_CACHE_POLICY(word, ...) {prepare_##word, used_##word, filled_##word, victim_##word},
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
};

static void enter_table(struct level *level, uint32_t slot)
{
    uint64_t mask = (UINT64_C(1) << level->table_bits) - 1;
    uint64_t place = place_of(level, level->lines[slot]);
    while (level->table[place] != NO_SLOT)
        place = (place + 1) & mask;
    level->table[place] = slot;
}

/* What follows without a gap and would no longer be found moves up (Knuth, volume 3, 6.4, algorithm R). */
static void leave_table(struct level *level, uint32_t slot)
{
    uint64_t mask = (UINT64_C(1) << level->table_bits) - 1;
    uint64_t hole = place_of(level, level->lines[slot]);
    while (level->table[hole] != slot)
        hole = (hole + 1) & mask;
    for (uint64_t place = (hole + 1) & mask; level->table[place] != NO_SLOT; place = (place + 1) & mask) {
        uint64_t home = place_of(level, level->lines[level->table[place]]);
        if (((place - home) & mask) >= ((place - hole) & mask)) {
            level->table[hole] = level->table[place];
            hole = place;
        }
    }
    level->table[hole] = NO_SLOT;
}

/* The slot is empty from now on. */
static void drop(struct level *level, uint32_t slot)
{
    uint32_t set = slot / level->ways;
    if (level->table)
        leave_table(level, slot);
    level->lines[slot] = NO_LINE;
    level->flags[slot] = 0;
    level->empty[set * level->ways + level->empty_count[set]++] = slot;
}

/* A line that was written has left the level before i; it goes as far as to the first level that has it. */
static void take_back(struct ll_cache *cache, size_t i, uint64_t address, uint64_t bytes)
{
    for (; i < cache->count; i++) {
        struct level *level = &cache->levels[i];
        uint32_t slot = find(level, address >> level->line_shift);
        if (slot != NO_SLOT && !level->is.write_through) {
            level->flags[slot] |= WRITTEN;
            return;
        }
        level->counts.out_bytes += bytes;
    }
    tell(cache, address, bytes, true);
}

/* A line of level i leaves the levels inside it as well. Whether one of them had written it. */
static bool invalidate_inside(struct ll_cache *cache, size_t i, uint64_t address, uint64_t bytes)
{
    bool written = false;
    for (struct level *level = cache->levels; level < &cache->levels[i]; level++)
        for (uint64_t at = address; at < address + bytes; at += level->is.line_bytes) {
            uint32_t slot = find(level, at >> level->line_shift);
            if (slot == NO_SLOT)
                continue;
            struct ll_cache_counts *counts = &level->counts;
            bool was_written = level->flags[slot] & WRITTEN;
            counts->invalidations++;
            counts->useless += (level->flags[slot] & AHEAD) != 0;
            counts->write_backs += was_written;
            counts->out_bytes += was_written ? level->is.line_bytes : 0;
            written |= was_written;
            drop(level, slot);
        }
    return written;
}

static uint32_t place(struct ll_cache *cache, size_t i, uint64_t line, uint8_t flags);

static void leave(struct ll_cache *cache, size_t i, uint32_t slot)
{
    struct level *level = &cache->levels[i];
    uint64_t line = level->lines[slot], address = line << level->line_shift, bytes = level->is.line_bytes;
    uint8_t flags = level->flags[slot];
    drop(level, slot);
    bool written = flags & WRITTEN;
    if (level->is.inclusion == LL_CACHE_INCLUSIVE)
        written |= invalidate_inside(cache, i, address, bytes);
    bool to_exclusive = i + 1 < cache->count && cache->levels[i + 1].is.inclusion == LL_CACHE_EXCLUSIVE;
    level->counts.evictions++;
    level->counts.useless += (flags & AHEAD) != 0;
    level->counts.write_backs += written;
    level->counts.out_bytes += written || to_exclusive ? bytes : 0;
    if (to_exclusive)
        place(cache, i + 1, line, written ? WRITTEN : 0);
    else if (written)
        take_back(cache, i + 1, address, bytes);
}

/* Puts a line that is not there into a slot. */
static uint32_t place(struct ll_cache *cache, size_t i, uint64_t line, uint8_t flags)
{
    struct level *level = &cache->levels[i];
    const struct policy *policy = &policies[level->is.policy];
    uint64_t set = set_of(level, line);
    if (level->empty_count[set] == 0)
        leave(cache, i, policy->victim(level, set));
    uint32_t slot = level->empty[set * level->ways + --level->empty_count[set]];
    level->lines[slot] = line;
    level->flags[slot] = flags;
    if (level->table)
        enter_table(level, slot);
    else
        tag(level, set, slot);
    policy->filled(level, set, slot);
    return slot;
}

/* A wish for the line after a miss or the first use of a prefetched line, or for one stride ahead. */
static void look_ahead(struct level *level, uint64_t line, bool news)
{
    uint64_t next = line + 1;
    if (level->is.prefetch == LL_PREFETCH_NONE)
        return;
    if (level->is.prefetch == LL_PREFETCH_STRIDE) {
        uint64_t page = (line << level->line_shift) / level->is.stride_page_bytes + 1;
        struct stride *stride = &level->strides[page % level->is.stride_pages];
        if (stride->page != page)
            *stride = (struct stride){.page = page, .line = line};
        int64_t step = (int64_t)(line - stride->line);
        news = step != 0 && step == stride->step;
        if (step != 0)
            *stride = (struct stride){.page = page, .line = line, .step = step};
        next = line + (uint64_t)step;
    }
    if (news && next <= ~LL_CACHE_WRITE >> level->line_shift)
        level->wish = next;
}

/* Whether this is the first use of a line that was fetched ahead. */
static bool use(struct level *level, uint64_t line, uint32_t slot)
{
    bool first = level->flags[slot] & AHEAD;
    level->counts.hits++;
    level->counts.useful += first;
    level->flags[slot] &= (uint8_t)~AHEAD;
    policies[level->is.policy].used(level, set_of(level, line), slot);
    return first;
}

static uint32_t bring(struct ll_cache *cache, size_t i, uint64_t line, uint8_t flags);

/* Whether a line that has come is let in. */
static bool admits(struct level *level)
{
    double share = ll_cache_admission(&level->is);
    return share >= 1 || (double)draw(level) < share * 0x1p32;
}

static bool fetch(struct ll_cache *cache, size_t i, uint64_t address);

/* A line comes for the level inside alone. Whether it comes written. */
static bool pass_by(struct ll_cache *cache, size_t i, uint64_t address)
{
    struct level *level = &cache->levels[i];
    level->counts.in_bytes += level->is.line_bytes;
    return fetch(cache, i + 1, address);
}

/* The level before i wants a line. Whether it comes written, given up by an exclusive level. */
static bool fetch(struct ll_cache *cache, size_t i, uint64_t address)
{
    if (i == cache->count) {
        uint64_t bytes = cache->levels[i - 1].is.line_bytes;
        tell(cache, address & ~(bytes - 1), bytes, false);
        return false;
    }
    struct level *level = &cache->levels[i];
    uint64_t line = address >> level->line_shift;
    uint32_t slot = find(level, line);
    bool missed = slot == NO_SLOT, exclusive = level->is.inclusion == LL_CACHE_EXCLUSIVE, written = false;
    level->counts.accesses++;
    level->counts.misses += missed;
    bool news = missed || use(level, line, slot);
    if (missed && (exclusive || !admits(level))) {
        written = pass_by(cache, i, address);
    } else if (missed) {
        bring(cache, i, line, 0);
    } else if (exclusive) {
        written = level->flags[slot] & WRITTEN;
        drop(level, slot);
    }
    look_ahead(level, line, news);
    return written;
}

static uint32_t bring(struct ll_cache *cache, size_t i, uint64_t line, uint8_t flags)
{
    struct level *level = &cache->levels[i];
    bool written = fetch(cache, i + 1, line << level->line_shift);
    level->counts.in_bytes += level->is.line_bytes;
    return place(cache, i, line, written ? flags | WRITTEN : flags);
}

static bool allocates(struct level *level, bool write)
{
    return level->is.inclusion != LL_CACHE_EXCLUSIVE && !(write && level->is.write_around) && admits(level);
}

/* What the stream asks of level 0, or a write that passed on. */
static void access(struct ll_cache *cache, size_t i, uint64_t address, bool write)
{
    if (i == cache->count) {
        tell(cache, address, 0, true);
        return;
    }
    struct level *level = &cache->levels[i];
    uint64_t line = address >> level->line_shift;
    uint32_t slot = find(level, line);
    bool missed = slot == NO_SLOT;
    level->counts.accesses++;
    level->counts.misses += missed;
    bool news = missed || use(level, line, slot);
    if (missed && allocates(level, write))
        slot = bring(cache, i, line, 0);
    else if (missed && !write && pass_by(cache, i, address))
        slot = place(cache, i, line, WRITTEN);
    look_ahead(level, line, news);
    if (!write)
        return;
    if (slot != NO_SLOT && !level->is.write_through) {
        level->flags[slot] |= WRITTEN;
        return;
    }
    level->counts.passed_writes++;
    access(cache, i + 1, address, true);
}

/* A line fetched ahead is asked of the level outside like any other, which may wish for one in turn. */
static void grant_wishes(struct ll_cache *cache)
{
    for (size_t i = cache->count; i-- > 0;) {
        struct level *level = &cache->levels[i];
        uint64_t line = level->wish;
        level->wish = NO_LINE;
        if (line == NO_LINE || find(level, line) != NO_SLOT)
            continue;
        level->counts.prefetches++;
        bring(cache, i, line, AHEAD);
        i = cache->count;
    }
}

static void run_with_care(struct ll_cache *cache, const uint64_t *accesses, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        access(cache, 0, accesses[n] & ~LL_CACHE_WRITE, accesses[n] & LL_CACHE_WRITE);
        grant_wishes(cache);
    }
}

/* The verbs of a policy as constants: where these are put in, nothing is asked twice. */
struct verbs {
    void (*used)(struct level *level, uint64_t set, uint32_t slot);
    void (*filled)(struct level *level, uint64_t set, uint32_t slot);
    uint32_t (*victim)(struct level *level, uint64_t set);
};

/* A miss of a level without neighbours or listener: what bring, place and leave come to there, in a slot's
 * place. */
static inline __attribute__((always_inline)) void replace(struct level *level, uint64_t set, uint64_t line,
                                                          bool write, bool tabled, struct verbs verbs)
{
    struct ll_cache_counts *counts = &level->counts;
    uint32_t slot;
    if (level->empty_count[set]) {
        slot = level->empty[set * level->ways + --level->empty_count[set]];
    } else {
        slot = verbs.victim(level, set);
        counts->evictions++;
        counts->write_backs += level->flags[slot];
        if (tabled)
            leave_table(level, slot);
    }
    counts->misses++;
    level->lines[slot] = line;
    level->flags[slot] = write;
    if (tabled)
        enter_table(level, slot);
    else
        tag(level, set, slot);
    verbs.filled(level, set, slot);
}
static_assert(WRITTEN == 1, "the flag of a write counts and is put in as it is");

static inline __attribute__((always_inline)) void run(struct ll_cache *cache, const uint64_t *accesses,
                                                      size_t count, bool tabled, struct verbs verbs)
{
    struct level *level = &cache->levels[0];
    struct ll_cache_counts before = level->counts;
    bool alone = cache->count == 1 && !cache->listener;
    uint64_t hits = 0;
    for (size_t n = 0; n < count; n++) {
        uint64_t address = accesses[n] & ~LL_CACHE_WRITE;
        bool write = accesses[n] >> 63;
        uint64_t line = address >> level->line_shift, set = set_of(level, line);
        uint32_t slot = tabled ? look_up(level, line) : search(level, set, line);
        if (slot != NO_SLOT) {
            verbs.used(level, set, slot);
            level->flags[slot] |= write;
            hits++;
        } else if (alone) {
            replace(level, set, line, write, tabled, verbs);
        } else {
            access(cache, 0, address, write);
            grant_wishes(cache);
        }
    }
    level->counts.hits += hits;
    if (!alone) {
        level->counts.accesses += hits;
        return;
    }
    level->counts.accesses += count;
    level->counts.in_bytes += (level->counts.misses - before.misses) * level->is.line_bytes;
    level->counts.out_bytes += (level->counts.write_backs - before.write_backs) * level->is.line_bytes;
}

#define LL_CACHE_POLICY(word, ...)                                                                           \
    static void run_##word(struct ll_cache *cache, const uint64_t *accesses, size_t count)                   \
    {                                                                                                        \
        const struct verbs verbs = {used_##word, filled_##word, victim_##word};                              \
        if (cache->levels[0].table)                                                                          \
            run(cache, accesses, count, true, verbs);                                                        \
        else                                                                                                 \
            run(cache, accesses, count, false, verbs);                                                       \
    }
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY

void ll_cache_run(struct ll_cache *cache, const uint64_t *accesses, size_t count)
{
    static void (*const runs[])(struct ll_cache *, const uint64_t *, size_t) = {
#define LL_CACHE_POLICY(word, ...) run_##word,
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
    };
    const struct ll_cache_level *first = &cache->levels[0].is;
    bool plain = first->prefetch == LL_PREFETCH_NONE && !first->write_through && !first->write_around &&
                 ll_cache_admission(first) >= 1;
    if (!plain)
        run_with_care(cache, accesses, count);
    else
        runs[first->policy](cache, accesses, count);
}

void ll_cache_flush(struct ll_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct level *level = &cache->levels[i];
        for (uint32_t slot = 0; slot < level->is.sets * level->ways; slot++) {
            uint64_t line = level->lines[slot];
            uint8_t flags = level->flags[slot];
            if (line == NO_LINE)
                continue;
            drop(level, slot);
            level->counts.useless += (flags & AHEAD) != 0;
            if (!(flags & WRITTEN))
                continue;
            level->counts.write_backs++;
            level->counts.out_bytes += level->is.line_bytes;
            take_back(cache, i + 1, line << level->line_shift, level->is.line_bytes);
        }
    }
}

void ll_cache_tell(struct ll_cache *cache, ll_cache_listener *listener, void *context)
{
    cache->listener = listener;
    cache->context = context;
}

struct ll_cache_counts ll_cache_counts(const struct ll_cache *cache, size_t level)
{
    assert(level < cache->count);
    return cache->levels[level].counts;
}

bool ll_cache_holds(const struct ll_cache *cache, size_t level, uint64_t address)
{
    assert(level < cache->count);
    return find(&cache->levels[level], address >> cache->levels[level].line_shift) != NO_SLOT;
}

static bool prepare_table(struct level *level, uint64_t slots, struct ll_arena *arena)
{
    /* Mostly empty: then a line is found, or not, at the first place. */
    for (level->table_bits = 1; UINT64_C(1) << level->table_bits < 16 * slots;)
        level->table_bits++;
    uint64_t size = UINT64_C(1) << level->table_bits;
    level->table = ll_alloc(arena, size, sizeof *level->table);
    for (uint64_t place = 0; level->table && place < size; place++)
        level->table[place] = NO_SLOT;
    return level->table != NULL;
}

static bool prepare_tags(struct level *level, struct ll_arena *arena)
{
    level->tag_words = (level->ways + 7) / 8;
    level->tags = ll_alloc(arena, level->is.sets * level->tag_words, sizeof *level->tags);
    return level->tags != NULL;
}

static bool prepare_strides(struct level *level, struct ll_arena *arena)
{
    if (level->is.prefetch == LL_PREFETCH_STRIDE)
        level->strides = ll_alloc(arena, level->is.stride_pages, sizeof *level->strides);
    return level->strides || level->is.prefetch != LL_PREFETCH_STRIDE;
}

static bool prepare(struct level *level, const struct ll_cache_level *is, struct ll_arena *arena)
{
    uint64_t slots = is->sets * is->ways;
    level->is = *is;
    level->ways = (uint32_t)is->ways;
    level->line_shift = (uint32_t)__builtin_ctzll(is->line_bytes);
    level->set_mask = ll_is_power_of_two(is->sets) ? is->sets - 1 : 0;
    level->wish = NO_LINE;
    level->lines = ll_alloc(arena, slots + BEHIND, sizeof *level->lines);
    level->flags = ll_alloc(arena, slots, sizeof *level->flags);
    level->empty = ll_alloc(arena, slots, sizeof *level->empty);
    level->empty_count = ll_alloc(arena, is->sets, sizeof *level->empty_count);
    if (!level->lines || !level->flags || !level->empty || !level->empty_count)
        return false;
    for (uint64_t slot = 0; slot < slots; slot++) {
        uint64_t way = slot % is->ways, first = slot - way;
        level->lines[slot] = NO_LINE;
        level->empty[slot] = (uint32_t)(first + is->ways - 1 - way);
    }
    for (uint64_t i = 0; i < BEHIND; i++)
        level->lines[slots + i] = NO_LINE;
    for (uint64_t set = 0; set < is->sets; set++)
        level->empty_count[set] = level->ways;
    bool is_searched = is->ways <= FEW_WAYS || (is->ways <= MANY_WAYS && slots > SMALL_SLOTS);
    bool done = is_searched ? prepare_tags(level, arena) : prepare_table(level, slots, arena);
    return done && prepare_strides(level, arena) && policies[is->policy].prepare(level, arena);
}

struct ll_cache *ll_cache_new(const struct ll_cache_level *levels, size_t count, struct ll_arena *arena)
{
    assert(!ll_cache_trouble(levels, count, NULL));
    struct ll_cache *cache = ll_alloc(arena, 1, sizeof *cache);
    if (!cache || !(cache->levels = ll_alloc(arena, count, sizeof *cache->levels)))
        return NULL;
    cache->count = count;
    for (size_t i = 0; i < count; i++)
        if (!prepare(&cache->levels[i], &levels[i], arena))
            return NULL;
    return cache;
}
