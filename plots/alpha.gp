# Left: alpha, the relative error of the averaged update. Right: the residual, in units of the gradient's norm.
# Series are a little apart along the axis, so that equal values do not hide each other.
dodged(k) = column("index") + (at(k) - (series + 1) / 2.0) * 0.012 * (index_high + 1)
if (!is_text) set multiplot
if (!is_text) eval panel(1)
set xlabel 'replayed step, from 0'
set ytics format '%g'
set xrange [-0.06 * index_high - 0.2:1.06 * index_high + 0.2]
if (index_high < 12) set xtics 1
set yrange [0:*]
set offsets graph 0, graph 0, graph 0.06, 0
set ylabel 'alpha'
plot for [k in curves] plot_data index at(k) - 1 using (dodged(k)):"alpha" with linespoints linestyle at(k) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using (dodged(k)):"alpha" with points linestyle at(k) title label[at(k)]
if (!is_text) {
    eval panel(2)
    set ylabel 'norm of the residual / norm of the gradient'
    # methods without memory have no residual; gnuplot needs points all the same, so they lie below the picture
    residual(i) = has_residual ? column("residual") : -1
    if (!has_residual) {
        set yrange [0:1]
        set label 1 'no method keeps a residual' at graph 0.5, graph 0.5 center textcolor rgb '#404040'
    }
    plot for [k in curves] plot_data index at(k) - 1 using (dodged(k)):(residual(0)) with linespoints linestyle at(k) title label[at(k)], \
        for [k in singles] plot_data index at(k) - 1 using (dodged(k)):(residual(0)) with points linestyle at(k) title label[at(k)]
    unset multiplot
}
