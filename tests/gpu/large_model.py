"""Methods on the gradients of a language model of 124 million parameters: rows for the report of `./dev gpu`.

    python3 large_model.py GCBENCH [SECONDS] [PATTERN]

Trains from scratch for so many seconds on one GPU, in bfloat16 with AdamW, on synthetic text: words with Zipf's frequencies,
each drawn from the successors of the one before. At three steps it takes the gradients of 16 workers, each of 8 x 512 words.
Methods with slots send them as a hook would: the error is that of the mean of the messages. GCBENCH is the command, which
compresses one worker's gradient by the other methods.
"""
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print(json.dumps({"record": "model", "schema": 1, "spec": "PyTorch", "status": "skipped", "reason": "not installed"}))
    sys.exit(3)

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WORDS, WIDTH, DEPTH, HEADS, LENGTH = (50257, 768, 12, 12, 512) if GPU else (512, 32, 2, 2, 32)
WORKERS, BATCH = 16, 8
SLOTS = ["fp16", "bf16", "bf16:rounding=stochastic", "range", "qsgd:bits=4", "qsgd:bits=8", "terngrad", "natural", "fp8", "mxfp8",
         "mxfp4", "nvfp4", "int8", "int4", "randomk:theta=0.99", "topk:theta=0.9", "topk:theta=0.99", "topk:theta=0.999"]
OTHERS = ["sbc", "redsync", "dgc", "fft:chunk=4096", "demo", "dct-range", "topk-range:theta=0.99"]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.attention(self.before(x)).chunk(3, -1))
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.after(x))))


class Model(nn.Module):
    """GPT-2's shape; the head is the embedding."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.last = nn.Sequential(*(Block() for _ in range(DEPTH))), nn.LayerNorm(WIDTH)
        for one in self.modules():
            if isinstance(one, (nn.Linear, nn.Embedding)):
                nn.init.normal_(one.weight, std=0.02)

    def forward(self, text):
        x = self.words(text) + self.places.weight[:text.shape[1]]
        return functional.linear(self.last(self.blocks(x)), self.words.weight)


class Text:
    """Each word has 16 successors, which are drawn by Zipf's law once."""

    def __init__(self, seed):
        self.random = torch.Generator(device=DEVICE).manual_seed(seed)
        frequency = 1 / torch.arange(1, WORDS + 1, device=DEVICE, dtype=torch.float32)
        table = torch.Generator(device=DEVICE).manual_seed(0)
        self.after = torch.multinomial(frequency, WORDS * 16, True, generator=table).view(WORDS, 16)
        self.chance = 1 / torch.arange(1, 17, device=DEVICE, dtype=torch.float32)

    def batch(self):
        choice = torch.multinomial(self.chance, BATCH * (LENGTH + 1), True, generator=self.random).view(BATCH, -1)
        text = [torch.randint(WORDS, (BATCH,), generator=self.random, device=DEVICE)]
        for place in range(LENGTH):
            text.append(self.after[text[-1], choice[:, place]])
        return torch.stack(text, 1)


def loss_of(model, text):
    with torch.autocast(DEVICE, torch.bfloat16):
        scores = model(text[:, :-1])
    return functional.cross_entropy(scores.flatten(0, 1).float(), text[:, 1:].flatten())


def gradients(model, text):
    """One row for each worker. The model's are left as zeros."""
    rows = []
    for _ in range(WORKERS):
        model.zero_grad()
        loss_of(model, text.batch()).backward()
        rows.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    model.zero_grad()
    return rows


def seconds_of(work):
    if not GPU:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def by_slots(spec, step, rows, mean):
    import gcbench.device
    n = mean.numel()
    with gcbench.device.Slots(spec, n) as slots:
        def empty(size):
            return torch.empty(size, dtype=torch.uint8, device=DEVICE)
        everyone, scratch, out = empty(WORKERS * slots.bytes), empty(slots.scratch_bytes(WORKERS)), torch.empty_like(mean)
        encode = [seconds_of(lambda: slots.encode(step, worker, x, everyone[worker * slots.bytes:][:slots.bytes], scratch))
                  for worker, x in enumerate(rows)]
        total = [seconds_of(lambda: slots.sum(everyone, WORKERS, out, scratch)) for _ in range(3)]
        slots.sum(everyone, 1, out, scratch)
        one = float((out - rows[0]).norm() / rows[0].norm())
        slots.sum(everyone, WORKERS, out, scratch)
        return {"bytes": slots.bytes, "ratio": 4 * n / slots.bytes, "rel_l2": one, "mean_rel_l2": float((out - mean).norm() / mean.norm()),
                "encode_seconds": sorted(encode)[WORKERS // 2], "sum_seconds": min(total)}


def by_command(command, specs, path):
    """The fields of each method, or why there are none."""
    methods = [word for spec in specs for word in ("--method", spec)]
    ended = subprocess.run([command, "bench", "--device", "cuda" if GPU else "cpu", *methods, "--repeat", "3", "--quiet", "--format",
                            "json", path], capture_output=True, text=True, timeout=120)
    rows = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    rows = [row for row in rows if row["record"] == "summary" and row["spec"] not in ("identity", "memcpy")]
    if len(rows) != len(specs):
        raise RuntimeError(ended.stderr.strip()[-200:])
    return [(row["spec"], {"ratio": row["ratio"], "bytes": row["wire_bytes"], "rel_l2": row["rel_l2"],
                           "encode_seconds": row.get("encode_kernel_seconds")}) for row in rows]


def main():
    command, seconds = sys.argv[1], float((sys.argv[2:] or [60])[0])
    pattern = (sys.argv[3:] or ["*"])[0]
    torch.manual_seed(1)
    model = Model().to(DEVICE)
    n = sum(p.numel() for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), 6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    train, held = Text(1), Text(2)
    start, step, asked = time.monotonic(), 0, [0.05, 0.3, 1]

    def row(spec, **fields):
        print(json.dumps({"record": "model", "schema": 1, "parameters": n, "workers": WORKERS, "step": step, "spec": spec, **fields}),
              flush=True)
    spent = 0.0  # on anything but training
    while asked:
        for group in optimizer.param_groups:
            group["lr"] = 6e-4 * min(1, (step + 1) / 100)
        optimizer.zero_grad()
        loss = loss_of(model, train.batch())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        step += 1
        if time.monotonic() - start - spent < asked[0] * seconds:
            continue
        asked.pop(0)
        pause = time.monotonic()
        loss = float(loss.detach())
        rows = gradients(model, held)
        mean = sum(rows) / WORKERS
        noise = sum(float((x - mean).square().sum()) for x in rows) / (WORKERS - 1) / WORKERS
        row("uncompressed", status="ok", loss=loss, mean_rel_l2=noise ** 0.5 / float(mean.norm()), of="the gradient's own noise")
        for spec in fnmatch.filter(SLOTS, pattern):
            try:
                row(spec, status="ok", **by_slots(spec, step, rows, mean))
            except Exception as error:
                row(spec, status="failed", reason=f"{type(error).__name__}: {error}"[:300])
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            import numpy
            numpy.save(f"{folder}/gradient.npy", rows[0].cpu().numpy())
            try:
                for spec, fields in by_command(command, fnmatch.filter(OTHERS, pattern), f"{folder}/gradient.npy"):
                    row(spec, status="ok", **fields)
            except Exception as error:
                row("other methods", status="failed", reason=f"{type(error).__name__}: {error}"[:300])
        del rows, mean
        spent += time.monotonic() - pause


if __name__ == "__main__":
    main()
