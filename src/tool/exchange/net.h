#ifndef SRC_TOOL_EXCHANGE_NET_H
#define SRC_TOOL_EXCHANGE_NET_H

#include <stdbool.h>

#include "src/gcbench.h"
#include "src/tool/payoff/curve.h"

/*
 * The ranks of an MPI program, and the collectives with which they exchange the rounds of
 * struct gcb_round (src/gcbench.h). Each rank is a worker. Only net.c sees MPI.
 *
 * All ranks must call these functions in the same order, except where a comment says otherwise. MPI
 * itself ends the program if a rank dies or a transfer fails.
 */
struct gcb_net;

/*
 * Which algorithm moves the bytes of a round; n is the number of ranks. A shift is the same in all
 * of them: each rank sends to one other rank.
 *
 *  library   MPI_Allgatherv, MPI_Alltoallv and MPI_Allreduce, with the algorithm that the MPI
 *            library chooses. If a rank gives more than 1 GiB / n to an all-gather or an
 *            all-to-all, which MPI's counts may not hold, the round moves as with `ring`.
 *  ring      All-gather and all-reduce in a ring (Patarasuk and Yuan: "Bandwidth optimal all-reduce
 *            algorithms for clusters of workstations", 2009, section 3). All-to-all in n - 1 steps
 *            between pairs.
 *  doubling  All-gather in lg n steps (Bruck et al.: "Efficient algorithms for all-to-all
 *            communications", 1997, section 4). All-reduce by recursive doubling of whole vectors
 *            (Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in
 *            MPICH", 2005, section 4.5). All-to-all as with `ring`.
 */
enum gcb_net_algorithm { GCB_NET_LIBRARY, GCB_NET_RING, GCB_NET_DOUBLING, GCB_NET_ALGORITHMS };
extern const char *const gcb_net_algorithm_names[]; /* ends with NULL */

/* Starts MPI, which takes its own arguments out of *argv. Call it once, before anything else reads
 * the arguments. Never returns NULL. */
struct gcb_net *gcb_net_open(int *argc, char ***argv);
/* Releases `net`, which may be NULL, and ends MPI. */
void gcb_net_close(struct gcb_net *net);

/* The next four functions are local: any rank may call them at any time. */
unsigned gcb_net_rank(const struct gcb_net *net);
unsigned gcb_net_ranks(const struct gcb_net *net);
/* Returns name and version of the MPI library; owned by `net`. */
const char *gcb_net_library(const struct gcb_net *net);
/* True if the MPI library is SimGrid, which simulates the network and the clock. Computing then
 * takes no time. */
bool gcb_net_simulated(const struct gcb_net *net);

/*
 * Returns 0 if no rank has failed. `err` and `diag`, which is not NULL, say whether this rank has
 * failed, and why. If a rank failed, all ranks return the status and the message of the lowest rank
 * that failed. If some ranks succeeded, the message begins with "rank N: ".
 */
int gcb_net_agree(struct gcb_net *net, int err, struct gcb_diag *diag);
/* Prints the message of `diag`, which is not NULL, to standard error, and ends all ranks at once
 * with exit status 1. Any rank may call this at any time after gcb_net_open has started MPI. */
_Noreturn void gcb_net_abort(const struct gcb_diag *diag);

/* True if all ranks have the same value. */
bool gcb_net_same(struct gcb_net *net, uint64_t value);
/* Sets values[i] on all ranks to the largest values[i] of any rank. */
void gcb_net_max(struct gcb_net *net, double *values, int count);
/* Sets values[i] on all ranks to the sum of values[i] over all ranks. */
void gcb_net_add(struct gcb_net *net, uint64_t *values, int count);
/* Copies `bytes` bytes from `data` on rank 0 to `data` on all other ranks. */
void gcb_net_spread(struct gcb_net *net, void *data, size_t bytes);
void gcb_net_barrier(struct gcb_net *net);
/* True if `limit` seconds have passed since the time `begin` of gcb_clock. Rank 0 decides, so that
 * all ranks stop together. */
bool gcb_net_is_late(struct gcb_net *net, double begin, double limit);

/* The bytes that arrived from one worker in a round; in GCB_ROUND_REDUCE, the combined values of
 * all workers. */
struct gcb_arrival {
    void *data;
    size_t length;
};

/*
 * Moves the bytes of a round. *arrived becomes an array with an arrival for each rank, or with one
 * arrival for GCB_ROUND_REDUCE and GCB_ROUND_SHIFT. The array and the bytes stay valid until the
 * next call of this function.
 *
 * `fixed`: all ranks send the same number of bytes in a GCB_ROUND_GATHER. If not, or in a
 * GCB_ROUND_SCATTER or GCB_ROUND_SHIFT, ranks exchange the lengths first, and *sizes_seconds
 * becomes the time for that; otherwise 0. Returns 0 or GCB_E_NOMEM.
 */
int gcb_net_move(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                 const struct gcb_round *round, bool fixed, const struct gcb_arrival **arrived,
                 double *sizes_seconds, struct gcb_diag *diag);

/*
 * Sends `bytes` bytes of `data`, and receives as many into `to`, on all ranks at the same time. In
 * the pattern `shift` each rank sends to the next rank of the ring, and receives from the previous
 * one. In the pattern `pair` ranks 0 and 1, 2 and 3, ... exchange bytes; the last of an odd number
 * of ranks does nothing.
 */
void gcb_net_transfer(struct gcb_net *net, enum gcb_pattern pattern, const void *data, void *to,
                      int bytes);

#endif
