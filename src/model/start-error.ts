/** An error that prevents the start and that the operator can fix. Shown as a message without a stack trace. */
export class StartError extends Error {}
