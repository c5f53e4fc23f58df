/*
 * Makes the report page from its data, which page.c writes: the rows of the files by column, what
 * their fields mean, the baselines, and the pictures. Texts from the files are set as text,
 * never as markup.
 */
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

const all = (css, at) => [...(at || document).querySelectorAll(css)];
/* Appends an element to `parent`, and returns it. */
function add(parent, tag, attributes, text) {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    return parent.appendChild(e);
}
const fold = (parent, summary) => {
    const e = add(parent, 'details');
    add(e, 'summary', {}, summary);
    return e;
};
const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
const baseName = path => path.slice(path.lastIndexOf('/') + 1) || path;
/* Appends a text whose parts between backticks become code. */
const addProse = (parent, text) => text.split('`')
    .forEach((part, i) => i % 2 ? add(parent, 'code', {}, part) : parent.append(part));
const count = (list, test) => list.filter(test).length;
const differs = (list, field) => list.some(row => row[field] !== list[0][field]);
const has = (list, field) => list.some(row => row[field] !== undefined);

/* ---- rows ---- */

/* Returns the rows of a record as objects, without the fields that are null. */
function readRows(record) {
    const {count, columns} = data.records[record];
    return Array.from({length: count}, (_, i) => {
        const row = {};
        for (const [field, column] of Object.entries(columns)) {
            const value = column.each ? column.each[i] : column.all;
            if (value !== null) row[field] = value;
        }
        return row;
    });
}

const rows = {};
for (const record of Object.keys(data.records)) rows[record] = readRows(record);
const runOf = row => rows.environment[row.page_run - 1];
const dateOf = row => runOf(row)?.date || '';
const timed = run => [...rows.summary, ...rows.kernel].some(row => runOf(row) === run);

/* Marks the rows of a case that ran again at a later date. */
function markOlder() {
    const newest = new Map();
    const keyOf = ({spec, file = '', scope, device, isa, cache, threads}) =>
        JSON.stringify([spec, baseName(file), scope, device, isa, cache, threads]);
    const dated = rows.summary.filter(row => row.spec && dateOf(row));
    for (const row of dated)
        if (dateOf(row) > (newest.get(keyOf(row)) || '')) newest.set(keyOf(row), dateOf(row));
    for (const row of dated) row.older = dateOf(row) !== newest.get(keyOf(row));
}
markOlder();

/* A way is a method with its parameters; the bar is the fastest of fp32, fp16 and bf16. If there
 * are more than 8 ways, folds the rows of each way that no answer names and that is never the
 * bar. */
const isNamed = row => row.advice || (row.baseline && row.speedup_bar >= 1);
const named = new Set(rows.payoff.filter(isNamed).map(row => row.spec));
if (new Set(rows.payoff.map(row => row.spec)).size > 8)
    for (const row of rows.payoff) row.unnamed = !named.has(row.spec);

/* The rank of a row, by which tables are sorted. 0: a failed comparison or promise. 1: a row to
 * look at. 2: a row that is folded. */
const quiet = ['SAME', 'AMBIGUOUS', 'NOT-COMPARED', 'kept'];
const rank = row => row.fails || row.status === 'broken' ? 0
    : row.older || row.unnamed || quiet.includes(row.verdict) || quiet.includes(row.status) ? 2 : 1;
for (const list of Object.values(rows)) list.sort((a, b) => rank(a) - rank(b));
const newestRuns = () => [...rows.environment]
    .sort((a, b) => (b.date || '').localeCompare(a.date || '', 'en'));
const newestFirst = (a, b) => dateOf(b).localeCompare(dateOf(a), 'en') || b.page_run - a.page_run;

/* ---- numbers ---- */

/* Writes a number as gcb_number in src/tool/rows/number.c does, except that an exponent has no
 * leading zero. */
function digits(v, n) {
    const size = Math.abs(v);
    if (v !== 0 && (size >= 1e7 || size < 1e-3)) return v.toExponential(n - 1);
    return v.toFixed(size >= 1 ? Math.max(0, n - 1 - Math.floor(Math.log10(size))) : n);
}
/* Writes a value in the first unit that fits, otherwise in the last one. The next unit is `step`
 * times as large. */
