/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float area(struct ll_box box)
{
    float wide = box.right - box.left, high = box.bottom - box.top;
    return wide > 0 && high > 0 ? wide * high : 0;
}

float ll_box_overlap(struct ll_box a, struct ll_box b)
{
    float common = area((struct ll_box){fmaxf(a.left, b.left), fmaxf(a.top, b.top), fminf(a.right, b.right),
                                        fminf(a.bottom, b.bottom)});
    float either = area(a) + area(b) - common;
    return either > 0 ? common / either : 0;
}

struct ll_box_delta ll_box_delta(struct ll_box anchor, struct ll_box box)
{
    float wide = fmaxf(anchor.right - anchor.left, 1), high = fmaxf(anchor.bottom - anchor.top, 1);
    return (struct ll_box_delta){
        (box.left + box.right - anchor.left - anchor.right) / 2 / wide,
        (box.top + box.bottom - anchor.top - anchor.bottom) / 2 / high,
        logf(fmaxf(box.right - box.left, 1) / wide),
        logf(fmaxf(box.bottom - box.top, 1) / high),
    };
}

struct ll_box ll_box_moved(struct ll_box anchor, struct ll_box_delta delta)
{
    float wide = anchor.right - anchor.left, high = anchor.bottom - anchor.top;
    float x = (anchor.left + anchor.right) / 2 + delta.x * wide;
    float y = (anchor.top + anchor.bottom) / 2 + delta.y * high;
    wide *= expf(fminf(delta.width, 4));
    high *= expf(fminf(delta.height, 4));
    return (struct ll_box){x - wide / 2, y - high / 2, x + wide / 2, y + high / 2};
}

uint64_t ll_anchor_count(const struct ll_anchor_grid *grid)
{
    return grid->height * grid->width * grid->side_count * grid->ratio_count;
}

void ll_anchors_fill(const struct ll_anchor_grid *grid, struct ll_box *boxes)
{
    uint64_t kinds = grid->side_count * grid->ratio_count;
    for (uint64_t i = 0; i < ll_anchor_count(grid); i++) {
        double side = grid->sides[i % kinds / grid->ratio_count];
        double root = sqrt(grid->ratios[i % grid->ratio_count]);
        float half_w = (float)(side / root / 2), half_h = (float)(side * root / 2);
        float x = ((float)(i / kinds % grid->width) + 0.5f) * (float)grid->stride;
        float y = ((float)(i / kinds / grid->width) + 0.5f) * (float)grid->stride;
        boxes[i] = (struct ll_box){x - half_w, y - half_h, x + half_w, y + half_h};
    }
}

void ll_boxes_match(const struct ll_box *boxes, uint64_t count, const struct ll_box *truths,
                    uint64_t truth_count, struct ll_match_rule rule, int32_t *matches)
{
    for (uint64_t i = 0; i < count; i++) {
        float best = 0;
        matches[i] = LL_UNMATCHED;
        for (uint64_t t = 0; t < truth_count; t++) {
            float overlap = ll_box_overlap(boxes[i], truths[t]);
            if (overlap <= best)
                continue;
            best = overlap;
            matches[i] = overlap >= rule.good  ? (int32_t)t
                         : overlap >= rule.bad ? LL_UNDECIDED
                                               : LL_UNMATCHED;
        }
    }
    for (uint64_t t = 0; t < truth_count; t++) {
        uint64_t nearest = count;
        float best = 0;
        for (uint64_t i = 0; i < count; i++) {
            float overlap = ll_box_overlap(boxes[i], truths[t]);
            if (overlap > best) {
                best = overlap;
                nearest = i;
            }
        }
        if (nearest < count)
            matches[nearest] = (int32_t)t;
    }
}

/* The best first; what is equal in the order of images, classes and places, so that sorting repeats. */
static int by_score(const void *a, const void *b)
{
    const struct ll_detection *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return memcmp(&x->box, &y->box, sizeof x->box);
}

uint64_t ll_detections_thin(struct ll_detection *found, uint64_t count, float overlap)
{
    uint64_t kept = 0;
    qsort(found, count, sizeof *found, by_score);
    for (uint64_t i = 0; i < count; i++) {
        bool alone = true;
        for (uint64_t k = 0; k < kept && alone; k++)
            alone = found[k].image != found[i].image || found[k].class != found[i].class ||
                    ll_box_overlap(found[k].box, found[i].box) <= overlap;
        if (alone)
            found[kept++] = found[i];
    }
    return kept;
}

/* The truth that a detection hits, or truth_count. */
static uint64_t hits(const struct ll_detection *found, const struct ll_detection *truths,
                     uint64_t truth_count)
{
    uint64_t best = truth_count;
    float most = 0;
    for (uint64_t t = 0; t < truth_count; t++) {
        if (truths[t].image != found->image || truths[t].class != found->class)
            continue;
        float overlap = ll_box_overlap(truths[t].box, found->box);
        if (overlap >= 0.5f && overlap > most) {
            most = overlap;
            best = t;
        }
    }
    return best;
}

/* Going from the worst detection to the best, the best precision so far is that at this recall or more: each
 * hit adds it once, over a step of recall. */
static double precision_of(const struct ll_detection *found, uint64_t count, const bool *is_hit,
                           uint32_t class, uint64_t truths)
{
    uint64_t right = 0, all = 0;
    double best = 0, sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        all += found[i].class == class;
        right += found[i].class == class && is_hit[i];
    }
    for (uint64_t i = count; i-- > 0;) {
        if (found[i].class != class)
            continue;
        best = fmax(best, (double)right / (double)all);
        sum += is_hit[i] ? best : 0;
        right -= is_hit[i];
        all--;
    }
    return sum / (double)truths;
}

static struct ll_detector_scores judge(const struct ll_detection *found, uint64_t count, const bool *is_hit,
                                       const struct ll_detection *truths, uint64_t truth_count)
{
    struct ll_detector_scores scores = {0, 0};
    uint64_t classes = 0, right = 0;
    for (uint64_t t = 0; t < truth_count; t++) {
        uint64_t of_class = 0, before = 0;
        for (uint64_t u = 0; u < truth_count; u++) {
            of_class += truths[u].class == truths[t].class;
            before += u < t && truths[u].class == truths[t].class;
        }
        if (before > 0)
            continue; /* a class is judged where its first truth stands */
        classes++;
        scores.precision += precision_of(found, count, is_hit, truths[t].class, of_class);
    }
    for (uint64_t i = 0; i < count; i++)
        right += is_hit[i];
    if (classes > 0)
        scores = (struct ll_detector_scores){scores.precision / (double)classes,
                                             (double)right / (double)truth_count};
    return scores;
}

struct ll_detector_scores ll_detections_judge(const struct ll_detection *found, uint64_t count,
                                              const struct ll_detection *truths, uint64_t truth_count,
                                              bool *hit)
{
    bool *taken = hit, *is_hit = hit + truth_count;
    memset(hit, 0, (truth_count + count) * sizeof *hit);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t t = hits(&found[i], truths, truth_count);
        is_hit[i] = t < truth_count && !taken[t];
        if (t < truth_count)
            taken[t] = true;
    }
    return judge(found, count, is_hit, truths, truth_count);
}
