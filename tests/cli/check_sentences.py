"""Checks that tests have provoked every sentence that a command can print.

    check_sentences.py SAID SOURCE...

SAID has what the command printed, without line breaks: one run a line. Each string of two words or more in the sources must
occur in it, with anything for its conversions. Help texts, static assertions, reports of missing memory and what is looked
for in a text do not count.
"""
import re
import sys

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
SKIPPED = (r"/\*.*?\*/", r"#include[^\n]*", r"const struct cmd cmd_.*?\n};", r"static const struct opt_group.*?\n};",
           r"gcb_diag_nomem\([^;]*;", r"_Static_assert\([^;]*;", rf"\b(?:begins_with|sscanf)\(\w+, {LITERAL}")


def sentences(path):
    text = open(path).read()
    text = re.sub(r"/\* clang-format off \*/.*?/\* clang-format on \*/", "", text, flags=re.S)  # tables of options
    for pattern in SKIPPED:
        text = re.sub(pattern, "", text, flags=re.S)
    for found in re.findall(rf"{LITERAL}(?:\s*(?:PRI\w+\s*)?{LITERAL})*", text):
        whole = "".join(piece[1:-1] for piece in re.findall(LITERAL, found)).encode().decode("unicode_escape")
        whole = re.sub(r"\s+", " ", re.sub(r"%\s", "%", whole) if "PRI" in found else whole).strip()
        if " " in whole and len(re.findall(r"[A-Za-z]{2,}", re.sub(r"%[-+.*\d]*(?:ll|z)?[a-zA-Z]", " ", whole))) >= 2:
            yield whole


def occurs(sentence, line):
    """Do the fixed parts of the sentence follow each other in the line?"""
    at = 0
    for part in re.split(r"%[-+.*\d]*(?:ll|z)?[a-zA-Z]", sentence.replace("%%", "\0")):
        at = line.find(part.replace("\0", "%").strip(), at)
        if at < 0:
            return False
    return True


def main(said, *sources):
    lines = open(said, errors="replace").read().splitlines()
    wanted = [(path, sentence) for path in sources for sentence in sentences(path)]
    assert len(wanted) > 40, len(wanted)
    missing = [f"{path}: {sentence}" for path, sentence in wanted if not any(occurs(sentence, line) for line in lines)]
    assert not missing, "never printed:\n" + "\n".join(missing)


main(*sys.argv[1:])
