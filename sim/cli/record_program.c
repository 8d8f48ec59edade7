/* SPDX-License-Identifier: Apache-2.0 */
/* leadline record -- PROGRAM: starts the program (first section), keeps the folder of its rings, chooses the
 * mechanism by the program's coverage, and reports what was recorded of each process (last). */
#define _GNU_SOURCE
#include "sim/cli/record_program.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/report/table.h"
#include "tracer/base/clock.h"
#include "tracer/base/json.h"
#include "tracer/binary/callsite.h"
#include "tracer/capture/capture.h"

/* As shells answer. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

static volatile sig_atomic_t forward_to;

static void forward(int number)
{
    int error = errno;
    if (forward_to)
        kill((pid_t)forward_to, number);
    errno = error;
}

/* A terminal sends its own signals to both of us; what is sent to us alone goes on to the program. */
static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
static const int ignored[] = {SIGINT, SIGQUIT};

void ll_child_hold_signals(struct ll_child *child)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaddset(&held, passed[i]);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        sigaddset(&held, ignored[i]);
    sigprocmask(SIG_BLOCK, &held, &child->usual);
}

static void child_let_go_signals(const struct ll_child *child)
{
    sigprocmask(SIG_SETMASK, &child->usual, NULL);
}

/* One that a terminal sent before the program was there, it has not got: ignored now, it would be lost. */
static void forward_signals(pid_t pid)
{
    struct sigaction action = {.sa_handler = forward, .sa_flags = SA_RESTART};
    sigset_t waiting;
    sigpending(&waiting);
    forward_to = (sig_atomic_t)pid;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaction(passed[i], &action, NULL);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (sigismember(&waiting, ignored[i]) == 1)
            kill(pid, ignored[i]);
        signal(ignored[i], SIG_IGN);
    }
}

/* Both lists, one behind the other, ended by NULL; the caller frees it. NULL when memory ran out. */
static char **joined(const char *const *first, const char *const *second)
{
    size_t before = 0, count = 0;
    while (first[before])
        before++;
    while (second[count])
        count++;
    char **all = calloc(before + count + 1, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, first, before * sizeof *all);
    memcpy(all + before, second, count * sizeof *all);
    return all;
}

static bool same_variable(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length + 1) == 0;
}

/* The environment, in which the launch's settings take the place of what was set. */
static char **environment_with(const struct ll_launch *launch)
{
    char **all = joined(launch->settings, (const char *const *)environ);
    size_t settings = 0, kept;
    while (launch->settings[settings])
        settings++;
    kept = settings;
    for (size_t i = settings; all && all[i]; i++) {
        bool replaced = false;
        for (size_t s = 0; s < settings; s++)
            replaced |= same_variable(all[s], all[i]);
        if (!replaced)
            all[kept++] = all[i];
    }
    if (all)
        all[kept] = NULL;
    return all;
}

/* Starts it with the signal of a full disk, and those that are held, as they would be without us; an errno, 0
 * on success. */
