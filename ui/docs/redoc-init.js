document.body.style.margin = '0';
window.Redoc.init(
  '/api/openapi.json',
  {
    expandResponses: '200,201',
    hideDownloadButtons: false,
    pathInMiddlePanel: true,
    requiredPropsFirst: true,
    theme: {
      colors: { primary: { main: '#00697f' } },
      typography: {
        fontSize: '15px',
        fontFamily: "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', 'Liberation Sans', Helvetica, Arial, sans-serif",
        headings: {
          fontFamily:
            "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', 'Liberation Sans', Helvetica, Arial, sans-serif",
        },
        code: { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace" },
      },
    },
  },
  document.querySelector('#docs'),
);
