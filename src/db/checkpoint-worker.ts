import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

const database = new DatabaseSync(workerData as string)
const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')

parentPort?.on('message', () => {
  const { log, checkpointed } = checkpoint.get() as { log: number; checkpointed: number }
  parentPort?.postMessage({ log, left: log - checkpointed })
})
