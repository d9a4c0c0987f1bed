/** Single-stroke paths on a 20 × 20 grid. */
const paths = {
  overview: 'M3 11h4l2-6 3 10 2-4h3',
  approvals: 'M10 3l6 2v5c0 4-3 6-6 7-3-1-6-3-6-7V5zM7.5 10l2 2 3.5-4',
  tools: 'M12.5 3.5a4 4 0 0 0-4.6 5.4L3.5 13.3a2 2 0 0 0 3 2.9l4.6-4.5a4 4 0 0 0 5.2-5l-2.4 2.3-2.4-.6-.6-2.4z',
  apps: 'M4 4h4.5v4.5H4zM11.5 4H16v4.5h-4.5zM4 11.5h4.5V16H4zM11.5 11.5H16V16h-4.5z',
  workflows: 'M4 3.5h5v4H4zM11 12.5h5v4h-5zM6.5 7.5v7H11',
  servers: 'M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01',
  calls: 'M4 5h12M4 10h12M4 15h7',
  agents: 'M5 8h10v7H5zM10 8V4M8 11.5h.01M12 11.5h.01M3 11v2M17 11v2',
  skills: 'M5 3.5h8l2.5 2.5v10.5H5zM8 9h5M8 12.5h5',
  documents: 'M6 3h6l4 4v10H6zM12 3v4h4M3.5 6v12H13',
  help: 'M10 17a7 7 0 1 1 0-14 7 7 0 0 1 0 14zM8 8a2 2 0 1 1 2.6 1.9c-.4.1-.6.4-.6.8v.8M10 14v.01',
  connections: 'M8.5 11.5l3-3M7 9l-2 2a2.8 2.8 0 0 0 4 4l2-2M13 11l2-2a2.8 2.8 0 0 0-4-4L9 7',
  webhooks: 'M4 10a6 6 0 0 1 6-6M4 10l-1.5-2M4 10l2-1.5M16 10a6 6 0 0 1-6 6M16 10l1.5 2M16 10l-2 1.5',
  secrets: 'M5 9h10v7H5zM7 9V6.5a3 3 0 0 1 6 0V9M10 12v1.5',
  access: 'M12.5 3.5a4 4 0 1 1-2.6 7L4 16.5v0h-.01M6 14.5l1.5 1.5M13.5 7h.01',
  people:
    'M7.5 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 16.5c0-2.8 2.2-4.5 5-4.5s5 1.7 5 4.5M12.5 4.3a3 3 0 0 1 0 5.4M14.5 12.4c1.8.6 3 2 3 4.1',
  settings: 'M4 6h7M15 6h1M4 14h1M9 14h7M13 4v4M7 12v4',
  menu: 'M3 5h14M3 10h14M3 15h14',
  close: 'M5 5l10 10M15 5L5 15',
  search: 'M9 4a5 5 0 1 1 0 10A5 5 0 0 1 9 4zM12.7 12.7L17 17',
  plus: 'M10 4v12M4 10h12',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  check: 'M4 10.5l4 4 8-9',
  down: 'M5 7.5l5 5 5-5',
  right: 'M7.5 5l5 5-5 5',
  left: 'M12.5 5l-5 5 5 5',
  out: 'M8 4H4v12h4M12 6l4 4-4 4M16 10H8',
  alert: 'M10 3.5l7 12.5H3zM10 8v3.5M10 13.8v.01',
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name, className = 'size-4' }: { name: IconName; className?: string }) => (
  <svg
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.6"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    className={`shrink-0 ${className}`}
  >
    <path d={paths[name]} />
  </svg>
)
