/* SPDX-License-Identifier: Apache-2.0 */
/* One trace on several machines at once, a thread each. What they find does not depend on that.
 *
 *     ./threads alexnet.llt h100_sxm a100_sxm_80gb v100_sxm_16gb */
#include <leadline.h>
#include <pthread.h>
#include <stdio.h>

enum { MOST = 16 };

struct task {
    const char *machine;
    const leadline_trace *trace; /* of all tasks */
    double time_s;               /* below 0: it failed */
};

static void *simulate(void *argument)
{
    struct task *task = (struct task *)argument;
    leadline_machine *machine = leadline_machine_read(task->machine, NULL);
    leadline_result *result = leadline_simulate(machine, task->trace, NULL);
    if (!leadline_number(result, "time_s", &task->time_s))
        task->time_s = -1;
    leadline_result_free(result);
    leadline_machine_free(machine);
    return NULL;
}

int main(int argc, char **argv)
{
    struct task tasks[MOST];
    pthread_t threads[MOST];
    int count = argc - 2 < MOST ? argc - 2 : MOST, failed = 0;
    leadline_trace *trace = leadline_trace_read(argc > 2 ? argv[1] : NULL);
    if (!trace) {
        fputs(leadline_messages(), stderr);
        return LEADLINE_WRONG;
    }
    for (int i = 0; i < count; i++) {
        tasks[i].machine = argv[i + 2];
        tasks[i].trace = trace;
        pthread_create(&threads[i], NULL, simulate, &tasks[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (tasks[i].time_s < 0)
            failed = 1;
        else
            printf("%s\t%.6g s\n", tasks[i].machine, tasks[i].time_s);
    }
    leadline_trace_free(trace);
    return failed ? LEADLINE_FAILED : LEADLINE_DONE;
}
