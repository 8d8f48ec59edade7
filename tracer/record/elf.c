/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF files: build ids, symbols, relocations, what a program needs. The only file that includes
 * libelf.
 *
 * The dynamic table says where the rest is, in addresses of the running program; the load segments turn them
 * into places of the file. Every piece is taken only where it lies within the file, and counts are bounded by
 * the bytes that can hold so many. */
#define _GNU_SOURCE
#include "tracer/record/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/diag.h"

enum {
    MOST_SEGMENTS = 4096,
    MOST_NOTE_BYTES = 1 << 20,
    MOST_ID_BYTES = 64,
    MOST_CHAIN = 4096,
    MOST_SECTIONS = 1 << 16
};

static char *hex(struct ll_arena *arena, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = ll_alloc(arena, 2 * count + 1, 1);
    for (size_t i = 0; text && i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return text;
}

/* A file while it is read. */
struct source {
    struct ll_arena *arena;
    Elf *elf;
    uint64_t file_bytes;
    size_t segment_count;
};

static bool get_segment(const struct source *source, size_t i, GElf_Phdr *segment)
{
    return gelf_getphdr(source->elf, (int)i, segment) != NULL;
}

/* These bytes of the file, as items of a type in this machine's byte order; NULL when they are not all there.
 */
static Elf_Data *get_piece(const struct source *source, uint64_t offset, uint64_t size, Elf_Type type)
{
    if (size == 0 || offset > source->file_bytes || size > source->file_bytes - offset)
        return NULL;
    Elf_Data *data = elf_getdata_rawchunk(source->elf, (int64_t)offset, size, type);
    return data && data->d_buf && data->d_size ? data : NULL;
}

/* Where the file holds what will lie at an address, and how many of its bytes follow; 0 bytes when nowhere.
 */
static uint64_t locate(const struct source *source, uint64_t address, uint64_t *offset)
{
    GElf_Phdr segment;
    for (size_t i = 0; i < source->segment_count; i++) {
        if (!get_segment(source, i, &segment) || segment.p_type != PT_LOAD || address < segment.p_vaddr)
            continue;
        uint64_t within = address - segment.p_vaddr;
        if (within >= segment.p_filesz || segment.p_offset > source->file_bytes ||
            within > source->file_bytes - segment.p_offset)
            continue;
        *offset = segment.p_offset + within;
        return ll_min(segment.p_filesz - within, source->file_bytes - *offset);
    }
    return 0;
}

/* At most `most` bytes of what will lie at an address. */
static Elf_Data *get_at(const struct source *source, uint64_t address, uint64_t most, Elf_Type type)
{
    uint64_t offset = 0, bytes = locate(source, address, &offset);
    return get_piece(source, offset, ll_min(bytes, most), type);
}

/* The build id among these notes, or NULL. */
static char *search_notes(struct ll_arena *arena, Elf_Data *notes)
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

/* A build id is a note "GNU" of type 3 in a note segment. */
static char *search_build_id(const struct source *source)
{
    for (size_t i = 0; i < source->segment_count; i++) {
        GElf_Phdr segment;
        if (!get_segment(source, i, &segment) || segment.p_type != PT_NOTE ||
            segment.p_filesz > MOST_NOTE_BYTES)
            continue;
        Elf_Type type = segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
        Elf_Data *notes = get_piece(source, segment.p_offset, segment.p_filesz, type);
        char *id = notes ? search_notes(source->arena, notes) : NULL;
        if (id)
            return id;
    }
    return NULL;
}

/* What the dynamic table says, before it is followed. */
struct dynamic {
    uint64_t strings, strings_bytes, symbols, hash, gnu_hash;
    uint64_t jumps, jumps_bytes, jumps_type, rela, rela_bytes, rel, rel_bytes;
    uint64_t soname, rpath, runpath, flags, flags_1;
    bool has_soname, has_rpath, has_runpath, symbolic, bind_now;
};

/* Takes what a dynamic entry says; addresses are turned into places of the file later, when all segments are
 * known. */
static void note_entry(struct dynamic *dynamic, const GElf_Dyn *entry)
{
    const struct {
        int64_t tag;
        uint64_t *value;
        bool *present;
    } rows[] = {
        {DT_STRTAB, &dynamic->strings, NULL},
        {DT_STRSZ, &dynamic->strings_bytes, NULL},
        {DT_SYMTAB, &dynamic->symbols, NULL},
        {DT_HASH, &dynamic->hash, NULL},
        {DT_GNU_HASH, &dynamic->gnu_hash, NULL},
        {DT_JMPREL, &dynamic->jumps, NULL},
        {DT_PLTRELSZ, &dynamic->jumps_bytes, NULL},
        {DT_PLTREL, &dynamic->jumps_type, NULL},
        {DT_RELA, &dynamic->rela, NULL},
        {DT_RELASZ, &dynamic->rela_bytes, NULL},
        {DT_REL, &dynamic->rel, NULL},
        {DT_RELSZ, &dynamic->rel_bytes, NULL},
        {DT_SONAME, &dynamic->soname, &dynamic->has_soname},
        {DT_RPATH, &dynamic->rpath, &dynamic->has_rpath},
        {DT_RUNPATH, &dynamic->runpath, &dynamic->has_runpath},
        {DT_FLAGS, &dynamic->flags, NULL},
        {DT_FLAGS_1, &dynamic->flags_1, NULL},
        {DT_SYMBOLIC, NULL, &dynamic->symbolic},
        {DT_BIND_NOW, NULL, &dynamic->bind_now},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].tag != entry->d_tag)
            continue;
        if (rows[i].value)
            *rows[i].value = entry->d_un.d_val;
        if (rows[i].present)
            *rows[i].present = true;
    }
}

