/* SPDX-License-Identifier: Apache-2.0 */
#include "models/frontier/counter.h"

#include "models/nn/formula.h"

struct ll_value *ll_begin_counter(struct ll_nn *nn, bool rate)
{
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
    const struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    const bool frozen = nn->frozen;
    nn->frozen = true;
    struct ll_value *counter = ll_nn_variable(nn, "global_step", &scalar, LL_WEIGHT, zero);
    if (rate)
        ll_nn_variable(nn, "learning_rate", &scalar, LL_WEIGHT, zero);
    nn->frozen = frozen;
    return counter;
}

void ll_count_step(struct ll_nn *nn, struct ll_value *counter)
{
    const enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_carry(nn, counter, ll_add_of(nn, counter, ll_constant(nn, "one", 1)));
    nn->phase = phase;
}
