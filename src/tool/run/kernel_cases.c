#include "src/tool/run/kernels.h"

#include <string.h>

#include "kernels/base/hd.h"
#include "src/tool/base/memory.h"

/* ---- the arrays and the kernel of a job ---- */

/* Allocates an array of zeros, which the job owns. Sets the guards around the array to 0xa5.
 * Writing the whole array maps its pages before the timed calls. */
static void *take(struct gcb_kernel_job *job, size_t bytes)
{
    const size_t all = job->guard + bytes + job->tail;
    size_t i = 0;

    while (job->array[i]) /* no case takes more than GCB_KERNEL_ARRAYS arrays */
        i++;
    job->array[i] = gcb_must_array(all, 1);
    job->array_bytes[i] = all;
    memset(job->array[i], 0xa5, all);
    return memset(job->array[i] + job->guard, 0, bytes);
}

/* Allocates an array of random bytes. Give each array of a job another seed. */
static uint8_t *take_random(struct gcb_kernel_job *job, size_t bytes, unsigned seed)
{
    uint8_t *p = take(job, bytes);

    job->kernels.philox.bytes(p, bytes, seed, 0, 0);
    return p;
}

/* Allocates n floats that job->fill makes, or else random floats between -1 and 1: differences of
 * two uniform numbers, so that small values are more frequent, as in gradients. Give each array of
 * a job another seed. */
static float *take_floats(struct gcb_kernel_job *job, unsigned seed)
{
    float *x = (float *)(void *)take_random(job, job->n * sizeof(*x), seed);

    if (job->fill)
        job->fill(x, job->n, seed);
    for (size_t i = 0; !job->fill && i < job->n; i++) {
        const uint32_t u = gcb_bits_of(x[i]);

        x[i] = ((float)(u & 0xffff) - (float)(u >> 16)) * 0x1p-16f;
    }
    return x;
}

/* Allocates job->x, which the kernel reads once. */
static void take_input(struct gcb_kernel_job *job)
{
    job->x = take_floats(job, 1);
    job->read = job->n * sizeof(float);
}

/* Sets the job's output. Each call of the kernel must write all of `out`. */
static void set_output(struct gcb_kernel_job *job, void *out, size_t bytes)
{
    job->out = out;
    job->out_bytes = job->written = bytes;
}

static void set_codes_output(struct gcb_kernel_job *job)
{
    set_output(job, job->code, job->n * sizeof(*job->code));
}

/* Allocates job->y as an output of `count` floats. */
static void take_floats_output(struct gcb_kernel_job *job, uint64_t count)
{
    job->y = take(job, count * sizeof(float));
    set_output(job, job->y, count * sizeof(float));
}

/* Copies the timed variant's pointer to the case's kernel to `function`, which points to a variable
 * of the kernel's type. */
static void find_function(void *function, const struct gcb_kernel_job *job)
{
    memcpy(function, (const char *)&job->kernels + job->offset, sizeof(gcb_philox_bytes_fn *));
}

void gcb_kernel_release(struct gcb_kernel_job *job)
{
    gcb_fft_destroy(job->fft);
    for (size_t i = 0; i < GCB_KERNEL_ARRAYS; i++)
        gcb_free(job->array[i]);
}

/* ---- philox ---- */

static void prepare_bytes(struct gcb_kernel_job *job)
{
    job->bytes = take(job, job->n);
    set_output(job, job->bytes, job->n);
}

/* Draws one random byte for each element, as stochastic rounding does. */
static void run_bytes(struct gcb_kernel_job *job)
{
    const uint64_t seed = 1, stream = 2;

    job->kernels.philox.bytes(job->bytes, job->n, seed, job->first, stream);
}

/* ---- reduce ---- */

static void prepare_exponents(struct gcb_kernel_job *job)
{
    take_input(job);
    job->out = job->count;
    job->out_bytes = sizeof(job->count);
}

static void run_max_bits(struct gcb_kernel_job *job)
{
    job->number = job->kernels.reduce.max_bits(job->x, job->n);
}

