"""The command line: results on stdout, the rest on stderr.

Exit codes: 0 fine; 1 a finding; 2 misuse or bad input; 3 a target failed; 70 a bug of ours.
"""

import os
import sys
import warnings
from typing import Any

import typer
from typer.exceptions import Abort, Exit, TyperException

from undeleted.errors import PrivacyLeakWarning, TargetFailed, UndeletedError
from undeleted.foundations import registry

_SOFTWARE = 70  # EX_SOFTWARE


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command; every error is two lines on stderr, every warning of ours one."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyLeakWarning)
        warnings.showwarning = _warn
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from undeleted.interfaces.cli.app import build

    if arguments in ([], ["attack"], ["store"], ["key"], ["receipt"]):
        arguments = [*arguments, "--help"]
    try:
        result = typer.main.get_command(build(arguments))(
            args=arguments, prog_name="undeleted", standalone_mode=False
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except Exit as done:
        return done.exit_code
    except TargetFailed as error:
        _complain(error.what, error.remedy)
        return 3
    except UndeletedError as error:
        return _complain(error.what, error.remedy)
    except TyperException as error:
        curate = ("init", "publish", "show", "delete", "status", "check", "export", "store", "copy", "vacuum")
        serve = ("serve", "key", "create", "revoke", "receipt")
        others = (
            "demo",
            "list",
            "attack",
            "audit",
            "replay",
            "verify",
            "definitions",
            "reproduce",
            *registry.names("undeleted.games.attacks"),
        )
        commands = (*curate, *serve, *others)
        known = [word for word in arguments[:2] if word in commands]
        what = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        help_of = " ".join(["undeleted", *known, "--help"])
        return _complain(f"{what[:1].lower()}{what[1:]}.", f"`{help_of}` shows an example.")
    except (Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, SystemExit):  # the reader has gone; typer turns that into an exit
        _give_up_stdout()
        return 0
    except OSError as error:
        _give_up_stdout()
        return _complain(f"{error.strerror or error}.", "See to that and run it again.")
    except Exception as error:
        import traceback

        traceback.print_tb(error.__traceback__)  # where, and not what: a message may hold somebody's value
        print(type(error).__name__, file=sys.stderr)
        _complain("this is a bug of ours, not of your input.", "Please report it with the lines above.")
        return _SOFTWARE


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """A warning of ours on stderr, in a line; others are for developers."""
    if issubclass(category, PrivacyLeakWarning):
        print(f"undeleted: warning: {message}", file=sys.stderr)


def _complain(what: str, remedy: str) -> int:
    print(f"undeleted: {what}\n{remedy}", file=sys.stderr)
    return 2


def _give_up_stdout() -> None:
    """Whatever is still buffered can go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
