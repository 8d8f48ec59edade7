/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of bytes as zstd frames, each compressed on its own and carrying zstd's checksum of its content.
 * The only file that knows zstd. A codec keeps the working memory between frames; one thread at a time. */
#ifndef LL_TRACER_FRAME_H
#define LL_TRACER_FRAME_H

#include "tracer/base/file.h"
#include "tracer/base/diag.h"
#include "tracer/column.h"

#include <stdbool.h>

struct ll_codec;

/* NULL when memory ran out. */
struct ll_codec *ll_codec_new(void);
void ll_codec_free(struct ll_codec *codec);

/* Adds the frame to `out`; on trouble (out of memory) out is marked failed. */
void ll_frame_pack(struct ll_codec *codec, const void *content, uint64_t size, struct ll_bytes *out);

/* Unpacks exactly one frame of exactly `size` bytes of content, nothing before, nothing behind: LL_OK,
 * LL_DAMAGED or LL_NO_MEMORY. Never writes past content + size; takes no memory that depends on the input. */
enum ll_status ll_frame_unpack(struct ll_codec *codec, struct ll_view stored, uint8_t *content,
                               uint64_t size);

/* Whether bytes begin as a file that zstd has compressed. */
bool ll_is_packed(const void *stored, uint64_t size);

/* Unpacks such a file, of any number of frames, whose content is at most so many bytes, into the arena.
 * LL_OK, LL_DAMAGED, LL_FILE_TOO_LONG or LL_NO_MEMORY. */
enum ll_status ll_unpack_file(const void *stored, uint64_t size, uint64_t most_bytes, struct ll_arena *arena,
                              struct ll_contents *content);

#endif
