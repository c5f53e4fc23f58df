"""Fang et al., RedSync: reducing synchronization bandwidth for distributed deep learning training, JPDC 2019.

Numbers of figures are those of arXiv 1808.04357 v1.
"""

from pathlib import Path
from typing import Dict, List, Tuple

from fft import NO_GPUS, NO_TRAINING
from models import Sparse
from work import Curve, Item, Row, Work, rows_of

TITLE = "RedSync (Fang et al., JPDC 2019)"
GPU_MEMORY = 732  # GB/s of a P100: no coder on it is faster

MEGABYTES = {"alexnet": 233, "vgg16": 528, "resnet50": 103, "lstm": 264}  # table 1
# Read off the drawing of figure 10, in ms. The computation of an iteration, which is overlapped:
COMPUTE = {"alexnet": 45, "vgg16": 339, "resnet50": 202, "lstm": 35}
# and by network and GPUs: selecting, communicating, unpacking, with values and with one mean.
PARTS = {("alexnet", 8): ((37, 14, 10), (36, 11, 9)), ("alexnet", 16): ((37, 24, 19), (35, 19, 17)),
         ("alexnet", 64): ((37, 88, 70), (33, 56, 60)), ("alexnet", 128): ((37, 220, 144), (37, 154, 131)),
         ("vgg16", 8): ((87, 1, 13), (71, 0, 12)), ("vgg16", 16): ((87, 35, 27), (71, 19, 28)),
         ("vgg16", 64): ((87, 174, 100), (71, 132, 106)), ("vgg16", 128): ((87, 331, 210), (71, 171, 210)),
         ("resnet50", 8): ((37, 12, 38), (37, 2, 38)), ("resnet50", 16): ((37, 15, 76), (37, 4, 78)),
         ("resnet50", 64): ((42, 21, 299), (42, 10, 293)), ("resnet50", 128): ((41, 68, 558), (41, 18, 540)),
         ("lstm", 8): ((15, 8, 28), (43, 4, 20)), ("lstm", 16): ((14, 42, 57), (37, 21, 39)),
         ("lstm", 32): ((14, 73, 102), (36, 48, 78))}
# Read off the drawings of figures 7 to 9: speed-up over one GPU of fp32, of values and of one mean.
SPEED = {
    "Piz Daint": {
        "alexnet": {2: (.35, .98, .98), 4: (.61, 1.84, 1.92), 8: (1.07, 3.09, 3.48), 16: (2.06, 5.32, 5.61),
                    32: (4.02, 8.61, 8.98), 64: (7.37, 11.55, 14.4), 128: (13.32, 12.61, 15.68)},
        "vgg16": {2: (.77, 1.53, 1.49), 4: (1.42, 2.97, 2.94), 8: (2.64, 5.5, 5.86), 16: (4.77, 9.71, 11.02),
                  32: (9.01, 17.4, 18.92), 64: (15.81, 25.92, 30.7), 128: (26.39, 37.41, 45.32)},
        "resnet50": {2: (1.49, 1.46, 1.48), 4: (2.85, 2.87, 2.83), 8: (5.33, 5.47, 5.42), 16: (9.69, 9.8, 9.99),
                     32: (16.76, 16.09, 15.6), 64: (33.2, 23.93, 24.5), 128: (48.48, 32.05, 32.67)},
        "lstm": {2: (.2, .89, .68), 4: (.35, 1.69, 1.26), 8: (.64, 2.66, 2.22), 16: (1.25, 2.86, 3.4),
                 32: (2.28, 3.35, 4.01)}},
    "Muradin": {
        "alexnet": {2: (.54, .92, .93), 4: (.83, 1.74, 1.76), 8: (1.47, 2.89, 3.33)},
        "vgg16": {2: (1.18, 1.51, 1.55), 4: (1.98, 2.87, 2.98), 8: (3.59, 5.57, 5.91)},
        "resnet50": {2: (1.52, 1.23, 1.25), 4: (2.81, 2.42, 2.48), 8: (5.44, 4.55, 4.66)},
        "lstm": {2: (.81, 1.5, 1.32), 4: (1.17, 2.65, 2.51), 8: (2.1, 4.43, 4.34)}}}
