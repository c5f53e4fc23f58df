#ifndef KERNELS_SELECT_SELECT_CUH
#define KERNELS_SELECT_SELECT_CUH

/* What the files of select_cuda.h share. */
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/scan.cuh"
#include "kernels/cuda/tile.cuh"
#include "kernels/hd.h"
#include "kernels/select/select_cuda.h"

namespace gcb
{

constexpr unsigned kDigits =
    2048; /* of the topmost 11 bits of a magnitude; the two levels below have half */
constexpr unsigned kLevels = 3;

struct choosing {
    struct gcb_cuda_choice choice; /* first: chosen.choice points here */
    uint32_t least;                /* magnitude that is collected from */
    uint32_t again;                /* collect once more */
    uint32_t prefix; /* digits found so far of the k-th largest; at the end, all of it */
    uint32_t left;   /* which one it is among those of its prefix; at the end, ties that are kept */
    uint32_t digits[kLevels][kDigits];
};

/* What was collected: tile t has count[t] entries from entry 4096 t on. */
struct slots {
    uint32_t *bits;
    uint16_t *offset; /* within the tile */
    uint32_t *count;
    uint32_t *above,
        *ties; /* of the entries, how many lie above the k-th largest, and how many equal it */
};

/* Blocks of a kernel whose blocks go on from tile to tile; enough for every device there is. */
constexpr uint64_t kMostBlocks = 1056;

inline uint64_t tiles_for(uint64_t n)
{
    return (n + kTile - 1) / kTile;
}

inline uint64_t blocks_for(uint64_t tiles)
{
    return tiles == 0 ? 1 : tiles < kMostBlocks ? tiles : kMostBlocks;
}

/* The same where each warp takes a tile. */
inline uint64_t blocks_of_warps_for(uint64_t tiles)
{
    return blocks_for((tiles + kTileThreads / kWarp - 1) / (kTileThreads / kWarp));
}

/* select_compact_cuda.cu: from slots and the k-th largest to the list. */
int compact(struct gcb_device_stream *s, const struct gcb_cuda_chosen &to, choosing *c,
            const slots &from);

} /* namespace gcb */

#endif
