#!/usr/bin/env python3
"""
Reads a report's page as a browser would.

    check_report.py PAGE [TEXT...]

Checks that the page is well-formed, loads nothing, has one script that its policy names, and that its data are JSON whose
texts have no control characters, and have each TEXT. Prints what is wrong and exits 1. check_browser.py checks what the
script makes of the data in the same way.
"""
import base64
import hashlib
import json
import re
import sys
import urllib.parse
import xml.etree.ElementTree
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "img", "input"}
KNOWN = VOID | {
    "noscript", "dl", "dt", "dd", "html", "head", "title", "style", "body", "header", "nav", "main", "section", "h1", "h2", "p", "ul", "li", "a",
    "b", "span", "code", "div", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "details", "summary",
    "script", "small", "i", "fieldset", "legend", "label", "button"}
IMAGE = "data:image/svg+xml,"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_drawing(document):
    """Is this an SVG document?"""
    try:
        return xml.etree.ElementTree.fromstring(document).tag.endswith("}svg")
    except xml.etree.ElementTree.ParseError:
        return False


def data_of(path):
    """The data of a page, {"title", "records", "baselines", "figures", "without"}."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S)[1])


def rows_of(path, record):
    """The rows of a record on the page, as the files have them, without nulls."""
    part = data_of(path)["records"][record]
    rows = [{} for _ in range(part["count"])]
    for name, column in part["columns"].items():
        for row, value in zip(rows, column["each"] if "each" in column else [column["all"]] * len(rows), strict=True):
            if value is not None:
                row[name] = value
    return rows


def texts_of(value):
    if isinstance(value, str):
        yield value
    for part in value.items() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from texts_of(part)


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.wrong, self.open, self.ids, self.links = [], [], set(), set()
        self.text, self.labels, self.count = [], [], {}
        self.policy, self.lang, self.title, self.script, self.data = None, None, "", "", ""

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in KNOWN:
            self.wrong.append(f"an element <{tag}>")
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.wrong.append(f"<{tag}> has an attribute twice")
        attributes = dict(attrs)
        for name, value in attrs:
            self.attribute(tag, name, value or "")
        if tag == "html":
            self.lang = attributes.get("lang")
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes.get("content")
        if tag == "th" and attributes.get("scope") not in ("col", "row"):
            self.wrong.append("a <th> without scope")
        if tag == "img" and not attributes.get("alt"):
            self.wrong.append("a plot that a screen reader cannot name")
        if tag == "tr":
            self.cells = 0
        if tag in ("th", "td"):
            self.cells += 1
        if tag == "table":
            self.columns = None
        if tag not in VOID:
            self.open.append(tag)

    def attribute(self, tag, name, value):
        if name == "src" and tag == "img" and value.startswith(IMAGE) and is_drawing(urllib.parse.unquote(value[len(IMAGE):])):
            return
        if name.startswith("on") or name in ("src", "srcset", "action", "data", "srcdoc", "background", "xlink:href"):
            self.wrong.append(f"an attribute {name} of <{tag}>")
        if name == "href":
            if value.startswith("#"):
                self.links.add(value[1:])
            else:
                self.wrong.append(f"a link to {value}")
        if "url(" in value:
            self.wrong.append(f"a reference: {value}")
        if name == "id":
            if value in self.ids:
                self.wrong.append(f"id {value} twice")
            self.ids.add(value)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> after {self.open[-3:]}")
        else:
            self.open.pop()
        if tag == "tr":
            if self.columns not in (None, self.cells):
                self.wrong.append(f"a row of {self.cells} cells in a table of {self.columns} columns")
            self.columns = self.cells

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            if re.search(r"url\(|@import|expression", data):
                self.wrong.append("a style that loads")
            return
        if self.open and self.open[-1] == "script":
            if self.script or self.data:
                self.script += data
            else:
                self.data += data
            return
        if self.open and self.open[-1] == "title":
            self.title += data
        self.text.append(data)
        if CONTROL.search(data):
            self.wrong.append(f"a control character in {data!r}")

    def handle_comment(self, data):
        self.wrong.append("a comment")


def read(source):
    """The page of an HTML text, with what is wrong in it."""
    page = Page()
    page.feed(source)
    page.close()
    page.wrong += [f"<{tag}> is never closed" for tag in page.open]
    page.wrong += [f"a link to #{name}, which is not there" for name in page.links - page.ids]
    page.wrong += [] if page.lang == "en" else ["no language"]
    page.wrong += [] if page.title.strip() else ["no title"]
    page.wrong += [] if page.count.get("script") == 2 else ["not the data and one script"]
    return page


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        source = file.read()
    page = read(source)
    wrong = page.wrong
    wrong += [] if source.startswith("<!DOCTYPE html>") else ["no doctype"]
    wrong += ["a script that makes markup or loads"] if re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval"
                                                                  r"|fetch|XMLHttp|import\(|https?:(?!//www.w3.org)",
                                                                  page.script) else []
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    policy = dict(part.split(None, 1) for part in (page.policy or "").split("; ") if " " in part)
    if policy.get("default-src") != "'none'" or policy.get("style-src") != "'unsafe-inline'" or \
            policy.get("img-src") != "data:" or policy.get("script-src") != f"'sha256-{digest}'":
        wrong.append(f"a policy that allows more: {page.policy}")
    data = json.loads(page.data)
    wrong += [] if "<" not in page.data else ["a < in the data, which may end their element"]
    wrong += [f"a picture that is no SVG document: {f['title']}" for f in data["figures"] if not is_drawing(f["svg"])]
    texts = list(texts_of({k: v for k, v in data.items() if k != "figures"}))
    wrong += [f"a control character in {text!r}" for text in texts if CONTROL.search(text)]
    wrong += [f"'{wanted}' is not in the data" for wanted in sys.argv[2:] if not any(wanted in text for text in texts)]
    for line in wrong:
        print(line, file=sys.stderr)
    return len(wrong) != 0


if __name__ == "__main__":
    sys.exit(main())
