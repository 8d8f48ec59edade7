/* SPDX-License-Identifier: Apache-2.0 */
/* Images for networks: IDX files and sets of them, drawn digits, discs and shapes, and pictures to look
 * at. */
#include "models/data/images.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "models/data/part.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum { BYTES = 8, HEAD = 4 };
static const uint64_t most_bytes = UINT64_C(1) << 34;

bool ll_idx_parse(const void *bytes, size_t size, const char *name, struct ll_idx *idx,
                  struct ll_diags *diags)
{
    const uint8_t *at = bytes;
    struct ll_place place = {.file = name};
    if (size < HEAD || at[0] != 0 || at[1] != 0)
        return ll_complain(diags, place, "this is not an IDX file: it does not begin with two zeros");
    if (at[2] != BYTES)
        return ll_complain(diags, place, "elements of type 0x%02x: expected bytes, type 0x08", at[2]);
    if (at[3] < 1 || at[3] > LL_IDX_RANK || size < HEAD + 4u * at[3])
        return ll_complain(diags, place, "%u dimensions: expected from 1 to %d, four bytes each", at[3],
                           LL_IDX_RANK);
    *idx = (struct ll_idx){.rank = at[3], .bytes = at + HEAD + 4u * at[3]};
    uint64_t elements = 1;
    for (unsigned i = 0; i < idx->rank; i++) {
        const uint8_t *d = at + HEAD + 4 * i;
        idx->dim[i] = (uint64_t)d[0] << 24 | (uint64_t)d[1] << 16 | (uint64_t)d[2] << 8 | d[3];
        elements = ll_mul(elements, idx->dim[i]);
    }
    uint64_t left = size - HEAD - 4u * idx->rank;
    if (elements != left)
        return ll_complain(diags, place, "%" PRIu64 " bytes of elements: its dimensions ask for %" PRIu64,
                           left, elements);
    return true;
}

bool ll_idx_load(const char *folder, const char *const *names, struct ll_arena *arena, struct ll_idx *idx,
                 struct ll_diags *diags)
{
    const char *first = names[0];
    for (; *names; names++) {
        struct ll_contents contents;
        const char *path = ll_format(arena, "%s/%s", folder, *names);
        enum ll_status status = path ? ll_read_whole(path, most_bytes, arena, &contents) : LL_NO_MEMORY;
        if (status == LL_OK)
            return ll_idx_parse(contents.bytes, contents.length, path, idx, diags);
        if (status != LL_NO_FILE)
            return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    }
    return ll_complain(diags, (struct ll_place){.file = folder}, "there is no %s in this folder", first);
}

bool ll_image_set_join(struct ll_image_set *set, const struct ll_idx *images, const struct ll_idx *labels,
                       const char *name, struct ll_diags *diags)
{
    struct ll_place place = {.file = name};
    bool flat = images->rank == 3;
    *set = (struct ll_image_set){name,
                                 images->bytes,
                                 labels->bytes,
                                 images->dim[0],
                                 images->dim[1],
                                 images->dim[2],
                                 flat ? 1 : images->dim[3]};
    if (images->rank < 3)
        return ll_complain(diags, place, "images of %u dimensions; expected 3 (images, height, width) or 4",
                           images->rank);
    if (set->height == 0 || set->width == 0 || set->channels == 0)
        return ll_complain(diags, place, "images without pixels");
    if (set->count < LL_ONE_HELD_BACK_OF)
        return ll_complain(diags, place, "%" PRIu64 " images; expected at least %d, so that one is held back",
                           set->count, LL_ONE_HELD_BACK_OF);
    if (labels->rank != 1 || labels->dim[0] != set->count)
        return ll_complain(diags, place,
                           "labels of %u dimensions, %" PRIu64 " in the first; expected %" PRIu64
                           " labels, one for each image",
                           labels->rank, labels->dim[0], set->count);
    return true;
}

bool ll_image_set_read(struct ll_image_set *set, const char *folder, struct ll_arena *arena,
                       struct ll_diags *diags)
{
    static const char *const image_names[] = {"images.idx", "train-images-idx3-ubyte",
                                              "train-images.idx3-ubyte", NULL};
    static const char *const label_names[] = {"labels.idx", "train-labels-idx1-ubyte",
                                              "train-labels.idx1-ubyte", NULL};
    struct ll_idx images, labels;
    bool good = ll_idx_load(folder, image_names, arena, &images, diags);
    good &= ll_idx_load(folder, label_names, arena, &labels, diags);
    return good && ll_image_set_join(set, &images, &labels, folder, diags);
}

static bool check_labels(const struct ll_image_set *set, uint64_t classes, struct ll_diags *diags)
{
    for (uint64_t i = 0; i < set->count; i++)
        if (set->labels[i] >= classes)
            return ll_complain(diags, (struct ll_place){.file = set->name},
                               "image %" PRIu64 ", counted from 0, is of class %u; expected 0 to %" PRIu64, i,
                               (unsigned)set->labels[i], classes - 1);
    return true;
}

