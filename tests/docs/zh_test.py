#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Chinese pages follow the English ones. Below each heading of docs/zh stands the hash of the English section that it
tells; where that section has changed since, the page lags behind and this says where. Code and commands are the same in
both, and so are the numbers that the lens counted.

    zh_test.py SOURCE_DIR [WARPFOLD]    with WARPFOLD, pages of `warpfold explain --lang zh` are looked at, too
    zh_test.py SOURCE_DIR --stamp PAGE  after a page in Chinese was brought up to date: renews the hashes in it
"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1]).resolve()
zh = root / "docs/zh"
counters = re.compile(r"<!-- counters:.*?<!-- end of counters -->\n", re.S)
mark = re.compile(r"<!-- en: ([0-9a-f]{12}) -->")
failures = []


def fail(page, what):
    failures.append(f"{page.relative_to(root)}: {what}")


def sections(text):
    """By headings that stand in no code; what the lens counts is no part of them."""
    all, lines, in_code = [], [], False
    for line in counters.sub("", text).splitlines(keepends=True):
        in_code ^= line.startswith("```")
        if not in_code and re.match("#{1,6} ", line) and lines:
            all.append("".join(lines))
            lines = []
        lines.append(line)
    return all + ["".join(lines)]


def hash_of(section):
    return hashlib.sha256(" ".join(section.split()).encode()).hexdigest()[:12]


def code_of(section):
    return re.findall(r"^```.*?^```$", section, re.M | re.S)


def numbers_of(text):
    return re.findall(r"\d[\d.,]*", "".join(counters.findall(text)).split("\n\n", 2)[-1])


def twins():
    """Each English page that has to be told in Chinese, and where it is."""
    pairs = {root / "README.md": zh / "README.zh.md", root / "docs/lens.md": zh / "lens.md", root / "docs/benchmarks.md": zh / "benchmarks.md"}
    for folder in ("ladder", "lessons"):
        for page in sorted((root / "docs" / folder).glob("*.md")):
            pairs[page] = zh / folder / page.name
    return pairs


def stamp(page):
    english = next(e for e, c in twins().items() if c == page)
    hashes = iter(hash_of(s) for s in sections(english.read_text()))
    page.write_text(mark.sub(lambda _: f"<!-- en: {next(hashes)} -->", page.read_text()))


def compare(english, chinese):
    if not chinese.exists():
        return fail(chinese, f"is not there, and {english.relative_to(root)} is")
    told, source = sections(chinese.read_text()), sections(english.read_text())
    if len(told) != len(source):
        return fail(chinese, f"{len(told)} sections, and {english.relative_to(root)} has {len(source)}")
    for t, s in zip(told, source):
        heading = s.splitlines()[0]
        seen = mark.findall(t)
        if len(seen) != 1:
            fail(chinese, f"`{heading}`: {len(seen)} marks of the English section, not one")
        elif seen[0] != hash_of(s):
            fail(chinese, f"lags behind `{heading}` of {english.relative_to(root)}, which has changed")
        if code_of(t) != code_of(s):
            fail(chinese, f"`{heading}`: other code than in {english.relative_to(root)}")
    if numbers_of(chinese.read_text()) != numbers_of(english.read_text()):
        fail(chinese, "other counters than in English: warpfold explain --lang zh --pages docs/zh/ladder")


def check_terms():
    """One word for one thing: names that the glossary calls other people's do not stand in the pages."""
    others = {"规约": "归约", "占有率": "占用率", "存储库": "存储体", "线程组": "线程束", "竞态": "竞争", "发散": "分歧", "共享存储器": "共享内存", "瓦片": "分块"}
    for page in [*sorted(zh.rglob("*.md")), root / "lens/words_zh.hpp"]:
        for word, ours in others.items():
            if page.name != "glossary.md" and word in page.read_text():
                fail(page, f"{word}: the glossary says {ours}")


def check_links():
    for page in sorted(zh.rglob("*.md")):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
            if not re.match(r"https?://|#", target) and not (page.parent / target.split("#")[0]).exists():
                fail(page, f"a link to {target}, which is not there")


def english_left(html):
    """Text of a page that is English still: neither code nor names, nor what stands in drawings as an addition."""
    html = re.sub(r'<style>.*?</style>|<code>.*?</code>|<td class="text">.*?</td>', "", html, flags=re.S)
    texts = re.findall(r">([^<>]+)<", html) + re.findall(r' (?:title|aria-label)="([^"]*)"', html)
    return sorted({t.strip() for t in texts if re.search(r"[a-z]{3,} [a-z]{2,}|^[a-z]{4,}$", re.sub(r"[\w/.]+\.cuh?\b|__\w+", "", t.strip()))})


def check_pages(warpfold):
    own = [f"{root}/examples/own_kernel.cu:column_sums<0>", "--grid", "8", "--block", "32x8", "--arg", "f32[64K]",
           "--arg", "out:f32[1K]", "--arg", "256"]
    for what in (["tree_strided", "--vs", "tree_modulo"], ["race"], ["atomic", "--vs", "warp_leader"], ["shuffle_block"], ["transpose"],
                 ["cluster"], ["exact"], ["cpu/serial"], own):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            ran = subprocess.run([warpfold, "explain", *what, "--lang", "zh", "--html", page], stdout=subprocess.DEVNULL,
                                 env=os.environ | {"WARPFOLD_LANG": ""})
            if ran.returncode not in (0, 1) or not page.exists():
                failures.append(f"explain {what[0]} --lang zh ends with {ran.returncode}")
                continue
            left = [t for t in english_left(page.read_text()) if t != what[0]]  # its name stays
            if what is own:  # its head comment is the user's
                left = [t for t in left if not t.startswith("A kernel of your own")]
            for text in left:
                failures.append(f"explain {what[0]} --lang zh has no Chinese for: {text[:120]}")


def main():
    if len(sys.argv) > 3 and sys.argv[2] == "--stamp":
        return stamp(Path(sys.argv[3]).resolve())
    for english, chinese in twins().items():
        compare(english, chinese)
    check_terms()
    check_links()
    if len(sys.argv) > 2:
        check_pages(sys.argv[2])
    print("\n".join(failures + [f"{len(twins())} pages, {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