function scaled(v, step, units, write) {
    const most = step > 1 ? 999.5 : Infinity, least = step > 1 ? 0 : 0.9995;
    let i = 0;
    for (; i < units.length - 1 && (v >= most || v < least); i++) v /= step;
    return `${write(v, i)} ${units[i]}`;
}
const shows = {
    number: v => v === 0 ? '0' : digits(v, Math.abs(v) < 0.1 && Math.abs(v) >= 1e-3 ? 4 : 3),
    count: v => v < 1e7 ? String(v) : `${(v / 1e6).toFixed(1)} M`,
    error: v => v === 0 ? '0' : digits(v, Math.abs(v) < 1e-3 ? 2 : 4),
    cosine: v => digits(v, 4),
    percent: v => v > 0 && v < 0.0005 ? '<0.1 %' : `${(100 * v).toFixed(1)} %`,
    size: v => scaled(v, 1000, ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'],
        (x, i) => x.toFixed(i && x < 99.95 ? 1 : 0)),
    seconds: v => v === 0 ? '0 s' : scaled(v, 0.001, ['s', 'ms', 'us', 'ns'], x => digits(x, 3)),
    'by unit': (v, row) => shows[{seconds: 'seconds', bytes: 'size'}[row.unit] || 'number'](v),
};

/* Returns a column of a table: its title and field, how the field is shown, and what it means. */
function makeColumn(record, column) {
    const [title, field, interval] = Array.isArray(column) ? column : [column, column];
    const {show, meaning, heat} = data.records[record].columns[field] || {};
    return {title, field, interval, show, meaning, heat, numeric: show in shows};
}
const makeColumns = (record, columns) => columns.map(column => makeColumn(record, column));
/* Returns the number in a cell; NaN if there is no number. */
const valueOf = (column, row) => column.numeric ? row[column.field] ?? NaN : NaN;
/* Returns the text of a cell. */
function say(column, row) {
    const value = row[column.field];
    if (value === undefined) return '-';
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    return typeof value === 'number' ? (shows[column.show] || String)(value, row) : String(value);
}

/* Returns the ends of a value's interval. Those of a rate follow from the interval of its time. */
function endsOf(field, row) {
    const time = field.replace(/gbps$/, 'seconds'), work = row[field] * row[time];
    const low = row[`${time}_low`], high = row[`${time}_high`];
    if (field === 'ratio') return [row.low, row.high];
    return time === field ? [low, high] : [work / high, work / low];
}

/* ---- the tables ---- */

const name = ['method', 'page_label'];
const places = [['run', 'page_run'], 'file', 'scope', 'device', 'threads', 'isa', 'cache',
    'status'];

/*
 * The tables in the order of the page. A column is a field, or [title, field], or [title, field,
 * true] if its cells also show an interval. The first column names the row.
 *   needs   only rows with this field are shown
 *   where   true: columns show the fields of `places` in which rows differ, and a line above the
 *           table shows fields of `places` that all rows share
 *   folds   more than 40 rows are folded under a line with this text
 *   quiet   rows of rank 2 are folded under a line with this text
 */
