/* SPDX-License-Identifier: Apache-2.0 */
/* A workload that nobody has recorded, built op by op: dense layers, simulated on a machine.
 *
 *     ./build h100_sxm 64 1024 4096 1024        MACHINE BATCH FEATURES... */
#include <leadline.h>
#include <stdio.h>

/* Adds x[rows, from] w[from, to] and a ReLU, both in bf16; gives the number of what comes out. */
static int64_t add_layer(leadline_builder *step, int64_t x, const char *from, const char *to)
{
    const char *const weight[] = {"class=weight", NULL};
    char shape[64];
    snprintf(shape, sizeof shape, "%sx%s:bf16", from, to);
    const int64_t in[] = {x, leadline_build_tensor(step, shape, weight)};
    const int64_t y = leadline_build_output(step, leadline_build_op(step, "matmul", in, 2, NULL), 0);
    return leadline_build_output(step, leadline_build_op(step, "relu", &y, 1, NULL), 0);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: %s MACHINE BATCH FEATURES FEATURES...\n", argv[0]);
        return LEADLINE_WRONG;
    }
    char batch[64], shape[64];
    snprintf(batch, sizeof batch, "batch=%s", argv[2]);
    snprintf(shape, sizeof shape, "%sx%s:bf16", argv[2], argv[3]);
    const char *const infer[] = {"infer", batch, NULL}, *const roles[] = {"roles=batch,hidden", NULL};
    leadline_builder *step = leadline_build_open("dense", infer);
    int64_t x = leadline_build_tensor(step, shape, roles);
    for (int i = 4; i < argc; i++)
        x = add_layer(step, x, argv[i - 1], argv[i]);
    leadline_trace *trace = leadline_build_close(step);
    leadline_machine *machine = trace ? leadline_machine_read(argv[1], NULL) : NULL;
    leadline_result *result = machine ? leadline_simulate(machine, trace, NULL) : NULL;
    double time_s;
    if (leadline_number(result, "time_s", &time_s))
        printf("%.6g s\n", time_s);
    else
        fputs(leadline_messages(), stderr);
    int failed = result == NULL;
    leadline_result_free(result);
    leadline_machine_free(machine);
    leadline_trace_free(trace);
    leadline_build_free(step);
    return failed ? LEADLINE_FAILED : LEADLINE_DONE;
}
