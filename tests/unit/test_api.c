/* SPDX-License-Identifier: Apache-2.0 */
/* The library as others use it: results equal those of the commands, threads do not disturb each other,
 * mistakes are told and nothing is lost by them. */
#include "sim/api/leadline.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static const char trace_path[] = "traces/alexnet_infer_b1.llt"; /* below the folder that tests run in */

static leadline_result *simulated(const char *machine_name, const leadline_trace *trace,
                                  const char *const *options)
{
    leadline_machine *machine = leadline_machine_read(machine_name, NULL);
    leadline_result *result = leadline_simulate(machine, trace, options);
    leadline_machine_free(machine);
    return result;
}

static void a_simulation_equals_the_command(void **state)
{
    static const char *const options[][4] = {
        {NULL}, {"what-if", "per-op", NULL}, {"batch=4", "as=f16", NULL}, {"memory", NULL}, {"tp=2", NULL}};
    static const char *const machines[] = {"custom_example", "custom_example", "v100_sxm_16gb",
                                           "custom_example", "dgx_v100"};
    leadline_trace *trace = leadline_trace_read(trace_path);
    (void)state;
    assert_non_null(trace);
    for (size_t i = 0; i < 5; i++) {
        const char *given[6] = {NULL};
        char machine[64];
        size_t count = 0;
        snprintf(machine, sizeof machine, "machine=%s", machines[i]);
        given[count++] = machine;
        for (size_t j = 0; options[i][j]; j++)
            given[count++] = options[i][j];
        leadline_result *one = simulated(machines[i], trace, options[i]),
                        *other = leadline_run("sim", given, (const char *const[]){trace_path, NULL});
        assert_string_equal(leadline_messages(), "");
        assert_non_null(one);
        assert_non_null(other);
        assert_string_equal(leadline_json(one), leadline_json(other));
        leadline_result_free(one);
        leadline_result_free(other);
    }
    leadline_trace_free(trace);
}

static void numbers_are_there_by_name(void **state)
{
    leadline_trace *trace = leadline_trace_read(trace_path);
    leadline_result *result = simulated("custom_example", trace, NULL);
    double time_s = 0, peak = 0, fits = 0, none = 5;
    char written[64];
    (void)state;
    leadline_trace_free(trace); /* the result keeps what it needs */
    assert_true(leadline_number(result, "time_s", &time_s) && time_s > 0);
    const char *in_document = strstr(leadline_json(result), "\"time_s\": ");
    assert_true(in_document && sscanf(in_document + 10, "%63[^,]", written) == 1);
    assert_true(strtod(written, NULL) == time_s);
    assert_true(leadline_number(result, "memory.peak_bytes", &peak) && peak > 1e6);
    assert_true(leadline_number(result, "memory.fits", &fits) && fits == 1);
    assert_false(leadline_number(result, "memory.fit", &none) || none != 5);
    assert_non_null(strstr(leadline_text(result), "custom_example"));
    leadline_result_free(result);
}

static void mistakes_are_told_with_what_was_expected(void **state)
{
    leadline_trace *trace = leadline_trace_read(trace_path);
    leadline_machine *machine = leadline_machine_read("custom_exampel", NULL);
    (void)state;
    assert_null(machine);
    assert_int_equal(leadline_status(), LEADLINE_WRONG);
    assert_non_null(strstr(leadline_messages(), "custom_example"));
    assert_null(leadline_simulate(machine, trace, NULL)); /* what the call before has said stays */
    assert_non_null(strstr(leadline_messages(), "custom_example"));
    machine = leadline_machine_read("custom_example", (const char *const[]){"units.array.rwos=4", NULL});
    assert_null(machine);
    assert_non_null(strstr(leadline_messages(), "`units.array.rows`"));
    machine = leadline_machine_read("custom_example", NULL);
    assert_string_equal(leadline_messages(), "");
    assert_null(leadline_simulate(machine, trace, (const char *const[]){"wath-if", NULL}));
    assert_non_null(strstr(leadline_messages(), "what-if"));
    assert_null(leadline_simulate(machine, trace, (const char *const[]){"html=x.html", NULL}));
    assert_null(leadline_simulate(machine, trace, (const char *const[]){"batch", NULL}));
    assert_non_null(strstr(leadline_messages(), "batch=N"));
    assert_null(leadline_trace_read("no/such.llt"));
    assert_non_null(strstr(leadline_messages(), "no/such.llt"));
    assert_null(leadline_run("smi", NULL, NULL));
    assert_null(leadline_run("mcp", NULL, NULL));
    assert_non_null(leadline_version());
    leadline_machine_free(machine);
    leadline_trace_free(trace);
}

