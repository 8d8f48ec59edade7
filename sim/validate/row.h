/* SPDX-License-Identifier: Apache-2.0 */
/* What a measured row asks of a machine: its dims by name, the pieces of work that it consists of, and the
 * helpers with which the rules of measured_ops.def are written. Helpers are private to sim/validate.
 *
 * The first trouble of a row is kept, and what is read after it is harmless. Counts are algorithmic, as in
 * tracer/ir/op_table.def; what a library does beyond them is the machine model's business. */
#ifndef LL_SIM_VALIDATE_ROW_H
#define LL_SIM_VALIDATE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/machine/machine.h"
#include "sim/network/network.h"
#include "tracer/convert/csv/csv.h"
#include "tracer/ir/ops.h"

/* What measured rows (tracer/convert/csv/csv.h) ask of a machine. */

/* What a row asks of a machine: pieces of work, one after the other. */
struct ll_measured_part {
    struct ll_work work;
    enum ll_op_kind kind; /* whose kernels run it */
    uint64_t times;       /* that it comes, at least 1 */
    bool apart; /* no software joins it to the part before it, whose result is not its own operand */
    /* Of a collective. */
    enum ll_collective collective;
    uint64_t devices;                 /* that take part */
    bool integers, by_library, eager; /* as struct ll_exchange has them */
    /* Of them, in one group of the network's innermost level; 0: as many as it joins. */
    uint64_t node_devices;
};

/* Which operands a row's repeated calls find in the caches, from the call before (measured_sources.def). */
enum ll_measured_repeats {
    LL_REPEATS_SAME,
    LL_REPEATS_ACTIVATIONS,
    LL_REPEATS_CHAINED,
    LL_REPEATS_RESIDENT,
    LL_REPEATS_COLD
};

/* The same of a row, by its source. Pure. */
enum ll_measured_repeats ll_measured_repeats_of(const struct ll_measured *row);

/* Starts zeroed, may be used for one row after the other, ends with ll_measured_works_release. */
struct ll_measured_works {
    const char *family; /* it is scored with: "gemm", "conv", ...; static storage */
    struct ll_measured_part *at;
    uint64_t count, capacity;
    uint64_t threads; /* that it runs in, on so many of a machine's cores; 0: on all of them */
    enum ll_measured_repeats repeats;
    bool failed; /* memory ran out: parts are missing */
};

/* NULL when the row became work; otherwise why it cannot be scored, static storage. Where a row's library
 * takes the element type that a core computes best, `machine` tells it; NULL: one with no other than f32. */
const char *ll_measured_works(const struct ll_measured *row, const struct ll_machine *machine,
                              struct ll_measured_works *works);

/* Why a dimension of the row is none of these, each between spaces, or a word behind it is not known, as
 * one that is misspelt, static storage; NULL where all are known. */
const char *ll_measured_stray(const struct ll_measured *row, const char *keys);

/* Frees the list, which is {0} again. */
void ll_measured_works_release(struct ll_measured_works *works);

struct ll_row_works {
    const struct ll_measured *row;
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
    enum ll_op_kind kind;          /* whose kernels run it, where the rule does not know better */
    uint64_t element_flops;        /* of work on single elements */
    uint64_t times;                /* that what is added comes */
    bool apart;                    /* what is added works on nothing that the part before it made */
    uint64_t devices;              /* on which the row ran, at least 1 */
    const char *trouble;           /* NULL: none; static storage */
    struct ll_measured_works *out; /* NULL: no parts are asked for */
};

/* The text behind `key=`, up to the next `;` or the end; NULL when the row has no such dimension. */
const char *ll_row_text(const struct ll_row_works *r, const char *key);

/* Whether the row says key=value. */
bool ll_row_says(const struct ll_row_works *r, const char *key, const char *value);

/* Why the row cannot be scored, in static storage, unless something was found wrong before. */
void ll_row_refuse(struct ll_row_works *r, const char *trouble);

/* A dimension of 1 to 2^LL_DIM_BITS, so that a sum of some fits; with `_or`, otherwise when the row does not
 * say. */
uint64_t ll_row_dim(struct ll_row_works *r, const char *key);
uint64_t ll_row_dim_or(struct ll_row_works *r, const char *key, uint64_t otherwise);

/* On how many devices the row ran, each with the whole model. Refuses a row that says that they have pieces
 * of it (tp, pp, cp), or that names another number of replicas (dp). */
uint64_t ll_row_replicas(struct ll_row_works *r);

/* One more part: the caller fills its work in. Never NULL: without memory it is a scratch part, and
 * r->out->failed is set. */
struct ll_work *ll_row_add(struct ll_row_works *r, enum ll_work_kind kind, enum ll_op_kind op);

/* A GEMM; a batch of them, which takes the library's batched kernels though it be of one. Never
 * NULL either. */
struct ll_work *ll_row_gemm(struct ll_row_works *r, uint64_t m, uint64_t n, uint64_t k);
struct ll_work *ll_row_gemms(struct ll_row_works *r, struct ll_gemm gemm);

/* A convolution pass; output extents follow from the rest, its own are not looked at. */
void ll_row_conv(struct ll_row_works *r, struct ll_conv conv, uint64_t pad_h, uint64_t pad_w);

/* `count` elements, each made of `inputs` others. */
struct ll_work *ll_row_vector(struct ll_row_works *r, enum ll_op_kind op, uint64_t count, uint64_t inputs,
                              uint64_t flops_each);

/* Extents of what a window of `kernel` makes of `in`. */
uint64_t ll_row_window(struct ll_row_works *r, uint64_t in, uint64_t kernel, uint64_t stride, uint64_t pad);

/* A step of a whole network (networks.def), forward or backward or both, with an update when the row says
 * mode=train. */
void ll_row_network(struct ll_row_works *r);

/* A call of an inference server's attention, of latent attention over a prompt, and for one new token
 * (measured_served.c). */
void ll_row_attention(struct ll_row_works *r);
void ll_row_latent_context(struct ll_row_works *r);
void ll_row_latent_generation(struct ll_row_works *r);

/* A layer of experts of an inference server, on the device with most rows; its dtype is their format. */
void ll_row_experts(struct ll_row_works *r);

#endif
