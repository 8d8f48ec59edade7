/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/discs.h"

#include "tracer/base/random.h"

#include <math.h>

static const float ground = -0.8f;

/* How much of a pixel lies inside an edge that is so far away. */
static float covered(float distance)
{
    return fminf(fmaxf(distance + 0.5f, 0), 1);
}

void ll_disc_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels)
{
    uint64_t key = ll_random_key(seed, sample);
    float drawn[3 + LL_DISC_CHANNELS];
    for (uint64_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        drawn[i] = ll_random_unit((uint32_t)ll_random_bits(key, i));
    float radius = (0.15f + 0.15f * drawn[0]) * (float)size;
    float x = radius + drawn[1] * ((float)size - 2 * radius),
          y = radius + drawn[2] * ((float)size - 2 * radius);
    for (uint64_t row = 0; row < size; row++)
        for (uint64_t column = 0; column < size; column++) {
            float inside = covered(radius - hypotf((float)column + 0.5f - x, (float)row + 0.5f - y));
            for (uint64_t c = 0; c < LL_DISC_CHANNELS; c++)
                *pixels++ = ground + inside * (drawn[3 + c] - ground);
        }
}
