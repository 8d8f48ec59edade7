/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces (MLCommons; schema/protobuf/et_def.proto): what reading and writing them share.
 *
 * A file is a row of messages, each behind its length: one GlobalMetadata, then a Node for each thing that a
 * rank did. A node says what kind of thing it is, how long it took in whole microseconds, which nodes it
 * waited for, and more by attributes. Simulators read of a computation num_ops and tensor_size, of a
 * communication comm_type and comm_size.
 *
 * What our traces know beyond that goes into attributes of our own names, so that a trace comes back as it
 * was. A tensor is one line of text (chakra_add_tensor). Private to tracer/convert/chakra*.c. */
#ifndef LL_TRACER_CONVERT_CHAKRA_H
#define LL_TRACER_CONVERT_CHAKRA_H

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

/* Appends `number class dtype dims roles name`; dims as 64x3 or `-`, roles as batch,,channel or `-`. */
void chakra_add_tensor(struct ll_str *out, const struct chakra_tensor *tensor);

/* Reads such a line; the name points into it. False when it is none. */
bool chakra_read_tensor(const char *line, struct chakra_tensor *tensor);

/* The attribute of the metadata that tells the steps, and its numbers: appends them. */
#define CHAKRA_STEPS "leadline.steps"
void chakra_pack_steps(struct ll_str *packed, const struct ll_step *steps, uint64_t count);

#endif
