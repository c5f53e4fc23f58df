/* A filter plug-in of HDF5: inverts all bits. Its parameter says
 * what it does wrong when it unpacks. */
#include <H5PLextern.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { RIGHT, SHORT, CRASHES, FAILS, WRITES };

static size_t filter(unsigned flags, size_t count, const unsigned *values, size_t n, size_t *size,
                     void **bytes)
{
    const unsigned wrong = flags & H5Z_FLAG_REVERSE && count ? values[0] : RIGHT;
    unsigned char *p = *bytes;

    (void)size;
    if (wrong == CRASHES)
        raise(SIGSEGV);
    if (wrong == FAILS || (wrong == WRITES && open("written", O_CREAT | O_WRONLY, 0600) < 0))
        return 0;
    for (size_t i = 0; i < n; i++)
        p[i] ^= 0xff;
    return wrong == SHORT ? n - 8 : n;
}

static const H5Z_class2_t description = {.version = H5Z_CLASS_T_VERS,
                                         .id = 400,
                                         .encoder_present = 1,
                                         .decoder_present = 1,
                                         .name = "invert",
                                         .filter = filter};

/* In a folder with a file `abort`, loading ends the process. */
__attribute__((constructor)) static void begin(void)
{
    if (access("abort", F_OK) == 0)
        abort();
}

H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    return &description;
}
