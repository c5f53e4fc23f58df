#!/usr/bin/env python3
"""
Works with pages of `gcbench report` in a browser, as a reader would: check_browser.py FOLDER

FOLDER has the pages that report_browser.sh makes. Fails with the line that was not true, and where the browser wrote
anything to its console: an error, a refused script or a request.
"""
import json
import os
import sys

import check_report
from browser import Browser

FOLDER = sys.argv[1]
SHOTS = os.environ.get("GCBENCH_SHOTS", FOLDER)


def page(name):
    return f"{FOLDER}/{name}.html"


def column(b, table, field):
    """The cells of a column in the rows that are shown."""
    return b.run(f"(t => {{ const i = [...t.tHead.rows[0].cells].findIndex(h => h.dataset.f === '{field}'); "
                 "return [...t.tBodies[0].rows].filter(r => r.offsetHeight).map(r => r.cells[i].textContent); }"
                 f")(document.getElementById('{table}'))")


def numbers(cells):
    return [float(cell) for cell in cells if cell != "-"]


def clicks(b):
    b.open(page("page"))
    head = "#methods-rows th[data-f=ratio] button"
    before = numbers(column(b, "methods-rows", "ratio"))
    b.click(head)
    assert numbers(column(b, "methods-rows", "ratio")) == sorted(before, reverse=True), "largest first"
    b.click(head)
    assert numbers(column(b, "methods-rows", "ratio")) == sorted(before), "smallest first"
    assert b.run("document.querySelector('#methods-rows th[data-f=ratio]').ariaSort") == "ascending"

    b.click("#methods input[type=search]")
    b.text("qsgd ratio>5")
    shown = column(b, "methods-rows", "page_label")
    assert shown and all("qsgd" in cell for cell in shown), shown
    assert min(numbers(column(b, "methods-rows", "ratio"))) > 5
    assert "rows" in b.run("document.querySelector('#methods .bar span').textContent")
    b.run("(i => { i.value = ''; i.dispatchEvent(new Event('input')); })(document.querySelector('#methods input'))")
    assert sorted(numbers(column(b, "methods-rows", "ratio"))) == sorted(before), "all rows are back"


def structure(b):
    """What the script makes is what a screen reader needs, and nothing that loads."""
    for name in ("page", "history", "hostile", "links"):
        b.open(page(name))
        made = check_report.read(b.run("document.documentElement.outerHTML"))
        assert made.wrong == [], (name, made.wrong)
        assert made.count["h1"] == 1 and made.count["h2"] > 2, (name, made.count)
    b.open(page("page"))
    assert b.run("document.querySelectorAll('#methods dl dt').length") == b.run("document.querySelectorAll('#methods-rows th[title]').length")


def near(cell, value, share=0.006):
    number, unit = (cell.split(" [")[0] + " ").split(" ", 1)
    scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "kB": 1e3, "MB": 1e6, "GB": 1e9, "M": 1e6}.get(unit.strip(), 1)
    return abs(float(number) * scale - value) <= share * abs(value)


def rows_in(name, record):
    return [row for row in map(json.loads, open(f"{FOLDER}/{name}.json")) if row["record"] == record]


