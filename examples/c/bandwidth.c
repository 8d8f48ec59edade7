/* SPDX-License-Identifier: Apache-2.0 */
/* A curve: the time of a training step over the bandwidth of a memory, as two columns.
 *
 *     ./bandwidth h100_sxm hbm resnet50 32 */
#include <leadline.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s MACHINE MEMORY MODEL BATCH\n", argv[0]);
        return LEADLINE_WRONG;
    }
    char batch[64], bandwidth[128];
    snprintf(batch, sizeof batch, "batch=%s", argv[4]);
    const char *const recorded[] = {"dry-run", "train", batch, NULL};
    leadline_trace *trace = leadline_trace_record(argv[3], recorded);
    leadline_machine *base = leadline_machine_read(argv[1], NULL);
    int failed = !trace || !base;
    if (failed)
        fputs(leadline_messages(), stderr);
    for (int GBps = 500; GBps <= 4000 && !failed; GBps += 500) {
        snprintf(bandwidth, sizeof bandwidth, "memory.%s.bandwidth=%dGB/s", argv[2], GBps);
        const char *const overrides[] = {bandwidth, NULL};
        leadline_machine *machine = leadline_machine_with(base, overrides);
        leadline_result *result = leadline_simulate(machine, trace, NULL);
        double time_s = 0;
        failed = !leadline_number(result, "time_s", &time_s);
        if (failed)
            fputs(leadline_messages(), stderr);
        else
            printf("%d GB/s\t%.6g s\n", GBps, time_s);
        leadline_result_free(result);
        leadline_machine_free(machine);
    }
    leadline_machine_free(base);
    leadline_trace_free(trace);
    return failed ? LEADLINE_FAILED : LEADLINE_DONE;
}
