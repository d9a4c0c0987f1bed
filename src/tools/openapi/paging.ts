import type { Paging, Parameter } from './operation.ts'

/** Names of query parameters that select a page, without case and separators. */
const names: Readonly<Record<keyof Paging, RegExp>> = {
  page: /^(page|pageno|pagenumber|pageindex|currentpage|p)$/,
  offset: /^(offset|skip|start|startat|startindex|from|pageoffset)$/,
  cursor:
    /^(cursor|after|startingafter|pagetoken|nextpagetoken|nexttoken|nextcursor|marker|continuationtoken|continuation|continue|pagecursor|pageafter|startcursor|skiptoken|exclusivestartkey|bookmark)$/,
  limit: /^(limit|perpage|pagesize|count|size|maxresults|top|maxitems|rows|pagelimit|results)$/,
}

/** Finds the parameters that select a page of a list. */
export function findPaging(parameters: readonly Parameter[]): Paging | undefined {
  const query = parameters.filter((one) => one.in === 'query')
  const found = Object.entries(names).flatMap(([role, pattern]) => {
    const match = query.find(({ name }) => pattern.test(name.toLowerCase().replaceAll(/[^a-z]/g, '')))
    return match ? [[role, match.property]] : []
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}
