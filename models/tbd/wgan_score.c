/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/wgan_score.h"

#include "tracer/base/map.h"
#include "tracer/base/random.h"

#include <math.h>
#include <stdlib.h>

enum { DIRECTIONS = 64 };

/* Element i of a random direction, before it has length one: near enough to normal, the sum of four uniform
 * numbers. */
static double component(uint64_t key, uint64_t i)
{
    double sum = -2;
    for (uint64_t part = 0; part < 4; part++)
        sum += ll_random_fine_unit(ll_random_bits(key, 4 * i + part));
    return sum;
}

static void draw_direction(uint64_t key, double *direction, uint64_t length)
{
    double squares = 0;
    for (uint64_t i = 0; i < length; i++) {
        direction[i] = component(key, i);
        squares += direction[i] * direction[i];
    }
    for (uint64_t i = 0; i < length; i++)
        direction[i] /= sqrt(squares);
}

/* Every row along the direction, sorted. */
static void project(const float *rows, uint64_t count, const double *direction, uint64_t length,
                    double *along)
{
    for (uint64_t row = 0; row < count; row++) {
        along[row] = 0;
        for (uint64_t i = 0; i < length; i++)
            along[row] += direction[i] * (double)rows[row * length + i];
    }
    ll_sort_numbers(along, count);
}

double ll_sliced_distance(const float *a, const float *b, uint64_t count, uint64_t length)
{
    double *scratch = malloc((length + 2 * count) * sizeof *scratch), sum = 0;
    if (!scratch)
        return -1;
    double *along_a = scratch + length, *along_b = along_a + count;
    for (uint64_t i = 0; i < DIRECTIONS; i++) {
        draw_direction(ll_random_key(0, i), scratch, length);
        project(a, count, scratch, length, along_a);
        project(b, count, scratch, length, along_b);
        for (uint64_t row = 0; row < count; row++)
            sum += fabs(along_a[row] - along_b[row]);
    }
    free(scratch);
    return sum / (double)(count * DIRECTIONS);
}
