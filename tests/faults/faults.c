/* SPDX-License-Identifier: Apache-2.0 */
/* Every command, refused memory or its files at every site that asks for them: once there alone, and once
 * there and ever after.
 *
 *     faults LEADLINE INJECTOR COMMANDS SOURCES memory|files [MOST SAMPLE SEED]
 *
 * COMMANDS has a command a line, run in a folder of its own that has the inputs in in/:
 *
 *     prepare: WORDS      makes an input, in in/ itself
 *     over FILE: WORDS    FILE of in/ stands in the folder before, and is a file of the command's afterwards
 *     varies: WORDS       times are measured, so what it prints is another each time
 *     slow: WORDS         takes long: without MOST fewer of its sites are tried
 *     WORDS
 *
 * What may come of it: the same output, or status 1 or 2 with one sentence on standard error. What may not:
 * a signal, another output with status 0, a word of damage about sound files, a file lost or left behind.
 *
 * Of each site the first call fails (run_first). With MOST every call up to that number does, and of those
 * beyond a SAMPLE drawn by SEED. Status 1 when anything was wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Libraries of others that end the process, or fall silent, when they are refused memory, where nothing on
 * our side can help it. A site counts as theirs when the innermost caller outside of libc is. */
static const struct {
    const char *library, *why;
} excused[] = {
    {"libopenblas", "its buffers and threads: prints and exits, or writes through NULL"},
    {"libgfortran", "OpenBLAS loads it; what it makes when it is loaded it does not look at"},
    {"libquadmath", "likewise"},
};

enum { MOST_WORDS = 64, MOST_COMMANDS = 200, MOST_SLOTS = 64, PATIENCE_S = 20, MOST_LOAD = 10 };

struct command {
    char *words[MOST_WORDS];
    char *line, *over;
    bool varies, slow;
    char *output, *errors; /* of the run that is granted all */
};

struct test {
    const struct command *command;
    long at;
    bool on;
};

struct slot {
    pid_t process;
    struct test test;
    char folder[600];
    time_t started;
};

static struct {
    const char *program, *injector, *sources, *kind;
    char root[500];
    struct command commands[MOST_COMMANDS];
    int command_count;
    struct slot slots[MOST_SLOTS];
    int slot_count;
    long run, failed, excused;
} all;

static void give_up(const char *what)
{
    perror(what);
    exit(3);
}

/* The whole file with a NUL behind it, an empty text where there is none. */
static char *read_file(const char *folder, const char *name, size_t *length)
{
    char path[1200];
    snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1);
    size_t used = 0, got = 1;
    while (file && got) {
        text = realloc(text, used + 65536 + 1);
        got = fread(text + used, 1, 65536, file);
        text[used += got] = 0;
    }
    if (file)
        fclose(file);
    if (length)
        *length = used;
    return text;
}

static void run_shell(const char *format, const char *a, const char *b)
{
    char line[3000];
    snprintf(line, sizeof line, format, a, b);
    if (system(line) != 0)
        give_up(line);
}

/* In the child: the command in its folder, with what it says in files beside it. */
static void become(const struct command *command, const char *folder, long at, bool on, bool watched)
{
    char path[1200], number[32], *words[MOST_WORDS + 1] = {(char *)all.program};
    for (int i = 0; command->words[i]; i++)
        words[i + 1] = command->words[i];
    snprintf(path, sizeof path, "%s.out", folder);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(path, sizeof path, "%s.err", folder);
    int err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), nothing = open("/dev/null", O_RDONLY);
    if (out < 0 || err < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
        chdir(folder) != 0)
        _exit(99);
    close(out);
    close(err);
    close(nothing);
    if (watched) {
        snprintf(path, sizeof path, "%s.sites", folder);
        snprintf(number, sizeof number, "%ld", at);
        setenv("LL_FAULT_SITES", path, 1);
        setenv("LL_FAULT_KIND", all.kind, 1);
        if (at)
            setenv("LL_FAULT_AT", number, 1);
        if (on)
            setenv("LL_FAULT_ON", "1", 1);
        setenv("LD_PRELOAD", all.injector, 1);
    }
    execv(all.program, words);
    _exit(99);
}

