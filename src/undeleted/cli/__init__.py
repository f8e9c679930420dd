"""The command line: results on stdout, the rest on stderr.

Exit codes: 0 fine; 1 a finding; 2 misuse or bad input; 3 a target failed; 70 a bug of ours.
"""

import os
import sys

import typer
from typer.exceptions import Abort, Exit, TyperException

from undeleted.errors import UndeletedError

_SOFTWARE = 70  # EX_SOFTWARE


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command; every error is two lines on stderr."""
    from undeleted.cli.app import build

    if arguments in ([], ["attack"]):
        arguments = [*arguments, "--help"]
    try:
        result = typer.main.get_command(build(arguments))(
            args=arguments, prog_name="undeleted", standalone_mode=False
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except Exit as done:
        return done.exit_code
    except UndeletedError as error:
        return _complain(error.what, error.remedy)
    except TyperException as error:
        words = [w for w in arguments[:2] if not w.startswith("-")]
        command = " ".join(["undeleted", *words[: 2 if words[:1] == ["attack"] else 1]])
        what = error.format_message().splitlines()[0].replace("Value error, ", "").rstrip(".")
        return _complain(f"{what[:1].lower()}{what[1:]}.", f"`{command} --help` shows an example.")
    except (Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        import traceback

        traceback.print_exc()
        _complain("this is a bug of ours, not of your input.", "Please report it with the lines above.")
        return _SOFTWARE


def _complain(what: str, remedy: str) -> int:
    print(f"undeleted: {what}\n{remedy}", file=sys.stderr)
    return 2
