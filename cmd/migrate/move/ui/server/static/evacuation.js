// An Evacuation: each of its moves, planned beside real, read again while it is shown.

import { call, el, part } from './lib.js';
import { documentOf } from './one.js';

const pause = 2000; // ms

export function showEvacuation(main, at) {
  part(main, 'evacuation', at.key, () => {
    const box = el('div', { 'aria-live': 'off' }, el('p', { class: 'empty' }, 'Reading the cluster …'));
    refresh(box, at);
    return [el('h1', {}, `Evacuation ${at.name}`), box];
  });
}

async function refresh(box, at) {
  try {
    const made = await (await call(`api/${at.key}/report`)).json();
    const scrolled = box.querySelector('.wide')?.scrollLeft;
    box.replaceChildren(el('div', {}, documentOf(made)));
    if (scrolled) box.querySelector('.wide').scrollLeft = scrolled;
  } catch (error) {
    box.replaceChildren(el('p', { class: 'panel' }, error.message));
  }
  setTimeout(() => { if (box.isConnected) refresh(box, at); }, pause);
}
