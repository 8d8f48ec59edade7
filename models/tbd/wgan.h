/* SPDX-License-Identifier: Apache-2.0 */
/* How far two sets of pictures are apart. */
#ifndef LL_MODELS_TBD_WGAN_H
#define LL_MODELS_TBD_WGAN_H

#include <stdint.h>

/* The sliced Wasserstein distance (Bonneel et al., 2015) of two sets of `count` rows of `length` numbers:
 * along a direction the distance of two sets of numbers is the mean difference of those that are in the same
 * place when both are sorted; of this, the mean over fixed random directions of length one. So a shift of all
 * numbers by d is a distance of about 0.8 d. Negative when memory ran out. */
double ll_sliced_distance(const float *a, const float *b, uint64_t count, uint64_t length);

#endif
