/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: hashes by which results are known again. */
#ifndef LL_SIM_EXPLORE_KEY_H
#define LL_SIM_EXPLORE_KEY_H

#include "sim/explore/space.h"
#include "tracer/base/hash.h"

/* Of the whole content of a file; false when it cannot be read. */
bool ll_hash_file(const char *path, uint64_t *hash);

/* Of the sources of all that results come out of, 16 hex digits (cmake/mark.cmake): the same in every program
 * of these sources. */
extern const char ll_code_mark[];

/* Of everything that results depend on beside the values of a point: code, base machine, workloads (by
 * their own hashes), couplings, definitions, constraints and objectives. False when memory ran out. */
bool ll_base_key(const struct ll_space *space, const uint64_t *workload_hashes, uint64_t *key);

/* That and the values of a point. Pure. */
uint64_t ll_point_key(const struct ll_space *space, uint64_t base_key, uint64_t number);

/* Of what points mean: axes and their values with what parts say, names of workloads, objectives, the kind of
 * search and its seed. Pure. */
uint64_t ll_space_hash(const struct ll_space *space);

#endif
