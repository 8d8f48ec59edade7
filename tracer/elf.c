/* SPDX-License-Identifier: Apache-2.0 */
/* A build id is a note "GNU" of type 3 in a note segment. Segments and notes are taken only where they lie
 * within the file and are of a sane size. */
#define _GNU_SOURCE
#include "tracer/elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SEGMENTS = 4096, MOST_NOTE_BYTES = 1 << 20, MOST_ID_BYTES = 64 };

static const char *hex(struct ll_arena *arena, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = ll_alloc(arena, 2 * count + 1, 1);
    for (size_t i = 0; text && i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return text;
}

/* The build id among these notes, or NULL. */
static const char *search_notes(struct ll_arena *arena, Elf_Data *notes)
{
    GElf_Nhdr note;
    size_t name, desc, at = 0;
    while (at < notes->d_size && (at = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
        const char *bytes = notes->d_buf;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + name, "GNU", 4) == 0 &&
            note.n_descsz > 0 && note.n_descsz <= MOST_ID_BYTES)
            return hex(arena, (const unsigned char *)bytes + desc, note.n_descsz);
    }
    return NULL;
}

static const char *search_segments(struct ll_arena *arena, Elf *elf, uint64_t file_bytes)
{
    size_t count;
    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count && i < MOST_SEGMENTS; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
            segment.p_filesz > MOST_NOTE_BYTES || segment.p_offset > file_bytes ||
            segment.p_filesz > file_bytes - segment.p_offset)
            continue;
        Elf_Type type = segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
        Elf_Data *notes = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, type);
        const char *id = notes ? search_notes(arena, notes) : NULL;
        if (id)
            return id;
    }
    return NULL;
}

const char *ll_elf_build_id_of(struct ll_arena *arena, const void *bytes, size_t size)
{
    struct ll_arena scratch = {0};
    const char *id = NULL;
    char *image = ll_copy(&scratch, bytes, size); /* libelf wants to own what it reads */
    Elf *elf = image && elf_version(EV_CURRENT) != EV_NONE ? elf_memory(image, size) : NULL;
    if (elf) {
        id = search_segments(arena, elf, size);
        elf_end(elf);
    }
    ll_arena_release(&scratch);
    return id;
}

const char *ll_elf_build_id(struct ll_arena *arena, const char *path)
{
    struct stat info;
    const char *id = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && elf_version(EV_CURRENT) != EV_NONE) {
        Elf *elf = elf_begin(file, ELF_C_READ, NULL);
        if (elf) {
            id = search_segments(arena, elf, (uint64_t)info.st_size);
            elf_end(elf);
        }
    }
    close(file);
    return id;
}

/* Paths of what is loaded; copied, as the loader is locked while it lists them. */
struct loaded {
    struct ll_arena arena;
    const char *paths[1024];
    size_t count;
};

static int note_path(struct dl_phdr_info *info, size_t size, void *context)
{
    struct loaded *loaded = context;
    (void)size;
    if (loaded->count == sizeof loaded->paths / sizeof loaded->paths[0])
        return 1;
    const char *path = ll_copy_text(&loaded->arena, info->dlpi_name, strlen(info->dlpi_name));
    if (path && *path)
        loaded->paths[loaded->count++] = path;
    return 0;
}

void ll_library_facts(struct ll_facts *facts)
{
    struct loaded loaded = {0};
    const char *program = ll_elf_build_id(&loaded.arena, "/proc/self/exe");
    if (program)
        ll_facts_add(facts, "program.build_id", "%s", program);
    dl_iterate_phdr(note_path, &loaded);
    for (size_t i = 0; i < loaded.count; i++) {
        const char *slash = strrchr(loaded.paths[i], '/');
        const char *id = ll_elf_build_id(&loaded.arena, loaded.paths[i]);
        const char *key =
            id ? ll_format(&loaded.arena, "library.%s", slash ? slash + 1 : loaded.paths[i]) : NULL;
        if (key)
            ll_facts_add(facts, key, "%s", id);
    }
    ll_arena_release(&loaded.arena);
}