static void run_sum(struct gcb_kernel_job *job)
{
    gcb_reduce_sum_fn *block_sum;
    double total;

    find_function(&block_sum, job);
    total = gcb_reduce_blocks(block_sum, job->x, job->n);
    memcpy(&job->number, &total, sizeof(job->number));
}

static void run_exponents(struct gcb_kernel_job *job)
{
    memset(job->count, 0, sizeof(job->count));
    job->number = job->kernels.reduce.exponents(job->count, job->x, job->n);
}

/* ---- compare ---- */

static void prepare_compare(struct gcb_kernel_job *job)
{
    take_input(job);
    job->y = take_floats(job, 2);
    job->read *= 2;
    job->out = &job->compare; /* only the result of the last block is compared */
    job->out_bytes = sizeof(job->compare);
}

static void run_compare(struct gcb_kernel_job *job)
{
    for (size_t i = 0; i < job->n; i += GCB_SUM_BLOCK)
        job->kernels.compare.block(&job->compare, job->x + i, job->y + i,
                                   job->n - i < GCB_SUM_BLOCK ? job->n - i : GCB_SUM_BLOCK);
}

/* ---- select ---- */

/* 15 % of the floats of take_floats have a larger magnitude, because their probability density at x
 * is 1 - |x|. Sparsifiers keep 15 % by default. */
static const float threshold = 0.6127f;

/* Collects the elements with at least the threshold's magnitude among the first `count` floats. */
static void collect(struct gcb_kernel_job *job, size_t count)
{
    job->kept = job->kernels.select.collect(job->pos, job->y, NULL, job->x, count, 0,
                                            gcb_magnitude(threshold));
}

/* Collects positions p among the first n / width floats, so that the array has the `width` floats
 * from width * p on. */
static void prepare_positions(struct gcb_kernel_job *job, unsigned width)
{
    take_input(job);
    job->pos = take(job, job->n * sizeof(*job->pos));
    job->y = take(job, job->n * sizeof(*job->y));
    collect(job, job->n / width);
}

static void prepare_collect(struct gcb_kernel_job *job)
{
    prepare_positions(job, 1);
    set_output(job, job->pos, job->kept * sizeof(*job->pos));
    job->written += job->kept * sizeof(*job->y);
}

/* The throughput counts the gathered floats. The bytes read are the positions and the whole array,
 * because the gathered elements lie in nearly all of its cache lines. */
static void prepare_gather2(struct gcb_kernel_job *job)
{
    prepare_positions(job, 2);
    job->elements = 2 * job->kept;
    job->read += job->kept * sizeof(*job->pos);
    take_floats_output(job, job->elements);
}

static void prepare_power(struct gcb_kernel_job *job)
{
    take_input(job);
    take_floats_output(job, job->n / 2);
}

static void run_collect(struct gcb_kernel_job *job)
{
    collect(job, job->n);
}

static void run_count(struct gcb_kernel_job *job)
{
    job->number = job->kernels.select.count(job->x, job->n, gcb_magnitude(threshold));
}

static void run_gather2(struct gcb_kernel_job *job)
{
    job->kernels.select.gather2(job->y, job->x, job->pos, job->kept);
}

static void run_power(struct gcb_kernel_job *job)
{
    job->kernels.select.power(job->y, job->x, job->n / 2, 1.0f, 1.0f);
}

/* ---- bitpack: codes of `param` bits, or trits if param is 0 ---- */

/* Returns the bytes of n packed codes; a byte holds five trits. */
static size_t packed_bytes(const struct gcb_kernel_job *job)
{
    return job->param ? (job->n * job->param + 7) / 8 : (job->n + 4) / 5;
}

static void run_pack(struct gcb_kernel_job *job)
{
    if (job->param)
        job->kernels.bitpack.pack(job->bytes, job->code, job->n, job->param);
    else
        job->kernels.bitpack.trits(job->bytes, job->code, job->n);
}

