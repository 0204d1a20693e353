"""Mondrian packages beside this library in one run: loss and processor seconds against rows, judged by pyCANON.

    python -m venv peers && peers/bin/pip install anonypy pycanon
    python benchmarks/peers_mondrian.py ADULT --peers peers/bin/python [--rows 1000,3000,10000] [--more 100000,1000000]
        [--picture FILE.svg]

Adult enlarged as ARX's authors did (see ``kanonymity_large.py``), nine columns, k = 50. Of the packages of PyPI that
offer Mondrian, anonypy 0.2 installs and runs; ``--rows`` are for both, ``--more`` for ours alone. Both
publish ages as intervals and the other columns as sets of values, and one function gives the loss of either: the mean
over cells of the share of its column's domain that a cell leaves open beyond one value. pyCANON counts k of what each
published. Ours with ARX's hierarchies is measured besides, since ARX's published figures (other machine, one
thread, other draws of the same enlargement) are for these; they are printed as published, and not run here.

Asserted: pyCANON finds k of 50 or more in both, and ours loses less than the package on the same rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from kanonymity_large import ARX, run, write

K = 50

ARX_SECONDS = (1_613, 7_053, 10_931)
"""Published seconds of ARX for the rows of :data:`kanonymity_large.ARX`."""

PEER = """
import json, sys, time
import pandas as pd, anonypy
frame = pd.read_csv(sys.argv[1], dtype=str)
names = list(frame.columns)
frame["age"] = frame["age"].astype(int)
for name in names:
    if name != "age":
        frame[name] = frame[name].astype("category")
frame["all"] = "row"
began = time.process_time()
made = pd.DataFrame(anonypy.Preserver(frame, names, "all").anonymize_k_anonymity(k=50))
took = time.process_time() - began
for name in names:
    made[name] = made[name].str[0]
made.loc[made.index.repeat(made["count"]), names].to_csv(sys.argv[2], index=False)
print(json.dumps({"cpu": took, "rows": int(made["count"].sum())}))
"""

JUDGE = """
import json, sys
import pandas as pd
from pycanon import anonymity
frame = pd.read_csv(sys.argv[1], dtype=str)
print(json.dumps({"k": int(anonymity.k_anonymity(frame, list(frame.columns)))}))
"""


def told(python: str, code: str, *arguments: str) -> dict[str, Any]:
    """Run a program of a peer, and read what it prints."""
    done = subprocess.run([python, "-c", code, *arguments], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def loss_of(published: Path, original: pl.DataFrame) -> float:
    """Give the mean share of its column's domain that a published cell leaves open, beyond one value."""
    table, total = pl.read_csv(published, infer_schema=False), 0.0
    for name in original.columns:
        cells = table[name].value_counts()
        values = original[name].unique()
        ages = values.cast(pl.Int64) if name == "age" else None
        for cell, rows in cells.rows():
            if ages is not None:
                ends = [int(part) for part in cell.strip("[]").replace(", ", "-").split("-")]
                total += rows * (ends[-1] - ends[0]) / (int(ages.max()) - int(ages.min()))  # type: ignore[arg-type] # whole numbers
            else:
                many = len(values) if cell == "*" else cell.replace(",", "|").count("|") + 1
                total += rows * (many - 1) / (len(values) - 1)
    return total / (table.height * table.width)


def ours(source: Path, made: Path, names: list[str], adult: Path | None) -> dict[str, float]:
    """Anonymize with sets and intervals, or with hierarchies; read and write included."""
    line = ["-k", str(K), "--quasi", ",".join(names), "--memory", "4GB", "--json"]
    for name in names:
        if adult is not None:
            line += ["--taxonomy", f"{name}={adult / f'adult_hierarchy_{name}.csv'}"]
        elif name != "age":
            line += ["--categorical", name]
    line += [] if adult is not None else ["--numeric", "age"]
    said, _, cpu, _ = run("anonymize", str(source), *line, "-o", str(made))
    return {"loss": said["mean_loss"], "cpu": cpu}


def draw(found: list[dict[str, Any]], picture: str) -> None:
    """Draw loss and seconds against rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = {
        "anonypy, sets": ("tab:red", "s-"),
        "discreet, sets": ("tab:blue", "o-"),
        "discreet, hierarchies": ("tab:green", "D-"),
        "ARX, hierarchies (published)": ("tab:gray", "^--"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for label, (color, mark) in shown.items():
        mine = sorted(
            (one["rows"], one["loss"], one["cpu"]) for one in found if one["way"] == label
        )
        if not mine:
            continue
        rows, losses, seconds = zip(*mine, strict=True)
        axes[0].plot(rows, losses, mark, color=color, label=label)
        axes[1].plot(rows, seconds, mark, color=color, label=label)
    axes[0].set_ylabel("loss (share of the domain left open)")
    axes[0].set_ylim(bottom=0)
    axes[1].set_ylabel("processor seconds (ARX: elapsed)")
    axes[1].set_yscale("log")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_xlabel("rows")
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(picture, metadata={"Date": None} if picture.endswith(".svg") else None)


def main() -> None:
    """Run all, judge all, print a line each, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("adult", type=Path)
    parser.add_argument("--peers", required=True, help="Python of an environment with both peers")
    parser.add_argument("--rows", default="1000,3000,10000")
    parser.add_argument("--more", default="100000,1000000")
    parser.add_argument("--picture", metavar="FILE")
    chosen = parser.parse_args()
    found: list[dict[str, Any]] = [
        {"way": "ARX, hierarchies (published)", "rows": rows, "loss": loss, "cpu": seconds}
        for (rows, loss), seconds in zip(ARX, ARX_SECONDS, strict=True)
    ]
    shared = list(map(int, chosen.rows.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        for rows in [*shared, *(int(one) for one in chosen.more.split(",") if one)]:
            names = write(chosen.adult, where / f"in{rows}", rows)
            table = pl.read_parquet(where / f"in{rows}" / "*.parquet")
            source = where / f"{rows}.csv"
            table.write_csv(source)
            lines: dict[str, dict[str, Any]] = {}
            made = where / f"sets{rows}.csv"
            lines["discreet, sets"] = ours(source, made, names, None)
            counted = loss_of(made, table)
            # What the command says of itself is what the common function finds.
            assert abs(counted - lines["discreet, sets"]["loss"]) < 1e-9, counted
            trees = where / f"trees{rows}.csv"
            lines["discreet, hierarchies"] = ours(source, trees, names, chosen.adult)
            published = {"discreet, sets": made, "discreet, hierarchies": trees}
            if rows in shared:
                peer = where / f"peer{rows}.csv"
                lines["anonypy, sets"] = told(chosen.peers, PEER, str(source), str(peer))
                lines["anonypy, sets"]["loss"] = loss_of(peer, table)
                published["anonypy, sets"] = peer
            for way, line in lines.items():
                line.update(way=way, rows=rows)
                if rows in shared:
                    line["k"] = told(chosen.peers, JUDGE, str(published[way]))["k"]
                    assert line["k"] >= K
                found.append(line)
                print(json.dumps(line), flush=True)
            if rows in shared:
                assert lines["discreet, sets"]["loss"] < lines["anonypy, sets"]["loss"]
    for one in found[: len(ARX)]:
        print(json.dumps(one))
    if chosen.picture:
        draw(found, chosen.picture)


if __name__ == "__main__":
    main()
