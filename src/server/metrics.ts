import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { UpstreamState } from '../mcp/client/upstreams.ts'
import { wasExecuted } from '../model/call.ts'
import type { Generation } from '../model/generation.ts'
import type { Verdict } from '../store/approvals.ts'

/** How many upstreams get their own series. The rest are only counted. */
const maxUpstreams = 500
/** How long a scrape waits for the database, in milliseconds. */
const timeoutMs = 1000

/** The Prometheus metrics at /metrics. */
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
    help: 'Duration of tool calls, without the wait for approval and without refused calls',
    labelNames: ['type'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [this.#registry],
  })
  /** By type and status. Finding them by their labels for each call is slower. */
  readonly #callSeries = new Map<
    string,
    { count: Counter.Internal; duration: Histogram.Internal<'type'> | undefined }
  >()
  readonly #requests = new Counter({
    name: 'quartermaster_http_requests_total',
    help: 'Requests, by operation and status',
    labelNames: ['operation', 'status'] as const,
    registers: [this.#registry],
  })

  readonly #started = new Counter({
    name: 'quartermaster_generations_started_total',
    help: 'Generations started in this process',
    registers: [this.#registry],
  })
  readonly #ended = new Counter({
    name: 'quartermaster_generations_ended_total',
    help: 'Generations finished in this process, by status',
    labelNames: ['status'] as const,
    registers: [this.#registry],
  })
  readonly #generationDuration = new Histogram({
    name: 'quartermaster_generation_duration_seconds',
    help: 'Duration of generations from start to end, including all waits, by status',
    labelNames: ['status'] as const,
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400],
    registers: [this.#registry],
  })
  readonly #tokens = new Counter({
    name: 'quartermaster_generation_tokens_total',
    help: 'Tokens of generations finished in this process, by direction',
    labelNames: ['direction'] as const,
    registers: [this.#registry],
  })
  readonly #verdicts = new Counter({
    name: 'quartermaster_approvals_decided_total',
    help: 'Approvals closed in this process, by verdict: approved, rejected, expired, cancelled',
    labelNames: ['verdict'] as const,
    registers: [this.#registry],
  })
  readonly #approvalWait = new Histogram({
    name: 'quartermaster_approval_wait_seconds',
    help: 'Time calls waited for a decision, by verdict',
    labelNames: ['verdict'] as const,
    buckets: [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400, 604_800],
    registers: [this.#registry],
  })
  readonly #deliveries = new Counter({
    name: 'quartermaster_webhook_deliveries_total',
    help: 'Webhook deliveries finished in this process, by status: delivered, or failed after the last attempt',
    labelNames: ['status'] as const,
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
  }

  callEnded({ type, status, seconds }: { type: string; status: string; seconds: number }): void {
    const key = `${type} ${status}`
    let series = this.#callSeries.get(key)
    if (!series) {
      const duration = wasExecuted(status) ? this.#duration.labels({ type }) : undefined
      series = { count: this.#calls.labels({ type, status }), duration }
      this.#callSeries.set(key, series)
    }
    series.count.inc()
    series.duration?.observe(seconds)
  }

  generationStarted(): void {
    this.#started.inc()
  }

  generationEnded({ status, usage, started_at, completed_at }: Generation): void {
    this.#ended.inc({ status })
    this.#tokens.inc({ direction: 'input' }, usage.input_tokens)
    this.#tokens.inc({ direction: 'output' }, usage.output_tokens)
    if (completed_at === null) return
    this.#generationDuration.observe({ status }, (Date.parse(completed_at) - Date.parse(started_at)) / 1000)
  }

  approvalEnded({ verdict, seconds }: Verdict): void {
    this.#verdicts.inc({ verdict })
    this.#approvalWait.observe({ verdict }, seconds)
  }

  deliveriesEnded(status: 'delivered' | 'failed', count: number): void {
    this.#deliveries.inc({ status }, count)
  }

  /** Counts pending approvals and deliveries in the database on each scrape. */
  watchWaiting({ approvals, deliveries }: Readonly<Record<'approvals' | 'deliveries', () => Promise<number>>>): void {
    const gauge = (name: string, help: string, count: () => Promise<number>) =>
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        async collect() {
          // If counting fails or takes too long, the other metrics are still reported.
          const late = sleep(timeoutMs, Number.NaN, { ref: false })
          this.set(await Promise.race([count(), late]).catch(() => Number.NaN))
        },
      })
    gauge('quartermaster_approvals_pending', 'Calls waiting for approval in the database', approvals)
    gauge(
      'quartermaster_webhook_deliveries_pending',
      'Webhook deliveries waiting to be sent or retried in the database',
      deliveries,
    )
  }

  /** Reads the number of generations that this process is running, on each scrape. */
  watchGenerations(running: () => number): void {
    new Gauge({
      name: 'quartermaster_generations_running',
      help: 'Generations running in this process',
      registers: [this.#registry],
      collect() {
        this.set(running())
      },
    })
  }

  /** Reads the health of MCP servers on each scrape. */
  watchUpstreams(states: () => readonly UpstreamState[]): void {
    const registers = [this.#registry]
    new Gauge({
      name: 'quartermaster_upstreams',
      help: 'MCP tools in use, by the state of their server',
      labelNames: ['state'] as const,
      registers,
      collect() {
        this.reset()
        for (const state of ['up', 'down', 'unknown']) this.set({ state }, 0)
        for (const { state } of states()) this.inc({ state })
      },
    })
    new Gauge({
      name: 'quartermaster_upstream_up',
      help: `Whether the MCP server behind a tool is up; for the first ${maxUpstreams} tools`,
      labelNames: ['app', 'tool'] as const,
      registers,
      collect() {
        this.reset()
        const known = states().filter(({ state }) => state !== 'unknown')
        const first = known.sort((a, b) => (a.tool < b.tool ? -1 : 1)).slice(0, maxUpstreams)
        for (const { app, tool, state } of first) this.set({ app, tool }, state === 'up' ? 1 : 0)
      },
    })
  }

  answered(operation: string, status: number): void {
    this.#requests.inc({ operation, status })
  }

  /** For docs/reference/metrics.md, without the default metrics of Node processes. */
  describe(): { name: string; type: string; labels: readonly string[]; help: string }[] {
    const own = this.#registry.getMetricsAsArray().filter(({ name }) => name.startsWith('quartermaster_'))
    return own.map((metric) => {
      const { labelNames = [] } = metric as { labelNames?: readonly string[] }
      return { name: metric.name, type: typeOf(metric), labels: labelNames, help: metric.help }
    })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  print(): Promise<string> {
    return this.#registry.metrics()
  }
}

const typeOf = (metric: object): string =>
  metric instanceof Counter ? 'counter' : metric instanceof Gauge ? 'gauge' : 'histogram'
