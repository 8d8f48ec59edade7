/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with a BLAS: linked_program WHAT does one thing that such programs do. Its status
 * is 0 when all results were what they are without recording. */
#define _GNU_SOURCE
#include "tests/interpose/blas.h"
#include "tracer/interpose/leadline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static bool products(int count)
{
    for (int i = 0; i < count; i++)
        if (blas_product() != 1)
            return false;
    return true;
}

static int calls(void)
{
    float c[6] = {0}, a[6] = {0}, b[4] = {0};
    cblas_sgemm(101, 111, 112, 3, 2, 2, 2, a, 2, b, 2, 0.5f, c, 2);
    errno = 1234;
    double x[9] = {1}, y[3] = {2};
    const int n = 3, four = 4, one = 1;
    bool right = products(1) && ddot_(&n, x, &four, y, &one) == 6;
    return !(right && errno == 1234 && c[0] == 7);
}

/* Sizes that 32 bits do not hold; nothing looks at what they would be of. */
static int wide(void)
{
    double a[1] = {0}, b[1] = {0}, c[1] = {0}, x[1] = {1};
    const long n = 5000000000, one = 1;
    scipy_cblas_dgemm64_(101, 111, 111, n, 2, 3, 1, a, 3, b, 2, 0, c, 2);
    return c[0] != 5000000005.0 || ddot_64_(&n, x, &one, x, &one) != 5000000002.0;
}

/* Whichever way a function returns. */
static int returns(void)
{
    const int n = 1, twice = 2, back = -1;
    const float small = 0;
    double x = 3, y = 5, result[2] = {0};
    bool right = snrm2_(&n, &small, &n) == 0.1;
    zdotc_(result, &n, &x, &twice, &y, &back);
    return !(right && result[0] == 7 && result[1] == -5 && products(1));
}

/* A recorder must not seem to be the routine that is missing. */
static int asks_weakly(void)
{
    return blas_has_more() != 2 || !products(1);
}

static int nested(void)
{
    const int n = 2, one = 1;
    double a[4], b[2];
    int pivots[2], info = 0;
    dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
    return info != 2;
}

static int question(void)
{
    const int n = 2, ask = -1, least = -2, enough = 64;
    double a[4], tau[2], work[64];
    int info;
    dgeqrf_(&n, &n, a, &n, tau, work, &ask, &info);
    if (work[0] != 64)
        return 1;
    dgeqrf_(&n, &n, a, &n, tau, work, &least, &info);
    dgeqrf_(&n, &n, a, &n, tau, work, &enough, &info);
    return info;
}

static int forks(void)
{
    if (!products(3))
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(!products(2));
    int status;
    return waitpid(child, &status, 0) != child || status != 0 || !products(1);
}

static int exits_early(void)
{
    bool right = products(5);
    _exit(right ? 7 : 1);
}

static int is_killed(void)
{
    products(5);
    raise(SIGKILL);
    return 1;
}

static void kill_all(void)
{
    raise(SIGKILL);
}

static int is_killed_within(void)
{
    const int one = 1;
    double x[1] = {0};
    blas_error = kill_all;
    dscal_(&one, x, x, &one);
    return !products(1);
}

static void *call_often(void *count)
{
    return products(*(int *)count) ? count : NULL;
}

static bool run_threads(int threads, int count)
{
    pthread_t thread[64];
    bool right = true;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, call_often, &count) != 0)
            exit(1);
    for (int i = 0; i < threads; i++) {
        void *result;
        pthread_join(thread[i], &result);
        right &= result != NULL;
    }
    return right;
}

static int threads(void)
{
    return !run_threads(8, 1000);
}

static int short_threads(void)
{
    bool right = true;
    for (int i = 0; i < 50; i++)
        right &= run_threads(1, 2);
    return !right;
}

static jmp_buf before;

static void jump(void)
{
    longjmp(before, 1);
}

static int jumps(void)
{
    const int one = 1;
    double x[1] = {0};
    blas_error = jump;
    if (setjmp(before) == 0)
        dscal_(&one, x, x, &one);
    return !products(2);
}

/* What goes on after a jump may lie deeper on the stack than the call that was jumped out of. */
static __attribute__((noinline)) bool deep_products(int count)
{
    volatile char room[65536];
    room[0] = 0;
    return products(count) && room[0] == 0;
}

static int jumps_deeper(void)
{
    const int one = 1;
    double x[1] = {0};
    blas_error = jump;
    if (setjmp(before) == 0)
        dscal_(&one, x, x, &one);
    blas_error = NULL;
    return !deep_products(10);
}

static sigjmp_buf loop;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(loop, 1);
}

/* Out of whatever is going on, at times amid a record. */
static int jumps_from_handlers(void)
{
    const struct itimerval soon = {.it_value = {0, 20}};
    volatile int jumps = 0;
    bool right = products(1);
    signal(SIGALRM, jump_back);
    sigsetjmp(loop, 1);
    if (jumps++ < 300) {
        setitimer(ITIMER_REAL, &soon, NULL);
        for (;;)
            blas_product();
    }
    leadline_mark_step();
    return !(products(10) && right);
}

static int floods(void)
{
    return !products(20000);
}

static volatile sig_atomic_t handled;

static void on_alarm(int number)
{
    (void)number;
    handled += blas_product() == 1;
}

static int signals(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct timespec begin, now;
    timer_t timer;
    long done = 0; /* handlers come while the first call is set up, too */
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec often = {{0, 50000}, {0, 50000}};
    sigaction(SIGALRM, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &often, NULL) != 0)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        done += products(1);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 100000000);
    timer_delete(timer);
    printf("%ld\n", done + handled);
    return handled == 0;
}

