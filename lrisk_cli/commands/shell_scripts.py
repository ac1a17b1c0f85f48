"""Completion scripts of shells. They hold all words, so that completing starts no program."""

import re
from collections.abc import Callable, Mapping, Sequence

from lrisk_cli import __version__
from lrisk_cli.commands.shell_words import Flag, Value, Vocabulary

GLOBAL = ("--version", "--help")
_BASH = """\
# bash completion of lrisk {version}, printed by: lrisk completion bash
_lrisk() {{
    local line words=() cur prev command='' flags='' choices='' listed='' i place=0
    COMPREPLY=()
    # COMP_WORDS are cut at : and =, which are parts of words here.
    line=${{COMP_LINE:0:COMP_POINT}}
    read -r -a words <<< "$line"
    case $line in *[[:space:]]) words+=('') ;; esac
    cur=${{words[${{#words[@]}} - 1]}}
    prev=${{words[${{#words[@]}} - 2]}}
    case $cur in --*=*) prev=${{cur%%=*}}; cur=${{cur#*=}} ;; esac
    for ((i = 1; i < ${{#words[@]}} - 1; i++)); do
        case ${{words[i]}} in
            -*) ;;
            *) command=${{words[i]}}; break ;;
        esac
    done
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W '{commands}' -- "$cur"))
        return
    fi
    case $command in
{cases}
    esac
    if [[ -z $choices && $cur == -* ]]; then
        choices=$flags
    fi
    # Without choices, names of files are completed: "complete -o default".
    [[ -z $choices ]] && return
    local before=''
    if [[ -n $listed && $cur == *,* ]]; then
        before=${{cur%,*}},
    fi
    COMPREPLY=($(compgen -P "$before" -W "$choices" -- "${{cur#"$before"}}"))
    if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then
        for i in "${{!COMPREPLY[@]}}"; do
            COMPREPLY[i]=${{COMPREPLY[i]#"${{cur%"${{cur##*:}}"}}"}}
        done
    fi
    if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *: ]]; then
        compopt -o nospace 2> /dev/null
    fi
}}
complete -o default -F _lrisk lrisk
"""
_BASH_CASE = """\
        {command})
            flags='{flags}'
            case $prev in
{options}
{other}
            esac
            ;;"""
# A text of any kind: neither words nor files.
_NOTHING = "compopt +o default 2> /dev/null; return"
_ZSH = """\
#compdef lrisk
# zsh completion of lrisk {version}, printed by: lrisk completion zsh
_lrisk_words() {{
    local -a whole open
    compset -P '*,'
    whole=(${{argv:#*:}})
    open=(${{(M)argv:#*:}})
    compadd -- $whole
    compadd -S '' -- $open
}}
_lrisk() {{
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C '--version[Print the version]' '(- *)'{{-h,--help}}'[Show help]' \\
        '1:command:->command' '*::argument:->arguments'
    case $state in
        command)
            local -a commands
            commands=({commands})
            _describe -t commands command commands
            ;;
        arguments)
            case $words[1] in
{cases}
            esac
            ;;
    esac
}}
if [[ $funcstack[1] == _lrisk ]]; then
    _lrisk "$@"
else
    compdef _lrisk lrisk
fi
"""
_FISH = """\
# fish completion of lrisk {version}, printed by: lrisk completion fish
complete -c lrisk -n __fish_use_subcommand -f
complete -c lrisk -n __fish_use_subcommand -l version -d 'Print the version'
complete -c lrisk -n __fish_use_subcommand -s h -l help -d 'Show help'
{lines}
"""


def bash_script(vocabularies: Sequence[Vocabulary]) -> str:
    """For bash 3.2 and later; without `compopt`, of 4.0, a blank follows each word."""
    cases = "\n".join(map(_bash_case, vocabularies))
    names = " ".join([*(each.name for each in vocabularies), *GLOBAL])
    return _BASH.format(version=__version__, commands=names, cases=cases)