const sections = [
    {
        id: 'verdicts', title: 'Against the base', record: 'verdict',
        intro: 'Failures come first, then changes. All other comparisons are folded.',
        quiet: 'unchanged, inconclusive or not compared',
        columns: [['case', 'label'], 'quantity', 'verdict', 'base', 'new',
            ['new / base', 'ratio', true], 'delta', 'reason', ['next step', 'next']],
    },
    {
        id: 'promises', title: 'What methods promise', record: 'promise', quiet: 'kept',
        intro: 'Checked on these gradients. Broken promises come first, then those that these ' +
            'gradients cannot test.',
        columns: [name, 'promise', ['outcome', 'status'], 'tensor', 'value', ['at most', 'limit'],
            'claim', 'reason'],
    },
    {
        id: 'payoff', title: 'Will compression pay?', record: 'payoff', where: true,
        intro: 'The time of one exchange by each way: measured coding and adding, and a model of ' +
            'the network. First the ways that an answer names, and the bar.',
        folds: 'one for each way and network', quiet: 'of other ways',
        columns: [['way', 'label'], 'kind', ['error', 'error_of_mean'], 'lasting', 'workers',
            ['link Gb/s', 'bandwidth_gbit'], ['sent', 'link_bytes'], ['coding', 'coding_seconds'],
            ['network', 'network_seconds'], ['adding', 'adding_seconds'], ['time', 'seconds'],
            'bar', ['x', 'speedup_bar', true], ['limit', 'speedup_limit'],
            ['x of a step', 'speedup_step'], 'advice'],
    },
    {
        id: 'exchanges', title: 'Measured exchanges', record: 'exchange', where: true,
        intro: 'Real messages between MPI ranks. Every result was compared between ranks.',
        columns: [name, 'collective', 'algorithm', 'workers', ['gradient', 'input_bytes'],
            'messages', ['time', 'seconds', true], ['encode', 'encode_seconds'],
            ['wire', 'wire_seconds'], ['lengths', 'sizes_seconds'], ['sum', 'sum_seconds'],
            ['bus GB/s', 'busbw_gbps'], 'wrong'],
    },
    {
        id: 'truth', title: 'Measured exchanges and their predictions', record: 'measured',
        intro: 'The times of coding and adding are measured; only the network is predicted.',
        columns: [['way', 'label'], 'algorithm', 'workers', ['link Gb/s', 'bandwidth_gbit'],
            ['gradient', 'gradient_bytes'], ['measured', 'measured_seconds', true],
            ['predicted', 'seconds'], ['ratio', 'measured_ratio'], 'bar',
            ['x', 'measured_speedup_bar'], ['predicted x', 'speedup_bar']],
    },
    {
        id: 'methods', title: 'Methods', record: 'summary', where: true, quiet: 'of earlier runs',
        intro: 'Each message was decoded from its own bytes and then compared with the input.',
        columns: [name, 'ratio', ['bits/el', 'bits_per_element'], ['rel L2', 'rel_l2'], 'cosine',
            'collective', ['enc GB/s', 'encode_gbps', true], ['dec GB/s', 'decode_gbps', true],
            ['Pareto', 'pareto'], 'reason'],
    },
    {
        id: 'targets', title: 'At the same target', record: 'summary', where: true,
        needs: 'match_field', quiet: 'of earlier runs',
        columns: [name, ['target', 'match_field'], ['at', 'match_target'],
            ['reached', 'match_reached'], ['bits/el', 'match_bits'], ['rel L2', 'match_error'],
            ['share', 'match_share'], ['rest with', 'match_with'], ['remark', 'match_note']],
    },
    {
        id: 'times', title: 'Times', record: 'summary', where: true, needs: 'encode_seconds',
        quiet: 'of earlier runs',
        columns: [name, ['encode', 'encode_seconds', true], ['fastest', 'encode_seconds_min'],
            ['of reading', 'encode_bandwidth_share'], ['decode', 'decode_seconds', true],
            ['fastest', 'decode_seconds_min'], ['of filling', 'decode_bandwidth_share'],
            ['sum', 'sum_seconds', true], ['sum of 16', 'sum16_seconds'],
            ['stopped by', 'stop_reason']],
    },
    {
        id: 'stages', title: 'Where encoding and decoding spend their time', record: 'summary',
        intro: 'The columns after encode are its stages, and those after decode are its stages.',
        where: true, needs: 'select_seconds', quiet: 'of earlier runs',
        columns: [name, ['encode', 'encode_seconds'], ['transform', 'transform_seconds'],
            ['select', 'select_seconds'], ['quantise', 'quantise_seconds'],
            ['index', 'index_seconds'], ['kernel', 'encode_kernel_seconds'],
            ['transfer', 'encode_transfer_seconds'], ['decode', 'decode_seconds'],
            ['transform', 'decode_transform_seconds'], ['select', 'decode_select_seconds'],
            ['dequantise', 'decode_quantise_seconds'], ['index', 'decode_index_seconds'],
            ['kernel', 'decode_kernel_seconds'], ['transfer', 'decode_transfer_seconds']],
    },
    {
        id: 'bytes', title: 'What the bytes are', record: 'summary', where: true,
        needs: 'wire_bytes', quiet: 'of earlier runs',
        columns: [name, 'messages', ['input', 'input_bytes'], ['sent', 'wire_bytes'],
            ['headers', 'header_bytes'], ['scales', 'scale_bytes'], ['values', 'value_bytes'],
            ['indices', 'index_bytes'], ['raw', 'stored'], ['density asked', 'density_asked'],
            'density', ['nominal bits/el', 'nominal_bits_per_element'],
            ['entropy bits/el', 'entropy0_bits_per_element']],
    },
    {
        id: 'replay', title: 'From step to step', record: 'replay', where: true,
        intro: 'Steps are replayed in order; each worker remembers what it did not send.',
        columns: [name, 'collective', 'steps', 'ratio', ['sent', 'wire_bytes'], 'density',
            ['union', 'union_density'], 'alpha', 'cosine', ['cum error', 'cumulative_error'],
            ['residual', 'residual_norm'], ['stale p50', 'staleness_p50'], ['p99', 'staleness_p99'],
            ['of bound', 'bound_ratio'], ['bound holds', 'bound_holds']],
    },
    {
        id: 'kernels', title: 'Kernels', record: 'kernel',
        columns: ['kernel', 'family', 'isa', 'cache', 'elements', 'status',
            ['time', 'seconds', true], ['GB/s', 'gbps'], ['of bandwidth', 'bandwidth_share'],
            ['times C', 'speedup']],
    },
    {
        id: 'settings', title: 'Every setting', record: 'summary', needs: 'spec',
        quiet: 'of earlier runs',
        columns: [name, ['as given to --method', 'spec']],
    },
];

