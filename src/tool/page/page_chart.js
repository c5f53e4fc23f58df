/* Draws the charts of the page from the cells of its tables. page.js follows in the same script. */
'use strict';

const units = {s: [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']],
               B: [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]};
const digits = v => String(+v.toPrecision(3));
function say(v, unit) {
    if (unit === 'date') return new Date(v * 1000).toISOString().slice(0, 16).replace('T', ' ');
    const step = (units[unit] || []).find(([size]) => Math.abs(v) >= size * 0.9995);
    return step && v ? `${digits(v / step[0])} ${step[1]}` : digits(v);
}

/* Ends of an axis, its ticks, and where a value is on it, from 0 to 1. */
function makeAxis(values, log, unit) {
    if (unit === 'date') { /* runs are equally far apart */
        const runs = [...new Set(values)].sort((p, q) => p - q);
        return {at: v => (runs.indexOf(v) + 0.5) / runs.length, unit, ticks: runs};
    }
    let low = Math.min(...values), high = Math.max(...values);
    const ticks = [], f = log ? Math.log10 : v => v;
    const room = (f(high) - f(low)) * 0.05 || (log ? 0.3 : Math.abs(low) * 0.1 || 1);
    const a = f(low) - room, b = f(high) + room;
    if (log) {
        const span = b - a, steps = span < 1.2 ? [1, 2, 3, 4, 5, 6, 8] : span < 3 ? [1, 2, 5] : [1];
        const every = Math.ceil(span / 8);
        for (let d = Math.floor(a); d <= b; d++)
            for (const s of d % every ? [] : steps) ticks.push(s * 10 ** d);
    } else {
        const raw = (b - a) / 6, power = 10 ** Math.floor(Math.log10(raw));
        const step = [1, 2, 5, 10].find(s => s * power >= raw) * power;
        for (let k = Math.ceil(a / step); k * step <= b; k++) ticks.push(k * step);
    }
    return {at: v => (f(v) - a) / (b - a), unit, ticks: ticks.filter(v => f(v) >= a && f(v) <= b)};
}

/* gnuplot's numbers of marks as paths of about 4 pixels; odd numbers are filled. */
const shapes = {1: 'M-4 0H4M0-4V4', 2: 'M-3-3L3 3M3-3L-3 3', 3: 'M-4 0H4M0-4V4M-3-3L3 3M3-3L-3 3',
    4: 'M-3.5-3.5h7v7h-7z', 6: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z', 8: 'M0-4.5L4.5 3.5h-9z',
    10: 'M0 4.5L4.5-3.5h-9z', 12: 'M0-5L5 0L0 5L-5 0z', 14: 'M0-4.5L4.3-1.4L2.6 3.6h-5.2L-4.3-1.4z'};
const shapeOf = mark => shapes[mark < 4 ? mark : mark - mark % 2] || shapes[6];

const left = 70; /* room for the numbers and the name of the axis that goes up */
const short = text => text.length > 28 ? text.slice(0, 26) + '...' : text;

function addChoice(chart, words, options, chosen, change) {
    const select = add(add(chart.bar, 'label', {}, words + ' '), 'select');
    options.forEach(([value, text]) => add(select, 'option', {value}, text));
    select.value = chosen;
    select.addEventListener('change', () => { change(select.value); draw(chart); });
}

function makeChart(figure) {
    const t = tables.find(x => x.table.id === figure.dataset.of);
    const column = name => t.heads.findIndex(h => h.dataset.f === name);
    const chart = {figure, t, hold: [], x: column(figure.dataset.x), y: column(figure.dataset.y), error: column('error_of_mean'),
                   lines: 'lines' in figure.dataset, points: [], at: -1};
    if (chart.x < 0 || chart.y < 0) return null;
    chart.bar = add(figure, 'p', {class: 'bar'});
    const axes = t.heads.map((h, i) => [i, h.textContent]).filter(([i]) => t.heads[i].classList.contains('n'));
    addChoice(chart, 'Up', axes, chart.y, v => { chart.y = +v; });
    addChoice(chart, 'across', axes, chart.x, v => { chart.x = +v; });
    for (const name of (figure.dataset.hold || '').split(' ')) {
        const i = column(name), places = new Map(); /* each value of the column, and where its rows are across */
        if (i < 0) continue;
        for (const row of t.rows) {
            const text = row.cells[i].textContent;
            places.set(text, (places.get(text) || new Set()).add(row.cells[chart.x].textContent));
        }
        if (places.size < 2) continue;
        const held = {i, value: [...places].sort((a, b) => b[1].size - a[1].size)[0][0]};
        chart.hold.push(held);
        addChoice(chart, t.heads[i].textContent, [...places.keys()].map(k => [k, short(k)]), held.value,
            v => { held.value = v; });
    }
    chart.box = add(figure, 'div', {class: 'box'});
    chart.note = add(figure, 'p', {class: 'note'});
    chart.tip = add(chart.box, 'div', {class: 'tip', role: 'status', hidden: ''});
    new ResizeObserver(() => {
        if (chart.width !== chart.box.clientWidth) draw(chart);
    }).observe(chart.box);
    return chart;
}

/* The rows that a chart shows, as series of points. */
function collect(chart, width, height) {
    const {t, x, y} = chart, series = new Map();
    const rows = t.rows.filter(row => isShown(row) && Number.isFinite(number(row.cells[x])) &&
        Number.isFinite(number(row.cells[y])) && chart.hold.every(h => row.cells[h.i].textContent === h.value));
    const axis = i => {
        const all = rows.map(row => number(row.cells[i])), unit = t.heads[i].dataset.u;
        const values = all.filter(v => v > 0), low = Math.min(...values);
        const log = unit !== 'date' && Math.min(...all) >= 0 && Math.max(...values) > 15 * low;
        return makeAxis(log ? values : all, log, unit);
    };
    chart.points = [];
    chart.note.textContent = '';
    if (!rows.length) return series;
    [chart.across, chart.up] = [axis(x), axis(y)];
    const out = rows.filter(row => !Number.isFinite(chart.across.at(number(row.cells[x]))) ||
        !Number.isFinite(chart.up.at(number(row.cells[y]))));
    if (out.length)
        chart.note.textContent = 'Not on a logarithmic axis, because a value is 0: ' +
            [...new Set(out.map(row => row.cells[0].textContent))].slice(0, 9).join(', ') + '.';
    for (const row of rows.filter(row => !out.includes(row))) {
        const label = row.cells[0].textContent, key = chart.lines ? label : row.dataset.m || label;
        const point = {row, label, look: look(row), x: left + chart.across.at(number(row.cells[x])) * (width - left - chart.side),
                       y: 10 + (1 - chart.up.at(number(row.cells[y]))) * (height - 56)};
        if (!series.has(key)) series.set(key, []);
        series.get(key).push(point);
        chart.points.push(point);
    }
    series.forEach(points => points.sort((a, b) => a.x - b.x));
    chart.points.sort((a, b) => a.x - b.x || a.y - b.y);
    return series;
}

function drawAxes(chart, svg, width, height) {
    const {t, across, up} = chart, foot = height - 46, g = add(svg, 'g', {class: 'axes'});
    let end = -Infinity;
    const names = t.heads.findIndex(h => across.unit === 'date' && h.dataset.f === 'git_revision'), revision = {};
    if (names > 0) chart.points.forEach(({row}) => { revision[number(row.cells[chart.x])] = row.cells[names].textContent; });
    for (const v of across.ticks) {
        const x = left + across.at(v) * (width - left - chart.side), text = say(v, across.unit), half = text.length * 3.3;
        add(g, 'path', {d: `M${x} 10V${foot}`});
        if (x - half < end + 8 || x + half > width) continue;
        add(g, 'text', {x, y: foot + 16, 'text-anchor': 'middle'}, text);
        if (revision[v]) add(g, 'text', {x, y: foot + 30, 'text-anchor': 'middle'}, revision[v]);
        end = x + half;
    }
    end = Infinity;
    for (const v of up.ticks) {
        const y = 10 + (1 - up.at(v)) * (height - 56);
        add(g, 'path', {d: `M${left} ${y}H${width - chart.side}`});
        if (y > end - 14) continue;
        add(g, 'text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, say(v, up.unit));
        end = y;
    }
    add(g, 'text', {x: (width + left - chart.side) / 2, y: height - (names > 0 ? 2 : 8), 'text-anchor': 'middle', class: 'name'},
        t.heads[chart.x].textContent + (names > 0 ? ' and revision' : ''));
    add(g, 'text', {x: -(foot + 10) / 2, y: 12, transform: 'rotate(-90)', 'text-anchor': 'middle', class: 'name'},
        t.heads[chart.y].textContent);
}

/* Names the series in a column beside the ends of their lines, in the order of the ends; or below, if there is no room. */
function nameEnds(chart, svg, series, width, height) {
    const names = [...series.values()].map(points => points[points.length - 1]).sort((a, b) => a.y - b.y);
    const errorOf = p => chart.error > 0 ? `, error ${p.row.cells[chart.error].textContent}` : '';
    const beside = chart.side > 16, step = beside ? Math.min(13, (height - 20) / names.length) : 16;
    names.forEach((p, i) => {
        p.end = beside ? Math.max(p.y, 10 + i * step, i ? names[i - 1].end + step : 0) : height + 14 + i * step;
    });
    for (let i = names.length - 1, last = height - 8; beside && i >= 0; i--)
        last = (names[i].end = Math.min(names[i].end, last)) - step;
    for (const p of names) {
        const x = beside ? width - chart.side + 14 : 60, style = `--c:${p.look.colour}`;
        if (beside) add(svg, 'path', {d: `M${p.x} ${p.y}L${x - 8} ${p.end}`, class: 'lead', style});
        add(svg, 'path', {d: shapeOf(p.look.mark), class: 'mark key', style, transform: `translate(${x} ${p.end}) scale(.7)`});
        add(svg, 'text', {x: x + 7, y: p.end + 4, class: 'label', 'font-size': Math.min(12, step * 0.95)},
            (beside ? short(p.label) : p.label) + errorOf(p));
    }
    if (!beside) svg.setAttribute('viewBox', `0 0 ${width} ${height + 12 + names.length * step}`);
}

/* Names a series beside its last point, where no mark and no other name is in the way. */
function nameSeries(chart, svg, points, taken, width, height) {
    const p = points[points.length - 1], text = short(points.length === 1 ? p.label : p.row.dataset.m);
    const w = text.length * 7;
    for (const [dx, dy] of [[8, 4], [-6 - w, 4], [-w / 2, -9], [-w / 2, 18], [6, -8], [6, 16]]) {
        const box = {x: p.x + dx, y: p.y + dy - 10, w, h: 13};
        if (box.x < left + 2 || box.x + w > width - 2 || box.y < 4 || box.y > height - 60) continue;
        if (taken.some(o => o !== p && box.x < o.x + (o.w || 5) && o.x - (o.w ? 0 : 5) < box.x + w &&
                box.y < o.y + (o.h || 5) && o.y - (o.h ? 0 : 5) < box.y + 13)) continue;
        taken.push(box);
        add(svg, 'text', {x: box.x, y: box.y + 10, class: 'label', style: `--c:${p.look.colour}`}, text);
        return;
    }
}

function draw(chart) {
    const width = chart.width = chart.box.clientWidth, height = Math.max(260, Math.min(440, width * 0.5));
    hide(chart);
    chart.svg?.remove();
    chart.svg = null;
    if (!width) return;
    chart.side = chart.lines && width > 600 ? (chart.error > 0 ? 300 : 210) : 16; /* room on the right, for names of lines */
    const series = collect(chart, width, height);
    const svg = chart.svg = add(chart.box, 'svg', {viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: 'img',
        'aria-label': `${chart.t.heads[chart.y].textContent} over ${chart.t.heads[chart.x].textContent}, ` +
            `${chart.points.length} points; arrow keys read them`});
    if (!series.size) {
        add(svg, 'text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, 'Every row is hidden.');
        return;
    }
    drawAxes(chart, svg, width, height);
    for (const points of series.values()) {
        const base = points[0].row.className.includes('baseline'), style = `--c:${points[0].look.colour}`;
        if (points.length > 1)
            add(svg, 'path', {d: 'M' + points.map(p => `${p.x} ${p.y}`).join('L'), class: base ? 'line base' : 'line',
                              style});
    }
    for (const p of chart.points) {
        const few = chart.points.length < 150;
        p.mark = add(svg, 'path', {d: shapeOf(p.look.mark), class: p.look.mark % 2 && p.look.mark > 3 ? 'mark' : 'mark open',
            transform: `translate(${p.x} ${p.y})${few ? '' : ' scale(.6)'}`, style: `--c:${p.look.colour}`});
    }
    const taken = chart.points.slice(0, 2000);
    if (chart.lines) nameEnds(chart, svg, series, width, height);
    else for (const points of series.values()) nameSeries(chart, svg, points, taken, width, height);
    svg.addEventListener('pointermove', e => {
        const box = svg.getBoundingClientRect();
        let best = -1, least = 30 * 30;
        chart.points.forEach((p, i) => {
            const d = (p.x - e.clientX + box.left) ** 2 + (p.y - e.clientY + box.top) ** 2;
            if (d < least) [best, least] = [i, d];
        });
        best < 0 ? hide(chart) : show(chart, best);
    });
    svg.addEventListener('pointerleave', () => hide(chart));
    svg.addEventListener('blur', () => hide(chart));
    svg.addEventListener('keydown', e => {
        const steps = {ArrowRight: 1, ArrowLeft: -1}[e.key];
        if (e.key === 'Escape') hide(chart);
        if (!steps) return;
        e.preventDefault();
        show(chart, chart.at < 0 && steps < 0 ? chart.points.length - 1
            : (chart.at + steps + chart.points.length) % chart.points.length);
    });
}

function hide(chart) {
    chart.points[chart.at]?.mark?.classList.remove('hot');
    chart.at = -1;
    chart.tip.hidden = true;
}

/* Shows the row of a point: its name, its setting and the columns that have a value. */
function show(chart, i) {
    const p = chart.points[i], tip = chart.tip;
    if (i === chart.at) return;
    hide(chart);
    chart.at = i;
    p.mark.classList.add('hot');
    tip.replaceChildren();
    add(tip, 'b', {}, p.label);
    if (setting(p.row) && setting(p.row) !== p.label) add(tip, 'p', {}, setting(p.row));
    const same = chart.points.filter(o => o !== p && Math.hypot(o.x - p.x, o.y - p.y) < 3).map(o => o.label);
    if (same.length) add(tip, 'p', {}, 'also here: ' + same.slice(0, 5).join(', '));
    const list = add(tip, 'dl');
    chart.t.heads.forEach((head, k) => {
        const text = p.row.cells[k].textContent;
        if (!k || text === '-' || text.length > 60) return;
        add(list, 'dt', {}, head.textContent);
        add(list, 'dd', {}, text);
    });
    tip.hidden = false;
    const at = p.x > chart.width / 2 ? p.x - tip.offsetWidth - 14 : p.x + 14;
    tip.style.left = `${Math.max(0, Math.min(at, chart.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, p.y - tip.offsetHeight / 2)}px`;
}
