/* SPDX-License-Identifier: Apache-2.0 */
/* The two wrappers of oneDNN's primitives, which have no row's form. Types are oneDNN's, in the few words
 * that both its versions share: what is opaque to users of the library is opaque here. */
#ifndef LL_INTERPOSE_ONEDNN_H
#define LL_INTERPOSE_ONEDNN_H

#include "tracer/interpose/preload/preload.h"

struct ll_dnnl_argument {
    int argument;
    const void *memory;
};

LL_EXPORT int dnnl_primitive_execute(const void *primitive, void *stream, int count,
                                     const struct ll_dnnl_argument *arguments);
LL_EXPORT int dnnl_primitive_destroy(void *primitive);

#endif
