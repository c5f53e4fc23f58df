#ifndef CLI_EXCHANGE_CMD_EXCHANGE_H
#define CLI_EXCHANGE_CMD_EXCHANGE_H

#include "cli/base/cmd.h"
#include "src/tool/exchange/net.h"

/* The command of gcbench-mpi. */
extern const struct cmd cmd_exchange;

/* The `own` of its context. */
struct exchange_place {
    struct gcb_net *net;
    bool agreed; /* the command has asked all ranks if they understood their options */
};

/* Have all ranks understood their options, and do either all or none measure? Called by all ranks. */
int exchange_agree(struct gcb_net *net, int status, bool measures, struct gcb_diag *diag);

#endif
