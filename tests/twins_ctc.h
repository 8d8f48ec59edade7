/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twin of the CTC loss: every path that there is, one after the other. */
#ifndef LL_TESTS_TWINS_CTC_H
#define LL_TESTS_TWINS_CTC_H

#include "twins.h"

enum { TWIN_FRAMES = 16 };

/* One utterance: x(t, c) is logits[t * stride + c]. */
struct twin_utterance {
    const double *logits, *labels;
    uint64_t frames, labels_count, classes, stride;
};

/* Path number n: its digits to the base of the classes. Whether merging and dropping gives the labels. */
static inline bool path_has_labels(const struct twin_utterance *u, uint64_t n, uint64_t *path)
{
    uint64_t found = 0, before = u->classes;
    for (uint64_t t = 0; t < u->frames; t++, n /= u->classes) {
        path[t] = n % u->classes;
        bool counts = path[t] != before && path[t] != u->classes - 1;
        before = path[t];
        if (counts && (found == u->labels_count || (double)path[t] != u->labels[found]))
            return false;
        found += counts;
    }
    return found == u->labels_count;
}

static inline double twin_share(const struct twin_utterance *u, uint64_t t, uint64_t c)
{
    double sum = 0;
    for (uint64_t k = 0; k < u->classes; k++)
        sum += exp(u->logits[t * u->stride + k] - u->logits[t * u->stride + c]);
    return 1 / sum;
}

/* Adds every path's chance to the total, and to each class that it has at a frame. */
static inline double all_paths(const struct twin_utterance *u, double *share)
{
    uint64_t paths = 1, path[TWIN_FRAMES];
    double total = 0;
    for (uint64_t t = 0; t < u->frames; t++)
        paths *= u->classes;
    for (uint64_t n = 0; n < paths; n++) {
        if (!path_has_labels(u, n, path))
            continue;
        double chance = 1;
        for (uint64_t t = 0; t < u->frames; t++)
            chance *= twin_share(u, t, path[t]);
        for (uint64_t t = 0; t < u->frames; t++)
            share[t * u->stride + path[t]] += chance;
        total += chance;
    }
    return total;
}

static inline uint64_t twin_CTC_LOSS(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t frames = op->in[0].dim[0], batch = op->in[0].dim[1], classes = op->in[0].dim[2];
    uint64_t most = op->in[1].dim[1];
    memset(out[1], 0, frames * batch * classes * sizeof *out[1]);
    for (uint64_t b = 0; b < batch; b++) {
        struct twin_utterance u = {.logits = in[0] + b * classes,
                                   .labels = in[1] + b * most,
                                   .frames = (uint64_t)in[3][b],
                                   .labels_count = (uint64_t)in[2][b],
                                   .classes = classes,
                                   .stride = batch * classes};
        double *d = out[1] + b * classes, total = all_paths(&u, d);
        for (uint64_t i = 0; i < u.frames * classes; i++) {
            uint64_t t = i / classes, at = t * u.stride + i % classes;
            d[at] = total > 0 ? twin_share(&u, t, i % classes) - d[at] / total : 0;
        }
        out[0][b] = total > 0 ? -log(total) : 0;
    }
    return frames * batch * (33 * (2 * most + 1) + 5 * classes);
}

#endif
