export const STATUS = {
  running: { label: 'Running', tone: 'good' },
  deploying: { label: 'Deploying', tone: 'info' },
  stopped: { label: 'Stopped', tone: 'plain' },
  error: { label: 'Not serving', tone: 'bad' },
} as const;
