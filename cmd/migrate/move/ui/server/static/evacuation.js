// An Evacuation: each of its moves, planned beside real, read again while it is shown.

import { call, el, part, say, world } from './lib.js';
import { download, section, summary } from './one.js';

const pause = 2000; // ms

export function showEvacuation(main, at) {
  part(main, 'evacuation', at.key, () => {
    const box = el('div', {});
    part(box, 'fault', null, () => null);
    part(box, 'lead', null, () => el('p', { class: 'empty' }, 'Reading the cluster …'));
    refresh(box, at, null);
    return [el('div', { class: 'bar' }, el('h1', {}, `Evacuation ${at.namespace}/${at.name}`),
      el('div', { class: 'actions' }, el('button', { type: 'button', click: () => download(`api/${at.key}/report?format=html`, `${at.name}.html`) }, 'Save as a file'))), box];
  });
}

// What was read last stays when it cannot be read again.
async function refresh(box, at, before) {
  let lead = before, fault = null;
  try {
    const made = await (await call(`api/${at.key}/report`)).json();
    if (!box.isConnected) return;
    ({ lead } = made);
    show(box, at, made);
    if (before && before !== lead) say(lead);
  } catch ({ message }) {
    if (!box.isConnected) return;
    fault = message;
    if (!lead) part(box, 'lead', '', () => null);
  }
  part(box, 'fault', fault, () => fault && el('p', { class: 'fault', role: 'alert' }, fault));
  setTimeout(() => refresh(box, at, lead), pause);
}

function show(box, at, { lead, facts, image, sections, note }) {
  part(box, 'lead', lead, () => el('p', {}, lead));
  part(box, 'summary', [facts, image], () => summary({ facts, image }));
  (sections ?? []).forEach((s, i) => {
    const nth = s.Head.indexOf('Migration');
    const rows = (s.Rows ?? []).map((cells) => cells.map((cell, k) => (k === nth ? linked(at, cell) : cell)));
    part(box, `section-${i}`, [s, rows.map((cells) => Boolean(cells[nth]?.href))], () => section(s, rows));
  });
  part(box, 'note', note, () => el('p', { class: 'faint' }, note));
}

// linked is the name of a Migration, as a link to it if it is known.
function linked({ namespace }, name) {
  const key = `migration/${namespace}/${name}`;
  return world.rows.has(key) ? el('a', { href: `#/${key}` }, name) : name;
}
