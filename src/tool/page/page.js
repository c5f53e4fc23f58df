/*
 * The page's script: sorts and filters tables, hides methods, and has the charts of page_chart.js drawn. Every figure is in
 * the tables, so the page can be read without it. Texts are only ever set as textContent, never as markup.
 */
const all = (css, at) => [...(at || document).querySelectorAll(css)];
const add = (parent, tag, attributes, text) => {
    const space = parent.namespaceURI;
    const e = document.createElementNS(tag === 'svg' ? 'http://www.w3.org/2000/svg' : space, tag);
    for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    return parent.appendChild(e);
};
const sizes = {ns: 1e-9, us: 1e-6, ms: 1e-3, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12};
const number = cell => {
    const text = cell.dataset.v || cell.textContent;
    return text === 'any' ? Infinity : text === 'no' ? 0 : parseFloat(text) * (sizes[text.split(' ')[1]] || 1);
};
const isShown = row => !row.hidden;
const setting = row => row.title || document.querySelector(`#settings tr[data-i="${row.dataset.i}"] td`)?.textContent;

/* ---- tables ---- */

const tables = all('table[data-rows]').map(table => ({
    table, body: table.tBodies[0], rows: [...table.tBodies[0].rows], words: [],
    heads: [...table.tHead.rows[0].cells],
}));
const looks = new Map(); /* of a method: its colour, its mark, and the box that shows or hides it */
for (const chip of all('#shown label'))
    looks.set(chip.dataset.m, {colour: chip.style.getPropertyValue('--c'), mark: +chip.dataset.p, box: chip.control});
const look = row => looks.get(row.dataset.m) || {colour: 'var(--text)', mark: 7};

function sortBy(t, i) {
    const head = t.heads[i], numbers = head.classList.contains('n');
    const now = head.getAttribute('aria-sort');
    const order = now ? (now === 'ascending' ? 'descending' : 'ascending') : numbers ? 'descending' : 'ascending';
    const sign = order === 'ascending' ? 1 : -1;
    const key = row => numbers ? number(row.cells[i]) : row.cells[i].textContent;
    const isMissing = k => numbers ? Number.isNaN(k) : k === '-';
    const keyed = t.rows.map(row => [key(row), row]);
    keyed.sort(([a], [b]) => isMissing(a) - isMissing(b) || (isMissing(a) || a === b ? 0
        : sign * (numbers ? (a < b ? -1 : 1) : a.localeCompare(b, 'en', {numeric: true}))));
    t.heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', order);
    t.body.append(...keyed.map(([, row]) => row));
}

/* A word of a filter: "topk" is a part of the row's text, "ratio>10" and "rell2<0.3" compare a column. */
function makeTest(t, word) {
    const compared = /^(.+?)([<>])([-+.\deE]+)$/.exec(word);
    const plain = head => head.textContent.replace(/\s/g, '').toLowerCase();
    const i = compared ? t.heads.findIndex(h => plain(h) === compared[1].toLowerCase()) : -1;
    if (i >= 0)
        return row => compared[2] === '<' ? number(row.cells[i]) < +compared[3] : number(row.cells[i]) > +compared[3];
    return row => row.textContent.toLowerCase().includes(word.toLowerCase());
}

function apply() {
    for (const t of tables) {
        const tests = t.words.map(word => makeTest(t, word));
        for (const row of t.rows) {
            const known = looks.get(row.dataset.m);
            row.hidden = Boolean(known && !known.box.checked) || !tests.every(test => test(row));
        }
        const count = t.rows.filter(isShown).length;
        if (t.note) t.note.textContent = count < t.rows.length ? `${count} of ${t.rows.length} rows` : '';
    }
    charts.forEach(draw);
}

for (const t of tables) {
    t.heads.forEach((head, i) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener('click', () => sortBy(t, i));
    });
    if (t.rows.length < 6) continue;
    const bar = document.createElement('p');
    bar.className = 'bar';
    const label = add(bar, 'label', {}, 'Filter ');
    const input = add(label, 'input', {type: 'search', size: 24, placeholder: 'topk ratio>10'});
    t.note = add(bar, 'span', {role: 'status'});
    input.addEventListener('input', () => { t.words = input.value.split(/\s+/).filter(Boolean); apply(); });
    t.table.parentNode.before(bar);
}

/* ---- the whole page ---- */

const charts = all('figure.chart').map(makeChart).filter(Boolean);
const shown = document.getElementById('shown');
if (shown) {
    const boxes = all('input', shown);
    shown.hidden = false;
    shown.addEventListener('change', apply);
    all('button', shown).forEach(button => button.addEventListener('click', () => {
        boxes.forEach(box => { box.checked = button.value === 'all'; });
        apply();
    }));
}
let opened = []; /* what is folded is printed too */
addEventListener('beforeprint', () => { opened = all('details:not([open])'); opened.forEach(d => { d.open = true; }); });
addEventListener('afterprint', () => opened.forEach(d => { d.open = false; }));
apply();
