#ifndef SRC_TOOL_EXCHANGE_NET_PRIVATE_H
#define SRC_TOOL_EXCHANGE_NET_PRIVATE_H

#include <mpi.h>

#include "src/tool/exchange/net.h"

struct gcb_net {
    MPI_Comm comm;
    int rank, ranks;
    char library[64];
    MPI_Op sum_f16, sum_bf16;
    MPI_Datatype block; /* GCB_NET_BLOCK bytes */
    /* of each rank; grown when a round needs more */
    struct gcb_arrival *arrived;
    uint64_t *lengths; /* bytes that arrive from each rank */
    uint64_t *offsets; /* where they lie in `buffer` */
    uint64_t *sending; /* all-to-all: bytes for each rank */
    int *counts;       /* four arrays, for MPI_Alltoallv */
    uint8_t *buffer, *scratch;
    size_t capacity, scratch_capacity;
};

/*
 * `library` counts more bytes than a piece in blocks: what a rank sends another begins at a whole block, and ends with bytes
 * that nobody reads. MPI-4 has functions that count further, but OpenMPI 4 lacks them.
 */
#define GCB_NET_BLOCK 4096

#endif