def _bash_case(command: Vocabulary) -> str:
    spellings = " ".join(text for flag in command.flags for text in flag.spellings)
    options = [
        f"                {'|'.join(flag.spellings)}) {_bash_value(flag.value)} ;;"
        for flag in command.flags
        if flag.value is not None
    ]
    words = [value for value in command.arguments if value.words]
    other = f"                *) [[ $cur != -* ]] && {_bash_value(words[0])} ;;" if words else ""
    if not command.arguments:
        other = f"                *) [[ $cur != -* ]] && {{ {_NOTHING}; }} ;;"
    lines = "\n".join(options)
    case = _BASH_CASE.format(command=command.name, flags=spellings, options=lines, other=other)
    return re.sub(r"\n\n+", "\n", case)


def _bash_value(value: Value) -> str:
    if value.words:
        return f"choices='{' '.join(value.words)}'" + "; listed=1" * value.listed
    return "return" if value.files else _NOTHING


def zsh_script(vocabularies: Sequence[Vocabulary]) -> str:
    """For zsh 5: to be evaluated after compinit, or put into a folder of fpath as _lrisk."""
    names = " ".join(_quoted(f"{each.name}:{each.summary}") for each in vocabularies)
    cases = "\n".join(map(_zsh_case, vocabularies))
    return _ZSH.format(version=__version__, commands=names, cases=cases)


def _zsh_case(command: Vocabulary) -> str:
    specs = [spec for flag in command.flags for spec in _zsh_flag(flag)]
    for place, value in enumerate(command.arguments, 1):
        last = value.name == "DATA"
        specs.append(_quoted(f"{'*' if last else place}{_zsh_value(value)}"))
    between = " \\\n                        "
    return f"""\
                {command.name})
                    _arguments{between}{between.join(specs)}
                    ;;"""


def _zsh_flag(flag: Flag) -> list[str]:
    """A specification for each spelling; one that is given excludes the others."""
    others = " ".join(flag.spellings)
    before = "*" if flag.repeats else f"({others})"
    summary = re.sub(r"([\[\]:\\])", r"\\\1", flag.summary)
    # Values may follow in the same word: --flag=value, -fvalue.
    after = "" if flag.value is None else _zsh_value(flag.value)

    def mark(text: str) -> str:
        return "" if flag.value is None else "=" if text.startswith("--") else "+"

    return [_quoted(f"{before}{text}{mark(text)}[{summary}]{after}") for text in flag.spellings]


def _zsh_value(value: Value) -> str:
    name = re.sub(r"([:\\])", r"\\\1", value.name)
    if value.words:
        words = " ".join(word.replace(":", "\\:") for word in value.words)
        return f":{name}: _lrisk_words {words}"  # the blank: no arguments of its own
    return f":{name}:{'_files' if value.files else ' '}"


def fish_script(vocabularies: Sequence[Vocabulary]) -> str:
    """For fish 3: to be sourced, or put into ~/.config/fish/completions/lrisk.fish."""
    lines = []
    for command in vocabularies:
        start = f"complete -c lrisk -n '__fish_seen_subcommand_from {command.name}'"
        lines.append(
            f"complete -c lrisk -n __fish_use_subcommand -a {command.name} "
            f"-d {_fish_quoted(command.summary)}"
        )
        lines += [f"{start} {_fish_flag(flag)}" for flag in command.flags]
        words = [word for value in command.arguments for word in value.words]
        if words:
            lines.append(f"{start} -f -a {_fish_quoted(' '.join(words))}")
        elif not any(value.files for value in command.arguments):
            lines.append(f"{start} -f")
    return _FISH.format(version=__version__, lines="\n".join(lines))


def _fish_flag(flag: Flag) -> str:
    names = [
        f"-l {text[2:]}" if text.startswith("--") else f"-s {text[1:]}" for text in flag.spellings
    ]
    value = flag.value
    takes: list[str] = []
    if value is not None:
        takes = ["-r"] if value.files else ["-x"]
        if value.words:
            takes.append(f"-a {_fish_quoted(' '.join(value.words))}")
    return " ".join([*names, *takes, "-d", _fish_quoted(flag.summary)])


def _quoted(text: str) -> str:
    """As a word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[Sequence[Vocabulary]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}
