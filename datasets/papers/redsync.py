"""Fang et al., RedSync: reducing synchronization bandwidth for distributed deep learning training, JPDC 2019.

Numbers of figures are those of arXiv 1808.04357 v1.
"""

from pathlib import Path
from typing import Dict, List, Tuple

from fft import NO_GPUS, NO_TRAINING
from work import Curve, Item, Row, Work, rows_of

TITLE = "RedSync (Fang et al., JPDC 2019)"
GPU_MEMORY = 732  # GB/s of a P100: no coder on it is faster
FLOPS = 9.3e12 / 2  # a P100 at half of its peak: an assumption

# From the paper's table 1: MB of parameters, GFlop of a forward pass, samples in a GPU's batch (figure 7).
NETWORKS = {"alexnet": (233, 0.72, 64), "vgg16": (528, 15.5, 32), "resnet50": (103, 8.22, 32), "lstm": (264, 2.52, 5)}
# Speed-ups over fp32 from the paper's text: (machine, network, GPUs): with values, with one mean.
THEIRS = {("Piz Daint", "vgg16", 128): (1.42, 1.71), ("Piz Daint", "alexnet", 128): (0.94, 1.17),
          ("Piz Daint", "alexnet", 16): (None, 1.68), ("Piz Daint", "alexnet", 32): (None, 2.31),
          ("Piz Daint", "alexnet", 64): (None, 1.68), ("Piz Daint", "lstm", 32): (1.47, 1.76),
          ("Piz Daint", "lstm", 2): (4.28, None), ("Piz Daint", "lstm", 4): (4.72, None),
          ("Piz Daint", "lstm", 8): (4.12, None), ("Piz Daint", "resnet50", 128): (None, 0.66),
          ("Muradin", "vgg16", 8): (1.55, 1.64), ("Muradin", "alexnet", 8): (1.96, 2.26),
          ("Muradin", "resnet50", 8): (0.83, 0.85), ("Muradin", "lstm", 8): (2.11, 2.06)}
# Peak bandwidth of an all-reduce (figure 5), and numbers of GPUs.
MACHINES = {"Piz Daint": ("12Gb", "2,4,8,16,32,64,128"), "Muradin": ("28Gb", "2,4,8")}
RGC, QUANT = "redsync:theta=0.999", "redsync:theta=0.999,quant=asq"


def selections(work: Work) -> Item:
    most = str(2**20 if work.quick else 2**26)
    output = work.once("results/selections.txt", [work.selections, "uniform", "0.001", most])
    lines = [line.replace("(", " ").replace(")", " ").replace("x ", " ").replace(" k", " ").split()
             for line in output.read_text().splitlines()[2:]]
    names = ["exact top-k", "trimmed", "search", "reused", "sampled"]
    curves = [Curve("radix select", [(float(line[0]), float(line[-2])) for line in lines])]
    curves += [Curve(name, [(float(line[0]), float(line[-2]) / float(line[1 + 2 * i])) for line in lines])
               for i, name in enumerate(names)]
    curves.append(Curve("all-reduce, 3.5 GB/s", [(float(line[0]), 1e3 * 2 * 1024 * float(line[0]) / 3.5e9) for line in lines]))
    picture = work.lines("redsync-figure-3", "Selecting the largest 0.1 % of uniform numbers, one thread of this CPU",
                         "size, KiB", "milliseconds", curves, "set logscale xy\nset format x '%.0f'")
    table = work.table("redsync-figure-3", ["KiB", *names, "radix, ms"],
                       [[int(line[0]), *(float(line[1 + 2 * i]) for i in range(5)), float(line[-2])] for line in lines] +
                       [["paper, 65536", None, 38.13, None, 16.17, None, None]],
                       "How many times as fast as a radix select. reused: a search serves 5 steps.\n"
                       "sampled: DGC's. The paper's own figure shows its two numbers in reversed order.")
    return Item("Figure 3", "Time to select 0.1 % of 4 KB to 512 MB on a Titan X: for 64 MB trimmed top-k is 38 times, and the "
                "reused search 16 times as fast as a radix select.", "The same selections on one thread of this CPU, up to "
                "64 MiB.", (picture, table))


