import { parentPort, workerData } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** A word of the text may look like a mark of the tokenizer's own; here it is text like any other. */
const options = { disallowedSpecial: new Set<string>() }

parentPort?.postMessage((workerData as string[]).map((text) => countTokens(text, options)))
