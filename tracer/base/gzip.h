/* SPDX-License-Identifier: Apache-2.0 */
/* gzip (RFC 1952), both ways. Same bytes, same result. */
#ifndef LL_BASE_GZIP_H
#define LL_BASE_GZIP_H

#include "tracer/base/file.h"

/* Whether the bytes begin as gzip's do; no format read here begins so. */
bool ll_is_gzipped(const char *bytes, size_t length);

/* Unpacks all members of a gzip file into the arena, a NUL behind them; zeros behind the last member are
 * padding. The bytes are counted before any memory is taken for them: LL_GZIP_TOO_LONG where there are more
 * than most_bytes, or more than such a length of compressed text can honestly hold. LL_GZIP_DAMAGED where
 * they are cut off, altered or followed by something else, LL_NO_MEMORY; *text is then untouched. */
enum ll_status ll_gunzip(const char *bytes, size_t length, uint64_t most_bytes, struct ll_arena *arena,
                         struct ll_contents *text);

/* Appends the packed bytes to out. False when memory ran out. */
bool ll_gzip(const void *bytes, size_t length, struct ll_str *out);

#endif