def sizes(work: Work) -> Item:
    table = []
    for network in work.networks:
        bench = bench_of(work, network)
        ratio = {row["method"] + ("+" if row["params"].get("quant") == "asq" else ""): row
                 for row in rows_of(bench, "summary")}
        table.append([network, ratio["identity"]["input_bytes"] / 2**20, float(NETWORKS[network][0]),
                      ratio["redsync"]["ratio"], ratio["redsync+"]["ratio"]])
    written = work.table("redsync-table-1", ["network", "MiB here", "MB, paper", "ratio, values", "ratio, one mean"], table,
                         "ratio: real bytes, one message for each tensor, those under 128 KiB as fp32.\n"
                         "Values are drawn (Student's t, 3 degrees of freedom). By the paper's count: 500 and 1000.")
    return Item("Table 1", "Sizes of the networks; errors and perplexities of SGD, RGC and quantised RGC, which are level.",
                "Sizes, and ratios at density 0.001. No accuracies: " + NO_TRAINING, (written,))


# ---- scaling ----

def bench_of(work: Work, network: str) -> Path:
    return work.results(f"redsync-bench-{network}", "bench", "--suite", "paper-redsync", *work.seconds(20),
                        work.network(network))


def exchanges(work: Work, machine: str, network: str, measured: bool) -> List[Row]:
    """Rows of fp32 and of RedSync's two variants, overlapping the computation of a batch."""
    link, workers = MACHINES[machine]
    _, gflop, batch = NETWORKS[network]
    compute = 3 * gflop * 1e9 * batch / FLOPS  # the backward pass takes twice the forward pass
    coder = [] if measured else ["--coding-gbps", str(GPU_MEMORY)]
    name = "-".join(["redsync-exchange", machine.replace(" ", "").lower(), network] + ["cpu"] * measured)
    results = work.results(name, "payoff", "--bandwidth", link, "--workers", workers, "--compute", f"{1e3 * compute:.1f}ms", *coder, bench_of(work, network))
    return [row for row in rows_of(results, "payoff") if row["model"] == "exchange" and
            row["label"] in ("fp32", RGC, QUANT)]


def by_workers(rows: List[Row]) -> Dict[int, Dict[str, Row]]:
    found: Dict[int, Dict[str, Row]] = {}
    for row in rows:
        found.setdefault(int(row["workers"]), {})[row["label"]] = row
    return found


def scaling(work: Work, machine: str, name: str) -> Tuple[str, ...]:
    table, files = [], []
    for network in work.networks:
        fast = by_workers(exchanges(work, machine, network, False))
        cpu = by_workers(exchanges(work, machine, network, True))
        for gpus, rows in fast.items():
            theirs = THEIRS.get((machine, network, gpus), (None, None))
            table.append([network, gpus] + [
                cell for label, paper in ((RGC, theirs[0]), (QUANT, theirs[1]))
                for cell in (rows["fp32"]["step_seconds"] / rows[label]["step_seconds"],
                             cpu[gpus]["fp32"]["step_seconds"] / cpu[gpus][label]["step_seconds"], paper)])
        curves = [Curve(title, [(gpus, gpus * rows[label]["compute_seconds"] / rows[label]["step_seconds"])
                                for gpus, rows in fast.items()])
                  for title, label in (("fp32", "fp32"), ("values", RGC), ("one mean", QUANT))]
        curves += [Curve(title + ", this CPU", [(gpus, gpus * rows[label]["compute_seconds"] / rows[label]["step_seconds"])
                                                for gpus, rows in cpu.items()])
                   for title, label in (("values", RGC), ("one mean", QUANT))]
        files.append(work.lines(f"{name}-{network}", f"{network}, {MACHINES[machine][0]}/s ({machine})", "GPUs",
                                "speed-up over one GPU", curves, "set yrange [0:*]"))
    written = work.table(name, ["network", "GPUs", "values", "CPU", "paper", "one mean", "CPU ", "paper "], table,
                         "Speed-up of an iteration over fp32 by the model (payoff --compute).\n"
                         f"values, one mean: a coder as fast as a P100's memory, {GPU_MEMORY} GB/s: an upper limit.\n"
                         "CPU: coding and adding as measured on one thread here.\n"
                         "Computation: 3 x GFlop of a sample (table 1) x batch at half of a P100's peak.")
    return (*files, written)