def figures(b):
    """Each figure of a table is that of its row, to its last digit, and so are the ends of intervals."""
    b.open(page("figures"))
    wanted = rows_in("sweep", "summary")
    for field in ("ratio", "bits_per_element", "rel_l2", "cosine", "encode_gbps"):
        cells = column(b, "methods-rows", field)
        assert len(cells) == len(wanted) and all(near(c, r[field]) for c, r in zip(cells, wanted)), (field, cells)
    for cell, row in zip(column(b, "methods-rows", "encode_gbps"), wanted):
        if row["encode_seconds_low"] is not None:
            work = row["encode_gbps"] * row["encode_seconds"]
            low, high = cell.split(" [")[1].rstrip("]").split(", ")
            assert near(low, work / row["encode_seconds_high"]) and near(high, work / row["encode_seconds_low"]), (cell, row)
    for table, field in (("bytes-rows", "wire_bytes"), ("times-rows", "encode_seconds"), ("targets-rows", "match_target")):
        at = [row for row in wanted if row[field] is not None]
        cells = column(b, table, field)
        assert len(cells) == len(at) and all(near(c, r[field], 0.05) for c, r in zip(cells, at)), (field, cells)

    # a payoff of many links: folded, first the ways that an answer names and the bar
    b.open(page("links"))
    rows = rows_in("links", "payoff")
    assert b.run("document.querySelector('#payoff details summary').textContent") == f"{len(rows)} rows: one for each way and network"
    b.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    named = {r["spec"] for r in rows if r["advice"] or r["baseline"] and r["speedup_bar"] >= 1}
    for table, at in (("payoff-rows", [r for r in rows if r["spec"] in named]),
                      ("payoff-quiet", [r for r in rows if r["spec"] not in named])):
        assert len(at) > 5
        for field in ("label", "bar", "kind"):
            assert column(b, table, field) == [r[field] or "-" for r in at], (table, field)
        assert [float(cell) for cell in column(b, table, "workers")] == [r["workers"] for r in at]
        for field in ("bandwidth_gbit", "seconds", "coding_seconds", "network_seconds"):
            assert all(near(c, r[field]) for c, r in zip(column(b, table, field), at, strict=True)), (table, field)

    # errors by tensor, the largest first
    b.open(page("page"))
    errors = {}
    for row in rows_in("bench", "result"):
        if row["method"] in ("topk", "fft", "qsgd", "sbc"):
            errors.setdefault(row["tensor"], {}).setdefault(row["method"], []).append(row["rel_l2"])
    means = {name: {m: sum(v) / len(v) for m, v in of.items()} for name, of in errors.items()}
    order = sorted(means, key=lambda name: (-max(means[name].values()), name))[:20]
    shown = b.run("[...document.querySelectorAll('#tensors-rows tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert [line[0] for line in shown[1:]] == order, shown
    assert b.run("document.querySelectorAll('#tensors-quiet tbody tr').length") == len(means) - 20
    for line in shown[1:]:
        for label, cell in zip(shown[0][1:], line[1:]):
            assert abs(float(cell) - means[line[0]][label.split(":")[0]]) <= 6e-4, (line, label)


def keys(b):
    b.open(page("page"))
    b.run("document.querySelector('#methods-rows th[data-f=rel_l2] button').focus()")
    before = numbers(column(b, "methods-rows", "rel_l2"))
    b.key("Enter")
    assert numbers(column(b, "methods-rows", "rel_l2")) == sorted(before, reverse=True)
    b.key(" ")
    assert numbers(column(b, "methods-rows", "rel_l2")) == sorted(before)
    b.key("Tab")
    assert b.run("document.activeElement.parentNode.dataset.f") == "cosine", "Tab goes to the next column"


def answers(b):
    b.open(page("page"))
    assert "above" not in b.run("document.querySelector('#answer').textContent")
    assert b.run("document.querySelector('main').firstElementChild.id") == "answer", "the answer comes first"
    told = b.run("[...document.querySelectorAll('.answer, #answer li')].map(p => p.textContent)")
    assert b.run("document.querySelectorAll('.answer').length") == 1, "one answer, the others are folded"
    rows = [json.loads(line) for name in ("payoff", "sweep") for line in open(f"{FOLDER}/{name}.json")]
    for row in rows:
        if row["record"] == "answer":
            wanted = row["answer"].replace("`", "") + "."
            assert any(text.startswith(wanted) for text in told), (wanted, told)


def widths(b):
    for width in (1400, 800, 390):
        for dark in (False, True):
            b.open(page("page"), width=width, dark=dark)
            b.screenshot(f"{SHOTS}/page-{width}-{'dark' if dark else 'light'}.png")
            assert b.run("document.documentElement.scrollWidth") <= width, f"{width}: the page scrolls sideways"
            back, text = b.run("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
            assert (sum(map(int, back[4:-1].split(", "))) < 200) == dark, back
            assert (sum(map(int, text[4:-1].split(", "))) > 500) == dark, text


def hostile(b):
    b.open(page("hostile"))
    b.click("#methods-rows th[data-f=ratio] button")
    assert "<script>alert(1)</script>" in column(b, "methods-rows", "page_label")[0]
    assert "<script>alert(5)</script>" in b.run("document.title")
    assert b.run("document.querySelectorAll('script').length") == 2
    assert b.run("document.querySelectorAll('img, [onload], [onerror]').length") == 0
    b.screenshot(f"{SHOTS}/hostile.png")
    # were a script in the page, its policy would refuse it
    b.run("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.ran = 1\">'); "
          "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 2'}))")
    b.settle()
    assert b.run("window.ran") is None and any("Content Security Policy" in m for m in b.messages), b.messages
    b.messages.clear()


def history(b):
    b.open(page("history"))
    # the newest answer is open, and the earlier ones are folded with their dates
    assert [p[-10:] for p in b.run("[...document.querySelectorAll('.answer')].map(p => p.textContent)")] == ["2026-01-03"]
    fold = "document.querySelector('#answer details')"
    assert not b.run(fold + ".open") and "bench: 2 earlier answers" in b.run(fold + ".firstElementChild.textContent")
    earlier = b.run(f"[...{fold}.querySelectorAll('li')].map(e => e.textContent)")
    assert [text[-10:] for text in earlier] == ["2026-01-02", "2026-01-01"], earlier
    assert "the answer of day 1" in earlier[0] and "the answer of day 0" in earlier[1], earlier

    # so are the rows of the newest run and of the earlier ones
    assert numbers(column(b, "methods-rows", "ratio")).count(12) == 1, "the newest run alone"
    quiet = "document.getElementById('methods-quiet')"
    assert b.run(f"{quiet}.closest('details').open") is False
    assert b.run(f"{quiet}.tBodies[0].rows.length") == 2 * b.run("document.getElementById('methods-rows').tBodies[0].rows.length")
    assert "2026-01-03" in b.run("document.querySelector('.lede').textContent"), "the newest run is named at the top"


def many(b):
    b.open(page("many"))
    assert b.run("document.querySelectorAll('#methods-rows tbody tr').length") == 1000
    began = b.run("performance.now()")
    b.click("#methods-rows th[data-f=ratio] button")
    assert b.run("performance.now()") - began < 5000, "sorting 1000 rows is slow"
    b.screenshot(f"{SHOTS}/many.png", whole=False)


def print_page(b):
    b.open(page("page"))
    b.pdf(f"{SHOTS}/page.pdf")
    assert os.path.getsize(f"{SHOTS}/page.pdf") > 20000
    b.open(page("page"), media="print", dark=True, width=1000)
    assert b.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)", "paper is white"
    assert b.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    folds = "document.querySelectorAll('details:not([open])').length"
    assert b.run(folds) > 0
    b.run("dispatchEvent(new Event('beforeprint'))")
    assert b.run(folds) == 0, "what is folded is printed"
    wide = b.run("[...document.querySelectorAll('table')].filter(t => t.scrollWidth > 1000).map(t => t.id)")
    assert wide == [], f"columns are cut on paper: {wide}"
    b.run("dispatchEvent(new Event('afterprint'))")
    assert b.run(folds) > 0


with Browser() as browser:
    for part in (structure, figures, clicks, keys, answers, widths, hostile, history, many, print_page):
        part(browser)
        assert browser.messages == [], (part.__name__, browser.messages)
