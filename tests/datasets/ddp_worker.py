"""One of the two processes of the DistributedDataParallel tests: ddp_worker.py RANK FOLDER.

Saves, per scenario and worker, what the dumper wrote, the gradients the worker would have had without DDP ("own")
and what DDP left in p.grad ("reduced"). test_dump_gradients.py compares them.
"""

import contextlib
import copy
import os
import sys

import numpy as np
import torch
from torch import nn

from support import Scaler, batch, small_model
from dump_gradients import GradientDumper


def wide_model():
    """More than DDP's first bucket of 1 MiB holds, so that there are several."""
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(6, 600), nn.ReLU(), nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 3))


class Branches(nn.Module):
    """`shared` always takes part, `first` on worker 0 only, `nobody` never."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.shared, self.first, self.nobody = nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.use_first = False

    def forward(self, x):
        x = self.shared(x)
        return self.first(x) if self.use_first else x


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.table, self.out = nn.Embedding(8, 3, sparse=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.table((x[:, 0].abs() * 4).long().clamp(max=7)))


class DdpWorker:
    """One of two processes: each scenario saves what the dumper must have seen and what DDP made of it."""

    def __init__(self, rank, folder):
        self.rank, self.folder = rank, folder

    def dump(self, scenario, model, *, micro_batches=1, factor=1.0, ddp_options=None, steps=1, **options):
        """Run `steps` steps; expected gradients come from a copy of the model without DDP."""
        plain = copy.deepcopy(model)
        ddp = nn.parallel.DistributedDataParallel(model, **(ddp_options or {}))
        dumper = GradientDumper(ddp, os.path.join(self.folder, scenario), steps=range(steps), **options)
        saved = {}
        for step in range(steps):
            for each in (ddp, plain):
                each.zero_grad(set_to_none=True)
            for micro in range(micro_batches):
                seed = 100 * step + 10 * micro + self.rank
                last = micro == micro_batches - 1
                with contextlib.nullcontext() if last else ddp.no_sync():
                    self.backward(ddp, seed, factor)
                self.backward(plain, seed, 1.0)
                dumper.step()
            for (name, parameter), (_, own) in zip(model.named_parameters(), plain.named_parameters()):
                for key, gradient in (("reduced", parameter.grad), ("own", own.grad)):
                    if gradient is not None:
                        saved[f"{key}/{step}/{name}"] = gradient.to_dense().numpy() if gradient.is_sparse \
                            else gradient.numpy().copy()
        np.savez(os.path.join(self.folder, f"{scenario}_rank{self.rank}.npz"), **saved)

    @staticmethod
    def backward(model, seed, factor):
        x = batch(seed)
        if any(isinstance(module, nn.Conv2d) for module in model.modules()):
            x = batch(seed, 2 * 25).reshape(4, 2, 5, 5).to(memory_format=torch.channels_last)
        (model(x).square().mean() * factor).backward()

    def run(self):
        several = {"bucket_cap_mb": 0.001}
        self.dump("buckets", wide_model(), ddp_options=several, steps=3)
        self.dump("view", wide_model(), ddp_options={"gradient_as_bucket_view": True, **several}, micro_batches=3,
                  accumulation_steps=3, steps=2)
        calls = []

        def summed(state, bucket):
            calls.append(state)
            work = torch.distributed.all_reduce(bucket.buffer(), async_op=True)
            return work.get_future().then(lambda future: future.value()[0])

        self.dump("own_hook", wide_model(), ddp_options=several, comm_hook=summed, comm_hook_state="mine",
                  steps=2)
        assert len(calls) > 3 and set(calls) == {"mine"}, calls
        branches = Branches()
        branches.use_first = self.rank == 0
        self.dump("unused", branches, ddp_options={"find_unused_parameters": True})
        torch.manual_seed(5)
        conv = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)
        self.dump("channels_last", conv)
        self.dump("sparse", Words())
        self.dump("sampled", wide_model(), ddp_options=several, sample=50)
        self.dump("scaled", small_model(), factor=512.0, scaler=Scaler(512.0))
        self.untouched_training()
        self.refusals()

    def untouched_training(self):
        """The reduction without the dumper, for the same batch as scenario "buckets", step 0."""
        ddp = nn.parallel.DistributedDataParallel(wide_model())
        self.backward(ddp, self.rank, 1.0)
        np.savez(os.path.join(self.folder, f"alone_rank{self.rank}.npz"),
                 **{name: p.grad.numpy() for name, p in ddp.module.named_parameters()})

    def refusals(self):
        prefix = os.path.join(self.folder, "refused")
        ddp = nn.parallel.DistributedDataParallel(small_model())
        dumper = GradientDumper(ddp, prefix, steps=0)
        self.backward(ddp, 1, 1.0)
        self.backward(ddp, 2, 1.0)
        assert dumper.step() is None, "a step of two reductions was recorded"
        for model, what in ((ddp, "already has a communication hook"), (nn.Sequential(ddp), "pass that module")):
            try:
                GradientDumper(model, prefix, steps=0)
            except (RuntimeError, ValueError) as error:
                assert what in str(error) and "\n" not in str(error), error
            else:
                raise AssertionError(what)
        GradientDumper(small_model(), prefix, steps=0)


def main(rank, folder):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    DdpWorker(rank, folder).run()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
