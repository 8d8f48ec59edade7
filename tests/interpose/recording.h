/* SPDX-License-Identifier: Apache-2.0 */
/* Running a small program under the preload library and reading its rings; for the test and the bench. */
#ifndef LL_TESTS_INTERPOSE_RECORDING_H
#define LL_TESTS_INTERPOSE_RECORDING_H

#include "tracer/base/file.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_reader.h"
#include "tracer/interpose/call.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct recording {
    char folder[64];
    struct ll_ring_reader *reader;
    int status; /* of the program, as waitpid gives it */
    char output[256];
};

/* Makes the folder; its rings have so many bytes. Programs wait for room in them where somebody reads
 * meanwhile. */
static inline void recording_begin(struct recording *recording, uint64_t ring_bytes, bool waits)
{
    const struct ll_ring_settings settings = {
        .ring_bytes = ring_bytes, .least_allocation = 4096, .lossy = !waits};
    *recording = (struct recording){.folder = "/dev/shm/leadline-test-XXXXXX"};
    if (access("/dev/shm", W_OK) != 0)
        strcpy(recording->folder, "leadline-test-XXXXXX");
    if (!mkdtemp(recording->folder) || ll_ring_create(recording->folder, &settings) != LL_OK)
        abort();
    recording->reader = ll_ring_open(recording->folder, NULL);
}

/* Starts a program; what it prints comes out of *out. */
static inline pid_t recording_start(const struct recording *recording, const char *preload,
                                    char *const *arguments, int *out)
{
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("LD_PRELOAD", preload, 1);
        setenv(LL_RING_FOLDER_VARIABLE, recording->folder, 1);
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    *out = ends[0];
    return child;
}

static inline void recording_wait(struct recording *recording, pid_t child, int out)
{
    size_t length = 0;
    ssize_t got;
    while ((got = read(out, recording->output + length, sizeof recording->output - 1 - length)) > 0)
        length += (size_t)got;
    close(out);
    waitpid(child, &recording->status, 0);
    ll_ring_finish(recording->reader);
}

static inline void recording_end(struct recording *recording)
{
    ll_ring_close(recording->reader);
    DIR *folder = opendir(recording->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", recording->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (folder)
        closedir(folder);
    rmdir(recording->folder);
}

#endif
