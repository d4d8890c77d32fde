export const CALLER_WORDS = {
  client: { label: 'Clients', title: 'Clients', one: 'Client', none: 'Unnamed client' },
  person: { label: 'People', title: 'People', one: 'Person', none: 'Not signed in' },
  token: { label: 'Tokens', title: 'Access tokens', one: 'Token', none: 'No access token' },
} as const;