static int steps(void)
{
    bool right = true;
    for (int i = 0; i < 3; i++) {
        leadline_mark_step();
        right &= products(2);
    }
    return !right;
}

static int takes_memory(void)
{
    bool right = products(1);
    char *large = malloc(100000), *small = malloc(100);
    char *moved = realloc(large, 200000);
    char *zeros = calloc(1000, 100);
    void *aligned = NULL;
    right &= posix_memalign(&aligned, 4096, 50000) == 0 && (size_t)aligned % 4096 == 0;
    for (int i = 0; zeros && i < 100000; i++)
        right &= zeros[i] == 0;
    free(small);
    free(moved);
    free(zeros);
    free(aligned);
    return !right || !moved || !zeros;
}

/* By functions that few programs use. */
static int takes_pages(void)
{
    bool right = products(1);
    void *pages[] = {memalign(4096, 300000), valloc(400000), pvalloc(499712)};
    void *mapped = mmap(NULL, 600000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    right &= pages[0] && pages[1] && pages[2] && mapped != MAP_FAILED && munmap(mapped, 600000) == 0;
    for (int i = 0; i < 3; i++)
        free(pages[i]);
    return !right;
}

/* Memory comes and goes between its calls, more often than a small ring holds. */
static int churns_memory(void)
{
    bool right = true;
    for (int i = 0; i < 100; i++) {
        right &= products(1);
        for (int k = 0; k < 100; k++)
            free(malloc(5000));
    }
    return !right;
}

static int closes_all(void)
{
    bool right = products(1);
    for (int file = 3; file < 256; file++)
        close(file);
    return !(run_threads(2, 3) && right);
}

static int small_files(void)
{
    const struct rlimit limit = {1000, 1000};
    return setrlimit(RLIMIT_FSIZE, &limit) != 0 || !products(3);
}

static int becomes_another(void)
{
    if (!products(1))
        return 1;
    execl("/proc/self/exe", "linked_program", "calls", (char *)NULL);
    return 1;
}

static ucontext_t main_context;
static bool small_right;

static void call_once(void)
{
    small_right = products(1);
}

/* The first call comes from a coroutine whose stack ends where nothing may be written. */
static int has_small_stack(void)
{
    enum { STACK = 8192, GUARD = 4096 };
    ucontext_t context;
    char *stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) != 0 || getcontext(&context) != 0)
        return 1;
    context.uc_stack = (stack_t){.ss_sp = stack + GUARD, .ss_size = STACK};
    context.uc_link = &main_context;
    makecontext(&context, call_once, 0);
    return swapcontext(&main_context, &context) != 0 || !small_right;
}

/* From now on any system call of any thread but the end of all ends the process. */
static bool forbid_system_calls(void)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static _Atomic int run, forbidden, were_right;

/* Calls for the first time when nothing is permitted any more. */
static void *call_late(void *unused)
{
    const int n = 3, one = 1;
    double x[3] = {1}, y[3] = {2};
    run++;
    while (!atomic_load(&forbidden))
        continue;
    bool right = ddot_(&n, x, &one, y, &one) == 6; /* where another thread looks as well */
    were_right += products(2000) && right;
    for (;;)
        continue;
    return unused;
}

static int forbids(void)
{
    enum { THREADS = 2 };
    const int n = 3, one = 1;
    double x[3] = {1}, y[3] = {2};
    pthread_t thread;
    bool right = products(1);
    for (int i = 0; i < THREADS; i++)
        right &= pthread_create(&thread, NULL, call_late, NULL) == 0;
    while (atomic_load(&run) < THREADS)
        continue;
    if (!forbid_system_calls())
        _exit(77);
    forbidden = 1;
    right &= products(2000) && ddot_(&n, x, &one, y, &one) == 6; /* and from a new place */
    while (atomic_load(&were_right) < THREADS)
        continue;
    _exit(!right);
}

/* Cuts the files off that its rings are in. */
static int cuts(void)
{
    const char *place = getenv("LEADLINE_RINGS");
    DIR *folder = place ? opendir(place) : NULL;
    bool right = products(1);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int file = entry->d_name[0] == '.' ? -1 : openat(dirfd(folder), entry->d_name, O_WRONLY | O_TRUNC);
        if (file >= 0)
            close(file);
    }
    return !(right && products(100));
}

/* Nanoseconds of a call, least of many short loops; for the bench. */
static int speed(void)
{
    enum { ROUNDS = 2000, CALLS = 500 };
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        if (!products(CALLS))
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
        least = ns / CALLS < least ? ns / CALLS : least;
        const struct timespec rest = {0, 200000};
        if (i % 8 == 7)
            nanosleep(&rest, NULL);
    }
    printf("%.2f\n", least);
    return 0;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } things[] = {
        {"calls", calls},
        {"nested", nested},
        {"question", question},
        {"forks", forks},
        {"exits", exits_early},
        {"killed", is_killed},
        {"threads", threads},
        {"short", short_threads},
        {"jumps", jumps},
        {"floods", floods},
        {"signals", signals},
        {"steps", steps},
        {"memory", takes_memory},
        {"closes", closes_all},
        {"limited", small_files},
        {"execs", becomes_another},
        {"speed", speed},
        {"wide", wide},
        {"weak", asks_weakly},
        {"small", has_small_stack},
        {"returns", returns},
        {"churns", churns_memory},
        {"deeper", jumps_deeper},
        {"within", is_killed_within},
        {"handlers", jumps_from_handlers},
        {"pages", takes_pages},
        {"forbids", forbids},
        {"cuts", cuts},
    };
    for (size_t i = 0; count == 2 && i < sizeof things / sizeof *things; i++)
        if (strcmp(arguments[1], things[i].name) == 0)
            return things[i].run();
    return 2;
}
