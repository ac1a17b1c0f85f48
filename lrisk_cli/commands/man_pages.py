"""Manual pages in roff, from the same texts as --help."""

import re
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from lrisk_cli import __version__
from lrisk_cli.commands.config_source import FILE, FILE_VARIABLE, PREFIX
from lrisk_cli.commands.options.panels import described
from lrisk_cli.commands.options.spelling import spell_flag
from lrisk_cli.errors import ExitCode

SECTION = 1
# Of a line of a source file.
MOST_LETTERS = 76
EXITS: dict[tuple[ExitCode, ...], str] = {
    (ExitCode.DONE,): "success, possibly with warnings",
    (ExitCode.GATE_FAILED,): "a gate failed",
    (ExitCode.USAGE,): "the command line asks for something impossible or unsafe, such as "
    f"overwriting without {spell_flag('force')}",
    (ExitCode.DATA,): "the data cannot be read or lack something required",
    (ExitCode.MODEL,): "the model file is invalid, damaged, or from a newer version",
    (ExitCode.NOT_CONVERGED,): "the requested gap was not proved, with "
    f"{spell_flag('require_convergence')}",
    (ExitCode.INTERNAL,): f"a bug in lrisk; {spell_flag('verbose')} shows where",
    (ExitCode.HUNG_UP, ExitCode.INTERRUPTED, ExitCode.TERMINATED): "hung up, interrupted, "
    "terminated",
}
# Variables, and what they do.
_ENVIRONMENT = {
    f"{PREFIX}OPTION": "the value of an option of all commands that have it, with underscores for "
    "dashes",
    f"{PREFIX}COMMAND_OPTION": "the value of an option of one command",
    FILE_VARIABLE: f"the file of options, instead of ./{FILE}",
    "NO_COLOR": f"if it is not empty, nothing is coloured unless {spell_flag('color', 'always')} "
    "asks for it",
    "COLUMNS": "the width that tables are fitted to, instead of that of the terminal or 80",
}


def page_name(command: str | None) -> str:
    """The name of a page; None: that of the program."""
    return "lrisk" if command is None else f"lrisk-{command}"


def main_page(text: str, summaries: Mapping[str, str], date: str) -> str:
    """The page of the program. text: its help, the first paragraph as a summary."""
    summary, *paragraphs = _paragraphs(text)
    blocks = [_head(None, summary, date), *_synopsis(["lrisk", "COMMAND", "[OPTIONS]", "..."])]
    blocks += [".SH DESCRIPTION", *_spaced([*paragraphs])]
    blocks.append(".SH COMMANDS")
    for name, meaning in summaries.items():
        blocks += _term(rf"\fB{page_name(name)}\fR({SECTION})".replace("-", r"\-"), meaning)
    blocks += [*_exits(), ".SH ENVIRONMENT"]
    for variable, meaning in _ENVIRONMENT.items():
        blocks += _term(rf"\fB{_escape(variable)}\fR", meaning)
    blocks += [".SH FILES", *_term(rf"\fI./{FILE}\fR", "options of all commands, and of one command"
               " in a table of its name; lrisk config shows which are effective")]  # fmt: skip
    blocks += _see_also(None, summaries)
    return "\n".join(blocks) + "\n"


def command_page(command: Any, context: Any, summaries: Mapping[str, str], date: str) -> str:
    """The page of a command of the parser, with its options as its help shows them."""
    panels = described(command, context)
    arguments = [name for name, _ in panels.get("Arguments", ())]
    _, *paragraphs = _paragraphs(command.help)
    blocks = [_head(command.name, summaries[command.name], date)]
    blocks += _synopsis(["lrisk", command.name, "[OPTIONS]", *arguments])
    blocks += [".SH DESCRIPTION", *_spaced([summaries[command.name], *paragraphs])]
    blocks.append(".SH OPTIONS")
    for panel, records in panels.items():
        if records:
            blocks.append(f".SS {_escape(panel)}")
            for names, text in records:
                blocks += _term(_option(names), text)
    if command.examples:
        blocks += [".SH EXAMPLES", ".nf", *map(_escape, command.examples), ".fi"]
    blocks += [*_exits(), *_see_also(command.name, summaries)]
    return "\n".join(blocks) + "\n"


def _head(command: str | None, summary: str, date: str) -> str:
    name = page_name(command)
    title = f'.TH "{_escape(name.upper())}" "{SECTION}" "{date}" "lrisk {__version__}"'
    sentence = f"{summary[:1].lower()}{summary[1:]}".rstrip(".")
    return f'{title} "User Commands"\n.SH NAME\n{_escape(name)} \\- {_escape(sentence)}'


def _synopsis(words: Sequence[str]) -> list[str]:
    program = [word for word in words if word.islower()]
    rest = [rf"\fI{_escape(word)}\fR" for word in words if not word.islower()]
    return [".SH SYNOPSIS", " ".join([rf"\fB{_escape(' '.join(program))}\fR", *rest])]


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


def _spaced(paragraphs: Sequence[str]) -> list[str]:
    """Paragraphs with space between them."""
    return [line for part in paragraphs for line in (".PP", _text(part))][1:]


def _term(term: str, text: str) -> list[str]:
    return [".TP", term, _text(text)]


def _text(text: str) -> str:
    """Text in lines of a source file; the reader fills them again."""
    lines = wrap(_escape(text), MOST_LETTERS, break_on_hyphens=False, break_long_words=False)
    return "\n".join(map(_guarded, lines))


def _option(names: str) -> str:
    """ "-o, --output FILE" with bold flags and the placeholder in italics."""
    words = names.split(" ")
    flags = [word for word in words if word.startswith("-")]
    bold = " ".join(rf"\fB{_escape(flag)}\fR" for flag in flags)
    return " ".join([*([bold] if bold else []), *(rf"\fI{_escape(word)}\fR" for word in words
                    if not word.startswith("-"))])  # fmt: skip


def _exits() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for codes, meaning in EXITS.items():
        lines += _term(rf"\fB{', '.join(str(int(code)) for code in codes)}\fR", meaning)
    return lines


def _see_also(command: str | None, summaries: Mapping[str, str]) -> list[str]:
    others = [None, *summaries]
    names = [page_name(each) for each in others if each != command]
    pages = [rf"\fB{_escape(name)}\fR({SECTION})" for name in names]
    return [".SH SEE ALSO", ",\n".join(pages)]


def _escape(text: str) -> str:
    """Text that roff prints as it is: hyphens to be copied, other letters by their code points."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = "".join(c if c.isascii() else rf"\[u{ord(c):04X}]" for c in text)
    return _guarded(text)


def _guarded(line: str) -> str:
    """What begins a line must not look like a request."""
    return rf"\&{line}" if line.startswith((".", "'")) else line
