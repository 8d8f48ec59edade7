/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that were put, to be taken again. */
#ifndef LL_TESTS_VIEW_H
#define LL_TESTS_VIEW_H

#include "tracer/format/format.h"

/* Bytes that there are none of may have no address. */
static inline struct ll_view view_of(const struct ll_bytes *bytes)
{
    return (struct ll_view){bytes->data, bytes->size ? bytes->data + bytes->size : bytes->data};
}

#endif
