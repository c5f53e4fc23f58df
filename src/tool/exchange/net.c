#include "src/tool/exchange/net.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/diag.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/base/memory.h"

/* The most bytes in one message of MPI, whose counts have type int. A test sets a smaller
 * number. */
#ifndef GCB_NET_PIECE
#define GCB_NET_PIECE (1 << 30)
#endif

struct gcb_net {
    int rank, ranks;
    char library[64];
    MPI_Op sum_f16, sum_bf16;
    /* these three arrays have an item for each rank */
    struct gcb_arrival *arrived;
    uint64_t *lengths;  /* bytes that arrive from the rank */
    uint64_t *sending;  /* all-to-all: bytes for the rank */
    int *counts;        /* four such arrays: counts and displacements of arriving and sent bytes */
    struct gcb_room in; /* what arrives */
    struct gcb_room scratch;
};

const char *const gcb_net_algorithm_names[] = {"library", "ring", "doubling", NULL};

/* ---- combining values ---- */

/* Functions for MPI_Op_create: add the values of `one` to `acc`. */
static void combine_f16(void *one, void *acc, int *count, MPI_Datatype *type)
{
    gcb_reduction_combine(GCB_SUM_F16, acc, one, (size_t)*count * sizeof(uint16_t));
}

static void combine_bf16(void *one, void *acc, int *count, MPI_Datatype *type)
{
    gcb_reduction_combine(GCB_SUM_BF16, acc, one, (size_t)*count * sizeof(uint16_t));
}

/* ---- starting and ending MPI, and facts about a rank ---- */

/* Sets net->library to the name and version that begin MPI's description of itself. */
static void name_library(struct gcb_net *net)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], *end;
    int length;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    end = strstr(text, ". "); /* SimGrid writes two sentences; the first has name and version */
    if (end)
        *end = '\0';
    for (char *c = text; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    gcb_escape(net->library, sizeof(net->library), text);
}

struct gcb_net *gcb_net_open(int *argc, char ***argv)
{
    struct gcb_net *net;
    size_t n;

    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &(int){0}); /* codecs may run threads */
    net = gcb_must_zero(1, sizeof(*net));
    MPI_Comm_rank(MPI_COMM_WORLD, &net->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &net->ranks);
    name_library(net);
    MPI_Op_create(combine_f16, 1, &net->sum_f16);
    MPI_Op_create(combine_bf16, 1, &net->sum_bf16);
    n = (size_t)net->ranks;
    net->arrived = gcb_must_zero(n, sizeof(*net->arrived));
    net->lengths = gcb_must_zero(n, sizeof(*net->lengths));
    net->sending = gcb_must_zero(n, sizeof(*net->sending));
    net->counts = gcb_must_zero(4 * n, sizeof(*net->counts));
    return net;
}

void gcb_net_close(struct gcb_net *net)
{
    if (net) {
        MPI_Op_free(&net->sum_f16);
        MPI_Op_free(&net->sum_bf16);
        gcb_free(net->arrived);
        gcb_free(net->lengths);
        gcb_free(net->sending);
        gcb_free(net->counts);
        gcb_room_fini(&net->in);
        gcb_room_fini(&net->scratch);
        gcb_free(net);
    }
    MPI_Finalize();
}

unsigned gcb_net_rank(const struct gcb_net *net)
{
    return (unsigned)net->rank;
}

unsigned gcb_net_ranks(const struct gcb_net *net)
{
    return (unsigned)net->ranks;
}

const char *gcb_net_library(const struct gcb_net *net)
{
    return net->library;
}

bool gcb_net_simulated(const struct gcb_net *net)
{
    /* SMPI is SimGrid's MPI */
    return strncmp(net->library, "SMPI ", 5) == 0;
}

/* ---- errors and values of all ranks ---- */

int gcb_net_agree(struct gcb_net *net, int err, struct gcb_diag *diag)
{
    /* the lowest ranks that failed and that succeeded; net->ranks: none */
    enum { FAILED, SUCCEEDED };
    int least[2] = {net->ranks, net->ranks}, first;
    struct gcb_diag told = *diag;

    least[err ? FAILED : SUCCEEDED] = net->rank;
    MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    first = least[FAILED];
    if (first == net->ranks)
        return 0;
    MPI_Bcast(&told, sizeof(told), MPI_BYTE, first, MPI_COMM_WORLD);
    MPI_Bcast(&err, 1, MPI_INT, first, MPI_COMM_WORLD);
    if (!told.text[0])
        gcb_diag_set(&told, err, "%s", gcb_status_text(err));
    if (least[SUCCEEDED] == net->ranks)
        return gcb_diag_set(diag, err, "%s", told.text);
    return gcb_diag_set(diag, err, "rank %d: %s", first, told.text);
}