static int remove_one(const char *path, const struct stat *there, int kind, struct FTW *place)
{
    (void)there, (void)kind, (void)place;
    return remove(path);
}

static void make_folder(const char *folder, const struct command *command)
{
    char path[1200];
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (mkdir(folder, 0700) != 0)
        give_up(folder);
    snprintf(path, sizeof path, "%s/in", folder);
    if (symlink("../in", path) != 0)
        give_up(path);
    if (command->over) {
        snprintf(path, sizeof path, "%s/in/%s", all.root, command->over);
        run_shell("cp '%s' '%s/'", path, folder);
    }
}

static pid_t start(const struct command *command, const char *folder, long at, bool on, bool watched)
{
    make_folder(folder, command);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){PATIENCE_S, PATIENCE_S + 1});
        become(command, folder, at, on, watched);
    }
    return child;
}

static int finish(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            give_up("waitpid");
    return status;
}

/* ---- judging ---- */

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length >= tail && strcmp(name + length - tail, ending) == 0;
}

/* What a trace or a database holds is asked of the program; of others the bytes count. */
static bool is_same_file(const char *a, const char *b, const char *name)
{
    static const struct {
        const char *ending, *command;
    } asked[] = {{".llt", "verify --json"}, {".db", "pareto --csv"}};
    char line[4000];
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (ends_in(name, asked[i].ending)) {
            snprintf(line, sizeof line,
                     "cd '%s' && '%s' %s '%s' >../asked.a.$$ 2>&1; a=$?; cd '%s' && '%s' %s '%s' "
                     ">../asked.b.$$ 2>&1;"
                     " b=$?; test $a = $b && { test %d = 0 || cmp -s ../asked.a.$$ ../asked.b.$$; };"
                     " s=$?; rm ../asked.[ab].$$; exit $s",
                     a, all.program, asked[i].command, name, b, all.program, asked[i].command, name, (int)i);
            return system(line) == 0;
        }
    size_t length_a, length_b;
    char *text_a = read_file(a, name, &length_a), *text_b = read_file(b, name, &length_b);
    bool same = length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
    free(text_a);
    free(text_b);
    return same;
}

static bool has_file(const char *folder, const char *name)
{
    char path[1200];
    struct stat there;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return lstat(path, &there) == 0;
}

/* What is wrong with the files of a run, NULL for nothing: after a failure those that stood there before are
 * to be as they were, or as they were to become, and no unknown one is to be left. */
static const char *judge_files(const struct test *test, const char *folder, bool done)
{
    static char wrong[600];
    char whole[700], before[700];
    const struct command *command = test->command;
    const char *what = NULL;
    snprintf(whole, sizeof whole, "%s/whole%d", all.root, (int)(command - all.commands));
    snprintf(before, sizeof before, "%s/in", all.root);
    DIR *listing = opendir(done ? whole : folder);
    for (struct dirent *entry; listing && !what && (entry = readdir(listing));) {
        const char *name = entry->d_name;
        if (name[0] == '.' || strcmp(name, "in") == 0)
            continue;
        if (done && !has_file(folder, name))
            what = "is not there, with status 0";
        else if (done && entry->d_type == DT_REG && !is_same_file(whole, folder, name) &&
                 (!command->varies || ends_in(name, ".db") || ends_in(name, ".llt")))
            what = "is another, with status 0";
        else if (!done && !has_file(whole, name) && !ends_in(name, "-wal") && !ends_in(name, "-shm") &&
                 !ends_in(name, "-journal"))
            what = "is left behind";
        if (what)
            snprintf(wrong, sizeof wrong, "%s %s", name, what);
    }
    closedir(listing);
    if (!what && !done && command->over &&
        !(has_file(folder, command->over) &&
          (is_same_file(before, folder, command->over) || is_same_file(whole, folder, command->over) ||
           command->varies))) {
        what = "was lost";
        snprintf(wrong, sizeof wrong, "%s %s", command->over, what);
    }
    return what ? wrong : NULL;
}

