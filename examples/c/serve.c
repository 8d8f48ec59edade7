/* SPDX-License-Identifier: Apache-2.0 */
/* A language-model server: the time to the first token, as requests come faster.
 *
 *     ./serve h100_sxm+vllm llama3.1-8b */
#include <leadline.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MACHINE MODEL\n", argv[0]);
        return LEADLINE_WRONG;
    }
    leadline_machine *machine = leadline_machine_read(argv[1], NULL);
    if (!machine)
        fputs(leadline_messages(), stderr);
    int failed = !machine;
    for (int rate = 1; rate <= 4 && !failed; rate *= 2) {
        char model[256], load[32];
        snprintf(model, sizeof model, "model=%s", argv[2]);
        snprintf(load, sizeof load, "rate=%d", rate);
        const char *const options[] = {model, load, "num-prompts=100", NULL};
        leadline_result *result = leadline_serve(machine, options);
        double first_s, each_s;
        failed = !leadline_number(result, "ttft_s.p99", &first_s) ||
                 !leadline_number(result, "tpot_s.p50", &each_s);
        if (failed)
            fputs(leadline_messages(), stderr);
        else
            printf("%d requests/s: first token within %.3g ms (p99), then one each %.3g ms\n", rate,
                   1e3 * first_s, 1e3 * each_s);
        leadline_result_free(result);
    }
    leadline_machine_free(machine);
    return failed ? LEADLINE_FAILED : LEADLINE_DONE;
}
