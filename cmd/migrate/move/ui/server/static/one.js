// One migration: how it stands now, its report, and what it would do from here.

import { age, badge, between, byId, call, el, part, plural, say, sideName, span, stepText, table, whole, world } from './lib.js';

/** showOne shows one of its views. */
export function showOne(main, at) {
  const detail = world.detail?.key === at.key ? world.detail : null;
  const row = detail ?? world.rows.get(at.key);
  if (!row) {
    const reading = !world.known || world.known.feeds.some((feed) => feed.state === 'connecting');
    part(main, 'none', reading, () => [el('h1', {}, at.name), el('p', { class: 'empty' }, reading ? 'Reading the cluster …' : 'There is no such migration any more.')]);
    return;
  }
  byId('none')?.remove();
  const { state, name, namespace, record, sides } = row;
  part(main, 'head', { state, at, sides: sides.map((side) => side.name), actions: detail?.actions }, () => head(row, detail, at));
  if (at.view !== 'now') return part(main, 'document', at, () => load(at, name));
  if (!detail) return;
  const { moved, total, leftSeconds, outage, pace, budget, replicas, hold, ahead, handoff, furtherHandoffs: further, ordinals, report, gates, hooks } = detail;
  part(main, 'facts', { moved, total, leftSeconds, outage, pace, started: report.started, ended: report.ended, by: detail.state, driver: report.drivers.at(-1), mode: detail.mode, fewest: report.fewestAvailable, asOf: detail.asOf, driven: detail.driven, clients: report.clients?.text }, () => facts(detail));
  part(main, 'hold', hold, () => hold && holdPanel('hold-title', hold.stalled ? 'Stalled' : 'Waits', hold));
  part(main, 'ahead', ahead, () => ahead && holdPanel('ahead-title', 'Copies for later turns wait', ahead));
  part(main, 'ordinals', { ordinals, sides, back: handoff?.direction }, () => ordinals.length > 0 && ordinalsPanel(detail));
  part(main, 'handoff', { handoff, further }, () => handoff && (further ? el('div', {}, [handoff, ...further].map((h) => handoffPanel(h, detail.steps))) : handoffPanel(handoff, detail.steps)));
  part(main, 'budget', { budget, replicas, sides }, () => replicas > 0 && budgetPanel(detail));
  part(main, 'asked', { gates, hooks }, () => (gates || hooks) && askedPanel(gates ?? [], hooks ?? []));
  part(main, 'handoffs', { past: report.handoffs, dropped: report.droppedHandoffs, replicas, clients: detail.clients }, () => handoffsPanel(detail));
  part(main, 'stops', { stops: report.stops, dropped: report.droppedStops }, () => stopsPanel(report));
  part(main, 'more', [report.warnings, report.seals, report.drivers, report.conditions, namespace, record], () => morePanel(detail));
}

function head(row, detail, at) {
  const views = [['now', 'Now', ''], ['report', 'Report', '/report'], !world.known?.remote && ['plan', 'What is left', '/plan']].filter(Boolean);
  return [
    el('div', { class: 'lead' }, el('h1', {}, `${row.namespace}/${row.name}`), badge(row.state),
      el('div', { class: 'actions' }, (detail?.actions ?? []).map((action) => el('button', {
        type: 'button', id: action.verb, class: action.verb === 'rollback' && 'danger', disabled: Boolean(action.refused), title: action.refused || action.text, click: () => act(action.verb),
      }, labels[action.verb])))),
    el('p', { class: 'faint' }, `${sideName(row.sides[0].name)} → ${sideName(row.sides[1].name)}`,
      row.evacuation && [', of ', world.known?.remote ? `Evacuation ${row.evacuation}` : el('a', { href: `#/evacuation/${row.namespace}/${row.evacuation}` }, `Evacuation ${row.evacuation}`)]),
    el('nav', { class: 'tabs', 'aria-label': 'Views' }, views.map(([view, text, path]) => el('a', { href: `#/${row.key}${path}`, 'aria-current': at.view === view && 'page' }, text))),
  ];
}

const fact = (name, value, more) => el('div', {}, el('dt', {}, name), el('dd', {}, value, more && el('small', {}, ' ', more)));

