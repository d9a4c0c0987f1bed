/** Whether a text is the id of a record rather than a name. */
export const looksLikeId = (text: string): boolean => /^[a-z]+_[A-Za-z0-9]{10,}$/.test(text)
