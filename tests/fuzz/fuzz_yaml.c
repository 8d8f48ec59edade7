/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a machine file: either there are complaints and no machine, or a machine that is written as a
 * file which reads back to the same one. */
#include "sim/machine/machine.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const no_folders[] = {NULL};

static struct ll_machine *parse(const char *text, size_t size, size_t *complaints)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags)
        return NULL;
    struct ll_machine *machine = ll_machine_parse(text, size, "fuzz.yaml", no_folders, NULL, 0, diags);
    *complaints = diags->count;
    ll_diags_release(diags);
    free(diags);
    return machine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t complaints = 0;
    struct ll_machine *machine = parse((const char *)data, size, &complaints);
    if (!machine && complaints == 0)
        abort();
    if (machine) {
        struct ll_str yaml = {0};
        ll_machine_yaml(machine, &yaml);
        struct ll_machine *again = yaml.failed ? NULL : parse(yaml.text, yaml.length, &complaints);
        if (!again || again->config_hash != machine->config_hash)
            abort();
        ll_machine_free(again);
        ll_str_release(&yaml);
    }
    ll_machine_free(machine);
    return 0;
}
