/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/meter.h"

enum { SAMPLE_SPREAD = 8 };

/* No short call takes so long: the thread was interrupted, which is no cost of recording. */
#define INTERRUPTED_NS 20000u

/* 4 to 11 calls: a linear congruential generator (Knuth's MMIX), of which the high bits are good. */
static uint64_t next_distance(struct ll_meter *meter)
{
    meter->dice = meter->dice * 6364136223846793005u + 1442695040888963407u;
    return SAMPLE_SPREAD / 2 + (meter->dice >> 32) % SAMPLE_SPREAD;
}

/* The smallest of many, as an interruption can only add. */
static uint64_t clock_cost_ns(void)
{
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t begin_ns = ll_now_ns(), spent_ns = ll_now_ns() - begin_ns;
        if (spent_ns < smallest)
            smallest = spent_ns;
    }
    return smallest;
}

void ll_meter_start(struct ll_meter *meter)
{
    *meter = (struct ll_meter){.clock_ns = clock_cost_ns()};
    meter->until_sample = next_distance(meter);
}

static uint64_t since(const struct ll_meter *meter, uint64_t begin_ns)
{
    uint64_t spent_ns = ll_now_ns() - begin_ns;
    return spent_ns > meter->clock_ns ? spent_ns - meter->clock_ns : 0;
}

void ll_meter_sample(struct ll_meter *meter, const struct ll_meter_mark *mark)
{
    uint64_t spent_ns = since(meter, mark->begin_ns), long_ns = meter->long_ns - mark->long_ns;
    uint64_t short_ns = spent_ns > long_ns ? spent_ns - long_ns : 0;
    meter->until_sample = next_distance(meter);
    if (short_ns > INTERRUPTED_NS)
        return;
    meter->sampled_ns += short_ns;
    meter->samples++;
}

void ll_meter_long(struct ll_meter *meter, uint64_t begin_ns)
{
    meter->long_ns += since(meter, begin_ns);
}

double ll_meter_mean_ns(const struct ll_meter *meter)
{
    return meter->samples ? (double)meter->sampled_ns / (double)meter->samples : meter->usual_ns;
}

void ll_meter_renew(struct ll_meter *meter)
{
    meter->usual_ns = ll_meter_mean_ns(meter);
    meter->sampled_ns = meter->samples = 0;
}
