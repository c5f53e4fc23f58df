#ifndef TESTS_SUPPORT_CUDA_HOST_DLFCN_H
#define TESTS_SUPPORT_CUDA_HOST_DLFCN_H

/* Included instead of the system's header of this name: the libraries that the module opens are the
 * stand-ins (cufft.cpp, libraries.cpp). */
#pragma GCC system_header
#include_next <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif
void *gcb_host_dlopen(const char *name, int flags);
void *gcb_host_dlsym(void *library, const char *name);
int gcb_host_dlclose(void *library);
#ifdef __cplusplus
}
#endif

#define dlopen gcb_host_dlopen
#define dlsym gcb_host_dlsym
#define dlclose gcb_host_dlclose

#endif
