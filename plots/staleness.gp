# Left: the median over elements. Right: the 99th percentile.
if (!is_text) set multiplot
set xlabel 'replayed step, from 0'
set xrange [-0.06 * index_high - 0.2:1.06 * index_high + 0.2]
set yrange [0:*]
set offsets graph 0, graph 0, graph 0.06, 0
if (index_high < 12) set xtics 1
if (staleness_high < 8) set ytics 1
# Series are a little apart along the axis, so that equal values do not hide each other.
dodged(k) = column("index") + (at(k) - (series + 1) / 2.0) * 0.012 * (index_high + 1)
# steps without staleness lie below the picture, because gnuplot needs points
known(name) = has_staleness ? column(name) : -1
if (!has_staleness) {
    set yrange [0:1]
    set label 1 'not recorded' at graph 0.5, graph 0.5 center textcolor rgb '#404040'
}
if (!is_text) {
    eval panel(1)
    set ylabel 'steps since sent, median'
    plot for [k in curves] plot_data index at(k) - 1 using (dodged(k)):(known("staleness_p50")) with linespoints linestyle at(k), \
        for [k in singles] plot_data index at(k) - 1 using (dodged(k)):(known("staleness_p50")) with points linestyle at(k)
    eval panel(2)
}
set ylabel 'steps since sent, 99th percentile'
plot for [k in curves] plot_data index at(k) - 1 using (dodged(k)):(known("staleness_p99")) with linespoints linestyle at(k) title label[at(k)], \
    for [k in singles] plot_data index at(k) - 1 using (dodged(k)):(known("staleness_p99")) with points linestyle at(k) title label[at(k)]
if (!is_text) unset multiplot
