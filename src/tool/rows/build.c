#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "src/tool/gcb_build.h"
#include "src/tool/gcb_revision.h"
#include "src/tool/rows/environment.h"

/* Copies the build id from a segment of ELF notes; false if it has none. */
static bool read_notes(char *out, const unsigned char *p, size_t size)
{
    ElfW(Nhdr) note;

    while (size >= sizeof(note)) {
        size_t name, total;

        memcpy(&note, p, sizeof(note));
        name = (note.n_namesz + 3u) & ~(size_t)3;
        total = sizeof(note) + name + ((note.n_descsz + 3u) & ~(size_t)3);
        if (total > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= 20) {
            for (size_t i = 0; i < note.n_descsz; i++)
                snprintf(out + 2 * i, 3, "%02x", p[sizeof(note) + name + i]);
            return true;
        }
        p += total;
        size -= total;
    }
    return false;
}

/* Called by dl_iterate_phdr for the program, which is the first object: reads its build id, then
 * stops. */
static int visit(struct dl_phdr_info *info, size_t size, void *id)
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
    dl_iterate_phdr(visit, out->id);
}
