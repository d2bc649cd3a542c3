(() => {
  const wrong = [];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getBoundingClientRect().right > 0;
  const brief = (e) => e.outerHTML.replace(/\s+/g, ' ').slice(0, 90);
  const nameOf = (e) => (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || document.getElementById(e.getAttribute('aria-labelledby'))?.textContent || e.textContent || '').trim();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);

  if (!document.documentElement.lang) wrong.push('the page has no language');
  if (!document.title.trim()) wrong.push('the page has no title');
  for (const selector of ['header', 'main', '[aria-live]']) if (!document.querySelector(selector)) wrong.push(`there is no ${selector}`);
  if (all('h1').length !== 1) wrong.push(`there are ${all('h1').length} first headings`);
  let level = 1;
  for (const heading of all('main :is(h1, h2, h3, h4)')) {
    const is = Number(heading.tagName[1]);
    if (is > level + 1) wrong.push(`a heading of level ${is} follows one of level ${level}`);
    level = is;
  }
  for (const e of all('a[href], button, input, [role=img], [role=region], dialog[open], nav, section[aria-labelledby]')) if (!nameOf(e)) wrong.push(`no name: ${brief(e)}`);
  for (const e of document.querySelectorAll('[aria-labelledby]')) for (const id of e.getAttribute('aria-labelledby').split(' ')) if (seen(e) && !e.getRootNode().getElementById(id)) wrong.push(`there is no ${id}, which names ${brief(e)}`);
  for (const table of all('table')) {
    if (table.querySelectorAll('thead th[scope=col]').length !== table.rows[1]?.cells.length) wrong.push(`not every column has a heading: ${brief(table)}`);
    if (table.getAttribute('role') !== 'table') wrong.push(`a table that may be shown as cards has no role: ${brief(table)}`);
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (Number(e.getAttribute('tabindex')) > 0) wrong.push(`an order of its own: ${brief(e)}`);
  for (const e of all('main *')) if (e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0) wrong.push(`it scrolls, and cannot be reached by keys: ${brief(e)}`);
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i))) wrong.push(`${id} is there twice`);
  for (const e of all('a[href], button, input')) {
    const box = e.getBoundingClientRect();
    const inText = e.tagName === 'A' && getComputedStyle(e).display === 'inline';
    if (!inText && (box.width < 24 || box.height < 24)) wrong.push(`smaller than a finger, ${Math.round(box.width)} by ${Math.round(box.height)}: ${brief(e)}`);
  }

  // Contrast, by WCAG 2.2: 4.5 to 1, and 3 to 1 for large text.
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1); const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !seen(e) || e.closest('.unseen, :disabled') || (document.querySelector('dialog[open]') && !e.closest('dialog'))) continue;
    const style = getComputedStyle(e), back = behind(e), [a, b] = [light(over(rgba(style.color), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const key = `${style.color} on ${back.map(Math.round)}`;
    if (ratio < least && !told.has(key)) { told.add(key); wrong.push(`contrast ${ratio.toFixed(2)}, ${key}: ${brief(e)}`); }
  }
  return wrong;
})()
