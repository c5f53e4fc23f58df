#ifndef SRC_TOOL_EXCHANGE_NET_H
#define SRC_TOOL_EXCHANGE_NET_H

#include <stdbool.h>

#include "src/gcbench.h"
#include "src/tool/payoff/curve.h"

/*
 * The ranks of an MPI program, and the collectives with which they exchange the rounds of
 * src/gcbench.h. Each rank is a worker. Only net.c sees MPI.
 *
 * All ranks must call these functions in the same order, except where a comment says otherwise. MPI
 * itself ends the program if a rank dies or a transfer fails.
 */
struct gcb_net;

/*
 * Which algorithm moves the bytes of a round; n is the number of ranks.
 *
 *  library   MPI_Allgatherv, MPI_Alltoallv, MPI_Allreduce: whatever the MPI library chooses; as `ring` if a rank gives
 *            more than 1 GiB divided by n to an all-gather or an all-to-all, which MPI's counts do
 *            not hold
 *  ring      all-gather and all-reduce in a ring (Patarasuk and Yuan: "Bandwidth optimal all-reduce algorithms for
 *            clusters of workstations", 2009, section 3); all-to-all in n - 1 steps between pairs
 *  doubling  all-gather in lg n steps (Bruck et al.: "Efficient algorithms for all-to-all
 *  communications", 1997,
 *            section 4); all-reduce by recursive doubling of whole vectors (Thakur, Rabenseifner,
 *            Gropp: "Optimization of collective communication operations in MPICH", 2005, section
 *            4.5); all-to-all as for `ring`
 */
enum gcb_net_algorithm { GCB_NET_LIBRARY, GCB_NET_RING, GCB_NET_DOUBLING, GCB_NET_ALGORITHMS };
extern const char *const gcb_net_algorithm_names[]; /* ends with NULL */

/* Starts MPI. Call it once, before anything else reads the arguments. The caller owns *out. */
int gcb_net_open(struct gcb_net **out, int *argc, char ***argv, struct gcb_diag *diag);
/* Ends MPI. NULL is fine. */
void gcb_net_close(struct gcb_net *net);

unsigned gcb_net_rank(const struct gcb_net *net);
unsigned gcb_net_ranks(const struct gcb_net *net);
/* Name and version of the MPI library. Owned by `net`. */
const char *gcb_net_library(const struct gcb_net *net);
/* True if it is SimGrid, which simulates a network, and the clock too. Then computing takes no
 * time. */
bool gcb_net_simulated(const struct gcb_net *net);

/*
 * Returns 0 if all ranks have succeeded. `err` and `diag` are this rank's. If any rank failed, all
 * ranks return the status and the text of the lowest rank that failed. Unless all failed, "rank N:
 * " is put before the text.
 */
int gcb_net_agree(struct gcb_net *net, int err, struct gcb_diag *diag);
/* Prints one line, and ends all ranks at once with exit status 1. Any rank may call this at any
 * time after gcb_net_open, which may have failed. */
_Noreturn void gcb_net_abort(const struct gcb_diag *diag);

/* True if all ranks have the same value. */
bool gcb_net_same(struct gcb_net *net, uint64_t value);
/* values[i] becomes the largest of all ranks, on all ranks. */
void gcb_net_max(struct gcb_net *net, double *values, int count);
/* values[i] becomes the sum over all ranks, on all ranks. */
void gcb_net_add(struct gcb_net *net, uint64_t *values, int count);
/* Copies `bytes` bytes of rank 0 to all ranks. */
void gcb_net_spread(struct gcb_net *net, void *data, size_t bytes);
void gcb_net_barrier(struct gcb_net *net);
/* True if `limit` seconds have passed since `begin`. Rank 0 decides, so that all ranks stop
 * together. */
bool gcb_net_is_late(struct gcb_net *net, double begin, double limit);

/* The bytes that arrived from one worker in a round; in GCB_ROUND_REDUCE, the combined values of
 * all workers. */
struct gcb_arrival {
    void *data;
    size_t length;
};

/*
 * Moves the bytes of a round. *arrived points to an array of one arrival for each rank, or of one
 * for GCB_ROUND_REDUCE. It and its bytes stay valid until the next call. `fixed`: all ranks send
 * the same number of bytes in a GCB_ROUND_GATHER; otherwise ranks tell each other the lengths
 * first, and *sizes_seconds becomes the time that this took. GCB_E_NOMEM.
 */
int gcb_net_move(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                 const struct gcb_round *round, bool fixed, const struct gcb_arrival **arrived,
                 double *sizes_seconds, struct gcb_diag *diag);

/*
 * All ranks send and receive `bytes` bytes at the same time. In the pattern `shift` each rank sends
 * to the next rank of the ring, and receives from the previous one; in the pattern `pair` ranks 0
 * and 1, 2 and 3, ... exchange bytes, and the last of an odd number of ranks does nothing.
 */
void gcb_net_transfer(struct gcb_net *net, enum gcb_pattern pattern, const void *data, void *to,
                      int bytes);

#endif