LINK = {"Piz Daint": "12Gb", "Muradin": "28Gb"}  # the peak of an all-reduce (figure 5)
RGC, QUANT = "values", "one mean"  # the two variants


def selections(work: Work) -> Item:
    most = str(2**14 if work.quick else 2**26)
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
        table.append([network, ratio["identity"]["input_bytes"] / 2**20, float(MEGABYTES[network]),
                      ratio["redsync"]["ratio"], ratio["redsync+"]["ratio"]])
    written = work.table("redsync-table-1", ["network", "MiB here", "MB, paper", "ratio, values", "ratio, one mean"], table,
                         "ratio: real bytes, one message for each tensor, those under 128 KiB as fp32.\n"
                         "Values are drawn (Student's t, df 3). By the paper's count: 500 and 1000.")
    return Item("Table 1", "Sizes of the networks; errors and perplexities of SGD, RGC and quantised RGC, which are level.",
                "Sizes, and ratios at density 0.001. No accuracies: " + NO_TRAINING, (written,))


# ---- scaling ----

def bench_of(work: Work, network: str) -> Path:
    return work.results(f"redsync-bench-{network}", "bench", "--suite", "paper-redsync", *work.seconds(20),
                        work.network(network))


def exchanges(work: Work, machine: str, network: str, measured: bool) -> Dict[int, Dict[str, Row]]:
    """Rows of fp32 and of RedSync's two variants by number of GPUs, overlapping the computation of a batch."""
    coder = [] if measured else ["--coding", f"{GPU_MEMORY}GB/s"]
    name = "-".join(["redsync-exchange", machine.replace(" ", "").lower(), network] + ["cpu"] * measured)
    results = work.results(name, "payoff", "--bandwidth", LINK[machine], "--workers",
                           ",".join(map(str, SPEED[machine][network])), "--compute", f"{COMPUTE[network]}ms", *coder,
                           bench_of(work, network))
    found: Dict[int, Dict[str, Row]] = {}
    for row in rows_of(results, "payoff"):
        if row["method"] == "identity" or (row["method"], row["collective"]) == ("redsync", "allgather"):
            name = "fp32" if row["baseline"] else QUANT if "quant=asq" in row["spec"] else RGC
            found.setdefault(int(row["workers"]), {})[name] = row
    return found


def scaling(work: Work, machine: str, name: str) -> Tuple[str, ...]:
    table, files = [], []
    for network in work.networks:
        fast = exchanges(work, machine, network, False)
        cpu = exchanges(work, machine, network, True)
        for gpus, (fp32, values, mean) in SPEED[machine][network].items():
            row: List = [network, gpus]
            for label, paper in ((RGC, values / fp32), (QUANT, mean / fp32)):
                row += [rows[gpus]["fp32"]["step_seconds"] / rows[gpus][label]["step_seconds"] for rows in (fast, cpu)]
                row.append(paper)
            table.append(row)
        curves = [Curve(title, [(gpus, gpus * rows[label]["compute_seconds"] / rows[label]["step_seconds"])
                                for gpus, rows in fast.items()])
                  for title, label in (("fp32, model", "fp32"), ("values, model", RGC), ("one mean, model", QUANT))]
        curves += [Curve(title, [(gpus, speeds[i]) for gpus, speeds in SPEED[machine][network].items()])
                   for i, title in enumerate(("fp32, paper", "values, paper", "one mean, paper"))]
        files.append(work.lines(f"{name}-{network}", f"{network}, {LINK[machine]}/s ({machine}): the model with a coder as "
                                "fast as a P100's memory, and the paper", "GPUs", "speed-up over one GPU", curves,
                                "set yrange [0:*]"))
    written = work.table(name, ["network", "GPUs", "values", "CPU", "paper", "one mean", "CPU ", "paper "], table,
                         "Speed-up of an iteration over fp32 by the model (payoff --compute).\n"
                         f"values, one mean: a coder as fast as a P100's memory, {GPU_MEMORY} GB/s: an upper limit.\n"
                         "CPU: coding and adding as measured on one thread here.\n"
                         "paper: read off its drawings. Computation: that of figure 10, on a P100.")
    return (*files, written)


