/* SPDX-License-Identifier: Apache-2.0 */
/* An empty file beside the database, and an advisory lock on it: not on the database itself, whose locks
 * SQLite keeps, and which --fresh makes anew. Who gives the lock back removes the file; so who has got one
 * looks whether it is still that of the path, and else tries again. */
#define _GNU_SOURCE
#include "sim/explore/lock.h"

#include "tracer/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct ll_lock {
    struct ll_str path; /* of the lock */
    int file;
};

static bool is_of_the_path(const struct ll_lock *lock)
{
    struct stat ours, there;
    return fstat(lock->file, &ours) == 0 && stat(lock->path.text, &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* 0, or the number of the error. A file system without such locks is one where nobody has one. */
static int take(struct ll_lock *lock)
{
    for (;;) {
        lock->file = open(lock->path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock->file < 0)
            return errno;
        if (flock(lock->file, LOCK_EX | LOCK_NB) != 0)
            return errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
        if (is_of_the_path(lock))
            return 0;
        close(lock->file);
    }
}

struct ll_lock *ll_lock_take(const char *path, enum ll_status *status, struct ll_diags *diags)
{
    struct ll_lock *lock = calloc(1, sizeof *lock);
    int error = ENOMEM;
    if (lock) {
        lock->file = -1;
        ll_str_addf(&lock->path, "%s.lock", path);
        error = lock->path.failed ? ENOMEM : take(lock);
    }
    *status = error == 0 || error == EWOULDBLOCK ? LL_OK : ll_status_of(error, LL_CANNOT_WRITE);
    if (error == 0)
        return lock;
    ll_complain(diags, (struct ll_place){.file = path}, "%s",
                *status == LL_OK ? "another sweep is writing to it" : ll_status_text(*status));
    if (lock && lock->file >= 0)
        close(lock->file);
    if (lock)
        ll_str_release(&lock->path);
    free(lock);
    return NULL;
}

void ll_lock_release(struct ll_lock *lock)
{
    if (!lock)
        return;
    unlink(lock->path.text);
    close(lock->file);
    ll_str_release(&lock->path);
    free(lock);
}
