/* SPDX-License-Identifier: Apache-2.0 */
/* A system of Stream on its way: files of cores, cores, kinds of equal ones, links. stream.c reads and
 * writes it, stream_links.c is about what joins its cores. Plain data of one import. */
#ifndef LL_SIM_INTERCHANGE_STREAM_H
#define LL_SIM_INTERCHANGE_STREAM_H

#include "sim/interchange/zigzag.h"

enum {
    LL_STREAM_CORES = 128,
    LL_STREAM_FILES = 16,
    LL_STREAM_KINDS = 8,
    LL_STREAM_PAIRS = 4096,
    LL_STREAM_GROUPS = 64
};

enum ll_stream_role { LL_STREAM_ARRAY, LL_STREAM_LANES, LL_STREAM_MEMORY };

/* A file of a core. */
struct ll_stream_file {
    const char *path, *name; /* as the system says, and where it was found */
    struct ll_node *root;
    struct ll_chain chain;
    double elements;
    enum ll_stream_role role;
    bool offchip, one_axis;
};

/* Equal cores. */
struct ll_stream_kind {
    const char *name;
    int file, slot; /* slot: place in groups that share a memory; -1: in none */
    int count;
};

/* A core: its file, its kind and its number among those of the kind. */
struct ll_stream_core {
    bool there;
    int file, kind, index, group, slot, stands_for; /* stands_for: the core whose links it has; else itself */
};

/* A link between two ends, or a bus (count > 2 or `bus`). */
struct ll_stream_pair {
    int from, to;
    double bits, cost;
    bool used;
};

struct ll_stream_bus {
    bool ends[LL_STREAM_CORES];
    double bits, cost;
};

struct ll_stream_system {
    struct ll_interchange *x;
    const struct ll_peer_import *import;
    const char *folder; /* of the system's file, with its slash */
    struct ll_stream_file file[LL_STREAM_FILES];
    struct ll_stream_kind kind[LL_STREAM_KINDS];
    struct ll_stream_core core[LL_STREAM_CORES];
    struct ll_stream_pair pair[LL_STREAM_PAIRS];
    struct ll_stream_bus bus[16];
    int group[LL_STREAM_GROUPS][LL_STREAM_CORES], group_size[LL_STREAM_GROUPS];
    int files, kinds, pairs, buses, groups, offchip;
    struct ll_str links;
    int link_count;
};

/* A complaint about a node: what stands there, and what was expected. Always false. */
bool ll_stream_wrong(const struct ll_stream_system *s, const struct ll_node *node, const char *expected);

/* Numbers of cores, as "0, 1, 2" or [0, 1, 2]; how many, -1 after a complaint. */
int ll_stream_take_ids(const struct ll_stream_system *s, struct ll_node *node, int ids[LL_STREAM_CORES]);

/* The outermost memory of a core, and the width at which a memory reads, in bits a cycle. */
const struct ll_chain_store *ll_stream_top(const struct ll_stream_system *s, int id);
double ll_stream_port_bits(const struct ll_chain_store *store);

/* The system's links and buses. False after a complaint. */
bool ll_stream_take_links(struct ll_stream_system *s, struct ll_node *system);

/* Further links: within groups that share a memory, and to the outside where the system says none. */
bool ll_stream_join_rest(struct ll_stream_system *s, const struct ll_node *system);

/* Leaves out cores to which nothing leads. */
void ll_stream_drop_lonely(struct ll_stream_system *s);

/* Adds meshes, rings, stars and buses of all links to `links`; kinds are settled. */
void ll_stream_put_links(struct ll_stream_system *s);

#endif
