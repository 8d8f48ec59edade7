/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without a fuzzer: on every file of some folders as it is, then on MUTATIONS spoilt
 * copies of each, always the same ones. Whoever crashes, hangs or trips a sanitizer has lost; nothing else is
 * judged.
 */
#define _POSIX_C_SOURCE 200809L
#include "random.h"

#include <dirent.h>
#include <string.h>

enum { MUTATIONS = 100, MOST_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bits flipped, bytes replaced, a piece repeated, the end cut off: one to four of these. */
static size_t spoil(uint8_t *data, size_t size, uint64_t *random)
{
    for (uint64_t i = ll_random_below(random, 4) + 1; i > 0 && size > 1; i--) {
        size_t at = ll_random_below(random, size), other = ll_random_below(random, size);
        size_t length = size - (at > other ? at : other);
        switch (ll_random_below(random, 4)) {
        case 0:
            data[at] ^= (uint8_t)(1u << ll_random_below(random, 8));
            break;
        case 1:
            data[at] = (uint8_t)ll_random(random);
            break;
        case 2:
            memmove(data + at, data + other, ll_random_below(random, length + 1));
            break;
        default:
            size = ll_random_below(random, 8) ? size : at;
        }
    }
    return size;
}

/* A copy of exactly its size, so that a sanitizer sees a read behind the end. */
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        exit(1);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void replay(const char *path)
{
    static uint8_t whole[MOST_BYTES], spoilt[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;
    if (file)
        fclose(file);
    run_copy(whole, size);
    uint64_t random = 1;
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(spoilt, whole, size);
        run_copy(spoilt, spoil(spoilt, size, &random));
    }
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_file, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        replay(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count > 0 ? count : 0;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d inputs, each with %d mutations\n", count, MUTATIONS);
    return count == 0;
}
