"""A Python target as a program that speaks JSON lines: `python -m undeleted.auditing.targets._serve`.

The first line names the target; what the target prints goes to stderr.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys

from undeleted.auditing.targets._load import Loaded, load
from undeleted.auditing.targets.process import refused
from undeleted.errors import CallFailed, Misuse, UndeletedError
from undeleted.foundations.types import Json, Output
from undeleted.games import transcript


def plain(output: Output) -> Output:
    """The output as nested lists; NaN stays NaN, and the auditor reports it."""
    return transcript.plain(output, nan=float("nan"))


def serve(target: Loaded, message: Json) -> Output:
    """Return the output for one request."""
    match message["op"]:
        case "start":
            return target.start(message["records"], message["seed"])
        case "delete":
            return target.delete(message["ids"])
        case "look":
            return target.look()
        case "density":
            return [target.log_density(message["records"], z) for z in message["outputs"]]
        case "play":
            return [_transcript(target, message, seed) for seed in message["seeds"]]
    raise ValueError(f"there is no operation {message['op']!r}")


def _transcript(target: Loaded, message: Json, seed: int) -> list[Output]:
    try:
        outputs = [plain(target.start(message["records"], seed))]
    except Misuse:
        raise  # the output has no such part to see
    except Exception as error:
        raise CallFailed(f"start with {len(message['records'])} records", error) from None
    for batch in message["batches"]:
        try:
            outputs.append(plain(target.delete(batch)))
        except Misuse:
            raise
        except Exception:
            return refused(outputs, message["batches"])
    return outputs


def _end_with_the_auditor() -> None:
    """If the system supports it (Linux), let a busy target die when the audit is killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    """Answer requests until the input ends."""
    _end_with_the_auditor()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    target = None
    for line in sys.stdin:
        try:
            message = json.loads(line)
            if target is None:
                target = load(message)
                answer = target.about()
            else:
                answer = {"output": plain(serve(target, message))}
        except UndeletedError as error:
            misuse = target is None or isinstance(error, Misuse)
            answer = {"misuse": [error.what, error.remedy]} if misuse else {"error": error.what}
        except CallFailed as failed:
            call, cause = failed.args
            what = cause.what if isinstance(cause, UndeletedError) else f"{type(cause).__name__}: {cause}"
            answer = {"error": what, "call": call}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
