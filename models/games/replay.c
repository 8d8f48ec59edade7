/* SPDX-License-Identifier: Apache-2.0 */
/* Moments are numbered as they come; number n lies at n % capacity. With each goes how many frames of the
 * same game are right before it, up to three: all that is to be known about borders between games. */
#define _GNU_SOURCE
#include "models/games/replay.h"

#include "tracer/base/num.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct kept {
    struct ll_moment moment;
    uint32_t earlier; /* frames of its game right before it that are seen with it */
};

struct ll_replay {
    uint64_t capacity, frame_bytes;
    uint64_t added; /* moments so far, pushed out ones too */
    uint8_t *frames;
    struct kept *kept;
};

enum { LEAST_CAPACITY = 2 * LL_SEEN_FRAMES, EARLIER = LL_SEEN_FRAMES - 1 };

/* Not promised in advance: a long run may need it all, a short one does not. */
static void *reserve(uint64_t bytes)
{
    void *memory = MAP_FAILED;
    if (ll_fits(bytes))
        memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct ll_replay *ll_replay_new(uint64_t capacity, uint64_t frame_bytes)
{
    assert(capacity >= LEAST_CAPACITY && frame_bytes > 0);
    struct ll_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return NULL;
    replay->capacity = capacity;
    replay->frame_bytes = frame_bytes;
    replay->frames = reserve(ll_mul(capacity, frame_bytes));
    replay->kept = reserve(ll_mul(capacity, sizeof *replay->kept));
    if (replay->frames && replay->kept)
        return replay;
    ll_replay_free(replay);
    return NULL;
}

void ll_replay_free(struct ll_replay *replay)
{
    if (!replay)
        return;
    if (replay->frames)
        munmap(replay->frames, replay->capacity * replay->frame_bytes);
    if (replay->kept)
        munmap(replay->kept, replay->capacity * sizeof *replay->kept);
    free(replay);
}

static struct kept *kept_at(const struct ll_replay *replay, uint64_t number)
{
    return &replay->kept[number % replay->capacity];
}

static uint8_t *frame_at(const struct ll_replay *replay, uint64_t number)
{
    return replay->frames + number % replay->capacity * replay->frame_bytes;
}

/* How many of its game's frames are seen with the moment that is to come. */
static uint32_t count_earlier(const struct ll_replay *replay)
{
    if (replay->added == 0)
        return 0;
    const struct kept *before = kept_at(replay, replay->added - 1);
    if (before->moment.last)
        return 0;
    return before->earlier < EARLIER ? before->earlier + 1 : EARLIER;
}

void ll_replay_add(struct ll_replay *replay, const uint8_t *frame, struct ll_moment moment)
{
    *kept_at(replay, replay->added) = (struct kept){moment, count_earlier(replay)};
    memcpy(frame_at(replay, replay->added), frame, replay->frame_bytes);
    replay->added++;
}

/* The number of the oldest memory: the moments right before it are still there. */
static uint64_t oldest(const struct ll_replay *replay)
{
    return replay->added <= replay->capacity ? 0 : replay->added - replay->capacity + EARLIER;
}

uint64_t ll_replay_count(const struct ll_replay *replay)
{
    return replay->added == 0 ? 0 : replay->added - 1 - oldest(replay);
}

static struct ll_sight sight_of(const struct ll_replay *replay, uint64_t number)
{
    struct ll_sight sight = {{NULL}};
    for (uint32_t i = 0; i <= kept_at(replay, number)->earlier; i++)
        sight.frames[EARLIER - i] = frame_at(replay, number - i);
    return sight;
}

void ll_replay_get(const struct ll_replay *replay, uint64_t i, struct ll_experience *memory)
{
    assert(i < ll_replay_count(replay));
    uint64_t number = oldest(replay) + i;
    *memory =
        (struct ll_experience){.before = sight_of(replay, number), .moment = kept_at(replay, number)->moment};
    if (!memory->moment.last)
        memory->after = sight_of(replay, number + 1);
}

void ll_sight_pixels(const struct ll_sight *sight, uint64_t frame_bytes, float *pixels)
{
    for (uint32_t i = 0; i < LL_SEEN_FRAMES; i++) {
        const uint8_t *frame = sight->frames[i];
        for (uint64_t pixel = 0; pixel < frame_bytes; pixel++)
            pixels[pixel * LL_SEEN_FRAMES + i] = frame ? (float)frame[pixel] / 255 : 0;
    }
}
