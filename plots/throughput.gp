# A row for each method, with its two speeds. Whiskers: the 95 % interval of the median, if there were enough samples. The
# numbers stand on the right, where no line crosses them.
is_wide = speed_high > 30 * speed_low # then the axis is logarithmic
floor = is_wide ? log_low(speed_low, speed_high) : 0
ceiling = speed_high
if (read_gbps == read_gbps && read_gbps > ceiling) ceiling = read_gbps
if (fill_gbps == fill_gbps && fill_gbps > ceiling) ceiling = fill_gbps
if (memcpy_gbps == memcpy_gbps && memcpy_gbps > ceiling) ceiling = memcpy_gbps
if (is_wide) set logscale x
set xrange [floor:(is_wide ? ceiling * (ceiling / floor) ** 0.2 : ceiling * 1.22)]
if (is_text) set xrange [floor:(is_wide ? ceiling * (ceiling / floor) ** 0.4 : ceiling * 1.45)]
set x2range [0:1]
set yrange [rows + 0.7:0.3]
set format x '%g'
set xlabel 'input per second, GB/s (1e9 bytes)'.(is_wide ? ', logarithmic axis' : '')."\n".runs.(rows_left_out > 0 ? sprintf('; left out: %d slower', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 114.0 / plot_height
set style fill solid 1 noborder

encode_colour = '#0072B2'
decode_colour = '#E69F00'
encode_ink = '#005A8C'
decode_ink = '#946600'
# The bandwidth of memory, and memcpy of the same bytes, if they were measured.
array limit[3] = [read_gbps, fill_gbps, memcpy_gbps]
limit_names = '"memory read" "memory fill" memcpy'
limit_colours = '#0072B2 #a06a00 #404040'
known = ''
limits = ''
do for [k = 1:3] {
    if (limit[k] == limit[k]) {
        known = known.sprintf(' %d', k)
        limits = limits.(limits eq '' ? '' : ', ').word(limit_names, k).sprintf(' %.3g', limit[k])
    }
}
if (is_text) {
    known = '' # lines would cross bars and numbers
    if (limits ne '') { set xlabel 'input GB/s'.(is_wide ? ', log axis' : '').(strstrt(runs, 'one run') > 0 ? '; '.runs : '').'; '.limits }
    unset bmargin
    set key below
}
set samples 2
# Three digits, even if the last is 0.
digits(x) = x >= 99.95 ? sprintf("%.0f", x) : x < 0.001 ? sprintf("%.1e", x) : sprintf("%#.3g", x)

if (is_wide) { set xtics (@speed_tics) }
row(k) = is_text ? column("row") + k * 0.19 : column("row")
plot plot_data using (column("encode")):(column("row")):(column("decode") - column("encode")):(0):yticlabels(label[int(column("row"))]) with vectors nohead linecolor rgb '#d8d8d8' linewidth 3, \
    '' using (is_text || !has("encode_low") ? NaN : column("encode")):(row(-1)):(column("encode_low")):(column("encode_high")) with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb encode_colour, \
    '' using (is_text || !has("decode_low") ? NaN : column("decode")):(row(1)):(column("decode_low")):(column("decode_high")) with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb decode_colour, \
    '' using (column("encode")):(row(-1)) with points pointtype (is_text ? 5 : 7) pointsize 1.3*mark linecolor rgb encode_colour title 'encode', \
    '' using (column("decode")):(row(1)) with points pointtype (is_text ? 4 : 13) pointsize 1.5*mark linecolor rgb decode_colour title 'decode', \
    for [k in known] '+' using (limit[at(k)]):(0.3):(0):(rows + 0.4) every ::0::0 with vectors nohead linecolor rgb word(limit_colours, at(k)) linewidth 1.5 dashtype 1 + at(k) title word(limit_names, at(k)), \
    plot_data using (is_text ? 1 : 0.91):(column("row")):(digits(column("encode")).(is_text ? ' /'.digits(column("decode")) : '')) axes x2y1 with labels right font small textcolor rgb encode_ink, \
    '' using (1):(column("row")):(is_text ? '' : digits(column("decode"))) axes x2y1 with labels right font small textcolor rgb decode_ink
