#!/usr/bin/env python3
"""Makes manual pages, completions, docs/rows.md and a table for Python while gcbench is built.

    generate.py TABLES man METHODS gcbench NAME...  gcbench(1); NAME...: the commands that the build makes pages for
    generate.py TABLES man METHODS NAME             gcbench-NAME(1)
    generate.py TABLES completion METHODS FILE...   the table for completion, then the shell functions in each FILE
    generate.py TABLES fields [--check]             writes docs/rows.md and python/gcbench/fields.json anew, which have the
                                                    fields of src/tool/rows/fields.def; --check: fails if they differ

TABLES is the JSON that the program of tables.c prints, METHODS that of `gcbench methods --format json`.
"""
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The files that a command reads and writes if it has the option.
FILES = [
    ("dataset", "FILE",
     "Gradients. READERS Several files form one dump. The file is not trusted: a filter plug-in is loaded only with `--hdf5-plugins`, and nothing "
     "outside the file is read without `--allow-external`. A child process with few rights reads it, so that a crash of "
     "a library ends the child only."),
    ("output", "output",
     "The file of `-o` is written under another name and renamed when it is complete. An existing file is replaced only "
     "with `--force`."),
    ("results", "results",
     'JSON Lines: one object per line, with `record` and `"schema":1`. docs/rows.md in the source tree describes every '
     "field. Infinities and NaNs are null."),
    ("suite", "share/gcbench/suites/NAME.json",
     "The suites that `--suite` knows by name; copy one to write your own."),
    ("terminal", "share/gcbench/plots/NAME.gp",
     "The gnuplot scripts. A copy is written beside each image, with its data."),
]
HELP = {"name": "help", "letter": "h", "metavar": None, "help": "show a shorter form of this page", "range": None,
        "repeats": False, "checked": False, "choices": []}


# ---- man(7) source: no line of a text becomes a request, no character an escape, and `-` is what a shell understands ----

SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti", "\t": " "}


def escape(text):
    return "".join(SPECIAL.get(c, c) for c in text)


def safe_line(line):
    return "\\&" + line if line.startswith(".") else line


def paragraph(text):
    """One filled paragraph; text in `backticks` is bold."""
    parts = text.split("`")
    ticks = len(parts) - 1
    out = escape(parts[0])
    for i, part in enumerate(parts[1:], 1):
        out += ("\\(ga" if i == ticks and i % 2 else "\\fB" if i % 2 else "\\fP") + escape(part)
    lines = textwrap.wrap(" ".join(out.split()), 76, break_long_words=False, break_on_hyphens=False)
    return "".join(safe_line(line) + "\n" for line in lines)


def literal(text):
    return "".join(safe_line(escape(line)) + "\n" for line in text.splitlines())


def synopsis(usage):
    """A command line: options in bold, UPPER-CASE words in italics."""
    def font(match):
        return ("\\fB" if match[0][0] == "-" else "\\fI") + escape(match[0]) + "\\fP"

    return re.sub(r"-[A-Za-z-][a-z-]*|[A-Z_]{2,}|[A-Z](?![A-Za-z0-9])", font, usage) + "\n"


def tagged(tag, text):
    return f".TP\n{tag}\n{paragraph(text)}"


def option(row):
    tag = f"\\fB\\-{row['letter']}\\fP, " if row["letter"] else ""
    tag += f"\\fB\\-\\-{escape(row['name'])}\\fP"
    words = row["help"]
    if row["metavar"]:
        tag += f" \\fI{escape(row['metavar'])}\\fP"
    if row["checked"] and any(c not in words for c in row["choices"]):
        words += "; one of " + ", ".join(row["choices"])
    if row["repeats"] and "repeatable" not in words:
        words += "; repeatable"
    return tagged(tag, words + (f"; {row['range']}" if row["range"] else ""))


def number(x):
    whole = f"{x:.15g}"
    return whole if len(whole) <= 12 else f"{x:.3g}"


def applies(p, method):
    """True if the method's defaults meet what the parameter needs, such as "select=topk|chunk&bits=1;values=range"."""
    values = {q["name"]: q["default"] for q in method["parameters"]}
    return not p["needs"] or any(all(values[key] in value.split("|") for key, value in
                                     (term.split("=") for term in terms.split("&"))) for terms in p["needs"].split(";"))