static int spawn(struct ll_child *child, char **words, char **environment)
{
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    int error = posix_spawnattr_init(&attributes);
    if (error)
        return error;
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setsigmask(&attributes, &child->usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    error = posix_spawnp(&child->pid, words[0], NULL, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int ll_child_start(struct ll_child *child, const char *const *words, const struct ll_launch *launch)
{
    assert(words[0] && child->pid == 0);
    char **all = joined(launch->prefix, words), **environment = environment_with(launch);
    fflush(NULL);
    int error = all && environment ? spawn(child, all, environment) : ENOMEM;
    free(all);
    free(environment);
    if (error) {
        child->pid = 0;
        ll_cli_fail("%s cannot be run: %s", words[0], strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    forward_signals(child->pid);
    child_let_go_signals(child);
    return LL_DONE;
}

bool ll_child_ended(struct ll_child *child, int *status)
{
    assert(child->pid > 0);
    int how;
    pid_t ended = waitpid(child->pid, &how, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    *status = ended < 0 ? LL_FAILED : WIFEXITED(how) ? WEXITSTATUS(how) : BY_SIGNAL + WTERMSIG(how);
    child->ended_by = ended > 0 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    forward_to = 0;
    return true;
}

/* A recorder holds the lock of its folder until it ends, however it ends. So a folder whose lock is free is
 * nobody's: what still runs of a program whose recorder was killed has its rings mapped and needs no names. A
 * lock gets its name when it is held, so a folder in the making has none and is left alone. */

#define PREFIX "leadline-"
#define UNIQUE "XXXXXX"
#define LOCK "recorder.lock"

/* A folder of this user's own, never what a link of somebody else leads to; -1 otherwise. */
static int open_own(int place, const char *name)
{
    struct stat about;
    int folder = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && (fstat(folder, &about) != 0 || about.st_uid != geteuid())) {
        close(folder);
        folder = -1;
    }
    return folder;
}

/* Removes the folder and closes its descriptor. */
static void remove_all(int place, const char *name, int folder)
{
    DIR *all = fdopendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(folder, entry->d_name, 0);
    unlinkat(place, name, AT_REMOVEDIR);
    if (all)
        closedir(all);
    else
        close(folder);
}

/* Descriptor of the lock, -1 when there is none or somebody holds it. */
static int take_lock(int folder, const char *name, int flags)
{
    int lock = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        close(lock);
        lock = -1;
    }
    return lock;
}

static void remove_if_abandoned(int place, const char *name)
{
    int folder = open_own(place, name);
    int lock = folder >= 0 ? take_lock(folder, LOCK, 0) : -1;
    if (lock >= 0)
        remove_all(place, name, folder);
    else if (folder >= 0)
        close(folder);
    if (lock >= 0)
        close(lock);
}

static void remove_abandoned(const char *place)
{
    DIR *all = opendir(place);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            strlen(entry->d_name) == strlen(PREFIX UNIQUE))
            remove_if_abandoned(dirfd(all), entry->d_name);
    if (all)
        closedir(all);
}

/* Without a lock, where the file system has none, the folder is as good, but nobody will clear it away. */
static int hold(const char *path)
{
    int folder = open_own(AT_FDCWD, path);
    int lock = folder >= 0 ? take_lock(folder, LOCK ".new", O_CREAT) : -1;
    if (lock >= 0)
        renameat(folder, LOCK ".new", folder, LOCK);
    if (folder >= 0)
        close(folder);
    return lock;
}

/* Whether a process that runs was started with the folder in its environment, as far as we may read that, and
 * is no tool of ours. */
static bool knows(const char *process, const char *path)
{
    static const char tool[] = "/leadline-probe";
    char name[64], program[4096], text[1 << 16];
    snprintf(name, sizeof name, "/proc/%.20s/environ", process);
    FILE *file = fopen(name, "re");
    size_t got = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    snprintf(name, sizeof name, "/proc/%.20s/exe", process);
    ssize_t length = readlink(name, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(program, '/');
    return memmem(text, got, path, strlen(path) + 1) && !(slash && strcmp(slash, tool) == 0);
}

/* The folder through which a recorded program and its recorder speak: rings of several megabytes, in memory
 * where there is a file system for that. */

struct ll_foreign_folder {
    const char *path; /* in the arena */
    int lock;         /* held as long as the recorder lives */
};

/* How many processes run that were started to be recorded, or by such ones. */
static size_t foreign_folder_users(const struct ll_foreign_folder *folder)
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));)
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && knows(entry->d_name, folder->path);
    if (all)
        closedir(all);
    return count;
}

/* Makes one, and removes those of recorders that were killed. False after saying why not. */
static bool foreign_folder_make(struct ll_foreign_folder *folder, struct ll_arena *arena)
{
    const char *temporary = getenv("TMPDIR");
    const char *const places[] = {"/dev/shm", temporary ? temporary : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *path = ll_format(arena, "%s/" PREFIX UNIQUE, places[i]);
        if (!path || !mkdtemp(path))
            continue;
        *folder = (struct ll_foreign_folder){.path = path, .lock = hold(path)};
        remove_abandoned(places[i]);
        return true;
    }
    ll_cli_fail("there is no place for temporary files: neither /dev/shm nor %s can be written", places[1]);
    return false;
}