const facts = [['results', 'page_results'], 'date', 'command', ['gcbench', 'version'],
    ['revision', 'git_revision'], ['build', 'build_type'], ['build id', 'build_id'], 'compiler',
    ['flags', 'compile_flags'], ['processor', 'cpu_model'], ['processors', 'cpus'],
    ['instruction set', 'isa'], 'threads', 'device', ['GPU', 'gpu'], ['GPU driver', 'gpu_driver'],
    ['GPU clock MHz', 'gpu_clock_mhz'], ['memory', 'memory_bytes'], 'kernel', 'governor',
    ['load', 'load1'], ['reads GB/s', 'read_gbps'], ['fills GB/s', 'fill_gbps'],
    ['copies GB/s', 'copy_gbps'], ['memory by threads', 'bandwidths'], 'libraries',
    ['OpenBLAS', 'openblas'], ['OpenBLAS kernel', 'openblas_kernel'], ['inputs', 'input_xxh3']];

/* Makes the table of tensors: a row for each, with its mean error by each method. Shows at most
 * MOST methods. Folds all rows except the SHOWN rows with the largest errors. showRuns uses MOST
 * too. */
const SHOWN = 20, MOST = 8;
function makeTensors() {
    const labels = [...new Set(rows.result.map(row => row.page_label))], tensors = new Map();
    const columns = {tensor: {show: 'name'}}, {rel_l2} = data.records.result.columns;
    for (const row of rows.result) {
        const field = `m${labels.indexOf(row.page_label)}`;
        const of = tensors.get(row.tensor) || {worst: 0};
        columns[field] = {...rel_l2, heat: true};
        of.worst = Math.max(of.worst, row.rel_l2);
        tensors.set(row.tensor, {...of, tensor: row.tensor, [field]: row.rel_l2});
    }
    rows.tensors = [...tensors.values()]
        .sort((a, b) => b.worst - a.worst || (a.tensor < b.tensor ? -1 : 1))
        .map((row, i) => ({...row, older: i >= SHOWN}));
    data.records.tensors = {columns, more: data.records.result.more};
    sections.splice(sections.findIndex(({id}) => id === 'times'), 0, {
        id: 'tensors', title: 'Error by tensor', record: 'tensors',
        intro: 'Relative L2 error of each tensor: the mean over messages. The largest come first.' +
            (labels.length > MOST ? ` ${MOST} of ${labels.length} methods are shown.` : ''),
        quiet: 'tensors with smaller errors',
        columns: ['tensor', ...labels.slice(0, MOST).map((label, i) => [label, `m${i}`])],
    });
}
makeTensors();