static void run_unpack(struct gcb_kernel_job *job)
{
    if (job->param)
        job->kernels.bitpack.unpack(job->code, job->bytes, job->n, job->param);
    else
        job->kernels.bitpack.untrits(job->code, job->bytes, job->n);
}

static void prepare_pack(struct gcb_kernel_job *job)
{
    const unsigned mask = (1u << job->param) - 1;

    job->code = (uint16_t *)(void *)take_random(job, job->n * sizeof(*job->code), 1);
    job->bytes = take(job, packed_bytes(job));
    for (size_t i = 0; i < job->n; i++)
        job->code[i] = (uint16_t)(job->param ? job->code[i] & mask : job->code[i] % 3u);
    job->read = job->n * sizeof(*job->code);
    set_output(job, job->bytes, packed_bytes(job));
}

static void prepare_unpack(struct gcb_kernel_job *job)
{
    prepare_pack(job);
    run_pack(job);
    job->read = packed_bytes(job);
    set_codes_output(job);
}

/* ---- convert ---- */

static void prepare_narrow(struct gcb_kernel_job *job)
{
    take_input(job);
    job->bytes = take(job, 2 * job->n);
    set_output(job, job->bytes, 2 * job->n);
}

static void run_narrow(struct gcb_kernel_job *job)
{
    gcb_convert_narrow_fn *narrow;

    find_function(&narrow, job);
    job->number = narrow(job->bytes, job->x, job->n);
}

/* Prepares a conversion from bfloat16 if param is not 0, and otherwise from float16. */
static void prepare_widen(struct gcb_kernel_job *job)
{
    const struct gcb_convert_fns *f = &job->kernels.convert;
    gcb_convert_narrow_fn *const narrow = job->param ? f->to_bf16 : f->to_fp16;

    prepare_narrow(job);
    narrow(job->bytes, job->x, job->n);
    job->read = 2 * job->n;
    take_floats_output(job, job->n);
}

static void run_widen(struct gcb_kernel_job *job)
{
    gcb_convert_widen_fn *widen;

    find_function(&widen, job);
    widen(job->y, job->bytes, job->n);
}

/* ---- range: 8 bits, a mantissa of 4 bits; other formats take the same arithmetic ---- */

static void prepare_range(struct gcb_kernel_job *job)
{
    gcb_range_format(&job->format, 8, 4, 1.0f, GCB_ROUND_NEAREST);
    take_input(job);
    job->code = take(job, job->n * sizeof(*job->code));
    set_codes_output(job);
}

static void run_encode(struct gcb_kernel_job *job)
{
    job->number = job->kernels.range.encode(job->code, job->x, job->n, &job->format);
}

static void prepare_decode(struct gcb_kernel_job *job)
{
    prepare_range(job);
    run_encode(job);
    job->read = job->n * sizeof(*job->code);
    take_floats_output(job, job->n);
}

static void run_decode(struct gcb_kernel_job *job)
{
    job->kernels.range.decode(job->y, job->code, job->n, &job->format);
}

/* The kernel adds the decoded codes to job->y, in place. The bench has a weight of 0, because sums
 * would grow with each call. */
static void prepare_add_codes(struct gcb_kernel_job *job)
{
    prepare_decode(job);
    job->read += job->n * sizeof(*job->y);
}

static void run_range_add(struct gcb_kernel_job *job)
{
    job->kernels.range.add(job->y, job->code, job->n, &job->format, job->weight);
}

/* ---- dither: 2^param - 1 levels, or trits (one level) if param is 0 ---- */

/* Draws the random bytes before the timed calls. */
static void prepare_dither(struct gcb_kernel_job *job)
{
    job->dither = (struct gcb_dither){
        .seed = 1, .coarse = 2, .fine = 3, .levels = job->param ? (1u << job->param) - 1 : 1};
    gcb_dither_scale(&job->dither, job->norm);
    take_input(job);
    job->random = take_random(job, job->n, 2);
    job->code = take(job, job->n * sizeof(*job->code));
    job->read += job->n;
    set_codes_output(job);
}

