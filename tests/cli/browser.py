"""
Drives a headless Chromium over a pipe, with the DevTools protocol: no port, no network, no further package.

    with Browser() as browser:
        browser.open("page.html", width=800, dark=True)
        browser.run("document.title")
        browser.key("Tab")
        browser.screenshot("page.png")
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from patience import HANG  # noqa: E402

PROGRAMS = ("chromium-headless-shell", "chromium")
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowRight": 39}


def find():
    """The path of a Chromium; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0
        self.messages = []  # what the page wrote to its console, and errors of its scripts and of its policy

    def __enter__(self):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def connect():  # the browser reads from 3 and writes to 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=connect, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder.name})
        os.close(to_browser)
        os.close(from_browser)
        self.rest = [b""]  # what was read after the last message
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        try:
            self.folder.cleanup()
        except OSError:  # a child of the browser may still write there
            shutil.rmtree(self.folder.name, ignore_errors=True)

    def receive(self):
        """The next message; fails where none comes in a minute."""
        while b"\0" not in self.rest[-1]:
            if not select.select([self.into], [], [], HANG)[0]:
                raise RuntimeError("the browser does not answer")
            self.rest.append(os.read(self.into, 1 << 20))
            if not self.rest[-1]:
                raise RuntimeError("the browser ended")
        end, _, rest = self.rest[-1].partition(b"\0")
        text = b"".join(self.rest[:-1]) + end
        self.rest = [rest]
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        kind, params = event.get("method"), event.get("params", {})
        if kind == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif kind == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(a.get("value")) for a in params["args"]))
        elif kind == "Log.entryAdded":
            self.messages.append(params["entry"]["text"])
        elif kind == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:")):
            self.messages.append("a request to " + params["request"]["url"])
        elif kind == "Page.javascriptDialogOpening":
            self.messages.append("a dialog: " + params["message"])

    def open(self, path, width=1400, height=900, dark=False, media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.run("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        self.settle()

    def settle(self):
        """Waits until the page has drawn what it was asked to."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name):
        event = {"key": name, "code": name, "windowsVirtualKeyCode": KEYS[name]}
        if name in ("Enter", " "):
            event["text"] = "\r" if name == "Enter" else " "
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def text(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def mouse(self, x, y, click=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def click(self, css):
        """Clicks the middle of the first element, scrolled into view."""
        x, y = self.run(f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
                        f"return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({json.dumps(css)}))")
        self.mouse(x, y, click=True)

    def screenshot(self, path, whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **({"clip": clip} if whole else {}))
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        answer = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))