def time_split(work: Work) -> Item:
    table, files = [], []
    for network in work.networks:
        exchange = exchanges(work, "Piz Daint", network, True)
        files += work.plot(f"redsync-figure-10-{network}", "scaling",
                           work.folder / f"results/redsync-exchange-pizdaint-{network}-cpu.json")
        for (name, gpus), theirs in PARTS.items():
            for label, (select, communicate, unpack) in zip((RGC, QUANT), theirs):
                if name == network and gpus in exchange:
                    row = exchange[gpus][label]
                    table.append([network, gpus, label, 1e3 * row["coding_seconds"], select,
                                  1e3 * row["network_seconds"], communicate, 1e3 * row["adding_seconds"], unpack])
    written = work.table("redsync-figure-10", ["network", "GPUs", "sent", "coding", "paper", "network ", "paper ", "adding", "paper  "],
                         table, "Milliseconds. 12 Gb/s, all-gather; coding and adding: one thread of this CPU.\n"
                         "paper: selecting, communicating (what computation does not hide) and unpacking.")
    return Item("Figure 10", "Parts of an iteration's time on up to 128 GPUs. For ResNet50 on 128 GPUs unpacking takes 69 % "
                "(values) and 67 % (mean).", "Parts of an exchange, and in the table the paper's beside them.", (*files, written))


def cost_model(work: Work) -> Item:
    curves, table = [], []
    for words in (2, 1):
        model = Sparse(528 * 2**20, 0.001, words, 12e9 / 8)
        gain = {gpus: model.dense(gpus) / model.sparse(gpus) for gpus in (2**k for k in range(1, 12))}
        curves.append(Curve(f"{words} word{'s' * (words > 1)} for a value", list(gain.items())))
        table += [[words, gpus, 100 * model.share(gpus), 1e3 * model.sparse(gpus), 1e3 * model.dense(gpus), gain[gpus]]
                  for gpus in (8, 32, 128, 1024)]
    written = work.table("redsync-model", ["words", "GPUs", "bytes, % of dense", "T_sparse, ms", "T_dense, ms", "speed-up"],
                         table, "VGG16 (528 MB), 12 Gb/s, 20 us latency; selecting and unpacking take no time.\n"
                         "The paper: 12.8 % at 128 GPUs with 2 words; level at 1000 GPUs.")
    picture = work.lines("redsync-model", "T_dense / T_sparse of the paper's cost model, density 0.001, network alone", "GPUs",
                         "T_dense / T_sparse", curves, "set logscale xy")
    return Item("Appendix", "T_sparse and T_dense: with density 0.001 and 128 GPUs an all-gather sends 12.8 % of the dense "
                "bytes.", "The formulas (datasets/papers/models.py).", (picture, written))


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
             "The model with a perfect coder, the paper's curves, and in the table this CPU's coding too.",
             scaling(work, "Piz Daint", "redsync-figure-7")),
        Item("Figures 8 and 9", "Speed-up by number of GPUs on Muradin (8 GPUs), two corpora, and VGG16 on CIFAR-10.",
             "The same model for the networks of figure 7, with their computation on a P100. The shapes of VGG16 for "
             "CIFAR-10 and of WikiText-2's LSTM are missing.", scaling(work, "Muradin", "redsync-figure-8")),
        time_split(work), cost_model(work),
    ]
