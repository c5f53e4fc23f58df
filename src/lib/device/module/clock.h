#ifndef SRC_LIB_DEVICE_MODULE_CLOCK_H
#define SRC_LIB_DEVICE_MODULE_CLOCK_H

/*
 * The clock of a device's multiprocessors as it is now, from the driver's own library (NVML), which is opened at run
 * time: CUDA knows only how fast it could be.
 */
struct gcb_device_clock;

/* By its place on the bus, as CUDA names it. NULL where the library is not found or does not know it. */
struct gcb_device_clock *gcb_cuda_clock_open(const char *bus_id);
unsigned gcb_cuda_clock_mhz(const struct gcb_device_clock *c); /* 0: not known, as for NULL */
void gcb_cuda_clock_close(struct gcb_device_clock *c);         /* NULL is fine */

#endif
