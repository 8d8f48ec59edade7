/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices are slower than others, by seed, and what of a step waits for them. */
#include "sim/parallel/stragglers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/base/random.h"

/* Each device has a random number of its own; those with the smallest are drawn. */
struct draw {
    uint64_t key, count;
    uint64_t largest; /* of those that are drawn */
};

enum { STREAM_DEVICES = 1, STREAM_LINKS };

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* False when memory ran out. */
static bool draw(const struct ll_slow_share *slow, uint64_t seed, uint64_t stream, uint64_t devices,
                 struct draw *drawn)
{
    *drawn = (struct draw){.key = ll_random_key(seed, stream)};
    if (slow->share == 0)
        return true;
    uint64_t *numbers = malloc(devices * sizeof *numbers);
    for (uint64_t i = 0; numbers && i < devices; i++)
        numbers[i] = ll_random_bits(drawn->key, i);
    if (numbers) {
        qsort(numbers, devices, sizeof *numbers, by_number);
        drawn->count = ll_min(devices, (uint64_t)fmax(1, round(slow->share * (double)devices)));
        drawn->largest = numbers[drawn->count - 1];
    }
    free(numbers);
    return numbers;
}

static bool is_drawn(const struct draw *drawn, uint64_t device)
{
    return drawn->count > 0 && ll_random_bits(drawn->key, device) <= drawn->largest;
}

static uint64_t devices_of_stage(const struct ll_parallel *plan)
{
    return plan->tensor * ll_replicas(plan);
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y > 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Both kinds of groups divide the replicas, in whose order they lie next to each other. */
static uint64_t replicas_of_crew(const struct ll_parallel *plan)
{
    return plan->zero >= 2 ? ll_replicas(plan) : common_multiple(plan->context, plan->expert);
}

/* Whether b has all that a has. */
static bool has_all_of(const uint8_t *a, const uint8_t *b, uint64_t stages)
{
    uint64_t s = 0;
    while (s < stages && (a[s] & ~b[s]) == 0)
        s++;
    return s == stages;
}

/* Keeps what is not covered by another; in place, in order. */
static uint64_t leave_covered_out(uint8_t *slow, uint64_t count, uint64_t stages)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *here = &slow[i * stages];
        uint64_t left = 0;
        bool covered = false;
        for (uint64_t k = 0; k < kept && !covered; k++)
            covered = has_all_of(here, &slow[k * stages], stages);
        for (uint64_t k = 0; k < kept && !covered; k++)
            if (!has_all_of(&slow[k * stages], here, stages))
                memmove(&slow[left++ * stages], &slow[k * stages], stages);
        if (!covered) {
            memmove(&slow[left * stages], here, stages);
            kept = left + 1;
        }
    }
    return kept;
}

bool ll_crews_draw(const struct ll_parallel *plan, struct ll_arena *arena, struct ll_crews *crews)
{
    const uint64_t of_stage = devices_of_stage(plan), stages = plan->pipeline;
    const uint64_t replicas = replicas_of_crew(plan), of_crew = plan->tensor * replicas;
    struct draw slow, links;
    assert(ll_replicas(plan) % replicas == 0);
    *crews = (struct ll_crews){.replicas = replicas, .stages = stages, .count = ll_replicas(plan) / replicas};
    crews->slow = ll_alloc(arena, crews->count * stages, sizeof *crews->slow);
    crews->links_of = ll_alloc(arena, stages, sizeof *crews->links_of);
    if (!crews->slow || !crews->links_of ||
        !draw(&plan->stragglers, plan->seed, STREAM_DEVICES, of_stage * stages, &slow) ||
        !draw(&plan->slow_links, plan->seed, STREAM_LINKS, of_stage * stages, &links))
        return false;
    crews->devices = slow.count;
    crews->links = links.count;
    for (uint64_t device = 0; device < of_stage * stages; device++) {
        const uint64_t stage = device / of_stage, crew = device % of_stage / of_crew;
        const bool computes = plan->stragglers.factor > 1 && is_drawn(&slow, device),
                   sends = plan->slow_links.factor > 1 && is_drawn(&links, device);
        crews->slow[crew * stages + stage] |=
            (uint8_t)((computes ? LL_SLOW_DEVICE : 0) | (sends ? LL_SLOW_LINKS : 0));
        crews->links_of[stage] |= sends;
    }
    crews->count = leave_covered_out(crews->slow, crews->count, stages);
    return true;
}

const uint64_t *ll_slow_devices(const struct ll_parallel *plan, uint64_t devices, struct ll_arena *arena,
                                uint64_t *count)
{
    struct draw slow;
    *count = 0;
    if (!draw(&plan->stragglers, plan->seed, STREAM_DEVICES, devices, &slow))
        return NULL;
    uint64_t *numbers = ll_alloc(arena, slow.count + 1, sizeof *numbers);
    for (uint64_t device = 0; numbers && plan->stragglers.factor > 1 && device < devices; device++)
        if (is_drawn(&slow, device) && *count < slow.count)
            numbers[(*count)++] = device;
    return numbers;
}

/* Of a group of stages, so many and so far apart, to which one belongs. */
static bool any_of_stages(const struct ll_crews *crews, uint64_t stage, uint64_t count, uint64_t apart)
{
    bool slow = false;
    for (uint64_t s = 0; s < crews->stages; s++) {
        const bool member = s % apart == stage % apart && s / apart / count == stage / apart / count;
        slow |= member && crews->links_of[s];
    }
    return slow;
}

bool ll_goes_over_slow_links(const struct ll_parallel *plan, const struct ll_crews *crews,
                             const uint8_t *pipeline, uint64_t stage, const struct ll_asked *asked)
{
    const uint64_t of_stage = devices_of_stage(plan), of_crew = plan->tensor * crews->replicas;
    if (asked->peer) {
        const int64_t on = asked->peer / (int64_t)of_stage, stages = (int64_t)crews->stages;
        const uint64_t other = (uint64_t)((((int64_t)stage + on) % stages + stages) % stages);
        return (pipeline[stage] | pipeline[other]) & LL_SLOW_LINKS;
    }
    const uint64_t stride = asked->stride > 0 ? asked->stride : 1;
    const uint64_t devices = asked->devices > 0 ? asked->devices : of_stage * crews->stages / stride;
    const uint64_t reach = ll_mul(devices, stride);
    if (reach <= of_crew)
        return pipeline[stage] & LL_SLOW_LINKS;
    if (reach <= of_stage)
        return crews->links_of[stage];
    return stride < of_stage ? any_of_stages(crews, stage, crews->stages, 1)
                             : any_of_stages(crews, stage, devices, stride / of_stage);
}