static void run_dither(struct gcb_kernel_job *job)
{
    const struct gcb_dither_fns *f = &job->kernels.dither;

    if (job->param)
        f->signed_levels(job->code, job->x, job->n, job->random, job->first, &job->dither,
                         job->param);
    else
        f->trits(job->code, job->x, job->n, job->random, job->first, &job->dither);
}

static void prepare_nearest(struct gcb_kernel_job *job)
{
    prepare_dither(job);
    job->read -= job->n; /* no random bytes */
}

static void run_nearest(struct gcb_kernel_job *job)
{
    job->kernels.dither.nearest_levels(job->code, job->x, job->n, &job->dither, job->param);
}

static void prepare_from_levels(struct gcb_kernel_job *job)
{
    prepare_dither(job);
    run_dither(job);
    job->step = take(job, sizeof(*job->step) << job->param);
    for (uint32_t i = 0; i < 1u << job->param; i++)
        job->step[i] = (float)i / (float)job->dither.levels;
    job->read = job->n * sizeof(*job->code);
    take_floats_output(job, job->n);
}

static void run_from_levels(struct gcb_kernel_job *job)
{
    const struct gcb_dither_fns *f = &job->kernels.dither;

    if (job->param)
        f->from_levels(job->y, job->code, job->n, job->step, job->norm, job->param);
    else
        f->from_trits(job->y, job->code, job->n, job->norm);
}

static void prepare_add_levels(struct gcb_kernel_job *job)
{
    prepare_from_levels(job);
    job->read += job->n * sizeof(*job->y);
}

static void run_add_levels(struct gcb_kernel_job *job)
{
    const struct gcb_dither_fns *f = &job->kernels.dither;

    if (job->param)
        f->add_levels(job->y, job->code, job->n, job->step, job->norm, job->param, job->weight);
    else
        f->add_trits(job->y, job->code, job->n, job->norm, job->weight);
}

/* ---- fft: chunks of `param` floats, or the whole array if param is 0 ---- */

enum { FORWARD, INVERSE };

/* Prepares a transform. An inverse transform overwrites its input, so it gets zeros, which stay
 * zeros in repeated calls. */
static void prepare_fft(struct gcb_kernel_job *job, enum gcb_fft_kind kind, int inverse)
{
    const struct gcb_fft_config config = {.kind = kind,
                                          .n = job->n,
                                          .chunk = job->param,
                                          .threads = 1,
                                          .engine = job->offset == GCB_KERNEL_LIBRARY ? GCB_FFT_FFTW
                                                                                      : GCB_FFT_OWN,
                                          .fns = &job->kernels.fft,
                                          .inverse = inverse};
    const uint64_t floats = kind == GCB_FFT_DCT ? job->n : 2 * gcb_fft_bins(job->n, job->param);

    job->x = inverse ? take(job, job->n * sizeof(float)) : take_floats(job, 1);
    job->y = take(job, floats * sizeof(float));
    if (gcb_fft_create(&job->fft, &config))
        gcb_no_memory();
    job->read = (inverse ? floats : job->n) * sizeof(float);
    job->written = (inverse ? job->n : floats) * sizeof(float);
}

static void prepare_forward(struct gcb_kernel_job *job)
{
    prepare_fft(job, GCB_FFT_REAL, FORWARD);
}

static void prepare_inverse(struct gcb_kernel_job *job)
{
    prepare_fft(job, GCB_FFT_REAL, INVERSE);
}

static void prepare_dct(struct gcb_kernel_job *job)
{
    prepare_fft(job, GCB_FFT_DCT, FORWARD);
}

static void prepare_idct(struct gcb_kernel_job *job)
{
    prepare_fft(job, GCB_FFT_DCT, INVERSE);
}

static void run_forward(struct gcb_kernel_job *job)
{
    gcb_fft_forward(job->fft, job->x, job->y);
}

/* Writes to array 0, which is job->x without its const. */
static void run_inverse(struct gcb_kernel_job *job)
{
    gcb_fft_inverse(job->fft, job->y, (float *)(void *)(job->array[0] + job->guard));
}

