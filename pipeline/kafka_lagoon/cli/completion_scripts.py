"""Writes completion scripts for bash, zsh and fish from the places of a command line.

A word belongs to the first command on the line, and to the first verb of that command after it: options of all verbs may stand
before the verb.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An option with all of its names; `values` are those it can have, if they are listed."""

    names: tuple[str, ...]
    summary: str
    takes_value: bool
    values: tuple[str, ...] = ()
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A command or verb by the words that lead to it, the words that may follow with their summaries, and its options."""

    path: tuple[str, ...]
    words: Mapping[str, str]
    options: Sequence[Option]

    @property
    def name(self) -> str:
        """The words in one."""
        return " ".join(self.path)


_BASH = """\
# bash completion for lagoon; made by `lagoon completion bash`
_lagoon() {
    local word command= verb= current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= values=
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $word == -* ]]; then continue
        elif [[ -z $command ]]; then command=$word
        elif [[ -z $verb ]]; then
            case "$command $word" in
                @VERBS@) verb=$word ;;
            esac
        fi
    done
    case "$command${verb:+ $verb} $before" in
@VALUES@
    esac
    if [[ $values == FILES ]]; then COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null; return; fi
    if [[ -n $values ]]; then COMPREPLY=($(compgen -W "${values#NONE}" -- "$current")); return; fi
    case "$command${verb:+ $verb}" in
@WORDS@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _lagoon lagoon"""


def bash(places: Sequence[Place]) -> str:
    """A script to be sourced by bash 4 or newer."""
    verbs = "|".join(f'"{place.name}"' for place in places if len(place.path) > 1)
    values: list[str] = []
    words: list[str] = []
    for place in places:
        for option in place.options:
            if option.takes_value:
                patterns = "|".join(f'"{place.name} {name}"' for name in option.names)
                listed = "FILES" if option.is_file else " ".join(option.values) or "NONE"
                values.append(f"        {patterns}) values={shlex.quote(listed)} ;;")
        names = [*place.words, *(name for option in place.options for name in option.names)]
        words.append(f'        "{place.name}") words={shlex.quote(" ".join(names))} ;;')
    return _filled(_BASH, VERBS=verbs, VALUES="\n".join(values), WORDS="\n".join(words))


_ZSH = """\
#compdef lagoon
# zsh completion for lagoon; made by `lagoon completion zsh`
_lagoon() {
    local word command= verb=
    local -a choices
    for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ $word == -* ]]; then continue
        elif [[ -z $command ]]; then command=$word
        elif [[ -z $verb ]]; then
            case "$command $word" in
                (@VERBS@) verb=$word ;;
            esac
        fi
    done
    case "$command${verb:+ $verb} $words[CURRENT-1]" in
@VALUES@
    esac
    case "$command${verb:+ $verb}" in
@WORDS@
    esac
    _describe -o lagoon choices
}
if [[ $funcstack[1] == _lagoon ]]; then _lagoon "$@"; else compdef _lagoon lagoon; fi"""


def zsh(places: Sequence[Place]) -> str:
    """A script for a folder of zsh's fpath, or to be sourced after compinit."""
    verbs = "|".join(f'"{place.name}"' for place in places if len(place.path) > 1)
    values: list[str] = []
    words: list[str] = []
    for place in places:
        for option in place.options:
            if option.takes_value:
                patterns = "|".join(f'"{place.name} {name}"' for name in option.names)
                listed = " ".join(map(shlex.quote, option.values))
                action = "_files" if option.is_file else f"compadd -- {listed}" if listed else "_message value"
                values.append(f"        ({patterns}) {action}; return ;;")
        described = [shlex.quote(_of_zsh(word, summary)) for word, summary in _described(place)]
        words.append(f'        ("{place.name}") choices=({" ".join(described)}) ;;')
    return _filled(_ZSH, VERBS=verbs, VALUES="\n".join(values), WORDS="\n".join(words))


def _of_zsh(word: str, summary: str) -> str:
    return f"{word}:{_one_line(summary)}"


_FISH = """\
# fish completion for lagoon; made by `lagoon completion fish`
function __lagoon_at
    set -l words
    for token in (commandline -opc)[2..]
        string match -q -- '-*' $token; or set -a words $token
    end
    if test (count $argv) -eq 0
        test (count $words) -eq 0
        return $status
    end
    test "$words[1]" = $argv[1]; or return 1
    set -l verbs
    switch $argv[1]
@VERBS@
    end
    set -l verb
    for word in $words[2..]
        if contains -- $word $verbs
            set verb $word
            break
        end
    end
    test "$verb" = "$argv[2]"
end
complete -c lagoon -f
@LINES@"""


def fish(places: Sequence[Place]) -> str:
    """A script for fish's folder of completions."""
    verbs: dict[str, list[str]] = {}
    for place in places:
        if len(place.path) > 1:
            verbs.setdefault(place.path[0], []).append(place.path[1])
    cases = [f"        case {name}\n            set verbs {' '.join(some)}" for name, some in verbs.items()]
    lines = [line for place in places for line in _of_fish(place)]
    return _filled(_FISH, VERBS="\n".join(cases), LINES="\n".join(lines))


def _of_fish(place: Place) -> Iterator[str]:
    start = f"complete -c lagoon -n {shlex.quote(' '.join(('__lagoon_at', *place.path)))}"
    for word, summary in place.words.items():
        yield f"{start} -a {word} -d {_quoted(summary)}"
    for option in place.options:
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        value = " -r -F" if option.is_file else " -x" if option.takes_value else ""
        listed = f" -a {_quoted(' '.join(option.values))}" if option.values else ""
        yield f"{start} {names}{value}{listed} -d {_quoted(option.summary)}"


def _described(place: Place) -> Iterator[tuple[str, str]]:
    """Words and options with their summaries."""
    yield from place.words.items()
    yield from ((name, option.summary) for option in place.options for name in option.names)


def _quoted(text: str) -> str:
    """In single quotes, where fish takes a backslash and a quote for what they are only after a backslash."""
    return "'" + _one_line(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _one_line(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())


def _filled(template: str, **parts: str) -> str:
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template
