import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const platform = process.env.QM_URL ?? 'http://127.0.0.1:4600'
const ours = fileURLToPath(new URL('../src/sdk/index.ts', import.meta.url))

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  resolve: { alias: { 'quartermaster/sdk': ours } },
  server: {
    port: 4610,
    // The platform sees the browser's own origin, so that signing in works as it does when it serves the pages itself.
    proxy: { '/api': { target: platform, changeOrigin: false } },
    fs: { allow: ['..'] },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Nothing as a data: address, which the content security policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
