import { render } from 'solid-js/web';
import { App } from './app.tsx';
import { createKernel, KernelContext } from './kernel/kernel.ts';

const root = document.querySelector('#root');
if (root === null) throw new Error('index.html has no #root');

const kernel = createKernel(window);
void kernel.session.load();

render(
  () => (
    <KernelContext.Provider value={kernel}>
      <App />
    </KernelContext.Provider>
  ),
  root,
);
