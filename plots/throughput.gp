# A row for each method, the fastest first, with its two speeds and its error. Whiskers are 95 %
# intervals of the median, if there were enough samples. The numbers stand on the right, where no
# line crosses them.
rows = series > 40 ? 40 : series
shown(x) = column("series") <= rows ? x : NaN
speed(name) = has(name) ? column("input_bytes") / column(name) / 1e9 : NaN
eval extent('encode', 'column("encode_gbps")', 'column("series") <= rows')
eval extent('decode', 'column("decode_gbps")', 'column("series") <= rows')
speed_low = encode_low < decode_low ? encode_low : decode_low
ceiling = encode_high > decode_high ? encode_high : decode_high
is_wide = ceiling > 30 * speed_low # then the axis is logarithmic
# How often times were measured: a row with a deviation had at least 2 runs, and a row with an
# interval at least 6.
once = 0
intervals = 0
stats plot_data using (once = once + !has("encode_seconds_mad"), intervals = intervals + has("encode_seconds_low"), 1) nooutput
runs = once == series ? 'one run each' : once > 0 ? sprintf('one run of %d methods', once) : intervals == 0 ? 'medians of 2 to 5 runs' : 'medians and 95 % intervals'
# The bandwidth of memory, and the speed of memcpy for the same bytes, if they were measured.
array limit[3] = [read_gbps, fill_gbps, memcpy_gbps]
limit_names = '"memory read" "memory fill" memcpy'
limit_colours = '#0072B2 #a06a00 #404040'
known = ''
do for [k = 1:3] {
    if (limit[k] == limit[k]) {
        known = known.sprintf(' %d', k)
        ceiling = limit[k] > ceiling ? limit[k] : ceiling
    }
}
if (is_text) { known = '' }
left = 25 + letter * (widest + 12)
eval open(left + 680, (is_text ? 220 : 224) + 22 * rows)
eval box(left, 20, 88, 132)
floor_of = is_wide ? log_low(speed_low, ceiling) : 0
top_of = is_wide ? ceiling * (ceiling / floor_of) ** (is_text ? 0.5 : 0.25) : ceiling * (is_text ? 1.5 : 1.28)
if (is_wide) { eval log_axis('x', floor_of, top_of, '') } else { set xrange [floor_of:top_of] }
set x2range [0:1]
set yrange [rows + 0.7:0.3]
set format x '%g'
set xlabel 'input per second, GB/s (1e9 bytes)'.(is_wide ? ', logarithmic axis' : '')."\n".runs.'; error: of one message'.(series > rows ? sprintf('; left out: %d slower', series - rows) : '')
set ytics scale 0 font small
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set samples 2
if (is_text) { set key bottom outside center horizontal maxcols 3 } else {
    set key at screen 0.5, screen 8 / plot_height center bottom horizontal maxrows 1
}
encode_colour = '#0072B2'
decode_colour = '#E69F00'
row(k) = is_text ? column("series") + k * 0.19 : column("series")
error_name = is_text ? ', ' : ', error '
plot plot_data using (shown(column("encode_gbps"))):(row(0)):(column("decode_gbps") - column("encode_gbps")):(0):yticlabels(row_name(has("rel_l2") ? error_name.error_text(column("rel_l2")) : '')) with vectors nohead linecolor rgb '#d8d8d8' linewidth 3, \
    '' using (is_text ? NaN : shown(column("encode_gbps"))):(row(-1)):(speed("encode_seconds_high")):(speed("encode_seconds_low")) with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb encode_colour, \
    '' using (is_text ? NaN : shown(column("decode_gbps"))):(row(1)):(speed("decode_seconds_high")):(speed("decode_seconds_low")) with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb decode_colour, \
    '' using (shown(column("encode_gbps"))):(row(-1)) with points pointtype (is_text ? 5 : 7) pointsize 1.2*mark linecolor rgb encode_colour title 'encode', \
    '' using (shown(column("decode_gbps"))):(row(1)) with points pointtype (is_text ? 4 : 13) pointsize 1.4*mark linecolor rgb decode_colour title 'decode', \
    for [k in known] '+' using (limit[at(k)]):(0.3):(0):(rows + 0.4) every ::0::0 with vectors nohead linecolor rgb word(limit_colours, at(k)) linewidth 1.5 dashtype 1 + at(k) title word(limit_names, at(k)), \
    plot_data using (shown(is_text ? 1 : 0.93)):(column("series")):(digits(column("encode_gbps")).(is_text ? ' /'.digits(column("decode_gbps")) : '')) axes x2y1 with labels right font small textcolor rgb '#005A8C', \
    '' using (shown(1)):(column("series")):(is_text ? '' : digits(column("decode_gbps"))) axes x2y1 with labels right font small textcolor rgb '#946600'