function facts({ moved, total, leftSeconds, outage, pace, report, mode, asOf, driven }) {
  const driver = report.drivers.at(-1);
  return el('dl', { class: 'facts' },
    fact('Moved', `${moved} of ${total}`),
    leftSeconds != null && fact('Time left', `about ${span(leftSeconds)}`, 'at this pace'),
    pace && fact('One handoff', span(pace.medianSeconds), pace.handoffs > 1 ? `median of ${pace.handoffs}; ${span(pace.shortestSeconds)} to ${span(pace.longestSeconds)}` : 'the only one so far'),
    outage && fact('Outage of an ordinal', outage.text),
    report.started && (report.ended ? fact('Took', between(report.started, report.ended), `until ${whole(report.ended)}`) : fact('Under way', age(report.started), `since ${whole(report.started)}`)),
    report.clients && fact('Clients', report.clients.text, report.clients.url),
    report.fewestAvailable != null && fact('Fewest available', `${report.fewestAvailable} of ${report.replicas}`, report.fewestAvailable < report.replicas - report.budget ? 'below the budget' : 'within the budget'),
    fact('Mode', mode),
    driver && (driven === false ? fact('Driven by', 'no process', `last by ${driver.holder}`) : fact('Driven by', driver.holder, `epoch ${driver.epoch}`)),
    asOf && !report.ended && fact('As of', whole(asOf), [age(asOf), ' ago']));
}

function holdPanel(id, title, hold) {
  return el('section', { class: `panel hold${hold.stalled ? ' stalled' : ''}`, 'aria-labelledby': id },
    el('h2', { id }, title, `: ${hold.reason}, for `, age(hold.since)),
    hold.message && el('p', {}, hold.message),
    hold.remedy && el('p', {}, el('b', {}, 'What to do: '), remedy(hold)));
}

// remedy is the way out: text for people, and each command in a box of its own to copy.
function remedy({ remedy, commands }) {
  let rest = remedy;
  const parts = (commands ?? []).flatMap((command) => {
    const at = rest.indexOf(command);
    const before = rest.slice(0, at);
    rest = rest.slice(at + command.length);
    return [said(before), el('span', { class: 'remedy' }, el('code', {}, command), copy(command))];
  });
  return [...parts, said(rest)].filter(Boolean);
}

// said is a text between two commands, without the punctuation that parts them.
const said = (text) => text.trim().replace(/^[;,.)]\s*/, '');

function copy(text) {
  return el('button', { type: 'button', click: async () => { await navigator.clipboard.writeText(text); say('copied'); } }, 'Copy');
}

const sideLine = (name, side) => el('p', { class: `side ${name}` }, el('b', {}, name), el('span', {}, sideName(side.name)),
  el('span', {}, side.replicas ? `${side.available} of ${side.replicas} available` : 'no ordinals'),
  side.maxUnavailable != null && el('span', { class: 'faint' }, `evictions allowed: ${side.maxUnavailable}`),
  side.asOf && el('span', { class: 'faint' }, asOf(side)));

// asOf says when a side was as it is shown, if not both sides answer since.
const asOf = (side) => (side.asOf ? `as of ${whole(side.asOf)}` : '');

function ordinalsPanel({ ordinals, sides, handoff }) {
  const tile = (o) => {
    const slot = (name) => {
      const here = o.at === name && { ready: 'here', 'not ready': 'here down', unknown: 'here unknown' }[o.ready];
      const comes = o.at === 'away' && name === (handoff?.direction === 'Back' ? 'source' : 'destination') && 'between';
      return el('span', { class: `slot ${name} ${here || comes || ''}` });
    };
    const words = [o.at === 'away' ? 'in flight, stopped' : `at the ${o.at}`, o.at !== 'away' && (o.ready === 'unknown' ? 'not known whether available' : o.ready === 'ready' ? 'available' : 'not available'), o.moving && 'being moved'].filter(Boolean).join(', ');
    return el('li', { class: o.moving && 'on', title: `ordinal ${o.ordinal}: ${words}` },
      el('span', { class: 'unseen' }, `ordinal ${o.ordinal}: ${words}`), el('span', { 'aria-hidden': 'true' }, slot('source'), el('span', { class: 'number' }, o.ordinal), slot('destination')));
  };
  const key = [['full', 'available'], ['half', 'not available'], ['dash', 'stopped, in flight'], ['dot', 'not known which']];
  return el('section', { class: 'panel', 'aria-labelledby': 'ordinals-title' }, el('h2', { id: 'ordinals-title' }, 'Ordinals'),
    sideLine('source', sides[0]), el('ul', { class: 'ordinals' }, ordinals.map(tile)), sideLine('destination', sides[1]),
    el('ul', { class: 'key', 'aria-hidden': 'true' }, key.map(([look, words]) => el('li', {}, el('i', { class: look }), words))));
}

