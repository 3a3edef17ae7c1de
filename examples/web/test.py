"""Tests the page in headless Chromium, and writes screenshots beside it: `python3 test.py FOLDER`, the folder of the built page.

Chromium is driven through chromedriver's HTTP protocol. The exit status is 0 only if every check passed. The cases:

WebGPU     three ways, all answers verified: lists of up to 2^24 keys, which WebGPU may leave out where it would be slow
buttons    "Sort" sorts one length; "Stop" ends a measurement
no GPU     a browser without WebGPU, without an adapter, or with a software adapter that the user does not allow: the page says
           so, and two ways sort
planted    sorts of the browser that give wrong answers: the page must notice
"""

import base64
import contextlib
import functools
import http.server
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
LENGTHS = [10, 12, 14, 16, 18, 20, 22, 24]  # exponents of two
ALWAYS = 14  # WebGPU must sort lists up to this length: a software adapter sorts some 100,000 keys a second
PATIENCE = 300  # seconds that the page may take
THREE = {"webgpu", "wasm", "browser"}
TWO = {"wasm", "browser"}


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def request(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=PATIENCE) as reply:
            return json.load(reply)["value"]
    except urllib.error.HTTPError as error:
        sys.exit(f"chromedriver refused {method} {url}: {error.read().decode()}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def chromedriver():
    """Yields the address of a running chromedriver."""
    port = free_port()
    process = subprocess.Popen(["/usr/bin/chromedriver", f"--port={port}", "--log-level=SEVERE"], stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("localhost", port)).close()
                break
            time.sleep(0.1)
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.wait()


class Browser:
    """A Chromium of its own, with the options of the tests in tests/web. `source` runs before the scripts of each page."""

    def __init__(self, driver, source="", adapters=True):
        options = json.loads((HERE / "../../tests/web/webdriver.json").read_text())["goog:chromeOptions"]
        if not adapters:
            options["args"].remove("--enable-unsafe-webgpu")
            options["args"].append("--disable-gpu")
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = request("POST", f"{driver}/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"{driver}/session/{session['sessionId']}"
        self.devtools("Page.addScriptToEvaluateOnNewDocument", source=source)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        request("DELETE", self.session)

    def devtools(self, command, **params):
        return request("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": params})

    def script(self, text):
        return request("POST", f"{self.session}/execute/sync", {"script": text, "args": []})

    def open(self, url):
        request("POST", f"{self.session}/url", {"url": url})

    def wait(self):
        """Returns the state and the status text of the page once it has stopped to work."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            state, text = self.script(
                "return [document.documentElement.dataset.state ?? 'loading', document.getElementById('status').textContent]"
            )
            if state not in ("loading", "busy"):
                return state, text
            time.sleep(0.2)
        sys.exit(f"the page was not done after {PATIENCE} s: {text}")

    def table(self):
        """Returns the rows of the table: exponent, way, whether the answer was verified, and the texts of its cells."""
        return self.script(
            "return [...document.querySelectorAll('#table tr[data-way]')].map(row => [Number(row.dataset.bits), row.dataset.way, row.dataset.answer,"
            " [...row.querySelectorAll('td')].map(cell => cell.textContent)])"
        )

    def notice(self):
        """Returns why there is no WebGPU, or nothing if there is."""
        return self.script("const notice = document.getElementById('no-gpu'); return notice.hidden ? '' : notice.innerText")

    def log(self):
        """Returns the errors that the browser has reported since the last call."""
        entries = request("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def screenshot(self, path, width, scheme="light"):
        """Writes the whole page, `width` pixels wide. The page must not be wider than that."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.devtools("Emulation.setScrollbarsHidden", hidden=True)
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        time.sleep(0.5)  # until the plot has its new width
        image = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(image))
        print(f"  wrote {path}")
        wide = self.script("return document.documentElement.scrollWidth")
        check(wide <= width, f"the page is {wide} pixels wide in a window of {width}")


def check(holds, text):
    if not holds:
        sys.exit(f"failed: {text}")