void gcb_net_abort(const struct gcb_diag *diag)
{
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "gcbench-mpi: rank %d: %s\n", rank, diag->text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    __builtin_unreachable();
}

bool gcb_net_same(struct gcb_net *net, uint64_t value)
{
    /* the largest ~value is that of the smallest value */
    uint64_t ends[2] = {value, ~value}, most[2];

    MPI_Allreduce(ends, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == ~most[1];
}

void gcb_net_max(struct gcb_net *net, double *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

void gcb_net_add(struct gcb_net *net, uint64_t *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

void gcb_net_spread(struct gcb_net *net, void *data, size_t bytes)
{
    uint8_t *at = data;

    for (size_t n; bytes; at += n, bytes -= n) {
        n = bytes < INT_MAX ? bytes : INT_MAX;
        MPI_Bcast(at, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

void gcb_net_barrier(struct gcb_net *net)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

bool gcb_net_is_late(struct gcb_net *net, double begin, double limit)
{
    double late = net->rank == 0 && gcb_clock() - begin >= limit;

    gcb_net_max(net, &late, 1);
    return late > 0.0;
}

/* ---- transfers between two ranks ---- */

/* Returns the rank that is `steps` steps further round the ring; `steps` may be negative. */
static int ring_rank(const struct gcb_net *net, int steps)
{
    return ((net->rank + steps) % net->ranks + net->ranks) % net->ranks;
}

static int piece_length(uint64_t left)
{
    return left < GCB_NET_PIECE ? (int)left : GCB_NET_PIECE;
}

/* Sends `bytes` bytes of `data` to one rank while receiving `arriving` bytes from another rank into
 * `into`. Both ranks of a transfer know its length, so 0 bytes need no message. */
static void send_receive(const struct gcb_net *net, int to, const void *data, uint64_t bytes,
                         int from, void *into, uint64_t arriving)
{
    const uint64_t longest = bytes > arriving ? bytes : arriving;
    MPI_Request requests[2];
    MPI_Status ignored[2]; /* gcc warns of MPI_STATUSES_IGNORE as MPICH defines it */

    for (uint64_t at = 0; at < longest; at += GCB_NET_PIECE) {
        int count = 0;

        if (at < arriving)
            MPI_Irecv((uint8_t *)into + at, piece_length(arriving - at), MPI_BYTE, from, 0,
                      MPI_COMM_WORLD, &requests[count++]);
        if (at < bytes)
            MPI_Isend((const uint8_t *)data + at, piece_length(bytes - at), MPI_BYTE, to, 0,
                      MPI_COMM_WORLD, &requests[count++]);
        MPI_Waitall(count, requests, ignored);
    }
}

void gcb_net_transfer(struct gcb_net *net, enum gcb_pattern pattern, const void *data, void *to,
                      int bytes)
{
    const bool pair = pattern == GCB_PATTERN_PAIR;
    const int next = pair ? net->rank ^ 1 : ring_rank(net, 1);

    if (next < net->ranks)
        send_receive(net, next, data, (uint64_t)bytes, pair ? next : ring_rank(net, -1), to,
                     (uint64_t)bytes);
}

/* ---- room for what arrives, and MPI's counts ---- */

/* Makes room for `bytes` bytes; the contents may be lost. Even for 0 bytes, the block is not
 * NULL. */
static int grow(struct gcb_room *room, size_t bytes, struct gcb_diag *diag)
{
    return gcb_room_reserve(room, bytes ? bytes : 1, "what arrives from other ranks", diag);
}

/* Makes room for the bytes of all ranks, and sets net->arrived. The bytes lie one after the other
 * in the order of ranks, beginning with rank `first`. */
static int place(struct gcb_net *net, int first, struct gcb_diag *diag)
{
    uint8_t *at;
    uint64_t total = 0;
    int err;

    for (int r = 0; r < net->ranks; r++)
        total += net->lengths[r];
    err = grow(&net->in, total, diag);
    at = net->in.block;
    for (int i = 0; !err && i < net->ranks; i++) {
        const int r = (first + i) % net->ranks;

        net->arrived[r] = (struct gcb_arrival){at, net->lengths[r]};
        at += net->lengths[r];
    }
    return err;
}

/* Copies this rank's own bytes to their place among what arrives. */
static void keep_own(struct gcb_net *net, const void *data)
{
    const struct gcb_arrival *own = &net->arrived[net->rank];

    if (own->length)
        memcpy(own->data, data, own->length);
}

/* Converts lengths to the counts that MPI takes, followed by the displacements of parts that lie
 * one after the other. */
static void list_counts(int *counts, const uint64_t *lengths, int ranks)
{
    int *at = counts + ranks, total = 0;

    for (int r = 0; r < ranks; r++) {
        counts[r] = (int)lengths[r];
        at[r] = total;
        total += counts[r];
    }
}

/* ---- all-gather ---- */

/* In the first step each rank sends its own bytes to the next rank. In each later step it sends the
 * bytes that it received in the step before. */
static void gather_ring(struct gcb_net *net)
{
    const int right = ring_rank(net, 1), left = ring_rank(net, -1);

    for (int s = 0; s < net->ranks - 1; s++) {
        const struct gcb_arrival *out = &net->arrived[ring_rank(net, -s)];
        const struct gcb_arrival *in = &net->arrived[ring_rank(net, -s - 1)];

        send_receive(net, right, out->data, out->length, left, in->data, in->length);
    }
}

/* Returns the bytes of `count` ranks together, from rank `first` on. */
static uint64_t bytes_of(const struct gcb_net *net, int first, int count)
{
    uint64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += net->lengths[(first + i) % net->ranks];
    return bytes;
}

/* Before each step a rank has the bytes of `have` ranks: its own and those of the next ranks of the
 * ring. It gets the bytes of at most `have` further ranks from the rank that is `have` steps
 * further. */
static void gather_bruck(struct gcb_net *net)
{
    for (int have = 1; have < net->ranks; have *= 2) {
        const int count = have < net->ranks - have ? have : net->ranks - have;
        const int to = ring_rank(net, -have), from = ring_rank(net, have);

        send_receive(net, to, net->in.block, bytes_of(net, net->rank, count), from,
                     net->in.block + bytes_of(net, net->rank, have), bytes_of(net, from, count));
    }
}

/* All-gather: sends this rank's bytes to all ranks. */
static int gather(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                  const struct gcb_round *round, struct gcb_diag *diag)
{
    const int err = place(net, algorithm == GCB_NET_DOUBLING ? net->rank : 0, diag);

    if (err)
        return err;
    if (algorithm == GCB_NET_LIBRARY) {
        list_counts(net->counts, net->lengths, net->ranks);
        MPI_Allgatherv(round->data, (int)round->bytes, MPI_BYTE, net->in.block, net->counts,
                       net->counts + net->ranks, MPI_BYTE, MPI_COMM_WORLD);
        return 0;
    }
    keep_own(net, round->data);
    if (algorithm == GCB_NET_RING)
        gather_ring(net);
    else
        gather_bruck(net);
    return 0;
}

/* ---- all-to-all ---- */

/* Returns where the bytes for rank `to` begin in what this rank sends. */
static const uint8_t *part_of(const struct gcb_net *net, const struct gcb_round *round, int to)
{
    const uint8_t *data = round->data;

    for (int r = 0; r < to; r++)
        data += net->sending[r];
    return data;
}

/* All-to-all: sends each rank its part of this rank's bytes. */
static int scatter(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                   const struct gcb_round *round, struct gcb_diag *diag)
{
    const int n = net->ranks, err = place(net, 0, diag);
    int *in = net->counts, *out = in + 2 * n;

    if (err)
        return err;
    if (algorithm == GCB_NET_LIBRARY) {
        list_counts(in, net->lengths, n);
        list_counts(out, net->sending, n);
        MPI_Alltoallv(round->data, out, out + n, MPI_BYTE, net->in.block, in, in + n, MPI_BYTE,
                      MPI_COMM_WORLD);
        return 0;
    }
    keep_own(net, part_of(net, round, net->rank));
    for (int s = 1; s < n; s++) {
        const int to = ring_rank(net, s), from = ring_rank(net, -s);

        send_receive(net, to, part_of(net, round, to), net->sending[to], from,
                     net->arrived[from].data, net->lengths[from]);
    }
    return 0;
}

/* ---- shift ---- */

/* Sends this rank's bytes to one rank, and receives those of one other rank, after their length. */
static int shift(struct gcb_net *net, const struct gcb_round *round, double *sizes_seconds,
                 struct gcb_diag *diag)
{
    const double begin = gcb_clock();
    const int to = (int)round->to, from = (int)round->from;
    uint64_t mine = round->bytes, theirs = 0;
    int err;

    send_receive(net, to, &mine, to == net->rank ? 0 : sizeof(mine), from, &theirs,
                 from == net->rank ? 0 : sizeof(theirs));
    *sizes_seconds = gcb_clock() - begin;
    err = grow(&net->in, theirs, diag);
    if (!err)
        send_receive(net, to, round->data, to == net->rank ? 0 : mine, from, net->in.block, theirs);
    net->arrived[0] = (struct gcb_arrival){net->in.block, theirs};
    return err;
}

/* ---- all-reduce ---- */

/* Returns the offset of share i if `bytes` bytes are divided into a share for each rank. `value`:
 * bytes of a value, which is not split. */
static uint64_t share_begin(const struct gcb_net *net, size_t value, uint64_t bytes, int i)
{
    return bytes / value * (uint64_t)i / (uint64_t)net->ranks * value;
}

/* Lets the MPI library reduce, in pieces of at most GCB_NET_PIECE bytes. */
static void reduce_library(struct gcb_net *net, const struct gcb_round *round)
{
    const struct {
        MPI_Datatype type;
        MPI_Op op;
    } kinds[] = {
        [GCB_SUM_F32] = {MPI_FLOAT, MPI_SUM},
        [GCB_SUM_F16] = {MPI_UINT16_T, net->sum_f16},
        [GCB_SUM_BF16] = {MPI_UINT16_T, net->sum_bf16},
        [GCB_SUM_I8] = {MPI_INT8_T, MPI_SUM},
        [GCB_SUM_I16] = {MPI_INT16_T, MPI_SUM},
        [GCB_MAX_F32] = {MPI_FLOAT, MPI_MAX},
    };
    const size_t value = gcb_reduction_size(round->reduction);
    uint64_t at = 0;

    do { /* once even for 0 bytes: MPI is called in each round, as in gather() and scatter() */
        const int length = piece_length(round->bytes - at);

        MPI_Allreduce((const uint8_t *)round->data + at, net->in.block + at, length / (int)value,
                      kinds[round->reduction].type, kinds[round->reduction].op, MPI_COMM_WORLD);
        at += (uint64_t)length;
    } while (at < round->bytes);
}

/* In n - 1 steps each share travels round the ring, and each rank combines its values with the
 * share that arrives. In n - 1 further steps the results travel round the ring. */
static void reduce_ring(struct gcb_net *net, const struct gcb_round *round)
{
    const size_t value = gcb_reduction_size(round->reduction);
    const int right = ring_rank(net, 1), left = ring_rank(net, -1), n = net->ranks;

    for (int s = 0; s < 2 * (n - 1); s++) {
        const bool combining = s < n - 1;
        const int out = ring_rank(net, -s), in = ring_rank(net, -s - 1);
        const uint64_t out_at = share_begin(net, value, round->bytes, out);
        const uint64_t in_at = share_begin(net, value, round->bytes, in);
        const uint64_t length = share_begin(net, value, round->bytes, in + 1) - in_at;

        send_receive(net, right, net->in.block + out_at,
                     share_begin(net, value, round->bytes, out + 1) - out_at, left,
                     combining ? net->scratch.block : net->in.block + in_at, length);
        if (combining)
            gcb_reduction_combine(round->reduction, net->in.block + in_at, net->scratch.block,
                                  length);
    }
}

/* Recursive doubling between the first `power` ranks; `power` is the largest power of two that is
 * not above the number of ranks. Each further rank gives its values to the rank whose number is
 * lower by `power`, and gets the result from that rank at the end. */
static void reduce_doubling(struct gcb_net *net, const struct gcb_round *round)
{
    const uint64_t bytes = round->bytes;
    int power = 1;

    while (2 * power <= net->ranks)
        power *= 2;
    if (net->rank >= power) {
        send_receive(net, net->rank - power, net->in.block, bytes, 0, NULL, 0);
        send_receive(net, 0, NULL, 0, net->rank - power, net->in.block, bytes);
        return;
    }
    if (net->rank + power < net->ranks) {
        send_receive(net, 0, NULL, 0, net->rank + power, net->scratch.block, bytes);
        gcb_reduction_combine(round->reduction, net->in.block, net->scratch.block, bytes);
    }
    for (int step = 1; step < power; step *= 2) {
        const int other = net->rank ^ step;

        send_receive(net, other, net->in.block, bytes, other, net->scratch.block, bytes);
        gcb_reduction_combine(round->reduction, net->in.block, net->scratch.block, bytes);
    }
    if (net->rank + power < net->ranks)
        send_receive(net, net->rank + power, net->in.block, bytes, 0, NULL, 0);
}

/* All-reduce: combines the values of all ranks, on all ranks. */
static int reduce(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                  const struct gcb_round *round, struct gcb_diag *diag)
{
    int err = grow(&net->in, round->bytes, diag);

    if (!err && algorithm != GCB_NET_LIBRARY)
        err = grow(&net->scratch, round->bytes, diag);
    if (err)
        return err;
    net->arrived[0] = (struct gcb_arrival){net->in.block, round->bytes};
    if (algorithm == GCB_NET_LIBRARY) {
        reduce_library(net, round);
        return 0;
    }
    if (round->bytes)
        memcpy(net->in.block, round->data, round->bytes);
    if (algorithm == GCB_NET_RING)
        reduce_ring(net, round);
    else
        reduce_doubling(net, round);
    return 0;
}

/* ---- a round ---- */

/* Exchanges the lengths of what ranks send. Sets net->lengths and, in an all-to-all, net->sending.
 * Returns true if some rank sends more than `many` bytes. Such a rank sets the highest bit of each
 * length that it sends, because other ranks do not know its total. */
static bool exchange_lengths(struct gcb_net *net, const struct gcb_round *round, uint64_t many)
{
    const uint64_t mark = UINT64_C(1) << 63, mine = round->bytes > many ? mark : 0;
    const uint64_t own = mine | round->bytes;
    uint64_t marks = 0;

    if (round->kind == GCB_ROUND_GATHER) {
        MPI_Allgather(&own, 1, MPI_UINT64_T, net->lengths, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    } else {
        for (int r = 0; r < net->ranks; r++)
            net->sending[r] = mine | round->parts[r];
        MPI_Alltoall(net->sending, 1, MPI_UINT64_T, net->lengths, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    }
    for (int r = 0; r < net->ranks; r++) {
        marks |= net->lengths[r] & mark;
        net->lengths[r] &= ~mark;
        net->sending[r] &= ~mark;
    }
    return marks;
}

int gcb_net_move(struct gcb_net *net, enum gcb_net_algorithm algorithm,
                 const struct gcb_round *round, bool fixed, const struct gcb_arrival **arrived,
                 double *sizes_seconds, struct gcb_diag *diag)
{
    const double begin = gcb_clock();
    /* if no rank sends more than this, no rank receives more than GCB_NET_PIECE */
    const uint64_t many = GCB_NET_PIECE / (uint64_t)net->ranks;
    bool large = round->bytes > many;

    *arrived = net->arrived;
    *sizes_seconds = 0.0;
    if (round->kind == GCB_ROUND_REDUCE)
        return reduce(net, algorithm, round, diag);
    if (round->kind == GCB_ROUND_SHIFT)
        return shift(net, round, sizes_seconds, diag);
    if (round->kind == GCB_ROUND_GATHER && fixed) {
        for (int r = 0; r < net->ranks; r++)
            net->lengths[r] = round->bytes;
    } else {
        large = exchange_lengths(net, round, many);
        *sizes_seconds = gcb_clock() - begin;
    }
    if (large && algorithm == GCB_NET_LIBRARY)
        algorithm = GCB_NET_RING; /* MPI's counts have type int */
    return round->kind == GCB_ROUND_GATHER ? gather(net, algorithm, round, diag)
                                           : scatter(net, algorithm, round, diag);
}
