import { useMutation, useQueryClient } from '@tanstack/react-query'

/** A mutation that invalidates the queries under these keys. */
export function useAction<Input = void, Output = unknown>(
  run: (input: Input) => Promise<Output>,
  { changes = [], onDone }: { changes?: readonly string[]; onDone?: (output: Output, input: Input) => void } = {},
) {
  const queries = useQueryClient()
  const { mutate, mutateAsync, isPending, isSuccess, error, data, reset } = useMutation({
    mutationFn: run,
    onSuccess: async (output, input) => {
      await Promise.all(changes.map((key) => queries.invalidateQueries({ queryKey: [key] })))
      onDone?.(output, input)
    },
  })
  return { run: mutate, runAsync: mutateAsync, busy: isPending, done: isSuccess, error, data, reset }
}