/* ---- hadamard ---- */

/* The kernel transforms zeros in place, because other values would overflow after many calls. */
static void prepare_transform(struct gcb_kernel_job *job)
{
    job->y = take(job, job->n * sizeof(float));
    job->read = job->written = job->n * sizeof(float);
}

static void prepare_flip(struct gcb_kernel_job *job)
{
    job->y = take_floats(job, 1);
    job->random = take_random(job, (job->n + 7) / 8, 2);
    job->read = job->n * sizeof(float) + job->n / 8;
    job->written = job->n * sizeof(float);
}

static void run_transform(struct gcb_kernel_job *job)
{
    const size_t length = job->param ? job->param : job->n;

    for (size_t i = 0; i < job->n; i += length)
        job->kernels.hadamard.transform(job->y + i, length);
}

static void run_flip(struct gcb_kernel_job *job)
{
    job->kernels.hadamard.flip(job->y, job->random, job->n);
}

/* ---- block: 32 elements as e4m3 scaled by a power of two, as 4-bit integers, or by a code
 * book ---- */

#define BLOCK_LOG2 5
#define BLOCK_TOP 15.0f
#define FN(member) offsetof(struct gcb_kernels, member)

/* Returns the steps and bases of the blocks' integers, an array that is in job->step after three
 * floats for each block. `blocks`: number of blocks. */
static struct gcb_affine *block_integers(const struct gcb_kernel_job *job, size_t blocks)
{
    return (struct gcb_affine *)(void *)(job->step + 3 * blocks);
}

/* Sorts the elements into bins, as if their mean were 0 and their standard deviation 1. */
static void call_bins(struct gcb_kernel_job *job)
{
    const struct gcb_bins bins = gcb_bins_of(0.0, (double)job->n, job->n, GCB_BOOK);
    int64_t *const parts = (int64_t *)(void *)job->bytes;
    const size_t most = 4096;

    for (size_t i = 0; i < job->n; i += most)
        job->kernels.block.bins(job->code + i, parts, (uint64_t *)(void *)(parts + GCB_BOOK),
                                job->x + i, job->n - i < most ? job->n - i : most, &bins);
}

/* Calls the kernel at this offset. */
static void call_block(struct gcb_kernel_job *job, size_t kernel)
{
    const struct gcb_block_fns *k = &job->kernels.block;
    const struct gcb_scaling s = {gcb_small_float_of(GCB_E4M3),
                                  gcb_small_float_of(GCB_E4M3),
                                  GCB_SCALE_E8M0,
                                  GCB_SCALE_RCEIL,
                                  1.0f,
                                  1.0f,
                                  false};
    const struct gcb_tile_draw draw = {1, 2};
    const size_t n = job->n, blocks = (n + (1u << BLOCK_LOG2) - 1) >> BLOCK_LOG2;
    float *factor = job->step, *lo = factor + blocks, *hi = lo + blocks;
    struct gcb_affine *a = block_integers(job, blocks);

    if (kernel == FN(block.most))
        k->most(job->pos, job->x, n, BLOCK_LOG2);
    if (kernel == FN(block.scales))
        k->scales(job->pos + blocks, factor, job->pos, blocks, &s);
    if (kernel == FN(block.floats))
        job->number = k->floats(job->code, job->x, n, BLOCK_LOG2, factor, &s.f);
    if (kernel == FN(block.draw_floats))
        job->number = k->draw_floats(job->code, job->x, n, BLOCK_LOG2, factor, &s.f, &draw);
    if (kernel == FN(block.from_floats))
        k->from_floats(job->y, job->code, n, BLOCK_LOG2, factor, 0, &s.f);
    if (kernel == FN(block.ends))
        job->number = k->ends(lo, hi, job->x, n, BLOCK_LOG2);
    if (kernel == FN(block.integers))
        k->integers(job->code, job->x, n, BLOCK_LOG2, a, BLOCK_TOP, 0);
    if (kernel == FN(block.draw_integers))
        k->draw_integers(job->code, job->x, n, BLOCK_LOG2, a, BLOCK_TOP, 0, &draw);
    if (kernel == FN(block.from_integers))
        k->from_integers(job->y, job->code, n, BLOCK_LOG2, a, 0);
    if (kernel == FN(block.nearest))
        k->nearest(job->code, job->x, n, BLOCK_LOG2, factor, job->pos + 2 * blocks);
    if (kernel == FN(block.bins))
        call_bins(job);
}

