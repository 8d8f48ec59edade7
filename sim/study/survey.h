/* SPDX-License-Identifier: Apache-2.0 */
/* A survey: a family of workloads, simulated all over on several platforms.
 *
 * Its axes say which workloads: values of a model's parameters and of the batch, in all combinations. A
 * platform is one or several devices that share a batch: each computes its part
 * on a copy of the weights, then all add up their gradients, one after the other, and nobody goes on
 * meanwhile. So
 *
 *     device = replay of a replica's step + exchange of each weight's gradient
 *     step   = max(device, host)                    of many steps (sim/replay/infeed.h)
 *
 * Plain data. Who can record workloads runs it (sim/cli/surveyor.h). */
#ifndef LL_SIM_STUDY_SURVEY_H
#define LL_SIM_STUDY_SURVEY_H

#include "sim/machine/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_MOST_FAMILY_AXES = 5,
    LL_MOST_FAMILY_VALUES = 9,
    LL_MOST_PLATFORMS = 10,
    LL_MOST_FIXED = 2,
    LL_MOST_PLATFORM_OVERRIDES = 3
};

/* A parameter of the model, or "batch". */
struct ll_family_axis {
    const char *key;
    uint64_t values[LL_MOST_FAMILY_VALUES]; /* rising; ended by 0, if not full */
};

struct ll_family {
    const char *name, *doc; /* a word, and for people */
    const char *model;
    struct {
        const char *key, *value;
    } fixed[LL_MOST_FIXED]; /* what all points share; ended by one without key, if not full */
    struct ll_family_axis axes[LL_MOST_FAMILY_AXES]; /* ended by one without key, if not full */
};

/* How many axes, values of one of them, and points. */
size_t ll_family_axes(const struct ll_family *family);
size_t ll_family_axis_values(const struct ll_family_axis *axis);
uint64_t ll_family_size(const struct ll_family *family);

/* Values of point i, by axis; the last axis changes fastest. */
void ll_family_point(const struct ll_family *family, uint64_t i, uint64_t values[LL_MOST_FAMILY_AXES]);

/* The axis of this key, which there is. */
size_t ll_family_axis(const struct ll_family *family, const char *key);

struct ll_platform {
    const char *name;    /* for people; its own among those of a survey */
    const char *machine; /* one of the devices, as sim -c takes it */
    struct ll_override overrides[LL_MOST_PLATFORM_OVERRIDES]; /* ended by one without path, if not full */
    const char *dtype; /* as the model's parameter has it; without one, all of the recording becomes it */
    uint64_t devices;  /* that share the batch */
    uint64_t batches;  /* how many times the batch of the point */
};

struct ll_survey {
    const struct ll_family *family;
    const struct ll_platform *platforms;
    size_t platform_count;
};

/* What comes of a point on a platform; of a step, all devices together where it is an amount. */
struct ll_surveyed {
    bool simulated; /* else nothing is known */
    bool fits;      /* a replica into its device's memory */
    double step_s, device_s, host_s, exchange_s;
    double flops, bytes;           /* algorithmic */
    double peak_flops, memory_Bps; /* a second, the latter from the data sheet */
    double peak_bytes;             /* of a replica, at its worst moment */
    double parameters, samples;
    double memory_s; /* of the device's time, exchange included: what is no product and waits for memory */
};

struct ll_survey_result {
    struct ll_survey survey;
    uint64_t count;         /* of points */
    struct ll_surveyed *at; /* platform_count for each point */
};

/* Point i of the family on a platform. */
static inline const struct ll_surveyed *ll_surveyed_at(const struct ll_survey_result *result, uint64_t i,
                                                       size_t platform)
{
    return &result->at[i * result->survey.platform_count + platform];
}

/* The value of an axis at point i of the result. */
uint64_t ll_surveyed_value(const struct ll_survey_result *result, uint64_t i, size_t axis);

/* FLOPs over what the devices could have done in the step, and samples a second. */
double ll_surveyed_utilization(const struct ll_surveyed *surveyed);
double ll_surveyed_rate(const struct ll_surveyed *surveyed);

#endif
