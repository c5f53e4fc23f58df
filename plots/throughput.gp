# Speeds as bars, one method a row; whiskers are the 95 % interval of the median, where there were samples enough.
is_wide = speed_high > 30 * speed_low # then a logarithmic axis, or the slow ones would be a line
floor = is_wide ? 10 ** floor(log10(speed_low * 0.8)) : 0
ceiling = speed_high
if (read_gbps == read_gbps && read_gbps > ceiling) ceiling = read_gbps
if (fill_gbps == fill_gbps && fill_gbps > ceiling) ceiling = fill_gbps
if (memcpy_gbps == memcpy_gbps && memcpy_gbps > ceiling) ceiling = memcpy_gbps
if (is_wide) set logscale x
set xrange [floor:(is_wide ? ceiling * (ceiling / floor) ** 0.12 : ceiling * 1.15)]
set yrange [rows + 0.7:0.3]
set format x '%g'
set xlabel 'input bytes per second, GB/s (1e9)'.(is_wide ? ', logarithmic axis' : '').(rows_left_out > 0 ? sprintf('; %d slower ones are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 98.0 / plot_height
set style fill solid 1 noborder

encode_colour = '#0072B2'
decode_colour = '#E69F00'
# Bandwidth of memory, and memcpy of the same bytes, where they were measured.
array limit[3] = [read_gbps, fill_gbps, memcpy_gbps]
limit_names = '"memory read" "memory fill" memcpy'
limit_colours = '#0072B2 #a06a00 #404040'
known = ''
do for [k = 1:3] { if (limit[k] == limit[k]) { known = known.sprintf(' %d', k) } }
set samples 2
number(x) = x == x ? sprintf('%.3g', x) : ''
end(x, high) = high == high && high > x ? high : x

plot plot_data using (column("encode")):(column("row") - 0.19):(floor):(column("encode")):(column("row") - 0.36):(column("row") - 0.02):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb encode_colour title 'encode', \
    '' using (column("decode")):(column("row") + 0.19):(floor):(column("decode")):(column("row") + 0.02):(column("row") + 0.36) with boxxyerror linecolor rgb decode_colour title 'decode', \
    '' using (column("encode")):(column("row") - 0.19):(column("encode_low")):(column("encode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    '' using (column("decode")):(column("row") + 0.19):(column("decode_low")):(column("decode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    for [k in known] '+' using (limit[int(k)]):(0.3):(0):(rows + 0.4) every ::0::0 with vectors nohead linecolor rgb word(limit_colours, int(k)) linewidth 1.5 dashtype 1 + int(k) title word(limit_names, int(k)), \
    plot_data using (end(column("encode"), column("encode_high"))):(column("row") - 0.19):(number(column("encode"))) with labels left offset 0.6, 0 font ',9' textcolor rgb '#404040', \
    '' using (end(column("decode"), column("decode_high"))):(column("row") + 0.19):(number(column("decode"))) with labels left offset 0.6, 0 font ',9' textcolor rgb '#404040'