static bool begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

/* Lines that the run that was granted all did not say. */
static int new_lines(const char *errors, const char *known)
{
    int count = 0;
    while (*errors) {
        size_t length = strcspn(errors, "\n");
        char line[5000];
        snprintf(line, sizeof line, "%.*s", (int)length, errors);
        /* a progress that is written over itself is no line */
        count += line[0] && !strstr(known, line) && line[0] != '\r' && !strchr(line, '%') && line[0] != ' ' &&
                 !begins(line, "step ");
        errors += length + (errors[length] == '\n');
    }
    return count;
}

static const char *judge(const struct test *test, int status, const char *folder)
{
    static char wrong[300];
    char path[1200];
    const char *base = strrchr(folder, '/') + 1, *what = NULL;
    snprintf(path, sizeof path, "%s.out", base);
    char *output = read_file(all.root, path, NULL);
    snprintf(path, sizeof path, "%s.err", base);
    char *errors = read_file(all.root, path, NULL);
    bool memory = strcmp(all.kind, "memory") == 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (WIFSIGNALED(status)) {
        snprintf(wrong, sizeof wrong, "ended by signal %d", WTERMSIG(status));
        what = wrong;
    } else if (code == 0 && !test->command->varies && strcmp(output, test->command->output) != 0)
        what = "another output with status 0";
    else if (code != 0 && code != 1 && code != 2)
        what = "a status that is not 0, 1 or 2";
    else if (memory && code != 0 &&
             (strcasestr(errors, "damaged") || strcasestr(errors, "corrupt") ||
              strcasestr(errors, "contradict")))
        what = "sound files are called damaged";
    else if (code != 0 && memory && !strstr(errors, "memory"))
        what = "no sentence says that memory ran out";
    else if (code != 0 && new_lines(errors, test->command->errors) == 0)
        what = "fails without a sentence";
    else if (code != 0 && memory && new_lines(errors, test->command->errors) > 1)
        what = "more than one sentence";
    else
        what = judge_files(test, folder, code == 0);
    free(output);
    free(errors);
    return what;
}

static bool is_excused(const char *site, int status)
{
    for (size_t i = 0; i < sizeof excused / sizeof *excused; i++)
        if (strstr(site, excused[i].library) && (WIFSIGNALED(status) || WEXITSTATUS(status) != 0))
            return true;
    return false;
}

static void settle(struct slot *slot, int status)
{
    char path[1200];
    const char *what = judge(&slot->test, status, slot->folder);
    slot->process = 0;
    all.run++;
    if (!what)
        return;
    snprintf(path, sizeof path, "%s.sites", strrchr(slot->folder, '/') + 1);
    char *site = read_file(all.root, path, NULL), library[100] = "";
    sscanf(site, "%*d %*x %99s", library);
    if (is_excused(library, status)) {
        all.excused++;
    } else {
        all.failed++;
        snprintf(path, sizeof path, "%s.err", strrchr(slot->folder, '/') + 1);
        char *errors = read_file(all.root, path, NULL);
        printf("leadline %s\n  call %ld%s: %s\n  site %s  said %.300s\n", slot->test.command->line,
               slot->test.at, slot->test.on ? " and all after it" : "", what, *site ? site : "unknown\n",
               *errors ? errors : "nothing");
        fflush(stdout);
        free(errors);
    }
    free(site);
}

/* Waits until one of the running is done, or has taken too long: start() bounds what it computes, and here
 * one ends that sleeps, but not one that a loaded machine lets wait. */
