import { exit, type Runner, UsageError } from './command.ts'
import { say } from './io.ts'
import { readArguments } from './parse.ts'

/** The completion scripts. Each runs "quartermaster complete" with the words that are typed. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_quartermaster() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _quartermaster quartermaster qm`,
  zsh: `#compdef quartermaster qm
_quartermaster() {
  local -a candidates
  candidates=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then compadd -a candidates; else _files; fi
}
compdef _quartermaster quartermaster qm`,
  fish: `function __quartermaster_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l candidates ($words[1] complete -- $words[2..-1] 2>/dev/null | string match -v '')
  if set -q candidates[1]
    printf '%s\\n' $candidates
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c quartermaster -f -a '(__quartermaster_complete)'
complete -c qm -f -a '(__quartermaster_complete)'`,
}

export const completion: Runner = async (invocation) => {
  const { words } = readArguments(invocation, 1)
  const [shell = ''] = words
  if (!Object.hasOwn(scripts, shell)) {
    throw new UsageError(`Choose a shell: ${Object.keys(scripts).join(', ')}.`)
  }
  say(scripts[shell] ?? '')
  return exit.ok
}
