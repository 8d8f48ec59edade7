/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): finds every error of up to 32 bits in a row. Pure. */
#ifndef LL_TRACER_CRC_H
#define LL_TRACER_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Of the empty text: 0. */
uint32_t ll_crc32c(const void *bytes, size_t size);

#endif
