/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes for which a library's kernels were tuned.
 *
 * Some libraries of products do not work out which of their kernels is fastest: they carry a list of sizes
 * for which that was measured once, and take the kernel of the nearest one, by the plain distance of m, n and
 * k. How many products are done together is not looked at. A list is read from a file (hwconfigs/README.md),
 * lives as long as the machine that names it, and is constant. */
#ifndef LL_SIM_MACHINE_CATALOGUE_H
#define LL_SIM_MACHINE_CATALOGUE_H

#include "tracer/ir/tensor.h"

#include <stdint.h>

/* A piece of a product's output and the step of k in which it is computed; or the size of a product. */
struct ll_tile {
    uint64_t m, n, k;
};

struct ll_catalogue_kernel {
    struct ll_tile tile;
    uint64_t parts; /* into which it cuts k, at least 1 */
    double rate;    /* share of the unit's rate that its instructions have */
};

struct ll_catalogue_size {
    struct ll_tile size;
    uint64_t kernel; /* its index */
};

struct ll_catalogue {
    const char *name;    /* as the machine's file has it */
    enum ll_dtype dtype; /* of the products that it is asked for */
    uint32_t digest;     /* of the file's bytes */
    struct ll_catalogue_kernel *kernels;
    uint64_t kernel_count;
    struct ll_catalogue_size *sizes; /* at least one */
    uint64_t size_count;
    const struct ll_catalogue *next; /* of the same machine */
};

/* The size nearest to a product, the first of equals. Pure; never NULL. */
const struct ll_catalogue_size *ll_catalogue_nearest(const struct ll_catalogue *catalogue,
                                                     const struct ll_tile *product);

#endif