def parameter(p, condition):
    words = p["help"]
    text = p["type"] in ("choice", "tile")
    default = p["default"] if text else number(p["default"])
    span = ("one of " + ", ".join(p["choices"]) if p["type"] == "choice" else "none, kernel or AxB" if text else
            f"in [{number(p['min'])}, {number(p['max'])}{']' if p['max_included'] else ')'}")
    if p["complements"]:
        words += "; or give " + " or ".join("--" + c for c in p["complements"]) + f", 1 - {p['name']}"
    if condition and p["needs"]:
        words += f" (with {p['needs'].replace(';', '; ')})"
    return tagged(f"\\fB{escape(p['name'])}\\fP={escape(default)}", span) + ".br\n" + paragraph(words)


def title(tables, name, summary):
    return (".\\\" Generated from the tables of the command; not written by hand.\n"
            f".TH \"{escape(name.upper())}\" 1 \"\" \"gcbench {tables['version']}\" \"User Commands\"\n"
            f".SH NAME\n{escape(name)} \\-\n{paragraph(summary)}.SH SYNOPSIS\n\\fBgcbench\\fP ")


def method_names(tables):
    return (".SH METHODS\n" + "".join(tagged(".B " + escape(m["method"]), m["summary"]) for m in tables["methods"]) +
            ".PP\ngcbench\\-methods(1) lists their papers, promises and parameters.\n")


def methods(tables):
    """All methods with their defaults. A codec shows all parameters, a preset those that have an effect.

    The parameters of memories and of exchanges follow once, because all methods have them."""
    out = ".SH METHODS\n" + paragraph(
        "A method is written NAME or NAME:key=value,...; each `name=value` below is a parameter with its default. Every "
        'method also takes the parameters under "Memory" and "Exchange", which gcbench-replay(1) uses.')
    for m in tables["methods"]:
        preset = m["codec"] != m["method"]
        out += (f".SS \"{escape(m['method'])}\"\n{paragraph(m['summary'])}.PP\nSource:\n{paragraph(m['source'])}"
                f".br\nPromises:\n{paragraph(m['bound'])}")
        out += "".join(parameter(p, not preset) for p in m["parameters"] if not preset or applies(p, m))
    out += ".SS Memory\nWhat a worker keeps of the values that it did not send.\n"
    codec = next(m for m in tables["methods"] if m["method"] == "sparse")  # its defaults are those of the tables
    out += "".join(parameter(p, True) for p in codec["memory"])
    out += ".SS Exchange\nHow workers exchange their messages. The default depends on the method.\n"
    return out + "".join(parameter(p, True) for p in codec["exchange"])


def options(command):
    out = ".SH OPTIONS\n" + paragraph(
        "Long options are written in full, as `--name value` or `--name=value`; `--` ends the options. In a SIZE, K, M, G "
        "and T are powers of 1024.")
    before = None
    for group in command["groups"]:
        if group["title"] != before:
            out += f".SS \"{escape(group['title'])}\"\n"
        before = group["title"]
        out += "".join(option(row) for row in group["rows"])
    if command["parameters"]:
        out += ".SS \"Parameters of methods\"\n" + paragraph(
            "Each takes a value. It sets the parameter in each `--method` that has this parameter, like KEY=VALUE in its "
            "SPEC. METHODS in gcbench-methods(1) explains the parameters, with defaults and ranges.") + ".PP\n"
        out += ",\n".join(f"\\fB\\-\\-{escape(name)}\\fP" for name in dict.fromkeys(command["parameters"])) + "\n"
    return out + ".SS \"Help\"\n" + option(HELP)


