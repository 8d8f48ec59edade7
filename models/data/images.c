/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/images.h"

#include "tracer/base/random.h"

enum { LABELS, PATTERNS, NOISE, TAKEN, CROPS, HELD_BACK }; /* streams of the seed */
enum { CELLS = 8 }; /* a pattern is CELLS x CELLS patches of one colour */

/* The key of a stream of this part. */
static uint64_t key_of(const struct ll_images *images, uint64_t stream)
{
    uint64_t seed = images->part == LL_HELD_BACK ? ll_random_key(images->seed, HELD_BACK) : images->seed;
    return ll_random_key(seed, stream);
}

static uint64_t chosen(const struct ll_images *images, uint64_t sample)
{
    return ll_data_part_choose(images->part, images->taken->count, key_of(images, TAKEN), sample);
}

static int32_t label_of(const struct ll_images *images, uint64_t sample)
{
    if (images->taken)
        return images->taken->labels[chosen(images, sample)];
    return (int32_t)(ll_random_bits(key_of(images, LABELS), sample) % images->classes);
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
    uint64_t noise_key = ll_random_key(key_of(images, NOISE), sample), drawn = 0;
    for (uint64_t y = 0; y < images->height; y++)
        for (uint64_t x = 0; x < images->width; x++) {
            uint64_t cell = y * CELLS / images->height * CELLS + x * CELLS / images->width;
            for (uint64_t c = 0; c < images->channels; c++, drawn++)
                *pixel++ = 0.5f * centred(ll_random_bits(class_key, cell * images->channels + c)) +
                           0.5f * centred(ll_random_bits(noise_key, drawn));
        }
}

/* Where the part that is shown begins, of the pixels in a dimension. */
static uint64_t crop(const struct ll_images *images, uint64_t bits, uint64_t there, uint64_t shown)
{
    return images->part == LL_HELD_BACK ? (there - shown) / 2 : bits % (there - shown + 1);
}

static void show(const struct ll_images *images, uint64_t sample, float *pixel)
{
    const struct ll_image_set *set = images->taken;
    const uint8_t *image = ll_image_set_at(set, chosen(images, sample));
    uint64_t key = ll_random_key(key_of(images, CROPS), sample);
    uint64_t top = crop(images, ll_random_bits(key, 0), set->height, images->height);
    uint64_t left = crop(images, ll_random_bits(key, 1), set->width, images->width);
    for (uint64_t y = 0; y < images->height; y++)
        for (uint64_t x = 0; x < images->width; x++) {
            const uint8_t *from = image + ((top + y) * set->width + left + x) * set->channels;
            for (uint64_t c = 0; c < images->channels; c++)
                *pixel++ = (float)from[set->channels == 1 ? 0 : c] / 127.5f - 1;
        }
}

void ll_image_pixels(const struct ll_images *images, uint64_t first, uint64_t count, float *pixels)
{
    for (uint64_t i = 0; i < count; i++)
        (images->taken ? show : draw)(images, first + i,
                                      pixels + i * images->height * images->width * images->channels);
}