/* The table itself; its entries end with DT_NULL. */
static Elf_Data *read_dynamic(const struct source *source, struct dynamic *dynamic)
{
    for (size_t i = 0; i < source->segment_count; i++) {
        GElf_Phdr segment;
        GElf_Dyn entry;
        if (!get_segment(source, i, &segment) || segment.p_type != PT_DYNAMIC)
            continue;
        Elf_Data *table = get_piece(source, segment.p_offset, segment.p_filesz, ELF_T_DYN);
        for (int at = 0; table && gelf_getdyn(table, at, &entry) && entry.d_tag != DT_NULL; at++)
            note_entry(dynamic, &entry);
        return table;
    }
    return NULL;
}

/* Text, copied once; names point into it. */
struct texts {
    const char *bytes;
    uint64_t size;
};

static struct texts copy_texts(const struct source *source, Elf_Data *data)
{
    const char *bytes = data ? ll_copy_text(source->arena, data->d_buf, data->d_size) : NULL;
    return (struct texts){bytes, bytes ? data->d_size : 0};
}

static const char *text_at(struct texts texts, uint64_t at)
{
    return at < texts.size ? texts.bytes + at : "";
}

static void read_needed(const struct source *source, Elf_Data *table, struct texts texts, struct ll_elf *elf)
{
    GElf_Dyn entry;
    size_t count = 0;
    for (int at = 0; gelf_getdyn(table, at, &entry) && entry.d_tag != DT_NULL; at++)
        count += entry.d_tag == DT_NEEDED;
    elf->needed = ll_alloc(source->arena, count, sizeof *elf->needed);
    for (int at = 0; elf->needed && gelf_getdyn(table, at, &entry) && entry.d_tag != DT_NULL; at++)
        if (entry.d_tag == DT_NEEDED && elf->needed_count < count)
            elf->needed[elf->needed_count++] = text_at(texts, entry.d_un.d_val);
}

/* The old hash table says how many symbols there are. */
static uint64_t count_by_hash(const struct source *source, uint64_t hash)
{
    Elf_Data *head = get_at(source, hash, 8, ELF_T_WORD);
    return head && head->d_size >= 8 ? ((const uint32_t *)head->d_buf)[1] : 0;
}

/* The new one has symbols in the order of their buckets, each chain ended by an odd hash: the last symbol is
 * the end of the chain of the highest bucket. Symbols that are asked of others come first and are in no
 * bucket.
 *
 *     buckets  first  bloom words  shift | bloom words ... | buckets ... | hashes from `first` on ...    */
