"""The command line: find the command, run it, and answer every error with a sentence and a code."""

import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Annotated, Any, Self

import typer
from typer.core import TyperGroup

from lrisk_cli import __version__
from lrisk_cli.colours import Color, Style, choose, paint
from lrisk_cli.commands.options.plain_values import PlainValues
from lrisk_cli.commands.options.spelling import spell_flag
from lrisk_cli.commands.streams import secure_streams
from lrisk_cli.errors import ExitCode, LriskError, options_spelled, printable

# First lines of the commands' help, here so that `lrisk --help` need not load the commands.
COMMANDS = {
    "fit": "Learn a model from a table and prove how good it is.",
    "cluster": "Outlier-robust k-means clustering.",
    "detect-outliers": "Rank rows by how little they fit the others, and say why.",
    "evaluate": "Evaluate a model on a table: risks, errors, gates.",
    "compare": "Compare risks and rivals on rows they have not seen.",
    "quantile-report": "Compare loss quantiles: what the tail gains, what it costs.",
    "predict": "Score the rows of a table; no target needed.",
    "columns": "Report how columns are read, and check what they hold.",
    "show": "Print a readable summary of a model.",
    "export": "Write a model as SQL, Python or ONNX.",
    "schema": "Print the JSON Schema of model files.",
    "config": "Print the effective options and their source.",
    "completion": "Print the completion script of a shell.",
    "man": "Print a manual page, or write all of them.",
}
# Names of columns and paths may be of any length.
LONGEST_SENTENCE = 2000
MORE_MEMORY = "read fewer rows or columns, or let the process take more (ulimit -v, containers)"
_TYPER = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
# What the option parser raises, wherever this version of typer keeps it.
_PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


# How the sentences of errors start.
_ERRORS = ("error:", "internal error:")
# What it is called when a signal ends a command, and its exit code.
_SIGNALS = {
    signal.SIGINT: ("interrupted", ExitCode.INTERRUPTED),
    signal.SIGTERM: ("terminated", ExitCode.TERMINATED),
    signal.SIGHUP: ("hung up", ExitCode.HUNG_UP),
}


# An exception that has not ended the command after so long was lost.
SECONDS_LOST = 0.5


class Stopped(BaseException):
    """A signal asks the program to end."""


class Signals:
    """Within this context a signal raises Stopped, unless the caller has it ignored.

    received: the first one. Libraries that are being loaded may turn the exception into another,
    and Python drops it in a destructor: until something handles it, it is raised again and again.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}
        self._unraisable: Callable[[Any], object] = sys.unraisablehook

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._stop)
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._drop
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._stop_again)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook = self._unraisable
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.received = self.received or number
        signal.setitimer(signal.ITIMER_REAL, SECONDS_LOST, SECONDS_LOST)
        raise Stopped

    def _drop(self, dropped: Any) -> None:
        if not isinstance(dropped.exc_value, Stopped):
            self._unraisable(dropped)

    def _stop_again(self, number: int, frame: FrameType | None) -> None:
        # What tidies up after the exception is left to end.
        if self.received is not None and not isinstance(sys.exc_info()[1], Stopped):
            raise Stopped


class CommandLoader(PlainValues, TyperGroup):
    """A group that imports a command when it is called for."""

    summaries = COMMANDS

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # see get_command

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, from the function of its name in commands/; dashes become underscores."""
        if cmd_name not in COMMANDS:
            return None
        from lrisk_cli.commands.configuring import command_function, configured
        from lrisk_cli.commands.options.declared import declared_options
        from lrisk_cli.commands.options.panels import PanelCommand

        function = command_function(cmd_name)
        single = typer.Typer(**_TYPER)  # type: ignore[arg-type]
        register = single.command(cmd_name, cls=PanelCommand, context_settings=_CONTEXT)
        register(configured(cmd_name, function, COMMANDS))
        command: Any = typer.main.get_command(single)
        command.declared = {each.word: each for each in declared_options(function)}
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list in `lrisk --help`, without loading a command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(cls=CommandLoader, context_settings=_CONTEXT, **_TYPER)  # type: ignore[arg-type]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lrisk {__version__}")
        raise typer.Exit


