/** The look of the dashboard (`dashboard/src/styles.css`), for pages that must not depend on it. */
export const styles = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f6f3, #121416);
  --panel: light-dark(#ffffff, #191c1f);
  --hover: light-dark(#f3f3ef, #21252a);
  --line: light-dark(#e1e1db, #2a2e33);
  --edge: light-dark(#8b8f87, #6b727a);
  --ink: light-dark(#1b1e21, #e6e7e4);
  --soft: light-dark(#565b61, #a4a9af);
  --accent: light-dark(#0b6b62, #63cbbc);
  --on-accent: light-dark(#ffffff, #0c1f1d);
  --warn: light-dark(#835400, #e3b566);
  --warn-wash: light-dark(#fbf0d9, #322610);
  --bad: light-dark(#ae2219, #f58f86);
  --bad-wash: light-dark(#fbe9e7, #3a1916);
}
* { box-sizing: border-box; margin: 0; }
body {
  background: var(--page); color: var(--ink); -webkit-font-smoothing: antialiased;
  font: 0.875rem/1.35rem "Inter", ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif;
}
main { display: flex; flex-direction: column; justify-content: center; gap: 1rem; min-height: 100dvh; max-width: 27rem; margin: 0 auto; padding: 2.5rem 1rem; }
header { display: flex; align-items: center; gap: 0.75rem; }
.brand { font-size: 1.0625rem; line-height: 1.5rem; font-weight: 600; }
h1 { font-size: 1.375rem; line-height: 1.75rem; font-weight: 600; letter-spacing: -0.025em; overflow-wrap: anywhere; }
.soft, .hint { color: var(--soft); }
header .soft, .hint { font-size: 0.8125rem; line-height: 1.2rem; }
.small { font-size: 0.75rem; line-height: 1.1rem; overflow-wrap: anywhere; }
.or { text-align: center; }
.panel { display: flex; flex-direction: column; gap: 0.75rem; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); padding: 1rem; }
label { font-weight: 500; font-size: 0.8125rem; margin-bottom: -0.375rem; }
.hint { margin-top: -0.375rem; }
.control { width: 100%; border: 1px solid var(--edge); border-radius: 6px; background: var(--panel); color: var(--ink); padding: 0.375rem 0.625rem; font: inherit; }
.control::placeholder { color: var(--soft); }
button, .button { display: block; text-align: center; text-decoration: none; font: inherit; font-weight: 500; border: 1px solid transparent; border-radius: 6px; padding: 0.5rem 0.75rem; width: 100%; cursor: pointer; }
.main { background: var(--accent); color: var(--on-accent); }
.main:hover { filter: brightness(1.08); }
.plain { background: var(--panel); color: var(--ink); border-color: var(--line); }
.plain:hover { background: var(--hover); }
.quiet { background: none; color: var(--soft); text-decoration: underline; text-underline-offset: 2px; }
.quiet:hover { color: var(--ink); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
dl { display: flex; flex-direction: column; gap: 0.625rem; }
dl > div { display: grid; grid-template-columns: 6.5rem 1fr; gap: 0.5rem; }
dt { color: var(--soft); }
dd { overflow-wrap: anywhere; font-weight: 500; }
dd .soft { display: block; font-weight: 400; font-size: 0.8125rem; line-height: 1.2rem; }
.lead { border-top: 1px solid var(--line); padding-top: 0.75rem; }
ul { padding-left: 1.125rem; }
.notice { border-radius: 6px; padding: 0.5rem 0.75rem; font-size: 0.8125rem; line-height: 1.2rem; }
.notice.warn { background: var(--warn-wash); color: var(--warn); }
.notice.bad { background: var(--bad-wash); color: var(--bad); }
`