def time_split(work: Work) -> Item:
    table = []
    for network in work.networks:
        for gpus, rows in by_workers(exchanges(work, "Piz Daint", network, True)).items():
            if gpus in (8, 16, 64, 128):
                for title, label in (("values", RGC), ("one mean", QUANT)):
                    row = rows[label]
                    wire = row["wire_seconds"] + row["sizes_seconds"]
                    table.append([network, gpus, title, 1e3 * row["encode_seconds"], 1e3 * wire, 1e3 * row["add_seconds"],
                                  100 * row["add_seconds"] / (row["encode_seconds"] + wire + row["add_seconds"])])
    written = work.table("redsync-figure-10", ["network", "GPUs", "sent", "encode, ms", "wire, ms", "unpack, ms", "%"], table,
                         "12 Gb/s, all-gather; selecting, packing and unpacking on one thread of this CPU.\n"
                         "The paper, ResNet50 on 128 GPUs: unpacking is 69 % (values) and 67 % (mean).")
    return Item("Figure 10", "Parts of an iteration's time on up to 128 GPUs: unpacking takes 69 % and 67 % for ResNet50.",
                "Parts of an exchange: encoding, sending, adding all workers' messages.", (written,))


def cost_model(work: Work) -> Item:
    curves, table = [], []
    for words in (2, 1):
        results = work.results(f"redsync-model-{words}", "payoff", "--density", "0.001", "--words", str(words), "--workers",
                               "2..2048", "--model-bytes", "528M", "--bandwidth", "12Gb")
        rows = rows_of(results, "payoff")
        curves.append(Curve(f"{words} word{'s' * (words > 1)} for a value",
                            [(row["workers"], row["speedup_fp32"]) for row in rows]))
        table += [[words, int(row["workers"]), 100 * row["bandwidth_ratio"], 1e3 * row["sparse_seconds"],
                   1e3 * row["dense_seconds"], row["speedup_fp32"]] for row in rows if row["workers"] in (8, 32, 128, 1024)]
    written = work.table("redsync-model", ["words", "GPUs", "bytes, % of dense", "T_sparse, ms", "T_dense, ms", "speed-up"],
                         table, "VGG16 (528 MB), 12 Gb/s, 20 us latency; selecting and unpacking take no time.\n"
                         "The paper: 12.8 % at 128 GPUs with 2 words; level at 1000 GPUs.")
    picture = work.lines("redsync-model", "T_dense / T_sparse of the paper's cost model, density 0.001, network alone", "GPUs",
                         "T_dense / T_sparse", curves, "set logscale xy")
    return Item("Appendix", "T_sparse and T_dense: with density 0.001 and 128 GPUs an all-gather sends 12.8 % of the dense "
                "bytes.", "The formulas (payoff --density).", (picture, written))


def items(work: Work) -> List[Item]:
    return [
        Item("Figures 1, 2, 4, 11", "Diagrams.", missing="No data."),
        selections(work),
        Item("Figure 5", "Bandwidth of an all-reduce by message size, at most 1.5 and 3.5 GB/s.",
             missing=NO_GPUS + " Its peaks are the links of figures 7 to 9."),
        Item("Figure 6", "Errors by epoch of SGD, RGC and quantised RGC.", missing=NO_TRAINING),
        sizes(work),
        Item("Table 2", "Errors with batches of 128 to 2048.", missing=NO_TRAINING),
        Item("Figure 7", "Speed-up by number of GPUs on Piz Daint: VGG16 1.42 and 1.71 times fp32 at 128 GPUs.",
             "The model, with a perfect coder and with this CPU's coding.", scaling(work, "Piz Daint", "redsync-figure-7")),
        Item("Figures 8 and 9", "Speed-up by number of GPUs on Muradin (8 GPUs), two corpora, and VGG16 on CIFAR-10.",
             "The same model for the networks of figure 7; the shapes of VGG16 for CIFAR-10 and of WikiText-2's LSTM are "
             "missing.", scaling(work, "Muradin", "redsync-figure-8")),
        time_split(work), cost_model(work),
    ]
