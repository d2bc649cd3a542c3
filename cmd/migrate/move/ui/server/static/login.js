// What a user shows to the page of a manager: a token of theirs. A page of one's own machine has its token from its address.

import { el } from './lib.js';

/** credentials are those of this tab; they are gone when it is closed. */
export const credentials = {
  get token() { return sessionStorage.getItem('token') ?? ''; },
  get namespaces() { return sessionStorage.getItem('namespaces') ?? ''; },
  keep(token, namespaces) { sessionStorage.setItem('token', token); sessionStorage.setItem('namespaces', namespaces); },
  forget() { sessionStorage.removeItem('token'); },
};

/** showLogin asks for a token, and says why. */
export function showLogin(main, why, go) {
  if (main.querySelector('#login')) return;
  const token = el('input', { id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const namespaces = el('input', { id: 'namespaces', autocomplete: 'off', spellcheck: 'false', value: credentials.namespaces, placeholder: 'all' });
  main.replaceChildren(el('form', { id: 'login', class: 'panel login', submit: (event) => { event.preventDefault(); credentials.keep(token.value.trim(), namespaces.value.trim()); go(); } },
    el('h1', {}, 'Moves'), el('p', { role: 'alert' }, why),
    el('label', {}, 'Token', token),
    el('p', { class: 'faint' }, 'One of yours for this cluster, such as ', el('code', {}, 'kubectl create token NAME -n NAMESPACE --duration 1h'), ' prints. It is kept for this tab, and shown to the API server alone.'),
    el('label', {}, 'Namespaces, if you may not see all', namespaces),
    el('div', { class: 'actions' }, el('button', { type: 'submit', id: 'enter', class: 'strong' }, 'Show the moves'))));
  token.focus();
}
