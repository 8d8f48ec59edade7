/* SPDX-License-Identifier: Apache-2.0 */
/* Files that hold the weights of a language model: what their headers say, and the pass through a model that
 * it becomes. Only headers are read. Private to tracer/convert/weights. */
#ifndef LL_TRACER_CONVERT_WEIGHTS_WEIGHTS_H
#define LL_TRACER_CONVERT_WEIGHTS_WEIGHTS_H

#include "tracer/convert/convert.h"

/* A tensor of the file, as PyTorch has it: rows out, columns in; experts before them. */
struct ll_stored {
    const char *name;
    struct ll_shape shape; /* of elements, those of packed types unpacked; dtype and scales as stored */
    double bits;           /* of an element in the file, scales and all */
};

/* What a header says besides; 0 where it does not. */
struct ll_stored_model {
    const char *name; /* of the model, NULL: none */
    struct ll_stored *tensors;
    uint64_t count, capacity;
    uint64_t heads, kv_heads, key, value; /* heads of queries, of keys; features of a key and of a value */
    uint64_t window;                      /* keys that a query sees; 0: all */
    uint64_t top_k;                       /* experts of a token */
};

/* Records a pass of `-p tokens=N` new tokens (default 1) behind `-p context=N` others (default 0) through all
 * weights of the model: facts, then layer by layer. False after complaints. */
bool ll_stored_record(struct ll_import *import, struct ll_stored_model *model, const char *format);

#endif
