/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/picture.h"

#include "tracer/base/file.h"

#include <assert.h>
#include <inttypes.h>

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