static uint64_t count_by_gnu_hash(const struct source *source, uint64_t hash, unsigned word_bytes)
{
    Elf_Data *head = get_at(source, hash, 16, ELF_T_WORD);
    if (!head || head->d_size < 16)
        return 0;
    const uint32_t *words = head->d_buf;
    uint64_t bucket_bytes = 4ull * words[0], first = words[1], last = 0;
    uint64_t buckets_at = hash + 16 + (uint64_t)words[2] * word_bytes;
    Elf_Data *buckets = get_at(source, buckets_at, bucket_bytes, ELF_T_WORD);
    for (size_t i = 0; buckets && i < buckets->d_size / 4; i++)
        last = ll_max(last, ((const uint32_t *)buckets->d_buf)[i]);
    if (last < first)
        return first;
    uint64_t chain_at = buckets_at + bucket_bytes + 4 * (last - first);
    Elf_Data *chain = get_at(source, chain_at, 4 * MOST_CHAIN, ELF_T_WORD);
    for (size_t i = 0; chain && i < chain->d_size / 4; i++)
        if (((const uint32_t *)chain->d_buf)[i] & 1)
            return last + i + 1;
    return last + 1;
}

static struct ll_elf_symbol describe(const GElf_Sym *symbol, struct texts texts)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (struct ll_elf_symbol){
        .name = text_at(texts, symbol->st_name),
        .address = symbol->st_value,
        .size_bytes = symbol->st_size,
        .defined = symbol->st_shndx != SHN_UNDEF,
        .function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE,
        .indirect = type == STT_GNU_IFUNC,
    };
}

static void read_symbols(const struct source *source, const struct dynamic *dynamic, struct texts texts,
                         struct ll_elf *elf)
{
    uint64_t entry_bytes = elf->bits == 64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), offset = 0;
    uint64_t most = locate(source, dynamic->symbols, &offset) / entry_bytes;
    uint64_t count = dynamic->hash ? count_by_hash(source, dynamic->hash) : 0;
    if (!count && dynamic->gnu_hash)
        count = count_by_gnu_hash(source, dynamic->gnu_hash, elf->bits / 8);
    count = ll_min(count, most);
    Elf_Data *table = get_piece(source, offset, count * entry_bytes, ELF_T_SYM);
    elf->symbols = table ? ll_alloc(source->arena, count, sizeof *elf->symbols) : NULL;
    GElf_Sym symbol;
    while (elf->symbols && elf->symbol_count < count && gelf_getsym(table, (int)elf->symbol_count, &symbol))
        elf->symbols[elf->symbol_count++] = describe(&symbol, texts);
}

/* How the relocations of each machine are numbered. */
static const struct {
    uint16_t machine;
    uint32_t call, address, data;
} relocations[] = {
    {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64},
    {EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_32},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64},
    {EM_PPC64, R_PPC64_JMP_SLOT, R_PPC64_GLOB_DAT, R_PPC64_ADDR64},
    {EM_RISCV, R_RISCV_JUMP_SLOT, UINT32_MAX, R_RISCV_64},
};

static void note_slot(struct ll_elf *elf, uint64_t symbol, uint64_t type)
{
    if (symbol == 0 || symbol >= elf->symbol_count)
        return;
    for (size_t i = 0; i < sizeof relocations / sizeof relocations[0]; i++) {
        if (relocations[i].machine != elf->machine)
            continue;
        unsigned slot = type == relocations[i].call      ? LL_SLOT_CALL
                        : type == relocations[i].address ? LL_SLOT_ADDRESS
                        : type == relocations[i].data    ? LL_SLOT_DATA
                                                         : 0;
        elf->symbols[symbol].slots |= (uint8_t)slot;
    }
}

static void read_relocations(const struct source *source, uint64_t address, uint64_t bytes, bool with_addend,
                             struct ll_elf *elf)
{
    Elf_Data *table = get_at(source, address, bytes, with_addend ? ELF_T_RELA : ELF_T_REL);
    GElf_Rela rela;
    GElf_Rel rel;
    for (int i = 0; table && with_addend && gelf_getrela(table, i, &rela); i++)
        note_slot(elf, GELF_R_SYM(rela.r_info), GELF_R_TYPE(rela.r_info));
    for (int i = 0; table && !with_addend && gelf_getrel(table, i, &rel); i++)
        note_slot(elf, GELF_R_SYM(rel.r_info), GELF_R_TYPE(rel.r_info));
}

