/* SPDX-License-Identifier: Apache-2.0 */
/* A measured row being taken apart: its dims by name, and the parts of work that come out, where it is one of
 * work. Private to sim/validate.
 *
 * Trouble sticks: the first thing found wrong stays, and what is read after it is harmless.
 * Counts are algorithmic, as in tracer/op_table.def: what a library does beyond them is the machine
 * model's business. */
#ifndef LL_SIM_VALIDATE_ROW_H
#define LL_SIM_VALIDATE_ROW_H

#include "sim/validate/measured.h"

#include <stdbool.h>

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

/* Whether the row says key=yes rather than key=no, which it says, too, by saying nothing of it. */
bool ll_row_either(struct ll_row_works *r, const char *key, const char *no, const char *yes);

/* Why the row cannot be scored, in static storage, unless something was found wrong before. */
void ll_row_refuse(struct ll_row_works *r, const char *trouble);

/* A dimension of 1 to 2^LL_DIM_BITS, so that a sum of some fits; with `_or`, otherwise when the row does not
 * say. */
uint64_t ll_row_dim(struct ll_row_works *r, const char *key);
uint64_t ll_row_dim_or(struct ll_row_works *r, const char *key, uint64_t otherwise);

/* What stands around an image: 0 too. */
uint64_t ll_row_padding(struct ll_row_works *r, const char *key, uint64_t otherwise);

/* On how many devices the row ran, each with the whole model. Refuses a row that says that they have pieces
 * of it (tp, pp, cp), or that names another number of replicas (dp). */
uint64_t ll_row_replicas(struct ll_row_works *r);

/* One more part: the caller fills its work in. Never NULL: without memory it is a scratch part, and
 * r->out->failed is set. */
struct ll_work *ll_row_add(struct ll_row_works *r, enum ll_work_kind kind, enum ll_op_kind op);

/* A matrix product; a batch of them, which takes the library's batched kernels though it be of one. Never
 * NULL either. */
struct ll_work *ll_row_product(struct ll_row_works *r, uint64_t m, uint64_t n, uint64_t k);
struct ll_work *ll_row_products(struct ll_row_works *r, struct ll_gemm gemm);

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

#endif
