/** `2 agents`, `1 AI provider`. */
export function counted(count: number, section: string): string {
  const words = section.replaceAll(/[_-]/g, ' ').replace(/^ai /, 'AI ')
  return `${count} ${count === 1 ? words.replace(/ies$/, 'y').replace(/s$/, '') : words}`
}