static void foreign_folder_remove(struct ll_foreign_folder *folder)
{
    int opened = open_own(AT_FDCWD, folder->path);
    if (opened >= 0)
        remove_all(AT_FDCWD, folder->path, opened);
    if (folder->lock >= 0)
        close(folder->lock);
}

struct ll_library_sites {
    const char *path;
    uint64_t base;
    struct ll_callsites *sites; /* NULL: the file cannot be read */
    struct ll_library_sites *next;
};

/* Call sites of a recorded program as text: the files that it loaded are read when a call from them is first
 * seen. One thread at a time; {0} to begin with. */

struct ll_library_sites;
struct ll_foreign_sites {
    struct ll_arena arena;
    struct ll_library_sites *first;
};

/* NULL when memory ran out. */
static struct ll_library_sites *sites_of(struct ll_foreign_sites *all, const struct ll_ring_library *library)
{
    for (struct ll_library_sites *at = all->first; at; at = at->next)
        if (at->base == library->base && strcmp(at->path, library->path) == 0)
            return at;
    struct ll_library_sites *added = ll_alloc(&all->arena, 1, sizeof *added);
    const char *path = ll_copy_text(&all->arena, library->path, strlen(library->path));
    if (!added || !path)
        return NULL;
    const struct ll_module module = {.path = path, .bias = library->base};
    *added = (struct ll_library_sites){.path = path, .base = library->base, .next = all->first};
    if (ll_callsites_open(&module, 1, &added->sites) != LL_OK)
        added->sites = NULL;
    return all->first = added;
}

/* As struct ll_session_settings wants it; the context is the sites. Lives until they are released. */
static const char *foreign_site(void *sites, const struct ll_ring_library *library, uint64_t address)
{
    struct ll_foreign_sites *all = sites;
    struct ll_library_sites *of = sites_of(all, library);
    const struct ll_callsite *site = of && of->sites ? ll_callsite_find(of->sites, address) : NULL;
    return site ? ll_callsite_text(&all->arena, site) : NULL;
}

/* Frees what was read of the libraries; the struct is not used again. */
static void foreign_sites_release(struct ll_foreign_sites *sites)
{
    for (struct ll_library_sites *at = sites->first; at; at = at->next)
        if (at->sites)
            ll_callsites_release(at->sites);
    ll_arena_release(&sites->arena);
}

/* Two processes: the program, into which the loader puts our library (LD_PRELOAD), and this one, which reads
 * what the library writes into a folder of rings and makes traces of it. The folder is gone in the end. */

#define LOOK_NS 10000000u         /* between looks at whether the program still runs */
#define LONG_WAIT_NS 10000000u    /* shorter waits for the recorder are nothing to tell */
enum { LEAST_ALLOCATION = 2048 }; /* bytes; what is smaller holds no matrix worth following */

/* The command line as one text, as far as it is of use. */
static const char *command_text(const struct ll_args *args)
{
    enum { ENOUGH = 200 };
    struct ll_str text = {0};
    for (size_t i = 0; i < args->word_count && text.length < ENOUGH; i++)
        ll_str_addf(&text, "%s%s", i ? " " : "", args->words[i]);
    size_t length = text.length < ENOUGH ? text.length : ENOUGH;
    while (length < text.length && length > ENOUGH - 4 && ((unsigned char)text.text[length] & 0xc0) == 0x80)
        length--; /* amid a letter of UTF-8 */
    char *copy = text.failed ? NULL : ll_copy_text(args->arena, text.text, length);
    ll_str_release(&text);
    return copy;
}

/* What to tell. */

/* How long a call was in progress is known where the end was seen. */
static void tell_unreturned(const struct ll_session_trace *trace, struct ll_str *out)
{
    struct ll_human time;
    if (trace->unreturned == 1)
        ll_str_addf(out, "; a call of %s had not returned", trace->longest);
    else
        ll_str_addf(out, "; %" PRIu64 " calls had not returned, the first of %s", trace->unreturned,
                    trace->longest);
    if (trace->longest_s > 0)
        ll_str_addf(out, " after %s", ll_format_si(&time, trace->longest_s, "s"));
    ll_str_add(out, " when the program ended");
}

