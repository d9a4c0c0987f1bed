export interface Queue {
  ask(kind: string, id: string, at?: number): Promise<void>
  work(kind: string, options: { atOnce: number; look(id: string, signal: AbortSignal): Promise<void> }): Promise<void>
  stop(): Promise<void>
}