function handoffPanel(handoff, steps) {
  const at = steps.findIndex((step) => step.name === handoff.step);
  return el('section', { class: 'panel', 'aria-labelledby': `handoff-${handoff.ordinal}` },
    el('h2', { id: `handoff-${handoff.ordinal}` }, `Ordinal ${handoff.ordinal} is in flight ${handoff.direction === 'Back' ? 'back to the source' : 'to the destination'}, for `, age(handoff.startTime), handoff.attempts > 1 && `, attempt ${handoff.attempts}`),
    handoff.down && el('p', {}, handoff.down.ready ? [`It was down for ${between(handoff.down.since, handoff.down.ready)}, and is Ready for `, age(handoff.down.ready), '.'] : ['It is down for ', age(handoff.down.since), '.']),
    el('ol', { class: 'steps' }, steps.map((step, i) => el('li', { class: i < at ? 'past' : i === at && 'now', 'aria-current': i === at && 'step', title: step.name },
      i < at && el('span', { 'aria-hidden': 'true' }, '✓ '), step.text, i < at && el('span', { class: 'unseen' }, ', done'), i === at && el('span', { class: 'took' }, age(handoff.stepTime ?? handoff.startTime))))));
}

function budgetPanel({ budget, replicas, sides }) {
  const available = sides[0].available + sides[1].available;
  const down = replicas - available;
  return el('section', { class: 'panel', 'aria-labelledby': 'budget-title' }, el('h2', { id: 'budget-title' }, 'Disruption budget'),
    replicas <= 100 && el('div', { class: 'budget', 'aria-hidden': 'true' }, Array.from({ length: replicas }, (_, i) => el('i', { class: i >= available && 'down' }))),
    el('p', {}, `${available} of ${replicas} available; ${budget} may be unavailable at once. `, el('b', {}, down > budget ? `${down - budget} more than that are.` : down === budget ? 'The budget is used up.' : `${budget - down} left.`), ' ', asOf(sides[0])));
}

function askedPanel(gates, hooks) {
  const of = (o) => (o.ordinal == null ? '' : ` ${o.ordinal}`);
  return el('section', { class: 'panel', 'aria-labelledby': 'asked-title' }, el('h2', { id: 'asked-title' }, 'Gates and hooks'),
    table('Gates and hooks', ['What', 'When', 'State', 'Message'], [
      ...gates.map((gate) => [gate.name, gate.at + of(gate), gate.state + (gate.holds ? '' : ' (only warns)'), gate.message ?? '']),
      ...hooks.map((hook) => [hook.name, hook.point + of(hook), hook.state, `${hook.message ?? ''} Job ${hook.job}`]),
    ]));
}

function handoffsPanel({ report, replicas, clients }) {
  const past = report.handoffs.map((h, i) => ({ ...h, saw: clients?.[i] })).filter((h) => h.end);
  if (!past.length) return null;
  const took = (h) => (new Date(h.end) - new Date(h.start)) / 1000, longest = Math.max(...past.map(took), 1);
  const meter = (h) => { const bar = el('span'); bar.style.width = `${Math.max(1, 100 * took(h) / longest)}%`; return el('div', { class: 'meter', 'aria-hidden': 'true' }, bar); };
  const down = (h) => (h.stayed ? 'not stopped' : h.downSeconds == null ? 'not known' : span(h.downSeconds) + (h.outcome === 'TurnedBack' ? ' until then' : ''));
  const soak = (h) => (h.soakSeconds == null ? '' : span(h.soakSeconds));
  const line = (h) => [h.ordinal, h.direction === 'Back' ? 'back' : 'there', (h.outcome === 'TurnedBack' ? 'turned back ' : '') + whole(h.end), [span(took(h)), meter(h)], down(h), soak(h), h.fewestAvailable == null ? 'not known' : `${h.fewestAvailable} of ${replicas}`, h.attempts || 'not known', ...(clients ? [h.saw] : [])];
  return el('section', { class: 'panel', 'aria-labelledby': 'handoffs-title' }, el('h2', { id: 'handoffs-title' }, 'Measured handoffs'),
    report.droppedHandoffs > 0 && el('p', { class: 'faint' }, `The first ${report.droppedHandoffs} are not listed any more.`),
    table('Measured handoffs', ['Ordinal', 'Way', 'Available again', 'Took', 'Down', 'Ready before it counted', 'Fewest available', 'Attempts', ...(clients ? ['Clients'] : [])], past.toReversed().map(line)));
}