/* ---- the top of the page ---- */

function showHead() {
    const main = newestRuns().find(timed) || rows.environment[0];
    const paths = new Set(Object.values(rows).flat().map(row => row.file).filter(Boolean));
    const files = [...paths].map(baseName);
    const named = [...files.slice(0, 3), ...(files.length > 3 ? ['...'] : [])].join(', ');
    const header = add(document.body, 'header');
    document.title = data.title || 'Gradient compression' + (named && `: ${named}`);
    add(header, 'h1', {}, document.title);
    if (!main) return;
    const {version = '', git_revision = '', git_dirty, cpu_model, gpu, date} = main;
    const changed = git_dirty ? ', changed' : '';
    const revision = git_revision && ` (${git_revision.slice(0, 7)}${changed})`;
    add(header, 'p', {class: 'lede'},
        [`gcbench ${version}${revision}`, cpu_model, gpu, date].filter(Boolean).join(', '));
}

function commandOf(row) {
    const [program, first] = runOf(row)?.command || [];
    return first && !first.startsWith('-') ? first : baseName(program || 'results');
}

/* Makes an answer from the rows of comparisons or promises, because regress and verify write none.
 * Without rows there is no answer. */
function countRows(list, bad, words) {
    if (!list.length) return [];
    const failed = count(list, bad), row = [...list].sort(newestFirst)[0];
    return [{row, failed, text: `${failed} of ${list.length} ${words}`}];
}
function readAnswers() {
    const verdicts = word => count(rows.verdict, row => row.verdict === word);
    const order = ({failed}) => failed ? 0 : failed === undefined ? 1 : 2; /* "0 fail" is last */
    return [
        ...rows.answer.map(row => ({row, text: row.answer})),
        ...countRows(rows.verdict, row => row.fails, 'comparisons with the base fail; ' +
            `${count(rows.verdict, row => rank(row) === 1)} more changed, ` +
            `${verdicts('SAME')} are unchanged, ${verdicts('AMBIGUOUS')} are inconclusive and ` +
            `${verdicts('NOT-COMPARED')} were not possible`),
        ...countRows(rows.promise, row => row.status === 'broken', 'promises checked are broken'),
    ].sort((a, b) => order(a) - order(b) || newestFirst(a.row, b.row));
}
function writeAnswer(parent, {text, row, failed}) {
    const source = [commandOf(row), row.page_results, dateOf(row).slice(0, 10)];
    addProse(parent, `${text}. `);
    if (failed) parent.classList.add('bad');
    add(parent, 'small', {}, source.filter(Boolean).join(', '));
}

function showAnswer(main) {
    const section = add(main, 'section', {id: 'answer'}), commands = new Map();
    const answers = readAnswers();
    add(section, 'h2', {}, 'Answer');
    if (answers.length) writeAnswer(add(section, 'p', {class: 'answer'}), answers[0]);
    for (const answer of answers.slice(1)) {
        const command = commandOf(answer.row);
        commands.set(command, [...(commands.get(command) || []), answer]);
    }
    for (const [command, list] of commands) {
        const kind = command === commandOf(answers[0].row) ? 'earlier answer' : 'answer';
        const items = add(fold(section, `${command}: ${plural(list.length, kind)}`), 'ul');
        for (const answer of list) writeAnswer(add(items, 'li'), answer);
    }
}

