"""The command line: results on stdout, the rest on stderr.

Exit codes: 0 success; 1 a finding; 2 wrong usage or bad input; 3 a target failed; 70 a bug in undeleted.
"""

import os
import sys
import warnings

import typer
from typer.exceptions import Abort, Exit, TyperException

from undeleted.errors import PrivacyLeakWarning, TargetFailed, UndeletedError
from undeleted.foundations import registry
from undeleted.foundations.types import Given

_SOFTWARE = 70  # EX_SOFTWARE
COMMANDS = (
    *(
        "init",
        "plan",
        "publish",
        "show",
        "delete",
        "status",
        "check",
        "export",
        "sample",
        "store",
        "copy",
        "vacuum",
    ),
    *("serve", "key", "create", "list", "revoke", "receipt"),
    *("demo", "attack", "audit", "replay", "verify", "definitions", "reproduce"),
)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command; print each error as two lines on stderr, and each of our warnings as one."""
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
        commands = (*COMMANDS, *registry.names("undeleted.games.attacks"))
        known = [word for word in arguments[:2] if word in commands]
        what = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        help_of = " ".join(["undeleted", *known, "--help"])
        return _complain(f"{what[:1].lower()}{what[1:]}.", f"`{help_of}` shows an example.")
    except (Abort, KeyboardInterrupt):
        return 130
    except (BrokenPipeError, SystemExit):  # the reader closed the pipe; typer turns that into an exit
        _give_up_stdout()
        return 0
    except OSError as error:
        _give_up_stdout()
        return _complain(f"{error.strerror or error}.", "Fix that and run the command again.")
    except Exception as error:
        import traceback

        traceback.print_tb(error.__traceback__)  # not the message: it may hold a person's value
        print(type(error).__name__, file=sys.stderr)
        _complain("this is a bug in undeleted, not in your input.", "Report it with the lines above.")
        return _SOFTWARE


def _warn(message: Warning | str, category: type[Warning], *_: Given, **__: Given) -> None:
    """Print our own warnings on stderr, one line each; drop the others, which are for developers."""
    if issubclass(category, PrivacyLeakWarning):
        print(f"undeleted: warning: {message}", file=sys.stderr)


def _complain(what: str, remedy: str) -> int:
    print(f"undeleted: {what}\n{remedy}", file=sys.stderr)
    return 2


def _give_up_stdout() -> None:
    """Send what is still buffered to /dev/null: stdout cannot take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