function stopsPanel(report) {
  if (!report.stops.length) return null;
  const line = (s) => [`${whole(s.start)}`, s.end ? between(s.start, s.end) : [age(s.start), ' so far'], s.reason, s.ordinal ?? 'none', s.message ?? ''];
  return el('section', { class: 'panel', 'aria-labelledby': 'stops-title' }, el('h2', { id: 'stops-title' }, 'Times in which it did not go on'),
    report.droppedStops > 0 && el('p', { class: 'faint' }, `The first ${report.droppedStops} are not listed any more.`),
    table('Stops', ['From', 'Length', 'Reason', 'Ordinal', 'Message'], report.stops.toReversed().map(line)));
}

/** counts are what was read for a seal; of a snapshot nothing was, and none of both is said of what has none. */
function counts(seal) {
  return seal.root.startsWith('snapshot:') ? ['not read', 'not read', 'a snapshot'] : [seal.bytes ?? 0, seal.files ?? 0, seal.verify ?? 'Full'];
}

function morePanel({ report, where }) {
  const panel = (title, body) => el('details', { class: 'panel' }, el('summary', {}, title), body);
  return [
    report.warnings?.length && panel(`Warnings before the first write (${report.warnings.length})`, table('Warnings', ['Reason', 'Object', 'Message', 'Remedy'], report.warnings.map((w) => [w.reason, w.object ?? '', w.message, w.remedy ?? '']))),
    report.seals?.length && panel(`Seals of volumes (${report.seals.length})`, [
      report.droppedSeals > 0 && el('p', { class: 'faint' }, `The first ${report.droppedSeals} are not listed any more.`),
      table('Seals', ['Ordinal', 'Claim template', 'Way', 'Available', 'Bytes', 'Files', 'Shown by', 'Digest'], report.seals.toReversed().map((s) => [s.ordinal, s.claimTemplate, s.direction === 'Back' ? 'back' : 'there', whole(s.time), ...counts(s), s.root]))]),
    report.drivers.length > 0 && panel('Processes', table('Drivers', ['Epoch', 'From', 'Process', 'Direction'], report.drivers.toReversed().map((d) => [d.epoch, whole(d.start), d.holder, d.direction]))),
    report.conditions?.length && panel('Conditions', table('Conditions', ['Type', 'Status', 'Since', 'Reason', 'Message'], report.conditions.map((c) => [c.type, c.status, whole(c.lastTransitionTime), c.reason, c.message ?? '']))),
    el('p', { class: 'faint' }, `Kept in ${where}. Times are those of the process that drives.`),
  ];
}

/** load fetches a document and puts it where the returned element is. */
function load(at, name) {
  const box = el('div', { 'aria-busy': 'true' }, el('p', { class: 'empty' }, at.view === 'plan' ? 'Reading both sides, and planning …' : 'Making the report …'));
  call(`api/${at.key}/${at.view}`).then((response) => response.json()).then((made) => box.replaceChildren(...written(made, at, name)))
    .catch((error) => box.replaceChildren(el('p', { class: 'panel' }, error.message))).finally(() => box.removeAttribute('aria-busy'));
  return box;
}

function written(made, at, name) {
  const again = el('button', { type: 'button', click: () => box.replaceWith(load(at, name)) }, 'Make it again');
  const save = at.view === 'report' && el('button', { type: 'button', click: () => download(`api/${at.key}/report?format=html`, `${name}.html`) }, 'Save as a file');
  const box = el('div', {}, documentOf(made, again, ' ', save));
  return [box];
}