def endings(tables, command):
    """The exit statuses and files of a command, or (None) all exit statuses and the variables; then related pages."""
    out = ".SH \"EXIT STATUS\"\n"
    out += "".join(tagged(f".B {code}", words) for code, words, only in tables["exits"]
                   if not command or only in (None, command["name"]))
    if command:
        names = {row["name"] for group in command["groups"] for row in group["rows"]}
        readers = " ".join(f"{name}: {summary}" for name, summary in tables["readers"])
        files = [tagged(".I " + escape(name), words.replace("READERS", readers))
                 for needs, name, words in FILES if needs in names]
        out += ".SH FILES\n" + "".join(files) if files else ""
    else:
        out += ".SH ENVIRONMENT\n" + tagged(".B NO_COLOR", "If not empty, nothing is coloured unless `--color always`.")
        out += tagged(".B TERM", "If `dumb`, nothing is coloured unless `--color always`.")
    others = ["\\fBgcbench\\fP(1)"] if command else []
    others += [f"\\fBgcbench\\-{escape(c['name'])}\\fP(1)" for c in tables["commands"] if c is not command]
    return out + ".SH \"SEE ALSO\"\n" + ",\n".join(others) + "\n"


def examples(text):
    return f".SH EXAMPLES\n.EX\n{literal(text)}.EE\n"


def command_page(tables, command):
    summary = command["summary"]
    out = title(tables, "gcbench-" + command["name"], summary) + synopsis(command["usage"])
    out += ".SH DESCRIPTION\n" + paragraph(summary[0].upper() + summary[1:] + ".")
    out += "".join(".PP\n" + paragraph(line) for line in (command["details"] or "").splitlines())
    out += examples(command["examples"]) + options(command)
    if command["operands"] == "method":
        out += methods(tables)
    elif command["parameters"]:
        out += method_names(tables)
    return out + endings(tables, command)


def overview(tables):
    out = title(tables, "gcbench", "what gradient compressors send, lose and cost")
    out += synopsis("COMMAND [options] [FILE...]") + ".br\n\\fBgcbench help\\fP " + synopsis("[COMMAND | choose]")
    out += ".br\n\\fBgcbench\\fP " + synopsis("--version") + ".SH DESCRIPTION\n"
    out += paragraph(
        "`gcbench` reads dumped gradients, runs published gradient compressors on them, and reports the bytes that "
        "each sends, the accuracy it loses and the time it takes. Every message is decoded from its own bytes. This tells "
        "you which compressor to use, at what setting, and whether it pays.")
    out += ".PP\n" + paragraph("Results go to standard output, everything else to standard error. `--format json` writes "
                               "them as JSON Lines.")
    out += examples("  gcbench demo\n  gcbench compress --method fft --method topk gradients.h5\n  gcbench help choose\n")
    out += ".SH COMMANDS\n" + "".join(tagged(f"\\fBgcbench\\-{escape(c['name'])}\\fP(1)", c["summary"])
                                      for c in tables["commands"])
    return out + method_names(tables) + endings(tables, None)


def man(tables, name, built):
    commands = {c["name"]: c for c in tables["commands"]}
    missing = set(commands) - set(built) if name == "gcbench" else {name} - set(commands)
    if missing:
        sys.exit(f"{', '.join(sorted(missing))}: cli_commands of cli/meson.build and cli/base/cmd.c differ")
    return overview(tables) if name == "gcbench" else command_page(tables, commands[name])


# ---- completion ----

def kind_of(row):
    """What follows the option: nothing, a method, a file, or one of its choices or any text."""
    if not row["metavar"]:
        return "flag"
    if row["name"] == "method":
        return "method"
    is_file = not row["choices"] and any(word in row["metavar"] for word in ("FILE", "DIR", "GCBENCH"))
    return "file" if is_file else "value"


