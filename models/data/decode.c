/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/decode.h"

static uint64_t best_of(const float *logits, uint64_t count)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

uint64_t ll_decode_greedily(const float *logits, uint64_t frames, uint64_t stride, uint64_t classes,
                            int32_t *labels)
{
    uint64_t count = 0, blank = classes - 1, before = blank;
    for (uint64_t t = 0; t < frames; t++) {
        uint64_t best = best_of(logits + t * stride, classes);
        if (best != before && best != blank)
            labels[count++] = (int32_t)best;
        before = best;
    }
    return count;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* row[j]: the distance of the first i of a from the first j of b (Wagner and Fischer, 1974). */
uint64_t ll_edit_distance(const int32_t *a, uint64_t a_count, const int32_t *b, uint64_t b_count,
                          uint64_t *row)
{
    for (uint64_t j = 0; j <= b_count; j++)
        row[j] = j;
    for (uint64_t i = 1; i <= a_count; i++) {
        uint64_t diagonal = row[0];
        row[0] = i;
        for (uint64_t j = 1; j <= b_count; j++) {
            uint64_t above = row[j], replaced = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = least(replaced, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_count];
}
