# The cheapest method first: bits per element at equal error, or the error at equal bytes. Grey: the method cannot meet
# the target; the point shows its nearest setting. Only a linear axis, which begins at 0, has bars.
is_wide = cost_high > 8 * cost_low
floor = is_wide ? log_low(cost_low, cost_high) / 1.6 : 0
if (is_wide) set logscale x
set xrange [floor:(is_wide ? cost_high * (cost_high / floor) ** 0.3 : cost_high * 1.25)]
set yrange [rows + 0.6:0.4]
set format x '%g'
if (is_wide) set xtics (@cost_tics)
set xlabel (of_error ? 'bits per element, all bytes counted' : 'relative L2 error').(is_wide ? ', logarithmic axis' : '').(rows_left_out > 0 ? sprintf('; %d dearer methods are left out', rows_left_out) : '')
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#d0d0d0' linewidth 0.7
set key at screen 0.5, screen 10.0 / plot_height center bottom horizontal maxrows 1
set bmargin at screen 100.0 / plot_height
set style fill solid 1 noborder
if (is_text) {
    unset bmargin
    set key below
}
half = 0.36
bar(v) = is_wide ? NaN : v
met(v) = column("reached") == 1 ? v : NaN
missed(v) = column("reached") == 1 ? NaN : v
shown(error) = of_error && field eq 'cosine' ? sprintf('cosine %.3f', column("cosine")) : sprintf('error %.3f', column("rel_l2"))
plot plot_data using (bar(met(column("cost")))):(column("row")):(floor):(column("cost")):(column("row") - half):(column("row") + half) with boxxyerror linecolor rgb '#0072B2' title 'meets the target', \
    '' using (bar(missed(column("cost")))):(column("row")):(floor):(column("cost")):(column("row") - half):(column("row") + half) with boxxyerror linecolor rgb '#c9c9c9' title 'cannot meet it: nearest setting', \
    '' using (is_wide ? met(column("cost")) : NaN):(column("row")) with points pointtype 7 pointsize 1.3*mark linecolor rgb '#0072B2', \
    '' using (is_wide ? missed(column("cost")) : NaN):(column("row")) with points pointtype 7 pointsize 1.3*mark linecolor rgb '#a9a9a9', \
    '' using (column("cost")):(column("row")):(sprintf('%.3gx, %s', column("ratio"), shown(0))):yticlabels(label[int(column("row"))]) with labels left offset 1.2, 0 font small textcolor rgb '#404040'
