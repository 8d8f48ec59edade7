/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/digits.h"

#include "tracer/base/num.h"
#include "tracer/base/random.h"

#include <math.h>
#include <stdbool.h>

enum { LABELS, HANDS }; /* streams of the seed */
enum { MOST_POINTS = 24 };

struct point {
    float x, y;
};

/* A stroke: an arc of an ellipse from one angle to another (in turns, 0 to the right, growing downward), or
 * with no width a line from `a` to `b`. The square is one wide, y grows downward. */
struct stroke {
    struct point centre, radius;
    float from, to;
    struct point a, b;
};

/* How people write: which strokes make a digit. */
static const struct {
    int count;
    struct stroke strokes[4];
} shapes[10] = {
    {1, {{{.5f, .5f}, {.24f, .36f}, -.25f, .75f, {0, 0}, {0, 0}}}},
    {2,
     {{{0, 0}, {0, 0}, 0, 0, {.38f, .28f}, {.54f, .14f}},
      {{0, 0}, {0, 0}, 0, 0, {.54f, .14f}, {.54f, .86f}}}},
    {3,
     {{{.5f, .34f}, {.22f, .2f}, .5f, 1.08f, {0, 0}, {0, 0}},
      {{0, 0}, {0, 0}, 0, 0, {.68f, .45f}, {.28f, .84f}},
      {{0, 0}, {0, 0}, 0, 0, {.28f, .84f}, {.74f, .84f}}}},
    {2,
     {{{.48f, .32f}, {.22f, .18f}, .55f, 1.25f, {0, 0}, {0, 0}},
      {{.48f, .67f}, {.25f, .18f}, .75f, 1.45f, {0, 0}, {0, 0}}}},
    {3,
     {{{0, 0}, {0, 0}, 0, 0, {.6f, .14f}, {.24f, .6f}},
      {{0, 0}, {0, 0}, 0, 0, {.24f, .6f}, {.78f, .6f}},
      {{0, 0}, {0, 0}, 0, 0, {.6f, .14f}, {.6f, .86f}}}},
    {3,
     {{{0, 0}, {0, 0}, 0, 0, {.72f, .15f}, {.34f, .15f}},
      {{0, 0}, {0, 0}, 0, 0, {.34f, .15f}, {.32f, .46f}},
      {{.47f, .63f}, {.25f, .22f}, .64f, 1.42f, {0, 0}, {0, 0}}}},
    {2,
     {{{.72f, .6f}, {.42f, .47f}, .52f, .72f, {0, 0}, {0, 0}},
      {{.5f, .66f}, {.21f, .19f}, 0, 1, {0, 0}, {0, 0}}}},
    {2,
     {{{0, 0}, {0, 0}, 0, 0, {.26f, .17f}, {.75f, .17f}},
      {{0, 0}, {0, 0}, 0, 0, {.75f, .17f}, {.42f, .86f}}}},
    {2,
     {{{.5f, .32f}, {.19f, .17f}, -.25f, .75f, {0, 0}, {0, 0}},
      {{.5f, .67f}, {.23f, .18f}, -.25f, .75f, {0, 0}, {0, 0}}}},
    {2,
     {{{.49f, .34f}, {.2f, .19f}, 0, 1, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}, 0, 0, {.69f, .34f}, {.62f, .86f}}}},
};

int32_t ll_digit_label(uint64_t seed, uint64_t sample)
{
    return (int32_t)(ll_random_bits(ll_random_key(seed, LABELS), sample) % 10);
}

/* How one digit is written: size, lean, place, turn, width of the pen. */
struct hand {
    uint64_t key, drawn;
    float wide, high, lean, x, y, pen;
};

/* From -1 to 1. */
static float shake(struct hand *hand)
{
    return 2 * ll_random_unit((uint32_t)ll_random_bits(hand->key, hand->drawn++)) - 1;
}

static struct hand take_hand(uint64_t seed, uint64_t sample)
{
    struct hand hand = {.key = ll_random_key(ll_random_key(seed, HANDS), sample)};
    hand.wide = 0.9f + 0.15f * shake(&hand);
    hand.high = 0.9f + 0.1f * shake(&hand);
    hand.lean = 0.2f * shake(&hand);
    hand.x = 0.04f * shake(&hand);
    hand.y = 0.04f * shake(&hand);
    hand.pen = 0.045f + 0.015f * shake(&hand);
    return hand;
}

/* A point of the shape where this hand puts it. */
static struct point put(const struct hand *hand, struct point p)
{
    float y = (p.y - 0.5f) * hand->high, x = (p.x - 0.5f) * hand->wide - hand->lean * y;
    return (struct point){x + 0.5f + hand->x, y + 0.5f + hand->y};
}

/* The corners of a stroke, how many. */
static int trace(struct hand *hand, const struct stroke *stroke, struct point corners[MOST_POINTS])
{
    const float turn = 6.2831853f;
    bool line = stroke->radius.x == 0;
    int count = line ? 2 : MOST_POINTS;
    float dx = 0.02f * shake(hand), dy = 0.02f * shake(hand);
    for (int i = 0; i < count; i++) {
        float along = (float)i / (float)(count - 1);
        float angle = turn * (stroke->from + (stroke->to - stroke->from) * along);
        struct point p = {stroke->centre.x + stroke->radius.x * cosf(angle),
                          stroke->centre.y + stroke->radius.y * sinf(angle)};
        if (line)
            p = i ? stroke->b : stroke->a;
        corners[i] = put(hand, (struct point){p.x + dx, p.y + dy});
    }
    return count;
}

/* Squared distance of p from the line between a and b. */
static float distance2(struct point p, struct point a, struct point b)
{
    float ux = b.x - a.x, uy = b.y - a.y, length2 = ux * ux + uy * uy;
    float along = length2 > 0 ? ((p.x - a.x) * ux + (p.y - a.y) * uy) / length2 : 0;
    along = along < 0 ? 0 : along > 1 ? 1 : along;
    float dx = p.x - a.x - along * ux, dy = p.y - a.y - along * uy;
    return dx * dx + dy * dy;
}

static void ink(const struct hand *hand, const struct point *corners, int count, uint64_t size, float *pixels)
{
    const float edge = 1 / (float)size; /* ink fades over a pixel */
    for (uint64_t i = 0; i < size * size; i++) {
        struct point p = {((float)(i % size) + 0.5f) * edge, ((float)(i / size) + 0.5f) * edge};
        float least = 4;
        for (int k = 0; k + 1 < count; k++)
            least = fminf(least, distance2(p, corners[k], corners[k + 1]));
        float dark = 0.5f + (hand->pen - sqrtf(least)) / edge;
        pixels[i] = fmaxf(pixels[i], dark < 0 ? 0 : dark > 1 ? 1 : dark);
    }
}

void ll_digit_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels)
{
    struct hand hand = take_hand(seed, sample);
    struct point corners[MOST_POINTS];
    int32_t label = ll_digit_label(seed, sample);
    for (uint64_t i = 0; i < size * size; i++)
        pixels[i] = 0;
    for (int k = 0; k < shapes[label].count; k++) {
        int count = trace(&hand, &shapes[label].strokes[k], corners);
        ink(&hand, corners, count, size, pixels);
    }
}
