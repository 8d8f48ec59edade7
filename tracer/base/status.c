/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool ran_out;

void ll_note_no_memory(void)
{
    atomic_store(&ran_out, true);
}

bool ll_memory_ran_out(void)
{
    return atomic_load(&ran_out);
}

enum ll_status ll_status_of(int error, enum ll_status otherwise)
{
    static const struct {
        int error;
        enum ll_status status;
    } meanings[] = {{ENOMEM, LL_NO_MEMORY}, {ENOENT, LL_NO_FILE},   {ENOTDIR, LL_NO_FILE},
                    {EISDIR, LL_IS_FOLDER}, {EACCES, LL_FORBIDDEN}, {EPERM, LL_FORBIDDEN},
                    {EROFS, LL_FORBIDDEN},  {ENOSPC, LL_DISK_FULL}, {EDQUOT, LL_DISK_FULL},
                    {EFBIG, LL_DISK_FULL}};
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].error == error)
            return meanings[i].status;
    return otherwise;
}

const char *ll_status_text(enum ll_status status)
{
    static const char *const text[] = {
#define X(name, sentence) [LL_##name] = sentence,
        LL_STATUS_LIST(X)
#undef X
    };
    return (unsigned)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}
