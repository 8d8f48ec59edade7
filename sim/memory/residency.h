/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier ops left on chip.
 *
 * For each operand of each op: the number of distinct bytes that were touched since its storage was touched
 * last, its reuse distance. A memory of C bytes that keeps what was used most recently still holds
 *
 *       min(size, max(0, C - distance))
 *
 * bytes of it (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9, 1970,
 * counted in bytes). Distances belong to the trace alone: they are found once, and each machine only
 * clamps them. Hence a larger memory never saves less.
 *
 * Of what comes around in rounds of T = distance + size bytes, a cache keeps all when T <= C. When T > C,
 * one that replaces by age keeps nothing, since each line goes just before it is asked for again; of one that
 * replaces at random the part s is left when the share a of all that comes is let in meanwhile:
 *
 *       s = exp(-a T / C)
 *
 * One of W ways that replaces by age has a line until W others of its set have come. Lines lie in sets as if
 * dealt (pages at random, addresses of GPUs' caches hashed), so that others are as many as Poisson's law has
 * (Smith, "A comparative study of set associative memory mapping algorithms", IEEE TSE 4, 1978), and the part
 *
 *       s = exp(-x) (1 + x + x^2 / 2! + ... + x^(W-1) / (W-1)!),  x = W T / C
 *
 * is left. That is no matter of all or nothing at T = C: with W = 16 it is 0.84 at three quarters of it and
 * 0.16 at five.
 *
 * Of the lines that miss, a cache lets in the share q (`admission`), so that what comes once displaces little
 * of what comes often (Qureshi et al., "Adaptive insertion policies for high performance caching", ISCA
 * 2007). So what a use finds (f) depends on what was there (p) when the one before was over. By age s is as
 * said; at random it depends on the bytes A that the cache has let in meanwhile:
 *
 *       f = s p,  of what comes a = (1 - f) q is let in,  s = exp(-A / C),  p of the next time = f + a
 *
 * A goes from the middle of one use to the middle of the next, so that half of what each lets in is part of
 * it. In endless rounds with q = 1 that is f = exp(-(1 - f) T / C).
 *
 * Programs that run beside this one, and are not simulated, may share the cache and bring G bytes a second
 * into it (`corunners`). Of what comes around after d seconds they have displaced some as well: by age
 * T + G d takes the place of T, at random s is exp(-G d / C) of what it would be.
 *
 * What the host writes lands in the outermost memory, or comes through the caches (`fills_caches`) as if an
 * op had written it. What ops write past the caches (`past`) is not in them.
 *
 * Private caches may be described as one, as large as all of them (`affinity`): a thread has the same part of
 * each op and finds what it has left there itself. GEMMs are cut otherwise than other ops, so that neither
 * finds what the other has left.
 *
 * Of a GEMM the operand that is not cut is read by every unit (`everywhere`), and each has its lines in
 * its own caches then. Whoever overwrites them, still there or in a cache that all share, has the other units
 * drop theirs first, line by line; that takes time (`invalidation`), though nothing is moved.
 *
 * Each cache meets every use, as if there were none further in: nothing tells it whether those have it.
 *
 * Bytes are counted by address, as a best-fit arena gives them out (footprint.h): a storage that is born
 * takes the addresses of the dead, whose bytes need no room of their own any more.
 *
 * What is written saves traffic in one of two ways. A memory that software fills keeps it from going out: its
 * distance is the largest one that its bytes meet from this write to their end, be it the last use
 * (activations, gradients, workspace) or the next overwriting. Bytes that stay on chip to their end never go
 * further out. Results that nobody reads, and the last state of weights, optimizer and inputs, must go out:
 * LL_NO_FIT. A cache knows no end: it has to fetch the lines that are written, and sends out those of before,
 * unless it holds them, so that what counts is the distance `since` these addresses were touched last, by
 * whomever.
 *
 * A memory that software fills may keep weights for good (`keeps_weights`): of all that no op writes the part
 *
 *       min(1, max(0, C - M) / W)
 *
 * of W bytes, beside the M bytes of the other operands of the op that has most of them; each weight is there
 * to that part, from the first step on.
 *
 * Nothing else is on chip when a trace begins, unless it says that its first step was `rehearsed`: then what
 * that step leaves is there.
 *
 * Of a storage that an op touches in part, a slice or some rows, the part is as far back as all of it was
 * when it was touched whole, with the rest of it in between.
 *
 * Views share the storage they show; an op that moves no byte touches nothing. Inputs are touched in their
 * order, but those that every unit reads last, then outputs, except where an op overwrites what it reads:
 * each element is read and written at once, so that its write finds on chip what its read does, and the rest
 * of the op's operands come behind it. */
#ifndef LL_SIM_MEMORY_RESIDENCY_H
#define LL_SIM_MEMORY_RESIDENCY_H

#include "sim/machine/warm_bytes.h"
#include "sim/machine/machine.h"
#include "tracer/ir/trace.h"

/* There is one for each operand of each op, so it is small: numbers of reuses and ops are 32 bits wide. */
struct ll_reuse {
    uint64_t bytes;
    uint64_t distance; /* bytes; LL_NO_FIT when never touched before, or when it must go out */
    uint64_t since;    /* of reads the distance; of writes the bytes touched since their addresses were */
    uint64_t since_arrival; /* bytes touched since what `arrived` names arrived */
    uint32_t before;        /* 1 + index of the reuse that touched these addresses last; 0: none did */
    /* 1 + index of the reuse by which the host has written these bytes since; 0: it has not, or somebody has
     * touched them. */
    uint32_t arrived;
    uint32_t op;
    uint16_t kind; /* enum ll_op_kind */
    bool written : 1, by_host : 1;
    bool stays : 1;      /* it reads a weight that no op writes, so that a memory may keep it for good */
    bool everywhere : 1; /* every unit that works reads all of it */
    uint8_t
        operand : 4; /* enum ll_operand: which of the op's it is, where a memory holds but some (`holds`) */
    uint8_t readers; /* of what is written: as which operands it is read to its end, a bit each */
};

struct ll_residency {
    const uint64_t *first; /* op_count + 1 offsets: op's operands are reuses[first[op]..first[op + 1]) */
    const struct ll_reuse *reuses; /* inputs, then outputs; before first[0] those of a rehearsal */
    /* Of all weights that no op writes; of the other operands of the op that has most of them. */
    double staying_bytes, most_bytes;
};

/* All distances of a trace, in time n log n for n operands. NULL when memory ran out. Lives in the arena;
 * immutable, may be shared by threads. */
const struct ll_residency *ll_residency_new(const struct ll_trace *trace, struct ll_arena *arena);

/* The same with the footprint (footprint.h), which the same births and deaths tell. */
struct ll_footprint;
const struct ll_residency *ll_residency_and_footprint(const struct ll_trace *trace, struct ll_arena *arena,
                                                      struct ll_footprint *footprint);

/* What the caches of a machine have met and let in, op by op: of those that replace at random, or let in but
 * a share. One thread at a time while ops are added. */
struct ll_history;

/* After the ops before `first`, which all began at once; with room for those before `end`. Lives in the
 * arena; residency and machine stay. NULL when memory ran out. */
struct ll_history *ll_history_new(const struct ll_residency *residency, const struct ll_machine *machine,
                                  uint32_t first, uint32_t end, struct ll_arena *arena);

/* What there was before an op: how long the device had worked when ops began, what its caches have met. */
struct ll_so_far {
    const double *begun_s;            /* of op `first` and those behind it; NULL: no time passes */
    uint32_t first;                   /* all before it began at 0 */
    const struct ll_history *history; /* NULL: caches that would need it are empty */
};

/* Whether what ops find depends on what caches have met, or on time, and not on reuse distances alone: a
 * cache replaces at random, lets in but a share, or is shared with other programs. Pure. */
bool ll_history_matters(const struct ll_history *history);

/* The next op: they are added one after the other, from `first` on. So far it and those before it began. */
void ll_history_add(struct ll_history *history, uint32_t op, struct ll_so_far so_far);

/* What this op finds, for each level (LL_MAX_LEVELS of them). saved_bytes[l]: bytes of its operands, each
 * counted once, that need not pass between level l and the levels further in, which are caches if they say so
 * (`cache`). shared_bytes[l]: bytes that it overwrites, of which other units have copies, and which are in
 * level l and not further in; none where the level has no `invalidation`.
 * Memories of which there are several keep nothing for the next op, nor do caches that some operand passes
 * by. Another memory that holds but some operands keeps what came, and comes again, as one of these: a buffer
 * for inputs and results keeps what a layer makes for the next one. The innermost level saves nothing of its
 * own traffic. Operands whose bit is set in `held` pass through registers (fusion) and save all of their
 * bytes at every level that holds them; bit i is operand i, inputs first, up to 64 of them. What is so far
 * includes this op. Pure, thread-safe. */
void ll_residency_saved(const struct ll_residency *residency, const struct ll_machine *machine, uint32_t op,
                        uint64_t held, struct ll_so_far so_far, struct ll_warm_bytes *found);

/* Starts as what else tells ops apart. */
struct ll_reuse_hash {
    uint64_t half[2];
};

/* Adds two words. A hash of 128 bits, so that two ops that hash alike are alike. */
static inline void ll_reuse_mix(struct ll_reuse_hash *hash, uint64_t one, uint64_t other)
{
    hash->half[0] = (hash->half[0] ^ one ^ (other << 23 | other >> 41)) * UINT64_C(0xFF51AFD7ED558CCD);
    hash->half[0] ^= hash->half[0] >> 32;
    hash->half[1] = (hash->half[1] + other + (one << 32 | one >> 32)) * UINT64_C(0xC4CEB9FE1A85EC53);
    hash->half[1] ^= hash->half[1] >> 29;
}

/* Adds all that decides what ll_residency_saved finds for this op, other than `held`, on machines whose
 * history does not matter: ops of equal hash find the same there. Pure. */
void ll_residency_hash(const struct ll_residency *residency, uint32_t op, struct ll_reuse_hash *hash);

/* What comes between two uses of the same bytes. */
struct ll_round {
    uint64_t bytes;   /* they and what the program uses in between; LL_NO_FIT: they were never used before */
    double corunners; /* bytes that other programs bring into the cache meanwhile */
};

/* Of so many bytes that come around for ever, those that the level has each time, by the laws above. Pure. */
double ll_level_keeps(const struct ll_level *level, uint64_t bytes, struct ll_round round);

/* What a cache finds of bytes that come around once more, as shares of them. */
struct ll_cache_found {
    double share;
    double has;      /* is in the cache afterwards */
    double admitted; /* was let in, of what was not there */
};

/* After a round, by the laws above; before: what was found the time before, NULL the first time, when it
 * finds nothing. level->cache_given. Pure. */
struct ll_cache_found ll_cache_finds(const struct ll_level *level, struct ll_round round,
                                     const struct ll_cache_found *before);

#endif