static void follow_dynamic(const struct source *source, struct ll_elf *elf)
{
    struct dynamic dynamic = {0};
    Elf_Data *table = read_dynamic(source, &dynamic);
    if (!table)
        return;
    struct texts texts =
        copy_texts(source, get_at(source, dynamic.strings, dynamic.strings_bytes, ELF_T_BYTE));
    elf->soname = dynamic.has_soname ? text_at(texts, dynamic.soname) : NULL;
    elf->rpath = dynamic.has_rpath ? text_at(texts, dynamic.rpath) : NULL;
    elf->runpath = dynamic.has_runpath ? text_at(texts, dynamic.runpath) : NULL;
    elf->symbolic = dynamic.symbolic || dynamic.flags & DF_SYMBOLIC;
    elf->bind_now = dynamic.bind_now || dynamic.flags & DF_BIND_NOW || dynamic.flags_1 & DF_1_NOW;
    elf->only_paths = dynamic.flags_1 & DF_1_NODEFLIB;
    elf->program |= (dynamic.flags_1 & DF_1_PIE) != 0;
    read_needed(source, table, texts, elf);
    read_symbols(source, &dynamic, texts, elf);
    read_relocations(source, dynamic.jumps, dynamic.jumps_bytes, dynamic.jumps_type == DT_RELA, elf);
    read_relocations(source, dynamic.rela, dynamic.rela_bytes, true, elf);
    read_relocations(source, dynamic.rel, dynamic.rel_bytes, false, elf);
}

static void read_functions(const struct source *source, const GElf_Shdr *section, struct ll_elf *elf)
{
    GElf_Shdr strings;
    GElf_Sym symbol;
    Elf_Scn *linked = elf_getscn(source->elf, section->sh_link);
    Elf_Data *table = get_piece(source, section->sh_offset, section->sh_size, ELF_T_SYM);
    if (!table || !linked || !gelf_getshdr(linked, &strings) || strings.sh_type != SHT_STRTAB)
        return;
    struct texts texts =
        copy_texts(source, get_piece(source, strings.sh_offset, strings.sh_size, ELF_T_BYTE));
    size_t count = 0;
    for (int i = 0; gelf_getsym(table, i, &symbol); i++)
        count += symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
    elf->functions = ll_alloc(source->arena, count, sizeof *elf->functions);
    for (int i = 0; elf->functions && elf->function_count < count && gelf_getsym(table, i, &symbol); i++)
        if (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
            elf->functions[elf->function_count++] = describe(&symbol, texts);
}

static void add_data(const struct source *source, const GElf_Shdr *section, struct ll_elf *elf)
{
    bool whole = section->sh_offset <= source->file_bytes &&
                 section->sh_size <= source->file_bytes - section->sh_offset;
    if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC && whole)
        elf->data[elf->data_count++] = (struct ll_elf_range){section->sh_offset, section->sh_size};
}

static void read_sections(const struct source *source, struct ll_elf *elf)
{
    size_t names, count;
    GElf_Shdr section;
    bool counted = elf_getshdrnum(source->elf, &count) == 0 && count <= MOST_SECTIONS;
    elf->data = counted ? ll_alloc(source->arena, count, sizeof *elf->data) : NULL;
    bool named = elf_getshdrstrndx(source->elf, &names) == 0;
    for (Elf_Scn *at = NULL; (at = elf_nextscn(source->elf, at));) {
        if (!gelf_getshdr(at, &section))
            continue;
        const char *name = named ? elf_strptr(source->elf, names, section.sh_name) : NULL;
        elf->has_lines |= name && strcmp(name, ".debug_line") == 0;
        if (section.sh_type == SHT_SYMTAB && !elf->functions)
            read_functions(source, &section, elf);
        if (elf->data && elf->data_count < count)
            add_data(source, &section, elf);
    }
}

/* The segments that stand alone: the loader that is asked for, and whether there is anything to bind. */
static void read_segments(const struct source *source, struct ll_elf *elf)
{
    GElf_Phdr segment;
    for (size_t i = 0; i < source->segment_count; i++) {
        if (!get_segment(source, i, &segment))
            continue;
        elf->dynamic |= segment.p_type == PT_DYNAMIC;
        if (segment.p_type != PT_INTERP || elf->interpreter)
            continue;
        struct texts path =
            copy_texts(source, get_piece(source, segment.p_offset, segment.p_filesz, ELF_T_BYTE));
        elf->interpreter = path.size ? path.bytes : NULL;
    }
}

