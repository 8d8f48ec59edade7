/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking of a GEMM with the least traffic into a memory of limited size.
 *
 * C[m,n] += A[m,k] B[k,n] is cut into blocks. A block of one operand stays in the memory while the other
 * two stream past it, so each operand is moved a whole number of times:
 *
 *       stays        A              B              C
 *       output C     n blocks       m blocks       1
 *       left A       1              m blocks       1 + 2 r (k blocks - 1)
 *       right B      n blocks       1              1 + 2 r (k blocks - 1)
 *
 * Partial sums go out and come back, r times as wide as a result: of int8 or f16 they are kept in four bytes.
 * What has to fit is the block that stays and one streamed line of the two others. All functions are pure. */
#ifndef LL_SIM_COST_BLOCKING_H
#define LL_SIM_COST_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/machine.h"

/* One direction of a convolution: out = (in + padding - span of the kernel) / stride + 1. */
struct ll_window_axis {
    uint64_t in, out, kernel, stride;
    uint64_t dilation; /* how far taps lie apart; 0 as 1: side by side */
};

/* The windows of a convolution overlap: neighbouring output pixels share input pixels. Its image (the
 * input, or the gradient of the input) is therefore smaller than the operand of the GEMM that stands
 * for it, and a block of pixels needs a border, the halo, that its neighbour needs too. */
struct ll_windows {
    bool overlap;          /* false for plain GEMMs: the rest is not looked at */
    enum ll_operand image; /* which operand is made of windows: A, or C for the gradient of the input */
    bool pixels_are_k;     /* output pixels run along k (gradient of the filter), otherwise along m */
    struct ll_window_axis high, wide;
    double expansion; /* elements of the operand over elements of the image, at least 1 */
};

/* What the traffic between two memories is charged by, when it is not every byte alike. All zero: every byte
 * of every operand counts once and needs room. */
struct ll_port_cost {
    bool free[LL_OPERAND_COUNT];     /* not counted: this operand comes from elsewhere */
    bool roomless[LL_OPERAND_COUNT]; /* passes by the memory that is blocked for */
    /* What is done with operands that pass by, further in; 0: it is not looked at. */
    double
        most_sums; /* so many results are summed up at once: no larger blocks of outputs, unless blocks that
                             stay have all of k */
    double rows,
        columns; /* B, A come to blocks of so many: in smaller blocks of the others they come more often,
                             which is counted */
    /* A byte in this direction occupies its own port as long as so many bytes occupy both; 0: has no port. */
    double read, write;
    double budget; /* a price up to this is as good as any other: of such, the fewest bytes are best */
};

struct ll_problem {
    struct ll_gemm dims;              /* batch independent GEMMs */
    double element[LL_OPERAND_COUNT]; /* bytes in memory for each element of the GEMM's operand */
    double sum_width;                 /* bytes of a partial sum over those of a result; below 1 counts as 1 */
    struct ll_windows windows;
    struct ll_port_cost toll;
};

struct ll_tiling {
    double bytes;   /* traffic of all batch GEMMs, of the operands that are counted, and what those that pass
                       by come more often for it */
    double written; /* of these, towards the outer memory: results and partial sums */
    double price;   /* what is least: max(bytes,
                       read bytes * toll.read, written bytes * toll.write) */
    enum ll_operand stays;
    struct ll_gemm block;            /* m, n, k of a block; batch is 1 */
    double passes[LL_OPERAND_COUNT]; /* how often each operand is moved, halo included */
    double more[LL_OPERAND_COUNT];   /* how much more often those come that pass by */
};

/* Bytes of one pass over an operand, all batch GEMMs together. */
double ll_operand_bytes(const struct ll_problem *problem, enum ll_operand operand);

/* How often results cross a boundary that they reach `blocks` times, partial sums on their way out and back
 * included, and of that outwards; in passes of their own width. */
double ll_passes_of_sums(const struct ll_problem *problem, double blocks);
double ll_passes_outwards(const struct ll_problem *problem, double blocks);

/* All operands once. */
double ll_compulsory_bytes(const struct ll_problem *problem);

/* The price in bytes of traffic under a toll, of which `written` goes outwards (struct ll_tiling). */
double ll_port_cost_price(const struct ll_port_cost *toll, double bytes, double written);

/* Whether one of two sums of bytes with their prices is better than the other under a toll's budget. */
bool ll_is_cheaper(const struct ll_port_cost *toll, double price, double bytes, double than_price,
                   double than_bytes);

/* The best of all blockings that fit in capacity_bytes. Always finds one: in a memory too small for
 * anything, each GEMM fetches its own operands. Never below ll_compulsory_bytes, and a larger capacity
 * never gives more bytes; with a toll, never a higher price, or under a budget that it keeps, more bytes. */
struct ll_tiling ll_tile(const struct ll_problem *problem, double capacity_bytes);

/* How much more than the image is moved in blocks of that many neighbouring pixels: whole rows, or a piece
 * of one. At least 1, at most the expansion. */
double ll_halo(const struct ll_windows *windows, uint64_t pixels);

/* "output", "left" or "right operand". */
const char *ll_stays_name(enum ll_operand stays);

#endif
