/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files, as MNIST comes in (LeCun et al., 1998): 0 0 type rank, the dimensions as big-endian 32 bits,
 * then the elements, the last dimension packed. Only bytes (type 8) are read. What is read was written by
 * anybody. A reader stops at the first mistake, and is one thread's. */
#ifndef LL_MODELS_DATA_IMAGES_H
#define LL_MODELS_DATA_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/data/part.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

enum { LL_IDX_RANK = 4 };

struct ll_idx {
    unsigned rank; /* from 1 to 4 */
    uint64_t dim[LL_IDX_RANK];
    const uint8_t *bytes; /* the elements, as many as the dimensions say */
};

/* Takes a file's bytes, which the result points into, apart; `name` is for complaints. False after a
 * complaint: no IDX file, other elements than bytes, more than four dimensions, not as many elements as
 * these ask for. */
bool ll_idx_parse(const void *bytes, size_t size, const char *name, struct ll_idx *idx,
                  struct ll_diags *diags);

/* Reads the first of these files that is there (a NULL ends the list, of one at least) of a folder into the
 * arena; at most 16 GiB. False after a complaint, also where none is there or the first one cannot be read.
 */
bool ll_idx_load(const char *folder, const char *const *names, struct ll_arena *arena, struct ll_idx *idx,
                 struct ll_diags *diags);

/* Labelled images that somebody took, from IDX files (above), in two parts (part.h). A set is made by one
 * thread; then any may read it. */

struct ll_image_set {
    const char *name;               /* of the folder, for complaints; the caller's */
    const uint8_t *pixels, *labels; /* [count, height, width, channels], 0 to 255; [count] */
    uint64_t count, height, width, channels;
};

/* From images.idx and labels.idx of a folder, or, where these are not, from the files of MNIST's training
 * set. What the set points to lives in the arena, but for the folder's name. False after complaints about
 * what is missing, is no IDX file, or does not belong together. */
bool ll_image_set_read(struct ll_image_set *set, const char *folder, struct ll_arena *arena,
                       struct ll_diags *diags);

/* Images (images x height x width, behind it perhaps channels) and their labels, which stay the caller's. At
 * least sixteen of them, none without pixels. False after complaints. */
bool ll_image_set_join(struct ll_image_set *set, const struct ll_idx *images, const struct ll_idx *labels,
                       const char *name, struct ll_diags *diags);

/* What a network asks of images: that they be as large or larger, grey or of as many channels, and labelled
 * from 0 to classes - 1. False after complaints. */
struct ll_image_need {
    uint64_t height, width, channels, classes; /* in pixels */
};
bool ll_image_set_suits(const struct ll_image_set *set, const struct ll_image_need *need,
                        struct ll_diags *diags);

/* Handwritten digits that nobody wrote: strokes with a shaky hand, drawn on the fly. Digit i of a seed is
 * always the same one. Thread-safe. */

/* Which digit number `sample` is, from 0 to 9. */
int32_t ll_digit_label(uint64_t seed, uint64_t sample);

/* Writes its picture: pixels[size, size], from 0 (paper) to 1 (ink). */
void ll_digit_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels);

/* Pictures for those who learn to draw: a disc of one colour on a dark ground, its place, size and colour
 * drawn anew for each. Picture i of a seed is always the same one. Thread-safe. */

enum { LL_DISC_CHANNELS = 3 };

/* Writes picture number `sample`: pixels[size, size, LL_DISC_CHANNELS], from -1 to 1. */
void ll_disc_draw(uint64_t seed, uint64_t sample, uint64_t size, float *pixels);

/* Drawings for detectors, sample after sample without end: shapes of several classes on a noisy canvas, each
 * with the box around it. Sample i of a seed is always the same. Thread-safe.
 *
 * Class 1 is a square, 2 a disc, 3 a triangle, 4 a cross; the next four are the same in another colour, and
 * so on. Shapes hardly overlap. */

enum { LL_MOST_SHAPES = 16 };

struct ll_drawings {
    uint64_t height, width, classes, seed; /* in pixels; at least one class */
    uint64_t most;                         /* shapes of one drawing, from 1 to LL_MOST_SHAPES */
    enum ll_data_part part;
};

/* Around a shape, in pixels; right and bottom are the first ones outside. Class 0: there is none. */
struct ll_shape_box {
    float left, top, right, bottom, class;
};

/* Fills boxes[most] of a drawing; those that it has come first, and there is one at least. */
void ll_drawing_boxes(const struct ll_drawings *drawings, uint64_t sample, struct ll_shape_box *boxes);

/* Writes the pixels of a drawing, from -1 to 1: pixels[height, width, 3]. */
void ll_drawing_pixels(const struct ll_drawings *drawings, uint64_t sample, float *pixels);

/* Grey pictures as PGM files, which every viewer knows. */

/* Small pictures of one size in a grid of columns and rows, at least one each and of a pixel, with two grey
 * pixels between: pictures[rows, columns, size, size], from 0 (dark) to 1 (light); what lies outside is cut
 * off, and what is no number is dark. Writes the file anew and fails as ll_write_whole does. */
enum ll_status ll_picture_write_grid(const char *path, const float *pictures, uint64_t size, uint64_t columns,
                                     uint64_t rows);

/* Labelled images for classifiers, sample after sample without end. Sample i of a seed and a part is always
 * the same. Functions are pure, thread-safe, and do not fail.
 *
 * Images that nobody took: every class has a coarse pattern of its own, every image is its class's pattern
 * under noise. So a network can learn them, and no data set has to be there.
 *
 * Images that somebody took are drawn from a set. Larger ones are cropped: anywhere when they are learned,
 * in the middle when they are held back; grey ones are as grey in all channels. The set suits the images
 * (ll_image_set_suits) and outlives them. */

struct ll_images {
    uint64_t height, width, channels, classes, seed; /* in pixels; all but the seed at least 1 */
    enum ll_data_part part;
    /* Photographs of this size and number of classes; NULL: images are generated. */
    const struct ll_image_set *taken;
};

/* Writes the class of samples first..first + count - 1, each from 0 to classes - 1: labels[count]. */
void ll_image_labels(const struct ll_images *images, uint64_t first, uint64_t count, int32_t *labels);

/* Writes their pixels, from -1 to 1: pixels[count, height, width, channels]. */
void ll_image_pixels(const struct ll_images *images, uint64_t first, uint64_t count, float *pixels);

#endif
