/* SPDX-License-Identifier: Apache-2.0 */
/* Grey pictures as PGM files, which every viewer knows. */
#ifndef LL_DATA_PICTURE_H
#define LL_DATA_PICTURE_H

#include "tracer/base/diag.h"

#include <stdint.h>

/* Small pictures of one size in a grid of columns and rows, at least one each and of a pixel, with two grey
 * pixels between: pictures[rows, columns, size, size], from 0 (dark) to 1 (light); what lies outside is cut
 * off, and what is no number is dark. Writes the file anew and fails as ll_write_whole does. */
enum ll_status ll_picture_write_grid(const char *path, const float *pictures, uint64_t size, uint64_t columns,
                                     uint64_t rows);

#endif
