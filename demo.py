"""Set UserCal up in .venv and run its demo: `python demo.py`, or with the embedded model `python demo.py --live`.

Everything after the name goes to `usercal demo`. The report is opened in the browser where a person is looking at a
terminal; --no-open prevents it. Needs Python 3.11 or newer and nothing else; this file keeps to what older Pythons can
read, so that they get a sentence and no traceback.
"""

import os
import subprocess
import sys

OLDEST = (3, 11)


def main(arguments):
    if sys.version_info[:2] < OLDEST:
        sys.stderr.write(
            "UserCal needs Python 3.11 or newer, and this is "
            + sys.version.split()[0]
            + ". Install a newer one and call it by its name, for example: python3.12 demo.py\n"
        )
        return 1
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts"))
    import bootstrap

    try:
        python = bootstrap.ready(["apps", "local"] if "--live" in arguments else [])
        usercal = str(bootstrap.executable(python.parent.parent, "usercal"))
        return subprocess.call([usercal, "demo", *browser(arguments), *arguments])
    except bootstrap.SetUpError as error:
        sys.stderr.write(str(error) + "\n")
        return 1
    except KeyboardInterrupt:
        return 130


def browser(arguments):
    asked = {"--open", "--no-open", "--json", "--help", "-h"}.intersection(arguments)
    watched = sys.stdout.isatty() and not os.environ.get("CI")
    return ["--open"] if watched and not asked else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