def completion(tables, files):
    """A line for each word that may be typed: WHERE|WORD|KIND|VALUES|HELP. WHERE is "gcbench" for commands, a command for its
    options (and "*" for its operands), ":" for methods, "METHOD:" for a method's parameters. KIND says what follows an
    option, VALUES lists what it may be."""
    lines = []

    def put(where, word, kind="", values=(), words=""):
        lines.append(f"{where}|{word}|{kind}|{' '.join(values)}|" + words.replace("'", "'\\''"))

    for c in tables["commands"]:
        put("gcbench", c["name"], words=c["summary"])
        put(c["name"], "*", c["operands"])
        for row in (row for group in c["groups"] for row in group["rows"]):
            for word in ["--" + row["name"]] + (["-" + row["letter"]] if row["letter"] else []):
                put(c["name"], word, kind_of(row), row["choices"], row["help"])
        for name in dict.fromkeys(c["parameters"]):
            put(c["name"], "--" + name, "parameter", words="parameter of methods")
        put(c["name"], "--help", "flag", words="explain the command")
    put("gcbench", "help", words="explain a command")
    put("gcbench", "--help", words="list the commands")
    put("gcbench", "--version", words="show the version")
    for m in tables["methods"]:
        put(":", m["method"], words=m["summary"])
        for p in m["parameters"] + m["memory"] + m["exchange"]:
            put(m["method"] + ":", p["name"], "value", p.get("choices", ()), p["help"])
            for complement in p["complements"]:
                put(m["method"] + ":", complement, "value", words=p["help"])
    table = "".join(line + "\n" for line in lines)
    return ("#compdef gcbench\n# Completion of gcbench(1); generated from the tables of the command.\n\n"
            f"# shellcheck disable=SC2016 # help texts have backticks\n_gcbench_table='{table}'\n\n" +
            "".join(pathlib.Path(name).read_text(encoding="utf-8") for name in files))


# ---- docs/rows.md ----

def fields(tables, text):
    """Returns the page `text`, with what stands between the markers of a record written anew.

    Fields of a table with the same type and meaning share a line. Fields that an earlier table has with the same type and
    meaning share a line that names the record of that table."""
    told = {}  # what tables say so far: the first record for each

    def table(match):
        rows = tables["records"][match[1]]
        csv = any(row[4] for row in rows)
        lines, repeats = {}, {}
        for name, kind, unit, meaning, in_csv in rows:
            only = "json only" if csv and not in_csv and kind not in ("list", "object") else ""
            said = (", ".join(filter(None, (kind, unit, only))), meaning)
            first = told.setdefault((name, *said), match[1])
            place = repeats.setdefault(first, []) if first != match[1] else lines.setdefault(said, [])
            place.append(f"`{name}`")
        out = "| field | type | meaning |\n|---|---|---|\n"
        out += "".join(f"| {', '.join(names)} | as in `{first}` | |\n" for first, names in repeats.items())
        out += "".join(f"| {', '.join(names)} | {kind} | {meaning} |\n" for (kind, meaning), names in lines.items())
        return f"<!-- fields: {match[1]} -->\n{out}<!-- end -->\n"

    return re.sub(r"<!-- fields: (\w+) -->\n.*?<!-- end -->\n", table, text, flags=re.S)


def types(tables):
    """JSON with the type and unit of each field. If a name has two types, takes the later by name: real, not integer."""
    found = {}
    for rows in tables["records"].values():
        for name, *kind in rows:
            found[name] = max(found.get(name, []), kind[:2])
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(kind)}" for name, kind in found.items()) + "\n}\n"


def write_fields(tables, check):
    """Writes the files with fields. With `check`, returns what to do if they differ instead."""
    page, table = ROOT / "docs" / "rows.md", ROOT / "python" / "gcbench" / "fields.json"
    for file, new in (page, fields(tables, page.read_text(encoding="utf-8"))), (table, types(tables)):
        if not check:
            file.write_text(new, encoding="utf-8")
        elif new != file.read_text(encoding="utf-8"):
            return f"{file.name} differs from src/tool/rows/fields.def: cli/docs/generate.py build/cli/docs/tables.json fields"
    return 0


def main():
    if sys.argv[2:] not in (["fields"], ["fields", "--check"]) and (len(sys.argv) < 4 or sys.argv[2] not in ("man", "completion")):
        sys.exit(__doc__)
    tables = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.reconfigure(encoding="utf-8")
    if sys.argv[2] == "fields":
        sys.exit(write_fields(tables, check=len(sys.argv) > 3))
    tables["methods"] = [json.loads(line) for line in open(sys.argv[3], encoding="utf-8")]
    if sys.argv[2] == "man":
        sys.stdout.write(man(tables, sys.argv[4], sys.argv[5:]))
    else:
        sys.stdout.write(completion(tables, sys.argv[4:]))


if __name__ == "__main__":
    main()
