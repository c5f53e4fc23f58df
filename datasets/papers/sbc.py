"""Sattler et al., Sparse binary compression, IJCNN 2019.

Only its abstract could be read for this list, and the code of the same authors' next paper.
"""

from pathlib import Path
from typing import List, Tuple

from fft import NO_TRAINING
from work import Item, Row, Work, rows_of

TITLE = "Sparse binary compression (Sattler et al., IJCNN 2019)"
THEIRS = {10: 3531.0, 100: 37208.0}  # by the delay that fits the ratio
NAMES = {1: "SBC (1)", 10: "SBC (2)", 100: "SBC (3)"}


def recorded(work: Work) -> Tuple[Path, int, str]:
    """A file of steps, how many steps to replay, and how often to go through the file for that."""
    file, steps = work.real("resnet20_traj.h5"), 100 if work.quick else 400
    return (file, steps, str(steps // 16)) if file else (work.sample, steps, str(steps // 2))


def name_of(row: Row) -> str:
    method, delay = row["method"], int(row["params"].get("delay", 1))
    if method == "sbc":
        return f"{NAMES[delay]}: p {1 - row['params']['theta']:.3g}, delay {delay}"
    return "gradient dropping, 0.1 %" if method == "topk" else f"federated averaging, delay {delay}"


def bits_of_position(row: Row) -> float:
    return 8 * row["index_bytes"] * int(row["params"].get("delay", 1)) / (row["density"] * row["covered_bytes"] / 4)


def formula(row: Row) -> float:
    """The ratio by the paper's count of bits."""
    bits = {0.99: 8.108, 0.999: 11.495}[round(row["params"]["theta"], 3)]
    return 32 * int(row["params"].get("delay", 1)) / ((1 - row["params"]["theta"]) * bits)


def ratios(work: Work) -> Item:
    file, steps, loops = recorded(work)
    files = []
    for scope in ("model", "tensor"):
        results = work.results(f"sbc-{scope}", "replay", "--suite", "paper-sbc", "--scope", scope, "--allow-gaps", "--loop",
                               loops, "--per", "none", file)
        table = []
        for row in rows_of(results, "replay"):
            sbc = row["method"] == "sbc"
            table.append([name_of(row), row["ratio"], formula(row) if sbc else None,
                          THEIRS.get(int(row["params"].get("delay", 1))) if sbc else None,
                          bits_of_position(row) if sbc else None, row["cumulative_error"]])
        files.append(work.table(f"sbc-table-{scope}", ["method", "ratio", "by formula", "paper", "bits", "error"], table,
                                f"{file.name}, {steps} steps; one message for "
                                f"{'the model' if scope == 'model' else 'each tensor'}.\n"
                                "paper: ResNet-50 on ImageNet; its settings are inferred from the ratios.\n"
                                "bits: of a position. error: of the sum of all updates, relative."))
    return Item("Table of ratios and accuracies", "ResNet-50: 3531 times fewer bits at equal accuracy, 37208 times with 1 % "
                "less.", "Ratios in real bytes, with residual and delay, over recorded steps. " + NO_TRAINING, tuple(files))


def one_message(work: Work) -> Item:
    table = []
    for network in work.networks:
        if network in ("resnet50", "lstm"):
            results = work.results(f"sbc-bench-{network}", "bench", "--suite", "paper-sbc", "--no-sums", *work.seconds(5),
                                   work.network(network))
            for row in rows_of(results, "summary"):
                if row["method"] == "sbc":
                    bits = 8 * row["index_bytes"] / row["kept"]
                    table.append([network, f"{1 - row['params']['theta']:.3g}", row["ratio"], formula(row), bits])
    written = work.table("sbc-networks", ["network", "p", "ratio", "by formula", "bits / position"], table,
                         "One message for each tensor. A delay of n multiplies the ratio by n.\n"
                         "Values are drawn (Student's t, df 3), so that gaps are geometric.")
    return Item("Bits of a position", "The formula has 8.11 bits at p = 0.01 and 11.5 at p = 0.001.",
                "Real bytes on the shapes of ResNet-50 and of an LSTM.", (written,))


def grid(work: Work) -> Item:
    file, steps, loops = recorded(work)
    methods = [word for p in ("0.1", "0.01", "0.001") for delay in (1, 10, 100)
               for word in ("--method", f"sbc:p={p},delay={delay}")]
    results = work.results("sbc-grid", "replay", "--scope", "model", "--allow-gaps", "--loop", loops, "--per", "none",
                           *methods, file)
    table = [[f"{1 - row['params']['theta']:.3g}", int(row["params"]["delay"]), row["ratio"], row["cumulative_error"],
              row["residual_norm"] / row["gradient_norm"]] for row in rows_of(results, "replay")]
    written = work.table("sbc-grid", ["p", "delay", "ratio", "error of the sum", "residual / gradient"], table,
                         f"{file.name}, {steps} steps; one message for the model.\n"
                         "Recorded steps repeat, so that residuals are larger than in training.")
    return Item("Grid of sparsity and delay", "Accuracy depends on the product of sparsity and delay, not on one of them.",
                "Ratio, error of all updates together, and residual at the end. " + NO_TRAINING, (written,))


def items(work: Work) -> List[Item]:
    return [ratios(work), one_message(work), grid(work),
            Item("Curves of accuracy", "Accuracy by iteration and by bits sent, for five networks.", missing=NO_TRAINING)]