static void run_block(struct gcb_kernel_job *job)
{
    call_block(job, job->offset);
}

/* Sets the bytes that a call of the job's kernel reads and writes. */
static void count_block_bytes(struct gcb_kernel_job *job, size_t blocks)
{
    const uint64_t floats = job->n * sizeof(float), codes = job->n * sizeof(*job->code);
    const uint64_t words = blocks * sizeof(float); /* one number for each block */
    const struct {
        size_t kernel;
        uint64_t read, written;
    } rows[] = {
        {FN(block.most), floats, words},
        {FN(block.scales), words, 2 * words},
        {FN(block.floats), floats + words, codes},
        {FN(block.draw_floats), floats + words, codes},
        {FN(block.from_floats), codes + words, floats},
        {FN(block.ends), floats, 2 * words},
        {FN(block.integers), floats + 2 * words, codes},
        {FN(block.draw_integers), floats + 2 * words, codes},
        {FN(block.from_integers), codes + 2 * words, floats},
        {FN(block.nearest), floats + words, codes},
        {FN(block.bins), floats, codes},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kernel == job->offset) {
            job->read = rows[i].read;
            job->written = rows[i].written;
        }
}

/* Prepares any kernel of the family: runs the kernels whose results other kernels read. */
static void prepare_block(struct gcb_kernel_job *job)
{
    const size_t blocks = (job->n + (1u << BLOCK_LOG2) - 1) >> BLOCK_LOG2;

    take_input(job);
    count_block_bytes(job, blocks);
    job->code = take(job, job->n * sizeof(*job->code));
    job->pos = take(job, (2 * blocks + 2 * GCB_CELLS) * sizeof(*job->pos));
    job->step = take(job, 5 * blocks * sizeof(*job->step));
    job->y = take(job, job->n * sizeof(*job->y));
    job->bytes = take(job, 2 * GCB_BOOK * sizeof(uint64_t));
    gcb_book_cells(job->pos + 2 * blocks);
    call_block(job, FN(block.most));
    call_block(job, FN(block.scales));
    call_block(job, FN(block.ends));
    for (size_t b = 0; b < blocks; b++)
        block_integers(job, blocks)[b] =
            gcb_affine_of(job->step[blocks + b], job->step[2 * blocks + b], BLOCK_TOP, 0);
    call_block(job, FN(block.integers));
    call_block(job, FN(block.floats));
    job->number = 0;
}

/* ---- accumulate: kernels add to job->y in place, as in prepare_add_codes ---- */

static void prepare_add(struct gcb_kernel_job *job)
{
    take_input(job);
    job->y = take_floats(job, 2);
    job->read += job->n * sizeof(float);
    job->written = job->n * sizeof(float);
}

/* The kernel adds `param` floats at each position. */
static void prepare_scatter(struct gcb_kernel_job *job)
{
    prepare_positions(job, job->param);
    job->y = take_floats(job, 2);
    job->elements = job->param * job->kept;
    job->read = job->kept * sizeof(*job->pos) + 2 * job->elements * sizeof(float);
    job->written = job->elements * sizeof(float);
}

static void run_add(struct gcb_kernel_job *job)
{
    job->kernels.accumulate.add(job->y, job->x, job->n, job->weight);
}

static void run_add_exponents(struct gcb_kernel_job *job)
{
    job->kernels.accumulate.add_exponents(job->y, job->code, job->n, job->weight);
}

static void run_scatter(struct gcb_kernel_job *job)
{
    gcb_accumulate_scatter_fn *scatter;

    find_function(&scatter, job);
    scatter(job->y, job->pos, job->x, job->kept, job->weight);
}

