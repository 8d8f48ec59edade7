/* SPDX-License-Identifier: Apache-2.0 */
/* Figure 3 of Fathom as printed: whole percents, 23 to a row. Only 22 names are printed above them; columns 0
 * to 15 are certain by facts of the workloads (powers in autoenc alone, RMSProp in deepq alone, ...), of 16
 * to 22 it is only certain that they are kinds of data movement, so these are one class. */
#include "sim/study/fathom.h"

#include <string.h>

/* Add Sub Mul Div Pow Softmax MatMul CrossEntropy MaxPoolGrad Sum Conv ByFilter ByInput Normal Adam RMSProp,
 * then Transpose, Tile, Select, Pad, Reshape, Shape and one more. */
const double ll_fathom_published[LL_FATHOM_COUNT][LL_FATHOM_TYPES] = {
    [LL_SEQ2SEQ] = {3, 2, 35, 0, 0, 0, 32, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 20, 0, 1, 0, 0},
    [LL_MEMNET] = {2, 1, 33, 1, 0, 4, 12, 2, 0, 9, 0, 0, 0, 0, 5, 0, 9, 13, 0, 0, 1, 1, 1},
    [LL_SPEECH] = {0, 0, 0, 0, 0, 0, 89, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 3, 0, 0, 0, 0},
    [LL_AUTOENC] = {3, 0, 6, 0, 5, 0, 58, 0, 0, 2, 0, 0, 0, 5, 8, 0, 0, 9, 0, 0, 0, 0, 0},
    [LL_RESIDUAL] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, 34, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_VGG] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 35, 31, 30, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_ALEXNET] = {0, 0, 0, 0, 0, 0, 7, 0, 3, 0, 31, 26, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    [LL_DEEPQ] = {0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 33, 27, 20, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0},
};

static const enum ll_fathom_class class_of_column[LL_FATHOM_TYPES] = {
    LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE, LL_FATHOM_ELEMENTWISE,
    LL_FATHOM_ELEMENTWISE, LL_FATHOM_REDUCTION,   LL_FATHOM_MATMUL,      LL_FATHOM_REDUCTION,
    LL_FATHOM_REDUCTION,   LL_FATHOM_REDUCTION,   LL_FATHOM_CONV,        LL_FATHOM_CONV_FILTER,
    LL_FATHOM_CONV_INPUT,  LL_FATHOM_RANDOM,      LL_FATHOM_OPTIMIZER,   LL_FATHOM_OPTIMIZER,
    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,
    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,    LL_FATHOM_MOVEMENT,
};

void ll_fathom_published_classes(double share[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT])
{
    memset(share, 0, LL_FATHOM_COUNT * sizeof *share);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        double sum = 0;
        for (size_t i = 0; i < LL_FATHOM_TYPES; i++)
            sum += ll_fathom_published[row][i];
        for (size_t i = 0; i < LL_FATHOM_TYPES; i++)
            share[row][class_of_column[i]] += ll_fathom_published[row][i] / sum;
    }
}
