/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a trace: a list of facts (ll_facts; the keys stand in tracer/ir/trace.h), and the facts about
 * the host that a recording adds. */
#ifndef LL_TRACER_RECORD_HOST_H
#define LL_TRACER_RECORD_HOST_H

#include "tracer/base/pool.h"
#include "tracer/ir/trace.h"

/* Starts as {.arena = arena}; items and their texts live in the arena. When memory runs out `failed` is set
 * and nothing more is added: check once at the end. One thread at a time. */
struct ll_facts {
    struct ll_arena *arena;
    struct ll_fact *items;
    uint64_t count, capacity;
    bool failed;
};

/* Adds key = printf of the rest. */
void ll_facts_add(struct ll_facts *facts, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The whole number that a fact of the list begins with; 0 when there is none. */
uint64_t ll_facts_number(const struct ll_facts *facts, const char *key);

/* Where a trace was recorded. */

/* Adds what can be found out of: leadline (version), host.cpu (model), host.cores (physical, of the
 * machine), host.cpus (logical, that this process may use), host.memory_bytes (MemTotal), host.memory_nodes
 * (NUMA, where there are several), host.cache.l1d, .l1i, .l2, .l3 (bytes of one such cache),
 * clock.resolution_ns. What the system does not tell is left out. `root` is where proc
 * and sys are: "" but in tests. Thread-safe. */
void ll_host_facts(const char *root, struct ll_facts *facts);

/* Adds what this pool's looks saw of the processors under its threads, as far as it looked: host.clock_hz
 * (ll_pool_clock_hz), host.round_trip_ns (ll_pool_round_trip_s), and where they are more than 0 host.apart
 * and host.crowded (ll_pool_apart_share, ll_pool_crowded_share). */
void ll_pool_facts(const struct ll_pool *pool, struct ll_facts *facts);

/* The memory that this process may have: the machine's, or less where a control group (a container, a slice)
 * allows less; UINT64_MAX when the system tells neither. What of it others have is not known. Thread-safe. */
uint64_t ll_host_memory_bytes(const char *root);

#endif
