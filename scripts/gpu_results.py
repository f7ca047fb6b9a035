# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu run found, as JSON files and one table. Arguments: WORK OUT REVISION."""

import glob
import json
import pathlib
import re
import sys

import gpu_bars

# racecheck sees shared memory only: it must report the unrolled warp, and cannot see the rung whose
# threads race for a word of global memory (the ladder's own verdict and simt's race check do).
MUST_RACE = {"unroll_warp"}
RACES_IN_GLOBAL_MEMORY = {"race"}


def load(path):
    try:
        return json.loads(pathlib.Path(path).read_text())
    except (OSError, ValueError) as error:
        print(f"{path}: {error}")
        return None


def sanitizer_rows(path):
    rows = []
    if not path.exists():
        return rows
    for line in sorted(path.read_text().splitlines()):
        tool, rung, status, said = line.split("\t")
        family = rung.split("/")[0]
        found = status == "86" or bool(re.search(r"[1-9]\d* (error|hazard)", said))
        if tool == "racecheck" and family in MUST_RACE:
            verdict = "races, as expected" if found else "NO RACE FOUND"
        elif tool == "racecheck" and family in RACES_IN_GLOBAL_MEMORY:
            verdict = "FOUND" if found else "clean: racecheck sees shared memory only"
        else:
            verdict = "FOUND" if found else "clean" if status == "0" else f"EXIT {status}"
        rows.append({"tool": tool, "rung": rung, "exit": int(status), "summary": said, "verdict": verdict})
    return rows


def write_counters(path, where, runs):
    """A line a rung: the file is long, and its changes should be readable."""
    same = {k: runs[0][k] for k in ("multiprocessors", "metrics")}
    causes = {name: text for run in runs for name, text in run["causes"].items()}
    head = json.dumps({**where, **same, "causes": causes}, indent=1)[:-2]
    blocks = []
    for run in runs:
        first = run["rungs"][0]
        keys = {"command": run["command"], **{k: first[k] for k in ("dtype", "n", "block")}}
        rungs = ",\n".join(json.dumps(rung) for rung in run["rungs"])
        blocks.append(json.dumps(keys)[:-1] + ', "rungs": [\n' + rungs + "\n]}")
    path.write_text(head + ',\n "runs": [\n' + ",\n".join(blocks) + "\n]}\n")


def reductions(work, out, short, where):
    """Prints the bars, writes the file; how many answers were wrong."""
    measured, frameworks = load(work / "reductions.json"), load(work / "frameworks.json") or {}
    if not measured:
        return 1
    bars = gpu_bars.bars(measured["rows"])
    gpu_bars.print_bars(bars)
    gpu_bars.print_peers(measured["rows"], frameworks)
    measured["bars"] = bars
    record = {**where, **measured, **frameworks}
    lists = [f"{json.dumps(k)}: [\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in v) + "\n]"
             if isinstance(v, list) and v and isinstance(v[0], dict) else f"{json.dumps(k)}: {json.dumps(v)}" for k, v in record.items()]
    (out / f"reductions-{short}.json").write_text("{" + ",\n".join(lists) + "}\n")  # a row a line
    return measured["wrong"]


def rows(work, out, short, where):
    """Prints each case of rows, segments and axes, writes the file; how many were wrong."""
    path = work / "rows.json"
    measured = load(path) if path.exists() else None
    if not measured:
        return 0
    print(f"\n{'rows':<28}{'type':>5} {'operation':<10}{'us':>12}{'of reading':>12}{'CUB / us':>10}")
    for r in measured["rows"]:
        of_reading = r["read_us"] / r["us"]
        beside = f"{r['cub_us'] / r['us']:10.2f}" if r["cub_us"] else f"{'-':>10}"
        print(f"{r['family'] + ' ' + r['name']:<28}{r['type']:>5} {r['op']:<10}{r['us']:12.1f}{of_reading:12.3f}{beside}"
              + ("" if r["right"] else "  WRONG"))
    table = ",\n".join(json.dumps(r) for r in measured.pop("rows"))
    (out / f"rows-{short}.json").write_text(json.dumps({**where, **measured})[:-1] + f',\n"rows": [\n{table}\n]}}\n')
    return table.count('"right": false')


def twenty(work, out, short, where):
    """Twenty kernels' counters, a kernel a line; how many differences have no cause."""
    path = work / "twenty.json"
    measured = load(path) if path.exists() else None
    if not measured:
        return 0
    kernels = measured.pop("kernels")
    lines = ",\n".join(json.dumps(k) for k in kernels)
    (out / f"twenty-{short}.json").write_text(json.dumps({**where, **measured}, indent=1)[:-2] + f',\n "kernels": [\n{lines}\n]}}\n')
    return sum("cause" in c and c["cause"] is None for k in kernels for c in k["counters"].values())


def lessons(work, out, short, where):
    """Times of the lessons' kernels, a kernel a line. The program verified each before it timed it."""
    path = work / "lessons.json"
    measured = load(path) if path.exists() else None
    if measured:
        lines = ",\n".join(json.dumps(row) for row in measured)
        (out / f"lessons-{short}.json").write_text(json.dumps(where, indent=1)[:-2] + f',\n "times": [\n{lines}\n]}}\n')


