/* SPDX-License-Identifier: Apache-2.0 */
/* A program to be recorded: products SIZE TIMES [WHAT]. It multiplies, prints what it read and a number of
 * the result, and ends as asked: `fork` lets a child do the same first, `threads` forty threads in turn,
 * `limit` forty at a time when no file may grow any more, `die` kills itself, `late` stays for another
 * second, `exec` begins again as another program, `within` kills itself inside a call, a number is the exit
 * status. */
#define _POSIX_C_SOURCE 200809L
#include <cblas.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

static double multiply(int size, int times)
{
    size_t count = (size_t)size * (size_t)size;
    double *a = calloc(count, sizeof *a), *b = calloc(count, sizeof *b), *c = calloc(count, sizeof *c);
    if (!a || !b || !c)
        abort();
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = 1;
    for (int i = 0; i < times; i++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, a, size, b, size, 0, c,
                    size);
    double result = c[0];
    free(a);
    free(b);
    free(c);
    return result;
}

/* Asked by BLAS in place of its own function, which prints, when an argument is wrong. */
void xerbla_(const char *name, const int *argument, size_t length);
void xerbla_(const char *name, const int *argument, size_t length)
{
    (void)name, (void)argument, (void)length;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    raise(SIGKILL);
}

static void die_within(void)
{
    double a[4] = {0}, b[4] = {0}, c[4] = {0};
    const double one = 1;
    const int two = 2, too_small = 1;
    dgemm_("N", "N", &two, &two, &two, &one, a, &too_small, b, &two, &one, c, &two);
}

enum { THREADS = 40 };
static pthread_barrier_t all;

static void *multiply_once(void *size)
{
    multiply(*(const int *)size, 1);
    return NULL;
}

static void *multiply_and_stay(void *size)
{
    multiply(*(const int *)size, 1);
    pthread_barrier_wait(&all);
    return NULL;
}

static void use_threads(int size)
{
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, multiply_once, &size) != 0)
            abort();
        pthread_join(thread, NULL);
    }
}

static void use_threads_together(int size)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, multiply_and_stay, &size) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    char line[64] = "nothing\n";
    const char *what = argc > 3 ? argv[3] : "0";
    if (argc < 3)
        return 2;
    if (strcmp(what, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            multiply(atoi(argv[1]), atoi(argv[2]));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (strcmp(what, "threads") == 0)
        use_threads(atoi(argv[1]));
    double result = multiply(atoi(argv[1]), atoi(argv[2]));
    if (!fgets(line, sizeof line, stdin))
        line[0] = '\0';
    printf("%g %s", result, line);
    fflush(stdout);
    if (strcmp(what, "limit") == 0 && setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000}) == 0)
        use_threads_together(atoi(argv[1]));
    if (strcmp(what, "within") == 0)
        die_within();
    if (strcmp(what, "die") == 0)
        raise(SIGKILL);
    if (strcmp(what, "late") == 0)
        sleep(1);
    if (strcmp(what, "exec") == 0)
        execl("/proc/self/exe", argv[0], argv[1], argv[2], (char *)NULL);
    return atoi(what);
}
