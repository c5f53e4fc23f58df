/*
 * Makes the report page from its data: the rows of the files by column, what their fields mean, the looks of methods and
 * the pictures (page.c). Texts are only ever set as textContent, never as markup.
 */
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

const all = (css, at) => [...(at || document).querySelectorAll(css)];
function add(parent, tag, attributes, text) {
    const space = tag === 'svg' ? 'http://www.w3.org/2000/svg' : parent.namespaceURI;
    const e = document.createElementNS(space, tag);
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
/* Parts between backticks are code. */
const addProse = (parent, text) => text.split('`')
    .forEach((part, i) => i % 2 ? add(parent, 'code', {}, part) : parent.append(part));
const count = (list, test) => list.filter(test).length;
const differs = (list, field) => list.some(row => row[field] !== list[0][field]);
const has = (list, field) => list.some(row => row[field] !== undefined);

/* ---- rows ---- */

/* The rows of a record; fields that are null are left out. */
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

/* Rows of cases that ran at several dates, in their order. Marks all but the newest of each case. */
function makeHistory() {
    const cases = new Map(), history = [];
    for (const row of rows.summary) {
        const key = JSON.stringify([row.spec, baseName(row.file || ''), row.scope, row.device, row.isa, row.cache,
            row.threads]);
        if (row.spec && dateOf(row)) cases.set(key, [...(cases.get(key) || []), row]);
    }
    for (const list of cases.values()) {
        list.sort((a, b) => dateOf(a).localeCompare(dateOf(b), 'en'));
        const newest = dateOf(list[list.length - 1]), first = list[0];
        if (dateOf(first) === newest) continue;
        for (const row of list) {
            const {date, git_revision} = runOf(row), copy = {...row, date};
            if (git_revision) copy.git_revision = git_revision.slice(0, 8);
            for (const [to, from] of [['ratio_change', 'ratio'], ['speed_change', 'encode_gbps']])
                if (Number.isFinite(row[from] / first[from])) copy[to] = row[from] / first[from];
            history.push(copy);
            row.older = date !== newest;
        }
    }
    return history;
}
rows.history = makeHistory();
data.records.history = {columns: {
    ...data.records.summary.columns, ...data.records.environment.columns,
    ratio_change: {show: 'number', meaning: 'its ratio / that of the first run of the case'},
    speed_change: {show: 'number', meaning: 'its speed of encoding / that of the first run of the case'},
}};

/* Of many ways, those that no answer names and that are never the bar are folded. */
function foldWays() {
    const named = new Set(rows.payoff.filter(row => row.advice || (row.baseline && row.speedup_bar >= 1))
        .map(row => row.spec));
    if (new Set(rows.payoff.map(row => row.spec)).size > 8)
        for (const row of rows.payoff) row.unnamed = !named.has(row.spec);
}
foldWays();

/* 0: a comparison or promise fails. 2: nothing to look at. */
const quiet = ['SAME', 'AMBIGUOUS', 'NOT-COMPARED', 'kept'];
const rank = row => row.fails || row.status === 'broken' ? 0
    : row.older || row.unnamed || quiet.includes(row.verdict) || quiet.includes(row.status) ? 2 : 1;
for (const list of Object.values(rows)) list.sort((a, b) => rank(a) - rank(b));
const newestFirst = (a, b) => dateOf(b).localeCompare(dateOf(a), 'en') || b.page_run - a.page_run;

/* ---- numbers ---- */

/* As src/tool/print/number.c writes them. */
function digits(v, n) {
    const size = Math.abs(v);
    if (v !== 0 && (size >= 1e7 || size < 1e-3)) return v.toExponential(n - 1);
    return v.toFixed(size >= 1 ? Math.max(0, n - 1 - Math.floor(Math.log10(size))) : n);
}
function scaled(v, base, units, write) {
    let i = 0;
    while (base > 1 ? v >= base && i < units.length - 1 : v > 0 && v < 0.9995 && i < units.length - 1) {
        v = base > 1 ? v / base : v * 1000;
        i++;
    }
    return `${write(v, i)} ${units[i]}`;
}
const shows = {
    number: v => v === 0 ? '0' : digits(v, Math.abs(v) < 0.1 && Math.abs(v) >= 1e-3 ? 4 : 3),
    count: v => v < 1e7 ? String(v) : `${(v / 1e6).toFixed(1)} M`,
    error: v => v === 0 ? '0' : digits(v, Math.abs(v) < 1e-3 ? 2 : 4),
    cosine: v => digits(v, 4),
    percent: v => v > 0 && v < 0.0005 ? '<0.1 %' : `${(100 * v).toFixed(1)} %`,
    size: v => scaled(v, 1000, ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'], (x, i) => x.toFixed(i && x < 100 ? 1 : 0)),
    seconds: v => v === 0 ? '0 s' : scaled(v, 0.001, ['s', 'ms', 'us', 'ns'], x => digits(x, 3)),
    'by unit': (v, row) => shows[{seconds: 'seconds', bytes: 'size'}[row.unit] || 'number'](v),
};

/* A column of a table: its title, its field, and how and what the field is. */
function makeColumn(record, [title, field, interval]) {
    const {show, meaning} = data.records[record].columns[field] || {};
    return {title, field, interval, show, meaning, numeric: show in shows || field === 'date'};
}
const valueOf = (column, row) => !column.numeric ? NaN
    : column.field === 'date' ? Date.parse(row.date) / 1000 : row[column.field] ?? NaN;
function say(column, row) {
    const value = row[column.field];
    if (value === undefined) return '-';
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    return typeof value === 'number' ? (shows[column.show] || String)(value, row) : String(value);
}

/* The ends of a value's interval. A rate has those of its time. */
function endsOf(field, row) {
    const time = field.replace(/gbps$/, 'seconds'), low = row[`${time}_low`], high = row[`${time}_high`];
    if (field === 'ratio') return [row.low, row.high];
    return time === field ? [low, high] : [row[field] * row[time] / high, row[field] * row[time] / low];
}

/* ---- the tables ---- */

const name = ['method', 'page_label'];
const places = [['run', 'page_run'], ['file', 'file'], ['scope', 'scope'], ['device', 'device'], ['threads', 'threads'],
    ['isa', 'isa'], ['cache', 'cache'], ['status', 'status']];
const where = places.map(([, field]) => field);
const bar = 'A way is faster than the bar where its line is below those of fp32, fp16 and bf16.';

/*
 * The tables in the order of the page. A column is its title and its field, and true if the cells have the ends of an
 * interval too; the first one names the row.
 *   needs   only rows with this field are shown
 *   where   columns say where rows differ in run, file, scope and so on
 *   folds   text of the line under which more than 40 rows are folded
 *   quiet   text of the line under which rows of rank 2 are folded
 *   charts  hold: if rows differ in these fields, the reader chooses the value that the chart shows
 */
const sections = [
    {
        id: 'verdicts', title: 'Against the base', record: 'verdict',
        intro: 'Failures come first, then changes. What did not change, or cannot be told, is folded.',
        quiet: 'unchanged, inconclusive or not compared',
        columns: [['case', 'label'], ['quantity', 'quantity'], ['verdict', 'verdict'], ['base', 'base'],
            ['new', 'new'], ['new / base', 'ratio', true], ['delta', 'delta'], ['reason', 'reason'], ['next step', 'next']],
    },
    {
        id: 'promises', title: 'What methods promise', record: 'promise',
        intro: 'Checked on these gradients. Broken promises come first, then those that these gradients cannot test.',
        quiet: 'kept',
        columns: [name, ['promise', 'promise'], ['outcome', 'status'], ['tensor', 'tensor'], ['value', 'value'],
            ['at most', 'limit'], ['claim', 'claim'], ['reason', 'reason']],
    },
    {
        id: 'payoff', title: 'Will compression pay?', record: 'payoff', where: true,
        intro: 'The time of one exchange by each way: measured coding and adding, and a model of the network. First ' +
            'the ways that an answer names, and the best of fp32, fp16 and bf16.',
        folds: 'one for each way and network', quiet: 'of other ways',
        columns: [['way', 'label'], ['kind', 'kind'], ['error', 'error_of_mean'], ['lasting', 'lasting'],
            ['workers', 'workers'], ['link Gb/s', 'bandwidth_gbit'], ['sent', 'link_bytes'],
            ['coding', 'coding_seconds'], ['network', 'network_seconds'], ['adding', 'adding_seconds'],
            ['time', 'seconds'], ['bar', 'bar'], ['x', 'speedup_bar', true], ['limit', 'speedup_limit'],
            ['x of a step', 'speedup_step'], ['advice', 'advice']],
        charts: [
            {caption: `Time of one exchange at each bandwidth, with the error of each way. ${bar}`,
                x: 'bandwidth_gbit', y: 'seconds', hold: [...where, 'workers'], lines: true},
            {caption: `Time of one exchange with each number of workers, with the error of each way. ${bar}`,
                x: 'workers', y: 'seconds', hold: [...where, 'bandwidth_gbit'], lines: true},
        ],
    },
    {
        id: 'exchanges', title: 'Measured exchanges', record: 'exchange', where: true,
        intro: 'Real messages between MPI ranks. Every result was compared between ranks.',
        columns: [name, ['collective', 'collective'], ['algorithm', 'algorithm'], ['workers', 'workers'],
            ['gradient', 'input_bytes'], ['messages', 'messages'], ['time', 'seconds', true], ['encode', 'encode_seconds'],
            ['wire', 'wire_seconds'], ['lengths', 'sizes_seconds'], ['sum', 'sum_seconds'],
            ['bus GB/s', 'busbw_gbps'], ['wrong', 'wrong']],
    },
    {
        id: 'truth', title: 'Measured exchanges and their predictions', record: 'measured',
        intro: 'Times of coding and adding are those that the ranks measured, so only the network is predicted.',
        columns: [['way', 'label'], ['algorithm', 'algorithm'], ['workers', 'workers'],
            ['link Gb/s', 'bandwidth_gbit'], ['gradient', 'gradient_bytes'], ['measured', 'measured_seconds', true],
            ['predicted', 'seconds'], ['ratio', 'measured_ratio'], ['bar', 'bar'],
            ['x', 'measured_speedup_bar'], ['predicted x', 'speedup_bar']],
    },
    {
        id: 'methods', title: 'Methods', record: 'summary', where: true, quiet: 'of earlier runs',
        intro: 'Each message was decoded from its own bytes; errors compare the result with the input.',
        columns: [name, ['ratio', 'ratio'], ['bits/el', 'bits_per_element'], ['rel L2', 'rel_l2'],
            ['cosine', 'cosine'], ['collective', 'collective'], ['enc GB/s', 'encode_gbps', true],
            ['dec GB/s', 'decode_gbps', true], ['Pareto', 'pareto'], ['reason', 'reason']],
        charts: [
            {caption: 'Ratio and error of each method. Further up is smaller, further left is more accurate.',
                x: 'rel_l2', y: 'ratio', hold: where},
        ],
    },
    {
        id: 'targets', title: 'At the same target', record: 'summary', where: true, needs: 'match_field',
        quiet: 'of earlier runs',
        columns: [name, ['target', 'match_field'], ['at', 'match_target'], ['reached', 'match_reached'],
            ['bits/el', 'match_bits'], ['rel L2', 'match_error'], ['share', 'match_share'],
            ['rest with', 'match_with'], ['remark', 'match_note']],
    },
    {
        id: 'times', title: 'Times', record: 'summary', where: true, needs: 'encode_seconds',
        quiet: 'of earlier runs',
        columns: [name, ['encode', 'encode_seconds', true], ['fastest', 'encode_seconds_min'],
            ['of reading', 'encode_bandwidth_share'], ['decode', 'decode_seconds', true],
            ['fastest', 'decode_seconds_min'], ['of filling', 'decode_bandwidth_share'], ['sum', 'sum_seconds', true],
            ['sum of 16', 'sum16_seconds'], ['stopped by', 'stop_reason']],
    },
    {
        id: 'stages', title: 'Where encoding and decoding spend their time', record: 'summary', where: true,
        intro: 'The columns after encode are its stages, and those after decode are the stages of decoding.',
        needs: 'select_seconds', quiet: 'of earlier runs',
        columns: [name, ['encode', 'encode_seconds'], ['transform', 'transform_seconds'],
            ['select', 'select_seconds'], ['quantise', 'quantise_seconds'], ['index', 'index_seconds'],
            ['kernel', 'encode_kernel_seconds'], ['transfer', 'encode_transfer_seconds'],
            ['decode', 'decode_seconds'], ['transform', 'decode_transform_seconds'],
            ['select', 'decode_select_seconds'], ['dequantise', 'decode_quantise_seconds'],
            ['index', 'decode_index_seconds'], ['kernel', 'decode_kernel_seconds'],
            ['transfer', 'decode_transfer_seconds']],
    },
    {
        id: 'bytes', title: 'What the bytes are', record: 'summary', where: true, needs: 'wire_bytes',
        quiet: 'of earlier runs',
        columns: [name, ['messages', 'messages'], ['input', 'input_bytes'], ['sent', 'wire_bytes'],
            ['headers', 'header_bytes'], ['scales', 'scale_bytes'], ['values', 'value_bytes'],
            ['indices', 'index_bytes'], ['raw', 'stored'], ['density asked', 'density_asked'],
            ['density', 'density'], ['nominal bits/el', 'nominal_bits_per_element'],
            ['entropy bits/el', 'entropy0_bits_per_element']],
    },
    {
        id: 'replay', title: 'From step to step', record: 'replay', where: true,
        intro: 'Steps are replayed in order; each worker remembers what it did not send.',
        columns: [name, ['collective', 'collective'], ['steps', 'steps'], ['ratio', 'ratio'], ['sent', 'wire_bytes'],
            ['density', 'density'], ['union', 'union_density'], ['alpha', 'alpha'], ['cosine', 'cosine'],
            ['cum error', 'cumulative_error'], ['residual', 'residual_norm'], ['stale p50', 'staleness_p50'],
            ['p99', 'staleness_p99'], ['of bound', 'bound_ratio'], ['bound holds', 'bound_holds']],
        charts: [
            {caption: 'Error after all steps, and ratio. Further up is smaller, further left is more accurate.',
                x: 'cumulative_error', y: 'ratio', hold: where},
        ],
    },
    {
        id: 'history', title: 'History', record: 'history', where: true, folds: 'one for each case and date',
        intro: 'Cases that ran at several dates. Compare speeds only if the machine, its load and the threads were alike.',
        columns: [name, ['date', 'date'], ['revision', 'git_revision'], ['ratio', 'ratio'],
            ['ratio / first', 'ratio_change'], ['rel L2', 'rel_l2'], ['enc GB/s', 'encode_gbps', true],
            ['enc / first', 'speed_change'], ['dec GB/s', 'decode_gbps', true]],
        charts: [
            {caption: 'Speed of encoding in each run, in units of the first run of the case.',
                x: 'date', y: 'speed_change', hold: where.slice(1, -1), lines: true},
            {caption: 'Ratio in each run, in units of the first run of the case.',
                x: 'date', y: 'ratio_change', hold: where.slice(1, -1), lines: true},
        ],
    },
    {
        id: 'kernels', title: 'Kernels', record: 'kernel',
        columns: [['kernel', 'kernel'], ['family', 'family'], ['isa', 'isa'], ['cache', 'cache'],
            ['elements', 'elements'], ['status', 'status'], ['time', 'seconds', true], ['GB/s', 'gbps'],
            ['of bandwidth', 'bandwidth_share'], ['times C', 'speedup']],
    },
    {
        id: 'settings', title: 'Every setting', record: 'summary', needs: 'spec', quiet: 'of earlier runs',
        columns: [name, ['as given to --method', 'spec']],
    },
];

const facts = [['results', 'page_results'], ['date', 'date'], ['command', 'command'], ['gcbench', 'version'],
    ['revision', 'git_revision'], ['build', 'build_type'], ['build id', 'build_id'], ['compiler', 'compiler'],
    ['flags', 'compile_flags'], ['processor', 'cpu_model'], ['processors', 'cpus'], ['instruction set', 'isa'],
    ['threads', 'threads'], ['device', 'device'], ['GPU', 'gpu'], ['GPU driver', 'gpu_driver'],
    ['GPU clock MHz', 'gpu_clock_mhz'], ['memory', 'memory_bytes'], ['kernel', 'kernel'], ['governor', 'governor'],
    ['load', 'load1'], ['reads GB/s', 'read_gbps'], ['fills GB/s', 'fill_gbps'], ['copies GB/s', 'copy_gbps'],
    ['memory by threads', 'bandwidths'], ['libraries', 'libraries'], ['OpenBLAS', 'openblas'],
    ['OpenBLAS kernel', 'openblas_kernel'], ['inputs', 'input_xxh3']];

/* ---- methods ---- */

/* Of a method: its look, the labels that tables give it, and the box that shows or hides it. No two share a colour. */
const methods = new Map(), taken = new Set();
for (const [record, list] of Object.entries(rows)) for (const row of list) {
    if (!row.method) continue;
    if (!methods.has(row.method)) {
        const {colour, mark, base} = data.styles[row.method];
        const own = base ? 'var(--text)' : taken.has(colour) ? `hsl(${methods.size * 137.5 % 360} 60% 45%)` : colour;
        taken.add(own);
        methods.set(row.method, {colour: own, mark, base, labels: new Set()});
    }
    if (!['payoff', 'measured', 'verdict'].includes(record)) /* these tables name ways and cases */
        methods.get(row.method).labels.add(row.page_label);
}
const look = row => methods.get(row.method) || {colour: 'var(--text)', mark: 7};
const isBaseline = row => row.baseline || look(row).base;
/* What the tables call a method: its label, or its name and how many labels it has. */
const callMethod = ([method, {labels}]) => labels.size > 1 ? `${method}, ${labels.size} settings`
    : [...labels][0] || method;

function showMethods(parent) {
    if (methods.size < 2) return;
    const shown = add(parent, 'fieldset', {id: 'shown'});
    add(shown, 'legend', {}, 'Methods shown');
    for (const known of methods) {
        const label = add(shown, 'label', {'data-m': known[0], style: `--c:${known[1].colour}`});
        known[1].box = add(label, 'input', {type: 'checkbox', checked: ''});
        label.append(' ' + callMethod(known));
    }
    for (const [value, checked] of [['all', true], ['none', false]])
        add(shown, 'button', {type: 'button', value}, value).addEventListener('click', () => {
            methods.forEach(({box}) => { box.checked = checked; });
            apply();
        });
    shown.addEventListener('change', apply);
}

/* ---- the top of the page ---- */

function showHead() {
    const run = [...rows.environment].sort((a, b) => (b.date || '').localeCompare(a.date || '', 'en'));
    const main = run.find(timed) || rows.environment[0];
    const files = [...new Set(Object.values(rows).flat().map(row => row.file).filter(Boolean))].map(baseName);
    const named = [...files.slice(0, 3), ...(files.length > 3 ? ['...'] : [])].join(', ');
    const header = add(document.body, 'header');
    document.title = data.title || 'Gradient compression' + (named && `: ${named}`);
    add(header, 'h1', {}, document.title);
    if (!main) return;
    const revision = main.git_revision && ` (${main.git_revision.slice(0, 7)}${main.git_dirty ? ', changed' : ''})`;
    add(header, 'p', {class: 'lede'}, [`gcbench ${main.version || ''}${revision || ''}`, main.cpu_model, main.gpu,
        main.date].filter(Boolean).join(', '));
}

function commandOf(row) {
    const [program, first] = runOf(row)?.command || [];
    return first && !first.startsWith('-') ? first : baseName(program || 'results');
}

/* Counts that answer for rows without an answer of their own: comparisons and promises. */
function countRows(list, bad, words) {
    if (!list.length) return [];
    const failed = count(list, bad), row = [...list].sort(newestFirst)[0];
    return [{row, failed, text: `${failed} of ${list.length} ${words(list)}`}];
}
const verdicts = (list, word) => count(list, row => row.verdict === word);

function showAnswer(main) {
    const section = add(main, 'section', {id: 'answer'}), commands = new Map();
    const order = ({failed}) => failed ? 0 : failed === undefined ? 1 : 2; /* failures first, "0 fail" last */
    const answers = [
        ...rows.answer.map(row => ({row, text: row.answer})),
        ...countRows(rows.verdict, row => row.fails, list => 'comparisons with the base fail; ' +
            `${count(list, row => rank(row) === 1)} more changed, ${verdicts(list, 'SAME')} are unchanged, ` +
            `${verdicts(list, 'AMBIGUOUS')} are inconclusive and ${verdicts(list, 'NOT-COMPARED')} were not possible`),
        ...countRows(rows.promise, row => row.status === 'broken', () => 'promises checked are broken'),
    ].sort((a, b) => order(a) - order(b) || newestFirst(a.row, b.row));
    const write = (parent, {text, row, failed}) => {
        addProse(parent, `${text}. `);
        if (failed) parent.classList.add('bad');
        add(parent, 'small', {}, [commandOf(row), row.page_results, dateOf(row).slice(0, 10)].filter(Boolean).join(', '));
    };
    add(section, 'h2', {}, 'Answer');
    if (answers.length) write(add(section, 'p', {class: 'answer'}), answers[0]);
    for (const answer of answers.slice(1)) {
        const command = commandOf(answer.row);
        commands.set(command, [...(commands.get(command) || []), answer]);
    }
    for (const [command, list] of commands) {
        const kind = command === commandOf(answers[0].row) ? 'earlier answer' : 'answer';
        const items = add(fold(section, `${command}: ${plural(list.length, kind)}`), 'ul');
        for (const answer of list) write(add(items, 'li'), answer);
    }
    return section;
}

/* Reasons to doubt the figures. */
function showRemarks(main) {
    const runs = rows.environment.filter(timed), list = add(main, 'ul', {class: 'remarks'});
    const remark = (n, of, words) => {
        if (n) add(list, 'li', {}, (n < of ? `${n} of ${of} runs: ` : '') + words);
    };
    const remarkRuns = (test, words) => remark(count(runs, test), runs.length, words);
    remark(count(rows.summary, row => row.status === 'interrupted'), 0,
        'A run was interrupted: rows with the status interrupted cover only the work done before.');
    remarkRuns(run => run.sanitize && run.sanitize !== 'none', 'Built with sanitizers: times mean nothing.');
    remarkRuns(run => run.build_type && run.build_type !== 'release', 'Not a release build: times mean little.');
    remarkRuns(run => run.load1 > run.cpus / 2, 'The machine was busy at the start (its load was more than half ' +
        'its processors): times may be too long.');
    remarkRuns(run => run.git_dirty, 'Built from changed files: the revision does not identify the code.');
    remark(rows.summary.length && differs(rows.summary, 'page_run'), 0,
        'Compare times of different runs only if machine, threads and load are alike.');
    if (!list.children.length) list.remove();
}

/* ---- drawing tables ---- */

const tables = []; /* {table, rows: [{row, line}], columns, words}: what is sorted, filtered and drawn */

function wideTable(parent, label, attributes) {
    const box = add(parent, 'div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': label});
    const table = add(box, 'table', attributes);
    return [table, add(add(table, 'thead'), 'tr'), add(table, 'tbody')];
}

function fillCell(cell, column, row) {
    const text = say(column, row), value = row[column.field];
    if (column.show === 'name' && value !== undefined) {
        /* long names may break after : and , */
        const code = add(cell, 'code');
        text.split(/(?<=[:,])(?=.)/).forEach((part, i) => {
            if (i) add(code, 'wbr');
            code.append(part);
        });
    } else if (column.show === 'word' && value && !text.includes(' ')) {
        add(cell, 'span', {class: 'w ' + text.toLowerCase().replace(/[^a-z]/g, '')}, text);
    } else {
        addProse(cell, text);
    }
    const ends = column.interval ? endsOf(column.field, row) : [];
    if (!ends.length || !ends.every(Number.isFinite)) return;
    const unit = text.split(' ')[1];
    const shown = ends.map(v => shows[column.show](v, row)).map(t => t.split(' ')[1] === unit ? t.split(' ')[0] : t);
    add(cell, 'i', {}, ` [${shown.join(', ')}]`);
}

/* Do at least three rows have a sentence, and all that have one the same? Then it stands once above the table. */
function isRepeated(column, list) {
    const said = list.map(row => row[column.field]).filter(Boolean);
    return column.show === 'sentence' && said.length > 2 && said.every(text => text === said[0]);
}

/* The columns that a table shows: those with a value, and places in which its rows differ. */
function chooseColumns(section, list) {
    const [first, ...rest] = section.columns.map(c => makeColumn(section.record, c));
    const at = places.map(c => makeColumn(section.record, c)).filter(c => section.where && differs(list, c.field));
    return [first, ...at, ...rest.filter(c => has(list, c.field) && !isRepeated(c, list))];
}

function drawTable(parent, section, list, part) {
    const columns = chooseColumns(section, list);
    const [table, heads, body] = wideTable(parent, section.title, {id: `${section.id}-${part}`});
    const t = {table, columns, words: [], rows: [], heads: []};
    columns.forEach((column, i) => {
        const head = add(heads, 'th', {scope: 'col', 'data-f': column.field, class: column.numeric ? 'n' : ''});
        if (column.meaning) head.title = column.meaning;
        add(head, 'button', {type: 'button'}, column.title).addEventListener('click', () => sortBy(t, i));
        t.heads.push(head);
    });
    for (const row of list) {
        const line = add(body, 'tr', {class: isBaseline(row) ? 'baseline' : ''});
        if (row.spec) line.title = row.spec;
        columns.forEach((column, i) => {
            const wraps = !column.numeric && (column.show === 'sentence' || / /.test(row[column.field])) ? 'x' : 't';
            fillCell(i ? add(line, 'td', {class: column.numeric ? '' : wraps}) : add(line, 'th', {scope: 'row'}), column, row);
        });
        t.rows.push({row, line});
    }
    if (list.length > 5) addFilter(t);
    tables.push(t);
    return t;
}

function addFilter(t) {
    const bar = document.createElement('p');
    bar.className = 'bar';
    const input = add(add(bar, 'label', {}, 'Filter '), 'input', {type: 'search', size: 24, placeholder: 'topk ratio>10'});
    t.note = add(bar, 'span', {role: 'status'});
    input.addEventListener('input', () => {
        t.words = input.value.split(/\s+/).filter(Boolean);
        apply();
    });
    t.table.parentNode.before(bar);
}

function sortBy(t, i) {
    const head = t.heads[i], column = t.columns[i], now = head.getAttribute('aria-sort');
    const order = now ? (now === 'ascending' ? 'descending' : 'ascending') : column.numeric ? 'descending' : 'ascending';
    const sign = order === 'ascending' ? 1 : -1;
    const compare = (a, b) => column.numeric ? a - b : a.localeCompare(b, 'en', {numeric: true});
    const keyed = t.rows.map(({row, line}) => [column.numeric ? valueOf(column, row) : say(column, row), line]);
    const isMissing = key => Number.isNaN(key) || key === '-';
    keyed.sort(([a], [b]) => isMissing(a) - isMissing(b) || (isMissing(a) ? 0 : sign * compare(a, b)));
    t.heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', order);
    t.table.tBodies[0].append(...keyed.map(([, line]) => line));
}

/* A word of a filter: "topk" is a part of the row's text, "ratio>10" and "rell2<0.3" compare a column. */
function makeTest(t, word) {
    const [, title, sign, limit] = /^(.+?)([<>])([-+.\deE]+)$/.exec(word) || [];
    const column = t.columns.find(c => title && c.title.replace(/\s/g, '').toLowerCase() === title.toLowerCase());
    if (column)
        return ({row}) => sign === '<' ? valueOf(column, row) < +limit : valueOf(column, row) > +limit;
    return ({line}) => line.textContent.toLowerCase().includes(word.toLowerCase());
}

/* Hides rows that the filters or the boxes of methods leave out, and draws the charts anew. */
function apply() {
    for (const t of tables) {
        const tests = t.words.map(word => makeTest(t, word));
        for (const item of t.rows)
            item.line.hidden = methods.get(item.row.method)?.box?.checked === false || !tests.every(test => test(item));
        const shown = count(t.rows, ({line}) => !line.hidden);
        if (t.note) t.note.textContent = shown < t.rows.length ? `${shown} of ${t.rows.length} rows` : '';
    }
    charts.forEach(draw);
}

/* What all rows share: where they ran, and sentences that are repeated. */
function showCommon(parent, section, list) {
    const shared = places.map(c => makeColumn(section.record, c)).filter(c => section.where && c.show !== 'word' &&
        c.field !== 'page_run' && list[0][c.field] !== undefined && !differs(list, c.field));
    if (shared.length)
        add(parent, 'p', {class: 'common'}, shared.map(c => `${c.title} ${say(c, list[0])}`).join(', '));
    for (const c of section.columns.map(column => makeColumn(section.record, column)).filter(c => isRepeated(c, list))) {
        const said = list.filter(row => row[c.field]);
        add(parent, 'p', {class: 'common'}, `${c.title}, ${said.length === list.length ? 'all ' : ''}${said.length} ` +
            `rows: ${said[0][c.field]}`);
    }
}

/* The legend of a table: its columns and what they mean. */
function showMeanings(parent, columns) {
    const list = add(fold(parent, 'What the columns mean'), 'dl', {class: 'help'});
    for (const {title, meaning} of columns.filter(c => c.meaning)) {
        add(list, 'dt', {}, title);
        addProse(add(list, 'dd'), meaning);
    }
}

const listOf = section => rows[section.record].filter(row => !section.needs || row[section.needs] !== undefined);
const chartsOf = (section, list) => (section.charts || []).filter(c => has(list, c.y) && differs(list, c.x));

function showSection(main, section, isFirst, answer) {
    const list = listOf(section), part = add(main, 'section', {id: section.id});
    const loud = list.filter(row => !section.quiet || rank(row) < 2), rest = list.filter(row => !loud.includes(row));
    const folded = section.folds && list.length > 40;
    add(part, 'h2', {}, section.title);
    if (section.intro) add(part, 'p', {}, section.intro);
    showCommon(part, section, list);
    const figures = chartsOf(section, list).map((chart, i) => [add(isFirst && !i ? answer : part, 'figure',
        {class: 'chart'}), chart]);
    const box = folded ? fold(part, `${list.length} rows: ${section.folds}`) : part;
    const drawn = [];
    if (loud.length) drawn.push(drawTable(box, section, loud, 'rows'));
    if (rest.length) drawn.push(drawTable(fold(box, `${rest.length} ${section.quiet}`), section, rest, 'quiet'));
    showMeanings(box, [...new Map(drawn.flatMap(t => t.columns).map(c => [c.field, c])).values()]);
    const more = data.records[section.record].more;
    if (more) add(part, 'p', {class: 'note'}, `${more} more rows are in the files.`);
    for (const [figure, chart] of loud.length ? figures : []) makeChart(figure, chart, drawn[0]);
}

/* ---- errors of tensors, pictures, runs ---- */

const SHOWN = 20, MOST = 8;

/* The mean error of each tensor and method; the tensors with the largest errors come first. */
function showTensors(main) {
    const tensors = new Map(), more = data.records.result.more;
    const labels = [...new Set(rows.result.map(row => row.page_label))], shown = labels.slice(0, MOST);
    for (const row of rows.result) {
        if (!tensors.has(row.tensor)) tensors.set(row.tensor, new Map());
        tensors.get(row.tensor).set(row.page_label, row);
    }
    const worst = of => Math.max(...shown.map(label => of.get(label)?.rel_l2 ?? 0));
    const order = [...tensors].sort(([a, x], [b, y]) => worst(y) - worst(x) || (a < b ? -1 : 1)).slice(0, SHOWN);
    const part = add(main, 'section', {id: 'tensors'});
    add(part, 'h2', {}, 'Error by tensor');
    add(part, 'p', {class: 'help'}, 'Relative L2 error of each tensor, the mean over its messages (steps and workers). 0 is ' +
        'exact; 1 is as wrong as sending nothing. The largest errors come first.' +
        (tensors.size > SHOWN ? ` ${SHOWN} of ${tensors.size} tensors are shown.` : '') +
        (labels.length > MOST ? ` ${MOST} of ${labels.length} methods are shown.` : '') +
        (more ? ` ${more} rows of further methods or tensors are left out.` : ''));
    const [, heads, body] = wideTable(part, 'Error by tensor');
    add(heads, 'th', {scope: 'col'}, 'tensor');
    for (const label of shown) fillCell(add(heads, 'th', {scope: 'col', class: 'n'}), {field: 0, show: 'name'}, [label]);
    for (const [tensor, of] of order) {
        const line = add(body, 'tr');
        add(add(line, 'th', {scope: 'row'}), 'code', {}, tensor);
        for (const row of shown.map(label => of.get(label))) {
            const cell = add(line, 'td', {}, row ? shows.error(row.rel_l2) : '-');
            if (!row) continue;
            cell.style.background = `rgba(213,94,0,${0.45 * Math.min(row.rel_l2, 1)})`;
            cell.title = `worst message ${shows.error(row.page_worst)}`;
        }
    }
}

function showPictures(main) {
    const part = add(main, 'section', {id: 'plots'});
    add(part, 'h2', {}, 'Pictures');
    if (data.figures.length) {
        const box = add(fold(part, `${data.figures.length} pictures of gcbench plot`), 'div', {class: 'plots'});
        for (const {title, svg} of data.figures) {
            const figure = add(box, 'figure'); /* a browser runs no script of an image */
            add(figure, 'img', {alt: title, src: 'data:image/svg+xml,' + encodeURIComponent(svg)});
            add(figure, 'figcaption', {}, title);
        }
    }
    if (data.without)
        add(part, 'p', {class: 'note'},
            (data.figures.length ? 'Some plots are missing: ' : 'There are no plots: ') + data.without + '.');
}

/* The texts of a fact of a run, one for each line. */
function factOf(column, run) {
    const value = run[column.field];
    if (value === undefined || typeof value !== 'object') return [say(column, run)];
    if (!Array.isArray(value)) return [Object.entries(value).map(pair => pair.join(' ')).join(', ')];
    if (typeof value[0] === 'string') return [value.join(' ')];
    return value.map(item => item.file ? `${item.file} xxh3 ${item.xxh3 || '-'}`
        : `${plural(item.threads, 'thread')}: reads ${shows.number(item.read_gbps ?? 0)}, ` +
            `fills ${shows.number(item.fill_gbps ?? 0)}, copies ${shows.number(item.copy_gbps ?? 0)} GB/s`);
}

function showRuns(main) {
    const part = add(main, 'section', {id: 'source'});
    add(part, 'h2', {}, 'Where this comes from');
    if (!rows.environment.length) {
        add(part, 'p', {}, 'The files do not say: they have no environment row.');
        return;
    }
    const shown = rows.environment.map((run, i) => [run, i + 1])
        .sort(([a], [b]) => (b.date || '').localeCompare(a.date || '', 'en')).slice(0, MOST);
    const [, heads, body] = wideTable(part, 'Runs', {class: 'facts'});
    add(heads, 'td');
    for (const [, number] of shown) add(heads, 'th', {scope: 'col'}, `run ${number}`);
    for (const column of facts.map(c => makeColumn('environment', c)).filter(c => has(rows.environment, c.field))) {
        const line = add(body, 'tr');
        add(line, 'th', {scope: 'row'}, column.title);
        for (const [run] of shown) {
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

/* ---- charts ---- */

const charts = [];
const left = 70; /* room for the numbers and the name of the axis that goes up */
const NAMES = 12; /* most lines with a name beside them */
const short = text => text.length > 28 ? text.slice(0, 26) + '...' : text;

/* Ends of an axis, its ticks, and where a value is on it, from 0 to 1. */
function makeAxis(values, log, isDate) {
    if (isDate) { /* runs are equally far apart */
        const runs = [...new Set(values)].sort((p, q) => p - q);
        return {at: v => (runs.indexOf(v) + 0.5) / runs.length, ticks: runs};
    }
    const low = Math.min(...values), high = Math.max(...values);
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
    return {at: v => (f(v) - a) / (b - a), ticks: ticks.filter(v => f(v) >= a && f(v) <= b)};
}
const trim = text => text.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');
const sayTick = (column, v) => column.field === 'date' ? new Date(v * 1000).toISOString().slice(0, 16).replace('T', ' ')
    : trim((shows[column.show] || String)(v, {}));

/* gnuplot's numbers of marks as paths of about 4 pixels; odd numbers are filled. */
const shapes = {1: 'M-4 0H4M0-4V4', 2: 'M-3-3L3 3M3-3L-3 3', 3: 'M-4 0H4M0-4V4M-3-3L3 3M3-3L-3 3',
    4: 'M-3.5-3.5h7v7h-7z', 6: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z', 8: 'M0-4.5L4.5 3.5h-9z',
    10: 'M0 4.5L4.5-3.5h-9z', 12: 'M0-5L5 0L0 5L-5 0z', 14: 'M0-4.5L4.3-1.4L2.6 3.6h-5.2L-4.3-1.4z'};
const shapeOf = mark => shapes[mark < 4 ? mark : mark - mark % 2] || shapes[6];

function addChoice(chart, words, options, chosen, change) {
    const select = add(add(chart.bar, 'label', {}, words + ' '), 'select');
    options.forEach(([value, text]) => add(select, 'option', {value}, text));
    select.value = chosen;
    select.addEventListener('change', () => {
        change(select.value);
        draw(chart);
    });
}

/* Makes the frame of a chart of a table: its caption and the choices of a reader. */
function makeChart(figure, {caption, x, y, hold, lines}, t) {
    const column = field => t.columns.find(c => c.field === field);
    if (!column(x) || !column(y)) return;
    const chart = {figure, t, lines, x: column(x), y: column(y), error: column('error_of_mean'), hold: [], points: [], at: -1};
    add(figure, 'figcaption', {}, caption);
    chart.bar = add(figure, 'p', {class: 'bar'});
    const axes = t.columns.filter(c => c.numeric).map(c => [c.field, c.title]);
    addChoice(chart, 'Up', axes, y, v => { chart.y = column(v); });
    addChoice(chart, 'across', axes, x, v => { chart.x = column(v); });
    for (const c of hold.map(column).filter(Boolean)) {
        const values = new Map(); /* each text of the column, and the places of its rows */
        for (const {row} of t.rows)
            values.set(say(c, row), (values.get(say(c, row)) || new Set()).add(row[x]));
        if (values.size < 2) continue;
        const held = {column: c, value: [...values].sort((a, b) => b[1].size - a[1].size)[0][0]};
        chart.hold.push(held);
        addChoice(chart, c.title, [...values.keys()].map(k => [k, short(k)]), held.value, v => { held.value = v; });
    }
    chart.box = add(figure, 'div', {class: 'box'});
    chart.note = add(figure, 'p', {class: 'note'});
    chart.tip = add(chart.box, 'div', {class: 'tip', role: 'status', hidden: ''});
    new ResizeObserver(() => {
        if (chart.width !== chart.box.clientWidth) draw(chart);
    }).observe(chart.box);
    charts.push(chart);
}

/* The rows that a chart shows, as series of points. */
function collect(chart, width, height) {
    const {t, x, y} = chart, series = new Map();
    const list = t.rows.filter(({row, line}) => !line.hidden && Number.isFinite(valueOf(x, row)) &&
        Number.isFinite(valueOf(y, row)) && chart.hold.every(h => say(h.column, row) === h.value)).map(({row}) => row);
    const axis = column => {
        const values = list.map(row => valueOf(column, row)), positive = values.filter(v => v > 0);
        const log = column.field !== 'date' && Math.min(...values) >= 0 &&
            Math.max(...positive) > 15 * Math.min(...positive);
        return makeAxis(log ? positive : values, log, column.field === 'date');
    };
    chart.points = [];
    chart.note.textContent = '';
    if (!list.length) return series;
    [chart.across, chart.up] = [axis(x), axis(y)];
    const isOn = row => Number.isFinite(chart.across.at(valueOf(x, row))) && Number.isFinite(chart.up.at(valueOf(y, row)));
    const labelOf = row => say(t.columns[0], row), off = list.filter(row => !isOn(row));
    if (off.length)
        chart.note.textContent = 'Not on a logarithmic axis, because a value is 0: ' +
            [...new Set(off.map(labelOf))].slice(0, 9).join(', ') + '.';
    for (const row of list.filter(isOn)) {
        const label = labelOf(row), key = chart.lines ? label : row.method || label;
        const point = {row, label, look: look(row),
            x: left + chart.across.at(valueOf(x, row)) * (width - left - chart.side),
            y: 10 + (1 - chart.up.at(valueOf(y, row))) * (height - 56)};
        if (!series.has(key)) series.set(key, []);
        series.get(key).push(point);
        chart.points.push(point);
    }
    series.forEach(points => points.sort((a, b) => a.x - b.x));
    chart.points.sort((a, b) => a.x - b.x || a.y - b.y);
    return series;
}

function drawAxes(chart, svg, width, height) {
    const {x, y, across, up, side} = chart, foot = height - 46, g = add(svg, 'g', {class: 'axes'});
    const revisions = new Map(x.field === 'date' ? chart.points.map(({row}) => [valueOf(x, row), row.git_revision]) : []);
    let end = -Infinity;
    for (const v of across.ticks) {
        const at = left + across.at(v) * (width - left - side), text = sayTick(x, v), half = text.length * 3.3;
        add(g, 'path', {d: `M${at} 10V${foot}`});
        if (at - half < end + 8 || at + half > width) continue;
        add(g, 'text', {x: at, y: foot + 16, 'text-anchor': 'middle'}, text);
        if (revisions.get(v)) add(g, 'text', {x: at, y: foot + 30, 'text-anchor': 'middle'}, revisions.get(v));
        end = at + half;
    }
    end = Infinity;
    for (const v of up.ticks) {
        const at = 10 + (1 - up.at(v)) * (height - 56);
        add(g, 'path', {d: `M${left} ${at}H${width - side}`});
        if (at > end - 14) continue;
        add(g, 'text', {x: left - 6, y: at + 4, 'text-anchor': 'end'}, sayTick(y, v));
        end = at;
    }
    add(g, 'text', {x: (width + left - side) / 2, y: height - (revisions.size ? 2 : 8), 'text-anchor': 'middle',
        class: 'name'}, x.title + (revisions.size ? ' and revision' : ''));
    add(g, 'text', {x: -(foot + 10) / 2, y: 12, transform: 'rotate(-90)', 'text-anchor': 'middle', class: 'name'}, y.title);
}

/* Names the lowest lines in a column beside their ends, in the order of the ends; or below, if there is no room. */
function nameEnds(chart, svg, series, width, height) {
    const last = [...series.values()].map(points => points[points.length - 1]).sort((a, b) => a.y - b.y);
    const names = last.slice(-NAMES), beside = chart.side > 16, step = beside ? 13 : 16;
    names.forEach((p, i) => {
        p.end = beside ? Math.max(p.y, 10 + i * step, i ? names[i - 1].end + step : 0) : height + 14 + i * step;
    });
    for (let i = names.length - 1, most = height - 8; beside && i >= 0; i--)
        most = (names[i].end = Math.min(names[i].end, most)) - step;
    for (const p of names) {
        const x = beside ? width - chart.side + 14 : 60, style = `--c:${p.look.colour}`;
        const error = chart.error ? `, error ${say(chart.error, p.row)}` : '';
        if (beside) add(svg, 'path', {d: `M${p.x} ${p.y}L${x - 8} ${p.end}`, class: 'lead', style});
        add(svg, 'path', {d: shapeOf(p.look.mark), class: 'mark key', style, transform: `translate(${x} ${p.end}) scale(.7)`});
        add(svg, 'text', {x: x + 7, y: p.end + 4, class: 'label'}, (beside ? short(p.label) : p.label) + error);
    }
    if (last.length > names.length)
        chart.note.textContent += ` The lowest ${names.length} of ${last.length} lines are named; point at another to read its name.`;
    if (!beside) svg.setAttribute('viewBox', `0 0 ${width} ${height + 12 + names.length * step}`);
}

/* Names a series beside its last point, where no mark and no other name is in the way. */
function nameSeries(svg, points, taken, width, height) {
    const p = points[points.length - 1], text = short(points.length === 1 ? p.label : p.row.method);
    const w = text.length * 7;
    for (const [dx, dy] of [[8, 4], [-9 - w, 4], [-w / 2, -9], [-w / 2, 18], [6, -8], [6, 16]]) {
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
    chart.side = chart.lines && width > 600 ? (chart.error ? 300 : 210) : 16; /* room on the right, for names of lines */
    const series = collect(chart, width, height);
    const svg = chart.svg = add(chart.box, 'svg', {viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: 'img',
        'aria-label': `${chart.y.title} over ${chart.x.title}, ${chart.points.length} points; arrow keys read them`});
    if (!series.size) {
        add(svg, 'text', {x: width / 2, y: height / 2, 'text-anchor': 'middle'}, 'Every row is hidden.');
        return;
    }
    drawAxes(chart, svg, width, height);
    for (const points of series.values()) {
        const style = `--c:${points[0].look.colour}`;
        if (points.length > 1)
            add(svg, 'path', {d: 'M' + points.map(p => `${p.x} ${p.y}`).join('L'), style,
                class: isBaseline(points[0].row) ? 'line base' : 'line'});
    }
    const size = chart.points.length < 150 ? '' : ' scale(.6)';
    for (const p of chart.points)
        p.mark = add(svg, 'path', {d: shapeOf(p.look.mark), style: `--c:${p.look.colour}`,
            class: p.look.mark % 2 && p.look.mark > 3 ? 'mark' : 'mark open', transform: `translate(${p.x} ${p.y})${size}`});
    const taken = chart.points.slice(0, 2000);
    if (chart.lines) nameEnds(chart, svg, series, width, height);
    else for (const points of series.values()) nameSeries(svg, points, taken, width, height);
    svg.addEventListener('pointermove', e => showNearest(chart, e));
    svg.addEventListener('pointerleave', () => hide(chart));
    svg.addEventListener('blur', () => hide(chart));
    svg.addEventListener('keydown', e => {
        const steps = {ArrowRight: 1, ArrowLeft: -1}[e.key], many = chart.points.length;
        if (e.key === 'Escape') hide(chart);
        if (!steps) return;
        e.preventDefault();
        show(chart, chart.at < 0 && steps < 0 ? many - 1 : (chart.at + steps + many) % many);
    });
}

function showNearest(chart, e) {
    const box = chart.svg.getBoundingClientRect();
    let best = -1, least = 30 * 30;
    chart.points.forEach((p, i) => {
        const d = (p.x - e.clientX + box.left) ** 2 + (p.y - e.clientY + box.top) ** 2;
        if (d < least) [best, least] = [i, d];
    });
    if (best < 0) hide(chart);
    else show(chart, best);
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
    if (p.row.spec && p.row.spec !== p.label) add(tip, 'p', {}, p.row.spec);
    const same = chart.points.filter(o => o !== p && Math.hypot(o.x - p.x, o.y - p.y) < 3).map(o => o.label);
    if (same.length) add(tip, 'p', {}, 'also here: ' + same.slice(0, 5).join(', '));
    const list = add(tip, 'dl');
    for (const column of chart.t.columns.slice(1)) {
        const text = say(column, p.row);
        if (text === '-' || text.length > 60) continue;
        add(list, 'dt', {}, column.title);
        add(list, 'dd', {}, text);
    }
    tip.hidden = false;
    const at = p.x > chart.width / 2 ? p.x - tip.offsetWidth - 14 : p.x + 14;
    tip.style.left = `${Math.max(0, Math.min(at, chart.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, p.y - tip.offsetHeight / 2)}px`;
}

/* ---- the whole page ---- */

function showContents(nav, main) {
    const list = add(nav, 'ul');
    for (const section of all('section', main).slice(1))
        add(add(list, 'li'), 'a', {href: `#${section.id}`}, section.querySelector('h2').textContent);
}

function showPage() {
    showHead();
    const main = add(document.body, 'main'), answer = showAnswer(main);
    showMethods(main);
    showRemarks(main);
    const nav = add(main, 'nav', {'aria-label': 'Contents'});
    const shown = sections.filter(section => listOf(section).length);
    const first = shown.find(section => chartsOf(section, listOf(section)).length);
    for (const section of sections) {
        if (shown.includes(section)) showSection(main, section, section === first, answer);
        if (section.id !== 'targets') continue; /* the last table of what methods do */
        if (data.figures.length || data.without) showPictures(main);
        if (rows.result.length) showTensors(main);
    }
    showRuns(main);
    showContents(nav, main);
}

showPage();
apply();
let opened = []; /* what is folded is printed too */
addEventListener('beforeprint', () => {
    opened = all('details:not([open])');
    opened.forEach(d => { d.open = true; });
});
addEventListener('afterprint', () => opened.forEach(d => { d.open = false; }));
