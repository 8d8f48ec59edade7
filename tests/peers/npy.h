/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as files that NumPy reads: how weights and results go to PyTorch to be compared. One array a file of
 * the NPY format, version 1.0, named after what it holds, with `.` for `/`. */
#ifndef LL_TESTS_PEERS_NPY_H
#define LL_TESTS_PEERS_NPY_H

#include "models/nn/runner.h"

#include <stdio.h>
#include <string.h>

/* The header and a line's end fill a multiple of 64 bytes. */
static inline int npy_header(const struct ll_shape *shape, char text[256])
{
    enum { MAGIC = 10 };
    int length = snprintf(text, 256, "{'descr': '<f%d', 'fortran_order': False, 'shape': (",
                          shape->dtype == LL_F64 ? 8 : 4);
    for (unsigned i = 0; i < shape->rank; i++)
        length += snprintf(text + length, 256 - (size_t)length, "%llu,", (unsigned long long)shape->dim[i]);
    length += snprintf(text + length, 256 - (size_t)length, "), }");
    while ((MAGIC + length + 1) % 64 != 0)
        text[length++] = ' ';
    text[length++] = '\n';
    return length;
}

/* Writes f32 or f64 data as FOLDER/NAME.npy; false when that fails. */
static inline bool npy_write(const char *folder, const char *name, const struct ll_shape *shape,
                             const void *data)
{
    char path[512], header[256];
    int length = npy_header(shape, header), start = snprintf(path, sizeof path, "%s/", folder);
    snprintf(path + start, sizeof path - (size_t)start, "%s.npy", name);
    for (char *c = path + start; *c; c++)
        *c = *c == '/' ? '.' : *c;
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)length, 0};
    bool good = fwrite(magic, 1, sizeof magic, file) == sizeof magic;
    good &= fwrite(header, 1, (size_t)length, file) == (size_t)length;
    good &= fwrite(data, 1, ll_size_bytes(shape), file) == ll_size_bytes(shape);
    return (fclose(file) == 0) & good;
}

/* A value of a network after a step, under its own name with a prefix in front: "gradient." say. */
static inline bool npy_write_value(const char *folder, const char *prefix, const struct ll_runner *runner,
                                   const struct ll_value *value, const char *name)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return npy_write(folder, whole, &value->shape, ll_runner_data(runner, value));
}

#endif
