/** What keeps the platform from starting and its operator can mend: told in a sentence, without a stack. */
export class StartError extends Error {}