def check_table(browser, lengths, ways):
    """Checks that each way sorted each length, with a verified answer and a time. WebGPU may leave out long lists, all from some length on."""
    rows = browser.table()
    sorts = [row for row in rows if row[1] == "webgpu"]
    for bits, way, answer, cells in rows:
        print(f"  2^{bits} {way}: {', '.join(cells)}")
        if answer == "none" and way == "webgpu" and bits > ALWAYS:
            later = [other for other in sorts if other[0] > bits]
            check(all(other[2] == "none" for other in later), f"WebGPU left out 2^{bits} keys, and sorted more")
            continue
        check(answer == "same" and cells[3] == "✓ same", f"the answer of {way} for 2^{bits} keys was not verified")
        check(float(cells[0].replace(",", "")) > 0, f"{way} took no time for 2^{bits} keys")
    expected = [(bits, way) for bits in lengths for way in ways]
    found = [(bits, way) for bits, way, _, _ in rows]
    check(sorted(found) == sorted(expected), f"the table has {found}, not {expected}")


def check_done(browser):
    state, text = browser.wait()
    check(state == "done", f"the page is {state}: {text}")
    check(not (errors := browser.log()), f"the browser reported {errors}")
    foreign = browser.script(
        "return performance.getEntriesByType('resource').map(entry => entry.name).filter(name => !/^data:/.test(name) && new URL(name).origin !== location.origin)"
    )
    check(not foreign, f"the page loaded {foreign}")
    print(f"  {text}")


def with_webgpu(driver, page, folder):
    print("WebGPU: three ways")
    with Browser(driver) as browser:
        lengths = ",".join(map(str, LENGTHS))
        browser.open(f"{page}?lengths={lengths}&auto=1&software=1")
        check_done(browser)
        check(not (notice := browser.notice()), f"there is no WebGPU: {notice}")
        check_table(browser, LENGTHS, THREE)
        for width in (1200, 480):
            browser.screenshot(folder / f"page-{width}.png", width)
            browser.screenshot(folder / f"page-{width}-dark.png", width, "dark")
        check_done(browser)  # still, at these widths
        print("buttons: one length of another pattern, and a measurement that is stopped")
        browser.script(
            "document.getElementById('length').value = 11; document.getElementById('pattern').value = 'few'; document.getElementById('sort').click()"
        )
        check_done(browser)
        check_table(browser, [11], THREE)
        browser.script("document.getElementById('all').click(); document.getElementById('stop').click()")
        state, text = browser.wait()
        check(state == "stopped" and not browser.table(), f"the page did not stop, it is {state}: {text}")


def without_gpu(driver, page, folder):
    cases = {
        "WebGPU is missing": ({"source": "delete Navigator.prototype.gpu"}, "navigator.gpu is missing"),
        "no adapter": ({"adapters": False}, "offers no adapter"),
        "a software adapter is not allowed": ({}, "The backend reports: "),
    }
    for name, (options, expected) in cases.items():
        print(f"no GPU: {name}")
        with Browser(driver, **options) as browser:
            browser.open(f"{page}?lengths=10,16&pattern=reversed&auto=1")
            check_done(browser)
            notice = browser.notice()
            if not options and not notice:
                print("  this machine has a GPU")
                check_table(browser, [10, 16], THREE)
                continue
            print(f"  {notice!r}")
            check("WebGPU is not available." in notice and expected in notice, "the page does not say why there is no WebGPU")
            check_table(browser, [10, 16], TWO)
            if not options:
                browser.screenshot(folder / "no-gpu-480.png", 480)


def planted(driver, page):
    """Replaces the browser's sort by one that is wrong. The page must fail, and say what is wrong."""
    mistakes = {
        "the first key is last": ("this.reverse(); right.call(this.subarray(1))", "smaller than the key before"),
        "a key is lost": ("this[0] = this[1]", "not those of the input"),
        "one answer differs": ("if (++calls > 3) this[0] ^= 1", "Uint32Array, 2¹⁰ = 1,024 keys: key 0 is"),
    }
    for name, (mistake, expected) in mistakes.items():
        print(f"planted: {name}")
        source = f"""let calls = 0; const right = Uint32Array.prototype.sort;
            Uint32Array.prototype.sort = function () {{ right.call(this); {mistake}; return this; }};"""
        with Browser(driver, source) as browser:
            browser.open(f"{page}?lengths=10&auto=1&software=1")
            state, text = browser.wait()
            print(f"  {text}")
            check(state == "failed" and expected in text, f"the page is {state}, with a browser whose sort is wrong: {text}")


def main():
    folder = pathlib.Path(sys.argv[1])
    handler = functools.partial(Files, directory=folder)
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server, chromedriver() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://localhost:{server.server_port}/index.html"
        with_webgpu(driver, page, folder)
        without_gpu(driver, page, folder)
        planted(driver, page)
        server.shutdown()
    print("the page passed all checks")


main()
