/** One page of a list: at most `limit` items from `offset` on, of `total`. */
export interface Page<Item> {
  data: Array<Item>
  total: number
  limit: number
  offset: number
}