bool ll_image_set_suits(const struct ll_image_set *set, const struct ll_image_need *need,
                        struct ll_diags *diags)
{
    struct ll_place place = {.file = set->name};
    bool good = check_labels(set, need->classes, diags);
    if (set->height < need->height || set->width < need->width)
        good = ll_complain(diags, place,
                           "images of %" PRIu64 " x %" PRIu64 " pixels; expected %" PRIu64 " x %" PRIu64
                           " or larger, which are cropped",
                           set->height, set->width, need->height, need->width);
    if (set->channels != 1 && set->channels != need->channels)
        good = ll_complain(diags, place, "images of %" PRIu64 " channels; expected %" PRIu64 ", or 1: grey",
                           set->channels, need->channels);
    return good;
}

/* The first pixel of an image, whose number is below the count. */
static const uint8_t *image_set_at(const struct ll_image_set *set, uint64_t image)
{
    return set->pixels + image * set->height * set->width * set->channels;
}

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
    assert(size > 0);
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

static const float ground = -0.8f;

/* How much of a pixel lies inside an edge that is so far away. */
static float covered(float distance)
{
    return fminf(fmaxf(distance + 0.5f, 0), 1);
}

void ll_disc_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels)
{
    assert(size > 0);
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
    assert(d->most > 0 && d->most <= LL_MOST_SHAPES && d->classes > 0);
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
    assert(d->height > 0 && d->width > 0);
    struct ll_shape_box boxes[LL_MOST_SHAPES];
    uint64_t key = key_of(d, NOISE, sample);
    for (uint64_t i = 0; i < d->height * d->width * CHANNELS; i++)
        pixels[i] = 0.25f * centred(ll_random_bits(key, i));
    ll_drawing_boxes(d, sample, boxes);
    for (uint64_t i = 0; i < d->most && boxes[i].class > 0; i++)
        draw(d, &boxes[i], pixels);
}

enum { MARGIN = 2 };

/* Grey of a pixel of the whole grid; margins are half grey. */
static char grey_at(const float *pictures, uint64_t size, uint64_t columns, uint64_t x, uint64_t y)
{
    uint64_t cell = size + MARGIN, column = x / cell, row = y / cell;
    if (x % cell >= size || y % cell >= size)
        return 127;
    float value = pictures[((row * columns + column) * size + y % cell) * size + x % cell];
    return (char)(uint8_t)(value >= 1 ? 255 : value > 0 ? 255 * value : 0); /* 0 where it is no number */
}

enum ll_status ll_picture_write_grid(const char *path, const float *pictures, uint64_t size, uint64_t columns,
                                     uint64_t rows)
{
    assert(size > 0 && columns > 0 && rows > 0);
    assert(size > 0 && columns > 0 && rows > 0);
    uint64_t width = columns * (size + MARGIN) - MARGIN, height = rows * (size + MARGIN) - MARGIN;
    struct ll_str file = {0};
    ll_str_addf(&file, "P5\n%" PRIu64 " %" PRIu64 "\n255\n", width, height);
    for (uint64_t i = 0; i < width * height; i++) {
        char grey = grey_at(pictures, size, columns, i % width, i / width);
        ll_str_add_bytes(&file, &grey, 1);
    }
    enum ll_status status = ll_write_whole(path, &file);
    ll_str_release(&file);
    return status;
}

enum { IMAGES_LABELS, PATTERNS, IMAGES_NOISE, TAKEN, CROPS, IMAGES_HELD_BACK }; /* streams of the seed */
enum { CELLS = 8 }; /* a pattern is CELLS x CELLS patches of one colour */

/* The key of a stream of this part. */
static uint64_t image_key_of(const struct ll_images *images, uint64_t stream)
{
    uint64_t seed =
        images->part == LL_HELD_BACK ? ll_random_key(images->seed, IMAGES_HELD_BACK) : images->seed;
    return ll_random_key(seed, stream);
}

static uint64_t chosen(const struct ll_images *images, uint64_t sample)
{
    return ll_data_part_choose(images->part, images->taken->count, image_key_of(images, TAKEN), sample);
}

static int32_t label_of(const struct ll_images *images, uint64_t sample)
{
    if (images->taken)
        return images->taken->labels[chosen(images, sample)];
    return (int32_t)(ll_random_bits(image_key_of(images, IMAGES_LABELS), sample) % images->classes);
}

void ll_image_labels(const struct ll_images *images, uint64_t first, uint64_t count, int32_t *labels)
{
    assert(images->classes > 0 && images->part < LL_PART_COUNT);
    for (uint64_t i = 0; i < count; i++)
        labels[i] = label_of(images, first + i);
}

/* Half pattern, half noise. */
static void draw_image(const struct ll_images *images, uint64_t sample, float *pixel)
{
    uint64_t class_key =
        ll_random_key(ll_random_key(images->seed, PATTERNS), (uint64_t)label_of(images, sample));
    uint64_t noise_key = ll_random_key(image_key_of(images, IMAGES_NOISE), sample), drawn = 0;
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
    const uint8_t *image = image_set_at(set, chosen(images, sample));
    uint64_t key = ll_random_key(image_key_of(images, CROPS), sample);
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
    assert(images->height > 0 && images->width > 0 && images->channels > 0);
    for (uint64_t i = 0; i < count; i++)
        (images->taken ? show : draw_image)(images, first + i,
                                            pixels + i * images->height * images->width * images->channels);
}
