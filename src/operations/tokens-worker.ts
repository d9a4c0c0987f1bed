import { parentPort, workerData } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** Text that looks like a special token of the tokenizer is counted as ordinary text. */
const options = { disallowedSpecial: new Set<string>() }

parentPort?.postMessage((workerData as string[]).map((text) => countTokens(text, options)))
