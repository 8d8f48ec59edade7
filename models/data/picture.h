/* SPDX-License-Identifier: Apache-2.0 */
/* Grey pictures as PGM files, which every viewer knows. */
#ifndef LL_DATA_PICTURE_H
#define LL_DATA_PICTURE_H

#include "tracer/base/status.h"

#include <stdint.h>

/* Small pictures of one size in a grid, each size x size numbers from 0 (dark) to 1 (light); what lies
 * outside is cut off. Writes the file anew; as ll_write_whole. */
enum ll_status ll_picture_write_grid(const char *path, const float *pictures, uint64_t size, uint64_t columns,
                                     uint64_t rows);

#endif