static void tell_trace(const struct ll_session_trace *trace, struct ll_str *out)
{
    struct ll_human flops, wall, covered, calls;
    const struct ll_capture_summary *summary = &trace->summary;
    ll_str_addf(out, "leadline: %s  %s call%s, %s in %s, of which calls cover %s", trace->path,
                ll_format_grouped(&calls, summary->calls), ll_plural(summary->calls),
                ll_format_si(&flops, summary->flops, "FLOP"), ll_format_si(&wall, trace->wall_s, "s"),
                ll_format_percent(&covered, trace->covered));
    if (summary->steps)
        ll_str_addf(out, "; %" PRIu64 " step%s %s", summary->steps, ll_plural(summary->steps),
                    summary->steps_by == LL_STEPS_BY_MARKS ? "by marks" : "found by repetition");
    if (summary->nested)
        ll_str_addf(out, "; %" PRIu64 " nested call%s counted once", summary->nested,
                    ll_plural(summary->nested));
    if (summary->opaque)
        ll_str_addf(out, "; %" PRIu64 " call%s of unknown FLOPs", summary->opaque,
                    ll_plural(summary->opaque));
    if (summary->lost)
        ll_str_addf(out, "; %" PRIu64 " event%s lost, the rings were full", summary->lost,
                    ll_plural(summary->lost));
    if (trace->damaged)
        ll_str_add(out, "; events lost: the program cut off or overwrote the memory that they were in");
    if (summary->waited_ns >= LONG_WAIT_NS)
        ll_str_addf(out, "; the program's threads waited %s for the recorder",
                    ll_format_si(&wall, (double)summary->waited_ns * 1e-9, "s"));
    if (trace->unfollowed)
        ll_str_addf(out, "; memory came and went %" PRIu64 " time%s more than could be followed",
                    trace->unfollowed, ll_plural(trace->unfollowed));
    if (trace->unplaced)
        ll_str_addf(out,
                    "; %" PRIu64
                    " event%s lost, their threads found no room for a ring, or a signal came amid another",
                    trace->unplaced, ll_plural(trace->unplaced));
    if (trace->unresolved)
        ll_str_addf(out, "; %" PRIu64 " call%s unresolved", trace->unresolved, ll_plural(trace->unresolved));
    if (trace->unreturned)
        tell_unreturned(trace, out);
    if (trace->status != LL_OK)
        ll_str_addf(out, "; recording ended early: %s", ll_status_text(trace->status));
    ll_str_add(out, "\n");
}

/* What the machine could have done better, once for all processes that say the same. */
static void tell_core(const struct ll_session_trace *trace, struct ll_str *out)
{
    if (trace->better_core && trace->core_asked_for)
        ll_str_addf(
            out,
            "leadline: OpenBLAS ran its %s kernels because OPENBLAS_CORETYPE asks for them; this CPU can run "
            "%s\n",
            trace->blas_core, trace->better_core);
    else if (trace->better_core)
        ll_str_addf(
            out,
            "leadline: OpenBLAS took this CPU for %s; with OPENBLAS_CORETYPE=%s in the environment it "
            "runs kernels for what the CPU can\n",
            trace->blas_core, trace->better_core);
}

static bool same_core(const struct ll_session_trace *a, const struct ll_session_trace *b)
{
    return a->better_core && b->better_core && a->core_asked_for == b->core_asked_for &&
           strcmp(a->better_core, b->better_core) == 0 && strcmp(a->blas_core, b->blas_core) == 0;
}

static void tell_cores(const struct ll_session_trace *traces, size_t count, struct ll_str *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        while (first < i && !same_core(&traces[first], &traces[i]))
            first++;
        if (first == i)
            tell_core(&traces[i], out);
    }
}

/* As a shell tells of its own commands, not of what users and pipes do on purpose. */
static void tell_signal(int number, const char *program)
{
    if (number > 0 && number != SIGINT && number != SIGPIPE)
        ll_cli_tell("leadline: %s was ended by signal %d: %s\n", program, number, strsignal(number));
}

