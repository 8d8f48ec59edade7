#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of a sweep in headless Chromium and uses its controls with real mouse and keyboard events.

browse.py PAGE [SCREENSHOT]   Says what does not work and ends with 1; with 77 where there is no Chromium.

The browser is spoken to through a pair of pipes (--remote-debugging-pipe): messages are JSON, a NUL behind each.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 3.0  # from asking for the page until all is drawn


class Browser:
    def __init__(self, program, folder):
        to_browser, self.out = os.pipe()
        self.inn, from_browser = os.pipe()
        arguments = [program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,2000",
                     "--user-data-dir=" + folder, "--remote-debugging-pipe"]

        def hand_over():  # the browser reads from 3 and writes to 4
            spare = [os.dup(to_browser), os.dup(from_browser)]
            while min(spare) < 5:
                spare = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self.process = subprocess.Popen(arguments, preexec_fn=hand_over, close_fds=False,
                                        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.number = 0
        self.session = None
        self.events = []

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.inn, 1 << 16)
            if not more:
                raise RuntimeError("the browser has gone")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open_tab(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.ask(domain + ".enable")

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * step / 5, y + (to_y - y) * step / 5, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def where(self, selector):
        """The middle of an element that was brought into sight, and its size."""
        return self.value("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'center'});"
                          " const r = e.getBoundingClientRect();"
                          " return [r.x + r.width / 2, r.y + r.height / 2, r.width, r.height]; })()"
                          % json.dumps(selector))

    def screenshot(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))


class Trial:
    def __init__(self, browser):
        self.browser = browser
        self.failures = 0

    def check(self, holds, sentence):
        print(("ok      " if holds else "FAILED  ") + sentence)
        self.failures += not holds

    def shown(self):
        return int(self.browser.value("document.getElementById('shown').textContent.replace(/[^0-9]/g, '')"))

    def picture(self, canvas):
        return self.browser.value("document.getElementById('%s').toDataURL()" % canvas)

    def open(self, page):
        browser = self.browser
        begin = time.monotonic()
        browser.ask("Page.navigate", url="file://" + os.path.abspath(page))
        while not browser.value("document.body && document.body.dataset.ready"):
            if time.monotonic() - begin > 10 * LIMIT_S:
                break
            time.sleep(0.02)
        took = time.monotonic() - begin
        self.check(took < LIMIT_S, "the page is there after %.2f s, in less than %g" % (took, LIMIT_S))

    def filters(self):
        browser, all_shown = self.browser, self.shown()
        self.check(all_shown > 0, "%d designs are shown" % all_shown)
        x, y, _, _ = browser.where("#filter button")
        browser.click(x, y)
        fewer = self.shown()
        self.check(0 < fewer < all_shown, "a value that is clicked away takes its designs along: %d are left" % fewer)
        browser.click(x, y)
        self.check(self.shown() == all_shown, "clicked again, they are back")
        x, y, _, _ = browser.where("#infeasible")
        browser.click(x, y)
        self.check(self.shown() > all_shown, "designs that break constraints can be shown")
        browser.click(x, y)

    def scatter(self):
        browser, all_shown = self.browser, self.shown()
        x, y, width, height = browser.where("#scatter")
        before = self.picture("scatter")
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
        zoomed = self.picture("scatter")
        self.check(zoomed != before, "the wheel zooms")
        browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        browser.mouse("mouseReleased", x, y, button="left", clickCount=1)
        browser.mouse("mousePressed", x, y, button="left", clickCount=2)
        browser.mouse("mouseReleased", x, y, button="left", clickCount=2)
        browser.drag(x - width / 4, y - height / 3, x + width / 4, y + height / 4)
        inside = self.shown()
        self.check(0 < inside < all_shown, "dragging keeps what lies inside: %d" % inside)
        self.check(browser.value("document.querySelectorAll('#ranges button').length") == 2, "and says which ranges")
        browser.key("Escape")
        self.check(self.shown() == all_shown, "Escape shows all")
        browser.value("(() => { const s = document.getElementById('x'); s.selectedIndex = 0; s.onchange(); })()")
        self.check(self.picture("scatter") != before, "another axis is another picture")
        browser.value("(() => { const s = document.getElementById('colour'); s.selectedIndex = 1; s.onchange(); })()")
        self.check(browser.value("document.querySelectorAll('#legend span').length") > 1, "colours have a legend")

    def cards(self):
        browser = self.browser
        x, y, _, _ = browser.where("#front tbody tr:nth-child(2) td")
        browser.click(x, y)
        first = browser.value("document.getElementById('card').textContent")
        self.check("on the front" in first and "Time bound by" in first, "a row of the table brings its design")
        browser.value("document.getElementById('scatter').focus()")
        browser.key("ArrowRight")
        second = browser.value("document.getElementById('card').textContent")
        self.check(second != first and "on the front" in second, "an arrow steps to the next of the front")
        x, y, width, height = browser.where("#scatter")
        seen = set()
        for part in range(1, 20):
            browser.click(x - width / 2 + 80 + part / 20 * (width - 90), y)
            seen.add(browser.value("document.querySelector('#card table')?.textContent"))
        self.check(len(seen - {None}) > 1, "clicking among points shows designs")
        order = browser.value("document.querySelector('#front tbody tr').dataset.row")
        x, y, _, _ = browser.where("#front th:nth-child(3)")
        browser.click(x, y)
        self.check(browser.value("document.querySelector('#front tbody tr').dataset.row") != order,
                   "the table is sorted by its heads")

    def others(self):
        browser, all_shown = self.browser, self.shown()
        x, y, width, height = browser.where("#strands")
        browser.drag(x - width / 2 + 20, y - height / 2 + 30, x - width / 2 + 20, y)
        self.check(0 < self.shown() < all_shown, "dragging along an upright axis keeps what passes there")
        browser.key("Escape")
        before = self.picture("heat")
        browser.value("(() => { const s = document.getElementById('heat-what'); s.selectedIndex = 1; s.onchange(); })()")
        self.check(self.picture("heat") != before, "another objective is another heat map")
        bright = self.picture("strands")
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        time.sleep(0.2)
        self.check(self.picture("strands") != bright, "a dark theme draws anew")

    def quiet(self):
        trouble = [e for e in self.browser.events if e.get("method") == "Runtime.exceptionThrown"]
        asked = [e["params"]["request"]["url"] for e in self.browser.events
                 if e.get("method") == "Network.requestWillBeSent"]
        foreign = [url for url in asked if not url.startswith(("file:", "blob:", "data:"))]
        self.check(not trouble, "no script fails" + (": " + json.dumps(trouble[0])[:500] if trouble else ""))
        self.check(not foreign, "nothing is fetched" + (": " + foreign[0] if foreign else ""))


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("there is no Chromium")
        return 77
    # Processes of a browser that has ended may still write its profile while the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            browser.open_tab()
            trial = Trial(browser)
            trial.open(sys.argv[1])
            for part in (trial.filters, trial.scatter, trial.cards, trial.others, trial.quiet):
                part()
            if len(sys.argv) > 2:
                browser.screenshot(sys.argv[2])
        finally:
            browser.process.terminate()
            browser.process.wait()
    return 1 if trial.failures else 0


sys.exit(main())
