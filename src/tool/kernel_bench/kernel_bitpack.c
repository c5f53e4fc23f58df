#include "src/tool/kernel_bench/kernel_case.h"

static size_t packed_bytes(const struct gcb_kernel_job *job)
{
    return job->param ? job->n * job->param / 8 : (job->n + 4) / 5;
}

/* Codes of `param` bits; 0: trits. */
static int prepare_codes(struct gcb_kernel_job *job)
{
    const unsigned mask = (1u << job->param) - 1;

    job->code = (uint16_t *)(void *)gcb_kernel_random(job, job->n * sizeof(*job->code), 1);
    job->bytes = gcb_kernel_take(job, packed_bytes(job));
    if (!job->code || !job->bytes)
        return GCB_E_NOMEM;
    for (size_t i = 0; i < job->n; i++)
        job->code[i] = (uint16_t)(job->param ? job->code[i] & mask : job->code[i] % 3u);
    return 0;
}

static int prepare_pack(struct gcb_kernel_job *job)
{
    job->read = job->n * sizeof(*job->code);
    if (prepare_codes(job))
        return GCB_E_NOMEM;
    return gcb_kernel_writes(job, job->bytes, packed_bytes(job));
}

static int prepare_unpack(struct gcb_kernel_job *job)
{
    job->read = packed_bytes(job);
    if (prepare_codes(job))
        return GCB_E_NOMEM;
    if (job->param)
        job->kernels.bitpack.pack(job->bytes, job->code, job->n, job->param);
    else
        job->kernels.bitpack.trits(job->bytes, job->code, job->n);
    return gcb_kernel_writes(job, job->code, job->n * sizeof(*job->code));
}

static void run_pack(struct gcb_kernel_job *job)
{
    job->kernels.bitpack.pack(job->bytes, job->code, job->n, job->param);
}

static void run_unpack(struct gcb_kernel_job *job)
{
    job->kernels.bitpack.unpack(job->code, job->bytes, job->n, job->param);
}

static void run_trits(struct gcb_kernel_job *job)
{
    job->kernels.bitpack.trits(job->bytes, job->code, job->n);
}

static void run_untrits(struct gcb_kernel_job *job)
{
    job->kernels.bitpack.untrits(job->code, job->bytes, job->n);
}

enum function {
    PACK = offsetof(struct gcb_kernels, bitpack.pack),
    UNPACK = offsetof(struct gcb_kernels, bitpack.unpack),
    TRITS = offsetof(struct gcb_kernels, bitpack.trits),
    UNTRITS = offsetof(struct gcb_kernels, bitpack.untrits),
};

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_bitpack[] = {
    {"pack:1", PACK, 1, prepare_pack, run_pack},
    {"pack:2", PACK, 2, prepare_pack, run_pack},
    {"pack:4", PACK, 4, prepare_pack, run_pack},
    {"pack:8", PACK, 8, prepare_pack, run_pack},
    {"pack:10", PACK, 10, prepare_pack, run_pack},
    {"pack:13", PACK, 13, prepare_pack, run_pack},
    {"pack:16", PACK, 16, prepare_pack, run_pack},
    {"unpack:1", UNPACK, 1, prepare_unpack, run_unpack},
    {"unpack:2", UNPACK, 2, prepare_unpack, run_unpack},
    {"unpack:4", UNPACK, 4, prepare_unpack, run_unpack},
    {"unpack:8", UNPACK, 8, prepare_unpack, run_unpack},
    {"unpack:10", UNPACK, 10, prepare_unpack, run_unpack},
    {"unpack:13", UNPACK, 13, prepare_unpack, run_unpack},
    {"unpack:16", UNPACK, 16, prepare_unpack, run_unpack},
    {"trits", TRITS, 0, prepare_pack, run_trits},
    {"untrits", UNTRITS, 0, prepare_unpack, run_untrits},
    {.name = NULL},
};
/* clang-format on */
