/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/images.h"

#include "tracer/base/random.h"

enum { LABELS, PATTERNS, NOISE }; /* streams of the seed */
enum { CELLS = 8 };               /* a pattern is CELLS x CELLS patches of one colour */

static int32_t label_of(const struct ll_images *images, uint64_t sample)
{
    return (int32_t)(ll_random_bits(ll_random_key(images->seed, LABELS), sample) % images->classes);
}

void ll_image_labels(const struct ll_images *images, uint64_t first, uint64_t count, int32_t *labels)
{
    for (uint64_t i = 0; i < count; i++)
        labels[i] = label_of(images, first + i);
}

static float centred(uint64_t bits)
{
    return 2 * ll_random_unit((uint32_t)bits) - 1;
}

/* Half pattern, half noise. */
static void draw(const struct ll_images *images, uint64_t sample, float *pixel)
{
    uint64_t class_key =
        ll_random_key(ll_random_key(images->seed, PATTERNS), (uint64_t)label_of(images, sample));
    uint64_t noise_key = ll_random_key(ll_random_key(images->seed, NOISE), sample), drawn = 0;
    for (uint64_t y = 0; y < images->height; y++)
        for (uint64_t x = 0; x < images->width; x++) {
            uint64_t cell = y * CELLS / images->height * CELLS + x * CELLS / images->width;
            for (uint64_t c = 0; c < images->channels; c++, drawn++)
                *pixel++ = 0.5f * centred(ll_random_bits(class_key, cell * images->channels + c)) +
                           0.5f * centred(ll_random_bits(noise_key, drawn));
        }
}

void ll_image_pixels(const struct ll_images *images, uint64_t first, uint64_t count, float *pixels)
{
    for (uint64_t i = 0; i < count; i++)
        draw(images, first + i, pixels + i * images->height * images->width * images->channels);
}
