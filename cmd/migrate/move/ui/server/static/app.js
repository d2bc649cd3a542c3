// The page: it keeps what the stream of events tells, and shows the list or one migration of it.

import { age, ageOf, byId, call, clock, el, forget, say, world } from './lib.js';
import { showEvacuation } from './evacuation.js';
import { showList } from './list.js';
import { credentials, showLogin } from './login.js';
import { act, showOne } from './one.js';

const { rows } = world;
const silence = 12000; // ms; something is sent every 5 s
let listed = false, heard = Date.now(), tried = Date.now(), broken = null, stream = null, locked = null;

// Where we are: the list, an Evacuation, or one migration and which of its views.
function route() {
  const [, kind, namespace, name, view] = /^#\/(migration|run|evacuation)\/([^/]+)\/([^/]+)(?:\/(report|plan))?$/.exec(location.hash) ?? [];
  if (kind === 'evacuation') return { key: `${kind}/${namespace}/${name}`, namespace, name, view: kind };
  return kind ? { key: `${kind}/${namespace}/${name}`, name, view: view ?? 'now' } : { key: '', view: 'list' };
}

// The stream of events. One of a manager ends now and then, and is opened anew.
async function listen() {
  if (locked) return;
  const mine = stream = new AbortController();
  const asked = new URLSearchParams();
  const at = route();
  if (at.key && at.view !== 'evacuation') asked.set('one', at.key);
  if (credentials.namespaces) asked.set('namespaces', credentials.namespaces);
  while (stream === mine) {
    try {
      const response = await call(`api/events?${asked}`, { signal: mine.signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      listed = false;
      for (let text = ''; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) take(text.slice(0, end));
      }
    } catch (error) {
      if (stream !== mine) return;
      if (error.login) return lock(error.message);
      broken = error.status ? error.message : null;
    }
    if (stream === mine) {
      showFaults();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

// lock shows nothing any more until a user has shown a token that counts.
function lock(why) {
  locked = why;
  stream?.abort();
  stream = null;
  credentials.forget();
  rows.clear();
  Object.assign(world, { known: null, detail: null });
  broken = null;
  show();
}

function unlock() {
  locked = null;
  place = null;
  heard = Date.now();
  show();
  listen();
}

function take(event) {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event);
  const value = JSON.parse(data);
  heard = Date.now();
  broken = null;
  if (name === 'now') world.ahead = new Date(value) - heard;
  if (name === 'state') world.known = value;
  if (name === 'rows') {
    if (!listed) for (const key of [...rows.keys()]) if (!value.some((row) => row.key === key)) rows.delete(key);
    listed = true;
    for (const row of value) {
      const before = rows.get(row.key);
      rows.set(row.key, row);
      if (before && before.state !== row.state && route().view === 'list') say(`${row.name}: ${row.state}`);
    }
  }
  if (name === 'gone') for (const key of value) rows.delete(key);
  if (name === 'one') {
    tellChange(world.detail, value);
    world.detail = value;
  }
  show();
}

/** tellChange says in words what has changed of the one that is shown. */
function tellChange(before, after) {
  if (!before || before.key !== after.key) return;
  const words = [];
  if (before.moved !== after.moved) words.push(`${after.moved} of ${after.total} moved`);
  if (before.state !== after.state) words.push(after.state);
  if (after.handoff && before.handoff?.ordinal !== after.handoff.ordinal) words.push(`ordinal ${after.handoff.ordinal} is in flight`);
  if (after.hold?.stalled && before.hold?.reason !== after.hold.reason) words.push(`${after.hold.reason}: ${after.hold.message}`);
  if (words.length) say(`${after.name}: ${words.join(', ')}`);
}

// What is wrong with what is shown: where it is old, and where the user may not look.
function showFaults() {
  const faults = [];
  const silent = !locked && Date.now() - heard > silence;
  if (broken) faults.push(broken);
  else if (silent) faults.push([`${world.known?.remote ? 'The manager' : 'kubectl migrate ui'} does not answer any more, since `, age(new Date(heard + world.ahead).toISOString()), ': the page shows the state of that time. Is it still running?']);
  const behind = (world.known?.feeds ?? []).filter((feed) => feed.state === 'behind');
  if (behind.length) {
    const since = behind.map((feed) => feed.since).sort()[0];
    faults.push([`Cluster ${world.known.cluster} was last heard at ${clock(since)}, `, age(since), ` ago: the page shows the state of that time. ${behind[0].message}`]);
  }
  for (const feed of world.known?.feeds ?? []) {
    const where = feed.namespace ? `namespace ${feed.namespace}` : 'all namespaces';
    if (feed.state === 'forbidden') faults.push(`You may not see the ${feed.what} of ${where}: ${feed.message}`);
    if (feed.state === 'too many') faults.push(feed.message);
  }
  const box = byId('faults');
  const text = faults.map((fault) => [fault].flat().map((part) => part.dataset?.since ?? part).join('')).join('\n');
  if (box.dataset.text !== text) {
    box.dataset.text = text;
    box.replaceChildren(...faults.map((fault) => el('p', { class: 'fault', role: 'alert' }, fault)));
  }
  byId('leave').hidden = !world.known?.remote;
  const standing = locked ? '' : broken || silent ? 'not connected' : behind.length ? 'behind' : world.known?.feeds.some((feed) => feed.state === 'live') ? 'live' : 'connecting';
  byId('standing').textContent = standing;
  byId('standing').className = standing === 'live' || standing === 'connecting' ? '' : 'behind';
}

let place = '';
function show() {
  const at = route();
  byId('cluster').textContent = world.known ? `cluster ${world.known.cluster}` : '';
  if (locked) {
    showLogin(byId('main'), locked, unlock);
    showFaults();
    return;
  }
  if (place !== location.hash) {
    place = location.hash;
    byId('main').replaceChildren();
    forget();
  }
  if (at.view === 'list') showList(byId('main'));
  else if (at.view === 'evacuation') showEvacuation(byId('main'), at);
  else showOne(byId('main'), at);
  document.title = at.name ? `${at.view === 'evacuation' ? 'Evacuation' : rows.get(at.key)?.state ?? ''} ${at.name}` : 'Moves';
  showFaults();
}

setInterval(() => {
  for (const time of document.querySelectorAll('[data-since]')) time.textContent = ageOf(time.dataset.since);
  if (!locked && Date.now() - Math.max(heard, tried) > silence) {
    tried = Date.now();
    stream?.abort();
    listen();
  }
  if (Date.now() - heard > silence) showFaults();
}, 1000);

// Keys. Those that are typed into a field, or held with others, are not ours.
const step = (by) => {
  const links = [...document.querySelectorAll('#list tbody a')];
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))]?.focus();
};

