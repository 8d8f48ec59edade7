/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that nobody listed: gaps of a gamma distribution, lengths uniform or drawn from a list. */
#include <assert.h>
#include <math.h>

#include "sim/serve/serve.h"
#include "tracer/base/random.h"

/* Standard normal (Box and Muller, 1958) from two draws. */
static double normal(uint64_t key, uint64_t *index)
{
    double u = ll_random_fine_unit(ll_random_bits(key, (*index)++)),
           v = ll_random_fine_unit(ll_random_bits(key, (*index)++));
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

/* Gamma distributed with mean 1 and this shape (Marsaglia and Tsang, A simple method for generating gamma
 * variables, 2000). */
static double gamma_of(double shape, uint64_t key)
{
    uint64_t index = 0;
    if (isinf(shape))
        return 1;
    if (shape == 1)
        return -log(ll_random_fine_unit(ll_random_bits(key, 0)));
    double raised = shape < 1 ? shape + 1 : shape, d = raised - 1. / 3, c = 1 / sqrt(9 * d), value;
    for (;;) {
        double x = normal(key, &index), v = 1 + c * x, u = ll_random_fine_unit(ll_random_bits(key, index++));
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) {
            value = d * v;
            break;
        }
    }
    if (shape < 1)
        value *= pow(ll_random_fine_unit(ll_random_bits(key, index)), 1 / shape);
    return value / shape;
}

static uint64_t between(uint64_t least, uint64_t most, uint64_t bits)
{
    return least + (uint64_t)(ll_random_fine_unit(bits) * (double)(most - least + 1));
}

struct ll_request ll_load_request(const struct ll_load *load, uint64_t i, double previous_arrival_s)
{
    const uint64_t key = ll_random_key(load->seed, i);
    struct ll_request r = {0};
    assert(!load->listed);
    if (load->lengths) {
        uint64_t at = between(0, load->length_count - 1, ll_random_bits(key, 0));
        r.input = load->lengths[at].input;
        r.output = load->lengths[at].output;
    } else {
        r.input = between(load->least_input, load->most_input, ll_random_bits(key, 0));
        r.output = between(load->least_output, load->most_output, ll_random_bits(key, 1));
    }
    r.prefix_tokens = load->prefix_tokens < r.input ? load->prefix_tokens : r.input;
    if (load->rate_Hz > 0)
        r.arrival_s = previous_arrival_s +
                      (i == 0 ? 0 : gamma_of(load->burstiness, ll_random_key(key, 2)) / load->rate_Hz);
    return r;
}
