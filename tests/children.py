"""Child processes that are interrupted while they work."""

import signal
import subprocess
import sys
import threading
import time

# Seconds after which a child never answers: it is ended, and the test fails. On a busy machine, an
# import takes half a minute.
LONGEST = 300.0


def interrupt(script, delay):
    """Run a script, send Ctrl-C some seconds after it has printed its first line.

    Returns all lines that it prints, and the seconds from the signal to its next line.
    """
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(LONGEST, child.kill)
    watchdog.start()
    try:
        lines = [child.stdout.readline()]
        time.sleep(delay)
        start = time.perf_counter()
        child.send_signal(signal.SIGINT)
        lines.append(child.stdout.readline())
        seconds = time.perf_counter() - start
        lines += child.stdout.readlines()
        assert child.wait() == 0
        return [line.strip() for line in lines], seconds
    finally:
        watchdog.cancel()
        child.kill()
        child.communicate()
