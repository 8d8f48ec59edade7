/* SPDX-License-Identifier: Apache-2.0 */
/* How alike profiles are, as Fathom measures it (Adolf et al., 2016, section V.B): a profile is a vector, two
 * of them are as far apart as 1 - A.B / (|A| |B|), and clusters grow by merging the two nearest and putting
 * their centroid in their place. */
#ifndef LL_SIM_STUDY_SIMILARITY_H
#define LL_SIM_STUDY_SIMILARITY_H

#include "sim/report/figure/figure.h"

#include <stddef.h>

/* A.B / (|A| |B|) of vectors of `size` numbers; 0 when either is all zero. Pure. */
double ll_cosine(const double *a, const double *b, size_t size);

enum { LL_MOST_PROFILES = 32, LL_MOST_PROFILE_SIZE = 512 };

/* Clusters `count` profiles of `size` numbers each, one after the other in `profiles`; 2 to LL_MOST_PROFILES
 * and 1 to LL_MOST_PROFILE_SIZE. A centroid is the mean of all profiles of its cluster. Fills merges[count -
 * 1] as struct ll_tree wants them: merge i makes cluster count + i. Of equal distances the first pair is
 * taken. */
void ll_cluster(const double *profiles, size_t count, size_t size, struct ll_merge *merges);

/* Which profiles are in cluster `node` (below count: a profile itself), as bits. Pure. */
unsigned long ll_members(const struct ll_merge *merges, size_t count, size_t node);

#endif
