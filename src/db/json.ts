/** For columns that contain JSON or null. */
export const parse = (text: string | null) => (text === null ? null : JSON.parse(text))
export const print = (value: unknown) => (value === null ? null : JSON.stringify(value))
/** An empty list is stored as null. */
export const printList = (list: readonly unknown[]) => (list.length === 0 ? null : JSON.stringify(list))
