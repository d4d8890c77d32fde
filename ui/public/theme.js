// Loaded before the first paint so that a stored choice does not flash; a strict Content-Security-Policy forbids it inline.
(() => {
  try {
    const theme = localStorage.getItem('sluice.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's scheme applies then.
  }
})();