/* What PyTorch told of the process, where it is one with PyTorch. */
static void tell_torch(const struct ll_session_trace *trace, const struct ll_torch_told *told,
                       struct ll_str *out)
{
    if (told && told->joined)
        ll_str_addf(out, "leadline: %s  is PyTorch's own trace of a step, %" PRIu64 " op%s", trace->path,
                    told->ops, ll_plural(told->ops));
    if (told && told->joined && told->steps)
        ll_str_addf(out, ", of %" PRIu64 " step%s", told->steps, ll_plural(told->steps));
    if (told && told->joined)
        ll_str_addf(out, "%s; --calls keeps the calls instead\n",
                    told->opaque ? ", with operators that are unknown here" : "");
    if (told && told->warning)
        ll_str_addf(
            out,
            "leadline: %s: PyTorch's own trace of a step is missing (%s); leadline info says how to take "
            "one\n",
            trace->path, told->trouble);
}

static void tell(const struct ll_session_trace *traces, size_t count, const struct ll_torch *torch,
                 uint64_t refused, uint64_t unreadable, size_t running, const char *place)
{
    struct ll_str out = {0};
    for (size_t i = 0; i < count; i++) {
        tell_trace(&traces[i], &out);
        tell_torch(&traces[i], ll_torch_of(torch, traces[i].pid), &out);
    }
    tell_cores(traces, count, &out);
    if (running)
        ll_str_addf(
            &out, "leadline: the program has ended; %zu process%s from now on is not recorded\n", running,
            running == 1 ? " of it still runs, and what it does" : "es of it still run, and what they do");
    if (refused)
        ll_str_addf(&out,
                    "leadline: %" PRIu64 " process%s not recorded: no room for rings in %s, or their files "
                    "may not grow so far (ulimit -f)\n",
                    refused, refused == 1 ? "" : "es", place);
    if (unreadable)
        ll_str_addf(&out,
                    "leadline: %" PRIu64
                    " process%s not recorded, or not from the start: the files of rings in "
                    "%s were cut off\n",
                    unreadable, unreadable == 1 ? "" : "es", place);
    if (refused + unreadable == 0 && count == 0)
        ll_str_add(&out,
                   "leadline: nothing was recorded: no call of BLAS, LAPACK or oneDNN was seen; --coverage "
                   "lists the calls that can be intercepted, --mech chooses another mechanism\n");
    if (out.text)
        ll_cli_tell("%s", out.text);
    ll_str_release(&out);
}

static void put_torch(struct ll_json *json, const struct ll_torch_told *told)
{
    ll_json_key(json, "pytorch");
    if (!told) {
        ll_json_null(json);
        return;
    }
    ll_json_open_object(json);
    ll_json_put_bool(json, "joined", told->joined);
    ll_json_put_count(json, "ops", told->ops);
    ll_json_put_count(json, "steps", told->steps);
    ll_json_put_text(json, "trouble", told->trouble);
    ll_json_close_object(json);
}

static void put_trace(struct ll_json *json, const struct ll_session_trace *trace,
                      const struct ll_torch_told *told)
{
    static const char *const by[] = {"none", "marks", "repetition"};
    const struct ll_capture_summary *summary = &trace->summary;
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", trace->path);
    ll_json_put_count(json, "pid", trace->pid);
    ll_json_put_text(json, "trouble", trace->status == LL_OK ? NULL : ll_status_text(trace->status));
    ll_json_put_count(json, "calls", summary->calls);
    ll_json_put_number(json, "flops", summary->flops);
    ll_json_put_number(json, "wall_s", trace->wall_s);
    ll_json_put_number(json, "covered", trace->covered);
    ll_json_put_count(json, "steps", summary->steps);
    ll_json_put_text(json, "steps_by", by[summary->steps_by]);
    ll_json_put_count(json, "gaps", summary->gaps);
    ll_json_put_count(json, "nested", summary->nested);
    ll_json_put_count(json, "opaque", summary->opaque);
    ll_json_put_count(json, "dropped", summary->lost);
    ll_json_put_count(json, "unplaced", trace->unplaced);
    ll_json_put_count(json, "unfollowed", trace->unfollowed);
    ll_json_put_count(json, "damaged", trace->damaged);
    ll_json_put_number(json, "waited_s", (double)summary->waited_ns * 1e-9);
    ll_json_put_count(json, "unreturned", trace->unreturned);
    ll_json_put_text(json, "unreturned_longest", trace->longest);
    ll_json_put_number(json, "unreturned_s", trace->longest_s);
    ll_json_put_count(json, "unresolved", trace->unresolved);
    ll_json_put_text(json, "blas_core", trace->blas_core);
    ll_json_put_text(json, "better_core", trace->better_core);
    put_torch(json, told);
    ll_json_close_object(json);
}

