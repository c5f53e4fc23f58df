#!/usr/bin/env python3
"""
Completion in interactive shells on a terminal.

    check_completion.py FOLDER_OF_SCRIPTS EMPTY_FOLDER

Each case types a line and the tab key, and looks at what the shell then shows. Exits 1 with what differs.
"""
import os
import pty
import re
import select
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x07|\r")
READY = "ready>"


class Shell:
    def __init__(self, argv, folder):
        environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "HOME": folder, "LC_ALL": "C.UTF-8",
                       "COLUMNS": "100", "LINES": "50"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, environment)

    def until(self, wanted, seconds):
        """What is shown until `wanted` (a function of the text) holds."""
        text, end = "", time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    text += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    break
            clean = ESCAPES.sub("", text)
            if wanted(clean):
                return clean
        return ESCAPES.sub("", text)

    def send(self, text):
        os.write(self.fd, text.encode())

    def ask(self, line, *words):
        """Types `line` and the tab key, until all of `words` are shown after it: the first tab may only complete a part."""
        shown, wait, end = "", 0.4, time.monotonic() + HANG
        self.send(line)
        while time.monotonic() < end:
            self.send("\t")
            shown += self.until(lambda text: all(word in (shown + text).replace(line, "", 1) for word in words), wait)
            missing = [word for word in words if word not in shown.replace(line, "", 1)]
            if not missing:
                break
            wait *= 2  # a shell that gets another tab while it works may begin again
        self.send("\x15\n")  # ^U
        self.until(lambda text: READY in text.rsplit("\n", 1)[-1], HANG)
        return missing, shown

    def close(self):
        self.send("\x15exit\n")
        try:
            os.close(self.fd)
        except OSError:
            pass
        os.waitpid(self.pid, 0)


CASES = [
    ("gcbench decomp", ["ress"]),
    ("gcbench compress --form", ["at"]),
    ("gcbench compress --format=", ["table", "json", "csv", "tsv"]),
    ("gcbench compress --format ", ["table", "json", "csv", "tsv"]),
    ("gcbench inspect --results some-fi", ["le.h5"]),
    ("gcbench compress --method=terng", ["rad"]),
    ("gcbench compress --method terng", ["rad"]),
    ("gcbench compress --method fft:values=", ["range", "sign-mean"]),
    ("gcbench compress --values=sign-", ["mean"]),
    ("gcbench methods redsy", ["nc"]),
    ("gcbench inspect some-f", ["ile.h5"]),
]


def main():
    scripts, folder = map(os.path.abspath, sys.argv[1:3])
    open(os.path.join(folder, "some-file.h5"), "w", encoding="utf-8").close()
    shells = {
        "bash": (["bash", "--norc", "--noprofile", "-i"],
                 f"PS1='{READY[:3]}''{READY[3:]} '; bind 'set enable-bracketed-paste off' 2>/dev/null; . {scripts}/gcbench\n"),
        "zsh": (["zsh", "-f", "-i"],
                f"fpath=({scripts} $fpath); autoload -U compinit; compinit -u -d {folder}/dump; "
                f"unsetopt zle_bracketed_paste; zstyle ':completion:*' list-prompt ''; LISTMAX=0; "
                f"PS1='{READY[:3]}''{READY[3:]} '\n"),
    }
    failed = 0
    for name, (argv, setup) in shells.items():
        shell = Shell(argv, folder)
        shell.send(setup)
        shell.until(lambda text: READY in text, HANG)
        for line, words in CASES:
            missing, shown = shell.ask(line, *words)
            if missing:
                failed += 1
                print(f"{name}: '{line}' does not show {missing}: {shown!r}", file=sys.stderr)
        shell.close()
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
