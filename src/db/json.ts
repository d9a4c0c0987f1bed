/** For columns that contain JSON or null. */
export const parse = (text: string | null) => (text === null ? null : JSON.parse(text))
export const print = (value: unknown) => (value === null ? null : JSON.stringify(value))