static void wait_for_one(void)
{
    int status;
    for (;;) {
        pid_t done = waitpid(-1, &status, WNOHANG);
        for (int i = 0; i < all.slot_count; i++) {
            struct slot *slot = &all.slots[i];
            if (done > 0 && slot->process == done) {
                settle(slot, status);
                return;
            }
            if (slot->process && time(NULL) - slot->started > PATIENCE_S * MOST_LOAD)
                kill(slot->process, SIGKILL);
        }
        if (done <= 0)
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static void run_test(const struct test *test)
{
    for (;;) {
        for (int i = 0; i < all.slot_count; i++)
            if (!all.slots[i].process) {
                struct slot *slot = &all.slots[i];
                slot->test = *test;
                slot->started = time(NULL);
                slot->process = start(test->command, slot->folder, test->at, test->on, true);
                return;
            }
        wait_for_one();
    }
}

static void wait_for_all(void)
{
    for (int i = 0; i < all.slot_count; i++)
        while (all.slots[i].process)
            wait_for_one();
}

/* ---- the commands ---- */

static void take_words(struct command *command, char *text)
{
    int count = 0;
    for (char *word = strtok(text, " "); word && count < MOST_WORDS - 1; word = strtok(NULL, " "))
        command->words[count++] = word;
}

/* An input is made as it is to be, with nothing refused. */
static void prepare(char *text)
{
    struct command command = {.line = strdup(text)};
    char folder[700];
    snprintf(folder, sizeof folder, "%s/in", all.root);
    take_words(&command, text);
    pid_t child = fork();
    if (child == 0)
        become(&command, folder, 0, false, false);
    if (finish(child) != 0) {
        fprintf(stderr, "cannot prepare: leadline %s\n%s", command.line, read_file(all.root, "in.err", NULL));
        exit(3);
    }
    free(command.line);
}

static void read_commands(const char *path)
{
    char *text = read_file("", path, NULL);
    for (char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = 0;
        if (!*line || *line == '#')
            continue;
        if (begins(line, "prepare: ")) {
            prepare(line + strlen("prepare: "));
            continue;
        }
        struct command *command = &all.commands[all.command_count++];
        if (begins(line, "over ")) {
            char *colon = strstr(line, ": ");
            *colon = 0;
            command->over = line + strlen("over ");
            line = colon + 2;
        }
        if (begins(line, "slow: ")) {
            command->slow = true;
            line += strlen("slow: ");
        }
        if (begins(line, "varies: ")) {
            command->varies = true;
            line += strlen("varies: ");
        }
        command->line = strdup(line);
        take_words(command, line);
    }
}

/* Runs it with all granted, and takes note of the sites. */
static char *survey(struct command *command)
{
    char folder[700], path[800];
    snprintf(folder, sizeof folder, "%s/whole%d", all.root, (int)(command - all.commands));
    int status = finish(start(command, folder, 0, false, true));
    const char *base = strrchr(folder, '/') + 1;
    snprintf(path, sizeof path, "%s.out", base);
    command->output = read_file(all.root, path, NULL);
    snprintf(path, sizeof path, "%s.err", base);
    command->errors = read_file(all.root, path, NULL);
    if (status != 0) {
        fprintf(stderr, "leadline %s fails with all granted: %s\n", command->line, command->errors);
        exit(3);
    }
    snprintf(path, sizeof path, "%s.sites", base);
    return read_file(all.root, path, NULL);
}

static void run_both(const struct command *command, long at)
{
    for (int on = 0; on < 2; on++)
        run_test(&(struct test){command, at, on});
}

/* Whether the site was met in none of the commands before. */
static bool is_new(uint64_t hash)
{
    enum { ROOM = 1 << 16 };
    static uint64_t met[ROOM];
    for (uint64_t i = hash % ROOM, tried = 0; tried < ROOM; i = (i + 1) % ROOM, tried++) {
        if (met[i] == hash)
            return false;
        if (!met[i]) {
            met[i] = hash;
            return true;
        }
    }
    return true;
}

/* The first call of a site fails in both ways; where another command has met the site, or this one takes
 * long, in one of both, by turns, and not at every site. */
static void run_first(const struct command *command, long at, uint64_t site)
{
    static unsigned turn;
    bool new = is_new(site);
    if (new && !command->slow)
        run_both(command, at);
    else if (turn++ % (new ? 2 : 6) == 0)
        run_test(&(struct test){command, at, command->slow ? turn % 4 != 1 : turn % 4 < 2});
}

/* MOST calls one by one, and a sample of the rest. */
static void run_many(const struct command *command, long count, long most, long sample, uint64_t seed)
{
    for (long at = 1; at <= count && at <= most; at++)
        run_both(command, at);
    for (long i = 0; i < sample && count > most; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        run_both(command, most + 1 + (long)((seed >> 20) % (uint64_t)(count - most)));
    }
}

int main(int argc, char **argv)
{
    if (argc != 6 && argc != 9) {
        fprintf(stderr, "faults LEADLINE INJECTOR COMMANDS SOURCES memory|files [MOST SAMPLE SEED]\n");
        return 2;
    }
    char path[700], program[700];
    all.program = argv[1];
    all.injector = argv[2];
    all.sources = argv[4];
    all.kind = argv[5];
    const char *temporary = getenv("TMPDIR"), *only = getenv("LL_FAULT_ONLY");
    snprintf(all.root, sizeof all.root, "%s/faults.XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(all.root))
        give_up(all.root);
    snprintf(path, sizeof path, "%s/in", all.root);
    run_shell("cp -r '%s/tests/faults/in' '%s'", all.sources, path);
    snprintf(path, sizeof path, "%s/in/machines", all.root);
    setenv("LEADLINE_PATH", path, 1);
    run_shell("mkdir -p '%1$s/bin' '%1$s/api' '%1$s/lib/leadline'; cp '%2$s' '%1$s/bin/leadline'; "
              "cp \"$(dirname '%2$s')\"/../api/libleadline.so.0 '%1$s/api/'",
              all.root, all.program);
    run_shell(
        "cp \"$(dirname '%2$s')\"/../../tracer/interpose/preload/libleadline-preload.so '%1$s/lib/leadline/'",
        all.root, all.program);
    snprintf(program, sizeof program, "%s/bin/leadline", all.root);
    all.program = program;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    read_commands(argv[3]);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    all.slot_count = cores < 1 ? 1 : cores > MOST_SLOTS ? MOST_SLOTS : (int)cores;
    for (int i = 0; i < all.slot_count; i++)
        snprintf(all.slots[i].folder, sizeof all.slots[i].folder, "%s/slot%d", all.root, i);
    for (int i = 0; i < all.command_count; i++) {
        struct command *command = &all.commands[i];
        if (only && !strstr(command->line, only))
            continue;
        char *sites = survey(command);
        long before = all.run, count = 0;
        for (char *line = sites, *word; *line; line += strcspn(line, "\n") + 1) {
            count = strtol(line, &word, 10);
            if (argc == 6 && !begins(word, " all"))
                run_first(command, count, strtoull(word, NULL, 16));
        }
        if (argc == 9)
            run_many(command, count, strtol(argv[6], NULL, 10), strtol(argv[7], NULL, 10),
                     strtoull(argv[8], NULL, 10));
        wait_for_all();
        if (getenv("LL_FAULT_TELL"))
            printf("%ld runs, %ld calls: leadline %s\n", all.run - before, count, command->line);
        fflush(stdout);
        free(sites);
    }
    run_shell("rm -rf '%s'%s", all.root, "");
    printf("%ld runs, %ld wrong, %ld ended by a library of others\n", all.run, all.failed, all.excused);
    return all.failed > 0 || all.run == 0;
}