/* ---- the table of cases ---- */

/* clang-format off */
const struct gcb_kernel_case gcb_kernel_cases[] = {
    {"philox", "bytes", FN(philox.bytes), 0, prepare_bytes, run_bytes},
    {"reduce", "max_bits", FN(reduce.max_bits), 0, take_input, run_max_bits},
    {"reduce", "sum", FN(reduce.sum), 0, take_input, run_sum},
    {"reduce", "sum_abs", FN(reduce.sum_abs), 0, take_input, run_sum},
    {"reduce", "sum_sq", FN(reduce.sum_sq), 0, take_input, run_sum},
    {"reduce", "exponents", FN(reduce.exponents), 0, prepare_exponents, run_exponents},
    {"compare", "block", FN(compare.block), 0, prepare_compare, run_compare},
    {"select", "collect", FN(select.collect), 0, prepare_collect, run_collect},
    {"select", "count", FN(select.count), 0, take_input, run_count},
    {"select", "gather2", FN(select.gather2), 0, prepare_gather2, run_gather2},
    {"select", "power", FN(select.power), 0, prepare_power, run_power},
    {"bitpack", "pack:1", FN(bitpack.pack), 1, prepare_pack, run_pack},
    {"bitpack", "pack:2", FN(bitpack.pack), 2, prepare_pack, run_pack},
    {"bitpack", "pack:4", FN(bitpack.pack), 4, prepare_pack, run_pack},
    {"bitpack", "pack:8", FN(bitpack.pack), 8, prepare_pack, run_pack},
    {"bitpack", "pack:10", FN(bitpack.pack), 10, prepare_pack, run_pack},
    {"bitpack", "pack:13", FN(bitpack.pack), 13, prepare_pack, run_pack},
    {"bitpack", "pack:16", FN(bitpack.pack), 16, prepare_pack, run_pack},
    {"bitpack", "unpack:1", FN(bitpack.unpack), 1, prepare_unpack, run_unpack},
    {"bitpack", "unpack:2", FN(bitpack.unpack), 2, prepare_unpack, run_unpack},
    {"bitpack", "unpack:4", FN(bitpack.unpack), 4, prepare_unpack, run_unpack},
    {"bitpack", "unpack:8", FN(bitpack.unpack), 8, prepare_unpack, run_unpack},
    {"bitpack", "unpack:10", FN(bitpack.unpack), 10, prepare_unpack, run_unpack},
    {"bitpack", "unpack:13", FN(bitpack.unpack), 13, prepare_unpack, run_unpack},
    {"bitpack", "unpack:16", FN(bitpack.unpack), 16, prepare_unpack, run_unpack},
    {"bitpack", "trits", FN(bitpack.trits), 0, prepare_pack, run_pack},
    {"bitpack", "untrits", FN(bitpack.untrits), 0, prepare_unpack, run_unpack},
    {"block", "most", FN(block.most), 0, prepare_block, run_block},
    {"block", "scales", FN(block.scales), 0, prepare_block, run_block},
    {"block", "floats", FN(block.floats), 0, prepare_block, run_block},
    {"block", "draw_floats", FN(block.draw_floats), 0, prepare_block, run_block},
    {"block", "from_floats", FN(block.from_floats), 0, prepare_block, run_block},
    {"block", "ends", FN(block.ends), 0, prepare_block, run_block},
    {"block", "integers", FN(block.integers), 0, prepare_block, run_block},
    {"block", "draw_integers", FN(block.draw_integers), 0, prepare_block, run_block},
    {"block", "from_integers", FN(block.from_integers), 0, prepare_block, run_block},
    {"block", "nearest", FN(block.nearest), 0, prepare_block, run_block},
    {"block", "bins", FN(block.bins), 0, prepare_block, run_block},
    {"convert", "to_fp16", FN(convert.to_fp16), 0, prepare_narrow, run_narrow},
    {"convert", "to_bf16", FN(convert.to_bf16), 0, prepare_narrow, run_narrow},
    {"convert", "from_fp16", FN(convert.from_fp16), 0, prepare_widen, run_widen},
    {"convert", "from_bf16", FN(convert.from_bf16), 1, prepare_widen, run_widen},
    {"range", "encode", FN(range.encode), 0, prepare_range, run_encode},
    {"range", "decode", FN(range.decode), 0, prepare_decode, run_decode},
    {"range", "add", FN(range.add), 0, prepare_add_codes, run_range_add},
    {"dither", "signed_levels", FN(dither.signed_levels), 7, prepare_dither, run_dither},
    {"dither", "nearest_levels", FN(dither.nearest_levels), 3, prepare_nearest, run_nearest},
    {"dither", "trits", FN(dither.trits), 0, prepare_dither, run_dither},
    {"dither", "from_levels:2", FN(dither.from_levels), 2, prepare_from_levels, run_from_levels},
    {"dither", "from_levels:4", FN(dither.from_levels), 4, prepare_from_levels, run_from_levels},
    {"dither", "from_levels:7", FN(dither.from_levels), 7, prepare_from_levels, run_from_levels},
    {"dither", "from_trits", FN(dither.from_trits), 0, prepare_from_levels, run_from_levels},
    {"dither", "add_levels:4", FN(dither.add_levels), 4, prepare_add_levels, run_add_levels},
    {"dither", "add_trits", FN(dither.add_trits), 0, prepare_add_levels, run_add_levels},
    {"fft", "forward:4096", FN(fft.forward), 4096, prepare_forward, run_forward},
    {"fft", "inverse:4096", FN(fft.inverse), 4096, prepare_inverse, run_inverse},
    {"fft", "forward", FN(fft.forward), 0, prepare_forward, run_forward},
    {"fft", "inverse", FN(fft.inverse), 0, prepare_inverse, run_inverse},
    {"fft", "dct:64", FN(fft.forward), 64, prepare_dct, run_forward},
    {"fft", "idct:64", FN(fft.inverse), 64, prepare_idct, run_inverse},
    {"fft", "dct:4096", FN(fft.forward), 4096, prepare_dct, run_forward},
    {"fft", "idct:4096", FN(fft.inverse), 4096, prepare_idct, run_inverse},
    {"fft", "forward:4096", GCB_KERNEL_LIBRARY, 4096, prepare_forward, run_forward},
    {"fft", "inverse:4096", GCB_KERNEL_LIBRARY, 4096, prepare_inverse, run_inverse},
    {"fft", "forward", GCB_KERNEL_LIBRARY, 0, prepare_forward, run_forward},
    {"fft", "inverse", GCB_KERNEL_LIBRARY, 0, prepare_inverse, run_inverse},
    {"fft", "dct:64", GCB_KERNEL_LIBRARY, 64, prepare_dct, run_forward},
    {"fft", "idct:64", GCB_KERNEL_LIBRARY, 64, prepare_idct, run_inverse},
    {"fft", "dct:4096", GCB_KERNEL_LIBRARY, 4096, prepare_dct, run_forward},
    {"fft", "idct:4096", GCB_KERNEL_LIBRARY, 4096, prepare_idct, run_inverse},
    {"hadamard", "transform:4096", FN(hadamard.transform), 4096, prepare_transform, run_transform},
    {"hadamard", "transform", FN(hadamard.transform), 0, prepare_transform, run_transform},
    {"hadamard", "flip", FN(hadamard.flip), 0, prepare_flip, run_flip},
    {"accumulate", "add", FN(accumulate.add), 0, prepare_add, run_add},
    {"accumulate", "add_exponents", FN(accumulate.add_exponents), 0, prepare_add_codes, run_add_exponents},
    {"accumulate", "scatter", FN(accumulate.scatter), 1, prepare_scatter, run_scatter},
    {"accumulate", "scatter2", FN(accumulate.scatter2), 2, prepare_scatter, run_scatter},
    {.name = NULL},
};
/* clang-format on */
