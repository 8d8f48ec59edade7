/* SPDX-License-Identifier: Apache-2.0 */
/* How long does a step take, and what holds it back? The document is the one that `leadline sim --json`
 * prints.
 *
 *     cc simulate.c $(pkg-config --cflags --libs leadline) -o simulate
 *     ./simulate h100_sxm alexnet.llt [OPTION...]        options of leadline sim, as tp=8 or what-if */
#include <leadline.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s MACHINE TRACE [OPTION...]\n", argv[0]);
        return LEADLINE_WRONG;
    }
    leadline_machine *machine = leadline_machine_read(argv[1], NULL);
    if (!machine)
        fputs(leadline_messages(), stderr);
    leadline_trace *trace = leadline_trace_read(argv[2]);
    if (!trace)
        fputs(leadline_messages(), stderr);
    /* argv ends with NULL, as options do. */
    leadline_result *result = leadline_simulate(machine, trace, (const char *const *)(argv + 3));
    enum leadline_outcome outcome = leadline_status();
    fputs(leadline_messages(), stderr);
    if (result)
        fputs(leadline_json(result), stdout);
    leadline_result_free(result);
    leadline_trace_free(trace);
    leadline_machine_free(machine);
    return outcome;
}
