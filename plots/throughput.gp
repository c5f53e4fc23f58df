# Speeds as bars, a row for each method. Whiskers: the 95 % interval of the median, if there were enough samples. The
# numbers stand on the right, where no line crosses them.
is_wide = speed_high > 30 * speed_low # then the axis is logarithmic, because slow methods would have no bar
floor = is_wide ? 10 ** floor(log10(speed_low * 0.8)) : 0
ceiling = speed_high
if (read_gbps == read_gbps && read_gbps > ceiling) ceiling = read_gbps
if (fill_gbps == fill_gbps && fill_gbps > ceiling) ceiling = fill_gbps
if (memcpy_gbps == memcpy_gbps && memcpy_gbps > ceiling) ceiling = memcpy_gbps
if (is_wide) set logscale x
set xrange [floor:(is_wide ? ceiling * (ceiling / floor) ** 0.14 : ceiling * 1.16)]
if (is_text) set xrange [floor:(is_wide ? ceiling * (ceiling / floor) ** 0.4 : ceiling * 1.45)]
beside = is_text ? 0 : 0.19
set x2range [0:1]
set yrange [rows + 0.7:0.3]
set format x '%g'
set xlabel 'input per second, GB/s (1e9 bytes)'.(is_wide ? ', logarithmic axis' : '')."\n".runs.(rows_left_out > 0 ? sprintf('; %d slower methods are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 114.0 / plot_height
set style fill solid 1 noborder

encode_colour = '#0072B2'
decode_colour = '#E69F00'
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

plot plot_data using (column("encode")):(column("row") - 0.19):(floor):(column("encode")):(column("row") - 0.36):(column("row") - 0.02):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb encode_colour title 'encode', \
    '' using (column("decode")):(column("row") + 0.19):(floor):(column("decode")):(column("row") + 0.02):(column("row") + 0.36) with boxxyerror linecolor rgb decode_colour title 'decode', \
    '' using (is_text || !has("encode_low") ? NaN : column("encode")):(column("row") - 0.19):(column("encode_low")):(column("encode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    '' using (is_text || !has("decode_low") ? NaN : column("decode")):(column("row") + 0.19):(column("decode_low")):(column("decode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    for [k in known] '+' using (limit[at(k)]):(0.3):(0):(rows + 0.4) every ::0::0 with vectors nohead linecolor rgb word(limit_colours, at(k)) linewidth 1.5 dashtype 1 + at(k) title word(limit_names, at(k)), \
    plot_data using (1):(column("row") - beside):(is_text ? digits(column("encode")).' /'.digits(column("decode")) : digits(column("encode"))) axes x2y1 with labels right font small textcolor rgb '#404040', \
    '' using (1):(column("row") + beside):(is_text ? '' : digits(column("decode"))) axes x2y1 with labels right font small textcolor rgb '#404040'
