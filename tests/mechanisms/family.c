/* SPDX-License-Identifier: Apache-2.0 */
/* A static program of many: threads that call, a child that forks a child of its own, one killed amid its
 * calls, one that becomes another program (this one again, with a word), and more threads in turn than there
 * are rings. Each calls FAMILY_CALLS times; status 3 when all sums are right and all children ended as they
 * should. */
#define _GNU_SOURCE
#include "family.h"
#include "tiny.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RIGHT = 3, WRONG = 1 };

static int add_up(void)
{
    double sum = 0;
    const double one = 1;
    for (int i = 0; i < FAMILY_CALLS; i++)
        cblas_daxpy(1, 1, &one, 1, &sum, 1);
    return sum == FAMILY_CALLS ? RIGHT : WRONG;
}

static void *run_thread(void *wrong)
{
    if (add_up() != RIGHT)
        *(volatile int *)wrong = 1;
    return NULL;
}

/* So many threads at once; whether all were right. */
static int run_threads(int count)
{
    pthread_t threads[FAMILY_THREADS];
    int wrong = 0;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_thread, &wrong) != 0)
            return 0;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return !wrong;
}

static int status_of(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

/* A child whose child calls as well. */
static int have_grandchild(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(add_up());
    return WEXITSTATUS(status_of(child)) == RIGHT ? add_up() : WRONG;
}

static int have_children(const char *self)
{
    pid_t child = fork();
    if (child == 0)
        _exit(have_grandchild());
    if (WEXITSTATUS(status_of(child)) != RIGHT)
        return 0;
    child = fork();
    if (child == 0) {
        add_up();
        raise(SIGKILL);
    }
    if (WTERMSIG(status_of(child)) != SIGKILL)
        return 0;
    child = vfork();
    if (child == 0) {
        execl(self, self, "alone", (char *)NULL);
        _exit(WRONG);
    }
    return WEXITSTATUS(status_of(child)) == RIGHT;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return add_up();
    int right = add_up() == RIGHT && run_threads(FAMILY_THREADS) && have_children(argv[0]);
    for (int i = 0; i < FAMILY_SHORT; i++)
        right &= run_threads(1);
    return right ? RIGHT : WRONG;
}