/* Lists reasons to doubt the figures. */
function showRemarks(main) {
    const runs = rows.environment.filter(timed), list = add(main, 'ul', {class: 'remarks'});
    const remark = (n, of, words) => {
        if (n) add(list, 'li', {}, (n < of ? `${n} of ${of} runs: ` : '') + words);
    };
    const remarkRuns = (test, words) => remark(count(runs, test), runs.length, words);
    remark(count(rows.summary, row => row.status === 'interrupted'), 0,
        'A run was interrupted: rows with the status interrupted cover only the work done before.');
    remarkRuns(run => (run.sanitize || 'none') !== 'none',
        'Built with sanitizers: times mean nothing.');
    remarkRuns(run => (run.build_type || 'release') !== 'release',
        'Not a release build: times mean little.');
    remarkRuns(run => run.load1 > run.cpus / 2, 'The machine was busy at the start (its load was ' +
        'more than half its processors): times may be too long.');
    remarkRuns(run => run.git_dirty,
        'Built from changed files: the revision does not identify the code.');
    remark(differs(rows.summary, 'page_run'), 0,
        'Compare times of different runs only if machine, threads and load are alike.');
    if (!list.children.length) list.remove();
}

/* ---- drawing tables ---- */

const isBaseline = row => row.baseline || Object.hasOwn(data.baselines, row.method);

const tables = []; /* {table, rows: [{row, line}], columns, heads, words of the filter} */

function wideTable(parent, label, attributes) {
    const region = {class: 'wide', tabindex: 0, role: 'region', 'aria-label': label};
    const table = add(add(parent, 'div', region), 'table', attributes);
    return [table, add(add(table, 'thead'), 'tr'), add(table, 'tbody')];
}

/* Long names may break after : and , */
function addName(parent, text) {
    const code = add(parent, 'code');
    text.split(/(?<=[:,])(?=.)/).forEach((part, i) => {
        if (i) add(code, 'wbr');
        code.append(part);
    });
}

function fillCell(cell, column, row) {
    const text = say(column, row), value = row[column.field];
    if (column.show === 'name' && value !== undefined) {
        addName(cell, text);
    } else if (column.show === 'word' && value && !text.includes(' ')) {
        add(cell, 'span', {class: 'w ' + text.toLowerCase().replace(/[^a-z]/g, '')}, text);
    } else {
        addProse(cell, text);
    }
    if (column.heat) cell.style.background = `rgba(213,94,0,${0.45 * Math.min(value || 0, 1)})`;
    const ends = column.interval ? endsOf(column.field, row) : [];
    if (!ends.length || !ends.every(Number.isFinite)) return;
    const [, unit] = text.split(' ');
    const cut = end => end.split(' ')[1] === unit ? end.split(' ')[0] : end;
    add(cell, 'i', {}, ` [${ends.map(v => cut(shows[column.show](v, row))).join(', ')}]`);
}

/* Returns the columns that a table shows: those with a value, and those of `places` in which the
 * rows of the table differ. */
function chooseColumns({record, columns, where}, list) {
    const [first, ...rest] = makeColumns(record, columns);
    const at = makeColumns(record, where ? places : []).filter(c => differs(list, c.field));
    return [first, ...at, ...rest.filter(c => has(list, c.field))];
}

function drawTable(parent, section, list, part) {
    const columns = chooseColumns(section, list);
    const [table, heads, body] = wideTable(parent, section.title, {id: `${section.id}-${part}`});
    const t = {table, columns, words: [], rows: [], heads: []};
    columns.forEach((column, i) => {
        const head = add(heads, 'th', {scope: 'col', 'data-f': column.field});
        if (column.numeric) head.className = 'n';
        if (column.meaning) head.title = column.meaning;
        const button = add(head, 'button', {type: 'button'}, column.title);
        button.addEventListener('click', () => sortBy(t, i));
        t.heads.push(head);
    });
    for (const row of list) {
        const line = add(body, 'tr', {class: isBaseline(row) ? 'baseline' : ''});
        if (row.spec) line.title = row.spec;
        columns.forEach((column, i) => {
            const cell = i ? add(line, 'td') : add(line, 'th', {scope: 'row'});
            const wraps = column.show === 'sentence' || / /.test(row[column.field]);
            if (!column.numeric) cell.className = wraps ? 'x' : 't';
            fillCell(cell, column, row);
        });
        t.rows.push({row, line});
    }
    if (list.length > 5) {
        const bar = document.createElement('p');
        const input = add(add(bar, 'label', {}, 'Filter '), 'input',
            {type: 'search', size: 24, placeholder: 'topk ratio>10'});
        bar.className = 'bar';
        t.note = add(bar, 'span', {role: 'status'});
        input.addEventListener('input', () => {
            t.words = input.value.split(/\s+/).filter(Boolean);
            applyFilters();
        });
        table.parentNode.before(bar);
    }
    tables.push(t);
    return t;
}

