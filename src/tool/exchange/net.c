#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/lib/base/alloc.h"
#include "src/lib/base/diag.h"
#include "src/lib/base/text.h"
#include "src/tool/base/clock.h"
#include "src/tool/exchange/net_private.h"

const char *const gcb_net_algorithm_names[] = {"library", "ring", "doubling", NULL};
const char *const gcb_net_pattern_names[] = {"shift", "pair", NULL};

/* ---- combining values ---- */

static void combine_f16(void *one, void *acc, int *count, MPI_Datatype *type)
{
    (void)type;
    gcb_reduction_combine(GCB_SUM_F16, acc, one, (size_t)*count * sizeof(uint16_t));
}

static void combine_bf16(void *one, void *acc, int *count, MPI_Datatype *type)
{
    (void)type;
    gcb_reduction_combine(GCB_SUM_BF16, acc, one, (size_t)*count * sizeof(uint16_t));
}

/* ---- opening ---- */

static void name_library(struct gcb_net *net)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (char *end = strstr(text, ". "); end; end = NULL) /* SimGrid's is a text of two sentences */
        *end = '\0';
    for (char *c = text; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    gcb_escape(net->library, sizeof(net->library), text);
}

int gcb_net_open(struct gcb_net **out, int *argc, char ***argv, struct gcb_diag *diag)
{
    struct gcb_net *net;
    size_t n;

    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &(int){0}); /* codecs may run threads */
    net = *out = gcb_alloc_zero(1, sizeof(*net));
    if (!net)
        return gcb_diag_nomem(diag, sizeof(*net), "the network");
    net->comm = MPI_COMM_WORLD;
    MPI_Comm_rank(net->comm, &net->rank);
    MPI_Comm_size(net->comm, &net->ranks);
    name_library(net);
    MPI_Op_create(combine_f16, 1, &net->sum_f16);
    MPI_Op_create(combine_bf16, 1, &net->sum_bf16);
    MPI_Type_contiguous(GCB_NET_BLOCK, MPI_BYTE, &net->block);
    MPI_Type_commit(&net->block);
    n = (size_t)net->ranks;
    net->arrived = gcb_alloc_zero(n, sizeof(*net->arrived));
    net->lengths = gcb_alloc_zero(n, sizeof(*net->lengths));
    net->offsets = gcb_alloc_zero(n + 1, sizeof(*net->offsets));
    net->sending = gcb_alloc_zero(n, sizeof(*net->sending));
    net->counts = gcb_alloc_zero(4 * n, sizeof(*net->counts));
    if (!net->arrived || !net->lengths || !net->offsets || !net->sending || !net->counts)
        return gcb_diag_nomem(diag, 0, "the network");
    return 0;
}

void gcb_net_close(struct gcb_net *net)
{
    if (net) {
        MPI_Op_free(&net->sum_f16);
        MPI_Op_free(&net->sum_bf16);
        MPI_Type_free(&net->block);
        gcb_free(net->arrived);
        gcb_free(net->lengths);
        gcb_free(net->offsets);
        gcb_free(net->sending);
        gcb_free(net->counts);
        gcb_free(net->buffer);
        gcb_free(net->scratch);
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
    return strncmp(net->library, "SMPI ", 5) == 0;
}

/* ---- agreement between ranks ---- */

int gcb_net_agree(struct gcb_net *net, int err, struct gcb_diag *diag)
{
    const int mine[2] = {err ? net->rank : net->ranks, err ? net->ranks : net->rank};
    struct gcb_diag told = *diag;
    int least[2], first; /* the first rank that failed, and the first that did not */

    MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, net->comm);
    first = least[0];
    if (first == net->ranks)
        return 0;
    MPI_Bcast(&told, sizeof(told), MPI_BYTE, first, net->comm);
    MPI_Bcast(&err, 1, MPI_INT, first, net->comm);
    if (!told.text[0])
        gcb_diag_set(&told, err, "%s", gcb_status_text(err));
    return least[1] == net->ranks ? gcb_diag_set(diag, err, "%s", told.text)
                                  : gcb_diag_set(diag, err, "rank %d: %s", first, told.text);
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
    uint64_t ends[2] = {value, ~value}, most[2];

    MPI_Allreduce(ends, most, 2, MPI_UINT64_T, MPI_MAX, net->comm);
    return most[0] == ~most[1];
}

void gcb_net_max(struct gcb_net *net, double *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, net->comm);
}

void gcb_net_add(struct gcb_net *net, uint64_t *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, net->comm);
}

void gcb_net_spread(struct gcb_net *net, void *data, size_t bytes)
{
    uint8_t *at = data;

    for (size_t n; bytes; at += n, bytes -= n) {
        n = bytes < INT_MAX ? bytes : INT_MAX;
        MPI_Bcast(at, (int)n, MPI_BYTE, 0, net->comm);
    }
}

void gcb_net_barrier(struct gcb_net *net)
{
    MPI_Barrier(net->comm);
}

bool gcb_net_is_late(struct gcb_net *net, double begin, double limit)
{
    double late = net->rank == 0 && gcb_clock() - begin >= limit;

    gcb_net_max(net, &late, 1);
    return late > 0.0;
}