static struct ll_elf *read_all(const struct source *source)
{
    GElf_Ehdr header;
    struct ll_elf *elf = ll_alloc(source->arena, 1, sizeof *elf);
    if (!elf || !gelf_getehdr(source->elf, &header))
        return NULL;
    elf->machine = header.e_machine;
    elf->bits = gelf_getclass(source->elf) == ELFCLASS64 ? 64 : 32;
    elf->entry = header.e_entry;
    elf->movable = header.e_type == ET_DYN;
    read_segments(source, elf);
    elf->program = header.e_type == ET_EXEC || elf->interpreter;
    elf->build_id = search_build_id(source);
    follow_dynamic(source, elf);
    elf->dynamic &= !elf->program || elf->interpreter;
    read_sections(source, elf);
    return elf;
}

/* Whether there is an ELF file; the source then is ready but for its arena. */
static bool start(struct source *source, Elf *elf, uint64_t file_bytes)
{
    *source = (struct source){.arena = source->arena, .elf = elf, .file_bytes = file_bytes};
    if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &source->segment_count) != 0)
        return false;
    source->segment_count = ll_min(source->segment_count, MOST_SEGMENTS);
    return true;
}

/* What is asked of a file: its build id, or all. */
typedef void *ask(const struct source *source);

static void *ask_build_id(const struct source *source)
{
    return search_build_id(source);
}

static void *ask_all(const struct source *source)
{
    return read_all(source);
}

/* Opening must not wait for the other end of a pipe. Afterwards errno is EIO where a part could not be
 * read. */
static void *ask_file(struct ll_arena *arena, const char *path, ask *question)
{
    struct stat info;
    struct source source = {.arena = arena};
    void *answer = NULL;
    errno = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && elf_version(EV_CURRENT) != EV_NONE) {
        Elf *elf = elf_begin(file, ELF_C_READ, NULL);
        if (start(&source, elf, (uint64_t)info.st_size))
            answer = question(&source);
        elf_end(elf);
    }
    if (errno == ENOMEM) /* for libelf what it has no memory for is not there */
        ll_note_no_memory();
    int error = errno;
    close(file);
    errno = error;
    return answer;
}

const char *ll_elf_build_id(struct ll_arena *arena, const char *path)
{
    return ask_file(arena, path, ask_build_id);
}

const struct ll_elf *ll_elf_read_bytes(struct ll_arena *arena, const void *bytes, size_t size)
{
    struct ll_arena scratch = {0};
    struct source source = {.arena = arena};
    errno = 0;
    char *image = ll_copy(&scratch, bytes, size); /* libelf wants to own what it reads */
    Elf *elf = image && elf_version(EV_CURRENT) != EV_NONE ? elf_memory(image, size) : NULL;
    const struct ll_elf *read = start(&source, elf, size) ? read_all(&source) : NULL;
    elf_end(elf);
    if (errno == ENOMEM)
        ll_note_no_memory();
    ll_arena_release(&scratch);
    return read;
}

const struct ll_elf *ll_elf_read(struct ll_arena *arena, const char *path)
{
    struct ll_elf *elf = ask_file(arena, path, ask_all);
    if (errno == EIO && (elf || (elf = ll_alloc(arena, 1, sizeof *elf))))
        elf->unread = true;
    return elf;
}

static const struct ll_elf_symbol *find(const struct ll_elf_symbol *symbols, size_t count, const char *name)
{
    const struct ll_elf_symbol *asked = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(symbols[i].name, name) != 0)
            continue;
        if (symbols[i].defined)
            return &symbols[i];
        asked = &symbols[i];
    }
    return asked;
}

const struct ll_elf_symbol *ll_elf_find(const struct ll_elf *elf, const char *name)
{
    return find(elf->symbols, elf->symbol_count, name);
}

const struct ll_elf_symbol *ll_elf_find_function(const struct ll_elf *elf, const char *name)
{
    return find(elf->functions, elf->function_count, name);
}
