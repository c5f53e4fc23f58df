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

# Bandwidth of memory, and memcpy of the same bytes.
encode_colour = '#0072B2'
decode_colour = '#E69F00'
if (read_gbps == read_gbps) set arrow 1 from read_gbps, graph 0 to read_gbps, graph 1 nohead linecolor rgb encode_colour linewidth 1.5 dashtype 2 front
if (fill_gbps == fill_gbps) set arrow 2 from fill_gbps, graph 0 to fill_gbps, graph 1 nohead linecolor rgb '#a06a00' linewidth 1.5 dashtype 3 front
if (memcpy_gbps == memcpy_gbps) set arrow 3 from memcpy_gbps, graph 0 to memcpy_gbps, graph 1 nohead linecolor rgb '#404040' linewidth 1.5 dashtype 4 front
end(x, high) = high == high && high > x ? high : x

plot plot_data using (column("encode")):(column("row") - 0.19):(floor):(column("encode")):(column("row") - 0.36):(column("row") - 0.02):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb encode_colour title 'encode', \
    '' using (column("decode")):(column("row") + 0.19):(floor):(column("decode")):(column("row") + 0.02):(column("row") + 0.36) with boxxyerror linecolor rgb decode_colour title 'decode', \
    '' using (column("encode")):(column("row") - 0.19):(column("encode_low")):(column("encode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    '' using (column("decode")):(column("row") + 0.19):(column("decode_low")):(column("decode_high")) with xerrorbars pointtype -1 linewidth 1.2 linecolor rgb '#000000', \
    '' using (end(column("encode"), column("encode_high"))):(column("row") - 0.19):(sprintf('%.3g', column("encode"))) with labels left offset 0.6, 0 font ',9' textcolor rgb '#404040', \
    '' using (end(column("decode"), column("decode_high"))):(column("row") + 0.19):(sprintf('%.3g', column("decode"))) with labels left offset 0.6, 0 font ',9' textcolor rgb '#404040', \
    keyentry with lines linecolor rgb (read_gbps == read_gbps ? encode_colour : '#ffffff') linewidth 1.5 dashtype 2 title (read_gbps == read_gbps ? 'memory read' : ''), \
    keyentry with lines linecolor rgb '#a06a00' linewidth 1.5 dashtype 3 title (fill_gbps == fill_gbps ? 'memory fill' : ''), \
    keyentry with lines linecolor rgb '#404040' linewidth 1.5 dashtype 4 title (memcpy_gbps == memcpy_gbps ? 'memcpy' : '')
