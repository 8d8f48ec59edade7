/* SPDX-License-Identifier: Apache-2.0 */
#include "models/fathom/classifier.h"

#include "models/feed.h"
#include "models/nn/loss.h"
#include "models/nn/optim.h"

struct ll_value *ll_classifier_build(struct ll_nn *nn, const struct ll_build *build,
                                     const struct ll_classifier *c)
{
    struct ll_value *images = ll_feed_images(nn, build->batch, c->image, 3, c->classes, build->seed);
    if (!build->train)
        return c->logits(nn, images, build);
    struct ll_value *labels = ll_feed_labels(nn, build->batch, c->classes, build->seed);
    struct ll_value *logits = c->logits(nn, images, build);
    struct ll_value *loss = ll_softmax_loss(nn, logits, labels);
    ll_accuracy(nn, logits, labels);
    ll_minimise(nn, loss,
                &(struct ll_optimizer){
                    .kind = LL_ADAM, .rate = c->rate, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8});
    return loss;
}
