/* SPDX-License-Identifier: Apache-2.0 */
/* What a network is given: its inputs, their open dimensions, and its weights. Private to
 * tracer/convert/onnx*.c. */
#ifndef LL_TRACER_CONVERT_ONNX_INPUTS_H
#define LL_TRACER_CONVERT_ONNX_INPUTS_H

#include "tracer/convert/onnx.h"

struct onnx_summary {
    uint64_t parameters; /* elements of all weights */
    uint64_t copies;     /* of which so many more had names before equal ones became one */
    uint64_t data;       /* inputs that are no weights */
    uint64_t batch;      /* of the first input, 0 when there is none */
};

/* Fills o->values from the file's initializers and inputs. Open dimensions get the sizes that the user gives
 * by name. False after complaints, one for each that lacks a size. */
bool onnx_read_inputs(struct onnx *o, struct onnx_summary *summary);

/* The constants that a graph within brings. False after complaints. */
bool onnx_take_initializers(struct onnx *o, const struct onnx_graph *graph);

#endif