function help() {
  const keys = [['j  k', 'next and previous move'], ['Enter', 'open it'], ['/', 'filter the list'], ['Esc', 'back to the list'], ['p', 'pause'], ['r', 'resume'], ['b', 'roll back'], ['?', 'these keys']];
  const box = byId('dialog');
  box.replaceChildren(el('h2', { id: 'dialog-title' }, 'Keys'), el('dl', { class: 'keys' }, keys.map(([key, what]) => [el('dt', {}, key.split('  ').map((one) => [el('kbd', {}, one), ' '])), el('dd', {}, what)])),
    el('div', { class: 'actions' }, el('button', { type: 'button', autofocus: true, click: () => box.close() }, 'Close')));
  box.showModal();
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('dialog').open || locked) return;
  const { view } = route();
  if (event.target.matches('input')) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const does = {
    '?': help, j: () => step(1), k: () => step(-1), '/': () => byId('find')?.focus(), Escape: () => { if (view !== 'list') location.hash = '#/'; },
    p: () => act('pause'), r: () => act('resume'), b: () => act('rollback'),
  }[event.key];
  if (!does || (['list', 'evacuation'].includes(view) && 'prb'.includes(event.key))) return;
  event.preventDefault();
  does();
});

byId('leave').addEventListener('click', () => lock('The token is forgotten.'));
byId('help').addEventListener('click', help);
byId('skip').addEventListener('click', (event) => { event.preventDefault(); byId('main').focus(); });
addEventListener('hashchange', () => {
  const key = route().key;
  if (key !== world.detail?.key) {
    world.detail = null;
    stream?.abort();
    listen();
  }
  show();
  byId('main').focus({ preventScroll: true });
  scrollTo(0, 0);
});
show();
listen();