static void overrides_follow_each_other(void **state)
{
    leadline_trace *trace = leadline_trace_read(trace_path);
    leadline_machine *base =
        leadline_machine_read("custom_example", (const char *const[]){"clock=2GHz", NULL});
    leadline_machine *other =
        leadline_machine_with(base, (const char *const[]){"memory.hbm.bandwidth=1TB/s", NULL});
    leadline_result *one = leadline_simulate(other, trace, NULL);
    leadline_result *both = leadline_run(
        "sim",
        (const char *const[]){"c=custom_example", "set=clock=2GHz", "set=memory.hbm.bandwidth=1TB/s", NULL},
        (const char *const[]){trace_path, NULL});
    (void)state;
    assert_non_null(one);
    assert_string_equal(leadline_machine_name(other), "custom_example");
    assert_string_equal(leadline_json(one), leadline_json(both));
    leadline_result_free(one);
    leadline_result_free(both);
    leadline_machine_free(other);
    leadline_machine_free(base);
    leadline_trace_free(trace);
}

static void a_recorded_trace_is_one_from_a_file(void **state)
{
    char path[] = "/tmp/ll_test_api_XXXXXX";
    const char *const options[] = {"dry-run", "infer", "batch=2", NULL};
    leadline_trace *trace = leadline_trace_record("memnet", options), *read;
    (void)state;
    close(mkstemp(path));
    assert_non_null(trace);
    assert_true(leadline_trace_write(trace, path));
    read = leadline_trace_read(path);
    leadline_result *one = simulated("custom_example", trace, NULL),
                    *other = simulated("custom_example", read, NULL);
    double a = 0, b = 1;
    assert_true(leadline_number(one, "time_s", &a) && leadline_number(other, "time_s", &b));
    assert_true(a == b);
    assert_null(leadline_trace_record("memnet", (const char *const[]){"output=x.llt", NULL}));
    leadline_result_free(one);
    leadline_result_free(other);
    leadline_trace_free(read);
    leadline_trace_free(trace);
    unlink(path);
}

/* A thread: its own machine, the trace of all; every tenth call is a mistake. */

enum { CALLS = 10 };

struct task {
    const leadline_trace *trace;
    const leadline_machine *machine;
    const char *expected;
    int failed;
};

static void *call(void *argument)
{
    struct task *task = argument;
    for (int i = 0; i < CALLS; i++) {
        leadline_result *result = leadline_simulate(task->machine, task->trace, NULL);
        task->failed += !result || strcmp(leadline_json(result), task->expected) != 0;
        leadline_result_free(result);
    }
    task->failed += leadline_machine_read("nosuch", NULL) || !strstr(leadline_messages(), "nosuch");
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    leadline_trace *trace = leadline_trace_read(trace_path), *fresh = leadline_trace_read(trace_path);
    leadline_machine *machine = leadline_machine_read("custom_example", NULL);
    leadline_result *alone = leadline_simulate(machine, trace, NULL);
    struct task tasks[2];
    pthread_t threads[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        tasks[i] = (struct task){.trace = fresh, .machine = machine, .expected = leadline_json(alone)};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &tasks[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(tasks[i].failed, 0);
    }
    leadline_result_free(alone);
    leadline_machine_free(machine);
    leadline_trace_free(fresh);
    leadline_trace_free(trace);
}

static void points_of_a_sweep_equal_simulations(void **state)
{
    char path[] = "/tmp/ll_test_api_XXXXXX";
    char root[4096];
    FILE *file = fdopen(mkstemp(path), "w");
    (void)state;
    assert_true(file && getcwd(root, sizeof root));
    fprintf(file,
            "name: two\nbase: custom_example\ntraces: [%s/%s]\nvary:\n  units.array.rows: [32, 64]\n"
            "  clock: [1GHz, 2GHz]\nobjectives: [min time_s]\n",
            root, trace_path);
    fclose(file);
    leadline_space *space = leadline_space_open(path);
    assert_string_equal(leadline_messages(), "");
    assert_int_equal(leadline_space_size(space), 4);
    leadline_result *point = leadline_space_point(space, 3); /* rows 64, 2 GHz */
    leadline_machine *machine = leadline_machine_read(
        "custom_example", (const char *const[]){"units.array.rows=64", "clock=2GHz", NULL});
    leadline_trace *trace = leadline_trace_read(trace_path);
    leadline_result *result = leadline_simulate(machine, trace, NULL);
    double of_point = 0, of_machine = 1;
    assert_non_null(strstr(leadline_json(point), "\"units.array.rows\": \"64\""));
    assert_true(leadline_number(point, "objectives.time_s", &of_point));
    assert_true(leadline_number(result, "time_s", &of_machine));
    assert_true(of_point == of_machine);
    leadline_result *command =
        leadline_run("sweep", (const char *const[]){"point=3", NULL}, (const char *const[]){path, NULL});
    assert_string_equal(leadline_json(point), leadline_json(command));
    leadline_result_free(command);
    assert_null(leadline_space_point(space, 4));
    assert_non_null(strstr(leadline_messages(), "is 3"));
    leadline_result_free(point);
    leadline_result_free(result);
    leadline_trace_free(trace);
    leadline_machine_free(machine);
    leadline_space_free(space);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulation_equals_the_command),
        cmocka_unit_test(numbers_are_there_by_name),
        cmocka_unit_test(mistakes_are_told_with_what_was_expected),
        cmocka_unit_test(overrides_follow_each_other),
        cmocka_unit_test(a_recorded_trace_is_one_from_a_file),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(points_of_a_sweep_equal_simulations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
