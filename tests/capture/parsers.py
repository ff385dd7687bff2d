"""Parsers for the tests of capture: this file is run by a child, which imports nothing of Fencepost."""

import json
import os
import re
import signal
import sys
import threading
import time
from json import loads  # bound early, as many programs do


def whole(text):
    return json.loads(text)


def fence_then_trim(text):
    match = re.search(r"```json\n(.*?)```", text, re.S)
    inner = match.group(1) if match else text
    try:
        return loads(inner)
    except ValueError:
        return loads(inner.rstrip().rstrip("}") + "}")


def last_object(text):
    decoder, value = json.JSONDecoder(), None
    for match in re.finditer(r"\{", text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
    return value


def quotes_swapped(text):
    return loads(text.replace("'", '"'))


def drops_from_the_end(text):
    while text:
        try:
            return json.loads(text)
        except ValueError:
            text = text[:-1]
    raise ValueError("nothing is left")


def from_bytes(text):
    return json.loads(text.encode())


def twice(text):
    return json.loads(json.loads(text)["arguments"])


def in_a_thread(text):
    results = []
    thread = threading.Thread(target=lambda: results.append(loads(text)))
    thread.start()
    thread.join()
    return results[0]


def prints(text):
    print("noise on standard output")
    sys.stdout.flush()
    os.write(1, b"and more\n")
    return loads(text)


def reads_standard_input(text):
    return sys.stdin.read()


def hangs(text):
    if text == "hang":
        while True:
            pass
    return loads(text)


def ends_the_process(text):
    if text == "end":
        os._exit(3)
    if text == "exit":
        sys.exit("goodbye")
    return loads(text)


def breaks_off(text):
    if text == "break":
        os.kill(os.getpid(), signal.SIGSEGV)
    return loads(text)


def leaves_a_thread(text):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return loads(text)


def takes_memory(text):
    return len(bytearray(64 << 30)) if text == "eat" else loads(text)


def gives_an_object(text):
    return {"pattern": re.compile("x"), "set": {1}, 5: (1, 2)}
