import type { ReactNode } from 'react'

/** A page for people who are not signed in. */
export const Entrance = ({ title, children }: { title: string; children: ReactNode }) => (
  <main className="mx-auto flex min-h-dvh max-w-sm flex-col justify-center px-4 py-10">
    <div className="mb-6 flex items-center gap-3">
      <img src="/icon.svg" alt="" className="size-9" />
      <div>
        <h1>{title}</h1>
        <p className="text-sm text-soft">The tool platform for AI agents</p>
      </div>
    </div>
    {children}
  </main>
)
