/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's operators as ops: a row of aten.def each, and a rule (aten_*.c) that records it.
 *
 * Memory is followed by storage. A storage holds one tensor at a time, the one that was written last; whoever
 * reads the storage as another tensor gets a view of that, made when it is asked for. So PyTorch's own views
 * record nothing, and a write is seen by all who read later. A storage that was allocated anew holds nothing
 * until it is written; what is read without ever having been written was there before. Where nobody knows
 * storages every tensor is one of its own.
 *
 * Images, which PyTorch names batch, channel, height, width, are batch, height, width, channel here: a matter
 * of names, whatever their memory looks like. Private to tracer/convert/torch*.c and aten*.c. */
#ifndef LL_CONVERT_ATEN_H
#define LL_CONVERT_ATEN_H

#include "tracer/base/map.h"
#include "tracer/convert/torch.h"

/* So many views of what a storage holds are kept, for the next one who asks. */
enum { LL_SEEN_KEPT = 4 };

/* How much an operator does: nothing that counts, something that nobody knows, something that has a row. */
enum ll_torch_work { LL_TORCH_NOTHING, LL_TORCH_SOMETHING, LL_TORCH_KNOWN };

struct ll_storage {
    bool live;    /* it holds something */
    bool decided; /* what was there before the first op is what its first reader takes it for */
    struct ll_imported held;
    enum ll_memory_class memory;  /* of what it holds */
    enum ll_memory_class brought; /* of what was there before the first op */
    struct ll_imported seen[LL_SEEN_KEPT];
    uint32_t seen_count;
    uint64_t got_by; /* 1 + the operator without a row that got this memory, until it is written; else 0 */
    uint64_t next_write[LL_TORCH_KNOWN + 1]; /* 1 + the next node that writes it and does so much; 0: none */
};

struct ll_storages {
    struct ll_map numbers;
    struct ll_storage *at; /* by the number's place in the map */
    uint64_t capacity;
    uint32_t ops;  /* recorded so far */
    bool in_order; /* each op waits for the one before it */
};

struct ll_aten;
typedef const char *ll_aten_rule(struct ll_aten *call);

/* A row of aten.def. */
struct ll_aten_row {
    const char *name;
    ll_aten_rule *rule;
    enum ll_op_kind kind; /* what the rule records, where it can be several; LL_OP_COUNT: it knows */
    uint32_t tensors;     /* how many arguments an element-wise op takes */
    uint32_t weights;     /* bit i: argument i is a weight, unless an op made it */
};

/* A call of an operator at work. */
struct ll_aten {
    struct ll_import *import;
    struct ll_storages *storages;
    const struct ll_torch_node *node;
    const struct ll_aten_row *row;
    enum ll_phase phase;
    enum ll_memory_class memory; /* of what the call writes */
    const char *scope;
    bool timed;           /* its time went with an op already */
    uint64_t below_count; /* of nodes that follow it in the list and may lie within it */
    uint64_t
        reads_of; /* 1 + an operator without a row whose memory it reads, which no op has written; else 0 */
};

/* The row of an operator, by name, with or without an overload (`aten::add.Tensor`); NULL for none. What
 * changes its first argument (`aten::add_`) has the row of what does not, unless there is one for it. */
const struct ll_aten_row *ll_aten_find(const char *name);

/* The first tensor of argument i; NULL when it is none. */
const struct ll_torch_tensor *ll_aten_tensor(const struct ll_aten *call, uint32_t i);

/* Result i; NULL when there are not so many, or none are known. */
const struct ll_torch_tensor *ll_aten_result(const struct ll_aten *call, uint32_t i);

/* Number `at` of argument i, a list or a number that counts for all places; otherwise when there is none. */
double ll_aten_number(const struct ll_aten *call, uint32_t i, uint32_t at, double otherwise);

/* The same as a whole number, at most this in size, so that products of two fit. */
enum { LL_ATEN_MOST = 1 << 30 };
int64_t ll_aten_integer(const struct ll_aten *call, uint32_t i, uint32_t at, int64_t otherwise);

/* The shape of an image: its channels come last, and where it has one dimension it is of height one. NULL, or
 * why it is none; static storage. */
const char *ll_image_shape(const struct ll_shape *shape, struct ll_shape *image);

/* The slot of a tensor's storage, valid until that of another is asked for; NULL when memory ran out. */
struct ll_storage *ll_storage_of(struct ll_aten *call, const struct ll_torch_tensor *tensor);

/* What a tensor holds, seen in this shape (NULL: its own). A view is recorded when it is another than that of
 * what was written. */
struct ll_imported ll_aten_hold(struct ll_aten *call, const struct ll_torch_tensor *tensor,
                                const struct ll_shape *as);

/* From now on the tensor's storage holds this. NULL tensors hold nothing. */
void ll_aten_give(struct ll_aten *call, const struct ll_torch_tensor *tensor, struct ll_imported held);

/* What was already held, seen otherwise. */
struct ll_imported ll_aten_see(struct ll_aten *call, struct ll_imported held, const struct ll_shape *as);

/* Records an op of the call: phase, scope, times, class and order are filled in. As ll_import_record. The
 * times are those of the call's first op; what else a call records takes none. */
const char *ll_aten_do(struct ll_aten *call, const struct ll_import_op *op, struct ll_imported *out);

/* The same; the call's first result is what the op gives. */
const char *ll_aten_do_to(struct ll_aten *call, const struct ll_import_op *op);

/* A number as a tensor without dimensions. */
struct ll_imported ll_aten_constant(struct ll_aten *call, enum ll_dtype dtype);

/* Argument i as a vector, something that was there when it is no tensor. */
struct ll_imported ll_aten_vector(struct ll_aten *call, uint32_t i, uint64_t length, enum ll_dtype dtype);

/* Copies of one tensor to another type, or of the same. */
const char *ll_aten_cast(struct ll_aten *call, struct ll_imported from, enum ll_dtype dtype,
                         struct ll_imported *to);

/* Forgets what the storages hold; frees them. */
void ll_storages_release(struct ll_storages *storages);

#endif
