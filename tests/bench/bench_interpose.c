/* SPDX-License-Identifier: Apache-2.0 */
/* What recording a foreign call costs: the calling thread, whose product of 13 arguments computes nothing,
 * and the recorder, which reads the rings meanwhile. Programs and libraries are those of tests/interpose. */
#define _GNU_SOURCE
#include "tests/bench/bench.h"
#include "tests/interpose/recording.h"

#include <poll.h>
#include <time.h>

struct cost {
    double call_ns, event_ns;
    uint64_t events, lost;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Runs `what` of the linked program under the library, reading while it runs. */
static struct cost record(const char *preload, const char *folder, const char *what)
{
    struct cost cost = {0};
    struct recording recording;
    struct ll_event event;
    char path[4096];
    int out;
    snprintf(path, sizeof path, "%s/linked_program", folder);
    char *const arguments[] = {path, (char *)what, NULL};
    recording_begin(&recording, 0, true);
    pid_t child = recording_start(&recording, preload, arguments, &out);
    struct pollfd said = {.fd = out, .events = POLLIN};
    uint64_t used_ns = 0;
    do {
        uint64_t before = cpu_ns(), got = 0;
        while (ll_ring_next(recording.reader, &event))
            got++;
        if (got)
            used_ns += cpu_ns() - before;
        cost.events += got;
        ll_ring_wait(recording.reader, 1000000);
    } while (poll(&said, 1, 0) == 0);
    recording_wait(&recording, child, out);
    while (ll_ring_next(recording.reader, &event))
        continue;
    if (ll_ring_process_count(recording.reader))
        cost.lost = ll_ring_process_info(recording.reader, 0).lost;
    cost.call_ns = strtod(recording.output, NULL);
    cost.event_ns = cost.events ? (double)used_ns / (double)cost.events : 0;
    recording_end(&recording);
    return cost;
}

int main(int count, char **arguments)
{
    const char *preload = count == 3 ? arguments[1] : LL_PRELOAD,
               *folder = count == 3 ? arguments[2] : LL_PROGRAMS;
    struct cost alone = record("", folder, "speed"), recorded = record(preload, folder, "speed");
    printf("%-40s %12.2f ns\n", "a call, not recorded", alone.call_ns);
    printf("%-40s %12.2f ns\n", "a call, recorded", recorded.call_ns);
    printf("%-40s %12.2f ns\n", "added to the calling thread", recorded.call_ns - alone.call_ns);
    printf("%-40s %12.2f ns   of %llu events, %llu lost\n", "reading an event", recorded.event_ns,
           (unsigned long long)recorded.events, (unsigned long long)recorded.lost);
    return 0;
}
