/* SPDX-License-Identifier: Apache-2.0 */
/* leadline-mpi: one sweep by many processes.
 *
 * There is no master: each process begins with a piece of its own, then a counter in the memory of rank 0,
 * which all may fetch and raise, says which piece of the sweep comes next. Results never travel, but for
 * searches that learn from them; each process has a database of its own, and rank 0 joins them at the end.
 * This is the one file that includes MPI. */
#define _POSIX_C_SOURCE 200809L

#include "sim/cli/command.h"
#include "sim/cli/commands.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    MPI_Win window;
    uint64_t *counter; /* of rank 0 */
    int rank, size;
    int errors; /* while this process is quiet: where its standard error went; else -1 */
} shared = {.errors = -1};

/* What is wrong with the command line and the sweep file is wrong for all: rank 0 says it. The others are
 * quiet until all have agreed that nothing is. */
static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    shared.errors = dup(STDERR_FILENO);
    if (nowhere >= 0 && shared.errors >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
    if (nowhere >= 0)
        close(nowhere);
}

static void speak(void)
{
    fflush(stderr);
    if (shared.errors >= 0)
        dup2(shared.errors, STDERR_FILENO);
}

/* Waits for an exchange without taking the processor: MPI itself would look again and again. Others may need
 * seconds, so the pauses grow. */
static void wait_for(MPI_Request *request)
{
    enum { SHORTEST_NS = 20000, LONGEST_NS = 5000000 };
    struct timespec pause = {.tv_nsec = SHORTEST_NS};
    int done = 0;
    for (MPI_Test(request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(request, &done, MPI_STATUS_IGNORE)) {
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < LONGEST_NS / 2 ? 2 * pause.tv_nsec : LONGEST_NS;
    }
}

static void meet(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_for(&request);
}

static uint64_t take(void *context)
{
    const uint64_t one = 1;
    uint64_t before = 0;
    MPI_Request request;
    (void)context;
    MPI_Rget_accumulate(&one, 1, MPI_UINT64_T, &before, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, MPI_SUM,
                        shared.window, &request);
    wait_for(&request);
    return before;
}

static void add_up(void *context, double *values, size_t count)
{
    enum { PIECE = 1 << 20 }; /* counts of MPI are int */
    (void)context;
    for (size_t i = 0; i < count; i += PIECE) {
        MPI_Request request;
        MPI_Iallreduce(MPI_IN_PLACE, values + i, (int)(count - i < PIECE ? count - i : PIECE), MPI_DOUBLE,
                       MPI_SUM, MPI_COMM_WORLD, &request);
        wait_for(&request);
    }
}

/* The worst status of all. */
static int agree(void *context, int status)
{
    int worst = status;
    MPI_Request request;
    (void)context;
    MPI_Iallreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    wait_for(&request);
    if (worst == LL_DONE)
        speak();
    return worst;
}

static int run(const struct ll_args *args)
{
    const struct ll_sweep_crew crew = {.rank = (unsigned)shared.rank,
                                       .size = (unsigned)shared.size,
                                       .take = take,
                                       .add_up = add_up,
                                       .agree = agree};
    return ll_run_sweep(args, &crew);
}

static void share_counter(void)
{
    MPI_Win_allocate(shared.rank == 0 ? sizeof *shared.counter : 0, sizeof *shared.counter, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &shared.counter, &shared.window);
    if (shared.rank == 0)
        *shared.counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, shared.window);
}

static int work(int argc, char **argv)
{
    struct ll_command command = ll_command_sweep;
    command.run = run;
    if (argc < 2 || strcmp(argv[1], command.name) != 0)
        return ll_cli_reject("leadline-mpi does one thing: leadline-mpi sweep SWEEP.yaml -o R.db");
    share_counter();
    int status = ll_end(ll_command_run(&command, argc - 1, argv + 1));
    if (status == LL_FAILED)
        MPI_Abort(MPI_COMM_WORLD, status); /* the others may wait for this process */
    meet();                                /* the first may still join what all have found */
    MPI_Win_unlock_all(shared.window);
    MPI_Win_free(&shared.window);
    return status;
}

/* Who waits gives its core away: there may be more processes than cores, and one of them is still computing.
 */
int main(int argc, char **argv)
{
    int provided;
    if (!ll_hold_streams())
        return LL_FAILED;
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    signal(SIGXFSZ, SIG_IGN);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &shared.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &shared.size);
    if (shared.rank > 0)
        be_quiet();
    int status = work(argc, argv);
    MPI_Finalize();
    return status;
}