static int print_json(const struct ll_session_trace *traces, size_t count, const struct ll_torch *torch,
                      size_t running, int status)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "record_program", 1);
    ll_json_put_integer(&json, "exit_status", status);
    ll_json_put_count(&json, "still_running", running);
    ll_json_key(&json, "traces");
    ll_json_open_list(&json);
    for (size_t i = 0; i < count; i++)
        put_trace(&json, &traces[i], ll_torch_of(torch, traces[i].pid));
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

/* Runs. */

/* Takes in what the program does until it has ended; its exit status. */
static int follow(struct ll_child *child, struct ll_session *session)
{
    int status;
    while (!ll_child_ended(child, &status)) {
        ll_session_drain(session);
        ll_session_wait(session, LOOK_NS);
    }
    return status;
}

/* Our libraries lie in one folder. */
static enum ll_status prepare(const struct ll_args *args, const struct ll_foreign_plan *plan,
                              const char *library, const char *folder, struct ll_launch *launch)
{
    struct ll_arena *arena = args->arena;
    const char *tools = ll_copy_text(arena, library, (size_t)(strrchr(library, '/') - library));
    if (!tools)
        return LL_NO_MEMORY;
    enum ll_status status = ll_launch_prepare(arena, &plan->coverage, plan->mechanism, tools, folder, launch);
    return status == LL_OK && !ll_flag(args, "calls") ? ll_torch_prepare(arena, folder, launch) : status;
}

static const char *output_of(const struct ll_args *args)
{
    return ll_output_of_rank(ll_value(args, "output", "program.llt"), args->arena);
}

/* The program's own exit status; where that is 0 and a trace is not whole or missing, it is not all well. */
static int status_with(int status, const struct ll_session_trace *traces, size_t count, uint64_t refused)
{
    bool whole = refused == 0;
    for (size_t i = 0; i < count; i++)
        whole = whole && traces[i].status == LL_OK &&
                traces[i].summary.lost + traces[i].unplaced + traces[i].damaged == 0;
    return status == LL_DONE && !whole ? LL_FAILED : status;
}

/* Where nothing was recorded, whether a trace stands there that whoever goes on would take for this one. */
static bool is_of_before(const char *output)
{
    bool there = access(output, F_OK) == 0;
    if (there)
        ll_cli_tell("leadline: %s was there before, and is of another recording\n", output);
    return there;
}

/* Records one program: makes its rings, starts it, follows it to its end, closes the session, joins
 * PyTorch's own trace and reports. The exit status is the program's, unless something of ours failed. */
