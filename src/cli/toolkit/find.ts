/** Whether it is the id of something, whatever that is, and no name. */
export const looksLikeId = (text: string): boolean => /^[a-z]+_[A-Za-z0-9]{10,}$/.test(text)
