// The list of all moves.

import { age, badge, byId, el, order, part, plural, sideName, span, split, world } from './lib.js';

const lines = new Map();
let wanted = '';

export function showList(main) {
  if (!byId('list')) {
    lines.clear();
    const head = ['State', 'Migration', 'Ordinals', 'Now', 'Left'].map((text) => el('th', { scope: 'col', role: 'columnheader' }, text));
    main.append(
      el('div', { class: 'bar' }, el('h1', {}, 'Moves'),
        el('label', { class: 'find' }, el('span', { class: 'unseen' }, 'Filter by name, namespace, state or cluster'),
          el('input', { id: 'find', type: 'search', placeholder: 'Filter  /', value: wanted, input: (e) => { wanted = e.target.value.toLowerCase(); showList(main); } }))),
      el('div', { id: 'evacuations' }),
      el('div', { class: 'panel list' }, el('p', { id: 'empty', class: 'empty', hidden: true }),
        el('table', { id: 'list', class: 'cards', role: 'table' }, el('caption', { class: 'unseen' }, 'Migrations, those first that need somebody'), el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, head)), el('tbody', { role: 'rowgroup' }))));
  }
  const body = byId('list').tBodies[0];
  const sorted = [...world.rows.values()].filter((row) => !wanted || text(row).includes(wanted))
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || before(a.namespace, b.namespace) || before(a.name, b.name));
  const keys = new Set(sorted.map((row) => row.key));
  for (const [key, line] of lines) if (!keys.has(key)) { line.remove(); lines.delete(key); }
  let next = body.firstElementChild;
  for (const row of sorted) {
    const line = lines.get(row.key) ?? newLine(row);
    fill(line, row);
    if (line === next) next = next.nextElementSibling;
    else body.insertBefore(line, next);
  }
  // A frame calls back before it is laid out and painted: only what follows it is after that.
  if (sorted.length > 0 && !performance.getEntriesByName('painted').length) requestAnimationFrame(() => setTimeout(() => performance.mark('painted')));
  part(byId('evacuations'), 'links', evacuations(), links);
  const empty = byId('empty');
  byId('list').hidden = !sorted.length;
  empty.hidden = sorted.length > 0;
  if (sorted.length) return;
  const waiting = !world.known || world.known.feeds.every((feed) => feed.state === 'connecting');
  empty.textContent = waiting ? 'Reading the cluster …' : world.rows.size ? 'None matches the filter.' : 'No move is there. One begins with kubectl migrate run, or with a Migration.';
}

// evacuations lists those that the moves are of, with how many of these have moved.
function evacuations() {
  const all = {};
  for (const { namespace, evacuation, state } of world.rows.values()) {
    if (!evacuation) continue;
    const one = all[`${namespace}/${evacuation}`] ??= { moved: 0, total: 0 };
    one.total += 1;
    if (state === 'moved') one.moved += 1;
  }
  return Object.entries(all).sort(([a], [b]) => before(a, b));
}

const links = () => evacuations().map(([name, { moved, total }]) => el('p', {}, entrance(name), `: ${moved} of ${plural(total, 'Migration')} moved`));

// The page of a manager reads no Evacuations: there the name of one selects its moves in the list.
const entrance = (name) => (world.known?.remote
  ? el('button', { type: 'button', click: () => select(`evacuation ${name}`) }, `Evacuation ${name}`)
  : el('a', { href: `#/evacuation/${name}` }, `Evacuation ${name}`));

function select(filter) {
  const find = byId('find');
  find.value = filter;
  find.dispatchEvent(new Event('input'));
}

// Names are ASCII: that of no language is asked for their order.
const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const text = (row) => [row.namespace, row.name, row.state, row.sides[0].name, row.sides[1].name, row.record ? 'run' : '', row.evacuation ? `evacuation ${row.namespace}/${row.evacuation}` : ''].join(' ').toLowerCase();

const cell = (attributes, ...children) => el('td', { ...attributes, role: 'cell' }, ...children);

function newLine(row) {
  const line = el('tr', { role: 'row' }, cell(), cell({}, el('a', { href: `#/${row.key}` }, `${row.namespace}/${row.name}`), row.record && el('span', { class: 'faint' }, ' run'), el('div', { class: 'way' })),
    cell({ class: 'count', 'data-name': 'Ordinals' }), cell(), cell({ class: 'left', 'data-name': 'Left' }));
  lines.set(row.key, line);
  return line;
}

function fill(line, row) {
  if (line.row === row) return;
  line.row = row;
  const [state, name, count, doing, left] = line.cells;
  state.replaceChildren(badge(row.state));
  name.lastChild.textContent = `${sideName(row.sides[0].name)} → ${sideName(row.sides[1].name)}`;
  count.replaceChildren(...(row.replicas ? [`${row.moved} of ${row.total} moved`, split(row)] : []));
  doing.replaceChildren(el('div', { class: 'clip' }, doingOf(row)));
  left.replaceChildren(...(row.leftSeconds ? [`about ${span(row.leftSeconds)}`] : []));
}

function doingOf({ handoff, hold, now }) {
  return [hold?.stalled && [el('b', {}, hold.reason), ': '], now, handoff && !hold?.stalled && [', for ', age(hold?.since ?? handoff.stepTime ?? handoff.startTime)]];
}
