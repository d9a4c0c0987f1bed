/** The browser of a person: keeps cookies, follows redirects, and fills in the forms of a page until there are none. */
export class Browser {
  readonly #cookies = new Map<string, string>()
  readonly #answers: Readonly<Record<string, string>>

  /** `answers` is what the person types, by the names of the fields. */
  constructor(answers: Readonly<Record<string, string>>) {
    this.#answers = answers
  }

  setCookie(url: string, name: string, value: string): void {
    this.#cookies.set(`${new URL(url).host} ${name}`, value)
  }

  /** The text of the last page. */
  async visit(address: string): Promise<string> {
    let url = new URL(address)
    let form: URLSearchParams | undefined
    for (let pages = 0; pages < 20; pages++) {
      const response = await fetch(url, {
        method: form ? 'POST' : 'GET',
        redirect: 'manual',
        headers: { cookie: this.#cookiesFor(url), 'sec-fetch-site': form ? 'same-origin' : 'none' },
        ...(form && { body: form }),
      })
      this.#keep(url, response.headers.getSetCookie())
      const text = await response.text()
      const location = response.headers.get('location')
      const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]
      if (location === null && action === undefined) return text
      form = location === null ? this.#fill(text) : undefined
      url = new URL(location ?? action ?? '', url)
    }
    throw new Error(`Too many pages, the last one at ${url.origin}${url.pathname}`)
  }

  #fill(page: string): URLSearchParams {
    const hidden = [...page.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ])
    return new URLSearchParams({ ...Object.fromEntries(hidden), ...this.#answers })
  }

  #cookiesFor({ host }: URL): string {
    const own = [...this.#cookies].filter(([key]) => key.startsWith(`${host} `))
    return own.map(([key, value]) => `${key.slice(host.length + 1)}=${value}`).join('; ')
  }

  #keep({ host }: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.#cookies.set(`${host} ${name}`, value)
    }
  }
}
