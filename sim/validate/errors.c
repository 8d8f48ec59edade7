/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/errors.h"

#include "tracer/base/arena.h"
#include "tracer/base/order.h"

#include <math.h>
#include <stdlib.h>

bool ll_error_add(struct ll_error_list *list, double predicted_s, double measured_s)
{
    double error = (predicted_s - measured_s) / measured_s;
    if (!ll_grow(&list->size, &list->capacity, list->count + 1, sizeof *list->size))
        return false;
    list->size[list->count++] = fabs(error);
    list->sum += error;
    list->size_sum += fabs(error);
    list->near += fabs(error) <= 0.2;
    return true;
}

struct ll_errors ll_errors_of(struct ll_error_list *list)
{
    uint64_t n = list->count;
    if (n == 0)
        return (struct ll_errors){0, NAN, NAN, NAN, NAN};
    return (struct ll_errors){n, list->size_sum / (double)n, ll_median(list->size, n),
                              (double)list->near / (double)n, list->sum / (double)n};
}

void ll_errors_release(struct ll_error_list *list)
{
    free(list->size);
    *list = (struct ll_error_list){0};
}
