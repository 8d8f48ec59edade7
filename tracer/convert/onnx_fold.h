/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the last column of onnx_operators.def: each computes the elements of output 0 of the node at
 * work from those of its inputs, and is true when all are known. A node whose inputs are all constants is at
 * work, and its rule has been asked. Private to tracer/convert/onnx*.c. */
#ifndef LL_TRACER_CONVERT_ONNX_FOLD_H
#define LL_TRACER_CONVERT_ONNX_FOLD_H

#include "tracer/convert/onnx.h"

onnx_fold_rule onnx_fold_SQRT, onnx_fold_NEG, onnx_fold_ABS, onnx_fold_FLOOR, onnx_fold_CEIL, onnx_fold_NOT;
onnx_fold_rule onnx_fold_ADD, onnx_fold_SUB, onnx_fold_MUL, onnx_fold_DIV, onnx_fold_MOD, onnx_fold_POW;
onnx_fold_rule onnx_fold_AND, onnx_fold_OR, onnx_fold_MAX, onnx_fold_MIN;
onnx_fold_rule onnx_fold_EQUAL, onnx_fold_LESS, onnx_fold_LESS_EQUAL, onnx_fold_GREATER,
    onnx_fold_GREATER_EQUAL;
onnx_fold_rule onnx_fold_WHERE, onnx_fold_EXPAND, onnx_fold_SAME, onnx_fold_CAST, onnx_fold_CONCAT,
    onnx_fold_SLICE, onnx_fold_TRANSPOSE, onnx_fold_GATHER, onnx_fold_SUM, onnx_fold_PROD;

#endif