/* Sorts by a column: numbers with the largest first, texts from A to Z. Sorting again reverses the
 * order. */
function sortBy(t, i) {
    const head = t.heads[i], column = t.columns[i], {numeric} = column;
    const first = numeric ? 'descending' : 'ascending', then = numeric ? 'ascending' : 'descending';
    const order = head.getAttribute('aria-sort') === first ? then : first;
    const sign = order === 'ascending' ? 1 : -1;
    const compare = (a, b) => numeric ? a - b : a.localeCompare(b, 'en', {numeric: true});
    const keyOf = row => numeric ? valueOf(column, row) : say(column, row);
    const isMissing = key => Number.isNaN(key) || key === '-';
    const keyed = t.rows.map(({row, line}) => [keyOf(row), line]);
    keyed.sort(([a], [b]) => isMissing(a) - isMissing(b) ||
        (isMissing(a) ? 0 : sign * compare(a, b)));
    t.heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', order);
    t.table.tBodies[0].append(...keyed.map(([, line]) => line));
}

/* Returns the test for a word of a filter. "topk" finds rows with this text; "ratio>10" compares a
 * column. */
function makeTest(t, word) {
    const [, title, sign, limit] = /^(.+?)([<>])([-+.\deE]+)$/.exec(word) || [];
    const plain = text => text.replace(/\s/g, '').toLowerCase();
    const column = title && t.columns.find(c => plain(c.title) === plain(title));
    if (column && sign === '<') return ({row}) => valueOf(column, row) < +limit;
    if (column) return ({row}) => valueOf(column, row) > +limit;
    return ({line}) => line.textContent.toLowerCase().includes(word.toLowerCase());
}

/* Hides rows that the filters leave out. */
function applyFilters() {
    for (const t of tables) {
        const tests = t.words.map(word => makeTest(t, word));
        for (const item of t.rows) item.line.hidden = !tests.every(test => test(item));
        const shown = count(t.rows, ({line}) => !line.hidden), all = t.rows.length;
        if (t.note) t.note.textContent = shown < all ? `${shown} of ${all} rows` : '';
    }
}

/* Writes above the table those of `places`, except the run and the status, that all rows share. */
function showCommon(parent, section, list) {
    const shared = makeColumns(section.record, places).filter(c => c.show !== 'word' &&
        c.field !== 'page_run' && list[0][c.field] !== undefined && !differs(list, c.field));
    if (section.where && shared.length)
        add(parent, 'p', {class: 'common'},
            shared.map(c => `${c.title} ${say(c, list[0])}`).join(', '));
}

/* Writes what the columns of a table mean. */
function showMeanings(parent, columns) {
    const list = add(fold(parent, 'What the columns mean'), 'dl', {class: 'help'});
    for (const {title, meaning} of columns.filter(c => c.meaning)) {
        add(list, 'dt', {}, title);
        addProse(add(list, 'dd'), meaning);
    }
}

const listOf = ({record, needs}) => rows[record].filter(row => !needs || row[needs] !== undefined);

/* Draws a section and its table. */
function showSection(main, section) {
    const list = listOf(section), part = add(main, 'section', {id: section.id});
    const isQuiet = row => section.quiet && rank(row) === 2;
    const loud = list.filter(row => !isQuiet(row)), rest = list.filter(isQuiet);
    add(part, 'h2', {}, section.title);
    if (section.intro) add(part, 'p', {}, section.intro);
    showCommon(part, section, list);
    const folded = section.folds && list.length > 40;
    const box = folded ? fold(part, `${list.length} rows: ${section.folds}`) : part;
    const drawn = loud.length ? [drawTable(box, section, loud, 'rows')] : [];
    if (rest.length)
        drawn.push(drawTable(fold(box, `${rest.length} ${section.quiet}`), section, rest, 'quiet'));
    const columns = new Map(drawn.flatMap(t => t.columns).map(c => [c.field, c]));
    showMeanings(box, [...columns.values()]);
    const {more} = data.records[section.record];
    if (more) add(part, 'p', {class: 'note'}, `${more} more rows are in the files.`);
}

