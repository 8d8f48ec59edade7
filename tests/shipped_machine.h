/* SPDX-License-Identifier: Apache-2.0 */
/* The machines of hwconfigs/, for tests that ask what their files say. */
#ifndef LL_TESTS_SHIPPED_MACHINE_H
#define LL_TESTS_SHIPPED_MACHINE_H

#include "check.h"

#include "sim/machine/machine.h"

/* The machine of a file by its stem; a file that is wrong fails the test. */
static inline struct ll_machine *ll_shipped_machine(const char *stem)
{
    static const char *const hwconfigs[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_machine_read(stem, hwconfigs, NULL, 0, &diags);
    if (!machine)
        fail_msg("%s:%llu: %s", stem, (unsigned long long)diags.kept[0].place.line, diags.kept[0].message);
    ll_diags_release(&diags);
    return machine;
}

#endif
