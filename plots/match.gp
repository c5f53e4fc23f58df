# Bars, the cheapest first: bits per element at equal error, or the error at equal bytes. Grey: the method cannot meet
# the target; the bar shows its nearest setting.
is_wide = cost_high > 8 * cost_low
floor = is_wide ? log_low(cost_low, cost_high) / 1.6 : 0
if (is_wide) set logscale x
set xrange [floor:(is_wide ? cost_high * (cost_high / floor) ** 0.3 : cost_high * 1.25)]
set yrange [rows + 0.6:0.4]
set format x '%g'
if (is_wide) set xtics (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16, 32)
set xlabel (of_error ? 'bits per element, all bytes counted' : 'relative L2 error').(is_wide ? ', logarithmic axis' : '').(rows_left_out > 0 ? sprintf('; %d dearer methods are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 88.0 / plot_height
set style fill solid 1 noborder
if (is_text) {
    unset bmargin
    set key below
}
met(v) = column("reached") == 1 ? v : NaN
missed(v) = column("reached") == 1 ? NaN : v
shown(error) = of_error && field eq 'cosine' ? sprintf('cosine %.3f', column("cosine")) : sprintf('error %.3f', column("rel_l2"))
plot plot_data using (met(column("cost"))):(column("row")):(floor):(column("cost")):(column("row") - 0.36):(column("row") + 0.36):yticlabels(label[int(column("row"))]) with boxxyerror linecolor rgb '#0072B2' title 'meets the target', \
    '' using (missed(column("cost"))):(column("row")):(floor):(column("cost")):(column("row") - 0.36):(column("row") + 0.36) with boxxyerror linecolor rgb '#c9c9c9' title 'cannot meet it: nearest setting', \
    '' using (column("cost")):(column("row")):(sprintf('%.3gx, %s', column("ratio"), shown(0))) with labels left offset 0.6, 0 font small textcolor rgb '#404040'
