// Nothing may leave this origin: no validator badge, no remote specification by `?url=`.
window.SwaggerUIBundle({
  url: '/api/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  displayRequestDuration: true,
  filter: true,
  queryConfigEnabled: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