def profiles(work, out, short, where):
    """What `warpfold profile` found, all in one file; how many answers were wrong."""
    found = {p.stem.removeprefix("profile-"): load(p) for p in sorted(work.glob("profile-*.json"))}
    found = {name: profile for name, profile in found.items() if profile}
    if not found:
        return 0
    (out / f"profile-{short}.json").write_text(json.dumps({**where, "profiles": list(found.values())}, indent=1) + "\n")
    print("\nprofiles, median time of the kernels (of the roofline's ceiling)")
    for name, profile in found.items():
        points = {p["name"]: p for p in profile.get("roofline", {}).get("points", [])}
        for kernel in profile["kernels"]:
            reached = points.get(kernel["name"], {}).get("of_ceiling")
            share = f" ({100 * reached:.0f}%)" if reached else ""
            print(f"  {name:<12} {1e6 * kernel['median_s']:9.2f} us{share}  {kernel['name']}")
        for line in profile["omitted"]:
            print(f"  {name:<12} {line}")
    return sum(not profile["right"] for profile in found.values())


def main(work, out, revision):
    work, out = pathlib.Path(work), pathlib.Path(out)
    name, driver, *clocks = (work / "gpu.txt").read_text().strip().split(", ")
    where = {"device": name, "driver": driver, "clocks_sm_mem_maxsm_maxmem": clocks, "revision": revision,
             "command": "scripts/gpu run"}
    short = re.sub(r"[^a-z0-9]+", "-", name.lower().replace("nvidia", "")).strip("-").split("-")[0]
    wrong = 0

    ladders = [l for l in (load(p) for p in sorted(glob.glob(str(work / "ladder-*.json")))) if l]
    if ladders:
        (out / f"ladder-{short}.json").write_text(json.dumps({**where, "runs": ladders}, indent=1) + "\n")
        print("\nladder, GB/s (of the read ceiling)")
        columns = [(l["dtype"], l["n"]) for l in ladders]
        columns = sorted(set(columns), key=lambda c: (c[0] != "f32", c[1]))
        print(f"{'rung':<20}" + "".join(f"{d + ' ' + str(n):>16}" for d, n in columns))
        cell = {}
        for l in ladders:
            for r in l["rungs"]:
                text = "-"
                if "gb_per_s" in r:
                    text = f"{r['gb_per_s']:.0f}"
                    if r.get("of_ceiling"):
                        text += f" ({100 * r['of_ceiling']:.0f}%)"
                if r["verdict"].isupper():
                    wrong += 1
                    text = r["verdict"]
                cell[r["name"], l["dtype"], l["n"]] = text
        for rung in dict.fromkeys(r["name"] for l in ladders for r in l["rungs"]):
            print(f"{rung:<20}" + "".join(f"{cell.get((rung, d, n), ''):>16}" for d, n in columns))

    runs = sanitizer_rows(work / "sanitizer.txt")
    if runs:
        (out / f"sanitizer-{short}.json").write_text(json.dumps({**where, "runs": runs}, indent=1) + "\n")
        bad = [r for r in runs if r["verdict"].split()[0].isupper()]
        wrong += len(bad)
        print(f"\ncompute-sanitizer: {len(runs)} runs, {len(bad)} not as expected")
        for r in runs:
            if r in bad or r["verdict"] not in ("clean",):
                print(f"  {r['tool']:<10} {r['rung']:<20} {r['verdict']}  [{r['summary']}]")

    counters = [c for c in (load(p) for p in sorted(glob.glob(str(work / "counters-*.json")))) if c]
    if counters:
        write_counters(out / f"counters-{short}.json", where, counters)
        compared, equal, unexplained = (sum(c[k] for c in counters) for k in ("compared", "equal", "unexplained"))
        print(f"\nsimt's counters beside the hardware's: {compared}, of which {equal} equal to the unit and {unexplained} without a known cause")
        for c in counters:
            for rung in c["rungs"]:
                for row in (row for k in rung["kernels"] for row in k["counters"]):
                    if row["difference"] != 0 and row["cause"] is None:
                        print(f"  {rung['rung']:<20} {rung['dtype']} {rung['n']} {row['counter']}: simt {row['simt']:.0f}, GPU {row['gpu']:.0f}")

    wrong += profiles(work, out, short, where)
    wrong += rows(work, out, short, where)
    wrong += twenty(work, out, short, where)
    lessons(work, out, short, where)
    limits = load(work / "limits.json") if (work / "limits.json").exists() else None
    if limits:
        lines = ",\n".join(json.dumps(row) for row in limits)
        (out / f"limits-{short}.json").write_text(json.dumps(where)[:-1] + ',\n"rows": [\n' + lines + "\n]}\n")
    if (work / "reductions.log").exists():
        wrong += reductions(work, out, short, where)
    print(f"\n{name}, driver {driver}, revision {revision}: {'all as expected' if wrong == 0 else f'{wrong} NOT AS EXPECTED'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
