/**
 * The official conformance suite starts this program as the client under test. It forwards the scenario to the test at
 * the first URL, and exits when the scenario has run. Starting a platform here would take a second per scenario.
 */
const [, , test = '', server] = process.argv
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env
const { toolCalls, ...context } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const body = JSON.stringify({ server, name, version, toolCalls, context })
const response = await fetch(test, { method: 'POST', body })
process.exitCode = response.ok ? 0 : 1
