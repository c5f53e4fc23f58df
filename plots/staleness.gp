# Left: the median over elements. Right: the 99th percentile.
if (!is_text) set multiplot
set xlabel 'step replayed'
set yrange [0:*]
set key off
set lmargin at screen 0.08
set rmargin at screen 0.38
set ylabel 'steps since an element was last sent, median'
if (is_text) set lmargin; set rmargin; set key on; set ylabel 'steps since sent, 99th percentile'
if (!is_text) {
    plot for [i = 1:series] plot_data index i - 1 using "index":"staleness_p50" with linespoints linestyle line_of(style[i]) title label[i]
    unset label 1001; unset label 1002; unset label 1003
    set lmargin at screen 0.47
    set rmargin at screen 0.74
    set key on at screen 0.755, graph 1 left top
    set ylabel 'the same, 99th percentile'
}
plot for [i = 1:series] plot_data index i - 1 using "index":"staleness_p99" with linespoints linestyle line_of(style[i]) title label[i]
if (!is_text) unset multiplot
