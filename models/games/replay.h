/* SPDX-License-Identifier: Apache-2.0 */
/* What a player remembers of its games (Mnih et al., 2015): each frame, the action taken on it, what that
 * scored, and whether it was the last. The newest moments push out the oldest.
 *
 * A player sees the last four frames at once, so a memory for learning is eight frames: those seen before the
 * action and those after it. They overlap, and every frame is kept once, a byte a pixel: a million of
 * 84 x 84 are 7.06 GB. The system gives that memory page by page, as the frames come in.
 *
 * Frames are pointed to, and good until the next moment is added. One thread at a time. */
#ifndef LL_GAMES_REPLAY_H
#define LL_GAMES_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

/* How many frames are seen at once. */
enum { LL_SEEN_FRAMES = 4 };

/* Oldest first; NULL where there is nothing to be seen, before a game's first frame and after its last. */
struct ll_sight {
    const uint8_t *frames[LL_SEEN_FRAMES];
};

struct ll_moment {
    uint32_t action;
    float reward;
    bool last; /* of its game */
};

/* Seen, then done, then seen. */
struct ll_experience {
    struct ll_sight before, after;
    struct ll_moment moment;
};

struct ll_replay;

/* Keeps up to `capacity` moments, at least eight, with frames of so many bytes. NULL when memory ran out. */
struct ll_replay *ll_replay_new(uint64_t capacity, uint64_t frame_bytes);
void ll_replay_free(struct ll_replay *replay);

/* The frame is copied. The moment after a game's last one begins the next game. */
void ll_replay_add(struct ll_replay *replay, const uint8_t *frame, struct ll_moment moment);

/* How many memories are whole, and one of them, 0 being the oldest. Not whole are those whose first frames
 * may have been pushed out, and the newest moment: what came after it is not known yet. */
uint64_t ll_replay_count(const struct ll_replay *replay);
void ll_replay_get(const struct ll_replay *replay, uint64_t i, struct ll_experience *memory);

/* The frames as a network reads them: [pixel][frame], from 0 for black to 1. */
void ll_sight_pixels(const struct ll_sight *sight, uint64_t frame_bytes, float *pixels);

#endif
