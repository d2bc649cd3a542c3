// What all views share: what is known, elements, words, and requests.

export const byId = (id) => document.getElementById(id);

/** el makes an element; what is null or false among its attributes and children is left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === 'function') made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat(9).filter((child) => child != null && child !== false));
  return made;
}

// The token is kept for this tab and this port only, and leaves the address at once.
const given = /^#token=(\w+)$/.exec(location.hash);
if (given) {
  sessionStorage.setItem('token', given[1]);
  history.replaceState(null, '', location.pathname);
}

export async function call(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem('token') ?? ''}` };
  if (options.body) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, { ...options, headers });
  if (response.ok) return response;
  let said = {};
  try { said = await response.json(); } catch { /* it has said nothing more */ }
  throw Object.assign(new Error(said.error ?? `the server answered ${response.status}`), { status: response.status, login: said.login });
}

// What is known. ahead is how far the server's clock is ahead of this one, in ms.
export const world = { rows: new Map(), known: null, detail: null, ahead: 0 };

export const now = () => Date.now() + world.ahead;
const two = (n) => String(n).padStart(2, '0');
// Each is made once: to make one takes longer than to format with it.
const times = new Intl.DateTimeFormat([], { timeStyle: 'medium', hour12: false }), days = new Intl.DateTimeFormat([], { dateStyle: 'short', timeStyle: 'medium', hour12: false });
export const clock = (time) => times.format(new Date(time));
/** whole is a time with its day, unless that is today. */
export const whole = (time) => (new Date(time).toDateString() === new Date(now()).toDateString() ? clock(time) : days.format(new Date(time)));

export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
}

export const ageOf = (time) => span((now() - new Date(time)) / 1000);
export const age = (time) => el('time', { datetime: time, 'data-since': time, title: whole(time) }, ageOf(time));
export const between = (from, to) => span((new Date(to) - new Date(from)) / 1000);
export const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
export const sideName = (name) => name.replace(/^([^/]+)\/([^/]+\/[^/]+)$/, '$1: $2');
export const say = (text) => { byId('said').textContent = text; };

const marks = {
  stalled: '!', refused: '×', moving: '→', 'rolling back': '←', recovering: '←', waiting: '…', pausing: '‖', paused: '‖', moved: '✓', 'rolled back': '✓', recovered: '✓',
};
export const order = Object.keys(marks);
const looks = { 'rolling back': 'back', recovering: 'back', pausing: 'paused', moved: 'done', 'rolled back': 'done', recovered: 'done' };
export const badge = (state) => el('span', { class: `state ${looks[state] ?? state}` }, el('i', { 'aria-hidden': 'true' }, marks[state]), state);

const drawn = {};
const focusable = (root) => [...root.querySelectorAll('a, button, input, summary, [tabindex]')];

/** part is a piece of the page that is drawn again only when its value has changed. What was focused, open or scrolled stays so. */
export function part(into, id, value, draw) {
  const text = JSON.stringify(value) ?? '';
  const before = drawn[id]?.parentNode === into ? drawn[id] : null;
  if (before?.text === text) return;
  const made = el('div', { id }, draw());
  made.text = text;
  drawn[id] = made;
  if (!before) return into.append(made);
  const focused = before.contains(document.activeElement) && document.activeElement;
  const nth = focusable(before).indexOf(focused);
  const open = [...before.querySelectorAll('details')].map((each) => each.open);
  const scrolled = [...before.querySelectorAll('.wide')].map((each) => each.scrollLeft);
  before.replaceWith(made);
  made.querySelectorAll('details').forEach((each, i) => { each.open = open[i]; });
  made.querySelectorAll('.wide').forEach((each, i) => { each.scrollLeft = scrolled[i] ?? 0; });
  if (focused) (focused.id ? byId(focused.id) : focusable(made)[nth])?.focus({ preventScroll: true });
}

/** table has roles, because a narrow screen shows it as cards. */
export function table(name, head, body) {
  return el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': name },
    el('table', { class: 'cards', role: 'table' }, el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, head.map((text) => el('th', { scope: 'col', role: 'columnheader' }, text)))),
      el('tbody', { role: 'rowgroup' }, body.map((cells) => el('tr', { role: 'row' }, cells.map((cell, i) => el('td', { 'data-name': head[i], role: 'cell' }, cell)))))));
}

/** forget has all pieces drawn anew. */
export function forget() { for (const id of Object.keys(drawn)) delete drawn[id]; }

export const stepText = (name) => world.known?.steps.find((step) => step.name === name)?.text ?? 'begins';

/** split is the application as one bar: what is at the source, in flight, and at the destination. */
export function split(row) {
  const flies = (side) => [row.handoff, ...(row.furtherHandoffs ?? [])].filter((h) => h && side.start <= h.ordinal && h.ordinal < side.start + side.replicas).length;
  const parts = { source: row.sides[0].replicas - flies(row.sides[0]), away: 0, destination: row.sides[1].replicas - flies(row.sides[1]) };
  parts.away = Math.max(0, row.replicas - parts.source - parts.destination);
  const names = row.sides[1].replicas && row.sides[1].start < row.sides[0].start ? ['destination', 'away', 'source'] : ['source', 'away', 'destination'];
  const bar = el('div', { class: 'split', role: 'img', 'aria-label': `${parts.source} at the source, ${parts.away} in flight, ${parts.destination} at the destination` }, names.map((name) => el('span', { class: name })));
  names.forEach((name, i) => { bar.children[i].style.flexGrow = parts[name]; });
  return bar;
}
