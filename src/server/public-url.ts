/**
 * The URL at which clients reach the platform: QM_PUBLIC_URL, or else the address that it listens on. It is the issuer of
 * our tokens and the start of every resource URL, so it never comes from a request.
 */
export class PublicUrl {
  readonly #configured: URL | undefined
  #listening: URL

  constructor({ publicUrl, port }: { readonly publicUrl?: string | undefined; readonly port: number }) {
    this.#configured = publicUrl === undefined ? undefined : new URL(publicUrl)
    this.#listening = new URL(`http://127.0.0.1:${port}`)
  }

  /** Called once the port is known. */
  listeningAt(url: string): void {
    this.#listening = new URL(url)
  }

  get #url(): URL {
    return this.#configured ?? this.#listening
  }

  get origin(): string {
    return this.#url.origin
  }

  /** The part of the path that a proxy removes; empty in most installations. */
  get path(): string {
    return this.#url.pathname.replace(/\/+$/, '')
  }

  /** Without a slash at the end. */
  get href(): string {
    return this.origin + this.path
  }

  get isSecure(): boolean {
    return this.#url.protocol === 'https:'
  }

  get port(): string {
    return this.#url.port
  }

  /**
   * The URL as this client writes it. Without QM_PUBLIC_URL, clients on this machine may also say localhost, and they insist
   * on the form they know. Any other Host header is ignored.
   */
  hrefFor(host: string | undefined): string {
    return host !== undefined && this.#isAlias(host) ? `http://${host.toLowerCase()}` : this.href
  }

  /** The path of one of our URLs, in any form that `hrefFor` returns; undefined for URLs elsewhere. */
  pathOf(text: string): string | undefined {
    const url = URL.parse(text)
    if (url?.username !== '' || url.password !== '' || /[?#]/.test(text)) return undefined
    const isOurs = url.origin === this.origin || (url.protocol === 'http:' && this.#isAlias(url.host))
    return isOurs && url.pathname.startsWith(this.path) ? url.pathname.slice(this.path.length) : undefined
  }

  #isAlias(host: string): boolean {
    if (this.#configured || !loopback.test(this.#listening.hostname)) return false
    const [, name = '', port = '80'] = /^(.+?)(?::(\d+))?$/.exec(host) ?? []
    return loopback.test(name) && port === (this.#listening.port || '80')
  }
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/i
