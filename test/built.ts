/** The dashboard that is tested is the one whose source is here. */
export default async function setup(): Promise<void> {
  await import('../scripts/build-dashboard.ts')
}