/* ---- pictures and runs ---- */

function showPictures(main) {
    const part = add(main, 'section', {id: 'plots'});
    add(part, 'h2', {}, 'Pictures');
    if (data.figures.length) {
        const folded = fold(part, `${plural(data.figures.length, 'picture')} of gcbench plot`);
        const box = add(folded, 'div', {class: 'plots'});
        folded.open = true;
        for (const {title, svg} of data.figures) {
            const figure = add(box, 'figure'); /* a browser runs no script of an image */
            add(figure, 'img', {alt: title, src: 'data:image/svg+xml,' + encodeURIComponent(svg)});
            add(figure, 'figcaption', {}, title);
        }
    }
    const missing = data.figures.length ? 'Some plots are missing' : 'There are no plots';
    if (data.without) add(part, 'p', {class: 'note'}, `${missing}: ${data.without}.`);
}

/* Returns the lines of text for a fact of a run. */
function factOf(column, run) {
    const value = run[column.field];
    if (value === undefined || typeof value !== 'object') return [say(column, run)];
    if (!Array.isArray(value)) return Object.entries(value).map(pair => pair.join(' '));
    if (typeof value[0] === 'string') return [value.join(' ')];
    return value.map(({file, xxh3, threads, read_gbps = 0, fill_gbps = 0, copy_gbps = 0}) =>
        file ? `${file} xxh3 ${xxh3 || '-'}`
            : `${plural(threads, 'thread')}: reads ${shows.number(read_gbps)}, ` +
                `fills ${shows.number(fill_gbps)}, copies ${shows.number(copy_gbps)} GB/s`);
}

function showRuns(main) {
    const part = add(main, 'section', {id: 'source'});
    add(part, 'h2', {}, 'Where this comes from');
    if (!rows.environment.length) {
        add(part, 'p', {}, 'The files do not say: they have no environment row.');
        return;
    }
    const shown = newestRuns().slice(0, MOST);
    const columns = makeColumns('environment', facts).filter(c => has(rows.environment, c.field));
    const [, heads, body] = wideTable(part, 'Runs', {class: 'facts'});
    add(heads, 'td');
    for (const run of shown) add(heads, 'th', {scope: 'col'}, `run ${run.page_run}`);
    for (const column of columns) {
        const line = add(body, 'tr');
        add(line, 'th', {scope: 'row'}, column.title);
        for (const run of shown) {
            const cell = add(line, 'td');
            factOf(column, run).forEach((text, i) => {
                if (i) add(cell, 'br');
                add(cell, column.show === 'name' ? 'code' : 'span', {}, text);
            });
        }
    }
    const older = rows.environment.length - shown.length + data.records.environment.more;
    if (older) add(part, 'p', {class: 'note'}, `${older} older runs are in the files.`);
}

/* ---- the whole page ---- */

function showPage() {
    showHead();
    const main = add(document.body, 'main');
    showAnswer(main);
    showRemarks(main);
    const nav = add(add(main, 'nav', {'aria-label': 'Contents'}), 'ul');
    const shown = sections.filter(section => listOf(section).length);
    if (data.figures.length || data.without) showPictures(main);
    for (const section of shown) showSection(main, section);
    showRuns(main);
    for (const section of all('section', main).slice(1))
        add(add(nav, 'li'), 'a', {href: `#${section.id}`}, section.firstChild.textContent);
}

showPage();
applyFilters();
let opened = []; /* what is folded is printed too */
addEventListener('beforeprint', () => {
    opened = all('details:not([open])');
    opened.forEach(d => { d.open = true; });
});
addEventListener('afterprint', () => opened.forEach(d => { d.open = false; }));
