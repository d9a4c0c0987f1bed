/** The same task as the workflow, as a model writes it for EXECUTE_CODE. */
export const programFor = (domain: string) => `
  const domain: string = ${JSON.stringify(domain)}
  const lead = await tools.crm.find_lead({ domain })
  const contract = await tools.billing.create_contract({ company: lead.company, seats: lead.people.length })
  const account = await tools.accounts.create_account({ company: lead.company })
  const invitations = await Promise.all(
    lead.people.map((email: string) => tools.accounts.invite({ account: account.id, email })),
  )
  try {
    await tools.billing.start_subscription({ contract: contract.id })
  } catch (error) {
    await tools.accounts.delete_account({ id: account.id })
    throw error
  }
  await tools.mail.send({ to: lead.people[0], text: \`Welcome, \${lead.company}!\` })
  await tools.crm.add_note({ domain, text: \`Customer since account \${account.id}\` })
  return { account: account.id, invited: invitations.map((one) => one.email) }
`