@app.callback()
def lrisk(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Learn and evaluate models on CSV and Parquet tables by spectral risks.

    A spectral risk is a weighted average of the sorted losses: rising weights protect the worst
    rows, falling ones ignore them. Start with: lrisk fit DATA --target COLUMN -o model.json
    """


def main() -> None:
    """Run the command line and leave with the exit code of the contract."""
    # The packages to be loaded make a hundred thousand objects, and all of them stay. To look for
    # garbage among them, every 700 objects and at the end, would take a quarter of a short run.
    gc.set_threshold(100_000)
    # Linear algebra runs on one thread (native/threads.py). OpenBLAS reads this when it is loaded,
    # and then starts no others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    secure_streams()
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; every way it can end becomes an exit code."""
    choose(_asked_color(arguments))
    with options_spelled(spell_flag):
        return _run(arguments)


def _asked_color(arguments: Sequence[str]) -> Color:
    """What --color asks for, also where the parser fails; `auto` where there is no such option."""
    found = Color.AUTO
    for k, text in enumerate(arguments):
        flag, equals, value = text.partition("=")
        if flag == "--color":
            word = value if equals else "".join(arguments[k + 1 : k + 2])
            found = Color(word) if word in tuple(Color) else found
    return found


def _run(arguments: Sequence[str]) -> int:
    signals = Signals()
    try:
        with signals:
            return _run_command(arguments)
    except BaseException as error:
        return _answer(error, signals.received, verbose="--verbose" in arguments)


def _run_command(arguments: Sequence[str]) -> int:
    code: int | None = None
    command = typer.main.get_command(app)
    if not arguments:
        return _print_help(command)
    # --help and --version leave by an exception of their own.
    with suppress(typer.Exit), command.make_context("lrisk", list(arguments)) as context:
        code = command.invoke(context)
    sys.stdout.flush()
    return int(code or ExitCode.DONE)


def _print_help(command: Any) -> int:
    """No command: show what there is, as an error."""
    with command.make_context("lrisk", [], resilient_parsing=True) as context:
        print(command.get_help(context), file=sys.stderr)
    return ExitCode.USAGE


def _answer(error: BaseException, received: int | None, *, verbose: bool) -> int:
    """Tell the user what ended the command; its exit code. received: a signal, if there was one."""
    if isinstance(error, OSError):
        # Standard output may be full or gone: what it still holds must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError) and received is None:
        return ExitCode.DONE
    sentence, code = _sentence(error, received)
    word = next((word for word in _ERRORS if sentence.startswith(word)), "")
    rest = one_line(sentence).removeprefix(word)
    print(f"lrisk: {paint(word, Style.FAILED, sys.stderr)}{rest}", file=sys.stderr)
    if verbose and not isinstance(error, _PARSER_ERROR):
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            # A message may hold lines of its own, and a CI runner looks at how lines start.
            print(f"lrisk: {printable(line)}", file=sys.stderr)
    return code


def _sentence(error: BaseException, received: int | None) -> tuple[str, int]:
    if received is not None:
        word, code = _SIGNALS[signal.Signals(received)]
        how_far = "; ".join(getattr(error, "__notes__", [])) or "before the work began"
        return f"{word} {how_far}", code
    match error:
        case LriskError():
            return f"error: {error}", error.exit_code
        case _PARSER_ERROR():
            return f"error: {_usage_sentence(error)}", ExitCode.USAGE
        case _ if _lacks_memory(error):
            return f"error: there is not enough memory; {MORE_MEMORY}", ExitCode.DATA
        case OSError(strerror=str(reason)):
            place = error.filename or "standard output"
            return f"error: {place}: {reason}; choose another place", ExitCode.USAGE
    finding = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"internal error: {finding} (a bug; --verbose shows where)", ExitCode.INTERNAL


def _lacks_memory(error: BaseException) -> bool:
    """Whether the system gave no memory for an array, a library, a thread or a file."""
    match error:
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return True
        case ImportError():
            return "failed to map segment" in str(error) or "allocate memory" in str(error)
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)


def _usage_sentence(error: Any) -> str:
    """The parser's finding, and where to read on."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "lrisk"
    finding = str(error.format_message()).rstrip(".").replace("\n\t", " ")
    finding = finding.replace(": Value error, ", ": ").replace(": Input should", ": should")
    return f"{finding[:1].lower()}{finding[1:]}; see {path} --help"


def one_line(text: str) -> str:
    """Text whose line breaks, control characters and length cannot disturb a terminal or a log."""
    if len(text) > LONGEST_SENTENCE:
        # The place comes first and the remedy last.
        half = LONGEST_SENTENCE // 2
        text = f"{text[:half]} [...] {text[-half:]}"
    return printable(text)


if __name__ == "__main__":
    main()