static int record_in(const struct ll_foreign_folder *rings_folder, const char *library,
                     const struct ll_foreign_plan *plan, const struct ll_args *args, struct ll_torch *torch,
                     struct ll_child *child)
{
    const char *folder = rings_folder->path;
    struct ll_foreign_sites sites = {0};
    struct ll_session_settings settings = {.folder = folder,
                                           .output = output_of(args),
                                           .command = torch->command,
                                           .site = foreign_site,
                                           .context = &sites,
                                           .warning = ll_flag(args, "calls") ? NULL : ll_torch_warning,
                                           .warning_context = torch};
    const struct ll_ring_settings rings = {.least_allocation = LEAST_ALLOCATION,
                                           .lossy = ll_flag(args, "lossy")};
    enum ll_status trouble = settings.command ? ll_ring_create(folder, &rings) : LL_NO_MEMORY;
    if (trouble != LL_OK)
        return ll_cli_fail("%s: %s", folder, ll_status_text(trouble));
    struct ll_launch launch;
    trouble = prepare(args, plan, library, folder, &launch);
    if (trouble != LL_OK)
        return ll_cli_fail("%s: %s", folder, ll_status_text(trouble));
    struct ll_session *session = ll_session_open(&settings, &trouble);
    if (!session)
        return ll_cli_fail("%s: %s", folder, ll_status_text(trouble));
    settings.started_ns = ll_now_ns();
    int status = ll_child_start(child, args->words, &launch);
    settings.pid = (uint64_t)child->pid;
    if (status == LL_DONE)
        status = follow(child, session);
    settings.ended_ns = ll_now_ns();
    settings.killed = child->ended_by != 0;
    struct ll_session_trace *traces;
    size_t count;
    uint64_t refused = ll_session_refused(session), unreadable = ll_session_unreadable(session);
    bool told = ll_session_close(session, args->arena, &traces, &count);
    foreign_sites_release(&sites);
    if (told && !ll_flag(args, "calls"))
        told = ll_torch_join(torch, settings.output, &traces, &count);
    if (!told)
        return ll_cli_fail("memory ran out");
    if (child->pid == 0)
        return status;
    tell_signal(child->ended_by, args->words[0]);
    size_t running = foreign_folder_users(rings_folder);
    tell(traces, count, torch, refused, unreadable, running, folder);
    int printed = ll_flag(args, "json") ? print_json(traces, count, torch, running, status) : LL_DONE;
    if (status == LL_DONE && printed != LL_DONE)
        return printed;
    if (count == 0 && is_of_before(settings.output))
        return status == LL_DONE ? LL_FAILED : status;
    return status_with(status, traces, count, refused + unreadable);
}

static bool read_mechanism(const struct ll_args *args, struct ll_foreign_plan *plan)
{
    const char *names[LL_MECHANISM_COUNT], *given = ll_value(args, "mech", NULL);
    for (enum ll_mechanism i = 0; i < LL_MECHANISM_COUNT; i++)
        names[i] = ll_mechanism_name(i);
    if (!given || ll_mechanism_find(given, &plan->mechanism))
        return true;
    ll_cli_reject_unknown("mechanism", given, names, LL_MECHANISM_COUNT, "leadline record --help");
    return false;
}

/* The routines whose calls are ops. From outside, what a oneDNN primitive does cannot be read. */
static size_t choose_names(const char **names, bool is_static)
{
    size_t count = 0;
    for (uint32_t i = 0; i < LL_SYMBOL_COUNT; i++) {
        const struct ll_symbol_row *row = ll_symbol_row(i);
        bool primitive = row->routine == LL_ROUTINE_DNN_PRIMITIVE;
        if (!primitive || (!is_static && i == LL_SYMBOL_dnnl_primitive_execute))
            names[count++] = row->name;
    }
    return count;
}

static enum ll_status read_coverage(struct ll_arena *arena, const char *program, struct ll_foreign_plan *plan)
{
    const struct ll_file_search search = {getenv("PATH"), getenv("LD_LIBRARY_PATH"), getenv("LD_PRELOAD")};
    const char **names = ll_alloc(arena, LL_SYMBOL_COUNT, sizeof *names);
    enum ll_status status = names ? ll_closure_read(arena, program, &search, &plan->closure) : LL_NO_MEMORY;
    if (status != LL_OK) {
        plan->closure.count = 0;
        return status;
    }
    size_t count = choose_names(names, !plan->closure.binaries[0].elf->dynamic);
    status = ll_coverage_find(arena, &plan->closure, names, count, &plan->coverage);
    if (status == LL_OK)
        plan->mechanism = plan->coverage.mechanism;
    return status;
}

int ll_show_coverage(const struct ll_args *args)
{
    assert(args->word_count > 0);
    struct ll_foreign_plan plan = {0};
    struct ll_str out = {0};
    enum ll_status status = read_coverage(args->arena, args->words[0], &plan);
    if (status != LL_OK)
        return status == LL_NO_FILE ? ll_cli_reject("%s: %s", args->words[0], ll_status_text(status))
                                    : ll_cli_fail("%s: %s", args->words[0], ll_status_text(status));
    if (!read_mechanism(args, &plan))
        return LL_WRONG;
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_coverage_json(&json, &plan.coverage, plan.mechanism);
    } else {
        ll_coverage_text(&out, &plan.coverage, plan.mechanism);
    }
    return ll_print(&out);
}

