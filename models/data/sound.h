/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds from files: RIFF WAVE (Microsoft and IBM, 1991) and NIST SPHERE (as TIMIT comes in), one channel of
 * uncompressed 16-bit samples. What is read was written by anybody. A reader stops at the first mistake,
 * since what follows it cannot be told, and is one thread's. */
#ifndef LL_DATA_SOUND_H
#define LL_DATA_SOUND_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_sound {
    uint64_t rate_Hz; /* from LL_LEAST_RATE_HZ to LL_MOST_RATE_HZ of cepstra.h */
    uint64_t count;
    const float *samples; /* from -1 to 1 */
};

/* The samples of a file's bytes, copied into the arena; `name` is for complaints. False after a complaint:
 * another format, a header that promises more bytes than there are, compressed samples, more than one
 * channel, other than 16 bits, a rate out of bounds, no memory. The sound is then as it was. */
bool ll_sound_parse(const void *bytes, size_t size, const char *name, struct ll_arena *arena,
                    struct ll_sound *sound, struct ll_diags *diags);

/* The same of a file of at most 1 GiB; one that cannot be read is a complaint, too. */
bool ll_sound_load(const char *path, struct ll_arena *arena, struct ll_sound *sound, struct ll_diags *diags);

#endif
