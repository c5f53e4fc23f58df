"""gcbench.device on a GPU: rows for the report of `./dev gpu`.

    python3 hook.py [PATTERN]

One rank trains with NCCL, and two ranks share the GPU with gloo. A training has the same bits as with gcbench.torch, whose
messages are made on the host. With NCCL also the time of a step, and how often the host waits for the GPU in it, beside a
training without a hook. Without a GPU the stand-in is tried with gloo only.
"""
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
    import torch.distributed as dist
    from torch import nn
except ImportError:
    print(json.dumps({"record": "hook", "schema": 1, "spec": "PyTorch", "status": "skipped", "reason": "not installed"}))
    sys.exit(3)

SPECS = ["fp16:collective=allgather", "bf16:rounding=stochastic,collective=allgather", "range", "range:memory=ef", "qsgd:bits=4",
         "terngrad", "natural", "mxfp8:collective=allgather", "nvfp4:collective=allgather", "int8:collective=allgather",
         "randomk:theta=0.99", "topk:theta=0.99,memory=ef"]
GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


def model(width, depth):
    torch.manual_seed(3)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.Tanh())]
    return nn.Sequential(*layers).to(DEVICE)


def training(hook, state_of, width, depth, bucket_mb):
    """Returns the parameters, and a function that does one step."""
    ddp = nn.parallel.DistributedDataParallel(model(width, depth), bucket_cap_mb=bucket_mb)
    if hook is not None:
        ddp.register_comm_hook(state_of(ddp), hook)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    generator = torch.Generator(device=DEVICE).manual_seed(dist.get_rank())

    def step():
        x = torch.randn(64, width, generator=generator, device=DEVICE)
        optimizer.zero_grad()
        (ddp(x) - x).square().mean().backward()
        optimizer.step()
    return list(ddp.parameters()), step


def weights(hook, state_of):
    parameters, step = training(hook, state_of, 300, 3, 0.2)
    for _ in range(8):
        step()
    return torch.cat([p.detach().flatten() for p in parameters]).cpu()


def same_bits(spec):
    import gcbench.device
    import gcbench.torch
    there = weights(gcbench.device.hook, lambda ddp: gcbench.device.Compression(spec, model=ddp))
    here = weights(gcbench.torch.hook, lambda ddp: gcbench.torch.Compression(spec, model=ddp))
    plain = weights(None, None)
    return bool(torch.equal(here, there)), float((there - plain).norm() / plain.norm())


def timed(hook, state_of):
    """Median seconds of a step of 10^8 bytes of gradients, and how often the host waited in one."""
    _, step = training(hook, state_of, 2500, 4, 100)
    for _ in range(5):
        step()
    seconds = []
    for _ in range(15):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
    waits = sum(e.count for e in profile.key_averages() if e.key in (
        "cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize", "cudaMemcpy", "cudaMalloc", "cudaFree"))
    return statistics.median(seconds), waits


def rank(backend, pattern, folder, number, world):
    dist.init_process_group(backend, init_method=f"file://{folder}/meet", rank=number, world_size=world)

    def row(spec, **fields):
        if number == 0:
            print(json.dumps({"record": "hook", "schema": 1, "backend": backend, "workers": world, "spec": spec, **fields}), flush=True)
    import gcbench.device
    if backend == "nccl":
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        for name, hook in (("no hook", None), ("PyTorch's fp16 hook", default_hooks.fp16_compress_hook)):
            seconds, waits = timed(hook, lambda ddp: dist.group.WORLD)
            row(name, status="ok", seconds=seconds, waits=waits)
    for spec in fnmatch.filter(SPECS, pattern):
        try:
            same, distance = same_bits(spec)
            fields = {"status": "ok" if same else "failed", "same_bits": same, "from_plain": distance}
            if backend == "nccl":
                fields["seconds"], fields["waits"] = timed(
                    gcbench.device.hook, lambda ddp: gcbench.device.Compression(spec, model=ddp))
        except Exception as error:
            fields = {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
        row(spec, **fields)
    dist.destroy_process_group()


def main():
    if len(sys.argv) > 2:
        rank(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
        return 0
    pattern, failed = (sys.argv[1:] or ["*"])[0], 0
    for backend, world in (("nccl", 1), ("gloo", 2))[0 if GPU else 1:]:
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([sys.executable, __file__, backend, pattern, folder, str(i), str(world)]) for i in range(world)]
            deadline = time.monotonic() + float(os.environ.get("GCBENCH_HOOK_SECONDS", 60))
            for one in ranks:
                try:
                    failed += one.wait(max(0.1, deadline - time.monotonic())) != 0
                except subprocess.TimeoutExpired:
                    failed += 1
                    for each in ranks:
                        each.kill()
            if failed:
                print(json.dumps({"record": "hook", "schema": 1, "spec": backend, "status": "failed",
                                  "reason": f"exit statuses {[one.poll() for one in ranks]}"}), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
