/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder holds the lock of its folder until it ends, however it ends. So a folder whose lock is free is
 * nobody's: what still runs of a program whose recorder was killed has its rings mapped and needs no names. A
 * lock gets its name when it is held, so a folder in the making has none and is left alone. */
#define _GNU_SOURCE
#include "sim/cli/foreign_folder.h"

#include "sim/cli/command.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

size_t ll_foreign_folder_users(const struct ll_foreign_folder *folder)
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; all && (entry = readdir(all));)
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && knows(entry->d_name, folder->path);
    if (all)
        closedir(all);
    return count;
}

bool ll_foreign_folder_make(struct ll_foreign_folder *folder, struct ll_arena *arena)
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
    ll_failed("there is no place for temporary files: neither /dev/shm nor %s can be written", places[1]);
    return false;
}

void ll_foreign_folder_remove(struct ll_foreign_folder *folder)
{
    int opened = open_own(AT_FDCWD, folder->path);
    if (opened >= 0)
        remove_all(AT_FDCWD, folder->path, opened);
    if (folder->lock >= 0)
        close(folder->lock);
}