/** documentOf is a document, with its actions. */
function documentOf(made, ...actions) {
  return [
    el('div', { class: 'bar' }, el('p', {}, made.lead), el('div', { class: 'actions' }, actions)),
    summary(made),
    made.checks && checks(made.checks),
    (made.sections ?? []).map((s) => section(s, s.Rows)),
    el('p', { class: 'faint' }, made.note),
  ];
}

/** summary is the facts of a document, and its timeline. */
export const summary = ({ facts, image }) => el('section', { class: 'panel' }, el('dl', { class: 'facts' }, (facts ?? []).map((f) => fact(f.Name, f.Value))),
  image && el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Timeline' }, picture(image)));

/** section is a table of a document, with the rows that are given. */
export const section = ({ Title, Text, Head }, rows) => el('section', { class: 'panel' }, el('h2', {}, Title), Text && el('p', {}, Text), rows?.length > 0 && table(Title, Head, rows));

function checks({ groups, passed, warned, failed, skipped }) {
  const lines = groups.flatMap((group) => group.checks.filter((check) => check.verdict !== 'pass').map((check) => [group.group, check.check, check.verdict,
    (check.findings ?? []).map((f) => el('p', {}, el('b', {}, f.reason), `: ${f.message}`, f.remedy && [el('br'), 'What to do: ', remedy(f)]))]));
  return el('section', { class: 'panel' }, el('h2', {}, 'Checks before the first write'), el('p', {}, `${passed} passed, ${warned} warned, ${failed} failed${skipped ? `, ${skipped} could not run because of earlier failures` : ''}.`),
    lines.length > 0 && table('Checks', ['Group', 'Check', 'Verdict', 'Message'], lines));
}

// The timeline comes as text. It is parsed as an image, where no script runs; its style becomes a sheet of its own, because
// the policy of the page allows none within a text.
const timeline = globalThis.trustedTypes?.createPolicy('timeline', { createHTML: (text) => text }) ?? { createHTML: (text) => text };

function picture(text) {
  const styles = [];
  const bare = text.replace(/<style>([^<]*)<\/style>/g, (_, style) => { styles.push(style); return ''; });
  const image = document.importNode(new DOMParser().parseFromString(timeline.createHTML(bare), 'image/svg+xml').documentElement, true);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`:host{display:block;min-width:44rem}svg{width:100%;height:auto}${styles.join('')}`);
  const host = el('div');
  const root = host.attachShadow({ mode: 'open' });
  root.adoptedStyleSheets = [sheet];
  root.append(image);
  return host;
}

export async function download(path, name) {
  const file = await (await call(path)).blob();
  const link = el('a', { href: URL.createObjectURL(file), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const labels = { pause: 'Pause', resume: 'Resume', rollback: 'Roll back' };

/** act asks once more, and then has it done. */
export function act(verb) {
  const { detail } = world;
  const action = detail?.actions.find((one) => one.verb === verb);
  if (!action) return;
  if (action.refused) return say(`${labels[verb]}: ${action.refused}`);
  const box = byId('dialog');
  const typed = action.typed && el('input', { id: 'typed', autocomplete: 'off', spellcheck: 'false', input: () => { go.disabled = typed.value !== detail.name; }, keydown: (event) => { if (event.key === 'Enter') go.click(); } });
  const why = el('p', { role: 'alert' });
  const go = el('button', { type: 'button', id: 'go', class: verb === 'rollback' ? 'danger' : 'strong', disabled: action.typed, autofocus: !action.typed, click: async () => {
    go.disabled = true;
    try {
      await call(`api/${detail.key}/act`, { method: 'POST', body: JSON.stringify({ verb, uid: detail.uid, confirmed: typed ? typed.value : detail.name }) });
      box.close();
      say(`${labels[verb]}: it was asked for`);
    } catch (error) {
      why.textContent = error.message;
      go.disabled = false;
    }
  } }, labels[verb]);
  box.replaceChildren(el('h2', { id: 'dialog-title' }, `${labels[verb]} ${detail.namespace}/${detail.name}?`), el('p', {}, action.text),
    typed && el('label', {}, `Type ${detail.name} to confirm it`, typed), why,
    el('div', { class: 'actions' }, el('button', { type: 'button', click: () => box.close() }, 'Cancel'), go));
  box.showModal();
}
