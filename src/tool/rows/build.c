#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "src/tool/gcb_build.h"
#include "src/tool/gcb_revision.h"
#include "src/tool/rows/environment.h"

#define ID_BYTES 20 /* longest build id: a SHA-1 */

/* Names and contents of ELF notes are padded to 4 bytes. */
static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* Copies the build id from a segment of ELF notes to `out` in hexadecimal. Returns false if the
 * segment has no build id of at most ID_BYTES bytes. */
static bool read_notes(char out[2 * ID_BYTES + 1], const unsigned char *p, size_t size)
{
    ElfW(Nhdr) note;

    while (size >= sizeof(note)) {
        size_t content, total;

        memcpy(&note, p, sizeof(note));
        content = sizeof(note) + padded(note.n_namesz);
        total = content + padded(note.n_descsz);
        if (total > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= ID_BYTES &&
            note.n_namesz == sizeof("GNU") && memcmp(p + sizeof(note), "GNU", sizeof("GNU")) == 0) {
            for (size_t i = 0; i < note.n_descsz; i++)
                snprintf(out + 2 * i, 3, "%02x", p[content + i]);
            return true;
        }
        p += total;
        size -= total;
    }
    return false;
}

/* Reads the build id of the program, which is the first object that dl_iterate_phdr visits. Returns
 * 1, which ends the iteration. */
static int read_program_id(struct dl_phdr_info *info, size_t size, void *id)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const void *notes = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

        if (info->dlpi_phdr[i].p_type == PT_NOTE &&
            read_notes(id, notes, info->dlpi_phdr[i].p_memsz))
            break;
    }
    return 1;
}

void gcb_environment_build(struct gcb_build *out)
{
    char *dirty;

    memset(out, 0, sizeof(*out));
    out->type = GCB_BUILD_TYPE;
    out->compiler = GCB_BUILD_COMPILER;
    out->flags = GCB_BUILD_FLAGS;
    out->sanitize = GCB_BUILD_SANITIZE;
    if (strcmp(GCB_REVISION, "unknown") != 0)
        snprintf(out->revision, sizeof(out->revision), "%s", GCB_REVISION);
    dirty = strstr(out->revision, "-dirty");
    if (dirty) {
        out->dirty = true;
        *dirty = '\0';
    }
    dl_iterate_phdr(read_program_id, out->id);
}
