export const stamp: string
export function isBuilt(): boolean
