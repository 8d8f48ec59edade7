/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files, as MNIST comes in (LeCun et al., 1998): 0 0 type rank, the dimensions as big-endian 32 bits,
 * then the elements, the last dimension packed. Only bytes (type 8) are read. What is read was written by
 * anybody. A reader stops at the first mistake, and is one thread's. */
#ifndef LL_DATA_IDX_H
#define LL_DATA_IDX_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_IDX_RANK = 4 };

struct ll_idx {
    unsigned rank; /* from 1 to 4 */
    uint64_t dim[LL_IDX_RANK];
    const uint8_t *bytes; /* the elements, as many as the dimensions say */
};

/* Takes a file's bytes, which the result points into, apart; `name` is for complaints. False after a
 * complaint: no IDX file, other elements than bytes, more than four dimensions, not as many elements as
 * these ask for. */
bool ll_idx_parse(const void *bytes, size_t size, const char *name, struct ll_idx *idx,
                  struct ll_diags *diags);

/* Reads the first of these files that is there (a NULL ends the list, of one at least) of a folder into the
 * arena; at most 16 GiB. False after a complaint, also where none is there or the first one cannot be read.
 */
bool ll_idx_load(const char *folder, const char *const *names, struct ll_arena *arena, struct ll_idx *idx,
                 struct ll_diags *diags);

#endif
