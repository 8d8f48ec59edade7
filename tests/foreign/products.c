/* SPDX-License-Identifier: Apache-2.0 */
/* A program to be recorded: products SIZE TIMES [WHAT]. It multiplies, prints what it read and a number of
 * the result, and ends as asked: `fork` lets a child do the same first, `threads` forty threads in turn,
 * `limit` the same when no file may grow any more, `die` kills itself, `late` stays for another second,
 * `exec` begins again as another program, a number is the exit status. */
#include <cblas.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void *multiply_once(void *size)
{
    multiply(*(const int *)size, 1);
    return NULL;
}

static void use_threads(int size)
{
    enum { THREADS = 40 };
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, multiply_once, &size) != 0)
            abort();
        pthread_join(thread, NULL);
    }
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
        use_threads(atoi(argv[1]));
    if (strcmp(what, "die") == 0)
        raise(SIGKILL);
    if (strcmp(what, "late") == 0)
        sleep(1);
    if (strcmp(what, "exec") == 0)
        execl("/proc/self/exe", argv[0], argv[1], argv[2], (char *)NULL);
    return atoi(what);
}