/* The program that sets breakpoints is asked itself: it knows whether they are permitted. */
static bool may_probe(struct ll_arena *arena)
{
    const char *library = ll_preload_library(arena), *slash = library ? strrchr(library, '/') : NULL;
    char *probe = slash ? ll_format(arena, "%.*s/leadline-probe", (int)(slash - library), library) : NULL;
    int status;
    pid_t pid;
    if (!probe || posix_spawn(&pid, probe, NULL, NULL, (char *[]){probe, NULL}, environ) != 0)
        return false;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Reads the program that the words name and what it loads. LL_DONE, or LL_WRONG or LL_FAILED after saying
 * what is wrong with --mech or why such a program cannot be recorded. */
static int plan_foreign(const struct ll_args *args, struct ll_foreign_plan *plan)
{
    const char *program = args->words[0];
    *plan = (struct ll_foreign_plan){0};
    enum ll_status status = read_coverage(args->arena, program, plan);
    if (status == LL_NO_MEMORY)
        return ll_cli_fail("%s", ll_status_text(status));
    if (!read_mechanism(args, plan))
        return LL_WRONG;
    const struct ll_coverage *coverage = &plan->coverage;
    if (plan->closure.count > 0 && plan->mechanism == LL_MECHANISM_PROBE && !may_probe(args->arena))
        return ll_cli_fail("%s%s: breakpoints are not permitted here (ptrace)", program,
                           coverage->is_static ? " is static, and nothing can be loaded into it" : "");
    if (plan->closure.count == 0 || !coverage->is_static)
        return LL_DONE;
    if (plan->mechanism != LL_MECHANISM_PROBE)
        return ll_cli_fail("%s is static: nothing can be loaded into it, only --mech=probe sees its calls",
                           program);
    if (!coverage->possible)
        return ll_cli_fail("%s is static and %s; link it dynamically%s", program,
                           coverage->stripped ? "has no symbols: nothing tells where its routines begin"
                                              : "holds none of the routines that are recorded",
                           coverage->stripped ? ", or do not strip it" : "");
    return LL_DONE;
}

/* One line to standard error where recording is not as plain as can be: another mechanism than preloading, or
 * calls that will not be seen. */
static void tell_plan(const struct ll_foreign_plan *plan)
{
    const struct ll_coverage *coverage = &plan->coverage;
    if (plan->closure.count == 0 || coverage->route_count == 0)
        return;
    size_t seen = ll_coverage_seen(coverage, plan->mechanism);
    if (plan->mechanism == LL_MECHANISM_PRELOAD && seen == coverage->route_count)
        return;
    ll_cli_tell("leadline: mechanism %s sees %zu of %zu kinds of calls (--coverage lists them)\n",
                ll_mechanism_name(plan->mechanism), seen, coverage->route_count);
}

int ll_record_foreign(const struct ll_args *args)
{
    const char *library = ll_preload_library(args->arena);
    if (!library)
        return ll_cli_fail("libleadline-preload.so is not where this program was built or installed");
    struct ll_foreign_plan plan;
    int planned = plan_foreign(args, &plan);
    if (planned != LL_DONE)
        return planned;
    const char *output = output_of(args);
    if (!output)
        return ll_cli_fail("memory ran out");
    if (!ll_can_write(output))
        return LL_FAILED;
    struct ll_child child = {0};
    ll_child_hold_signals(&child);
    struct ll_foreign_folder folder;
    int status = LL_FAILED;
    if (foreign_folder_make(&folder, args->arena)) {
        struct ll_torch torch = {.arena = args->arena, .folder = folder.path, .command = command_text(args)};
        tell_plan(&plan);
        status = record_in(&folder, library, &plan, args, &torch, &child);
        ll_torch_release(&torch);
        foreign_folder_remove(&folder);
    }
    child_let_go_signals(&child);
    return status;
}
