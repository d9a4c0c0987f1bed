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
    // Keeps the Host header, so that sign-in works as in production, where the platform serves the pages.
    proxy: { '/api': { target: platform, changeOrigin: false } },
    fs: { allow: ['..'] },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // No data: URLs, because the content security policy forbids them.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
