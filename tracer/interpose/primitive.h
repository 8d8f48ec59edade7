/* SPDX-License-Identifier: Apache-2.0 */
/* How the log describes a primitive of oneDNN, in its library's own numbers; the reader knows their meaning.
 *
 *   header | major version | kind | propagation | algorithm | parameter | post-operations |
 *   whether one of them adds to dst | n | strides[n] | dilations[n] | paddings before[n] | behind[n] |
 *   kernel[n], of n spatial dimensions |
 *   m | m times: argument | data type | bytes | offset | rank | dims[rank]
 *
 * A part of a larger memory begins so many bytes behind the address that executions tell, and its bytes reach
 * over what lies between its rows.
 *
 * A record LL_RING_EXECUTE then holds the place of the description in the log, in words, and pairs of
 * argument and address. */
#ifndef LL_INTERPOSE_PRIMITIVE_H
#define LL_INTERPOSE_PRIMITIVE_H

enum {
    LL_PRIMITIVE_VERSION = 1,
    LL_PRIMITIVE_KIND,
    LL_PRIMITIVE_PROPAGATION,
    LL_PRIMITIVE_ALGORITHM,
    LL_PRIMITIVE_PARAMETER,
    LL_PRIMITIVE_POST_OPS,
    LL_PRIMITIVE_ADDS,
    LL_PRIMITIVE_SPATIAL,
    LL_PRIMITIVE_WORDS
};

/* Of each argument. */
enum {
    LL_PRIMITIVE_ARGUMENT,
    LL_PRIMITIVE_TYPE,
    LL_PRIMITIVE_BYTES,
    LL_PRIMITIVE_OFFSET,
    LL_PRIMITIVE_RANK,
    LL_PRIMITIVE_DIMS
};

enum { LL_PRIMITIVE_LISTS = 5, LL_PRIMITIVE_MOST_SPATIAL = 3, LL_PRIMITIVE_MOST_ARGUMENTS = 40 };

#endif
