/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as text that a page can carry: gzip (RFC 1952), then base64 (RFC 4648). Same bytes, same text. */
#ifndef LL_SIM_EXPLORE_PACK_H
#define LL_SIM_EXPLORE_PACK_H

#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the packed bytes to out. False when memory ran out. */
bool ll_pack(const void *bytes, size_t length, struct ll_str *out);

#endif
