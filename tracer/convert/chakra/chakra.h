/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces (MLCommons; schema/protobuf/et_def.proto): what reading and writing them share.
 *
 * A file is a row of messages, each behind its length: one GlobalMetadata, then a Node for each thing that a
 * rank did. A node says what kind of thing it is, how long it took in whole microseconds, which nodes it
 * waited for, and more by attributes. Simulators read of a computation num_ops and tensor_size, of a
 * communication comm_type and comm_size.
 *
 * What our traces know beyond that goes into attributes of our own names, so that a trace comes back as it
 * was. A tensor is one line of text (chakra_add_tensor). Private to tracer/convert/chakra. */
#ifndef LL_TRACER_CONVERT_CHAKRA_CHAKRA_H
#define LL_TRACER_CONVERT_CHAKRA_CHAKRA_H

#include "tracer/convert/convert.h"
#include "tracer/convert/wire.h"

/* Field numbers. */
enum { METADATA_VERSION = 1, METADATA_ATTR = 2 };
enum {
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CTRL_DEPS = 4,
    NODE_DATA_DEPS = 5,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_INPUTS = 8,
    NODE_OUTPUTS = 9,
    NODE_ATTR = 10
};
enum { IO_VALUES = 1, IO_SHAPES = 2, IO_TYPES = 3 };
enum { ATTR_NAME = 1, ATTR_DOUBLE = 3, ATTR_FLOAT = 5 };
enum { ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_UINT64 = 13, ATTR_BOOL = 27, ATTR_TEXT = 29 };
enum { ATTR_UINT64S = 14, ATTR_TEXTS = 30, LIST_VALUES = 1 };

/* NodeType. */
enum {
    CHAKRA_LOAD = 2,
    CHAKRA_STORE = 3,
    CHAKRA_COMPUTE = 4,
    CHAKRA_SEND = 5,
    CHAKRA_RECEIVE = 6,
    CHAKRA_COLLECTIVE = 7
};

/* CollectiveCommType, in the order of its numbers: the op that each is. */
#define CHAKRA_COLLECTIVES(X)                                                                                \
    X(ALL_REDUCE)                                                                                            \
    X(REDUCE)                                                                                                \
    X(ALL_GATHER)                                                                                            \
    X(COLLECT)                                                                                               \
    X(DISTRIBUTE)                                                                                            \
    X(BROADCAST)                                                                                             \
    X(ALL_TO_ALL)                                                                                            \
    X(REDUCE_SCATTER)                                                                                        \
    X(REDUCE_SCATTER)                                                                                        \
    X(BARRIER)

/* What a tensor looks like, with its number in the trace it came from. */
struct chakra_tensor {
    uint64_t number;
    enum ll_memory_class memory;
    struct ll_shape shape;
    const char *name;
};

/* Reads such a line; the name points into it. False when it is none. */
bool chakra_read_tensor(const char *line, struct chakra_tensor *tensor);

/* The attribute of the metadata that tells the steps, and its numbers: appends them. */
#define CHAKRA_STEPS "leadline.steps"

/* Chakra files as they stand: nodes with their attributes, put in an order in which each comes behind those
 * that it waits for. What is read points into the files. Private to tracer/convert/chakra. */

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
