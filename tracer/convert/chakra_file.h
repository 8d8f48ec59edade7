/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra files as they stand: nodes with their attributes, put in an order in which each comes behind those
 * that it waits for. What is read points into the files. Private to tracer/convert/chakra*.c. */
#ifndef LL_TRACER_CONVERT_CHAKRA_FILE_H
#define LL_TRACER_CONVERT_CHAKRA_FILE_H

#include "tracer/convert/chakra.h"

struct chakra_node {
    uint64_t id, type, start_us, duration_us;
    struct ll_wire name, body;
};

/* What one rank did. */
struct chakra_file {
    const struct ll_input_file *input;
    struct ll_wire metadata;
    struct chakra_node *nodes;
    uint64_t count, capacity;
    uint32_t *order;  /* of nodes, each behind those that it waits for */
    uint64_t *first;  /* count + 1 offsets into deps */
    uint32_t *deps;   /* nodes that a node waits for */
    bool data_only;   /* the order that the file asks for goes round; its data does not */
    uint64_t dropped; /* control dependencies that do not count: on nodes that are not there, or all */
};

/* Reads a file and orders its nodes. False after complaints (an id twice, a node whose data is waited for but
 * is not there, nodes that wait for each other), or with import->status set. */
bool chakra_file_read(struct ll_import *import, const struct ll_input_file *input, struct chakra_file *file);
void chakra_file_release(struct chakra_file *file);

/* An attribute: its number, of whatever type, as a count; its text, its list. */
struct chakra_attr {
    uint64_t number;
    struct ll_wire text, list; /* at is NULL: none */
};

/* False when there is no attribute of this name; field is NODE_ATTR or METADATA_ATTR. */
bool chakra_attr_find(struct ll_wire body, uint64_t field, const char *name, struct chakra_attr *attr);

/* The next attribute of a message and its name; false at the end. */
bool chakra_attr_next(struct ll_wire *body, uint64_t field, struct ll_wire *name, struct chakra_attr *attr);

/* The number of an attribute of a node, 0 when it has none of this name. */
uint64_t chakra_number(const struct chakra_node *node, const char *name);

/* Cuts what was recorded of a file of ours, ops[i] of nodes[i], into the steps that its metadata tells: what
 * ran before the first or was cut off is no whole step; what lies between two belongs to their time. Where
 * it tells none, or no longer has all ops, those that were begun stay. False when memory ran out. */
bool chakra_cut_steps(struct ll_import *import, const struct chakra_file *file, const uint32_t *ops);

#endif
