/* SPDX-License-Identifier: Apache-2.0 */
/* An array and its chain of memories on the way from a file of another tool to a machine file. */
#ifndef LL_SIM_INTERCHANGE_CHAIN_H
#define LL_SIM_INTERCHANGE_CHAIN_H

#include "sim/interchange/exchange.h"
#include "sim/machine/unit.h"

enum { LL_CHAIN_STORES = 16, LL_CHAIN_AXES = 6, LL_CHAIN_TEXTS = 64 };

/* A memory. Sizes and widths in bits. */
struct ll_chain_store {
    const char *name;
    double size_bits; /* of an instance; 0: without limit */
    bool holds[LL_OPERAND_COUNT];
    unsigned serves; /* axes, a bit each */
    struct ll_array_port port[LL_ARRAY_PORTS];
    int ports;
    double width_bits;                            /* of an access; 0: of the port */
    double read_pj, write_pj, update_pj, leak_pj; /* update 0: as write */
    double cluster;                               /* instances that an access serves; 0: 1 */
    double word_bits, cell_ports;                 /* of Timeloop's memories; 0: not said */
    bool by_line;
    bool outside; /* the memory common to all cores (a system of Stream) */
};

/* Texts of one key of the array, as `limits`. */
struct ll_chain_texts {
    const char *at[LL_CHAIN_TEXTS];
    int count;
};

struct ll_chain {
    struct ll_chain_store store[LL_CHAIN_STORES]; /* innermost first */
    int stores;
    uint64_t axis[LL_CHAIN_AXES];
    int axes;
    double mac_pj;
    double macs; /* multiply-accumulates of an element in a cycle */
    int sum_bytes;
    const char *name;   /* of the machine */
    const char *counts; /* by whose rules accesses are counted */
    const char *dtype;  /* of the file's words; elements multiply wider ones as fast */
    bool one_type;      /* and no others */
    const char *clock, *clock_source;
    const char *tool;     /* whose file it is, for sources */
    const char *inherits; /* files whose figures of energy hold where there are none; NULL: none */
    double node_nm;       /* to which figures of `inherits` are scaled; 0: they are not */
    double hop_pj;        /* of a bit from element to element; 0: not said */
    double area_mm2;      /* 0: not known */
    bool gated;
    const char *side_by_side; /* loops that run so, with how often: "K8 C8"; NULL: not said */
    struct ll_chain_texts unroll, limits, given;
};

/* A store of the chain, zeroed; NULL after a complaint when there are too many. */
struct ll_chain_store *ll_chain_add(struct ll_interchange *x, struct ll_chain *chain,
                                    const struct ll_node *node, const char *name);

/* Leaves out what a memory has beyond the largest one of a machine file. */
void ll_chain_cap_size(struct ll_interchange *x, struct ll_chain_store *store, struct ll_place place);

/* Adds a text to one of the chain's lists. False after a complaint when there are too many. */
bool ll_chain_say(struct ll_interchange *x, struct ll_chain_texts *texts, const struct ll_node *node,
                  const char *text);

/* Whether the store, and all outside of it, serve all elements: it is a level of memory, else a register. */
bool ll_chain_is_level(const struct ll_chain *chain, int store);

/* "      registers: ..." and what else an array unit of this name has, and one item of `memory`. */
void ll_chain_put_unit(const struct ll_chain *chain, const char *name, struct ll_str *out);
void ll_chain_put_level(const struct ll_chain *chain, const struct ll_chain_store *store, struct ll_str *out);

/* The whole machine file. False after a complaint about the node when no outermost store serves all. */
bool ll_chain_put(struct ll_interchange *x, struct ll_chain *chain, const struct ll_node *node,
                  struct ll_str *out);

#endif
