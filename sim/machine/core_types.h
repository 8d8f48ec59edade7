/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of a machine and what joins them, as its file describes them: plain data. */
#ifndef LL_SIM_MACHINE_CORE_TYPES_H
#define LL_SIM_MACHINE_CORE_TYPES_H

#include <stdint.h>

/* Sides of a mesh; devices per switch, switches per switch of the next layer, ...: innermost first. */
enum { LL_MAX_EXTENTS = 6 };
struct ll_extents {
    uint64_t at[LL_MAX_EXTENTS];
    uint64_t count;
};

/* Kinds of core; links in a file; cores of all kinds together. */
enum { LL_MAX_CORE_TYPES = 8, LL_MAX_CORE_LINKS = 16, LL_MOST_CORES = 128 };

/* How links join cores: word, name in machine files, what it is. */
#define LL_CORE_TOPOLOGY_LIST(X)                                                                             \
    X(BUS, "bus", "one medium that all share: what passes reaches any number of them at once")               \
    X(MESH, "mesh", "rows and columns, each with its neighbours, a link each way")                           \
    X(RING, "ring", "each with the next and the last with the first, a link each way")                       \
    X(STAR, "star", "the first with each of the others, a link each way")

enum ll_core_topology {
#define X(word, name, doc) LL_CORES_##word,
    LL_CORE_TOPOLOGY_LIST(X)
#undef X
        LL_CORE_TOPOLOGY_COUNT
};

/* Equal cores. Units and memories are names of the machine's. */
struct ll_core {
    const char *name;
    uint64_t count;
    const char **units, **memory;
    uint64_t unit_count, memory_count;
};

/* A bus, a mesh, a ring or a star. */
struct ll_core_link {
    const char *name;
    enum ll_core_topology topology;
    const char **joins; /* kinds of core, single cores ("name.2"), or the outermost memory */
    uint64_t join_count;
    struct ll_extents shape; /* of a mesh: rows, columns */
    double bandwidth_Bps;    /* of a bus in all, else of one link in one direction */
    double latency_s;
    double j_per_byte; /* over one link; 0: by length_mm */
    double length_mm;  /* of one link; 0: not described */
};

#endif
