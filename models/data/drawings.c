/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/drawings.h"

#include "tracer/base/num.h"
#include "tracer/base/random.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { SHAPES, NOISE, COLOURS, HELD_BACK }; /* streams of the seed */
enum { FORMS = 4, CHANNELS = 3, TRIES = 8 };

static uint64_t key_of(const struct ll_drawings *d, uint64_t stream, uint64_t sample)
{
    uint64_t seed = d->part == LL_HELD_BACK ? ll_random_key(d->seed, HELD_BACK) : d->seed;
    return ll_random_key(ll_random_key(seed, stream), sample);
}

/* From a quarter to a half of the canvas' smaller side, anywhere on it. */
static struct ll_shape_box place(const struct ll_drawings *d, uint64_t key)
{
    uint64_t side = ll_min(d->height, d->width), least = ll_max(4, side / 4), size;
    size = least + ll_random_bits(key, 0) % ll_max(1, side / 4);
    size = ll_min(size, side);
    float left = (float)(ll_random_bits(key, 1) % (d->width - size + 1));
    float top = (float)(ll_random_bits(key, 2) % (d->height - size + 1));
    float class = (float)(1 + ll_random_bits(key, 3) % d->classes);
    return (struct ll_shape_box){left, top, left + (float)size, top + (float)size, class};
}

/* By more than a tenth of the smaller one's side. */
static bool overlaps(const struct ll_shape_box *a, const struct ll_shape_box *b)
{
    float room = 0.1f * fminf(a->right - a->left, b->right - b->left);
    return fminf(a->right, b->right) - fmaxf(a->left, b->left) > room &&
           fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top) > room;
}

void ll_drawing_boxes(const struct ll_drawings *d, uint64_t sample, struct ll_shape_box *boxes)
{
    uint64_t key = key_of(d, SHAPES, sample), wanted = 1 + ll_random_bits(key, 0) % d->most, found = 0;
    memset(boxes, 0, d->most * sizeof *boxes);
    for (uint64_t attempt = 1; attempt <= TRIES * wanted && found < wanted; attempt++) {
        struct ll_shape_box box = place(d, ll_random_key(key, attempt));
        bool alone = true;
        for (uint64_t i = 0; i < found; i++)
            alone &= !overlaps(&box, &boxes[i]);
        if (alone)
            boxes[found++] = box;
    }
}

/* Whether a form covers a place in its box, which is from -1 to 1 both ways. */
static bool covers(uint64_t form, float y, float x)
{
    switch (form) {
    case 0:
        return true;
    case 1:
        return x * x + y * y <= 1;
    case 2:
        return fabsf(x) <= (y + 1) / 2;
    default:
        return fabsf(x) <= 0.3f || fabsf(y) <= 0.3f;
    }
}

static float centred(uint64_t bits)
{
    return 2 * ll_random_unit((uint32_t)bits) - 1;
}

/* Colours are those of the seed, so that classes look the same in both parts; none is near the canvas' grey.
 */
static float colour_of(const struct ll_drawings *d, uint64_t class, uint64_t channel)
{
    float value = centred(ll_random_bits(ll_random_key(ll_random_key(d->seed, COLOURS), class), channel));
    return value < 0 ? -0.4f + 0.6f * value : 0.4f + 0.6f * value;
}

static void draw(const struct ll_drawings *d, const struct ll_shape_box *box, float *pixels)
{
    uint64_t number = (uint64_t)box->class - 1;
    float half = (box->right - box->left) / 2;
    for (uint64_t y = (uint64_t)box->top; y < (uint64_t)box->bottom; y++)
        for (uint64_t x = (uint64_t)box->left; x < (uint64_t)box->right; x++) {
            float down = ((float)y + 0.5f - box->top) / half - 1,
                  along = ((float)x + 0.5f - box->left) / half - 1;
            for (uint64_t c = 0; covers(number % FORMS, down, along) && c < CHANNELS; c++) {
                float *pixel = pixels + (y * d->width + x) * CHANNELS + c;
                *pixel = 0.8f * colour_of(d, number, c) + 0.2f * *pixel;
            }
        }
}

void ll_drawing_pixels(const struct ll_drawings *d, uint64_t sample, float *pixels)
{
    struct ll_shape_box boxes[LL_MOST_SHAPES];
    uint64_t key = key_of(d, NOISE, sample);
    for (uint64_t i = 0; i < d->height * d->width * CHANNELS; i++)
        pixels[i] = 0.25f * centred(ll_random_bits(key, i));
    ll_drawing_boxes(d, sample, boxes);
    for (uint64_t i = 0; i < d->most && boxes[i].class > 0; i++)
        draw(d, &boxes[i], pixels);
}
