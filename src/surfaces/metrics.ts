import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

/** What Prometheus reads at /metrics. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #calls = new Counter({
    name: 'quartermaster_calls_total',
    help: 'Tool calls, by tool type and status',
    labelNames: ['type', 'status'] as const,
    registers: [this.#registry],
  })
  readonly #duration = new Histogram({
    name: 'quartermaster_call_duration_seconds',
    help: 'How long tool calls took',
    labelNames: ['type'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [this.#registry],
  })
  readonly #requests = new Counter({
    name: 'quartermaster_http_requests_total',
    help: 'Requests, by operation and status',
    labelNames: ['operation', 'status'] as const,
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
  }

  callEnded({ type, status, seconds }: { type: string; status: string; seconds: number }): void {
    this.#calls.inc({ type, status })
    this.#duration.observe({ type }, seconds)
  }

  answered(operation: string, status: number): void {
    this.#requests.inc({ operation, status })
  }

  async print(): Promise<Response> {
    return new Response(await this.#registry.metrics(), { headers: { 'content-type': this.#registry.contentType } })
  }
}
