import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import {
  type FormEvent,
  type KeyboardEvent,
  type RefObject,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import { plural } from '../../../format.ts'
import { useTools } from '../../../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorNotice, Loading } from '../../../ui/notice.tsx'
import type { Agent } from '../records.ts'
import { money, sum, tokens } from '../usage.ts'
import { Conversation, type Output } from './conversation.ts'
import { TurnView, usageOf } from './turn.tsx'
import { isOver, type Turn } from './turns.ts'

/** The last run of the conversation is in the URL, so it survives a reload and can be shared. */
function useConversation(agent: Agent) {
  const { run } = useSearch({ from: '/agents/$agentId' })
  const navigate = useNavigate({ from: '/agents/$agentId' })
  const [conversation] = useState(
    () =>
      new Conversation(
        agent.id,
        (id) =>
          void navigate({
            search: (before) => ({ ...before, run: id ?? undefined }),
            replace: true,
            resetScroll: false,
          }),
      ),
  )
  const state = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  useEffect(() => {
    if (run && run !== conversation.lastRun) void conversation.open(run)
  }, [run, conversation])
  useEffect(() => {
    conversation.resume()
    return () => conversation.close()
  }, [conversation])
  return { conversation, ...state }
}

export function Chat({ agent }: { agent: Agent }) {
  const { conversation, turns, isAway, isLoading, problem } = useConversation(agent)
  const last = turns.at(-1)
  const isBusy = last !== undefined && !isOver(last)
  useFollowedEnd(turns)
  const message = useRef<HTMLTextAreaElement>(null)
  // The focused form disappears when it is answered, so focus moves to the message box.
  const submit = useCallback(
    async (outputs: readonly Output[]) => {
      await conversation.submit(outputs)
      message.current?.focus()
    },
    [conversation],
  )
  return (
    <div className="mx-auto flex min-h-[calc(100dvh-12rem)] max-w-3xl flex-col">
      <div role="log" aria-label="Conversation" aria-busy={isBusy} className="flex-1 space-y-6 pb-4">
        {isLoading && <Loading what="Loading conversation" />}
        <ErrorNotice error={problem} />
        {turns.length === 0 && !isLoading && <Beginning agent={agent} />}
        {turns.map((turn, index) => (
          <TurnView
            key={turn.key}
            turn={turn}
            agent={agent}
            isLast={index === turns.length - 1}
            onSubmit={submit}
            onAgain={conversation.again}
          />
        ))}
      </div>
      <div className="sticky bottom-0 -mx-1 bg-page px-1 pt-2 pb-3">
        <Composer
          field={message}
          isBusy={isBusy}
          isWaiting={last?.status === 'requires_action'}
          onSend={(text) => void conversation.send(text)}
          onStop={() => {
            message.current?.focus()
            void conversation.stop()
          }}
        />
        <div className="mt-1.5 flex min-h-8 flex-wrap items-center justify-between gap-2 text-xs text-soft">
          <span role="status">{isAway ? 'Connection lost. Reconnecting…' : <Totals turns={turns} />}</span>
          {turns.length > 0 && (
            <Button variant="quiet" icon="plus" onClick={() => conversation.begin()}>
              New conversation
            </Button>
          )}
        </div>
      </div>
    </div>
  )
}

/** Keeps the end of the conversation in view while it grows, unless the user scrolled up. */
function useFollowedEnd(turns: readonly unknown[]) {
  const isAtEnd = useRef(true)
  useEffect(() => {
    const onScroll = () => {
      const { scrollHeight } = document.documentElement
      isAtEnd.current = scrollHeight - window.innerHeight - window.scrollY < 120
    }
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => window.removeEventListener('scroll', onScroll)
  }, [])
  const { length } = turns
  const lastLength = useRef(length)
  useEffect(() => {
    // The user’s own message is always scrolled into view.
    if (length > lastLength.current) isAtEnd.current = true
    lastLength.current = length
    if (turns.length > 0 && isAtEnd.current) window.scrollTo({ top: document.documentElement.scrollHeight })
  }, [turns, length])
}

function Totals({ turns }: { turns: readonly Turn[] }) {
  const usages = turns.flatMap((turn) => usageOf(turn) ?? [])
  if (usages.length === 0) return null
  const all = sum(usages)
  if (all.input_tokens + all.output_tokens === 0) return null
  const cost = money(all.cost)
  return (
    <span className="tabular-nums">
      {plural(turns.length, 'turn')} · tokens: {tokens(all)}
      {cost && ` · ${cost}`}
    </span>
  )
}

function Beginning({ agent }: { agent: Agent }) {
  const { data: tools = [] } = useTools()
  const own = tools.filter(({ id }) => agent.tool_ids.includes(id))
  return (
    <div className="rounded-lg border border-dashed border-edge/60 px-6 py-8 text-center text-sm text-soft">
      <h2 className="text-ink">Chat with {agent.name}</h2>
      <p className="mx-auto mt-1 max-w-lg">
        Messages go to the real model, and tools run for real with your key. For client tools, you enter the output.
      </p>
      {own.length > 0 && (
        <p className="mx-auto mt-3 max-w-lg">
          Tools:{' '}
          {own.slice(0, 12).map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link
                to="/tools/$toolId"
                params={{ toolId: id }}
                className="font-mono text-xs wrap-anywhere text-accent hover:underline"
              >
                {name}
              </Link>
            </span>
          ))}
          {own.length > 12 && ` and ${own.length - 12} more`}.
        </p>
      )}
    </div>
  )
}

function Composer({
  field,
  isBusy,
  isWaiting,
  onSend,
  onStop,
}: {
  field: RefObject<HTMLTextAreaElement | null>
  isBusy: boolean
  isWaiting: boolean
  onSend: (text: string) => void
  onStop: () => void
}) {
  const [text, setText] = useState('')
  const canSend = !isBusy && text.trim() !== ''
  const send = (event?: FormEvent) => {
    event?.preventDefault()
    if (!canSend) return
    onSend(text.trim())
    setText('')
  }
  const onKey = (event: KeyboardEvent) => {
    // During IME composition, Enter confirms the word and does not send the message.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form onSubmit={send} className="flex items-end gap-2">
      <textarea
        ref={field}
        aria-label="Message"
        className="control max-h-48 field-sizing-content resize-none py-2"
        rows={1}
        placeholder={isWaiting ? 'Waiting for your input above' : 'Write a message'}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      {isBusy ? (
        <Button variant="danger" className="py-2" onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button variant="main" type="submit" className="py-2" disabled={!canSend}>
          Send
        </Button>
      )}
    </form>
  )
}
