import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { Hono } from 'hono'

interface Contact {
  readonly id: string
  readonly name: string
  readonly company: string
  readonly email: string
  readonly notes: string[]
}

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
const wrong = (message: string) => ({ content: [{ type: 'text' as const, text: message }], isError: true })
const anObject = (properties: Record<string, { type: string; description: string }>, required: string[]) => ({
  type: 'object' as const,
  properties,
  required,
})
const aString = (description: string) => ({ type: 'string', description })

const tools = [
  {
    name: 'find_contacts',
    description:
      'Find customers by part of their name or company. Returns a list of {id, name, company, email}, empty if nobody matches.',
    inputSchema: anObject({ query: aString('Part of a name, such as "Ada"') }, ['query']),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'get_contact',
    description: 'Get one customer with all notes. Call find_contacts first to get the id.',
    inputSchema: anObject({ id: aString('Contact id from find_contacts, such as "c1"') }, ['id']),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'create_contact',
    description:
      'Add a customer. Call find_contacts first: do not add somebody who already exists. Returns the new contact with its id.',
    inputSchema: anObject(
      { name: aString('Full name'), company: aString('Company'), email: aString('Email address') },
      ['name', 'email'],
    ),
    annotations: { destructiveHint: false },
  },
  {
    name: 'add_note',
    description: 'Add a note to a customer. Returns the contact with all notes.',
    inputSchema: anObject({ id: aString('Contact id from find_contacts'), note: aString('Text of the note') }, [
      'id',
      'note',
    ]),
    annotations: { destructiveHint: false },
  },
]

/**
 * The services of the sample project: a small CRM as an MCP server, and an API with exchange rates and refunds. Data is
 * kept in memory until the process ends.
 */
export function sampleCompany(): Hono {
  const contacts = new Map<string, Contact>(
    [
      { id: 'c1', name: 'Ada Almeida', company: 'Mar Azul', email: 'ada@marazul.example', notes: ['Prefers e-mail'] },
      { id: 'c2', name: 'Björn Berg', company: 'Fjord AB', email: 'bjorn@fjord.example', notes: [] },
      { id: 'c3', name: 'Chika Chukwu', company: 'Lagos Logistics', email: 'chika@lagos.example', notes: [] },
    ].map((contact) => [contact.id, contact]),
  )

  function call(name: string, input: Record<string, string>) {
    const contact = contacts.get(input.id ?? '')
    switch (name) {
      case 'find_contacts': {
        const wanted = (input.query ?? '').toLowerCase()
        const found = [...contacts.values()].filter((one) =>
          `${one.name} ${one.company}`.toLowerCase().includes(wanted),
        )
        return text(found.map(({ notes: _, ...one }) => one))
      }
      case 'create_contact': {
        const { name: full = '', company = '', email = '' } = input
        const made = { id: `c${contacts.size + 1}`, name: full, company, email, notes: [] }
        contacts.set(made.id, made)
        return text(made)
      }
      case 'get_contact':
        return contact ? text(contact) : wrong(`There is no contact "${input.id}".`)
      default:
        contact?.notes.push(input.note ?? '')
        return contact ? text(contact) : wrong(`There is no contact "${input.id}".`)
    }
  }

  const handler = createMcpHandler(
    () => {
      const server = new Server({ name: 'sample CRM', version: '1.0.0' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({ tools }))
      server.setRequestHandler('tools/call', ({ params }) => {
        const known = tools.some(({ name }) => name === params.name)
        return known
          ? call(params.name, (params.arguments ?? {}) as Record<string, string>)
          : wrong(`There is no tool "${params.name}".`)
      })
      return server
    },
    { legacy: 'stateless' },
  )

  const rates: Record<string, number> = { EUR: 1, USD: 1.09, BRL: 6.2, SEK: 11.4, NGN: 1720 }
  const app = new Hono().basePath('/sample')
  app.all('/crm/mcp', (context) => handler.fetch(context.req.raw))
  app.get('/rates/:currency', (context) => {
    const currency = context.req.param('currency').toUpperCase()
    const rate = rates[currency]
    return rate === undefined
      ? context.json({ error: `No rate for ${currency}: there is ${Object.keys(rates).join(', ')}.` }, 404)
      : context.json({ currency, per_euro: rate })
  })
  app.post('/refunds', async (context) => {
    const { order, amount } = (await context.req.json()) as { order: string; amount: number }
    return context.json({ refunded: amount, order, reference: `R-${Date.now().toString(36)}` })
  })
  return app
}
