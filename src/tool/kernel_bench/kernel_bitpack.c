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
    {.name = "pack:1", .offset = PACK, .param = 1, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:2", .offset = PACK, .param = 2, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:4", .offset = PACK, .param = 4, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:8", .offset = PACK, .param = 8, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:10", .offset = PACK, .param = 10, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:13", .offset = PACK, .param = 13, .prepare = prepare_pack, .run = run_pack},
    {.name = "pack:16", .offset = PACK, .param = 16, .prepare = prepare_pack, .run = run_pack},
    {.name = "unpack:1", .offset = UNPACK, .param = 1,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:2", .offset = UNPACK, .param = 2,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:4", .offset = UNPACK, .param = 4,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:8", .offset = UNPACK, .param = 8,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:10", .offset = UNPACK, .param = 10,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:13", .offset = UNPACK, .param = 13,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "unpack:16", .offset = UNPACK, .param = 16,
     .prepare = prepare_unpack, .run = run_unpack},
    {.name = "trits", .offset = TRITS, .prepare = prepare_pack, .run = run_trits},
    {.name = "untrits", .offset = UNTRITS, .prepare = prepare_unpack, .run = run_untrits},
    {.name = NULL},
};
/* clang-format on */
